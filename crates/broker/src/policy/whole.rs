//! The limits of the whole service, as the policy says them.

use std::time::Duration;

use crate::ledger::{Amounts, Resource, Whole};

/// The limits of the whole service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Connections that have no grant, of all users.
    pub connections: u32,
    /// Descriptors for clients. The default is what the process may have, less what the service itself needs.
    pub descriptors: Option<u32>,
    /// Mebibytes of arenas and rings. The default is a quarter of the machine's memory.
    pub memory_mib: Option<u32>,
    /// Queues of a worker.
    pub queues: u32,
    /// Mebibytes of memory for keys of a worker. The default is what the service was started with.
    pub key_memory_mib: Option<u32>,
    /// Orders that a worker has not answered.
    pub orders: u32,
    /// The percentage that is reserved for users who hold little.
    pub reserve_percent: u32,
    /// The seconds for which a connection without a grant may say nothing.
    pub idle_s: u32,
}

impl Default for Service {
    fn default() -> Self {
        Service {
            connections: 4096,
            descriptors: None,
            memory_mib: None,
            queues: 4096,
            key_memory_mib: None,
            orders: 256,
            reserve_percent: 20,
            idle_s: 60,
        }
    }
}

/// The resources of the machine and the command line, for limits that the policy does not set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// Descriptors that are left for clients.
    pub(crate) descriptors: u64,
    /// Bytes of the machine's memory.
    pub(crate) memory: u64,
    /// Bytes of each worker's memory for keys.
    pub(crate) key_memory: u64,
}

impl Service {
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_s.into())
    }

    /// Bytes of each worker's memory for keys.
    pub(crate) fn key_memory(&self, means: &Means) -> u64 {
        self.key_memory_mib.map_or(means.key_memory, |mib| u64::from(mib) << 20)
    }

    /// Returns the limits in the ledger's units.
    pub(crate) fn whole(&self, means: &Means) -> Whole {
        let descriptors =
            self.descriptors.map_or(means.descriptors, |said| means.descriptors.min(said.into()));
        let memory = self.memory_mib.map_or(means.memory / 4, |mib| u64::from(mib) << 20);
        Whole {
            service: Amounts::UNLIMITED.with(&[
                (Resource::Connections, self.connections.into()),
                (Resource::Descriptors, descriptors),
                (Resource::Memory, memory),
            ]),
            worker: Amounts::UNLIMITED.with(&[
                (Resource::Queues, self.queues.into()),
                (Resource::KeyMemory, self.key_memory(means)),
                (Resource::Orders, self.orders.into()),
            ]),
            reserve_percent: self.reserve_percent,
        }
    }
}

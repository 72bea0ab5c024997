//! The three places in which a queue's operations are executed.

use std::sync::Arc;

use millstream_accelerator::{Accelerator, GrantId};

use super::isolated::Isolated;
use super::parts::RingMemory;
use super::thread::client::Client;
use crate::heap::Exclusive;

pub(super) type LocalAccelerator = Accelerator<Exclusive, RingMemory>;

/// The one who executes.
pub(super) enum Driver {
    /// The thread that polls.
    Inline(Box<LocalAccelerator>, GrantId),
    /// A thread that looks at the ring.
    Thread(Arc<Client>),
    /// A worker, which is another process.
    Isolated(Box<Isolated>),
}

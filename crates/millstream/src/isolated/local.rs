//! An accelerator of this process, where no service is and the caller allowed it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_accelerator::generate_key;
use millstream_protocol::KeyRefusal;
use zeroize::Zeroizing;

use crate::Error;
use crate::cwq::Algorithm;
use crate::grant::{GrantInfo, GrantState};
use crate::key::{Exportable, KeyHandle, KeyOptions};
use crate::queue::{AcceleratorThread, Config, Queue, ThreadConfig, ThreadGrant};
use crate::random;

/// The longest key that is made here: more than any algorithm wants.
const LONGEST: usize = 4096;

/// A grant of an accelerator's thread.
pub(super) struct Local {
    grant: Arc<ThreadGrant>,
    info: GrantInfo,
    /// The number of queues taken.
    taken: Mutex<u32>,
    /// The bytes of keys that may be exported.
    bytes: Mutex<HashMap<u32, Zeroizing<Vec<u8>>>>,
    _thread: AcceleratorThread,
}

impl Local {
    /// Starts an accelerator's thread, for that many queues of that size.
    pub(super) fn new(config: &Config, queues: u32) -> Result<Self, Error> {
        let thread = AcceleratorThread::spawn(crate::features()?, ThreadConfig::default())?;
        let grant = thread.grant(config, queues as usize)?;
        let info = GrantInfo {
            id: 0,
            queues,
            depth: config.depth,
            arena_bytes: config.arena_bytes,
            key_slots: config.key_slots,
            weight: 1,
            algorithms: u128::MAX,
        };
        let (taken, bytes) = (Mutex::new(0), Mutex::new(HashMap::new()));
        Ok(Local { grant, info, taken, bytes, _thread: thread })
    }

    pub(super) fn queue(&self) -> Result<Queue, Error> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken == self.info.queues {
            return Err(Error::QueuesTaken);
        }
        let queue = self.grant.queue(self.info.depth, 1)?;
        *taken += 1;
        Ok(queue)
    }

    pub(super) fn import_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        self.insert_key(algorithm, key, options, false)
    }

    fn insert_key(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        options: KeyOptions,
        generated: bool,
    ) -> Result<KeyHandle, Error> {
        let handle = self.grant.insert_key(algorithm, key, options, generated)?;
        if options.exportable == Exportable::Yes {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.insert(handle.to_bits(), Zeroizing::new(key.to_vec()));
        }
        Ok(KeyHandle { handle, algorithm })
    }

    pub(super) fn generate_key(
        &self,
        algorithm: Algorithm,
        len: usize,
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        if len > LONGEST {
            return Err(Error::Key(KeyRefusal::KeyLength));
        }
        let key = generate_key(crate::features()?, algorithm, len, &mut random::SystemRandom)?;
        self.insert_key(algorithm, &key, options, true)
    }

    pub(super) fn export_key(&self, key: KeyHandle) -> Result<Zeroizing<Vec<u8>>, Error> {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.get(&key.handle.to_bits()).cloned().ok_or(Error::Key(KeyRefusal::NotExportable))
    }

    pub(super) fn destroy_key(&self, key: KeyHandle) -> Result<(), Error> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).remove(&key.handle.to_bits());
        let found = self.grant.remove_key(key.handle);
        if found { Ok(()) } else { Err(Error::Key(KeyRefusal::NoSuchKey)) }
    }

    pub(super) fn grant(&self) -> &GrantInfo {
        &self.info
    }

    pub(super) fn state(&self) -> GrantState {
        if self.grant.has_ended() { GrantState::Gone } else { GrantState::Live }
    }
}

//! The keys and passphrases of a run. Each is read, or asked for, when the first file needs it, and then serves all.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use millstream_files::tink::Key;

use super::token::Sealer;
use crate::secret::Secret;

/// The secrets of a run, as far as they are known.
#[derive(Default)]
pub(super) struct Secrets {
    /// The contents of the key file, if there is one.
    pub(super) key: Once<Option<Secret>>,
    /// The keys in it, in the format tink.
    pub(super) tink: Once<Option<Vec<Key>>>,
    pub(super) passphrase: Once<Secret>,
    /// The key of a token that seals the keys of files.
    pub(super) sealer: Once<Sealer>,
    /// The preamble of files that are encrypted, and the key that it stands for.
    pub(super) sealing: Once<(Preface, Key)>,
    /// The keys that the preambles of encrypted files stand for.
    opening: Mutex<HashMap<Preface, Key>>,
}

/// The bytes in front of a stream in the format tink that tell its key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Preface(pub(super) Vec<u8>);

impl Preface {
    /// Returns the stream's associated data: the preamble, then the user's.
    pub(super) fn bind(&self, associated_data: &[u8]) -> Vec<u8> {
        [&self.0, associated_data].concat()
    }
}

impl Secrets {
    /// Returns the key that a file's preamble stands for, which `make` makes. Files that were encrypted by one command
    /// have the same preamble, so its key is made once. One thread at a time makes keys, because each takes the
    /// memory that the preamble asks for, or asks the service.
    pub(super) fn opening<E>(
        &self,
        preface: &Preface,
        make: impl FnOnce() -> Result<Key, E>,
    ) -> Result<Key, E> {
        let mut known = lock(&self.opening);
        if let Some(key) = known.get(preface) {
            return Ok(key.clone());
        }
        let key = make()?;
        known.insert(preface.clone(), key.clone());
        Ok(key)
    }
}

/// A value that the first who needs it makes.
pub(super) struct Once<T> {
    value: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Once<T> {
    /// Returns the value, which `make` makes if nobody has done so.
    pub(super) fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _turn = lock(&self.making);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once { value: OnceLock::new(), making: Mutex::new(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The keys and passphrases of a run. Each is read, or asked for, when the first file needs it, and then serves all.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use millstream_files as files;
use millstream_files::passphrase::{self, Preamble};
use millstream_files::tink::Key;

use crate::secret::Secret;

/// The secrets of a run, as far as they are known.
#[derive(Default)]
pub(super) struct Secrets {
    /// The contents of the key file, if there is one.
    pub(super) key: Once<Option<Secret>>,
    /// The keys in it, in the format tink.
    pub(super) tink: Once<Option<Vec<Key>>>,
    pub(super) passphrase: Once<Secret>,
    /// The preamble of files that are encrypted with the passphrase, and the key that it makes.
    pub(super) sealing: Once<(Preamble, Key)>,
    /// The keys that the preambles of encrypted files make.
    opening: Mutex<HashMap<[u8; passphrase::LEN], Key>>,
}

impl Secrets {
    /// Returns the key that a file's preamble makes of the passphrase. Files that were encrypted by one command
    /// have the same preamble, so its key is made once. One thread at a time makes keys, because each takes the
    /// memory that the preamble asks for.
    pub(super) fn opening(&self, preamble: &Preamble, passphrase: &[u8]) -> Result<Key, files::Error> {
        let mut known = lock(&self.opening);
        if let Some(key) = known.get(&preamble.to_bytes()) {
            return Ok(key.clone());
        }
        let key = preamble.key(passphrase)?;
        known.insert(preamble.to_bytes(), key.clone());
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

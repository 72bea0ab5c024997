//! Hashes and HMACs of one message in pieces, as `hashlib` has them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use millstream::hash::{Hash, Hasher};
use millstream::hmac::{Hmac, HmacKey};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::exceptions::raised;
use crate::keys::hash_named;

/// Messages of as many bytes are taken in without Python's lock.
const LONG: usize = 1 << 14;

#[derive(Clone)]
enum State {
    Hash(Hasher),
    Hmac(Hmac),
}

impl State {
    fn update(&mut self, data: &[u8]) {
        match self {
            State::Hash(hasher) => hasher.update(data),
            State::Hmac(hmac) => hmac.update(data),
        }
    }
}

/// The hash or the HMAC of a message of which more may come.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct Message {
    hash: Hash,
    state: Mutex<State>,
}

#[pymethods]
impl Message {
    /// Begins a message. With a key it is an HMAC's.
    #[new]
    #[pyo3(signature = (name, key=None))]
    fn new(py: Python<'_>, name: &str, key: Option<&[u8]>) -> PyResult<Self> {
        let features = millstream::features().map_err(|error| raised(py, error.into()))?;
        let hash = hash_named(name)?;
        let state = match key {
            Some(key) => State::Hmac(HmacKey::new(features, hash, key).start()),
            None => State::Hash(Hasher::new(features, hash)),
        };
        Ok(Message { hash, state: Mutex::new(state) })
    }

    /// The name of the hash.
    #[getter]
    fn name(&self) -> &'static str {
        self.hash.name()
    }

    /// The bytes of a digest.
    #[getter]
    fn digest_size(&self) -> usize {
        self.hash.output_len()
    }

    /// The bytes of a block.
    #[getter]
    fn block_size(&self) -> usize {
        self.hash.block_len()
    }

    /// Takes in more of the message.
    fn update(&self, py: Python<'_>, data: &[u8]) {
        if data.len() < LONG {
            self.lock().update(data);
        } else {
            py.detach(|| self.lock().update(data));
        }
    }

    /// Returns the digest of the message so far.
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let digest = match self.lock().clone() {
            State::Hash(hasher) => hasher.finish(),
            State::Hmac(hmac) => hmac.finish(),
        };
        PyBytes::new(py, &digest)
    }

    /// Returns an object that goes on from here on its own.
    fn copy(&self) -> Self {
        Message { hash: self.hash, state: Mutex::new(self.lock().clone()) }
    }
}

impl Message {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

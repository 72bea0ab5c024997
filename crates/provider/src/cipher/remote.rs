//! Keys of ciphers in the service.

use std::sync::Arc;

use millstream::InOut;
use millstream::cwq::Algorithm;
use millstream::isolated::{Chaining, ServiceKey};
use millstream::modes::{Direction, MAX_BLOCK};
use millstream::tally::Place;

use super::key::{BlockKey, StreamKey};
use crate::error::Result;
use crate::provider::Provider;
use crate::remote;

/// The name of a cipher in the service, and its vector.
#[derive(Clone, Copy)]
pub struct Remote {
    pub algorithm: Algorithm,
    pub chaining: Chaining,
    /// Bytes of vector.
    pub iv: usize,
}

impl Remote {
    /// Brings a key to the service that works in one direction.
    pub fn import(self, provider: Provider, key: &[u8], direction: Direction) -> Result<RemoteCipher> {
        let key = Arc::new(remote::one_way(provider, self.algorithm, key, direction)?);
        Ok(RemoteCipher { key, remote: self })
    }

    /// Takes a key that is in the service already, if it has `len` bytes.
    pub fn with(self, key: &Arc<ServiceKey>, len: usize) -> Result<RemoteCipher> {
        remote::fits(key, Some(self.algorithm), Some(len))?;
        Ok(RemoteCipher { key: Arc::clone(key), remote: self })
    }
}

/// A cipher's key in the service.
pub struct RemoteCipher {
    key: Arc<ServiceKey>,
    remote: Remote,
}

impl RemoteCipher {
    /// Encrypts or decrypts whole blocks.
    pub fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        let Remote { chaining, iv, .. } = self.remote;
        Ok(self.key.cipher(direction, chaining, &mut chain[..iv], data)?)
    }
}

impl BlockKey for RemoteCipher {
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        RemoteCipher::blocks(self, direction, chain, data)
    }

    fn place(&self) -> Place {
        Place::Isolated
    }

    fn kernel(&self) -> &'static str {
        "worker"
    }
}

impl StreamKey for RemoteCipher {
    fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        RemoteCipher::blocks(self, direction, chain, data)
    }

    fn pad(&self, chain: &mut [u8; MAX_BLOCK], pad: &mut [u8; MAX_BLOCK]) -> Result<()> {
        pad.fill(0);
        let block = InOut::in_place(&mut pad[..self.remote.iv]);
        RemoteCipher::blocks(self, Direction::Encrypt, chain, block)
    }

    fn place(&self) -> Place {
        Place::Isolated
    }

    fn kernel(&self) -> &'static str {
        "worker"
    }
}

/// A pair of keys for AES-XTS in the service.
pub struct RemoteXts(Arc<ServiceKey>);

impl RemoteXts {
    /// Brings a pair of keys to the service that works in one direction.
    pub fn import(provider: Provider, keys: &[u8], direction: Direction) -> Result<Self> {
        Ok(RemoteXts(Arc::new(remote::one_way(provider, Algorithm::AesXts, keys, direction)?)))
    }

    /// Takes keys that are in the service already, if they have `len` bytes.
    pub fn with(keys: &Arc<ServiceKey>, len: usize) -> Result<Self> {
        remote::fits(keys, Some(Algorithm::AesXts), Some(len))?;
        Ok(RemoteXts(Arc::clone(keys)))
    }

    /// Encrypts or decrypts a data unit.
    pub fn data_unit(&self, direction: Direction, tweak: &[u8; 16], data: InOut<'_>) -> Result<()> {
        Ok(self.0.data_unit(direction, tweak, data)?)
    }
}

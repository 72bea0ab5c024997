//! Keys of ciphers in the service.

use millstream::InOut;
use millstream::cwq::Algorithm;
use millstream::modes::{Direction, MAX_BLOCK};
use millstream::tally::Place;

use super::block::BlockKey;
use crate::error::Result;
use crate::provider::Provider;
use crate::remote::{Chaining, RemoteKey};

/// What the service calls a cipher.
#[derive(Clone, Copy)]
pub struct Remote {
    pub algorithm: Algorithm,
    pub chaining: Chaining,
    /// Bytes of vector.
    pub iv: usize,
}

impl Remote {
    /// Brings a key there.
    pub fn import(self, provider: Provider, key: &[u8]) -> Result<RemoteCipher> {
        Ok(RemoteCipher { key: RemoteKey::import(provider, self.algorithm, key)?, remote: self })
    }
}

/// A cipher's key in the service.
pub struct RemoteCipher {
    key: RemoteKey,
    remote: Remote,
}

impl RemoteCipher {
    /// Passes whole blocks.
    pub fn blocks(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        let Remote { chaining, iv, .. } = self.remote;
        self.key.cipher(direction, chaining, &mut chain[..iv], data)
    }
}

impl BlockKey for RemoteCipher {
    fn pass(&self, direction: Direction, chain: &mut [u8; MAX_BLOCK], data: InOut<'_>) -> Result<()> {
        self.blocks(direction, chain, data)
    }

    fn place(&self) -> Place {
        Place::Isolated
    }

    fn kernel(&self) -> &'static str {
        "worker"
    }
}

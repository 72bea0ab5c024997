//! The properties of an AEAD: its key, its message in pieces, and its name in the service.

use millstream::aead::{Aead, AeadState};
use millstream::{EngineError, Features, cwq};

/// An AEAD.
pub trait Algorithm: 'static {
    /// A key in this process.
    type Key: Aead + Send + Sync;
    /// A message in pieces under it.
    type State: AeadState<Key = Self::Key> + Send;
    /// The name of the AEAD in the service.
    const REMOTE: cwq::Algorithm;

    fn key(features: Features, bytes: &[u8]) -> std::result::Result<Self::Key, EngineError>;
    /// Puts another key in its place.
    fn rekey(key: &mut Self::Key, bytes: &[u8]) -> std::result::Result<(), EngineError>;
    /// Returns the name of the kernel that computes with a key.
    fn kernel(key: &Self::Key) -> &'static str;
    fn begin(key: &Self::Key, nonce: &[u8]) -> std::result::Result<Self::State, EngineError>;
}

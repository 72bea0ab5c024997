//! What an AEAD brings with it: its key, its message in pieces, and its name in the service.

use millstream::aead::{Aead, AeadState};
use millstream::{EngineError, Features, cwq};

/// What differs from one AEAD to the next.
pub trait Algorithm: 'static {
    /// A key in this process.
    type Key: Aead + Send + Sync;
    /// A message in pieces under it.
    type State: AeadState<Key = Self::Key> + Send;
    /// What the service calls it.
    const REMOTE: cwq::Algorithm;

    fn key(features: Features, bytes: &[u8]) -> std::result::Result<Self::Key, EngineError>;
    /// Puts another key in its place.
    fn rekey(key: &mut Self::Key, bytes: &[u8]) -> std::result::Result<(), EngineError>;
    /// What computes.
    fn kernel(key: &Self::Key) -> &'static str;
    fn begin(key: &Self::Key, nonce: &[u8]) -> std::result::Result<Self::State, EngineError>;
}

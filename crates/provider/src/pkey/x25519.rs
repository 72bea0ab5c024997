//! Key agreement with X25519.
//!
//! Ref. EVP_KEYEXCH-X25519(7); RFC 7748 §6.1.

use std::ffi::CStr;

use millstream::cwq::Algorithm;
use millstream::publickey::x25519::{self, PrivateKey};
use millstream::tally::Place;

use super::curve25519::{Bytes, Key, LEN, Private, Scheme};
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::provider::Provider;

/// X25519.
pub struct X25519;

impl Scheme for X25519 {
    const NAMES: &'static CStr = c"X25519:1.3.101.110";
    const BITS: usize = 253;
    const OUTPUT: usize = LEN;
    const AGREES: bool = true;
    const ALGORITHM: Algorithm = Algorithm::X25519;
    type Private = PrivateKey;

    fn private(bytes: &Bytes) -> Result<PrivateKey> {
        Ok(PrivateKey::new(super::features()?, bytes)?)
    }

    fn public(private: &PrivateKey) -> Bytes {
        *private.public_key().as_bytes()
    }
}

/// The context of an agreement: a key of ours, and the peer's.
#[derive(Clone)]
pub struct Exchange {
    pub provider: Provider,
    key: Option<Key<X25519>>,
    peer: Option<Bytes>,
    count: Count,
}

impl Exchange {
    pub fn new(provider: Provider) -> Self {
        Exchange { provider, key: None, peer: None, count: Count::default() }
    }

    /// Begins an agreement with a key of ours.
    pub fn begin(&mut self, key: &Key<X25519>) -> Result<()> {
        if let Ok(private) = key.private() {
            static ROWS: Rows = Rows::new();
            let (place, kernel) = match private {
                Private::Here(_, key) => (Place::InProcess, key.kernel().name),
                Private::There(_) => (Place::Isolated, ""),
            };
            self.count.bind(ROWS.row(self.provider, place, "x25519", kernel));
        }
        self.key = Some(key.clone());
        Ok(())
    }

    /// Takes the peer's key.
    pub fn set_peer(&mut self, peer: &Key<X25519>) -> Result<()> {
        self.peer = Some(*peer.public()?);
        Ok(())
    }

    /// Writes the shared secret to `out`.
    ///
    /// # Errors
    /// When a key is missing, or the peer's has a small order.
    pub fn derive(&mut self, out: &mut Bytes) -> Result<()> {
        let (Some(key), Some(peer)) = (&self.key, &self.peer) else { return Err(Reason::MISSING_KEY) };
        match key.private()? {
            Private::Here(_, key) => {
                let shared = x25519::PublicKey::new(peer).and_then(|peer| key.agree(&peer));
                let shared =
                    shared.map_err(|why| Reason::FAILED_DURING_DERIVATION.because(why.to_string()))?;
                out.copy_from_slice(shared.as_bytes());
            }
            Private::There(key) => {
                let shared = key.agree(peer)?;
                *out = shared[..].try_into().map_err(|_| Reason::INTERNAL)?;
            }
        }
        self.count.add(LEN);
        Ok(())
    }
}

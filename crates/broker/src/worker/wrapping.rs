//! Keys that are wrapped for the processes that come from a program.
//!
//! A forked child has none of its parent's keys, and a private key that was read from a file is nowhere else any more. So the
//! client may keep the key as ciphertext, from which a worker of the same service makes it again. Who reads the ciphertext and has a grant of
//! the service can use the key, as long as the service runs, and learns nothing of it. It is not bound to a user, because servers
//! read their keys as root and give that up before they use them. It is bound to the algorithm and the usages.
//!
//! Ref. SP 800-38D (AES-256-GCM).

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Usages};
use millstream_engines::InOut;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use zeroize::Zeroizing;

/// Bytes of the nonce in front.
pub(super) const NONCE: usize = 12;
/// Bytes of the tag behind it.
const TAG: usize = 16;

/// The text in front of what the tag covers beside the key.
const LABEL: &[u8; 16] = b"millstream key 1";

/// Wraps and unwraps keys, with the key of the service.
pub(super) struct Wrapping(Box<Gcm>);

impl Wrapping {
    /// Takes the service's key; none unless it is one.
    pub(super) fn new(features: Features, key: &[u8]) -> Option<Self> {
        Gcm::new(features, key).ok().map(|gcm| Wrapping(Box::new(gcm)))
    }

    /// Encrypts a key of an algorithm that will have these usages.
    pub(super) fn wrap(
        &self,
        nonce: [u8; NONCE],
        of: Algorithm,
        usages: Usages,
        key: &[u8],
    ) -> Option<Vec<u8>> {
        let mut wrapped = vec![0; NONCE + TAG + key.len()];
        let (front, body) = wrapped.split_at_mut(NONCE + TAG);
        body.copy_from_slice(key);
        let mut tag = [0; TAG];
        self.0.seal(&nonce, &about(of, usages), InOut::in_place(body), &mut tag).ok()?;
        front[..NONCE].copy_from_slice(&nonce);
        front[NONCE..].copy_from_slice(&tag);
        Some(wrapped)
    }

    /// Decrypts a key; none where it was wrapped for another algorithm or other usages, or elsewhere.
    pub(super) fn unwrap(&self, of: Algorithm, usages: Usages, wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, rest) = wrapped.split_first_chunk::<NONCE>()?;
        let (tag, body) = rest.split_first_chunk::<TAG>()?;
        let mut key = Zeroizing::new(body.to_vec());
        self.0.open(nonce, &about(of, usages), InOut::in_place(&mut key), tag).ok()?;
        Some(key)
    }
}

/// Returns what the tag covers beside the key.
fn about(algorithm: Algorithm, usages: Usages) -> [u8; 18] {
    let mut about = [0; 18];
    about[..16].copy_from_slice(LABEL);
    about[16..].copy_from_slice(&[algorithm as u8, usages.to_bits()]);
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_unwrapped_for_its_algorithm_and_usages_and_nothing_else() {
        let wrapping = Wrapping::new(Features::hardware(), &[7; 32]).unwrap();
        let of = Algorithm::Ed25519;
        let wrapped =
            wrapping.wrap([3; NONCE], of, Usages::SIGN, b"a private key of 32 bytes at all").unwrap();
        assert!(!wrapped.windows(8).any(|part| part == b"a privat"));
        assert_eq!(
            wrapping.unwrap(of, Usages::SIGN, &wrapped).unwrap()[..],
            *b"a private key of 32 bytes at all"
        );
        assert!(wrapping.unwrap(Algorithm::X25519, Usages::SIGN, &wrapped).is_none());
        assert!(wrapping.unwrap(of, Usages::SIGN | Usages::DERIVE, &wrapped).is_none());
        let other = Wrapping::new(Features::hardware(), &[8; 32]).unwrap();
        assert!(other.unwrap(of, Usages::SIGN, &wrapped).is_none());
        for at in 0..wrapped.len() {
            let mut changed = wrapped.clone();
            changed[at] ^= 1;
            assert!(wrapping.unwrap(of, Usages::SIGN, &changed).is_none(), "byte {at}");
            assert!(wrapping.unwrap(of, Usages::SIGN, &wrapped[..at]).is_none(), "{at} bytes");
        }
    }
}

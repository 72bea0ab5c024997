//! Keys that are wrapped for the processes that come from a program.
//!
//! A forked child has none of its parent's keys, and a private key that was read from a file is nowhere else any more. So the
//! client may keep the key as ciphertext, from which a worker of the same service makes it again. Who reads the ciphertext and has a grant of
//! the service can use the key, as long as the service runs, and learns nothing of it. It is not bound to a user, because servers
//! read their keys as root and give that up before they use them. It is bound to the algorithm and the usages.
//!
//! Each key is wrapped under a key of its own, which HKDF derives from the service's and 32 random bytes that lie beside the
//! ciphertext. So no key of AES-GCM meets a second nonce, however many keys are wrapped: with random nonces under one key, the
//! 2^32nd would be the last.
//!
//! Ref. SP 800-38D §8.2 and §8.3 (AES-256-GCM and its nonces); RFC 5869 (HKDF); S. Gueron and Y. Lindell, "Better bounds for block
//! cipher modes of operation via nonce-based key derivation", 2017.

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Usages};
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::{InOut, hkdf};
use zeroize::Zeroizing;

/// Bytes of the salt in front.
pub(super) const SALT: usize = 32;
/// Bytes of the tag behind it.
const TAG: usize = 16;
/// Bytes of a key.
const KEY: usize = 32;

/// The text in front of what the tag covers beside the key, and for which the key is derived.
const LABEL: &[u8; 16] = b"millstream key 2";

/// The nonce of a key that serves once.
const NONCE: [u8; 12] = [0; 12];

/// Wraps and unwraps keys, with the key of the service.
pub(super) struct Wrapping {
    features: Features,
    key: Box<Zeroizing<[u8; KEY]>>,
}

impl Wrapping {
    /// Takes the service's key; none unless it is one.
    pub(super) fn new(features: Features, key: &[u8]) -> Option<Self> {
        let mut own = Box::new(Zeroizing::new([0; KEY]));
        (key.len() == KEY).then(|| own.copy_from_slice(key))?;
        Some(Wrapping { features, key: own })
    }

    /// Derives the key that belongs to a salt.
    fn derived(&self, salt: &[u8; SALT]) -> Option<Gcm> {
        let mut key = Zeroizing::new([0; KEY]);
        hkdf::derive(self.features, Hash::Sha256, salt, &**self.key, LABEL, &mut *key).ok()?;
        Gcm::new(self.features, &*key).ok()
    }

    /// Encrypts a key of an algorithm that will have these usages, with a salt that is random and new.
    pub(super) fn wrap(
        &self,
        salt: &[u8; SALT],
        of: Algorithm,
        usages: Usages,
        key: &[u8],
    ) -> Option<Vec<u8>> {
        // The copy is zeroed if it is dropped before it is encrypted.
        let mut wrapped = Zeroizing::new(vec![0; SALT + TAG + key.len()]);
        let (front, body) = wrapped.split_at_mut(SALT + TAG);
        body.copy_from_slice(key);
        let mut tag = [0; TAG];
        self.derived(salt)?.seal(&NONCE, &about(of, usages), InOut::in_place(body), &mut tag).ok()?;
        front[..SALT].copy_from_slice(salt);
        front[SALT..].copy_from_slice(&tag);
        Some(std::mem::take(&mut *wrapped))
    }

    /// Decrypts a key; none where it was wrapped for another algorithm or other usages, or elsewhere.
    pub(super) fn unwrap(&self, of: Algorithm, usages: Usages, wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (salt, rest) = wrapped.split_first_chunk::<SALT>()?;
        let (tag, body) = rest.split_first_chunk::<TAG>()?;
        let mut key = Zeroizing::new(body.to_vec());
        self.derived(salt)?.open(&NONCE, &about(of, usages), InOut::in_place(&mut key), tag).ok()?;
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
            wrapping.wrap(&[3; SALT], of, Usages::SIGN, b"a private key of 32 bytes at all").unwrap();
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

    #[test]
    fn each_salt_has_a_key_of_its_own() {
        let wrapping = Wrapping::new(Features::hardware(), &[7; 32]).unwrap();
        let with =
            |salt: u8| wrapping.wrap(&[salt; SALT], Algorithm::Ed25519, Usages::SIGN, &[0; 32]).unwrap();
        let (one, other) = (with(1), with(2));
        assert_ne!(one[SALT..], other[SALT..], "the key stream is another, although the nonce is the same");
        assert_eq!(one, with(1));
        assert!(Wrapping::new(Features::hardware(), &[7; 31]).is_none());
    }
}

//! The generator of nonces.
//!
//! Ref. RFC 6979 §3.2 (the generator), §3.6 (additional data); SP 800-90A Rev. 1 §10.1.2.

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash, MAX_DIGEST};
use millstream_engines::hmac::HmacKey;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::message::{Message, leftmost};
use crate::weierstrass::key::is_scalar;
use crate::weierstrass::ops::{LIMBS, Secret, Words};
use crate::weierstrass::{Curve, MAX_BYTES, PrivateKey, limbs};

/// The most random bytes that a nonce is hedged with.
pub(crate) const HEDGE: usize = 32;

/// HMAC_DRBG, seeded with a key and a message.
pub(crate) struct Nonces {
    features: Features,
    hash: Hash,
    curve: Curve,
    key: HmacKey,
    value: Digest,
    /// True after the first number, before which nothing is added.
    used: bool,
}

/// The value, a byte and the seed, side by side.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Input {
    bytes: [u8; MAX_DIGEST + 1 + 2 * MAX_BYTES + HEDGE],
    /// The bytes of the value, after which the byte comes.
    value: usize,
    len: usize,
}

impl Input {
    fn new(value: usize) -> Self {
        Input { bytes: [0; MAX_DIGEST + 1 + 2 * MAX_BYTES + HEDGE], value, len: value + 1 }
    }

    /// Adds room for so many bytes of the seed, and returns it.
    fn room(&mut self, len: usize) -> &mut [u8] {
        self.len += len;
        &mut self.bytes[self.len - len..self.len]
    }
}

impl Nonces {
    /// RFC 6979 §3.2 steps a to g; `extra` is the additional data, which may be empty.
    pub(crate) fn new(private: &PrivateKey, message: &Message<'_>, extra: &[u8]) -> Self {
        let (features, hash, curve) = (private.features, message.hash(), private.curve());
        let (len, output) = (curve.bytes(), hash.output_len());
        let mut input = Input::new(output);
        limbs::to_bytes(&private.scalar.0, input.room(len));
        limbs::to_bytes(&below_order(curve, message.number(curve)), input.room(len));
        input.room(extra.len()).copy_from_slice(extra);
        input.bytes[..output].fill(1);
        let key = HmacKey::new(features, hash, &[0; MAX_DIGEST][..output]);
        let mut nonces = Nonces { features, hash, curve, key, value: Digest::EMPTY, used: false };
        nonces.seed(&mut input, 0);
        nonces.seed(&mut input, 1);
        nonces
    }

    /// Replaces the key by the MAC over the value, a byte and the seed, and the value by its MAC.
    fn seed(&mut self, input: &mut Input, round: u8) {
        input.bytes[input.value] = round;
        let key = Zeroizing::new(self.key.sign(&input.bytes[..input.len]));
        self.key = HmacKey::new(self.features, self.hash, &key);
        self.value = self.key.sign(&input.bytes[..input.value]);
        input.bytes[..input.value].copy_from_slice(&self.value);
    }

    /// Returns the next nonce: step h. Only numbers that are no scalars show in the time, and they are forgotten.
    pub(crate) fn next(&mut self) -> Secret {
        loop {
            if self.used {
                let mut input = Input::new(self.value.len());
                input.bytes[..self.value.len()].copy_from_slice(&self.value);
                self.seed(&mut input, 0);
            }
            self.used = true;
            let mut bytes = Zeroizing::new([0; 2 * MAX_DIGEST]);
            let len = self.curve.bytes();
            let mut filled = 0;
            while filled < len {
                self.value = self.key.sign(&self.value);
                bytes[filled..][..self.value.len()].copy_from_slice(&self.value);
                filled += self.value.len();
            }
            let nonce = Secret(leftmost(self.curve, &bytes[..len]));
            if is_scalar(self.curve, &nonce) {
                return nonce;
            }
        }
    }
}

impl Drop for Nonces {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

/// Reduces a number of as many bits as the order has: bits2octets of RFC 6979 §2.3.4.
fn below_order(curve: Curve, number: Words) -> [u64; LIMBS] {
    limbs::reduce_once(&number, 0, curve.order())
}

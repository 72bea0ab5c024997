//! Nonces: hedged ones, and those of RFC 6979.
//!
//! Ref. RFC 6979 §3.2 (the generator); SP 800-90A Rev. 1 §10.1.2; RFC 5869 §2.2 (extraction by a MAC whose key is public); FIPS 186-5
//! §A.3.2 (numbers that are no scalars are refused).

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash, MAX_DIGEST};
use millstream_engines::hmac::HmacKey;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::message::{Message, leftmost};
use crate::weierstrass::key::is_scalar;
use crate::weierstrass::ops::{LIMBS, Secret, Words};
use crate::weierstrass::{Curve, MAX_BYTES, PrivateKey, limbs};

/// The random bytes that a nonce is hedged with.
pub(crate) const HEDGE: usize = 32;

/// Nonces that are MACs over a counter, random bytes, the private key and the message.
///
/// They are uniform if the random bytes are, and otherwise as good as deterministic ones, because the private key is hashed with
/// them. A nonce takes a quarter of the compressions that the generator of RFC 6979 needs.
pub(crate) struct Hedged {
    curve: Curve,
    key: HmacKey,
    input: Zeroizing<[u8; 1 + HEDGE + 2 * MAX_BYTES]>,
}

impl Hedged {
    /// The public key of the MAC, which keeps its uses apart from others of the private key.
    const LABEL: &'static [u8] = b"millstream: nonce of ECDSA";

    /// Begins with the counter at zero.
    pub(crate) fn new(private: &PrivateKey, message: &Message<'_>, random: &[u8; HEDGE]) -> Self {
        let (curve, len) = (private.curve(), private.curve().bytes());
        let mut input = Zeroizing::new([0; 1 + HEDGE + 2 * MAX_BYTES]);
        input[1..=HEDGE].copy_from_slice(random);
        let numbers = &mut input[1 + HEDGE..][..2 * len];
        limbs::to_bytes(&private.scalar.0, &mut numbers[..len]);
        limbs::to_bytes(&below_order(curve, message.number(curve)), &mut numbers[len..]);
        Hedged { curve, key: HmacKey::new(private.features, Hedged::hash(curve), Hedged::LABEL), input }
    }

    /// Returns the hash that is as strong as a curve.
    fn hash(curve: Curve) -> Hash {
        match curve {
            Curve::P256 => Hash::Sha256,
            Curve::P384 => Hash::Sha384,
            Curve::P521 => Hash::Sha512,
        }
    }

    /// Returns the next nonce. Only numbers that are no scalars show in the time, and they are forgotten.
    pub(crate) fn next(&mut self) -> Secret {
        let len = self.curve.bytes();
        loop {
            let mut bytes = Zeroizing::new([0; 2 * MAX_DIGEST]);
            let mut filled = 0;
            while filled < len {
                let part = Zeroizing::new(self.key.sign(&self.input[..1 + HEDGE + 2 * len]));
                bytes[filled..][..part.len()].copy_from_slice(&part);
                filled += part.len();
                self.input[0] = self.input[0].wrapping_add(1);
            }
            let nonce = Secret(leftmost(self.curve, &bytes[..len]));
            if is_scalar(self.curve, &nonce) {
                return nonce;
            }
        }
    }
}

/// The nonces of RFC 6979: HMAC_DRBG, seeded with a key and a message.
pub(crate) struct Deterministic {
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
    bytes: [u8; MAX_DIGEST + 1 + 2 * MAX_BYTES],
    /// The bytes of the value, after which the byte comes.
    value: usize,
    len: usize,
}

impl Input {
    fn new(value: usize) -> Self {
        Input { bytes: [0; MAX_DIGEST + 1 + 2 * MAX_BYTES], value, len: value + 1 }
    }

    /// Adds room for so many bytes of the seed, and returns it.
    fn room(&mut self, len: usize) -> &mut [u8] {
        self.len += len;
        &mut self.bytes[self.len - len..self.len]
    }
}

impl Deterministic {
    /// RFC 6979 §3.2 steps a to g.
    pub(crate) fn new(private: &PrivateKey, message: &Message<'_>) -> Self {
        let (features, hash, curve) = (private.features, message.hash(), private.curve());
        let (len, output) = (curve.bytes(), hash.output_len());
        let mut input = Input::new(output);
        limbs::to_bytes(&private.scalar.0, input.room(len));
        limbs::to_bytes(&below_order(curve, message.number(curve)), input.room(len));
        input.bytes[..output].fill(1);
        let key = HmacKey::new(features, hash, &[0; MAX_DIGEST][..output]);
        let mut nonces = Deterministic { features, hash, curve, key, value: Digest::EMPTY, used: false };
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

impl Drop for Deterministic {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

/// Reduces a number of as many bits as the order has: bits2octets of RFC 6979 §2.3.4.
fn below_order(curve: Curve, number: Words) -> [u64; LIMBS] {
    limbs::reduce_once(&number, 0, curve.order())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the MAC's input apart, and changes each part.
    #[test]
    fn hedged_nonces_depend_on_everything() {
        let features = Features::hardware();
        for curve in Curve::ALL {
            let len = curve.bytes();
            let (digest, other) = ([0x17; 32], [0x18; 32]);
            let (message, other) =
                (Message::digest(Hash::Sha256, &digest), Message::digest(Hash::Sha256, &other));
            let key = |last: u8| {
                let mut bytes = [0; MAX_BYTES];
                bytes[len - 1] = last;
                PrivateKey::new(features, curve, &bytes[..len]).expect("a scalar")
            };
            let mut nonces = Hedged::new(&key(5), &message, &[9; HEDGE]);
            let (first, second) = (nonces.next(), nonces.next());
            let again = Hedged::new(&key(5), &message, &[9; HEDGE]).next();
            assert_eq!(first.0, again.0, "{curve}");
            let mac = HmacKey::new(features, Hedged::hash(curve), Hedged::LABEL);
            let mut number = [0; MAX_BYTES];
            limbs::to_bytes(&message.number(curve), &mut number[..len]);
            let input = |counter: u8| {
                let mut input = vec![counter];
                input.extend([9; HEDGE]);
                input.extend(vec![0; len - 1]);
                input.push(5);
                input.extend(&number[..len]);
                input
            };
            let macs: Vec<u8> = (0..4).flat_map(|counter| mac.sign(&input(counter)).to_vec()).collect();
            // P-521 takes two of SHA-512 for each.
            let used = mac.hash().output_len() * len.div_ceil(mac.hash().output_len());
            assert_eq!(first.0, leftmost(curve, &macs[..len]), "{curve}");
            assert_eq!(second.0, leftmost(curve, &macs[used..][..len]), "{curve}");
            let different = [
                Hedged::new(&key(6), &message, &[9; HEDGE]).next(),
                Hedged::new(&key(5), &other, &[9; HEDGE]).next(),
                Hedged::new(&key(5), &message, &[8; HEDGE]).next(),
                Deterministic::new(&key(5), &message).next(),
            ];
            assert!(different.iter().all(|nonce| nonce.0 != first.0), "{curve}");
        }
    }
}

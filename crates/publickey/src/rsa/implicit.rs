//! Decryption of PKCS#1 v1.5 with implicit rejection: a block whose padding is wrong decrypts to a message that looks random, and is always the
//! same for the same ciphertext. So nobody can tell it from a right one (Bleichenbacher, 1998).
//!
//! Ref. draft-irtf-cfrg-rsa-guidance §7; RFC 8017 §7.2.2.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::hmac::HmacKey;
use zeroize::{Zeroize, Zeroizing};

use super::encoding::{Block, last_to_front};
use super::pkcs1::OVERHEAD;
use crate::montgomery::words;

/// Candidates for the length of the message that replaces a wrong one.
const CANDIDATES: usize = 128;

/// Moves the message of a block to its front, or a message that replaces it if the padding is wrong; returns its length. `exponent`
/// is the private exponent, as long as the modulus, and `ciphertext` what was decrypted.
pub(super) fn decode(features: Features, exponent: &[u8], ciphertext: &[u8], block: &mut [u8]) -> u64 {
    let size = block.len();
    let key = derivation_key(features, exponent, ciphertext);
    let mut other = Block::new(size);
    derive(&key, b"message", other.bytes());
    let other_len = replacing_length(&key, size);

    let mut wrong = u64::from(block[0]) | u64::from(block[1] ^ 2);
    let (mut before, mut message_len) = (u64::MAX, 0);
    for (i, &byte) in block.iter().enumerate().skip(2) {
        let ends = before & words::equal_word(u64::from(byte), 0);
        message_len = words::pick(ends, (size - 1 - i) as u64, message_len);
        // At least eight bytes of padding.
        wrong |= ends & u64::from(i < OVERHEAD - 1);
        before &= !ends;
    }
    wrong |= before & 1;
    let right = words::equal_word(wrong, 0);
    for (byte, other) in block.iter_mut().zip(other.get()) {
        *byte = words::pick(right, u64::from(*byte), u64::from(*other)) as u8;
    }
    let len = words::pick(right, message_len, other_len);
    last_to_front(block, len);
    len
}

/// The key from which the replacing message comes: a hash of the private exponent, and with it one of the ciphertext.
fn derivation_key(features: Features, exponent: &[u8], ciphertext: &[u8]) -> HmacKey {
    let mut hashed = HashKernel::best(features, Hash::Sha256).digest(exponent);
    let mut key = HmacKey::new(features, Hash::Sha256, &hashed).sign(ciphertext);
    let derived = HmacKey::new(features, Hash::Sha256, &key);
    hashed.zeroize();
    key.zeroize();
    derived
}

/// The last candidate that is a possible length.
fn replacing_length(key: &HmacKey, size: usize) -> u64 {
    let mut candidates = Zeroizing::new([0; 2 * CANDIDATES]);
    derive(key, b"length", &mut candidates[..]);
    let longest = (size - OVERHEAD) as u64;
    // A candidate has as many bits as the number of possible lengths, less one.
    let bits = (longest + 1).next_power_of_two() - 1;
    let bits = if (longest + 1).is_power_of_two() { 2 * bits + 1 } else { bits };
    let mut len = 0;
    for pair in candidates.as_chunks::<2>().0 {
        let candidate = u64::from(u16::from_be_bytes(*pair)) & bits;
        let possible = words::mask(candidate.wrapping_sub(longest + 1) >> 63);
        len = words::pick(possible, candidate, len);
    }
    len
}

/// Fills `out` with the HMACs of a counter, the label, and the number of bits.
fn derive(key: &HmacKey, label: &[u8], out: &mut [u8]) {
    let bits = ((8 * out.len()) as u16).to_be_bytes();
    for (counter, chunk) in (0u16..).zip(out.chunks_mut(32)) {
        let mut hmac = key.start();
        hmac.update(&counter.to_be_bytes());
        hmac.update(label);
        hmac.update(&bits);
        let mut block = hmac.finish();
        chunk.copy_from_slice(&block[..chunk.len()]);
        block.zeroize();
    }
}

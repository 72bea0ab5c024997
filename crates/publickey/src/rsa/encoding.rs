//! Parameters, blocks and the mask generation function, which the encodings of messages have in common.
//!
//! Ref. RFC 8017 §7, §8, §9 and appendix B.2.1.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel, Hasher};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of the longest signature or ciphertext.
pub const MAX_BYTES: usize = super::MAX_BITS / 8;

/// The parameters of a PSS signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pss {
    /// The hash of the message.
    pub hash: Hash,
    /// The hash in the mask generation function MGF1.
    pub mgf: Hash,
    /// Bytes of salt.
    pub salt: usize,
}

impl Pss {
    /// The usual parameters of a hash: the same hash in MGF1, and as much salt as a digest has bytes.
    pub fn new(hash: Hash) -> Self {
        Pss { hash, mgf: hash, salt: hash.output_len() }
    }
}

/// The parameters of OAEP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oaep<'l> {
    /// The hash of the label.
    pub hash: Hash,
    /// The hash in the mask generation function MGF1.
    pub mgf: Hash,
    /// The label, which is not secret and not in the ciphertext. It is empty as a rule.
    pub label: &'l [u8],
}

impl Oaep<'_> {
    /// The usual parameters of a hash: the same hash in MGF1, and an empty label.
    pub fn new(hash: Hash) -> Self {
        Oaep { hash, mgf: hash, label: &[] }
    }
}

/// An encoded message, as long as the modulus. It is wiped.
pub(crate) struct Block {
    bytes: Zeroizing<[u8; MAX_BYTES]>,
    len: usize,
}

impl Block {
    /// A block of zeros.
    pub(crate) fn new(len: usize) -> Self {
        Block { bytes: Zeroizing::new([0; MAX_BYTES]), len: len.min(MAX_BYTES) }
    }

    pub(crate) fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

/// Adds the mask that MGF1 makes of the seed (RFC 8017 appendix B.2.1).
pub(crate) fn mask(features: Features, hash: Hash, seed: &[u8], data: &mut [u8]) {
    let kernel = HashKernel::best(features, hash);
    for (counter, chunk) in (0u32..).zip(data.chunks_mut(hash.output_len())) {
        let mut hasher = Hasher::with_kernel(kernel);
        hasher.update(seed);
        hasher.update(&counter.to_be_bytes());
        let mut digest = hasher.finish();
        chunk.iter_mut().zip(digest.iter()).for_each(|(data, mask)| *data ^= mask);
        digest.zeroize();
    }
}

/// Moves the last `len` bytes of a block to its front, and clears the others. The length is secret: each of the bits of the distance
/// decides on a move of the whole.
pub(crate) fn last_to_front(block: &mut [u8], len: u64) {
    let size = block.len();
    let distance = (size as u64).wrapping_sub(len);
    let mut step = 1;
    while step <= size {
        let moves = crate::montgomery::words::mask(u64::from(distance & step as u64 != 0)) as u8;
        for i in 0..size {
            let from = block.get(i + step).copied().unwrap_or(0);
            block[i] ^= moves & (block[i] ^ from);
        }
        step *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_move_by_any_distance() {
        for size in [1, 2, 5, 64, 117] {
            for len in 0..=size {
                let mut block: Vec<u8> = (1..=size as u8).collect();
                let mut right = block[size - len..].to_vec();
                right.resize(size, 0);
                last_to_front(&mut block, len as u64);
                assert_eq!(block, right, "{len} of {size}");
            }
        }
    }
}

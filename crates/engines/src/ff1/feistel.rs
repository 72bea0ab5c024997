//! The parts of the Feistel network that values of any length have.
//!
//! Ref. NIST SP 800-38G §5.1.

use crate::aes::Block;
use crate::aes::feistel::VALUES;

/// The rounds of the Feistel network.
pub(super) const ROUNDS: u8 = 10;

/// The values that are under way side by side: as many blocks as the widest kernel of ECB takes at a time.
pub(super) const LANES: usize = VALUES;

/// The halves' lengths, §5.1 step 1.
pub(super) fn halves(len: usize) -> (usize, usize) {
    (len / 2, len - len / 2)
}

/// The block P, §5.1 step 5.
pub(super) fn first_block(radix: u32, len: usize, tweak: usize) -> Block {
    let mut block = [1, 2, 1, 0, 0, 0, ROUNDS, (len / 2) as u8, 0, 0, 0, 0, 0, 0, 0, 0];
    block[3..6].copy_from_slice(&radix.to_be_bytes()[1..]);
    block[8..12].copy_from_slice(&(len as u32).to_be_bytes());
    block[12..].copy_from_slice(&(tweak as u32).to_be_bytes());
    block
}

//! The key schedule.
//!
//! Ref. TS 35.202 §4.6 and table 1.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The subkeys of one round.
#[derive(Clone, Copy, Default, Zeroize)]
pub(super) struct Round {
    /// KLi,1 and KLi,2 of the function FL.
    pub kl: [u16; 2],
    /// KOi,1 to KOi,3, which go into the inputs of FI.
    pub ko: [u16; 3],
    /// KIi,1 to KIi,3, which go into the middle of FI: seven bits, then nine.
    pub ki: [u16; 3],
}

/// The number of subkey vectors for two rounds in a vector kernel.
pub(super) const WIDE: usize = 10;

/// An expanded key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub struct Schedule {
    /// The key itself, for kernels that expand many at once.
    pub(super) key: [u8; 16],
    pub(super) rounds: [Round; 8],
    /// The same subkeys in the layout of a vector kernel. Portable kernels leave it blank.
    pub(super) wide: [[[u8; 16]; WIDE]; 4],
}

/// Expands a key for kernels that take the subkeys as they are.
pub(super) fn expand(key: &[u8; 16]) -> Schedule {
    /// The constants C1 to C8.
    const C: [u16; 8] = [0x0123, 0x4567, 0x89ab, 0xcdef, 0xfedc, 0xba98, 0x7654, 0x3210];
    let mut k = [0u16; 8];
    for (word, bytes) in k.iter_mut().zip(key.chunks_exact(2)) {
        *word = u16::from_be_bytes([bytes[0], bytes[1]]);
    }
    let mut rounds = [Round::default(); 8];
    for (i, round) in rounds.iter_mut().enumerate() {
        let plain = |n: usize| k[(i + n) % 8];
        let primed = |n: usize| k[(i + n) % 8] ^ C[(i + n) % 8];
        *round = Round {
            kl: [plain(0).rotate_left(1), primed(2)],
            ko: [plain(1).rotate_left(5), plain(5).rotate_left(8), plain(6).rotate_left(13)],
            ki: [primed(4), primed(3), primed(7)],
        };
    }
    k.zeroize();
    Schedule { key: *key, rounds, wide: [[[0; 16]; WIDE]; 4] }
}

//! Eight blocks to a register, and each S-box a table in one register. This form serves some dozens of messages at a time.
//!
//! # Safety
//! Inlined into entry points that have the features of [`super::LANES`].

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use crate::des::arch::x86_64_avx512::{Lines, transpose};
use crate::des::schedule::{MAX_ROUNDS, Schedule};
use crate::des::side_by_side::{Form, Row};
use crate::des::wiring::{COPIES, ENTER, LEAVE, SECOND, SUBSTITUTE, Tables};
use crate::modes::Direction;

impl Form<32> for OneKey<'_> {
    type Transfer = Lines;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<32>, live: usize) {
        // SAFETY: as the caller says.
        unsafe { crypt_some(self, blocks, live) }
    }
}

impl Form<32> for ManyKeys {
    type Transfer = Lines;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<32>, live: usize) {
        // SAFETY: as the caller says.
        unsafe { crypt_some(self, blocks, live) }
    }
}

/// Ciphers the first `live` of 32 blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) unsafe fn crypt_some<K: EightKeys>(keys: &K, blocks: &mut Row<32>, live: usize) {
    // SAFETY: as above.
    unsafe {
        match live {
            0..=8 => crypt::<1, K>(keys, blocks),
            9..=16 => crypt::<2, K>(keys, blocks),
            17..=24 => crypt::<3, K>(keys, blocks),
            _ => crypt::<4, K>(keys, blocks),
        }
    }
}

/// The keys of eight blocks in a register, round by round.
pub(super) trait EightKeys {
    /// 16 or 48.
    fn rounds(&self) -> usize;

    /// # Safety
    /// The kernel's features exist.
    unsafe fn key(&self, eight: usize, round: usize) -> __m512i;
}

/// One key for all blocks.
pub(super) struct OneKey<'a> {
    /// The round keys in the order of encryption.
    pub(super) keys: &'a [u64],
    pub(super) direction: Direction,
}

impl EightKeys for OneKey<'_> {
    #[inline(always)]
    fn rounds(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    unsafe fn key(&self, _: usize, round: usize) -> __m512i {
        let round = match self.direction {
            Direction::Encrypt => round,
            Direction::Decrypt => self.keys.len() - 1 - round,
        };
        // SAFETY: as the caller says.
        unsafe { _mm512_set1_epi64(self.keys[round] as i64) }
    }
}

/// A key for each of 32 blocks. The keys of blocks that are not in use are not set.
pub(super) struct ManyKeys {
    keys: [[MaybeUninit<__m512i>; MAX_ROUNDS]; 4],
    rounds: usize,
    eights: usize,
}

impl ManyKeys {
    /// Returns room for the keys of that many rounds.
    #[inline(always)]
    pub(super) fn new(rounds: usize) -> Self {
        ManyKeys { keys: [[MaybeUninit::uninit(); MAX_ROUNDS]; 4], rounds, eights: 0 }
    }

    /// Takes the keys of the first `used` of 32 blocks.
    #[inline(always)]
    pub(super) unsafe fn set(&mut self, schedules: &[&Schedule], used: usize, direction: Direction) {
        self.eights = used.div_ceil(8);
        for eight in 0..self.eights {
            for at in (0..self.rounds).step_by(8) {
                // SAFETY: as the caller says; eight rounds are a line.
                unsafe {
                    let mut x = [_mm512_setzero_si512(); 8];
                    for n in 0..8 {
                        let keys: &[u64] = &schedules[8 * eight + n].ordered()[at..at + 8];
                        x[n] = _mm512_loadu_si512(keys.as_ptr().cast());
                    }
                    transpose(&mut x);
                    for i in 0..8 {
                        let round = match direction {
                            Direction::Encrypt => at + i,
                            Direction::Decrypt => self.rounds - 1 - at - i,
                        };
                        self.keys[eight][round].write(x[i]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    pub(super) unsafe fn wipe(&mut self) {
        for eight in 0..self.eights {
            for round in 0..self.rounds {
                // SAFETY: as the caller says.
                unsafe { self.keys[eight][round].as_mut_ptr().write_volatile(_mm512_setzero_si512()) }
            }
        }
    }
}

impl EightKeys for ManyKeys {
    #[inline(always)]
    fn rounds(&self) -> usize {
        self.rounds
    }

    #[inline(always)]
    unsafe fn key(&self, eight: usize, round: usize) -> __m512i {
        debug_assert!(eight < self.eights && round < self.rounds);
        // SAFETY: only blocks in use are ciphered, in groups of eight whose keys are all set.
        unsafe { self.keys.get_unchecked(eight).get_unchecked(round).assume_init() }
    }
}

/// Ciphers the first `8 * N` blocks.
#[inline(always)]
unsafe fn crypt<const N: usize, K: EightKeys>(keys: &K, blocks: &mut Row<32>) {
    let rows = blocks.0.as_mut_ptr().cast::<__m512i>();
    // SAFETY: as the caller says; a row of 32 words is four aligned registers.
    unsafe {
        let mut l = [_mm512_setzero_si512(); N];
        let mut r = l;
        for n in 0..N {
            (l[n], r[n]) = enter(*rows.add(n));
        }
        for sixteen in (0..keys.rounds()).step_by(16) {
            for i in (sixteen..sixteen + 16).step_by(2) {
                for n in 0..N {
                    l[n] = _mm512_xor_si512(l[n], f(r[n], keys.key(n, i)));
                }
                for n in 0..N {
                    r[n] = _mm512_xor_si512(r[n], f(l[n], keys.key(n, i + 1)));
                }
            }
            (l, r) = (r, l);
        }
        for n in 0..N {
            *rows.add(n) = leave(l[n], r[n]);
        }
    }
}

/// The lowest six bits of each byte, which are an index, and the ternary functions `a & mask ^ c` and
/// `a & mask | c` that take this mask in the middle.
pub(super) const SIX: u64 = u64::from_ne_bytes([0x3f; 8]);
const AND_XOR: i32 = 0x6a;
pub(super) const AND_OR: i32 = 0xea;
/// `a | b & c`.
const OR_AND: i32 = 0xf8;

#[inline(always)]
pub(super) unsafe fn splat(word: u64) -> __m512i {
    // SAFETY: as above.
    unsafe { _mm512_set1_epi64(word as i64) }
}

/// Byte j has bit j set. As the vector of an affine transform it turns the matrix into its transpose.
const DIAGONAL: u64 = u64::from_ne_bytes([1, 2, 4, 8, 16, 32, 64, 128]);

/// The function f of the standard, wired as [`crate::des::wiring`] says. The look-ups follow one
/// another, S1 and S2 first because their outputs are copied.
#[inline(always)]
unsafe fn f(half: __m512i, key: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let index = _mm512_ternarylogic_epi32::<AND_XOR>(half, splat(SIX), key);
        let out = look_up_pairs(&SUBSTITUTE, index);
        let first = _mm512_shuffle_epi8(out[0], eights(0));
        let second = _mm512_shuffle_epi8(out[0], eights(u64::from_ne_bytes([1; 8])));
        let x = _mm512_and_si512(out[0], bytes_of(0));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[1], bytes_of(1));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, first, splat(u64::from_ne_bytes(COPIES[0])));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[2], bytes_of(2));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, second, splat(u64::from_ne_bytes(COPIES[1])));
        let matrix = _mm512_ternarylogic_epi32::<OR_AND>(x, out[3], bytes_of(3));
        _mm512_gf2p8affine_epi64_epi8::<0>(splat(DIAGONAL), matrix)
    }
}

/// Turns byte numbers within eight bytes into byte numbers within sixteen.
#[inline(always)]
unsafe fn eights(bytes: u64) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let upper = bytes | u64::from_ne_bytes([8; 8]);
        _mm512_broadcast_i32x4(_mm_set_epi64x(upper as i64, bytes as i64))
    }
}

/// Looks every byte up in the tables of each pair of S-boxes. Only the bytes of that pair are of use
/// in each result. Bit 6 of an index is as in [`SECOND`].
#[inline(always)]
unsafe fn look_up_pairs(tables: &'static Tables, index: __m512i) -> [__m512i; 4] {
    // SAFETY: as above; a table is 64 bytes.
    unsafe {
        let mut out = [index; 4];
        for pair in 0..4 {
            let first = _mm512_loadu_si512(tables[2 * pair].as_ptr().cast());
            let second = _mm512_loadu_si512(tables[2 * pair + 1].as_ptr().cast());
            out[pair] = _mm512_permutex2var_epi8(first, index, second);
        }
        out
    }
}

/// Returns a mask of the bytes of one pair.
#[inline(always)]
unsafe fn bytes_of(pair: usize) -> __m512i {
    // SAFETY: as above.
    unsafe { splat(0xffff << (16 * pair)) }
}

/// Looks every byte up in its S-box's table.
#[inline(always)]
pub(super) unsafe fn look_up(tables: &'static Tables, index: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let out = look_up_pairs(tables, index);
        let x = _mm512_and_si512(out[0], bytes_of(0));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[1], bytes_of(1));
        let x = _mm512_ternarylogic_epi32::<OR_AND>(x, out[2], bytes_of(2));
        _mm512_ternarylogic_epi32::<OR_AND>(x, out[3], bytes_of(3))
    }
}

/// Applies IP and E: returns the left and the right half as indices.
#[inline(always)]
unsafe fn enter(block: __m512i) -> (__m512i, __m512i) {
    // SAFETY: as above.
    unsafe {
        let reversed = reversed(block);
        (expand(reversed, COLUMNS[0]), expand(reversed, COLUMNS[1]))
    }
}

/// Returns blocks with their bytes in reverse order.
#[inline(always)]
pub(super) unsafe fn reversed(blocks: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe { _mm512_shuffle_epi8(blocks, eights(u64::from_ne_bytes([7, 6, 5, 4, 3, 2, 1, 0]))) }
}

/// The bits of a block's bytes that IP collects into each byte of a half, for either half. The half
/// stands there twice, as two little-endian words.
pub(super) const COLUMNS: [u64; 2] = [
    u64::from_ne_bytes([0x01, 0x04, 0x10, 0x40, 0x01, 0x04, 0x10, 0x40]),
    u64::from_ne_bytes([0x02, 0x08, 0x20, 0x80, 0x02, 0x08, 0x20, 0x80]),
];

/// Returns one half of a block, which is given with its bytes reversed.
#[inline(always)]
unsafe fn expand(reversed: __m512i, columns: u64) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let inputs = inputs(reversed, columns);
        look_up(&ENTER, _mm512_ternarylogic_epi32::<AND_OR>(inputs, splat(SIX), splat(SECOND)))
    }
}

/// Returns the inputs of the S-boxes that are one half of a block, as the standard has them: the low six bits of a byte each.
#[inline(always)]
pub(super) unsafe fn inputs(reversed: __m512i, columns: u64) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let half = _mm512_gf2p8affine_epi64_epi8::<0>(splat(columns), reversed);
        let rotated = _mm512_rorv_epi32(half, splat(7 << 32 | 3));
        _mm512_shuffle_epi8(rotated, eights(INPUTS))
    }
}

/// The byte in which each S-box finds its input (E), in the low six bits, when the half stands there
/// twice, rotated by 3 and by 7.
const INPUTS: u64 = u64::from_ne_bytes([3, 6, 2, 5, 1, 4, 0, 7]);

/// Turns the indices back into blocks with the inverse of IP.
#[inline(always)]
unsafe fn leave(l: __m512i, r: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let l = look_up(&LEAVE, _mm512_ternarylogic_epi32::<AND_OR>(l, splat(SIX), splat(SECOND)));
        let r = look_up(&LEAVE, _mm512_ternarylogic_epi32::<AND_OR>(r, splat(SIX), splat(SECOND)));
        join(l, r)
    }
}

/// Makes blocks of the four bits that each S-box has of either half.
#[inline(always)]
pub(super) unsafe fn join(l: __m512i, r: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe {
        // The bytes of the halves alternate, beginning with the right half's.
        let r = _mm512_or_si512(r, _mm512_srli_epi64::<8>(r));
        let l = _mm512_or_si512(l, _mm512_slli_epi64::<8>(l));
        let even = splat(u64::from_ne_bytes([0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0]));
        let halves = _mm512_ternarylogic_epi32::<0xca>(even, r, l);
        _mm512_gf2p8affine_epi64_epi8::<0>(splat(DIAGONAL), halves)
    }
}

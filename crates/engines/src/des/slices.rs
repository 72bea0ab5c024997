//! DES bitsliced: slice `i` has bit `i` of all blocks, so that the S-boxes are circuits and the
//! permutations only rename slices.
//!
//! Ref. FIPS 46-3, "Enciphering"; E. Biham, "A Fast New DES Implementation in Software", 1997.
//!
//! # Safety
//! Everything here is inlined into a kernel's entry point: its features are the witness for the
//! functions of [`Slice`] and [`Ternary`].
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use zeroize::optimization_barrier;

use super::schedule::{MAX_KEYS, Masks, Schedule};
use super::tables::{IP, PC1, PC2, PLACE, ROTATION};
use crate::modes::Direction;

/// One bit of each block, for as many blocks as the type has bits. All functions need the kernel's
/// features.
#[allow(clippy::missing_safety_doc, reason = "said above, once")]
pub(super) trait Slice: Copy {
    /// All lanes the same word, itself all zeros or all ones.
    unsafe fn splat(mask: u32) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// `self AND NOT other`.
    unsafe fn without(self, other: Self) -> Self;
    unsafe fn not(self) -> Self;
    /// In every 64-bit lane, exchanges the bits of `a` that `mask << SHIFT` selects with those of
    /// `b` that `mask` selects. `mask << SHIFT` is the complement of `mask`.
    unsafe fn exchange<const SHIFT: u32>(a: Self, b: Self, mask: u64) -> (Self, Self);
    /// S-box `BOX + 1`, bit 1 of input and output first.
    unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4];
}

/// A slice with gates of three inputs.
#[cfg(any(test, target_arch = "x86_64"))]
#[allow(clippy::missing_safety_doc, reason = "said above, once")]
pub(super) trait Ternary: Slice {
    /// The function with the truth table `F`, of which it returns bit `4a + 2b + c`.
    unsafe fn lut<const F: i32>(a: Self, b: Self, c: Self) -> Self;
}

/// The keys of all rounds, in the order of use.
pub(super) trait Keys<V> {
    type Round: RoundKey<V>;
    /// 16, or 48 for triple encryption.
    fn rounds(&self) -> usize;
    fn round(&self, i: usize) -> Self::Round;
}

/// The key of one round.
pub(super) trait RoundKey<V> {
    /// Returns bit `bit + 1` of the key that is added to the input of S-box `BOX + 1`.
    ///
    /// # Safety
    /// The kernel's features exist.
    unsafe fn get<const BOX: usize>(&self, bit: usize) -> V;
}

/// One key for all blocks.
#[derive(Clone, Copy)]
pub(super) struct OneKey<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) direction: Direction,
}

impl<'a, V: Slice> Keys<V> for OneKey<'a> {
    type Round = &'a Masks;

    #[inline(always)]
    fn rounds(&self) -> usize {
        self.schedule.rounds()
    }

    #[inline(always)]
    fn round(&self, i: usize) -> &'a Masks {
        self.schedule.masks(self.direction, i)
    }
}

impl<V: Slice> RoundKey<V> for &Masks {
    #[inline(always)]
    unsafe fn get<const BOX: usize>(&self, bit: usize) -> V {
        // SAFETY: as the caller says.
        unsafe { V::splat(self.0[bit][BOX]) }
    }
}

/// A key for each block: the halves C and D of each of up to three keys, bit by bit. All rounds
/// choose from the same bits, rotated. Each half stands there twice, so that a round's half is a
/// window of it.
#[repr(C, align(64))]
pub(super) struct KeySlices<V> {
    keys: [[[MaybeUninit<V>; 56]; 2]; MAX_KEYS],
    ciphers: usize,
    direction: Direction,
}

impl<V: Slice> KeySlices<V> {
    /// Returns room for the keys of blocks that all go through that many ciphers.
    #[inline(always)]
    pub(super) fn new(ciphers: usize, direction: Direction) -> Self {
        KeySlices { keys: [[[MaybeUninit::uninit(); 56]; 2]; MAX_KEYS], ciphers, direction }
    }

    /// Takes key `i` of each block's bundle, given in rows as blocks are in [`crypt`]: transposes
    /// them and puts the bits into the order of PC-1.
    ///
    /// # Safety
    /// The kernel's features exist.
    #[inline(always)]
    pub(super) unsafe fn set(&mut self, i: usize, rows: &mut [V; 64]) {
        // SAFETY: as the caller says.
        unsafe { transpose(rows) };
        for half in 0..2 {
            for bit in 0..28 {
                let value = rows[slice(PC1[28 * half + bit])];
                self.keys[i][half][bit].write(value);
                self.keys[i][half][bit + 28].write(value);
            }
        }
    }

    #[inline(always)]
    pub(super) fn wipe(&mut self) {
        for key in &mut self.keys[..self.ciphers] {
            *key = [[MaybeUninit::zeroed(); 56]; 2];
        }
        optimization_barrier(self);
    }
}

impl<V: Slice> Keys<V> for &KeySlices<V> {
    type Round = Window<V>;

    #[inline(always)]
    fn rounds(&self) -> usize {
        16 * self.ciphers
    }

    #[inline(always)]
    fn round(&self, i: usize) -> Window<V> {
        let (cipher, round) = (i / 16, i % 16);
        let (key, backwards) = match self.direction {
            Direction::Encrypt => (cipher, cipher == 1),
            Direction::Decrypt => (self.ciphers - 1 - cipher, cipher != 1),
        };
        let rotation = ROTATION[if backwards { 15 - round } else { round }] as usize;
        let [c, d] = &self.keys[key];
        Window([c[rotation..].as_ptr().cast(), d[rotation..].as_ptr().cast()])
    }
}

/// C and D, rotated for one round: 28 slices from each pointer.
pub(super) struct Window<V>([*const V; 2]);

impl<V: Slice> RoundKey<V> for Window<V> {
    #[inline(always)]
    unsafe fn get<const BOX: usize>(&self, bit: usize) -> V {
        let at = PC2[6 * BOX + bit] as usize - 1;
        // SAFETY: at most 27 past a beginning that is at most 28 into an array of 56, all of which
        // `KeySlices::set` has written.
        unsafe { *self.0[at / 28].add(at % 28) }
    }
}

/// Enciphers or deciphers blocks: word `q` of row `i` is block `i * lanes + q`.
#[inline(always)]
pub(super) unsafe fn crypt<V: Slice>(keys: impl Keys<V>, rows: &mut [V; 64]) {
    // SAFETY: as the caller says.
    unsafe {
        transpose(rows);
        let zero = V::splat(0);
        let (mut left, mut right) = ([zero; 32], [zero; 32]);
        for i in 0..32 {
            left[i] = rows[slice(IP[i])];
            right[i] = rows[slice(IP[32 + i])];
        }
        let (mut l, mut r) = (&mut left, &mut right);
        for sixteen in (0..keys.rounds()).step_by(16) {
            for i in (sixteen..sixteen + 16).step_by(2) {
                round(l, r, keys.round(i));
                round(r, l, keys.round(i + 1));
            }
            (l, r) = (r, l);
        }
        for i in 0..32 {
            rows[slice(IP[i])] = l[i];
            rows[slice(IP[32 + i])] = r[i];
        }
        // The working slices hold the message in the clear, so they are wiped.
        for i in 0..32 {
            (&raw mut l[i]).write_volatile(zero);
            (&raw mut r[i]).write_volatile(zero);
        }
        transpose(rows);
    }
}

/// Returns the slice that holds a block's bit, numbered from 1 at the left, when the block was
/// read as a little-endian word.
const fn slice(bit: u8) -> usize {
    (bit as usize - 1) ^ 7
}

#[inline(always)]
unsafe fn round<V: Slice, K: RoundKey<V>>(l: &mut [V; 32], r: &[V; 32], key: K) {
    // SAFETY: as the caller says.
    unsafe {
        substitute::<0, V, K>(l, r, &key);
        substitute::<1, V, K>(l, r, &key);
        substitute::<2, V, K>(l, r, &key);
        substitute::<3, V, K>(l, r, &key);
        substitute::<4, V, K>(l, r, &key);
        substitute::<5, V, K>(l, r, &key);
        substitute::<6, V, K>(l, r, &key);
        substitute::<7, V, K>(l, r, &key);
    }
}

/// Adds one S-box of f to the left half: E, the key, the S-box, P.
#[inline(always)]
unsafe fn substitute<const BOX: usize, V: Slice, K: RoundKey<V>>(l: &mut [V; 32], r: &[V; 32], key: &K) {
    // SAFETY: as the caller says.
    unsafe {
        let mut input = [V::splat(0); 6];
        for j in 0..6 {
            input[j] = r[(4 * BOX + 31 + j) % 32].xor(key.get::<BOX>(j));
        }
        let output = V::substitute::<BOX>(input);
        for q in 0..4 {
            let at = 31 - PLACE[BOX][q] as usize;
            l[at] = l[at].xor(output[q]);
        }
    }
}

/// Transposes the 64 by 64 bits that each 64-bit lane holds in the 64 rows: in two passes over
/// memory, three exchanges each.
#[inline(always)]
unsafe fn transpose<V: Slice>(rows: &mut [V; 64]) {
    // SAFETY: as the caller says.
    unsafe {
        for i in 0..8 {
            let mut x = [rows[i]; 8];
            for j in 1..8 {
                x[j] = rows[8 * j + i];
            }
            exchange::<4, 32, V>(&mut x, 0x0000_0000_ffff_ffff);
            exchange::<2, 16, V>(&mut x, 0x0000_ffff_0000_ffff);
            exchange::<1, 8, V>(&mut x, 0x00ff_00ff_00ff_00ff);
            for j in 0..8 {
                rows[8 * j + i] = x[j];
            }
        }
        for x in rows.as_chunks_mut::<8>().0 {
            exchange::<4, 4, V>(x, 0x0f0f_0f0f_0f0f_0f0f);
            exchange::<2, 2, V>(x, 0x3333_3333_3333_3333);
            exchange::<1, 1, V>(x, 0x5555_5555_5555_5555);
        }
    }
}

/// One stage of the transposition among eight rows, between those `STEP` apart.
#[inline(always)]
unsafe fn exchange<const STEP: usize, const SHIFT: u32, V: Slice>(x: &mut [V; 8], mask: u64) {
    for i in 0..4 {
        let at = i / STEP * 2 * STEP + i % STEP;
        // SAFETY: as the caller says.
        (x[at], x[at + STEP]) = unsafe { V::exchange::<SHIFT>(x[at], x[at + STEP], mask) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::circuits;
    use super::super::tables::TRUTH;
    use super::*;

    /// `u64` with three-input gates, to check those circuits on any processor.
    #[derive(Clone, Copy)]
    struct Word(u64);

    impl Slice for Word {
        unsafe fn splat(mask: u32) -> Self {
            Word(u64::from(mask) << 32 | u64::from(mask))
        }
        unsafe fn and(self, other: Self) -> Self {
            Word(self.0 & other.0)
        }
        unsafe fn or(self, other: Self) -> Self {
            Word(self.0 | other.0)
        }
        unsafe fn xor(self, other: Self) -> Self {
            Word(self.0 ^ other.0)
        }
        unsafe fn without(self, other: Self) -> Self {
            Word(self.0 & !other.0)
        }
        unsafe fn not(self) -> Self {
            Word(!self.0)
        }
        unsafe fn exchange<const SHIFT: u32>(a: Self, b: Self, _: u64) -> (Self, Self) {
            (a, b)
        }
        unsafe fn substitute<const BOX: usize>(input: [Self; 6]) -> [Self; 4] {
            // SAFETY: no feature is needed.
            unsafe { circuits::ternary::substitute::<BOX, Self>(input) }
        }
    }

    impl Ternary for Word {
        unsafe fn lut<const F: i32>(a: Self, b: Self, c: Self) -> Self {
            let bit = |x: u64, i: u32| x >> i & 1;
            Word((0..64).fold(0, |out, i| {
                let at = 4 * bit(a.0, i) + 2 * bit(b.0, i) + bit(c.0, i);
                out | (F as u64 >> at & 1) << i
            }))
        }
    }

    /// Checks both forms of an S-box on all 64 inputs at once, against the standard's table.
    fn check<const BOX: usize>() {
        // Lane x of input j is bit j of x, the first one at the top.
        let input = [5, 4, 3, 2, 1, 0].map(|bit| (0..64).fold(0u64, |w, x| w | (x >> bit & 1) << x));
        // SAFETY: no feature is needed.
        unsafe {
            assert_eq!(circuits::binary::substitute::<BOX, u64>(input), TRUTH[BOX]);
            assert_eq!(Word::substitute::<BOX>(input.map(Word)).map(|w| w.0), TRUTH[BOX]);
        }
    }

    #[test]
    fn circuits_are_the_tables_of_the_standard() {
        check::<0>();
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
        check::<7>();
    }

    #[test]
    fn transposes() {
        let mut random = millstream_testkit::Random::new(64);
        let rows: [u64; 64] = std::array::from_fn(|_| random.next_u64());
        let mut columns = rows;
        // SAFETY: no feature is needed.
        unsafe { transpose(&mut columns) };
        for i in 0..64 {
            for j in 0..64 {
                assert_eq!(columns[i] >> j & 1, rows[j] >> i & 1);
            }
        }
    }
}

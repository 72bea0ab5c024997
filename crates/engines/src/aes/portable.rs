//! AES on any processor: bitsliced, four blocks at a time, in constant time.
//!
//! In the slices of `sliced.rs` ShiftRows turns each 16-bit quarter by a multiple of four, and a step
//! down a column is a rotation by 16.
//!
//! Ref. FIPS 197 §5.
//!
//! # Safety
//! The unsafe calls are to [`Keys::new`], and the vectors here need no feature.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use super::arch::{serial_tier, tier};
use super::schedule::{Form, expand_portable};
use super::sliced::{Sliced, compress, slice, sub_bytes, unslice};
use super::vector::{Alone, Beside, Chain, Keys, Vector, load_short, store_short};
use super::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "portable",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "bitsliced over 64-bit words, four blocks side by side",
};

pub(crate) const SERIAL: Kernel = Kernel { ..KERNEL };

tier!(Four, One);
serial_tier!(One);

/// Expands a key and slices the round keys.
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    expand_portable(schedule, key);
    for i in 0..=schedule.rounds {
        schedule.encrypt[i] = compress(&slice(&[schedule.encrypt[i]; 4]));
    }
    schedule.form = Form::Sliced;
}

/// The inverse cipher here takes the same round keys, last first.
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    let keys = schedule.round_keys();
    inverse.encrypt[..keys.len()].copy_from_slice(keys);
    inverse.form = Form::Sliced;
}

/// Encrypts four blocks.
pub(crate) fn encrypt_blocks4(schedule: &Schedule, blocks: &mut [Block; 4]) {
    let mut q = slice(blocks);
    add_round_key(&mut q, schedule, 0);
    for round in 1..schedule.rounds {
        sub_bytes(&mut q);
        shift_rows(&mut q);
        mix_columns(&mut q);
        add_round_key(&mut q, schedule, round);
    }
    sub_bytes(&mut q);
    shift_rows(&mut q);
    add_round_key(&mut q, schedule, schedule.rounds);
    *blocks = unslice(q);
}

/// Decrypts four blocks, FIPS 197 §5.3.
pub(crate) fn decrypt_blocks4(schedule: &Schedule, blocks: &mut [Block; 4]) {
    let mut q = slice(blocks);
    add_round_key(&mut q, schedule, schedule.rounds);
    for round in (1..schedule.rounds).rev() {
        inv_shift_rows(&mut q);
        inv_sub_bytes(&mut q);
        add_round_key(&mut q, schedule, round);
        inv_mix_columns(&mut q);
    }
    inv_shift_rows(&mut q);
    inv_sub_bytes(&mut q);
    add_round_key(&mut q, schedule, 0);
    *blocks = unslice(q);
}

#[inline(always)]
fn add_round_key(q: &mut Sliced, schedule: &Schedule, round: usize) {
    let words = schedule.encrypt[round].as_chunks::<8>().0;
    for i in 0..8 {
        let one = u64::from_le_bytes(words[i / 4]) >> (i % 4) & 0x1111_1111_1111_1111;
        // Times 15: the bit in all four places.
        q[i] ^= (one << 4).wrapping_sub(one);
    }
}

/// Turns row `r` by `r` columns: FIPS 197 §5.1.2.
#[inline(always)]
fn shift_rows(q: &mut Sliced) {
    for x in q {
        *x = *x & 0x0000_0000_0000_ffff
            | (*x & 0x0000_0000_fff0_0000) >> 4
            | (*x & 0x0000_0000_000f_0000) << 12
            | (*x & 0x0000_ff00_0000_0000) >> 8
            | (*x & 0x0000_00ff_0000_0000) << 8
            | (*x & 0xf000_0000_0000_0000) >> 12
            | (*x & 0x0fff_0000_0000_0000) << 4;
    }
}

/// Turns row `r` back: FIPS 197 §5.3.1.
#[inline(always)]
fn inv_shift_rows(q: &mut Sliced) {
    for x in q {
        *x = *x & 0x0000_0000_0000_ffff
            | (*x & 0x0000_0000_0fff_0000) << 4
            | (*x & 0x0000_0000_f000_0000) >> 12
            | (*x & 0x0000_ff00_0000_0000) >> 8
            | (*x & 0x0000_00ff_0000_0000) << 8
            | (*x & 0xfff0_0000_0000_0000) >> 4
            | (*x & 0x000f_0000_0000_0000) << 12;
    }
}

/// Multiplies every byte by x, FIPS 197 §4.2.1: the reduction polynomial is x^8+x^4+x^3+x+1.
#[inline(always)]
fn double(q: &Sliced) -> Sliced {
    let top = q[7];
    [top, q[0] ^ top, q[1], q[2] ^ top, q[3] ^ top, q[4], q[5], q[6]]
}

/// Each byte becomes 2 a0 + 3 a1 + a2 + a3 of its column, counting down from itself: with
/// s = a0 + a1 that is 2 s + a1 + (s two rows down). FIPS 197 §5.1.3.
#[inline(always)]
fn mix_columns(q: &mut Sliced) {
    let mut s = [0; 8];
    for i in 0..8 {
        s[i] = q[i] ^ q[i].rotate_right(16);
    }
    let d = double(&s);
    for i in 0..8 {
        q[i] = d[i] ^ q[i].rotate_right(16) ^ s[i].rotate_right(32);
    }
}

/// InvMixColumns is MixColumns after adding 4 (a0 + a2) to each byte: FIPS 197 §5.3.3, since
/// 14, 11, 13, 9 is 2, 3, 1, 1 times 5, 0, 4, 0 in the ring of columns.
#[inline(always)]
fn inv_mix_columns(q: &mut Sliced) {
    let mut s = [0; 8];
    for i in 0..8 {
        s[i] = q[i] ^ q[i].rotate_right(32);
    }
    let four = double(&double(&s));
    for i in 0..8 {
        q[i] ^= four[i];
    }
    mix_columns(q);
}

/// The inverse of the S-box's affine map, FIPS 197 §5.3.2.
#[inline(always)]
fn inv_affine(q: &mut Sliced) {
    let mut a = *q;
    for i in [0, 1, 5, 6] {
        a[i] = !a[i];
    }
    for i in 0..8 {
        q[i] = a[(i + 2) % 8] ^ a[(i + 5) % 8] ^ a[(i + 7) % 8];
    }
}

/// With S the affine map after inversion, its inverse is the inverse map, S, the inverse map.
#[inline(always)]
fn inv_sub_bytes(q: &mut Sliced) {
    inv_affine(q);
    sub_bytes(q);
    inv_affine(q);
}

/// Four blocks, as little-endian numbers.
#[derive(Clone, Copy)]
pub(crate) struct Four([u128; 4]);

/// One block, as a little-endian number.
#[derive(Clone, Copy)]
pub(crate) struct One(u128);

/// `t` times x^k in the field of XTS, IEEE 1619 §5.2.
fn times_x(t: u128, k: u32) -> u128 {
    let carry = (t >> 96) as u64 >> (32 - k) & 0xffff_ffff;
    t << k ^ u128::from(carry ^ carry << 1 ^ carry << 2 ^ carry << 7)
}

impl Vector for Four {
    const BLOCKS: usize = 4;

    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        Four([u128::from_le_bytes(*block); 4])
    }

    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        Four(std::array::from_fn(|i| u128::from_le_bytes(data.load(at + 16 * i))))
    }

    fn store(self, data: &mut InOut<'_>, at: usize) {
        for i in 0..4 {
            data.store(at + 16 * i, self.0[i].to_le_bytes());
        }
    }

    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        let mut blocks = [[0; 16]; 4];
        blocks.as_flattened_mut()[..data.len()].copy_from_slice(data.input());
        Four(blocks.map(u128::from_le_bytes))
    }

    fn store_part(self, data: &mut InOut<'_>) {
        let n = data.len();
        data.output().copy_from_slice(&self.0.map(u128::to_le_bytes).as_flattened()[..n]);
    }

    fn first(self) -> Block {
        self.0[0].to_le_bytes()
    }

    fn xor(self, other: Self) -> Self {
        Four(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }

    fn encrypt<const N: usize>(
        keys: &Keys<'_, Self>,
        vectors: [Self; N],
        beside: &mut impl Beside<Self>,
    ) -> [Self; N] {
        std::array::from_fn(|i| {
            beside.prepare(i);
            let mut blocks = vectors[i].0.map(u128::to_le_bytes);
            encrypt_blocks4(keys.schedule(), &mut blocks);
            beside.fold(i, Four(blocks.map(u128::from_le_bytes)))
        })
    }

    fn decrypt<const N: usize>(
        keys: &Keys<'_, Self>,
        vectors: [Self; N],
        beside: &mut impl Beside<Self>,
    ) -> [Self; N] {
        std::array::from_fn(|i| {
            beside.prepare(i);
            let mut blocks = vectors[i].0.map(u128::to_le_bytes);
            decrypt_blocks4(keys.schedule(), &mut blocks);
            beside.fold(i, Four(blocks.map(u128::from_le_bytes)))
        })
    }

    fn count(_: &Keys<'_, Self>, start: u128) -> Self {
        Four(std::array::from_fn(|i| start.wrapping_add(i as u128)))
    }

    fn add(self, n: u64) -> Self {
        Four(self.0.map(|block| block.wrapping_add(n.into())))
    }

    fn reverse(self) -> Self {
        Four(self.0.map(u128::swap_bytes))
    }

    fn after(self, previous: Self) -> Self {
        Four([previous.0[3], self.0[0], self.0[1], self.0[2]])
    }

    fn times_x(self, k: u32) -> Self {
        Four(self.0.map(|tweak| times_x(tweak, k)))
    }

    fn tweaks(_: &Keys<'_, Self>, tweak: &Block) -> Self {
        Four(std::array::from_fn(|i| times_x(u128::from_le_bytes(*tweak), i as u32)))
    }
}

impl Vector for One {
    const BLOCKS: usize = 1;

    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        One(u128::from_le_bytes(*block))
    }

    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        One(u128::from_le_bytes(data.load(at)))
    }

    fn store(self, data: &mut InOut<'_>, at: usize) {
        data.store(at, self.first());
    }

    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        One(load_short(data.input()))
    }

    fn store_part(self, data: &mut InOut<'_>) {
        store_short(data.output(), self.0);
    }

    fn first(self) -> Block {
        self.0.to_le_bytes()
    }

    fn xor(self, other: Self) -> Self {
        One(self.0 ^ other.0)
    }

    fn encrypt<const N: usize>(
        keys: &Keys<'_, Self>,
        vectors: [Self; N],
        beside: &mut impl Beside<Self>,
    ) -> [Self; N] {
        std::array::from_fn(|i| {
            beside.prepare(i);
            let mut blocks = [vectors[i].first(), [0; 16], [0; 16], [0; 16]];
            encrypt_blocks4(keys.schedule(), &mut blocks);
            beside.fold(i, One(u128::from_le_bytes(blocks[0])))
        })
    }

    fn decrypt<const N: usize>(
        keys: &Keys<'_, Self>,
        vectors: [Self; N],
        beside: &mut impl Beside<Self>,
    ) -> [Self; N] {
        std::array::from_fn(|i| {
            beside.prepare(i);
            let mut blocks = [vectors[i].first(), [0; 16], [0; 16], [0; 16]];
            decrypt_blocks4(keys.schedule(), &mut blocks);
            beside.fold(i, One(u128::from_le_bytes(blocks[0])))
        })
    }

    fn count(_: &Keys<'_, Self>, start: u128) -> Self {
        One(start)
    }

    fn add(self, n: u64) -> Self {
        One(self.0.wrapping_add(n.into()))
    }

    fn reverse(self) -> Self {
        One(self.0.swap_bytes())
    }

    fn after(self, previous: Self) -> Self {
        previous
    }

    fn times_x(self, k: u32) -> Self {
        One(times_x(self.0, k))
    }

    fn tweaks(_: &Keys<'_, Self>, tweak: &Block) -> Self {
        One(u128::from_le_bytes(*tweak))
    }
}

/// The round keys are sliced, so nothing can be moved between rounds.
impl Chain for One {
    fn whitening(_: &Keys<'_, Self>) -> Self {
        One(0)
    }

    fn encrypt_whitened(self, keys: &Keys<'_, Self>, fold: Self) -> Self {
        let [block] = Self::encrypt(keys, [self], &mut Alone);
        block.xor(fold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::{hex, hex_array};

    fn schedule(key: &[u8]) -> Schedule {
        let mut schedule = Schedule::blank("aes", key).unwrap();
        expand(&mut schedule, key);
        schedule
    }

    /// FIPS 197 appendix B and C, each in a place of its own among four blocks.
    #[test]
    fn miri_computes_the_examples_of_the_standard() {
        for (place, (key, plain, cipher)) in [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "3243f6a8885a308d313198a2e0370734",
                "3925841d02dc09fbdc118597196a0b32",
            ),
            (
                "000102030405060708090a0b0c0d0e0f",
                "00112233445566778899aabbccddeeff",
                "69c4e0d86a7b0430d8cdb78070b4c55a",
            ),
            (
                "000102030405060708090a0b0c0d0e0f1011121314151617",
                "00112233445566778899aabbccddeeff",
                "dda97ca4864cdfe06eaf70a0ec0d7191",
            ),
            (
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                "00112233445566778899aabbccddeeff",
                "8ea2b7ca516745bfeafc49904b496089",
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let schedule = schedule(&hex(key));
            let mut blocks: [Block; 4] = [[place as u8; 16]; 4];
            blocks[place] = hex_array(plain);
            let before = blocks;
            encrypt_blocks4(&schedule, &mut blocks);
            assert_eq!(blocks[place], hex_array(cipher));
            decrypt_blocks4(&schedule, &mut blocks);
            assert_eq!(blocks, before);
        }
    }
}

//! AES-NI: one block a register, eight registers side by side; and the key expansion for every
//! x86-64 tier.
//!
//! Ref. FIPS 197 §5.2, §5.3.5; Intel SDM volume 2, AESENC and its kin.
//!
//! # Safety
//! An [`Xmm`] is made from [`Keys`] only, whose maker vouches for `aes`, `pclmulqdq` and `sse4.1`: that
//! is the witness of every intrinsic on one. Memory is touched through safe references alone.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::side_by_side::{self, Group};
use crate::aes::vector::{self, Beside, Chain, Keys, Rounds, Vector, load_short, store_short};
use crate::aes::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

use super::{lanes_tier, serial_tier, tier};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-aesni-by8",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "AES-NI on eight blocks side by side; without AVX, so for small processors too",
};

pub(crate) const SERIAL: Kernel = Kernel {
    name: "x86_64-aesni-by1",
    requires: SERIAL_REQUIRES,
    timing: Timing::Constant,
    note: "AES-NI, one block after another: the mode allows no more",
};

tier!(Xmm, Xmm, "aes,pclmulqdq,sse4.1");
serial_tier!(Xmm, "aes,pclmulqdq,sse4.1");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-aesni-x8",
    requires: LANES_REQUIRES,
    timing: Timing::Constant,
    note: "AES-NI on eight objects side by side",
};

lanes_tier!(Xmm, 8, "aes,pclmulqdq,sse4.1");

/// One block.
#[derive(Clone, Copy)]
pub(crate) struct Xmm(__m128i);

impl Vector for Xmm {
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        Xmm(get(block))
    }

    #[inline(always)]
    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        Xmm(get(&data.load(at)))
    }

    #[inline(always)]
    fn store(self, data: &mut InOut<'_>, at: usize) {
        data.store(at, self.first());
    }

    #[inline(always)]
    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        Xmm(get(&load_short(data.input()).to_le_bytes()))
    }

    #[inline(always)]
    fn store_part(self, data: &mut InOut<'_>) {
        store_short(data.output(), u128::from_le_bytes(self.first()));
    }

    #[inline(always)]
    fn first(self) -> Block {
        let mut block = [0; 16];
        put(&mut block, self.0);
        block
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: see the head of this file; so below.
        unsafe { Xmm(_mm_xor_si128(self.0, other.0)) }
    }

    vector::by_rounds!();

    #[inline(always)]
    fn count(_: &Keys<'_, Self>, start: u128) -> Self {
        Xmm(get(&start.to_le_bytes()))
    }

    #[inline(always)]
    fn add(self, n: u64) -> Self {
        // SAFETY: as above.
        unsafe { Xmm(_mm_add_epi64(self.0, _mm_set_epi64x(0, n as i64))) }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm(_mm_shuffle_epi8(self.0, reversal())) }
    }

    #[inline(always)]
    fn after(self, previous: Self) -> Self {
        previous
    }

    #[inline(always)]
    fn times_x(self, k: u32) -> Self {
        // SAFETY: as above.
        unsafe {
            if k == 8 {
                let carry = _mm_srli_si128::<15>(self.0);
                let reduced = _mm_clmulepi64_si128::<0x00>(carry, _mm_set_epi64x(0, 0x87));
                return Xmm(_mm_xor_si128(_mm_slli_si128::<1>(self.0), reduced));
            }
            let shifted = _mm_sll_epi64(self.0, _mm_cvtsi32_si128(k as i32));
            let carry = _mm_srl_epi64(self.0, _mm_cvtsi32_si128(64 - k as i32));
            // Out of the low half into the high, and out of the high half reduced by x^128 = 0x87.
            let reduced = _mm_clmulepi64_si128::<0x01>(carry, _mm_set_epi64x(0, 0x87));
            Xmm(_mm_xor_si128(_mm_xor_si128(shifted, _mm_slli_si128::<8>(carry)), reduced))
        }
    }

    #[inline(always)]
    fn tweaks(_: &Keys<'_, Self>, tweak: &Block) -> Self {
        Xmm(get(tweak))
    }
}

/// The shuffle that reverses 16 bytes.
#[inline(always)]
pub(super) fn reversal() -> __m128i {
    get(&[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
}

impl Rounds for Xmm {
    #[inline(always)]
    fn enc(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm(_mm_aesenc_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn enc_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm(_mm_aesenclast_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm(_mm_aesdec_si128(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm(_mm_aesdeclast_si128(self.0, key.0)) }
    }
}

impl Chain for Xmm {
    #[inline(always)]
    fn whitening(keys: &Keys<'_, Self>) -> Self {
        vector::whitening(keys)
    }

    #[inline(always)]
    fn encrypt_whitened(self, keys: &Keys<'_, Self>, fold: Self) -> Self {
        vector::encrypt_whitened(self, keys, fold)
    }
}

/// Expands a key into a blank schedule.
#[target_feature(enable = "aes,ssse3")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    match schedule.rounds {
        10 => expand128(schedule, key),
        12 => expand192(schedule, key),
        _ => expand256(schedule, key),
    }
}

/// The equivalent inverse cipher's round keys, in the order of use.
#[target_feature(enable = "aes")]
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    let rounds = schedule.rounds.min(14);
    inverse.encrypt[0] = schedule.encrypt[rounds];
    for i in 1..rounds {
        put(&mut inverse.encrypt[i], _mm_aesimc_si128(get(&schedule.encrypt[rounds - i])));
    }
    inverse.encrypt[rounds] = schedule.encrypt[0];
}

#[inline(always)]
pub(super) fn get(block: &Block) -> __m128i {
    // SAFETY: SSE2 is part of x86-64; the load is of the 16 bytes of `block`, unaligned.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn put(block: &mut Block, value: __m128i) {
    // SAFETY: as for `get`, and the store is to an exclusive reference.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

/// Returns word `W` (0 to 3) of `key`, rotated if `ROTATE` and passed through the S-box, in all four
/// places, XOR `rcon` in each. AESENCLAST computes this because ShiftRows changes nothing when all columns
/// are equal.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn sub_word<const W: i32, const ROTATE: bool>(key: __m128i, rcon: i32) -> __m128i {
    let [a, b, c, d] = if ROTATE { [1, 2, 3, 0] } else { [0, 1, 2, 3] };
    let word = (4 * W + a) | (4 * W + b) << 8 | (4 * W + c) << 16 | (4 * W + d) << 24;
    _mm_aesenclast_si128(_mm_shuffle_epi8(key, _mm_set1_epi32(word)), _mm_set1_epi32(rcon))
}

/// Each word XOR all words before it.
#[inline]
#[target_feature(enable = "sse2")]
fn running_xor(key: __m128i) -> __m128i {
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    _mm_xor_si128(key, _mm_slli_si128::<8>(key))
}

#[inline]
#[target_feature(enable = "aes,ssse3")]
fn expand128(schedule: &mut Schedule, key: &[u8]) {
    let mut k = get(key.first_chunk().expect("16 bytes"));
    put(&mut schedule.encrypt[0], k);
    macro_rules! rounds {
        ($($i:literal $rcon:literal)*) => {$(
            k = _mm_xor_si128(running_xor(k), sub_word::<3, true>(k, $rcon));
            put(&mut schedule.encrypt[$i], k);
        )*};
    }
    rounds!(1 0x01  2 0x02  3 0x04  4 0x08  5 0x10  6 0x20  7 0x40  8 0x80  9 0x1b  10 0x36);
}

/// Expands six words at a time: four in `a`, two in the low half of `b`.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn expand192(schedule: &mut Schedule, key: &[u8]) {
    let mut a = get(key.first_chunk().expect("24 bytes"));
    let mut b = _mm_bsrli_si128::<8>(get(key.last_chunk().expect("24 bytes")));
    let bytes = schedule.encrypt.as_flattened_mut();
    macro_rules! put_words {
        ($i:literal) => {
            put(bytes[24 * $i..].first_chunk_mut().expect("within 15 blocks"), a);
            put(bytes[24 * $i + 16..].first_chunk_mut().expect("within 15 blocks"), b);
        };
    }
    put_words!(0);
    macro_rules! rounds {
        ($($i:literal $rcon:literal)*) => {$(
            a = _mm_xor_si128(running_xor(a), sub_word::<1, true>(b, $rcon));
            b = _mm_xor_si128(_mm_xor_si128(b, _mm_slli_si128::<4>(b)), _mm_shuffle_epi32::<0xff>(a));
            put_words!($i);
        )*};
    }
    // The last write goes beyond the 52 words in use; the surplus is cleared again.
    rounds!(1 0x01  2 0x02  3 0x04  4 0x08  5 0x10  6 0x20  7 0x40  8 0x80);
    schedule.encrypt[13] = [0; 16];
}

#[inline]
#[target_feature(enable = "aes,ssse3")]
fn expand256(schedule: &mut Schedule, key: &[u8]) {
    let mut a = get(key.first_chunk().expect("32 bytes"));
    let mut b = get(key.last_chunk().expect("32 bytes"));
    put(&mut schedule.encrypt[0], a);
    put(&mut schedule.encrypt[1], b);
    macro_rules! rounds {
        ($($i:literal $rcon:literal)*) => {$(
            a = _mm_xor_si128(running_xor(a), sub_word::<3, true>(b, $rcon));
            put(&mut schedule.encrypt[$i], a);
            if $i < 14 {
                b = _mm_xor_si128(running_xor(b), sub_word::<3, false>(a, 0));
                put(&mut schedule.encrypt[$i + 1], b);
            }
        )*};
    }
    rounds!(2 0x01  4 0x02  6 0x04  8 0x08  10 0x10  12 0x20);
    a = _mm_xor_si128(running_xor(a), sub_word::<3, true>(b, 0x40));
    put(&mut schedule.encrypt[14], a);
}

impl Group for Xmm {
    #[inline(always)]
    unsafe fn gather(_: &Keys<'_, Self>, from: &[*const u8], at: usize) -> Self {
        // SAFETY: the caller's promise, and the head of this file.
        unsafe { Xmm(_mm_loadu_si128(from[0].wrapping_add(at).cast())) }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: &[*mut u8], at: usize) {
        // SAFETY: the caller's promise, and the head of this file.
        unsafe { _mm_storeu_si128(to[0].wrapping_add(at).cast(), self.0) }
    }

    #[inline(always)]
    fn just_written(keys: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        Self::column(keys, blocks)
    }

    #[inline(always)]
    fn column(_: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        Xmm(get(&blocks[0]))
    }

    #[inline(always)]
    fn put(self, blocks: &mut [Block]) {
        put(&mut blocks[0], self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::schedule::expand_portable;
    use millstream_cpu::{FeatureSet, Features};
    use millstream_testkit::{Random, skip};

    #[test]
    fn miri_expands_as_the_portable_code_does() {
        if !Features::hardware().contains(FeatureSet::parse("aes,ssse3")) {
            return skip("x86-64 key expansion needs aes ssse3");
        }
        let mut random = Random::new(2);
        for len in [16, 24, 32] {
            let key = random.bytes(len);
            let (mut a, mut b) =
                (Schedule::blank("aes", &key).unwrap(), Schedule::blank("aes", &key).unwrap());
            expand_portable(&mut a, &key);
            // SAFETY: the features were looked for above.
            unsafe { expand(&mut b, &key) };
            assert_eq!(a.encrypt, b.encrypt);
        }
    }
}

//! AES-NI: one block a register, eight registers side by side; and the key expansion for every
//! x86-64 tier.
//!
//! Ref. FIPS 197 §5.2, §5.3.5; Intel SDM volume 2, AESENC and its kin.
//!
//! # Safety
//! The callers of [`Instructions`] vouch for `aes`, `pclmulqdq` and `sse4.1`: see `unit.rs`. Memory is touched through safe
//! references alone.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::unit::Unit;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

use super::x86_64_xmm::{Xmm, get, put};
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

tier!(Xmm<Instructions>, Xmm<Instructions>, "aes,pclmulqdq,sse4.1");
serial_tier!(Xmm<Instructions>, "aes,pclmulqdq,sse4.1");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-aesni-x8",
    requires: LANES_REQUIRES,
    timing: Timing::Constant,
    note: "AES-NI on eight objects side by side",
};

lanes_tier!(Xmm<Instructions>, Xmm<Instructions>, 8, "aes,pclmulqdq,sse4.1");

/// The processor's own AES instructions.
#[derive(Clone, Copy)]
pub(crate) struct Instructions;

impl Unit<__m128i> for Instructions {
    const FORM: Form = Form::Standard;
    const ABREAST: usize = 8;
    const LOOP: bool = false;

    #[inline(always)]
    unsafe fn enc(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: as the caller; so below.
        unsafe { _mm_aesenc_si128(state, key) }
    }

    #[inline(always)]
    unsafe fn enc_last(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_aesenclast_si128(state, key) }
    }

    #[inline(always)]
    unsafe fn dec(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_aesdec_si128(state, key) }
    }

    #[inline(always)]
    unsafe fn dec_last(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_aesdeclast_si128(state, key) }
    }

    #[inline(always)]
    unsafe fn times_87<const UPPER: bool>(carry: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe {
            let x87 = _mm_set_epi64x(0, 0x87);
            if UPPER {
                _mm_clmulepi64_si128::<0x01>(carry, x87)
            } else {
                _mm_clmulepi64_si128::<0x00>(carry, x87)
            }
        }
    }
}

/// Expands a key into a blank schedule.
#[target_feature(enable = "aes,ssse3")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: this function has the unit's instructions.
    unsafe { expand_by::<Instructions>(schedule, key) }
}

/// Expands a key into a blank schedule as FIPS 197 writes it, with the S-box of a unit.
///
/// # Safety
/// The processor has `ssse3` and the features of the unit.
#[inline(always)]
pub(super) unsafe fn expand_by<U: Unit<__m128i>>(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: as the caller.
    unsafe {
        match schedule.rounds {
            10 => expand128::<U>(schedule, key),
            12 => expand192::<U>(schedule, key),
            _ => expand256::<U>(schedule, key),
        }
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

/// Returns word `W` (0 to 3) of `key`, rotated if `ROTATE` and passed through the S-box, in all four
/// places, XOR `rcon` in each. The last round computes this because ShiftRows changes nothing when all columns
/// are equal.
#[inline(always)]
unsafe fn sub_word<U: Unit<__m128i>, const W: i32, const ROTATE: bool>(key: __m128i, rcon: i32) -> __m128i {
    let [a, b, c, d] = if ROTATE { [1, 2, 3, 0] } else { [0, 1, 2, 3] };
    let word = (4 * W + a) | (4 * W + b) << 8 | (4 * W + c) << 16 | (4 * W + d) << 24;
    let constant = i32::from_le_bytes([U::CONSTANT; 4]);
    // SAFETY: as the caller.
    unsafe {
        let word = U::enter(_mm_shuffle_epi8(key, _mm_set1_epi32(word)));
        U::enc_last(word, _mm_set1_epi32(rcon ^ constant))
    }
}

/// Each word XOR all words before it.
#[inline]
#[target_feature(enable = "sse2")]
fn running_xor(key: __m128i) -> __m128i {
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    _mm_xor_si128(key, _mm_slli_si128::<8>(key))
}

#[inline(always)]
unsafe fn expand128<U: Unit<__m128i>>(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: as the caller.
    unsafe {
        let mut k = get(key.first_chunk().expect("16 bytes"));
        put(&mut schedule.encrypt[0], k);
        macro_rules! rounds {
            ($($i:literal $rcon:literal)*) => {$(
                k = _mm_xor_si128(running_xor(k), sub_word::<U, 3, true>(k, $rcon));
                put(&mut schedule.encrypt[$i], k);
            )*};
        }
        rounds!(1 0x01  2 0x02  3 0x04  4 0x08  5 0x10  6 0x20  7 0x40  8 0x80  9 0x1b  10 0x36);
    }
}

/// Expands six words at a time: four in `a`, two in the low half of `b`.
#[inline(always)]
unsafe fn expand192<U: Unit<__m128i>>(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: as the caller.
    unsafe {
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
                a = _mm_xor_si128(running_xor(a), sub_word::<U, 1, true>(b, $rcon));
                b = _mm_xor_si128(_mm_xor_si128(b, _mm_slli_si128::<4>(b)), _mm_shuffle_epi32::<0xff>(a));
                put_words!($i);
            )*};
        }
        // The last write goes beyond the 52 words in use; the surplus is cleared again.
        rounds!(1 0x01  2 0x02  3 0x04  4 0x08  5 0x10  6 0x20  7 0x40  8 0x80);
        schedule.encrypt[13] = [0; 16];
    }
}

#[inline(always)]
unsafe fn expand256<U: Unit<__m128i>>(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: as the caller.
    unsafe {
        let mut a = get(key.first_chunk().expect("32 bytes"));
        let mut b = get(key.last_chunk().expect("32 bytes"));
        put(&mut schedule.encrypt[0], a);
        put(&mut schedule.encrypt[1], b);
        macro_rules! rounds {
            ($($i:literal $rcon:literal)*) => {$(
                a = _mm_xor_si128(running_xor(a), sub_word::<U, 3, true>(b, $rcon));
                put(&mut schedule.encrypt[$i], a);
                if $i < 14 {
                    b = _mm_xor_si128(running_xor(b), sub_word::<U, 3, false>(a, 0));
                    put(&mut schedule.encrypt[$i + 1], b);
                }
            )*};
        }
        rounds!(2 0x01  4 0x02  6 0x04  8 0x08  10 0x10  12 0x20);
        a = _mm_xor_si128(running_xor(a), sub_word::<U, 3, true>(b, 0x40));
        put(&mut schedule.encrypt[14], a);
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

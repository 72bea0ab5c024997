//! The Armv8 Cryptographic Extension: one block a register, eight registers side by side.
//!
//! AESE XORs its key before SubBytes and leaves MixColumns to AESMC, while the modes' code expects
//! the key last. A round is written here as AESE with a zero key, AESMC, XOR; the compiler moves
//! each XOR into the next AESE.
//!
//! Ref. FIPS 197 §5.2, §5.3.5; Arm ARM, AESE, AESD, AESMC, AESIMC.
//!
//! # Safety
//! The callers of [`Instructions`] vouch for `aes` and `neon`: see `unit.rs`.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use millstream_cpu::{Feature, FeatureSet};

use super::aarch64_quad::{Quad, get, put};
use super::{serial_tier, tier};
use crate::aes::schedule::Form;
use crate::aes::unit::Unit;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

/// The feature has no name in the compiler, which counts these instructions as part of `aes`.
const PMULL: FeatureSet = FeatureSet::of(&[Feature::Pmull]);

pub(crate) const KERNEL: Kernel = Kernel {
    name: "aarch64-ce-by8",
    requires: REQUIRES.union(PMULL),
    timing: Timing::Constant,
    note: "AESE and AESMC on eight blocks side by side",
};

pub(crate) const SERIAL: Kernel = Kernel {
    name: "aarch64-ce-by1",
    requires: SERIAL_REQUIRES.union(PMULL),
    timing: Timing::Constant,
    note: "AESE and AESMC, one block after another: the mode allows no more",
};

tier!(Quad<Instructions>, Quad<Instructions>, "aes,neon");
serial_tier!(Quad<Instructions>, "aes,neon");

/// The processor's own AES instructions.
#[derive(Clone, Copy)]
pub(crate) struct Instructions;

impl Unit<uint8x16_t> for Instructions {
    const FORM: Form = Form::Standard;
    const ABREAST: usize = 8;
    const LOOP: bool = false;

    #[inline(always)]
    unsafe fn enc(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: as the caller; so below.
        unsafe { enc(state, key) }
    }

    #[inline(always)]
    unsafe fn enc_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: as above.
        unsafe { enc_last(state, key) }
    }

    #[inline(always)]
    unsafe fn dec(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: as above.
        unsafe { dec(state, key) }
    }

    #[inline(always)]
    unsafe fn dec_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: as above.
        unsafe { dec_last(state, key) }
    }

    #[inline(always)]
    unsafe fn times_87<const UPPER: bool>(carry: uint8x16_t) -> uint8x16_t {
        // SAFETY: as above.
        unsafe { times_87::<UPPER>(carry) }
    }
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn enc(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaesmcq_u8(vaeseq_u8(state, vdupq_n_u8(0))), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn enc_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaeseq_u8(state, vdupq_n_u8(0)), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn dec(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaesimcq_u8(vaesdq_u8(state, vdupq_n_u8(0))), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn dec_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaesdq_u8(state, vdupq_n_u8(0)), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn times_87<const UPPER: bool>(carry: uint8x16_t) -> uint8x16_t {
    let carry = vreinterpretq_u64_u8(carry);
    let half = if UPPER { vgetq_lane_u64::<1>(carry) } else { vgetq_lane_u64::<0>(carry) };
    vreinterpretq_u8_p128(vmull_p64(half, 0x87))
}

/// Expands a key into a blank schedule.
#[target_feature(enable = "aes,neon")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: this function has the unit's instructions.
    unsafe { expand_by::<Instructions>(schedule, key) }
}

/// Expands a key into a blank schedule as FIPS 197 writes it, with the S-box of a unit.
///
/// # Safety
/// The processor has `neon` and the features of the unit.
#[inline(always)]
pub(super) unsafe fn expand_by<U: Unit<uint8x16_t>>(schedule: &mut Schedule, key: &[u8]) {
    let words = key.len() / 4;
    let total = 4 * (schedule.rounds + 1);
    let w = schedule.encrypt.as_flattened_mut().as_chunks_mut::<4>().0;
    w[..words].copy_from_slice(key.as_chunks::<4>().0);
    let mut word = [0; 60];
    for i in 0..words {
        word[i] = u32::from_le_bytes(w[i]);
    }
    let mut rcon = 1u32;
    for i in words..total {
        let mut t = word[i - 1];
        if i % words == 0 {
            // SAFETY: as the caller.
            t = unsafe { sub_word::<U>(t.rotate_right(8)) } ^ rcon;
            rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
        } else if words > 6 && i % words == 4 {
            // SAFETY: as above.
            t = unsafe { sub_word::<U>(t) };
        }
        word[i] = word[i - words] ^ t;
        w[i] = word[i].to_le_bytes();
    }
    zeroize::Zeroize::zeroize(&mut word);
}

/// The S-box on four bytes. ShiftRows changes nothing where all columns are equal.
#[inline(always)]
unsafe fn sub_word<U: Unit<uint8x16_t>>(word: u32) -> u32 {
    // SAFETY: as the caller.
    unsafe {
        let state = U::enter(vreinterpretq_u8_u32(vdupq_n_u32(word)));
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(U::enc_last(state, vdupq_n_u8(U::CONSTANT))))
    }
}

/// The equivalent inverse cipher's round keys, in the order of use.
#[target_feature(enable = "aes")]
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    let rounds = schedule.rounds.min(14);
    inverse.encrypt[0] = schedule.encrypt[rounds];
    for i in 1..rounds {
        put(&mut inverse.encrypt[i], vaesimcq_u8(get(&schedule.encrypt[rounds - i])));
    }
    inverse.encrypt[rounds] = schedule.encrypt[0];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::schedule::expand_portable;
    use millstream_cpu::Features;
    use millstream_testkit::{Random, skip};

    #[test]
    fn miri_expands_as_the_portable_code_does() {
        if !Features::hardware().contains(Feature::Aes.into()) {
            return skip("aarch64 key expansion needs aes");
        }
        let mut random = Random::new(2);
        for len in [16, 24, 32] {
            let key = random.bytes(len);
            let (mut a, mut b) =
                (Schedule::blank("aes", &key).unwrap(), Schedule::blank("aes", &key).unwrap());
            expand_portable(&mut a, &key);
            // SAFETY: the feature was looked for above.
            unsafe { expand(&mut b, &key) };
            assert_eq!(a.encrypt, b.encrypt);
        }
    }
}

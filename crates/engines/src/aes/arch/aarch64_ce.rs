//! The Armv8 Cryptographic Extension: one block a register, eight registers side by side.
//!
//! AESE XORs its key before SubBytes and leaves MixColumns to AESMC, while the modes' code expects
//! the key last. A round is written here as AESE with a zero key, AESMC, XOR; the compiler moves
//! each XOR into the next AESE.
//!
//! Ref. FIPS 197 §5.2, §5.3.5; Arm ARM, AESE, AESD, AESMC, AESIMC.
//!
//! # Safety
//! A [`Quad`] is made from [`Keys`] only, whose maker vouches for `aes` and `neon`: that is the
//! witness of every intrinsic on one. Memory is touched through safe references alone.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use millstream_cpu::{Feature, FeatureSet};

use super::{serial_tier, tier};
use crate::aes::vector::{self, Beside, Chain, Keys, Rounds, Vector, load_short, store_short};
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

tier!(Quad, Quad, "aes,neon");
serial_tier!(Quad, "aes,neon");

/// One block.
#[derive(Clone, Copy)]
pub(crate) struct Quad(uint8x16_t);

impl Vector for Quad {
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        Quad(get(block))
    }

    #[inline(always)]
    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        Quad(get(&data.load(at)))
    }

    #[inline(always)]
    fn store(self, data: &mut InOut<'_>, at: usize) {
        data.store(at, self.first());
    }

    #[inline(always)]
    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        Quad(get(&load_short(data.input()).to_le_bytes()))
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
        unsafe { Quad(veorq_u8(self.0, other.0)) }
    }

    vector::by_rounds!();

    #[inline(always)]
    fn count(_: &Keys<'_, Self>, start: u128) -> Self {
        Quad(get(&start.to_le_bytes()))
    }

    #[inline(always)]
    fn add(self, n: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let n = vcombine_u64(vcreate_u64(n), vcreate_u64(0));
            Quad(vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(self.0), n)))
        }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let halves = vrev64q_u8(self.0);
            Quad(vextq_u8::<8>(halves, halves))
        }
    }

    #[inline(always)]
    fn after(self, previous: Self) -> Self {
        previous
    }

    #[inline(always)]
    fn times_x(self, k: u32) -> Self {
        // SAFETY: as above.
        unsafe { Quad(times_x(self.0, k)) }
    }

    #[inline(always)]
    fn tweaks(_: &Keys<'_, Self>, tweak: &Block) -> Self {
        Quad(get(tweak))
    }
}

impl Rounds for Quad {
    #[inline(always)]
    fn enc(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad(enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn enc_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad(enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad(dec(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad(dec_last(self.0, key.0)) }
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
fn times_x(tweak: uint8x16_t, k: u32) -> uint8x16_t {
    let tweak = vreinterpretq_u64_u8(tweak);
    let shifted = vreinterpretq_u8_u64(vshlq_u64(tweak, vdupq_n_s64(k.into())));
    // A negative shift is one to the right.
    let carry = vshlq_u64(tweak, vdupq_n_s64(i64::from(k) - 64));
    // Out of the low half into the high, and out of the high half reduced by x^128 = 0x87.
    let across = vextq_u8::<8>(vdupq_n_u8(0), vreinterpretq_u8_u64(carry));
    let reduced = vreinterpretq_u8_p128(vmull_p64(vgetq_lane_u64::<1>(carry), 0x87));
    veorq_u8(veorq_u8(shifted, across), reduced)
}

impl Chain for Quad {
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
#[target_feature(enable = "aes")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
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
            t = sub_word(t.rotate_right(8)) ^ rcon;
            rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
        } else if words > 6 && i % words == 4 {
            t = sub_word(t);
        }
        word[i] = word[i - words] ^ t;
        w[i] = word[i].to_le_bytes();
    }
    zeroize::Zeroize::zeroize(&mut word);
}

/// The S-box on four bytes. ShiftRows changes nothing where all columns are equal.
#[inline]
#[target_feature(enable = "aes")]
fn sub_word(word: u32) -> u32 {
    let all = vreinterpretq_u8_u32(vdupq_n_u32(word));
    vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(all, vdupq_n_u8(0))))
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

#[inline(always)]
fn get(block: &Block) -> uint8x16_t {
    // SAFETY: NEON is part of AArch64; the load is of the 16 bytes of `block`.
    unsafe { vld1q_u8(block.as_ptr()) }
}

#[inline(always)]
fn put(block: &mut Block, value: uint8x16_t) {
    // SAFETY: as for `get`, and the store is to an exclusive reference.
    unsafe { vst1q_u8(block.as_mut_ptr(), value) }
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

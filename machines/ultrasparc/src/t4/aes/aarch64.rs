//! AES with the Armv8 Cryptographic Extension.
//! Ref. Arm ARM, AESE, AESD, AESMC, AESIMC.
//!
//! AESE and AESD add their key first, to the state as it comes: here that is zero, and the key is added by itself.
//!
//! # Safety
//! The intrinsics need `aes`. [`HANDLERS`] is all that leaves this file, and the functions in it have that feature;
//! `aes::handlers` gives them out where the processor has it, which is the witness.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use crate::t4::aes::rounds::{Halves, Unit, entry, handlers};

handlers!("aarch64-ce", Extension, ["aes,neon"]);

/// Sixteen bytes in the order of the block.
pub struct Extension;

impl Unit for Extension {
    type State = uint8x16_t;

    #[inline(always)]
    fn pack(halves: Halves) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { pack(halves) }
    }

    #[inline(always)]
    fn unpack(state: uint8x16_t) -> Halves {
        // SAFETY: the witness is named above.
        unsafe { unpack(state) }
    }

    #[inline(always)]
    fn encrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { encrypt(state, key) }
    }

    #[inline(always)]
    fn encrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { encrypt_last(state, key) }
    }

    #[inline(always)]
    fn decrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { decrypt(state, key) }
    }

    #[inline(always)]
    fn decrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { decrypt_last(state, key) }
    }

    #[inline(always)]
    fn substitute(word: u32) -> u32 {
        // SAFETY: the witness is named above.
        unsafe { substitute(word) }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn pack([high, low]: Halves) -> uint8x16_t {
    vrev64q_u8(vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(high), vcreate_u64(low))))
}

#[inline]
#[target_feature(enable = "neon")]
fn unpack(state: uint8x16_t) -> Halves {
    let state = vreinterpretq_u64_u8(vrev64q_u8(state));
    [vgetq_lane_u64::<0>(state), vgetq_lane_u64::<1>(state)]
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn encrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaesmcq_u8(vaeseq_u8(state, vdupq_n_u8(0))), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn encrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaeseq_u8(state, vdupq_n_u8(0)), key)
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn decrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    vaesimcq_u8(decrypt_last(state, key))
}

#[inline]
#[target_feature(enable = "aes,neon")]
fn decrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    veorq_u8(vaesdq_u8(state, vdupq_n_u8(0)), key)
}

/// All columns are the word, so ShiftRows changes nothing.
#[inline]
#[target_feature(enable = "aes,neon")]
fn substitute(word: u32) -> u32 {
    let all = vreinterpretq_u8_u32(vdupq_n_u32(word));
    vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(all, vdupq_n_u8(0))))
}

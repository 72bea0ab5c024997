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
    fn pack([high, low]: Halves) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { vrev64q_u8(vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(high), vcreate_u64(low)))) }
    }

    #[inline(always)]
    fn unpack(state: uint8x16_t) -> Halves {
        // SAFETY: the witness is named above.
        unsafe {
            let state = vreinterpretq_u64_u8(vrev64q_u8(state));
            [vgetq_lane_u64::<0>(state), vgetq_lane_u64::<1>(state)]
        }
    }

    #[inline(always)]
    fn encrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { veorq_u8(vaesmcq_u8(vaeseq_u8(state, vdupq_n_u8(0))), key) }
    }

    #[inline(always)]
    fn encrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { veorq_u8(vaeseq_u8(state, vdupq_n_u8(0)), key) }
    }

    #[inline(always)]
    fn decrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { vaesimcq_u8(Extension::decrypt_last(state, key)) }
    }

    #[inline(always)]
    fn decrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
        // SAFETY: the witness is named above.
        unsafe { veorq_u8(vaesdq_u8(state, vdupq_n_u8(0)), key) }
    }

    /// All columns are the word, so ShiftRows changes nothing.
    #[inline(always)]
    fn substitute(word: u32) -> u32 {
        // SAFETY: the witness is named above.
        unsafe {
            vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(
                vreinterpretq_u8_u32(vdupq_n_u32(word)),
                vdupq_n_u8(0),
            )))
        }
    }
}

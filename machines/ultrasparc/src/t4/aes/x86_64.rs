//! AES with AES-NI.
//! Ref. Intel SDM volume 2, AESENC and its kin.
//!
//! # Safety
//! The intrinsics need `aes` and `ssse3`. [`HANDLERS`] is all that leaves this file, and the functions in it have those
//! features; `aes::handlers` gives them out where the processor has them, which is the witness.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::t4::aes::rounds::{Halves, Unit, entry, handlers};

handlers!("aes-ni", AesNi, ["aes,ssse3,sse4.1"]);

/// Sixteen bytes in the order of the block.
pub struct AesNi;

impl Unit for AesNi {
    type State = __m128i;

    #[inline(always)]
    fn pack([high, low]: Halves) -> __m128i {
        // SAFETY: the witness is named above.
        unsafe {
            let order = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
            _mm_shuffle_epi8(_mm_set_epi64x(low as i64, high as i64), order)
        }
    }

    #[inline(always)]
    fn unpack(state: __m128i) -> Halves {
        // SAFETY: the witness is named above.
        unsafe {
            let order = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
            let state = _mm_shuffle_epi8(state, order);
            [_mm_cvtsi128_si64(state) as u64, _mm_extract_epi64::<1>(state) as u64]
        }
    }

    #[inline(always)]
    fn encrypt(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: the witness is named above.
        unsafe { _mm_aesenc_si128(state, key) }
    }

    #[inline(always)]
    fn encrypt_last(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: the witness is named above.
        unsafe { _mm_aesenclast_si128(state, key) }
    }

    /// AESDEC adds its key after InvMixColumns, which is linear: so that key goes through it too. The key is there long
    /// before the state is.
    #[inline(always)]
    fn decrypt(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: the witness is named above.
        unsafe { _mm_aesdec_si128(state, _mm_aesimc_si128(key)) }
    }

    #[inline(always)]
    fn decrypt_last(state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: the witness is named above.
        unsafe { _mm_aesdeclast_si128(state, key) }
    }

    #[inline(always)]
    fn substitute(word: u32) -> u32 {
        // SAFETY: the witness is named above.
        unsafe { _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(_mm_set1_epi32(word as i32))) as u32 }
    }
}

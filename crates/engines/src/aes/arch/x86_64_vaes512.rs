//! VAES at 512 bits: four blocks a register, eight registers side by side, masks at the ends.
//!
//! Ref. FIPS 197 §5.1, §5.3.5; Intel SDM volume 2, VAESENC and its kin.
//!
//! # Safety
//! The callers of [`Instructions`] vouch for the features in `REQUIRES`: see `unit.rs`.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::x86_64_aesni::Instructions;
pub(crate) use super::x86_64_aesni::{expand, invert};
use super::x86_64_xmm::Xmm;
use super::x86_64_zmm::Zmm;
use super::{lanes_tier, tier};
use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::unit::Unit;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-vaes512-by32",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "VAES on eight 512-bit registers, ends of data by mask",
};

tier!(
    Zmm<Instructions>,
    Xmm<Instructions>,
    "aes,pclmulqdq,vaes,vpclmulqdq,avx512f,avx512bw,avx512vl",
    feistel super::x86_64_feistel512::FEISTEL
);

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-vaes512-x16",
    note: "VAES on four 512-bit registers, each of four objects",
    requires: LANES_REQUIRES,
    ..KERNEL
};

lanes_tier!(
    Zmm<Instructions>,
    Xmm<Instructions>,
    16,
    "aes,pclmulqdq,vaes,vpclmulqdq,avx512f,avx512bw,avx512vl"
);

impl Unit<__m512i> for Instructions {
    const FORM: Form = Form::Standard;
    const ABREAST: usize = 8;
    const LOOP: bool = false;

    #[inline(always)]
    unsafe fn enc(state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: as the caller; so below.
        unsafe { _mm512_aesenc_epi128(state, key) }
    }

    #[inline(always)]
    unsafe fn enc_last(state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_aesenclast_epi128(state, key) }
    }

    #[inline(always)]
    unsafe fn dec(state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_aesdec_epi128(state, key) }
    }

    #[inline(always)]
    unsafe fn dec_last(state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_aesdeclast_epi128(state, key) }
    }

    #[inline(always)]
    unsafe fn times_87<const UPPER: bool>(carry: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            let x87 = _mm512_set1_epi64(0x87);
            if UPPER {
                _mm512_clmulepi64_epi128::<0x01>(carry, x87)
            } else {
                _mm512_clmulepi64_epi128::<0x00>(carry, x87)
            }
        }
    }
}

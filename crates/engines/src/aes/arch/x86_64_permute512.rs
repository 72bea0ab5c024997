//! Vector permutation at 512 bits: four blocks a register.
//!
//! Ref. Intel SDM volume 2, VPSHUFB.
//!
//! # Safety
//! The calls are to [`Keys::new`], in functions that have the features of the vectors and the unit.
#![allow(unsafe_code)]

pub(crate) use super::x86_64_permute128::{expand, invert};
use super::x86_64_xmm::Xmm;
use super::x86_64_zmm::Zmm;
use super::{lanes_tier, tier};
use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::permute::Permute;
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-permute512-by32",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "S-box by byte shuffles, on eight 512-bit registers",
};

tier!(Zmm<Permute>, Xmm<Permute>, "avx512f,avx512bw,avx512vl");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-permute512-x16",
    note: "S-box by byte shuffles, on four 512-bit registers, each of four objects",
    requires: LANES_REQUIRES,
    ..KERNEL
};

lanes_tier!(Zmm<Permute>, Xmm<Permute>, 16, "avx512f,avx512bw,avx512vl");

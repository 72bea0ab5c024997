//! Vector permutation at 256 bits: two blocks a register.
//!
//! Ref. Intel SDM volume 2, VPSHUFB.
//!
//! # Safety
//! The calls are to [`Keys::new`], in functions that have the features of the vectors and the unit.
#![allow(unsafe_code)]

pub(crate) use super::x86_64_permute128::{expand, invert};
use super::x86_64_xmm::Xmm;
use super::x86_64_ymm::Ymm;
use super::{lanes_tier, tier};
use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::permute::Permute;
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-permute256-by16",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "S-box by byte shuffles, on eight 256-bit registers",
};

tier!(Ymm<Permute>, Xmm<Permute>, "avx2");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-permute256-x8",
    note: "S-box by byte shuffles, on four 256-bit registers, each of two objects",
    requires: LANES_REQUIRES,
    ..KERNEL
};

lanes_tier!(Ymm<Permute>, Xmm<Permute>, 8, "avx2");

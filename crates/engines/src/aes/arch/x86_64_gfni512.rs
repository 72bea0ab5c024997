//! GFNI at 512 bits, for processors whose AES instructions are withheld: four blocks a register.
//!
//! Ref. Intel SDM volume 2, GF2P8AFFINEINVQB.
//!
//! # Safety
//! The calls are to [`Keys::new`], in functions that have the features of the vectors and the unit.
#![allow(unsafe_code)]

use super::x86_64_gfni::Galois;
pub(crate) use super::x86_64_gfni::{expand, invert};
use super::x86_64_xmm::Xmm;
use super::x86_64_zmm::Zmm;
use super::{lanes_tier, tier};
use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-gfni512-by32",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "GFNI in place of AES instructions, on eight 512-bit registers",
};

tier!(Zmm<Galois>, Xmm<Galois>, "gfni,avx512f,avx512bw,avx512vl");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-gfni512-x16",
    note: "GFNI in place of AES instructions, on four 512-bit registers, each of four objects",
    requires: LANES_REQUIRES,
    ..KERNEL
};

lanes_tier!(Zmm<Galois>, Xmm<Galois>, 16, "gfni,avx512f,avx512bw,avx512vl");

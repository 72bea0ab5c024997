//! GFNI at 256 bits, for processors without AVX-512 whose AES instructions are withheld: two blocks a register.
//!
//! Ref. Intel SDM volume 2, GF2P8AFFINEINVQB.
//!
//! # Safety
//! The calls are to [`Keys::new`], in functions that have the features of the vectors and the unit.
#![allow(unsafe_code)]

use super::x86_64_gfni::Galois;
pub(crate) use super::x86_64_gfni::{expand, invert};
use super::x86_64_xmm::Xmm;
use super::x86_64_ymm::Ymm;
use super::{lanes_tier, serial_tier, tier};
use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-gfni256-by16",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "GFNI in place of AES instructions, on eight 256-bit registers",
};

tier!(Ymm<Galois>, Xmm<Galois>, "gfni,avx2");

pub(crate) const SERIAL: Kernel = Kernel {
    name: "x86_64-gfni-by1",
    requires: SERIAL_REQUIRES,
    timing: Timing::Constant,
    note: "GFNI in place of AES instructions, one block after another: the mode allows no more",
};

serial_tier!(Xmm<Galois>, "gfni,avx2");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-gfni256-x8",
    note: "GFNI in place of AES instructions, on four 256-bit registers, each of two objects",
    requires: LANES_REQUIRES,
    ..KERNEL
};

lanes_tier!(Ymm<Galois>, Xmm<Galois>, 8, "gfni,avx2");

//! Vector permutation at 128 bits, for any processor with a byte shuffle; and the key expansion for every such tier of x86-64.
//!
//! Long messages of independent blocks would be faster in bit slices of eight registers: OpenSSL's take 0.7 to 0.9 of the time
//! at this width. But slices cost as much for one block as for eight, and from 256 bits on these shuffles win.
//!
//! Ref. Intel SDM volume 2, PSHUFB.
//!
//! # Safety
//! The calls are to [`Keys::new`] and to `permute.rs`, in functions that have the features of the vectors and the unit.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::x86_64_aesni::expand_by;
use super::x86_64_xmm::{Xmm, put};
use super::{lanes_tier, serial_tier, tier};
use crate::aes::job::{CbcJob, CfbJob, CmacJob, CtrJob};
use crate::aes::permute::{self, Permute};
use crate::aes::schedule::Form;
use crate::aes::side_by_side;
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "x86_64-permute128-by8",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "S-box by byte shuffles, on eight registers of one block",
};

tier!(Xmm<Permute>, Xmm<Permute>, "ssse3");

pub(crate) const SERIAL: Kernel = Kernel {
    name: "x86_64-permute128-by1",
    requires: SERIAL_REQUIRES,
    timing: Timing::Constant,
    note: "S-box by byte shuffles, one block after another: the mode allows no more",
};

serial_tier!(Xmm<Permute>, "ssse3");

pub(crate) const LANES: Kernel = Kernel {
    name: "x86_64-permute128-x4",
    note: "S-box by byte shuffles, on four objects side by side",
    requires: LANES_REQUIRES,
    ..KERNEL
};

lanes_tier!(Xmm<Permute>, Xmm<Permute>, 4, "ssse3");

/// Expands a key into a blank schedule.
#[target_feature(enable = "ssse3")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: this function has the unit's instructions.
    unsafe {
        expand_by::<Permute>(schedule, key);
        permute::adopt::<__m128i>(schedule, put);
    }
}

/// The equivalent inverse cipher's round keys, in the order of use.
#[target_feature(enable = "ssse3")]
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    // SAFETY: this function has the unit's instructions.
    unsafe { permute::invert_keys::<__m128i>(schedule, inverse, put) }
}

/// Encrypts four blocks.
#[target_feature(enable = "ssse3")]
pub(crate) fn encrypt_blocks4(schedule: &Schedule, blocks: &mut [Block; 4]) {
    // SAFETY: the features of the vectors are those of this function.
    let keys = unsafe { Keys::<Xmm<Permute>>::new(schedule) };
    ecb::crypt::<_, false>(keys, InOut::in_place(blocks.as_flattened_mut()));
}

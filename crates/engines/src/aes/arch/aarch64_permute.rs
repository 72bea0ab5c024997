//! Vector permutation in NEON registers, for processors without the Cryptographic Extension: a block a register.
//!
//! Ref. Arm ARM, TBL.
//!
//! # Safety
//! The calls are to [`Keys::new`] and to `permute.rs`, in functions that have the features of the vectors and the unit.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::aarch64_ce::expand_by;
use super::aarch64_quad::{Quad, put};
use super::{serial_tier, tier};
use crate::aes::permute::{self, Permute};
use crate::aes::vector::Keys;
use crate::aes::{Block, Schedule, cbc, cfb, cmac, ctr, ecb, xts};
use crate::{InOut, Kernel, Timing};

pub(crate) const KERNEL: Kernel = Kernel {
    name: "aarch64-permute-by8",
    requires: REQUIRES,
    timing: Timing::Constant,
    note: "S-box by table lookups in registers, on eight blocks",
};

pub(crate) const SERIAL: Kernel = Kernel {
    name: "aarch64-permute-by1",
    requires: SERIAL_REQUIRES,
    timing: Timing::Constant,
    note: "S-box by table lookups in registers, one block after another: the mode allows no more",
};

tier!(Quad<Permute>, Quad<Permute>, "neon");
serial_tier!(Quad<Permute>, "neon");

/// Expands a key into a blank schedule.
#[target_feature(enable = "neon")]
pub(crate) fn expand(schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: this function has the unit's instructions.
    unsafe {
        expand_by::<Permute>(schedule, key);
        permute::adopt::<uint8x16_t>(schedule, put);
    }
}

/// The equivalent inverse cipher's round keys, in the order of use.
#[target_feature(enable = "neon")]
pub(crate) fn invert(schedule: &Schedule, inverse: &mut Schedule) {
    // SAFETY: this function has the unit's instructions.
    unsafe { permute::invert_keys::<uint8x16_t>(schedule, inverse, put) }
}

/// Encrypts four blocks.
#[target_feature(enable = "neon")]
pub(crate) fn encrypt_blocks4(schedule: &Schedule, blocks: &mut [Block; 4]) {
    // SAFETY: the features of the vectors are those of this function.
    let keys = unsafe { Keys::<Quad<Permute>>::new(schedule) };
    ecb::crypt::<_, false>(keys, InOut::in_place(blocks.as_flattened_mut()));
}

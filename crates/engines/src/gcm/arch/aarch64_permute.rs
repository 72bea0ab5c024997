//! Vector permutation in NEON registers, with GHASH by integers.
//!
//! # Safety
//! The row requires `neon`, which is all that the functions need.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use crate::aes::arch::aarch64_permute;
use crate::aes::{Block, Schedule};
use crate::gcm::GcmOps;
use crate::gcm::portable::{self, FourBlocks};

pub(in crate::gcm) const REQUIRES: FeatureSet = FeatureSet::parse("neon");

pub(in crate::gcm) const OPS: GcmOps = portable::ops::<Permuted>();

struct Permuted;

impl FourBlocks for Permuted {
    unsafe fn expand(schedule: &mut Schedule, key: &[u8]) {
        // SAFETY: as the caller.
        unsafe { aarch64_permute::expand(schedule, key) }
    }

    unsafe fn encrypt(schedule: &Schedule, blocks: &mut [Block; 4]) {
        // SAFETY: as the caller.
        unsafe { aarch64_permute::encrypt_blocks4(schedule, blocks) }
    }
}

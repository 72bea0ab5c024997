//! Vector permutation and PCLMULQDQ, a block a register; and vector permutation alone, with GHASH by integers.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block128::Block128;
use crate::aes::arch::x86_64_permute128::{self, expand as expand_key};
use crate::aes::permute::Permute;
use crate::aes::{Block, Schedule};
use crate::gcm::polyval::polyval_row;
use crate::gcm::portable::{self, FourBlocks};
use crate::gcm::vector::{self, row};

row!(Block128<Permute>, 4, 256, "pclmulqdq,sse4.1", expand_key);
polyval_row!(Block128<Permute>, "pclmulqdq,sse4.1");

/// The functions of the row without PCLMULQDQ.
pub(in crate::gcm) const INTEGER_OPS: GcmOps = portable::ops::<Permuted>();

struct Permuted;

impl FourBlocks for Permuted {
    unsafe fn expand(schedule: &mut Schedule, key: &[u8]) {
        // SAFETY: as the caller.
        unsafe { x86_64_permute128::expand(schedule, key) }
    }

    unsafe fn encrypt(schedule: &Schedule, blocks: &mut [Block; 4]) {
        // SAFETY: as the caller.
        unsafe { x86_64_permute128::encrypt_blocks4(schedule, blocks) }
    }
}

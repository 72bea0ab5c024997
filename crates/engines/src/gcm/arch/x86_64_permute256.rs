//! Vector permutation at 256 bits, and PCLMULQDQ on one block after another.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block256::Block256;
use crate::aes::arch::x86_64_permute128::expand as expand_key;
use crate::aes::permute::Permute;
use crate::gcm::vector::{self, row};

row!(Block256<Permute>, 4, 256, "pclmulqdq,avx2", expand_key);

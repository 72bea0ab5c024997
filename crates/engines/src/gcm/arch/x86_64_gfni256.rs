//! GFNI in place of AES instructions, and VPCLMULQDQ, at 256 bits.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block256::Block256;
use crate::aes::arch::x86_64_gfni::{Galois, expand as expand_key};
use crate::gcm::side_by_side::{self, group_row};
use crate::gcm::vector::{self, row};

row!(Block256<Galois>, 4, 256, "gfni,vpclmulqdq,avx2", expand_key);
group_row!(Block256<Galois>, 2, "gfni,vpclmulqdq,avx2");

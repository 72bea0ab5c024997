//! GFNI in place of AES instructions, and VPCLMULQDQ, at 512 bits.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block512::Block512;
use crate::aes::arch::x86_64_gfni::{Galois, expand as expand_key};
use crate::gcm::side_by_side::{self, group_row};
use crate::gcm::vector::{self, row};

row!(Block512<Galois>, 8, vector::REACH, "gfni,vpclmulqdq,avx512bw,avx512vl,bmi2", expand_key);
group_row!(Block512<Galois>, 1, "gfni,vpclmulqdq,avx512bw,avx512vl,bmi2");

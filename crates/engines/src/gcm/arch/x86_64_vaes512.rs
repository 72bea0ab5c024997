//! VAES and VPCLMULQDQ at 512 bits: four blocks a register, and masks for fewer than four blocks.
//!
//! Ref. Intel SDM volume 2, VAESENC, VPCLMULQDQ, VPTERNLOGQ, VMOVDQU8.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block512::Block512;
use crate::aes::arch::x86_64_aesni::{Instructions, expand as expand_key};
use crate::gcm::side_by_side::{self, group_row};
use crate::gcm::vector::{self, row};

row!(Block512<Instructions>, 8, vector::REACH, "vaes,vpclmulqdq,avx512bw,avx512vl,bmi2", expand_key);
group_row!(Block512<Instructions>, 1, "vaes,vpclmulqdq,avx512bw,avx512vl,bmi2");

//! VAES and VPCLMULQDQ at 256 bits: two blocks a register.
//!
//! Ref. Intel SDM volume 2, VAESENC, VPCLMULQDQ.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block256::Block256;
use crate::aes::arch::x86_64_aesni::{Instructions, expand as expand_key};
use crate::gcm::side_by_side::{self, group_row};
use crate::gcm::vector::{self, row};

row!(Block256<Instructions>, 8, 256, "vaes,vpclmulqdq,avx2", expand_key);
group_row!(Block256<Instructions>, 2, "vaes,vpclmulqdq,avx2");

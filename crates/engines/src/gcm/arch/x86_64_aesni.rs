//! AES-NI and PCLMULQDQ: one block a register.
//!
//! Ref. Intel SDM volume 2, AESENC, PCLMULQDQ.
//!
//! # Safety
//! The unsafe calls are the macros', in functions that have the features of the vector.
#![allow(unsafe_code)]

use super::x86_64_block128::Block128;
use crate::aes::arch::x86_64_aesni::{Instructions, expand as expand_key};
use crate::gcm::side_by_side::{self, group_row};
use crate::gcm::vector::{self, row};

row!(Block128<Instructions>, 8, 256, "aes,pclmulqdq,sse4.1", expand_key);
group_row!(Block128<Instructions>, 4, "aes,pclmulqdq,sse4.1");

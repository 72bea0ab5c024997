//! The S-boxes as the AES S-box between affine maps. Each map is two tables of sixteen for the halves
//! of a byte, which suits a processor with AES instructions and a byte shuffle.
//!
//! Ref. RFC 3713 §2.4.1; FIPS 197 §5.1.1 and §5.1.2.

use super::super::sbox::*;
use crate::blocks::field::{Map, affine};

pub(super) static IN: Map = affine(BEFORE, BEFORE_CONSTANT);
pub(super) static IN_4: Map = affine(BEFORE_4, BEFORE_CONSTANT);
pub(super) static OUT: Map = affine(AFTER_AES, AFTER_AES_CONSTANT);
pub(super) static OUT_2: Map = affine(AFTER_AES_2, AFTER_AES_2_CONSTANT);
pub(super) static OUT_3: Map = affine(AFTER_AES_3, AFTER_AES_3_CONSTANT);

//! The S-box as the AES S-box between affine maps. Each map is two tables of sixteen for the halves
//! of a byte, which suits a processor with AES instructions and a byte shuffle.
//!
//! Ref. GB/T 32907-2016 §6.2; FIPS 197 §5.1.1.

use super::super::sbox::*;
use crate::blocks::field::{Map, UNDO_AES, affine};

pub(super) static IN: Map = affine(BEFORE, BEFORE_CONSTANT);
pub(super) static OUT_P: Map =
    affine(UNDO_AES.then(AFTER_P), AFTER_P_CONSTANT ^ UNDO_AES.then(AFTER_P).of(0x63));
pub(super) static OUT_Q: Map =
    affine(UNDO_AES.then(AFTER_Q), AFTER_Q_CONSTANT ^ UNDO_AES.then(AFTER_Q).of(0x63));

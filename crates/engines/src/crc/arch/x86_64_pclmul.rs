//! CRC by carry-less multiplication: four registers of 128 bits, each folded over 512.
//!
//! # Safety
//! The functions have the features in their `target_feature` attribute, for which the table's row
//! asks.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::super::{Ops, Polynomial};
use super::fold::{self, Cursor};
use crate::InOut;

pub(in super::super) const fn ops<P: Polynomial>() -> Ops<P> {
    Ops { update: update::<P>, copy: copy::<P>, polynomial: PhantomData }
}

#[target_feature(enable = "pclmulqdq,sse4.1")]
fn update<P: Polynomial>(crc: u32, data: &[u8]) -> u32 {
    // SAFETY: the cursor is over `data`.
    unsafe { fold::message::<P, false>(crc, Cursor::<false>::new(data)) }
}

#[target_feature(enable = "pclmulqdq,sse4.1")]
fn copy<P: Polynomial>(crc: u32, data: InOut<'_>) -> u32 {
    // SAFETY: the cursor is over `data`.
    unsafe { fold::message::<P, true>(crc, Cursor::<true>::new(data)) }
}

//! Both CRCs by the instructions of ARMv8: three independent stretches at once, because an
//! instruction takes longer than the time between two of them.
//!
//! Ref. Arm ARM, CRC32X and CRC32CX; the stretches are joined as [`Crc::combine`] does.
//!
//! # Safety
//! The functions have the features in their `target_feature` attribute, for which the table's row
//! asks.
#![allow(unsafe_code)]

use std::arch::aarch64::*;
use std::marker::PhantomData;

use super::super::polynomial::x_to_the;
use super::super::{Ops, Polynomial};
use crate::InOut;

/// Bytes copied at a time, so that the CRC finds them in the first-level cache.
const PIECE: usize = 4096;

/// Bytes in each of three stretches.
const STRETCH: usize = 1024;

/// The instructions of one polynomial.
pub(in super::super) trait Instructions: Polynomial {
    /// # Safety
    /// The processor has CRC instructions.
    unsafe fn word(crc: u32, word: u64) -> u32;
    /// # Safety
    /// The processor has CRC instructions.
    unsafe fn byte(crc: u32, byte: u8) -> u32;
}

impl Instructions for super::super::Ieee {
    #[inline]
    #[target_feature(enable = "crc")]
    unsafe fn word(crc: u32, word: u64) -> u32 {
        __crc32d(crc, word)
    }

    #[inline]
    #[target_feature(enable = "crc")]
    unsafe fn byte(crc: u32, byte: u8) -> u32 {
        __crc32b(crc, byte)
    }
}

impl Instructions for super::super::Castagnoli {
    #[inline]
    #[target_feature(enable = "crc")]
    unsafe fn word(crc: u32, word: u64) -> u32 {
        __crc32cd(crc, word)
    }

    #[inline]
    #[target_feature(enable = "crc")]
    unsafe fn byte(crc: u32, byte: u8) -> u32 {
        __crc32cb(crc, byte)
    }
}

pub(in super::super) const fn ops<P: Instructions>() -> Ops<P> {
    Ops { update: update::<P>, copy: copy::<P>, polynomial: PhantomData }
}

#[target_feature(enable = "crc,aes")]
fn update<P: Instructions>(mut crc: u32, mut data: &[u8]) -> u32 {
    while let Some((stretches, rest)) = data.split_first_chunk::<{ 3 * STRETCH }>() {
        crc = three::<P>(crc, stretches);
        data = rest;
    }
    let (words, rest) = data.as_chunks();
    // SAFETY: the features are this function's.
    unsafe {
        for word in words {
            crc = P::word(crc, u64::from_le_bytes(*word));
        }
        for &byte in rest {
            crc = P::byte(crc, byte);
        }
    }
    crc
}

#[target_feature(enable = "crc,aes")]
fn copy<P: Instructions>(mut crc: u32, mut data: InOut<'_>) -> u32 {
    while !data.is_empty() {
        let mut piece = data.take(data.len().min(PIECE));
        piece.copy();
        crc = update::<P>(crc, piece.input());
    }
    crc
}

/// Returns the CRC over three stretches. The first two CRCs are moved over the stretches after
/// them: the product of two reflected 32-bit numbers has an extra x, and its CRC another x^32.
#[inline]
#[target_feature(enable = "crc,aes")]
fn three<P: Instructions>(crc: u32, stretches: &[u8; 3 * STRETCH]) -> u32 {
    let words = stretches.as_chunks::<8>().0;
    let (mut a, mut b, mut c) = (crc, 0, 0);
    let (far, near) = const {
        let p = P::REFLECTED;
        (x_to_the(p, 16 * STRETCH as u64 - 33), x_to_the(p, 8 * STRETCH as u64 - 33))
    };
    // SAFETY: the features are this function's.
    unsafe {
        for i in 0..STRETCH / 8 {
            a = P::word(a, u64::from_le_bytes(words[i]));
            b = P::word(b, u64::from_le_bytes(words[STRETCH / 8 + i]));
            c = P::word(c, u64::from_le_bytes(words[STRETCH / 4 + i]));
        }
        let far = vmull_p64(u64::from(a), u64::from(far)) as u64;
        let near = vmull_p64(u64::from(b), u64::from(near)) as u64;
        c ^ P::word(0, far) ^ P::word(0, near)
    }
}

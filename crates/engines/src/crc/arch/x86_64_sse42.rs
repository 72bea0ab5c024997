//! CRC32c by its own instruction: three independent stretches at once, because the instruction
//! takes three cycles and one can begin in each.
//!
//! Ref. Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction".
//!
//! # Safety
//! The functions have the features in their `target_feature` attribute, for which the table's row
//! asks.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::polynomial::x_to_the;
use super::super::{Castagnoli, Ops, Polynomial};
use crate::InOut;

pub(in super::super) const OPS: Ops<Castagnoli> = Ops { update, copy, polynomial: PhantomData };

/// Bytes in each of the three stretches, for long data and for the rest.
const LONG: usize = 1024;
const SHORT: usize = 128;

/// Bytes copied at a time, so that the CRC finds them in the first-level cache.
const PIECE: usize = 6 * LONG;

#[target_feature(enable = "sse4.2,pclmulqdq")]
pub(super) fn update(mut crc: u32, mut data: &[u8]) -> u32 {
    while let Some((stretches, rest)) = data.split_first_chunk::<{ 3 * LONG }>() {
        crc = three::<LONG>(crc, stretches);
        data = rest;
    }
    while let Some((stretches, rest)) = data.split_first_chunk::<{ 3 * SHORT }>() {
        crc = three::<SHORT>(crc, stretches);
        data = rest;
    }
    one(crc, data)
}

#[target_feature(enable = "sse4.2,pclmulqdq")]
fn copy(mut crc: u32, mut data: InOut<'_>) -> u32 {
    while !data.is_empty() {
        let mut piece = data.take(data.len().min(PIECE));
        piece.copy();
        crc = update(crc, piece.input());
    }
    crc
}

/// A stretch by itself.
#[inline]
#[target_feature(enable = "sse4.2")]
pub(super) fn one(crc: u32, data: &[u8]) -> u32 {
    let (words, mut rest) = data.as_chunks();
    let mut crc = u64::from(crc);
    for word in words {
        crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    }
    let mut crc = crc as u32;
    if let Some((word, after)) = rest.split_first_chunk() {
        crc = _mm_crc32_u32(crc, u32::from_le_bytes(*word));
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk() {
        crc = _mm_crc32_u16(crc, u16::from_le_bytes(*word));
        rest = after;
    }
    if let [byte] = rest {
        crc = _mm_crc32_u8(crc, *byte);
    }
    crc
}

/// Three stretches of `N` bytes.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn three<const N: usize>(crc: u32, stretches: &[u8]) -> u32 {
    let words = stretches.as_chunks::<8>().0;
    let (mut a, mut b, mut c) = (u64::from(crc), 0, 0);
    for i in 0..N / 8 {
        a = _mm_crc32_u64(a, u64::from_le_bytes(words[i]));
        b = _mm_crc32_u64(b, u64::from_le_bytes(words[N / 8 + i]));
        c = _mm_crc32_u64(c, u64::from_le_bytes(words[2 * (N / 8) + i]));
    }
    let (far, near) = const { (shift(2 * N), shift(N)) };
    (c as u32) ^ times(a, far) ^ times(b, near)
}

/// Returns the constant with which [`times`] moves a CRC over `bytes` zero bytes. The product of
/// two reflected 32-bit numbers has an extra x, and its CRC another x^32.
const fn shift(bytes: usize) -> u32 {
    x_to_the(Castagnoli::REFLECTED, 8 * bytes as u64 - 33)
}

/// The CRC of a carry-less product.
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn times(crc: u64, multiplier: u32) -> u32 {
    let product =
        _mm_clmulepi64_si128::<0x00>(_mm_cvtsi64_si128(crc as i64), _mm_cvtsi32_si128(multiplier as i32));
    _mm_crc32_u64(0, _mm_cvtsi128_si64(product) as u64) as u32
}

//! One block in a 128-bit register, and PCLMULQDQ.
//!
//! Ref. Intel SDM volume 2, PCLMULQDQ.
//!
//! # Safety
//! A [`Block128`] is made only inside functions that have `pclmulqdq`, `sse4.1` and the features of
//! the unit `U`
//! ([`Vector`]'s contract), so one at hand is the witness that they may be used.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::aes::schedule::Form;
use crate::aes::unit::Unit;
use crate::gcm::blocks::{self, Vector};
use crate::gcm::side_by_side::Across;

#[derive(Clone, Copy)]
pub(super) struct Block128<U>(pub(super) __m128i, PhantomData<U>);

impl<U> Block128<U> {
    #[inline(always)]
    pub(super) fn of(register: __m128i) -> Self {
        Block128(register, PhantomData)
    }
}

impl<U: Unit<__m128i>> Vector for Block128<U> {
    const FORM: Form = <U as Unit<__m128i>>::FORM;
    const LOOP: bool = <U as Unit<__m128i>>::LOOP;
    const BLOCKS: usize = 1;
    type One = Block128<U>;

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: an array of 16 bytes.
        unsafe { Block128::of(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the caller.
        unsafe { Block128::of(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller.
        unsafe { Self::one(blocks::read_part(from, n)) }
    }

    #[inline(always)]
    unsafe fn load_block(from: *const u8, n: usize) -> Block128<U> {
        // SAFETY: as the caller.
        unsafe { Self::one(blocks::read_part(from, n)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the caller.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, n: usize) {
        // SAFETY: as the caller.
        unsafe { blocks::write_part(Self::value(self), to, n) }
    }

    #[inline(always)]
    unsafe fn load_above(_: *const u8, _: usize) -> Self {
        // SAFETY: as the caller; there is no place above the first.
        unsafe { Self::one(0) }
    }

    #[inline(always)]
    unsafe fn store_above(self, _: *mut u8, _: usize) {}

    #[inline(always)]
    fn keep(self, n: usize) -> Self {
        debug_assert!(n <= 16);
        // SAFETY: 32 - n..48 - n is inside the mask.
        unsafe {
            Block128::of(_mm_and_si128(self.0, _mm_loadu_si128(blocks::KEEP.as_ptr().add(32 - n).cast())))
        }
    }

    #[inline(always)]
    fn keep_above(self, _: usize) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Block128::of(_mm_setzero_si128()) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Block128::of(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b.xor(c))
    }

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128::of(<U as Unit<__m128i>>::enter(self.0)) }
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128::of(<U as Unit<__m128i>>::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block128::of(<U as Unit<__m128i>>::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn multiply<const A: i32, const B: i32>(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            Block128::of(match (A, B) {
                (0, 0) => _mm_clmulepi64_si128::<0x00>(self.0, other.0),
                (1, 0) => _mm_clmulepi64_si128::<0x01>(self.0, other.0),
                (0, 1) => _mm_clmulepi64_si128::<0x10>(self.0, other.0),
                _ => _mm_clmulepi64_si128::<0x11>(self.0, other.0),
            })
        }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            Block128::of(_mm_shuffle_epi8(self.0, order))
        }
    }

    #[inline(always)]
    fn swap(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Block128::of(_mm_shuffle_epi32::<0x4e>(self.0)) }
    }

    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Block128::of(_mm_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    fn sum(self) -> Self {
        self
    }

    #[inline(always)]
    fn first(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_first(first: Self) -> Self {
        first
    }

    #[inline(always)]
    fn with_first(self, first: Self) -> Self {
        first
    }

    #[inline(always)]
    fn repeat(one: Self) -> Self {
        one
    }

    #[inline(always)]
    fn join(blocks: &[Block128<U>]) -> Self {
        blocks[0]
    }

    #[inline(always)]
    unsafe fn one(value: u128) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Block128::of(_mm_set_epi64x((value >> 64) as i64, value as i64)) }
    }

    #[inline(always)]
    fn value(one: Self) -> u128 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(one.0, one.0)) as u64;
            u128::from(high) << 64 | u128::from(_mm_cvtsi128_si64(one.0) as u64)
        }
    }

    #[inline(always)]
    unsafe fn indices() -> Self {
        // SAFETY: as the caller.
        unsafe { Self::one(0) }
    }
}

impl<U: Unit<__m128i>> Across for Block128<U> {
    #[inline(always)]
    fn sums(vectors: &[Self]) -> Self {
        vectors[0]
    }
}

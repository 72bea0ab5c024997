//! Two blocks in a 256-bit register, and carry-less multiplication.
//!
//! Ref. Intel SDM volume 2, VPCLMULQDQ.
//!
//! # Safety
//! A [`Block256`] is made only inside functions that have `avx2`, the unit's multiplication
//! (`vpclmulqdq` if it is wide, else `pclmulqdq`) and the features of the unit `U`
//! ([`Vector`]'s contract), so one at hand is the witness that they may be used.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::Multiplies;
use super::x86_64_block128::Block128;
use crate::aes::schedule::Form;
use crate::aes::unit::Unit;
use crate::gcm::blocks::{self, Vector};
use crate::gcm::side_by_side::Across;

#[derive(Clone, Copy)]
pub(super) struct Block256<U>(__m256i, PhantomData<U>);

impl<U> Block256<U> {
    #[inline(always)]
    fn of(register: __m256i) -> Self {
        Block256(register, PhantomData)
    }

    /// The blocks.
    #[inline(always)]
    fn halves(self) -> [Block128<U>; 2] {
        // SAFETY: `self` is the witness.
        unsafe {
            [
                Block128::of(_mm256_castsi256_si128(self.0)),
                Block128::of(_mm256_extracti128_si256::<1>(self.0)),
            ]
        }
    }
}

impl<U: Unit<__m128i> + Unit<__m256i> + Multiplies> Vector for Block256<U> {
    const FORM: Form = <U as Unit<__m256i>>::FORM;
    const LOOP: bool = <U as Unit<__m256i>>::LOOP;
    const BLOCKS: usize = 2;
    type One = Block128<U>;

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: an array of 16 bytes.
        unsafe { Block256::of(_mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast()))) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the caller.
        unsafe { Block256::of(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller.
        unsafe {
            if n <= 16 {
                Self::from_first(Block128::load_part(from, n))
            } else {
                let upper = Block128::<U>::load_part(from.add(16), n - 16);
                Block256::of(_mm256_set_m128i(upper.0, _mm_loadu_si128(from.cast())))
            }
        }
    }

    #[inline(always)]
    unsafe fn load_block(from: *const u8, n: usize) -> Block128<U> {
        // SAFETY: as the caller.
        unsafe { Block128::load_part(from, n) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the caller.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, n: usize) {
        // SAFETY: as the caller.
        unsafe {
            if n <= 16 {
                self.first().store_part(to, n);
            } else {
                self.first().store(to);
                Block128::<U>::of(_mm256_extracti128_si256::<1>(self.0)).store_part(to.add(16), n - 16);
            }
        }
    }

    #[inline(always)]
    unsafe fn load_above(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller.
        unsafe { Block256::of(_mm256_set_m128i(Block128::<U>::load_part(from, n).0, _mm_setzero_si128())) }
    }

    #[inline(always)]
    unsafe fn store_above(self, to: *mut u8, n: usize) {
        // SAFETY: as the caller.
        unsafe { Block128::<U>::of(_mm256_extracti128_si256::<1>(self.0)).store_part(to, n) }
    }

    #[inline(always)]
    fn keep(self, n: usize) -> Self {
        debug_assert!(n <= 32);
        // SAFETY: 32 - n..64 - n is inside the mask; `self` is the witness.
        unsafe {
            Block256::of(_mm256_and_si256(
                self.0,
                _mm256_loadu_si256(blocks::KEEP.as_ptr().add(32 - n).cast()),
            ))
        }
    }

    #[inline(always)]
    fn keep_above(self, n: usize) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(_mm256_blend_epi32::<0x0f>(self.keep(n + 16).0, _mm256_setzero_si256())) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b.xor(c))
    }

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(<U as Unit<__m256i>>::enter(self.0)) }
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(<U as Unit<__m256i>>::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(<U as Unit<__m256i>>::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn multiply<const A: i32, const B: i32>(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            if !U::WIDE {
                let [low, high] = self.halves();
                let [other_low, other_high] = other.halves();
                let (low, high) = (low.multiply::<A, B>(other_low), high.multiply::<A, B>(other_high));
                return Block256::of(_mm256_set_m128i(high.0, low.0));
            }
            Block256::of(match (A, B) {
                (0, 0) => _mm256_clmulepi64_epi128::<0x00>(self.0, other.0),
                (1, 0) => _mm256_clmulepi64_epi128::<0x01>(self.0, other.0),
                (0, 1) => _mm256_clmulepi64_epi128::<0x10>(self.0, other.0),
                _ => _mm256_clmulepi64_epi128::<0x11>(self.0, other.0),
            })
        }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            Block256::of(_mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(order)))
        }
    }

    #[inline(always)]
    fn swap(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(_mm256_shuffle_epi32::<0x4e>(self.0)) }
    }

    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(_mm256_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    fn sum(self) -> Block128<U> {
        // SAFETY: `self` is the witness.
        unsafe {
            Block128::of(_mm_xor_si128(_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0)))
        }
    }

    #[inline(always)]
    fn first(self) -> Block128<U> {
        // SAFETY: `self` is the witness.
        unsafe { Block128::of(_mm256_castsi256_si128(self.0)) }
    }

    #[inline(always)]
    fn from_first(first: Block128<U>) -> Self {
        // SAFETY: called only where `Self` may exist, by the trait's contract.
        unsafe { Block256::of(_mm256_zextsi128_si256(first.0)) }
    }

    #[inline(always)]
    fn with_first(self, first: Block128<U>) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block256::of(_mm256_inserti128_si256::<0>(self.0, first.0)) }
    }

    #[inline(always)]
    fn repeat(one: Block128<U>) -> Self {
        // SAFETY: called only where `Self` may exist, by the trait's contract.
        unsafe { Block256::of(_mm256_broadcastsi128_si256(one.0)) }
    }

    #[inline(always)]
    fn join(blocks: &[Block128<U>]) -> Self {
        // SAFETY: called only where `Self` may exist, by the trait's contract.
        unsafe { Block256::of(_mm256_set_m128i(blocks[1].0, blocks[0].0)) }
    }

    #[inline(always)]
    unsafe fn one(value: u128) -> Block128<U> {
        // SAFETY: as the caller.
        unsafe { Block128::one(value) }
    }

    #[inline(always)]
    fn value(one: Block128<U>) -> u128 {
        Block128::value(one)
    }

    #[inline(always)]
    unsafe fn indices() -> Self {
        // SAFETY: as the caller.
        unsafe { Block256::of(_mm256_setr_epi32(0, 0, 0, 0, 1, 0, 0, 0)) }
    }
}

impl<U: Unit<__m128i> + Unit<__m256i> + Multiplies> Across for Block256<U> {
    #[inline(always)]
    fn sums(vectors: &[Self]) -> Self {
        let [a, b] = [vectors[0].0, vectors[1].0];
        // SAFETY: `vectors` are the witness.
        unsafe {
            Block256::of(_mm256_xor_si256(
                _mm256_permute2x128_si256::<0x20>(a, b),
                _mm256_permute2x128_si256::<0x31>(a, b),
            ))
        }
    }
}

//! Four blocks in a 512-bit register, VPCLMULQDQ, and masks for fewer than four blocks.
//!
//! Ref. Intel SDM volume 2, VPCLMULQDQ, VPTERNLOGQ, VMOVDQU8.
//!
//! # Safety
//! A [`Block512`] is made only inside functions that have `vpclmulqdq`, `avx512f`, `avx512bw`,
//! `avx512vl`, `bmi2` and the features of the unit `U`
//! ([`Vector`]'s contract), so one at hand is the witness that they may be used. Bytes that a mask leaves out are
//! neither read nor written, and the processor does not fault on them.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::x86_64_block128::Block128;
use crate::aes::schedule::Form;
use crate::aes::unit::Unit;
use crate::gcm::blocks::Vector;
use crate::gcm::side_by_side::Across;
use crate::masked::readable;

#[derive(Clone, Copy)]
pub(super) struct Block512<U>(__m512i, PhantomData<U>);

impl<U> Block512<U> {
    #[inline(always)]
    fn of(register: __m512i) -> Self {
        Block512(register, PhantomData)
    }
}

/// The lowest `n` bits; `n` is at most 64.
#[inline(always)]
unsafe fn bits(n: usize) -> __mmask64 {
    // SAFETY: as the caller, who has `bmi2`.
    unsafe { _bzhi_u64(u64::MAX, n as u32) }
}

/// See [`Vector::pin`].
#[inline]
#[target_feature(enable = "avx512f")]
fn pin(value: &mut __m512i) {
    // Miri does not execute `asm!`, and has no registers.
    if cfg!(not(miri)) {
        // SAFETY: the template is empty, so the value comes out as it went in.
        unsafe {
            std::arch::asm!("/* {0} */", inout(zmm_reg) * value, options(nomem, nostack, preserves_flags))
        };
    }
}

impl<U: Unit<__m128i> + Unit<__m512i>> Vector for Block512<U> {
    const FORM: Form = <U as Unit<__m512i>>::FORM;
    const LOOP: bool = <U as Unit<__m512i>>::LOOP;
    const BLOCKS: usize = 4;
    type One = Block128<U>;

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: an array of 16 bytes.
        unsafe { Block512::of(_mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast()))) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as the caller.
        unsafe { Block512::of(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller.
        unsafe { Block512::of(_mm512_maskz_loadu_epi8(bits(n), readable(from, n).cast())) }
    }

    #[inline(always)]
    unsafe fn load_block(from: *const u8, n: usize) -> Block128<U> {
        // SAFETY: as the caller.
        unsafe { Block128::of(_mm_maskz_loadu_epi8(bits(n) as __mmask16, readable(from, n).cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as the caller.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, n: usize) {
        // A store of nothing takes as long as a load of nothing where no memory is.
        if n > 0 {
            // SAFETY: as the caller.
            unsafe { _mm512_mask_storeu_epi8(to.cast(), bits(n), self.0) }
        }
    }

    #[inline(always)]
    unsafe fn load_above(from: *const u8, n: usize) -> Self {
        // SAFETY: as the caller; the 16 bytes before `from` are masked out.
        unsafe {
            Block512::of(_mm512_maskz_loadu_epi8(bits(n) << 16, readable(from.wrapping_sub(16), n).cast()))
        }
    }

    #[inline(always)]
    unsafe fn store_above(self, to: *mut u8, n: usize) {
        // A message that is only authenticated has no text, so there may be no memory here either.
        if n > 0 {
            // SAFETY: as the caller; the 16 bytes before `to` are masked out.
            unsafe { _mm512_mask_storeu_epi8(to.wrapping_sub(16).cast(), bits(n) << 16, self.0) }
        }
    }

    #[inline(always)]
    fn keep(self, n: usize) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_maskz_mov_epi8(bits(n), self.0)) }
    }

    #[inline(always)]
    fn keep_above(self, n: usize) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_maskz_mov_epi8(bits(n) << 16, self.0)) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_ternarylogic_epi32::<0x96>(self.0, b.0, c.0)) }
    }

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(<U as Unit<__m512i>>::enter(self.0)) }
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(<U as Unit<__m512i>>::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn pin(&mut self) {
        // SAFETY: `self` is the witness.
        unsafe { pin(&mut self.0) }
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(<U as Unit<__m512i>>::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn multiply<const A: i32, const B: i32>(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            Block512::of(match (A, B) {
                (0, 0) => _mm512_clmulepi64_epi128::<0x00>(self.0, other.0),
                (1, 0) => _mm512_clmulepi64_epi128::<0x01>(self.0, other.0),
                (0, 1) => _mm512_clmulepi64_epi128::<0x10>(self.0, other.0),
                _ => _mm512_clmulepi64_epi128::<0x11>(self.0, other.0),
            })
        }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe {
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            Block512::of(_mm512_shuffle_epi8(self.0, _mm512_broadcast_i32x4(order)))
        }
    }

    #[inline(always)]
    fn swap(self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_shuffle_epi32::<0x4e>(self.0)) }
    }

    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    fn sum(self) -> Block128<U> {
        // SAFETY: `self` is the witness.
        unsafe {
            let two =
                _mm256_xor_si256(_mm512_castsi512_si256(self.0), _mm512_extracti64x4_epi64::<1>(self.0));
            Block128::of(_mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two)))
        }
    }

    #[inline(always)]
    fn first(self) -> Block128<U> {
        // SAFETY: `self` is the witness.
        unsafe { Block128::of(_mm512_castsi512_si128(self.0)) }
    }

    #[inline(always)]
    fn from_first(first: Block128<U>) -> Self {
        // SAFETY: `first` is the witness.
        unsafe { Block512::of(_mm512_zextsi128_si512(first.0)) }
    }

    #[inline(always)]
    fn with_first(self, first: Block128<U>) -> Self {
        // SAFETY: `self` is the witness.
        unsafe { Block512::of(_mm512_inserti32x4::<0>(self.0, first.0)) }
    }

    #[inline(always)]
    fn repeat(one: Block128<U>) -> Self {
        // SAFETY: `one` is the witness.
        unsafe { Block512::of(_mm512_broadcast_i32x4(one.0)) }
    }

    #[inline(always)]
    fn join(blocks: &[Block128<U>]) -> Self {
        // SAFETY: `blocks` are the witness; the trait is used only where `Self` may exist.
        unsafe {
            let lower = _mm256_set_m128i(blocks[1].0, blocks[0].0);
            let upper = _mm256_set_m128i(blocks[3].0, blocks[2].0);
            Block512::of(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(lower), upper))
        }
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
        unsafe { Block512::of(_mm512_setr_epi32(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0)) }
    }
}

impl<U: Unit<__m128i> + Unit<__m512i>> Across for Block512<U> {
    const WAITS: bool = true;

    #[inline(always)]
    fn sums(vectors: &[Self]) -> Self {
        // SAFETY: `vectors` are the witness.
        unsafe {
            let [a, b, c, d] = [vectors[0].0, vectors[1].0, vectors[2].0, vectors[3].0];
            // Adds places 0 and 2, and places 1 and 3, of two vectors each.
            let a = _mm512_xor_si512(_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
            let b = _mm512_xor_si512(_mm512_shuffle_i64x2::<0x44>(c, d), _mm512_shuffle_i64x2::<0xee>(c, d));
            Block512::of(_mm512_xor_si512(
                _mm512_shuffle_i64x2::<0x88>(a, b),
                _mm512_shuffle_i64x2::<0xdd>(a, b),
            ))
        }
    }
}

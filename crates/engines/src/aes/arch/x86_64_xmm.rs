//! One block in a 128-bit register.
//!
//! Ref. Intel SDM volume 2, PSHUFB.
//!
//! # Safety
//! A [`Xmm`] is made from [`Keys`] only, whose maker vouches for `ssse3` and for the features of
//! the unit `U`: that is the witness of every intrinsic on one.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::InOut;
use crate::aes::Block;
use crate::aes::schedule::Form;
use crate::aes::side_by_side::Group;
use crate::aes::unit::{Register, Unit};
use crate::aes::vector::{self, Beside, Chain, Keys, Rounds, Vector, load_short, store_short};

/// One block.
#[derive(Clone, Copy)]
pub(crate) struct Xmm<U>(__m128i, PhantomData<U>);

impl<U> Xmm<U> {
    #[inline(always)]
    fn of(register: __m128i) -> Self {
        Xmm(register, PhantomData)
    }
}

impl<U: Unit<__m128i>> Vector for Xmm<U> {
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        Xmm::of(get(block))
    }

    #[inline(always)]
    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        Xmm::of(get(&data.load(at)))
    }

    #[inline(always)]
    fn store(self, data: &mut InOut<'_>, at: usize) {
        data.store(at, self.first());
    }

    #[inline(always)]
    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        Xmm::of(get(&load_short(data.input()).to_le_bytes()))
    }

    #[inline(always)]
    fn store_part(self, data: &mut InOut<'_>) {
        store_short(data.output(), u128::from_le_bytes(self.first()));
    }

    #[inline(always)]
    fn first(self) -> Block {
        let mut block = [0; 16];
        put(&mut block, self.0);
        block
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: see the head of this file; so below.
        unsafe { Xmm::of(_mm_xor_si128(self.0, other.0)) }
    }

    vector::by_rounds!();

    #[inline(always)]
    fn count(_: &Keys<'_, Self>, start: u128) -> Self {
        Xmm::of(get(&start.to_le_bytes()))
    }

    #[inline(always)]
    fn add(self, n: u64) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(_mm_add_epi64(self.0, _mm_set_epi64x(0, n as i64))) }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(_mm_shuffle_epi8(self.0, reversal())) }
    }

    #[inline(always)]
    fn after(self, previous: Self) -> Self {
        previous
    }

    #[inline(always)]
    fn times_x(self, k: u32) -> Self {
        // SAFETY: as above.
        unsafe {
            if k == 8 {
                let reduced = U::times_87::<false>(_mm_srli_si128::<15>(self.0));
                return Xmm::of(_mm_xor_si128(_mm_slli_si128::<1>(self.0), reduced));
            }
            let shifted = _mm_sll_epi64(self.0, _mm_cvtsi32_si128(k as i32));
            let carry = _mm_srl_epi64(self.0, _mm_cvtsi32_si128(64 - k as i32));
            // Out of the low half into the high, and out of the high half reduced by x^128 = 0x87.
            let reduced = U::times_87::<true>(carry);
            Xmm::of(_mm_xor_si128(_mm_xor_si128(shifted, _mm_slli_si128::<8>(carry)), reduced))
        }
    }

    #[inline(always)]
    fn tweaks(_: &Keys<'_, Self>, tweak: &Block) -> Self {
        Xmm::of(get(tweak))
    }
}

impl<U: Unit<__m128i>> Rounds for Xmm<U> {
    const FORM: Form = U::FORM;
    const ABREAST: usize = U::ABREAST;
    const LOOP: bool = U::LOOP;

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(U::enter(self.0)) }
    }

    #[inline(always)]
    fn enter_inverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(U::enter_inverse(self.0)) }
    }

    #[inline(always)]
    fn enc(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(U::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn enc_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(U::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(U::dec(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Xmm::of(U::dec_last(self.0, key.0)) }
    }
}

impl<U: Unit<__m128i>> Chain for Xmm<U> {
    #[inline(always)]
    fn whitening(keys: &Keys<'_, Self>) -> Self {
        vector::whitening(keys)
    }

    #[inline(always)]
    fn encrypt_whitened(self, keys: &Keys<'_, Self>, fold: Self) -> Self {
        vector::encrypt_whitened(self, keys, fold)
    }
}

impl<U: Unit<__m128i>> Group for Xmm<U> {
    #[inline(always)]
    unsafe fn gather(_: &Keys<'_, Self>, from: &[*const u8], at: usize) -> Self {
        // SAFETY: the caller's promise, and the head of this file.
        unsafe { Xmm::of(_mm_loadu_si128(from[0].wrapping_add(at).cast())) }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: &[*mut u8], at: usize) {
        // SAFETY: the caller's promise, and the head of this file.
        unsafe { _mm_storeu_si128(to[0].wrapping_add(at).cast(), self.0) }
    }

    #[inline(always)]
    fn just_written(keys: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        Self::column(keys, blocks)
    }

    #[inline(always)]
    fn column(_: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        Xmm::of(get(&blocks[0]))
    }

    #[inline(always)]
    fn put(self, blocks: &mut [Block]) {
        put(&mut blocks[0], self.0);
    }
}

impl Register for __m128i {
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        get(block)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as the caller; so below.
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn nibbles(self) -> [Self; 2] {
        // SAFETY: as above.
        unsafe {
            let low = _mm_set1_epi8(15);
            [_mm_and_si128(self, low), _mm_and_si128(_mm_srli_epi32::<4>(self), low)]
        }
    }

    #[inline(always)]
    unsafe fn look_up(self, table: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_shuffle_epi8(table, self) }
    }

    #[inline(always)]
    unsafe fn shift_halves<const BITS: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_slli_epi64::<BITS>(self) }
    }

    #[inline(always)]
    unsafe fn upper_half(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_srli_si128::<8>(self) }
    }
}

/// The shuffle that reverses 16 bytes.
#[inline(always)]
pub(super) fn reversal() -> __m128i {
    get(&[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
}

#[inline(always)]
pub(super) fn get(block: &Block) -> __m128i {
    // SAFETY: SSE2 is part of x86-64; the load is of the 16 bytes of `block`, unaligned.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn put(block: &mut Block, value: __m128i) {
    // SAFETY: as for `get`, and the store is to an exclusive reference.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

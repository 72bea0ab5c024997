//! Two blocks in a 256-bit register.
//!
//! Ref. Intel SDM volume 2, VPSHUFB.
//!
//! # Safety
//! A [`Ymm`] is made from [`Keys`] only, whose maker vouches for `avx2` and for the features of
//! the unit `U`: that is the witness of every intrinsic on one.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::x86_64_xmm::{get, put, reversal};
use crate::InOut;
use crate::aes::Block;
use crate::aes::schedule::Form;
use crate::aes::side_by_side::Group;
use crate::aes::unit::{Register, Unit};
use crate::aes::vector::{self, Beside, Keys, Rounds, Vector, load_short, store_short};

/// Two blocks.
#[derive(Clone, Copy)]
pub(crate) struct Ymm<U>(__m256i, PhantomData<U>);

impl<U: Unit<__m256i>> Ymm<U> {
    #[inline(always)]
    fn of(register: __m256i) -> Self {
        Ymm(register, PhantomData)
    }

    /// Each block times x to the power in its two halves of `k`.
    #[inline(always)]
    fn times_x_each(self, k: __m256i) -> Self {
        // SAFETY: see the head of this file; so below.
        unsafe {
            let shifted = _mm256_sllv_epi64(self.0, k);
            let carry = _mm256_srlv_epi64(self.0, _mm256_sub_epi64(_mm256_set1_epi64x(64), k));
            // Out of the low half into the high, and out of the high half reduced by x^128 = 0x87.
            let reduced = U::times_87::<true>(carry);
            let across = _mm256_bslli_epi128::<8>(carry);
            Ymm::of(_mm256_xor_si256(_mm256_xor_si256(shifted, across), reduced))
        }
    }

    /// Each block times x to the power 8 `UP`, where `DOWN` is 16 - `UP`.
    #[inline(always)]
    fn times_x_bytes<const UP: i32, const DOWN: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let carry = _mm256_bsrli_epi128::<DOWN>(self.0);
            let reduced = U::times_87::<false>(carry);
            Ymm::of(_mm256_xor_si256(_mm256_bslli_epi128::<UP>(self.0), reduced))
        }
    }
}

impl<U: Unit<__m256i>> Vector for Ymm<U> {
    const BLOCKS: usize = 2;

    #[inline(always)]
    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_broadcastsi128_si256(get(block))) }
    }

    #[inline(always)]
    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        let bytes = data.load::<32>(at);
        // SAFETY: as above; the load is of the 32 bytes of `bytes`.
        unsafe { Ymm::of(_mm256_loadu_si256(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, data: &mut InOut<'_>, at: usize) {
        let mut bytes = [0; 32];
        // SAFETY: as above; the store is to the 32 bytes of `bytes`.
        unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), self.0) };
        data.store(at, bytes);
    }

    #[inline(always)]
    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        let (low, high) = if data.len() < 16 {
            (load_short(data.input()).to_le_bytes(), [0; 16])
        } else {
            (data.load(0), load_short(&data.input()[16..]).to_le_bytes())
        };
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_set_m128i(get(&high), get(&low))) }
    }

    #[inline(always)]
    fn store_part(self, data: &mut InOut<'_>) {
        if data.len() < 16 {
            return store_short(data.output(), u128::from_le_bytes(self.first()));
        }
        data.store(0, self.first());
        let mut second = [0; 16];
        // SAFETY: as above.
        put(&mut second, unsafe { _mm256_extracti128_si256::<1>(self.0) });
        store_short(&mut data.output()[16..], u128::from_le_bytes(second));
    }

    #[inline(always)]
    fn first(self) -> Block {
        let mut block = [0; 16];
        // SAFETY: as above.
        put(&mut block, unsafe { _mm256_castsi256_si128(self.0) });
        block
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_xor_si256(self.0, other.0)) }
    }

    vector::by_rounds!();

    #[inline(always)]
    fn count(keys: &Keys<'_, Self>, start: u128) -> Self {
        // SAFETY: as above.
        let step = unsafe { _mm256_set_epi64x(0, 1, 0, 0) };
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_add_epi64(Self::splat(keys, &start.to_le_bytes()).0, step)) }
    }

    #[inline(always)]
    fn add(self, n: u64) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_add_epi64(self.0, _mm256_broadcastsi128_si256(_mm_set_epi64x(0, n as i64)))) }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(reversal()))) }
    }

    #[inline(always)]
    fn after(self, previous: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(_mm256_permute2x128_si256::<0x21>(previous.0, self.0)) }
    }

    #[inline(always)]
    fn times_x(self, k: u32) -> Self {
        match k {
            0 => self,
            8 => self.times_x_bytes::<1, 15>(),
            16 => self.times_x_bytes::<2, 14>(),
            // SAFETY: as above.
            _ => self.times_x_each(unsafe { _mm256_set1_epi64x(k.into()) }),
        }
    }

    #[inline(always)]
    fn tweaks(keys: &Keys<'_, Self>, tweak: &Block) -> Self {
        // SAFETY: as above.
        Self::splat(keys, tweak).times_x_each(unsafe { _mm256_set_epi64x(1, 1, 0, 0) })
    }
}

impl<U: Unit<__m256i>> Rounds for Ymm<U> {
    const FORM: Form = U::FORM;
    const ABREAST: usize = U::ABREAST;
    const LOOP: bool = U::LOOP;

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(U::enter(self.0)) }
    }

    #[inline(always)]
    fn enter_inverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(U::enter_inverse(self.0)) }
    }

    #[inline(always)]
    fn enc(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(U::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn enc_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(U::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(U::dec(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Ymm::of(U::dec_last(self.0, key.0)) }
    }
}

impl<U: Unit<__m256i>> Group for Ymm<U> {
    #[inline(always)]
    unsafe fn gather(_: &Keys<'_, Self>, from: &[*const u8], at: usize) -> Self {
        assert!(from.len() == 2);
        // SAFETY: the caller's promise, and the head of this file.
        unsafe {
            let low = _mm_loadu_si128(from[0].wrapping_add(at).cast());
            let high = _mm_loadu_si128(from[1].wrapping_add(at).cast());
            Ymm::of(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high))
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: &[*mut u8], at: usize) {
        assert!(to.len() == 2);
        // SAFETY: the caller's promise, and the head of this file.
        unsafe {
            _mm_storeu_si128(to[0].wrapping_add(at).cast(), _mm256_castsi256_si128(self.0));
            _mm_storeu_si128(to[1].wrapping_add(at).cast(), _mm256_extracti128_si256::<1>(self.0));
        }
    }

    #[inline(always)]
    fn just_written(keys: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        let [a, b]: &[Block; 2] = blocks.first_chunk().expect("two blocks");
        // SAFETY: two blocks are there.
        unsafe { Self::gather(keys, &[a.as_ptr(), b.as_ptr()], 0) }
    }

    #[inline(always)]
    fn column(_: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        let two: &[Block; 2] = blocks.first_chunk().expect("two blocks");
        // SAFETY: as above; the load is of the 32 bytes of `two`.
        unsafe { Ymm::of(_mm256_loadu_si256(two.as_ptr().cast())) }
    }

    #[inline(always)]
    fn put(self, blocks: &mut [Block]) {
        let two: &mut [Block; 2] = blocks.first_chunk_mut().expect("two blocks");
        // SAFETY: as above; the store is to the 32 bytes of `two`.
        unsafe { _mm256_storeu_si256(two.as_mut_ptr().cast(), self.0) }
    }
}

impl Register for __m256i {
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        // SAFETY: as the caller; so below.
        unsafe { _mm256_broadcastsi128_si256(get(block)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as the caller; so below.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn nibbles(self) -> [Self; 2] {
        // SAFETY: as above.
        unsafe {
            let low = _mm256_set1_epi8(15);
            [_mm256_and_si256(self, low), _mm256_and_si256(_mm256_srli_epi32::<4>(self), low)]
        }
    }

    #[inline(always)]
    unsafe fn look_up(self, table: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_shuffle_epi8(table, self) }
    }

    #[inline(always)]
    unsafe fn shift_halves<const BITS: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_slli_epi64::<BITS>(self) }
    }

    #[inline(always)]
    unsafe fn upper_half(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_bsrli_epi128::<8>(self) }
    }
}

//! One block in a NEON register.
//!
//! Ref. Arm ARM, TBL.
//!
//! # Safety
//! A [`Quad`] is made from [`Keys`] only, whose maker vouches for `neon` and for the features of the
//! unit `U`: that is the witness of every intrinsic on one. Memory is touched through safe references alone.
#![allow(unsafe_code)]

use std::arch::aarch64::*;
use std::marker::PhantomData;

use crate::InOut;
use crate::aes::Block;
use crate::aes::schedule::Form;
use crate::aes::unit::{Register, Unit};
use crate::aes::vector::{self, Beside, Chain, Keys, Rounds, Vector, load_short, store_short};

/// One block.
#[derive(Clone, Copy)]
pub(crate) struct Quad<U>(uint8x16_t, PhantomData<U>);

impl<U> Quad<U> {
    #[inline(always)]
    fn of(register: uint8x16_t) -> Self {
        Quad(register, PhantomData)
    }
}

impl<U: Unit<uint8x16_t>> Vector for Quad<U> {
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        Quad::of(get(block))
    }

    #[inline(always)]
    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        Quad::of(get(&data.load(at)))
    }

    #[inline(always)]
    fn store(self, data: &mut InOut<'_>, at: usize) {
        data.store(at, self.first());
    }

    #[inline(always)]
    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        Quad::of(get(&load_short(data.input()).to_le_bytes()))
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
        unsafe { Quad::of(veorq_u8(self.0, other.0)) }
    }

    vector::by_rounds!();

    #[inline(always)]
    fn count(_: &Keys<'_, Self>, start: u128) -> Self {
        Quad::of(get(&start.to_le_bytes()))
    }

    #[inline(always)]
    fn add(self, n: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let n = vcombine_u64(vcreate_u64(n), vcreate_u64(0));
            Quad::of(vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(self.0), n)))
        }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let halves = vrev64q_u8(self.0);
            Quad::of(vextq_u8::<8>(halves, halves))
        }
    }

    #[inline(always)]
    fn after(self, previous: Self) -> Self {
        previous
    }

    #[inline(always)]
    fn times_x(self, k: u32) -> Self {
        // SAFETY: as above.
        unsafe {
            let tweak = vreinterpretq_u64_u8(self.0);
            let shifted = vreinterpretq_u8_u64(vshlq_u64(tweak, vdupq_n_s64(k.into())));
            // A negative shift is one to the right.
            let carry = vreinterpretq_u8_u64(vshlq_u64(tweak, vdupq_n_s64(i64::from(k) - 64)));
            // Out of the low half into the high, and out of the high half reduced by x^128 = 0x87.
            let across = vextq_u8::<8>(vdupq_n_u8(0), carry);
            Quad::of(veorq_u8(veorq_u8(shifted, across), U::times_87::<true>(carry)))
        }
    }

    #[inline(always)]
    fn tweaks(_: &Keys<'_, Self>, tweak: &Block) -> Self {
        Quad::of(get(tweak))
    }
}

impl<U: Unit<uint8x16_t>> Rounds for Quad<U> {
    const FORM: Form = U::FORM;
    const ABREAST: usize = U::ABREAST;
    const LOOP: bool = U::LOOP;

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: as above.
        unsafe { Quad::of(U::enter(self.0)) }
    }

    #[inline(always)]
    fn enter_inverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Quad::of(U::enter_inverse(self.0)) }
    }

    #[inline(always)]
    fn enc(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad::of(U::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn enc_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad::of(U::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad::of(U::dec(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Quad::of(U::dec_last(self.0, key.0)) }
    }
}

impl<U: Unit<uint8x16_t>> Chain for Quad<U> {
    #[inline(always)]
    fn whitening(keys: &Keys<'_, Self>) -> Self {
        vector::whitening(keys)
    }

    #[inline(always)]
    fn encrypt_whitened(self, keys: &Keys<'_, Self>, fold: Self) -> Self {
        vector::encrypt_whitened(self, keys, fold)
    }
}

impl Register for uint8x16_t {
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        get(block)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: NEON is part of AArch64; so below.
        unsafe { veorq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn nibbles(self) -> [Self; 2] {
        // SAFETY: as above.
        unsafe { [vandq_u8(self, vdupq_n_u8(15)), vshrq_n_u8::<4>(self)] }
    }

    #[inline(always)]
    unsafe fn look_up(self, table: Self) -> Self {
        // SAFETY: as above.
        unsafe { vqtbl1q_u8(table, self) }
    }

    #[inline(always)]
    unsafe fn shift_halves<const BITS: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe { vreinterpretq_u8_u64(vshlq_n_u64::<BITS>(vreinterpretq_u64_u8(self))) }
    }

    #[inline(always)]
    unsafe fn upper_half(self) -> Self {
        // SAFETY: as above.
        unsafe { vextq_u8::<8>(self, vdupq_n_u8(0)) }
    }
}

#[inline(always)]
pub(super) fn get(block: &Block) -> uint8x16_t {
    // SAFETY: NEON is part of AArch64; the load is of the 16 bytes of `block`.
    unsafe { vld1q_u8(block.as_ptr()) }
}

#[inline(always)]
pub(super) fn put(block: &mut Block, value: uint8x16_t) {
    // SAFETY: as for `get`, and the store is to an exclusive reference.
    unsafe { vst1q_u8(block.as_mut_ptr(), value) }
}

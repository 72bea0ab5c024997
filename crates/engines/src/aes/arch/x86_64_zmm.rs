//! Four blocks in a 512-bit register, ends of data by mask.
//!
//! Ref. Intel SDM volume 2, VPSHUFB.
//!
//! # Safety
//! A [`Zmm`] is made from [`Keys`] only, whose maker vouches for `avx512f`, `avx512bw` and `avx512vl` and for the features of
//! the unit `U`: that is the witness of every intrinsic on one. Partial loads and stores touch `data.len()`
//! bytes of `data`.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::x86_64_xmm::{get, put, reversal};
use crate::InOut;
use crate::aes::Block;
use crate::aes::schedule::Form;
use crate::aes::side_by_side::Group;
use crate::aes::unit::{Register, Unit};
use crate::aes::vector::{self, Beside, Keys, Rounds, Vector};

/// Four blocks.
#[derive(Clone, Copy)]
pub(crate) struct Zmm<U>(__m512i, PhantomData<U>);

impl<U: Unit<__m512i>> Zmm<U> {
    #[inline(always)]
    pub(super) fn of(register: __m512i) -> Self {
        Zmm(register, PhantomData)
    }

    #[inline(always)]
    pub(super) fn register(self) -> __m512i {
        self.0
    }

    /// The mask of the first `n` bytes.
    #[inline(always)]
    fn mask(n: usize) -> __mmask64 {
        !(u64::MAX << (n & 63))
    }

    /// Each block times x to the power in its two halves of `k`.
    #[inline(always)]
    fn times_x_each(self, k: __m512i) -> Self {
        // SAFETY: see the head of this file; so below.
        unsafe {
            let shifted = _mm512_sllv_epi64(self.0, k);
            let carry = _mm512_srlv_epi64(self.0, _mm512_sub_epi64(_mm512_set1_epi64(64), k));
            // Out of the low half into the high, and out of the high half reduced by x^128 = 0x87.
            let reduced = U::times_87::<true>(carry);
            let across = _mm512_bslli_epi128::<8>(carry);
            Zmm::of(_mm512_ternarylogic_epi32::<0x96>(shifted, across, reduced))
        }
    }

    /// Each block times x to the power 8 `UP`, where `DOWN` is 16 - `UP`. Shifts of bits take longer than this
    /// multiplication while they wait for the unit that AES needs.
    #[inline(always)]
    fn times_x_bytes<const UP: i32, const DOWN: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let carry = _mm512_bsrli_epi128::<DOWN>(self.0);
            let reduced = U::times_87::<false>(carry);
            Zmm::of(_mm512_xor_si512(_mm512_bslli_epi128::<UP>(self.0), reduced))
        }
    }
}

impl<U: Unit<__m512i>> Vector for Zmm<U> {
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn splat(_: &Keys<'_, Self>, block: &Block) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(_mm512_broadcast_i32x4(get(block))) }
    }

    #[inline(always)]
    fn load(_: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self {
        let bytes = data.load::<64>(at);
        // SAFETY: as above; the load is of the 64 bytes of `bytes`.
        unsafe { Zmm::of(_mm512_loadu_si512(bytes.as_ptr().cast())) }
    }

    /// Up to four vectors are loaded by halves: a vector of 64 bytes lies on two lines of the cache as a rule, and its load
    /// then waits longer for a store to the same place that is still under way.
    #[inline(always)]
    fn load_all<const N: usize>(keys: &Keys<'_, Self>, data: &InOut<'_>) -> [Self; N] {
        let mut vectors = [Self::load(keys, data, 0); N];
        for i in 0..N {
            let at = i * Self::BYTES;
            vectors[i] = match N {
                // SAFETY: as above.
                ..=4 => Zmm::of(unsafe { from_halves(&data.load::<32>(at), &data.load::<32>(at + 32)) }),
                _ => Self::load(keys, data, at),
            };
        }
        vectors
    }

    #[inline(always)]
    fn store(self, data: &mut InOut<'_>, at: usize) {
        let mut bytes = [0; 64];
        // SAFETY: as above; the store is to the 64 bytes of `bytes`.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), self.0) };
        data.store(at, bytes);
    }

    /// Whole blocks are loaded as such, because a masked load waits for stores that are still under way, while a plain load
    /// takes their data.
    #[inline(always)]
    fn load_part(_: &Keys<'_, Self>, data: &InOut<'_>) -> Self {
        let from = data.input_ptr();
        // SAFETY: as above.
        unsafe {
            Zmm::of(match data.len() {
                16 => _mm512_zextsi128_si512(_mm_loadu_si128(from.cast())),
                32 => _mm512_zextsi256_si512(_mm256_loadu_si256(from.cast())),
                48 => {
                    let third = _mm_loadu_si128(from.add(32).cast());
                    let two = _mm512_zextsi256_si512(_mm256_loadu_si256(from.cast()));
                    _mm512_inserti32x4::<2>(two, third)
                }
                n => _mm512_maskz_loadu_epi8(Self::mask(n), from.cast()),
            })
        }
    }

    #[inline(always)]
    fn store_part(self, data: &mut InOut<'_>) {
        let to = data.output_ptr();
        // SAFETY: as above.
        unsafe {
            match data.len() {
                16 => _mm_storeu_si128(to.cast(), _mm512_castsi512_si128(self.0)),
                32 => _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(self.0)),
                48 => {
                    _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(self.0));
                    _mm_storeu_si128(to.add(32).cast(), _mm512_extracti32x4_epi32::<2>(self.0));
                }
                n => _mm512_mask_storeu_epi8(to.cast(), Self::mask(n), self.0),
            }
        }
    }

    #[inline(always)]
    fn first(self) -> Block {
        let mut block = [0; 16];
        // SAFETY: as above.
        put(&mut block, unsafe { _mm512_castsi512_si128(self.0) });
        block
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(_mm512_xor_si512(self.0, other.0)) }
    }

    vector::by_rounds!();

    #[inline(always)]
    fn count(keys: &Keys<'_, Self>, start: u128) -> Self {
        // SAFETY: as above.
        let step = unsafe { _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0) };
        // SAFETY: as above.
        unsafe { Zmm::of(_mm512_add_epi64(Self::splat(keys, &start.to_le_bytes()).0, step)) }
    }

    #[inline(always)]
    fn add(self, n: u64) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(_mm512_add_epi64(self.0, _mm512_broadcast_i32x4(_mm_set_epi64x(0, n as i64)))) }
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(_mm512_shuffle_epi8(self.0, _mm512_broadcast_i32x4(reversal()))) }
    }

    #[inline(always)]
    fn now(self) -> Self {
        // SAFETY: as above.
        Zmm::of(unsafe { now(self.0) })
    }

    #[inline(always)]
    fn after(self, previous: Self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(_mm512_alignr_epi64::<6>(self.0, previous.0)) }
    }

    #[inline(always)]
    fn times_x(self, k: u32) -> Self {
        match k {
            0 => self,
            8 => self.times_x_bytes::<1, 15>(),
            16 => self.times_x_bytes::<2, 14>(),
            24 => self.times_x_bytes::<3, 13>(),
            32 => self.times_x_bytes::<4, 12>(),
            // SAFETY: as above.
            _ => self.times_x_each(unsafe { _mm512_set1_epi64(k.into()) }),
        }
    }

    #[inline(always)]
    fn tweaks(keys: &Keys<'_, Self>, tweak: &Block) -> Self {
        // SAFETY: as above.
        Self::splat(keys, tweak).times_x_each(unsafe { _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0) })
    }
}

/// A vector from two loads of 32 bytes, which the compiler would else make one load again. Miri knows no assembly.
#[inline]
#[target_feature(enable = "avx512f")]
fn from_halves(low: &[u8; 32], high: &[u8; 32]) -> __m512i {
    // SAFETY: the loads are of 32 bytes each, and the assembly does nothing.
    unsafe {
        let mut low = _mm256_loadu_si256(low.as_ptr().cast());
        if !cfg!(miri) {
            asm!("/* {0} */", inout(ymm_reg) low, options(nomem, nostack, preserves_flags));
        }
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), _mm256_loadu_si256(high.as_ptr().cast()))
    }
}

/// Emits no instruction. The compiler can't move this place, and so computes the register's value before it. Miri knows
/// no assembly.
#[inline]
#[target_feature(enable = "avx512f")]
fn now(mut register: __m512i) -> __m512i {
    if !cfg!(miri) {
        // SAFETY: it does nothing.
        unsafe { asm!("/* {0} */", inout(zmm_reg) register, options(nomem, nostack, preserves_flags)) };
    }
    register
}

impl<U: Unit<__m512i>> Rounds for Zmm<U> {
    const FORM: Form = U::FORM;
    const ABREAST: usize = U::ABREAST;
    const LOOP: bool = U::LOOP;

    #[inline(always)]
    fn enter(self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(U::enter(self.0)) }
    }

    #[inline(always)]
    fn enter_inverse(self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(U::enter_inverse(self.0)) }
    }

    #[inline(always)]
    fn enc(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(U::enc(self.0, key.0)) }
    }

    #[inline(always)]
    fn enc_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(U::enc_last(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(U::dec(self.0, key.0)) }
    }

    #[inline(always)]
    fn dec_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { Zmm::of(U::dec_last(self.0, key.0)) }
    }
}

impl<U: Unit<__m512i>> Group for Zmm<U> {
    #[inline(always)]
    unsafe fn gather(_: &Keys<'_, Self>, from: &[*const u8], at: usize) -> Self {
        assert!(from.len() == 4);
        // SAFETY: the caller's promise, and the head of this file.
        unsafe {
            let block = |i: usize| _mm_loadu_si128(from[i].wrapping_add(at).cast());
            let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(block(0)), block(1));
            let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(block(2)), block(3));
            Zmm::of(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
        }
    }

    /// The upper blocks pass through memory. The processor that was measured has load and store units to spare here,
    /// but the shuffles that would take the blocks out of the register hold up the rounds.
    #[inline(always)]
    unsafe fn scatter(self, to: &[*mut u8], at: usize) {
        assert!(to.len() == 4);
        let mut blocks = Blocks([[0; 16]; 4]);
        // SAFETY: the caller's promise, and the head of this file.
        unsafe {
            _mm512_store_si512((&raw mut blocks).cast(), self.0);
            by_memory(&mut blocks);
            _mm_storeu_si128(to[0].wrapping_add(at).cast(), _mm512_castsi512_si128(self.0));
            for i in 1..4 {
                _mm_storeu_si128(to[i].wrapping_add(at).cast(), get(&blocks.0[i]));
            }
        }
    }

    #[inline(always)]
    fn just_written(keys: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        let [a, b, c, d] = blocks.first_chunk().expect("four blocks").each_ref().map(|b| b.as_ptr());
        // SAFETY: four blocks are there.
        unsafe { Self::gather(keys, &[a, b, c, d], 0) }
    }

    #[inline(always)]
    fn column(_: &Keys<'_, Self>, blocks: &[Block]) -> Self {
        let four: &[Block; 4] = blocks.first_chunk().expect("four blocks");
        // SAFETY: as above; the load is of the 64 bytes of `four`.
        unsafe { Zmm::of(_mm512_loadu_si512(four.as_ptr().cast())) }
    }

    #[inline(always)]
    fn put(self, blocks: &mut [Block]) {
        let four: &mut [Block; 4] = blocks.first_chunk_mut().expect("four blocks");
        // SAFETY: as above; the store is to the 64 bytes of `four`.
        unsafe { _mm512_storeu_si512(four.as_mut_ptr().cast(), self.0) }
    }
}

/// A register's blocks in memory.
#[repr(C, align(64))]
struct Blocks([Block; 4]);

/// Emits no instruction, but as far as the compiler knows it may change the blocks, so they are loaded where the code
/// says so. Miri knows no assembly.
#[inline(always)]
fn by_memory(blocks: &mut Blocks) {
    if !cfg!(miri) {
        // SAFETY: it does nothing.
        unsafe { asm!("/* {0} */", in(reg) blocks, options(nostack, preserves_flags)) };
    }
}

impl Register for __m512i {
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        // SAFETY: as the caller; so below.
        unsafe { _mm512_broadcast_i32x4(get(block)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as the caller; so below.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn nibbles(self) -> [Self; 2] {
        // SAFETY: as above.
        unsafe {
            let low = _mm512_set1_epi8(15);
            [_mm512_and_si512(self, low), _mm512_and_si512(_mm512_srli_epi32::<4>(self), low)]
        }
    }

    #[inline(always)]
    unsafe fn look_up(self, table: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_shuffle_epi8(table, self) }
    }

    #[inline(always)]
    unsafe fn shift_halves<const BITS: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_sllv_epi64(self, _mm512_set1_epi64(i64::from(BITS))) }
    }

    #[inline(always)]
    unsafe fn upper_half(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_bsrli_epi128::<8>(self) }
    }
}

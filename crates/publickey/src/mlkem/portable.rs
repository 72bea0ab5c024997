//! Sixteen coefficients in an array, which the compiler puts into the vectors that every processor has.
//!
//! # Safety
//! The functions of this vector need no feature; pointers lead to what they promise.
#![allow(unsafe_code)]

use std::hint::black_box;

use super::coding;
use super::kernel::kernel;
use super::poly::{N, Poly};
use super::vector::Vector;

kernel!(pub(super) OPS: [] Numbers, Numbers, sample coding::sample_vartime);

/// The coefficients.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Numbers([i16; 16]);

/// An operation on each number.
macro_rules! each {
    ($x:expr, $y:expr, $f:expr) => {{
        let (x, y, mut result) = ($x.0, $y.0, [0; 16]);
        for i in 0..16 {
            result[i] = $f(x[i], y[i]);
        }
        Numbers(result)
    }};
}

impl Numbers {
    #[inline(always)]
    fn wide(self) -> [i32; 8] {
        let mut wide = [0; 8];
        for i in 0..8 {
            wide[i] = i32::from(self.0[2 * i] as u16) | i32::from(self.0[2 * i + 1]) << 16;
        }
        wide
    }

    #[inline(always)]
    fn of_wide(wide: [i32; 8]) -> Self {
        let mut numbers = [0; 16];
        for i in 0..8 {
            numbers[2 * i] = wide[i] as i16;
            numbers[2 * i + 1] = (wide[i] >> 16) as i16;
        }
        Numbers(numbers)
    }
}

impl Vector for Numbers {
    const POLYS: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const i16) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(from.cast::<[i16; 16]>().read()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i16) {
        // SAFETY: the caller's.
        unsafe { to.cast::<[i16; 16]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn load_each(from: *const Poly, at: usize) -> Self {
        debug_assert!(at + 16 <= N);
        // SAFETY: the caller's.
        unsafe { Self::load(from.cast::<i16>().add(at)) }
    }

    #[inline(always)]
    unsafe fn store_each(self, to: *mut Poly, at: usize) {
        debug_assert!(at + 16 <= N);
        // SAFETY: the caller's.
        unsafe { self.store(to.cast::<i16>().add(at)) }
    }

    #[inline(always)]
    unsafe fn splat(number: i16) -> Self {
        Numbers([number; 16])
    }

    #[inline(always)]
    unsafe fn each(numbers: &[i16; 16]) -> Self {
        Numbers(*numbers)
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        each!(self, other, |x: i16, y: i16| x.wrapping_add(y))
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        each!(self, other, |x: i16, y: i16| x.wrapping_sub(y))
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        each!(self, other, |x: i16, y: i16| x.wrapping_mul(y))
    }

    #[inline(always)]
    unsafe fn mul_high(self, other: Self) -> Self {
        each!(self, other, |x: i16, y: i16| ((i32::from(x) * i32::from(y)) >> 16) as i16)
    }

    #[inline(always)]
    unsafe fn mul_round(self, other: Self) -> Self {
        each!(self, other, |x: i16, y: i16| ((i32::from(x) * i32::from(y) + (1 << 14)) >> 15) as i16)
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        each!(self, other, |x: i16, y: i16| x & y)
    }

    #[inline(always)]
    unsafe fn greater(self, other: Self) -> Self {
        // The compiler does not know that these are masks, or it might branch on them.
        black_box(each!(self, other, |x: i16, y: i16| ((i32::from(y) - i32::from(x)) >> 16) as i16))
    }

    #[inline(always)]
    unsafe fn mul_pairs(self, other: Self) -> Self {
        let mut sums = [0; 8];
        for i in 0..8 {
            let product = |at: usize| i32::from(self.0[at]) * i32::from(other.0[at]);
            sums[i] = product(2 * i).wrapping_add(product(2 * i + 1));
        }
        Self::of_wide(sums)
    }

    #[inline(always)]
    unsafe fn add_32(self, other: Self) -> Self {
        let (x, y, mut sums) = (self.wide(), other.wide(), [0; 8]);
        for i in 0..8 {
            sums[i] = x[i].wrapping_add(y[i]);
        }
        Self::of_wide(sums)
    }

    #[inline(always)]
    unsafe fn low_halves(self, other: Self) -> Self {
        let mut halves = self;
        for i in 0..8 {
            halves.0[2 * i + 1] = other.0[2 * i];
        }
        halves
    }

    #[inline(always)]
    unsafe fn high_halves(self, other: Self) -> Self {
        let mut halves = other;
        for i in 0..8 {
            halves.0[2 * i] = self.0[2 * i + 1];
        }
        halves
    }

    #[inline(always)]
    unsafe fn swap_pairs(self) -> Self {
        let mut swapped = self;
        for i in 0..8 {
            swapped.0[2 * i] = self.0[2 * i + 1];
            swapped.0[2 * i + 1] = self.0[2 * i];
        }
        swapped
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        for i in 0..8 {
            for j in 0..i {
                for half in 0..2 {
                    let other = rows[j].0[2 * i + half];
                    rows[j].0[2 * i + half] = rows[i].0[2 * j + half];
                    rows[i].0[2 * j + half] = other;
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn pack<const D: usize>(self, out: *mut u8) {
        // SAFETY: the caller's: there are `2 * D` bytes.
        let out = unsafe { std::slice::from_raw_parts_mut(out, 2 * D) };
        let (first, second) = out.split_at_mut(D);
        let wide = self.wide().map(|pair| pair as u32);
        coding::pack::<D>([wide[0], wide[1], wide[2], wide[3]], first);
        coding::pack::<D>([wide[4], wide[5], wide[6], wide[7]], second);
    }

    #[inline(always)]
    unsafe fn unpack<const D: usize>(from: *const u8) -> Self {
        // SAFETY: the caller's: there are `2 * D` bytes.
        let (first, second) = unsafe { std::slice::from_raw_parts(from, 2 * D) }.split_at(D);
        let mut numbers = [0; 16];
        numbers[..8].copy_from_slice(&coding::unpack::<D>(first));
        numbers[8..].copy_from_slice(&coding::unpack::<D>(second));
        Numbers(numbers)
    }
}

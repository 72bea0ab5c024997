//! Eight coefficients in an array, for any processor. The compiler makes vectors of them where there are some.
//!
//! # Safety
//! Only pointers need care: as [`Vector`] promises, they lead to as many coefficients as are read or written.
#![allow(unsafe_code)]

use super::kernel::kernel;
use super::poly::Poly;
use super::vector::Vector;

kernel!(pub(super) OPS: [] Numbers, Numbers, sample coding::sample_vartime);

/// The coefficients.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Numbers([i32; 8]);

/// Applies an expression to each number.
macro_rules! each {
    ($at:ident => $number:expr) => {{
        let mut numbers = [0; 8];
        for $at in 0..8 {
            numbers[$at] = $number;
        }
        numbers
    }};
}

impl Vector for Numbers {
    const POLYS: usize = 1;
    type Products = [i64; 8];

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: the caller's.
        unsafe { Numbers(from.cast::<[i32; 8]>().read()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        // SAFETY: the caller's.
        unsafe { to.cast::<[i32; 8]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn load_each(from: *const Poly, at: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load(from.cast::<i32>().add(at)) }
    }

    #[inline(always)]
    unsafe fn store_each(self, to: *mut Poly, at: usize) {
        // SAFETY: the caller's.
        unsafe { self.store(to.cast::<i32>().add(at)) }
    }

    #[inline(always)]
    unsafe fn splat(number: i32) -> Self {
        Numbers([number; 8])
    }

    #[inline(always)]
    unsafe fn each(numbers: &[i32; 8]) -> Self {
        Numbers(*numbers)
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Numbers(each!(i => self.0[i].wrapping_add(other.0[i])))
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Numbers(each!(i => self.0[i].wrapping_sub(other.0[i])))
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        Numbers(each!(i => self.0[i].wrapping_mul(other.0[i])))
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        Numbers(each!(i => self.0[i] & other.0[i]))
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        Numbers(each!(i => self.0[i] | other.0[i]))
    }

    #[inline(always)]
    unsafe fn greater(self, other: Self) -> Self {
        // No number here is so large that a difference overflows.
        Numbers(each!(i => other.0[i].wrapping_sub(self.0[i]) >> 31))
    }

    #[inline(always)]
    unsafe fn shift_right<const BITS: i32>(self) -> Self {
        Numbers(each!(i => self.0[i] >> BITS))
    }

    #[inline(always)]
    unsafe fn products(self, other: Self) -> Self::Products {
        each!(i => i64::from(self.0[i]) * i64::from(other.0[i]))
    }

    #[inline(always)]
    unsafe fn products_of_low(products: Self::Products, other: Self) -> Self::Products {
        each!(i => i64::from(products[i] as i32) * i64::from(other.0[i]))
    }

    #[inline(always)]
    unsafe fn add_products(products: Self::Products, others: Self::Products) -> Self::Products {
        each!(i => products[i].wrapping_add(others[i]))
    }

    #[inline(always)]
    unsafe fn sub_products(products: Self::Products, others: Self::Products) -> Self::Products {
        each!(i => products[i].wrapping_sub(others[i]))
    }

    #[inline(always)]
    unsafe fn high_halves(products: Self::Products) -> Self {
        Numbers(each!(i => (products[i] >> 32) as i32))
    }

    #[inline(always)]
    unsafe fn pair<const BITS: i32>(self) -> Self {
        let mut pairs = self;
        for i in 0..4 {
            let [first, second] = [2 * i, 2 * i + 1].map(|at| u64::from(self.0[at] as u32));
            let pair = first | second << BITS;
            pairs.0[2 * i] = pair as i32;
            pairs.0[2 * i + 1] = (pair >> 32) as i32;
        }
        pairs
    }

    #[inline(always)]
    unsafe fn fields<const BITS: usize>(from: *const u8) -> Self {
        // SAFETY: the caller's: eight numbers have so many bytes, and half of them begin in their midst.
        let fours = unsafe {
            let mut fours = [[0; 16]; 2];
            for (half, four) in fours.iter_mut().enumerate() {
                from.add(half * BITS / 2).copy_to_nonoverlapping(four.as_mut_ptr(), BITS / 2);
            }
            fours.map(u128::from_le_bytes)
        };
        Numbers(each!(i => (fours[i / 4] >> (BITS * (i % 4))) as i32 & ((1 << BITS) - 1)))
    }

    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        for i in 0..8 {
            for j in 0..i {
                let other = rows[j].0[i];
                rows[j].0[i] = rows[i].0[j];
                rows[i].0[j] = other;
            }
        }
    }
}

//! Arithmetic by the host, rounded to nearest: the result, and whether it is inexact.
//!
//! The functions return `None` if another exception may be raised, or if the proof of exactness does not hold: near
//! the ends of the range, and for NaNs. FSR.cexc says of each instruction if it was exact, so this can't be left
//! out, and it takes only a few operations.

use std::ops::RangeInclusive;

/// The biased exponents for which the proofs hold.
const SINGLE: RangeInclusive<u32> = 2..=0xfd;
const DOUBLE: RangeInclusive<u64> = 2..=0x7fd;

#[inline(always)]
fn exponent(value: f64) -> u64 {
    value.to_bits() >> 52 & 0x7ff
}

#[inline(always)]
fn exponent_single(value: f32) -> u32 {
    value.to_bits() >> 23 & 0xff
}

/// Zero bits below the lowest one of a normal number's significand.
#[inline(always)]
fn trailing(value: f64) -> u32 {
    (value.to_bits() | 1 << 52).trailing_zeros()
}

/// True if `product` is exactly `a * b`. All are normal, and none is near the ends of the range.
///
/// The exact product has 105 or 106 bits. Its low bits are zero in as many places as in both factors together.
#[inline(always)]
fn is_product(a: f64, b: f64, product: f64) -> bool {
    match trailing(a) + trailing(b) {
        0..52 => false,
        // The product is exact if it has 105 bits, that is if no carry went to the exponent.
        52 => exponent(product) + 1023 == exponent(a) + exponent(b),
        _ => true,
    }
}

/// Addition.
#[inline(always)]
pub fn add(a: f64, b: f64) -> Option<(f64, bool)> {
    let (sum, error) = two_sum(a, b);
    (exponent(sum) < 0x7fe).then_some((sum, error != 0.0))
}

/// Returns a sum, and exactly the part that rounding took from it. Knuth, TAOCP 4.2.2, theorem B.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Addition in single precision.
#[inline(always)]
pub fn add_single(a: f32, b: f32) -> Option<(f32, bool)> {
    let sum = a + b;
    if exponent_single(sum) >= 0xfe {
        return None;
    }
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    Some((sum, error != 0.0))
}

/// Multiplication.
#[inline(always)]
pub fn multiply(a: f64, b: f64) -> Option<(f64, bool)> {
    let product = a * b;
    if DOUBLE.contains(&exponent(product)) && exponent(a) != 0 && exponent(b) != 0 {
        return Some((product, !is_product(a, b, product)));
    }
    ((a == 0.0 || b == 0.0) && !product.is_nan()).then_some((product, false))
}

/// Multiplication in single precision.
#[inline(always)]
pub fn multiply_single(a: f32, b: f32) -> Option<(f32, bool)> {
    // The product has 48 bits, so it is exact as a double.
    let exact = f64::from(a) * f64::from(b);
    let product = exact as f32;
    (SINGLE.contains(&exponent_single(product)) || exact == 0.0)
        .then_some((product, f64::from(product) != exact))
}

/// Division.
#[inline(always)]
pub fn divide(a: f64, b: f64) -> Option<(f64, bool)> {
    let quotient = a / b;
    let normal = DOUBLE.contains(&exponent(a)) && DOUBLE.contains(&exponent(b));
    if DOUBLE.contains(&exponent(quotient)) && normal {
        let back = quotient * b;
        return Some((quotient, back != a || !is_product(quotient, b, back)));
    }
    (a == 0.0 && DOUBLE.contains(&exponent(b))).then_some((quotient, false))
}

/// Division in single precision.
#[inline(always)]
pub fn divide_single(a: f32, b: f32) -> Option<(f32, bool)> {
    let quotient = a / b;
    let back = f64::from(quotient) * f64::from(b);
    SINGLE.contains(&exponent_single(quotient)).then_some((quotient, back != f64::from(a)))
}

/// Square root.
#[inline(always)]
pub fn square_root(a: f64) -> Option<(f64, bool)> {
    let root = a.sqrt();
    if !DOUBLE.contains(&exponent(a)) || a < 0.0 {
        return (a == 0.0).then_some((a, false));
    }
    let back = root * root;
    Some((root, back != a || !is_product(root, root, back)))
}

/// Square root in single precision.
#[inline(always)]
pub fn square_root_single(a: f32) -> Option<(f32, bool)> {
    let root = a.sqrt();
    SINGLE.contains(&exponent_single(root)).then(|| (root, f64::from(root) * f64::from(root) != f64::from(a)))
}

/// Converts to single precision.
#[inline(always)]
pub fn to_single(a: f64) -> Option<(f32, bool)> {
    let single = a as f32;
    (SINGLE.contains(&exponent_single(single)) || a == 0.0).then_some((single, f64::from(single) != a))
}

/// The product of two singles as a double: always exact.
#[inline(always)]
pub fn multiply_to_double(a: f32, b: f32) -> Option<(f64, bool)> {
    let product = f64::from(a) * f64::from(b);
    product.is_finite().then_some((product, false))
}

/// The biased exponents for which no part of an exact product is out of range.
const MIDDLE: RangeInclusive<u64> = 200..=1800;

/// `a * b + c` with one rounding.
#[inline]
pub fn fuse(a: f64, b: f64, c: f64) -> Option<(f64, bool)> {
    let product = a * b;
    let result = a.mul_add(b, c);
    let is_zero = (a == 0.0 || b == 0.0) && product == 0.0;
    let in_range = (MIDDLE.contains(&exponent(product)) || is_zero) && exponent(c) <= *MIDDLE.end();
    if !in_range || !(DOUBLE.contains(&exponent(result)) || result == 0.0) {
        return None;
    }
    // The exact sum is `sum`, `error` and `rest` together. The part beside the result is a pair as well, and a pair
    // of a number and its rounding error is unique for its value.
    let rest = a.mul_add(b, -product);
    let (sum, error) = two_sum(product, c);
    let exact = two_sum(error, rest);
    Some((result, two_sum(result, -sum) != exact))
}

/// The same in single precision.
#[inline]
pub fn fuse_single(a: f32, b: f32, c: f32) -> Option<(f32, bool)> {
    let result = a.mul_add(b, c);
    let (sum, error) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    let is_served = SINGLE.contains(&exponent_single(result)) || (sum == 0.0 && error == 0.0);
    is_served.then_some((result, error != 0.0 || f64::from(result) != sum))
}

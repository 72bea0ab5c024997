//! High and low bits of coefficients, hints, bounds, and encodings, written once for every kind of vector.
//!
//! Ref. FIPS 204 §7.4 (rounding and hints) and §7.1 (encodings).
//!
//! # Safety
//! As in `vector.rs`.
#![allow(unsafe_code)]

use super::coding;
use super::poly::{N, Poly};
use super::set::{DROPPED, Gamma2};
use super::tables::Q;
use super::vector::{Vector, canonical, centred};

/// Reads the vector at a place.
#[inline(always)]
unsafe fn at<V: Vector>(poly: &Poly, i: usize) -> V {
    debug_assert!(i < N / V::LEN);
    // SAFETY: the caller's; the polynomial has N coefficients.
    unsafe { V::load(poly.0.as_ptr().add(V::LEN * i)) }
}

/// Writes the vector at a place.
#[inline(always)]
unsafe fn put<V: Vector>(x: V, poly: &mut Poly, i: usize) {
    debug_assert!(i < N / V::LEN);
    // SAFETY: the caller's; the polynomial has N coefficients.
    unsafe { x.store(poly.0.as_mut_ptr().add(V::LEN * i)) }
}

/// Returns all bits where a number's absolute value is not below the bound.
#[inline(always)]
unsafe fn beyond<V: Vector>(x: V, bound: i32) -> V {
    // SAFETY: the caller's, as in every function here.
    unsafe { x.greater(V::splat(bound - 1)).or(V::splat(1 - bound).greater(x)) }
}

/// Returns the sum of the numbers in a vector.
#[inline(always)]
unsafe fn total<V: Vector>(x: V) -> i32 {
    let mut numbers = [0_i32; 16];
    // SAFETY: the caller's; a vector has at most 16 numbers.
    unsafe { x.store(numbers.as_mut_ptr()) };
    numbers.iter().fold(0, |sum, number| sum.wrapping_add(*number))
}

/// Returns true if no number is set, in one branch-free comparison.
#[inline(always)]
unsafe fn none<V: Vector>(masks: V) -> bool {
    let mut numbers = [0_i32; 16];
    // SAFETY: the caller's; a vector has at most 16 numbers.
    unsafe { masks.store(numbers.as_mut_ptr()) };
    numbers.iter().fold(0, |sum, number| sum | number) == 0
}

/// Adds a small polynomial to a product, and splits the sum into its high bits and the low bits, of which the latter replace the product:
/// FIPS 204 §7.4, algorithm 35.
#[inline(always)]
pub(super) unsafe fn power2round<V: Vector>(product: &mut Poly, small: &Poly, high: &mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        for i in 0..N / V::LEN {
            let x = canonical(at::<V>(product, i)).add(at(small, i));
            let x = canonical(canonical(x).sub(V::splat(Q)));
            // Halves are rounded down, so that the low bits lie above -2^12.
            let top = x.add(V::splat((1 << (DROPPED - 1)) - 1)).shift_right::<DROPPED>();
            put(top, high, i);
            put(x.sub(top.mul_low(V::splat(1 << DROPPED))), product, i);
        }
    }
}

/// Returns the high and the low bits of a number from 0 to q - 1: FIPS 204 §7.4, algorithm 36.
///
/// The quotient by 2 gamma 2 is a product with its reciprocal. Both are multiples of 128, and with them the number is first divided.
#[inline(always)]
unsafe fn split<V: Vector>(x: V, gamma2: Gamma2) -> (V, V) {
    // SAFETY: the caller's.
    unsafe {
        let part = x.add(V::splat(127)).shift_right::<7>();
        let high = match gamma2 {
            // 11275 / 2^24 is nearly 128 / (2 gamma 2). What would be 44 belongs to 0.
            Gamma2::Of88 => {
                let high = part.mul_low(V::splat(11_275)).add(V::splat(1 << 23)).shift_right::<24>();
                high.and(V::splat(44).greater(high))
            }
            // 1025 / 2^22 is nearly 128 / (2 gamma 2). What would be 16 belongs to 0.
            Gamma2::Of32 => {
                let high = part.mul_low(V::splat(1025)).add(V::splat(1 << 21)).shift_right::<22>();
                high.and(V::splat(15))
            }
        };
        let low = x.sub(high.mul_low(V::splat(2 * gamma2.value())));
        let wrapped = low.greater(V::splat(Q / 2)).and(V::splat(Q));
        (high, low.sub(wrapped))
    }
}

/// Splits numbers between -q and q into their high bits, and the low bits, which replace them.
#[inline(always)]
pub(super) unsafe fn decompose<V: Vector>(poly: &mut Poly, gamma2: Gamma2, high: &mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        for i in 0..N / V::LEN {
            let (top, low) = split(canonical(at::<V>(poly, i)), gamma2);
            put(top, high, i);
            put(low, poly, i);
        }
    }
}

/// Adds a product that is small. Returns true if all sums lie below the bound.
#[inline(always)]
pub(super) unsafe fn add_within<V: Vector>(sum: &mut Poly, product: &Poly, bound: i32) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let mut outside = V::splat(0);
        for i in 0..N / V::LEN {
            let x = at::<V>(sum, i).add(centred(at(product, i)));
            outside = outside.or(beyond(x, bound));
            put(x, sum, i);
        }
        none(outside)
    }
}

/// Subtracts a product that is small. Returns true if all differences lie below the bound.
#[inline(always)]
pub(super) unsafe fn subtract_within<V: Vector>(rest: &mut Poly, product: &Poly, bound: i32) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let mut outside = V::splat(0);
        for i in 0..N / V::LEN {
            let x = at::<V>(rest, i).sub(centred(at(product, i)));
            outside = outside.or(beyond(x, bound));
            put(x, rest, i);
        }
        none(outside)
    }
}

/// Makes a hint of the low bits of w - c s2, which it replaces, and of the product c t0: FIPS 204 §7.4, algorithm 39, as ones. Returns
/// their number, or more than there are coefficients if the product is not below the bound gamma 2.
///
/// The sum of the low bits and the product has other high bits where it leaves the interval of the low bits. That reaches to gamma 2 at the top,
/// and below the bottom -gamma 2 + 1 by one where the high bits are 0.
#[inline(always)]
pub(super) unsafe fn hint<V: Vector>(low: &mut Poly, product: &Poly, high: &Poly, gamma2: Gamma2) -> usize {
    let bound = gamma2.value();
    // SAFETY: the caller's.
    unsafe {
        let (mut outside, mut count) = (V::splat(0), V::splat(0));
        for i in 0..N / V::LEN {
            let product = centred(at::<V>(product, i));
            outside = outside.or(beyond(product, bound));
            let x = at::<V>(low, i).add(product);
            // A mask is minus one.
            let bottom = V::splat(-bound).sub(at::<V>(high, i).greater(V::splat(0)));
            let other = x.greater(V::splat(bound)).or(bottom.greater(x)).and(V::splat(1));
            count = count.add(other);
            put(other, low, i);
        }
        // 0 or 512.
        let too_large = (i32::from(!none(outside))) << 9;
        (total(count) + too_large) as usize
    }
}

/// Replaces numbers between -q and q by their high bits as the hint corrects them: FIPS 204 §7.4, algorithm 40.
#[inline(always)]
pub(super) unsafe fn use_hint<V: Vector>(poly: &mut Poly, hint: &Poly, gamma2: Gamma2) {
    let count = (Q - 1) / (2 * gamma2.value());
    // SAFETY: the caller's.
    unsafe {
        for i in 0..N / V::LEN {
            let (high, low) = split(canonical(at::<V>(poly, i)), gamma2);
            // One where low bits are above zero, minus one elsewhere.
            let step = V::splat(-1).sub(low.greater(V::splat(0)).mul_low(V::splat(2)));
            let step = step.and(V::splat(0).sub(at(hint, i)));
            let x = high.add(step);
            let x = x.add(x.shift_right::<31>().and(V::splat(count)));
            put(x.and(V::splat(count).greater(x)), poly, i);
        }
    }
}

/// Returns true if all numbers lie below the bound.
#[inline(always)]
pub(super) unsafe fn within<V: Vector>(poly: &Poly, bound: i32) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let mut outside = V::splat(0);
        for i in 0..N / V::LEN {
            outside = outside.or(beyond(at::<V>(poly, i), bound));
        }
        none(outside)
    }
}

/// Encodes numbers of `bits` bits, or what they lack of `top`: FIPS 204 §7.1, algorithms 16 and 17.
#[inline(always)]
pub(super) unsafe fn encode<V: Vector>(poly: &Poly, bits: usize, top: Option<i32>, out: &mut [u8]) {
    // SAFETY: the caller's.
    unsafe {
        match bits {
            3 => encode_to::<V, 3>(poly, top, out),
            4 => encode_to::<V, 4>(poly, top, out),
            6 => encode_to::<V, 6>(poly, top, out),
            10 => encode_to::<V, 10>(poly, top, out),
            13 => encode_to::<V, 13>(poly, top, out),
            18 => encode_to::<V, 18>(poly, top, out),
            _ => encode_to::<V, 20>(poly, top, out),
        }
    }
}

#[inline(always)]
unsafe fn encode_to<V: Vector, const D: i32>(poly: &Poly, top: Option<i32>, out: &mut [u8]) {
    let mut pairs = Poly::ZERO;
    // SAFETY: the caller's.
    unsafe {
        for i in 0..N / V::LEN {
            let mut x = at::<V>(poly, i);
            if let Some(top) = top {
                x = V::splat(top).sub(x);
            }
            put(x.pair::<D>(), &mut pairs, i);
        }
        coding::pack::<D>(&pairs, out);
        for i in 0..N / V::LEN {
            put(V::splat(0), &mut pairs, i);
        }
        zeroize::optimization_barrier(&pairs);
    }
}

/// Decodes numbers of `bits` bits, of which each is subtracted from `top` if there is one: FIPS 204 §7.1, algorithms 18 and 19.
#[inline(always)]
pub(super) unsafe fn decode<V: Vector>(bytes: &[u8], bits: usize, top: Option<i32>, poly: &mut Poly) {
    // SAFETY: the caller's; there are as many bytes as N numbers have.
    unsafe {
        match bits {
            3 => coding::unpack::<3>(bytes, poly),
            4 => coding::unpack::<4>(bytes, poly),
            10 => coding::unpack::<10>(bytes, poly),
            13 => coding::unpack::<13>(bytes, poly),
            18 => fields::<V, 18>(bytes, poly),
            _ => fields::<V, 20>(bytes, poly),
        }
        if let Some(top) = top {
            for i in 0..N / V::LEN {
                put(V::splat(top).sub(at(poly, i)), poly, i);
            }
        }
    }
}

#[inline(always)]
unsafe fn fields<V: Vector, const D: usize>(bytes: &[u8], poly: &mut Poly) {
    debug_assert_eq!(bytes.len(), 32 * D);
    for i in 0..N / V::LEN {
        // SAFETY: the caller's; that many bytes have so many numbers.
        unsafe { put(V::fields::<D>(bytes.as_ptr().add(V::LEN * D / 8 * i)), poly, i) };
    }
}

//! The arithmetic of polynomials, written once for every kind of vector.
//!
//! A product of two numbers is reduced as Montgomery does it, with 16-bit halves. The first layer of the transform works on
//! both halves of a polynomial, and the other six on each half by itself, in eight vectors that stay in registers: three layers,
//! a transposition of pairs of coefficients, and three more. What is transformed stays transposed, so nothing else has to shuffle.
//!
//! Ref. FIPS 203 §4.2.1 (encoding, compression) and §4.3 (the transform, products).
//!
//! # Safety
//! The functions of a [`Vector`] may need processor features: whoever names a type that implements it calls from a
//! function that has them.
#![allow(unsafe_code)]

use super::poly::{Factor, N, Poly};
use super::tables::{
    Constant, Constants, FORWARD, GAMMAS, Half, INVERSE, Q, SCALE, SCALED_ZETA, TO_FORM, ZETAS,
};

/// Vectors of 16 coefficients of one or more polynomials.
///
/// # Safety
/// Every function: the processor has the features of the type, and pointers lead to as many coefficients as are read or written.
pub(super) trait Vector: Copy {
    /// Polynomials side by side, where the transform works on several.
    const POLYS: usize;

    /// `16 * POLYS` coefficients that lie one behind the other.
    unsafe fn load(from: *const i16) -> Self;
    unsafe fn store(self, to: *mut i16);
    /// 16 coefficients from `at` on of each of `POLYS` polynomials that lie one behind the other.
    unsafe fn load_each(from: *const Poly, at: usize) -> Self;
    unsafe fn store_each(self, to: *mut Poly, at: usize);
    unsafe fn splat(number: i16) -> Self;
    /// The same 16 numbers for each polynomial.
    unsafe fn each(numbers: &[i16; 16]) -> Self;

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    /// The low and the high halves of products.
    unsafe fn mul_low(self, other: Self) -> Self;
    unsafe fn mul_high(self, other: Self) -> Self;
    /// Products divided by 2^15 and rounded.
    unsafe fn mul_round(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// All bits where `self` is greater, none elsewhere.
    unsafe fn greater(self, other: Self) -> Self;

    /// Sums of the products of adjacent numbers, of 32 bits each.
    unsafe fn mul_pairs(self, other: Self) -> Self;
    unsafe fn add_32(self, other: Self) -> Self;
    /// The low 16 bits of each 32: those of `self` first, those of `other` second. Then the same for the high 16 bits.
    unsafe fn low_halves(self, other: Self) -> Self;
    unsafe fn high_halves(self, other: Self) -> Self;
    /// Adjacent numbers swapped.
    unsafe fn swap_pairs(self) -> Self;

    /// Transposes eight rows of eight pairs of numbers, in each polynomial.
    unsafe fn transpose(rows: &mut [Self; 8]);

    /// Writes all numbers with `D` bits for each, of which every two have been put together in the 32 bits of both.
    unsafe fn pack<const D: usize>(self, out: *mut u8);
    /// Reads numbers of `D` bits, as many as there are.
    unsafe fn unpack<const D: usize>(from: *const u8) -> Self;
}

/// A constant in every lane, or a vector of constants, with its product with 1/q.
#[derive(Clone, Copy)]
struct By<V> {
    value: V,
    by_q: V,
}

impl<V: Vector> By<V> {
    #[inline(always)]
    unsafe fn splat(constant: Constant) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { By { value: V::splat(constant.value), by_q: V::splat(constant.by_q) } }
    }

    #[inline(always)]
    unsafe fn each(constants: &Constants) -> Self {
        // SAFETY: the caller's.
        unsafe { By { value: V::each(&constants.value), by_q: V::each(&constants.by_q) } }
    }

    /// Returns the product with a constant in Montgomery form, between -q and q.
    #[inline(always)]
    unsafe fn times(self, x: V) -> V {
        // SAFETY: the caller's.
        unsafe {
            let multiple = x.mul_low(self.by_q).mul_high(V::splat(Q));
            x.mul_high(self.value).sub(multiple)
        }
    }
}

/// Returns a number of the same residue, between -2187 and 2187.
#[inline(always)]
unsafe fn reduce<V: Vector>(x: V) -> V {
    // 10 / 2^15 is nearly 1 / q.
    // SAFETY: the caller's.
    unsafe { x.sub(x.mul_round(V::splat(10)).mul_low(V::splat(Q))) }
}

/// Returns the residue, from 0 to q - 1.
#[inline(always)]
unsafe fn canonical<V: Vector>(x: V) -> V {
    // SAFETY: the caller's.
    unsafe {
        let x = reduce(x);
        x.add(V::splat(0).greater(x).and(V::splat(Q)))
    }
}

/// Transforms `V::POLYS` polynomials: FIPS 203 §4.3, algorithm 9.
#[inline(always)]
pub(super) unsafe fn ntt<V: Vector>(polys: *mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        let zeta = By::<V>::splat(ZETAS[1]);
        for v in 0..8 {
            let mut pair = [V::load_each(polys, 16 * v), V::load_each(polys, 16 * v + 128)];
            cross(&mut pair, 0, 1, zeta);
            pair[0].store_each(polys, 16 * v);
            pair[1].store_each(polys, 16 * v + 128);
        }
        for half in 0..2 {
            let mut x = load_half::<V>(polys, half);
            for v in 0..4 {
                cross(&mut x, v, v + 4, By::splat(ZETAS[2 + half]));
            }
            for block in 0..2 {
                let zeta = By::splat(ZETAS[4 + 2 * half + block]);
                cross(&mut x, 4 * block, 4 * block + 2, zeta);
                cross(&mut x, 4 * block + 1, 4 * block + 3, zeta);
            }
            for block in 0..4 {
                cross(&mut x, 2 * block, 2 * block + 1, By::splat(ZETAS[8 + 4 * half + block]));
            }
            V::transpose(&mut x);
            let zetas: &Half = &FORWARD[half];
            for p in 0..4 {
                cross(&mut x, p, p + 4, By::each(&zetas[0]));
            }
            for block in 0..2 {
                let zeta = By::each(&zetas[1 + block]);
                cross(&mut x, 4 * block, 4 * block + 2, zeta);
                cross(&mut x, 4 * block + 1, 4 * block + 3, zeta);
            }
            for block in 0..4 {
                cross(&mut x, 2 * block, 2 * block + 1, By::each(&zetas[3 + block]));
            }
            for p in 0..8 {
                reduce(x[p]).store_each(polys, 128 * half + 16 * p);
            }
        }
    }
}

/// One butterfly of the forward transform.
#[inline(always)]
unsafe fn cross<V: Vector, const L: usize>(x: &mut [V; L], a: usize, b: usize, zeta: By<V>) {
    // SAFETY: the caller's.
    unsafe {
        let t = zeta.times(x[b]);
        x[b] = x[a].sub(t);
        x[a] = x[a].add(t);
    }
}

/// Transforms `V::POLYS` polynomials back: FIPS 203 §4.3, algorithm 10.
#[inline(always)]
pub(super) unsafe fn inverse<V: Vector>(polys: *mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        for half in 0..2 {
            let mut x = load_half::<V>(polys, half);
            let zetas: &Half = &INVERSE[half];
            for block in 0..4 {
                uncross(&mut x, 2 * block, 2 * block + 1, By::each(&zetas[3 + block]));
            }
            for block in 0..2 {
                let zeta = By::each(&zetas[1 + block]);
                uncross(&mut x, 4 * block, 4 * block + 2, zeta);
                uncross(&mut x, 4 * block + 1, 4 * block + 3, zeta);
            }
            for p in 0..4 {
                uncross(&mut x, p, p + 4, By::each(&zetas[0]));
            }
            // Three layers of sums of numbers below q fit in 16 bits, four would not.
            for p in 0..8 {
                x[p] = reduce(x[p]);
            }
            V::transpose(&mut x);
            for block in 0..4 {
                uncross(&mut x, 2 * block, 2 * block + 1, By::splat(ZETAS[15 - (4 * half + block)]));
            }
            for block in 0..2 {
                let zeta = By::splat(ZETAS[7 - (2 * half + block)]);
                uncross(&mut x, 4 * block, 4 * block + 2, zeta);
                uncross(&mut x, 4 * block + 1, 4 * block + 3, zeta);
            }
            for v in 0..4 {
                uncross(&mut x, v, v + 4, By::splat(ZETAS[3 - half]));
            }
            for v in 0..8 {
                reduce(x[v]).store_each(polys, 128 * half + 16 * v);
            }
        }
        let (scale, scaled_zeta) = (By::<V>::splat(SCALE), By::<V>::splat(SCALED_ZETA));
        for v in 0..8 {
            let (a, b) = (V::load_each(polys, 16 * v), V::load_each(polys, 16 * v + 128));
            scale.times(a.add(b)).store_each(polys, 16 * v);
            scaled_zeta.times(b.sub(a)).store_each(polys, 16 * v + 128);
        }
    }
}

/// One butterfly of the inverse transform.
#[inline(always)]
unsafe fn uncross<V: Vector>(x: &mut [V; 8], a: usize, b: usize, zeta: By<V>) {
    // SAFETY: the caller's.
    unsafe {
        let difference = x[b].sub(x[a]);
        x[a] = x[a].add(x[b]);
        x[b] = zeta.times(difference);
    }
}

#[inline(always)]
unsafe fn load_half<V: Vector>(polys: *const Poly, half: usize) -> [V; 8] {
    // SAFETY: the caller's.
    unsafe {
        let mut x = [V::splat(0); 8];
        for v in 0..8 {
            x[v] = V::load_each(polys, 128 * half + 16 * v);
        }
        x
    }
}

/// Brings `V::POLYS` polynomials into the transform's layout, or out of it: a transposition is its own inverse.
#[inline(always)]
pub(super) unsafe fn arrange<V: Vector>(polys: *mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        for half in 0..2 {
            let mut x = load_half::<V>(polys, half);
            V::transpose(&mut x);
            for v in 0..8 {
                x[v].store_each(polys, 128 * half + 16 * v);
            }
        }
    }
}

/// Makes the operand of products of a transformed polynomial.
#[inline(always)]
pub(super) unsafe fn factor<V: Vector>(poly: &Poly, factor: &mut Factor) {
    // SAFETY: the caller's; all arrays have N coefficients.
    unsafe {
        let to_form = By::<V>::splat(TO_FORM);
        for i in 0..N / (16 * V::POLYS) {
            let at = 16 * V::POLYS * i;
            let x = V::load(poly.0.as_ptr().add(at));
            let gammas = By {
                value: V::load(GAMMAS.value.as_ptr().add(at)),
                by_q: V::load(GAMMAS.by_q.as_ptr().add(at)),
            };
            gammas.times(x).store(factor.straight.0.as_mut_ptr().add(at));
            to_form.times(x).swap_pairs().store(factor.crossed.0.as_mut_ptr().add(at));
        }
    }
}

/// Adds up products of transformed polynomials with operands: FIPS 203 §4.3.1, algorithms 11 and 12.
#[inline(always)]
pub(super) unsafe fn multiply<V: Vector>(polys: &[Poly], stride: usize, factors: &[Factor], sum: &mut Poly) {
    match factors.len() {
        // SAFETY: the caller's; there are so many factors.
        2 => unsafe { multiply_rank::<V, 2>(polys, stride, factors, sum) },
        // SAFETY: the same.
        3 => unsafe { multiply_rank::<V, 3>(polys, stride, factors, sum) },
        // SAFETY: the same.
        _ => unsafe { multiply_rank::<V, 4>(polys, stride, factors, sum) },
    }
}

#[inline(always)]
unsafe fn multiply_rank<V: Vector, const K: usize>(
    polys: &[Poly],
    stride: usize,
    factors: &[Factor],
    sum: &mut Poly,
) {
    let mut rows = [polys[0].0.as_ptr(); K];
    for k in 0..K {
        rows[k] = polys[k * stride].0.as_ptr();
    }
    let factors: &[Factor; K] = factors.try_into().expect("as many factors as the rank");
    // SAFETY: the caller's; all arrays have N coefficients.
    unsafe {
        for i in 0..N / (16 * V::POLYS) {
            let at = 16 * V::POLYS * i;
            let (mut first, mut second) = (V::splat(0), V::splat(0));
            for k in 0..K {
                let x = V::load(rows[k].add(at));
                let straight = V::load(factors[k].straight.0.as_ptr().add(at));
                let crossed = V::load(factors[k].crossed.0.as_ptr().add(at));
                first = first.add_32(x.mul_pairs(straight));
                second = second.add_32(x.mul_pairs(crossed));
            }
            // Each sum is below 8 q^2, so that its reduction lies between -q and q.
            let by_q = const { By1::Q_INVERSE };
            let multiple = first.low_halves(second).mul_low(V::splat(by_q)).mul_high(V::splat(Q));
            first.high_halves(second).sub(multiple).store(sum.0.as_mut_ptr().add(at));
        }
    }
}

/// The inverse of q modulo 2^16, of the constant 1 that is not in Montgomery form.
struct By1;

impl By1 {
    const Q_INVERSE: i16 = -3327;
}

/// Adds a polynomial, and reduces.
#[inline(always)]
pub(super) unsafe fn add<V: Vector>(sum: &mut Poly, other: &Poly) {
    // SAFETY: the caller's; both have N coefficients.
    unsafe {
        for i in 0..N / (16 * V::POLYS) {
            let at = 16 * V::POLYS * i;
            let x = V::load(sum.0.as_ptr().add(at)).add(V::load(other.0.as_ptr().add(at)));
            reduce(x).store(sum.0.as_mut_ptr().add(at));
        }
    }
}

/// Subtracts a polynomial from another, and reduces.
#[inline(always)]
pub(super) unsafe fn subtract_from<V: Vector>(from: &mut Poly, other: &Poly) {
    // SAFETY: the caller's; both have N coefficients.
    unsafe {
        for i in 0..N / (16 * V::POLYS) {
            let at = 16 * V::POLYS * i;
            let x = V::load(other.0.as_ptr().add(at)).sub(V::load(from.0.as_ptr().add(at)));
            reduce(x).store(from.0.as_mut_ptr().add(at));
        }
    }
}

/// Compresses to `bits` bits, and encodes: FIPS 203 §4.2.1, algorithm 5 and equation 4.7.
#[inline(always)]
pub(super) unsafe fn compress<V: Vector>(poly: &Poly, bits: usize, out: &mut [u8]) {
    // SAFETY: the caller's.
    unsafe {
        match bits {
            1 => compress_to::<V, 1>(poly, out),
            4 => compress_to::<V, 4>(poly, out),
            5 => compress_to::<V, 5>(poly, out),
            10 => compress_to::<V, 10>(poly, out),
            _ => compress_to::<V, 11>(poly, out),
        }
    }
}

#[inline(always)]
unsafe fn compress_to<V: Vector, const D: usize>(poly: &Poly, out: &mut [u8]) {
    // About 2^15 times 2^D / q: the quotient is right, or one too large or too small.
    let estimate = const { ((1 << (15 + D)) as f64 / Q as f64 + 0.5) as i16 };
    // SAFETY: the caller's; the polynomial has N coefficients, and there are 32 * D bytes.
    unsafe {
        for i in 0..N / (16 * V::POLYS) {
            let x = canonical(V::load(poly.0.as_ptr().add(16 * V::POLYS * i)));
            let quotient = x.mul_round(V::splat(estimate));
            let rest = x.mul_low(V::splat(1 << D)).sub(quotient.mul_low(V::splat(Q)));
            // A mask is minus one.
            let quotient = quotient.sub(rest.greater(V::splat(Q / 2)));
            let quotient = quotient.add(V::splat(-Q / 2).greater(rest));
            let quotient = quotient.and(V::splat((1 << D) - 1));
            put::<V, D>(quotient, out.as_mut_ptr().add(2 * D * V::POLYS * i));
        }
    }
}

/// Writes numbers of `D` bits.
#[inline(always)]
unsafe fn put<V: Vector, const D: usize>(numbers: V, out: *mut u8) {
    let weights = const {
        let (mut weights, mut i) = ([1; 16], 1);
        while i < 16 {
            weights[i] = 1 << D;
            i += 2;
        }
        weights
    };
    // SAFETY: the caller's.
    unsafe { numbers.mul_pairs(V::each(&weights)).pack::<D>(out) }
}

/// Decodes numbers of `bits` bits, and decompresses: FIPS 203 §4.2.1, algorithm 6 and equation 4.8.
#[inline(always)]
pub(super) unsafe fn decompress<V: Vector>(bytes: &[u8], bits: usize, poly: &mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        match bits {
            1 => decompress_from::<V, 1>(bytes, poly),
            4 => decompress_from::<V, 4>(bytes, poly),
            5 => decompress_from::<V, 5>(bytes, poly),
            10 => decompress_from::<V, 10>(bytes, poly),
            _ => decompress_from::<V, 11>(bytes, poly),
        }
    }
}

#[inline(always)]
unsafe fn decompress_from<V: Vector, const D: usize>(bytes: &[u8], poly: &mut Poly) {
    // SAFETY: the caller's; the polynomial has N coefficients, and there are 32 * D bytes.
    unsafe {
        for i in 0..N / (16 * V::POLYS) {
            // Rounding of the number times 2^(15 - D) times q / 2^15 is that of the standard.
            let x = V::unpack::<D>(bytes.as_ptr().add(2 * D * V::POLYS * i)).mul_low(V::splat(1 << (15 - D)));
            x.mul_round(V::splat(Q)).store(poly.0.as_mut_ptr().add(16 * V::POLYS * i));
        }
    }
}

/// Encodes a transformed polynomial: FIPS 203 §4.2.1, algorithm 5 for 12 bits. `V` has coefficients of one polynomial.
#[inline(always)]
pub(super) unsafe fn encode<V: Vector>(poly: &Poly, out: &mut [u8]) {
    // SAFETY: the caller's; there are 384 bytes.
    unsafe {
        for half in 0..2 {
            let mut x = load_half::<V>(poly, half);
            V::transpose(&mut x);
            for v in 0..8 {
                put::<V, 12>(canonical(x[v]), out.as_mut_ptr().add(24 * (8 * half + v)));
            }
        }
    }
}

/// Decodes a transformed polynomial: FIPS 203 §4.2.1, algorithm 6 for 12 bits. Returns false if a number was not below q. `V` has coefficients of
/// one polynomial.
#[inline(always)]
pub(super) unsafe fn decode<V: Vector>(bytes: &[u8], poly: &mut Poly) -> bool {
    let mut beyond = [0; 16];
    // SAFETY: the caller's; there are 384 bytes.
    unsafe {
        let mut any = V::splat(0);
        for half in 0..2 {
            let mut x = [V::splat(0); 8];
            for v in 0..8 {
                let number = V::unpack::<12>(bytes.as_ptr().add(24 * (8 * half + v)));
                let too_large = number.greater(V::splat(Q - 1));
                any = any.sub(too_large);
                x[v] = number.sub(too_large.and(V::splat(Q)));
            }
            V::transpose(&mut x);
            for v in 0..8 {
                x[v].store_each(poly, 128 * half + 16 * v);
            }
        }
        any.store(beyond.as_mut_ptr());
    }
    beyond.iter().fold(0, |sum, lane| sum | lane) == 0
}

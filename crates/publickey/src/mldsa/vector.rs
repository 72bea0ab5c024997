//! The arithmetic of polynomials, written once for every kind of vector.
//!
//! A product of two numbers has 64 bits, and is reduced as Montgomery does it. The first two layers of the transform work on all
//! quarters of a polynomial, and the other six on each quarter by itself, in eight vectors that stay in registers: three layers,
//! a transposition, and three more. What is transformed stays transposed, so nothing else has to shuffle.
//!
//! Numbers grow by less than q in each layer of the forward transform, so those that begin below q end below 9 q, and nothing is reduced
//! between. In the inverse transform they double: 256 q is just below 2^31.
//!
//! Ref. FIPS 204 §7.5 (the transform); §7.6 (products); `rounding.rs` has §7.4.
//!
//! # Safety
//! The functions of a [`Vector`] may need processor features: whoever names a type that implements it calls from a
//! function that has them.
#![allow(unsafe_code)]

use super::poly::{N, Poly};
use super::tables::{
    Constant, Constants, FORWARD, INVERSE, Q, Q_INVERSE, Quarter, SCALE, SCALED_ZETA, ZETAS,
};

/// Vectors of 8 coefficients of one or more polynomials.
///
/// # Safety
/// Every function: the processor has the features of the type, and pointers lead to as many coefficients as are read or written.
pub(super) trait Vector: Copy {
    /// Polynomials side by side, where the transform works on several.
    const POLYS: usize;
    /// The numbers in a vector.
    const LEN: usize = 8 * Self::POLYS;

    /// A product of 64 bits for each number.
    type Products: Copy;

    /// `LEN` coefficients that lie one behind the other.
    unsafe fn load(from: *const i32) -> Self;
    unsafe fn store(self, to: *mut i32);
    /// 8 coefficients from `at` on of each of `POLYS` polynomials that lie one behind the other.
    unsafe fn load_each(from: *const Poly, at: usize) -> Self;
    unsafe fn store_each(self, to: *mut Poly, at: usize);
    unsafe fn splat(number: i32) -> Self;
    /// The same 8 numbers for each polynomial.
    unsafe fn each(numbers: &[i32; 8]) -> Self;

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    /// The low halves of products.
    unsafe fn mul_low(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    /// All bits where `self` is greater, none elsewhere.
    unsafe fn greater(self, other: Self) -> Self;
    /// Shifted to the right, with copies of the sign.
    unsafe fn shift_right<const BITS: i32>(self) -> Self;

    unsafe fn products(self, other: Self) -> Self::Products;
    /// The products of the low halves of products with numbers.
    unsafe fn products_of_low(products: Self::Products, other: Self) -> Self::Products;
    unsafe fn add_products(products: Self::Products, others: Self::Products) -> Self::Products;
    unsafe fn sub_products(products: Self::Products, others: Self::Products) -> Self::Products;
    unsafe fn high_halves(products: Self::Products) -> Self;

    /// Each two adjacent numbers, of `BITS` bits, put together in the 64 bits of both.
    unsafe fn pair<const BITS: i32>(self) -> Self;
    /// `LEN` numbers of `BITS` bits, 18 or 20.
    unsafe fn fields<const BITS: usize>(from: *const u8) -> Self;

    /// Transposes eight rows of eight numbers, in each polynomial.
    unsafe fn transpose(rows: &mut [Self; 8]);
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
            let multiple = V::products_of_low(x.products(self.by_q), V::splat(Q));
            V::high_halves(V::sub_products(x.products(self.value), multiple))
        }
    }
}

/// Returns sums of products divided by 2^32, between -q and q if they were below 2^31 q.
#[inline(always)]
unsafe fn reduce<V: Vector>(products: V::Products) -> V {
    // SAFETY: the caller's.
    unsafe {
        let by_q = V::products_of_low(products, V::splat(Q_INVERSE));
        let multiple = V::products_of_low(by_q, V::splat(Q));
        V::high_halves(V::sub_products(products, multiple))
    }
}

/// Returns a number of the same residue, from 0 to q - 1, of one between -q and q.
#[inline(always)]
pub(super) unsafe fn canonical<V: Vector>(x: V) -> V {
    // SAFETY: the caller's.
    unsafe { x.add(x.shift_right::<31>().and(V::splat(Q))) }
}

/// Returns the number of the same residue that is nearest to zero, of one between -q and q whose residue has one below 2^22.
#[inline(always)]
pub(super) unsafe fn centred<V: Vector>(x: V) -> V {
    // SAFETY: the caller's.
    unsafe { x.sub(x.add(V::splat(1 << 22)).shift_right::<23>().mul_low(V::splat(Q))) }
}

/// Transforms `V::POLYS` polynomials: FIPS 204 §7.5, algorithm 41.
#[inline(always)]
pub(super) unsafe fn ntt<V: Vector>(polys: *mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        let zetas = [By::<V>::splat(ZETAS[1]), By::splat(ZETAS[2]), By::splat(ZETAS[3])];
        for v in 0..8 {
            let mut x = load_column::<V>(polys, v);
            cross(&mut x, 0, 2, zetas[0]);
            cross(&mut x, 1, 3, zetas[0]);
            cross(&mut x, 0, 1, zetas[1]);
            cross(&mut x, 2, 3, zetas[2]);
            store_column(polys, v, &x);
        }
        for quarter in 0..4 {
            let mut x = load_quarter::<V>(polys, quarter);
            for v in 0..4 {
                cross(&mut x, v, v + 4, By::splat(ZETAS[4 + quarter]));
            }
            for block in 0..2 {
                let zeta = By::splat(ZETAS[8 + 2 * quarter + block]);
                cross(&mut x, 4 * block, 4 * block + 2, zeta);
                cross(&mut x, 4 * block + 1, 4 * block + 3, zeta);
            }
            for block in 0..4 {
                cross(&mut x, 2 * block, 2 * block + 1, By::splat(ZETAS[16 + 4 * quarter + block]));
            }
            V::transpose(&mut x);
            let zetas: &Quarter = &FORWARD[quarter];
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
            store_quarter(polys, quarter, &x);
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

/// Transforms `V::POLYS` polynomials back, of numbers between -q and q that were divided by 2^32: FIPS 204 §7.5, algorithm 42.
#[inline(always)]
pub(super) unsafe fn inverse<V: Vector>(polys: *mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        for quarter in 0..4 {
            let mut x = load_quarter::<V>(polys, quarter);
            let zetas: &Quarter = &INVERSE[quarter];
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
            V::transpose(&mut x);
            for block in 0..4 {
                uncross(&mut x, 2 * block, 2 * block + 1, By::splat(ZETAS[31 - (4 * quarter + block)]));
            }
            for block in 0..2 {
                let zeta = By::splat(ZETAS[15 - (2 * quarter + block)]);
                uncross(&mut x, 4 * block, 4 * block + 2, zeta);
                uncross(&mut x, 4 * block + 1, 4 * block + 3, zeta);
            }
            for v in 0..4 {
                uncross(&mut x, v, v + 4, By::splat(ZETAS[7 - quarter]));
            }
            store_quarter(polys, quarter, &x);
        }
        let (scale, scaled_zeta) = (By::<V>::splat(SCALE), By::<V>::splat(SCALED_ZETA));
        let zetas = [By::splat(ZETAS[3]), By::splat(ZETAS[2])];
        for v in 0..8 {
            let mut x = load_column::<V>(polys, v);
            uncross(&mut x, 0, 1, zetas[0]);
            uncross(&mut x, 2, 3, zetas[1]);
            for i in 0..2 {
                let (a, b) = (x[i], x[i + 2]);
                x[i] = scale.times(a.add(b));
                x[i + 2] = scaled_zeta.times(b.sub(a));
            }
            store_column(polys, v, &x);
        }
    }
}

/// One butterfly of the inverse transform.
#[inline(always)]
unsafe fn uncross<V: Vector, const L: usize>(x: &mut [V; L], a: usize, b: usize, zeta: By<V>) {
    // SAFETY: the caller's.
    unsafe {
        let difference = x[b].sub(x[a]);
        x[a] = x[a].add(x[b]);
        x[b] = zeta.times(difference);
    }
}

/// The vectors at the same place of each quarter.
#[inline(always)]
unsafe fn load_column<V: Vector>(polys: *const Poly, v: usize) -> [V; 4] {
    // SAFETY: the caller's.
    unsafe {
        let mut x = [V::splat(0); 4];
        for quarter in 0..4 {
            x[quarter] = V::load_each(polys, 64 * quarter + 8 * v);
        }
        x
    }
}

#[inline(always)]
unsafe fn store_column<V: Vector>(polys: *mut Poly, v: usize, x: &[V; 4]) {
    for quarter in 0..4 {
        // SAFETY: the caller's.
        unsafe { x[quarter].store_each(polys, 64 * quarter + 8 * v) };
    }
}

#[inline(always)]
unsafe fn load_quarter<V: Vector>(polys: *const Poly, quarter: usize) -> [V; 8] {
    // SAFETY: the caller's.
    unsafe {
        let mut x = [V::splat(0); 8];
        for v in 0..8 {
            x[v] = V::load_each(polys, 64 * quarter + 8 * v);
        }
        x
    }
}

#[inline(always)]
unsafe fn store_quarter<V: Vector>(polys: *mut Poly, quarter: usize, x: &[V; 8]) {
    for v in 0..8 {
        // SAFETY: the caller's.
        unsafe { x[v].store_each(polys, 64 * quarter + 8 * v) };
    }
}

/// Brings `V::POLYS` polynomials into the transform's layout, or out of it: a transposition is its own inverse.
#[inline(always)]
pub(super) unsafe fn arrange<V: Vector>(polys: *mut Poly) {
    // SAFETY: the caller's.
    unsafe {
        for quarter in 0..4 {
            let mut x = load_quarter::<V>(polys, quarter);
            V::transpose(&mut x);
            store_quarter(polys, quarter, &x);
        }
    }
}

/// Adds up products of transformed polynomials, divided by 2^32: FIPS 204 §7.6, algorithms 45 to 48.
#[inline(always)]
pub(super) unsafe fn multiply<V: Vector>(polys: &[Poly], factors: &[Poly], sum: &mut Poly) {
    // SAFETY: the caller's; there are so many factors.
    unsafe {
        match factors.len() {
            1 => multiply_of::<V, 1>(polys, factors, sum),
            4 => multiply_of::<V, 4>(polys, factors, sum),
            5 => multiply_of::<V, 5>(polys, factors, sum),
            6 => multiply_of::<V, 6>(polys, factors, sum),
            7 => multiply_of::<V, 7>(polys, factors, sum),
            _ => multiply_of::<V, 8>(polys, factors, sum),
        }
    }
}

#[inline(always)]
unsafe fn multiply_of<V: Vector, const K: usize>(polys: &[Poly], factors: &[Poly], sum: &mut Poly) {
    let polys: &[Poly; K] = polys.try_into().expect("as many polynomials as factors");
    let factors: &[Poly; K] = factors.try_into().expect("as many factors");
    // SAFETY: the caller's; all arrays have N coefficients. Numbers below q are multiplied with numbers below 9 q, and in at most one
    // product of numbers below 9 q: the sum is below 144 q^2, which is less than 2^31 q.
    unsafe {
        for i in 0..N / V::LEN {
            let at = V::LEN * i;
            let mut products = product_at::<V>(&polys[0], &factors[0], at);
            for k in 1..K {
                products = V::add_products(products, product_at::<V>(&polys[k], &factors[k], at));
            }
            reduce::<V>(products).store(sum.0.as_mut_ptr().add(at));
        }
    }
}

#[inline(always)]
unsafe fn product_at<V: Vector>(poly: &Poly, factor: &Poly, at: usize) -> V::Products {
    // SAFETY: the caller's; both have a vector at that place.
    unsafe { V::load(poly.0.as_ptr().add(at)).products(V::load(factor.0.as_ptr().add(at))) }
}

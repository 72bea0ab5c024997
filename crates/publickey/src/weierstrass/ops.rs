//! The functions of a kernel, written once for all curves.
//!
//! Ref. FIPS 186-5 §6.4.1 and §6.4.2; SP 800-56A Rev. 3 §5.7.1.2.

use zeroize::Zeroize;

use super::curve::Params;
use super::field::{Element, Modulus};
use super::limbs;
use super::multiply;
use super::named::Curve;
pub(crate) use super::operands::{LIMBS, Pair, Point, Secret, Words, narrow, widened};
use super::point::{Affine, Coordinate};
use super::products::Products;

/// The functions of a kernel. Scalars are above zero and below the order, coordinates below the prime, and points on the
/// curve.
#[derive(Debug)]
pub struct Ops {
    pub(crate) curve: Curve,
    /// Returns a scalar times the base point.
    pub(crate) public: unsafe fn(&Secret) -> Point,
    /// Returns the x coordinate of a scalar times a point.
    pub(crate) agree: unsafe fn(&Secret, &Point) -> Secret,
    /// Signs: private key, any number for the message, nonce.
    pub(crate) sign: unsafe fn(&Secret, &Words, &Secret) -> Pair,
    /// Returns true if a signature is right: public key, any number for the message, numbers below the order. The time depends on
    /// all of them.
    pub(crate) verify_vartime: unsafe fn(&Point, &Words, &Pair) -> bool,
    /// Returns true for a point of the curve, of coordinates below the prime.
    pub(crate) is_on_curve: unsafe fn(&Point) -> bool,
    /// Returns the point with that x coordinate whose y coordinate is odd or not; none if there is no such point.
    pub(crate) decompress: unsafe fn(&Words, bool) -> Option<Point>,
}

/// Returns the functions of a curve.
pub(crate) const fn ops<C: Products<N>, const N: usize>(curve: Curve) -> Ops {
    Ops {
        curve,
        public: public::<C, N>,
        agree: agree::<C, N>,
        sign: sign::<C, N>,
        verify_vartime: verify_vartime::<C, N>,
        is_on_curve: is_on_curve::<C, N>,
        decompress: decompress::<C, N>,
    }
}

fn public<C: Params<N>, const N: usize>(scalar: &Secret) -> Point {
    let point = multiply::wiped_affine(multiply::base::<C, N>(narrow(&scalar.0)));
    Point { x: widened(&point.x.number()), y: widened(&point.y.number()) }
}

fn agree<C: Products<N>, const N: usize>(scalar: &Secret, point: &Point) -> Secret {
    let product = C::multiply(narrow(&scalar.0), &affine(point));
    let mut product = multiply::wiped_affine(product);
    let shared = Secret(widened(&product.x.number()));
    product.zeroize();
    shared
}

fn sign<C: Params<N>, const N: usize>(private: &Secret, message: &Words, nonce: &Secret) -> Pair {
    // FIPS 186-5 §6.4.1 steps 5 to 9.
    let point = multiply::wiped_affine(multiply::base::<C, N>(narrow(&nonce.0)));
    let mut inverse = Element::<C::Order, N>::new(narrow(&nonce.0)).invert();
    let pair = complete::<C, N>(private, message, &point.x.number(), &inverse);
    inverse.zeroize();
    pair
}

/// Ends a signature from the x coordinate of its point and the inverse of its nonce.
pub(crate) fn complete<C: Params<N>, const N: usize>(
    private: &Secret,
    message: &Words,
    x: &[u64; N],
    inverse: &Element<C::Order, N>,
) -> Pair {
    let r = Element::<C::Order, N>::new(x);
    let mut sum = Element::new(narrow(&private.0)) * r;
    sum = sum + Element::new(narrow(message));
    let s = sum * *inverse;
    sum.zeroize();
    Pair { r: widened(&r.number()), s: widened(&s.number()) }
}

fn verify_vartime<C: Products<N>, const N: usize>(public: &Point, message: &Words, pair: &Pair) -> bool {
    let inverse = Element::<C::Order, N>::new(narrow(&pair.s)).invert();
    let (u1, u2) = coefficients::<C, N>(message, pair, &inverse);
    let sum = C::double_base_vartime(&u1, &u2, &affine(public));
    has_x::<C, N>(&sum.x, &sum.z.square(), narrow(&pair.r))
}

/// Returns u1 and u2 of FIPS 186-5 §6.4.2 steps 3 and 4, from the inverse of s.
pub(crate) fn coefficients<C: Params<N>, const N: usize>(
    message: &Words,
    pair: &Pair,
    inverse: &Element<C::Order, N>,
) -> ([u64; N], [u64; N]) {
    let u1 = Element::new(narrow(message)) * *inverse;
    let u2 = Element::new(narrow(&pair.r)) * *inverse;
    (u1.number(), u2.number())
}

/// Returns true if `x / z` is `r` modulo the order, and `z` is not zero: steps 5 to 7, without a division.
pub(crate) fn has_x<C: Params<N>, const N: usize>(
    x: &Coordinate<C, N>,
    z: &Coordinate<C, N>,
    r: &[u64; N],
) -> bool {
    if z.zero_mask() != 0 {
        return false;
    }
    // The prime is below twice the order, so the coordinate is r or r plus the order.
    let (above, carry) = limbs::add(r, &C::Order::MODULUS);
    let fits = carry == 0 && limbs::below_mask(&above, &C::Field::MODULUS) != 0;
    *x == Element::new(r) * *z || (fits && *x == Element::new(&above) * *z)
}

fn is_on_curve<C: Params<N>, const N: usize>(point: &Point) -> bool {
    affine::<C, N>(point).is_on_curve()
}

fn decompress<C: Params<N>, const N: usize>(x: &Words, odd: bool) -> Option<Point> {
    let mut point = Affine::<C, N> { x: Element::new(narrow(x)), y: Element::ZERO };
    point.y = Affine::<C, N>::right_side(&point.x).root();
    if !point.is_on_curve() {
        return None;
    }
    point.negate_if(0u64.wrapping_sub((point.y.number()[0] ^ u64::from(odd)) & 1));
    Some(Point { x: *x, y: widened(&point.y.number()) })
}

fn affine<C: Params<N>, const N: usize>(point: &Point) -> Affine<C, N> {
    Affine { x: Element::new(narrow(&point.x)), y: Element::new(narrow(&point.y)) }
}

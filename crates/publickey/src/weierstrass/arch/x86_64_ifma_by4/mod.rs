//! One operation at a time, with four multiplications of a field side by side.
//!
//! # Safety
//! The functions here are entered with the row's features.
#![allow(unsafe_code)]

mod field;
mod point;

use core::arch::x86_64::__mmask8;

use millstream_cpu::FeatureSet;

use super::super::curve::{self, BaseTable, Params};
use super::super::digits::{self, digit, masks};
use super::super::field::Element;
use super::super::limbs::zero_mask;
use super::super::named::Curve;
use super::super::ops::{Ops, ops};
use super::super::point::{Affine, Jacobian, Projective};
use super::super::primes::{P256Order, P384Field, P384Order, P521Field, P521Order};
use super::super::products::Products;
use super::super::vartime::add_base_vartime;
use super::x86_64_adx::{Field as P256Field, P256Adx};
use field::{Fours, Prime};
use point::{Addend, Point};

/// The features that this file's instructions need.
pub(crate) const REQUIRES: FeatureSet = FeatureSet::parse("avx2,bmi2,adx,avx512f,avx512vl,avx512ifma");

/// The functions of the rows.
pub(crate) const P256: Ops = ops::<P256By4, 4>(Curve::P256);
pub(crate) const P384: Ops = ops::<P384By4, 6>(Curve::P384);
pub(crate) const P521: Ops = ops::<P521By4, 9>(Curve::P521);

/// Makes a curve of another, with its products of points in lanes.
macro_rules! curve {
    ($name:ident, $of:ty, $words:literal, $limbs:literal, $field:ty, $order:ty) => {
        /// The curve with these instructions.
        #[derive(Clone, Copy)]
        struct $name;

        impl Params<$words> for $name {
            type Field = $field;
            type Order = $order;
            const BITS: usize = <$of as Params<$words>>::BITS;
            const B: Element<$field, $words> = <$of as Params<$words>>::B;
            const BASE: BaseTable = <$of as Params<$words>>::BASE;

            #[inline(always)]
            fn choose(block: &[[u8; 8]], size: u64) -> [[u64; $words]; 2] {
                <$of as Params<$words>>::choose(block, size)
            }
        }

        impl Products<$words> for $name {
            fn multiply(scalar: &[u64; $words], point: &Affine<Self, $words>) -> Projective<Self, $words> {
                // SAFETY: see the head of this file.
                unsafe { multiply::<Self, $words, $limbs>(scalar, point) }
            }

            fn double_base_vartime(
                a: &[u64; $words],
                b: &[u64; $words],
                point: &Affine<Self, $words>,
            ) -> Jacobian<Self, $words> {
                add_base_vartime(Self::multiply(b, point).into(), a)
            }
        }
    };
}

curve!(P256By4, P256Adx, 4, 6, P256Field, P256Order);
curve!(P384By4, curve::P384, 6, 8, P384Field, P384Order);
curve!(P521By4, curve::P521, 9, 11, P521Field, P521Order);

/// The bits of a digit.
const WINDOW: usize = 5;
/// The multiples of the point that such a digit chooses from.
const MULTIPLES: usize = 1 << (WINDOW - 1);

/// Returns `scalar` times a point, in constant time.
///
/// After some of the digits the sum is k times the point, where k is not negative. It becomes 32 k + d, where d is at most 16 either way. That
/// is a sum of different points, of which none is the negative of the other, unless k or d is zero, or 32 k is d or -d modulo
/// the order. For the latter 32 k is near the order, so that it can be at the last digit alone, which is added by formulas that
/// are complete.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn multiply<C: Params<N>, const N: usize, const L: usize>(
    scalar: &[u64; N],
    point: &Affine<C, N>,
) -> Projective<C, N>
where
    C::Field: Prime<N, L>,
{
    let multiples = multiples::<C, N, L>(point);
    let mut sum = Point(Fours::zero());
    // All ones while every digit was zero.
    let mut identity = u64::MAX;
    for index in (1..digits::count(C::BITS, WINDOW)).rev() {
        let (addend, zero) = look_up(&multiples, scalar, index);
        let (added, alone) = sum.add(&addend);
        sum = added.select(&alone, identity as __mmask8).select(&sum, zero as __mmask8);
        identity &= zero;
        for _ in 0..WINDOW {
            sum = sum.double();
        }
    }
    let (addend, zero) = look_up(&multiples, scalar, 0);
    let sum = projective::<C, N, L>(&sum.0, identity);
    sum.add(&projective::<C, N, L>(&addend.0, zero))
}

/// Returns the point times 1 to [`MULTIPLES`].
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn multiples<C: Params<N>, const N: usize, const L: usize>(
    point: &Affine<C, N>,
) -> [Addend<C::Field, N, L>; MULTIPLES]
where
    C::Field: Prime<N, L>,
{
    let first = Point(Fours::new(&[point.x, point.y, Element::ONE, -Element::ONE.triple()]));
    let addend = first.addend();
    let (mut last, mut multiples) = (first, [addend; MULTIPLES]);
    for i in 1..MULTIPLES {
        last = if i % 2 == 1 { multiples[i / 2].point().double() } else { last.add(&addend).0 };
        multiples[i] = last.addend();
    }
    multiples
}

/// Returns a digit times the point, with a mask of ones if the digit is zero. All of the multiples are read.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn look_up<M: Prime<N, L>, const N: usize, const L: usize>(
    multiples: &[Addend<M, N, L>; MULTIPLES],
    scalar: &[u64; N],
    index: usize,
) -> (Addend<M, N, L>, u64) {
    let digit = digit(scalar, WINDOW, index);
    let mut chosen = Fours::zero();
    for (multiple, mask) in multiples.iter().zip(masks::<MULTIPLES>(digit.size)) {
        chosen = chosen.select(&multiple.0, mask as __mmask8);
    }
    let mut chosen = Addend(chosen);
    chosen.negate_if(digit.negative as __mmask8);
    (chosen, zero_mask(&[digit.size]))
}

/// Returns the point of the first three lanes, or the identity if the mask is all ones.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn projective<C: Params<N>, const N: usize, const L: usize>(
    fours: &Fours<C::Field, N, L>,
    identity: u64,
) -> Projective<C, N>
where
    C::Field: Prime<N, L>,
{
    let [x, y, z, _] = fours.elements();
    Projective::from(Jacobian { x, y, z }).select(&Projective::IDENTITY, identity)
}

#[cfg(test)]
mod tests {
    use millstream_cpu::Features;

    use super::super::super::example::Example;
    use super::super::super::field::Modulus;
    use super::super::super::multiply;
    use super::super::super::ops::narrow;
    use super::field::LANES;
    use super::*;

    /// Runs a check for each curve.
    macro_rules! each_curve {
        ($check:ident, $what:literal) => {
            if !Features::hardware().contains(REQUIRES) {
                return millstream_testkit::skip($what);
            }
            $check::<P256By4, 4, 6>(Curve::P256);
            $check::<P384By4, 6, 8>(Curve::P384);
            $check::<P521By4, 9, 11>(Curve::P521);
        };
    }

    /// Scalars at the edges of digits, of the order, and others. The sum of P-521's order less 18 ends with a doubling.
    fn scalars<C: Params<N>, const N: usize>() -> Vec<[u64; N]> {
        let mut scalars = Vec::new();
        for small in (1..70).chain([1 << 40]) {
            let mut scalar = [0; N];
            scalar[0] = small;
            scalars.push(scalar);
            // The order less a small number has the same limbs but the first.
            let mut scalar = C::Order::MODULUS;
            scalar[0] -= small;
            scalars.push(scalar);
        }
        let mut random = millstream_testkit::Random::new(12);
        for _ in 0..20 {
            let mut scalar = [0; N].map(|_: u64| random.next_u64());
            scalar[N - 1] &= C::Order::MODULUS[N - 1] >> 1;
            scalars.push(scalar);
        }
        scalars
    }

    #[test]
    fn scalars_of_every_kind() {
        fn check<C: Products<N>, const N: usize, const L: usize>(curve: Curve)
        where
            C::Field: Prime<N, L>,
        {
            let base = Example::of(curve).base();
            let base = Affine::<C, N> { x: Element::new(narrow(&base.x)), y: Element::new(narrow(&base.y)) };
            let other = multiply::point(&scalars::<C, N>()[9], &base).affine();
            for scalar in &scalars::<C, N>() {
                for point in [&base, &other] {
                    let (ours, plain) =
                        (C::multiply(scalar, point).affine(), multiply::point(scalar, point).affine());
                    assert!(ours.x == plain.x && ours.y == plain.y, "{curve} {scalar:x?}");
                }
            }
        }
        each_curve!(check, "weierstrass: products of x86_64-avx512ifma-by4");
    }

    /// Elements at the edges of limbs of both sizes and of the prime, and others.
    fn elements<M: Modulus<N>, const N: usize>() -> Vec<Element<M, N>> {
        let mut elements = vec![Element::ZERO, Element::ONE, -Element::ONE];
        let mut power = Element::ONE;
        for bit in 0..64 * N {
            if [0, 1, 47].contains(&(bit % 48)) || [0, 31, 32, 63].contains(&(bit % 64)) {
                elements.extend([power, -power, power - Element::ONE]);
            }
            power = power.double();
        }
        let mut random = millstream_testkit::Random::new(2);
        elements.extend((0..60).map(|_| Element::new(&[0; N].map(|_: u64| random.next_u64()))));
        elements
    }

    #[test]
    fn elements_like_one_at_a_time() {
        #[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
        fn compare<M: Prime<N, L>, const N: usize, const L: usize>(
            a: &[Element<M, N>; LANES],
            b: &[Element<M, N>; LANES],
        ) {
            let (x, y) = (Fours::new(a), Fours::new(b));
            let product = x.mul(&y);
            let four = product.plus(&product).plus(&product).plus(&product);
            let results = [
                product,
                four.plus(&four).mul(&four.plus(&four)),
                x.minus::<2>(&y).mul(&Fours::zero().minus::<4>(&x.plus(&y))),
                x.plus(&y).minus::<6>(&four.plus(&product)),
                x.permute::<0b00_01_10_11>(),
                x.blend::<0b1100_0011>(&y),
                x.select(&y, 0b0110),
            ];
            for (operation, result) in results.iter().enumerate() {
                for (lane, element) in result.elements().iter().enumerate() {
                    let (x, y) = (a[lane], b[lane]);
                    let five = (x * y).double().double() + x * y;
                    let expected = match operation {
                        0 => x * y,
                        1 => (x * y).square().double().double().double().double().double().double(),
                        2 => (y - x) * (x + y),
                        3 => x + y - five,
                        4 => a[3 - lane],
                        5 if lane % 3 == 0 => y,
                        6 if lane % 3 != 0 => y,
                        _ => x,
                    };
                    assert!(*element == expected, "{operation} {lane} {:x?} {:x?}", x.0, y.0);
                }
            }
        }
        fn check<C: Products<N>, const N: usize, const L: usize>(_: Curve)
        where
            C::Field: Prime<N, L>,
        {
            let elements = elements::<C::Field, N>();
            let lanes = |first: usize| std::array::from_fn(|lane| elements[(first + lane) % elements.len()]);
            for i in 0..elements.len() {
                for j in 0..elements.len() {
                    // SAFETY: the features were asked for.
                    unsafe { compare::<C::Field, N, L>(&lanes(i), &lanes(j)) };
                }
            }
        }
        each_curve!(check, "weierstrass: fields of x86_64-avx512ifma-by4");
    }

    /// Multiplies elements whose limbs are zero or as great as a multiplication may be given.
    #[test]
    fn limbs_at_their_bounds() {
        fn check<C: Products<N>, const N: usize, const L: usize>(curve: Curve)
        where
            C::Field: Prime<N, L>,
        {
            let most = (8 << 48) + (1 << 17);
            let limbs =
                |set: usize| std::array::from_fn::<_, L, _>(|i| if set >> i & 1 == 1 { most } else { 0 });
            for a in 1..1 << L {
                for b in [(1 << L) - 1, a, !a & ((1 << L) - 1), 1, 1 << (L - 1)] {
                    // SAFETY: the features were asked for.
                    unsafe {
                        let a = Fours::<C::Field, N, L>::splat(&limbs(a));
                        let b = Fours::splat(&limbs(b));
                        let expected = a.elements()[0] * b.elements()[0];
                        let product = a.mul(&b);
                        assert!(product.elements() == [expected; LANES], "{curve}");
                        assert!(product.highest_limb() <= (1 << 48) + (1 << 14), "{curve}");
                    }
                }
            }
        }
        each_curve!(check, "weierstrass: limbs of x86_64-avx512ifma-by4");
    }
}

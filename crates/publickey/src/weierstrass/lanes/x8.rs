//! The kernels of eight operations of a curve side by side.
//!
//! Inverses are computed for all lanes at once, by one inversion and three multiplications a lane.
//!
//! Ref. FIPS 186-5 §6.4.1 and §6.4.2; SP 800-56A Rev. 3 §5.7.1.2; P. L. Montgomery, "Speeding the Pollard and elliptic curve
//! methods of factorization", 1987, §10.3.1 (inverses together).
//!
//! # Safety
//! The functions of the row are entered with its features.
#![allow(unsafe_code)]

use core::array::from_fn;

use millstream_cpu::FeatureSet;
use millstream_kernel::Crossover;
use zeroize::Zeroize;

use super::super::curve::{P256, P384, P521, Params};
use super::super::example::Example;
use super::super::field::Element;
use super::super::named::Curve;
use super::super::ops::{self, Point, Secret, narrow, widened};
use super::super::primes::{P384Field, P521Field};
use super::element::{Field, LANES};
use super::field::Fe;
use super::multiply::{add_base, base, point};
use super::point::{Affine, Projective};
use super::solinas::Eights;
use super::{AgreeLane, LanesOps, PublicLane, SignLane, VerifyLane};

/// A curve in lanes.
pub(super) trait InLanes<const N: usize>: Params<N> {
    const CURVE: Curve;
    /// Eight coordinates.
    type Elements: Field<Number = [u64; N]>;
}

impl InLanes<4> for P256 {
    const CURVE: Curve = Curve::P256;
    type Elements = Fe;
}

impl InLanes<6> for P384 {
    const CURVE: Curve = Curve::P384;
    type Elements = Eights<P384Field, 6, 8>;
}

impl InLanes<9> for P521 {
    const CURVE: Curve = Curve::P521;
    type Elements = Eights<P521Field, 9, 11>;
}

/// Returns the functions of a curve's row.
pub(super) const fn ops<C: InLanes<N>, const N: usize>() -> LanesOps {
    LanesOps {
        curve: C::CURVE,
        width: LANES,
        crossover: Crossover(&[(usize::MAX, 2)]),
        public: public::<C, N>,
        agree: agree::<C, N>,
        sign: sign::<C, N>,
        verify_vartime: verify_vartime::<C, N>,
    }
}

/// The features that these functions are compiled for.
pub(super) const REQUIRES: FeatureSet = FeatureSet::parse("avx512f,avx512ifma");

#[target_feature(enable = "avx512f,avx512ifma")]
fn public<C: InLanes<N>, const N: usize>(jobs: &mut [PublicLane<'_>]) {
    let mut scalars = scalars(jobs, |job| *narrow(&job.scalar.0));
    let points = affine::<C, N>(base::<C, C::Elements, N>(&scalars));
    scalars.zeroize();
    for (job, (x, y)) in jobs.iter_mut().zip(points) {
        job.result = Point { x: widened(&x), y: widened(&y) };
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn agree<C: InLanes<N>, const N: usize>(jobs: &mut [AgreeLane<'_>]) {
    let mut scalars = scalars(jobs, |job| *narrow(&job.scalar.0));
    let points = points::<C, _, N>(jobs, |job| job.point);
    let mut shared = affine::<C, N>(point::<C, C::Elements, N>(&scalars, &points));
    scalars.zeroize();
    for (job, (x, _)) in jobs.iter_mut().zip(&shared) {
        job.result = Secret(widened(x));
    }
    shared.iter_mut().for_each(|(x, y)| {
        x.zeroize();
        y.zeroize();
    });
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn sign<C: InLanes<N>, const N: usize>(jobs: &mut [SignLane<'_>]) {
    let mut nonces = scalars(jobs, |job| *narrow(&job.nonce.0));
    let points = affine::<C, N>(base::<C, C::Elements, N>(&nonces));
    let mut inverses = nonces.map(|nonce| Element::<C::Order, N>::new(&nonce));
    nonces.zeroize();
    Element::invert_all(&mut inverses);
    for (job, ((x, _), inverse)) in jobs.iter_mut().zip(points.iter().zip(&inverses)) {
        job.result = ops::complete::<C, N>(job.private, &job.message, x, inverse);
    }
    inverses.iter_mut().for_each(Zeroize::zeroize);
}

/// Everything here is public, so its time may depend on it.
#[target_feature(enable = "avx512f,avx512ifma")]
fn verify_vartime<C: InLanes<N>, const N: usize>(jobs: &mut [VerifyLane<'_>]) {
    let mut inverses = scalars(jobs, |job| *narrow(&job.pair.s)).map(|s| Element::<C::Order, N>::new(&s));
    Element::invert_all(&mut inverses);
    let (mut u1, mut u2) = ([one(); LANES], [one(); LANES]);
    for (lane, job) in jobs.iter().enumerate() {
        (u1[lane], u2[lane]) = ops::coefficients::<C, N>(&job.message, &job.pair, &inverses[lane]);
    }
    let points = points::<C, _, N>(jobs, |job| job.public);
    let sums = add_base::<C, C::Elements, N>(&point::<C, C::Elements, N>(&u2, &points), &u1);
    // SAFETY: the features are this function's own.
    let (x, z) = unsafe { (sums.x.numbers(), sums.z.numbers()) };
    for (lane, job) in jobs.iter_mut().enumerate() {
        // The quotient of two numbers is that of their forms.
        let (x, z) = (Element::from_raw(x[lane]), Element::from_raw(z[lane]));
        job.result = ops::has_x::<C, N>(&x, &z, narrow(&job.pair.r));
    }
}

/// Returns the scalars of the jobs, and ones where there is no job.
fn scalars<J, const N: usize>(jobs: &[J], scalar: impl Fn(&J) -> [u64; N]) -> [[u64; N]; LANES] {
    from_fn(|lane| jobs.get(lane).map_or(one(), &scalar))
}

/// The number one.
const fn one<const N: usize>() -> [u64; N] {
    let mut one = [0; N];
    one[0] = 1;
    one
}

/// Returns the points of the jobs, and the base point where there is no job.
#[target_feature(enable = "avx512f,avx512ifma")]
fn points<'a, C: InLanes<N>, J, const N: usize>(
    jobs: &[J],
    point: impl Fn(&J) -> &'a Point,
) -> Affine<C::Elements> {
    let base = Example::of(C::CURVE).base();
    let points: [Point; LANES] = from_fn(|lane| jobs.get(lane).map_or(base, |job| *point(job)));
    let (x, y) = (points.map(|point| *narrow(&point.x)), points.map(|point| *narrow(&point.y)));
    // SAFETY: the features are this function's own.
    unsafe { Affine { x: C::Elements::new(&x), y: C::Elements::new(&y) } }
}

/// Returns the affine coordinates as numbers. None of the points is the identity.
#[target_feature(enable = "avx512f,avx512ifma")]
fn affine<C: InLanes<N>, const N: usize>(points: Projective<C::Elements>) -> [([u64; N], [u64; N]); LANES] {
    // SAFETY: the features are this function's own.
    let (mut x, mut y, mut z) = unsafe { (points.x.numbers(), points.y.numbers(), points.z.numbers()) };
    let mut inverses = z.map(|z| Element::<C::Field, N>::new(&z));
    z.zeroize();
    Element::invert_all(&mut inverses);
    // The product of a number and an element is a number.
    let affine = from_fn(|lane| {
        let inverse = &inverses[lane];
        ((Element::from_raw(x[lane]) * *inverse).0, (Element::from_raw(y[lane]) * *inverse).0)
    });
    inverses.iter_mut().for_each(Zeroize::zeroize);
    x.zeroize();
    y.zeroize();
    affine
}

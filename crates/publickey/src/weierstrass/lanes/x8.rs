//! The kernel of eight operations of P-256 side by side.
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

use super::super::curve::P256;
use super::super::example::Example;
use super::super::field::Element;
use super::super::named::Curve;
use super::super::ops::{self, Point, Secret, narrow, widened};
use super::super::primes::{P256Field, P256Order};
use super::field::{Fe, LANES};
use super::multiply::{add_base, base, point};
use super::point::{Affine, Projective};
use super::{AgreeLane, LanesOps, PublicLane, SignLane, VerifyLane};

/// The functions of the row.
pub(super) const OPS: LanesOps =
    LanesOps { width: LANES, crossover: Crossover(&[(usize::MAX, 2)]), public, agree, sign, verify_vartime };

/// The features that these functions are compiled for.
pub(super) const REQUIRES: FeatureSet = FeatureSet::parse("avx512f,avx512ifma");

type Numbers = [[u64; 4]; LANES];

#[target_feature(enable = "avx512f,avx512ifma")]
fn public(jobs: &mut [PublicLane<'_>]) {
    let mut scalars = scalars(jobs, |job| *narrow(&job.scalar.0));
    let points = affine(base(&scalars));
    scalars.zeroize();
    for (job, (x, y)) in jobs.iter_mut().zip(points) {
        job.result = Point { x: widened(&x), y: widened(&y) };
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn agree(jobs: &mut [AgreeLane<'_>]) {
    let mut scalars = scalars(jobs, |job| *narrow(&job.scalar.0));
    let points = points(jobs, |job| job.point);
    let mut shared = affine(point(&scalars, &points));
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
fn sign(jobs: &mut [SignLane<'_>]) {
    let mut nonces = scalars(jobs, |job| *narrow(&job.nonce.0));
    let points = affine(base(&nonces));
    let mut inverses = nonces.map(|nonce| Element::<P256Order, 4>::new(&nonce));
    nonces.zeroize();
    Element::invert_all(&mut inverses);
    for (job, ((x, _), inverse)) in jobs.iter_mut().zip(points.iter().zip(&inverses)) {
        job.result = ops::complete::<P256, 4>(job.private, &job.message, x, inverse);
    }
    inverses.iter_mut().for_each(Zeroize::zeroize);
}

/// Everything here is public, so its time may depend on it.
#[target_feature(enable = "avx512f,avx512ifma")]
fn verify_vartime(jobs: &mut [VerifyLane<'_>]) {
    let mut inverses = scalars(jobs, |job| *narrow(&job.pair.s)).map(|s| Element::<P256Order, 4>::new(&s));
    Element::invert_all(&mut inverses);
    let (mut u1, mut u2) = ([[1, 0, 0, 0]; LANES], [[1, 0, 0, 0]; LANES]);
    for (lane, job) in jobs.iter().enumerate() {
        (u1[lane], u2[lane]) = ops::coefficients::<P256, 4>(&job.message, &job.pair, &inverses[lane]);
    }
    let points = points(jobs, |job| job.public);
    let sums = add_base(&point(&u2, &points), &u1);
    let (x, z) = (sums.x.numbers(), sums.z.numbers());
    for (lane, job) in jobs.iter_mut().enumerate() {
        // The quotient of two numbers is that of their forms.
        let (x, z) = (Element::from_raw(x[lane]), Element::from_raw(z[lane]));
        job.result = ops::has_x::<P256, 4>(&x, &z, narrow(&job.pair.r));
    }
}

/// Returns the scalars of the jobs, and ones where there is no job.
fn scalars<J>(jobs: &[J], scalar: impl Fn(&J) -> [u64; 4]) -> Numbers {
    from_fn(|lane| jobs.get(lane).map_or([1, 0, 0, 0], &scalar))
}

/// Returns the points of the jobs, and the base point where there is no job.
#[target_feature(enable = "avx512f,avx512ifma")]
fn points<'a, J>(jobs: &[J], point: impl Fn(&J) -> &'a Point) -> Affine {
    let base = Example::of(Curve::P256).base();
    let points: [Point; LANES] = from_fn(|lane| jobs.get(lane).map_or(base, |job| *point(job)));
    Affine {
        x: Fe::new(&points.map(|point| *narrow(&point.x))),
        y: Fe::new(&points.map(|point| *narrow(&point.y))),
    }
}

/// Returns the affine coordinates as numbers. None of the points is the identity.
#[target_feature(enable = "avx512f,avx512ifma")]
fn affine(points: Projective) -> [([u64; 4], [u64; 4]); LANES] {
    let mut inverses = points.z.numbers().map(|z| Element::<P256Field, 4>::new(&z));
    Element::invert_all(&mut inverses);
    let (mut x, mut y) = (points.x.numbers(), points.y.numbers());
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

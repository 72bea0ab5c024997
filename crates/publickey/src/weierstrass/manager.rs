//! The lane manager of the curves.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] in the manager.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use millstream_kernel::{Bound, Crossover, Kernel};

use super::key::{PrivateKey, PublicKey};
use super::lanes::{LanesOps, MOST, PublicLane};
use super::named::Curve;
use super::ops::{LIMBS, Point};

/// Many operations at once, with equal or different keys of any of the curves.
///
/// [`sign`](Lanes::sign) and [`verify`](Lanes::verify) belong to [`ecdsa`](crate::ecdsa), and [`agree`](Lanes::agree) to
/// [`ecdh`](crate::ecdh). Each curve has lanes of its own. Operations that are too few for lanes are done one
/// after another on the kernels of their keys. A job's error does not touch the others.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// The kernels of the curves, in the order of [`Curve::ALL`].
    kernels: [Bound<LanesOps>; 3],
}

/// The public key of a private one, as a job for [`Lanes::public`].
#[derive(Debug)]
pub struct PublicJob<'a> {
    key: &'a PrivateKey,
    /// The public key, once the job is done.
    pub result: Option<PublicKey>,
}

impl<'a> PublicJob<'a> {
    /// A job that is to be done.
    pub fn new(key: &'a PrivateKey) -> Self {
        PublicJob { key, result: None }
    }
}

impl Lanes {
    /// The best kernels that `features` allow.
    pub fn new(features: Features) -> Self {
        Lanes { kernels: Curve::ALL.map(|curve| curve.lanes().best(features)) }
    }

    /// The kernel given for its curve. Operations of other curves are done one after another.
    pub fn with_kernel(kernel: Bound<LanesOps>) -> Self {
        let mut lanes = Lanes::new(Features::none());
        lanes.kernels[kernel.ops().curve as usize] = kernel;
        lanes
    }

    /// The kernel in use for P-256.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel_of(Curve::P256)
    }

    /// The kernel in use for a curve.
    pub fn kernel_of(&self, curve: Curve) -> &'static Kernel {
        self.kernels[curve as usize].kernel()
    }

    /// Returns the least number of operations of P-256 for which lanes are used.
    pub fn crossover(&self) -> Crossover {
        self.ops(Curve::P256).crossover
    }

    /// Returns the functions for a curve.
    pub(crate) fn ops(&self, curve: Curve) -> &'static LanesOps {
        self.kernels[curve as usize].ops()
    }

    /// Computes the public keys of private ones, which is the greater part of making key pairs.
    pub fn public(&self, jobs: &mut [PublicJob<'_>]) {
        let curve_of = |job: &PublicJob<'_>| Some(job.key.curve());
        let group = |curve, jobs: &mut [&mut PublicJob<'_>]| {
            let none = Point { x: [0; LIMBS], y: [0; LIMBS] };
            let mut lanes: Vec<_> =
                jobs.iter().map(|job| PublicLane { scalar: &job.key.scalar, result: none }).collect();
            // SAFETY: the curve's kernel is bound.
            unsafe { (self.ops(curve).public)(&mut lanes) };
            let points = lanes.iter().map(|lane| lane.result);
            for (job, point) in jobs.iter_mut().zip(points) {
                job.result = Some(PublicKey { kernel: job.key.kernel, point });
            }
        };
        self.in_groups(jobs, curve_of, group, |job| job.result = Some(job.key.public()));
    }

    /// Gives the jobs of each curve to `group`, as many at a time as there are lanes, and the rest to `alone`.
    pub(crate) fn in_groups<'j, J>(
        &self,
        jobs: &'j mut [J],
        curve_of: impl Fn(&J) -> Option<Curve>,
        mut group: impl FnMut(Curve, &mut [&'j mut J]),
        mut alone: impl FnMut(&mut J),
    ) {
        let mut waiting = Curve::ALL.map(|_| Vec::new());
        for job in jobs {
            let Some(curve) = curve_of(job) else {
                alone(job);
                continue;
            };
            let (ops, waiting) = (self.ops(curve), &mut waiting[curve as usize]);
            if ops.width < ops.crossover.objects(0) {
                alone(job);
                continue;
            }
            if waiting.capacity() == 0 {
                waiting.reserve(MOST);
            }
            waiting.push(job);
            if waiting.len() == ops.width {
                group(curve, waiting);
                waiting.clear();
            }
        }
        for (curve, mut waiting) in Curve::ALL.into_iter().zip(waiting) {
            if waiting.len() >= self.ops(curve).crossover.objects(0) {
                group(curve, &mut waiting);
            } else {
                waiting.into_iter().for_each(&mut alone);
            }
        }
    }
}

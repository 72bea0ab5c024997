//! The lane manager of the curves.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`] in the manager.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use millstream_kernel::{Bound, Crossover, Kernel};

use super::key::{PrivateKey, PublicKey};
use super::lanes::{LanesOps, MOST, P256_LANES, PublicLane};
use super::named::Curve;
use super::ops::{LIMBS, Point};

/// Many operations at once, with equal or different keys of any of the curves.
///
/// [`sign`](Lanes::sign) and [`verify`](Lanes::verify) belong to [`ecdsa`](crate::ecdsa), and [`agree`](Lanes::agree) to
/// [`ecdh`](crate::ecdh). Those of P-256 go into lanes. Those of other curves, and those that are too few for lanes, are done one
/// after another on the kernels of their keys. A job's error does not touch the others.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    pub(crate) kernel: Bound<LanesOps>,
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
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Lanes::with_kernel(P256_LANES.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<LanesOps>) -> Self {
        Lanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of operations for which lanes are used.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Computes the public keys of private ones, which is the greater part of making key pairs.
    pub fn public(&self, jobs: &mut [PublicJob<'_>]) {
        let fits = |job: &PublicJob<'_>| job.key.curve() == Curve::P256;
        let group = |jobs: &mut [&mut PublicJob<'_>]| {
            let none = Point { x: [0; LIMBS], y: [0; LIMBS] };
            let mut lanes: Vec<_> =
                jobs.iter().map(|job| PublicLane { scalar: &job.key.scalar, result: none }).collect();
            // SAFETY: `self.kernel` is bound.
            unsafe { (self.kernel.ops().public)(&mut lanes) };
            let points = lanes.iter().map(|lane| lane.result);
            for (job, point) in jobs.iter_mut().zip(points) {
                job.result = Some(PublicKey { kernel: job.key.kernel, point });
            }
        };
        self.in_groups(jobs, fits, group, |job| job.result = Some(job.key.public()));
    }

    /// Gives the jobs that fit to `group`, as many at a time as there are lanes, and the rest to `alone`.
    pub(crate) fn in_groups<'j, J>(
        &self,
        jobs: &'j mut [J],
        fits: impl Fn(&J) -> bool,
        mut group: impl FnMut(&mut [&'j mut J]),
        mut alone: impl FnMut(&mut J),
    ) {
        let ops = self.kernel.ops();
        let fewest = ops.crossover.objects(0);
        let mut waiting = Vec::with_capacity(MOST);
        for job in jobs {
            if !fits(job) || ops.width < fewest {
                alone(job);
                continue;
            }
            waiting.push(job);
            if waiting.len() == ops.width {
                group(&mut waiting);
                waiting.clear();
            }
        }
        if waiting.len() >= fewest {
            group(&mut waiting);
        } else {
            waiting.into_iter().for_each(alone);
        }
    }
}

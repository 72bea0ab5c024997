//! Many agreements at once.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`](crate::Bound) in the manager.
#![allow(unsafe_code)]

use super::{PrivateKey, PublicKey, SharedSecret};
use crate::Error;
use crate::weierstrass::Lanes;
use crate::weierstrass::lanes::AgreeLane;
use crate::weierstrass::ops::{LIMBS, Secret};

/// A private key and that of a peer, as a job for [`Lanes::agree`].
pub struct AgreeJob<'a> {
    key: &'a PrivateKey,
    peer: &'a PublicKey,
    /// The shared secret, once the job is done, as that of [`PrivateKey::agree`]; until then [`Error::Fault`].
    pub result: Result<SharedSecret, Error>,
}

impl<'a> AgreeJob<'a> {
    /// A job that is to be done.
    pub fn new(key: &'a PrivateKey, peer: &'a PublicKey) -> Self {
        AgreeJob { key, peer, result: Err(Error::Fault) }
    }
}

impl Lanes {
    /// Computes many shared secrets.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_publickey::ecdh::{AgreeJob, Curve, Lanes, PrivateKey};
    ///
    /// let features = Features::hardware();
    /// let keys: Vec<_> = (1..12).map(|i| PrivateKey::new(features, Curve::P256, &[i; 32])).collect::<Result<_, _>>()?;
    /// let peer = keys[0].public();
    /// let mut jobs: Vec<_> = keys.iter().map(|key| AgreeJob::new(key, &peer)).collect();
    /// Lanes::new(features).agree(&mut jobs);
    /// assert_eq!(**jobs[5].result.as_ref().unwrap(), *keys[0].agree(&keys[5].public())?);
    /// # Ok::<(), millstream_publickey::Error>(())
    /// ```
    pub fn agree(&self, jobs: &mut [AgreeJob<'_>]) {
        let curve_of = |job: &AgreeJob<'_>| Some(job.key.curve()).filter(|curve| job.peer.curve() == *curve);
        let group = |curve, jobs: &mut [&mut AgreeJob<'_>]| {
            let mut lanes = Vec::with_capacity(jobs.len());
            for job in jobs.iter() {
                let (scalar, point) = (&job.key.scalar, &job.peer.point);
                lanes.push(AgreeLane { scalar, point, result: Secret([0; LIMBS]) });
            }
            // SAFETY: the curve's kernel is bound.
            unsafe { (self.ops(curve).agree)(&mut lanes) };
            let shared: Vec<_> = lanes.iter().map(|lane| SharedSecret::new(curve, &lane.result)).collect();
            for (job, shared) in jobs.iter_mut().zip(shared) {
                job.result = Ok(shared);
            }
        };
        self.in_groups(jobs, curve_of, group, |job| job.result = job.key.agree(job.peer));
    }
}

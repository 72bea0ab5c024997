//! Many signatures at once.
//!
//! # Safety
//! Each call through a kernel's functions is covered by the [`Bound`](crate::Bound) in the manager.
#![allow(unsafe_code)]

use zeroize::Zeroizing;

use super::message::Message;
use super::nonce::{Deterministic, HEDGE, Hedged};
use super::signature::{self, Signature};
use super::{PrivateKey, PublicKey};
use crate::weierstrass::lanes::{MOST, SignLane, VerifyLane};
use crate::weierstrass::ops::{LIMBS, Pair, Secret};
use crate::weierstrass::{Curve, Lanes};
use crate::{Error, Random};

/// A message to be signed, as a job for [`Lanes::sign`].
#[derive(Debug)]
pub struct SignJob<'a> {
    key: &'a PrivateKey,
    message: &'a Message<'a>,
    deterministic: bool,
    /// The signature, once the job is done; until then [`Error::Fault`].
    pub result: Result<Signature, Error>,
}

impl<'a> SignJob<'a> {
    /// A message to be signed with a hedged nonce.
    pub fn new(key: &'a PrivateKey, message: &'a Message<'a>) -> Self {
        SignJob { key, message, deterministic: false, result: Err(Error::Fault) }
    }

    /// A message to be signed with the nonce of RFC 6979.
    pub fn deterministic(key: &'a PrivateKey, message: &'a Message<'a>) -> Self {
        SignJob { deterministic: true, ..SignJob::new(key, message) }
    }

    /// Returns the nonce, hedged with these bytes if it is to be.
    fn nonce(&self, hedge: &[u8; HEDGE]) -> Secret {
        match self.deterministic {
            true => Deterministic::new(self.key, self.message).next(),
            false => Hedged::new(self.key, self.message, hedge).next(),
        }
    }

    fn alone(&mut self, random: &mut dyn Random) {
        self.result = match self.deterministic {
            true => Ok(self.key.sign_deterministic(self.message)),
            false => self.key.sign(self.message, random),
        };
    }
}

/// A signature to be verified, as a job for [`Lanes::verify`].
#[derive(Debug)]
pub struct VerifyJob<'a> {
    key: &'a PublicKey,
    message: &'a Message<'a>,
    signature: &'a [u8],
    /// The result, once the job is done, as that of [`PublicKey::verify`]; until then [`Error::Fault`].
    pub result: Result<(), Error>,
}

impl<'a> VerifyJob<'a> {
    /// A job that is to be done.
    pub fn new(key: &'a PublicKey, message: &'a Message<'a>, signature: &'a [u8]) -> Self {
        VerifyJob { key, message, signature, result: Err(Error::Fault) }
    }
}

impl Lanes {
    /// Signs many messages. A job fails only if the source of random bytes does, from which bytes are drawn for several jobs at
    /// a time.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::hash::Hash;
    /// use millstream_publickey::ecdsa::{Curve, Lanes, Message, PrivateKey, SignJob, VerifyJob};
    /// use millstream_publickey::{Error, Random};
    ///
    /// # struct System;
    /// # impl Random for System {
    /// #     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
    /// #         bytes.fill(7);
    /// #         Ok(())
    /// #     }
    /// # }
    /// let features = Features::hardware();
    /// let keys: Vec<_> = (1..12).map(|i| PrivateKey::new(features, Curve::P256, &[i; 32])).collect::<Result<_, _>>()?;
    /// let message = Message::hashed(features, Hash::Sha256, b"to be signed");
    /// let mut jobs: Vec<_> = keys.iter().map(|key| SignJob::new(key, &message)).collect();
    /// Lanes::new(features).sign(&mut jobs, &mut System);
    ///
    /// let signatures: Vec<_> = jobs.into_iter().map(|job| job.result).collect::<Result<_, _>>()?;
    /// let public: Vec<_> = keys.iter().map(PrivateKey::public).collect();
    /// let jobs = public.iter().zip(&signatures);
    /// let mut jobs: Vec<_> = jobs.map(|(key, signature)| VerifyJob::new(key, &message, signature)).collect();
    /// Lanes::new(features).verify(&mut jobs);
    /// assert!(jobs.iter().all(|job| job.result.is_ok()));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sign(&self, jobs: &mut [SignJob<'_>], random: &mut dyn Random) {
        // Both ways of doing a job draw random bytes, but never at once.
        let random = std::cell::RefCell::new(random);
        let curve_of = |job: &SignJob<'_>| Some(job.key.curve());
        let group = |curve, jobs: &mut [&mut SignJob<'_>]| self.sign_group(curve, jobs, *random.borrow_mut());
        self.in_groups(jobs, curve_of, group, |job| job.alone(*random.borrow_mut()));
    }

    fn sign_group(&self, curve: Curve, jobs: &mut [&mut SignJob<'_>], random: &mut dyn Random) {
        // One call draws the bytes for all: it may cost more than they do.
        let mut hedges = Zeroizing::new([[0; HEDGE]; MOST]);
        if jobs.iter().any(|job| !job.deterministic) {
            let drawn = random.fill(hedges[..jobs.len()].as_flattened_mut());
            if let Err(error) = drawn {
                return jobs.iter_mut().for_each(|job| job.result = Err(error));
            }
        }
        let mut lanes = Vec::with_capacity(jobs.len());
        for (job, hedge) in jobs.iter().zip(&*hedges) {
            let (private, message) = (&job.key.scalar, job.message.number(curve));
            let result = Pair { r: [0; LIMBS], s: [0; LIMBS] };
            lanes.push(SignLane { private, message, nonce: job.nonce(hedge), result });
        }
        // SAFETY: the curve's kernel is bound.
        unsafe { (self.ops(curve).sign)(&mut lanes) };
        let pairs: Vec<_> = lanes.iter().map(|lane| lane.result).collect();
        for (job, pair) in jobs.iter_mut().zip(pairs) {
            // A number that is zero, which nobody has seen yet, calls for another nonce.
            let again = || job.key.sign_deterministic(job.message);
            job.result = Ok(Signature::new(curve, &pair).unwrap_or_else(again));
        }
    }

    /// Verifies many signatures, in variable time.
    pub fn verify(&self, jobs: &mut [VerifyJob<'_>]) {
        let curve_of = |job: &VerifyJob<'_>| Some(job.key.curve());
        let group = |curve, jobs: &mut [&mut VerifyJob<'_>]| self.verify_group(curve, jobs);
        self.in_groups(jobs, curve_of, group, |job| job.result = job.key.verify(job.message, job.signature));
    }

    fn verify_group(&self, curve: Curve, jobs: &mut [&mut VerifyJob<'_>]) {
        let (mut lanes, mut owners) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
        for (owner, job) in jobs.iter_mut().enumerate() {
            let message = job.message.number(curve);
            match signature::read(curve, job.signature) {
                Ok(pair) => {
                    lanes.push(VerifyLane { public: &job.key.point, message, pair, result: false });
                    owners.push(owner);
                }
                Err(error) => job.result = Err(error),
            }
        }
        // SAFETY: the curve's kernel is bound.
        unsafe { (self.ops(curve).verify_vartime)(&mut lanes) };
        for (lane, owner) in lanes.iter().zip(owners) {
            jobs[owner].result = if lane.result { Ok(()) } else { Err(Error::Signature) };
        }
    }
}

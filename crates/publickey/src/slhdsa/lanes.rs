//! Many operations at once.

use std::fmt;

use millstream_cpu::Features;

use super::jobs::{KeyJob, SignJob, VerifyJob};
use super::message::{Choice, framed};
use super::ops::{Engine, Ops};
use super::private::PrivateKey;
use super::rows::SLH_DSA;
use super::set::{NAME, Set};
use super::sign;
use super::verify::verify_vartime;
use super::work::{Sign, Verify};
use crate::{Bound, Error, Kernel};

/// The lane manager of SLH-DSA: any number of operations in one call, each with a key and a parameter set of its own.
///
/// The hashes of one operation fill the lanes by themselves, so that a single signature is nearly as fast here as one of many.
/// Verification gains the most, because the hashes of one signature depend on one another.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::slhdsa::{KeyJob, Lanes, Scheme, Set, SignJob, VerifyJob};
///
/// let lanes = Lanes::new(Features::hardware());
/// let seeds = [[1; 48], [2; 48]];
/// let mut keys = seeds.each_ref().map(|seeds| KeyJob::new(Set::Sha2_128f, seeds));
/// lanes.keys(&mut keys);
/// let [first, second] = keys.map(|job| job.key.expect("the job has run"));
/// let keys = [first?, second?];
/// let (scheme, randomness) = (Scheme::Pure(b"a context"), [3; 16]);
/// let mut signed = keys.each_ref().map(|key| SignJob::new(key, scheme, b"a message", Some(&randomness)));
/// lanes.sign(&mut signed);
/// let signatures = signed.map(|job| job.signature.expect("the job has run"));
/// for (key, signature) in keys.iter().zip(signatures) {
///     let signature = signature?;
///     let mut jobs = [VerifyJob::new(key.public_key(), scheme, b"a message", &signature)];
///     lanes.verify(&mut jobs);
///     assert_eq!(jobs[0].verdict, Some(Ok(())));
/// }
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Lanes {
    kernel: Bound<Ops>,
    features: Features,
}

/// Signatures that are verified at once.
const VERIFIED_AT_ONCE: usize = 16;

/// Keys that are made at once.
const MADE_AT_ONCE: usize = 8;

impl Lanes {
    /// Makes a manager with the fastest kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Self::with_kernel(SLH_DSA.best(features), features)
    }

    /// Makes a manager with the given kernel. Its hashes have the fastest kernels that `features` allow.
    pub fn with_kernel(kernel: Bound<Ops>, features: Features) -> Self {
        Lanes { kernel, features }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    fn engine(&self) -> Engine {
        Engine::new(self.kernel, self.features)
    }

    /// Makes every key pair. An error of one touches no other.
    pub fn keys(&self, jobs: &mut [KeyJob<'_>]) {
        for_each_set(
            jobs,
            |job| job.set,
            |set, jobs| {
                for jobs in jobs.chunks_mut(MADE_AT_ONCE) {
                    let mut keys = Vec::with_capacity(jobs.len());
                    for job in &mut *jobs {
                        let key = PrivateKey::without_root(self.kernel, self.features, set, job.seeds);
                        job.key = key.map(|key| keys.push(key)).err().map(Err);
                    }
                    PrivateKey::make(&self.engine(), set, &mut keys);
                    let mut keys = keys.into_iter();
                    for job in jobs {
                        job.key = job.key.take().or_else(|| keys.next().map(Ok));
                    }
                }
            },
        );
    }

    /// Signs every message. An error of one touches no other.
    pub fn sign(&self, jobs: &mut [SignJob<'_>]) {
        for_each_set(
            jobs,
            |job| job.key.set(),
            |set, jobs| {
                let mut begun: Vec<Result<(Vec<u8>, Choice), Error>> = jobs
                    .iter()
                    .map(|job| {
                        let message = framed(self.features, job.scheme, job.message)?;
                        let public = job.key.public_key().as_bytes();
                        job.key.begin(&message, job.randomness.unwrap_or(&public[..set.node_len()]))
                    })
                    .collect();
                let mut works: Vec<Sign<'_>> = jobs
                    .iter()
                    .zip(&mut begun)
                    .filter_map(|(job, begun)| {
                        let (signature, choice) = begun.as_mut().ok()?;
                        Some(job.key.job(choice, signature))
                    })
                    .collect();
                sign::sign(&self.engine(), set, &mut works);
                for (job, begun) in jobs.iter_mut().zip(begun) {
                    job.signature = Some(begun.map(|(signature, _)| signature));
                }
            },
        );
    }

    /// Verifies every signature. An error of one touches no other.
    pub fn verify(&self, jobs: &mut [VerifyJob<'_>]) {
        for_each_set(
            jobs,
            |job| job.key.set(),
            |set, jobs| {
                for jobs in jobs.chunks_mut(VERIFIED_AT_ONCE) {
                    self.verify_group(set, jobs);
                }
            },
        );
    }

    fn verify_group(&self, set: Set, jobs: &mut [&mut VerifyJob<'_>]) {
        let choices: Vec<Result<Choice, Error>> = jobs
            .iter()
            .map(|job| {
                let message = framed(self.features, job.scheme, job.message)?;
                job.key.choice(&message, job.signature)
            })
            .collect();
        let mut works: Vec<Verify<'_>> = jobs
            .iter()
            .zip(&choices)
            .filter_map(|(job, choice)| Some(job.key.job(choice.as_ref().ok()?, job.signature)))
            .collect();
        verify_vartime(&self.engine(), set, &mut works);
        let valid: Vec<bool> = works.iter().map(|work| work.valid).collect();
        let mut valid = valid.into_iter();
        for (job, choice) in jobs.iter_mut().zip(&choices) {
            job.verdict = Some(match choice {
                Err(error) => Err(*error),
                Ok(_) if valid.next() == Some(true) => Ok(()),
                Ok(_) => Err(Error::Signature),
            });
        }
    }
}

/// Calls `run` with the jobs of each set.
fn for_each_set<J>(jobs: &mut [J], set_of: impl Fn(&J) -> Set, mut run: impl FnMut(Set, &mut [&mut J])) {
    for set in Set::ALL {
        let mut jobs: Vec<&mut J> = jobs.iter_mut().filter(|job| set_of(job) == set).collect();
        if !jobs.is_empty() {
            run(set, &mut jobs);
        }
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} on {}", self.kernel().name)
    }
}

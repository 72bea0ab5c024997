//! Many operations at once: the lane manager and its table of kernels.

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::sha3::Keccak;

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::jobs::{KeyJob, PublicKeyJob, SignJob, VerifyJob};
use super::keys::{self, Parse};
use super::message::{Input, Scheme};
use super::ops::{Engine, LanesOps, Ops};
use super::portable;
use super::private::PrivateKey;
use super::public::PublicKey;
use super::rows::{MESSAGE, ML_DSA, VECTOR, seed};
use super::set::{NAME, Set};
use super::sign;
use super::verify::{Verify, verify_vartime};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The most lanes that a kernel has.
pub const MAX_LANES: usize = 8;

/// The kernels for many operations of ML-DSA, best first.
pub static ML_DSA_LANES: Table<LanesOps> = Table::new(
    AlgorithmInfo {
        name: "ml-dsa-lanes",
        standing: Standing::Current,
        standard: "FIPS 204",
        key_bits: &[256],
    },
    ROWS,
    known_answer,
);

const ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512-x8",
            requires: FeatureSet::parse("avx512f,avx512bw,avx512vl,bmi2"),
            timing: Timing::Constant,
            note: "the hashes of eight operations in the lanes of Keccak",
        },
        ops: LanesOps { lanes: 8, crossover: 2, ops: arch::x86_64_avx512::OPS },
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2-x4",
            requires: FeatureSet::parse("avx2,bmi1,bmi2"),
            timing: Timing::Constant,
            note: "the hashes of four operations in the lanes of Keccak",
        },
        ops: LanesOps { lanes: 4, crossover: 2, ops: arch::x86_64_avx2::OPS },
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "one operation after another",
        },
        ops: LanesOps { lanes: 1, crossover: usize::MAX, ops: portable::OPS },
    },
];

fn known_answer(kernel: Bound<LanesOps>) -> bool {
    let lanes = Lanes { kernel, single: ML_DSA.best(Features::none()), features: Features::none() };
    let seed = seed();
    let mut jobs = [0; MAX_LANES].map(|_| KeyJob::new(Set::MlDsa65, &seed));
    lanes.keys(&mut jobs);
    let keys: Vec<PrivateKey> = jobs.into_iter().filter_map(|job| job.key).collect();
    let scheme = Scheme::Pure(&[]);
    let mut jobs: Vec<_> = keys.iter().map(|key| SignJob::new(key, scheme, MESSAGE, &[0; 32])).collect();
    lanes.sign(&mut jobs);
    let signatures: Vec<_> = jobs.into_iter().filter_map(|job| job.signature?.ok()).collect();
    let mut jobs: Vec<_> = keys
        .iter()
        .zip(&signatures)
        .map(|(key, signature)| VerifyJob::new(key.public_key(), scheme, MESSAGE, signature))
        .collect();
    lanes.verify(&mut jobs);
    jobs.len() == MAX_LANES
        && signatures.iter().all(|signature| signature.starts_with(&VECTOR))
        && jobs.iter().all(|job| job.verdict == Some(Ok(())))
}

/// The lane manager of ML-DSA: any number of operations in one call, each with a key and a parameter set of its own.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::mldsa::{KeyJob, Lanes, Scheme, Set, SignJob, VerifyJob};
///
/// let lanes = Lanes::new(Features::hardware());
/// let seeds = [[1; 32], [2; 32]];
/// let mut keys = seeds.each_ref().map(|seed| KeyJob::new(Set::MlDsa44, seed));
/// lanes.keys(&mut keys);
/// let keys = keys.map(|job| job.key.expect("the job has run"));
/// let (scheme, randomness) = (Scheme::Pure(b"a context"), [3; 32]);
/// let mut signed = keys.each_ref().map(|key| SignJob::new(key, scheme, b"a message", &randomness));
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
    kernel: Bound<LanesOps>,
    /// The kernel of keys that are made here.
    single: Bound<Ops>,
    features: Features,
}

impl Lanes {
    /// Makes a manager with the fastest kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Self::with_kernel(ML_DSA_LANES.best(features), features)
    }

    /// Makes a manager with the given kernel. Its hashes, and the keys that it makes, have the fastest kernels that `features` allow.
    pub fn with_kernel(kernel: Bound<LanesOps>, features: Features) -> Self {
        Lanes { kernel, single: ML_DSA.best(features), features }
    }

    /// The lane kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of operations for which the lanes are used.
    pub fn crossover(&self) -> usize {
        self.kernel.ops().crossover
    }

    fn engine(&self) -> Engine {
        Engine::of_lanes(self.kernel, Keccak::new(self.features))
    }

    fn width(&self) -> usize {
        self.kernel.ops().lanes
    }

    /// Makes every key pair.
    pub fn keys(&self, jobs: &mut [KeyJob<'_>]) {
        for_each_set(
            jobs,
            |job| job.set,
            |set, jobs| {
                for jobs in jobs.chunks_mut(self.width()) {
                    let of_seed = |job: &&mut KeyJob<'_>| {
                        PrivateKey::of_seed(self.single, self.features, set, job.seed)
                    };
                    let mut keys: Vec<_> = jobs.iter().map(of_seed).collect();
                    PrivateKey::make(self.engine(), set, &mut keys);
                    for (job, key) in jobs.iter_mut().zip(keys) {
                        job.key = Some(key);
                    }
                }
            },
        );
    }

    /// Expands every public key. An error of one touches no other.
    pub fn public_keys(&self, jobs: &mut [PublicKeyJob<'_>]) {
        for_each_set(
            jobs,
            |job| job.set,
            |set, jobs| {
                for jobs in jobs.chunks_mut(self.width()) {
                    for job in &mut *jobs {
                        job.key = Some(PublicKey::not_expanded(self.single, self.features, set, job.bytes));
                    }
                    let mut parses: Vec<_> = jobs
                        .iter_mut()
                        .filter_map(|job| job.key.as_mut()?.as_mut().ok())
                        .map(|key| Parse { bytes: &key.bytes, expanded: &mut key.expanded })
                        .collect();
                    keys::parse(self.engine(), set, &mut parses);
                }
            },
        );
    }

    /// Signs every message. An error of one touches no other. A lane that is through with its message takes the next one.
    pub fn sign(&self, jobs: &mut [SignJob<'_>]) {
        for_each_set(
            jobs,
            |job| job.key.set(),
            |set, jobs| {
                let inputs: Vec<_> =
                    jobs.iter().map(|job| Input::new(self.features, job.scheme, job.message)).collect();
                for (job, input) in jobs.iter_mut().zip(&inputs) {
                    let signature = input.as_ref().map(|_| vec![0; set.signature_len()]);
                    job.signature = Some(signature.map_err(|e| *e));
                }
                let mut works: Vec<_> = jobs
                    .iter_mut()
                    .zip(&inputs)
                    .filter_map(|(job, input)| {
                        let signature = job.signature.as_mut()?.as_mut().ok()?;
                        Some(job.key.job(input.as_ref().ok()?, job.randomness, signature))
                    })
                    .collect();
                sign::sign(self.engine(), set, self.width(), &mut works);
                let verdicts: Vec<Result<(), Error>> = works.into_iter().map(|work| work.verdict).collect();
                let mut verdicts = verdicts.into_iter();
                for job in jobs {
                    if let Some(Ok(_)) = job.signature
                        && let Some(Err(error)) = verdicts.next()
                    {
                        job.signature = Some(Err(error));
                    }
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
                for jobs in jobs.chunks_mut(self.width()) {
                    self.verify_group(set, jobs);
                }
            },
        );
    }

    fn verify_group(&self, set: Set, jobs: &mut [&mut VerifyJob<'_>]) {
        let inputs: Vec<_> = jobs
            .iter()
            .map(|job| {
                let input = Input::new(self.features, job.scheme, job.message)?;
                Ok((input, job.key.signature(job.signature)?))
            })
            .collect();
        let mut works: Vec<_> = jobs
            .iter()
            .zip(&inputs)
            .filter_map(|(job, input)| {
                let (input, signature) = input.as_ref().ok()?;
                Some(Verify { key: &job.key.expanded, input, signature, valid: false })
            })
            .collect();
        verify_vartime(self.engine(), set, &mut works);
        let valid: Vec<bool> = works.iter().map(|work| work.valid).collect();
        let mut valid = valid.into_iter();
        for (job, input) in jobs.iter_mut().zip(&inputs) {
            job.verdict = Some(match input {
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

//! Many operations at once: the lane manager and its table of kernels.

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::sha3::Keccak;

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::kem::{self, Decapsulate, Encapsulate};
use super::kpke::{self, Parse};
use super::ops::{Engine, LanesOps, Ops};
use super::portable;
use super::private::PrivateKey;
use super::public::{PublicKey, SharedSecret};
use super::rows::{ML_KEM, VECTOR, counting};
use super::set::{MESSAGE, NAME, SECRET, SEED, Set};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The most lanes that a kernel has.
pub const MAX_LANES: usize = 8;

/// The kernels for many operations of ML-KEM, best first.
pub static ML_KEM_LANES: Table<LanesOps> = Table::new(
    AlgorithmInfo {
        name: "ml-kem-lanes",
        standing: Standing::Current,
        standard: "FIPS 203",
        key_bits: &[512],
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
    let lanes =
        Lanes { kernel, single: ML_KEM.best(Features::none()), keccak: Keccak::new(Features::none()) };
    let (seed, message) = (counting(0), counting(64));
    let mut keys = [0; MAX_LANES].map(|_| KeyJob::new(Set::MlKem768, &seed));
    lanes.keys(&mut keys);
    let keys: Vec<PrivateKey> = keys.into_iter().filter_map(|job| job.key).collect();
    let mut jobs: Vec<_> = keys.iter().map(|key| EncapsulateJob::new(key.public_key(), &message)).collect();
    lanes.encapsulate(&mut jobs);
    let results: Vec<_> = jobs.into_iter().filter_map(|job| job.result).collect();
    let mut jobs: Vec<_> =
        keys.iter().zip(&results).map(|(key, (sent, _))| DecapsulateJob::new(key, sent)).collect();
    lanes.decapsulate(&mut jobs);
    let right = |secret: &SharedSecret| *secret.as_bytes() == VECTOR;
    keys.len() == MAX_LANES
        && results.iter().all(|(_, secret)| right(secret))
        && jobs.iter().all(|job| matches!(&job.secret, Some(Ok(secret)) if right(secret)))
}

/// A key pair to make of its seed, d and z.
pub struct KeyJob<'a> {
    /// The parameter set.
    pub set: Set,
    /// The seed.
    pub seed: &'a [u8; SEED],
    /// The key, nothing before the job has run.
    pub key: Option<PrivateKey>,
}

impl<'a> KeyJob<'a> {
    /// A key not made yet.
    pub const fn new(set: Set, seed: &'a [u8; SEED]) -> Self {
        KeyJob { set, seed, key: None }
    }
}

impl fmt::Debug for KeyJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key of {} to make", self.set)
    }
}

/// A public key to take apart and to expand.
#[derive(Debug)]
pub struct PublicKeyJob<'a> {
    /// The parameter set.
    pub set: Set,
    /// The key's encoding.
    pub bytes: &'a [u8],
    /// The key, nothing before the job has run. The errors are those of [`PublicKey::new`].
    pub key: Option<Result<PublicKey, Error>>,
}

impl<'a> PublicKeyJob<'a> {
    /// A key not expanded yet.
    pub const fn new(set: Set, bytes: &'a [u8]) -> Self {
        PublicKeyJob { set, bytes, key: None }
    }
}

/// A secret to encapsulate.
pub struct EncapsulateJob<'a> {
    /// The public key.
    pub key: &'a PublicKey,
    /// 32 random bytes, which are secret and used once.
    pub message: &'a [u8; MESSAGE],
    /// The ciphertext and the secret, nothing before the job has run.
    pub result: Option<(Vec<u8>, SharedSecret)>,
}

impl<'a> EncapsulateJob<'a> {
    /// A secret not encapsulated yet.
    pub const fn new(key: &'a PublicKey, message: &'a [u8; MESSAGE]) -> Self {
        EncapsulateJob { key, message, result: None }
    }
}

impl fmt::Debug for EncapsulateJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a secret of {} to encapsulate", self.key.set)
    }
}

/// A ciphertext to decapsulate.
#[derive(Debug)]
pub struct DecapsulateJob<'a> {
    /// The private key.
    pub key: &'a PrivateKey,
    /// The ciphertext.
    pub ciphertext: &'a [u8],
    /// The secret, nothing before the job has run. The errors are those of [`PrivateKey::decapsulate`].
    pub secret: Option<Result<SharedSecret, Error>>,
}

impl<'a> DecapsulateJob<'a> {
    /// A ciphertext not decapsulated yet.
    pub const fn new(key: &'a PrivateKey, ciphertext: &'a [u8]) -> Self {
        DecapsulateJob { key, ciphertext, secret: None }
    }
}

/// The lane manager of ML-KEM: any number of operations in one call, each with a key and a parameter set of its own.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::mlkem::{DecapsulateJob, EncapsulateJob, KeyJob, Lanes, Set};
///
/// let lanes = Lanes::new(Features::hardware());
/// let seeds = [[1; 64], [2; 64]];
/// let mut keys = seeds.each_ref().map(|seed| KeyJob::new(Set::MlKem768, seed));
/// lanes.keys(&mut keys);
/// let keys = keys.map(|job| job.key.expect("the job has run"));
/// let mut sent = keys.each_ref().map(|key| EncapsulateJob::new(key.public_key(), &[3; 32]));
/// lanes.encapsulate(&mut sent);
/// let sent = sent.map(|job| job.result.expect("the job has run"));
/// let mut received = [DecapsulateJob::new(&keys[0], &sent[0].0), DecapsulateJob::new(&keys[1], &sent[1].0)];
/// lanes.decapsulate(&mut received);
/// for (job, (_, secret)) in received.iter().zip(&sent) {
///     assert_eq!(job.secret.as_ref(), Some(&Ok(secret.clone())));
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Lanes {
    kernel: Bound<LanesOps>,
    /// The kernel of keys that are made here.
    single: Bound<Ops>,
    keccak: Keccak,
}

impl Lanes {
    /// Makes a manager with the fastest kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Self::with_kernel(ML_KEM_LANES.best(features), features)
    }

    /// Makes a manager with the given kernel. Its hashes, and the keys that it makes, have the fastest kernels that `features` allow.
    pub fn with_kernel(kernel: Bound<LanesOps>, features: Features) -> Self {
        Lanes { kernel, single: ML_KEM.best(features), keccak: Keccak::new(features) }
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
        Engine::of_lanes(self.kernel, self.keccak)
    }

    /// Calls `run` with jobs of one set, as many as there are lanes or fewer.
    fn each_group<J>(
        &self,
        jobs: &mut [J],
        set_of: impl Fn(&J) -> Set,
        mut run: impl FnMut(Set, &mut [&mut J]),
    ) {
        let lanes = self.kernel.ops().lanes;
        let alike = jobs.first().map(&set_of);
        for set in Set::ALL {
            if jobs.iter().all(|job| Some(set_of(job)) == alike) && alike != Some(set) {
                continue;
            }
            let mut jobs: Vec<&mut J> = jobs.iter_mut().filter(|job| set_of(job) == set).collect();
            for group in jobs.chunks_mut(lanes) {
                run(set, group);
            }
        }
    }

    /// Makes every key pair.
    pub fn keys(&self, jobs: &mut [KeyJob<'_>]) {
        self.each_group(
            jobs,
            |job| job.set,
            |set, jobs| {
                let mut keys: Vec<_> = jobs
                    .iter()
                    .map(|job| PrivateKey::of_seed(self.single, self.keccak, set, job.seed))
                    .collect();
                PrivateKey::make(self.engine(), set, &mut keys);
                for (job, key) in jobs.iter_mut().zip(keys) {
                    job.key = Some(key);
                }
            },
        );
    }

    /// Expands every public key. An error of one touches no other.
    pub fn public_keys(&self, jobs: &mut [PublicKeyJob<'_>]) {
        self.each_group(
            jobs,
            |job| job.set,
            |set, jobs| {
                let mut keys: Vec<_> = jobs
                    .iter()
                    .map(|job| PublicKey::unchecked(self.single, self.keccak, set, job.bytes))
                    .collect();
                let mut parses: Vec<_> = keys
                    .iter_mut()
                    .flatten()
                    .map(|key| Parse { bytes: &key.bytes, expanded: &mut key.expanded, valid: false })
                    .collect();
                kpke::parse(self.engine(), set, &mut parses);
                let verdicts: Vec<bool> = parses.into_iter().map(|parse| parse.valid).collect();
                let mut verdicts = verdicts.into_iter();
                for (job, key) in jobs.iter_mut().zip(keys) {
                    job.key = Some(match key {
                        Ok(_) if verdicts.next() != Some(true) => Err(PublicKey::not_reduced(set)),
                        other => other,
                    });
                }
            },
        );
    }

    /// Encapsulates every secret.
    pub fn encapsulate(&self, jobs: &mut [EncapsulateJob<'_>]) {
        self.each_group(
            jobs,
            |job| job.key.set,
            |set, jobs| {
                for job in &mut *jobs {
                    job.result = Some((vec![0; set.ciphertext_len()], SharedSecret([0; SECRET])));
                }
                let mut works: Vec<_> = jobs
                    .iter_mut()
                    .filter_map(|job| {
                        let (ciphertext, secret) = job.result.as_mut()?;
                        let key = &job.key.expanded;
                        Some(Encapsulate { key, message: job.message, ciphertext, secret: &mut secret.0 })
                    })
                    .collect();
                kem::encapsulate(self.engine(), set, &mut works);
            },
        );
    }

    /// Decapsulates every ciphertext. An error of one touches no other.
    pub fn decapsulate(&self, jobs: &mut [DecapsulateJob<'_>]) {
        self.each_group(
            jobs,
            |job| job.key.set(),
            |set, jobs| {
                for job in &mut *jobs {
                    let checked = job.key.ciphertext(job.ciphertext);
                    job.secret = Some(checked.map(|_| SharedSecret([0; SECRET])));
                }
                let mut works: Vec<_> = jobs
                    .iter_mut()
                    .filter_map(|job| {
                        let secret = job.secret.as_mut()?.as_mut().ok()?;
                        Some(Decapsulate {
                            key: &job.key.public.expanded,
                            private: &job.key.secret,
                            ciphertext: job.ciphertext,
                            secret: &mut secret.0,
                        })
                    })
                    .collect();
                kem::decapsulate(self.engine(), set, &mut works);
            },
        );
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} on {}", self.kernel().name)
    }
}

//! Many keys, signatures and verifications at once: the lane manager and its table of kernels.
//!
//! The hashes of a group of jobs run in the lanes of SHA-512, and the points in the lanes of this table's kernel.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

use std::fmt;

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::hash::{Digest, Hash, HashJob, HashKernel, HashLanes};
use zeroize::Zeroize;

use super::check::{self, Affine, Check, Rules};
use super::private::{PrivateKey, Secrets};
use super::public::PublicKey;
use super::scheme::{Input, Scheme, digest, reduce};
use super::{ED25519, KEY, MESSAGE, NAME, Ops, PUBLIC, SEED, SIGNATURE, SIGNED};
use crate::curve25519::scalar::Scalar;
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The lanes of every kernel.
pub const LANES: usize = 8;

/// A longer message is hashed where it lies: a copy beside its prefix would cost more than lanes save.
const COPIED_MAX: usize = 16 * 1024;

/// The functions of a kernel for many operations.
#[derive(Debug)]
pub struct LanesOps {
    /// The least number of signatures that take less time in lanes than one after another.
    sign_crossover: usize,
    /// The same for verifications.
    verify_crossover: usize,
    /// The encodings of secret scalars' multiples of the base point.
    multiply_base: unsafe fn(&[Scalar; LANES]) -> [[u8; KEY]; LANES],
    /// Returns, for each signature, true if its equation holds. The time depends on all that it is given.
    check_vartime: unsafe fn(&[Check; LANES]) -> [bool; LANES],
    /// Decodes points as ZIP 215 does. Nothing where the curve has no such point.
    decode_vartime: unsafe fn(&[[u8; KEY]; LANES]) -> [Option<Affine>; LANES],
}

/// The kernels for many operations of Ed25519, best first.
pub static ED25519_LANES: Table<LanesOps> = Table::new(
    AlgorithmInfo {
        name: "ed25519-lanes",
        standing: Standing::Current,
        standard: "RFC 8032 §5.1",
        key_bits: &[256],
    },
    ROWS,
    known_answer,
);

const ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512ifma-x8",
            requires: FeatureSet::parse("avx512f,avx512ifma"),
            timing: Timing::Constant,
            note: "eight points in 52-bit limbs; secret digits choose by permuting whole tables",
        },
        ops: LanesOps {
            sign_crossover: 2,
            verify_crossover: 2,
            multiply_base: super::arch::x86_64_avx512_lanes::multiply_base,
            check_vartime: super::arch::x86_64_avx512_lanes::check_vartime,
            decode_vartime: super::arch::x86_64_avx512_lanes::decode_vartime,
        },
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "one operation after another",
        },
        ops: LanesOps {
            sign_crossover: usize::MAX,
            verify_crossover: usize::MAX,
            multiply_base: direct_base,
            check_vartime: direct_check_vartime,
            decode_vartime: direct_decode_vartime,
        },
    },
];

fn direct_base(scalars: &[Scalar; LANES]) -> [[u8; KEY]; LANES] {
    scalars.each_ref().map(check::multiply_base)
}

fn direct_check_vartime(checks: &[Check; LANES]) -> [bool; LANES] {
    checks.each_ref().map(check::holds_vartime)
}

fn direct_decode_vartime(encoded: &[[u8; KEY]; LANES]) -> [Option<Affine>; LANES] {
    encoded.each_ref().map(Affine::decode_vartime)
}

fn known_answer(kernel: Bound<LanesOps>) -> bool {
    let answer = || {
        let lanes = Lanes::with_kernels(kernel, ED25519.best(Features::none()), Features::none());
        let mut keys = [0; LANES].map(|_| KeyJob::new(SEED));
        lanes.keys_in_lanes(&mut keys);
        let keys: Vec<PrivateKey> = keys.into_iter().filter_map(|job| job.key).collect();
        let mut signatures: Vec<_> = keys.iter().map(|key| SignJob::new(key, MESSAGE)).collect();
        lanes.sign_in_lanes(&mut signatures);
        let mut publics = [0; LANES].map(|_| PublicKeyJob::new(PUBLIC));
        lanes.public_keys_in_lanes(&mut publics);
        let publics: Vec<PublicKey> = publics.into_iter().filter_map(|job| job.key?.ok()).collect();
        let mut checks: Vec<_> =
            publics.iter().map(|public| VerifyJob::new(public, MESSAGE, SIGNED)).collect();
        lanes.verify_in_lanes(&mut checks);
        let signed = signatures.iter().all(|job| job.signature == Some(Ok(*SIGNED)));
        let verified = checks.iter().all(|job| job.verdict == Some(Ok(())));
        Ok::<_, Error>(
            keys.len() == LANES && keys.iter().all(|key| key.public == *PUBLIC) && signed && verified,
        )
    };
    answer().unwrap_or(false)
}

/// A key to make of its seed.
pub struct KeyJob<'a> {
    /// The private key's 32 bytes.
    pub seed: &'a [u8; KEY],
    /// The key, nothing before the job has run.
    pub key: Option<PrivateKey>,
}

impl<'a> KeyJob<'a> {
    /// A key not made yet.
    pub const fn new(seed: &'a [u8; KEY]) -> Self {
        KeyJob { seed, key: None }
    }
}

impl fmt::Debug for KeyJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a seed of {NAME}, and its key: {:?}", self.key)
    }
}

/// A public key to take from its bytes.
#[derive(Debug)]
pub struct PublicKeyJob<'a> {
    /// The public key's 32 bytes.
    pub bytes: &'a [u8; KEY],
    /// The rules: [`PublicKey::new`] is strict, and [`PublicKey::new_zip215`] takes every encoding.
    pub rules: Rules,
    /// The key, nothing before the job has run. The errors are those of the two functions.
    pub key: Option<Result<PublicKey, Error>>,
}

impl<'a> PublicKeyJob<'a> {
    /// A key not decoded yet, for strict rules.
    pub const fn new(bytes: &'a [u8; KEY]) -> Self {
        PublicKeyJob { bytes, rules: Rules::Strict, key: None }
    }
}

/// A message to sign, with its signature after that.
#[derive(Debug)]
pub struct SignJob<'a> {
    /// The private key.
    pub key: &'a PrivateKey,
    /// The scheme.
    pub scheme: Scheme<'a>,
    /// The message.
    pub message: &'a [u8],
    /// The result, nothing before the job has run. The errors are those of [`PrivateKey::sign_by`].
    pub signature: Option<Result<[u8; SIGNATURE], Error>>,
}

impl<'a> SignJob<'a> {
    /// A message not signed yet, for Ed25519 without a context.
    pub const fn new(key: &'a PrivateKey, message: &'a [u8]) -> Self {
        SignJob { key, scheme: Scheme::Pure, message, signature: None }
    }
}

/// A signature to verify, with its verdict after that.
#[derive(Debug)]
pub struct VerifyJob<'a> {
    /// The public key.
    pub key: &'a PublicKey,
    /// The rules.
    pub rules: Rules,
    /// The scheme.
    pub scheme: Scheme<'a>,
    /// The message.
    pub message: &'a [u8],
    /// The signature's 64 bytes.
    pub signature: &'a [u8],
    /// The verdict, nothing before the job has run. The errors are those of [`PublicKey::verify_by`].
    pub verdict: Option<Result<(), Error>>,
}

impl<'a> VerifyJob<'a> {
    /// A signature of Ed25519 not verified yet, for strict rules.
    pub const fn new(key: &'a PublicKey, message: &'a [u8], signature: &'a [u8]) -> Self {
        VerifyJob { key, rules: Rules::Strict, scheme: Scheme::Pure, message, signature, verdict: None }
    }

    /// The equation to check once k is known, which is zero here.
    fn check(&self) -> Result<Check, Error> {
        let (point, s) = self.key.split(self.rules, self.signature)?;
        Ok(Check { key: self.key.point, point: *point, k: Scalar::ZERO, s, rules: self.rules })
    }
}

/// The lane manager of Ed25519: any number of operations in one call, each with a key of its own.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_publickey::ed25519::{KeyJob, Lanes, SignJob, VerifyJob};
///
/// let lanes = Lanes::new(Features::hardware());
/// let mut keys = [KeyJob::new(&[1; 32]), KeyJob::new(&[2; 32])];
/// lanes.keys(&mut keys);
/// let keys = keys.map(|job| job.key.expect("the job has run"));
/// let mut jobs = [SignJob::new(&keys[0], b"one"), SignJob::new(&keys[1], b"two")];
/// lanes.sign(&mut jobs);
/// let [one, two] = jobs.map(|job| job.signature.expect("the job has run"));
/// let (one, two) = (one?, two?);
/// let publics = [keys[0].public_key(), keys[1].public_key()];
/// let mut jobs = [VerifyJob::new(&publics[0], b"one", &one), VerifyJob::new(&publics[1], b"one", &two)];
/// lanes.verify(&mut jobs);
/// let verified = jobs.map(|job| job.verdict.expect("the job has run").is_ok());
/// assert_eq!(verified, [true, false]);
/// # Ok::<(), millstream_publickey::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Lanes {
    kernel: Bound<LanesOps>,
    direct: Bound<Ops>,
    hash: HashKernel,
    hashes: HashLanes,
}

impl Lanes {
    /// Makes a manager with the fastest kernels that `features` allow.
    pub fn new(features: Features) -> Self {
        Self::with_kernel(ED25519_LANES.best(features), features)
    }

    /// Makes a manager with the given kernel. Hashes, and what is too little for lanes, have the fastest kernels that
    /// `features` allow.
    pub fn with_kernel(kernel: Bound<LanesOps>, features: Features) -> Self {
        Self::with_kernels(kernel, ED25519.best(features), features)
    }

    fn with_kernels(kernel: Bound<LanesOps>, direct: Bound<Ops>, features: Features) -> Self {
        let hash = HashKernel::best(features, Hash::Sha512);
        Lanes { kernel, direct, hash, hashes: HashLanes::new(features, Hash::Sha512) }
    }

    /// The lane kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of keys or signatures for which the lanes are used.
    pub fn sign_crossover(&self) -> usize {
        self.kernel.ops().sign_crossover
    }

    /// Returns the least number of verifications for which the lanes are used.
    pub fn verify_crossover(&self) -> usize {
        self.kernel.ops().verify_crossover
    }

    /// Makes every key of its seed.
    pub fn keys(&self, jobs: &mut [KeyJob<'_>]) {
        for jobs in jobs.chunks_mut(LANES) {
            if jobs.len() >= self.sign_crossover() {
                self.keys_in_lanes(jobs);
                continue;
            }
            for job in jobs {
                let secrets = Secrets::new(job.seed, &mut self.hash.digest(job.seed));
                // SAFETY: `self.direct` is bound.
                let public = unsafe { (self.direct.ops().multiply_base)(&secrets.scalar) };
                job.key = Some(PrivateKey { kernel: self.direct, hash: self.hash, secrets, public });
            }
        }
    }

    /// Takes every public key from its bytes. An error of one touches no other.
    pub fn public_keys(&self, jobs: &mut [PublicKeyJob<'_>]) {
        for jobs in jobs.chunks_mut(LANES) {
            if jobs.len() >= self.verify_crossover() {
                self.public_keys_in_lanes(jobs);
                continue;
            }
            for job in jobs {
                job.key = Some(self.public_key(job.bytes, job.rules, Affine::decode_vartime(job.bytes)));
            }
        }
    }

    /// Signs every message. An error of one touches no other.
    pub fn sign(&self, jobs: &mut [SignJob<'_>]) {
        for jobs in jobs.chunks_mut(LANES) {
            if jobs.len() >= self.sign_crossover() {
                self.sign_in_lanes(jobs);
                continue;
            }
            for job in jobs {
                job.signature = Some(job.key.sign_by(job.scheme, job.message));
            }
        }
    }

    /// Verifies every signature. A wrong one touches no other.
    pub fn verify(&self, jobs: &mut [VerifyJob<'_>]) {
        for jobs in jobs.chunks_mut(LANES) {
            if jobs.len() >= self.verify_crossover() {
                self.verify_in_lanes(jobs);
                continue;
            }
            for job in jobs {
                job.verdict = Some(job.key.verify_by(job.rules, job.scheme, job.message, job.signature));
            }
        }
    }

    /// Makes at most as many keys as there are lanes.
    fn keys_in_lanes(&self, jobs: &mut [KeyJob<'_>]) {
        let mut digests = self.digests(jobs.iter().map(|job| Some([&job.seed[..], &[], &[], &[]])));
        let mut secrets = Vec::with_capacity(LANES);
        let mut scalars = [Scalar::ZERO; LANES];
        for (lane, job) in jobs.iter().enumerate() {
            let made = Secrets::new(job.seed, &mut digests[lane]);
            scalars[lane] = made.scalar.clone();
            secrets.push(made);
        }
        let publics = self.multiply_base(&scalars);
        for ((job, secrets), public) in jobs.iter_mut().zip(secrets).zip(publics) {
            job.key = Some(PrivateKey { kernel: self.direct, hash: self.hash, secrets, public });
        }
    }

    /// Takes at most as many public keys from their bytes as there are lanes.
    fn public_keys_in_lanes(&self, jobs: &mut [PublicKeyJob<'_>]) {
        let mut encoded = [[0; KEY]; LANES];
        for (bytes, job) in encoded.iter_mut().zip(&*jobs) {
            *bytes = *job.bytes;
        }
        // SAFETY: `self.kernel` is bound.
        let points = unsafe { (self.kernel.ops().decode_vartime)(&encoded) };
        for (job, point) in jobs.iter_mut().zip(points) {
            job.key = Some(self.public_key(job.bytes, job.rules, point));
        }
    }

    fn public_key(&self, bytes: &[u8; KEY], rules: Rules, point: Option<Affine>) -> Result<PublicKey, Error> {
        let point = point.ok_or(Error::Point { algorithm: NAME })?;
        PublicKey::of_point(self.direct, self.hash, bytes, point).under(rules)
    }

    /// Signs at most as many messages as there are lanes: RFC 8032 §5.1.6.
    fn sign_in_lanes(&self, jobs: &mut [SignJob<'_>]) {
        let mut inputs = [const { None }; LANES];
        for (input, job) in inputs.iter_mut().zip(&mut *jobs) {
            match Input::new(self.hash, job.scheme, job.message) {
                Ok(prepared) => *input = Some(prepared),
                Err(error) => job.signature = Some(Err(error)),
            }
        }
        // Step 2.
        let mut digests = self.digests(jobs.iter().zip(&inputs).map(|(job, input)| {
            let input = input.as_ref()?;
            Some([input.domain(), &job.key.secrets.prefix, &[], input.message()])
        }));
        let mut scalars = [Scalar::ZERO; LANES];
        for (lane, input) in inputs.iter().enumerate() {
            if input.is_some() {
                scalars[lane] = reduce(std::mem::replace(&mut digests[lane], Digest::EMPTY));
            }
        }
        digests.iter_mut().for_each(Zeroize::zeroize);
        // Step 3.
        let points = self.multiply_base(&scalars);
        // Step 4.
        let digests = self.digests(jobs.iter().zip(&inputs).zip(&points).map(|((job, input), point)| {
            let input = input.as_ref()?;
            Some([input.domain(), point, &job.key.public, input.message()])
        }));
        for (lane, job) in jobs.iter_mut().enumerate() {
            if inputs[lane].is_some() {
                let k = reduce(digests[lane]);
                job.signature = Some(Ok(job.key.finish(&points[lane], &k, &scalars[lane])));
            }
        }
    }

    /// Verifies at most as many signatures as there are lanes.
    fn verify_in_lanes(&self, jobs: &mut [VerifyJob<'_>]) {
        let mut inputs = [const { None }; LANES];
        for (input, job) in inputs.iter_mut().zip(&mut *jobs) {
            let prepared = Input::new(self.hash, job.scheme, job.message);
            match prepared.and_then(|input| Ok((input, job.check()?))) {
                Ok(prepared) => *input = Some(prepared),
                Err(error) => job.verdict = Some(Err(error)),
            }
        }
        let digests = self.digests(jobs.iter().zip(&inputs).map(|(job, input)| {
            let (input, check) = input.as_ref()?;
            Some([input.domain(), &check.point, &job.key.bytes, input.message()])
        }));
        let mut checks = [const { Check::TRUE }; LANES];
        let mut asked = [false; LANES];
        for (lane, input) in inputs.into_iter().enumerate() {
            if let Some((_, check)) = input {
                checks[lane] = Check { k: reduce(digests[lane]), ..check };
                asked[lane] = true;
            }
        }
        // SAFETY: `self.kernel` is bound.
        let holds = unsafe { (self.kernel.ops().check_vartime)(&checks) };
        for (lane, job) in jobs.iter_mut().enumerate() {
            if asked[lane] {
                job.verdict = Some(if holds[lane] { Ok(()) } else { Err(Error::Signature) });
            }
        }
    }

    fn multiply_base(&self, scalars: &[Scalar; LANES]) -> [[u8; KEY]; LANES] {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().multiply_base)(scalars) }
    }

    /// Hashes the parts of each message, of which the last is the message itself. Where there is none, the digest is empty.
    fn digests<'m>(&self, messages: impl Iterator<Item = Option<[&'m [u8]; 4]>>) -> [Digest; LANES] {
        let mut digests = [Digest::EMPTY; LANES];
        let mut ends = [None; LANES];
        let mut joined = Vec::new();
        let messages: Vec<_> = messages.collect();
        // A buffer that grew would leave a copy of the secret prefixes behind.
        let copied = |parts: &[&[u8]; 4]| parts[3].len() <= COPIED_MAX;
        let lengths =
            messages.iter().flatten().filter(|parts| copied(parts)).map(|parts| parts.map(<[u8]>::len));
        joined.reserve_exact(lengths.flatten().sum());
        for (lane, parts) in messages.iter().enumerate() {
            match parts {
                Some(parts) if copied(parts) => {
                    let begin = joined.len();
                    parts.iter().for_each(|part| joined.extend_from_slice(part));
                    ends[lane] = Some((begin, joined.len()));
                }
                Some(parts) => digests[lane] = digest(self.hash, parts),
                None => {}
            }
        }
        let mut jobs = ends.map(|range| HashJob::new(range.map_or(&[], |(begin, end)| &joined[begin..end])));
        let mut list: Vec<_> = jobs.iter_mut().zip(ends).filter_map(|(job, end)| end.map(|_| job)).collect();
        self.hashes.digest(&mut list);
        for lane in 0..LANES {
            if ends[lane].is_some() {
                digests[lane] = jobs[lane].digest;
                jobs[lane].digest.zeroize();
            }
        }
        // The parts before a message have secrets. They are cleared byte by byte, which would take long for the messages.
        for (parts, end) in messages.iter().zip(ends) {
            if let (Some(parts), Some((begin, end))) = (parts, end) {
                joined[begin..end - parts[3].len()].zeroize();
            }
        }
        joined.fill(0);
        std::hint::black_box(&joined);
        digests
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} on {}", self.kernel().name)
    }
}

//! Many operations at once, with equal or different keys.
//!
//! Both halves of an operation are powers of their own, so that four operations fill eight lanes. Powers go together whose moduli
//! take equally many limbs. Results are verified side by side, too, and each leaves or is wiped by itself.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists only where they do.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};
use millstream_kernel::{AlgorithmInfo, Bound, Crossover, Kernel, Row, Standing, Table, Timing};
use zeroize::Zeroizing;

use super::job::{Job, LanesOps};
use super::numbers::{self, Halves, Number};
use super::public_job::PublicJob;
use super::{PrivateKey, PublicKey, example};
use crate::Error;
use crate::montgomery::{HALF, PublicPower, SecretPower, WORDS, lanes_size, power, power_public};

/// The kernels of RSA over many operations.
pub static RSA_LANES: Table<LanesOps> = Table::new(
    AlgorithmInfo {
        name: "rsa-lanes",
        standing: Standing::Current,
        standard: "RFC 8017 §5.1.2",
        key_bits: &[1024, 2048, 3072, 4096],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512ifma-x8",
            requires: FeatureSet::parse("avx512f,avx512ifma"),
            timing: Timing::Constant,
            note: "eight powers in 52-bit limbs, two for each operation; fewer than two operations go to the direct kernel",
        },
        ops: super::arch::x86_64_avx512ifma_lanes::OPS,
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "one after another, each on its key's own kernel",
        },
        ops: LanesOps {
            width: 1,
            crossover: Crossover::NEVER,
            public_crossover: Crossover::NEVER,
            secret: direct_secret,
            public: direct_public,
        },
    },
];

fn direct_secret(jobs: &mut [SecretPower<'_>]) {
    for job in jobs {
        power(job.modulus, &job.base, job.exponent, &mut job.out);
    }
}

fn direct_public(jobs: &mut [PublicPower<'_>]) {
    for job in jobs {
        power_public(job.modulus, &job.base, job.exponent, &mut job.out);
    }
}

/// Signs and decrypts many times at once.
///
/// ```no_run
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_publickey::rsa::{Job, Lanes, PrivateKey};
///
/// # fn keys() -> [PrivateKey; 2] { unimplemented!() }
/// let keys: [PrivateKey; 2] = keys();
/// let mut signatures = [[0; 256]; 2];
/// let [first, second] = &mut signatures;
/// let mut jobs = [
///     Job::sign_pkcs1(&keys[0], Hash::Sha256, b"a message", first),
///     Job::sign_pkcs1(&keys[1], Hash::Sha256, b"another", second),
/// ];
/// Lanes::new(Features::hardware()).run(&mut jobs);
/// assert_eq!([jobs[0].result, jobs[1].result], [Ok(256), Ok(256)]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    kernel: Bound<LanesOps>,
}

impl Lanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Lanes::with_kernel(RSA_LANES.best(features))
    }

    /// The kernel given.
    pub fn with_kernel(kernel: Bound<LanesOps>) -> Self {
        Lanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of operations of the same size for which lanes are used.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Runs every job that has no error yet. An error in one job does not touch the others.
    pub fn run(&self, jobs: &mut [Job<'_>]) {
        let mut order: Vec<&mut Job<'_>> = jobs.iter_mut().collect();
        order.sort_by_key(|job| sizes(job.key));
        for group in order.chunk_by_mut(|a, b| sizes(a.key) == sizes(b.key)) {
            // The powers of a group go along until eight of them are verified at once.
            for part in group.chunks_mut(self.kernel.ops().width.max(1)) {
                self.part(part);
            }
        }
    }

    /// Runs every public job that has no error yet. An error in one job does not touch the others.
    pub fn run_public(&self, jobs: &mut [PublicJob<'_>]) {
        let size = |key: &PublicKey| lanes_size(key.numbers().modulus.len());
        let mut order: Vec<&mut PublicJob<'_>> = jobs.iter_mut().collect();
        order.sort_by_key(|job| size(job.key));
        for group in order.chunk_by_mut(|a, b| size(a.key) == size(b.key)) {
            for part in group.chunks_mut(self.kernel.ops().width.max(1)) {
                self.public_part(part);
            }
        }
    }

    /// Runs public jobs of the same size, as many as there are lanes at most.
    fn public_part(&self, jobs: &mut [&mut PublicJob<'_>]) {
        let mut numbers = Zeroizing::new([[0; WORDS]; MAX_WIDTH]);
        let mut inputs = [0; MAX_WIDTH];
        let mut count = 0;
        for (i, job) in jobs.iter_mut().enumerate() {
            if job.begin(&mut numbers[count]) {
                inputs[count] = i;
                count += 1;
            }
        }
        let keys: Vec<&PublicKey> = inputs[..count].iter().map(|&i| jobs[i].key).collect();
        self.powers(&keys, &mut numbers[..count]);
        for (&i, power) in inputs[..count].iter().zip(numbers.iter()) {
            jobs[i].end(power);
        }
    }

    /// Raises numbers of the same size to their public exponents, in lanes if there are enough.
    fn powers(&self, keys: &[&PublicKey], numbers: &mut [Number]) {
        let ops = self.kernel.ops();
        if keys.len() < ops.public_crossover.objects(0) {
            for (key, number) in keys.iter().zip(numbers) {
                *number = *key.power(number);
            }
            return;
        }
        let mut lanes = Vec::with_capacity(keys.len());
        for (key, number) in keys.iter().zip(numbers.iter()) {
            let public = key.numbers();
            lanes.push(PublicPower {
                modulus: &public.modulus,
                base: *number,
                exponent: public.exponent,
                out: [0; WORDS],
            });
        }
        // SAFETY: the kernel is bound.
        unsafe { (ops.public)(&mut lanes) };
        for (lane, number) in lanes.iter().zip(numbers) {
            *number = lane.out;
        }
    }

    /// Runs jobs of the same size, as many as there are lanes at most.
    fn part(&self, jobs: &mut [&mut Job<'_>]) {
        let ops = self.kernel.ops();
        let mut numbers = Zeroizing::new([[0; WORDS]; MAX_WIDTH]);
        let mut powers = Zeroizing::new([[0; WORDS]; MAX_WIDTH]);
        let mut inputs = [0; MAX_WIDTH];
        let mut count = 0;
        for (i, job) in jobs.iter_mut().enumerate() {
            if job.begin(&mut numbers[count]) {
                inputs[count] = i;
                count += 1;
            }
        }
        // Two lanes for each operation.
        let step = (ops.width / 2).max(1);
        let mut begin = 0;
        let mut unverified = 0;
        while begin < count {
            let end = count.min(begin + step);
            if end - begin < ops.crossover.objects(0) {
                break;
            }
            let keys: Vec<&PrivateKey> = inputs[begin..end].iter().map(|&i| jobs[i].key).collect();
            self.halves(&keys, &numbers[begin..end], &mut powers[begin..end]);
            (begin, unverified) = (end, end);
        }
        let keys: Vec<&PrivateKey> = inputs[..unverified].iter().map(|&i| jobs[i].key).collect();
        let results = self.verify(&keys, &numbers[..], &mut powers[..]);
        for (lane, &i) in inputs[..count].iter().enumerate() {
            let result = match results.get(lane) {
                Some(&result) => result,
                None => jobs[i].key.power(&numbers[lane], &mut powers[lane]),
            };
            match result {
                Ok(()) => jobs[i].end(&powers[lane]),
                Err(error) => jobs[i].result = Err(error),
            }
        }
    }

    /// Computes powers in lanes, which are not verified yet.
    fn halves(&self, keys: &[&PrivateKey], numbers: &[Number], powers: &mut [Number]) {
        let mut lanes = Vec::with_capacity(2 * keys.len());
        for (key, number) in keys.iter().zip(numbers) {
            for half in [&key.secret().p, &key.secret().q] {
                let mut base = Zeroizing::new([0; HALF]);
                half.reduce(number, &mut base);
                lanes.push(SecretPower {
                    modulus: &half.prime,
                    base: *base,
                    exponent: &half.exponent,
                    out: [0; HALF],
                });
            }
        }
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().secret)(&mut lanes) };
        for ((key, lanes), power) in keys.iter().zip(lanes.as_chunks::<2>().0).zip(powers) {
            let halves = Halves { p: lanes[0].out, q: lanes[1].out };
            key.secret().join(&halves, power);
        }
    }

    /// Verifies powers, and wipes those that do not lead back to their number.
    fn verify(
        &self,
        keys: &[&PrivateKey],
        numbers: &[Number],
        powers: &mut [Number],
    ) -> Vec<Result<(), Error>> {
        let mut backs = Zeroizing::new([[0; WORDS]; MAX_WIDTH]);
        let backs = &mut backs[..keys.len()];
        backs.copy_from_slice(&powers[..keys.len()]);
        let keys: Vec<&PublicKey> = keys.iter().map(|key| key.public_key()).collect();
        self.powers(&keys, backs);
        let released = backs.iter().zip(numbers).zip(powers);
        released.map(|((back, number), power)| numbers::release(number, back, power)).collect()
    }
}

/// The most operations that are run together.
const MAX_WIDTH: usize = 8;

/// The sizes of a key's numbers for a lane kernel: of its primes, and of its modulus.
fn sizes(key: &PrivateKey) -> [usize; 2] {
    [lanes_size(key.secret().p.prime.len()), lanes_size(key.public_numbers().modulus.len())]
}

/// The power that the direct kernels are checked with, in every lane and one more.
fn known_answer(kernel: Bound<LanesOps>) -> bool {
    let Ok(key) = PrivateKey::new(Features::none(), &example::COMPONENTS) else { return false };
    let mut powers = [[0; 128]; 2 * MAX_WIDTH + 1];
    let mut jobs = powers.each_mut().map(|power| Job::raw(&key, &example::INPUT, power));
    Lanes::with_kernel(kernel).run(&mut jobs);
    let right = jobs.iter().all(|job| job.result == Ok(128));
    drop(jobs);
    right && powers.iter().all(|power| *power == example::OUTPUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault of one bit in the numbers of one job, at every position among nine.
    #[test]
    fn no_faulty_result_leaves_and_no_other_is_touched() {
        let whole = PrivateKey::new(Features::hardware(), &example::COMPONENTS).unwrap();
        for kernel in RSA_LANES.available(Features::hardware()) {
            for faulty in 0..9 {
                let mut secret = whole.rebuilt();
                let halves = [&mut secret.p.exponent, &mut secret.q.exponent, &mut secret.inverse];
                halves.into_iter().nth(faulty % 3).unwrap()[faulty % 8] ^= 1 << faulty;
                let broken = whole.with_secret(secret);
                let mut powers = [[0; 128]; 9];
                let mut i = 0;
                let mut jobs = powers.each_mut().map(|power| {
                    let key = if i == faulty { &broken } else { &whole };
                    i += 1;
                    Job::raw(key, &example::INPUT, power)
                });
                Lanes::with_kernel(kernel).run(&mut jobs);
                let results = jobs.each_ref().map(|job| job.result);
                drop(jobs);
                for i in 0..9 {
                    let right =
                        if i == faulty { (Err(Error::Fault), [0; 128]) } else { (Ok(128), example::OUTPUT) };
                    assert_eq!((results[i], powers[i]), right, "{} position {i}", kernel.kernel().name);
                }
            }
        }
    }
}

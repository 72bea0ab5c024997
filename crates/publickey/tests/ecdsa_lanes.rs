//! Many operations at once, beside the same one at a time and OpenSSL's: every number of jobs, every position, mixed keys and
//! curves, and jobs that fail.

mod nist_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::ecdh::AgreeJob;
use millstream_publickey::ecdsa::{Curve, Lanes, Message, PrivateKey, PublicJob, SignJob, VerifyJob};
use millstream_publickey::{Engine, Error, Random};
use millstream_testkit::{Ran, feature_subsets};
use nist_common::Repeatable;

/// More than three times the widest kernel.
const MOST: usize = 26;

fn keys(random: &mut Repeatable, curve: impl Fn(usize) -> Curve) -> Vec<PrivateKey> {
    (0..MOST).map(|i| PrivateKey::generate(Features::hardware(), curve(i), random).unwrap()).collect()
}

/// One job in five is of another curve.
fn mixed(i: usize) -> Curve {
    Curve::ALL[if i % 5 == 3 { 1 + i % 2 } else { 0 }]
}

#[test]
fn every_number_of_jobs() {
    let mut ran = Ran::new("p256-lanes");
    let mut random = Repeatable(millstream_testkit::Random::new(21));
    for curve in Curve::ALL {
        for kernel in curve.lanes().available(Features::hardware()) {
            let lanes = Lanes::with_kernel(kernel);
            for mixed in [false, true] {
                let keys = keys(&mut random, |i| if mixed { self::mixed(i) } else { curve });
                // Groups of the other curves are the same at their ends.
                for count in (0..=MOST).filter(|count| curve == Curve::P256 || count % 3 == 1) {
                    run(&lanes, &keys[..count], &mut random);
                    ran.kernel(&format!("{curve} {}", lanes.kernel_of(curve).name));
                }
            }
        }
        let engine: &dyn Engine = &curve.lanes();
        ran.missing(engine.kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    }
    ran.at_least(3);
}

/// Every operation with each key; every third signature and digest is damaged before it is verified.
fn run(lanes: &Lanes, keys: &[PrivateKey], random: &mut Repeatable) {
    let mut jobs: Vec<_> = keys.iter().map(PublicJob::new).collect();
    lanes.public(&mut jobs);
    let public: Vec<_> = jobs.into_iter().map(|job| job.result.unwrap()).collect();
    let digests: Vec<_> = keys.iter().map(|_| random.0.array::<32>()).collect();
    let messages: Vec<_> = digests.iter().map(|digest| Message::digest(Hash::Sha256, digest)).collect();

    let pairs = || keys.iter().zip(&messages);
    let mut jobs: Vec<_> = pairs().map(|(key, message)| SignJob::deterministic(key, message)).collect();
    lanes.sign(&mut jobs, random);
    for (job, (key, message)) in jobs.iter().zip(pairs()) {
        assert_eq!(job.result, Ok(key.sign_deterministic(message)));
    }
    let mut jobs: Vec<_> = pairs().map(|(key, message)| SignJob::new(key, message)).collect();
    lanes.sign(&mut jobs, random);
    let mut signatures: Vec<_> = jobs.into_iter().map(|job| job.result.unwrap().to_vec()).collect();
    for (i, (key, message)) in pairs().enumerate() {
        assert_eq!(key.public(), public[i]);
        public[i].verify(message, &signatures[i]).unwrap();
        if i % 3 == 1 {
            let bit = random.0.below(8 * signatures[i].len());
            signatures[i][bit / 8] ^= 1 << (bit % 8);
        }
        if i % 9 == 7 {
            signatures[i].pop();
        }
        if i % 9 == 5 {
            let half = signatures[i].len() / 2;
            signatures[i][half..].fill(if i % 2 == 0 { 0 } else { 0xff });
        }
    }
    let jobs = public.iter().zip(&messages).zip(&signatures);
    let mut jobs: Vec<_> =
        jobs.map(|((key, message), signature)| VerifyJob::new(key, message, signature)).collect();
    lanes.verify(&mut jobs);
    for (i, job) in jobs.iter().enumerate() {
        assert_eq!(job.result, public[i].verify(&messages[i], &signatures[i]), "{i}");
        let damaged = i % 3 == 1 || i % 9 == 5;
        assert_eq!(job.result.is_ok(), !damaged, "{i}");
    }

    let peers: Vec<_> = public.iter().rev().collect();
    let mut jobs: Vec<_> = keys.iter().zip(peers).map(|(key, peer)| AgreeJob::new(key, peer)).collect();
    lanes.agree(&mut jobs);
    for (i, job) in jobs.iter().enumerate() {
        let peer = &public[keys.len() - 1 - i];
        let (result, expected) = (job.result.as_deref(), keys[i].agree(peer));
        assert_eq!(result.map_err(|error| *error), expected.as_deref().map_err(|error| *error), "{i}");
        assert_eq!(result.is_ok(), keys[i].curve() == peer.curve());
    }
}

/// The last bytes of the orders, which begin with ones, but for P-256's.
const ORDERS: [(Curve, &str); 3] = [
    (Curve::P256, "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
    (Curve::P384, "c7634d81f4372ddf581a0db248b0a77aecec196accc52973"),
    (Curve::P521, "fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"),
];

/// Small scalars, the largest ones, and those that are all ones or zeros in places: each in every lane.
#[test]
fn scalars_of_every_kind() {
    let mut random = Repeatable(millstream_testkit::Random::new(22));
    for (curve, end) in ORDERS {
        let (len, end) = (curve.bytes(), millstream_testkit::hex(end));
        let mut order = vec![0xff; len - end.len()];
        order.extend(end);
        if curve == Curve::P521 {
            order[0] = 1;
        }
        let mut scalars = Vec::new();
        for small in [1u8, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64] {
            let mut scalar = vec![0; len];
            scalar[len - 1] = small;
            scalars.push(scalar);
        }
        for less in 1..=40 {
            let mut scalar = order.clone();
            let (low, borrow) = scalar[len - 1].overflowing_sub(less);
            scalar[len - 1] = low;
            scalar[len - 2] -= u8::from(borrow);
            scalars.push(scalar);
        }
        for bit in (1..curve.bits() - 1).step_by(11) {
            let mut scalar = vec![0; len];
            scalar[len - 1 - bit / 8] = 1 << (bit % 8);
            scalars.push(scalar);
        }
        let key = |scalar: &Vec<u8>| PrivateKey::new(Features::hardware(), curve, scalar).unwrap();
        let keys: Vec<_> = scalars.iter().map(key).collect();
        let offsets = if curve == Curve::P256 { 8 } else { 2 };
        for kernel in curve.lanes().available(Features::hardware()) {
            for first in 0..offsets {
                run(&Lanes::with_kernel(kernel), &keys[first..], &mut random);
            }
        }
    }
}

#[test]
fn every_subset_of_the_features_gives_the_same() {
    let key = PrivateKey::new(Features::hardware(), Curve::P256, &[9; 32]).unwrap();
    let message = Message::digest(Hash::Sha256, &[8; 32]);
    let expected = key.sign_deterministic(&message);
    let kernels = millstream_publickey::engines().iter().flat_map(|engine| engine.kernels());
    for features in feature_subsets(kernels.map(|kernel| kernel.requires)) {
        let key = PrivateKey::new(features, Curve::P256, &[9; 32]).unwrap();
        assert_eq!(key.sign_deterministic(&message), expected, "{features:?}");
        let mut jobs: Vec<_> = (0..9).map(|_| SignJob::deterministic(&key, &message)).collect();
        Lanes::new(features).sign(&mut jobs, &mut Failing(0));
        assert!(jobs.iter().all(|job| job.result == Ok(expected)), "{features:?}");
    }
}

/// A source that fails every third time.
struct Failing(usize);

impl Random for Failing {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.0 += 1;
        bytes.fill(self.0 as u8);
        if self.0.is_multiple_of(3) { Err(Error::Fault) } else { Ok(()) }
    }
}

#[test]
fn a_source_that_fails() {
    let key = PrivateKey::new(Features::hardware(), Curve::P256, &[9; 32]).unwrap();
    let message = Message::digest(Hash::Sha256, &[8; 32]);
    for kernel in Curve::P256.lanes().available(Features::hardware()) {
        let mut jobs: Vec<_> = (0..29).map(|_| SignJob::new(&key, &message)).collect();
        jobs.extend((0..3).map(|_| SignJob::deterministic(&key, &message)));
        Lanes::with_kernel(kernel).sign(&mut jobs, &mut Failing(0));
        let mut failed = 0;
        for job in &jobs {
            match &job.result {
                Ok(signature) => key.public().verify(&message, signature).unwrap(),
                Err(error) => {
                    assert_eq!(*error, Error::Fault);
                    failed += 1;
                }
            }
        }
        // The source fails for one job in three, or for one group in three: the third of four.
        assert_eq!(failed, if kernel.kernel().name == "direct-x1" { 9 } else { 8 });
    }
}

#[test]
fn known_answers_of_every_row() {
    for engine in millstream_publickey::engines() {
        for kernel in engine.kernels() {
            let expected = Features::hardware().contains(kernel.requires).then_some(true);
            assert_eq!(engine.check(Features::hardware(), kernel.name), expected, "{}", kernel.name);
        }
    }
}

//! Every lane kernel of every hash: each lane, any number of messages, equal and mixed lengths.

use std::time::Instant;

use millstream_cpu::Features;
use millstream_engines::Engine;
use millstream_engines::hash::{Digest, Hash, HashJob, HashKernel, HashLanes};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets};
use proptest::prelude::*;
use sha2::Digest as _;

/// The most lanes of any kernel.
const WIDTH: usize = 32;

fn kernels(hash: Hash) -> Vec<HashLanes> {
    let engine = match hash {
        Hash::Sha224 => "sha256-lanes",
        Hash::Sha384 | Hash::Sha512_256 => "sha512-lanes",
        Hash::Md5 => "md5-lanes",
        Hash::Sha1 => "sha1-lanes",
        Hash::Sha256 => "sha256-lanes",
        Hash::Sha512 => "sha512-lanes",
        Hash::Sha3_224 => "sha3-224-lanes",
        Hash::Sha3_256 => "sha3-256-lanes",
        Hash::Sha3_384 => "sha3-384-lanes",
        Hash::Sha3_512 => "sha3-512-lanes",
    };
    let mut kernels = HashLanes::available(Features::hardware(), hash);
    kernels.retain(|lanes| executes(engine, lanes.kernel().name));
    kernels
}

/// What RustCrypto says.
fn reference(hash: Hash, data: &[u8]) -> Vec<u8> {
    match hash {
        Hash::Md5 => ::md5::Md5::digest(data).to_vec(),
        Hash::Sha1 => ::sha1::Sha1::digest(data).to_vec(),
        Hash::Sha224 => sha2::Sha224::digest(data).to_vec(),
        Hash::Sha256 => sha2::Sha256::digest(data).to_vec(),
        Hash::Sha384 => sha2::Sha384::digest(data).to_vec(),
        Hash::Sha512 => sha2::Sha512::digest(data).to_vec(),
        Hash::Sha512_256 => sha2::Sha512_256::digest(data).to_vec(),
        Hash::Sha3_224 => sha3::Sha3_224::digest(data).to_vec(),
        Hash::Sha3_256 => sha3::Sha3_256::digest(data).to_vec(),
        Hash::Sha3_384 => sha3::Sha3_384::digest(data).to_vec(),
        Hash::Sha3_512 => sha3::Sha3_512::digest(data).to_vec(),
    }
}

fn portable(hash: Hash) -> HashKernel {
    HashKernel::named(Features::none(), hash, "portable").expect("every hash has a portable kernel")
}

/// Hashes `messages` in one call and compares each digest with the direct kernel's.
fn check(lanes: &HashLanes, direct: &HashKernel, messages: &[&[u8]]) {
    let expected: Vec<_> = messages.iter().map(|data| direct.digest(data)).collect();
    check_with(lanes, &expected, messages);
}

/// Checks the digests of messages against `expected`.
fn check_with(lanes: &HashLanes, expected: &[Digest], messages: &[&[u8]]) {
    let mut jobs: Vec<_> = messages.iter().map(|data| HashJob::new(data)).collect();
    lanes.digest(&mut jobs.iter_mut().collect::<Vec<_>>());
    for (at, job) in jobs.iter().enumerate() {
        assert_eq!(job.data, messages[at]);
        assert_eq!(
            job.digest,
            expected[at],
            "{lanes:?}, message {at} of {}, {} bytes",
            jobs.len(),
            job.data.len()
        );
    }
}

/// FIPS 180-4's and RFC 1321's "abc", alone among other messages in each lane.
#[test]
fn published_digest_in_every_lane() {
    let other = Random::new(1).bytes(3);
    for hash in Hash::ALL {
        let expected = reference(hash, b"abc");
        let mut ran = Ran::new(hash.name());
        for lanes in kernels(hash) {
            for lane in 0..WIDTH {
                let mut jobs: Vec<_> = (0..WIDTH).map(|_| HashJob::new(&other)).collect();
                jobs[lane].data = b"abc";
                lanes.digest(&mut jobs.iter_mut().collect::<Vec<_>>());
                assert_eq!(*jobs[lane].digest, *expected, "{lanes:?}, lane {lane}");
                ran.kernel(lanes.kernel().name);
            }
        }
        ran.at_least(kernels(hash).len());
    }
    for engine in engines() {
        let ran = Ran::new(engine.algorithm().name);
        ran.missing(engine.kernels().iter().map(|k| (k.name, k.requires)));
    }
}

fn engines() -> impl Iterator<Item = &'static &'static dyn Engine> {
    let ours = [
        "md5-lanes",
        "sha1-lanes",
        "sha256-lanes",
        "sha512-lanes",
        "sha3-224-lanes",
        "sha3-256-lanes",
        "sha3-384-lanes",
        "sha3-512-lanes",
    ];
    millstream_engines::engines().iter().filter(move |engine| ours.contains(&engine.algorithm().name))
}

/// Every lane has a message of its own, all of them of one length.
fn equal_lengths(hashes: &[Hash], counts: &[usize], blocks: usize, step: usize) {
    let data = Random::new(2).bytes(4096);
    for &hash in hashes {
        let (direct, kernels) = (portable(hash), kernels(hash));
        for &count in counts {
            for len in (0..blocks * hash.block_len() + 2).step_by(step) {
                let messages: Vec<_> = (0..count).map(|i| &data[i..i + len]).collect();
                // The portable code takes most of the time: it computes once what all kernels are held against.
                let expected: Vec<_> = messages.iter().map(|data| direct.digest(data)).collect();
                kernels.iter().for_each(|lanes| check_with(lanes, &expected, &messages));
            }
        }
    }
}

#[test]
fn every_length() {
    equal_lengths(&Hash::ALL, &[WIDTH + 3], 4, 1);
}

#[test]
fn every_number_of_messages() {
    let counts: Vec<_> = (1..=3 * WIDTH + 1).collect();
    equal_lengths(&Hash::ALL, &counts, 2, 61);
}

/// Fewer messages take no longer than many. Where the rounds of SHA-NI stood among wide vectors, two messages took fifty times as long as
/// sixteen.
#[test]
fn few_messages_do_not_take_longer_than_many() {
    let data = Random::new(6).bytes(512);
    let time = |lanes: &HashLanes, count: usize| {
        let mut jobs: Vec<_> = (0..count).map(|at| HashJob::new(&data[at..at + 256])).collect();
        let mut jobs: Vec<_> = jobs.iter_mut().collect();
        let once = |_| {
            let began = Instant::now();
            lanes.digest(&mut jobs);
            began.elapsed()
        };
        // The shortest of many is one that nothing has interrupted.
        (0..20).map(once).min().expect("it was tried")
    };
    for hash in Hash::ALL {
        for lanes in kernels(hash) {
            let many = time(&lanes, WIDTH);
            for count in 1..WIDTH / 2 {
                let few = time(&lanes, count);
                assert!(
                    few < 4 * many,
                    "{lanes:?}: {count} messages took {few:?}, and {WIDTH} took {many:?}"
                );
            }
        }
    }
}

#[test]
fn no_message_at_all() {
    for lanes in Hash::ALL.into_iter().flat_map(kernels) {
        lanes.digest(&mut []);
    }
}

/// Lengths that take as many blocks but have them end differently, and lengths that don't.
#[test]
fn mixed_lengths() {
    let data = Random::new(3).bytes(8192);
    for hash in Hash::ALL {
        let direct = portable(hash);
        let block = hash.block_len();
        for lanes in kernels(hash) {
            for count in 1..=3 * WIDTH + 1 {
                let within: Vec<_> =
                    (0..count).map(|i| &data[i..i + 2 * block + (29 * i) % block - block / 8]).collect();
                check(&lanes, &direct, &within);
                let across: Vec<_> = (0..count).map(|i| &data[i..i + (37 * i) % (6 * block)]).collect();
                check(&lanes, &direct, &across);
                let one_long: Vec<_> =
                    (0..count).map(|i| &data[i..][..if i == count / 2 { 4000 } else { 10 }]).collect();
                check(&lanes, &direct, &one_long);
            }
        }
    }
}

/// Once by another implementation throughout.
#[test]
fn agrees_with_rustcrypto() {
    let mut random = Random::new(4);
    for hash in Hash::ALL {
        let messages: Vec<_> = (0..150)
            .map(|_| {
                let len = random.below(3000);
                random.bytes(len)
            })
            .collect();
        for lanes in kernels(hash) {
            let mut jobs: Vec<_> = messages.iter().map(|data| HashJob::new(data)).collect();
            lanes.digest(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (job, data) in jobs.iter().zip(&messages) {
                assert_eq!(*job.digest, *reference(hash, data), "{lanes:?}, {} bytes", data.len());
            }
        }
    }
}

#[test]
fn stays_inside_its_buffers() {
    for hash in Hash::ALL {
        let direct = portable(hash);
        for len in 0..3 * hash.block_len() {
            let data = Random::new(5).bytes(len);
            let (at_end, at_start) = (Guarded::at_end(&data), Guarded::at_start(&data));
            for lanes in kernels(hash) {
                check(&lanes, &direct, &[&at_end[..]; WIDTH]);
                check(&lanes, &direct, &[&at_start[..]; WIDTH]);
                let mut ragged = [&at_end[..]; WIDTH];
                ragged[1] = &data[..len / 2];
                ragged[WIDTH - 1] = &at_start;
                check(&lanes, &direct, &ragged);
            }
        }
    }
}

#[test]
fn every_feature_subset() {
    let data = Random::new(6).bytes(1000);
    for features in feature_subsets(engines().flat_map(|engine| engine.kernels()).map(|k| k.requires)) {
        for hash in Hash::ALL {
            let lanes = HashLanes::new(features, hash);
            let direct = HashKernel::best(features, hash);
            let messages: Vec<_> = (0..WIDTH + 5).map(|i| &data[i..i + 100]).collect();
            check(&lanes, &direct, &messages);
            assert!(HashLanes::named(features, hash, lanes.kernel().name).is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_set_of_messages(
        lengths in proptest::collection::vec(prop_oneof![0usize..64, 0usize..300, 0usize..2000], 0..80),
        seed in any::<u64>(),
        hash in 0..Hash::ALL.len(),
    ) {
        let hash = Hash::ALL[hash];
        let data = Random::new(seed).bytes(2100);
        let messages: Vec<_> = lengths.iter().enumerate().map(|(i, &len)| &data[i..i + len]).collect();
        let direct = portable(hash);
        for lanes in kernels(hash) {
            check(&lanes, &direct, &messages);
        }
    }
}

/// Miri takes some milliseconds for a block. Full lanes: what they leave over goes to direct kernels,
/// of which it can't execute all.
#[test]
fn miri_equal_lengths() {
    equal_lengths(&[Hash::Sha1, Hash::Sha512, Hash::Sha3_256], &[WIDTH], 1, 119);
}

#[test]
fn miri_long_equal_lengths() {
    equal_lengths(&[Hash::Md5, Hash::Sha256], &[WIDTH], 1, 119);
}

/// Lengths of which each lane has another, of one block and of two.
#[test]
fn miri_long_mixed_lengths_of_sha256() {
    a_length_each(&[Hash::Sha256]);
}

#[test]
fn miri_long_mixed_lengths() {
    a_length_each(&[Hash::Md5, Hash::Sha1, Hash::Sha512, Hash::Sha3_256]);
}

fn a_length_each(hashes: &[Hash]) {
    let data = Random::new(7).bytes(300);
    for &hash in hashes {
        for lanes in kernels(hash) {
            let messages: Vec<_> = (0..WIDTH).map(|i| &data[i..i + 3 * i]).collect();
            check(&lanes, &portable(hash), &messages);
        }
    }
}

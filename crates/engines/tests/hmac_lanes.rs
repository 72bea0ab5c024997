//! HMAC on every lane kernel: one key or a key each, any number of messages, equal and mixed lengths.

use hmac::{KeyInit, Mac};
use millstream_cpu::Features;
use millstream_engines::Error;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::hmac::{HmacJob, HmacKey, HmacLanes};
use millstream_testkit::{Guarded, Ran, Random, cavp, executes, hex};
use proptest::prelude::*;

/// The most lanes of any kernel.
const WIDTH: usize = 32;

fn kernels(hash: Hash) -> Vec<HmacLanes> {
    let engine = match hash {
        Hash::Md5 => "md5-lanes",
        Hash::Sha1 => "sha1-lanes",
        Hash::Sha224 | Hash::Sha256 => "sha256-lanes",
        Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => "sha512-lanes",
        Hash::Sha3_224 => "sha3-224-lanes",
        Hash::Sha3_256 => "sha3-256-lanes",
        Hash::Sha3_384 => "sha3-384-lanes",
        Hash::Sha3_512 => "sha3-512-lanes",
    };
    let mut kernels = HmacLanes::available(Features::hardware(), hash);
    kernels.retain(|lanes| executes(engine, lanes.kernel().name));
    kernels
}

/// Keys of the portable kernel, so that what they are compared with is another implementation.
fn key(hash: Hash, bytes: &[u8]) -> HmacKey {
    let portable = HashKernel::named(Features::none(), hash, "portable");
    HmacKey::with_kernel(portable.expect("every hash has a portable kernel"), bytes)
}

/// What RustCrypto says.
fn reference(hash: Hash, key: &[u8], data: &[u8]) -> Vec<u8> {
    fn tag<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
        let mut mac = <M as KeyInit>::new_from_slice(key).unwrap();
        mac.update(data);
        mac.finalize().into_bytes().to_vec()
    }
    match hash {
        Hash::Md5 => tag::<hmac::Hmac<md5::Md5>>(key, data),
        Hash::Sha1 => tag::<hmac::Hmac<sha1::Sha1>>(key, data),
        Hash::Sha224 => tag::<hmac::Hmac<sha2::Sha224>>(key, data),
        Hash::Sha256 => tag::<hmac::Hmac<sha2::Sha256>>(key, data),
        Hash::Sha384 => tag::<hmac::Hmac<sha2::Sha384>>(key, data),
        Hash::Sha512 => tag::<hmac::Hmac<sha2::Sha512>>(key, data),
        Hash::Sha512_256 => tag::<hmac::Hmac<sha2::Sha512_256>>(key, data),
        Hash::Sha3_224 => tag::<hmac::Hmac<sha3::Sha3_224>>(key, data),
        Hash::Sha3_256 => tag::<hmac::Hmac<sha3::Sha3_256>>(key, data),
        Hash::Sha3_384 => tag::<hmac::Hmac<sha3::Sha3_384>>(key, data),
        Hash::Sha3_512 => tag::<hmac::Hmac<sha3::Sha3_512>>(key, data),
    }
}

/// Signs in one call and compares each tag with the direct one.
fn check(lanes: &HmacLanes, work: &[(&HmacKey, &[u8])]) {
    let mut jobs: Vec<_> = work.iter().map(|(key, data)| HmacJob::new(key, data)).collect();
    lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
    for (at, (job, (key, data))) in jobs.iter().zip(work).enumerate() {
        let count = work.len();
        assert_eq!(job.tag, key.sign(data), "{lanes:?}, message {at} of {count}, {} bytes", data.len());
    }
}

/// RFC 2202 and RFC 4231: every case in every lane, the other lanes with another key.
#[test]
fn published_tags_in_every_lane() {
    for (hash, file, count) in [
        (Hash::Md5, "rfc-2202-md5.txt", 7),
        (Hash::Sha1, "rfc-2202-sha1.txt", 7),
        (Hash::Sha224, "rfc-4231-sha224.txt", 6),
        (Hash::Sha256, "rfc-4231-sha256.txt", 6),
        (Hash::Sha384, "rfc-4231-sha384.txt", 6),
        (Hash::Sha512, "rfc-4231-sha512.txt", 6),
    ] {
        let cases = cavp::cases(&format!("HMAC/{file}"));
        let cases: Vec<_> = cases.iter().filter(|case| case.contains_key("MD")).collect();
        assert_eq!(cases.len(), count, "{file}");
        let other = key(hash, b"another key");
        let mut ran = Ran::new(hash.name());
        for lanes in kernels(hash) {
            for case in &cases {
                let (key, data, tag) = (key(hash, &hex(&case["Key"])), hex(&case["Msg"]), hex(&case["MD"]));
                for lane in 0..WIDTH {
                    let mut jobs: Vec<_> = (0..WIDTH).map(|_| HmacJob::new(&other, &data)).collect();
                    jobs[lane].key = &key;
                    lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
                    assert_eq!(*jobs[lane].tag, *tag, "{lanes:?}, {file}, lane {lane}");
                    ran.kernel(lanes.kernel().name);
                }
            }
        }
        ran.at_least(kernels(hash).len());
    }
}

fn keys(hash: Hash, count: usize) -> Vec<HmacKey> {
    let mut random = Random::new(count as u64);
    (0..count).map(|i| key(hash, &random.bytes(1 + 11 * i % 200))).collect()
}

fn lengths_and_keys(hashes: &[Hash], counts: &[usize], step: usize) {
    let data = Random::new(1).bytes(1024);
    for &hash in hashes {
        let keys = keys(hash, 5);
        for lanes in kernels(hash) {
            for &count in counts {
                for len in (0..3 * hash.block_len()).step_by(step) {
                    let one_key: Vec<_> = (0..count).map(|i| (&keys[0], &data[i..i + len])).collect();
                    check(&lanes, &one_key);
                    let key_each: Vec<_> = (0..count).map(|i| (&keys[i % 5], &data[i..i + len])).collect();
                    check(&lanes, &key_each);
                }
            }
        }
    }
}

#[test]
fn every_length() {
    lengths_and_keys(&Hash::ALL, &[WIDTH + 3], 1);
}

#[test]
fn every_number_of_messages() {
    let counts: Vec<_> = (0..=3 * WIDTH + 1).collect();
    lengths_and_keys(&Hash::ALL, &counts, 97);
}

#[test]
fn miri_long_lengths_and_keys_of_sha1() {
    // The compression functions run in the tests of the hashes.
    lengths_and_keys(&[Hash::Sha1], &[WIDTH], 120);
}

/// The other width of words.
#[test]
fn miri_long_lengths_and_keys_of_sha512() {
    lengths_and_keys(&[Hash::Sha512], &[WIDTH], 300);
}

#[test]
fn mixed_lengths() {
    let data = Random::new(2).bytes(4096);
    for hash in Hash::ALL {
        let keys = keys(hash, 7);
        for lanes in kernels(hash) {
            for count in 1..=3 * WIDTH + 1 {
                let work: Vec<_> = (0..count)
                    .map(|i| (&keys[i % 7], &data[i..i + (41 * i) % (5 * hash.block_len())]))
                    .collect();
                check(&lanes, &work);
            }
        }
    }
}

#[test]
fn agrees_with_rustcrypto() {
    let mut random = Random::new(3);
    for hash in Hash::ALL {
        let work: Vec<_> = (0..100)
            .map(|_| {
                let lengths = (random.below(200), random.below(2000));
                (random.bytes(lengths.0), random.bytes(lengths.1))
            })
            .collect();
        let keys: Vec<_> = work.iter().map(|(bytes, _)| key(hash, bytes)).collect();
        for lanes in kernels(hash) {
            let mut jobs: Vec<_> =
                keys.iter().zip(&work).map(|(key, (_, data))| HmacJob::new(key, data)).collect();
            lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (job, (key, data)) in jobs.iter().zip(&work) {
                assert_eq!(*job.tag, *reference(hash, key, data), "{lanes:?}, {} bytes", data.len());
            }
        }
    }
}

#[test]
fn stays_inside_its_buffers() {
    for hash in Hash::ALL {
        let keys = keys(hash, 2);
        for len in 0..2 * hash.block_len() {
            let data = Random::new(4).bytes(len);
            let (at_end, at_start) = (Guarded::at_end(&data), Guarded::at_start(&data));
            for lanes in kernels(hash) {
                check(&lanes, &[(&keys[0], &at_end[..]); WIDTH]);
                let mut work = [(&keys[0], &at_start[..]); WIDTH];
                work[WIDTH - 1] = (&keys[1], &at_end);
                check(&lanes, &work);
            }
        }
    }
}

/// A key keeps the kernel under whose features it was made; lanes may have more.
#[test]
fn keys_of_every_kernel() {
    let data = Random::new(5).bytes(100);
    for hash in Hash::ALL {
        let mut direct = HashKernel::available(Features::hardware(), hash);
        direct.retain(|kernel| executes(hash.name(), kernel.kernel().name));
        let keys: Vec<_> = direct.iter().map(|kernel| HmacKey::with_kernel(*kernel, b"a key")).collect();
        let expected = reference(hash, b"a key", &data);
        for lanes in kernels(hash) {
            let mut jobs: Vec<_> =
                (0..WIDTH + 1).map(|i| HmacJob::new(&keys[i % keys.len()], &data)).collect();
            lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
            assert!(jobs.iter().all(|job| *job.tag == *expected), "{lanes:?}");
        }
    }
}

#[test]
fn truncated_tags_are_verified() {
    let key = key(Hash::Sha256, b"a key");
    let mut job = HmacJob::new(&key, b"a message");
    assert_eq!(job.verify(&[0; 16]), Err(Error::Authentication), "nothing is signed yet");
    HmacLanes::new(Features::hardware(), Hash::Sha256).sign(&mut [&mut job]);
    let tag = key.sign(b"a message");
    assert_eq!(job.verify(&tag), Ok(()));
    assert_eq!(job.verify(&tag[..12]), Ok(()));
    assert!(matches!(job.verify(&tag[..3]), Err(Error::TagLength { given: 3, .. })));
    let mut wrong = tag.to_vec();
    wrong[31] ^= 1;
    assert_eq!(job.verify(&wrong), Err(Error::Authentication));
}

#[test]
#[should_panic(expected = "a key of another hash")]
fn keys_of_another_hash_are_refused() {
    let (key, other) = (key(Hash::Sha256, b"a key"), key(Hash::Sha224, b"a key"));
    let mut jobs = [HmacJob::new(&key, b""), HmacJob::new(&other, b"")];
    HmacLanes::new(Features::hardware(), Hash::Sha256).sign(&mut jobs.each_mut());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_set_of_messages(
        work in proptest::collection::vec((0usize..4, prop_oneof![0usize..64, 0usize..300, 0usize..2000]), 0..80),
        seed in any::<u64>(),
        hash in 0usize..7,
    ) {
        let hash = Hash::ALL[hash];
        let data = Random::new(seed).bytes(2100);
        let keys = keys(hash, 4);
        let work: Vec<_> = work.iter().enumerate().map(|(i, &(key, len))| (&keys[key], &data[i..i + len])).collect();
        for lanes in kernels(hash) {
            check(&lanes, &work);
        }
    }
}

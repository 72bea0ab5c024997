//! Clients are served: operations, keys and doorbells, and invalid requests are refused.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Status};
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::hmac::HmacKey;
use millstream_engines::modes::BlockMode;
use millstream_engines::{InOut, aes};
use millstream_protocol::{
    KeyPurpose, KeyRefusal, KeyReply, KeyRequest, KeyRules, MOST_KEY_BYTES, Message, Order, Report, Secret,
};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("results_are_those_of_the_engines", results_are_those_of_the_engines),
        test("an_unknown_way_of_words_is_refused", an_unknown_way_of_words_is_refused),
        test("a_worker_that_sleeps_is_woken", a_worker_that_sleeps_is_woken),
        test("a_client_that_sleeps_is_woken", a_client_that_sleeps_is_woken),
        test("keys_live_and_end", keys_live_and_end),
        test("a_handle_is_good_for_its_grant_only", a_handle_is_good_for_its_grant_only),
        test("a_policy_is_kept", a_policy_is_kept),
    ]
}

/// Returns bytes without an obvious pattern.
pub fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(167).wrapping_add(seed) ^ (i >> 8) as u8).collect()
}

/// A worker that knew no such way and took the usual one would have its figures taken for those of the other.
fn an_unknown_way_of_words_is_refused() {
    let (mut worker, ready) = Worker::spawn(&["--queue", "generl"], Stdio::piped());
    assert!(!worker.ended().success() && ready.is_none());
    let mut said = String::new();
    worker.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("MILLSTREAM_QUEUE") && said.contains("'generl'"), "{said}");
}

fn results_are_those_of_the_engines() {
    for way in ["", "general"] {
        results_on(&["--queue", way]);
    }
}

fn results_on(options: &[&str]) {
    let worker = Worker::start(options);
    let mut client = Client::served(&worker, grant(1));
    let features = Features::hardware();
    let (key, iv) = ([7; 16], [9; 16]);
    let (cbc, gcm) =
        (client.import(Algorithm::AesCbc, false, &key), client.import(Algorithm::AesGcm, false, &key));
    let hmac = client.import(Algorithm::Sha256, false, b"a key of any length");
    client.arena.write(0, &iv);
    for len in [16, 64, 256, 1024, 8192, 100_000 / 16 * 16] {
        let data = pattern(len, 3);
        let (source, destination, mac) = (4096_u32, 512 * 1024_u32, 64_u32);
        client.arena.write(source as usize, &data);
        let word = ControlWord { source, source_len: len as u32, tag: len as u64, ..ControlWord::default() };
        let (cipher, mac_at) = (destination as usize, mac as usize);

        let encrypt = ControlWord {
            opcode: Opcode::Cipher as u8,
            algorithm: Algorithm::AesCbc as u8,
            key: cbc,
            destination,
            iv_len: 16,
            ..word
        };
        assert_eq!(client.execute(encrypt), Status::Ok);
        let mut expected = data.clone();
        let engine = aes::Cbc::new(features, &key).unwrap();
        engine.encrypt(&mut iv.clone(), InOut::in_place(&mut expected));
        assert_eq!(client.read(cipher, len), expected, "CBC of {len} bytes");

        let seal = ControlWord {
            opcode: Opcode::Aead as u8,
            algorithm: Algorithm::AesGcm as u8,
            key: gcm,
            destination,
            iv_len: 12,
            mac,
            mac_len: 16,
            ..word
        };
        assert_eq!(client.execute(seal), Status::Ok);
        let (mut expected, mut tag) = (data.clone(), [0; 16]);
        let engine = Gcm::new(features, &key).unwrap();
        engine.seal(&iv[..12], &[], InOut::in_place(&mut expected), &mut tag).unwrap();
        assert_eq!(
            (client.read(cipher, len), client.read(mac_at, 16)),
            (expected, tag.to_vec()),
            "GCM of {len} bytes"
        );

        let authenticate = ControlWord {
            opcode: Opcode::Hmac as u8,
            hash: Algorithm::Sha256 as u8,
            key: hmac,
            mac,
            mac_len: 32,
            ..word
        };
        assert_eq!(client.execute(authenticate), Status::Ok);
        let expected = HmacKey::new(features, Hash::Sha256, b"a key of any length").sign(&data);
        assert_eq!(client.read(mac_at, 32), expected.as_ref(), "HMAC of {len} bytes");
        client.arena.write(mac_at, &[0]);
        let verify = ControlWord { flags: Flags::REVERSE, ..authenticate };
        let forged = if expected.as_ref()[0] == 0 { Status::Ok } else { Status::Authentication };
        assert_eq!(client.execute(verify), forged);

        let digest = ControlWord {
            opcode: Opcode::Hash as u8,
            hash: Algorithm::Sha512 as u8,
            mac,
            mac_len: 64,
            ..word
        };
        assert_eq!(client.execute(digest), Status::Ok);
        let mut hasher = Hasher::new(features, Hash::Sha512);
        hasher.update(&data);
        assert_eq!(client.read(mac_at, 64), hasher.finish().as_ref(), "SHA-512 of {len} bytes");
    }
}

fn null(tag: u64) -> ControlWord {
    ControlWord { tag, ..ControlWord::default() }
}

fn a_worker_that_sleeps_is_woken() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    for tag in 0..20 {
        client.await_sleep();
        assert_eq!(client.execute(null(tag)), Status::Ok);
    }
    let (sleeps, counts) = worker.counts();
    let (number, counts) = &counts[0];
    assert_eq!((*number, counts.operations), (1, 20));
    assert!(sleeps >= 20 && counts.doorbells >= 20, "{sleeps} sleeps, {} doorbells", counts.doorbells);
}

fn a_client_that_sleeps_is_woken() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    let mut slept = 0;
    for tag in 0..20 {
        client.await_sleep();
        let begin = Instant::now();
        client.submit(&[null(tag)]);
        assert_eq!(client.next_asleep(Duration::from_secs(10)).tag, tag);
        assert!(begin.elapsed() < Duration::from_secs(5), "woken, not timed out");
        slept = worker.counts().1[0].1.client_wakes;
    }
    assert!(slept > 0, "no client was ever woken");
}

fn keys_live_and_end() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    let open = client.import(Algorithm::AesCbc, true, &[1; 16]);
    let closed = client.import(Algorithm::AesCbc, false, &[2; 16]);
    assert_eq!(client.export(open), [1; 16]);
    assert_eq!(client.refused(&KeyRequest::Export { handle: closed }), KeyRefusal::NotExportable);

    let generate = |exportable, algorithm: Algorithm, len| KeyRequest::Generate {
        algorithm: algorithm as u8,
        exportable,
        purpose: KeyPurpose::default(),
        len,
    };
    let made = |reply| match reply {
        Some(KeyReply::Key { handle }) => handle,
        other => panic!("{other:?}"),
    };
    let one = made(client.ask(&generate(true, Algorithm::AesGcm, 32)));
    let two = made(client.ask(&generate(true, Algorithm::AesGcm, 32)));
    assert_ne!(client.export(one), client.export(two), "random");
    let three = made(client.ask(&generate(false, Algorithm::Sha256, 64)));
    assert_eq!(client.refused(&KeyRequest::Export { handle: three }), KeyRefusal::NotExportable);

    // The generated key encrypts like its exported bytes.
    let key = client.export(one);
    let data = pattern(100, 5);
    client.arena.write(4096, &data);
    let seal = ControlWord {
        opcode: Opcode::Aead as u8,
        algorithm: Algorithm::AesGcm as u8,
        key: one,
        source: 4096,
        source_len: 100,
        destination: 8192,
        iv_len: 12,
        mac: 64,
        mac_len: 16,
        ..ControlWord::default()
    };
    assert_eq!(client.execute(seal), Status::Ok);
    let (mut expected, mut tag) = (data, [0; 16]);
    let engine = Gcm::new(Features::hardware(), &key).unwrap();
    engine.seal(&[0; 12], &[], InOut::in_place(&mut expected), &mut tag).unwrap();
    assert_eq!(client.read(8192, 100), expected);

    assert_eq!(client.ask(&KeyRequest::Destroy { handle: one }), Some(KeyReply::Destroyed {}));
    assert_eq!(client.refused(&KeyRequest::Destroy { handle: one }), KeyRefusal::NoSuchKey);
    assert_eq!(client.refused(&KeyRequest::Export { handle: one }), KeyRefusal::NoSuchKey);
    assert_eq!(client.execute(seal), Status::Key);

    // A discard has no answer, so the next answer belongs to the next request.
    let other = made(client.ask(&generate(true, Algorithm::AesGcm, 32)));
    client.keys.send(&KeyRequest::Discard { handle: other }.encode(), &[]).unwrap();
    assert_eq!(client.refused(&KeyRequest::Export { handle: other }), KeyRefusal::NoSuchKey);

    let import = |algorithm: u8, len| KeyRequest::Import {
        algorithm,
        exportable: false,
        purpose: KeyPurpose::default(),
        bytes: Secret::new(&vec![3; len]),
    };
    assert_eq!(client.refused(&import(Algorithm::AesCbc as u8, 17)), KeyRefusal::KeyLength);
    assert_eq!(client.refused(&import(Algorithm::Sha256 as u8, MOST_KEY_BYTES + 1)), KeyRefusal::KeyLength);
    assert_eq!(client.refused(&import(Algorithm::Crc32 as u8, 16)), KeyRefusal::Algorithm);
    assert_eq!(client.refused(&import(0xff, 16)), KeyRefusal::Algorithm);
    assert_eq!(client.refused(&generate(false, Algorithm::AesGcm, 0)), KeyRefusal::KeyLength);
    assert_eq!(client.refused(&generate(false, Algorithm::Sha256, u16::MAX)), KeyRefusal::KeyLength);
    client.keys.send(b"nonsense", &[]).unwrap();
    assert!(client.keys.wait(None).unwrap());
    assert!(client.keys.receive().unwrap().is_some(), "nonsense is answered too");

    for _ in 4..64 {
        client.import(Algorithm::AesCbc, false, &[4; 16]);
    }
    assert_eq!(client.refused(&import(Algorithm::AesCbc as u8, 16)), KeyRefusal::SlotsFull);
    assert_eq!(worker.counts().1[0].1.keys, 64);
}

fn a_handle_is_good_for_its_grant_only() {
    let worker = Worker::start(&[]);
    let owner = Client::served(&worker, grant(1));
    let mut other = Client::served(&worker, grant(2));
    let handle = owner.import(Algorithm::AesCbc, true, &[1; 16]);
    let encrypt = ControlWord {
        opcode: Opcode::Cipher as u8,
        algorithm: Algorithm::AesCbc as u8,
        key: handle,
        source: 4096,
        source_len: 64,
        destination: 8192,
        iv_len: 16,
        ..ControlWord::default()
    };
    let never = ControlWord { key: 0x7fff_0000, ..encrypt };
    assert_eq!(
        (other.execute(encrypt), other.execute(never)),
        (Status::Key, Status::Key),
        "not to be told apart"
    );
    for request in [KeyRequest::Export { handle }, KeyRequest::Destroy { handle }] {
        assert_eq!(other.refused(&request), KeyRefusal::NoSuchKey);
    }
    assert_eq!(owner.export(handle), [1; 16]);
}

fn a_policy_is_kept() {
    let worker = Worker::start(&[]);
    let only = 1 << Algorithm::AesGcm as u8;
    let mut client = Client::served(&worker, millstream_protocol::Grant { algorithms: only, ..grant(5) });
    client.import(Algorithm::AesGcm, false, &[1; 16]);
    let import = KeyRequest::Import {
        algorithm: Algorithm::AesCbc as u8,
        exportable: false,
        purpose: KeyPurpose::default(),
        bytes: Secret::new(&[1; 16]),
    };
    assert_eq!(client.refused(&import), KeyRefusal::Policy);
    let digest = ControlWord {
        opcode: Opcode::Hash as u8,
        hash: Algorithm::Sha256 as u8,
        mac: 64,
        mac_len: 32,
        ..ControlWord::default()
    };
    assert_eq!(client.execute(digest), Status::Policy);
    let both = only | 1 << Algorithm::Sha256 as u8 | 1 << Algorithm::AesCbc as u8;
    worker.obeys(&Order::Limit { grant: 5, weight: 3, algorithms: both, keys: KeyRules::default() }, &[]);
    assert_eq!(client.execute(digest), Status::Ok);
    client.import(Algorithm::AesCbc, false, &[1; 16]);
    assert!(matches!(
        worker.order(&Order::Limit { grant: 6, weight: 1, algorithms: both, keys: KeyRules::default() }, &[]),
        Some(Report::Failed { .. })
    ));
}

//! Keys with a purpose, and nonces that a worker makes. A client that was taken over tries its handles for
//! everything else.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Trial;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Status, Usages};
use millstream_engines::InOut;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_protocol::{Grant, KeyPurpose, KeyRefusal, KeyReply, KeyRequest, KeyRules, Order, Secret};
use millstream_shm::pair;

use crate::client::{Client, grant};
use crate::moving::move_grant;
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_key_does_what_it_was_made_for", a_key_does_what_it_was_made_for),
        test("a_given_nonce_is_refused", a_given_nonce_is_refused),
        test("no_nonce_comes_twice_over_a_move", no_nonce_comes_twice_over_a_move),
        test("a_policy_says_what_keys_may_be", a_policy_says_what_keys_may_be),
        test("what_a_purpose_can_not_be_is_refused", what_a_purpose_can_not_be_is_refused),
        test("keys_are_used_within_limits", keys_are_used_within_limits),
    ]
}

fn purpose(usages: Usages, makes_nonces: bool) -> KeyPurpose {
    KeyPurpose { usages: usages.to_bits(), makes_nonces }
}

fn import(algorithm: Algorithm, exportable: bool, purpose: KeyPurpose) -> KeyRequest {
    let bytes = Secret::new(&[7; 16]);
    KeyRequest::Import { algorithm: algorithm as u8, exportable, purpose, bytes }
}

#[track_caller]
fn made(client: &Client, request: &KeyRequest) -> u32 {
    match client.ask(request) {
        Some(KeyReply::Key { handle }) => handle,
        other => panic!("{other:?} in answer to {request:?}"),
    }
}

const DESTINATION: u32 = 8192;
const IV: u32 = 12288;
const MAC: u32 = 12352;

/// Makes a word over 64 bytes under the key.
fn word(opcode: Opcode, algorithm: Algorithm, key: u32, flags: u16) -> ControlWord {
    let (opcode, algorithm) = (opcode as u8, algorithm as u8);
    ControlWord { opcode, algorithm, key, flags, source: 4096, source_len: 64, ..ControlWord::default() }
}

fn cipher(key: u32, flags: u16) -> ControlWord {
    let word = word(Opcode::Cipher, Algorithm::AesCbc, key, flags);
    ControlWord { destination: DESTINATION, iv: IV, iv_len: 16, ..word }
}

fn mac(key: u32, flags: u16, mac_len: u8) -> ControlWord {
    let word = word(Opcode::Hmac, Algorithm::None, key, flags);
    ControlWord { hash: Algorithm::Sha256 as u8, mac: MAC, mac_len, ..word }
}

fn seal(key: u32, flags: u16) -> ControlWord {
    let word = word(Opcode::Aead, Algorithm::AesGcm, key, flags);
    ControlWord { destination: DESTINATION, iv: IV, iv_len: 12, mac: MAC, mac_len: 16, ..word }
}

fn both(opcode: Opcode, key: u32, mac_key: u32) -> ControlWord {
    let word = ControlWord { opcode: opcode as u8, mac_key, ..cipher(key, 0) };
    ControlWord { hash: Algorithm::Sha256 as u8, mac: MAC, mac_len: 32, ..word }
}

/// Tries each use that a key is not for, as a word that its client writes into the ring itself.
fn a_key_does_what_it_was_made_for() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    let reverse = Flags::REVERSE;
    let key = |algorithm, usages| made(&client, &import(algorithm, false, purpose(usages, false)));
    let encrypts = key(Algorithm::AesCbc, Usages::ENCRYPT);
    let decrypts = key(Algorithm::AesCbc, Usages::DECRYPT);
    let signs = key(Algorithm::Sha256, Usages::SIGN);
    let verifies = key(Algorithm::Sha256, Usages::VERIFY);
    let opens = key(Algorithm::AesGcm, Usages::DECRYPT);
    let wraps = key(Algorithm::AesGcm, Usages::WRAP);
    let derives = key(Algorithm::Sha256, Usages::DERIVE);
    client.arena.write(4096, &[3; 64]);
    let nothing = [0xa5; 64];
    let (chained, unchained) = (Opcode::EncryptThenMac, Opcode::MacThenDecrypt);
    for (word, status) in [
        (cipher(encrypts, reverse), Status::UsageDecrypt),
        (cipher(decrypts, 0), Status::UsageEncrypt),
        (mac(signs, reverse, 32), Status::UsageVerify),
        (mac(verifies, 0, 32), Status::UsageSign),
        // A short tag could be found byte by byte.
        (mac(verifies, reverse, 4), Status::ShortTag),
        (mac(verifies, reverse, 11), Status::ShortTag),
        (seal(opens, 0), Status::UsageEncrypt),
        (ControlWord { mac_len: 4, ..seal(opens, reverse) }, Status::ShortTag),
        (seal(opens, Flags::MAKE_NONCE), Status::UsageEncrypt),
        (seal(wraps, 0), Status::UsageEncrypt),
        (seal(wraps, reverse), Status::UsageDecrypt),
        (mac(derives, 0, 32), Status::UsageSign),
        (mac(derives, reverse, 32), Status::UsageVerify),
        (both(chained, encrypts, verifies), Status::UsageSign),
        (both(chained, decrypts, signs), Status::UsageEncrypt),
        (both(unchained, decrypts, signs), Status::UsageVerify),
        (both(unchained, encrypts, verifies), Status::UsageDecrypt),
        (ControlWord { mac_len: 11, ..both(unchained, decrypts, verifies) }, Status::ShortTag),
    ] {
        client.arena.write(DESTINATION as usize, &nothing);
        client.arena.write(MAC as usize, &nothing);
        assert_eq!(client.execute(word), status, "{word:?}");
        assert_eq!(client.read(DESTINATION as usize, 64), nothing, "{word:?}");
        assert_eq!(client.read(MAC as usize, 64), nothing, "{word:?}");
    }
    // The uses that they are for succeed.
    assert_eq!(client.execute(cipher(encrypts, 0)), Status::Ok);
    assert_eq!(client.execute(cipher(decrypts, reverse)), Status::Ok);
    assert_eq!(client.execute(mac(signs, 0, 32)), Status::Ok);
    assert_eq!(client.execute(mac(verifies, reverse, 32)), Status::Ok, "the tag that the other key produced");
    assert_eq!(client.execute(mac(verifies, reverse, 12)), Status::Ok);
    assert_eq!(client.execute(both(chained, encrypts, signs)), Status::Ok);
    assert_eq!(client.execute(seal(opens, reverse)), Status::Authentication);
}

fn a_given_nonce_is_refused() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(2));
    let seals = Usages::ENCRYPT | Usages::DECRYPT;
    let key = made(&client, &import(Algorithm::AesGcm, false, purpose(seals, true)));
    let given = client.import(Algorithm::AesGcm, false, &[7; 16]);
    let nonce = [1; 12];
    client.arena.write(IV as usize, &nonce);
    client.arena.write(4096, &[3; 64]);
    assert_eq!(client.execute(seal(key, 0)), Status::NonceGiven);
    assert_eq!(client.execute(seal(given, Flags::MAKE_NONCE)), Status::NonceMissing);
    let short = ControlWord { mac_len: 4, ..seal(key, Flags::REVERSE) };
    assert_eq!(client.execute(short), Status::ShortTag);
    assert_eq!(client.read(IV as usize, 12), nonce, "it was not touched");
    assert_eq!(client.execute(seal(key, Flags::MAKE_NONCE)), Status::Ok);
    // The result opens under the nonce that came back, which is another one.
    let back = client.read(IV as usize, 12);
    assert_ne!(back, nonce);
    let gcm = Gcm::new(Features::hardware(), &[7; 16]).unwrap();
    let mut sealed = client.read(DESTINATION as usize, 64);
    let tag: [u8; 16] = client.read(MAC as usize, 16).try_into().unwrap();
    gcm.open(&back, &[], InOut::in_place(&mut sealed), &tag).unwrap();
    assert_eq!(sealed, [3; 64]);
    let open = ControlWord { source: DESTINATION, destination: 4096, ..seal(key, Flags::REVERSE) };
    assert_eq!(client.execute(open), Status::Ok, "opening takes a nonce as ever");
    let mut counter = back.clone();
    assert_eq!(client.execute(seal(key, Flags::MAKE_NONCE)), Status::Ok);
    let next = counter.iter_mut().rev().find_map(|byte| {
        *byte = byte.wrapping_add(1);
        (*byte != 0).then_some(())
    });
    assert!(next.is_some() && client.read(IV as usize, 12) == counter, "one more than the one before");
}

/// A hundred thousand seals, many in a batch, go on while the grant moves from one worker to the other and
/// back.
fn no_nonce_comes_twice_over_a_move() {
    const OPERATIONS: u64 = 100_000;
    const DEPTH: u64 = 192;
    let workers = [Worker::start(&[]), Worker::start(&[])];
    let mut client = Client::served(&workers[0], grant(3));
    let generate = KeyRequest::Generate {
        algorithm: Algorithm::AesGcm as u8,
        exportable: false,
        purpose: purpose(Usages::ENCRYPT, true),
        len: 32,
    };
    let keys = [
        made(&client, &generate),
        made(&client, &import(Algorithm::AesGcm, false, purpose(Usages::ENCRYPT, true))),
    ];
    let place = |tag: u64| 65536 + 256 * (tag % 256) as u32;
    let word = |tag| {
        let at = place(tag);
        let word = ControlWord { source_len: 16, tag, ..seal(keys[tag as usize % 2], Flags::MAKE_NONCE) };
        ControlWord { destination: at, iv: at + 64, mac: at + 128, ..word }
    };
    let (socket, _) = pair().unwrap();
    let broker = Client::broker_side(&client, socket);
    let over = AtomicBool::new(false);
    let moves = std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            let mut moves = 0;
            while !over.load(Ordering::Relaxed) {
                move_grant(&broker, &workers[moves % 2], &workers[(moves + 1) % 2]).unwrap();
                moves += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            moves
        });
        let mut nonces = [HashSet::new(), HashSet::new()];
        let (mut next, mut done) = (0, 0);
        while done < OPERATIONS {
            while next < OPERATIONS && next - done < DEPTH {
                client.submit(&[word(next)]);
                next += 1;
            }
            let completion = client.next();
            assert_eq!(completion.status(), Some(Status::Ok));
            let nonce = client.read(place(completion.tag) as usize + 64, 12);
            assert!(nonces[completion.tag as usize % 2].insert(nonce.clone()), "{nonce:?} came twice");
            done += 1;
        }
        over.store(true, Ordering::Relaxed);
        let fixed: HashSet<_> = nonces[0].iter().map(|nonce| nonce[..4].to_vec()).collect();
        assert_eq!(fixed.len(), 1, "of a generated key a fixed field and a counter");
        mover.join().unwrap()
    });
    println!("{moves} moves");
    assert!(moves >= 3, "{moves} moves only");
}

fn a_policy_says_what_keys_may_be() {
    let worker = Worker::start(&[]);
    let rules = |forbidden: Usages, makes_nonces, keeps_keys| {
        let forbidden = forbidden.to_bits();
        KeyRules { forbidden, makes_nonces, keeps_keys, ..KeyRules::default() }
    };
    let keys = rules(Usages::DECRYPT | Usages::VERIFY, true, false);
    let client = Client::served(&worker, Grant { keys, ..grant(4) });
    let asks = |algorithm, usages, makes| import(algorithm, false, purpose(usages, makes));
    let all = Usages::NONE;
    assert_eq!(client.refused(&asks(Algorithm::Sha256, all, false)), KeyRefusal::PolicyUsages);
    assert_eq!(client.refused(&asks(Algorithm::AesCtr, all, false)), KeyRefusal::PolicyUsages);
    assert_eq!(client.refused(&asks(Algorithm::AesGcm, all, true)), KeyRefusal::PolicyUsages);
    made(&client, &asks(Algorithm::Sha256, Usages::SIGN, false));
    made(&client, &asks(Algorithm::AesGcm, Usages::ENCRYPT, true));
    let open = made(&client, &import(Algorithm::Sha256, true, purpose(Usages::SIGN, false)));
    assert_eq!(client.export(open), [7; 16]);

    // A new policy holds at once. Existing keys can't be exported any more, either.
    let keys = rules(Usages::NONE, true, true);
    let order = Order::Limit { grant: 4, weight: 1, algorithms: u128::MAX, keys };
    worker.obeys(&order, &[]);
    assert_eq!(client.refused(&KeyRequest::Export { handle: open }), KeyRefusal::PolicyExportable);
    assert_eq!(client.refused(&asks(Algorithm::AesGcm, all, false)), KeyRefusal::PolicyNonces);
    let exportable = import(Algorithm::Sha256, true, KeyPurpose::default());
    assert_eq!(client.refused(&exportable), KeyRefusal::PolicyExportable);
    made(&client, &asks(Algorithm::AesGcm, all, true));
    // A key that only opens must take the nonces of others.
    made(&client, &asks(Algorithm::AesGcm, Usages::DECRYPT, false));
}

fn what_a_purpose_can_not_be_is_refused() {
    let worker = Worker::start(&[]);
    let client = Client::served(&worker, grant(5));
    for (algorithm, usages, makes, why) in [
        (Algorithm::AesCtr, Usages::ENCRYPT, false, KeyRefusal::TwoWay),
        (Algorithm::Rc4, Usages::DECRYPT, false, KeyRefusal::TwoWay),
        (Algorithm::AesGcm, Usages::ENCRYPT, false, KeyRefusal::TwoWay),
        (Algorithm::AesGcm, Usages::VERIFY, false, KeyRefusal::Usage),
        (Algorithm::Sha256, Usages::ENCRYPT, false, KeyRefusal::Usage),
        (Algorithm::AesCbc, Usages::ENCRYPT, true, KeyRefusal::Nonces),
    ] {
        assert_eq!(client.refused(&import(algorithm, false, purpose(usages, makes))), why, "{algorithm:?}");
    }
    let unknown = KeyPurpose { usages: 1 << 7, makes_nonces: false };
    assert_eq!(client.refused(&import(Algorithm::Sha256, false, unknown)), KeyRefusal::Message);
}

/// A key is used as often as the rules say, one by one and many at once, and what is above that does nothing.
fn keys_are_used_within_limits() {
    let worker = Worker::start(&[]);
    let keys = KeyRules { key_uses: 5, uses: 8, ..KeyRules::default() };
    let mut client = Client::served(&worker, Grant { keys: keys.clone(), ..grant(6) });
    let asked = import(Algorithm::Sha256, false, KeyPurpose::default());
    let [first, second] = [made(&client, &asked), made(&client, &asked)];
    let mut run = |words: &[ControlWord]| -> Vec<Status> {
        client.submit(words);
        words.iter().map(|_| client.next().status().expect("a known one")).collect()
    };
    let spent = Status::UsesSpent;
    assert_eq!(run(&[mac(first, 0, 32); 3]), [Status::Ok; 3]);
    let many = run(&[mac(first, 0, 32); 4]);
    assert_eq!(many, [Status::Ok, Status::Ok, spent, spent]);
    assert_eq!(run(&[mac(first, 0, 32)]), [spent]);
    // The other key has uses left, and the grant has three.
    assert_eq!(run(&[mac(second, 0, 32); 4]), [Status::Ok, Status::Ok, Status::Ok, spent]);
    // Operations that use no key in a slot are not counted.
    let digest = ControlWord { key: 0, opcode: Opcode::Hash as u8, ..mac(0, 0, 32) };
    assert_eq!(run(&[digest]), [Status::Ok]);

    // New limits hold for keys that are there, and what was used stays used.
    let limit = |keys| worker.obeys(&Order::Limit { grant: 6, weight: 1, algorithms: u128::MAX, keys }, &[]);
    limit(KeyRules { uses: 0, ..keys });
    assert_eq!(run(&[mac(first, 0, 32), mac(second, 0, 32)]), [spent, Status::Ok]);
    limit(KeyRules { uses_per_s: 100, ..KeyRules::default() });
    let began = std::time::Instant::now();
    let mut done = 0;
    while began.elapsed() < Duration::from_millis(500) {
        done += run(&[mac(first, 0, 32); 16]).iter().filter(|status| **status == Status::Ok).count();
    }
    // A second's worth may come at once, and half a second brings half of that.
    let most = 100 + (began.elapsed().as_millis() / 10) as usize + 1;
    assert!((100..=most).contains(&done), "{done} of {most}");
    assert_eq!(run(&[mac(first, 0, 32); 16]).last(), Some(&Status::UsesPerSecond));
    limit(KeyRules::default());
    assert_eq!(run(&[mac(first, 0, 32); 16]), [Status::Ok; 16]);
}

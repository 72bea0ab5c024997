//! Keys with a purpose: each word against each set of usages, compared with a small model, and nonces that the accelerator
//! makes.

use std::collections::HashSet;
use std::sync::Arc;

use millstream_accelerator::{
    Arena, FlushPolicy, GrantConfig, Handle, InsertError, Key, KeySlots, LocalArena, NonceCounter, Nonces,
    PreparedKey, Purpose, slh_dsa_set,
};
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Padding, Scheme, Status, Usages};
use millstream_engines::InOut;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_publickey::slhdsa;
use millstream_testkit::keys;
use proptest::prelude::*;

use crate::case::features;
use crate::queue::{Client, Exclusive, Station, accelerator};

const LEN: u32 = 4096;
const SOURCE: u32 = 64;
const DESTINATION: u32 = 256;
const IV: u32 = 512;
const MAC: u32 = 640;
const KEY: u32 = 768;

/// A key's bytes of a length that the algorithm takes; the halves are different.
fn key_bytes(algorithm: Algorithm) -> Vec<u8> {
    let len = match algorithm {
        Algorithm::AesXts | Algorithm::ChaCha20Poly1305 | Algorithm::Ed25519 | Algorithm::X25519 => 32,
        Algorithm::AesSiv | Algorithm::Xaes256Gcm | Algorithm::Fernet => 32,
        Algorithm::P256 | Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => 32,
        Algorithm::MlKem512 | Algorithm::MlKem768 | Algorithm::MlKem1024 => 64,
        Algorithm::P384 => 48,
        _ if slh_dsa_set(algorithm).is_some() => return whole_key(algorithm),
        Algorithm::P521 => 66,
        Algorithm::Rsa => return keys::RSA_1024.to_vec(),
        Algorithm::DesEcb | Algorithm::DesCbc | Algorithm::DesCfb | Algorithm::DesMac => 24,
        _ => 16,
    };
    (1..=len).collect()
}

/// A key of SLH-DSA, whose root is that of its seeds.
fn whole_key(algorithm: Algorithm) -> Vec<u8> {
    let set = slh_dsa_set(algorithm).expect("a parameter set");
    let seeds: Vec<u8> = (1..).take(set.seeds_len()).collect();
    slhdsa::PrivateKey::from_seeds(features(), set, &seeds).expect("three seeds").to_bytes().to_vec()
}

fn is_cipher(algorithm: Algorithm) -> bool {
    Usages::of(algorithm) == (Usages::ENCRYPT | Usages::DECRYPT) && !is_aead(algorithm)
}

fn is_aead(algorithm: Algorithm) -> bool {
    Usages::has_made_nonces(algorithm) || comes_whole(algorithm)
}

/// True for an AEAD that takes an object as a whole only.
fn comes_whole(algorithm: Algorithm) -> bool {
    use Algorithm::{AesGcmSiv, AesKw, AesKwp, AesSiv, Fernet, Xaes256Gcm};
    matches!(algorithm, AesSiv | AesGcmSiv | Xaes256Gcm | Fernet | AesKw | AesKwp)
}

/// Bytes of a whole tag under a key of the algorithm; 0 where there is none.
fn tag_len(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::AesCmac | Algorithm::Md5 => 16,
        Algorithm::Fernet => 32,
        Algorithm::AesKw | Algorithm::AesKwp => 8,
        _ if is_aead(algorithm) => 16,
        Algorithm::DesMac => 8,
        Algorithm::KasumiF9 => 4,
        Algorithm::Sha1 => 20,
        Algorithm::Sha224 | Algorithm::Sha3_224 => 28,
        Algorithm::Sha256 | Algorithm::Sha512_256 | Algorithm::Sha3_256 => 32,
        Algorithm::Sha384 | Algorithm::Sha3_384 => 48,
        Algorithm::Sha512 | Algorithm::Sha3_512 => 64,
        _ => 0,
    }
}

/// Bytes of initialisation vector.
fn iv_len(algorithm: Algorithm) -> u8 {
    use Algorithm::*;
    match algorithm {
        AesCbc | AesCtr | AesCfb | AesXts | CamelliaCbc | CamelliaCtr | Sm4Cbc | Sm4Ctr => 16,
        DesCbc | DesCfb | KasumiF8 | KasumiF9 => 8,
        AesGcm | AesGcmSiv | ChaCha20Poly1305 => 12,
        Xaes256Gcm | Fernet => 24,
        AesKwp => 4,
        _ => 0,
    }
}

/// One word under one or two keys, without the handles.
#[derive(Clone, Copy, Debug)]
struct Asked {
    opcode: Opcode,
    algorithm: Algorithm,
    /// The hash of a combined operation.
    hash: Algorithm,
    reverse: bool,
    mac_len: u8,
    makes_nonce: bool,
}

impl Asked {
    fn word(&self) -> ControlWord {
        let Asked { opcode, algorithm, hash, reverse, mac_len, makes_nonce } = *self;
        let flag = |set: bool, flag| if set { flag } else { 0 };
        let has_output = !matches!(
            opcode,
            Opcode::Hmac
                | Opcode::Mac
                | Opcode::PartialMac
                | Opcode::Sign
                | Opcode::Agree
                | Opcode::PublicKey
        );
        let source_len = match opcode {
            Opcode::PublicKey => 0,
            Opcode::Agree => 32,
            _ => 48,
        };
        let is_hmac =
            opcode == Opcode::Hmac || opcode == Opcode::PartialMac && algorithm != Algorithm::AesCmac;
        let is_piece = matches!(opcode, Opcode::PartialMac | Opcode::PartialAead);
        // A key that is unwrapped tells its length itself.
        let iv_len = if algorithm == Algorithm::AesKwp && reverse { 0 } else { iv_len(algorithm) };
        ControlWord {
            opcode: opcode as u8,
            algorithm: if is_hmac { 0 } else { algorithm as u8 },
            hash: if is_hmac { algorithm as u8 } else { hash as u8 },
            flags: flag(reverse && opcode != Opcode::MacThenDecrypt, Flags::REVERSE)
                | flag(makes_nonce, Flags::MAKE_NONCE)
                | flag(is_piece, Flags::FIRST | Flags::LAST),
            iv: if iv_len > 0 { IV } else { 0 },
            iv_len,
            mac: if mac_len > 0 { MAC } else { 0 },
            mac_len,
            source: if source_len > 0 { SOURCE } else { 0 },
            source_len,
            destination: if has_output { DESTINATION } else { 0 },
            parameter: if algorithm == Algorithm::AesFf1 { 1 << 16 } else { 0 },
            tag: 5,
            ..ControlWord::default()
        }
    }
}

/// All that can be asked of keys: each algorithm's opcodes, in both directions, with short and long tags.
fn all_that_can_be_asked() -> Vec<Asked> {
    let mut all = Vec::new();
    for (algorithm, opcode, mac_len) in [
        (Algorithm::Ed25519, Opcode::Sign, 64),
        (Algorithm::Ed25519, Opcode::PublicKey, 32),
        (Algorithm::X25519, Opcode::Agree, 32),
        (Algorithm::X25519, Opcode::PublicKey, 32),
    ] {
        let (hash, reverse, makes_nonce) = (Algorithm::None, false, false);
        all.push(Asked { opcode, algorithm, hash, reverse, mac_len, makes_nonce });
    }
    for &algorithm in Algorithm::ALL {
        let opcode = match algorithm {
            _ if is_cipher(algorithm) => Opcode::Cipher,
            _ if is_aead(algorithm) => Opcode::Aead,
            Algorithm::AesCmac | Algorithm::DesMac | Algorithm::KasumiF9 => Opcode::Mac,
            _ if tag_len(algorithm) > 0 => Opcode::Hmac,
            _ => continue,
        };
        let whole = tag_len(algorithm);
        let base = Asked {
            opcode,
            algorithm,
            hash: Algorithm::None,
            reverse: false,
            mac_len: whole,
            makes_nonce: false,
        };
        for reverse in [false, true] {
            for mac_len in [4, 8, 11, 12, whole] {
                let takes = match algorithm {
                    Algorithm::ChaCha20Poly1305 | Algorithm::KasumiF9 => mac_len == whole,
                    _ if comes_whole(algorithm) => mac_len == whole,
                    Algorithm::AesGcm => mac_len != 11,
                    _ if whole == 0 => mac_len == whole,
                    _ => mac_len <= whole,
                };
                if takes {
                    all.push(Asked { reverse, mac_len, ..base });
                    if let Some(opcode) = in_pieces(opcode, algorithm) {
                        all.push(Asked { opcode, reverse, mac_len, ..base });
                    }
                }
            }
        }
        if Usages::has_made_nonces(algorithm) {
            all.push(Asked { makes_nonce: true, ..base });
        }
        if is_cipher(algorithm) && !matches!(algorithm, Algorithm::KasumiF8 | Algorithm::AesFf1) {
            for (opcode, reverse) in [(Opcode::EncryptThenMac, false), (Opcode::MacThenDecrypt, true)] {
                for mac_len in [4, 12, 32] {
                    all.push(Asked { opcode, hash: Algorithm::Sha256, reverse, mac_len, ..base });
                }
            }
        }
    }
    all
}

/// The opcode for pieces of what another does at once.
fn in_pieces(opcode: Opcode, algorithm: Algorithm) -> Option<Opcode> {
    match opcode {
        Opcode::Aead => (!comes_whole(algorithm)).then_some(Opcode::PartialAead),
        Opcode::Hmac => Some(Opcode::PartialMac),
        Opcode::Mac if algorithm == Algorithm::AesCmac => Some(Opcode::PartialMac),
        _ => None,
    }
}

/// The purpose of a key, in the words of this model.
#[derive(Clone, Copy, Debug)]
struct For {
    usages: Usages,
    made: bool,
}

/// Returns the missing usages and other objections, as statuses. A word without objections is executed.
fn objections(asked: &Asked, key: For, mac_key: For) -> Vec<Status> {
    let mut objections = Vec::new();
    let mut needs = |of: For, usage: Usages, status| {
        if !of.usages.contains(usage) {
            objections.push(status);
        }
    };
    match (asked.opcode, asked.reverse) {
        // A piece is decrypted without being verified.
        (Opcode::PartialAead, true) => {
            needs(key, Usages::ENCRYPT, Status::UsageEncrypt);
            needs(key, Usages::DECRYPT, Status::UsageDecrypt);
        }
        (Opcode::Cipher | Opcode::Aead | Opcode::PartialAead, false) => {
            needs(key, Usages::ENCRYPT, Status::UsageEncrypt)
        }
        (Opcode::Cipher | Opcode::Aead, true) => needs(key, Usages::DECRYPT, Status::UsageDecrypt),
        (Opcode::PublicKey, _) => {}
        (Opcode::Agree, _) => needs(key, Usages::DERIVE, Status::UsageDerive),
        (Opcode::Hmac | Opcode::Mac | Opcode::PartialMac | Opcode::Sign, false) => {
            needs(key, Usages::SIGN, Status::UsageSign)
        }
        (Opcode::Hmac | Opcode::Mac | Opcode::PartialMac, true) => {
            needs(key, Usages::VERIFY, Status::UsageVerify)
        }
        (Opcode::EncryptThenMac, _) => {
            needs(key, Usages::ENCRYPT, Status::UsageEncrypt);
            needs(mac_key, Usages::SIGN, Status::UsageSign);
        }
        _ => {
            needs(key, Usages::DECRYPT, Status::UsageDecrypt);
            needs(mac_key, Usages::VERIFY, Status::UsageVerify);
        }
    }
    if asked.opcode == Opcode::Aead && !asked.reverse {
        match (key.made, asked.makes_nonce) {
            (true, false) => objections.push(Status::NonceGiven),
            (false, true) => objections.push(Status::NonceMissing),
            _ => {}
        }
    }
    if asked.opcode == Opcode::PartialAead && key.made {
        objections.push(Status::NonceGiven);
    }
    let comparing = if asked.opcode == Opcode::MacThenDecrypt { mac_key } else { key };
    let produces = comparing.usages.contains(Usages::SIGN)
        || comparing.usages.contains(Usages::ENCRYPT) && !comparing.made;
    let whole = if asked.opcode == Opcode::MacThenDecrypt { 32 } else { tag_len(asked.algorithm) };
    if asked.reverse && asked.mac_len > 0 && asked.mac_len < whole.min(12) && !produces {
        objections.push(Status::ShortTag);
    }
    objections
}

fn insert<A: Arena + Clone>(station: &mut Station<A>, algorithm: Algorithm, given: For) -> Handle {
    let key = PreparedKey::new(features(), algorithm, &key_bytes(algorithm), false, None);
    let nonces = if given.made { Nonces::Made(NonceCounter::counting([1, 2, 3, 4])) } else { Nonces::Given };
    let purpose = Purpose { usages: given.usages, nonces };
    let key = key.and_then(|key| key.with_purpose(purpose)).expect("a good key");
    station.accelerator.insert_prepared(station.grant, key).expect("a free slot")
}

fn contents<A: Arena>(arena: &A) -> Vec<u8> {
    let mut bytes = vec![0; arena.len() as usize];
    arena.read(0, &mut bytes);
    bytes
}

/// The status of a word, and whether anything in the arena has changed.
fn execute<A: Arena + Clone>(station: &mut Station<A>, word: &ControlWord) -> (Status, bool) {
    let before = contents(&station.arena);
    station.client.submit(word);
    assert_eq!(station.accelerator.step(0), 1);
    let status = station.client.completed().and_then(|done| done.status()).expect("a status");
    (status, before != contents(&station.arena))
}

fn compare<A: Arena + Clone>(station: &mut Station<A>, asked: &Asked, key: For, mac_key: For) {
    let first = insert(station, asked.algorithm, key);
    let second = (asked.hash != Algorithm::None).then(|| insert(station, asked.hash, mac_key));
    let handle = second.map_or(0, Handle::to_bits);
    let word = ControlWord { key: first.to_bits(), mac_key: handle, ..asked.word() };
    // No tag that was written before is the right one.
    station.arena.write(MAC, &[0xa5; 64]);
    if asked.algorithm == Algorithm::AesKwp {
        station.arena.write(IV, &48_u32.to_be_bytes());
    }
    // A point of a large order, for those that agree with it.
    station.arena.write(SOURCE, &[9; 32]);
    let (status, changed) = execute(station, &word);
    let objections = objections(asked, key, mac_key);
    if objections.is_empty() {
        let done = if asked.reverse && asked.mac_len > 0 { Status::Authentication } else { Status::Ok };
        assert_eq!(status, done, "{asked:?} {key:?} {mac_key:?}");
    } else {
        assert!(objections.contains(&status), "{status:?}: {asked:?} {key:?} {mac_key:?}");
        assert!(!changed, "nothing happens: {asked:?} {key:?} {mac_key:?}");
    }
    for handle in [Some(first), second].into_iter().flatten() {
        assert!(station.accelerator.remove_key(station.grant, handle));
    }
}

/// All purposes that a key of the algorithm can have.
fn all_purposes(algorithm: Algorithm) -> Vec<For> {
    let sets = (0..=Usages::ALL.to_bits()).filter_map(Usages::from_bits);
    let all = sets.flat_map(|usages| [false, true].map(|made| For { usages, made }));
    all.filter(|given| given.usages.check(algorithm, given.made).is_ok()).collect()
}

fn stations() -> (Station<Arc<LocalArena>>, Station<Exclusive>) {
    let arena = || Arc::new(LocalArena::new(LEN));
    (Station::new(arena(), 8), Station::new(Exclusive(arena()), 8))
}

#[test]
fn every_word_under_every_purpose_is_as_the_model_says() {
    let (mut shared, mut exclusive) = stations();
    let mut compared = 0;
    for asked in all_that_can_be_asked() {
        for key in all_purposes(asked.algorithm) {
            let of_mac = match asked.hash {
                Algorithm::None => vec![For { usages: Usages::NONE, made: false }],
                hash => all_purposes(hash),
            };
            for mac_key in of_mac {
                compare(&mut shared, &asked, key, mac_key);
                compare(&mut exclusive, &asked, key, mac_key);
                compared += 1;
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// Any word at all: under a key that is for nothing that words do, none is executed.
    #[test]
    fn a_key_for_later_does_nothing_now(random: [u64; 8], which in 0_usize..37) {
        let algorithms: Vec<_> =
            Algorithm::ALL.iter().copied().filter(|each| !Usages::of(*each).is_empty() && !Usages::of(*each).contains(Usages::DERIVE)).collect();
        let algorithm = algorithms[which % algorithms.len()];
        let usages = if is_cipher(algorithm) || is_aead(algorithm) { Usages::WRAP } else { Usages::DERIVE };
        let (mut station, _) = stations();
        let handle = insert(&mut station, algorithm, For { usages, made: false });
        let word = ControlWord { key: handle.to_bits(), mac_key: handle.to_bits(), ..ControlWord::from_words(random) };
        let in_arena = word.flags & (Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA) != 0;
        let opcode = Opcode::from_code(word.opcode);
        let keyless = !matches!(
            opcode,
            Some(Opcode::Cipher | Opcode::Aead | Opcode::Hmac | Opcode::Mac | Opcode::EncryptThenMac | Opcode::MacThenDecrypt
                | Opcode::PartialMac | Opcode::PartialAead | Opcode::Sign | Opcode::Agree | Opcode::Decrypt | Opcode::Decapsulate)
        );
        let (status, changed) = execute(&mut station, &word);
        prop_assert!(keyless || in_arena || status != Status::Ok && !changed);
    }
}

/// Each usage of a curve's key and of one of RSA permits its own operations. The bare power both signs and decrypts, and takes both.
#[test]
fn key_pairs_do_what_they_are_for() {
    let (sign, derive, decrypt) = (Usages::SIGN, Usages::DERIVE, Usages::DECRYPT);
    let (mut shared, _) = stations();
    let point = [&[4][..], &[0; 64]].concat();
    let long = ControlWord { destination: DESTINATION, mac_key_len: 200, ..ControlWord::EMPTY };
    let tag = |mac_len| ControlWord { mac: MAC, mac_len, ..ControlWord::EMPTY };
    let hash = Algorithm::Sha256 as u8;
    let (none, pkcs1) = (Scheme::of(Padding::None).to_bits(), Scheme::of(Padding::Pkcs1).to_bits());
    let ecdsa = ControlWord { opcode: Opcode::Sign as u8, hash, source_len: 32, ..tag(64) };
    let ecdh = ControlWord { opcode: Opcode::Agree as u8, source_len: point.len() as u32, ..tag(32) };
    let rsa = ControlWord { opcode: Opcode::Sign as u8, hash, parameter: pkcs1, source_len: 32, ..long };
    let bare = ControlWord { hash: 0, parameter: none, source_len: 128, ..rsa };
    let opening = ControlWord { opcode: Opcode::Decrypt as u8, parameter: pkcs1, ..bare };
    let bare_opening = ControlWord { parameter: none, ..opening };
    let ml_dsa = ControlWord {
        opcode: Opcode::Sign as u8,
        source_len: 32,
        destination: DESTINATION,
        mac_key_len: 2420,
        ..ControlWord::EMPTY
    };
    let ml_kem = ControlWord { opcode: Opcode::Decapsulate as u8, source_len: 768, mac: 1000, ..tag(32) };
    let all = [
        (Algorithm::P256, sign, ecdsa, Status::Ok),
        (Algorithm::P256, derive, ecdsa, Status::UsageSign),
        (Algorithm::P256, sign, ecdh, Status::UsageDerive),
        // The point is none of the curve, which is seen after the usage.
        (Algorithm::P256, derive, ecdh, Status::Peer),
        (Algorithm::Rsa, sign, rsa, Status::Ok),
        (Algorithm::Rsa, decrypt, rsa, Status::UsageSign),
        (Algorithm::Rsa, decrypt, opening, Status::Ok),
        (Algorithm::Rsa, sign, opening, Status::UsageDecrypt),
        (Algorithm::Rsa, sign, bare, Status::UsageDecrypt),
        (Algorithm::Rsa, decrypt, bare, Status::UsageSign),
        (Algorithm::Rsa, sign, bare_opening, Status::UsageDecrypt),
        (Algorithm::Rsa, decrypt, bare_opening, Status::UsageSign),
        (Algorithm::Rsa, sign | decrypt, bare, Status::Ok),
        (Algorithm::Rsa, sign | decrypt, bare_opening, Status::Ok),
        (Algorithm::MlDsa44, sign, ml_dsa, Status::Ok),
        (Algorithm::MlDsa44, derive, ml_dsa, Status::UsageSign),
        (Algorithm::MlKem512, derive, ml_kem, Status::Ok),
        (Algorithm::SlhDsaSha2_128f, derive, ml_dsa, Status::UsageSign),
        // The place is too short for the signature, which is seen after the usage.
        (Algorithm::SlhDsaSha2_128f, sign, ml_dsa, Status::DataLength),
    ];
    for (algorithm, usages, asked, expected) in all {
        let handle = insert(&mut shared, algorithm, For { usages, made: false });
        let word = ControlWord {
            algorithm: algorithm as u8,
            key: handle.to_bits(),
            source: SOURCE,
            tag: 5,
            ..asked
        };
        shared.arena.write(SOURCE, &[0; 128]);
        let number = algorithm == Algorithm::Rsa;
        shared.arena.write(SOURCE, if number { &[0] } else { &point[..1] });
        let (status, changed) = execute(&mut shared, &word);
        assert_eq!(status, expected, "{algorithm:?} {usages}: {word:?}");
        // A message that was decrypted may have no bytes.
        assert!(!changed || expected == Status::Ok, "{algorithm:?} {usages}: {word:?}");
        assert!(shared.accelerator.remove_key(shared.grant, handle));
        shared.arena.write(0, &vec![0; LEN as usize]);
    }
}

#[test]
fn what_a_key_can_not_have_is_refused_when_it_is_made() {
    let mut station = stations().0;
    let key = |algorithm| Key::new(features(), algorithm, &key_bytes(algorithm)).expect("a good key");
    let mut refused = |algorithm, usages, nonces| {
        let purpose = Purpose { usages, nonces };
        let result = station.accelerator.insert_key_for(station.grant, key(algorithm), purpose);
        assert!(matches!(result, Err(InsertError::Usage(_))), "{algorithm:?} {usages}");
    };
    refused(Algorithm::AesCtr, Usages::ENCRYPT, Nonces::Given);
    refused(Algorithm::AesCfb, Usages::DECRYPT, Nonces::Given);
    refused(Algorithm::AesGcm, Usages::ENCRYPT, Nonces::Given);
    refused(Algorithm::AesGcm, Usages::SIGN, Nonces::Given);
    refused(Algorithm::Sha256, Usages::SIGN, Nonces::Made(NonceCounter::random([0; 12])));
    refused(Algorithm::AesCbc, Usages::NONE, Nonces::Given);
}

/// A key that goes with its word is the client's own: it has no slot, no purpose, and no nonces that are counted.
#[test]
fn a_carried_key_is_for_anything_but_made_nonces() {
    let asked = Asked {
        opcode: Opcode::Aead,
        algorithm: Algorithm::AesGcm,
        hash: Algorithm::None,
        reverse: false,
        mac_len: 16,
        makes_nonce: false,
    };
    let (mut shared, mut exclusive) = stations();
    let carried = |makes_nonce| {
        let word = Asked { makes_nonce, ..asked }.word();
        ControlWord { key: KEY, key_len: 16, flags: word.flags | Flags::KEY_IN_ARENA, ..word }
    };
    assert_eq!(execute(&mut shared, &carried(false)), (Status::Ok, true));
    assert_eq!(execute(&mut exclusive, &carried(false)), (Status::Ok, true));
    assert_eq!(execute(&mut shared, &carried(true)), (Status::NonceMissing, false));
    assert_eq!(execute(&mut exclusive, &carried(true)), (Status::NonceMissing, false));
}

/// A word that has a nonce made, over 16 bytes at 64 times its number in a part of the arena for each queue.
fn sealing(key: Handle, place: u32, tag: u64) -> ControlWord {
    let at = 256 * place;
    ControlWord {
        opcode: Opcode::Aead as u8,
        algorithm: Algorithm::AesGcm as u8,
        flags: Flags::MAKE_NONCE,
        key: key.to_bits(),
        source: at,
        source_len: 16,
        destination: at + 64,
        iv: at + 128,
        iv_len: 12,
        mac: at + 192,
        mac_len: 16,
        tag,
        ..ControlWord::default()
    }
}

fn made(nonces: NonceCounter) -> Purpose {
    Purpose { usages: Usages::ENCRYPT | Usages::DECRYPT, nonces: Nonces::Made(nonces) }
}

/// Opens what was sealed, under the nonce that came back.
fn opens<A: Arena>(arena: &A, place: u32) -> [u8; 12] {
    let at = 256 * place;
    let (mut nonce, mut sealed, mut tag) = ([0; 12], [0; 16], [0; 16]);
    arena.read(at + 128, &mut nonce);
    arena.read(at + 64, &mut sealed);
    arena.read(at + 192, &mut tag);
    let gcm = Gcm::new(features(), &[7; 16]).expect("a key");
    gcm.open(&nonce, &[], InOut::in_place(&mut sealed), &tag).expect("it is authentic");
    nonce
}

const QUEUES: u32 = 4;
const DEPTH: u32 = 64;

/// Four queues of a grant, 64 words of each in a batch, and again after the grant has moved: no nonce comes twice.
fn seal_many<A: Arena + Clone>(arena: A, rounds: usize) {
    let mut nonces = HashSet::new();
    let mut queues: Vec<_> = (0..QUEUES).map(|_| Client::new(DEPTH as usize)).collect();
    let mut here = accelerator(FlushPolicy::default());
    let grant = here.add_grant(arena.clone(), 4);
    for (_, submissions, completions) in &queues {
        here.add_queue(grant, submissions.clone(), completions.clone(), 1).expect("rings");
    }
    let key = PreparedKey::new(features(), Algorithm::AesGcm, &[7; 16], false, None).expect("a key");
    let key = key.with_purpose(made(NonceCounter::counting([9; 4]))).expect("a purpose");
    let key = here.insert_prepared(grant, key).expect("a free slot");
    let mut place = (here, grant);
    for round in 0..rounds {
        for (index, (client, _, _)) in (0..).zip(&mut queues) {
            for word in 0..DEPTH {
                client.submit(&sealing(key, index * DEPTH + word, 1));
            }
        }
        while place.0.step(0) > 0 {}
        for (client, _, _) in &mut queues {
            for _ in 0..DEPTH {
                assert_eq!(client.completed().and_then(|done| done.status()), Some(Status::Ok));
            }
        }
        for place in 0..QUEUES * DEPTH {
            let mut nonce = [0; 12];
            arena.read(256 * place + 128, &mut nonce);
            assert!(nonces.insert(nonce), "round {round}, place {place}: {nonce:?} came before");
        }
        if round % (rounds / 2) == 0 {
            for place in 0..QUEUES * DEPTH {
                opens(&arena, place);
            }
            let released = place.0.release_grant(place.1).expect("a grant");
            let slots = released.keys.into_moved();
            let mut there = accelerator(FlushPolicy::default());
            let keys = KeySlots::from_moved(features(), 4, None, slots).expect("room");
            let rings = queues.iter().zip(released.queues);
            let rings = rings.map(|((_, to, from), (_, queue))| (to.clone(), from.clone(), queue));
            let (grant, _) =
                there.adopt_grant(arena.clone(), GrantConfig::new(4), rings, keys).expect("rings");
            place = (there, grant);
        }
    }
    assert_eq!(nonces.len(), rounds * (QUEUES * DEPTH) as usize);
}

#[test]
fn no_nonce_comes_twice_from_lanes_queues_and_moves() {
    let arena = || Arc::new(LocalArena::new(256 * QUEUES * DEPTH));
    seal_many(arena(), 400);
    seal_many(Exclusive(arena()), 40);
}

#[test]
fn the_last_nonce_is_the_last() {
    for resumed in [(u128::from(u64::MAX) - 1, 2), (u128::MAX, 2)] {
        let mut station = stations().0;
        let key = Key::new(features(), Algorithm::AesGcm, &[7; 16]).expect("a key");
        let purpose = made(NonceCounter::resume(resumed));
        let key = station.accelerator.insert_key_for(station.grant, key, purpose).expect("a free slot");
        assert_eq!(execute(&mut station, &sealing(key, 0, 1)), (Status::Ok, true));
        let first = opens(&station.arena, 0);
        assert_eq!(execute(&mut station, &sealing(key, 0, 1)), (Status::Ok, true));
        assert_ne!(opens(&station.arena, 0), first);
        assert_eq!(execute(&mut station, &sealing(key, 0, 1)), (Status::NoncesSpent, false));
        // Sealed data can be opened for ever.
        let word = sealing(key, 0, 1);
        let word = ControlWord { flags: Flags::REVERSE, source: 64, destination: 0, ..word };
        assert_eq!(execute(&mut station, &word).0, Status::Ok);
    }
}

/// A made nonce is an output: it goes over nothing that the word names.
#[test]
fn a_nonce_goes_over_nothing_else() {
    let arena = || Arc::new(LocalArena::new(LEN));
    for gather in [false, true] {
        let mut station = Station::new(arena(), 8);
        let key = Key::new(features(), Algorithm::AesGcm, &[7; 16]).expect("a key");
        let purpose = made(NonceCounter::counting([0; 4]));
        let key = station.accelerator.insert_key_for(station.grant, key, purpose).expect("a free slot");
        let mut word = ControlWord { aad: 240, aad_len: 8, ..sealing(key, 0, 1) };
        if gather {
            station.arena.write(1024, &[0_u32.to_le_bytes(), 16_u32.to_le_bytes()].concat());
            (word.source, word.source_len) = (1024, 1);
            word.flags |= Flags::GATHER;
        }
        assert_eq!(execute(&mut station, &word), (Status::Ok, true));
        for iv in [5, 70, 190, 200, 230] {
            assert_eq!(execute(&mut station, &ControlWord { iv, ..word }), (Status::Overlap, false), "{iv}");
        }
        if gather {
            assert_eq!(execute(&mut station, &ControlWord { iv: 1020, ..word }).0, Status::Overlap);
        }
        let (iv_len, outside) = (ControlWord { iv_len: 16, ..word }, ControlWord { iv: LEN - 11, ..word });
        assert_eq!(execute(&mut station, &iv_len), (Status::IvLength, false));
        assert_eq!(execute(&mut station, &outside), (Status::IvRange, false));
        let open = ControlWord { flags: word.flags | Flags::REVERSE, ..word };
        assert_eq!(execute(&mut station, &open), (Status::Flags, false));
    }
}

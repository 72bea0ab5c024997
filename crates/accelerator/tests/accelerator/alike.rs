//! Words that are like the one before are taken without being taken apart, and those of frequent kinds meet code that was made for
//! their kind. Nothing tells them from words that each stand alone and go the general way, whatever they say.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_accelerator::{
    Accelerator, Arena, FlushPolicy, Key, LocalArena, NonceCounter, Nonces, Purpose, Turns, Way,
};
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Usages};
use millstream_testkit::Random;
use proptest::prelude::*;

use crate::case::features;
use crate::queue::{Client, Exclusive};

/// Bytes of the arena for each word: its source, its output, its small parts.
const PLACE: u32 = 2048;

const WORDS: usize = 60;

/// The tags of words that stand between the others begin here.
const BETWEEN: u64 = 1 << 40;

/// A word by its first eight bytes, and its keys.
#[derive(Clone, Debug)]
struct Shape {
    opcode: u8,
    algorithm: u8,
    hash: u8,
    flags: u16,
    iv_len: u8,
    mac_len: u8,
    version: u8,
    /// The right key, or another.
    key: usize,
}

/// The fields that may differ in words of one shape.
#[derive(Clone, Debug)]
struct Rest {
    source_len: u32,
    aad_len: u32,
    /// The destination lies there, seen from the source.
    apart: u32,
    /// A field is not as it should be.
    wrong: u8,
}

fn shape() -> impl Strategy<Value = Shape> {
    use Algorithm as A;
    let keyed = prop_oneof![
        Just((Opcode::Cipher, A::AesCbc, A::None, 16, 0)),
        Just((Opcode::Cipher, A::AesEcb, A::None, 0, 0)),
        Just((Opcode::Cipher, A::AesCtr, A::None, 16, 0)),
        Just((Opcode::Cipher, A::AesXts, A::None, 16, 0)),
        Just((Opcode::Aead, A::AesGcm, A::None, 12, 16)),
        Just((Opcode::Aead, A::ChaCha20Poly1305, A::None, 12, 16)),
        Just((Opcode::Aead, A::AesGcmSiv, A::None, 12, 16)),
        Just((Opcode::Aead, A::AesSiv, A::None, 0, 16)),
        Just((Opcode::Aead, A::AesSiv, A::None, 12, 16)),
        Just((Opcode::Cipher, A::AesFf1, A::None, 8, 0)),
        Just((Opcode::Hmac, A::None, A::Sha1, 0, 20)),
        Just((Opcode::Hmac, A::None, A::Sha256, 0, 32)),
        Just((Opcode::Hmac, A::None, A::Sha384, 0, 48)),
        Just((Opcode::Hmac, A::None, A::Sha512, 0, 64)),
        Just((Opcode::PartialMac, A::None, A::Sha256, 0, 32)),
        Just((Opcode::Mac, A::AesCmac, A::None, 0, 16)),
        Just((Opcode::EncryptThenMac, A::AesCbc, A::Sha256, 16, 32)),
    ];
    let keyless = prop_oneof![
        Just((Opcode::Hash, A::None, A::Sha1, 0, 20)),
        Just((Opcode::Hash, A::None, A::Sha256, 0, 32)),
        Just((Opcode::Hash, A::None, A::Sha384, 0, 48)),
        Just((Opcode::Hash, A::None, A::Sha512, 0, 64)),
        Just((Opcode::Checksum, A::Crc32, A::None, 0, 0)),
        Just((Opcode::Copy, A::None, A::None, 0, 0)),
        Just((Opcode::Null, A::None, A::None, 0, 0)),
        Just((Opcode::Cancel, A::None, A::None, 0, 0)),
    ];
    let kind = prop_oneof![2 => keyed, 1 => keyless];
    let way = prop_oneof![Just(0), Just(Flags::REVERSE), Just(Flags::MAKE_NONCE)];
    let fitting = (kind, way, 0..4 * KEYS.len()).prop_map(|(kind, way, key)| {
        let (opcode, algorithm, hash, iv_len, mac_len) = kind;
        let flags = if way == Flags::MAKE_NONCE && opcode != Opcode::Aead { 0 } else { way };
        let (opcode, algorithm, hash) = (opcode as u8, algorithm as u8, hash as u8);
        Shape { opcode, algorithm, hash, flags, iv_len, mac_len, version: 1, key }
    });
    // One in four has a byte that is anything.
    (fitting, 0..4_u8, any::<u8>(), 0..7_u8).prop_map(|(mut shape, how, byte, which)| {
        if how == 0 {
            match which {
                0 => shape.opcode = byte,
                1 => shape.algorithm = byte,
                2 => shape.hash = byte,
                3 => shape.flags = u16::from(byte),
                4 => shape.iv_len = byte % 32,
                5 => shape.mac_len = byte % 80,
                _ => shape.version = byte,
            }
        }
        shape
    })
}

fn rest() -> impl Strategy<Value = Rest> {
    let source_len = prop_oneof![Just(64_u32), Just(64), 0..200_u32, Just(u32::MAX)];
    let aad_len = prop_oneof![Just(13_u32), Just(0), Just(u32::MAX)];
    // The destination lies in front of the small parts, behind them, over the source, and nowhere.
    let apart = prop_oneof![Just(256_u32), Just(256), Just(900), Just(900), Just(0), Just(32), Just(1 << 24)];
    (source_len, aad_len, apart, 0..40_u8).prop_map(|(source_len, aad_len, apart, wrong)| Rest {
        source_len,
        aad_len,
        apart,
        wrong,
    })
}

/// Makes a word whose parts are in its own place: nothing is said of the order in which two words of a row reach the same bytes.
fn word(shape: &Shape, rest: &Rest, keys: &[u32], number: usize) -> ControlWord {
    let at = number as u32 * PLACE;
    let is = |opcode: Opcode| shape.opcode == opcode as u8;
    let makes_nonce = shape.flags & Flags::MAKE_NONCE != 0;
    let right = KEYS.iter().position(|(key, made)| {
        [shape.algorithm, shape.hash].contains(&(*key as u8)) && *made == makes_nonce
    });
    let mut word = ControlWord {
        version: shape.version,
        opcode: shape.opcode,
        algorithm: shape.algorithm,
        hash: shape.hash,
        flags: shape.flags,
        iv_len: shape.iv_len,
        mac_len: shape.mac_len,
        tag: number as u64,
        ..ControlWord::EMPTY
    };
    if !is(Opcode::Null) {
        (word.source, word.source_len) = (at, rest.source_len);
    }
    if is(Opcode::Cipher) || is(Opcode::Aead) || is(Opcode::EncryptThenMac) || is(Opcode::Copy) {
        word.destination = at + rest.apart;
    }
    if shape.iv_len > 0 {
        word.iv = at + 512;
    }
    if shape.mac_len > 0 {
        word.mac = at + 640;
    }
    if is(Opcode::Aead) {
        (word.aad, word.aad_len) = (at + 768, rest.aad_len);
    }
    if !is(Opcode::Hash) && !is(Opcode::Checksum) && !is(Opcode::Copy) && !is(Opcode::Null) {
        word.key = *keys.get(shape.key).or(right.map(|at| &keys[at])).unwrap_or(&0);
    }
    if shape.algorithm == Algorithm::AesFf1 as u8 {
        // Any two bytes are a digit.
        word.parameter = 1 << 16;
    }
    if is(Opcode::EncryptThenMac) {
        word.mac_key = keys[2];
    }
    match rest.wrong {
        0 => word.parameter = 7,
        1 => word.key = 0,
        2 => word.state = at + 1024,
        3 => word.iv = u32::MAX,
        4 => word.mac_key = 9,
        5 => word.source = u32::MAX - 3,
        6 => word.key_len = 16,
        7 => word.iv = at + 8,
        8 => word.iv = word.mac.max(at),
        _ => {}
    }
    word
}

/// The algorithms of the keys, and true for keys whose nonces the accelerator makes.
const KEYS: [(Algorithm, bool); 17] = [
    (Algorithm::AesCbc, false),
    (Algorithm::AesGcm, false),
    (Algorithm::Sha256, false),
    (Algorithm::AesCmac, false),
    (Algorithm::AesEcb, false),
    (Algorithm::AesCtr, false),
    (Algorithm::AesXts, false),
    (Algorithm::ChaCha20Poly1305, false),
    (Algorithm::Sha1, false),
    (Algorithm::Sha384, false),
    (Algorithm::Sha512, false),
    (Algorithm::AesGcm, true),
    (Algorithm::ChaCha20Poly1305, true),
    (Algorithm::AesSiv, false),
    (Algorithm::AesGcmSiv, false),
    (Algorithm::AesGcmSiv, true),
    (Algorithm::AesFf1, false),
];

/// Returns bytes for a key: XTS takes two that differ.
fn key_bytes(algorithm: Algorithm) -> Vec<u8> {
    let long = [Algorithm::AesXts, Algorithm::ChaCha20Poly1305, Algorithm::AesSiv];
    let len = if long.contains(&algorithm) { 32 } else { 16 };
    (0..len).collect()
}

fn makes_nonces() -> Purpose {
    Purpose {
        usages: Usages::ENCRYPT | Usages::DECRYPT,
        nonces: Nonces::Made(NonceCounter::counting([1, 2, 3, 4])),
    }
}

/// The completions of the words by their tags, and the arena afterwards. Words may go the general way, with a cancelling word before
/// each of them, which is like no other and names nothing in flight.
fn outcome<A: Arena + Clone>(
    arena: &A,
    words: &[(Shape, Rest)],
    way: Way,
    bounded: bool,
) -> (BTreeMap<u64, (u16, u32)>, Vec<u8>) {
    arena.write(0, &Random::new(5).bytes(arena.len() as usize));
    let mut accelerator = Accelerator::new(features(), FlushPolicy::default());
    accelerator.set_way(way);
    if bounded {
        accelerator.bound_turns(Turns::default(), || 0);
    }
    let grant = accelerator.add_grant(arena.clone(), KEYS.len());
    let keys = KEYS.map(|(algorithm, made)| {
        let key = Key::new(features(), algorithm, &key_bytes(algorithm)).unwrap();
        let key = match made {
            true => accelerator.insert_key_for(grant, key, makes_nonces()),
            false => accelerator.insert_key(grant, key),
        };
        key.unwrap().to_bits()
    });
    let (mut client, submissions, completions) = Client::new(128);
    accelerator.add_queue(grant, submissions, completions, 1).unwrap();
    for (number, (shape, rest)) in words.iter().enumerate() {
        if way == Way::General {
            let tag = BETWEEN + number as u64;
            let nothing =
                ControlWord { opcode: Opcode::Cancel as u8, key: u32::MAX, tag, ..ControlWord::default() };
            client.submissions.push(&nothing.to_words()).unwrap();
        }
        client.submissions.push(&word(shape, rest, &keys, number).to_words()).unwrap();
    }
    client.submissions.publish();
    while accelerator.step(0) > 0 || accelerator.has_work() {}
    let mut completed = BTreeMap::new();
    while let Some(done) = client.completed() {
        if done.tag < BETWEEN {
            assert_eq!(
                completed.insert(done.tag, (done.status, done.value)),
                None,
                "one completion for each word"
            );
        }
    }
    let mut after = vec![0; arena.len() as usize];
    arena.read(0, &mut after);
    (completed, after)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn words_in_a_row_end_as_each_of_them_on_the_general_way(
        shapes in proptest::collection::vec(shape(), 1..4),
        picks in proptest::collection::vec((0..8_usize, rest()), 1..WORDS),
        bounded: bool,
        exclusive: bool,
    ) {
        // Long rows of the first shape.
        let pick = |(shape, rest): &(usize, Rest)| {
            (shapes.get(*shape).unwrap_or(&shapes[0]).clone(), rest.clone())
        };
        let words: Vec<_> = picks.iter().map(pick).collect();
        let arena = Arc::new(LocalArena::new(WORDS as u32 * PLACE));
        let [in_a_row, general] = if exclusive {
            let arena = Exclusive(arena);
            [Way::Fast, Way::General].map(|way| outcome(&arena, &words, way, bounded))
        } else {
            [Way::Fast, Way::General].map(|way| outcome(&arena, &words, way, bounded))
        };
        prop_assert_eq!(in_a_row.0.len(), words.len());
        prop_assert_eq!(&in_a_row.0, &general.0);
        prop_assert!(in_a_row.1 == general.1, "bytes differ");
    }
}

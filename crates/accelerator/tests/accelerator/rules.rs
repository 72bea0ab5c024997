//! Each rule for control words: what breaks it, what it is called, and that nothing else happens.

use std::collections::BTreeSet;
use std::sync::Arc;

use millstream_accelerator::{Arena, LocalArena, MAX_PIECES};
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Padding, Scheme, Status};
use millstream_publickey::mlkem;
use millstream_testkit::{Random, hex, keys};

use crate::case::features;
use crate::queue::{Exclusive, Station};

/// Bytes of the arena.
const LEN: u32 = 8192;

/// A word of each kind with nothing wrong; keys are handles to be filled in.
fn good(opcode: Opcode) -> ControlWord {
    let word = ControlWord { opcode: opcode as u8, tag: 77, ..ControlWord::default() };
    let source = ControlWord { source: 100, source_len: 64, ..word };
    let pass = ControlWord { destination: 200, ..source };
    match opcode {
        Opcode::Null | Opcode::Cancel => word,
        Opcode::Copy => pass,
        Opcode::CopyChecksum => ControlWord { algorithm: Algorithm::Crc32 as u8, ..pass },
        Opcode::Checksum => ControlWord { algorithm: Algorithm::Crc32 as u8, ..source },
        Opcode::Cipher => ControlWord { algorithm: Algorithm::AesCbc as u8, iv: 300, iv_len: 16, ..pass },
        Opcode::Aead => ControlWord {
            algorithm: Algorithm::AesGcm as u8,
            iv: 300,
            iv_len: 12,
            aad: 400,
            aad_len: 10,
            mac: 500,
            mac_len: 16,
            ..pass
        },
        Opcode::Hash => ControlWord { hash: Algorithm::Sha256 as u8, mac: 500, mac_len: 32, ..source },
        Opcode::PartialHash => {
            ControlWord { hash: Algorithm::Sha256 as u8, flags: Flags::FIRST, state: 600, ..source }
        }
        Opcode::PartialMac => ControlWord { opcode: opcode as u8, ..good(Opcode::PartialHash) },
        Opcode::PartialAead => ControlWord {
            opcode: opcode as u8,
            flags: Flags::FIRST,
            mac: 0,
            mac_len: 0,
            state: 600,
            ..good(Opcode::Aead)
        },
        Opcode::Hmac => ControlWord { hash: Algorithm::Sha256 as u8, mac: 500, mac_len: 32, ..source },
        Opcode::Mac => ControlWord { algorithm: Algorithm::AesCmac as u8, mac: 500, mac_len: 16, ..source },
        Opcode::Sign => ControlWord { algorithm: Algorithm::Ed25519 as u8, mac: 500, mac_len: 64, ..source },
        Opcode::Agree => {
            let algorithm = Algorithm::X25519 as u8;
            ControlWord { algorithm, source_len: 32, mac: 500, mac_len: 32, ..source }
        }
        Opcode::PublicKey => {
            ControlWord { algorithm: Algorithm::X25519 as u8, mac: 500, mac_len: 32, ..word }
        }
        Opcode::Verify => ControlWord {
            algorithm: Algorithm::Ed25519 as u8,
            key: PUBLIC_KEY,
            key_len: 32,
            flags: Flags::KEY_IN_ARENA,
            aad: SIGNATURE,
            aad_len: 64,
            source_len: 0,
            ..source
        },
        Opcode::Decrypt => ControlWord {
            algorithm: Algorithm::Rsa as u8,
            destination: 500,
            mac_key_len: 128,
            parameter: Scheme::of(Padding::Pkcs1).to_bits(),
            source: NUMBER,
            source_len: 128,
            ..word
        },
        Opcode::Encapsulate => ControlWord {
            algorithm: Algorithm::MlKem512 as u8,
            key: RECIPIENT,
            key_len: 800,
            flags: Flags::KEY_IN_ARENA,
            destination: 6000,
            mac_key_len: 768,
            mac: 500,
            mac_len: 32,
            ..word
        },
        // Any bytes are a ciphertext.
        Opcode::Decapsulate => ControlWord {
            algorithm: Algorithm::MlKem512 as u8,
            source: 6000,
            source_len: 768,
            mac: 500,
            mac_len: 32,
            ..word
        },
        Opcode::Random => {
            ControlWord { algorithm: Algorithm::Random as u8, source_len: 64, destination: 200, ..word }
        }
        _ => ControlWord {
            algorithm: Algorithm::AesCbc as u8,
            hash: Algorithm::Sha256 as u8,
            iv: 300,
            iv_len: 16,
            aad_len: 16,
            mac: 500,
            mac_len: 32,
            ..pass
        },
    }
}

/// Returns the algorithm of an operation's first key, and whether it has a second.
fn keys_of(opcode: Opcode) -> (Option<Algorithm>, bool) {
    match opcode {
        Opcode::Cipher => (Some(Algorithm::AesCbc), false),
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => (Some(Algorithm::AesCbc), true),
        Opcode::Aead | Opcode::PartialAead => (Some(Algorithm::AesGcm), false),
        Opcode::Hmac | Opcode::PartialMac => (Some(Algorithm::Sha256), false),
        Opcode::Mac => (Some(Algorithm::AesCmac), false),
        Opcode::Sign => (Some(Algorithm::Ed25519), false),
        Opcode::Agree | Opcode::PublicKey => (Some(Algorithm::X25519), false),
        Opcode::Decrypt => (Some(Algorithm::Rsa), false),
        Opcode::Decapsulate => (Some(Algorithm::MlKem512), false),
        _ => (None, false),
    }
}

/// A change that breaks a rule.
type Breaks = (Status, Opcode, &'static str, fn(&mut ControlWord));

/// Bits that nobody has given to a flag.
const NO_FLAG: u16 = !Flags::ALL;

const BREAKS: &[Breaks] = &[
    (Status::Version, Opcode::Null, "version 0", |w| w.version = 0),
    (Status::Version, Opcode::Hash, "version 2", |w| w.version = 2),
    (Status::Opcode, Opcode::Null, "the first opcode there is not", |w| w.opcode = 23),
    (Status::Algorithm, Opcode::PartialMac, "a cipher", |w| {
        (w.algorithm, w.hash) = (Algorithm::AesCbc as u8, 0);
    }),
    (Status::Algorithm, Opcode::PartialMac, "an HMAC and a CMAC", |w| w.algorithm = Algorithm::AesCmac as u8),
    (Status::Algorithm, Opcode::PartialMac, "none", |w| w.hash = 0),
    (Status::Algorithm, Opcode::PartialAead, "a cipher", |w| w.algorithm = Algorithm::AesCbc as u8),
    (Status::Flags, Opcode::PartialMac, "a key in the arena", |w| w.flags |= Flags::KEY_IN_ARENA),
    (Status::Flags, Opcode::PartialAead, "a nonce to be made", |w| w.flags |= Flags::MAKE_NONCE),
    (Status::Reserved, Opcode::PartialMac, "a vector", |w| w.iv_len = 12),
    (Status::Reserved, Opcode::PartialAead, "a hash", |w| w.hash = Algorithm::Sha256 as u8),
    (Status::Reserved, Opcode::PartialMac, "a place for a mid-state after the end", |w| {
        (w.flags, w.mac, w.mac_len) = (Flags::FIRST | Flags::LAST, 500, 32);
    }),
    (Status::StateRange, Opcode::PartialAead, "one byte too many", |w| w.state = LEN - 255),
    (Status::Overlap, Opcode::PartialMac, "mid-state over the source", |w| w.state = 163),
    (Status::Overlap, Opcode::PartialAead, "mid-state over the destination", |w| w.state = 200),
    (Status::MacLength, Opcode::PartialMac, "a tag before the end", |w| (w.mac, w.mac_len) = (500, 32)),
    (Status::MacLength, Opcode::PartialAead, "a tag before the end", |w| (w.mac, w.mac_len) = (500, 16)),
    (Status::MacLength, Opcode::PartialAead, "no tag at the end", |w| {
        (w.flags, w.state) = (Flags::FIRST | Flags::LAST, 0);
    }),
    (Status::MidState, Opcode::PartialMac, "none, and not the first", |w| w.flags = 0),
    (Status::MidState, Opcode::PartialMac, "one, and the first", |w| w.aad_len = 8),
    (Status::MidState, Opcode::PartialMac, "nonsense", |w| (w.flags, w.aad, w.aad_len) = (0, 400, 100)),
    (Status::MidState, Opcode::PartialAead, "a nonce, and not the first", |w| w.flags = 0),
    (Status::MidState, Opcode::PartialAead, "neither nonce nor state", |w| w.iv_len = 0),
    (Status::Opcode, Opcode::Null, "the last opcode there is not", |w| w.opcode = 255),
    (Status::Algorithm, Opcode::Cipher, "none", |w| w.algorithm = 0),
    (Status::Algorithm, Opcode::Cipher, "no such number", |w| w.algorithm = 0xfe),
    (Status::Algorithm, Opcode::PartialAead, "one that takes no pieces", |w| {
        w.algorithm = Algorithm::AesSiv as u8;
    }),
    (Status::Algorithm, Opcode::Cipher, "an AEAD", |w| w.algorithm = Algorithm::AesGcm as u8),
    (Status::Algorithm, Opcode::Aead, "a cipher", |w| w.algorithm = Algorithm::AesCtr as u8),
    (Status::Algorithm, Opcode::Mac, "a hash", |w| w.algorithm = Algorithm::Sha256 as u8),
    (Status::Algorithm, Opcode::Hash, "no hash", |w| w.hash = 0),
    (Status::Algorithm, Opcode::Hash, "a MAC", |w| w.hash = Algorithm::AesCmac as u8),
    (Status::Algorithm, Opcode::PartialHash, "a checksum", |w| w.hash = Algorithm::Crc32 as u8),
    (Status::Algorithm, Opcode::Hmac, "a cipher", |w| w.hash = Algorithm::AesCbc as u8),
    (Status::Algorithm, Opcode::Checksum, "a hash", |w| w.algorithm = Algorithm::Sha1 as u8),
    (Status::Algorithm, Opcode::CopyChecksum, "none", |w| w.algorithm = 0),
    (Status::Algorithm, Opcode::EncryptThenMac, "F8", |w| w.algorithm = Algorithm::KasumiF8 as u8),
    (Status::Algorithm, Opcode::EncryptThenMac, "FF1", |w| w.algorithm = Algorithm::AesFf1 as u8),
    (Status::Parameter, Opcode::Cipher, "no radix", |w| w.algorithm = Algorithm::AesFf1 as u8),
    (Status::Parameter, Opcode::Cipher, "a radix of one", |w| {
        (w.algorithm, w.parameter) = (Algorithm::AesFf1 as u8, 1);
    }),
    (Status::Parameter, Opcode::Cipher, "a radix above 65536", |w| {
        (w.algorithm, w.parameter) = (Algorithm::AesFf1 as u8, 65537);
    }),
    (Status::Reserved, Opcode::Aead, "associated data of a key", |w| w.algorithm = Algorithm::AesKwp as u8),
    (Status::Reserved, Opcode::Aead, "associated data of a token", |w| w.algorithm = Algorithm::Fernet as u8),
    (Status::Algorithm, Opcode::EncryptThenMac, "no hash", |w| w.hash = 0),
    (Status::Algorithm, Opcode::MacThenDecrypt, "an AEAD", |w| w.algorithm = Algorithm::AesGcm as u8),
    (Status::Flags, Opcode::Null, "a flag without a name", |w| w.flags = NO_FLAG),
    (Status::Flags, Opcode::Cipher, "the highest flag", |w| w.flags = 0x8000),
    (Status::Flags, Opcode::Hash, "reverse", |w| w.flags = Flags::REVERSE),
    (Status::Flags, Opcode::Copy, "a key", |w| w.flags = Flags::KEY_IN_ARENA),
    (Status::Flags, Opcode::Hmac, "a second key", |w| w.flags = Flags::MAC_KEY_IN_ARENA),
    (Status::Flags, Opcode::Hash, "first", |w| w.flags = Flags::FIRST),
    (Status::Flags, Opcode::MacThenDecrypt, "reverse", |w| w.flags = Flags::REVERSE),
    (Status::Flags, Opcode::Cancel, "gather", |w| w.flags = Flags::GATHER),
    (Status::Reserved, Opcode::Null, "a source", |w| w.source = 1),
    (Status::Reserved, Opcode::Null, "an algorithm", |w| w.algorithm = 0x10),
    (Status::Reserved, Opcode::Cancel, "a destination", |w| w.destination = 1),
    (Status::Reserved, Opcode::Copy, "an algorithm", |w| w.algorithm = 0x60),
    (Status::Reserved, Opcode::Copy, "a tag's place", |w| w.mac = 1),
    (Status::Reserved, Opcode::Checksum, "a destination", |w| w.destination = 1),
    (Status::Reserved, Opcode::Cipher, "a tag's length", |w| w.mac_len = 1),
    (Status::Reserved, Opcode::Cipher, "a hash", |w| w.hash = Algorithm::Sha256 as u8),
    (Status::Reserved, Opcode::Cipher, "a key's length with a handle", |w| w.key_len = 16),
    (Status::Reserved, Opcode::Aead, "a parameter", |w| w.parameter = 1),
    (Status::Reserved, Opcode::Hash, "a key", |w| w.key = 1),
    (Status::Reserved, Opcode::Hash, "an algorithm", |w| w.algorithm = 0x53),
    (Status::Reserved, Opcode::PartialHash, "a place for a mid-state after the end", |w| {
        (w.flags, w.mac, w.mac_len) = (Flags::FIRST | Flags::LAST, 500, 32);
    }),
    (Status::Reserved, Opcode::Hmac, "associated data", |w| w.aad_len = 1),
    (Status::Reserved, Opcode::Hmac, "a second key", |w| w.mac_key = 1),
    (Status::Reserved, Opcode::Mac, "a hash", |w| w.hash = Algorithm::Sha256 as u8),
    (Status::Reserved, Opcode::EncryptThenMac, "associated data elsewhere", |w| w.aad = 1),
    (Status::Reserved, Opcode::EncryptThenMac, "a mid-state", |w| w.state = 1),
    (Status::Reserved, Opcode::MacThenDecrypt, "a second key's length", |w| w.mac_key_len = 1),
    (Status::SourceRange, Opcode::Hash, "one byte too many", |w| w.source_len = LEN - 99),
    (Status::SourceRange, Opcode::Hash, "begins after the end", |w| w.source = LEN + 1),
    (Status::SourceRange, Opcode::Copy, "wraps round", |w| w.source = u32::MAX - 10),
    (Status::SourceRange, Opcode::Cipher, "longer than anything", |w| w.source_len = u32::MAX),
    (Status::DestinationRange, Opcode::Copy, "one byte too many", |w| w.destination = LEN - 63),
    (Status::DestinationRange, Opcode::Cipher, "wraps round", |w| w.destination = u32::MAX),
    (Status::DestinationRange, Opcode::EncryptThenMac, "outside", |w| w.destination = LEN),
    (Status::AadRange, Opcode::Aead, "one byte too many", |w| w.aad = LEN - 9),
    (Status::AadRange, Opcode::Aead, "longer than anything", |w| w.aad_len = u32::MAX),
    (Status::AadRange, Opcode::PartialHash, "a mid-state outside", |w| {
        (w.flags, w.aad, w.aad_len) = (0, LEN - 10, 100);
    }),
    (Status::IvRange, Opcode::Cipher, "one byte too many", |w| w.iv = LEN - 15),
    (Status::IvRange, Opcode::Aead, "wraps round", |w| w.iv = u32::MAX),
    (Status::MacRange, Opcode::Hash, "one byte too many", |w| w.mac = LEN - 31),
    (Status::MacRange, Opcode::Aead, "wraps round", |w| w.mac = u32::MAX),
    (Status::KeyRange, Opcode::Cipher, "one byte too many", |w| {
        (w.flags, w.key, w.key_len) = (Flags::KEY_IN_ARENA, LEN - 15, 16);
    }),
    (Status::KeyRange, Opcode::EncryptThenMac, "the second key", |w| {
        (w.flags, w.mac_key, w.mac_key_len) = (Flags::MAC_KEY_IN_ARENA, LEN, 1);
    }),
    (Status::StateRange, Opcode::PartialHash, "one byte too many", |w| w.state = LEN - 255),
    (Status::Gather, Opcode::Hash, "too many pieces", |w| {
        (w.flags, w.source_len) = (Flags::GATHER, MAX_PIECES as u32 + 1);
    }),
    (Status::Gather, Opcode::Hash, "as many as would wrap round", |w| {
        (w.flags, w.source_len) = (Flags::GATHER, 1 << 29);
    }),
    (Status::Gather, Opcode::Hash, "a list outside", |w| {
        (w.flags, w.source, w.source_len) = (Flags::GATHER, LEN - 8, 2);
    }),
    (Status::Gather, Opcode::Hash, "a piece outside", |w| {
        (w.flags, w.source, w.source_len) = (Flags::GATHER, PIECE_OUTSIDE, 1);
    }),
    (Status::Gather, Opcode::Hash, "more than the arena", |w| {
        (w.flags, w.source, w.source_len) = (Flags::GATHER, PIECES_TOO_LONG, 2);
    }),
    (Status::Overlap, Opcode::Copy, "one byte", |w| w.destination = 163),
    (Status::Overlap, Opcode::Cipher, "a block behind its source", |w| w.destination = 116),
    (Status::Overlap, Opcode::Cipher, "a byte before its source", |w| w.destination = 99),
    (Status::Overlap, Opcode::Cipher, "in place, over the initialisation vector", |w| {
        (w.source, w.destination) = (290, 290);
    }),
    (Status::Overlap, Opcode::Aead, "in place, over the tag", |w| (w.source, w.destination) = (450, 450)),
    (Status::Overlap, Opcode::Aead, "in place, over the associated data", |w| {
        (w.source, w.destination) = (405, 405);
    }),
    (Status::Overlap, Opcode::Aead, "in place, over the tag compared", |w| {
        (w.source, w.destination, w.flags) = (450, 450, Flags::REVERSE);
    }),
    (Status::Overlap, Opcode::Cipher, "in place, over its key", |w| {
        (w.key, w.key_len, w.flags) = (163, 16, Flags::KEY_IN_ARENA);
        w.destination = w.source;
    }),
    (Status::Overlap, Opcode::Cipher, "over the initialisation vector", |w| w.destination = 315),
    (Status::Overlap, Opcode::Cipher, "over a gather list", |w| {
        (w.flags, w.source, w.source_len, w.destination) = (Flags::GATHER, GOOD_LIST, 1, GOOD_LIST + 7);
    }),
    (Status::Overlap, Opcode::Cipher, "over a piece", |w| {
        (w.flags, w.source, w.source_len, w.destination) = (Flags::GATHER, GOOD_LIST, 1, 4000 + 31);
    }),
    (Status::Overlap, Opcode::Cipher, "over its key", |w| {
        (w.flags, w.key, w.key_len) = (Flags::KEY_IN_ARENA, 200, 16);
    }),
    (Status::Overlap, Opcode::EncryptThenMac, "over its second key", |w| {
        (w.flags, w.mac_key, w.mac_key_len) = (Flags::MAC_KEY_IN_ARENA, 531, 16);
    }),
    (Status::Overlap, Opcode::Aead, "over the associated data", |w| w.destination = 409),
    (Status::Overlap, Opcode::Aead, "tag over the ciphertext", |w| w.mac = 263),
    (Status::Overlap, Opcode::Aead, "tag over the nonce", |w| w.mac = 311),
    (Status::Overlap, Opcode::Aead, "plaintext over the tag compared", |w| {
        (w.flags, w.mac) = (Flags::REVERSE, 200);
    }),
    (Status::Overlap, Opcode::Hash, "digest over the source", |w| w.mac = 69),
    (Status::Overlap, Opcode::PartialHash, "mid-state over the source", |w| w.state = 163),
    (Status::Overlap, Opcode::PartialHash, "mid-state over the one before", |w| {
        (w.flags, w.aad, w.aad_len) = (0, 855, 100);
    }),
    (Status::Key, Opcode::Cipher, "no such handle", |w| w.key ^= 1 << 31),
    (Status::Key, Opcode::Cipher, "no such slot", |w| w.key |= 0xffff),
    (Status::Key, Opcode::Cipher, "a key of another mode", |w| w.algorithm = Algorithm::AesCfb as u8),
    (Status::Key, Opcode::Hmac, "a key of another hash", |w| w.hash = Algorithm::Sha512 as u8),
    (Status::Key, Opcode::EncryptThenMac, "no second key", |w| w.mac_key = 0),
    (Status::Key, Opcode::EncryptThenMac, "the keys' places changed", |w| {
        std::mem::swap(&mut w.key, &mut w.mac_key);
    }),
    (Status::KeyLength, Opcode::Cipher, "15 bytes", |w| {
        (w.flags, w.key, w.key_len) = (Flags::KEY_IN_ARENA, 700, 15);
    }),
    (Status::KeyLength, Opcode::Hmac, "more than a word may bring", |w| {
        (w.flags, w.key, w.key_len) = (Flags::KEY_IN_ARENA, 0, ControlWord::MOST_KEY_BYTES + 1)
    }),
    (Status::KeyLength, Opcode::Aead, "no bytes", |w| (w.flags, w.key) = (Flags::KEY_IN_ARENA, 0)),
    (Status::KeyLength, Opcode::EncryptThenMac, "the cipher's, beside a good second one", |w| {
        (w.flags, w.key, w.key_len) = (Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA, 700, 17);
        (w.mac_key, w.mac_key_len) = (700, 5);
    }),
    (Status::IvLength, Opcode::Cipher, "15 bytes", |w| w.iv_len = 15),
    (Status::IvLength, Opcode::Aead, "none", |w| (w.iv, w.iv_len) = (0, 0)),
    (Status::IvLength, Opcode::Mac, "any", |w| (w.iv, w.iv_len) = (300, 1)),
    (Status::IvLength, Opcode::MacThenDecrypt, "17 bytes", |w| w.iv_len = 17),
    (Status::MacLength, Opcode::Hash, "not all of it", |w| w.mac_len = 31),
    (Status::MacLength, Opcode::Hmac, "3 bytes", |w| w.mac_len = 3),
    (Status::MacLength, Opcode::Hmac, "more than all", |w| w.mac_len = 33),
    (Status::MacLength, Opcode::Hmac, "none to compare with", |w| {
        (w.flags, w.mac, w.mac_len) = (Flags::REVERSE, 0, 0);
    }),
    (Status::MacLength, Opcode::Aead, "11 bytes", |w| w.mac_len = 11),
    (Status::MacLength, Opcode::Aead, "17 bytes", |w| w.mac_len = 17),
    (Status::MacLength, Opcode::Mac, "17 bytes", |w| w.mac_len = 17),
    (Status::MacLength, Opcode::PartialHash, "a digest before the end", |w| (w.mac, w.mac_len) = (500, 32)),
    (Status::MacLength, Opcode::EncryptThenMac, "3 bytes", |w| w.mac_len = 3),
    (Status::DataLength, Opcode::Cipher, "not whole blocks", |w| w.source_len = 63),
    (Status::DataLength, Opcode::EncryptThenMac, "not whole blocks", |w| w.aad_len = 15),
    (Status::DataLength, Opcode::MacThenDecrypt, "more in clear than there is", |w| w.aad_len = 65),
    (Status::MidState, Opcode::PartialHash, "none, and not the first", |w| w.flags = 0),
    (Status::MidState, Opcode::PartialHash, "one, and the first", |w| w.aad_len = 8),
    (Status::MidState, Opcode::PartialHash, "nonsense", |w| (w.flags, w.aad, w.aad_len) = (0, 400, 100)),
    (Status::MidState, Opcode::PartialHash, "longer than any", |w| {
        (w.flags, w.aad, w.aad_len) = (0, 2000, 257);
    }),
    (Status::Algorithm, Opcode::Sign, "a key to agree with", |w| w.algorithm = Algorithm::X25519 as u8),
    (Status::Algorithm, Opcode::Agree, "a key to sign with", |w| w.algorithm = Algorithm::Ed25519 as u8),
    (Status::Algorithm, Opcode::PublicKey, "a cipher", |w| w.algorithm = Algorithm::AesCbc as u8),
    (Status::Algorithm, Opcode::Verify, "a key to agree with", |w| w.algorithm = Algorithm::X25519 as u8),
    (Status::Algorithm, Opcode::Decrypt, "a curve", |w| w.algorithm = Algorithm::P256 as u8),
    (Status::Key, Opcode::Verify, "a handle", |w| (w.flags, w.key, w.key_len) = (0, 1, 0)),
    (Status::KeyLength, Opcode::Verify, "31 bytes", |w| w.key_len = 31),
    (Status::KeyLength, Opcode::Verify, "more than a word may bring", |w| {
        (w.key, w.key_len) = (0, ControlWord::MOST_PUBLIC_KEY_BYTES + 1);
    }),
    (Status::AadRange, Opcode::Verify, "the signature's last byte", |w| w.aad = LEN - 63),
    (Status::DataLength, Opcode::Verify, "a signature that is too long", |w| w.aad_len = 65537),
    (Status::Reserved, Opcode::Verify, "a tag", |w| w.mac_len = 1),
    (Status::Parameter, Opcode::Verify, "a hash of Ed25519", |w| w.hash = Algorithm::Sha256 as u8),
    (Status::Parameter, Opcode::Sign, "a nonce of Ed25519", |w| w.parameter = 1),
    (Status::Parameter, Opcode::Decrypt, "no such padding", |w| w.parameter = 3),
    (Status::Parameter, Opcode::Decrypt, "OAEP without a hash", |w| {
        w.parameter = 2 | (Algorithm::Sha256 as u32) << 8;
    }),
    (Status::Parameter, Opcode::Decrypt, "a label without OAEP", |w| (w.aad, w.aad_len) = (0, 1)),
    (Status::DestinationRange, Opcode::Decrypt, "no place", |w| w.mac_key_len = 0),
    (Status::DestinationRange, Opcode::Decrypt, "a place that is too long", |w| {
        w.mac_key_len = ControlWord::MOST_RESULT_BYTES + 1;
    }),
    (Status::DestinationRange, Opcode::Decrypt, "the place's last byte", |w| w.destination = LEN - 127),
    (Status::DataLength, Opcode::Decrypt, "a place shorter than the longest message", |w| w.mac_key_len = 64),
    (Status::DataLength, Opcode::Decrypt, "127 bytes", |w| w.source_len = 127),
    (Status::Reserved, Opcode::Decrypt, "a tag", |w| (w.mac, w.mac_len) = (900, 16)),
    (Status::Overlap, Opcode::Decrypt, "the message over the ciphertext", |w| w.destination = w.source - 1),
    (Status::Flags, Opcode::Sign, "reverse", |w| w.flags = Flags::REVERSE),
    (Status::Reserved, Opcode::Sign, "a destination", |w| w.destination = 1),
    (Status::Reserved, Opcode::PublicKey, "a source", |w| w.source = 1),
    (Status::Overlap, Opcode::Sign, "the signature over the message", |w| w.mac = 163),
    (Status::Key, Opcode::Sign, "no such handle", |w| w.key ^= 1 << 31),
    (Status::KeyLength, Opcode::Agree, "31 bytes", |w| {
        (w.flags, w.key, w.key_len) = (Flags::KEY_IN_ARENA, 700, 31);
    }),
    (Status::MacLength, Opcode::Sign, "half a signature", |w| w.mac_len = 32),
    (Status::MacLength, Opcode::Agree, "more than a secret", |w| w.mac_len = 33),
    (Status::DataLength, Opcode::Agree, "31 bytes of a peer's key", |w| w.source_len = 31),
    (Status::Reserved, Opcode::Sign, "a context of Ed25519", |w| w.iv_len = 3),
    (Status::Algorithm, Opcode::Sign, "a key to decapsulate with", |w| {
        w.algorithm = Algorithm::MlKem512 as u8;
    }),
    (Status::Algorithm, Opcode::Encapsulate, "a key to sign with", |w| {
        w.algorithm = Algorithm::MlDsa44 as u8
    }),
    (Status::Algorithm, Opcode::Encapsulate, "a key to agree with", |w| {
        w.algorithm = Algorithm::X25519 as u8
    }),
    (Status::Key, Opcode::Encapsulate, "a handle", |w| (w.flags, w.key, w.key_len) = (0, 1, 0)),
    (Status::KeyLength, Opcode::Encapsulate, "799 bytes", |w| w.key_len = 799),
    (Status::KeyLength, Opcode::Encapsulate, "a key of another set", |w| {
        w.algorithm = Algorithm::MlKem768 as u8;
    }),
    (Status::Reserved, Opcode::Encapsulate, "a source", |w| w.source = 1),
    (Status::Reserved, Opcode::Encapsulate, "a context", |w| w.iv_len = 1),
    (Status::MacLength, Opcode::Encapsulate, "half a secret", |w| w.mac_len = 16),
    (Status::DestinationRange, Opcode::Encapsulate, "no place", |w| w.mac_key_len = 0),
    (Status::DataLength, Opcode::Encapsulate, "a place shorter than the ciphertext", |w| w.mac_key_len = 767),
    (Status::Overlap, Opcode::Encapsulate, "the secret in the ciphertext", |w| w.mac = w.destination + 700),
    (Status::Overlap, Opcode::Encapsulate, "the ciphertext over the key", |w| w.destination = w.key + 799),
    (Status::Algorithm, Opcode::Decapsulate, "a curve", |w| w.algorithm = Algorithm::P256 as u8),
    (Status::DataLength, Opcode::Decapsulate, "767 bytes", |w| w.source_len = 767),
    (Status::DataLength, Opcode::Decapsulate, "769 bytes", |w| w.source_len = 769),
    (Status::MacLength, Opcode::Decapsulate, "more than a secret", |w| w.mac_len = 33),
    (Status::Reserved, Opcode::Decapsulate, "a destination", |w| w.destination = 1),
    (Status::Key, Opcode::Decapsulate, "a key of another set", |w| {
        (w.algorithm, w.source_len) = (Algorithm::MlKem768 as u8, 1088);
    }),
    (Status::Overlap, Opcode::Decapsulate, "the secret over the ciphertext", |w| w.mac = w.source + 767),
    (Status::Algorithm, Opcode::Random, "none", |w| w.algorithm = 0),
    (Status::Algorithm, Opcode::Random, "a cipher", |w| w.algorithm = Algorithm::AesCtr as u8),
    (Status::Algorithm, Opcode::Cipher, "random bytes", |w| w.algorithm = Algorithm::Random as u8),
    (Status::Flags, Opcode::Random, "gather", |w| w.flags = Flags::GATHER),
    (Status::Reserved, Opcode::Random, "a source", |w| w.source = 1),
    (Status::Reserved, Opcode::Random, "a key", |w| w.key = 1),
    (Status::Reserved, Opcode::Random, "a tag", |w| w.mac_len = 1),
    (Status::DestinationRange, Opcode::Random, "one byte too many", |w| w.destination = LEN - 63),
    (Status::DestinationRange, Opcode::Random, "as long as the arena", |w| w.source_len = LEN),
    (Status::DataLength, Opcode::Random, "more than one word may have", |w| {
        w.source_len = ControlWord::MOST_RANDOM_BYTES + 1;
    }),
    (Status::Parameter, Opcode::Cipher, "not of KASUMI", |w| w.parameter = 1),
    (Status::Parameter, Opcode::Mac, "not of KASUMI", |w| w.parameter = 0x100),
];

const PIECE_OUTSIDE: u32 = 3000;
const PIECES_TOO_LONG: u32 = 3016;
const GOOD_LIST: u32 = 3040;
/// The places of the public key of RFC 8032 §7.1, test 1, and of the signature of the empty message.
const PUBLIC_KEY: u32 = 3100;
const SIGNATURE: u32 = 3400;
const NUMBER: u32 = 3200;
/// The place of a public key of ML-KEM-512.
const RECIPIENT: u32 = 5000;

/// The arena with its lists; the rest is random.
fn fill<A: Arena>(arena: &A) {
    arena.write(0, &Random::new(5).bytes(LEN as usize));
    let piece = |at: u32, len: u32| [at.to_le_bytes(), len.to_le_bytes()].concat();
    arena.write(PIECE_OUTSIDE, &piece(LEN - 5, 6));
    arena.write(PIECES_TOO_LONG, &[piece(0, LEN), piece(0, 1)].concat());
    arena.write(GOOD_LIST, &piece(4000, 32));
    arena.write(PUBLIC_KEY, &hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
    let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
                     5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
    arena.write(SIGNATURE, &hex(signature));
    let recipient = mlkem::PrivateKey::from_seed(features(), mlkem::Set::MlKem512, &[3; 64]);
    arena.write(RECIPIENT, recipient.public_key().as_bytes());
    // Below any modulus of that length.
    arena.write(NUMBER, &[0]);
}

fn station<A: Arena + Clone>(arena: A) -> Station<A> {
    fill(&arena);
    Station::new(arena, 8)
}

/// The word with the handles of good keys.
fn with_keys<A: Arena + Clone>(station: &mut Station<A>, opcode: Opcode) -> ControlWord {
    let mut word = good(opcode);
    let mut insert = |algorithm| {
        let bytes = match algorithm {
            Algorithm::Ed25519 | Algorithm::X25519 => vec![7; 32],
            Algorithm::MlKem512 => vec![7; 64],
            Algorithm::Rsa => keys::RSA_1024.to_vec(),
            _ => vec![7; 16],
        };
        let key = station.accelerator.insert_raw_key(station.grant, algorithm, &bytes, false);
        key.expect("a good key and a free slot").to_bits()
    };
    let (first, second) = keys_of(opcode);
    word.key = first.map_or(word.key, &mut insert);
    word.mac_key = if second { insert(Algorithm::Sha256) } else { 0 };
    word
}

fn contents<A: Arena>(arena: &A) -> Vec<u8> {
    let mut bytes = vec![0; LEN as usize];
    arena.read(0, &mut bytes);
    bytes
}

/// Executes one word; its status, and whether anything in the arena has changed.
fn execute<A: Arena + Clone>(station: &mut Station<A>, word: &ControlWord) -> (Status, bool) {
    let before = contents(&station.arena);
    station.client.submit(word);
    // A piece under a key has one step for its associated data and one for its data.
    let ended = (0..3).map(|_| station.accelerator.step(0)).find(|ended| *ended > 0);
    assert_eq!(ended, Some(1));
    let done = station.client.completed().expect("a completion");
    assert_eq!((done.tag, done.reserved), (word.tag, 0));
    assert_eq!(station.client.completed(), None);
    let status = done.status().expect("a status");
    assert!(status == Status::Ok || done.value == 0, "{status:?}");
    (status, before != contents(&station.arena))
}

fn each_rule<A: Arena + Clone>(arena: impl Fn() -> A) {
    for opcode in Opcode::ALL.iter().copied() {
        let mut station = station(arena());
        let word = with_keys(&mut station, opcode);
        let expected = if opcode == Opcode::MacThenDecrypt { Status::Authentication } else { Status::Ok };
        assert_eq!(execute(&mut station, &word).0, expected, "{opcode:?}");
    }
    for (status, opcode, what, breaks) in BREAKS {
        let mut station = station(arena());
        let mut word = with_keys(&mut station, *opcode);
        breaks(&mut word);
        assert_eq!(execute(&mut station, &word), (*status, false), "{opcode:?}: {what}");
    }
    // Rules of algorithms that the good words don't use.
    for (algorithm, key_len, change, status) in [
        (
            Algorithm::AesXts,
            32,
            ControlWord { iv_len: 16, source_len: 15, ..good(Opcode::Cipher) },
            Status::DataLength,
        ),
        (
            Algorithm::DesCbc,
            8,
            ControlWord { iv_len: 8, source_len: 7, ..good(Opcode::Cipher) },
            Status::DataLength,
        ),
        (Algorithm::AesEcb, 16, good(Opcode::Cipher), Status::IvLength),
        (Algorithm::Rc4, 16, good(Opcode::Cipher), Status::IvLength),
        (Algorithm::KasumiF8, 16, ControlWord { iv_len: 7, ..good(Opcode::Cipher) }, Status::IvLength),
        (
            Algorithm::KasumiF8,
            16,
            ControlWord { iv_len: 8, iv: 700, ..good(Opcode::Cipher) },
            Status::Parameter,
        ),
        (
            Algorithm::KasumiF8,
            16,
            ControlWord { iv_len: 8, parameter: 8, ..good(Opcode::Cipher) },
            Status::Parameter,
        ),
        (
            Algorithm::KasumiF8,
            16,
            ControlWord { iv_len: 8, parameter: ControlWord::ANY_START | 0x100, ..good(Opcode::Cipher) },
            Status::Parameter,
        ),
        (
            Algorithm::KasumiF8,
            16,
            ControlWord { iv_len: 8, parameter: 1, source_len: 0, ..good(Opcode::Cipher) },
            Status::Parameter,
        ),
        (Algorithm::KasumiF9, 16, ControlWord { mac_len: 4, ..good(Opcode::Mac) }, Status::IvLength),
        (Algorithm::KasumiF9, 16, ControlWord { iv: 300, iv_len: 8, ..good(Opcode::Mac) }, Status::MacLength),
        (
            Algorithm::KasumiF9,
            16,
            ControlWord { iv: 300, iv_len: 8, mac_len: 4, parameter: 0x200, ..good(Opcode::Mac) },
            Status::Parameter,
        ),
        (Algorithm::Ed25519, 31, good(Opcode::Sign), Status::KeyLength),
        (Algorithm::DesMac, 8, ControlWord { mac_len: 9, ..good(Opcode::Mac) }, Status::MacLength),
        (
            Algorithm::ChaCha20Poly1305,
            32,
            ControlWord { mac_len: 12, ..good(Opcode::Aead) },
            Status::MacLength,
        ),
        (Algorithm::AesSiv, 16, good(Opcode::Aead), Status::KeyLength),
        (Algorithm::AesGcmSiv, 24, good(Opcode::Aead), Status::KeyLength),
        (Algorithm::AesGcmSiv, 16, ControlWord { iv_len: 13, ..good(Opcode::Aead) }, Status::IvLength),
        (Algorithm::Xaes256Gcm, 32, good(Opcode::Aead), Status::IvLength),
        (Algorithm::AesSiv, 32, ControlWord { mac_len: 12, ..good(Opcode::Aead) }, Status::MacLength),
        (
            Algorithm::Fernet,
            32,
            ControlWord { mac_len: 32, aad_len: 0, ..good(Opcode::Aead) },
            Status::IvLength,
        ),
        (
            Algorithm::AesKw,
            16,
            ControlWord { mac_len: 16, aad_len: 0, ..good(Opcode::Aead) },
            Status::MacLength,
        ),
        (
            Algorithm::AesFf1,
            16,
            ControlWord { parameter: 10, source_len: 10, ..good(Opcode::Cipher) },
            Status::DataLength,
        ),
        (Algorithm::ChaCha20Poly1305, 32, ControlWord { iv_len: 11, ..good(Opcode::Aead) }, Status::IvLength),
        (
            Algorithm::AesXts,
            32,
            ControlWord { aad_len: 49, mac_key: 700, mac_key_len: 9, ..good(Opcode::EncryptThenMac) },
            Status::DataLength,
        ),
    ] {
        let mut station = station(arena());
        let mac_flag = if change.mac_key_len > 0 { Flags::MAC_KEY_IN_ARENA } else { 0 };
        let word = ControlWord {
            algorithm: algorithm as u8,
            key: 800,
            key_len,
            flags: Flags::KEY_IN_ARENA | mac_flag,
            ..change
        };
        assert_eq!(execute(&mut station, &word), (status, false), "{algorithm:?}: {word:?}");
    }
}

/// Objects that come whole are executed at once, so they and their associated data have a limit; others have none.
#[test]
fn objects_that_come_whole_have_a_limit() {
    const MOST: u32 = ControlWord::MOST_WHOLE_BYTES;
    for (algorithm, key_len, iv_len, limited) in [
        (Algorithm::AesSiv, 64, 0, true),
        (Algorithm::AesGcmSiv, 32, 12, true),
        (Algorithm::Xaes256Gcm, 32, 24, true),
        (Algorithm::ChaCha20Poly1305, 32, 12, false),
    ] {
        for (len, aad_len) in [(MOST, MOST), (MOST + 1, 0), (0, MOST + 1)] {
            let mut station = station(Arc::new(LocalArena::new(8 * MOST)));
            let word = ControlWord {
                algorithm: algorithm as u8,
                flags: Flags::KEY_IN_ARENA,
                key: 800,
                key_len,
                iv_len,
                mac: 700,
                mac_len: 16,
                aad: 4096,
                aad_len,
                source: 2 * MOST,
                source_len: len,
                destination: 4 * MOST,
                ..good(Opcode::Aead)
            };
            let status = if limited && len.max(aad_len) > MOST { Status::DataLength } else { Status::Ok };
            assert_eq!(
                execute(&mut station, &word),
                (status, status == Status::Ok),
                "{algorithm:?} {len} {aad_len}"
            );
        }
    }
}

#[test]
fn each_rule_has_its_status_and_nothing_changes() {
    each_rule(|| Arc::new(LocalArena::new(LEN)));
    each_rule(|| Exclusive(Arc::new(LocalArena::new(LEN))));
    let provoked: BTreeSet<u16> = BREAKS.iter().map(|(status, ..)| *status as u16).collect();
    let rules = Status::ALL.iter().filter(|status| (16..=54).contains(&(**status as u16)));
    // Policies are tested in `grants.rs`.
    let rules = rules.filter(|status| **status != Status::Policy).map(|status| *status as u16);
    assert_eq!(provoked, rules.collect());
}

/// Words whose time grows faster than their length are short: keys that are wrapped, and digits.
#[test]
fn chains_and_digits_have_shorter_words() {
    const WRAPPED: u32 = ControlWord::MOST_WRAPPED_BYTES;
    const FORMAT: u32 = ControlWord::MOST_FORMAT_BYTES;
    let key = ControlWord { mac: 700, mac_len: 8, aad_len: 0, iv_len: 0, ..good(Opcode::Aead) };
    let digits = ControlWord { parameter: 1 << 16, ..good(Opcode::Cipher) };
    for (algorithm, most, word) in [(Algorithm::AesKw, WRAPPED, key), (Algorithm::AesFf1, FORMAT, digits)] {
        for (len, status) in [(most, Status::Ok), (most + 8, Status::DataLength)] {
            let mut station = station(Arc::new(LocalArena::new(8 * WRAPPED)));
            let word = ControlWord {
                algorithm: algorithm as u8,
                flags: Flags::KEY_IN_ARENA,
                key: 800,
                key_len: 16,
                source: 2 * WRAPPED,
                source_len: len,
                destination: 1024,
                ..word
            };
            assert_eq!(execute(&mut station, &word), (status, status == Status::Ok), "{algorithm:?} {len}");
        }
    }
}

/// Spans that end where the arena ends are inside it, and so are empty ones.
#[test]
fn the_last_byte_of_the_arena_is_inside() {
    let mut station = station(Arc::new(LocalArena::new(LEN)));
    for word in [
        ControlWord { destination: LEN - 64, ..good(Opcode::Copy) },
        ControlWord { source: LEN - 64, ..good(Opcode::Copy) },
        ControlWord { source: LEN, source_len: 0, destination: LEN, ..good(Opcode::Copy) },
        ControlWord { source_len: 0, destination: 100, ..good(Opcode::Copy) },
        ControlWord { mac: LEN - 32, ..good(Opcode::Hash) },
        ControlWord { state: LEN - 256, ..good(Opcode::PartialHash) },
        ControlWord { flags: Flags::GATHER, source: 3000, source_len: 0, ..good(Opcode::Hash) },
        ControlWord { destination: 164, ..good(Opcode::Copy) },
    ] {
        assert_eq!(execute(&mut station, &word).0, Status::Ok, "{word:?}");
    }
}

/// Every single bit of a good word, turned: a status, and what is not an output stays as it was.
#[test]
fn any_bit_turned_is_a_status() {
    for opcode in Opcode::ALL.iter().copied() {
        let mut station = station(Arc::new(LocalArena::new(LEN)));
        let word = with_keys(&mut station, opcode);
        for bit in 0..8 * ControlWord::BYTES {
            let mut words = word.to_words();
            words[bit / 64] ^= 1 << (bit % 64);
            let (status, changed) = execute(&mut station, &ControlWord::from_words(words));
            assert!(
                !changed || matches!(status, Status::Ok | Status::Authentication),
                "{opcode:?} bit {bit}"
            );
        }
    }
}

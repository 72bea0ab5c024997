//! The sentence behind a status. A completion has room for a number only; the engine that refused knows what was given
//! and what it takes.

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_engines::hmac::HmacKey;
use millstream_engines::{Error, InOut};

use crate::algorithms::{hash_of, most_whole};
use crate::cost::some_key;
use crate::key::{Key, PrivateKey};
use crate::operation::Operation;
use crate::pairs::CarriedPublic;
use crate::sink::f9_start;
use crate::status::status_of;
use crate::unit::Unit;
use crate::uses::brings_public_key;

/// Bytes of data that every algorithm takes.
const FITTING: usize = 16;

/// The longest data that is made to ask an engine about: more than XTS takes, the only one whose limit a buffer can exceed.
const LONGEST: usize = 32 << 20;

/// Returns the error with which an engine refuses the lengths of a word, if the status is about them. The word need not have
/// more than its first eight bytes; `data` is the length of its input, `key` that of the key that it carries.
///
/// The engine is asked again, with a key and data of its own, so that its rules are written down once.
#[cold]
pub fn explain(status: Status, word: &ControlWord, data: usize, key: usize) -> Option<Error> {
    let explained = match status {
        Status::KeyLength => refused_key(word, key),
        Status::IvLength | Status::MacLength => refused_operation(word, FITTING),
        Status::DataLength => {
            too_long(word, data).or_else(|| (data <= LONGEST).then(|| refused_operation(word, data))?)
        }
        _ => None,
    };
    // The length of a public key that a word brings is that of data to its engine.
    explained.filter(|error| match error {
        Error::DataLength { .. } if status == Status::KeyLength => true,
        error => status_of(*error) == status,
    })
}

/// Returns the error of data that is longer than a word of its algorithm may have.
fn too_long(word: &ControlWord, data: usize) -> Option<Error> {
    let algorithm = Algorithm::from_code(word.algorithm)?;
    let takes = match most_whole(algorithm)? {
        most if data <= most as usize => return None,
        ControlWord::MOST_WRAPPED_BYTES => "at most 8192 bytes of a key in a queue",
        ControlWord::MOST_FORMAT_BYTES => "at most 256 digits of two bytes in a queue: divide a longer value",
        _ => {
            "at most 65536 bytes in a queue: divide a longer object, or seal it with aes-gcm or chacha20-poly1305, \
             which take any length"
        }
    };
    Some(Error::DataLength { algorithm: algorithm.name(), given: data as u64, takes })
}

fn refused_key(word: &ControlWord, len: usize) -> Option<Error> {
    if Opcode::from_code(word.opcode).is_some_and(brings_public_key) {
        return CarriedPublic::new(Features::none(), keyed_by(word)?, &vec![0; len]).err();
    }
    Key::new(Features::none(), keyed_by(word)?, &vec![0; len]).err()
}

/// Returns the algorithm of a word's key.
fn keyed_by(word: &ControlWord) -> Option<Algorithm> {
    Algorithm::from_code(if word.algorithm != 0 { word.algorithm } else { word.hash })
}

fn refused_operation(word: &ControlWord, len: usize) -> Option<Error> {
    let features = Features::none();
    let key = some_key(features, keyed_by(word)?)?;
    let (iv, tag) = (vec![0; word.iv_len.into()], vec![0; word.mac_len.into()]);
    // Zeroed memory that nobody touches costs nothing, whatever its length.
    let mut data = vec![0; len];
    let mac;
    let mut operation = match Opcode::from_code(word.opcode)? {
        Opcode::Cipher => Operation::encrypt(key.as_cipher()?, &iv, InOut::in_place(&mut data)),
        Opcode::Aead => {
            let tag_len = tag.len();
            Operation::open_cut(key.as_aead()?, &iv, &[], InOut::in_place(&mut data), &tag, tag_len)
        }
        Opcode::Decapsulate => match key.by_ref().as_private()? {
            PrivateKey::MlKem(key) => Operation::decapsulate(key, &data),
            _ => return None,
        },
        Opcode::Hmac | Opcode::Mac => match key.as_mac() {
            Some(key) => Operation::verify(key, &data, &tag),
            None => return f9_start(&iv).err(),
        },
        // The word does not say how many bytes stay clear, so nothing is said about the data's length.
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt if len == FITTING => {
            mac = HmacKey::new(features, hash_of(Algorithm::from_code(word.hash)?)?, &[]);
            Operation::mac_then_decrypt(key.as_cipher()?, &iv, &mac, 0, InOut::in_place(&mut data), &tag)
        }
        _ => return None,
    };
    Unit::new(features).run_one(&mut operation);
    operation.result().err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(opcode: Opcode, algorithm: Algorithm, hash: Algorithm, iv_len: u8, mac_len: u8) -> ControlWord {
        let (opcode, algorithm, hash) = (opcode as u8, algorithm as u8, hash as u8);
        ControlWord { opcode, algorithm, hash, iv_len, mac_len, ..ControlWord::EMPTY }
    }

    #[test]
    fn statuses_about_lengths_get_the_engines_own_sentence() {
        use Algorithm::{
            AesCbc, AesCmac, AesFf1, AesGcm, AesSiv, AesXts, ChaCha20Poly1305, DesCbc, KasumiF9, MlDsa44,
            MlKem512, MlKem768, None, Sha256, SlhDsaSha2_128f, SlhDsaShake256f,
        };
        for (status, word, data, key, sentence) in [
            (
                Status::DataLength,
                word(Opcode::Cipher, AesCbc, None, 16, 0),
                30,
                0,
                "aes-cbc: data of length 30; it takes whole blocks",
            ),
            (
                Status::DataLength,
                word(Opcode::Cipher, AesXts, None, 16, 0),
                15,
                0,
                "aes-xts: data of length 15; it takes 16 bytes to 2^20 blocks",
            ),
            (
                Status::IvLength,
                word(Opcode::Cipher, DesCbc, None, 12, 0),
                16,
                0,
                "a nonce of 12 bytes; it takes 8 bytes",
            ),
            (
                Status::IvLength,
                word(Opcode::Aead, ChaCha20Poly1305, None, 8, 16),
                16,
                0,
                "a nonce of 8 bytes",
            ),
            (Status::MacLength, word(Opcode::Aead, AesGcm, None, 12, 3), 16, 0, "a tag of 3 bytes"),
            (Status::MacLength, word(Opcode::Hmac, None, Sha256, 0, 33), 16, 0, "a tag of 33 bytes"),
            (Status::MacLength, word(Opcode::Mac, AesCmac, None, 0, 17), 16, 0, "a tag of 17 bytes"),
            (
                Status::IvLength,
                word(Opcode::Mac, KasumiF9, None, 7, 4),
                16,
                0,
                "kasumi-f9: a nonce of 7 bytes",
            ),
            (
                Status::IvLength,
                word(Opcode::EncryptThenMac, AesCbc, Sha256, 4, 32),
                16,
                0,
                "a nonce of 4 bytes; it takes 16 bytes",
            ),
            (
                Status::DataLength,
                word(Opcode::Aead, AesSiv, None, 0, 16),
                65537,
                0,
                "aes-siv: data of length 65537; it takes at most 65536 bytes in a queue: divide a longer object",
            ),
            (
                Status::DataLength,
                word(Opcode::Cipher, AesFf1, None, 0, 0),
                514,
                0,
                "at most 256 digits of two bytes in a queue",
            ),
            (
                Status::KeyLength,
                word(Opcode::Cipher, AesCbc, None, 16, 0),
                16,
                17,
                "a key of 17 bytes; it takes 16, 24 or 32 bytes",
            ),
            (
                Status::DataLength,
                word(Opcode::Decapsulate, MlKem768, None, 0, 32),
                1087,
                0,
                "ml-kem-768: data of length 1087; it takes 1088 bytes",
            ),
            (
                Status::KeyLength,
                word(Opcode::Sign, MlDsa44, None, 0, 0),
                10,
                33,
                "a key of 33 bytes; it takes 32 bytes of a seed, or 2560",
            ),
            (
                Status::KeyLength,
                word(Opcode::Encapsulate, MlKem512, None, 0, 32),
                0,
                801,
                "ml-kem-512: data of length 801; it takes 800 bytes of a public key",
            ),
            (
                Status::KeyLength,
                word(Opcode::Sign, SlhDsaSha2_128f, None, 0, 0),
                10,
                48,
                "slh-dsa-sha2-128f: a key of 48 bytes; it takes 64 bytes",
            ),
            (
                Status::KeyLength,
                word(Opcode::Verify, SlhDsaShake256f, None, 0, 0),
                0,
                63,
                "slh-dsa-shake-256f: data of length 63; it takes 64 bytes",
            ),
        ] {
            let error = explain(status, &word, data, key).unwrap_or_else(|| panic!("{sentence}"));
            assert!(error.to_string().contains(sentence), "{error}; expected: {sentence}");
        }
    }

    #[test]
    fn nothing_is_said_where_the_engine_has_no_objection() {
        let fine = word(Opcode::Cipher, Algorithm::AesCbc, Algorithm::None, 16, 0);
        for status in Status::ALL {
            assert_eq!(explain(*status, &fine, 32, 16), None, "{status}");
        }
        assert_eq!(explain(Status::DataLength, &ControlWord::EMPTY, 32, 0), None);
    }
}

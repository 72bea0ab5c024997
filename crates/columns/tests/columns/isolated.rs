//! Keys behind a queue: the same results as of keys in this process, one operation for each value. A service of its own process
//! is in the tests of the command.

use arrow_schema::DataType;
use millstream::cwq::Algorithm;
use millstream::ff1::Alphabet;
use millstream::hash::Hash;
use millstream::queue::{AcceleratorThread, Config, KeyOptions, Nonces, Queue, ThreadConfig};
use millstream_columns::{
    Aead, Cipher, Encoding, Error, Fault, Fernet, Fpe, Hmac, Isolated, OnError, Open, Parameter, Seal, Token,
    from_values,
};

use super::layouts::{Rows, all, plain, read, rows, sets};

const KEY: [u8; 32] = [7; 32];

/// An arena so small that a column's values do not fit at once.
const SMALL: Config = Config { depth: 64, arena_bytes: 64 << 10, key_slots: 4, weight: 1 };

fn queue(config: Config) -> Queue {
    Queue::inline(millstream::features().unwrap(), config).unwrap()
}

fn aead(mut queue: Queue, algorithm: Algorithm) -> Isolated {
    let made = KeyOptions { nonces: Nonces::Made, ..KeyOptions::default() };
    let key = queue.import_key_with(algorithm, &KEY, made).unwrap();
    Isolated::over(queue, key)
}

fn mac(mut queue: Queue, algorithm: Algorithm) -> Isolated {
    let key = queue.import_key(algorithm, &KEY).unwrap();
    Isolated::over(queue, key)
}

#[test]
fn codes_are_those_of_a_key_in_this_process() {
    let thread = AcceleratorThread::spawn(millstream::features().unwrap(), ThreadConfig::default()).unwrap();
    for (hash, algorithm) in [(Hash::Sha256, Algorithm::Sha256), (Hash::Sha512, Algorithm::Sha512)] {
        let here = Hmac::new(hash, &KEY).unwrap();
        for key in [mac(queue(SMALL), algorithm), mac(thread.queue(Config::default()).unwrap(), algorithm)] {
            assert_eq!(key.algorithm(), algorithm);
            for rows in sets() {
                for (name, column) in all(&rows) {
                    for encoding in [Encoding::Binary, Encoding::Hex, Encoding::Base64] {
                        let (ours, theirs) =
                            (key.sign(&column, encoding).unwrap(), here.sign(&column, encoding).unwrap());
                        assert_eq!(read(&ours), read(&theirs), "{name}");
                        assert_eq!(ours.data_type(), theirs.data_type(), "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn each_side_opens_what_the_other_has_sealed() {
    for (cipher, algorithm) in [
        (Cipher::AesGcm, Algorithm::AesGcm),
        (Cipher::ChaCha20Poly1305, Algorithm::ChaCha20Poly1305),
        (Cipher::AesGcmSiv, Algorithm::AesGcmSiv),
    ] {
        let here = Aead::new(cipher, &KEY).unwrap();
        for key in [aead(queue(SMALL), algorithm), aead(queue(Config::default()), algorithm)] {
            for rows in sets() {
                let aads: Rows = (0..rows.len()).map(|i| Some(format!("row {i}").into_bytes())).collect();
                let aads = plain(&DataType::Utf8, &aads);
                for (name, column) in all(&rows) {
                    for aad in [Parameter::None, Parameter::Constant(b"column"), Parameter::Column(&aads)] {
                        let (how, open) =
                            (Seal { aad, ..Seal::default() }, Open { aad, text: true, ..Open::default() });
                        let (ours, theirs) =
                            (key.seal(&column, &how).unwrap(), here.seal(&column, &how).unwrap());
                        assert_eq!(read(&here.open(&ours, &open).unwrap()), rows, "{name}");
                        assert_eq!(read(&key.open(&theirs, &open).unwrap()), rows, "{name}");
                    }
                }
            }
            let column = plain(&DataType::Utf8, &rows(90, |i| i));
            let hex = key.seal(&column, &Seal { encoding: Encoding::Hex, ..Seal::default() }).unwrap();
            for (sealed, plain) in read(&hex).iter().zip(read(&column)) {
                assert_eq!(sealed.as_ref().map(Vec::len), plain.map(|plain| 2 * (plain.len() + 28)));
            }
        }
    }
}

#[test]
fn forged_values_are_named_or_null() {
    let (key, rows) = (aead(queue(SMALL), Algorithm::AesGcm), rows(300, |i| i % 40));
    let column = plain(&DataType::Utf8, &rows);
    let mut sealed = read(&key.seal(&column, &Seal::default()).unwrap());
    for row in [200, 77, 250] {
        sealed[row].as_mut().unwrap()[13] ^= 1;
    }
    sealed[100] = Some(vec![1; 27]);
    let forged = plain(&DataType::Binary, &sealed);
    let error = key.open(&forged, &Open::default()).unwrap_err();
    assert_eq!(error, Error::Row { row: 77, fault: Fault::Authentication });
    let opened = key.open(&forged, &Open { on_error: OnError::Null, ..Open::default() }).unwrap();
    for (row, (opened, plain)) in read(&opened).iter().zip(&rows).enumerate() {
        let expected = if [77, 100, 200, 250].contains(&row) { &None } else { plain };
        assert_eq!(opened, expected, "row {row}");
    }
    // The key goes on after a column that failed.
    let sealed = key.seal(&column, &Seal::default()).unwrap();
    assert_eq!(read(&key.open(&sealed, &Open::default()).unwrap()), rows);
}

#[test]
fn plaintext_that_is_no_text_is_none() {
    let key = aead(queue(SMALL), Algorithm::AesGcm);
    let column = plain(&DataType::Binary, &vec![Some(b"text".to_vec()), Some(vec![0xff, 0xfe])]);
    let sealed = key.seal(&column, &Seal::default()).unwrap();
    let error = key.open(&sealed, &Open { text: true, ..Open::default() }).unwrap_err();
    assert_eq!(error, Error::Row { row: 1, fault: Fault::NotText });
}

#[test]
fn what_the_key_is_not_for_is_refused() {
    let column = plain(&DataType::Utf8, &rows(9, |_| 9));
    let (aead, mac) = (aead(queue(SMALL), Algorithm::AesGcm), mac(queue(SMALL), Algorithm::Sha256));
    for refused in [
        aead.sign(&column, Encoding::Binary).unwrap_err(),
        mac.seal(&column, &Seal::default()).unwrap_err(),
        mac.open(&column, &Open::default()).unwrap_err(),
        aead.seal(&column, &Seal { nonces: Parameter::Constant(&[1; 12]), ..Seal::default() }).unwrap_err(),
    ] {
        assert!(matches!(refused, Error::Parameter { .. }), "{refused}");
    }
    // A value that the arena has no room for.
    let long = plain(&DataType::Utf8, &vec![Some(vec![b'x'; 70_000])]);
    let refused = mac.sign(&long, Encoding::Binary).unwrap_err();
    assert!(matches!(refused, Error::Isolated(millstream::Error::Queue(_))), "{refused}");
    // A key whose nonces are given seals nothing.
    let mut given = queue(SMALL);
    let key = given.import_key(Algorithm::AesGcm, &KEY).unwrap();
    let refused = Isolated::over(given, key).seal(&column, &Seal::default()).unwrap_err();
    assert!(matches!(refused, Error::Isolated(millstream::Error::Operation(_))), "{refused}");
}

/// Values of two alphabets, one of which has characters of more than a byte, with a tweak for each row: the same as with a key in this
/// process, and the same rows fail.
#[test]
fn digits_are_those_of_a_key_in_this_process() {
    for characters in ["0123456789", "0123456789abcdefé€"] {
        let (here, alphabet) = (Fpe::new(&KEY, characters).unwrap(), Alphabet::new(characters).unwrap());
        for config in [SMALL, Config::default()] {
            let key = mac(queue(config), Algorithm::AesFf1);
            let texts: Vec<Option<String>> = (0..500)
                .map(|i| match i % 9 {
                    4 => None,
                    // Too short, and a character that is not of the alphabet.
                    5 if i > 400 => Some("123".into()),
                    6 if i > 400 => Some("12345x7890".into()),
                    7 => characters
                        .chars()
                        .last()
                        .map(|last| format!("{i:07}").replace('0', &last.to_string())),
                    _ => Some(format!("{i:0width$}", width = 6 + i % 60)),
                })
                .collect();
            let bytes: Vec<Option<&[u8]>> =
                texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
            let column = from_values(&bytes, true).unwrap();
            let tweaks: Rows = (0..bytes.len()).map(|i| Some(format!("row {i}").into_bytes())).collect();
            let tweaks = plain(&DataType::Utf8, &tweaks);
            for tweak in [Parameter::None, Parameter::Constant(b"card"), Parameter::Column(&tweaks)] {
                let ours = key.encrypt_digits(&column, &alphabet, tweak, OnError::Null).unwrap();
                let theirs = here.encrypt(&column, tweak, OnError::Null).unwrap();
                assert_eq!(read(&ours), read(&theirs));
                let back = key.decrypt_digits(&theirs, &alphabet, tweak, OnError::Null).unwrap();
                let expected: Rows = read(&theirs)
                    .iter()
                    .zip(&bytes)
                    .map(|(made, plain)| made.is_some().then(|| plain.unwrap().to_vec()))
                    .collect();
                assert_eq!(read(&back), expected);
                assert_eq!(
                    key.encrypt_digits(&column, &alphabet, tweak, OnError::Fail).unwrap_err(),
                    here.encrypt(&column, tweak, OnError::Fail).unwrap_err()
                );
            }
            // What a control word has no room for is the fault of its row.
            let long = "1".repeat(257);
            let long = from_values(&[Some(b"123456"), Some(long.as_bytes())], true).unwrap();
            let refused = key.encrypt_digits(&long, &alphabet, Parameter::None, OnError::Fail).unwrap_err();
            assert!(matches!(refused, Error::Row { row: 1, fault: Fault::Refused(_) }), "{refused}");
            let tweak = Parameter::Constant(&[7; 256]);
            let refused = key.encrypt_digits(&long, &alphabet, tweak, OnError::Fail).unwrap_err();
            assert!(refused.to_string().contains("at most 255 bytes"), "{refused}");
        }
    }
}

#[test]
fn tokens_are_those_of_a_key_in_this_process() {
    // The same 32 bytes in base64.
    let here = Fernet::new("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").unwrap();
    for config in [SMALL, Config::default()] {
        let key = mac(queue(config), Algorithm::Fernet);
        let how = Token { text: true, ..Token::default() };
        for rows in sets() {
            for (name, column) in all(&rows) {
                let ours = key.encrypt_tokens(&column, Some(1_000_000)).unwrap();
                let theirs = here.encrypt(&column, None).unwrap();
                assert_eq!(read(&here.decrypt(&ours, &how).unwrap()), rows, "{name}");
                assert_eq!(read(&key.decrypt_tokens(&theirs, &how).unwrap()), rows, "{name}");
            }
        }
        let column = plain(&DataType::Utf8, &rows(50, |i| i));
        let old = key.encrypt_tokens(&column, Some(1_000_000)).unwrap();
        let late = Token { ttl: Some(60), ..how };
        assert_eq!(key.decrypt_tokens(&old, &late), here.decrypt(&old, &late));
        // No token, one of another key, and a right one.
        let mut tokens = read(&old);
        tokens[0] = Some(b"gAAAAA".to_vec());
        let at = tokens.iter().skip(1).position(Option::is_some).unwrap() + 1;
        tokens[at].as_mut().unwrap()[30] ^= 1;
        let changed = plain(&DataType::Utf8, &tokens);
        let null = Token { on_error: OnError::Null, ..how };
        assert_eq!(
            read(&key.decrypt_tokens(&changed, &null).unwrap()),
            read(&here.decrypt(&changed, &null).unwrap())
        );
        let refused = key.decrypt_tokens(&changed, &how).unwrap_err();
        assert_eq!(refused, Error::Row { row: 0, fault: Fault::Authentication });
        assert!(matches!(key.seal(&column, &Seal::default()), Err(Error::Parameter { .. })));
        assert!(matches!(key.sign(&column, Encoding::Hex), Err(Error::Parameter { .. })));
    }
    let other = mac(queue(SMALL), Algorithm::Sha256);
    let column = plain(&DataType::Utf8, &rows(5, |i| i));
    assert!(matches!(other.encrypt_tokens(&column, None), Err(Error::Parameter { .. })));
    let decimal = Alphabet::new("0123456789").unwrap();
    let refused = other.encrypt_digits(&column, &decimal, Parameter::None, OnError::Fail);
    assert!(matches!(refused, Err(Error::Parameter { .. })));
}

//! Keys behind a queue: the same results as of keys in this process, one operation for each value. A service of its own process
//! is in the tests of the command.

use arrow_schema::DataType;
use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::queue::{AcceleratorThread, Config, KeyOptions, Nonces, Queue, ThreadConfig};
use millstream_columns::{
    Aead, Cipher, Encoding, Error, Fault, Hmac, Isolated, OnError, Open, Parameter, Seal,
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
    for (cipher, algorithm) in
        [(Cipher::AesGcm, Algorithm::AesGcm), (Cipher::ChaCha20Poly1305, Algorithm::ChaCha20Poly1305)]
    {
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

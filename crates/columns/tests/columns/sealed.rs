//! AEADs and AES-SIV.

use aes_gcm::aead::{Aead as _, KeyInit, Payload};
use arrow_array::types::Int32Type;
use arrow_array::{Array, BinaryArray, make_array};
use arrow_schema::DataType;
use millstream::aead::Aead as _;
use millstream::gcm_siv::GcmSiv;
use millstream::siv::Siv as SivKey;
use millstream::xaes::Xaes;
use millstream::{EngineError, InOut};
use millstream_columns::{
    Aead, ArrayData, Cipher, Encoding, Error, Fault, OnError, Open, Parameter, Seal, Siv,
};
use proptest::prelude::*;

use super::layouts::{Rows, all, dictionary, plain, read, rows, sets};

fn key(cipher: Cipher) -> [u8; 32] {
    [cipher.name().len() as u8; 32]
}

/// Seals one value: RustCrypto for GCM and ChaCha20-Poly1305, and our engine, whose own tests have others, for the rest.
fn theirs(cipher: Cipher, nonce: &[u8], aad: &[u8], plain: &[u8]) -> Vec<u8> {
    let key = key(cipher);
    let payload = Payload { msg: plain, aad };
    let features = millstream::features().unwrap();
    let (mut text, mut tag) = (plain.to_vec(), [0; 16]);
    let sealed = match cipher {
        Cipher::AesGcm => {
            let key = aes_gcm::Aes256Gcm::new_from_slice(&key).unwrap();
            key.encrypt(nonce.try_into().unwrap(), payload).unwrap()
        }
        Cipher::ChaCha20Poly1305 => {
            let key = chacha20poly1305::ChaCha20Poly1305::new_from_slice(&key).unwrap();
            key.encrypt(nonce.try_into().unwrap(), payload).unwrap()
        }
        Cipher::XaesGcm => {
            let key = Xaes::new(features, &key).unwrap();
            key.seal(nonce, aad, InOut::in_place(&mut text), &mut tag).unwrap();
            [&text[..], &tag].concat()
        }
        Cipher::AesGcmSiv => {
            let key = GcmSiv::new(features, &key).unwrap();
            key.seal(nonce, aad, InOut::in_place(&mut text), &mut tag).unwrap();
            [&text[..], &tag].concat()
        }
    };
    [nonce, &sealed].concat()
}

fn nonce_len(cipher: Cipher) -> usize {
    if cipher == Cipher::XaesGcm { 24 } else { 12 }
}

#[test]
fn random_nonces_are_others_for_each_value_and_sealed_values_are_right() {
    for rows in sets() {
        for cipher in Cipher::ALL {
            let key = Aead::new(cipher, &key(cipher)).unwrap();
            for (name, column) in all(&rows) {
                let aad = Parameter::Constant(b"column");
                let sealed = key.seal(&column, &Seal { aad, ..Seal::default() }).unwrap();
                let found = read(&sealed);
                let mut nonces = Vec::new();
                for (sealed, plain) in found.iter().zip(&rows) {
                    assert_eq!(sealed.is_some(), plain.is_some());
                    let (Some(sealed), Some(plain)) = (sealed, plain) else { continue };
                    let nonce = &sealed[..nonce_len(cipher)];
                    nonces.push(nonce.to_vec());
                    assert_eq!(
                        *sealed,
                        theirs(cipher, nonce, b"column", plain),
                        "{} of {name}",
                        cipher.name()
                    );
                }
                let count = nonces.len();
                nonces.sort();
                nonces.dedup();
                assert_eq!(nonces.len(), count, "{} of {name}", cipher.name());
                let opened = key.open(&sealed, &Open { aad, ..Open::default() }).unwrap();
                assert_eq!(read(&opened), rows, "{} of {name}", cipher.name());
                let text = key.open(&sealed, &Open { aad, text: true, ..Open::default() }).unwrap();
                assert!(matches!(text.data_type(), DataType::Utf8 | DataType::LargeUtf8), "{name}");
                assert_eq!(read(&text), rows, "{} of {name}", cipher.name());
            }
        }
    }
}

#[test]
fn columns_of_nonces_and_of_associated_data_go_row_by_row() {
    let plain_rows = rows(700, |i| i % 40);
    let aads: Rows = (0..700).map(|i| Some(format!("row {i}").into_bytes())).collect();
    for cipher in Cipher::ALL {
        let nonces: Rows = (0..700usize).map(|i| Some(vec![(i % 251) as u8; nonce_len(cipher)])).collect();
        let expected: Rows = (0..700)
            .map(|i| {
                let plain = plain_rows[i].as_ref()?;
                Some(theirs(cipher, nonces[i].as_ref()?, aads[i].as_ref()?, plain))
            })
            .collect();
        let key = Aead::new(cipher, &key(cipher)).unwrap();
        let nonces = plain(&DataType::Binary, &nonces);
        for (name, aads) in all(&aads).into_iter().step_by(3) {
            let aad = Parameter::Column(&aads);
            for (kind, column) in all(&plain_rows) {
                let how = Seal { aad, nonces: Parameter::Column(&nonces), encoding: Encoding::Binary };
                let sealed = key.seal(&column, &how).unwrap();
                assert_eq!(read(&sealed), expected, "{kind} with {name}");
                let opened = key.open(&sealed, &Open { aad, ..Open::default() }).unwrap();
                assert_eq!(read(&opened), plain_rows, "{kind} with {name}");
            }
        }
        let column = plain(&DataType::Utf8, &plain_rows);
        let aads = plain(&DataType::Utf8, &aads);
        let how = Seal {
            aad: Parameter::Column(&aads),
            nonces: Parameter::Column(&nonces),
            encoding: Encoding::Hex,
        };
        let hex: Rows = expected
            .iter()
            .map(|row| {
                Some(row.as_ref()?.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes())
            })
            .collect();
        assert_eq!(read(&key.seal(&column, &how).unwrap()), hex);
    }
}

fn sealed_alone(key: &[u8], aad: &[&[u8]], plain: &[u8]) -> Vec<u8> {
    let key = SivKey::new(millstream::features().unwrap(), key).unwrap();
    let (mut text, mut tag) = (plain.to_vec(), [0; 16]);
    key.seal(aad, InOut::in_place(&mut text), &mut tag).unwrap();
    [&tag[..], &text].concat()
}

/// OpenSSL as well, where it takes such a value: it has no empty ones.
#[cfg(target_arch = "x86_64")]
fn sealed_by_openssl(key: &[u8], aad: &[u8], plain: &[u8]) -> Vec<u8> {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;

    let cipher = Cipher::fetch(None, "AES-256-SIV", None).unwrap();
    let mut ctx = CipherCtx::new().unwrap();
    ctx.encrypt_init(Some(&cipher), Some(key), None).unwrap();
    ctx.cipher_update(aad, None).unwrap();
    let (mut text, mut tag) = (vec![0; plain.len() + 16], [0; 16]);
    let len = ctx.cipher_update(plain, Some(&mut text)).unwrap();
    ctx.tag(&mut tag).unwrap();
    [&tag[..], &text[..len]].concat()
}

#[test]
fn deterministic_values_are_those_of_each_alone() {
    for rows in sets() {
        for (bytes, parameter, aad) in [
            (&[5; 64][..], Parameter::Constant(b"column"), &[&b"column"[..]][..]),
            (&[5; 32], Parameter::None, &[]),
            (&[5; 48], Parameter::Constant(b""), &[&b""[..]]),
        ] {
            let key = Siv::new(bytes).unwrap();
            let expected: Rows =
                rows.iter().map(|row| Some(sealed_alone(bytes, aad, row.as_ref()?))).collect();
            #[cfg(target_arch = "x86_64")]
            if bytes.len() == 64 {
                for (row, sealed) in rows.iter().zip(&expected) {
                    if let (Some(row @ [_, ..]), Some(sealed)) = (row.as_deref(), sealed) {
                        assert_eq!(sealed_by_openssl(bytes, b"column", row), *sealed);
                    }
                }
            }
            for (name, column) in all(&rows) {
                let sealed = key.seal(&column, parameter, Encoding::Binary).unwrap();
                assert_eq!(read(&sealed), expected, "{name}");
                assert_eq!(
                    matches!(sealed.data_type(), DataType::Dictionary(..)),
                    matches!(column.data_type(), DataType::Dictionary(..)),
                    "{name}"
                );
                let how = Open { aad: parameter, text: true, on_error: OnError::Fail };
                assert_eq!(read(&key.open(&sealed, &how).unwrap()), rows, "{name}");
            }
        }
    }
}

#[test]
fn one_nonce_for_all_is_for_gcm_siv_alone() {
    let column = dictionary::<Int32Type>(&DataType::Utf8, &rows(90, |_| 16));
    for cipher in Cipher::ALL {
        let key = Aead::new(cipher, &key(cipher)).unwrap();
        let nonces = Parameter::Constant(&[3; 12]);
        let result = key.seal(&column, &Seal { nonces, ..Seal::default() });
        if cipher == Cipher::AesGcmSiv {
            let sealed = result.unwrap();
            assert!(matches!(sealed.data_type(), DataType::Dictionary(..)));
            let expected: Rows = rows(90, |_| 16)
                .iter()
                .map(|row| Some(theirs(cipher, &[3; 12], b"", row.as_ref()?)))
                .collect();
            assert_eq!(read(&sealed), expected);
            let wrong = Seal { nonces: Parameter::Constant(&[3; 11]), ..Seal::default() };
            let error = key.seal(&column, &wrong).unwrap_err();
            assert!(error.to_string().contains("the nonce has 11 bytes; give 12"), "{error}");
        } else {
            assert!(result.unwrap_err().to_string().contains("would break the key"));
        }
    }
}

/// Returns sealed rows of which `forged` are changed: another bit, or cut short.
fn forge(sealed: &ArrayData, forged: &[usize]) -> ArrayData {
    let mut rows = read(sealed);
    for (i, row) in forged.iter().enumerate() {
        let Some(value) = rows[*row].as_mut() else { panic!("row {row} is null") };
        match i % 3 {
            0 => {
                let at = (7 * row) % value.len();
                value[at] ^= 1 << (row % 8);
            }
            1 => value.truncate(value.len() - 1),
            _ => value.truncate(row % 16),
        }
    }
    plain(&DataType::Binary, &rows)
}

type OpenColumn<'k> = Box<dyn Fn(&ArrayData, &Open<'_>) -> Result<ArrayData, Error> + 'k>;

#[test]
fn forged_rows_are_named_or_null() {
    // Rows in several tasks and windows.
    let plain_rows = rows(9000, |i| 16 + i % 20);
    let column = plain(&DataType::Utf8, &plain_rows);
    let forged: Vec<usize> = [8400, 4100, 1200, 1201, 700, 999, 8999, 5000, 6500]
        .into_iter()
        .map(|row| (row..).find(|row| plain_rows[*row].is_some()).unwrap_or(row))
        .collect();
    let first = *forged.iter().min().unwrap() as u64;
    let aeads = Cipher::ALL.map(|cipher| Aead::new(cipher, &key(cipher)).unwrap());
    let siv = Siv::new(&[5; 64]).unwrap();
    let mut ways: Vec<(ArrayData, OpenColumn<'_>)> = Vec::new();
    for aead in &aeads {
        let sealed = aead.seal(&column, &Seal::default()).unwrap();
        ways.push((sealed, Box::new(|column, how| aead.open(column, how))));
    }
    ways.push((
        siv.seal(&column, Parameter::None, Encoding::Binary).unwrap(),
        Box::new(|column, how| siv.open(column, how)),
    ));
    for (sealed, open) in ways {
        let changed = forge(&sealed, &forged);
        match open(&changed, &Open::default()) {
            Err(Error::Row { row, fault: Fault::Authentication | Fault::TooShort { .. } }) => {
                assert_eq!(row, first);
            }
            other => panic!("{other:?}"),
        }
        for text in [false, true] {
            let opened = open(&changed, &Open { on_error: OnError::Null, text, ..Open::default() }).unwrap();
            let expected: Rows = plain_rows
                .iter()
                .enumerate()
                .map(|(i, row)| row.clone().filter(|_| !forged.contains(&i)))
                .collect();
            assert_eq!(read(&opened), expected);
            // Nothing lies below the nulls either.
            let offsets = opened.buffers()[0].typed_data::<i32>();
            for row in &forged {
                let below = &opened.buffers()[1][offsets[*row] as usize..offsets[row + 1] as usize];
                assert!(below.iter().all(|byte| *byte == 0));
            }
        }
    }
}

#[test]
fn a_forged_value_of_a_dictionary_is_named_by_its_first_row() {
    let plain_rows: Rows =
        ["a", "b", "a", "c", "b"].iter().map(|text| Some(format!("{text} value").into_bytes())).collect();
    let siv = Siv::new(&[5; 32]).unwrap();
    let sealed =
        read(&siv.seal(&plain(&DataType::Utf8, &plain_rows), Parameter::None, Encoding::Binary).unwrap());
    // The values of the dictionary are in another order, and one that no row has is no sealed value.
    let column = dictionary::<Int32Type>(&DataType::Binary, &sealed);
    assert_eq!(read(&siv.open(&column, &Open::default()).unwrap()), plain_rows);

    let mut forged = sealed;
    forged[1].as_mut().unwrap()[3] ^= 4;
    forged[4] = forged[1].clone();
    let column = dictionary::<Int32Type>(&DataType::Binary, &forged);
    let error = siv.open(&column, &Open::default()).unwrap_err();
    assert_eq!(error, Error::Row { row: 1, fault: Fault::Authentication });
    assert_eq!(error.from_row(1000), Error::Row { row: 1001, fault: Fault::Authentication });
    let opened = read(&siv.open(&column, &Open { on_error: OnError::Null, ..Open::default() }).unwrap());
    let expected = [Some(&plain_rows[0]), None, Some(&plain_rows[2]), Some(&plain_rows[3]), None];
    assert_eq!(opened.iter().map(Option::as_ref).collect::<Vec<_>>(), expected.map(|row| row?.as_ref()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let key = Aead::new(Cipher::AesGcm, &[7; 32]).unwrap();
    let column = plain(&DataType::Utf8, &rows(5, |_| 9));
    let short = plain(&DataType::Utf8, &rows(4, |_| 9));
    let with = |aad, nonces| key.seal(&column, &Seal { aad, nonces, encoding: Encoding::Binary });
    let error = with(Parameter::Column(&short), Parameter::None).unwrap_err();
    assert_eq!(error.to_string(), "associated data has 4 rows; give 5, one for each value");
    let error = with(Parameter::None, Parameter::Column(&short)).unwrap_err();
    assert_eq!(error.to_string(), "the nonce has 4 rows; give 5, one for each value");
    let error = with(Parameter::None, Parameter::Column(&column)).unwrap_err();
    assert_eq!(error.to_string(), "row 0: the nonce has 9 bytes; give 12");
    let holes: Rows = vec![Some(b"1".to_vec()), Some(b"2".to_vec()), None, None, None];
    let holes = plain(&DataType::Utf8, &holes);
    let error = with(Parameter::Column(&holes), Parameter::None).unwrap_err();
    assert_eq!(error, Error::Row { row: 2, fault: Fault::Null { column: "associated data" } });
    let none = make_array(column.clone()).slice(0, 0).to_data();
    assert!(key.seal(&none, &Seal::default()).unwrap().is_empty());
    assert!(matches!(Aead::new(Cipher::AesGcm, &[7; 31]), Err(Error::Engine(EngineError::KeyLength { .. }))));
    assert!(matches!(Siv::new(&[7; 31]), Err(Error::Engine(EngineError::KeyLength { .. }))));
    assert!(Cipher::ALL.into_iter().all(|cipher| Cipher::from_name(cipher.name()) == Some(cipher)));

    let binary = BinaryArray::from(vec![&b"fine"[..], b"\xff\xfe", b"fine"]).to_data();
    let sealed = key.seal(&binary, &Seal::default()).unwrap();
    let error = key.open(&sealed, &Open { text: true, ..Open::default() }).unwrap_err();
    assert_eq!(error, Error::Row { row: 1, fault: Fault::NotText });
    let how = Open { text: true, on_error: OnError::Null, ..Open::default() };
    let opened = make_array(key.open(&sealed, &how).unwrap());
    assert_eq!((0..3).map(|row| opened.is_null(row)).collect::<Vec<_>>(), [false, true, false]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Values sealed in one cut are opened in any other.
    #[test]
    fn any_cut_opens_what_another_has_sealed(
        lengths in prop::collection::vec(prop::option::of(0usize..60), 1..900),
        cut in 0usize..900,
        which in 0usize..4,
    ) {
        let rows: Rows = lengths.iter().map(|len| len.map(|len| vec![b'x'; len])).collect();
        let cipher = Cipher::ALL[which];
        let key = Aead::new(cipher, &key(cipher)).unwrap();
        let sealed = make_array(key.seal(&plain(&DataType::Utf8View, &rows), &Seal::default()).unwrap());
        let cut = cut % rows.len();
        let parts = [sealed.slice(0, cut), sealed.slice(cut, rows.len() - cut)];
        let opened = parts.map(|part| read(&key.open(&part.to_data(), &Open::default()).unwrap()));
        prop_assert_eq!(opened.concat(), rows);
    }
}

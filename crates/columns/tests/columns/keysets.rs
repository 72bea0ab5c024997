//! Sets of keys: what each key has sealed is opened, in any mixture, and nothing else.

use arrow_schema::DataType;
use millstream_columns::{
    Aead, Cipher, Encoding, Error, Fault, Keyset, KeysetKey, OnError, Open, Parameter, Prefix, Siv,
};

use super::layouts::{Rows, all, plain, read, rows, sets};

fn siv(byte: u8) -> KeysetKey {
    KeysetKey::Siv(Siv::new(&[byte; 64]).unwrap())
}

fn gcm(byte: u8) -> KeysetKey {
    KeysetKey::Aead(Aead::new(Cipher::AesGcm, &[byte; 32]).unwrap())
}

/// Keys with each prefix, of which one seals.
fn keyset(key: fn(u8) -> KeysetKey, primary: usize) -> Keyset {
    let keys = [Prefix::Raw, Prefix::Tink(0x0102_0304), Prefix::Legacy(7), Prefix::Raw, Prefix::Tink(9)];
    let keys = keys.into_iter().zip(1u8..).map(|(prefix, byte)| (prefix, key(byte))).collect();
    Keyset::new(keys, primary).unwrap()
}

#[test]
fn a_value_is_prefix_and_what_the_key_alone_seals() {
    let rows = rows(50, |i| i);
    let column = plain(&DataType::Utf8, &rows);
    for (primary, prefix) in
        [(0, &[][..]), (1, &[1, 1, 2, 3, 4]), (2, &[0, 0, 0, 0, 7]), (3, &[]), (4, &[1, 0, 0, 0, 9])]
    {
        let alone = Siv::new(&[primary as u8 + 1; 64]).unwrap();
        for (aad, component) in [
            (Parameter::None, Parameter::Constant(&b""[..])),
            (Parameter::Constant(b"column"), Parameter::Constant(b"column")),
        ] {
            let alone = read(&alone.seal(&column, component, Encoding::Binary).unwrap());
            let alone: Rows = alone.into_iter().map(|row| Some([prefix, &row?].concat())).collect();
            assert_eq!(read(&keyset(siv, primary).seal(&column, aad, Encoding::Binary).unwrap()), alone);
            let hex = read(&keyset(siv, primary).seal(&column, aad, Encoding::Hex).unwrap());
            let digits = |row: Vec<u8>| row.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let expected: Rows =
                alone.into_iter().map(|row| row.map(|row| digits(row).into_bytes())).collect();
            assert_eq!(hex, expected);
        }
    }
}

#[test]
fn every_key_opens_what_it_has_sealed() {
    for key in [siv, gcm] {
        for rows in sets() {
            for (name, column) in all(&rows) {
                let aads: Rows = (0..rows.len()).map(|i| Some(format!("row {i}").into_bytes())).collect();
                let aads = plain(&DataType::Utf8, &aads);
                for aad in [Parameter::None, Parameter::Constant(b"column"), Parameter::Column(&aads)] {
                    let sealed = keyset(key, 1).seal(&column, aad, Encoding::Binary).unwrap();
                    let how = Open { aad, text: true, on_error: OnError::Fail };
                    assert_eq!(read(&keyset(key, 0).open(&sealed, &how).unwrap()), rows, "{name}");
                }
            }
            // A column in which the rows are of different keys.
            let column = plain(&DataType::Utf8, &rows);
            let sealed: Vec<Rows> = (0..5)
                .map(|primary| {
                    read(&keyset(key, primary).seal(&column, Parameter::None, Encoding::Binary).unwrap())
                })
                .collect();
            let mixed: Rows = (0..rows.len()).map(|row| sealed[row % 5][row].clone()).collect();
            let mixed = plain(&DataType::Binary, &mixed);
            let how = Open { text: true, ..Open::default() };
            assert_eq!(read(&keyset(key, 4).open(&mixed, &how).unwrap()), rows);
        }
    }
}

#[test]
fn values_of_no_key_are_named_or_null() {
    let rows = rows(300, |i| i % 40);
    let column = plain(&DataType::Utf8, &rows);
    let mut sealed = read(&keyset(gcm, 1).seal(&column, Parameter::None, Encoding::Binary).unwrap());
    // A byte of a text, a key that is not in the set, a prefix alone, and nothing.
    sealed[200].as_mut().unwrap()[17] ^= 1;
    sealed[77].as_mut().unwrap()[4] ^= 1;
    sealed[100] = Some(vec![1, 1, 2, 3, 4]);
    sealed[250] = Some(Vec::new());
    let forged = plain(&DataType::Binary, &sealed);
    let refused = keyset(gcm, 1).open(&forged, &Open::default()).unwrap_err();
    assert_eq!(refused, Error::Row { row: 77, fault: Fault::Authentication });
    let opened = keyset(gcm, 1).open(&forged, &Open { on_error: OnError::Null, ..Open::default() }).unwrap();
    for (row, (opened, plain)) in read(&opened).iter().zip(&rows).enumerate() {
        let expected = if [77, 100, 200, 250].contains(&row) { &None } else { plain };
        assert_eq!(opened, expected, "row {row}");
    }
}

#[test]
fn text_and_associated_data_are_checked() {
    let binary = plain(&DataType::Binary, &vec![Some(vec![0xff]), Some(b"text".to_vec())]);
    let sealed = keyset(siv, 1).seal(&binary, Parameter::None, Encoding::Binary).unwrap();
    let refused = keyset(siv, 1).open(&sealed, &Open { text: true, ..Open::default() }).unwrap_err();
    assert_eq!(refused, Error::Row { row: 0, fault: Fault::NotText });
    let aads = plain(&DataType::Utf8, &vec![Some(b"a".to_vec()), None]);
    let aad = Parameter::Column(&aads);
    let refused = keyset(siv, 1).open(&sealed, &Open { aad, ..Open::default() }).unwrap_err();
    assert_eq!(refused, Error::Row { row: 0, fault: Fault::Authentication });
    let how = Open { aad, on_error: OnError::Null, ..Open::default() };
    assert_eq!(read(&keyset(siv, 1).open(&sealed, &how).unwrap()), vec![None, None]);
    assert!(matches!(Keyset::new(Vec::new(), 0), Err(Error::Parameter { .. })));
}

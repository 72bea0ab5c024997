//! Format-preserving encryption.

use ::fpe::ff1::{FF1, FlexibleNumeralString};
use arrow_array::types::Int32Type;
use arrow_schema::DataType;
use millstream_columns::{Error, Fault, Fpe, OnError, Parameter};

use super::layouts::{Rows, all, dictionary, plain, read};

const DIGITS: &str = "0123456789";

/// Rows of digits: of one length that the engine has side by side, and of many.
fn digits(count: usize, len: impl Fn(usize) -> usize) -> Rows {
    let row =
        |i: usize| (i % 7 != 3).then(|| (0..len(i)).map(|j| b'0' + ((i * 3 + j * 7) % 10) as u8).collect());
    (0..count).map(row).collect()
}

fn theirs(row: &[u8], tweak: &[u8]) -> Vec<u8> {
    let key = FF1::<aes::Aes256>::new(&[7; 32], 10).unwrap();
    let digits = FlexibleNumeralString::from(row.iter().map(|c| u16::from(c - b'0')).collect::<Vec<_>>());
    let encrypted: Vec<u16> = key.encrypt(tweak, &digits).unwrap().into();
    encrypted.into_iter().map(|digit| b'0' + digit as u8).collect()
}

#[test]
fn every_layout_is_encrypted_as_each_value() {
    let key = Fpe::new(&[7; 32], DIGITS).unwrap();
    for rows in
        [Vec::new(), vec![None; 3], digits(90, |_| 16), digits(90, |i| 6 + i % 12), digits(600, |_| 9)]
    {
        let expected: Rows = rows.iter().map(|row| Some(theirs(row.as_ref()?, b"column"))).collect();
        let tweak = Parameter::Constant(b"column");
        for (name, column) in all(&rows) {
            let encrypted = if rows.iter().flatten().next().is_some()
                && matches!(column.data_type(), DataType::Dictionary(..))
            {
                // The dictionary has a value that is none, and no row has it.
                key.encrypt(&column, tweak, OnError::Null).unwrap()
            } else {
                key.encrypt(&column, tweak, OnError::Fail).unwrap()
            };
            assert_eq!(read(&encrypted), expected, "{name}");
            assert_eq!(read(&key.decrypt(&encrypted, tweak, OnError::Fail).unwrap()), rows, "{name}");
        }
    }
}

#[test]
fn tweaks_go_row_by_row() {
    let key = Fpe::new(&[7; 32], DIGITS).unwrap();
    let rows = digits(700, |i| 10 + i / 200);
    let tweaks: Rows = (0..700).map(|i| Some(format!("row {i}").into_bytes())).collect();
    let expected: Rows = rows
        .iter()
        .zip(&tweaks)
        .map(|(row, tweak)| Some(theirs(row.as_ref()?, tweak.as_ref().unwrap())))
        .collect();
    for column in [plain(&DataType::Utf8, &rows), dictionary::<Int32Type>(&DataType::Utf8, &rows)] {
        let tweaks = plain(&DataType::LargeUtf8, &tweaks);
        let tweak = Parameter::Column(&tweaks);
        let encrypted = key.encrypt(&column, tweak, OnError::Fail).unwrap();
        assert_eq!(read(&encrypted), expected);
        assert_eq!(read(&key.decrypt(&encrypted, tweak, OnError::Fail).unwrap()), rows);
    }
}

#[test]
fn alphabets_may_have_characters_of_several_bytes() {
    let key = Fpe::new(&[7; 16], "αβγδεζηθικλμνξοπρστυφχψω").unwrap();
    let rows: Rows =
        ["αβγδεζ", "ωωωωωωω", "μεταφορα"].iter().map(|text| Some(text.as_bytes().to_vec())).collect();
    let column = plain(&DataType::Utf8, &rows);
    let encrypted = key.encrypt(&column, Parameter::None, OnError::Fail).unwrap();
    for (row, other) in read(&encrypted).iter().zip(&rows) {
        assert_ne!(row, other);
        assert_eq!(row.as_ref().unwrap().len(), other.as_ref().unwrap().len());
    }
    assert_eq!(read(&key.decrypt(&encrypted, Parameter::None, OnError::Fail).unwrap()), rows);
}

#[test]
fn values_of_another_form_are_named_or_null() {
    let key = Fpe::new(&[7; 32], DIGITS).unwrap();
    let mut rows = digits(5000, |_| 16);
    let wrong: [(usize, &[u8]); 4] =
        [(4200, b"4000-1234-5678"), (61, b"12345"), (1000, b""), (2000, b"\xff\xff\xff\xff\xff\xff")];
    for (row, value) in wrong {
        rows[row] = Some(value.to_vec());
    }
    let column = plain(&DataType::Binary, &rows);
    match key.encrypt(&column, Parameter::None, OnError::Fail).unwrap_err() {
        Error::Row { row: 61, fault: Fault::Refused(error) } => {
            assert!(error.to_string().contains("six decimal digits"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let encrypted = read(&key.encrypt(&column, Parameter::None, OnError::Null).unwrap());
    for (i, row) in rows.iter().enumerate() {
        let expected = row.as_ref().filter(|_| wrong.iter().all(|(wrong, _)| *wrong != i));
        assert_eq!(encrypted[i], expected.map(|row| theirs(row, b"")));
    }
    assert!(Fpe::new(&[7; 32], "00").is_err());
    assert!(Fpe::new(&[7; 31], DIGITS).is_err());
}

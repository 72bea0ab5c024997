//! Columns of more than 2 GiB, which offsets of 32 bits don't reach.

use arrow_buffer::Buffer;
use millstream::hash::Hash;
use millstream_columns::{
    Aead, ArrayData, Cipher, DataType, Encoding, Error, Fault, OnError, Open, Seal, crc32c, digest, values,
};

/// The bytes of a value, and more values than fit.
const VALUE: usize = 1 << 20;
const ROWS: usize = 2100;

/// What a result of 32-bit offsets can't hold is refused before anything is computed, and says what to do.
#[test]
fn results_that_are_too_large_are_refused() {
    // The kernel gives no memory for zeros that nobody looks at.
    let zeros = ArrayData::builder(DataType::FixedSizeBinary(VALUE as i32)).len(ROWS);
    let zeros = zeros.add_buffer(Buffer::from(vec![0; ROWS * VALUE])).build().unwrap();
    let key = Aead::new(Cipher::AesGcm, &[7; 32]).unwrap();
    let refused = key.seal(&zeros, &Seal::default()).unwrap_err();
    let expected = (ROWS * (VALUE + 28)) as u64;
    assert!(matches!(refused, Error::TooLarge { bytes } if bytes == expected), "{refused}");
    assert!(refused.to_string().contains("cast the column to LargeUtf8 or LargeBinary"), "{refused}");
}

#[test]
#[ignore = "takes long, and runs with `cargo xtask ci --deep`"]
fn long_columns_beyond_32_bits_are_sealed_hashed_and_opened() {
    // Every row is a view of the same buffer, at another place of it.
    let text: Vec<u8> = (0..VALUE + ROWS).map(|i| (i % 251) as u8).collect();
    let view = |row: usize| {
        let prefix = u32::from_le_bytes(*text[row..].first_chunk().unwrap());
        VALUE as u128 | u128::from(prefix) << 32 | (row as u128) << 96
    };
    let column = ArrayData::builder(DataType::BinaryView).len(ROWS);
    let column = column.add_buffer(Buffer::from((0..ROWS).map(view).collect::<Vec<u128>>()));
    let column = column.add_buffer(Buffer::from(text.clone())).build().unwrap();
    let key = Aead::new(Cipher::AesGcm, &[7; 32]).unwrap();
    let sealed = key.seal(&column, &Seal::default()).unwrap();
    assert_eq!(*sealed.data_type(), DataType::LargeBinary);
    let end = sealed.buffers()[0].typed_data::<i64>()[ROWS];
    assert_eq!(end, (ROWS * (VALUE + 28)) as i64);
    assert!(end > i64::from(i32::MAX));

    // Values on both sides of the border are what they are alone.
    let all = values(&sealed).unwrap();
    let digests = digest(Hash::Sha256, &sealed, Encoding::Binary).unwrap();
    let sums = crc32c(&sealed).unwrap();
    for row in [0, 2046, 2047, 2048, ROWS - 1] {
        let one = sealed.slice(row, 1);
        let digest = digest(Hash::Sha256, &one, Encoding::Binary).unwrap();
        assert_eq!(values(&digests).unwrap()[row], values(&digest).unwrap()[0], "{row}");
        let sum = crc32c(&one).unwrap().buffers()[0].typed_data::<u32>()[0];
        assert_eq!(sums.buffers()[0].typed_data::<u32>()[row], sum, "{row}");
        let opened = key.open(&one, &Open::default()).unwrap();
        assert!(values(&opened).unwrap()[0] == Some(&text[row..][..VALUE]), "{row}");
        assert_eq!(all[row].map(<[u8]>::len), Some(VALUE + 28), "{row}");
    }

    // A row beyond the border that does not authenticate is named.
    let mut bytes = sealed.buffers()[1].to_vec();
    drop(sealed);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let forged = ArrayData::builder(DataType::LargeBinary).len(ROWS);
    let offsets: Vec<i64> = (0..=ROWS).map(|row| (row * (VALUE + 28)) as i64).collect();
    let forged = forged.add_buffer(Buffer::from(offsets)).add_buffer(Buffer::from(bytes)).build().unwrap();
    let refused = key.open(&forged, &Open::default()).unwrap_err();
    assert!(
        matches!(refused, Error::Row { row, fault: Fault::Authentication } if row == ROWS as u64 - 1),
        "{refused}"
    );
    let opened = key.open(&forged, &Open { on_error: OnError::Null, ..Open::default() }).unwrap();
    let opened = values(&opened).unwrap();
    assert!(opened[ROWS - 2] == Some(&text[ROWS - 2..][..VALUE]) && opened[ROWS - 1].is_none());
}

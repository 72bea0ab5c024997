//! Hashes, HMACs and CRC32c.

use arrow_array::{Array, Int32Array, UInt32Array, make_array};
use arrow_schema::DataType;
use hmac::{KeyInit, Mac};
use millstream::crc::Crc32c;
use millstream::hash::{Hash, Hasher};
use millstream_columns::{ArrayData, Encoding, Error, Hmac, crc32c, digest};
use proptest::prelude::*;

use super::layouts::{Rows, all, plain, read, rows, sets};

/// A digest by the crates of RustCrypto, which have no SHA-512/256 in common with us that is named otherwise.
fn theirs(hash: Hash, data: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    match hash {
        Hash::Md5 => md5::Md5::digest(data).to_vec(),
        Hash::Sha1 => sha1::Sha1::digest(data).to_vec(),
        Hash::Sha224 => sha2::Sha224::digest(data).to_vec(),
        Hash::Sha256 => sha2::Sha256::digest(data).to_vec(),
        Hash::Sha384 => sha2::Sha384::digest(data).to_vec(),
        Hash::Sha512 => sha2::Sha512::digest(data).to_vec(),
        Hash::Sha512_256 => sha2::Sha512_256::digest(data).to_vec(),
        Hash::Sha3_224 => sha3::Sha3_224::digest(data).to_vec(),
        Hash::Sha3_256 => sha3::Sha3_256::digest(data).to_vec(),
        Hash::Sha3_384 => sha3::Sha3_384::digest(data).to_vec(),
        Hash::Sha3_512 => sha3::Sha3_512::digest(data).to_vec(),
    }
}

fn each(rows: &Rows, f: impl Fn(&[u8]) -> Vec<u8>) -> Rows {
    rows.iter().map(|row| row.as_deref().map(&f)).collect()
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    openssl::base64::encode_block(bytes).into_bytes()
}

#[test]
fn digests_of_every_layout_are_those_of_each_value() {
    for rows in sets() {
        for hash in Hash::ALL {
            let expected = each(&rows, |row| theirs(hash, row));
            for (name, column) in all(&rows) {
                let digests = digest(hash, &column, Encoding::Binary).unwrap();
                assert_eq!(read(&digests), expected, "{} of {name}", hash.name());
            }
            let (_, column) = &all(&rows)[0];
            assert_eq!(read(&digest(hash, column, Encoding::Hex).unwrap()), each(&expected, hex));
            assert_eq!(read(&digest(hash, column, Encoding::Base64).unwrap()), each(&expected, base64));
        }
    }
}

#[test]
fn tags_of_every_layout_are_those_of_each_value() {
    for rows in sets() {
        for (hash, key) in [(Hash::Sha256, &[7; 32][..]), (Hash::Sha512, b"k"), (Hash::Sha1, &[1; 100])] {
            let expected = each(&rows, |row| match hash {
                Hash::Sha256 => hmac::Hmac::<sha2::Sha256>::new_from_slice(key)
                    .unwrap()
                    .chain_update(row)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
                Hash::Sha512 => hmac::Hmac::<sha2::Sha512>::new_from_slice(key)
                    .unwrap()
                    .chain_update(row)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
                _ => hmac::Hmac::<sha1::Sha1>::new_from_slice(key)
                    .unwrap()
                    .chain_update(row)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
            });
            let key = Hmac::new(hash, key).unwrap();
            for (name, column) in all(&rows) {
                let tags = key.sign(&column, Encoding::Binary).unwrap();
                assert_eq!(read(&tags), expected, "{} of {name}", hash.name());
                let tags = key.sign(&column, Encoding::Hex).unwrap();
                assert_eq!(read(&tags), each(&expected, hex), "{} of {name}", hash.name());
            }
        }
    }
}

#[test]
fn checksums_are_those_of_each_value() {
    let features = millstream::features().unwrap();
    for rows in sets() {
        for (name, column) in all(&rows) {
            let sums = crc32c(&column).unwrap();
            let DataType::UInt32 = sums.data_type() else {
                assert!(matches!(sums.data_type(), DataType::Dictionary(..)), "{name}");
                continue;
            };
            let sums = UInt32Array::from(sums);
            for (row, value) in rows.iter().enumerate() {
                assert_eq!(sums.is_null(row), value.is_none());
                if let Some(value) = value {
                    assert_eq!(sums.value(row), Crc32c::of(features, value), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_dictionary_keeps_its_places() {
    let rows = rows(90, |_| 16);
    for (name, column) in all(&rows) {
        let digests = digest(Hash::Sha256, &column, Encoding::Binary).unwrap();
        let DataType::Dictionary(keys, _) = column.data_type() else { continue };
        assert_eq!(
            digests.data_type(),
            &DataType::Dictionary(keys.clone(), Box::new(DataType::FixedSizeBinary(32))),
            "{name}"
        );
        assert_eq!(digests.buffers()[0].as_ptr(), column.buffers()[0].as_ptr(), "{name}");
    }
}

#[test]
fn text_has_the_offsets_of_its_column() {
    let kinds = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, DataType::Binary];
    let hex = kinds.map(|kind| {
        let column = plain(&kind, &rows(9, |_| 9));
        digest(Hash::Md5, &column, Encoding::Hex).unwrap().data_type().clone()
    });
    assert_eq!(hex, [DataType::Utf8, DataType::LargeUtf8, DataType::LargeUtf8, DataType::Utf8]);
}

#[test]
fn other_types_are_refused() {
    let column = Int32Array::from(vec![1, 2]).to_data();
    let refused = digest(Hash::Sha256, &column, Encoding::Binary).unwrap_err();
    assert_eq!(refused, Error::Type { column: "the column", given: DataType::Int32 });
    assert!(refused.to_string().contains("is of type Int32; give text"), "{refused}");
    assert_eq!(crc32c(&column), Err(refused));
}

/// Returns the digests of a column that was cut at `cuts`, one part after another.
fn in_parts(column: &ArrayData, cuts: &[usize]) -> Rows {
    let array = make_array(column.clone());
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (array.len() + 1)).chain([array.len()]).collect();
    ends.sort_unstable();
    let mut begin = 0;
    let mut rows = Vec::new();
    for end in ends {
        let part = array.slice(begin, end - begin).to_data();
        rows.extend(read(&digest(Hash::Sha1, &part, Encoding::Hex).unwrap()));
        begin = end;
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Cutting and slicing a column changes no value.
    #[test]
    fn cutting_changes_nothing(
        lengths in prop::collection::vec(prop::option::of(0usize..80), 0..600),
        cuts in prop::collection::vec(0usize..600, 0..6),
    ) {
        let rows: Rows = lengths.iter().enumerate()
            .map(|(i, len)| len.map(|len| (0..len).map(|j| b' ' + ((i * 13 + j) % 90) as u8).collect()))
            .collect();
        let features = millstream::features().unwrap();
        let expected = each(&rows, |row| {
            let mut hasher = Hasher::new(features, Hash::Sha1);
            hasher.update(row);
            hex(&hasher.finish())
        });
        for (name, column) in all(&rows) {
            prop_assert_eq!(in_parts(&column, &cuts), expected.clone(), "{}", name);
        }
    }
}

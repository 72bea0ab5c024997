//! Millstream's operations: one is made of each object, and one call executes all of them, sorted by kind.
//! The tags are taken out afterwards. Programs with objects of many kinds work this way.

use millstream::{Checksum, Operation, Unit};
use millstream_cpu::Features;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::gcm::Gcm;
use millstream_engines::hmac::HmacKey;
use millstream_engines::kasumi::{F8, F9};
use millstream_engines::{aes, camellia};

use super::lanes::reuse;
use super::ours::{des_key, engine_hash, kasumi_words, put};
use super::{Cell, Row};
use crate::case::{AAD, Algorithm, Cipher, Mode, kasumi};
use crate::many::objects::{Object, Objects, Tag};
use crate::many::work::Work;
use crate::measure::OURS;

/// Returns the row of a batch of operations.
pub fn row(cell: &Cell, features: Features) -> Option<Row> {
    let work = cell.work;
    let case = match work {
        Work::One(case) => case,
        Work::EncryptThenMac(cipher, hash) => {
            let mac = |k| HmacKey::new(features, engine_hash(hash), &work.mac_key(k));
            return match cipher {
                Cipher::Aes(_) => {
                    let keys = cell
                        .each_key(|k| (aes::Cbc::new(features, &work.key(k)).expect("an AES key"), mac(k)));
                    batch(cell, features, keys, |(key, mac), object, _| {
                        Operation::encrypt_then_mac(key, &object.iv, mac, 0, object.data.pass())
                    })
                }
                Cipher::Tdes => {
                    let keys = cell.each_key(|k| (des_key(features, &work.key(k)), mac(k)));
                    batch(cell, features, keys, |(key, mac), object, _| {
                        Operation::encrypt_then_mac(key, &object.iv[..8], mac, 0, object.data.pass())
                    })
                }
                _ => None,
            };
        }
        Work::Null => return batch(cell, features, cell.each_key(drop), |_, _, _| Operation::null()),
    };
    /// Makes a row of a cipher, by the length of its initialisation vector.
    macro_rules! cipher {
        ($key:ty, $iv:expr) => {{
            let keys = cell.each_key(|k| <$key>::new(features, &work.key(k)).expect("of the right length"));
            batch(cell, features, keys, |key, object, _| {
                Operation::encrypt(key, &object.iv[..$iv], object.data.pass())
            })
        }};
    }
    macro_rules! aead {
        ($key:ty) => {{
            let keys = cell.each_key(|k| <$key>::new(features, &work.key(k)).expect("of the right length"));
            if work.opens() {
                return batch(cell, features, keys, |key, object, tag| {
                    Operation::open(
                        key,
                        &object.iv[..12],
                        &AAD,
                        object.data.pass(),
                        tag.first_chunk().expect("a whole tag"),
                    )
                });
            }
            batch(cell, features, keys, |key, object, _| {
                Operation::seal(key, &object.iv[..12], &AAD, object.data.pass())
            })
        }};
    }
    match case.algorithm {
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cbc) => cipher!(aes::Cbc, 16),
        Algorithm::Cipher(Cipher::Aes(_), Mode::Ctr) => cipher!(aes::Ctr, 16),
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cfb) => cipher!(aes::Cfb, 16),
        Algorithm::Cipher(Cipher::Camellia(_), Mode::Cbc) => cipher!(camellia::Cbc, 16),
        Algorithm::Cipher(Cipher::Des | Cipher::Tdes, Mode::Cbc) => {
            let keys = cell.each_key(|k| des_key(features, &work.key(k)));
            batch(cell, features, keys, |key, object, _| {
                Operation::encrypt(key, &object.iv[..8], object.data.pass())
            })
        }
        Algorithm::KasumiF8 => cipher!(F8, 8),
        Algorithm::KasumiF9 => {
            let keys = cell.each_key(|k| F9::new(features, &work.key(k)).expect("16 bytes"));
            batch(cell, features, keys, |key, object, _| {
                let ((count, fresh), data) = (kasumi_words(object.iv), object.data.input());
                Operation::kasumi_f9(key, count, fresh, kasumi::DIRECTION, data, 8 * data.len())
            })
        }
        Algorithm::Gcm(_) => aead!(Gcm),
        Algorithm::ChaCha20Poly1305 => aead!(ChaCha20Poly1305),
        Algorithm::Cmac(_) => {
            let keys = cell.each_key(|k| aes::Cmac::new(features, &work.key(k)).expect("an AES key"));
            batch(cell, features, keys, |key, object, _| Operation::mac(key, object.data.input()))
        }
        Algorithm::Hmac(hash) => {
            let keys = cell.each_key(|k| HmacKey::new(features, engine_hash(hash), &work.key(k)));
            batch(cell, features, keys, |key, object, _| Operation::mac(key, object.data.input()))
        }
        Algorithm::Digest(hash) => {
            let hashes = cell.each_key(|_| engine_hash(hash));
            batch(cell, features, hashes, |&hash, object, _| Operation::digest(hash, object.data.input()))
        }
        Algorithm::Crc32 => checksum(cell, features, Checksum::Crc32),
        Algorithm::Crc32c => checksum(cell, features, Checksum::Crc32c),
        _ => None,
    }
}

fn checksum(cell: &Cell, features: Features, checksum: Checksum) -> Option<Row> {
    let checksums = cell.each_key(|_| checksum);
    batch(cell, features, checksums, |&checksum, object, _| {
        Operation::checksum(checksum, object.data.input())
    })
}

/// The result beside the data.
#[derive(Clone, Copy)]
enum Result {
    Nothing,
    Tag,
    Value,
}

fn batch<K: 'static>(
    cell: &Cell,
    features: Features,
    keys: Vec<K>,
    make: impl for<'a> Fn(&'a K, &'a mut Object<'_>, &Tag) -> Operation<'a> + 'static,
) -> Option<Row> {
    let result = match cell.work.cipher_case().algorithm {
        _ if cell.work == Work::Null || cell.work.opens() || cell.work.tag_len() == 0 => Result::Nothing,
        Algorithm::Crc32 | Algorithm::Crc32c => Result::Value,
        _ => Result::Tag,
    };
    let unit = Unit::new(features);
    let mut kept: Vec<Operation<'static>> = Vec::new();
    Some(Row::new(OURS, "batch", "operations", move |objects: &mut Objects<'_>| {
        let mut operations = reuse(std::mem::take(&mut kept));
        for (object, tag) in objects.list.iter_mut().zip(&objects.tags) {
            let key = &keys[object.key];
            operations.push(make(key, object, tag));
        }
        unit.run(&mut operations);
        for (operation, tag) in operations.iter().zip(&mut objects.tags) {
            operation.result().expect("nothing is wrong with it");
            match result {
                Result::Nothing => {}
                Result::Tag => put(tag, operation.tag()),
                Result::Value => put(tag, &operation.value().to_le_bytes()),
            }
        }
        kept = reuse(operations);
    }))
}

//! Millstream with one object after another, the standard that lanes are measured against.

use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::crc::{Crc32, Crc32c};
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::{Hash as EngineHash, HashKernel};
use millstream_engines::hmac::HmacKey;
use millstream_engines::kasumi::{F8, F9};
use millstream_engines::modes::BlockMode;
use millstream_engines::{aes, camellia, des};

use super::{Cell, Row, values};
use crate::case::{AAD, Algorithm, Cipher, Hash, Mode, kasumi};
use crate::many::objects::{Object, Tag};
use crate::many::work::Work;
use crate::measure::OURS;

/// Returns the row of direct calls.
pub fn row(cell: &Cell, features: Features) -> Option<Row> {
    let work = cell.work;
    let case = match work {
        Work::One(case) => case,
        Work::EncryptThenMac(cipher, hash) => return chain(cell, features, cipher, hash),
        Work::Null => return None,
    };
    match case.algorithm {
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cbc) => blocks(
            cell.each_key(|k| aes::Cbc::new(features, &work.key(k)).expect("an AES key")),
            aes::Cbc::kernel,
        ),
        Algorithm::Cipher(Cipher::Camellia(_), Mode::Cbc) => blocks(
            cell.each_key(|k| camellia::Cbc::new(features, &work.key(k)).expect("a Camellia key")),
            camellia::Cbc::kernel,
        ),
        Algorithm::Cipher(Cipher::Des | Cipher::Tdes, Mode::Cbc) => {
            blocks(cell.each_key(|k| des_key(features, &work.key(k))), des::Cbc::kernel)
        }
        Algorithm::Cipher(Cipher::Aes(_), Mode::Ctr) => {
            let keys = cell.each_key(|k| aes::Ctr::new(features, &work.key(k)).expect("an AES key"));
            direct(keys[0].kernel().name, move |object, _| {
                keys[object.key].apply(&object.iv, object.data.pass());
            })
        }
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cfb) => {
            let keys = cell.each_key(|k| aes::Cfb::new(features, &work.key(k)).expect("an AES key"));
            direct(keys[0].kernel().name, move |object, _| {
                keys[object.key].encrypt(&object.iv, object.data.pass());
            })
        }
        Algorithm::Gcm(_) => {
            let keys = cell.each_key(|k| Gcm::new(features, &work.key(k)).expect("an AES key"));
            aead(work, keys, Gcm::kernel)
        }
        Algorithm::ChaCha20Poly1305 => {
            let keys = cell.each_key(|k| ChaCha20Poly1305::new(features, &work.key(k)).expect("a key"));
            aead(work, keys, ChaCha20Poly1305::kernel)
        }
        Algorithm::Cmac(_) => {
            let keys = cell.each_key(|k| aes::Cmac::new(features, &work.key(k)).expect("an AES key"));
            direct(keys[0].kernel().name, move |object, tag| {
                put(tag, &keys[object.key].mac(object.data.input()));
            })
        }
        Algorithm::Digest(hash) => {
            let kernel = HashKernel::best(features, engine_hash(hash));
            direct(kernel.kernel().name, move |object, tag| put(tag, &kernel.digest(object.data.input())))
        }
        Algorithm::Hmac(hash) => {
            let keys = cell.each_key(|k| HmacKey::new(features, engine_hash(hash), &work.key(k)));
            direct(keys[0].kernel().name, move |object, tag| {
                put(tag, &keys[object.key].sign(object.data.input()));
            })
        }
        Algorithm::KasumiF8 => {
            let keys = cell.each_key(|k| F8::new(features, &work.key(k)).expect("16 bytes"));
            direct(keys[0].kernel().name, move |object, _| {
                let (count, _) = kasumi_words(object.iv);
                let bits = 8 * object.data.len();
                let data = object.data.pass();
                let key = &keys[object.key];
                key.apply(count, kasumi::BEARER, kasumi::DIRECTION, data, bits).expect("whole bytes");
            })
        }
        Algorithm::KasumiF9 => {
            let keys = cell.each_key(|k| F9::new(features, &work.key(k)).expect("16 bytes"));
            direct(keys[0].kernel().name, move |object, tag| {
                let (count, fresh) = kasumi_words(object.iv);
                let (key, data) = (&keys[object.key], object.data.input());
                let mac = key.mac(count, fresh, kasumi::DIRECTION, data, 8 * data.len());
                put(tag, &mac.expect("whole bytes"));
            })
        }
        Algorithm::Crc32 => {
            let fresh = Crc32::new(features);
            direct(fresh.kernel().name, move |object, tag| {
                let mut crc = fresh.clone();
                crc.update(object.data.input());
                put(tag, &crc.value().to_le_bytes());
            })
        }
        Algorithm::Crc32c => {
            let fresh = Crc32c::new(features);
            direct(fresh.kernel().name, move |object, tag| {
                let mut crc = fresh.clone();
                crc.update(object.data.input());
                put(tag, &crc.value().to_le_bytes());
            })
        }
        Algorithm::Value(value) => values::direct(cell, features, value),
        _ => None,
    }
}

fn direct(kernel: &str, one: impl FnMut(&mut Object<'_>, &mut Tag) + 'static) -> Option<Row> {
    Some(Row::each(OURS, "direct", kernel, one))
}

/// Writes the first bytes of a tag. With a length that the compiler knows, this is a store or two.
#[inline(always)]
pub fn put(tag: &mut Tag, bytes: &(impl AsRef<[u8]> + ?Sized)) {
    let bytes = bytes.as_ref();
    tag[..bytes.len()].copy_from_slice(bytes);
}

fn blocks<M: BlockMode + 'static>(
    keys: Vec<M>,
    kernel: impl Fn(&M) -> &'static millstream_engines::Kernel,
) -> Option<Row> {
    direct(kernel(&keys[0]).name, move |object, _| {
        let mut chain = object.iv;
        keys[object.key].encrypt(&mut chain[..M::IV], object.data.pass());
    })
}

fn aead<A: Aead + 'static>(
    work: Work,
    keys: Vec<A>,
    kernel: impl Fn(&A) -> &'static millstream_engines::Kernel,
) -> Option<Row> {
    let kernel = kernel(&keys[0]).name;
    if work.opens() {
        return direct(kernel, move |object, tag| {
            let key = &keys[object.key];
            key.open(&object.iv[..12], &AAD, object.data.pass(), tag.first_chunk().expect("a whole tag"))
                .expect("the tag is right");
        });
    }
    direct(kernel, move |object, tag| {
        let tag = tag.first_chunk_mut().expect("a tag has room");
        keys[object.key].seal(&object.iv[..12], &AAD, object.data.pass(), tag).expect("short enough");
    })
}

fn chain(cell: &Cell, features: Features, cipher: Cipher, hash: Hash) -> Option<Row> {
    let work = cell.work;
    let macs = cell.each_key(|k| HmacKey::new(features, engine_hash(hash), &work.mac_key(k)));
    let name = |cipher: &str| format!("{cipher}, {}", macs[0].kernel().name);
    match cipher {
        Cipher::Aes(_) => {
            let keys = cell.each_key(|k| aes::Cbc::new(features, &work.key(k)).expect("an AES key"));
            let name = name(keys[0].kernel().name);
            direct(&name, move |object, tag| {
                encrypt_then_mac(&keys[object.key], &macs[object.key], object, tag)
            })
        }
        Cipher::Tdes => {
            let keys = cell.each_key(|k| des_key(features, &work.key(k)));
            let name = name(keys[0].kernel().name);
            direct(&name, move |object, tag| {
                encrypt_then_mac(&keys[object.key], &macs[object.key], object, tag)
            })
        }
        _ => None,
    }
}

fn encrypt_then_mac<M: BlockMode>(key: &M, mac: &HmacKey, object: &mut Object<'_>, tag: &mut Tag) {
    let mut chain = object.iv;
    key.encrypt(&mut chain[..M::IV], object.data.pass());
    put(tag, &mac.sign(object.data.output()));
}

/// Makes a DES key or, from 24 bytes, a triple DES key.
pub fn des_key(features: Features, key: &[u8]) -> des::Cbc {
    let table = if key.len() == 8 { &des::CBC } else { &des::TRIPLE_CBC };
    des::Cbc::with_kernel(table.best(features), key).expect("8 or 24 bytes")
}

pub fn engine_hash(hash: Hash) -> EngineHash {
    match hash {
        Hash::Md5 => EngineHash::Md5,
        Hash::Sha1 => EngineHash::Sha1,
        Hash::Sha256 => EngineHash::Sha256,
        Hash::Sha512 => EngineHash::Sha512,
        Hash::Sha3_256 => EngineHash::Sha3_256,
    }
}

/// Returns COUNT and, for F9, FRESH.
#[inline(always)]
pub fn kasumi_words(iv: [u8; 16]) -> (u32, u32) {
    let word = |at: usize| u32::from_be_bytes([iv[at], iv[at + 1], iv[at + 2], iv[at + 3]]);
    (word(0), word(4))
}

/// Seals an object in place, for work that opens one.
pub fn seal(work: Work, key: &[u8], iv: &[u8; 16], object: &mut [u8], tag: &mut Tag) {
    let algorithm = work.cipher_case().algorithm;
    if let Algorithm::Value(value) = algorithm {
        return values::seal(value, key, iv, object, tag);
    }
    let tag = tag.first_chunk_mut().expect("a tag has room");
    let features = Features::none();
    let sealed = match algorithm {
        Algorithm::Gcm(_) => {
            let key = Gcm::new(features, key).expect("an AES key");
            key.seal(&iv[..12], &AAD, object.into(), tag)
        }
        _ => {
            let key = ChaCha20Poly1305::new(features, key).expect("a key");
            key.seal(&iv[..12], &AAD, object.into(), tag)
        }
    };
    sealed.expect("short enough");
}

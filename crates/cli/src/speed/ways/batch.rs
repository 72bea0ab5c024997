//! Many objects in one call on this thread, side by side in lanes.

use std::ops::Range;

use millstream::{AeadKey, Checksum, CipherKey, MacKey, Operation, Unit};
use millstream_cpu::Features;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::hmac::HmacKey;
use millstream_engines::kasumi::{F8, F9};
use millstream_engines::modes::Direction;
use millstream_engines::rc4::Rc4;
use millstream_engines::{Error as EngineError, InOut, aes, camellia, des, sm4};
use millstream_files::cipher::{Cipher, Family, Mode};

use super::direct;
use crate::error::Error;
use crate::speed::algorithm::{AAD, Algorithm, Case, kasumi};
use crate::speed::objects::{Io, Objects};
use crate::speed::{Prepared, Runner, Way};

/// The way that computes batches.
pub struct Batch {
    /// The features that the kernels may use.
    pub features: Features,
}

impl Way for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn has_depth(&self) -> bool {
        true
    }

    fn prepare(&self, case: &Case, _: &mut Objects, depth: usize) -> Result<Option<Prepared>, Error> {
        let call = call(self.features, case.algorithm);
        Ok(Some(Prepared { call, runner: runner(self.features, case, depth)? }))
    }
}

/// Returns the lane kernels of an algorithm's operations.
pub fn call(features: Features, algorithm: Algorithm) -> String {
    match lanes(algorithm) {
        Some(name) => kernel(features, name),
        None => "no lanes".to_owned(),
    }
}

/// Returns the tables of lane kernels that an algorithm's operations use, if it has any.
fn lanes(algorithm: Algorithm) -> Option<String> {
    let hash = |hash: Hash| match hash {
        Hash::Sha224 => "sha256-lanes",
        Hash::Sha384 | Hash::Sha512_256 => "sha512-lanes",
        Hash::Md5 => "md5-lanes",
        Hash::Sha1 => "sha1-lanes",
        Hash::Sha256 => "sha256-lanes",
        Hash::Sha512 => "sha512-lanes",
        Hash::Sha3_224 => "sha3-224-lanes",
        Hash::Sha3_256 => "sha3-256-lanes",
        Hash::Sha3_384 => "sha3-384-lanes",
        Hash::Sha3_512 => "sha3-512-lanes",
    };
    let cipher = |cipher: Cipher| match (cipher.family(), cipher.mode()) {
        (Family::Aes | Family::Camellia | Family::Sm4, Mode::Ecb | Mode::Xts) => None,
        (Family::Aes, Mode::Cfb) => Some("aes-cfb128-lanes".to_owned()),
        (Family::Des, Mode::Cfb) => Some("des-cfb64-lanes".to_owned()),
        (Family::TripleDes, Mode::Cfb) => Some("3des-cfb64-lanes".to_owned()),
        _ => Some(format!("{cipher}-lanes")),
    };
    match algorithm {
        Algorithm::Cipher(which) => cipher(which),
        Algorithm::CipherMac(which, mac) => Some(format!("{} + {}", cipher(which)?, hash(mac))),
        Algorithm::Digest(which) | Algorithm::Hmac(which) => Some(hash(which).to_owned()),
        Algorithm::Cmac(_) => Some("aes-cmac-lanes".to_owned()),
        Algorithm::KasumiF8 => Some("kasumi-f8-lanes".to_owned()),
        Algorithm::KasumiF9 => Some("kasumi-f9-lanes".to_owned()),
        _ => None,
    }
}

/// Returns the kernels that are chosen from these tables.
fn kernel(features: Features, tables: String) -> String {
    let chosen = tables.split(" + ").map(|name| {
        let mut engines = millstream_engines::engines().iter();
        let engine = engines.find(|engine| engine.algorithm().name == name);
        engine.map_or("no lanes", |engine| engine.chosen(features).name)
    });
    chosen.collect::<Vec<_>>().join(" + ")
}

fn runner(features: Features, case: &Case, depth: usize) -> Result<Box<dyn Runner>, EngineError> {
    let mut setting = Setting { unit: Unit::new(features), depth, direction: case.direction };
    let key = &case.algorithm.key()[..];
    Ok(match case.algorithm {
        Algorithm::Cipher(cipher) => match (cipher.family(), cipher.mode()) {
            (Family::Aes, Mode::Gcm) => setting.aead(Gcm::new(features, key)?),
            (Family::ChaCha20Poly1305, _) => setting.aead(ChaCha20Poly1305::new(features, key)?),
            (Family::Aes, Mode::Ecb) => setting.cipher(aes::Ecb::new(features, key)?, cipher),
            (Family::Aes, Mode::Cbc) => setting.cipher(aes::Cbc::new(features, key)?, cipher),
            (Family::Aes, Mode::Ctr) => setting.cipher(aes::Ctr::new(features, key)?, cipher),
            (Family::Aes, Mode::Cfb) => setting.cipher(aes::Cfb::new(features, key)?, cipher),
            (Family::Aes, _) => setting.cipher(aes::Xts::new(features, key)?, cipher),
            (Family::Camellia, Mode::Ecb) => setting.cipher(camellia::Ecb::new(features, key)?, cipher),
            (Family::Camellia, Mode::Cbc) => setting.cipher(camellia::Cbc::new(features, key)?, cipher),
            (Family::Camellia, _) => setting.cipher(camellia::Ctr::new(features, key)?, cipher),
            (Family::Sm4, Mode::Ecb) => setting.cipher(sm4::Ecb::new(features, key)?, cipher),
            (Family::Sm4, Mode::Cbc) => setting.cipher(sm4::Cbc::new(features, key)?, cipher),
            (Family::Sm4, _) => setting.cipher(sm4::Ctr::new(features, key)?, cipher),
            (Family::Des | Family::TripleDes, Mode::Ecb) => {
                setting.cipher(des::Ecb::new(features, key)?, cipher)
            }
            (Family::Des | Family::TripleDes, Mode::Cbc) => {
                setting.cipher(des::Cbc::new(features, key)?, cipher)
            }
            (Family::Des | Family::TripleDes, _) => setting.cipher(des::Cfb::new(features, key)?, cipher),
            (Family::Rc4, _) => setting.cipher(Rc4::new(features, key)?, cipher),
        },
        Algorithm::CipherMac(cipher, hash) => {
            let mac = HmacKey::new(features, hash, &case.algorithm.mac_key());
            match cipher.family() {
                Family::Aes => setting.chained(aes::Cbc::new(features, key)?, mac, cipher),
                Family::Camellia => setting.chained(camellia::Cbc::new(features, key)?, mac, cipher),
                Family::Sm4 => setting.chained(sm4::Cbc::new(features, key)?, mac, cipher),
                _ => setting.chained(des::Cbc::new(features, key)?, mac, cipher),
            }
        }
        Algorithm::Digest(hash) => {
            setting.run((), move |(), io| (Operation::digest(hash, io.input), io.result))
        }
        Algorithm::Hmac(hash) => setting.mac(HmacKey::new(features, hash, key)),
        Algorithm::Cmac(_) => setting.mac(aes::Cmac::new(features, key)?),
        Algorithm::KasumiF8 => setting.run(F8::new(features, key)?, |key, io| {
            let (data, bits) = (pass(io.input, io.result), 8 * io.input.len());
            let operation =
                Operation::kasumi_f8(key, kasumi::COUNT, kasumi::BEARER, kasumi::DIRECTION, data, bits);
            (operation, &mut [])
        }),
        Algorithm::KasumiF9 => setting.run(F9::new(features, key)?, |key, io| {
            let bits = 8 * io.input.len();
            let operation =
                Operation::kasumi_f9(key, kasumi::COUNT, kasumi::FRESH, kasumi::DIRECTION, io.input, bits);
            (operation, io.result)
        }),
        Algorithm::Crc32 => setting.checksum(Checksum::Crc32),
        Algorithm::Crc32c => setting.checksum(Checksum::Crc32c),
        Algorithm::IpChecksum => setting.checksum(Checksum::Ip),
        Algorithm::Random => {
            setting.unit.seed(&direct::seed());
            setting.run((), |(), io| (Operation::random(io.result), &mut []))
        }
    })
}

/// The common part of all algorithms' runners.
struct Setting {
    unit: Unit,
    depth: usize,
    direction: Direction,
}

impl Setting {
    /// Makes the operation of an object with `make`, which also returns the place of its tag.
    fn run<K: 'static, F>(self, key: K, make: F) -> Box<dyn Runner>
    where
        F: for<'a> Fn(&'a K, Io<'a>) -> (Operation<'a>, &'a mut [u8]) + 'static,
    {
        Box::new(Batches { setting: self, key, make, operations: Vec::new(), tags: Vec::new() })
    }

    fn cipher<K: 'static>(self, key: K, cipher: Cipher) -> Box<dyn Runner>
    where
        for<'a> CipherKey<'a>: From<&'a K>,
    {
        let (direction, iv_bytes) = (self.direction, cipher.iv_bytes());
        self.run(key, move |key, io| {
            let (iv, data) = (&io.iv[..iv_bytes], pass(io.input, io.result));
            match direction {
                Direction::Encrypt => (Operation::encrypt(key, iv, data), &mut []),
                Direction::Decrypt => (Operation::decrypt(key, iv, data), &mut []),
            }
        })
    }

    fn aead<K: 'static>(self, key: K) -> Box<dyn Runner>
    where
        for<'a> AeadKey<'a>: From<&'a K>,
    {
        match self.direction {
            Direction::Encrypt => self.run(key, |key, io| {
                let (data, tag) = io.result.split_at_mut(io.input.len());
                (Operation::seal(key, &io.iv[..12], &AAD, pass(io.input, data)), tag)
            }),
            Direction::Decrypt => self.run(key, |key, io| {
                let (data, tag) = io.input.split_last_chunk().expect("a tag behind the data");
                (Operation::open(key, &io.iv[..12], &AAD, pass(data, io.result), tag), &mut [])
            }),
        }
    }

    fn chained<K: 'static>(self, key: K, mac: HmacKey, cipher: Cipher) -> Box<dyn Runner>
    where
        for<'a> CipherKey<'a>: From<&'a K>,
    {
        let iv_bytes = cipher.iv_bytes();
        match self.direction {
            Direction::Encrypt => self.run((key, mac), move |(key, mac), io| {
                let (data, tag) = io.result.split_at_mut(io.input.len());
                let (iv, data) = (&io.iv[..iv_bytes], pass(io.input, data));
                (Operation::encrypt_then_mac(key, iv, mac, 0, data), tag)
            }),
            Direction::Decrypt => self.run((key, mac), move |(key, mac), io| {
                let (data, tag) = io.input.split_at(io.result.len());
                let (iv, data) = (&io.iv[..iv_bytes], pass(data, io.result));
                (Operation::mac_then_decrypt(key, iv, mac, 0, data, tag), &mut [])
            }),
        }
    }

    fn mac<K: 'static>(self, key: K) -> Box<dyn Runner>
    where
        for<'a> MacKey<'a>: From<&'a K>,
    {
        self.run(key, |key, io| (Operation::mac(key, io.input), io.result))
    }

    /// A checksum is a value and not a tag. It is stored where the tag would be.
    fn checksum(self, checksum: Checksum) -> Box<dyn Runner> {
        self.run((), move |(), io| (Operation::checksum(checksum, io.input), io.result))
    }
}

fn pass<'a>(input: &'a [u8], output: &'a mut [u8]) -> InOut<'a> {
    InOut::separate(input, output).expect("as many bytes come out as go in")
}

/// Batches of one kind of operation.
struct Batches<K, F> {
    setting: Setting,
    key: K,
    make: F,
    /// Memory for operations and for the places of their tags. It is always empty between batches.
    operations: Vec<Operation<'static>>,
    tags: Vec<&'static mut [u8]>,
}

impl<K, F> Runner for Batches<K, F>
where
    F: for<'a> Fn(&'a K, Io<'a>) -> (Operation<'a>, &'a mut [u8]),
{
    fn run(&mut self, objects: &mut Objects, which: Range<usize>, times: usize) -> bool {
        let depth = self.setting.depth;
        let mut good = true;
        for _ in 0..times {
            if self.setting.unit.wants_seed() {
                self.setting.unit.seed(&direct::seed());
            }
            for first in which.clone().step_by(depth) {
                good &= self.batch(objects, first..(first + depth).min(which.end));
            }
        }
        std::hint::black_box(objects);
        good
    }
}

impl<K, F> Batches<K, F>
where
    F: for<'a> Fn(&'a K, Io<'a>) -> (Operation<'a>, &'a mut [u8]),
{
    #[inline(always)]
    fn batch(&mut self, objects: &mut Objects, which: Range<usize>) -> bool {
        let (mut operations, mut tags) =
            (reuse(std::mem::take(&mut self.operations)), reuse(std::mem::take(&mut self.tags)));
        for io in objects.ios(which) {
            let (operation, tag) = (self.make)(&self.key, io);
            operations.push(operation);
            tags.push(tag);
        }
        self.setting.unit.run(&mut operations);
        let mut good = true;
        for (operation, tag) in operations.iter().zip(&mut tags) {
            match (operation.result(), operation.tag()) {
                (Ok(()), computed) if computed.len() == tag.len() => tag.copy_from_slice(computed),
                (Ok(()), _) => put_value(operation.value(), tag),
                (Err(_), _) => good = false,
            }
        }
        (self.operations, self.tags) = (reuse(operations), reuse(tags));
        good
    }
}

/// Stores a checksum, most significant byte first.
pub fn put_value(value: u32, place: &mut [u8]) {
    let bytes = value.to_be_bytes();
    let from = bytes.len().saturating_sub(place.len());
    place.copy_from_slice(&bytes[from..]);
}

/// Reuses the memory of a list for elements that borrow from something else. (The standard library collects
/// elements of the same size in place.)
fn reuse<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().map(|_| unreachable!("the list was cleared")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::algorithm::names;

    #[test]
    fn a_list_keeps_its_memory() {
        let list: Vec<&str> = Vec::with_capacity(7);
        let (memory, again) = (list.as_ptr().addr(), reuse::<&str, &[u8]>(list));
        assert_eq!((again.capacity(), again.as_ptr().addr()), (7, memory));
    }

    #[test]
    fn every_table_of_lanes_is_there() {
        for name in names() {
            let algorithm = Algorithm::from_name(&name).unwrap();
            if let Some(tables) = lanes(algorithm) {
                let kernels = kernel(Features::hardware(), tables);
                let alone = ["camellia-ecb", "sm4-ecb", "des-ecb", "3des-ecb", "rc4"];
                let expected = alone.iter().any(|own| name.ends_with(&own[own.len() - 3..])) || name == "rc4";
                assert!(expected || !kernels.contains("no lanes"), "{name}: {kernels}");
            }
        }
    }
}

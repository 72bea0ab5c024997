//! One object, one call.

use std::slice::from_mut;

use millstream::aead::{Aead, TAG};
use millstream::crc::{Crc32, Crc32c};
use millstream::hkdf::Hkdf;
use millstream::ipsum::IpChecksum;
use millstream::modes::Direction;
use millstream::{AeadKey, Checksum, EngineError, InOut, MacKey, Operation, features};
use zeroize::Zeroize;

use crate::algorithm::AlgorithmCode;
use crate::failure::Failure;
use crate::key::Key;
use crate::pass::Pass;

/// Executes one operation and hands its tag over, if it has one.
fn run(mut operation: Operation<'_>, tag: impl FnOnce(&[u8])) -> Result<(), Failure> {
    millstream::batch(from_mut(&mut operation))?;
    operation.result()?;
    tag(operation.tag());
    Ok(())
}

/// Encrypts or decrypts a whole message with a cipher.
pub fn cipher(key: &Key, direction: Direction, iv: &[u8], data: InOut<'_>) -> Result<(), Failure> {
    let key = key.cipher()?;
    let operation = match direction {
        Direction::Encrypt => Operation::encrypt(key, iv, data),
        Direction::Decrypt => Operation::decrypt(key, iv, data),
    };
    run(operation, |_| {})
}

/// Encrypts and authenticates.
#[inline(always)]
pub fn seal(
    key: &Key,
    nonce: &[u8],
    aad: &[u8],
    data: InOut<'_>,
    tag: &mut [u8; TAG],
) -> Result<(), Failure> {
    match key.aead()? {
        AeadKey::AesGcm(key) => key.seal(nonce, aad, data, tag)?,
        AeadKey::ChaCha20Poly1305(key) => key.seal(nonce, aad, data, tag)?,
        AeadKey::Fernet(_) | AeadKey::AesKw(_) | AeadKey::AesKwp(_) => return Err(other_tag(key)),
        key => return run(Operation::seal(key, nonce, aad, data), |computed| tag.copy_from_slice(computed)),
    }
    Ok(())
}

/// Refuses a key of an AEAD whose tags have another length than the place for them.
#[cold]
fn other_tag(key: &Key) -> Failure {
    Failure::Algorithm {
        given: key.algorithm().name(),
        takes: "an AEAD with a tag of 16 bytes; open this one with millstream_open_cut(), and seal in a queue",
    }
}

/// Returns a whole tag of an AEAD, and refuses other lengths.
#[inline(always)]
pub fn whole_tag(tag: &[u8]) -> Result<&[u8; TAG], Failure> {
    tag.try_into().map_err(|_| {
        EngineError::TagLength { algorithm: "an AEAD", given: tag.len(), takes: "16 bytes" }.into()
    })
}

/// Decrypts if the tag is right.
#[inline(always)]
pub fn open(key: &Key, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8]) -> Result<(), Failure> {
    let tag = whole_tag(tag)?;
    match key.aead()? {
        AeadKey::AesGcm(key) => key.open(nonce, aad, data, tag)?,
        AeadKey::ChaCha20Poly1305(key) => key.open(nonce, aad, data, tag)?,
        AeadKey::Fernet(_) | AeadKey::AesKw(_) | AeadKey::AesKwp(_) => return Err(other_tag(key)),
        key => return run(Operation::open(key, nonce, aad, data, tag), |_| {}),
    }
    Ok(())
}

/// Decrypts if the tag is right. The protocol cuts tags to `expected` bytes.
pub fn open_cut(
    key: &Key,
    nonce: &[u8],
    aad: &[u8],
    data: InOut<'_>,
    tag: &[u8],
    expected: usize,
) -> Result<(), Failure> {
    match key.aead()? {
        AeadKey::AesGcm(key) => Ok(key.open_cut(nonce, aad, data, tag, expected)?),
        key => run(Operation::open_cut(key, nonce, aad, data, tag, expected), |_| {}),
    }
}

/// Writes a digest to the front of `out`, and returns its length.
#[inline(always)]
pub fn digest(hash: AlgorithmCode, data: &[u8], out: &mut [u8]) -> Result<usize, Failure> {
    Ok(millstream::hash::digest(features()?, hash.hash()?, data, out)?)
}

/// Returns the front of `out`, to which a result of `needed` bytes goes.
#[inline(always)]
pub fn room(out: &mut [u8], needed: usize) -> Result<&mut [u8], Failure> {
    let given = out.len();
    match out.get_mut(..needed) {
        Some(out) => Ok(out),
        None => Err(EngineError::OutputLength { given, needed }.into()),
    }
}

/// Writes a MAC to the front of `out`, and returns its length.
pub fn mac(key: &Key, data: &[u8], out: &mut [u8]) -> Result<usize, Failure> {
    match key.mac()? {
        MacKey::Hmac(key) => {
            // The length is known before the MAC is computed, so an output that is too short costs nothing.
            let out = room(out, key.hash().output_len())?;
            out.copy_from_slice(&key.sign(data));
            Ok(out.len())
        }
        MacKey::AesCmac(key) => {
            let out = room(out, 16)?;
            out.copy_from_slice(&key.mac(data));
            Ok(out.len())
        }
        key => {
            let out = room(out, 8)?;
            run(Operation::mac(key, data), |mac| out.copy_from_slice(mac))?;
            Ok(out.len())
        }
    }
}

/// Compares a MAC.
pub fn verify(key: &Key, data: &[u8], mac: &[u8]) -> Result<(), Failure> {
    match key.mac()? {
        MacKey::Hmac(key) => Ok(key.verify(data, mac)?),
        MacKey::AesCmac(key) => Ok(key.verify(data, mac)?),
        key => run(Operation::verify(key, data, mac), |_| {}),
    }
}

/// HKDF: extracts and expands.
pub fn hkdf(
    hash: AlgorithmCode,
    salt: &[u8],
    material: &[u8],
    info: &[u8],
    out: &mut [u8],
) -> Result<(), Failure> {
    Ok(Hkdf::extract(features()?, hash.hash()?, salt, material).expand(info, out)?)
}

/// HKDF: writes the pseudorandom key to the front of `out`, and returns its length.
pub fn hkdf_extract(
    hash: AlgorithmCode,
    salt: &[u8],
    material: &[u8],
    out: &mut [u8],
) -> Result<usize, Failure> {
    let hash = hash.hash()?;
    let out = room(out, hash.output_len())?;
    let mut key = millstream::hkdf::extract(features()?, hash, salt, material);
    out.copy_from_slice(&key);
    key.zeroize();
    Ok(out.len())
}

/// HKDF: expands a pseudorandom key.
pub fn hkdf_expand(hash: AlgorithmCode, key: &[u8], info: &[u8], out: &mut [u8]) -> Result<(), Failure> {
    Ok(Hkdf::from_prk(features()?, hash.hash()?, key)?.expand(info, out)?)
}

/// Computes a checksum.
pub fn checksum(algorithm: AlgorithmCode, data: &[u8]) -> Result<u32, Failure> {
    let features = features()?;
    Ok(match algorithm.checksum()? {
        Checksum::Crc32 => Crc32::of(features, data),
        Checksum::Crc32c => Crc32c::of(features, data),
        Checksum::Ip => u32::from(IpChecksum::of(features, data)),
    })
}

/// Copies, and takes the checksum in the same pass. In place there is nothing to copy.
pub fn copy_checksum(algorithm: AlgorithmCode, data: Pass<'_>) -> Result<u32, Failure> {
    let (source, destination) = match data {
        Pass::InPlace { buffer, len, .. } => return checksum(algorithm, room(buffer, len)?),
        Pass::Apart { input, output } => (input, output),
    };
    let features = features()?;
    Ok(match algorithm.checksum()? {
        Checksum::Crc32 => {
            let mut crc = Crc32::new(features);
            crc.update_copy(source, destination)?;
            crc.value()
        }
        Checksum::Crc32c => {
            let mut crc = Crc32c::new(features);
            crc.update_copy(source, destination)?;
            crc.value()
        }
        Checksum::Ip => {
            let mut sum = IpChecksum::new(features);
            sum.update_copy(source, destination)?;
            u32::from(sum.value())
        }
    })
}

/// Returns the CRC of A followed by B, from those of both.
pub fn crc_combine(algorithm: AlgorithmCode, a: u32, b: u32, len_b: u64) -> Result<u32, Failure> {
    match algorithm.checksum()? {
        Checksum::Crc32 => Ok(Crc32::combine(a, b, len_b)),
        Checksum::Crc32c => Ok(Crc32c::combine(a, b, len_b)),
        Checksum::Ip => Err(Failure::Algorithm { given: "ip-checksum", takes: "crc32 or crc32c" }),
    }
}

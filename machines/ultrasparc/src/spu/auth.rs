//! The hashes, MACs and checksums of a control word.
//!
//! The initial state is in memory as a digest would be: SHA's words big-endian, MD5's little-endian. The unit pads
//! and counts the length from zero. With SFAS it also stores the running state, with which a next word could begin:
//! the chaining value after the last whole block and before any padding, the CRC's register, or the sum.
//!
//! Ref. RFC 1321, FIPS 180-4, RFC 2104, RFC 6101 §5.2.3.1, IEEE 802.3 §3.2.9, RFC 1071; Linux,
//! `drivers/crypto/n2_core.c`. Ours: the contents that SFAS stores; that a CRC begins with its register (all ones for
//! the usual one) and comes out inverted and big-endian; and that SSL-HMAC-SHA256 pads the key to a block.

use millstream_engines::crc::{Crc, Crc32, Crc32c, Polynomial};
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::ipsum::IpChecksum;

use super::codes::Auth;
use super::control_word::ControlWord;
use super::fault::{Fault, Field, Refusal};
use super::physical::Physical;
use super::results::Results;
use super::{engine, kasumi, partial};

/// A result, and the running state.
struct Made {
    result: Vec<u8>,
    running: Vec<u8>,
}

/// Hashes the whole source, and returns the bytes for the destination.
pub(crate) fn run(
    auth: Auth,
    word: &ControlWord,
    source: &[u8],
    memory: &dyn Physical,
    results: &mut Results,
) -> Result<Vec<u8>, Fault> {
    let control = word.control;
    let mut state = vec![0; auth.state_len()];
    memory.read(word.auth_iv, &mut state)?;
    let mut key = vec![0; if auth.is_keyed() { control.auth_key_len() } else { 0 }];
    if !key.is_empty() {
        memory.read(word.auth_key, &mut key)?;
    }
    let Made { mut result, running } = compute(auth, control.store_state(), &key, &state, source)?;
    results.latches.hash(&key, &running);
    if control.store_state() && !running.is_empty() {
        results.writes.push((Field::FinalAuthState, word.final_auth_state, running));
    }
    result.truncate(control.hash_len());
    Ok(result)
}

fn compute(auth: Auth, store: bool, key: &[u8], state: &[u8], source: &[u8]) -> Result<Made, Refusal> {
    Ok(match auth {
        Auth::Md5 => hash(Hash::Md5, state, source),
        Auth::Sha1 => hash(Hash::Sha1, state, source),
        Auth::Sha256 => hash(Hash::Sha256, state, source),
        Auth::Sha512 => hash(Hash::Sha512, state, source),
        Auth::HmacMd5 => hmac(Hash::Md5, key, state, source),
        Auth::HmacSha1 => hmac(Hash::Sha1, key, state, source),
        Auth::HmacSha256 => hmac(Hash::Sha256, key, state, source),
        Auth::HmacSha512 => hmac(Hash::Sha512, key, state, source),
        Auth::SslMd5 => ssl(Hash::Md5, key, state, source),
        Auth::SslSha1 => ssl(Hash::Sha1, key, state, source),
        Auth::SslSha256 => ssl(Hash::Sha256, key, state, source),
        Auth::Crc32 => crc(Crc32::new(engine()), state, source),
        Auth::Crc32c => crc(Crc32c::new(engine()), state, source),
        Auth::TcpChecksum | Auth::IpChecksum => checksum(state, source),
        Auth::KasumiF9 => Made { result: kasumi::f9(key, state, source).to_vec(), running: Vec::new() },
        Auth::PartialMd5 => partial_hash(Hash::Md5, store, state, source)?,
        Auth::PartialSha1 => partial_hash(Hash::Sha1, store, state, source)?,
        Auth::PartialSha256 => partial_hash(Hash::Sha256, store, state, source)?,
        Auth::PartialSha512 => partial_hash(Hash::Sha512, store, state, source)?,
    })
}

/// A hash that begins with a chaining value.
fn begin(hash: Hash, state: &[u8]) -> Hasher {
    partial::take_up(hash, 0, state, &[]).expect("a chaining value and no bytes")
}

fn hash(hash: Hash, state: &[u8], source: &[u8]) -> Made {
    let mut hasher = begin(hash, state);
    hasher.update(source);
    let running = partial::chaining(&hasher);
    Made { result: hasher.finish().to_vec(), running }
}

/// The HMAC of RFC 2104, both of whose hashes begin with the state given.
fn hmac(hash: Hash, key: &[u8], state: &[u8], source: &[u8]) -> Made {
    let keyed = |pad: u8| {
        let mut block = vec![pad; hash.block_len()];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        let mut hasher = begin(hash, state);
        hasher.update(&block);
        hasher
    };
    nested(keyed(0x36), keyed(0x5c), source)
}

/// The MAC of RFC 6101 §5.2.3.1: the key and 48 bytes of pad for MD5, 40 for SHA-1. The sequence number, type and
/// length that follow are the first bytes of the source.
fn ssl(hash: Hash, key: &[u8], state: &[u8], source: &[u8]) -> Made {
    let pads = match hash {
        Hash::Md5 => 48,
        Hash::Sha1 => 40,
        _ => 32,
    };
    let keyed = |pad: u8| {
        let mut hasher = begin(hash, state);
        hasher.update(key);
        hasher.update(&vec![pad; pads]);
        hasher
    };
    nested(keyed(0x36), keyed(0x5c), source)
}

fn nested(mut inner: Hasher, mut outer: Hasher, source: &[u8]) -> Made {
    inner.update(source);
    let running = partial::chaining(&inner);
    outer.update(&inner.finish());
    Made { result: outer.finish().to_vec(), running }
}

fn crc<P: Polynomial>(begun: Crc<P>, state: &[u8], source: &[u8]) -> Made {
    let register = u32::from_be_bytes(*state.first_chunk().expect("a CRC begins with 4 bytes"));
    let mut crc = begun.resume(!register);
    crc.update(source);
    Made { result: crc.value().to_be_bytes().to_vec(), running: (!crc.value()).to_be_bytes().to_vec() }
}

fn checksum(state: &[u8], source: &[u8]) -> Made {
    let mut sum = IpChecksum::new(engine());
    sum.update(state);
    sum.update(source);
    Made { result: sum.value().to_be_bytes().to_vec(), running: (!sum.value()).to_be_bytes().to_vec() }
}

/// Goes on with a saved hash, and saves it again or ends it.
fn partial_hash(hash: Hash, store: bool, saved: &[u8], source: &[u8]) -> Result<Made, Refusal> {
    let mut hasher = partial::load(hash, saved).ok_or(Refusal::SavedState)?;
    hasher.update(source);
    if store {
        return Ok(Made { result: Vec::new(), running: partial::save(&hasher) });
    }
    let running = partial::chaining(&hasher);
    Ok(Made { result: hasher.finish().to_vec(), running })
}

//! Partial hashes of Rainbow Falls: a hash that was left off at any byte is in memory, so that it can go on. The
//! layout is ours.
//!
//! | bytes | contents |
//! | --- | --- |
//! | 8 | the count of hashed bytes, big-endian |
//! | 16, 20, 32 or 64 | the chaining value, in the byte order of a digest |
//! | 64 or 128 | the bytes that wait for the rest of their block, then zeros |

use millstream_engines::hash::{Hash, Hasher};

use super::engine;

/// Bytes of a chaining value.
fn chaining_len(hash: Hash) -> usize {
    match hash {
        Hash::Md5 => 16,
        Hash::Sha1 => 20,
        Hash::Sha224 | Hash::Sha256 => 32,
        Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => 64,
        Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 => {
            unreachable!("Rainbow Falls is older than SHA-3")
        }
    }
}

/// A hash with that chaining value after `count` bytes, of which `waiting` do not fill a block yet.
pub(crate) fn take_up(hash: Hash, count: u64, chaining: &[u8], waiting: &[u8]) -> Option<Hasher> {
    // The engines' own form of a mid-state begins with a version, the hash's number and a kind.
    let mut saved = Hasher::new(engine(), hash).export()[..8].to_vec();
    saved.extend_from_slice(&count.to_le_bytes());
    saved.extend_from_slice(chaining);
    saved.extend_from_slice(waiting);
    Hasher::import(engine(), hash, &saved).ok()
}

/// The chaining value after the last whole block.
pub(crate) fn chaining(hasher: &Hasher) -> Vec<u8> {
    hasher.export()[16..][..chaining_len(hasher.hash())].to_vec()
}

/// The saved hash, if it is valid.
pub(crate) fn load(hash: Hash, saved: &[u8]) -> Option<Hasher> {
    let (count, rest) = saved.split_first_chunk()?;
    let count = u64::from_be_bytes(*count);
    let (chaining, waiting) = rest.split_at_checked(chaining_len(hash))?;
    take_up(hash, count, chaining, waiting.get(..(count % hash.block_len() as u64) as usize)?)
}

/// Saves a hash.
pub(crate) fn save(hasher: &Hasher) -> Vec<u8> {
    let hash = hasher.hash();
    let state = hasher.export();
    let (count, rest) = state[8..].split_first_chunk().expect("a mid-state has its count after 8 bytes");
    let mut saved = u64::from_le_bytes(*count).to_be_bytes().to_vec();
    saved.extend_from_slice(rest);
    saved.resize(8 + chaining_len(hash) + hash.block_len(), 0);
    saved
}

//! Ciphertext alone: the caller keeps the key and the initialisation vector.
//!
//! An AEAD's tag, 16 bytes, follows its ciphertext.

use millstream_cpu::Features;
use millstream_engines::modes::{Direction, Padding};

use crate::cipher::Cipher;
use crate::error::Error;
use crate::job::{Job, Pieces};

/// The parameters of a raw stream, which it does not contain.
pub struct Parameters<'a> {
    /// The cipher.
    pub cipher: Cipher,
    /// The key.
    pub key: &'a [u8],
    /// The initialisation vector, first counter block, nonce or tweak; empty where it has none.
    pub iv: &'a [u8],
    /// Associated data, for an AEAD.
    pub associated_data: &'a [u8],
    /// The padding of the last block, in ECB and CBC.
    pub padding: Padding,
}

/// Begins to encrypt or decrypt a stream.
///
/// # Errors
/// Fails on a key or a vector of the wrong length.
pub fn job(features: Features, direction: Direction, p: &Parameters<'_>) -> Result<Job, Error> {
    let worker = p.cipher.worker(features, p.key, p.iv, p.associated_data, direction, p.padding)?;
    Ok(Job { header: Vec::new(), cut: p.cipher.cut(), pieces: Pieces::Chained(worker) })
}

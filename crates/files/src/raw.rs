//! Ciphertext alone: the key and the initialisation vector are the caller's business.
//!
//! An AEAD's tag, 16 bytes, follows its ciphertext.

use millstream_cpu::Features;
use millstream_engines::modes::{Direction, Padding};

use crate::cipher::Cipher;
use crate::error::Error;
use crate::job::{Job, Pieces};

/// What a raw stream needs to be told.
pub struct Parameters<'a> {
    /// The cipher.
    pub cipher: Cipher,
    /// Its key.
    pub key: &'a [u8],
    /// Its initialisation vector, first counter block, nonce or tweak; empty where it has none.
    pub iv: &'a [u8],
    /// Associated data, for an AEAD.
    pub associated_data: &'a [u8],
    /// What fills the last block, in ECB and CBC.
    pub padding: Padding,
}

/// Begins to encrypt or decrypt a stream.
///
/// # Errors
/// A key or a vector of the wrong length.
pub fn job(features: Features, direction: Direction, p: &Parameters<'_>) -> Result<Job, Error> {
    let worker = p.cipher.worker(features, p.key, p.iv, p.associated_data, direction, p.padding)?;
    Ok(Job { header: Vec::new(), cut: p.cipher.cut(), pieces: Pieces::Chained(worker) })
}

//! The file format of `openssl enc -pbkdf2`: `Salted__`, 8 bytes of salt, ciphertext.
//!
//! The key and the initialisation vector come, in this order, from one PBKDF2 with HMAC-SHA-256 over the
//! passphrase. The file names neither the cipher nor the iterations, and nothing is authenticated.
//!
//! Ref. openssl-enc(1).

use std::io::{Read, Write};

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::modes::{Direction, Padding};
use zeroize::Zeroizing;

use crate::cipher::Cipher;
use crate::error::Error;
use crate::job::{Job, Pieces, read_header};
use crate::pbkdf2::pbkdf2;

/// The first bytes of the file.
pub const MAGIC: &[u8; 8] = b"Salted__";

/// The default iterations of PBKDF2 in `openssl enc -pbkdf2`.
pub const ITERATIONS: u32 = 10_000;

const SALT: usize = 8;

fn worker(
    features: Features,
    direction: Direction,
    cipher: Cipher,
    passphrase: &[u8],
    salt: &[u8],
    iterations: u32,
) -> Result<Pieces, Error> {
    let key_bytes = cipher.default_key_bytes();
    let mut material = Zeroizing::new(vec![0; key_bytes + cipher.iv_bytes()]);
    pbkdf2(features, Hash::Sha256, passphrase, salt, iterations, &mut material);
    let (key, iv) = material.split_at(key_bytes);
    Ok(Pieces::Chained(cipher.worker(features, key, iv, &[], direction, Padding::Pkcs7)?))
}

/// Begins to encrypt a stream, with a new salt.
///
/// # Errors
/// [`Error::Random`].
pub fn seal(features: Features, cipher: Cipher, passphrase: &[u8], iterations: u32) -> Result<Job, Error> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt)?;
    let pieces = worker(features, Direction::Encrypt, cipher, passphrase, &salt, iterations)?;
    Ok(Job { header: [MAGIC.as_slice(), &salt].concat(), cut: cipher.cut(), pieces })
}

/// Begins to decrypt a stream, and takes its header from `reader`.
///
/// # Errors
/// [`Error::NotThisFormat`] and [`Error::Truncated`].
pub fn open(
    features: Features,
    reader: &mut impl Read,
    cipher: Cipher,
    passphrase: &[u8],
    iterations: u32,
) -> Result<Job, Error> {
    let mut magic = [0; MAGIC.len()];
    read_header(reader, &mut magic)?;
    if magic != *MAGIC {
        return Err(Error::NotThisFormat {
            format: "openssl",
            why: "it does not begin with 'Salted__'".into(),
        });
    }
    let mut salt = [0; SALT];
    read_header(reader, &mut salt)?;
    let pieces = worker(features, Direction::Decrypt, cipher, passphrase, &salt, iterations)?;
    Ok(Job { header: Vec::new(), cut: cipher.cut(), pieces })
}

/// Encrypts all of `reader`.
///
/// # Errors
/// Those of [`seal`], and when reading or writing fails.
pub fn encrypt(
    features: Features,
    reader: impl Read,
    writer: impl Write,
    cipher: Cipher,
    passphrase: &[u8],
    iterations: u32,
) -> Result<(), Error> {
    seal(features, cipher, passphrase, iterations)?.run_here(reader, writer)
}

/// Decrypts all of `reader`.
///
/// # Errors
/// Those of [`open`], and when the ciphertext can't be complete.
pub fn decrypt(
    features: Features,
    mut reader: impl Read,
    writer: impl Write,
    cipher: Cipher,
    passphrase: &[u8],
    iterations: u32,
) -> Result<(), Error> {
    open(features, &mut reader, cipher, passphrase, iterations)?.run_here(reader, writer)
}

//! The file format of the Solaris commands encrypt(1) and decrypt(1), version 1.
//!
//! | bytes | meaning |
//! | ---: | --- |
//! | 4 | version, 1, big-endian |
//! | 4 | iterations of PBKDF2, big-endian |
//! | 16, 8 or 0 | initialisation vector: `aes`; `des` and `3des`; `arcfour` |
//! | 16 | salt |
//! | any | ciphertext: CBC with PKCS #7 padding, or RC4 |
//!
//! A passphrase becomes a key by PBKDF2 with HMAC-SHA-1: of 16 bytes for `aes` and `arcfour`, 8 for
//! `des`, 24 for `3des`. A key file is the key itself, except for `arcfour`, where it is treated as a
//! passphrase. Iterations and salt are written even where they are not used.
//!
//! Nothing in this format is authenticated: a changed file decrypts to something else. It exists to read and
//! write old files.

use std::io::{Read, Write};

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_engines::modes::{Direction, Padding};
use zeroize::Zeroizing;

use crate::cipher::{Cipher, Family, Mode};
use crate::error::Error;
use crate::job::{Job, Pieces, read_header};
use crate::pbkdf2::pbkdf2;

/// The number the file begins with.
pub const VERSION: u32 = 1;

/// The iterations of PBKDF2 in files that the Solaris command writes.
pub const ITERATIONS: u32 = 1000;

/// The most iterations that a file may ask for, which take well under a second.
pub const MOST_ITERATIONS: u32 = 1_000_000;

const SALT: usize = 16;
const FORMAT: &str = "Solaris";

/// The four algorithms of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// AES in CBC.
    Aes,
    /// RC4.
    Arcfour,
    /// DES in CBC.
    Des,
    /// Triple DES in CBC.
    TripleDes,
}

impl Algorithm {
    /// All of them, in the order in which `encrypt -l` lists them.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Aes, Algorithm::Arcfour, Algorithm::Des, Algorithm::TripleDes];

    /// Returns the name for `-a`.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Aes => "aes",
            Algorithm::Arcfour => "arcfour",
            Algorithm::Des => "des",
            Algorithm::TripleDes => "3des",
        }
    }

    /// Returns the algorithm of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Returns the bits of the shortest and the longest key.
    pub const fn key_bits(self) -> (usize, usize) {
        match self {
            Algorithm::Aes => (128, 256),
            Algorithm::Arcfour => (8, 2048),
            Algorithm::Des => (64, 64),
            Algorithm::TripleDes => (192, 192),
        }
    }

    /// Returns the bytes of a key made from a passphrase.
    const fn derived_key_bytes(self) -> usize {
        match self {
            Algorithm::Aes | Algorithm::Arcfour => 16,
            Algorithm::Des => 8,
            Algorithm::TripleDes => 24,
        }
    }

    fn cipher(self) -> Cipher {
        match self {
            Algorithm::Aes => Cipher::new(Family::Aes, Mode::Cbc),
            Algorithm::Arcfour => Cipher::new(Family::Rc4, Mode::Stream),
            Algorithm::Des => Cipher::new(Family::Des, Mode::Cbc),
            Algorithm::TripleDes => Cipher::new(Family::TripleDes, Mode::Cbc).with_bits(192),
        }
    }
}

/// The source of a key.
#[derive(Clone, Copy)]
pub enum Secret<'a> {
    /// A passphrase.
    Passphrase(&'a [u8]),
    /// The contents of a key file.
    Key(&'a [u8]),
}

/// The header in front of the ciphertext.
struct Header {
    iterations: u32,
    iv: Vec<u8>,
    salt: [u8; SALT],
}

impl Header {
    fn to_bytes(&self) -> Vec<u8> {
        [&VERSION.to_be_bytes(), &self.iterations.to_be_bytes(), self.iv.as_slice(), &self.salt].concat()
    }

    fn read(reader: &mut impl Read, algorithm: Algorithm) -> Result<Self, Error> {
        let mut number = [0; 4];
        read_header(reader, &mut number)?;
        let version = u32::from_be_bytes(number);
        if version != VERSION {
            let why = format!("it begins with the version {version} where 1 is known");
            return Err(Error::NotThisFormat { format: FORMAT, why });
        }
        read_header(reader, &mut number)?;
        let iterations = u32::from_be_bytes(number);
        if iterations > MOST_ITERATIONS {
            let (given, most) = (iterations.into(), MOST_ITERATIONS.into());
            return Err(Error::Limit { what: "iterations for its key", given, most });
        }
        let mut header = Header { iterations, iv: vec![0; algorithm.cipher().iv_bytes()], salt: [0; SALT] };
        read_header(reader, &mut header.iv)?;
        read_header(reader, &mut header.salt)?;
        Ok(header)
    }

    fn key(&self, features: Features, algorithm: Algorithm, secret: Secret<'_>) -> Zeroizing<Vec<u8>> {
        let passphrase = match secret {
            Secret::Key(key) if algorithm != Algorithm::Arcfour => return Zeroizing::new(key.to_vec()),
            Secret::Key(bytes) | Secret::Passphrase(bytes) => bytes,
        };
        let mut key = Zeroizing::new(vec![0; algorithm.derived_key_bytes()]);
        pbkdf2(features, Hash::Sha1, passphrase, &self.salt, self.iterations, &mut key);
        key
    }

    fn job(
        &self,
        features: Features,
        direction: Direction,
        algorithm: Algorithm,
        secret: Secret<'_>,
    ) -> Result<Job, Error> {
        let key = self.key(features, algorithm, secret);
        let cipher = algorithm.cipher();
        let worker = cipher.worker(features, &key, &self.iv, &[], direction, Padding::Pkcs7)?;
        let header = if direction == Direction::Encrypt { self.to_bytes() } else { Vec::new() };
        Ok(Job { header, cut: cipher.cut(), pieces: Pieces::Chained(worker) })
    }
}

/// Begins to encrypt a stream, with a new salt and vector.
///
/// # Errors
/// A key file of the wrong length; [`Error::Random`].
pub fn seal(
    features: Features,
    algorithm: Algorithm,
    secret: Secret<'_>,
    iterations: u32,
) -> Result<Job, Error> {
    let mut header = Header { iterations, iv: vec![0; algorithm.cipher().iv_bytes()], salt: [0; SALT] };
    getrandom::fill(&mut header.iv)?;
    getrandom::fill(&mut header.salt)?;
    header.job(features, Direction::Encrypt, algorithm, secret)
}

/// Begins to decrypt a stream, and takes its header from `reader`.
///
/// # Errors
/// [`Error::NotThisFormat`], [`Error::Truncated`], [`Error::Limit`], a key file of the wrong length.
pub fn open(
    features: Features,
    reader: &mut impl Read,
    algorithm: Algorithm,
    secret: Secret<'_>,
) -> Result<Job, Error> {
    Header::read(reader, algorithm)?.job(features, Direction::Decrypt, algorithm, secret)
}

/// Encrypts all of `reader`.
///
/// # Errors
/// Those of [`seal`], and when reading or writing fails.
pub fn encrypt(
    features: Features,
    reader: impl Read,
    writer: impl Write,
    algorithm: Algorithm,
    secret: Secret<'_>,
) -> Result<(), Error> {
    seal(features, algorithm, secret, ITERATIONS)?.run_here(reader, writer)
}

/// Decrypts all of `reader`.
///
/// # Errors
/// Those of [`open`], and when the ciphertext can't be complete.
pub fn decrypt(
    features: Features,
    mut reader: impl Read,
    writer: impl Write,
    algorithm: Algorithm,
    secret: Secret<'_>,
) -> Result<(), Error> {
    open(features, &mut reader, algorithm, secret)?.run_here(reader, writer)
}

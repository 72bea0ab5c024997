//! Tink's streaming AEAD AES-GCM-HKDF: authenticated, segment by segment, readable by any Tink.
//!
//! The stream begins with a header: its own length, a salt as long as the derived key, and a
//! nonce prefix of 7 bytes. The key for the file is HKDF(key, salt, info = associated data). Segment
//! *i* is sealed with AES-GCM under the nonce prefix ‖ *i* (4 bytes, big-endian) ‖ 1 for the last
//! segment, 0 for any other. So no segment can be changed, moved, dropped or added. The first segment
//! is shorter by the header's length; every segment but the last fills the segment size with its tag.
//!
//! Ref. developers.google.com/tink/streaming-aead/aes_gcm_hkdf_streaming.

use std::io::{Read, Write};
use std::sync::Arc;

use millstream_cpu::Features;
use millstream_engines::aead::{Aead, TAG};
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::{Error as EngineError, InOut, hkdf};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::job::{Job, Pieces, read_header};
use crate::pipeline::{Cut, Worker};

const NONCE_PREFIX: usize = 7;
const FORMAT: &str = "Tink";

/// The header's length, which is also its first byte, if the derived key has 256 bits.
pub const HEADER_LEN_256: u8 = 40;
/// The header's length, which is also its first byte, if the derived key has 128 bits.
pub const HEADER_LEN_128: u8 = 24;

/// The parameters of a key's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The bytes of a segment with its tag.
    pub segment_bytes: usize,
    /// The bytes of the key derived for each stream: 16 or 32.
    pub derived_key_bytes: usize,
    /// The hash of HKDF.
    pub hash: Hash,
}

impl Parameters {
    /// Tink's template `AES256_GCM_HKDF_1MB`.
    pub const AES256_1MB: Parameters =
        Parameters { segment_bytes: 1 << 20, derived_key_bytes: 32, hash: Hash::Sha256 };

    /// The largest segment that is read, in bytes. Each worker holds one.
    pub const MOST_SEGMENT_BYTES: usize = 64 << 20;

    pub(crate) fn header_len(&self) -> usize {
        1 + self.derived_key_bytes + NONCE_PREFIX
    }

    /// Returns how plaintext is cut.
    pub fn plaintext(&self) -> Cut {
        let rest = self.segment_bytes - TAG;
        Cut { first: rest - self.header_len(), rest, growth: TAG }
    }

    /// Returns how the ciphertext behind the header is cut.
    pub fn ciphertext(&self) -> Cut {
        let rest = self.segment_bytes;
        Cut { first: rest - self.header_len(), rest, growth: 0 }
    }

    /// Checks parameters from outside.
    ///
    /// # Errors
    /// [`Error::Keyset`] or [`Error::Limit`].
    pub fn check(&self) -> Result<(), Error> {
        if ![16, 32].contains(&self.derived_key_bytes) {
            return Err(Error::Keyset(format!(
                "a derived key of {} bytes; it takes 16 or 32",
                self.derived_key_bytes
            )));
        }
        let least = self.header_len() + TAG + 1;
        if self.segment_bytes < least {
            return Err(Error::Keyset(format!(
                "segments of {} bytes; they need {least}",
                self.segment_bytes
            )));
        }
        let (given, most) = (self.segment_bytes as u64, Parameters::MOST_SEGMENT_BYTES as u64);
        if given > most {
            return Err(Error::Limit { what: "bytes to a segment", given, most });
        }
        Ok(())
    }
}

/// A key from which each stream's own key is derived.
#[derive(Clone)]
pub struct Key {
    secret: Zeroizing<Vec<u8>>,
    parameters: Parameters,
}

impl Key {
    /// Makes a key of 32 bytes for streams of 1 MB segments.
    ///
    /// # Errors
    /// [`EngineError::KeyLength`] when it has another length.
    pub fn new(secret: &[u8]) -> Result<Self, Error> {
        if secret.len() != 32 {
            let (given, takes) = (secret.len(), "32 bytes");
            return Err(EngineError::KeyLength { algorithm: "aes-gcm-hkdf", given, takes }.into());
        }
        Key::with_parameters(secret, Parameters::AES256_1MB)
    }

    /// Makes a key with its own parameters, as keysets have them.
    ///
    /// # Errors
    /// Fails when the parameters are not allowed or the key is shorter than the derived one.
    pub fn with_parameters(secret: &[u8], parameters: Parameters) -> Result<Self, Error> {
        parameters.check()?;
        if secret.len() < parameters.derived_key_bytes {
            let (given, takes) = (secret.len(), "as many bytes as the derived key, or more");
            return Err(EngineError::KeyLength { algorithm: "aes-gcm-hkdf", given, takes }.into());
        }
        Ok(Key { secret: Zeroizing::new(secret.to_vec()), parameters })
    }

    /// Returns the parameters of this key's streams.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// Reads a stream's header, which must be as long as this key's streams have it.
    pub(crate) fn read_header(&self, reader: &mut impl Read, header: &mut [u8]) -> Result<(), Error> {
        read_header(reader, &mut header[..1])?;
        if usize::from(header[0]) != header.len() {
            let why =
                format!("its header would have {} bytes where this key's have {}", header[0], header.len());
            return Err(Error::NotThisFormat { format: FORMAT, why });
        }
        read_header(reader, &mut header[1..])
    }

    /// Derives the key of the stream with this header.
    pub(crate) fn stream(
        &self,
        features: Features,
        header: &[u8],
        associated_data: &[u8],
    ) -> Result<Stream, Error> {
        let salt = &header[1..1 + self.parameters.derived_key_bytes];
        let mut key = Zeroizing::new(vec![0; self.parameters.derived_key_bytes]);
        hkdf::derive(features, self.parameters.hash, salt, &self.secret, associated_data, &mut key)?;
        let mut prefix = [0; NONCE_PREFIX];
        prefix.copy_from_slice(&header[1 + self.parameters.derived_key_bytes..]);
        Ok(Stream { gcm: Gcm::new(features, &key)?, prefix })
    }
}

/// One stream's key and nonce prefix.
pub(crate) struct Stream {
    pub(crate) gcm: Gcm,
    prefix: [u8; NONCE_PREFIX],
}

impl Stream {
    fn nonce(&self, segment: u64, last: bool) -> Result<[u8; 12], Error> {
        let most = u64::from(u32::MAX);
        let number =
            u32::try_from(segment).map_err(|_| Error::Limit { what: "segments", given: segment, most })?;
        Ok(self.nonce_of(number, last))
    }

    /// Returns the nonce of the only segment.
    pub(crate) fn only_nonce(&self) -> [u8; 12] {
        self.nonce_of(0, true)
    }

    fn nonce_of(&self, number: u32, last: bool) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..NONCE_PREFIX].copy_from_slice(&self.prefix);
        nonce[NONCE_PREFIX..11].copy_from_slice(&number.to_be_bytes());
        nonce[11] = u8::from(last);
        nonce
    }

    fn seal(&self, segment: u64, last: bool, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let mut tag = [0; TAG];
        let nonce = self.nonce(segment, last)?;
        self.gcm.seal(&nonce, &[], InOut::in_place(bytes), &mut tag)?;
        bytes.extend_from_slice(&tag);
        Ok(())
    }

    fn open(&self, segment: u64, last: bool, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let Some((data, tag)) = bytes.split_last_chunk_mut::<TAG>() else {
            return Err(Error::Tampered { segment });
        };
        let len = data.len();
        let nonce = self.nonce(segment, last)?;
        self.gcm.open(&nonce, &[], InOut::in_place(data), tag).map_err(Stream::refused(segment))?;
        bytes.truncate(len);
        Ok(())
    }

    /// Returns the error of a segment that the engine refuses.
    pub(crate) fn refused(segment: u64) -> impl Fn(EngineError) -> Error {
        move |error| match error {
            EngineError::Authentication => Error::Tampered { segment },
            other => other.into(),
        }
    }
}

/// Begins to encrypt a stream, under a new salt and nonce prefix.
///
/// # Errors
/// [`Error::Random`].
pub fn seal(features: Features, key: &Key, associated_data: &[u8]) -> Result<Job, Error> {
    let mut header = vec![0; key.parameters.header_len()];
    getrandom::fill(&mut header)?;
    header[0] = header.len() as u8;
    let stream = Arc::new(key.stream(features, &header, associated_data)?);
    let worker = move || -> Worker {
        let stream = Arc::clone(&stream);
        Box::new(move |piece| stream.seal(piece.index, piece.last, &mut piece.bytes))
    };
    let (cut, output) = (key.parameters.plaintext(), key.parameters.ciphertext());
    Ok(Job { header, cut, pieces: Pieces::Independent { output, worker: Box::new(worker) } })
}

/// Begins to decrypt a stream, and takes its header from `reader`.
///
/// # Errors
/// [`Error::NotThisFormat`] and [`Error::Truncated`].
pub fn open(
    features: Features,
    reader: &mut impl Read,
    key: &Key,
    associated_data: &[u8],
) -> Result<Job, Error> {
    let mut header = vec![0; key.parameters.header_len()];
    key.read_header(reader, &mut header)?;
    let stream = Arc::new(key.stream(features, &header, associated_data)?);
    let worker = move || -> Worker {
        let stream = Arc::clone(&stream);
        Box::new(move |piece| stream.open(piece.index, piece.last, &mut piece.bytes))
    };
    let (cut, output) = (key.parameters.ciphertext(), key.parameters.plaintext());
    Ok(Job { header: Vec::new(), cut, pieces: Pieces::Independent { output, worker: Box::new(worker) } })
}

/// Returns the one of several keys that a stream was encrypted with, by opening its first segment. `head`
/// holds the stream's first [`Parameters::segment_bytes`] bytes and one more, or all there are.
pub fn key_for<'k>(
    features: Features,
    keys: &'k [Key],
    head: &[u8],
    associated_data: &[u8],
) -> Option<&'k Key> {
    keys.iter().find(|key| {
        let (header_len, segment) = (key.parameters.header_len(), key.parameters.segment_bytes);
        if head.len() < header_len || usize::from(head[0]) != header_len {
            return false;
        }
        let mut first = head[header_len..head.len().min(segment)].to_vec();
        key.stream(features, &head[..header_len], associated_data)
            .and_then(|stream| stream.open(0, head.len() <= segment, &mut first))
            .is_ok()
    })
}

/// Encrypts all of `reader`.
///
/// # Errors
/// Fails when reading, writing or the system's random bytes fail.
pub fn encrypt(
    features: Features,
    reader: impl Read,
    writer: impl Write,
    key: &Key,
    associated_data: &[u8],
) -> Result<(), Error> {
    seal(features, key, associated_data)?.run_here(reader, writer)
}

/// Decrypts all of `reader`. A segment is written only after it was verified. On an error, the output is a
/// true beginning of the plaintext, but nothing tells how much is missing.
///
/// # Errors
/// Fails when the stream is not one that was encrypted under that key and associated data.
pub fn decrypt(
    features: Features,
    mut reader: impl Read,
    writer: impl Write,
    key: &Key,
    associated_data: &[u8],
) -> Result<(), Error> {
    open(features, &mut reader, key, associated_data)?.run_here(reader, writer)
}

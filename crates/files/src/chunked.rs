//! C2SP chunked encryption with AES-GCM and SHA-512: messages of any length, authenticated chunk by chunk, with random access.
//!
//! A message begins with a salt of 24 bytes and a commitment to its key of 32 bytes. AES-GCM chunks of 16 KiB follow, each with its tag; the
//! last one is always shorter, and may be empty. Key, base nonce and commitment of a message come from the input key, the salt and
//! the caller's context. The nonce of chunk *i* is the base nonce XOR *i*, so no chunk can be changed, moved, dropped or added.
//!
//! The instances are those that pyca/cryptography calls Cobblestone128 and Cobblestone256: the input key's length chooses AES-128 or AES-256.
//!
//! Ref. c2sp.org/chunked-encryption.

use std::io::Read;
use std::sync::Arc;

use millstream_cpu::Features;
use millstream_engines::aead::{Aead, TAG};
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::hkdf::Hkdf;
use millstream_engines::hmac::HmacKey;
use millstream_engines::{Error as EngineError, InOut, compare};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::job::{Job, Pieces, read_header};
use crate::pipeline::{Cut, Worker};

/// The bytes of plaintext in every chunk but the last.
pub const CHUNK: usize = 16 << 10;
/// The bytes of such a chunk with its tag.
pub const SEALED_CHUNK: usize = CHUNK + TAG;
/// The bytes of a salt.
pub const SALT: usize = 24;
/// The bytes in front of the first chunk: the salt and the commitment.
pub const HEADER: usize = SALT + COMMITMENT;
/// The most chunks of a message.
pub const MOST_CHUNKS: u64 = 1 << 38;

const COMMITMENT: usize = 32;
const NONCE: usize = 12;

/// The chunks of one piece of a [`Job`].
const PIECE_CHUNKS: usize = 64;

/// Returns the length of a message, in bytes, whose plaintext has that length.
///
/// ```
/// assert_eq!(millstream_files::chunked::sealed_len(0), 56 + 16);
/// ```
pub const fn sealed_len(plain: u64) -> u64 {
    HEADER as u64 + plain + (plain / CHUNK as u64 + 1) * TAG as u64
}

/// Returns the length of the plaintext of a message of that length, or none for a length that no whole message has.
pub const fn plain_len(sealed: u64) -> Option<u64> {
    let Some(chunks) = sealed.checked_sub(HEADER as u64) else { return None };
    let (whole, last) = (chunks / SEALED_CHUNK as u64, chunks % SEALED_CHUNK as u64);
    match last.checked_sub(TAG as u64) {
        Some(last) => Some(whole * CHUNK as u64 + last),
        None => None,
    }
}

/// The key of one message.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_files::chunked::{HEADER, Message, sealed_len};
///
/// let features = Features::hardware();
/// let message = Message::new(features, &[7; 32], b"context")?;
/// let mut chunks = b"an object".to_vec();
/// message.seal(0, &mut chunks)?;
/// assert_eq!((HEADER + chunks.len()) as u64, sealed_len(9));
///
/// let opened = Message::with_header(features, &[7; 32], &message.header(), b"context")?;
/// opened.open(0, &mut chunks)?;
/// assert_eq!(chunks, b"an object");
/// # Ok::<(), millstream_files::Error>(())
/// ```
pub struct Message {
    gcm: Gcm,
    base_nonce: [u8; NONCE],
    header: [u8; HEADER],
}

impl Message {
    /// Begins a message under a new random salt. The input key has 16 or 32 bytes, which must be random.
    ///
    /// # Errors
    /// [`Error::Random`]; [`Error::Engine`] for a key of another length.
    pub fn new(features: Features, key: &[u8], context: &[u8]) -> Result<Self, Error> {
        let mut salt = [0; SALT];
        getrandom::fill(&mut salt)?;
        Message::derive(features, key, &salt, context)
    }

    /// Takes up a message by its header.
    ///
    /// # Errors
    /// [`Error::Committed`] when the message was not made with this key and context.
    pub fn with_header(
        features: Features,
        key: &[u8],
        header: &[u8; HEADER],
        context: &[u8],
    ) -> Result<Self, Error> {
        let salt = header.first_chunk().expect("a header begins with the salt");
        let message = Message::derive(features, key, salt, context)?;
        // The verdict is public, as that of a tag is.
        let fits = bool::from(compare::begins(&message.header, header));
        if fits { Ok(message) } else { Err(Error::Committed) }
    }

    fn derive(features: Features, key: &[u8], salt: &[u8; SALT], context: &[u8]) -> Result<Self, Error> {
        let aead: &[u8] = match key.len() {
            16 => b"AEAD_AES_128_GCM",
            32 => b"AEAD_AES_256_GCM",
            given => {
                let takes = "16 or 32 bytes";
                return Err(
                    EngineError::KeyLength { algorithm: "c2sp-chunked-encryption", given, takes }.into()
                );
            }
        };
        let info = [b"c2sp.org/chunked-encryption@v1+", aead, &[0], salt, context].concat();
        let mut derived = Zeroizing::new([0; 32 + NONCE + COMMITMENT]);
        let derived = &mut derived[..key.len() + NONCE + COMMITMENT];
        Hkdf::with_key(HmacKey::new(features, Hash::Sha512, key)).expand(&info, derived)?;
        let (own, rest) = derived.split_at(key.len());
        let (base, commitment) = rest.split_at(NONCE);
        let (mut base_nonce, mut header) = ([0; NONCE], [0; HEADER]);
        base_nonce.copy_from_slice(base);
        header[..SALT].copy_from_slice(salt);
        header[SALT..].copy_from_slice(commitment);
        Ok(Message { gcm: Gcm::new(features, own)?, base_nonce, header })
    }

    /// Returns the bytes in front of the first chunk.
    pub fn header(&self) -> [u8; HEADER] {
        self.header
    }

    /// Returns the salt.
    pub fn salt(&self) -> [u8; SALT] {
        *self.header.first_chunk().expect("a header begins with the salt")
    }

    /// Returns the nonce of a chunk.
    fn nonce(&self, chunk: u64) -> Result<[u8; NONCE], Error> {
        if chunk >= MOST_CHUNKS {
            return Err(Error::Limit { what: "chunks", given: chunk, most: MOST_CHUNKS - 1 });
        }
        let mut nonce = self.base_nonce;
        for (byte, counter) in nonce[NONCE - 8..].iter_mut().zip(chunk.to_be_bytes()) {
            *byte ^= counter;
        }
        Ok(nonce)
    }

    /// Encrypts the last plaintext of a message, which begins with chunk `first`; it grows by the chunks' tags. After it the message is whole.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn seal(&self, first: u64, bytes: &mut Vec<u8>) -> Result<(), Error> {
        spread(bytes, bytes.len() / CHUNK + 1);
        self.seal_slots(first, bytes)
    }

    /// Encrypts chunks that stand in their places: each [`SEALED_CHUNK`] bytes hold plaintext and room for the tag. The last may be shorter.
    ///
    /// # Errors
    /// [`Error::Limit`].
    ///
    /// # Panics
    /// When there is no room for the last tag.
    pub fn seal_slots(&self, first: u64, slots: &mut [u8]) -> Result<(), Error> {
        for (chunk, slot) in (first..).zip(slots.chunks_mut(SEALED_CHUNK)) {
            let nonce = self.nonce(chunk)?;
            let (data, tag) = slot.split_last_chunk_mut::<TAG>().expect("a slot has room for its tag");
            self.gcm.seal(&nonce, &[], InOut::in_place(data), tag)?;
        }
        Ok(())
    }

    /// Decrypts the last chunks of a message, the first of which is `first`. They shrink by their tags.
    ///
    /// # Errors
    /// [`Error::Tampered`]; [`Error::Truncated`] when no short chunk is at the end.
    pub fn open(&self, first: u64, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let last = bytes.len() % SEALED_CHUNK;
        if last < TAG {
            return Err(Error::CutOff);
        }
        self.open_slots(first, bytes)?;
        gather(bytes);
        Ok(())
    }

    /// Decrypts chunks in their places, where the plaintext stays, with a tag behind each [`CHUNK`] bytes.
    ///
    /// # Errors
    /// [`Error::Tampered`].
    pub fn open_slots(&self, first: u64, slots: &mut [u8]) -> Result<(), Error> {
        for (segment, slot) in (first..).zip(slots.chunks_mut(SEALED_CHUNK)) {
            let nonce = self.nonce(segment)?;
            let Some((data, tag)) = slot.split_last_chunk_mut::<TAG>() else {
                return Err(Error::Tampered { segment });
            };
            self.gcm.open(&nonce, &[], InOut::in_place(data), tag).map_err(|error| match error {
                EngineError::Authentication => Error::Tampered { segment },
                other => other.into(),
            })?;
        }
        Ok(())
    }
}

/// Moves contiguous chunks to their places, and makes room for this number of tags.
fn spread(bytes: &mut Vec<u8>, chunks: usize) {
    let plain = bytes.len();
    bytes.resize(plain + chunks * TAG, 0);
    for chunk in (1..chunks).rev() {
        let (from, to) = (chunk * CHUNK, chunk * SEALED_CHUNK);
        bytes.copy_within(from..plain.min(from + CHUNK), to);
    }
}

/// Moves chunks from their places together, over the tags behind them.
fn gather(bytes: &mut Vec<u8>) {
    let (sealed, mut to) = (bytes.len(), 0);
    for from in (0..sealed).step_by(SEALED_CHUNK) {
        let end = sealed.min(from + SEALED_CHUNK) - TAG;
        bytes.copy_within(from..end, to);
        to += end - from;
    }
    bytes.truncate(to);
}

/// The way plaintext is cut for a [`Job`].
const PLAINTEXT: Cut =
    Cut { first: PIECE_CHUNKS * CHUNK, rest: PIECE_CHUNKS * CHUNK, growth: (PIECE_CHUNKS + 1) * TAG };

/// The way ciphertext is cut.
const CIPHERTEXT: Cut =
    Cut { first: PIECE_CHUNKS * SEALED_CHUNK, rest: PIECE_CHUNKS * SEALED_CHUNK, growth: 0 };

/// Begins to encrypt a stream under a new salt. `head` is written in front of the message.
///
/// # Errors
/// As for [`Message::new`].
pub fn seal(features: Features, mut head: Vec<u8>, key: &[u8], context: &[u8]) -> Result<Job, Error> {
    let message = Arc::new(Message::new(features, key, context)?);
    head.extend_from_slice(&message.header());
    let worker = move || -> Worker {
        let message = Arc::clone(&message);
        Box::new(move |piece| {
            let first = piece.index * PIECE_CHUNKS as u64;
            if piece.last {
                return message.seal(first, &mut piece.bytes);
            }
            spread(&mut piece.bytes, PIECE_CHUNKS);
            message.seal_slots(first, &mut piece.bytes)
        })
    };
    let pieces = Pieces::Independent { output: CIPHERTEXT, worker: Box::new(worker) };
    Ok(Job { header: head, cut: PLAINTEXT, pieces })
}

/// Begins to decrypt a stream, and takes the message's header from `reader`.
///
/// # Errors
/// [`Error::Committed`] and [`Error::Truncated`].
pub fn open(features: Features, reader: &mut impl Read, key: &[u8], context: &[u8]) -> Result<Job, Error> {
    let mut header = [0; HEADER];
    read_header(reader, &mut header)?;
    let message = Arc::new(Message::with_header(features, key, &header, context)?);
    let worker = move || -> Worker {
        let message = Arc::clone(&message);
        Box::new(move |piece| {
            let first = piece.index * PIECE_CHUNKS as u64;
            if piece.last {
                return message.open(first, &mut piece.bytes);
            }
            message.open_slots(first, &mut piece.bytes)?;
            gather(&mut piece.bytes);
            Ok(())
        })
    };
    let pieces = Pieces::Independent { output: PLAINTEXT, worker: Box::new(worker) };
    Ok(Job { header: Vec::new(), cut: CIPHERTEXT, pieces })
}

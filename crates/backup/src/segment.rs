//! One segment: sealing it in its buffer, and the record that lets an interrupted backup go on.
//!
//! A segment is a message of [`millstream_files::chunked`] under the backup's data key. Its context is the ASCII text
//! `millstream-backup-segment-v1`, the backup's identifier, and the segment's number in 8 bytes, big-endian.
//!
//! A record is such a message as well, with `record` in place of `segment` in its context. Its plaintext has 88 bytes: the segment's salt (24), the
//! SHA-256 of the object (32), a fingerprint of the plaintext (16), and the lengths of the plaintext and of the object (8 each, big-endian).
//! The fingerprint is POLYVAL under a key that the segment's salt and the data key make. It is never seen outside the sealed record, so
//! nobody can aim at a collision.
//!
//! Ref. RFC 8452 §3 (POLYVAL).

use std::io::{self, Read};

use millstream_cpu::Features;
use millstream_engines::gcm::Polyval;
use millstream_engines::hash::{Hash, Hasher};
use millstream_files::chunked::{CHUNK, HEADER, Message, SALT, SEALED_CHUNK, sealed_len};
use millstream_files::envelope::DataKey;
use zeroize::Zeroize;

use crate::error::Error;
use crate::manifest::{Entry, Id, Keys};

/// The chunks that are hashed, sealed and hashed again while they are in the cache.
const BATCH: usize = 8;

/// The length of a record's plaintext.
const RECORD: usize = SALT + 32 + 16 + 8 + 8;

/// The plaintext of a segment, in a buffer that has room for its header and tags. Plaintext that is not sealed is wiped when the buffer is
/// dropped or filled again.
#[derive(Default)]
pub struct Filled {
    /// The buffer. What is behind the segment is of no meaning.
    pub bytes: Vec<u8>,
    /// The bytes of plaintext.
    pub plain: usize,
    /// True while there is plaintext in the buffer.
    is_open: bool,
}

impl Filled {
    /// Returns a buffer with nothing in it that has to be kept secret.
    pub(crate) fn over(bytes: Vec<u8>) -> Self {
        Filled { bytes, plain: 0, is_open: false }
    }

    /// Takes the buffer of a segment that was sealed.
    pub(crate) fn into_sealed(mut self) -> Vec<u8> {
        debug_assert!(!self.is_open);
        std::mem::take(&mut self.bytes)
    }

    /// Fills the buffer from a stream, each chunk at its place. It is full with `most` bytes of plaintext, and the stream has ended when it is not.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn read(&mut self, reader: &mut impl Read, most: usize) -> io::Result<()> {
        let was_open = std::mem::replace(&mut self.is_open, true);
        self.bytes.resize(sealed_len(most as u64) as usize, 0);
        self.plain = 0;
        while self.plain < most {
            let at = HEADER + self.plain / CHUNK * SEALED_CHUNK + self.plain % CHUNK;
            let room = (CHUNK - self.plain % CHUNK).min(most - self.plain);
            match reader.read(&mut self.bytes[at..at + room]) {
                Ok(0) => break,
                Ok(read) => self.plain += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if was_open {
            // Only what is sealed next is written over.
            let end = sealed_len(self.plain as u64) as usize;
            self.bytes[end..].zeroize();
        }
        Ok(())
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.bytes[HEADER..sealed_len(self.plain as u64) as usize]
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        if self.is_open {
            self.bytes.zeroize();
        }
    }
}

/// The record of a segment that is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The line of the index.
    pub entry: Entry,
    /// The fingerprint of the plaintext.
    fingerprint: [u8; 16],
    plain: u64,
}

impl Record {
    /// Returns true when a buffer holds the plaintext of this segment.
    pub(crate) fn is_of(&self, features: Features, keys: &Keys, filled: &mut Filled) -> bool {
        if filled.plain as u64 != self.plain {
            return false;
        }
        let mut hash = Polyval::new(features, &keys.fingerprint(&self.entry.salt));
        filled.slots().chunks(SEALED_CHUNK).for_each(|slot| hash.absorb(&slot[..slot.len() - 16]));
        hash.value() == self.fingerprint
    }

    /// Encodes and seals the record.
    pub(crate) fn seal(
        &self,
        features: Features,
        key: &DataKey,
        id: &Id,
        number: u64,
    ) -> Result<Vec<u8>, Error> {
        let mut plain = [
            &self.entry.salt[..],
            &self.entry.sha256,
            &self.fingerprint,
            &self.plain.to_be_bytes(),
            &self.entry.sealed_bytes.to_be_bytes(),
        ]
        .concat();
        let message = Message::new(features, &**key, &context(b"record", id, number))?;
        message.seal(0, &mut plain)?;
        Ok([&message.header()[..], &plain].concat())
    }

    /// Opens a record. Returns none for one that is not of this backup and number.
    pub(crate) fn open(
        features: Features,
        key: &DataKey,
        id: &Id,
        number: u64,
        sealed: &[u8],
    ) -> Option<Self> {
        let (header, chunks) = sealed.split_first_chunk()?;
        let message = Message::with_header(features, &**key, header, &context(b"record", id, number)).ok()?;
        let mut plain = chunks.to_vec();
        message.open(0, &mut plain).ok()?;
        Record::parse(plain.as_slice().try_into().ok()?)
    }

    fn parse(plain: &[u8; RECORD]) -> Option<Self> {
        let (salt, rest) = plain.split_first_chunk()?;
        let (sha256, rest) = rest.split_first_chunk()?;
        let (fingerprint, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let sealed_bytes = u64::from_be_bytes(*rest.first_chunk()?);
        let entry = Entry { salt: *salt, sealed_bytes, sha256: *sha256 };
        Some(Record { entry, fingerprint: *fingerprint, plain: u64::from_be_bytes(*length) })
    }
}

/// Returns the context of a segment's message, or of its record's.
fn context(kind: &[u8], id: &Id, number: u64) -> Vec<u8> {
    [b"millstream-backup-", kind, b"-v1", id, &number.to_be_bytes()[..]].concat()
}

/// Returns the context of a segment.
pub fn segment_context(id: &Id, number: u64) -> Vec<u8> {
    context(b"segment", id, number)
}

/// Seals a segment in its buffer, under a new salt. The object is the first [`Entry::sealed_bytes`] bytes of the buffer then.
pub(crate) fn seal(
    features: Features,
    key: &DataKey,
    keys: &Keys,
    (id, number): (&Id, u64),
    filled: &mut Filled,
) -> Result<Record, Error> {
    let message = Message::new(features, &**key, &segment_context(id, number))?;
    let (salt, header) = (message.salt(), message.header());
    let mut fingerprint = Polyval::new(features, &keys.fingerprint(&salt));
    let mut sha256 = Hasher::new(features, Hash::Sha256);
    filled.bytes[..HEADER].copy_from_slice(&header);
    sha256.update(&header);
    for (batch, slots) in filled.slots().chunks_mut(BATCH * SEALED_CHUNK).enumerate() {
        slots.chunks(SEALED_CHUNK).for_each(|slot| fingerprint.absorb(&slot[..slot.len() - 16]));
        message.seal_slots((batch * BATCH) as u64, slots)?;
        sha256.update(slots);
    }
    filled.is_open = false;
    let mut sum = [0; 32];
    sum.copy_from_slice(&sha256.finish());
    let plain = filled.plain as u64;
    let entry = Entry { salt, sealed_bytes: sealed_len(plain), sha256: sum };
    Ok(Record { entry, fingerprint: fingerprint.value(), plain })
}

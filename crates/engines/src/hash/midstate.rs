//! The partial hash: a message left off at any byte, as bytes that can be stored and taken up
//! again, by another kernel and on another processor.
//!
//! | bytes | contents |
//! | --- | --- |
//! | 1 | version: 1 |
//! | 1 | hash: 1 MD5, 2 SHA-1, 3 SHA-224, 4 SHA-256, 5 SHA-384, 6 SHA-512, 7 SHA-512/256 |
//! | 1 | kind: 0 a hash, 1 an HMAC, 2 an HMAC without its key |
//! | 5 | zero |
//! | 8 | bytes taken in so far, little-endian; an HMAC's begin with the block of its key |
//! | 16, 20, 32 or 64 | chaining value, its words in the byte order of the digest |
//! | the same | HMAC only: the chaining value of the outer hash after the block of its key |
//! | count modulo the block | the last bytes taken in, which wait for the rest of their block |
//!
//! A saved mid-state is as secret as the hashed data. The mid-state of an HMAC, with its key or without, is as good as
//! the key. The AEADs and CMAC save theirs in forms of their own, which their `import` takes.

use std::fmt;
use std::ops::Deref;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::chain::{Chain, Chaining};
use super::family::Hash;
use super::stream::Stream;
use crate::Error;

const VERSION: u8 = 1;
const HEADER: usize = 16;
/// The longest mid-state: an HMAC-SHA-512 with all but one byte of a block.
const MAX: usize = HEADER + 2 * 64 + 127;

/// The kind of a mid-state: a hash, an HMAC, or an HMAC's message alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Hash = 0,
    Hmac = 1,
    /// The message of an HMAC, to be taken up under its key.
    Message = 2,
}

/// A message left off at some byte: `&mid[..]` are the bytes to store.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct MidState {
    bytes: [u8; MAX],
    len: usize,
}

impl MidState {
    /// Returns an empty mid-state, which [`MidState::push`] fills.
    pub(crate) const fn empty() -> Self {
        MidState { bytes: [0; MAX], len: 0 }
    }

    /// Saves the state of `stream`, with the outer chaining value if an HMAC's is saved too.
    pub(crate) fn save<S: Chaining, const BLOCK: usize>(
        hash: Hash,
        kind: Kind,
        stream: &Stream<S, BLOCK>,
        outer: Option<&S>,
    ) -> Self {
        let mut saved = MidState::empty();
        saved.push(&[VERSION, hash.code(), kind as u8, 0, 0, 0, 0, 0]);
        saved.push(&stream.count.to_le_bytes());
        for state in [Some(&stream.chain.state), outer].into_iter().flatten() {
            let mut words = [0; 64];
            state.write(&mut words[..S::LEN]);
            saved.push(&words[..S::LEN]);
            words.zeroize();
        }
        saved.push(stream.waiting());
        saved
    }

    /// Adds bytes. There may be no more in all than the longest state has.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// Returns the stream, and the outer chaining value of an HMAC, that `bytes` describe. `chain` provides the kernel.
///
/// # Errors
/// [`Error::MidState`] when they are of another version, hash or kind, of the wrong length, or of
/// a message longer than the hash allows.
pub(crate) fn load<S: Chaining, const BLOCK: usize>(
    hash: Hash,
    kind: Kind,
    chain: Chain<S, BLOCK>,
    bytes: &[u8],
) -> Result<(Stream<S, BLOCK>, Option<S>), Error> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Error::MidState)?;
    let (count, rest) = rest.split_first_chunk().ok_or(Error::MidState)?;
    let count = u64::from_le_bytes(*count);
    let waiting = (count % BLOCK as u64) as usize;
    let states = if kind == Kind::Hmac { 2 } else { 1 };
    let fits = *header == [VERSION, hash.code(), kind as u8, 0, 0, 0, 0, 0]
        && rest.len() == states * S::LEN + waiting
        && count <= hash.max_bytes()
        && (kind == Kind::Hash || count >= BLOCK as u64);
    if !fits {
        return Err(Error::MidState);
    }
    let (states, waiting) = rest.split_at(states * S::LEN);
    let (inner, outer) = states.split_at(S::LEN);
    let stream = Stream::resume(Chain { kernel: chain.kernel, state: S::read(inner) }, count, waiting);
    Ok((stream, (kind == Kind::Hmac).then(|| S::read(outer))))
}

/// The part of a saved state that is not read yet.
pub(crate) struct Saved<'a>(pub(crate) &'a [u8]);

impl Saved<'_> {
    /// The next bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Error::MidState)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Deref for MidState {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl AsRef<[u8]> for MidState {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Shows the length and not the contents.
impl fmt::Debug for MidState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MidState of {} bytes", self.len)
    }
}

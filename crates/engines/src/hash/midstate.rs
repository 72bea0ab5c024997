//! The partial hash: a message left off at any byte, as bytes that can be stored and taken up
//! again, by another kernel and on another processor.
//!
//! | bytes | contents |
//! | --- | --- |
//! | 1 | version: 1 |
//! | 1 | hash: 1 MD5, 2 SHA-1, 3 SHA-224, 4 SHA-256, 5 SHA-384, 6 SHA-512, 7 SHA-512/256, 8 to 11 SHA3-224 to SHA3-512 |
//! | 1 | kind: 0 a hash, 1 an HMAC, 2 an HMAC without its key |
//! | 5 | zero |
//! | 8 | bytes taken in so far, little-endian; an HMAC's begin with the block of its key |
//! | 16, 20, 32, 64 or 200 | chaining value, its words in the byte order of the digest |
//! | the same | HMAC only: the chaining value of the outer hash after the block of its key |
//! | count modulo the block | the last bytes taken in, which wait for the rest of their block; not of SHA-3 |
//!
//! A sponge's chaining value has those bytes in it, so a mid-state of SHA-3 is no longer than that of other hashes may be.
//!
//! A saved mid-state is as secret as the hashed data. The mid-state of an HMAC, with its key or without, is as good as
//! the key. The AEADs and CMAC save theirs in forms of their own, which their `import` takes.

use std::fmt;
use std::ops::Deref;
use std::slice::from_mut;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::chain::{Chain, Chaining, wipe};
use super::family::Hash;
use super::stream::Stream;
use crate::Error;

const VERSION: u8 = 1;
const HEADER: usize = 16;
/// The longest chaining value.
const MAX_STATE: usize = 200;
/// The longest mid-state: an HMAC over SHA-3.
const MAX: usize = HEADER + 2 * MAX_STATE;

/// The kind of a mid-state: a hash, an HMAC, or an HMAC's message alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Hash = 0,
    Hmac = 1,
    /// The message of an HMAC, to be taken up under its key.
    Message = 2,
}

/// A message left off at some byte: `&mid[..]` are the bytes to store.
#[derive(Clone)]
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
        let mut inner = stream.chain.state;
        if S::SPONGE {
            inner.mix(stream.waiting());
        }
        for state in [Some(&inner), outer].into_iter().flatten() {
            let mut words = [0; MAX_STATE];
            state.write(&mut words[..S::LEN]);
            saved.push(&words[..S::LEN]);
            wipe(from_mut(&mut words));
        }
        inner.zeroize();
        if !S::SPONGE {
            saved.push(stream.waiting());
        }
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
    // A sponge has them in its state. Zeros wait then, which add nothing when they are absorbed.
    let waiting = if S::SPONGE { 0 } else { (count % BLOCK as u64) as usize };
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

impl Zeroize for MidState {
    fn zeroize(&mut self) {
        wipe(from_mut(&mut self.bytes));
        self.len = 0;
    }
}

impl ZeroizeOnDrop for MidState {}

impl Drop for MidState {
    fn drop(&mut self) {
        self.zeroize();
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

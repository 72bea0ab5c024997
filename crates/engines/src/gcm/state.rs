//! One message through AES-GCM in pieces: the state that its bytes so far leave, without the key.
//!
//! Ref. NIST SP 800-38D §7.1 and §7.2.
//!
//! # Safety
//! Every unsafe call goes through the key's [`Bound`](crate::Bound) kernel.
#![allow(unsafe_code)]

use std::fmt;

use zeroize::optimization_barrier;

use super::{Gcm, MAX_AAD_BYTES, NAME, check_length, check_tag_length, increment, lengths, tags_match};
use crate::aead::{AeadState, Stream, TAG};
use crate::hash::{MidState, Saved};
use crate::modes::Direction;
use crate::{Error, InOut};

const BLOCK: usize = 16;

/// A message in pieces of any length, kept apart from its key: see [`AeadState`].
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::AeadState;
/// use millstream_engines::gcm::Gcm;
/// use millstream_engines::InOut;
///
/// let gcm = Gcm::new(Features::hardware(), &[7; 16])?;
/// let mut message = *b"in pieces of any length";
/// let (first, rest) = message.split_at_mut(5);
/// let mut state = gcm.begin(&[1; 12])?;
/// state.aad(&gcm, b"header")?;
/// state.encrypt(&gcm, InOut::in_place(first))?;
/// state.encrypt(&gcm, InOut::in_place(rest))?;
/// let tag = state.tag(&gcm);
/// # use millstream_engines::aead::Aead;
/// gcm.open(&[1; 12], b"header", InOut::in_place(&mut message), &tag)?;
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct State {
    /// The pre-counter block.
    j0: u128,
    /// GHASH of the whole blocks so far.
    hash: u128,
    /// The bytes of an unfinished block of associated data, then of ciphertext.
    held: [u8; BLOCK],
    /// The keystream for the unfinished block of data.
    pad: [u8; BLOCK],
    aad_bytes: u64,
    data_bytes: u64,
    direction: Option<Direction>,
}

impl State {
    /// Begins an empty message.
    #[inline]
    pub(super) fn new(j0: u128) -> Self {
        let (held, pad) = ([0; BLOCK], [0; BLOCK]);
        State { j0, hash: 0, held, pad, aad_bytes: 0, data_bytes: 0, direction: None }
    }

    /// The GHASH state after `bytes`, filled up with zeros to whole blocks.
    fn hashed(&self, gcm: &Gcm, bytes: &[u8]) -> u128 {
        // SAFETY: the kernel is bound.
        unsafe { (gcm.kernel.ops().ghash)(&gcm.key, self.hash, bytes) }
    }

    /// Returns the GHASH state after the held bytes of an unfinished block.
    fn flushed(&self, gcm: &Gcm, filled: usize) -> u128 {
        self.hashed(gcm, &self.held[..filled])
    }

    /// The counter block for the data's next byte.
    fn counter(&self) -> u128 {
        increment(self.j0, 1 + (self.data_bytes / BLOCK as u64) as u32)
    }

    fn pass(&mut self, gcm: &Gcm, direction: Direction, mut data: InOut<'_>) -> Result<(), Error> {
        if *self.direction.get_or_insert(direction) != direction {
            return Err(Error::Order { rule: "one message is either encrypted or decrypted" });
        }
        check_length(self.data_bytes.saturating_add(data.len() as u64))?;
        if self.data_bytes == 0 && !data.is_empty() {
            self.hash = self.flushed(gcm, (self.aad_bytes % BLOCK as u64) as usize);
        }
        let used = (self.data_bytes % BLOCK as u64) as usize;
        if used > 0 {
            let n = data.len().min(BLOCK - used);
            self.through_pad(gcm, direction, data.take(n));
        }
        let (blocks, tail) = data.split_blocks(BLOCK);
        if !blocks.is_empty() {
            let ops = gcm.kernel.ops();
            let crypt = if direction == Direction::Encrypt { ops.encrypt } else { ops.decrypt };
            let (counter, bytes) = (self.counter(), blocks.len() as u64);
            // SAFETY: the kernel is bound.
            self.hash = unsafe { crypt(&gcm.key, counter, self.hash, blocks) };
            self.data_bytes += bytes;
        }
        if !tail.is_empty() {
            self.pad = keystream(gcm, self.counter());
            self.through_pad(gcm, direction, tail);
        }
        Ok(())
    }

    /// Passes bytes that all belong to one unfinished block.
    fn through_pad(&mut self, gcm: &Gcm, direction: Direction, mut data: InOut<'_>) {
        let used = (self.data_bytes % BLOCK as u64) as usize;
        for i in 0..data.len() {
            let [byte] = data.load::<1>(i);
            let out = byte ^ self.pad[used + i];
            self.held[used + i] = if direction == Direction::Encrypt { out } else { byte };
            data.store(i, [out]);
        }
        self.data_bytes += data.len() as u64;
        if used + data.len() == BLOCK {
            self.hash = self.flushed(gcm, BLOCK);
        }
    }

    /// SP 800-38D §7.1 steps 4 to 6.
    fn finish(&self, gcm: &Gcm) -> u128 {
        let unfinished = if self.data_bytes > 0 { self.data_bytes } else { self.aad_bytes };
        let hash = self.flushed(gcm, (unfinished % BLOCK as u64) as usize);
        let lengths = lengths(self.aad_bytes, self.data_bytes).to_be_bytes();
        // SAFETY: the kernel is bound.
        let hash = unsafe { (gcm.kernel.ops().ghash)(&gcm.key, hash, &lengths) };
        hash ^ u128::from_be_bytes(keystream(gcm, self.j0))
    }
}

/// E(K, `counter`).
fn keystream(gcm: &Gcm, counter: u128) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    // SAFETY: the kernel is bound. Encrypted zeros are the keystream; the state is not wanted.
    unsafe { (gcm.kernel.ops().encrypt)(&gcm.key, counter, 0, InOut::in_place(&mut block)) };
    block
}

impl AeadState for State {
    type Key = Gcm;

    fn aad(&mut self, gcm: &Gcm, mut aad: &[u8]) -> Result<(), Error> {
        if self.direction.is_some() {
            return Err(Error::Order { rule: "associated data comes before data" });
        }
        let total = self.aad_bytes.saturating_add(aad.len() as u64);
        if total > MAX_AAD_BYTES {
            return Err(Error::DataLength {
                algorithm: NAME,
                given: total,
                takes: "at most 2^61 - 1 bytes of associated data",
            });
        }
        let used = (self.aad_bytes % BLOCK as u64) as usize;
        self.aad_bytes = total;
        if used > 0 {
            let (head, rest) = aad.split_at(aad.len().min(BLOCK - used));
            self.held[used..used + head.len()].copy_from_slice(head);
            if used + head.len() < BLOCK {
                return Ok(());
            }
            self.hash = self.flushed(gcm, BLOCK);
            aad = rest;
        }
        let (blocks, tail) = aad.split_at(aad.len() - aad.len() % BLOCK);
        self.hash = self.hashed(gcm, blocks);
        self.held[..tail.len()].copy_from_slice(tail);
        Ok(())
    }

    fn encrypt(&mut self, gcm: &Gcm, data: InOut<'_>) -> Result<(), Error> {
        self.pass(gcm, Direction::Encrypt, data)
    }

    fn decrypt_unverified(&mut self, gcm: &Gcm, data: InOut<'_>) -> Result<(), Error> {
        self.pass(gcm, Direction::Decrypt, data)
    }

    fn tag(&self, gcm: &Gcm) -> [u8; TAG] {
        self.finish(gcm).to_be_bytes()
    }

    /// Compares the tag in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs.
    fn verify(&self, gcm: &Gcm, tag: &[u8; TAG]) -> Result<(), Error> {
        self.verify_cut(gcm, tag, TAG)
    }

    fn export(&self) -> MidState {
        let direction = match self.direction {
            None => 0,
            Some(Direction::Encrypt) => 1,
            Some(Direction::Decrypt) => 2,
        };
        let mut saved = MidState::empty();
        saved.push(&[direction]);
        saved.push(&self.j0.to_be_bytes());
        saved.push(&self.hash.to_be_bytes());
        saved.push(&self.aad_bytes.to_le_bytes());
        saved.push(&self.data_bytes.to_le_bytes());
        saved.push(&self.held);
        saved.push(&self.pad);
        saved
    }

    fn import(_: &Gcm, saved: &[u8]) -> Result<Self, Error> {
        let mut saved = Saved(saved);
        let [direction] = saved.take()?;
        let direction = match direction {
            0 => None,
            1 => Some(Direction::Encrypt),
            2 => Some(Direction::Decrypt),
            _ => return Err(Error::MidState),
        };
        let state = State {
            direction,
            j0: u128::from_be_bytes(saved.take()?),
            hash: u128::from_be_bytes(saved.take()?),
            aad_bytes: u64::from_le_bytes(saved.take()?),
            data_bytes: u64::from_le_bytes(saved.take()?),
            held: saved.take()?,
            pad: saved.take()?,
        };
        let fits = state.aad_bytes <= MAX_AAD_BYTES
            && check_length(state.data_bytes).is_ok()
            && (direction.is_some() || state.data_bytes == 0);
        if fits && saved.is_empty() { Ok(state) } else { Err(Error::MidState) }
    }
}

impl State {
    /// Compares a tag that was cut to `tag_len` bytes, as for [`Gcm::open_cut`], in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; [`Error::TagLength`] when it is not `tag_len` bytes long, or that is
    /// no length of a tag.
    pub fn verify_cut(&self, gcm: &Gcm, tag: &[u8], tag_len: usize) -> Result<(), Error> {
        check_tag_length(tag, tag_len)?;
        if tags_match(self.finish(gcm), tag) { Ok(()) } else { Err(Error::Authentication) }
    }
}

impl Stream<'_, State> {
    /// Compares a tag that was cut, as [`State::verify_cut`] does.
    ///
    /// # Errors
    /// As [`State::verify_cut`].
    pub fn verify_cut(self, tag: &[u8], tag_len: usize) -> Result<(), Error> {
        self.state.verify_cut(self.key, tag, tag_len)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.hash = 0;
        (self.held, self.pad) = ([0; BLOCK], [0; BLOCK]);
        // The barrier keeps the stores above from being dropped as dead.
        optimization_barrier(self);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("algorithm", &NAME).finish_non_exhaustive()
    }
}

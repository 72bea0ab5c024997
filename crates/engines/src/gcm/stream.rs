//! One message through AES-GCM in pieces.
//!
//! Ref. NIST SP 800-38D §7.1 and §7.2.
//!
//! # Safety
//! Every unsafe call goes through the key's [`Bound`](crate::Bound) kernel.
#![allow(unsafe_code)]

use zeroize::Zeroize;

use super::{Gcm, MAX_AAD_BYTES, NAME, check_length, check_tag_length, increment, lengths, tags_match};
use crate::aead::{AeadStream, TAG};
use crate::modes::Direction;
use crate::{Error, InOut};

const BLOCK: usize = 16;

/// A message in pieces of any length.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::AeadStream;
/// use millstream_engines::gcm::Gcm;
/// use millstream_engines::InOut;
///
/// let gcm = Gcm::new(Features::hardware(), &[7; 16])?;
/// let mut message = *b"in pieces of any length";
/// let (first, rest) = message.split_at_mut(5);
/// let mut stream = gcm.stream(&[1; 12])?;
/// stream.aad(b"header")?;
/// stream.encrypt(InOut::in_place(first))?;
/// stream.encrypt(InOut::in_place(rest))?;
/// let tag = stream.tag();
/// # use millstream_engines::aead::Aead;
/// gcm.open(&[1; 12], b"header", InOut::in_place(&mut message), &tag)?;
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Stream<'k> {
    gcm: &'k Gcm,
    /// The pre-counter block.
    j0: u128,
    /// GHASH of the whole blocks so far.
    state: u128,
    /// The bytes of an unfinished block of associated data, then of ciphertext.
    held: [u8; BLOCK],
    /// The keystream for the unfinished block of data.
    pad: [u8; BLOCK],
    aad_bytes: u64,
    data_bytes: u64,
    direction: Option<Direction>,
}

impl<'k> Stream<'k> {
    pub(super) fn new(gcm: &'k Gcm, nonce: &[u8]) -> Result<Self, Error> {
        Ok(Stream {
            gcm,
            j0: gcm.pre_counter(nonce)?,
            state: 0,
            held: [0; BLOCK],
            pad: [0; BLOCK],
            aad_bytes: 0,
            data_bytes: 0,
            direction: None,
        })
    }

    fn absorb(&mut self, bytes: &[u8]) {
        // SAFETY: the kernel is bound.
        self.state = unsafe { (self.gcm.kernel.ops().ghash)(&self.gcm.key, self.state, bytes) };
    }

    /// Absorbs what is held of an unfinished block, filled up with zeros.
    fn flush(&mut self, filled: usize) {
        let held = self.held;
        self.absorb(&held[..filled]);
    }

    /// The counter block for the data's next byte.
    fn counter(&self) -> u128 {
        increment(self.j0, 1 + (self.data_bytes / BLOCK as u64) as u32)
    }

    /// E(K, `counter`).
    fn keystream(&self, counter: u128) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        // SAFETY: the kernel is bound. Encrypted zeros are the keystream; the state is not wanted.
        unsafe { (self.gcm.kernel.ops().encrypt)(&self.gcm.key, counter, 0, InOut::in_place(&mut block)) };
        block
    }

    fn pass(&mut self, direction: Direction, mut data: InOut<'_>) -> Result<(), Error> {
        if *self.direction.get_or_insert(direction) != direction {
            return Err(Error::Order { rule: "one message is either encrypted or decrypted" });
        }
        check_length(self.data_bytes.saturating_add(data.len() as u64))?;
        if self.data_bytes == 0 && !data.is_empty() {
            self.flush((self.aad_bytes % BLOCK as u64) as usize);
        }
        let used = (self.data_bytes % BLOCK as u64) as usize;
        if used > 0 {
            let n = data.len().min(BLOCK - used);
            self.through_pad(direction, data.take(n));
        }
        let (blocks, tail) = data.split_blocks(BLOCK);
        if !blocks.is_empty() {
            let ops = self.gcm.kernel.ops();
            let crypt = if direction == Direction::Encrypt { ops.encrypt } else { ops.decrypt };
            let (counter, bytes) = (self.counter(), blocks.len() as u64);
            // SAFETY: the kernel is bound.
            self.state = unsafe { crypt(&self.gcm.key, counter, self.state, blocks) };
            self.data_bytes += bytes;
        }
        if !tail.is_empty() {
            self.pad = self.keystream(self.counter());
            self.through_pad(direction, tail);
        }
        Ok(())
    }

    /// Passes bytes that all belong to one unfinished block.
    fn through_pad(&mut self, direction: Direction, mut data: InOut<'_>) {
        let used = (self.data_bytes % BLOCK as u64) as usize;
        for i in 0..data.len() {
            let [byte] = data.load::<1>(i);
            let out = byte ^ self.pad[used + i];
            self.held[used + i] = if direction == Direction::Encrypt { out } else { byte };
            data.store(i, [out]);
        }
        self.data_bytes += data.len() as u64;
        if used + data.len() == BLOCK {
            self.flush(BLOCK);
        }
    }

    /// SP 800-38D §7.1 steps 4 to 6.
    fn finish(&mut self) -> u128 {
        let unfinished = if self.data_bytes > 0 { self.data_bytes } else { self.aad_bytes };
        self.flush((unfinished % BLOCK as u64) as usize);
        self.absorb(&lengths(self.aad_bytes, self.data_bytes).to_be_bytes());
        self.state ^ u128::from_be_bytes(self.keystream(self.j0))
    }
}

impl AeadStream for Stream<'_> {
    fn aad(&mut self, mut aad: &[u8]) -> Result<(), Error> {
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
            self.flush(BLOCK);
            aad = rest;
        }
        let (blocks, tail) = aad.split_at(aad.len() - aad.len() % BLOCK);
        self.absorb(blocks);
        self.held[..tail.len()].copy_from_slice(tail);
        Ok(())
    }

    fn encrypt(&mut self, data: InOut<'_>) -> Result<(), Error> {
        self.pass(Direction::Encrypt, data)
    }

    fn decrypt_unverified(&mut self, data: InOut<'_>) -> Result<(), Error> {
        self.pass(Direction::Decrypt, data)
    }

    fn tag(mut self) -> [u8; TAG] {
        self.finish().to_be_bytes()
    }

    /// Compares the tag, which may be cut as for [`Aead::open`](crate::aead::Aead::open) of
    /// [`Gcm`], in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; [`Error::TagLength`].
    fn verify(mut self, tag: &[u8]) -> Result<(), Error> {
        check_tag_length(tag)?;
        if tags_match(self.finish(), tag) { Ok(()) } else { Err(Error::Authentication) }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        self.state.zeroize();
        self.held.zeroize();
        self.pad.zeroize();
    }
}

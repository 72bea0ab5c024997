//! One object in pieces of any length: the state that its bytes so far leave, without the key.
//!
//! Ref. RFC 8439 §2.8.

use std::fmt;

use zeroize::optimization_barrier;

use super::object::CHACHA_BLOCK;
use super::poly1305::{BLOCK, Poly1305};
use super::{ChaCha20Poly1305, NAME, Nonce, check_length, tags_match};
use crate::aead::{AeadState, TAG};
use crate::hash::{MidState, Saved};
use crate::{Error, InOut};

/// Pieces are encrypted and authenticated in parts that stay in the first-level cache.
const PART: usize = 16 * 1024;

/// A bound beyond any real associated data. A saved state with more is not valid.
const MOST_AAD: u64 = 1 << 62;

/// The kind of data that a stream took last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Aad,
    Encrypt,
    Decrypt,
}

/// One object in pieces of any length, kept apart from its key: see [`AeadState`].
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::AeadState;
/// use millstream_engines::{InOut, chacha20poly1305::ChaCha20Poly1305};
///
/// let key = ChaCha20Poly1305::new(Features::hardware(), &[7; 32])?;
/// let mut object = *b"in pieces of any length";
/// let mut state = key.begin(&[0; 12])?;
/// let (first, second) = object.split_at_mut(5);
/// state.encrypt(&key, InOut::in_place(first))?;
/// state.encrypt(&key, InOut::in_place(second))?;
/// let tag = state.tag(&key);
///
/// let mut state = key.begin(&[0; 12])?;
/// state.decrypt_unverified(&key, InOut::in_place(&mut object))?;
/// state.verify(&key, &tag)?;
/// assert_eq!(&object, b"in pieces of any length");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct State {
    nonce: Nonce,
    phase: Phase,
    aad_len: u64,
    data_len: u64,
    mac: Poly1305,
    /// Authenticated bytes that don't fill a block yet; their number is `aad_len` or `data_len`
    /// modulo 16.
    held: [u8; BLOCK],
    /// The keystream block that byte `data_len` falls into, unless it falls on its beginning.
    pad: [u8; CHACHA_BLOCK],
}

impl State {
    pub(super) fn new(key: &ChaCha20Poly1305, nonce: Nonce) -> Self {
        // RFC 8439 §2.6: the first half of block 0 is the one-time key.
        let mut pad = [0; CHACHA_BLOCK];
        key.keystream(&nonce, 0, InOut::in_place(&mut pad));
        let mac = Poly1305::new(pad.first_chunk().expect("a block is longer than the key"));
        State { nonce, phase: Phase::Aad, aad_len: 0, data_len: 0, mac, held: [0; BLOCK], pad }
    }

    /// Adds bytes to the MAC. `before` is the number of bytes that came before them in this
    /// section.
    fn absorb(&mut self, key: &ChaCha20Poly1305, before: u64, mut bytes: &[u8]) {
        let filled = (before % BLOCK as u64) as usize;
        if filled > 0 {
            let more = bytes.len().min(BLOCK - filled);
            self.held[filled..filled + more].copy_from_slice(&bytes[..more]);
            bytes = &bytes[more..];
            if filled + more < BLOCK {
                return;
            }
            self.mac.block(self.held);
        }
        let (whole, rest) = bytes.split_at(bytes.len() / BLOCK * BLOCK);
        key.authenticate(&mut self.mac, whole);
        self.held[..rest.len()].copy_from_slice(rest);
    }

    /// Encrypts or decrypts the next bytes.
    fn apply(&mut self, key: &ChaCha20Poly1305, mut data: InOut<'_>) {
        let offset = (self.data_len % CHACHA_BLOCK as u64) as usize;
        let mut block = self.data_len / CHACHA_BLOCK as u64;
        if offset > 0 {
            let n = data.len().min(CHACHA_BLOCK - offset);
            data.take(n).xor(&self.pad[offset..offset + n]);
            block += 1;
        }
        // The check of the length keeps block numbers within 32 bits.
        let counter = (block + 1) as u32;
        let (whole, mut tail) = data.split_blocks(CHACHA_BLOCK);
        let tail_counter = counter.wrapping_add((whole.len() / CHACHA_BLOCK) as u32);
        if !whole.is_empty() {
            key.keystream(&self.nonce, counter, whole);
        }
        if !tail.is_empty() {
            self.pad = [0; CHACHA_BLOCK];
            key.keystream(&self.nonce, tail_counter, InOut::in_place(&mut self.pad));
            tail.xor(&self.pad[..tail.len()]);
        }
    }

    fn data(&mut self, key: &ChaCha20Poly1305, phase: Phase, mut data: InOut<'_>) -> Result<(), Error> {
        if self.phase != Phase::Aad && self.phase != phase {
            return Err(Error::Order { rule: "a stream either encrypts or decrypts" });
        }
        check_length(self.data_len.saturating_add(data.len() as u64))?;
        if self.phase == Phase::Aad {
            self.mac.padded(&self.held[..(self.aad_len % BLOCK as u64) as usize]);
            self.phase = phase;
        }
        while !data.is_empty() {
            let n = data.len().min(PART);
            let mut part = data.take(n);
            if phase == Phase::Decrypt {
                self.absorb(key, self.data_len, part.input());
            }
            self.apply(key, part.reborrow());
            if phase == Phase::Encrypt {
                self.absorb(key, self.data_len, part.output());
            }
            self.data_len += n as u64;
        }
        Ok(())
    }
}

impl AeadState for State {
    type Key = ChaCha20Poly1305;

    fn aad(&mut self, key: &ChaCha20Poly1305, aad: &[u8]) -> Result<(), Error> {
        if self.phase != Phase::Aad {
            return Err(Error::Order { rule: "associated data comes before data" });
        }
        self.absorb(key, self.aad_len, aad);
        self.aad_len += aad.len() as u64;
        Ok(())
    }

    fn encrypt(&mut self, key: &ChaCha20Poly1305, data: InOut<'_>) -> Result<(), Error> {
        self.data(key, Phase::Encrypt, data)
    }

    fn decrypt_unverified(&mut self, key: &ChaCha20Poly1305, data: InOut<'_>) -> Result<(), Error> {
        self.data(key, Phase::Decrypt, data)
    }

    fn tag(&self, _: &ChaCha20Poly1305) -> [u8; TAG] {
        let len = if self.phase == Phase::Aad { self.aad_len } else { self.data_len };
        let mut mac = self.mac.copy();
        mac.padded(&self.held[..(len % BLOCK as u64) as usize]);
        mac.lengths(self.aad_len, self.data_len);
        mac.tag()
    }

    fn verify(&self, key: &ChaCha20Poly1305, tag: &[u8; TAG]) -> Result<(), Error> {
        if tags_match(&self.tag(key), tag) { Ok(()) } else { Err(Error::Authentication) }
    }

    /// Leaves out the parts that `import` makes anew from key and nonce.
    fn export(&self) -> MidState {
        let phase = match self.phase {
            Phase::Aad => 0,
            Phase::Encrypt => 1,
            Phase::Decrypt => 2,
        };
        let mut saved = MidState::empty();
        saved.push(&[phase]);
        self.nonce.iter().for_each(|word| saved.push(&word.to_le_bytes()));
        saved.push(&self.aad_len.to_le_bytes());
        saved.push(&self.data_len.to_le_bytes());
        self.mac.h.iter().for_each(|limb| saved.push(&limb.to_le_bytes()));
        saved.push(&self.held);
        saved
    }

    fn import(key: &ChaCha20Poly1305, saved: &[u8]) -> Result<Self, Error> {
        let mut saved = Saved(saved);
        let [phase] = saved.take()?;
        let mut words = [0; 3];
        for word in &mut words {
            *word = u32::from_le_bytes(saved.take()?);
        }
        let mut state = State::new(key, words);
        state.phase = match phase {
            0 => Phase::Aad,
            1 => Phase::Encrypt,
            2 => Phase::Decrypt,
            _ => return Err(Error::MidState),
        };
        state.aad_len = u64::from_le_bytes(saved.take()?);
        state.data_len = u64::from_le_bytes(saved.take()?);
        for limb in &mut state.mac.h {
            *limb = u64::from_le_bytes(saved.take()?);
        }
        state.held = saved.take()?;
        let fits = state.mac.h[2] < 8
            && state.aad_len <= MOST_AAD
            && check_length(state.data_len).is_ok()
            && (state.phase != Phase::Aad || state.data_len == 0);
        if !fits || !saved.is_empty() {
            return Err(Error::MidState);
        }
        if !state.data_len.is_multiple_of(CHACHA_BLOCK as u64) {
            let counter = (state.data_len / CHACHA_BLOCK as u64 + 1) as u32;
            state.pad = [0; CHACHA_BLOCK];
            key.keystream(&state.nonce, counter, InOut::in_place(&mut state.pad));
        }
        Ok(state)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        (self.pad, self.held) = ([0; CHACHA_BLOCK], [0; BLOCK]);
        // The barrier keeps the stores above from being dropped as dead.
        optimization_barrier(self);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("algorithm", &NAME).finish_non_exhaustive()
    }
}

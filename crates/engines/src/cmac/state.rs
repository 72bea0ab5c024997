//! One message in pieces: the state that its bytes so far leave, without the key.
//!
//! Ref. NIST SP 800-38B §6.2.

use std::fmt;

use zeroize::optimization_barrier;

use super::{Key, compare};
use crate::Error;
use crate::hash::MidState;

/// A message to be authenticated in pieces of any length, kept apart from its key. Each call takes
/// the same key; with another key the result is meaningless. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aes::Cmac;
///
/// let key = Cmac::new(Features::hardware(), &[7; 16])?;
/// let mut state = key.begin();
/// state.update(&key, b"in one ");
/// let mut other = state.clone();
/// state.update(&key, b"piece");
/// other.update(&key, b"way or another");
/// assert_eq!(state.tag(&key), key.mac(b"in one piece"));
/// assert_eq!(other.tag(&key), key.mac(b"in one way or another"));
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct State<const N: usize> {
    chain: [u8; N],
    /// The last bytes so far: at least one once there were any, because the last block differs.
    held: [u8; N],
    filled: usize,
}

impl<const N: usize> State<N> {
    /// The empty message.
    pub const fn new() -> Self {
        State { chain: [0; N], held: [0; N], filled: 0 }
    }

    /// Adds the next piece.
    #[inline]
    pub fn update<K: Key<N>>(&mut self, key: &K, mut piece: &[u8]) {
        if self.filled + piece.len() > N {
            if self.filled > 0 {
                let (head, tail) = piece.split_at(N - self.filled);
                self.held[self.filled..].copy_from_slice(head);
                key.absorb(&mut self.chain, &[], &self.held);
                self.filled = 0;
                piece = tail;
            }
            let (blocks, rest) = piece.split_at((piece.len() - 1) / N * N);
            if let Some((blocks, last)) = blocks.split_last_chunk() {
                key.absorb(&mut self.chain, blocks, last);
            }
            piece = rest;
        }
        self.held[self.filled..self.filled + piece.len()].copy_from_slice(piece);
        self.filled += piece.len();
    }

    /// Returns the tag over all pieces so far. A shorter tag is the first bytes of it.
    #[inline]
    pub fn tag<K: Key<N>>(&self, key: &K) -> [u8; N] {
        let mut chain = self.chain;
        key.absorb(&mut chain, &[], &key.last_block(&self.held[..self.filled]));
        chain
    }

    /// Compares the tag, or as much of it as is given, in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; [`Error::TagLength`] when `tag` is shorter than
    /// [`MIN_TAG`](super::MIN_TAG) or longer than a block.
    pub fn verify<K: Key<N>>(&self, key: &K, tag: &[u8]) -> Result<(), Error> {
        compare(K::NAME, &self.tag(key), tag)
    }

    /// Returns the state in bytes to store. Somebody who can change them gets blocks encrypted
    /// under the key.
    pub fn export(&self) -> MidState {
        let mut saved = MidState::empty();
        saved.push(&self.chain);
        saved.push(&self.held[..self.filled]);
        saved
    }

    /// Takes up a message that was left off under the same key.
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` can't be what [`State::export`] gave.
    pub fn import(saved: &[u8]) -> Result<Self, Error> {
        let (chain, waiting) = saved.split_first_chunk().ok_or(Error::MidState)?;
        let mut state = State { chain: *chain, held: [0; N], filled: waiting.len() };
        let held = state.held.get_mut(..waiting.len()).ok_or(Error::MidState)?;
        held.copy_from_slice(waiting);
        Ok(state)
    }
}

impl<const N: usize> Default for State<N> {
    fn default() -> Self {
        State::new()
    }
}

impl<const N: usize> Drop for State<N> {
    #[inline]
    fn drop(&mut self) {
        (self.chain, self.held) = ([0; N], [0; N]);
        // Keeps the stores above from being dropped as dead.
        optimization_barrier(self);
    }
}

impl<const N: usize> fmt::Debug for State<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("algorithm", &"cmac").finish_non_exhaustive()
    }
}

/// A message in pieces of any length, with its key.
pub struct Stream<'k, K: Key<N>, const N: usize> {
    key: &'k K,
    state: State<N>,
}

impl<'k, K: Key<N>, const N: usize> Stream<'k, K, N> {
    pub(crate) fn new(key: &'k K) -> Self {
        Stream { key, state: State::new() }
    }

    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.state.update(self.key, piece);
    }

    /// The tag.
    pub fn finish(self) -> [u8; N] {
        self.state.tag(self.key)
    }

    /// Compares the tag, or as much of it as is given, in constant time.
    ///
    /// # Errors
    /// As for [`State::verify`].
    pub fn verify(self, tag: &[u8]) -> Result<(), Error> {
        self.state.verify(self.key, tag)
    }
}

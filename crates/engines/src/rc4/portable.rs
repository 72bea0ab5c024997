//! RC4 on any processor.
//!
//! Ref. B. Schneier, "Applied Cryptography", §17.1.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::InOut;

/// The permutation and the two indices. The permutation is in words, because processors forward a
/// narrow store to a load of another width late or not at all.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct State {
    s: [u32; 256],
    i: u8,
    j: u8,
}

impl State {
    /// The key schedule; `key` is not empty.
    pub(super) fn new(key: &[u8]) -> Self {
        let mut s: [u32; 256] = std::array::from_fn(|i| i as u32);
        let mut j = 0u8;
        let mut key = key.iter().cycle();
        for i in 0..256 {
            j = j.wrapping_add(s[i] as u8).wrapping_add(*key.next().expect("a key that is not empty"));
            s.swap(i, j as usize);
        }
        State { s, i: 0, j: 0 }
    }

    /// Reads the state from bytes: S, then the two indices.
    pub(super) fn import(state: &[u8; 258]) -> Self {
        State { s: std::array::from_fn(|i| u32::from(state[i])), i: state[256], j: state[257] }
    }

    /// Returns the state's bytes.
    pub(super) fn export(&self) -> [u8; 258] {
        let mut state = [0; 258];
        for (byte, word) in state.iter_mut().zip(&self.s) {
            *byte = *word as u8;
        }
        state[256..].copy_from_slice(&[self.i, self.j]);
        state
    }

    /// Returns the next `N` bytes of the keystream, the first at the bottom.
    ///
    /// `S[i + 1]` is read before the exchange of `S[i]` and `S[j]` is written, and corrected if
    /// `j = i + 1`, so the next `j` waits for no store.
    #[inline(always)]
    fn next<const N: usize>(&mut self) -> u64 {
        let (mut i, mut j) = (self.i.wrapping_add(1), self.j);
        let mut x = self.s[i as usize];
        let mut out = 0;
        for k in 0..N {
            j = j.wrapping_add(x as u8);
            let y = self.s[j as usize];
            let next = i.wrapping_add(1);
            let ahead = self.s[next as usize];
            self.s[i as usize] = y;
            self.s[j as usize] = x;
            out |= u64::from(self.s[(x.wrapping_add(y) as u8) as usize]) << (8 * k);
            x = if j == next { x } else { ahead };
            i = next;
        }
        (self.i, self.j) = (i.wrapping_sub(1), j);
        out
    }
}

/// Adds the keystream to the data.
pub(super) fn apply(state: &mut State, data: InOut<'_>) {
    let (mut words, mut tail) = data.split_blocks(8);
    for at in (0..words.len()).step_by(8) {
        let pad = state.next::<8>();
        words.store(at, (u64::from_le_bytes(words.load(at)) ^ pad).to_le_bytes());
    }
    for at in 0..tail.len() {
        let [byte] = tail.load(at);
        tail.store(at, [byte ^ state.next::<1>() as u8]);
    }
}

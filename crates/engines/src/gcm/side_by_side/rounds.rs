//! The rounds of AES on the counter blocks of four messages, and GHASH of other texts between them.
//!
//! # Safety
//! As for [the folder](super).

use super::{Across, Group, MESSAGES, Texts};
use crate::gcm::blocks::Vector;
use crate::gcm::ghash::Sum;
use crate::gcm::vector::round_key;

impl<'k, V: Across, const EQUAL: bool, const ROUNDS: usize> Group<'k, V, EQUAL, ROUNDS> {
    /// Returns each message's part in the first round of AES.
    ///
    /// The first round works on every byte by itself and then mixes bytes by a linear map, so that what comes of the nonce and
    /// what comes of the counter add up. Messages of one key and the same counters share the latter:
    ///
    /// ```text
    /// round(nonce, counter) = (round(nonce, 0) + round(0, 0)) + round(0, counter)
    /// ```
    #[inline(always)]
    pub(super) unsafe fn nonces_in_first_round(&self) -> [V::One; MESSAGES] {
        let key = self.keys[0];
        let mut heads = self.nonces;
        // SAFETY: as the caller.
        unsafe {
            let (before, after) = (round_key::<V::One>(key, 0), round_key::<V::One>(key, 1));
            let neither = before.round(after);
            for m in 0..MESSAGES {
                heads[m] = heads[m].xor(before).round(V::one(0)).xor(neither);
            }
        }
        heads
    }

    /// The next `N` vectors of counter blocks of each message, after the first round of AES.
    #[inline(always)]
    pub(super) unsafe fn begin_states<const N: usize>(&mut self) -> [[V; N]; MESSAGES] {
        // SAFETY: as the caller.
        unsafe {
            let step = V::repeat(V::one(V::BLOCKS as u128)).reverse();
            let mut state = [[self.counters; N]; MESSAGES];
            for j in 0..N {
                if EQUAL {
                    let none = V::repeat(V::one(0));
                    let common = self.counters.xor(round_key::<V>(self.keys[0], 0)).round(none);
                    for m in 0..MESSAGES {
                        state[m][j] = common.xor(V::repeat(self.heads[m]));
                    }
                } else {
                    for m in 0..MESSAGES {
                        let nonce = V::repeat(self.nonces[m]);
                        state[m][j] = self.counters.xor3(nonce, round_key::<V>(self.key(m), 0));
                    }
                }
                self.counters = self.counters.add32(step);
            }
            if !EQUAL {
                self.round(&mut state, 1);
            }
            state
        }
    }

    /// All rounds of AES but the first and the last.
    #[inline(always)]
    pub(super) unsafe fn rounds<const N: usize>(&self, state: &mut [[V; N]; MESSAGES]) {
        for round in 2..ROUNDS {
            // SAFETY: as the caller.
            unsafe { self.round(state, round) }
        }
    }

    /// One middle round of AES on all states.
    #[inline(always)]
    unsafe fn round<const N: usize>(&self, state: &mut [[V; N]; MESSAGES], round: usize) {
        for m in 0..MESSAGES {
            // SAFETY: as the caller.
            let key = unsafe { round_key::<V>(self.key(m), round) };
            for j in 0..N {
                state[m][j] = state[m][j].round(key);
                state[m][j].pin();
            }
        }
    }

    /// Does the same as [`Group::rounds`], and between them GHASH of the texts of the step before, whose multiplications then
    /// wait for nothing.
    #[inline(always)]
    pub(super) unsafe fn rounds_beside(
        &self,
        state: &mut [[V; 2]; MESSAGES],
        texts: &Texts<V, 2>,
        powers: &[usize; MESSAGES],
        along: &mut [Sum<V>; MESSAGES],
    ) {
        // The rounds are a macro, because the compiler does not unroll a loop as long as this.
        macro_rules! rounds {
            ($($round:literal)*) => {$(
                if $round < ROUNDS {
                    self.round(state, $round);
                    if $round < 2 + 2 * MESSAGES {
                        self.add(texts, powers, $round - 2, along);
                        let sum = &mut along[($round - 2) % MESSAGES];
                        sum.low.pin();
                        sum.high.pin();
                    }
                }
            )*};
        }
        // SAFETY: as the caller.
        unsafe {
            rounds!(2 3 4 5 6 7 8 9 10 11 12 13);
        }
    }
}

//! Taking words that are like the one before.
//!
//! Words that follow each other mostly ask for the same: their first eight bytes are equal, and only places and lengths differ. What
//! has to be known of such a word before it is held is reckoned from these bytes once, and the words themselves are not taken apart.

use millstream_cwq::{ControlWord, Opcode};

use crate::cost::{Costs, cost, is_at_once, is_keyed_piece};
use crate::trace::About;
use crate::uses::STAGED;

/// The facts that words with the same first eight bytes have in common.
#[derive(Clone, Copy)]
pub(crate) struct Alike {
    shape: u64,
    /// The cost of a word without bytes, and of each byte.
    costs: (i64, i64),
    /// The same where the word is alone, if turns are bounded.
    alone: (i64, i64),
    /// True when the associated data are counted too.
    has_aad: bool,
    about: About,
}

impl Alike {
    /// Returns what words like this one have in common; none where each has to be looked at as a whole.
    pub(crate) fn of(word: &ControlWord, measured: Option<&Costs>) -> Option<Self> {
        let special = word.opcode == Opcode::Null as u8 || word.opcode == Opcode::Cancel as u8;
        if word.flags & STAGED != 0 || special || is_at_once(word) || is_keyed_piece(word) {
            return None;
        }
        // Costs are linear in the bytes, so two of them tell all.
        let of = |bytes: u32| {
            let word = ControlWord { source_len: bytes, aad_len: 0, ..*word };
            let alone = measured.map_or(0, |costs| costs.alone(&word, bytes.into()));
            (cost(&word, 0, u32::MAX).0, alone)
        };
        let (none, one) = (of(0), of(1));
        Some(Alike {
            shape: word.to_words()[0],
            costs: (none.0, one.0 - none.0),
            alone: (none.1, one.1 - none.1),
            has_aad: word.opcode == Opcode::Aead as u8,
            about: About::of(word, 0),
        })
    }

    /// Returns true when a word is like these.
    #[inline(always)]
    pub(crate) fn fits(&self, words: &[u64; ControlWord::WORDS]) -> bool {
        words[0] == self.shape
    }

    /// Returns the facts of a word for tracepoints.
    #[inline(always)]
    pub(crate) fn about(&self, words: &[u64; ControlWord::WORDS]) -> About {
        About { bytes: (words[2] >> 32) as u32, ..self.about }
    }

    /// Returns how many bytes a word is about, as [`cost`] does.
    #[inline(always)]
    pub(crate) fn bytes(&self, words: &[u64; ControlWord::WORDS], arena_len: u32) -> i64 {
        let len = |len: u64| i64::from((len as u32).min(arena_len));
        len(words[2] >> 32) + if self.has_aad { len(words[4]) } else { 0 }
    }

    /// Returns the cost of a word about so many bytes.
    #[inline(always)]
    pub(crate) fn cost(&self, bytes: i64) -> i64 {
        of(self.costs, bytes)
    }

    /// Returns the cost of a word about so many bytes if it is alone.
    #[inline(always)]
    pub(crate) fn alone(&self, bytes: i64) -> i64 {
        of(self.alone, bytes)
    }

    /// Returns the most bytes of a word that costs at most so much if it is alone; -1 where each costs more.
    #[inline(always)]
    pub(crate) fn longest(&self, cost: i64) -> i64 {
        let (none, each) = self.alone;
        if none > cost { -1 } else { (cost - none).checked_div(each).unwrap_or(i64::MAX) }
    }
}

/// Returns a cost: that of a word without bytes, and that of each byte.
#[inline(always)]
fn of((none, each): (i64, i64), bytes: i64) -> i64 {
    none + each * bytes
}

#[cfg(test)]
mod tests {
    use millstream_cwq::Algorithm;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The memo is no second table: for any word it says what the table says.
        #[test]
        fn words_that_are_alike_cost_what_the_table_says(
            opcode in 0_u8..20,
            algorithm in 0_usize..Algorithm::ALL.len(),
            hash in 0_usize..Algorithm::ALL.len(),
            flags in 0_u16..1 << 8,
            first in any::<[u32; 2]>(),
            next in any::<[u32; 2]>(),
            arena_len in any::<u32>(),
            alone in 1_u16..1000,
            most in any::<i64>(),
        ) {
            let (algorithm, hash) = (Algorithm::ALL[algorithm] as u8, Algorithm::ALL[hash] as u8);
            let [source_len, aad_len] = first;
            let word =
                ControlWord { opcode, algorithm, hash, flags, source_len, aad_len, ..ControlWord::EMPTY };
            let costs = Costs::all(alone);
            let Some(alike) = Alike::of(&word, Some(&costs)) else { return Ok(()) };
            let [source_len, aad_len] = next;
            let word = ControlWord { source_len, aad_len, ..word };
            let bytes = alike.bytes(&word.to_words(), arena_len);
            prop_assert_eq!((alike.cost(bytes), bytes), cost(&word, 0, arena_len));
            prop_assert_eq!(alike.alone(bytes), costs.alone(&word, bytes));
            prop_assert_eq!(bytes > alike.longest(most), costs.alone(&word, bytes) > most);
        }
    }
}

//! A word that an accelerator took from a queue and has not executed yet.

use millstream_cwq::ControlWord;

use crate::cost::outlasts_turns;
use crate::grant::Grant;
use crate::slab::Slab;

/// The most words that are executed together.
pub(crate) const MOST_HELD: usize = 512;

/// The accelerator's own copy of a word, read once.
#[derive(Clone, Copy)]
pub(crate) struct HeldWord {
    pub(crate) words: [u64; ControlWord::WORDS],
    /// The bytes that its gather list named when its cost was reckoned.
    pub(crate) gathered: u32,
    pub(crate) queue: u32,
    pub(crate) grant: u32,
    /// True once a client took the word back. On an [`Opcode::Cancel`](millstream_cwq::Opcode::Cancel) it says that the
    /// operation to cancel was found.
    pub(crate) cancelled: bool,
}

impl HeldWord {
    #[inline(always)]
    pub(crate) fn word(&self) -> ControlWord {
        ControlWord::from_words(self.words)
    }

    /// Returns true when another word is of the same grant and has the same first eight bytes.
    #[inline(always)]
    pub(crate) fn is_like(&self, other: &HeldWord) -> bool {
        self.words[0] == other.words[0] && self.grant == other.grant
    }

    /// Returns true for a word that takes longer than a turn by itself.
    #[inline]
    pub(crate) fn outlasts_turns(&self) -> bool {
        outlasts_turns(&self.word())
    }

    #[inline(always)]
    pub(crate) fn tag(&self) -> u64 {
        self.words[ControlWord::WORDS - 1]
    }

    /// Returns the word's grant, unless that was removed meanwhile.
    #[inline(always)]
    pub(crate) fn grant<'g, A>(&self, grants: &'g Slab<Grant<A>>) -> Option<&'g Grant<A>> {
        grants.at(self.grant as usize)
    }
}

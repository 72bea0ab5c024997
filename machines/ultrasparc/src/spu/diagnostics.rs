//! The diagnostic registers of the queue's unit: the last operation's keys, vectors, data and state.
//!
//! Ref. OpenSPARC T2, `asi_s.h`: their names and addresses. Their contents are ours, after the names: CR has the
//! control of the operation's first word, SD the last 64 bytes of its source, K the cipher key, IV the vector, AK the
//! authentication key, CD the last 64 bytes of a cipher's result, HD the state of a hash.

/// The number of registers from 0x100 on, of one word each.
const WORDS: usize = 32;
const CR: usize = 0;
const SD: usize = 2;
const K: usize = 10;
const IV: usize = 14;
const AK: usize = 16;
const CD: usize = 20;
const HD: usize = 28;
/// The words of RC4's state: 256 bytes, X and Y.
const RC4_WORDS: usize = 33;

/// The contents of the diagnostic registers.
#[derive(Clone)]
pub struct Latches {
    words: [u64; WORDS],
    rc4: [u64; RC4_WORDS],
}

impl Default for Latches {
    fn default() -> Self {
        Latches { words: [0; WORDS], rc4: [0; RC4_WORDS] }
    }
}

/// Puts bytes into words, as many as there is room for.
fn latch(words: &mut [u64], bytes: &[u8]) {
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_be_bytes(whole);
    }
}

/// The last 64 bytes.
fn tail(bytes: &[u8]) -> &[u8] {
    bytes.last_chunk::<64>().map_or(bytes, |tail| tail)
}

impl Latches {
    /// The register at an address of the ASI, if there is one.
    #[must_use]
    pub fn load(&self, address: u64) -> Option<u64> {
        let index = |base: u64| usize::try_from((address - base) / 8).ok();
        match address {
            _ if !address.is_multiple_of(8) => None,
            0x100..=0x1f8 => self.words.get(index(0x100)?).copied(),
            0x300..=0x400 => self.rc4.get(index(0x300)?).copied(),
            _ => None,
        }
    }

    pub(crate) fn control(&mut self, control: u64) {
        self.words[CR] = control;
    }

    pub(crate) fn data(&mut self, source: &[u8]) {
        latch(&mut self.words[SD..K], tail(source));
    }

    pub(crate) fn cipher(&mut self, key: &[u8], iv: &[u8]) {
        latch(&mut self.words[K..IV], key);
        latch(&mut self.words[IV..AK], iv);
    }

    pub(crate) fn made(&mut self, data: &[u8]) {
        latch(&mut self.words[CD..HD], tail(data));
    }

    pub(crate) fn hash(&mut self, key: &[u8], state: &[u8]) {
        latch(&mut self.words[AK..CD], key);
        latch(&mut self.words[HD..WORDS], state);
    }

    pub(crate) fn rc4(&mut self, state: &[u8]) {
        latch(&mut self.rc4, state);
    }
}

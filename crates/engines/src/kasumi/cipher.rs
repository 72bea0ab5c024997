//! The cipher over any form of FI, and the two modes over any form of the cipher.
//!
//! Both modes are chains in which each block waits for the one before, so the latency of a block
//! decides. Written as the standard draws it, a block is 24 evaluations of FI, of which two of
//! each round's three can run side by side. Two rounds taken together need only three pairs one
//! after the other: the first FI of the even round depends on the left half of the odd round's
//! output, which is known before the last FI of that round ends.
//!
//! Ref. TS 35.202 §4 (KASUMI), TS 35.201 §3 (f8) and §4 (f9).

use super::schedule::{Round, Schedule};
use crate::InOut;

/// FI (TS 35.202 §4.5), on two inputs at once.
pub(super) trait Fi: Copy {
    fn pair(self, x: [u16; 2], ki: [u16; 2]) -> [u16; 2];
}

/// KASUMI on one block.
pub(super) trait Cipher: Copy {
    fn block(self, schedule: &Schedule, x: u64) -> u64;
}

impl<F: Fi> Cipher for F {
    #[inline(always)]
    fn block(self, schedule: &Schedule, x: u64) -> u64 {
        let mut left = [(x >> 48) as u16, (x >> 32) as u16];
        let mut right = [(x >> 16) as u16, x as u16];
        for pair in schedule.rounds.as_chunks::<2>().0 {
            (left, right) = two_rounds(self, pair, left, right);
        }
        (left[0] as u64) << 48 | (left[1] as u64) << 32 | (right[0] as u64) << 16 | right[1] as u64
    }
}

/// Computes an odd round (FL, then FO) and the even one after it (FO, then FL).
#[inline(always)]
fn two_rounds<F: Fi>(f: F, rounds: &[Round; 2], left: [u16; 2], right: [u16; 2]) -> ([u16; 2], [u16; 2]) {
    let [odd, even] = rounds;
    let [a, b] = fl(odd, left);
    let [f1, f2] = f.pair([a ^ odd.ko[0], b ^ odd.ko[1]], [odd.ki[0], odd.ki[1]]);
    let p = f1 ^ b;
    let q = f2 ^ p;
    let a = right[0] ^ q;
    let [f3, g1] = f.pair([p ^ odd.ko[2], a ^ even.ko[0]], [odd.ki[2], even.ki[0]]);
    let b = right[1] ^ f3 ^ q;
    let p = g1 ^ b;
    let [g2, g3] = f.pair([b ^ even.ko[1], p ^ even.ko[2]], [even.ki[1], even.ki[2]]);
    let q = g2 ^ p;
    let [u, v] = fl(even, [q, g3 ^ q]);
    ([left[0] ^ u, left[1] ^ v], [a, b])
}

/// KASUMI backwards: a Feistel cipher with its rounds in the opposite order.
pub(super) fn inverse_block<F: Fi>(f: F, schedule: &Schedule, x: u64) -> u64 {
    let mut left = [(x >> 48) as u16, (x >> 32) as u16];
    let mut right = [(x >> 16) as u16, x as u16];
    for [odd, even] in schedule.rounds.as_chunks::<2>().0.iter().rev() {
        let [u, v] = fl(even, fo(f, even, right));
        left = [left[0] ^ u, left[1] ^ v];
        let [u, v] = fo(f, odd, fl(odd, left));
        right = [right[0] ^ u, right[1] ^ v];
    }
    (left[0] as u64) << 48 | (left[1] as u64) << 32 | (right[0] as u64) << 16 | right[1] as u64
}

/// FO, TS 35.202 §4.4.
fn fo<F: Fi>(f: F, round: &Round, [l, r]: [u16; 2]) -> [u16; 2] {
    let [f1, f2] = f.pair([l ^ round.ko[0], r ^ round.ko[1]], [round.ki[0], round.ki[1]]);
    let p = f1 ^ r;
    let q = f2 ^ p;
    let [f3, _] = f.pair([p ^ round.ko[2], 0], [round.ki[2], 0]);
    [q, f3 ^ q]
}

/// FL, TS 35.202 §4.3.
#[inline(always)]
fn fl(round: &Round, [l, r]: [u16; 2]) -> [u16; 2] {
    let r = r ^ (l & round.kl[0]).rotate_left(1);
    [l ^ (r | round.kl[1]).rotate_left(1), r]
}

/// The position in a keystream of f8 (TS 35.201 §3.4).
#[derive(Clone, Copy)]
pub struct Keystream {
    /// The enciphered first block A.
    pub(super) start: u64,
    /// BLKCNT, the number of the next block.
    pub(super) number: u64,
    /// The block before it, zero for the first.
    pub(super) last: u64,
}

impl Keystream {
    /// Takes the keystream's next block, which is the block cipher's output for
    /// [`Keystream::input`].
    #[inline(always)]
    pub fn advance(&mut self, block: u64) {
        self.last = block;
        self.number += 1;
    }

    /// Returns the block cipher's input for the next block.
    #[inline(always)]
    pub fn input(&self) -> u64 {
        self.start ^ self.number ^ self.last
    }
}

/// Adds the keystream of f8 to whole bytes.
#[inline(always)]
pub(super) fn f8<C: Cipher>(cipher: C, schedule: &Schedule, mut stream: Keystream, mut data: InOut<'_>) {
    while !data.is_empty() {
        let pad = cipher.block(schedule, stream.input());
        stream.advance(pad);
        let len = data.len().min(8);
        let mut part = data.take(len);
        if len == 8 {
            part.store(0, (u64::from_be_bytes(part.load(0)) ^ pad).to_be_bytes());
        } else {
            part.xor(&pad.to_be_bytes()[..len]);
        }
    }
}

/// The chain of f9 (TS 35.201 §4.4): A, and the sum B of all its values.
#[derive(Clone, Copy, Default)]
pub struct Sums {
    pub(super) a: u64,
    pub(super) b: u64,
}

/// Takes whole blocks of eight bytes into the chain.
#[inline(always)]
pub(super) fn f9<C: Cipher>(cipher: C, schedule: &Schedule, mut sums: Sums, blocks: &[u8]) -> Sums {
    for block in blocks.as_chunks::<8>().0 {
        sums.a = cipher.block(schedule, sums.a ^ u64::from_be_bytes(*block));
        sums.b ^= sums.a;
    }
    sums
}

//! Sponges of several tasks side by side, in as many lanes of Keccak as there are.
//!
//! Ref. FIPS 202 §4 and §6.

use std::ops::Range;

use millstream_engines::sha3::{Keccak, States};

/// The bits behind a message of SHAKE, and the first of the padding.
pub(crate) const SHAKE: u64 = 0x1f;

/// The last bit of the padding.
pub(crate) const LAST: u64 = 1 << 63;

/// States that are permuted together.
pub(crate) trait Permute {
    fn permute(&mut self, keccak: Keccak);
}

impl Permute for States<1> {
    fn permute(&mut self, keccak: Keccak) {
        keccak.permute_one(self);
    }
}

impl Permute for States<4> {
    fn permute(&mut self, keccak: Keccak) {
        keccak.permute_four(self);
    }
}

impl Permute for States<8> {
    fn permute(&mut self, keccak: Keccak) {
        keccak.permute_eight(self);
    }
}

/// Works `count` tasks off, in groups that fit the kernel: `$group` is called with a number of states and a range of tasks.
macro_rules! in_groups {
    ($keccak:expr, $count:expr, $group:ident($($argument:expr),*)) => {{
        let (width, count) = ($keccak.width(), $count);
        let mut at = 0;
        while at < count {
            let left = count - at;
            if left > 4 && width == 8 {
                $group::<8>($($argument,)* at..count.min(at + 8));
                at += 8;
            } else if left > 1 && width >= 4 {
                $group::<4>($($argument,)* at..count.min(at + 4));
                at += 4;
            } else {
                $group::<1>($($argument,)* at..at + 1);
                at += 1;
            }
        }
    }};
}
pub(crate) use in_groups;

/// The task of a lane. Lanes without one repeat the last.
#[inline(always)]
pub(crate) fn task(tasks: &Range<usize>, lane: usize) -> usize {
    (tasks.start + lane).min(tasks.end - 1)
}

/// Returns a word of the bytes, the least significant byte first.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[8 * at..8 * at + 8]);
    u64::from_le_bytes(word)
}

/// Copies the first `BYTES` bytes of each state, to `at`.
#[inline(always)]
pub(crate) fn squeeze<const L: usize, const BYTES: usize, const ROOM: usize>(
    states: &States<L>,
    out: &mut [[u8; ROOM]; L],
    at: usize,
) {
    for lane in 0..L {
        let out = out[lane][at..at + BYTES].as_chunks_mut::<8>().0;
        for i in 0..BYTES / 8 {
            out[i] = states.words[i][lane].to_le_bytes();
        }
    }
}

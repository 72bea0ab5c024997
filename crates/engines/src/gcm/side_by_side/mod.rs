//! Four AES-GCM messages side by side, written once for vectors of one, two and four blocks.
//!
//! Ref. NIST SP 800-38D §7.
//!
//! One short message waits for one latency after the other: the rounds of AES, the products of
//! GHASH, their reduction. Four messages fill each other's waiting. The blocks of which each
//! message has one (the pre-counter block, a block of associated data, the lengths, the reduction)
//! stand *across*: a block of each message in a vector. Its text stands *along*, successive blocks
//! a vector, so that messages may differ in length and vectors are loaded and stored whole.
//!
//! # Safety
//! The promises of `blocks.rs` hold here too: a [`Vector`] at hand is the witness for its
//! instructions. Pointers come from slices and [`InOut`](crate::InOut)s and stay within the lengths
//! beside them.
#![allow(unsafe_code)]

mod rounds;

use super::blocks::{BLOCK, Vector};
use super::ghash::{POLYNOMIAL, Powers, Sum};
use super::job::{Group as Jobs, LONGEST, MESSAGES, Tags};
use super::vector::round_key;
use super::{Key, POWERS, lengths};

/// The text between two reductions, in bytes: with a block before it and one after it, no more
/// blocks than a key has powers.
const CHUNK: usize = (POWERS - 4) * BLOCK;

/// Vectors that hold a block of several messages, one a place.
pub(super) trait Across: Vector {
    /// True if there are registers for the texts of one step until the rounds of the next.
    const WAITS: bool = false;

    /// The sums over the places of as many vectors as there are places, one a place.
    fn sums(vectors: &[Self]) -> Self;
}

/// The blocks of all messages, across.
#[inline(always)]
fn join<V: Across, const Q: usize>(blocks: [V::One; MESSAGES]) -> [V; Q] {
    let mut joined = [V::join(&blocks[..V::BLOCKS]); Q];
    for q in 1..Q {
        joined[q] = V::join(&blocks[q * V::BLOCKS..][..V::BLOCKS]);
    }
    joined
}

/// The state of a group at every step. If the messages are `EQUAL`, they have one key and as many
/// blocks of text.
struct Group<'k, V: Vector, const EQUAL: bool, const ROUNDS: usize> {
    keys: [&'k Key; MESSAGES],
    /// The nonces, followed by zeros, in memory's order.
    nonces: [V::One; MESSAGES],
    /// The part of the nonces in the first round of AES, if the messages are `EQUAL`: see [`Group::nonces_in_first_round`].
    heads: [V::One; MESSAGES],
    from: [*const u8; MESSAGES],
    to: [*mut u8; MESSAGES],
    /// Bytes of text that are left in this chunk.
    left: [usize; MESSAGES],
    /// Bytes of text beyond this chunk.
    beyond: [usize; MESSAGES],
    /// Blocks that follow the chunk's text up to the reduction.
    after: usize,
    /// The counters of the next vector of text, alone in their blocks, in memory's order.
    counters: V,
}

/// Encrypts or decrypts the texts of four messages whose keys have `ROUNDS` rounds, whose nonces
/// have twelve bytes, and whose texts have the same number of chunks. Returns the tags.
///
/// `Q` is the number of vectors that hold four blocks.
#[inline(always)]
pub(super) unsafe fn messages<
    V: Across,
    const OPEN: bool,
    const EQUAL: bool,
    const ROUNDS: usize,
    const Q: usize,
>(
    jobs: &mut Jobs<'_, '_>,
    before: &[u128; MESSAGES],
) -> Tags {
    // SAFETY: as the caller.
    unsafe {
        let none = V::one(0);
        let mut group = Group::<V, EQUAL, ROUNDS> {
            keys: [&jobs[0].key.key, &jobs[1].key.key, &jobs[2].key.key, &jobs[3].key.key],
            nonces: [none; MESSAGES],
            heads: [none; MESSAGES],
            from: [std::ptr::null(); MESSAGES],
            to: [std::ptr::null_mut(); MESSAGES],
            left: [0; MESSAGES],
            beyond: [0; MESSAGES],
            after: 0,
            // The first block of text has the counter 2.
            counters: V::indices().add32(V::repeat(V::one(2))).reverse(),
        };
        let (mut heads, mut ends) = ([none; MESSAGES], [none; MESSAGES]);
        for m in 0..MESSAGES {
            let job = &mut *jobs[m];
            debug_assert!(job.nonce.len() == 12 && job.data.len() <= LONGEST);
            group.nonces[m] = V::load_block(job.nonce.as_ptr(), 12);
            (group.from[m], group.to[m]) = (job.data.input_ptr(), job.data.output_ptr());
            let (_, last) = job.split_aad();
            heads[m] = V::load_block(last.as_ptr(), last.len()).reverse().xor(V::one(before[m]));
            group.beyond[m] = job.data.len();
            ends[m] = V::one(lengths(job.aad.len() as u64, group.beyond[m] as u64));
        }
        let masks = group.masks::<Q>();
        if EQUAL {
            group.heads = group.nonces_in_first_round();
        }
        group.next_chunk();
        // Associated data has a block of its own. The state after a chunk goes into the next chunk's first block.
        let mut sum = group.begin::<Q>(join::<V, Q>(heads), 1);
        let along = group.texts::<OPEN, Q>(&mut sum);
        let lowest = group.powers::<Q>([1; MESSAGES]);
        let ends = join::<V, Q>(ends);
        for q in 0..Q {
            sum[q] = sum[q].add(ends[q], lowest[q]);
        }
        let hashes = group.end_chunk::<Q>(sum, &along);
        let mut tags = [[0; BLOCK]; MESSAGES];
        for q in 0..Q {
            let to = tags[q * V::BLOCKS..].as_flattened_mut().as_mut_ptr();
            hashes[q].reverse().xor(masks[q]).store(to);
        }
        tags
    }
}

impl<'k, V: Across, const EQUAL: bool, const ROUNDS: usize> Group<'k, V, EQUAL, ROUNDS> {
    /// The key of a message.
    #[inline(always)]
    fn key(&self, m: usize) -> &'k Key {
        self.keys[if EQUAL { 0 } else { m }]
    }

    /// The power for the next block of text of a message: the blocks up to the reduction. The last one of the text may be short.
    #[inline(always)]
    fn power(&self, m: usize) -> usize {
        self.left[if EQUAL { 0 } else { m }].div_ceil(BLOCK) + self.after
    }

    /// Goes on with the next chunk, which the lengths follow if it is the last.
    #[inline(always)]
    fn next_chunk(&mut self) {
        for m in 0..MESSAGES {
            self.left[m] = self.beyond[m].min(CHUNK);
            self.beyond[m] -= self.left[m];
        }
        self.after = usize::from(self.beyond[0] == 0);
    }

    /// A power of each message's hash subkey, across.
    #[inline(always)]
    unsafe fn powers<const Q: usize>(&self, n: [usize; MESSAGES]) -> [Powers<V>; Q] {
        // SAFETY: as the caller.
        unsafe {
            if EQUAL {
                return [Powers::repeated(self.keys[0], n[0]); Q];
            }
            let (mut h, mut shifted) = ([V::one(0); MESSAGES], [V::one(0); MESSAGES]);
            for m in 0..MESSAGES {
                let powers = Powers::<V::One>::repeated(self.keys[m], n[m]);
                (h[m], shifted[m]) = (powers.h, powers.shifted);
            }
            let (h, shifted) = (join::<V, Q>(h), join::<V, Q>(shifted));
            let mut powers = [Powers { h: h[0], shifted: shifted[0] }; Q];
            for q in 1..Q {
                powers[q] = Powers { h: h[q], shifted: shifted[q] };
            }
            powers
        }
    }

    /// The encrypted pre-counter blocks, across, which cover the tags (§7.1 step 6). If the keys
    /// differ, joining the blocks before encryption does not pay.
    #[inline(always)]
    unsafe fn masks<const Q: usize>(&self) -> [V; Q] {
        // SAFETY: as the caller.
        unsafe {
            if EQUAL {
                let key = self.keys[0];
                let mut state = join::<V, Q>(self.nonces);
                self.encrypt::<V, Q>([key; Q], &mut state);
                state
            } else {
                let mut state = self.nonces;
                self.encrypt::<V::One, MESSAGES>(self.keys, &mut state);
                join::<V, Q>(state)
            }
        }
    }

    /// Turns nonces into encrypted pre-counter blocks.
    #[inline(always)]
    unsafe fn encrypt<W: Vector, const N: usize>(&self, keys: [&Key; N], state: &mut [W; N]) {
        // SAFETY: as the caller.
        unsafe {
            let one = W::repeat(W::one(1)).reverse();
            for i in 0..N {
                state[i] = state[i].xor3(one, round_key::<W>(keys[i], 0));
            }
            for round in 1..ROUNDS {
                for i in 0..N {
                    state[i] = state[i].round(round_key::<W>(keys[i], round));
                }
            }
            for i in 0..N {
                state[i] = state[i].last_round(round_key::<W>(keys[i], ROUNDS));
            }
        }
    }

    /// Begins a chunk's sum with the blocks before its text. `apart` is 1 if they come before the
    /// text in GHASH, 0 if they are added to its first blocks.
    #[inline(always)]
    unsafe fn begin<const Q: usize>(&self, before: [V; Q], apart: usize) -> [Sum<V>; Q] {
        // SAFETY: as the caller.
        unsafe {
            let mut n = [0; MESSAGES];
            for m in 0..MESSAGES {
                n[m] = self.power(m) + apart;
            }
            let powers = self.powers::<Q>(n);
            let mut sum = [Sum::product(before[0], powers[0]); Q];
            for q in 1..Q {
                sum[q] = Sum::product(before[q], powers[q]);
            }
            sum
        }
    }

    /// Returns GHASH's state after a chunk, across: `sum` is the sum of the blocks beside the texts, and `along` are those of the texts.
    #[inline(always)]
    unsafe fn end_chunk<const Q: usize>(&self, mut sum: [Sum<V>; Q], along: &[Sum<V>; MESSAGES]) -> [V; Q] {
        // SAFETY: as the caller.
        unsafe {
            let polynomial = V::repeat(V::one(POLYNOMIAL));
            let mut hashes = [polynomial; Q];
            for q in 0..Q {
                let mut low = [polynomial; MESSAGES];
                let mut high = [polynomial; MESSAGES];
                for l in 0..V::BLOCKS {
                    (low[l], high[l]) = (along[q * V::BLOCKS + l].low, along[q * V::BLOCKS + l].high);
                }
                let texts = Sum { low: V::sums(&low[..V::BLOCKS]), high: V::sums(&high[..V::BLOCKS]) };
                sum[q] = sum[q].plus(texts);
                hashes[q] = sum[q].reduce(polynomial);
            }
            hashes
        }
    }

    /// Ends a chunk and begins the next one: both sums are those of the next one then.
    #[inline(always)]
    unsafe fn turn<const Q: usize>(&mut self, sum: &mut [Sum<V>; Q], along: &mut [Sum<V>; MESSAGES]) {
        // SAFETY: as the caller.
        unsafe {
            let state = self.end_chunk::<Q>(*sum, along);
            self.next_chunk();
            *sum = self.begin::<Q>(state, 0);
            *along = [Sum::zero(); MESSAGES];
        }
    }

    /// Works on all texts. Returns the sums of those of the last chunk, along; `sum` is that of the blocks beside them.
    #[inline(always)]
    unsafe fn texts<const OPEN: bool, const Q: usize>(
        &mut self,
        sum: &mut [Sum<V>; Q],
    ) -> [Sum<V>; MESSAGES] {
        let vector = BLOCK * V::BLOCKS;
        // SAFETY: as the caller.
        unsafe {
            let mut along = [Sum::zero(); MESSAGES];
            if V::WAITS && EQUAL {
                self.pairs::<OPEN, Q>(sum, &mut along);
            }
            loop {
                let least = least(&self.left);
                if least >= 2 * vector && !(V::WAITS && EQUAL) {
                    self.step::<OPEN, true, 2>(&mut along);
                } else if least >= vector {
                    self.step::<OPEN, true, 1>(&mut along);
                } else if self.left[0] | self.left[1] | self.left[2] | self.left[3] != 0 {
                    self.step::<OPEN, false, 1>(&mut along);
                } else if self.beyond[0] != 0 {
                    self.turn(sum, &mut along);
                } else {
                    return along;
                }
            }
        }
    }

    /// Works on the texts as long as two whole vectors of each are left. GHASH runs one step behind, so that its multiplications
    /// stand between the rounds of AES and wait for nothing.
    #[inline(always)]
    unsafe fn pairs<const OPEN: bool, const Q: usize>(
        &mut self,
        sum: &mut [Sum<V>; Q],
        along: &mut [Sum<V>; MESSAGES],
    ) {
        let pair = 2 * BLOCK * V::BLOCKS;
        // SAFETY: as the caller. Texts that go on beyond a chunk do so together, and fill it with whole pairs.
        unsafe {
            let (mut pairs, mut power) = (least(&self.left) / pair, self.power(0));
            if pairs == 0 {
                return;
            }
            let mut state = self.begin_states::<2>();
            self.rounds(&mut state);
            loop {
                let texts = self.cover::<OPEN, true, 2>(state);
                let powers = [power; MESSAGES];
                pairs -= 1;
                power = power.wrapping_sub(2 * V::BLOCKS);
                let turns = pairs == 0;
                if turns && least(&self.beyond) < pair {
                    return self.add_all(&texts, &powers, along);
                }
                state = self.begin_states::<2>();
                self.rounds_beside(&mut state, &texts, &powers, along);
                if turns {
                    self.turn(sum, along);
                    (pairs, power) = (least(&self.left) / pair, self.power(0));
                }
            }
        }
    }

    /// Works on the next `N` vectors of each text, or on the rest of each unless all are `WHOLE`.
    #[inline(always)]
    unsafe fn step<const OPEN: bool, const WHOLE: bool, const N: usize>(
        &mut self,
        along: &mut [Sum<V>; MESSAGES],
    ) {
        // SAFETY: as the caller.
        unsafe {
            let mut state = self.begin_states::<N>();
            self.rounds(&mut state);
            let mut powers = [0; MESSAGES];
            for m in 0..MESSAGES {
                // If no text is left, any power will do.
                powers[m] = self.power(m).max(1);
            }
            let texts = self.cover::<OPEN, WHOLE, N>(state);
            self.add_all(&texts, &powers, along);
        }
    }

    /// Computes the last round for the next `N` vectors of each text, or for the rest of each unless all are `WHOLE`. Returns
    /// the ciphertext for GHASH.
    #[inline(always)]
    unsafe fn cover<const OPEN: bool, const WHOLE: bool, const N: usize>(
        &mut self,
        mut state: [[V; N]; MESSAGES],
    ) -> Texts<V, N> {
        let vector = BLOCK * V::BLOCKS;
        // SAFETY: as the caller; `n` bytes of a text are touched, which are left of it.
        unsafe {
            for m in 0..MESSAGES {
                let last = round_key::<V>(self.key(m), ROUNDS);
                for j in 0..N {
                    let n = if WHOLE { vector } else { self.left[m].min(vector) };
                    let (from, to) =
                        (self.from[m].wrapping_add(j * vector), self.to[m].wrapping_add(j * vector));
                    let input = if WHOLE { V::load(from) } else { V::load_part(from, n) };
                    let output = state[m][j].last_round(last.xor(input));
                    let mut text = if OPEN { input } else { output };
                    if WHOLE {
                        output.store(to);
                    } else {
                        output.store_part(to, n);
                        text = text.keep(n);
                    }
                    state[m][j] = text.reverse();
                }
            }
            for m in 0..MESSAGES {
                self.left[m] = self.left[m].saturating_sub(N * vector);
                self.from[m] = self.from[m].wrapping_add(N * vector);
                self.to[m] = self.to[m].wrapping_add(N * vector);
            }
        }
        state
    }

    /// Adds vector `i` of the texts to its message's sum, counted across the messages. `powers` are those of each message's first block.
    #[inline(always)]
    unsafe fn add<const N: usize>(
        &self,
        texts: &Texts<V, N>,
        powers: &[usize; MESSAGES],
        i: usize,
        along: &mut [Sum<V>; MESSAGES],
    ) {
        let (m, j) = (i % MESSAGES, i / MESSAGES);
        // SAFETY: as the caller.
        unsafe {
            let power = powers[if EQUAL { 0 } else { m }] - j * V::BLOCKS;
            along[m] = along[m].add(texts[m][j], Powers::falling(self.key(m), power));
        }
    }

    /// Adds all texts to their messages' sums.
    #[inline(always)]
    unsafe fn add_all<const N: usize>(
        &self,
        texts: &Texts<V, N>,
        powers: &[usize; MESSAGES],
        along: &mut [Sum<V>; MESSAGES],
    ) {
        for i in 0..N * MESSAGES {
            // SAFETY: as the caller.
            unsafe { self.add(texts, powers, i, along) }
        }
    }
}

/// The texts of a step, `N` vectors of each message, as GHASH takes them.
type Texts<V, const N: usize> = [[V; N]; MESSAGES];

/// Returns the least of the lengths.
#[inline(always)]
fn least(lengths: &[usize; MESSAGES]) -> usize {
    lengths[0].min(lengths[1]).min(lengths[2].min(lengths[3]))
}

/// Defines the functions of a row for one vector type, `$vectors` of which hold four blocks.
/// `$features` are those the row requires.
macro_rules! group_row {
    ($vector:ty, $vectors:literal, $features:literal) => {
        use crate::gcm::GcmLanesOps;
        use crate::gcm::job::{Group, MESSAGES, Tags};

        pub(in crate::gcm) const LANES_REQUIRES: millstream_cpu::FeatureSet =
            millstream_cpu::FeatureSet::parse($features);

        pub(in crate::gcm) const LANES: GcmLanesOps = GcmLanesOps::new(group::<false>, group::<true>);

        #[target_feature(enable = $features)]
        fn group<const OPEN: bool>(jobs: &mut Group<'_, '_>, before: &[u128; MESSAGES], equal: bool) -> Tags {
            match (equal, jobs[0].key.key.schedule.rounds) {
                (true, 10) => rounds::<OPEN, true, 10>(jobs, before),
                (true, _) => rounds::<OPEN, true, 14>(jobs, before),
                (false, 10) => rounds::<OPEN, false, 10>(jobs, before),
                (false, _) => rounds::<OPEN, false, 14>(jobs, before),
            }
        }

        #[target_feature(enable = $features)]
        fn rounds<const OPEN: bool, const EQUAL: bool, const ROUNDS: usize>(
            jobs: &mut Group<'_, '_>,
            before: &[u128; MESSAGES],
        ) -> Tags {
            // SAFETY: this function has the instructions.
            unsafe { side_by_side::messages::<$vector, OPEN, EQUAL, ROUNDS, $vectors>(jobs, before) }
        }
    };
}

pub(super) use group_row;

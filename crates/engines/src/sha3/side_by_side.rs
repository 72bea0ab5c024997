//! The messages of SHA-3 in their lanes: those with the same number of blocks in step, others by the scheduler.
//!
//! Ref. FIPS 202 §4 (the sponge) and §5.1 (padding); FIPS 198-1 §4 (the outer hash).
//!
//! # Safety
//! A [`Permutation`] may need processor features. Every function here that names one is inlined into a row's function, which
//! is entered through the proof that they are there. Pointers into a message stay inside it: a block is read only if a whole
//! one is left, and the rest after that by its length.
#![allow(unsafe_code)]

use std::slice::from_mut;

use super::permutation::{Lane, WORDS};
use super::{END, State};
use crate::hash::job::{Job, Side};
use crate::hash::side_by_side::{Step, scheduled};
use crate::hash::wipe;
use crate::hash::words::Words;

/// The permutation of the states of `N` messages.
pub(crate) trait Permutation<const N: usize> {
    type Words: Words<N, Word = u64>;

    /// The least number of messages for which the kernel is faster than the next one in its row.
    const FEWEST: usize;
    /// The least number of messages for which the kernel is faster than the direct kernel.
    const LIVE: usize;

    /// Permutes the states.
    ///
    /// # Safety
    /// The processor has the kernel's features.
    unsafe fn permute(state: &mut [Self::Words; WORDS]);
}

/// A word of each message.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Across<V, const N: usize>(pub(crate) V);

impl<V: Words<N, Word = u64>, const N: usize> Lane for Across<V, N> {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller's, as in every function here.
        unsafe { Across(V::splat(word)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Across(self.0.xor(other.0)) }
    }

    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Across(self.0.xor3(y.0, z.0)) }
    }

    #[inline(always)]
    unsafe fn xor_rotated(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Across(self.0.xor(other.0.rotate_right::<63>())) }
    }

    #[inline(always)]
    unsafe fn xor_rotate_right<const BITS: i32>(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Across(self.0.xor(other.0).rotate_right::<BITS>()) }
    }

    #[inline(always)]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Across(self.0.chi(y.0, z.0)) }
    }
}

/// A permutation as a step of the scheduler.
pub(crate) struct Sponge<K, const RATE: usize>(K);

impl<K: Permutation<N>, const RATE: usize, const N: usize> Step<WORDS, N> for Sponge<K, RATE> {
    type Word = u64;
    type Words = K::Words;

    const LIVE: usize = K::LIVE;

    #[inline(always)]
    unsafe fn step(state: &mut [K::Words; WORDS], from: &[*const u8; N]) {
        // SAFETY: the caller's.
        unsafe { absorb::<K, RATE, N>(state, from) }
    }
}

/// Works jobs off, `N` at a time from the front, as long as there are enough of them. Returns the rest.
///
/// Jobs of different numbers of blocks come with the longest first. From the first `N` on that differ, the scheduler works all
/// off.
///
/// # Safety
/// The processor has the features of `K`.
#[inline(always)]
pub(crate) unsafe fn run<'j, 'a, K, J, const N: usize, const RATE: usize>(
    side: &Side<State, RATE>,
    mut jobs: &'j mut [&'a mut J],
) -> &'j mut [&'a mut J]
where
    K: Permutation<N>,
    J: Job<State, RATE>,
{
    while jobs.len() >= K::FEWEST {
        let count = jobs.len().min(N);
        let blocks = jobs[0].data().len() / RATE;
        let mut same = true;
        for job in &jobs[..count] {
            same &= job.data().len() / RATE == blocks;
        }
        if !same {
            // SAFETY: the caller's.
            unsafe { scheduled::<Sponge<K, RATE>, J, WORDS, N, RATE>(side, jobs) };
            return &mut [];
        }
        let (now, later) = jobs.split_at_mut(count);
        // SAFETY: the caller's.
        unsafe { together::<K, J, N, RATE>(side, now) };
        jobs = later;
    }
    jobs
}

/// Hashes one message in each lane, all of the same number of blocks. A lane without a message repeats the first one, to no
/// effect.
#[inline(always)]
unsafe fn together<K, J, const N: usize, const RATE: usize>(side: &Side<State, RATE>, jobs: &mut [&mut J])
where
    K: Permutation<N>,
    J: Job<State, RATE>,
{
    let mut from = [std::ptr::null(); N];
    let mut left = [0; N];
    for lane in 0..N {
        let data = jobs[if lane < jobs.len() { lane } else { 0 }].data();
        from[lane] = data.as_ptr();
        left[lane] = data.len() % RATE;
    }
    let output = side.hash.output_len();
    // SAFETY: the caller's; each message has so many blocks, and what follows them is read by its length.
    unsafe {
        let mut state = chaining_values::<K, J, N, RATE>(side, jobs, false);
        for _ in 0..jobs[0].data().len() / RATE {
            absorb::<K, RATE, N>(&mut state, &from);
            for lane in 0..N {
                from[lane] = from[lane].add(RATE);
            }
        }
        absorb_end::<K, RATE, N>(&mut state, &from, &left);
        if J::KEYED {
            let mut digest = state;
            state = chaining_values::<K, J, N, RATE>(side, jobs, true);
            absorb_digest::<K, RATE, N>(&mut state, &digest, output);
            // The permutation can be undone: whoever has a whole state has the key's state before the message.
            clear::<K, N>(&mut digest);
        }
        answer::<K, J, N, RATE>(&state, output, jobs);
        clear::<K, N>(&mut state);
    }
}

/// Clears the states of all lanes.
#[inline(always)]
unsafe fn clear<K: Permutation<N>, const N: usize>(state: &mut [K::Words; WORDS]) {
    for word in &mut *state {
        // SAFETY: the caller's.
        *word = unsafe { K::Words::splat(0) };
    }
    zeroize::optimization_barrier(&*state);
}

/// Returns the states with which the messages begin, or those of their outer hashes.
#[inline(always)]
unsafe fn chaining_values<K, J, const N: usize, const RATE: usize>(
    side: &Side<State, RATE>,
    jobs: &[&mut J],
    outer: bool,
) -> [K::Words; WORDS]
where
    K: Permutation<N>,
    J: Job<State, RATE>,
{
    // SAFETY: the caller's; the pointers are to states, of which 16 words are read at once.
    unsafe {
        let mut state = [K::Words::splat(0); WORDS];
        if !J::KEYED {
            return state;
        }
        let mut from = [std::ptr::null::<u64>(); N];
        for lane in 0..N {
            let job = &jobs[if lane < jobs.len() { lane } else { 0 }];
            from[lane] = if outer { job.outer(side) } else { &job.inner(side).state }.as_ptr();
        }
        let mut bytes = [std::ptr::null(); N];
        for lane in 0..N {
            bytes[lane] = from[lane].cast();
        }
        state[..16].copy_from_slice(&K::Words::load_block(&bytes));
        for i in 16..WORDS {
            let mut words = [0; N];
            for lane in 0..N {
                words[lane] = *from[lane].add(i);
            }
            state[i] = K::Words::from_array(&words);
        }
        state
    }
}

/// Absorbs a block of every lane.
#[inline(always)]
unsafe fn absorb<K: Permutation<N>, const RATE: usize, const N: usize>(
    state: &mut [K::Words; WORDS],
    from: &[*const u8; N],
) {
    // SAFETY: the caller's; from each of `from` a block can be read.
    unsafe {
        let block = if RATE >= 128 {
            K::Words::load_block(from)
        } else {
            K::Words::load_part(from, &[RATE; N], &[ZEROS.as_ptr(); N])
        };
        for i in 0..16.min(RATE / 8) {
            state[i] = state[i].xor(block[i]);
        }
        for i in 16..RATE / 8 {
            let mut words = [0; N];
            for lane in 0..N {
                words[lane] = from[lane].cast::<u64>().add(i).read_unaligned();
            }
            state[i] = state[i].xor(K::Words::from_array(&words));
        }
        K::permute(state);
    }
}

/// The byte that ends a message at 128, and zeros for a block before and after it.
static ENDS: [u8; 256] = {
    let mut ends = [0; 256];
    ends[128] = END;
    ends
};

static ZEROS: [u8; 128] = [0; 128];

/// The last bit of the padding, in the last word of a block.
const LAST_BIT: u64 = 1 << 63;

/// Absorbs the last block, of which a message has `left` bytes.
#[inline(always)]
unsafe fn absorb_end<K: Permutation<N>, const RATE: usize, const N: usize>(
    state: &mut [K::Words; WORDS],
    from: &[*const u8; N],
    left: &[usize; N],
) {
    let mut first = [0; N];
    let mut ends = [ENDS.as_ptr(); N];
    for lane in 0..N {
        first[lane] = left[lane].min(128);
        // The end is read at 128 - left, so that its byte comes right behind the bytes left. Behind 128 bytes it is out of
        // sight.
        ends[lane] = ENDS[128 - first[lane]..].as_ptr();
    }
    // SAFETY: the caller's; `first` bytes can be read of each message, and 128 from each of `ends`.
    unsafe {
        let block = K::Words::load_part(from, &first, &ends);
        for i in 0..16.min(RATE / 8) {
            state[i] = state[i].xor(block[i]);
        }
        for i in 16..RATE / 8 {
            let mut words = [0; N];
            for lane in 0..N {
                words[lane] = end_word(from[lane], left[lane], 8 * i);
            }
            state[i] = state[i].xor(K::Words::from_array(&words));
        }
        state[RATE / 8 - 1] = state[RATE / 8 - 1].xor(K::Words::splat(LAST_BIT));
        K::permute(state);
    }
}

/// Returns the word at `at` of a message's last block, with the byte that ends the message.
#[inline(always)]
unsafe fn end_word(from: *const u8, left: usize, at: usize) -> u64 {
    if left < at {
        return 0;
    }
    let mut bytes = [0; 8];
    for i in 0..8 {
        if at + i < left {
            // SAFETY: the message has `left` bytes.
            bytes[i] = unsafe { from.add(at + i).read() };
        } else if at + i == left {
            bytes[i] = END;
        }
    }
    u64::from_le_bytes(bytes)
}

/// Absorbs the digests of the inner hashes, `output` bytes each, behind the block of the key: FIPS 198-1 §4, step 8.
#[inline(always)]
unsafe fn absorb_digest<K: Permutation<N>, const RATE: usize, const N: usize>(
    state: &mut [K::Words; WORDS],
    digest: &[K::Words; WORDS],
    output: usize,
) {
    let (whole, rest) = (output / 8, output % 8);
    // SAFETY: the caller's.
    unsafe {
        for i in 0..8 {
            if i < whole {
                state[i] = state[i].xor(digest[i]);
            }
        }
        if rest > 0 {
            let kept = K::Words::splat((1 << (8 * rest)) - 1);
            state[whole] = state[whole].xor(kept.choose(digest[whole], K::Words::splat(0)));
        }
        state[whole] = state[whole].xor(K::Words::splat(u64::from(END) << (8 * rest)));
        state[RATE / 8 - 1] = state[RATE / 8 - 1].xor(K::Words::splat(LAST_BIT));
        K::permute(state);
    }
}

/// Writes the digests, `output` bytes each.
#[inline(always)]
unsafe fn answer<K, J, const N: usize, const RATE: usize>(
    state: &[K::Words; WORDS],
    output: usize,
    jobs: &mut [&mut J],
) where
    K: Permutation<N>,
    J: Job<State, RATE>,
{
    let mut nowhere = [0; crate::hash::MAX_DIGEST];
    let mut to = [nowhere.as_mut_ptr(); N];
    for lane in 0..N {
        if let Some(job) = jobs.get_mut(lane) {
            to[lane] = job.answer().room(output).as_mut_ptr();
        }
    }
    // SAFETY: the caller's; a digest has room for 64 bytes.
    unsafe {
        let mut words = [K::Words::splat(0); 8];
        for i in 0..8 {
            if i < output.div_ceil(8) {
                words[i] = state[i];
            }
        }
        K::Words::store_rows(&words, &to);
    }
    for job in jobs {
        job.answer().room(output)[output..].fill(0);
    }
    wipe(from_mut(&mut nowhere));
}

/// The permutation of several messages: a kernel of lanes, and a function for whoever keeps the states.
macro_rules! permutation {
    ($(#[$doc:meta])* $name:ident $function:ident: $vector:ty, $lanes:literal lanes, $features:literal,
     fewest $fewest:literal, live $live:literal) => {
        pub(crate) struct $name;

        impl $crate::sha3::side_by_side::Permutation<$lanes> for $name {
            type Words = $vector;

            const FEWEST: usize = $fewest;
            const LIVE: usize = $live;

            #[inline(always)]
            unsafe fn permute(state: &mut [$vector; $crate::sha3::permutation::WORDS]) {
                // SAFETY: the caller's.
                unsafe { $function(state) }
            }
        }

        $(#[$doc])*
        #[target_feature(enable = $features)]
        #[inline(never)]
        pub(crate) unsafe fn $function(state: &mut [$vector; $crate::sha3::permutation::WORDS]) {
            use $crate::sha3::side_by_side::Across;
            // SAFETY: the features are this function's own, and `Across` is its vector in memory.
            unsafe {
                let state = std::ptr::from_mut(state).cast::<[Across<$vector, $lanes>; _]>();
                $crate::sha3::permutation::permute(&mut *state);
            }
        }
    };
}

/// Defines the function `row`, which returns a row whose kernels take over from one another as messages get fewer: the widest
/// first.
macro_rules! lanes_row {
    ($name:literal, $features:literal, [$($kernel:ident $lanes:literal),*],
     $crossover:expr, $hmac_crossover:expr, $note:literal) => {
        pub(crate) const fn row<const RATE: usize>() -> Row<LanesOps<State, RATE>>
        where
            for<'a> HmacJob<'a>: Job<State, RATE>,
        {
            job::row(
                $name,
                millstream_cpu::FeatureSet::parse($features),
                LanesOps {
                    crossover: $crossover,
                    hmac_crossover: $hmac_crossover,
                    digest: digest::<RATE>,
                    sign: sign::<RATE>,
                },
                $note,
            )
        }

        $crate::sha3::side_by_side::lanes_row!(@work digest HashJob $features [$($kernel $lanes),*]);
        $crate::sha3::side_by_side::lanes_row!(@work sign HmacJob $features [$($kernel $lanes),*]);
    };
    (@work $function:ident $job:ident $features:literal [$($kernel:ident $lanes:literal),*]) => {
        #[target_feature(enable = $features)]
        unsafe fn $function<const RATE: usize>(side: &Side<State, RATE>, jobs: &mut [&mut $job<'_>])
        where
            for<'a> $job<'a>: Job<State, RATE>,
        {
            let mut jobs = jobs;
            if !in_step::<State, _, RATE>(jobs) {
                longest_first::<State, _, RATE>(jobs);
            }
            // SAFETY: the features are this function's own.
            unsafe {
                $(jobs = run::<$kernel, _, $lanes, RATE>(side, jobs);)*
            }
            Job::one_by_one(side, jobs);
        }
    };
}
pub(crate) use {lanes_row, permutation};

//! The work of the lanes: messages with the same number of blocks in step, or of any lengths by the
//! scheduler.
//!
//! Ref. FIPS 180-4 §5.1 (padding); RFC 1321 §3.1; FIPS 198-1 §4 (the outer hash).
//!
//! # Safety
//! A [`LaneKernel`] may need processor features. Every function here that names one is inlined into a row's
//! function, which is entered through the proof that they are there. Pointers into a message stay inside
//! it: a block is read only if a whole one is left, and the rest after that by its length.
#![allow(unsafe_code)]

mod ragged;
mod rows;
mod step;

use std::cmp::Reverse;
use std::hint::black_box;

use zeroize::Zeroize;

use super::chain::Chaining;
use super::digest::Digest;
use super::job::{Job, Side};
use super::words::{Word, Words};
pub(crate) use ragged::scheduled;
pub(crate) use rows::{lane_kernel, lanes_row};
pub(crate) use step::{LaneKernel, Step};
use step::{PAD, pad, padded, wipe};

/// Returns true if all messages are padded to the same number of blocks.
#[inline(always)]
pub(crate) fn in_step<S: Chaining, J: Job<S, BLOCK>, const BLOCK: usize>(jobs: &[&mut J]) -> bool {
    let blocks = padded::<S, BLOCK>(jobs[0].data().len());
    let mut same = true;
    for job in jobs {
        same &= padded::<S, BLOCK>(job.data().len()) == blocks;
    }
    same
}

/// Hashes one message in each lane. A lane without a message repeats the first one, to no effect.
#[inline(always)]
unsafe fn together<K, J, const WORDS: usize, const N: usize, const BLOCK: usize>(
    side: &Side<[K::Word; WORDS], BLOCK>,
    jobs: &mut [&mut J],
    in_step: bool,
) where
    K: LaneKernel<WORDS, N>,
    J: Job<[K::Word; WORDS], BLOCK>,
    [K::Word; WORDS]: Chaining,
{
    let mut from = [std::ptr::null(); N];
    let mut len = [0; N];
    let mut whole = usize::MAX;
    for lane in 0..N {
        let data = jobs[if lane < jobs.len() { lane } else { 0 }].data();
        from[lane] = data.as_ptr();
        len[lane] = data.len();
        whole = whole.min(data.len() / BLOCK);
    }
    let mut blocks = [padded::<[K::Word; WORDS], BLOCK>(len[0]); N];
    // The first message is the longest.
    let (mut least, most) = (blocks[0], blocks[0]);
    if !in_step {
        for lane in 0..N {
            blocks[lane] = padded::<[K::Word; WORDS], BLOCK>(len[lane]);
            least = least.min(blocks[lane]);
        }
    }
    let output = side.hash.output_len() / size_of::<K::Word>();
    let before = if J::KEYED { BLOCK } else { 0 };
    // SAFETY: the caller's; each message has `whole` blocks at least, and what follows them is read by
    // its length.
    unsafe {
        let mut state = chaining_values::<K, J, WORDS, N, BLOCK>(side, jobs, false);
        for _ in 0..whole {
            let mut block = K::Words::load_block(&from);
            fold_bytes::<K, WORDS, N>(&mut state, &mut block);
            for lane in 0..N {
                from[lane] = from[lane].add(BLOCK);
            }
        }
        for at in whole..most {
            let mut block = end_of_message::<K, WORDS, N, BLOCK>(&from, &len, at * BLOCK);
            if at + 1 >= least {
                write_length::<K, WORDS, N>(&mut block, &len, before, &blocks, at + 1);
            }
            if at < least {
                K::fold(&mut state, &mut block);
            } else {
                let ended = state;
                K::fold(&mut state, &mut block);
                keep::<K, WORDS, N>(&mut state, &ended, &blocks, at);
            }
            for lane in 0..N {
                from[lane] = from[lane].wrapping_add(BLOCK);
            }
        }
        if J::KEYED {
            let mut block = outer_block::<K, WORDS, N>(&state, output, BLOCK);
            state = chaining_values::<K, J, WORDS, N, BLOCK>(side, jobs, true);
            K::fold(&mut state, &mut block);
        }
        answer::<K, J, WORDS, N, BLOCK>(&state, output, jobs);
        wipe(&mut state);
    }
}

/// Returns the chaining values with which the messages begin, or those of their outer hashes.
#[inline(always)]
unsafe fn chaining_values<K, J, const WORDS: usize, const N: usize, const BLOCK: usize>(
    side: &Side<[K::Word; WORDS], BLOCK>,
    jobs: &[&mut J],
    outer: bool,
) -> [K::Words; WORDS]
where
    K: LaneKernel<WORDS, N>,
    J: Job<[K::Word; WORDS], BLOCK>,
    [K::Word; WORDS]: Chaining,
{
    let mut from = [std::ptr::null::<[K::Word; WORDS]>(); N];
    let mut same = true;
    for lane in 0..N {
        let job = &jobs[if lane < jobs.len() { lane } else { 0 }];
        from[lane] = if outer { job.outer(side) } else { &job.inner(side).state };
        same &= from[lane] == from[0];
    }
    // SAFETY: the caller's; the pointers were references a moment ago, to as many bytes as `len` says.
    unsafe {
        let mut state = [K::Words::splat(K::Word::default()); WORDS];
        if !J::KEYED || same {
            for i in 0..WORDS {
                state[i] = K::Words::splat((*from[0])[i]);
            }
        } else {
            let mut bytes = [std::ptr::null(); N];
            for lane in 0..N {
                bytes[lane] = from[lane].cast();
            }
            let len = [size_of::<[K::Word; WORDS]>(); N];
            let words = K::Words::load_part(&bytes, &len, &[PAD.as_ptr(); N]);
            state.copy_from_slice(&words[..WORDS]);
        }
        state
    }
}

/// Folds in one block of every lane, given as bytes in memory's order.
#[inline(always)]
pub(crate) unsafe fn fold_bytes<K, const WORDS: usize, const N: usize>(
    state: &mut [K::Words; WORDS],
    block: &mut [K::Words; 16],
) where
    K: LaneKernel<WORDS, N>,
{
    // SAFETY: the caller's.
    unsafe {
        to_words::<K, WORDS, N>(block);
        K::fold(state, block);
    }
}

/// Turns words from the processor's byte order into the hash's.
#[inline(always)]
unsafe fn to_words<K: LaneKernel<WORDS, N>, const WORDS: usize, const N: usize>(block: &mut [K::Words]) {
    if !K::LITTLE_ENDIAN {
        for word in block {
            // SAFETY: the caller's.
            *word = unsafe { word.swap_bytes() };
        }
    }
}

/// Loads the block at `at` of padded messages, without their lengths, if not every message has a whole
/// block there.
#[inline(always)]
unsafe fn end_of_message<K, const WORDS: usize, const N: usize, const BLOCK: usize>(
    from: &[*const u8; N],
    len: &[usize; N],
    at: usize,
) -> [K::Words; 16]
where
    K: LaneKernel<WORDS, N>,
{
    let mut left = [0; N];
    let mut pad = [PAD.as_ptr(); N];
    for lane in 0..N {
        left[lane] = len[lane].saturating_sub(at).min(BLOCK);
        // The pad is read at 128 - left, so that the byte that ends the message comes right behind the
        // bytes left. In a whole block, or in one behind that byte, it is out of sight.
        let end = (len[lane] as isize - at as isize).clamp(-1, BLOCK as isize);
        // SAFETY: -1 <= end <= BLOCK <= 128, so that the block is inside.
        pad[lane] = unsafe { PAD.as_ptr().offset(128 - end) };
    }
    // SAFETY: the caller's.
    unsafe {
        let mut block = K::Words::load_part(from, &left, &pad);
        to_words::<K, WORDS, N>(&mut block);
        block
    }
}

/// Adds the length of the messages, and of the `before` bytes folded in before them, to the last block of
/// those that have `now` blocks.
#[inline(always)]
unsafe fn write_length<K, const WORDS: usize, const N: usize>(
    block: &mut [K::Words; 16],
    len: &[usize; N],
    before: usize,
    blocks: &[usize; N],
    now: usize,
) where
    K: LaneKernel<WORDS, N>,
{
    let mut low = [K::Word::default(); N];
    let mut high = low;
    for lane in 0..N {
        if blocks[lane] == now {
            (low[lane], high[lane]) = K::Word::bits((before + len[lane]) as u64);
        }
    }
    let places = if K::LITTLE_ENDIAN { [14, 15] } else { [15, 14] };
    // SAFETY: the caller's. The words are zero in front of a length, so that to add is to write.
    unsafe {
        block[places[0]] = block[places[0]].add(K::Words::from_array(&low));
        block[places[1]] = block[places[1]].add(K::Words::from_array(&high));
    }
}

/// Restores the chaining values of messages that had ended before block `at`.
#[inline(always)]
unsafe fn keep<K, const WORDS: usize, const N: usize>(
    state: &mut [K::Words; WORDS],
    ended: &[K::Words; WORDS],
    blocks: &[usize; N],
    at: usize,
) where
    K: LaneKernel<WORDS, N>,
{
    let mut mask = [K::Word::default(); N];
    for lane in 0..N {
        if blocks[lane] > at {
            mask[lane] = K::Word::MAX;
        }
    }
    // SAFETY: the caller's.
    unsafe {
        let mask = K::Words::from_array(&mask);
        for i in 0..WORDS {
            state[i] = mask.choose(state[i], ended[i]);
        }
    }
}

/// Returns the digest of the inner hash, `output` words, as the block after the key's: FIPS 198-1 §4, step
/// 8.
#[inline(always)]
unsafe fn outer_block<K, const WORDS: usize, const N: usize>(
    digest: &[K::Words; WORDS],
    output: usize,
    before: usize,
) -> [K::Words; 16]
where
    K: LaneKernel<WORDS, N>,
{
    let bytes = output * size_of::<K::Word>();
    // SAFETY: the caller's.
    unsafe {
        let mut block = [K::Words::splat(K::Word::default()); 16];
        for i in 0..WORDS {
            if i < output {
                block[i] = digest[i];
            }
        }
        let (low, _) = K::Word::bits((before + bytes) as u64);
        if K::LITTLE_ENDIAN {
            block[output] = K::Words::splat(K::Word::END).swap_bytes();
            block[14] = K::Words::splat(low);
        } else {
            block[output] = K::Words::splat(K::Word::END);
            block[15] = K::Words::splat(low);
        }
        block
    }
}

/// Writes the digests, `output` words each.
#[inline(always)]
unsafe fn answer<K, J, const WORDS: usize, const N: usize, const BLOCK: usize>(
    state: &[K::Words; WORDS],
    output: usize,
    jobs: &mut [&mut J],
) where
    K: LaneKernel<WORDS, N>,
    J: Job<[K::Word; WORDS], BLOCK>,
    [K::Word; WORDS]: Chaining,
{
    let mut nowhere = [0; super::MAX_DIGEST];
    let mut to = [nowhere.as_mut_ptr(); N];
    for lane in 0..N {
        if let Some(job) = jobs.get_mut(lane) {
            let digest = job.answer();
            digest.len = (output * size_of::<K::Word>()) as u8;
            to[lane] = digest.bytes.as_mut_ptr();
        }
    }
    // SAFETY: the caller's; a digest has room for 64 bytes.
    unsafe {
        let mut words = [K::Words::splat(K::Word::default()); 8];
        for i in 0..WORDS {
            if i < output {
                words[i] = state[i];
            }
        }
        to_words::<K, WORDS, N>(&mut words);
        K::Words::store_rows(&words, &to);
    }
}

/// Folds the blocks of each message in, in order, and the blocks of the third argument at the end. Both messages have the same number.
pub(crate) type FoldPair<S, const BLOCK: usize> =
    unsafe fn(&mut [S; 2], [&[[u8; BLOCK]]; 2], [&[[u8; BLOCK]]; 2]);

/// A compression function for two interleaved messages. It suits instructions that hold one message in a
/// register and wait for their own results.
pub(crate) trait PairKernel<S, const BLOCK: usize> {
    /// The function itself, which needs the kernel's features.
    const FOLD: FoldPair<S, BLOCK>;
}

/// Takes jobs off the front, and two at a time if they have the same number of blocks. Returns the rest,
/// which is one or none.
///
/// # Safety
/// The processor has the features of `K`.
#[inline(always)]
pub(crate) unsafe fn run_in_pairs<'j, 'a, K, S, J, const BLOCK: usize>(
    side: &Side<S, BLOCK>,
    mut jobs: &'j mut [&'a mut J],
) -> &'j mut [&'a mut J]
where
    S: Chaining,
    K: PairKernel<S, BLOCK>,
    J: Job<S, BLOCK>,
{
    // A pointer of which the compiler knows nothing. The processor's own rounds of SHA have no VEX form: on Intel's processors each of them waits
    // for some 50 ns while the upper part of a vector register is in use, as it is where a row with wider lanes has taken these rounds into its
    // own code. Before a call the compiler clears those parts.
    let fold = black_box(K::FOLD);
    let output = side.hash.output_len();
    let before = if J::KEYED { BLOCK } else { 0 };
    let mut last = [[[0; BLOCK]; 2]; 2];
    // The inner digest goes in front of this padding: FIPS 198-1 §4, step 8.
    let mut outer = [[0; BLOCK]; 2];
    if J::KEYED {
        for outer in &mut outer {
            outer[output] = 0x80;
            S::write_length(outer, (BLOCK + output) as u64);
        }
    }
    while jobs.len() >= 2 {
        if padded::<S, BLOCK>(jobs[0].data().len()) != padded::<S, BLOCK>(jobs[1].data().len()) {
            let (now, later) = jobs.split_at_mut(1);
            J::one_by_one(side, now);
            jobs = later;
            continue;
        }
        let (now, later) = jobs.split_at_mut(2);
        let (one, two) = (now[0].data(), now[1].data());
        let counts = [pad::<S, BLOCK>(&mut last[0], one, before), pad::<S, BLOCK>(&mut last[1], two, before)];
        let blocks = [one.as_chunks().0, two.as_chunks().0];
        let mut states = [now[0].inner(side).state, now[1].inner(side).state];
        // SAFETY: the caller's.
        unsafe { fold(&mut states, blocks, [&last[0][..counts[0]], &last[1][..counts[1]]]) };
        if J::KEYED {
            for i in 0..2 {
                states[i].write(&mut outer[i][..output]);
                states[i] = *now[i].outer(side);
            }
            // SAFETY: the caller's.
            unsafe { fold(&mut states, [&[], &[]], [&outer[..1], &outer[1..]]) };
        }
        for i in 0..2 {
            *now[i].answer() = Digest::new(side.hash, &states[i]);
        }
        states.zeroize();
        jobs = later;
    }
    for last in &mut last {
        super::chain::wipe(last);
    }
    if J::KEYED {
        super::chain::wipe(&mut outer);
    }
    jobs
}

/// Sorts jobs into the order in which lanes are best filled.
pub(crate) fn longest_first<S: Chaining, J: Job<S, BLOCK>, const BLOCK: usize>(jobs: &mut [&mut J]) {
    jobs.sort_unstable_by_key(|job| Reverse(job.data().len()));
}

/// Works jobs off, `N` at a time from the front, as long as there are enough of them. Returns the rest.
///
/// Jobs that are not `in_step`, of the same number of blocks, come with the longest first. They run
/// together as long as lanes that have ended don't wait too long for others. If they would, all remaining
/// jobs go through the scheduler, which gives a lane another message as soon as one has ended.
///
/// # Safety
/// The processor has the features of `K`.
#[inline(always)]
pub(crate) unsafe fn run<'j, 'a, K, J, const WORDS: usize, const N: usize, const BLOCK: usize>(
    side: &Side<[K::Word; WORDS], BLOCK>,
    mut jobs: &'j mut [&'a mut J],
    in_step: bool,
) -> &'j mut [&'a mut J]
where
    K: LaneKernel<WORDS, N>,
    J: Job<[K::Word; WORDS], BLOCK>,
    [K::Word; WORDS]: Chaining,
{
    while jobs.len() >= K::FEWEST {
        let count = jobs.len().min(N);
        if !in_step && too_ragged::<_, J, BLOCK>(&jobs[..count]) {
            // SAFETY: the caller's.
            unsafe { scheduled::<K, J, WORDS, N, BLOCK>(side, jobs) };
            return &mut [];
        }
        let (now, later) = jobs.split_at_mut(count);
        // SAFETY: the caller's.
        unsafe { together::<K, J, WORDS, N, BLOCK>(side, now, in_step) };
        jobs = later;
    }
    jobs
}

/// Returns true if the jobs would wait for the first and longest for more than a block each and more than
/// an eighth of the time. The scheduler costs a job about as much.
fn too_ragged<S: Chaining, J: Job<S, BLOCK>, const BLOCK: usize>(jobs: &[&mut J]) -> bool {
    let longest = padded::<S, BLOCK>(jobs[0].data().len());
    let mut waits = 0;
    for job in jobs {
        waits += longest - padded::<S, BLOCK>(job.data().len());
    }
    waits > jobs.len() * (1 + longest / 8)
}

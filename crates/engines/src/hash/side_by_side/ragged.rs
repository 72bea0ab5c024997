//! Messages of any lengths, each of which gets a lane as soon as one has ended.
//!
//! # Safety
//! As in `mod.rs`.
#![allow(unsafe_code)]

use super::step::{PAD, Step, pad, wipe};
use crate::hash::chain::{self, Chaining, compress};
use crate::hash::digest::Digest;
use crate::hash::job::{Job, Side};
use crate::hash::words::Words;
use crate::lanes::{Lanes, schedule};

/// Works jobs of any lengths off, the longest first. Each lane gets a new message as soon as its last one
/// has ended.
///
/// # Safety
/// The processor has the features of `K`.
#[inline(always)]
pub(crate) unsafe fn scheduled<K, J, const WORDS: usize, const N: usize, const BLOCK: usize>(
    side: &Side<[K::Word; WORDS], BLOCK>,
    jobs: &mut [&mut J],
) where
    K: Step<WORDS, N>,
    J: Job<[K::Word; WORDS], BLOCK>,
    [K::Word; WORDS]: Chaining,
{
    // SAFETY: the caller's.
    unsafe {
        let mut last = [[[0; BLOCK]; 2]; N];
        let mut lanes = Ragged::<K, WORDS, N, BLOCK> {
            side,
            state: [K::Words::splat(K::Word::default()); WORDS],
            from: [PAD.as_ptr(); N],
            stride: [0; N],
            part: [Part::Message; N],
            last: last.as_mut_ptr(),
        };
        schedule(&mut lanes, jobs, K::LIVE);
        wipe(&mut lanes.state);
        for last in &mut last {
            chain::wipe(last);
        }
    }
}

/// The part of its message that a lane works on.
#[derive(Clone, Copy)]
enum Part {
    /// The whole blocks.
    Message,
    /// The blocks that the rest was padded to.
    End,
    /// The outer hash.
    Outer,
}

/// Lanes for the scheduler.
struct Ragged<'s, K, const WORDS: usize, const N: usize, const BLOCK: usize>
where
    K: Step<WORDS, N>,
{
    side: &'s Side<[K::Word; WORDS], BLOCK>,
    state: [K::Words; WORDS],
    /// The next block of each lane.
    from: [*const u8; N],
    /// The distance in bytes to the block after that. It is 0 in an idle lane, which reads the same block
    /// again.
    stride: [usize; N],
    part: [Part; N],
    /// The blocks for the ends of messages, those of N lanes. They lie outside of this struct, because
    /// `from` points to them.
    last: *mut [[u8; BLOCK]; 2],
}

impl<K, const WORDS: usize, const N: usize, const BLOCK: usize> Ragged<'_, K, WORDS, N, BLOCK>
where
    K: Step<WORDS, N>,
    [K::Word; WORDS]: Chaining,
{
    #[inline(always)]
    fn set(&mut self, lane: usize, state: &[K::Word; WORDS]) {
        let words = self.state.as_mut_ptr().cast::<K::Word>();
        for i in 0..WORDS {
            // SAFETY: the state is WORDS times the words of N lanes.
            unsafe { words.add(i * N + lane).write(state[i]) };
        }
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> [K::Word; WORDS] {
        let words = self.state.as_ptr().cast::<K::Word>();
        let mut state = [K::Word::default(); WORDS];
        for i in 0..WORDS {
            // SAFETY: as in `set`.
            state[i] = unsafe { words.add(i * N + lane).read() };
        }
        state
    }

    /// Puts the padded end of a message into the lane's own blocks.
    #[inline(always)]
    fn end(&mut self, lane: usize, data: &[u8], before: usize) -> usize {
        // SAFETY: there are N of them, and none is borrowed.
        let last = unsafe { &mut *self.last.add(lane) };
        let count = pad::<[K::Word; WORDS], BLOCK>(last, data, before);
        self.from[lane] = self.last.wrapping_add(lane).cast();
        self.stride[lane] = BLOCK;
        count
    }
}

impl<K, J, const WORDS: usize, const N: usize, const BLOCK: usize> Lanes<J, N>
    for Ragged<'_, K, WORDS, N, BLOCK>
where
    K: Step<WORDS, N>,
    J: Job<[K::Word; WORDS], BLOCK>,
    [K::Word; WORDS]: Chaining,
{
    #[inline(always)]
    fn fill(&mut self, lane: usize, job: &mut J) -> usize {
        let side = self.side;
        self.set(lane, &job.inner(side).state);
        self.from[lane] = job.data().as_ptr();
        self.stride[lane] = BLOCK;
        self.part[lane] = Part::Message;
        job.data().len() / BLOCK
    }

    #[inline(always)]
    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            // SAFETY: `Ragged` is made where the processor has the features; each lane has `steps`
            // blocks, or is idle.
            unsafe { K::step(&mut self.state, &self.from) };
            for lane in 0..N {
                self.from[lane] = self.from[lane].wrapping_add(self.stride[lane]);
            }
        }
    }

    #[inline(always)]
    fn next(&mut self, lane: usize, job: &mut J) -> usize {
        let side = self.side;
        let before = if J::KEYED { BLOCK } else { 0 };
        match self.part[lane] {
            Part::Message => {
                self.part[lane] = Part::End;
                self.end(lane, job.data(), before)
            }
            Part::End if J::KEYED => {
                self.part[lane] = Part::Outer;
                let mut digest = Digest::new(side.hash, &self.get(lane));
                self.set(lane, job.outer(side));
                let count = self.end(lane, &digest, before);
                chain::wipe(std::slice::from_mut(&mut digest.bytes));
                count
            }
            _ => {
                *job.answer() = Digest::new(side.hash, &self.get(lane));
                0
            }
        }
    }

    #[inline(always)]
    fn idle(&mut self, lane: usize) {
        self.from[lane] = PAD.as_ptr();
        self.stride[lane] = 0;
    }

    fn finish(&mut self, lane: usize, job: &mut J, steps: usize) {
        let kernel = job.inner(self.side).kernel;
        let mut state = self.get(lane);
        let mut steps = steps;
        if let Part::Message = self.part[lane] {
            let (blocks, _) = job.data().as_chunks::<BLOCK>();
            compress(kernel, &mut state, &blocks[blocks.len() - steps..], &[]);
            self.set(lane, &state);
            steps = self.next(lane, job);
        }
        while steps > 0 {
            state = self.get(lane);
            // SAFETY: as in `end`.
            let last = unsafe { &*self.last.add(lane) };
            let at = (self.from[lane] as usize - last.as_ptr() as usize) / BLOCK;
            compress(kernel, &mut state, &[], &last[at..at + steps]);
            self.set(lane, &state);
            steps = self.next(lane, job);
        }
    }
}

//! f8 and f9 over as many messages as a plane has bytes.
//!
//! In both modes one block of a message goes under another key than the rest: the first block of f8 and
//! the last of f9. Those blocks are passed separately, for all messages at once, so that a lane keeps
//! one key for as long as it has the message.
//!
//! Ref. TS 35.201 §3.4 (f8), §4.4 (f9).
//!
//! # Safety
//! The promises of [`sliced`] hold here too. Pointers into messages come from the jobs, which are
//! borrowed for as long as the lanes exist. A lane that is run for as many steps as its job needs reads
//! and writes `8 * steps` bytes from there, and otherwise only the lanes' own memory.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use super::cipher::{Keystream, Sums};
use super::job::{F8Job, F9Job};
use super::sliced::{self, Eight, Plane, Subkeys, key_row, place};
use super::{first_block_f9, keep_beyond, last_blocks};
use crate::lanes::{Lanes, schedule};

/// Overwrites memory that held keys or chaining values.
#[inline(always)]
fn wipe<T>(secret: &mut T) {
    // SAFETY: plain data that is not used again.
    unsafe { std::ptr::from_mut(secret).write_bytes(0, 1) };
    zeroize::optimization_barrier(secret);
}

/// The keys of `N` lanes.
#[repr(C, align(64))]
struct Keys<P, const N: usize> {
    planes: Subkeys<P>,
    rows: [[u8; 16]; N],
}

impl<P: Plane, const N: usize> Keys<P, N> {
    #[inline(always)]
    fn set(&mut self, lane: usize, key: &[u8; 16]) {
        self.rows[key_row::<P>(lane)] = *key;
    }

    #[inline(always)]
    unsafe fn expand(&mut self) {
        // SAFETY: as above.
        unsafe { self.planes.expand(&self.rows) }
    }
}

/// Returns one lane's bytes of eight planes, as a big-endian number.
#[inline(always)]
fn of_lane<P: Plane, const K: usize>(planes: &[P; K], lane: usize) -> u64 {
    let at = place::<P>(lane);
    let mut value = 0;
    for plane in planes {
        // SAFETY: a plane is `P::BYTES` bytes, and `at` is less.
        value = value << 8 | u64::from(unsafe { std::ptr::from_ref(plane).cast::<u8>().add(at).read() });
    }
    value
}

/// The lanes filled since the last run.
#[repr(C, align(64))]
struct Fresh<const N: usize> {
    /// Zero for a newly filled lane, at its place in a plane; all ones for the others.
    keep: [u8; N],
    any: bool,
}

impl<const N: usize> Fresh<N> {
    #[inline(always)]
    fn mark(&mut self, place: usize) {
        self.keep[place] = 0;
        self.any = true;
    }

    /// Returns true if the lane was filled and has not been run since. The planes then still hold its
    /// last job.
    #[inline(always)]
    fn is(&self, place: usize) -> bool {
        self.keep[place] == 0
    }

    /// Clears the newly filled lanes.
    #[inline(always)]
    unsafe fn clear<P: Plane, const K: usize>(&self, planes: &mut [P; K]) {
        const { assert!(N == P::BYTES) };
        // SAFETY: `keep` is a vector; for the features see the head of this file.
        unsafe {
            let keep = P::load(self.keep.as_ptr());
            for i in 0..K {
                planes[i] = planes[i].and(keep);
            }
        }
    }
}

/// Passes one block of each job under its modified key, `N` jobs at a time. The block comes from `block`
/// and goes to `put`.
macro_rules! one_block {
    ($keys:expr, $rows:expr, $jobs:expr, |$job:ident| $block:expr, |$to:ident, $value:ident| $put:expr) => {
        for jobs in $jobs.chunks_mut(N) {
            for (lane, $job) in jobs.iter().enumerate() {
                $keys.set(lane, &$job.key.keys.modified.key);
                $rows[lane] = u64::to_be_bytes($block);
            }
            $keys.expand();
            let x = sliced::encrypt(&$keys.planes, sliced::planes::<P>(&$rows));
            sliced::rows(x, &mut $rows);
            for (lane, $to) in jobs.iter_mut().enumerate() {
                let $value = u64::from_be_bytes($rows[lane]);
                $put;
            }
        }
    };
}

/// Enciphers all messages, whose parameters have been checked, on `N` lanes while `fewest` are live.
#[inline(always)]
pub(super) unsafe fn f8<P: Plane, const N: usize>(jobs: &mut [&mut F8Job<'_>], fewest: usize) {
    const { assert!(N == P::BYTES) };
    // SAFETY: see the head of this file.
    unsafe {
        let mut tails = [[0; 8]; N];
        let mut lanes = F8Lanes::<P, N>::new(&raw mut tails);
        one_block!(lanes.keys, lanes.pads, jobs, |job| job.first_block(), |job, value| job.start = value);
        schedule(&mut lanes, jobs, fewest);
        wipe(&mut lanes);
        wipe(&mut tails);
    }
    for job in jobs {
        job.start = 0;
    }
}

/// Computes the codes of all messages, whose parameters have been checked, on `N` lanes while `fewest`
/// are live.
#[inline(always)]
pub(super) unsafe fn f9<P: Plane, const N: usize>(jobs: &mut [&mut F9Job<'_>], fewest: usize) {
    const { assert!(N == P::BYTES) };
    // SAFETY: see the head of this file.
    unsafe {
        let mut own = [[[0; 8]; 1 + SHORT + 2]; N];
        let mut lanes = F9Lanes::<P, N>::new(&raw mut own);
        schedule(&mut lanes, jobs, fewest);
        one_block!(lanes.keys, lanes.blocks, jobs, |job| job.sum, |job, value| {
            job.sum = 0;
            job.result = Ok(((value >> 32) as u32).to_be_bytes());
        });
        wipe(&mut lanes);
        wipe(&mut own);
    }
}

#[repr(C, align(64))]
struct F8Lanes<P, const N: usize> {
    keys: Keys<P, N>,
    /// The enciphered first block A.
    start: Eight<P>,
    /// The last block of keystream.
    chain: Eight<P>,
    /// The number of the next block.
    number: [P; 4],
    start_rows: [[u8; 8]; N],
    pads: [[u8; 8]; N],
    fresh: Fresh<N>,
    input: [*const u8; N],
    output: [*mut u8; N],
    /// All ones for a lane that goes on through memory, 0 for one that is idle.
    moves: [usize; N],
    /// The end of a message that is no whole block, or the block that an idle lane works on.
    tails: *mut [[u8; 8]; N],
    in_tail: [bool; N],
}

impl<P: Plane, const N: usize> F8Lanes<P, N> {
    #[inline(always)]
    unsafe fn new(tails: *mut [[u8; 8]; N]) -> Self {
        // SAFETY: vectors, numbers, pointers and truth values that are zero.
        F8Lanes { tails, ..unsafe { std::mem::zeroed() } }
    }

    /// The next block of keystream in each lane.
    #[inline(always)]
    unsafe fn step(&mut self) {
        // SAFETY: as above.
        unsafe {
            let mut x = self.chain;
            for i in 0..8 {
                x[i] = x[i].xor(self.start[i]);
            }
            for i in 0..4 {
                x[i + 4] = x[i + 4].xor(self.number[i]);
            }
            self.chain = sliced::encrypt(&self.keys.planes, x);
            let mut carry = P::splat(0xff);
            for i in (0..4).rev() {
                self.number[i] = self.number[i].sub(carry);
                carry = self.number[i].is_zero().and(carry);
            }
            sliced::rows(self.chain, &mut self.pads);
        }
    }

    /// Lets a lane work on its own eight bytes.
    #[inline(always)]
    fn work_on_tail(&mut self, lane: usize) {
        let tail = self.tails.cast::<[u8; 8]>().wrapping_add(lane).cast::<u8>();
        (self.input[lane], self.output[lane]) = (tail, tail);
    }
}

impl<P: Plane, const N: usize> Lanes<F8Job<'_>, N> for F8Lanes<P, N> {
    #[inline(always)]
    fn fill(&mut self, lane: usize, job: &mut F8Job<'_>) -> usize {
        self.keys.set(lane, &job.key.keys.plain.key);
        self.start_rows[lane] = job.start.to_be_bytes();
        self.fresh.mark(place::<P>(lane));
        self.in_tail[lane] = false;
        self.input[lane] = job.data.input_ptr();
        self.output[lane] = job.data.output_ptr();
        self.moves[lane] = usize::MAX;
        job.bits / 64
    }

    #[inline(always)]
    fn run(&mut self, steps: usize) {
        // SAFETY: see the head of this file.
        unsafe {
            if self.fresh.any {
                self.keys.expand();
                self.start = sliced::planes(&self.start_rows);
                self.fresh.clear(&mut self.chain);
                self.fresh.clear(&mut self.number);
                self.fresh = Fresh { keep: [0xff; N], any: false };
            }
            for step in 0..steps {
                self.step();
                for lane in 0..N {
                    let at = (8 * step) & self.moves[lane];
                    let from = self.input[lane].wrapping_add(at).cast::<[u8; 8]>();
                    let to = self.output[lane].wrapping_add(at).cast::<[u8; 8]>();
                    let data = u64::from_ne_bytes(from.read()) ^ u64::from_ne_bytes(self.pads[lane]);
                    to.write(data.to_ne_bytes());
                }
            }
        }
        for lane in 0..N {
            let by = (8 * steps) & self.moves[lane];
            self.input[lane] = self.input[lane].wrapping_add(by);
            self.output[lane] = self.output[lane].wrapping_add(by);
        }
    }

    #[inline(always)]
    fn next(&mut self, lane: usize, job: &mut F8Job<'_>) -> usize {
        let whole = job.bits / 64 * 8;
        let len = job.data.len() - whole;
        if len == 0 {
            return 0;
        }
        // SAFETY: the lanes' own memory, which nothing else refers to here.
        let tail = unsafe { &mut *self.tails.cast::<[u8; 8]>().add(lane) };
        if self.in_tail[lane] {
            let [before] = job.data.load::<1>(whole + len - 1);
            tail[len - 1] = keep_beyond(job.bits, before, tail[len - 1]);
            job.data.output()[whole..].copy_from_slice(&tail[..len]);
            return 0;
        }
        tail[..len].copy_from_slice(&job.data.input()[whole..]);
        self.in_tail[lane] = true;
        self.work_on_tail(lane);
        1
    }

    #[inline(always)]
    fn idle(&mut self, lane: usize) {
        self.work_on_tail(lane);
        self.moves[lane] = 0;
    }

    #[inline(always)]
    fn finish(&mut self, lane: usize, job: &mut F8Job<'_>, _: usize) {
        let (number, last) = if self.fresh.is(place::<P>(lane)) {
            (0, 0)
        } else {
            (of_lane(&self.number, lane), of_lane(&self.chain, lane))
        };
        let stream = Keystream { start: job.start, number, last };
        let (_, rest) = job.data.reborrow().split_at(8 * number as usize);
        job.key.pour(stream, rest, job.bits - 64 * number as usize);
    }
}

/// The most whole blocks of a message that is padded in the lane's own memory and goes in one part.
const SHORT: usize = 8;

/// A lane's own memory: the first block, the whole blocks of a short message, the last blocks.
type Own = [[u8; 8]; 1 + SHORT + 2];

#[repr(C, align(64))]
struct F9Lanes<P, const N: usize> {
    keys: Keys<P, N>,
    a: Eight<P>,
    b: Eight<P>,
    blocks: [[u8; 8]; N],
    fresh: Fresh<N>,
    input: [*const u8; N],
    /// All ones for a lane that goes on through memory, 0 for one that is idle.
    moves: [usize; N],
    own: *mut [Own; N],
    parts: [Part; N],
}

/// The part of the padded string that a lane is in.
#[derive(Clone, Copy)]
enum Part {
    /// COUNT || FRESH.
    First,
    /// The message's whole blocks.
    Whole,
    /// The blocks that end the string.
    Last,
}

impl<P: Plane, const N: usize> F9Lanes<P, N> {
    #[inline(always)]
    unsafe fn new(own: *mut [Own; N]) -> Self {
        // SAFETY: vectors, numbers, pointers and truth values that are zero, and the first part.
        F9Lanes { own, ..unsafe { std::mem::zeroed() } }
    }

    #[inline(always)]
    fn own(&mut self, lane: usize) -> *mut Own {
        self.own.cast::<Own>().wrapping_add(lane)
    }

    /// Goes to the lane's next part. Returns its steps, or 0 after the last.
    #[inline(always)]
    fn part(&mut self, lane: usize, job: &F9Job<'_>) -> usize {
        let whole = job.bits / 64;
        match self.parts[lane] {
            Part::First => {
                self.parts[lane] = Part::Whole;
                self.input[lane] = job.message.as_ptr();
                whole
            }
            Part::Whole => {
                self.parts[lane] = Part::Last;
                let (end, blocks) = last_blocks(job.message, job.bits, job.direction);
                let own = self.own(lane);
                // SAFETY: the lanes' own memory, which nothing else refers to here.
                unsafe { own.cast::<[[u8; 8]; 2]>().write(end) };
                self.input[lane] = own.cast();
                blocks
            }
            Part::Last => 0,
        }
    }
}

impl<P: Plane, const N: usize> Lanes<F9Job<'_>, N> for F9Lanes<P, N> {
    #[inline(always)]
    fn fill(&mut self, lane: usize, job: &mut F9Job<'_>) -> usize {
        self.keys.set(lane, &job.key.keys.plain.key);
        self.fresh.mark(place::<P>(lane));
        self.moves[lane] = usize::MAX;
        let own = self.own(lane);
        self.input[lane] = own.cast();
        // SAFETY: the lanes' own memory, which nothing else refers to here.
        let own = unsafe { &mut *own };
        own[0] = first_block_f9(job.count, job.fresh).to_be_bytes();
        let whole = job.bits / 64;
        if whole > SHORT {
            self.parts[lane] = Part::First;
            return 1;
        }
        self.parts[lane] = Part::Last;
        for (i, block) in job.message.as_chunks().0.iter().enumerate() {
            own[1 + i] = *block;
        }
        let (end, blocks) = last_blocks(job.message, job.bits, job.direction);
        [own[1 + whole], own[2 + whole]] = end;
        1 + whole + blocks
    }

    #[inline(always)]
    fn run(&mut self, steps: usize) {
        // SAFETY: see the head of this file.
        unsafe {
            if self.fresh.any {
                self.keys.expand();
                self.fresh.clear(&mut self.a);
                self.fresh.clear(&mut self.b);
                self.fresh = Fresh { keep: [0xff; N], any: false };
            }
            for step in 0..steps {
                for lane in 0..N {
                    let at = (8 * step) & self.moves[lane];
                    self.blocks[lane] = self.input[lane].wrapping_add(at).cast::<[u8; 8]>().read();
                }
                let mut x = sliced::planes::<P>(&self.blocks);
                for i in 0..8 {
                    x[i] = x[i].xor(self.a[i]);
                }
                self.a = sliced::encrypt(&self.keys.planes, x);
                for i in 0..8 {
                    self.b[i] = self.b[i].xor(self.a[i]);
                }
            }
        }
        for lane in 0..N {
            let by = (8 * steps) & self.moves[lane];
            self.input[lane] = self.input[lane].wrapping_add(by);
        }
    }

    #[inline(always)]
    fn next(&mut self, lane: usize, job: &mut F9Job<'_>) -> usize {
        let steps = self.part(lane, job);
        if steps == 0 {
            job.sum = of_lane(&self.b, lane);
        }
        steps
    }

    #[inline(always)]
    fn idle(&mut self, lane: usize) {
        self.input[lane] = self.own(lane).cast();
        self.moves[lane] = 0;
    }

    #[inline(always)]
    fn finish(&mut self, lane: usize, job: &mut F9Job<'_>, mut steps: usize) {
        let mut sums = if self.fresh.is(place::<P>(lane)) {
            Sums::default()
        } else {
            Sums { a: of_lane(&self.a, lane), b: of_lane(&self.b, lane) }
        };
        while steps > 0 {
            // SAFETY: the lane has so many steps to go from there.
            let blocks = unsafe { std::slice::from_raw_parts(self.input[lane], 8 * steps) };
            sums = job.key.chain(sums, blocks);
            steps = self.part(lane, job);
        }
        job.sum = sums.b;
    }
}

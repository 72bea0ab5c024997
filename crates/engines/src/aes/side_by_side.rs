//! Chains of blocks side by side: the part that CBC, CFB and CMAC of many objects share.
//!
//! In a chain each block waits for the one before, so one object keeps the processor's AES units
//! busy for an eighth of the time or less. Here every lane of some registers holds the chaining value
//! of another object. A step takes a block of each, encrypts, and puts a block of each back.
//!
//! The lanes in use are always the first ones: when an object ends and none follows, the last lane moves into its
//! place. The remaining lanes of the last register repeat the first lane, and so need no memory of their own. (The
//! crate `kernel`'s scheduler leaves lanes where they are; here the last few objects run on fewer registers.)
//!
//! # Safety
//! The pointers of a lane come from the [`InOut`](crate::InOut) or the slice of its job, or point to
//! the lane's own tail, and are valid for the `left` blocks that the lane has to go. The jobs outlive the call. Within a
//! step all lanes read before any writes, so that a lane that repeats another finds the same data.
#![allow(unsafe_code)]

use std::ptr;

use zeroize::optimization_barrier;

use super::job::Chained;
use super::vector::{Keys, Rounds, each_round};
use super::{Block, Schedule};

/// The number of rounds whose keys are held in registers, if any are: four registers of lanes leave room for so many.
const HELD: usize = 6;

/// The most lanes that any tier has.
const MOST: usize = 16;

/// The length in bytes up to which objects of different keys are fastest with a register each.
const SHORT: usize = 80;

/// A register whose blocks belong to different objects.
pub(crate) trait Group: Rounds {
    /// The block `at` bytes after each pointer.
    ///
    /// # Safety
    /// There are `BLOCKS` pointers, valid for reading there.
    unsafe fn gather(keys: &Keys<'_, Self>, from: &[*const u8], at: usize) -> Self;

    /// Writes a block `at` bytes after each pointer.
    ///
    /// # Safety
    /// There are `BLOCKS` pointers, valid for writing there.
    unsafe fn scatter(self, to: &[*mut u8], at: usize);

    /// Loads `BLOCKS` consecutive blocks that were written singly a moment ago. They are loaded singly too, so that the
    /// loads need not wait until the stores have reached the cache.
    fn just_written(keys: &Keys<'_, Self>, blocks: &[Block]) -> Self;

    /// Loads `BLOCKS` consecutive blocks.
    fn column(keys: &Keys<'_, Self>, blocks: &[Block]) -> Self;

    /// Writes the blocks one after another.
    fn put(self, blocks: &mut [Block]);
}

/// The source of the lanes' round keys.
pub(crate) trait RoundKeys<'k, G: Group> {
    /// True if the first rounds' keys stay in registers. When each register has keys of its own, loading them for every
    /// block takes longer than the rounds.
    const HOLD: bool = false;

    /// Returns the proof of the features, and the number of rounds, which is the same for all lanes.
    fn keys(&self) -> &Keys<'k, G>;
    /// Returns the keys of round `i` for one register.
    fn round(&self, i: usize, register: usize) -> G;
    /// Gives a lane its round keys.
    fn fill(&mut self, lane: usize, schedule: &'k Schedule);
    /// Gives a lane the round keys of another lane.
    fn copy(&mut self, lane: usize, from: usize);
    /// Called before `R` registers are run.
    #[inline(always)]
    fn prepare<const R: usize>(&mut self) {}
}

/// One key for all.
pub(crate) struct Shared<'k, G>(pub(crate) Keys<'k, G>);

impl<'k, G: Group> RoundKeys<'k, G> for Shared<'k, G> {
    #[inline(always)]
    fn keys(&self) -> &Keys<'k, G> {
        &self.0
    }

    #[inline(always)]
    fn round(&self, i: usize, _: usize) -> G {
        self.0.round(i)
    }

    #[inline(always)]
    fn fill(&mut self, _: usize, _: &'k Schedule) {}

    #[inline(always)]
    fn copy(&mut self, _: usize, _: usize) {}
}

/// A key for each lane: the round keys of a register side by side, as its instructions take them.
#[repr(C, align(64))]
pub(crate) struct Own<'k, G> {
    rounds: [[Block; MOST]; 15],
    schedules: [&'k Schedule; MOST],
    /// A bit for each register whose lanes' keys differ from those in `rounds`.
    stale: u32,
    keys: Keys<'k, G>,
}

impl<'k, G: Group> Own<'k, G> {
    #[inline(always)]
    pub(crate) fn new(keys: Keys<'k, G>) -> Self {
        Own { rounds: [[[0; 16]; MOST]; 15], schedules: [keys.schedule(); MOST], stale: 0, keys }
    }
}

impl<'k, G: Group> RoundKeys<'k, G> for Own<'k, G> {
    const HOLD: bool = G::BLOCKS == 4 && !G::LOOP;

    #[inline(always)]
    fn keys(&self) -> &Keys<'k, G> {
        &self.keys
    }

    #[inline(always)]
    fn round(&self, i: usize, register: usize) -> G {
        G::column(&self.keys, &self.rounds[i][register * G::BLOCKS..][..G::BLOCKS])
    }

    #[inline(always)]
    fn fill(&mut self, lane: usize, schedule: &'k Schedule) {
        self.schedules[lane] = schedule;
        self.stale |= 1 << (lane / G::BLOCKS);
    }

    #[inline(always)]
    fn copy(&mut self, lane: usize, from: usize) {
        self.fill(lane, self.schedules[from]);
    }

    /// Copies whole registers at a time, so that each can be loaded in one piece right after.
    #[inline(always)]
    fn prepare<const R: usize>(&mut self) {
        if self.stale == 0 {
            return;
        }
        for register in 0..R {
            if self.stale >> register & 1 == 0 {
                continue;
            }
            let first = register * G::BLOCKS;
            let mut from = [ptr::null(); MOST];
            for lane in 0..G::BLOCKS {
                from[lane] = self.schedules[first + lane].encrypt.as_ptr().cast::<u8>();
            }
            for i in 0..15 {
                // SAFETY: every schedule has 15 round keys.
                let keys = unsafe { G::gather(&self.keys, &from[..G::BLOCKS], 16 * i) };
                keys.put(&mut self.rounds[i][first..][..G::BLOCKS]);
            }
        }
        self.stale = 0;
    }
}

impl<G> Drop for Own<'_, G> {
    #[inline(always)]
    fn drop(&mut self) {
        self.rounds = [[[0; 16]; MOST]; 15];
        optimization_barrier(&self.rounds);
    }
}

/// A key for each lane, for registers of one lane. There is nothing to lay out, so this is best for short objects.
pub(crate) struct Each<'k, G> {
    schedules: [&'k Schedule; 8],
    keys: Keys<'k, G>,
}

impl<'k, G: Group> Each<'k, G> {
    #[inline(always)]
    pub(crate) fn new(keys: Keys<'k, G>) -> Self {
        const { assert!(G::BLOCKS == 1) };
        Each { schedules: [keys.schedule(); 8], keys }
    }
}

impl<'k, G: Group> RoundKeys<'k, G> for Each<'k, G> {
    #[inline(always)]
    fn keys(&self) -> &Keys<'k, G> {
        &self.keys
    }

    #[inline(always)]
    fn round(&self, i: usize, register: usize) -> G {
        G::splat(&self.keys, &self.schedules[register].encrypt[i])
    }

    #[inline(always)]
    fn fill(&mut self, lane: usize, schedule: &'k Schedule) {
        self.schedules[lane] = schedule;
    }

    #[inline(always)]
    fn copy(&mut self, lane: usize, from: usize) {
        self.schedules[lane] = self.schedules[from];
    }
}

/// Lanes, of which the first `live` hold an object each.
#[repr(C, align(64))]
struct Chains<const N: usize> {
    chain: [Block; N],
    /// The rest of each object after its whole blocks. The array is not part of this struct, because `input` and
    /// `output` may point there.
    tails: *mut [Block; N],
    input: [*const u8; N],
    output: [*mut u8; N],
    /// The blocks still to be done of each lane's current part.
    left: [usize; N],
    /// The job of each lane, and true if its current part is the tail.
    owner: [(usize, bool); N],
    live: usize,
}

/// Encrypts all objects, whose schedules are of one length and in the form of the tier. If the objects have one key,
/// all use the schedule of the first. `N` lanes run in registers `G`, or in registers `One` if keys differ and the
/// objects are so short that laying keys side by side does not pay.
///
/// # Safety
/// The processor has the features of `G` and `One`.
#[inline(always)]
pub(crate) unsafe fn encrypt<'k, J, G, One, const N: usize>(jobs: &mut [&mut J], one_key: bool)
where
    J: Chained<'k>,
    G: Group,
    One: Group,
{
    let Some(first) = jobs.first() else { return };
    let (schedule, longest) = (first.schedule(), first.bytes());
    // SAFETY: the caller's promise.
    let (keys, one) = unsafe { (Keys::<G>::new(schedule), Keys::<One>::new(schedule)) };
    if one_key {
        work_off::<J, G, N>(Shared(keys), jobs);
    } else if G::BLOCKS == 1 || longest <= SHORT {
        work_off::<J, One, 8>(Each::new(one), jobs);
    } else {
        work_off::<J, G, N>(Own::new(keys), jobs);
    }
}

/// Works off all jobs, which come sorted with the longest first, on `N` lanes. The last few jobs run on fewer
/// registers.
#[inline(always)]
fn work_off<'k, J: Chained<'k>, G: Group, const N: usize>(
    mut keys: impl RoundKeys<'k, G>,
    jobs: &mut [&mut J],
) {
    const { assert!(N <= MOST && N <= 8 * G::BLOCKS) };
    let mut tails = [[0; 16]; N];
    let mut lanes = Chains::<N> {
        chain: [[0; 16]; N],
        tails: &raw mut tails,
        input: [ptr::null(); N],
        output: [ptr::null_mut(); N],
        left: [0; N],
        owner: [(0, false); N],
        live: 0,
    };
    let mut waiting = 0;
    while lanes.live < N && lanes.fill(lanes.live, jobs, &mut waiting) {
        keys.fill(lanes.live, jobs[lanes.owner[lanes.live].0].schedule());
        lanes.live += 1;
    }
    while lanes.live > 0 {
        let steps = lanes.shortest();
        // SAFETY: no lane has fewer steps to go.
        unsafe {
            match lanes.live.div_ceil(G::BLOCKS) {
                1 => lanes.run::<J, G, _, 1>(&mut keys, steps),
                2 => lanes.run::<J, G, _, 2>(&mut keys, steps),
                3..=4 => lanes.run::<J, G, _, 4>(&mut keys, steps),
                5..=8 if N > 4 * G::BLOCKS => lanes.run::<J, G, _, 8>(&mut keys, steps),
                _ => unreachable!("more registers than lanes"),
            }
        }
        let mut lane = lanes.live;
        while lane > 0 {
            lane -= 1;
            if lanes.left[lane] > 0 || lanes.next(lane, jobs) {
                continue;
            }
            if lanes.fill(lane, jobs, &mut waiting) {
                keys.fill(lane, jobs[lanes.owner[lane].0].schedule());
            } else {
                lanes.live -= 1;
                lanes.copy(lane, lanes.live);
                keys.copy(lane, lanes.live);
            }
        }
    }
    lanes.chain = [[0; 16]; N];
    optimization_barrier(&lanes.chain);
    tails = [[0; 16]; N];
    optimization_barrier(&tails);
}

impl<const N: usize> Chains<N> {
    /// Puts the next job that has any blocks into a lane.
    #[inline(always)]
    fn fill<'k, J: Chained<'k>>(&mut self, lane: usize, jobs: &mut [&mut J], waiting: &mut usize) -> bool {
        while let Some(job) = jobs.get_mut(*waiting) {
            let part = job.begin();
            self.chain[lane] = part.chain;
            self.input[lane] = part.input;
            self.output[lane] = part.output;
            self.left[lane] = part.blocks;
            self.owner[lane] = (*waiting, false);
            *waiting += 1;
            if part.blocks > 0 || self.next(lane, jobs) {
                return true;
            }
        }
        false
    }

    /// Ends a lane's part: goes on to the tail, or ends the job.
    #[inline(always)]
    fn next<'k, J: Chained<'k>>(&mut self, lane: usize, jobs: &mut [&mut J]) -> bool {
        let (owner, in_tail) = self.owner[lane];
        let job = &mut jobs[owner];
        // SAFETY: a block of the array, which nothing else refers to now.
        let tail = unsafe { &mut (*self.tails)[lane] };
        if !in_tail && job.tail(&mut self.chain[lane], tail) {
            self.owner[lane].1 = true;
            self.left[lane] = 1;
            self.point_to_tail(lane);
            return true;
        }
        job.finish(&self.chain[lane], in_tail.then_some(tail));
        false
    }

    #[inline(always)]
    fn copy(&mut self, lane: usize, from: usize) {
        if lane == from {
            return;
        }
        self.chain[lane] = self.chain[from];
        self.input[lane] = self.input[from];
        self.output[lane] = self.output[from];
        self.left[lane] = self.left[from];
        self.owner[lane] = self.owner[from];
        if self.owner[lane].1 {
            // SAFETY: as in `next`.
            unsafe { (*self.tails)[lane] = (*self.tails)[from] };
            self.point_to_tail(lane);
        }
    }

    #[inline(always)]
    fn point_to_tail(&mut self, lane: usize) {
        self.output[lane] = self.tails.cast::<u8>().wrapping_add(16 * lane);
        self.input[lane] = self.output[lane];
    }

    /// Returns the fewest blocks that a lane still has to do.
    #[inline(always)]
    fn shortest(&self) -> usize {
        let mut steps = self.left[0];
        for lane in 1..self.live {
            steps = steps.min(self.left[lane]);
        }
        steps
    }

    /// Takes `R` registers `steps` blocks further.
    ///
    /// # Safety
    /// Every live lane has so many blocks to go.
    #[inline(always)]
    unsafe fn run<'k, J: Chained<'k>, G: Group, K: RoundKeys<'k, G>, const R: usize>(
        &mut self,
        keys: &mut K,
        steps: usize,
    ) {
        for lane in self.live..R * G::BLOCKS {
            self.chain[lane] = self.chain[0];
            self.input[lane] = self.input[0];
            self.output[lane] = self.output[0];
            keys.copy(lane, 0);
        }
        keys.prepare::<R>();
        let proof = *keys.keys();
        let mut state = [G::just_written(&proof, &self.chain[..G::BLOCKS]); R];
        for i in 1..R {
            state[i] = G::just_written(&proof, &self.chain[i * G::BLOCKS..][..G::BLOCKS]);
        }
        let mut held = [state; HELD];
        if K::HOLD {
            for i in 0..HELD {
                for register in 0..R {
                    held[i][register] = keys.round(i, register);
                }
            }
        }
        for step in 0..steps {
            // SAFETY: block `step` is one of those that each lane has to go.
            state = unsafe { self.step::<J, G, K, R>(keys, &held, state, 16 * step) };
        }
        for i in 0..R {
            state[i].put(&mut self.chain[i * G::BLOCKS..][..G::BLOCKS]);
        }
        for lane in 0..R * G::BLOCKS {
            self.left[lane] = self.left[lane].wrapping_sub(steps);
            self.input[lane] = self.input[lane].wrapping_add(16 * steps);
            self.output[lane] = self.output[lane].wrapping_add(16 * steps);
        }
    }

    /// Encrypts one block of each lane, `at` bytes on.
    ///
    /// # Safety
    /// Each lane has a block there.
    #[inline(always)]
    unsafe fn step<'k, J: Chained<'k>, G: Group, K: RoundKeys<'k, G>, const R: usize>(
        &self,
        keys: &K,
        held: &[[G; R]; HELD],
        mut state: [G; R],
        at: usize,
    ) -> [G; R] {
        let proof = keys.keys();
        for i in 0..R {
            state[i] = state[i].xor(if K::HOLD { held[0][i] } else { keys.round(0, i) });
            if J::BEFORE {
                // SAFETY: the caller's promise; so below.
                let data = unsafe { G::gather(proof, &self.input[i * G::BLOCKS..][..G::BLOCKS], at) };
                state[i] = state[i].xor(data);
            }
            state[i] = state[i].enter();
        }
        let rounds = proof.schedule().rounds;
        each_round!(G, rounds, round => {
            for i in 0..R {
                let hold = K::HOLD && round < HELD;
                let key = if hold { held[round % HELD][i] } else { keys.round(round, i) };
                state[i] = state[i].enc(key);
            }
        });
        let last = (rounds & 15).min(14);
        for i in 0..R {
            let mut key = keys.round(last, i);
            if !J::BEFORE {
                // SAFETY: as above.
                let data = unsafe { G::gather(proof, &self.input[i * G::BLOCKS..][..G::BLOCKS], at) };
                key = key.xor(data);
            }
            state[i] = state[i].enc_last(key);
        }
        if J::WRITES {
            for i in 0..R {
                // SAFETY: as above.
                unsafe { state[i].scatter(&self.output[i * G::BLOCKS..][..G::BLOCKS], at) };
            }
        }
        state
    }
}

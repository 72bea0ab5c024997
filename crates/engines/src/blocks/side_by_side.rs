//! CBC encryption and CTR over as many messages as a plane has bytes, under equal or different keys.
//!
//! Ref. NIST SP 800-38A §6.2 (CBC), §6.5 (CTR).
//!
//! # Safety
//! The promises of [`planes`] hold here too. Pointers come from the jobs, which are borrowed for as
//! long as the lanes exist. A lane that is run for as many steps as its job needs reads and writes
//! `16 * steps` bytes of its message, and otherwise only the lanes' own memory.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

use super::job::{CbcJob, CtrJob};
use super::planes::{self, Computes, KeyPlanes};
use super::{Block, Cipher, Subkeys};
use crate::lanes::{Lanes, schedule};
use crate::modes::BlockMode;

/// The greatest number of newly filled lanes that get their subkeys byte by byte. More lanes get
/// them all together.
const FEW: u32 = 4;

/// Overwrites memory that held keys or chaining values.
#[inline(always)]
fn wipe<T>(secret: &mut T) {
    // SAFETY: plain data that is not used again.
    unsafe { std::ptr::from_mut(secret).write_bytes(0, 1) };
    zeroize::optimization_barrier(secret);
}

#[inline(always)]
fn xor(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// The keys of `N` lanes, all of one length.
#[repr(C, align(64))]
struct LaneKeys<'k, C: Cipher, P: Copy, const N: usize> {
    planes: KeyPlanes<C, P>,
    /// The one key of all lanes, if they have the same.
    common: Option<&'k Subkeys<C>>,
    of: [Option<&'k Subkeys<C>>; N],
    /// A bit for each lane filled since the last run.
    fresh: u64,
}

impl<'k, C: Cipher, P: Computes<C>, const N: usize> LaneKeys<'k, C, P, N> {
    #[inline(always)]
    fn set(&mut self, lane: usize, subkeys: &'k Subkeys<C>) {
        self.of[lane] = Some(subkeys);
        self.fresh |= 1 << lane;
    }

    /// Takes the subkeys of newly filled lanes over into the planes.
    #[inline(always)]
    unsafe fn take(&mut self) {
        if self.common.is_some() || self.fresh == 0 {
            return;
        }
        if self.fresh.count_ones() > FEW {
            // SAFETY: see the head of this file.
            unsafe { self.take_all() };
        } else {
            while self.fresh != 0 {
                self.take_one(self.fresh.trailing_zeros() as usize);
                self.fresh &= self.fresh - 1;
            }
        }
        self.fresh = 0;
    }

    #[inline(always)]
    fn take_one(&mut self, lane: usize) {
        let Some(subkeys) = self.of[lane] else { return };
        // Row `r` of a batch of blocks is byte `r / (N / 16)` of part `r % (N / 16)` of a plane.
        let place = lane % (N / 16) * 16 + lane / (N / 16);
        self.planes.used = subkeys.used;
        for (planes, row) in self.planes.bytes.as_mut().iter_mut().zip(subkeys.rows()) {
            for (plane, &byte) in planes.iter_mut().zip(row) {
                // SAFETY: a plane is `N` bytes, and `place` is less.
                unsafe { std::ptr::from_mut(plane).cast::<u8>().add(place).write(byte) };
            }
        }
    }

    #[inline(always)]
    unsafe fn take_all(&mut self) {
        let mut rows = [[0; 16]; N];
        for row in 0..self.planes.bytes.as_ref().len() {
            for lane in 0..N {
                let Some(subkeys) = self.of[lane] else { continue };
                self.planes.used = subkeys.used;
                rows[lane] = subkeys.rows.as_ref()[row];
            }
            if row >= self.planes.used {
                break;
            }
            // SAFETY: sixteen vectors are the rows; for the features see the head of this file.
            unsafe {
                let mut x = [P::splat(0); 16];
                for i in 0..16 {
                    x[i] = P::load(rows.as_ptr().cast::<u8>().add(i * N));
                }
                self.planes.bytes.as_mut()[row] = planes::transpose(x);
            }
        }
        wipe(&mut rows);
    }

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut [Block; N]) {
        // SAFETY: see the head of this file.
        unsafe {
            match self.common {
                Some(subkeys) => planes::crypt::<C, P, _>(subkeys, blocks.as_flattened_mut()),
                None => planes::crypt::<C, P, _>(&self.planes, blocks.as_flattened_mut()),
            }
        }
    }
}

/// The messages of the lanes.
#[repr(C, align(64))]
struct Cursors<const N: usize> {
    input: [*const u8; N],
    output: [*mut u8; N],
    /// All ones for a lane that goes on through memory, 0 for one that stays at the block of its own
    /// in `own`.
    moves: [usize; N],
    own: *mut [Block; N],
}

impl<const N: usize> Cursors<N> {
    #[inline(always)]
    fn set(&mut self, lane: usize, data: &mut crate::InOut<'_>) {
        self.input[lane] = data.input_ptr();
        self.output[lane] = data.output_ptr();
        self.moves[lane] = usize::MAX;
    }

    #[inline(always)]
    fn own(&self, lane: usize) -> *mut Block {
        self.own.cast::<Block>().wrapping_add(lane)
    }

    #[inline(always)]
    fn stay(&mut self, lane: usize) {
        let own = self.own(lane).cast::<u8>();
        (self.input[lane], self.output[lane]) = (own, own);
        self.moves[lane] = 0;
    }

    #[inline(always)]
    unsafe fn load(&self, lane: usize, step: usize) -> Block {
        let at = (16 * step) & self.moves[lane];
        // SAFETY: see the head of this file.
        unsafe { self.input[lane].wrapping_add(at).cast::<Block>().read() }
    }

    #[inline(always)]
    unsafe fn store(&self, lane: usize, step: usize, block: Block) {
        let at = (16 * step) & self.moves[lane];
        // SAFETY: see the head of this file.
        unsafe { self.output[lane].wrapping_add(at).cast::<Block>().write(block) }
    }

    #[inline(always)]
    fn advance(&mut self, steps: usize) {
        for lane in 0..N {
            let by = (16 * steps) & self.moves[lane];
            self.input[lane] = self.input[lane].wrapping_add(by);
            self.output[lane] = self.output[lane].wrapping_add(by);
        }
    }
}

/// CBC encryption of all messages, whose keys are of one length.
#[inline(always)]
pub(crate) unsafe fn cbc<C: Cipher, P: Computes<C>, const N: usize>(
    jobs: &mut [&mut CbcJob<'_, C>],
    fewest: usize,
) {
    const { assert!(N == P::BYTES && N <= 64) };
    let mut own = [[0; 16]; N];
    // SAFETY: vectors, numbers, pointers and references that may be missing.
    let mut lanes: CbcLanes<'_, C, P, N> = unsafe { std::mem::zeroed() };
    lanes.cursors.own = &raw mut own;
    let first: Option<&Subkeys<C>> = jobs.first().map(|job| &job.key.schedule.encrypt);
    if let Some(first) = first
        && jobs.iter().all(|job| std::ptr::eq(&job.key.schedule.encrypt, first))
    {
        lanes.keys.common = Some(first);
    }
    schedule(&mut lanes, jobs, fewest);
    wipe(&mut lanes);
    wipe(&mut own);
}

#[repr(C, align(64))]
struct CbcLanes<'k, C: Cipher, P: Copy, const N: usize> {
    keys: LaneKeys<'k, C, P, N>,
    chains: [Block; N],
    cursors: Cursors<N>,
}

impl<'k, C: Cipher, P: Computes<C>, const N: usize> Lanes<CbcJob<'k, C>, N> for CbcLanes<'k, C, P, N> {
    #[inline(always)]
    fn fill(&mut self, lane: usize, job: &mut CbcJob<'k, C>) -> usize {
        self.keys.set(lane, &job.key.schedule.encrypt);
        self.chains[lane] = job.iv;
        self.cursors.set(lane, &mut job.data);
        job.data.len() / 16
    }

    #[inline(always)]
    fn run(&mut self, steps: usize) {
        // SAFETY: see the head of this file.
        unsafe {
            self.keys.take();
            for step in 0..steps {
                for lane in 0..N {
                    self.chains[lane] = xor(self.chains[lane], self.cursors.load(lane, step));
                }
                self.keys.crypt(&mut self.chains);
                for lane in 0..N {
                    self.cursors.store(lane, step, self.chains[lane]);
                }
            }
        }
        self.cursors.advance(steps);
    }

    #[inline(always)]
    fn next(&mut self, lane: usize, job: &mut CbcJob<'k, C>) -> usize {
        job.iv = self.chains[lane];
        0
    }

    #[inline(always)]
    fn idle(&mut self, lane: usize) {
        self.cursors.stay(lane);
    }

    #[inline(always)]
    fn finish(&mut self, lane: usize, job: &mut CbcJob<'k, C>, steps: usize) {
        job.iv = self.chains[lane];
        let done = job.data.len() - 16 * steps;
        job.key.encrypt(&mut job.iv, job.data.reborrow().split_at(done).1);
    }
}

/// CTR over all messages, whose keys are of one length.
#[inline(always)]
pub(crate) unsafe fn ctr<C: Cipher, P: Computes<C>, const N: usize>(jobs: &mut [&mut CtrJob<'_, C>]) {
    const { assert!(N == P::BYTES && N <= 64) };
    let mut own = [[0; 16]; N];
    // SAFETY: vectors, numbers, pointers and references that may be missing.
    let mut lanes: CtrLanes<'_, C, P, N> = unsafe { std::mem::zeroed() };
    lanes.cursors.own = &raw mut own;
    let first: Option<&Subkeys<C>> = jobs.first().map(|job| &job.key.schedule.encrypt);
    if let Some(first) = first
        && jobs.iter().all(|job| std::ptr::eq(&job.key.schedule.encrypt, first))
    {
        lanes.keys.common = Some(first);
    }
    schedule(&mut lanes, jobs, 1);
    wipe(&mut lanes);
    wipe(&mut own);
}

#[repr(C, align(64))]
struct CtrLanes<'k, C: Cipher, P: Copy, const N: usize> {
    keys: LaneKeys<'k, C, P, N>,
    counters: [u128; N],
    pads: [Block; N],
    cursors: Cursors<N>,
}

impl<'k, C: Cipher, P: Computes<C>, const N: usize> Lanes<CtrJob<'k, C>, N> for CtrLanes<'k, C, P, N> {
    #[inline(always)]
    fn fill(&mut self, lane: usize, job: &mut CtrJob<'k, C>) -> usize {
        self.keys.set(lane, &job.key.schedule.encrypt);
        self.counters[lane] = u128::from_be_bytes(job.counter);
        self.cursors.set(lane, &mut job.data);
        job.data.len() / 16
    }

    #[inline(always)]
    fn run(&mut self, steps: usize) {
        // SAFETY: see the head of this file.
        unsafe {
            self.keys.take();
            for step in 0..steps {
                for lane in 0..N {
                    self.pads[lane] = self.counters[lane].to_be_bytes();
                    self.counters[lane] = self.counters[lane].wrapping_add(1);
                }
                self.keys.crypt(&mut self.pads);
                for lane in 0..N {
                    let block = xor(self.cursors.load(lane, step), self.pads[lane]);
                    self.cursors.store(lane, step, block);
                }
            }
        }
        self.cursors.advance(steps);
    }

    #[inline(always)]
    fn next(&mut self, lane: usize, job: &mut CtrJob<'k, C>) -> usize {
        let (whole, len) = (job.data.len() / 16 * 16, job.data.len() % 16);
        if len == 0 {
            return 0;
        }
        // SAFETY: the lanes' own memory, which nothing else refers to here.
        let own = unsafe { &mut *self.cursors.own(lane) };
        if self.cursors.moves[lane] == 0 {
            job.data.output()[whole..].copy_from_slice(&own[..len]);
            return 0;
        }
        own[..len].copy_from_slice(&job.data.input()[whole..]);
        self.cursors.stay(lane);
        1
    }

    #[inline(always)]
    fn idle(&mut self, lane: usize) {
        self.cursors.stay(lane);
    }

    #[inline(always)]
    fn finish(&mut self, _: usize, _: &mut CtrJob<'k, C>, _: usize) {
        unreachable!("one live lane is enough to run");
    }
}

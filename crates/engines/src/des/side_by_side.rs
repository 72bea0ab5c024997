//! The lanes' work, written once over the functions of a kernel: chains of many messages in step,
//! and the blocks of many messages gathered for one pass.
//!
//! A wave goes by batches of 64 bytes of every message, so that each line of memory is touched once.
//! The messages are sorted with the longest first, so the live lanes are the first ones. Between
//! batches the whole state is in the jobs, and a wave may go on in a narrower form.
//!
//! Ref. FIPS 81; NIST SP 800-38A §6.2 (CBC), §6.3 (CFB with 64-bit segments); FIPS 113 (the MAC).
//!
//! # Safety
//! Every function here is an inlined body of a kernel's entry point and may be called only where
//! that kernel's features are: its caller's target features are the witness. Loads and stores
//! through a job's pointers stay within its length.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use zeroize::{Zeroize, optimization_barrier};

use super::job::{CbcJob, Job, direct_decrypt};
use super::ops::BLOCK;
use super::schedule::Schedule;
use super::slices::{KeySlices, OneKey, Slice};
use crate::modes::Direction;

/// Blocks of one message in a batch.
pub(super) const BATCH: usize = 8;

/// A row of blocks: one of each of `W` messages, or `W` of one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Row<const W: usize>(pub(super) [u64; W]);

impl<const W: usize> Default for Row<W> {
    #[inline(always)]
    fn default() -> Self {
        Row([0; W])
    }
}

/// A batch: block `i` of lane `n` is `0[i].0[n]`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Batch<const W: usize>(pub(super) [Row<W>; BATCH]);

impl<const W: usize> Default for Batch<W> {
    #[inline(always)]
    fn default() -> Self {
        Batch([Row::default(); BATCH])
    }
}

impl<const W: usize> AsRef<[u64]> for Row<W> {
    #[inline(always)]
    fn as_ref(&self) -> &[u64] {
        &self.0
    }
}

impl<const W: usize> AsMut<[u64]> for Row<W> {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

#[cfg(target_arch = "x86_64")]
impl Row<512> {
    #[inline(always)]
    pub(super) fn first_half(&mut self) -> &mut Row<256> {
        // SAFETY: aligned and laid out the same.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }
}

#[cfg(target_arch = "x86_64")]
impl<const W: usize> Row<W> {
    /// Returns `N` blocks from `at`, itself a multiple of 8.
    #[inline(always)]
    pub(super) fn part<const N: usize>(&mut self, at: usize) -> &mut Row<N> {
        assert!(at.is_multiple_of(8) && N.is_multiple_of(8));
        // SAFETY: aligned, as 8 blocks are a line, and laid out the same.
        unsafe { &mut *self.0[at..at + N].as_mut_ptr().cast() }
    }
}

impl<const W: usize> Zeroize for Row<W> {
    #[inline(always)]
    fn zeroize(&mut self) {
        *self = Row::default();
        optimization_barrier(self);
    }
}

impl<const W: usize> Zeroize for Batch<W> {
    #[inline(always)]
    fn zeroize(&mut self) {
        *self = Batch::default();
        optimization_barrier(self);
    }
}

/// A kernel's way to move batches: eight messages between memory and the lanes.
pub(super) trait Transfer {
    /// Reads up to 64 bytes for each of the lanes from `at`. Beyond a message's end it reads zeros.
    ///
    /// # Safety
    /// The kernel's features exist, and each lane's pointer is valid for its length.
    unsafe fn load<const W: usize>(batch: &mut Batch<W>, at: usize, lanes: &[(*const u8, usize); 8]);

    /// Writes the bytes that [`Transfer::load`] would have read.
    ///
    /// # Safety
    /// The kernel's features exist, and each lane's pointer is valid for its length.
    unsafe fn store<const W: usize>(batch: &Batch<W>, at: usize, lanes: &[(*mut u8, usize); 8]);
}

/// Transfer without vectors.
pub(super) struct Words;

impl Transfer for Words {
    #[inline(always)]
    unsafe fn load<const W: usize>(batch: &mut Batch<W>, at: usize, lanes: &[(*const u8, usize); 8]) {
        for n in 0..8 {
            let (message, len) = lanes[n];
            if len >= BATCH * BLOCK {
                // SAFETY: within the message, as the caller says.
                let line = unsafe { message.cast::<[u64; BATCH]>().read_unaligned() };
                for i in 0..BATCH {
                    batch.0[i].0[at + n] = line[i];
                }
                continue;
            }
            let mut i = 0;
            while BLOCK * (i + 1) <= len {
                // SAFETY: as above.
                batch.0[i].0[at + n] = unsafe { message.add(BLOCK * i).cast::<u64>().read_unaligned() };
                i += 1;
            }
            let mut last = [0; BLOCK];
            for j in BLOCK * i..len {
                // SAFETY: as above.
                last[j % BLOCK] = unsafe { *message.add(j) };
            }
            batch.0[i].0[at + n] = u64::from_ne_bytes(last);
        }
    }

    #[inline(always)]
    unsafe fn store<const W: usize>(batch: &Batch<W>, at: usize, lanes: &[(*mut u8, usize); 8]) {
        for n in 0..8 {
            let (message, len) = lanes[n];
            if len >= BATCH * BLOCK {
                let mut line = [0; BATCH];
                for i in 0..BATCH {
                    line[i] = batch.0[i].0[at + n];
                }
                // SAFETY: within the message, as the caller says.
                unsafe { message.cast::<[u64; BATCH]>().write_unaligned(line) };
                continue;
            }
            let mut i = 0;
            while BLOCK * (i + 1) <= len {
                // SAFETY: as above.
                unsafe { message.add(BLOCK * i).cast::<u64>().write_unaligned(batch.0[i].0[at + n]) };
                i += 1;
            }
            let last = batch.0[i].0[at + n].to_ne_bytes();
            for j in BLOCK * i..len {
                // SAFETY: as above.
                unsafe { *message.add(j) = last[j % BLOCK] };
            }
        }
    }
}

/// A way in which a kernel works on `W` blocks at a time, with the keys made ready for it.
pub(super) trait Form<const W: usize> {
    type Transfer: Transfer;

    /// Ciphers the first `live` lanes' blocks. The other blocks may hold anything afterwards.
    ///
    /// # Safety
    /// The kernel's features exist.
    unsafe fn crypt(&self, blocks: &mut Row<W>, live: usize);
}

/// Returns the schedule of each of `W` lanes. Idle lanes have the first one's.
#[inline(always)]
pub(super) fn schedules<'k, J: Job<'k>, const W: usize>(jobs: &[&mut J]) -> [&'k Schedule; W] {
    let mut schedules = [jobs[0].keyed().schedule(); W];
    for (schedule, job) in schedules.iter_mut().zip(jobs) {
        *schedule = job.keyed().schedule();
    }
    schedules
}

/// Returns true if all jobs have the same key, which is compared by its schedule's address.
#[inline(always)]
pub(super) fn one_key<'k, J: Job<'k>>(jobs: &[&mut J]) -> bool {
    jobs.iter().all(|job| std::ptr::eq(job.keyed().schedule(), jobs[0].keyed().schedule()))
}

/// The progress of all jobs: the first `live` of them have done `done` bytes, and the others have
/// ended.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    pub(super) live: usize,
    pub(super) done: usize,
}

impl Progress {
    /// Begins all of these jobs. Empty ones have ended already.
    #[inline(always)]
    pub(super) fn new<'k, J: Job<'k>>(jobs: &[&mut J]) -> Self {
        let mut progress = Progress { live: jobs.len(), done: 0 };
        progress.retire(jobs);
        progress
    }

    /// Ends the live jobs with their direct kernels.
    #[inline(always)]
    pub(super) fn finish<'k, J: Job<'k>>(self, jobs: &mut [&mut J]) {
        for job in &mut jobs[..self.live] {
            job.finish(self.done);
        }
    }

    /// Retires the jobs that have ended, which are the last ones.
    #[inline(always)]
    fn retire<'k, J: Job<'k>>(&mut self, jobs: &[&mut J]) {
        while self.live > 0 && jobs[self.live - 1].len() <= self.done {
            self.live -= 1;
        }
    }
}

/// Runs the first jobs, no more than `W`, until fewer than `fewest` of them are live.
#[inline(always)]
pub(super) unsafe fn chain<'k, F: Form<W>, J: Job<'k>, const W: usize>(
    form: &F,
    jobs: &mut [&mut J],
    progress: &mut Progress,
    fewest: usize,
) {
    let mut batch = Batch::<W>::default();
    let mut chain = Row::<W>::default();
    for n in 0..progress.live {
        chain.0[n] = u64::from_ne_bytes(*jobs[n].chain());
    }
    while progress.live >= fewest {
        let steps = BATCH.min((jobs[0].len() - progress.done).div_ceil(BLOCK));
        // SAFETY: as the caller says.
        unsafe {
            load::<F::Transfer, J, W>(&mut batch, jobs, *progress);
            for row in &mut batch.0[..steps] {
                if J::FEEDBACK {
                    form.crypt(&mut chain, progress.live);
                    add(&mut chain, row);
                } else {
                    add(&mut chain, row);
                    form.crypt(&mut chain, progress.live);
                }
                *row = chain;
            }
            store::<F::Transfer, J, W>(&batch, jobs, *progress);
        }
        progress.done += BATCH * BLOCK;
        progress.retire(jobs);
    }
    batch.zeroize();
    chain.zeroize();
}

#[inline(always)]
fn add<const W: usize>(blocks: &mut Row<W>, others: &Row<W>) {
    for n in 0..W {
        blocks.0[n] ^= others.0[n];
    }
}

#[inline(always)]
unsafe fn load<'k, T: Transfer, J: Job<'k>, const W: usize>(
    batch: &mut Batch<W>,
    jobs: &mut [&mut J],
    Progress { live, done }: Progress,
) {
    for at in (0..live).step_by(8) {
        let mut lanes = [(std::ptr::null(), 0); 8];
        for n in 0..8.min(live - at) {
            let job = &*jobs[at + n];
            // SAFETY: a live job is longer than `done`.
            lanes[n] = (unsafe { job.input().add(done) }, job.len() - done);
        }
        // SAFETY: as the caller says.
        unsafe { T::load(batch, at, &lanes) };
    }
}

/// Writes the batch, and each job's chaining value.
#[inline(always)]
unsafe fn store<'k, T: Transfer, J: Job<'k>, const W: usize>(
    batch: &Batch<W>,
    jobs: &mut [&mut J],
    Progress { live, done }: Progress,
) {
    for at in (0..live).step_by(8) {
        let mut lanes = [(std::ptr::null_mut(), 0); 8];
        for n in 0..8.min(live - at) {
            let job = &mut *jobs[at + n];
            let left = job.len() - done;
            let blocks = if J::PADDED { left.div_ceil(BLOCK) } else { left / BLOCK };
            if blocks > 0 {
                *job.chain() = batch.0[blocks.min(BATCH) - 1].0[at + n].to_ne_bytes();
            }
            if let Some(output) = job.output() {
                // SAFETY: a live job is longer than `done`.
                lanes[n] = (unsafe { output.add(done) }, left);
            }
        }
        // SAFETY: as the caller says.
        unsafe { T::store(batch, at, &lanes) };
    }
}

/// A place in the blocks of consecutive jobs.
#[derive(Clone, Copy)]
pub(super) struct Place {
    job: usize,
    at: usize,
}

/// The blocks of one pass of decryption, and the data to finish them.
pub(super) struct Gathered<const W: usize> {
    pub(super) blocks: Row<W>,
    /// The ciphertext block before each block, which is added to the cipher's output.
    before: Row<W>,
    begin: Place,
    end: Place,
    used: usize,
    /// True if all blocks have one key.
    one_key: bool,
}

impl<const W: usize> Gathered<W> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let begin = Place { job: 0, at: 0 };
        Gathered { blocks: Row::default(), before: Row::default(), begin, end: begin, used: 0, one_key: true }
    }

    /// Takes the next blocks, up to `W`, and stores their schedules in `schedules`.
    #[inline(always)]
    pub(super) fn gather<'k>(&mut self, jobs: &mut [&mut CbcJob<'k>], schedules: &mut [&'k Schedule; W]) {
        self.begin = self.end;
        self.used = 0;
        self.one_key = true;
        while self.used < W && self.end.job < jobs.len() {
            let job = &mut *jobs[self.end.job];
            let n = (W - self.used).min((job.data.len() - self.end.at) / BLOCK);
            let schedule = job.keyed().schedule();
            self.one_key &= self.used == 0 || std::ptr::eq(schedule, schedules[0]);
            let mut before = u64::from_ne_bytes(job.iv);
            for i in self.used..self.used + n {
                let block = u64::from_ne_bytes(job.data.load(self.end.at));
                (self.blocks.0[i], self.before.0[i]) = (block, before);
                schedules[i] = schedule;
                before = block;
                self.end.at += BLOCK;
            }
            job.iv = before.to_ne_bytes();
            self.used += n;
            if self.end.at == job.data.len() {
                self.end = Place { job: self.end.job + 1, at: 0 };
            }
        }
    }

    /// Writes each output to the place of its input.
    #[inline(always)]
    pub(super) fn scatter(&mut self, jobs: &mut [&mut CbcJob<'_>]) {
        let Place { mut job, mut at } = self.begin;
        let mut i = 0;
        while i < self.used {
            let data = &mut jobs[job].data;
            while i < self.used && at < data.len() {
                data.store(at, (self.blocks.0[i] ^ self.before.0[i]).to_ne_bytes());
                at += BLOCK;
                i += 1;
            }
            (job, at) = (job + 1, 0);
        }
    }

    #[inline(always)]
    pub(super) fn wipe(&mut self) {
        self.blocks.zeroize();
        self.before.zeroize();
    }
}

/// Deciphers all blocks of all jobs, `W` at a time. If there are fewer than `fewest` in all, each
/// job goes to its direct kernel.
#[inline(always)]
pub(super) unsafe fn cbc_decrypt<K: Decipher<W>, const W: usize>(
    jobs: &mut [&mut CbcJob<'_>],
    fewest: usize,
) {
    let blocks: usize = jobs.iter().map(|job| job.data.len() / BLOCK).sum();
    if blocks < fewest.max(1) {
        return direct_decrypt(jobs);
    }
    let mut gathered = Gathered::<W>::new();
    let mut schedules = [jobs[0].keyed().schedule(); W];
    loop {
        gathered.gather(jobs, &mut schedules);
        if gathered.used == 0 {
            break;
        }
        // SAFETY: as the caller says.
        unsafe { K::decipher(&schedules, gathered.one_key, &mut gathered.blocks, gathered.used) };
        gathered.scatter(jobs);
    }
    gathered.wipe();
}

/// A kernel's way to decipher independent blocks.
pub(super) trait Decipher<const W: usize> {
    /// Deciphers the first `used` blocks, all under one key if `one_key`, otherwise each under its
    /// own.
    ///
    /// # Safety
    /// The kernel's features exist.
    unsafe fn decipher(schedules: &[&Schedule; W], one_key: bool, blocks: &mut Row<W>, used: usize);
}

/// Slices with which a kernel ciphers `W` blocks.
pub(super) trait Sliced<const W: usize>: Slice {
    type Transfer: Transfer;

    /// # Safety
    /// The kernel's features exist.
    unsafe fn one_key(key: OneKey<'_>, blocks: &mut Row<W>);

    /// # Safety
    /// The kernel's features exist.
    unsafe fn many_keys(keys: &KeySlices<Self>, blocks: &mut Row<W>);

    /// Prepares the keys of all blocks.
    ///
    /// # Safety
    /// The kernel's features exist.
    unsafe fn keys(schedules: &[&Schedule; W], direction: Direction) -> KeySlices<Self>;
}

/// Implements [`Sliced`] for a type of slices. The functions are not inlined, because every kind of
/// job has the same ones.
macro_rules! sliced {
    ($slice:ty, $width:literal, $transfer:ty $(, $features:literal)?) => {
        const _: () = {
            use $crate::des::schedule::Schedule;
            use $crate::des::slices::{KeySlices, OneKey, crypt};
            use $crate::des::side_by_side::{Row, Sliced, key_slices};
            use $crate::modes::Direction;

            impl Sliced<$width> for $slice {
                type Transfer = $transfer;

                unsafe fn one_key(key: OneKey<'_>, blocks: &mut Row<$width>) {
                    // SAFETY: the caller vouches for the kernel's features.
                    unsafe { one_key(key, blocks) }
                }

                unsafe fn many_keys(keys: &KeySlices<Self>, blocks: &mut Row<$width>) {
                    // SAFETY: as above.
                    unsafe { many_keys(keys, blocks) }
                }

                unsafe fn keys(schedules: &[&Schedule; $width], direction: Direction) -> KeySlices<Self> {
                    // SAFETY: as above.
                    unsafe { keys(schedules, direction) }
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn one_key(key: OneKey<'_>, blocks: &mut Row<$width>) {
                blocks.swap();
                // SAFETY: as above; this function has the features.
                unsafe { crypt::<$slice>(key, blocks.slices()) }
                blocks.swap();
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn many_keys(keys: &KeySlices<$slice>, blocks: &mut Row<$width>) {
                blocks.swap();
                // SAFETY: as above.
                unsafe { crypt::<$slice>(keys, blocks.slices()) }
                blocks.swap();
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn keys(schedules: &[&Schedule; $width], direction: Direction) -> KeySlices<$slice> {
                // SAFETY: as above.
                unsafe { key_slices(schedules, direction) }
            }
        };
    };
}
pub(super) use sliced;

impl<const W: usize> Row<W> {
    /// Turns the blocks into the little-endian words that slices are transposed from, or back.
    #[inline(always)]
    pub(super) fn swap(&mut self) {
        if cfg!(target_endian = "big") {
            for block in &mut self.0 {
                *block = block.swap_bytes();
            }
        }
    }

    /// # Safety
    /// Any bits are valid in `V`.
    #[inline(always)]
    pub(super) unsafe fn slices<V>(&mut self) -> &mut [V; 64] {
        const { assert!(size_of::<[V; 64]>() == size_of::<[u64; W]>() && align_of::<V>() <= 64) }
        // SAFETY: of the same size, aligned enough, and valid as the caller says.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }
}

/// The body of [`Sliced::keys`].
#[inline(always)]
pub(super) unsafe fn key_slices<V: Slice, const W: usize>(
    schedules: &[&Schedule; W],
    direction: Direction,
) -> KeySlices<V> {
    let ciphers = schedules[0].rounds() / 16;
    let mut keys = KeySlices::new(ciphers, direction);
    let mut row = Row::<W>::default();
    for i in 0..ciphers {
        for n in 0..W {
            row.0[n] = schedules[n].keys()[i];
        }
        row.swap();
        // SAFETY: as the caller says.
        unsafe { keys.set(i, row.slices()) };
    }
    row.zeroize();
    keys
}

/// One key for all lanes, in slices.
struct OneKeyForm<'k, V>(OneKey<'k>, PhantomData<V>);

impl<V: Sliced<W>, const W: usize> Form<W> for OneKeyForm<'_, V> {
    type Transfer = V::Transfer;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<W>, _: usize) {
        // SAFETY: as the caller says.
        unsafe { V::one_key(self.0, blocks) }
    }
}

/// A key for each lane.
struct ManyKeysForm<V>(KeySlices<V>);

impl<V: Sliced<W>, const W: usize> Form<W> for ManyKeysForm<V> {
    type Transfer = V::Transfer;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<W>, _: usize) {
        // SAFETY: as the caller says.
        unsafe { V::many_keys(&self.0, blocks) }
    }
}

/// Runs the first jobs, no more than `W`, in slices until fewer than `fewest` of them are live.
#[inline(always)]
pub(super) unsafe fn in_slices<'k, V: Sliced<W>, J: Job<'k>, const W: usize>(
    jobs: &mut [&mut J],
    progress: &mut Progress,
    fewest: usize,
) {
    if progress.live < fewest {
        return;
    }
    let (live, direction) = (&jobs[..progress.live], Direction::Encrypt);
    // SAFETY: as the caller says.
    unsafe {
        if one_key(live) {
            let key = OneKey { schedule: live[0].keyed().schedule(), direction };
            chain(&OneKeyForm::<V>(key, PhantomData), jobs, progress, fewest);
        } else {
            let mut form = ManyKeysForm(V::keys(&schedules(live), direction));
            chain(&form, jobs, progress, fewest);
            form.0.wipe();
        }
    }
}

/// The body of [`Decipher::decipher`] for slices.
#[inline(always)]
pub(super) unsafe fn decipher_sliced<V: Sliced<W>, const W: usize>(
    schedules: &[&Schedule; W],
    one_key: bool,
    blocks: &mut Row<W>,
) {
    let direction = Direction::Decrypt;
    // SAFETY: as the caller says.
    unsafe {
        if one_key {
            V::one_key(OneKey { schedule: schedules[0], direction }, blocks);
        } else {
            let mut keys = V::keys(schedules, direction);
            V::many_keys(&keys, blocks);
            keys.wipe();
        }
    }
}

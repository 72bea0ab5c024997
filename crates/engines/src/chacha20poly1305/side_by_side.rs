//! Several objects side by side, sealed or opened. The code is the same for every kernel.
//!
//! One pass makes the one-time keys of all objects. The lanes then take one block of text after
//! another, regardless of the object that it belongs to, so that no lane is idle before the last
//! pass. Poly1305 has a message a lane and needs no powers of its key. `open` authenticates
//! everything before it decrypts anything.
//!
//! Ref. RFC 8439 §2.3, §2.6, §2.8.
//!
//! # Safety
//! The functions of [`Side`] may need processor features; the `#[target_feature]` function that
//! instantiates [`seal`] or [`open`] has them.
#![allow(unsafe_code)]

use zeroize::optimization_barrier;

use super::job::ChaCha20Poly1305Job;
use super::object::{CHACHA_BLOCK, Tier};
use super::poly1305::{BLOCK, Poly1305};
use super::{KEY, Nonce, nonce_words, tags_match};
use crate::InOut;
use crate::aead::TAG;

/// The most lanes of any kernel.
pub(super) const WIDEST: usize = 16;

/// A string of each message. Lanes without a message have the first one's.
pub(super) type Strings<'a> = [&'a [u8]; WIDEST];

/// The one-time keys of Poly1305.
pub(super) type OneTimeKeys = [[u8; KEY]; WIDEST];

/// Blocks of keystream, one a lane.
pub(super) type Blocks = [[u8; CHACHA_BLOCK]; WIDEST];

/// The functions that a kernel has beside those of a [`Tier`].
pub(super) trait Side: Tier {
    /// The number of lanes, a multiple of four.
    const WIDTH: usize;

    /// The MACs of all lanes.
    type Macs;

    /// Makes the blocks of all lanes.
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn blocks(state: &State, blocks: &mut Blocks);

    /// Begins with the multipliers, which it clamps (§2.5.1).
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn macs(keys: &OneTimeKeys) -> Self::Macs;

    /// Adds the block at `at` of each string. If `ALL`, every string has a whole block there.
    /// Otherwise a partial block is filled up with zeros (§2.8: pad16), and nothing is added for a
    /// string that has ended.
    ///
    /// # Safety
    /// As the file's head says; and `ALL` only where it is so.
    unsafe fn absorb<const ALL: bool>(macs: &mut Self::Macs, strings: &Strings<'_>, at: usize);

    /// The accumulators, in the limbs of [`Poly1305`].
    ///
    /// # Safety
    /// As the file's head says.
    unsafe fn accumulators(macs: &Self::Macs) -> [[u64; 3]; WIDEST];
}

/// The input of the lanes' blocks.
#[repr(C, align(64))]
pub(super) struct State {
    /// The rows of four words: the key's two, and counter and nonce. The rows of every fourth lane
    /// are neighbours, as a transposition needs them: see [`slot`].
    pub(super) rows: [[[u32; 4]; WIDEST]; 3],
    /// True if all lanes have one key. Only lane 0 holds it then.
    pub(super) one_key: bool,
}

/// Returns the place of a lane's rows, among `WIDTH` lanes.
#[inline(always)]
const fn slot<T: Side>(lane: usize) -> usize {
    lane % 4 * (T::WIDTH / 4) + lane / 4
}

/// Keystream in the making, and the texts that it will encrypt or decrypt.
#[repr(C, align(64))]
struct Lanes<'a> {
    blocks: Blocks,
    state: State,
    texts: [InOut<'a>; WIDEST],
    used: usize,
}

impl Drop for Lanes<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.state.rows = [[[0; 4]; WIDEST]; 3];
        self.blocks = [[0; CHACHA_BLOCK]; WIDEST];
        // The barrier keeps the stores from being dropped as dead.
        optimization_barrier(self);
    }
}

impl<'a> Lanes<'a> {
    /// Lanes for these objects.
    #[inline(always)]
    fn new(jobs: &[&mut ChaCha20Poly1305Job<'_>]) -> Self {
        let mut lanes = Lanes {
            blocks: [[0; CHACHA_BLOCK]; WIDEST],
            state: State { rows: [[[0; 4]; WIDEST]; 3], one_key: true },
            texts: [(); WIDEST].map(|()| InOut::in_place(&mut [])),
            used: 0,
        };
        for job in jobs {
            lanes.state.one_key &= std::ptr::eq(job.key, jobs[0].key);
        }
        lanes
    }

    /// The first halves of the blocks 0 (§2.6).
    #[inline(always)]
    unsafe fn one_time_keys<T: Side>(
        &mut self,
        jobs: &[&mut ChaCha20Poly1305Job<'_>],
        keys: &mut OneTimeKeys,
    ) {
        for (lane, job) in jobs.iter().enumerate() {
            if lane == 0 || !self.state.one_key {
                self.key::<T>(lane, job.key_words());
            }
            self.counter::<T>(lane, 0, nonce_of(job.nonce));
        }
        // SAFETY: the caller has the features of `T`.
        unsafe { T::blocks(&self.state, &mut self.blocks) };
        for lane in 0..T::WIDTH {
            keys[lane].copy_from_slice(&self.blocks[lane][..KEY]);
        }
    }

    /// Puts a key into a lane.
    #[inline(always)]
    fn key<T: Side>(&mut self, lane: usize, key: &[u32; 8]) {
        let (halves, _) = key.as_chunks();
        self.state.rows[0][slot::<T>(lane)] = halves[0];
        self.state.rows[1][slot::<T>(lane)] = halves[1];
    }

    #[inline(always)]
    fn counter<T: Side>(&mut self, lane: usize, counter: u32, [n0, n1, n2]: Nonce) {
        self.state.rows[2][slot::<T>(lane)] = [counter, n0, n1, n2];
    }

    /// Takes the text of one object into lanes, and runs them whenever all are taken.
    #[inline(always)]
    unsafe fn text<T: Side>(&mut self, key: &[u32; 8], nonce: Nonce, mut data: InOut<'a>) {
        let mut counter = 1;
        while !data.is_empty() {
            if !self.state.one_key {
                self.key::<T>(self.used, key);
            }
            self.counter::<T>(self.used, counter, nonce);
            self.texts[self.used] = data.take(data.len().min(CHACHA_BLOCK));
            self.used += 1;
            counter += 1;
            if self.used == T::WIDTH {
                // SAFETY: the caller has the features of `T`.
                unsafe { self.run::<T>() };
            }
        }
    }

    /// Makes the blocks that have been taken in, and combines them with the texts.
    #[inline(always)]
    unsafe fn run<T: Side>(&mut self) {
        // SAFETY: the caller has the features of `T`.
        unsafe {
            T::blocks(&self.state, &mut self.blocks);
            for lane in 0..self.used {
                let text = self.texts[lane].reborrow();
                let len = text.len();
                T::xor(text, &self.blocks[lane][..len]);
            }
        }
        self.used = 0;
    }

    /// Runs the last lanes.
    #[inline(always)]
    unsafe fn end<T: Side>(&mut self) {
        if self.used > 0 {
            // SAFETY: the caller has the features of `T`.
            unsafe { self.run::<T>() };
        }
    }
}

/// One-time keys that are wiped after use.
#[repr(align(64))]
struct Wiped(OneTimeKeys);

impl Drop for Wiped {
    #[inline(always)]
    fn drop(&mut self) {
        self.0 = [[0; KEY]; WIDEST];
        optimization_barrier(self);
    }
}

#[inline(always)]
fn nonce_of(nonce: &[u8]) -> Nonce {
    nonce_words(nonce).expect("objects that don't fit stay out")
}

/// Seals up to [`Side::WIDTH`] objects.
///
/// # Safety
/// The caller has the features of `T`.
#[inline(always)]
pub(super) unsafe fn seal<T: Side>(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    let mut keys = Wiped([[0; KEY]; WIDEST]);
    // SAFETY: the caller's.
    unsafe {
        let mut lanes = Lanes::new(jobs);
        lanes.one_time_keys::<T>(jobs, &mut keys.0);
        for job in jobs.iter_mut() {
            lanes.text::<T>(job.key_words(), nonce_of(job.nonce), job.data.reborrow());
        }
        lanes.end::<T>();
    }
    let (messages, aads, mut texts) = (jobs.len(), aads(jobs), [&[][..]; WIDEST]);
    for (text, job) in texts.iter_mut().zip(jobs.iter_mut()) {
        *text = job.data.output();
    }
    // SAFETY: the caller's.
    let tags = unsafe { tags::<T>(&keys.0, messages, aads, texts) };
    for (job, tag) in jobs.iter_mut().zip(tags) {
        (job.tag, job.result) = (tag, Ok(()));
    }
}

/// Opens up to [`Side::WIDTH`] objects.
///
/// # Safety
/// The caller has the features of `T`.
#[inline(always)]
pub(super) unsafe fn open<T: Side>(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    let mut keys = Wiped([[0; KEY]; WIDEST]);
    // SAFETY: the caller's.
    unsafe {
        let mut lanes = Lanes::new(jobs);
        lanes.one_time_keys::<T>(jobs, &mut keys.0);
        let (aads, mut texts) = (aads(jobs), [&[][..]; WIDEST]);
        for (text, job) in texts.iter_mut().zip(jobs.iter()) {
            *text = job.data.input();
        }
        let tags = tags::<T>(&keys.0, jobs.len(), aads, texts);
        for (job, tag) in jobs.iter_mut().zip(tags) {
            if tags_match(&tag, &job.tag) {
                job.result = Ok(());
                lanes.text::<T>(job.key_words(), nonce_of(job.nonce), job.data.reborrow());
            } else {
                job.result = Err(job.refuse());
            }
        }
        lanes.end::<T>();
    }
}

#[inline(always)]
fn aads<'a>(jobs: &[&mut ChaCha20Poly1305Job<'a>]) -> Strings<'a> {
    let mut aads = [&[][..]; WIDEST];
    for (aad, job) in aads.iter_mut().zip(jobs) {
        *aad = job.aad;
    }
    aads
}

/// The tags over associated data, ciphertext and their lengths (§2.8).
#[inline(always)]
unsafe fn tags<T: Side>(
    keys: &OneTimeKeys,
    messages: usize,
    mut aads: Strings<'_>,
    mut texts: Strings<'_>,
) -> [[u8; TAG]; WIDEST] {
    for lane in messages..T::WIDTH {
        (aads[lane], texts[lane]) = (aads[0], texts[0]);
    }
    let mut lengths = [[0; BLOCK]; WIDEST];
    for lane in 0..T::WIDTH {
        let (aad, text) = (aads[lane].len() as u128, texts[lane].len() as u128);
        lengths[lane] = (aad | text << 64).to_le_bytes();
    }
    let lengths = lengths.each_ref().map(|block| &block[..]);
    let mut tags = [[0; TAG]; WIDEST];
    // SAFETY: the caller has the features of `T`; whole blocks go up to the end of the shortest.
    unsafe {
        let mut macs = T::macs(keys);
        for strings in [&aads, &texts, &lengths] {
            let (least, most) = extremes(&strings[..T::WIDTH]);
            let mut at = 0;
            while at + BLOCK <= least {
                T::absorb::<true>(&mut macs, strings, at);
                at += BLOCK;
            }
            while at < most {
                T::absorb::<false>(&mut macs, strings, at);
                at += BLOCK;
            }
        }
        let accumulators = T::accumulators(&macs);
        for lane in 0..messages {
            let mut mac = Poly1305::new(&keys[lane]);
            mac.h = accumulators[lane];
            tags[lane] = mac.tag();
        }
    }
    tags
}

/// The shortest and the longest length.
#[inline(always)]
fn extremes(strings: &[&[u8]]) -> (usize, usize) {
    let (mut least, mut most) = (usize::MAX, 0);
    for string in strings {
        least = least.min(string.len());
        most = most.max(string.len());
    }
    (least, most)
}

/// Defines the functions of a row for one kernel. `$features` are those the row requires.
macro_rules! lanes_row {
    ($side:ty, $crossover:expr, $features:literal) => {
        pub(in super::super) const LANES_REQUIRES: millstream_cpu::FeatureSet =
            millstream_cpu::FeatureSet::parse($features);

        pub(in super::super) const LANES: super::super::ChaCha20Poly1305LanesOps =
            super::super::ChaCha20Poly1305LanesOps::new(
                <$side as super::super::side_by_side::Side>::WIDTH,
                $crossover,
                seal_side,
                open_side,
            );

        #[target_feature(enable = $features)]
        unsafe fn seal_side(jobs: &mut [&mut super::super::ChaCha20Poly1305Job<'_>]) {
            // SAFETY: the features are this function's.
            unsafe { super::super::side_by_side::seal::<$side>(jobs) }
        }

        #[target_feature(enable = $features)]
        unsafe fn open_side(jobs: &mut [&mut super::super::ChaCha20Poly1305Job<'_>]) {
            // SAFETY: the features are this function's.
            unsafe { super::super::side_by_side::open::<$side>(jobs) }
        }
    };
}

pub(super) use lanes_row;

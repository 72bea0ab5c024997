//! Sixteen objects side by side with AVX-512: ChaCha20 blocks of any of them down the lanes, and
//! Poly1305 with a message a lane.
//!
//! One pass makes the one-time keys of all; then the lanes take block after block of text, whosever
//! it is, so that none is idle before the last pass, however long the objects are. `open`
//! authenticates everything before it decrypts anything.
//!
//! Ref. RFC 8439 §2.3, §2.5, §2.8.
//!
//! # Safety
//! The functions of the table have the features in their `target_feature` attribute, for which the
//! table's row asks. Loads and stores of data are inside the slices and `InOut`s they belong to, or
//! masked off.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use zeroize::optimization_barrier;

use super::super::jobs::{ChaCha20Poly1305Job, ChaCha20Poly1305LanesOps, WIDTH};
use super::super::lanes::{SIGMA, double_round_down};
use super::super::object::CHACHA_BLOCK;
use super::super::poly1305::{BLOCK, Poly1305};
use super::super::tags_match;
use super::ifma::{BLOCK_OF_LANE, GROUP, Limbs, add, array, join, multiply, reduce, splat, split};
use super::x86_64_avx512::{Vector, transpose};
use crate::aead::TAG;

pub(in super::super) const LANES: ChaCha20Poly1305LanesOps = ChaCha20Poly1305LanesOps::new(seal, open);

/// Groups of messages whose MACs run side by side.
const SETS: usize = WIDTH / GROUP;

/// Seals up to [`WIDTH`] objects.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
unsafe fn seal(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    let mut lanes = Lanes::new(jobs);
    let keys = lanes.one_time_keys(jobs);
    let mut ciphertexts = Strings::new();
    for (lane, job) in jobs.iter_mut().enumerate() {
        lanes.text(job);
        ciphertexts.set(lane, job.data.output_ptr(), job.data.len());
    }
    lanes.run();
    // SAFETY: the ciphertexts have been written and stay as they are.
    let tags = unsafe { keys.tags(jobs, ciphertexts) };
    for (job, tag) in jobs.iter_mut().zip(tags) {
        (job.tag, job.result) = (tag, Ok(()));
    }
}

/// Opens up to [`WIDTH`] objects.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
unsafe fn open(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    let mut lanes = Lanes::new(jobs);
    let keys = lanes.one_time_keys(jobs);
    let mut ciphertexts = Strings::new();
    for (lane, job) in jobs.iter_mut().enumerate() {
        ciphertexts.set(lane, job.data.input_ptr(), job.data.len());
    }
    // SAFETY: nothing is written before the tags are there.
    let tags = unsafe { keys.tags(jobs, ciphertexts) };
    for (job, tag) in jobs.iter_mut().zip(tags) {
        job.result = if tags_match(&tag, &job.tag) {
            lanes.text(job);
            Ok(())
        } else {
            Err(job.refuse())
        };
    }
    lanes.run();
}

/// Where a lane's block of keystream goes.
#[derive(Clone, Copy)]
struct Place {
    from: *const u8,
    to: *mut u8,
    /// Bytes, at most a block.
    len: usize,
}

/// Sixteen blocks to be made: for each lane its key, counter and nonce.
#[repr(C, align(64))]
struct Lanes {
    /// Rows of four words: the key's two, and counter and nonce. The rows of every fourth lane are
    /// neighbours, as a transposition needs them: see [`slot`].
    rows: [[__m128i; WIDTH]; 3],
    places: [Place; WIDTH],
    used: usize,
    /// Whether all objects have one key.
    one_key: bool,
}

/// Where a lane's rows are.
#[inline(always)]
const fn slot(lane: usize) -> usize {
    lane % 4 * 4 + lane / 4
}

impl Drop for Lanes {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: zeros are a value of the type.
        self.rows = unsafe { std::mem::zeroed() };
        // Keeps the stores from being dropped as dead.
        optimization_barrier(self);
    }
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn new(jobs: &[&mut ChaCha20Poly1305Job<'_>]) -> Self {
        let zero = _mm_setzero_si128();
        let place = Place { from: std::ptr::null(), to: std::ptr::null_mut(), len: 0 };
        let mut lanes = Lanes { rows: [[zero; WIDTH]; 3], places: [place; WIDTH], used: 0, one_key: true };
        for job in jobs {
            lanes.one_key &= std::ptr::eq(job.key, jobs[0].key);
        }
        lanes.key(0, jobs[0]);
        lanes
    }

    /// Puts a job's key into a lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn key(&mut self, lane: usize, job: &ChaCha20Poly1305Job<'_>) {
        let words = job.key_words().as_ptr().cast::<__m128i>();
        // SAFETY: eight words.
        unsafe {
            self.rows[0][slot(lane)] = _mm_loadu_si128(words);
            self.rows[1][slot(lane)] = _mm_loadu_si128(words.add(1));
        }
    }

    /// The first halves of the blocks 0, which are the one-time keys (§2.6).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn one_time_keys(&mut self, jobs: &[&mut ChaCha20Poly1305Job<'_>]) -> OneTimeKeys {
        for (lane, job) in jobs.iter().enumerate() {
            if !self.one_key {
                self.key(lane, job);
            }
            self.rows[2][slot(lane)] = counter_and_nonce(job);
        }
        let blocks = self.blocks();
        let mut keys = OneTimeKeys([_mm256_setzero_si256(); WIDTH]);
        for lane in 0..WIDTH {
            keys.0[lane] = _mm512_castsi512_si256(blocks[lane]);
        }
        keys
    }

    /// Takes the text of one object into lanes, and runs them whenever all are taken.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn text(&mut self, job: &mut ChaCha20Poly1305Job<'_>) {
        let (from, to, len) = (job.data.input_ptr(), job.data.output_ptr(), job.data.len());
        let mut row = counter_and_nonce(job);
        let mut at = 0;
        while at < len {
            row = _mm_add_epi32(row, _mm_set_epi32(0, 0, 0, 1));
            if !self.one_key {
                self.key(self.used, job);
            }
            self.rows[2][slot(self.used)] = row;
            self.places[self.used] = Place {
                from: from.wrapping_add(at),
                to: to.wrapping_add(at),
                len: (len - at).min(CHACHA_BLOCK),
            };
            self.used += 1;
            at += CHACHA_BLOCK;
            if self.used == WIDTH {
                self.run();
            }
        }
    }

    /// Makes the blocks that have been taken in, and combines them with the texts.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn run(&mut self) {
        if self.used == 0 {
            return;
        }
        let blocks = self.blocks();
        for lane in 0..self.used {
            let Place { from, to, len } = self.places[lane];
            // SAFETY: a place is inside its object's data, and what is beyond it is masked off.
            unsafe {
                if len == CHACHA_BLOCK {
                    let x = _mm512_xor_si512(_mm512_loadu_si512(from.cast()), blocks[lane]);
                    _mm512_storeu_si512(to.cast(), x);
                } else {
                    let mask = (1u64 << len) - 1;
                    let x = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, from.cast()), blocks[lane]);
                    _mm512_mask_storeu_epi8(to.cast(), mask, x);
                }
            }
        }
        self.used = 0;
    }

    /// The lanes' blocks (§2.3).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn blocks(&self) -> [__m512i; WIDTH] {
        let start = self.columns();
        let mut x = start;
        // SAFETY: the features are this function's.
        unsafe {
            for _ in 0..10 {
                double_round_down(&mut x);
            }
        }
        for i in 0..16 {
            x[i].0 = _mm512_add_epi32(x[i].0, start[i].0);
        }
        transpose(x)
    }

    /// The state of the lanes, a word a vector.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn columns(&self) -> [Vector; 16] {
        let mut x = [Vector(_mm512_setzero_si512()); 16];
        for i in 0..4 {
            x[i] = Vector(_mm512_set1_epi32(SIGMA[i] as i32));
        }
        for row in 0..3 {
            let words =
                if row < 2 && self.one_key { repeat(self.rows[row][0]) } else { turn(&self.rows[row]) };
            for i in 0..4 {
                x[4 + 4 * row + i] = Vector(words[i]);
            }
        }
        x
    }
}

/// The last row of block 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn counter_and_nonce(job: &ChaCha20Poly1305Job<'_>) -> __m128i {
    debug_assert!(job.nonce.len() == 12);
    // SAFETY: the nonce's twelve bytes; the four before them are masked off.
    unsafe { _mm_maskz_loadu_epi32(0b1110, job.nonce.as_ptr().wrapping_sub(4).cast()) }
}

/// Four words, each in all lanes of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn repeat(row: __m128i) -> [__m512i; 4] {
    let row = _mm512_broadcast_i32x4(row);
    [
        _mm512_shuffle_epi32::<0x00>(row),
        _mm512_shuffle_epi32::<0x55>(row),
        _mm512_shuffle_epi32::<0xaa>(row),
        _mm512_shuffle_epi32::<0xff>(row),
    ]
}

/// The rows of sixteen lanes, in the order of [`slot`], as columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn turn(rows: &[__m128i; WIDTH]) -> [__m512i; 4] {
    let rows = rows.as_ptr().cast::<__m512i>();
    // SAFETY: four vectors of four rows each.
    let [a, b, c, d] = unsafe {
        [
            _mm512_loadu_si512(rows),
            _mm512_loadu_si512(rows.add(1)),
            _mm512_loadu_si512(rows.add(2)),
            _mm512_loadu_si512(rows.add(3)),
        ]
    };
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// A string of each message. Lanes without a message have the first one's.
#[derive(Clone, Copy)]
struct Strings {
    from: [*const u8; WIDTH],
    len: [usize; WIDTH],
}

impl Strings {
    #[inline(always)]
    fn new() -> Self {
        Strings { from: [std::ptr::null(); WIDTH], len: [0; WIDTH] }
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, from: *const u8, len: usize) {
        if lane == 0 {
            (self.from, self.len) = ([from; WIDTH], [len; WIDTH]);
        }
        (self.from[lane], self.len[lane]) = (from, len);
    }
}

/// The one-time keys of Poly1305, r and s.
struct OneTimeKeys([__m256i; WIDTH]);

impl Drop for OneTimeKeys {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: zeros are a value of the type.
        self.0 = unsafe { std::mem::zeroed() };
        optimization_barrier(self);
    }
}

impl OneTimeKeys {
    /// The tags over associated data, ciphertext and their lengths (§2.8).
    ///
    /// # Safety
    /// The ciphertexts can be read.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    unsafe fn tags(&self, jobs: &[&mut ChaCha20Poly1305Job<'_>], ciphertexts: Strings) -> [[u8; TAG]; WIDTH] {
        let mut aads = Strings::new();
        for (lane, job) in jobs.iter().enumerate() {
            aads.set(lane, job.aad.as_ptr(), job.aad.len());
        }
        let mut lengths = [[0u64; 2]; WIDTH];
        let mut lengths_at = Strings::new();
        for lane in 0..WIDTH {
            lengths[lane] = [aads.len[lane] as u64, ciphertexts.len[lane] as u64];
        }
        for lane in 0..WIDTH {
            lengths_at.set(lane, lengths[lane].as_ptr().cast(), BLOCK);
        }
        let mut macs = Macs::new(self);
        // SAFETY: associated data and lengths are slices; ciphertexts can be read.
        unsafe {
            macs.absorb(&aads);
            macs.absorb(&ciphertexts);
            macs.absorb(&lengths_at);
        }
        self.finish(&macs)
    }

    /// From accumulators to tags.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn finish(&self, macs: &Macs) -> [[u8; TAG]; WIDTH] {
        let mut tags = [[0; TAG]; WIDTH];
        for set in 0..SETS {
            let [l0, l1, l2] = macs.h[set];
            let limbs = [array(l0), array(l1), array(l2)];
            for lane in 0..GROUP {
                let message = set * GROUP + BLOCK_OF_LANE[lane] as usize;
                let mut key = [0; 32];
                // SAFETY: 32 bytes of an array.
                unsafe { _mm256_storeu_si256(key.as_mut_ptr().cast(), self.0[message]) };
                let mut mac = Poly1305::new(&key);
                mac.h = join([limbs[0][lane], limbs[1][lane], limbs[2][lane]]);
                tags[message] = mac.tag();
            }
        }
        tags
    }
}

/// Sixteen MACs, eight a set, in limbs of 44, 44 and 42 bits.
struct Macs {
    h: [Limbs; SETS],
    r: [Limbs; SETS],
}

impl Macs {
    /// Begins with the multipliers, clamped (§2.5.1).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    fn new(keys: &OneTimeKeys) -> Self {
        let clamp = _mm512_set4_epi32(0x0fff_fffc, 0x0fff_fffc, 0x0fff_fffc, 0x0fff_ffff);
        let zero = _mm512_setzero_si512();
        let mut macs = Macs { h: [[zero; 3]; SETS], r: [[zero; 3]; SETS] };
        for set in 0..SETS {
            let mut r = [_mm_setzero_si128(); GROUP];
            for lane in 0..GROUP {
                r[lane] = _mm256_castsi256_si128(keys.0[set * GROUP + lane]);
            }
            let [low, high] = four_and_four(r);
            macs.r[set] = split(_mm512_and_si512(low, clamp), _mm512_and_si512(high, clamp), zero);
        }
        macs
    }

    /// Adds strings, each filled up with zeros to whole blocks (§2.8: pad16).
    ///
    /// # Safety
    /// They can be read.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    unsafe fn absorb(&mut self, strings: &Strings) {
        let (mut least, mut most) = (strings.len[0], strings.len[0]);
        for len in &strings.len[1..] {
            least = least.min(*len);
            most = most.max(*len);
        }
        let whole = least / BLOCK * BLOCK;
        let mut at = 0;
        // SAFETY: whole blocks up to the shortest string; then what is inside the strings.
        unsafe {
            while at < whole {
                self.step::<true>(strings, at);
                at += BLOCK;
            }
            while at < most {
                self.step::<false>(strings, at);
                at += BLOCK;
            }
        }
    }

    /// Adds the block at `at` of each string, which all have whole if `ALL`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
    unsafe fn step<const ALL: bool>(&mut self, strings: &Strings, at: usize) {
        for set in 0..SETS {
            let mut blocks = [_mm_setzero_si128(); GROUP];
            let mut present = 0;
            for lane in 0..GROUP {
                let from = strings.from[set * GROUP + lane].wrapping_add(at);
                // SAFETY: the caller's; what is beyond the string is masked off.
                blocks[lane] = unsafe {
                    if ALL {
                        _mm_loadu_si128(from.cast())
                    } else {
                        let n = strings.len[set * GROUP + lane].saturating_sub(at).min(BLOCK);
                        present |= u8::from(n > 0) << lane_of(lane);
                        _mm_maskz_loadu_epi8(((1u32 << n) - 1) as __mmask16, from.cast())
                    }
                };
            }
            let [low, high] = four_and_four(blocks);
            let h = self.h[set];
            let sum = add(h, split(low, high, splat(1 << 40)));
            let next = reduce(multiply(sum, self.r[set]));
            for i in 0..3 {
                self.h[set][i] = if ALL { next[i] } else { _mm512_mask_mov_epi64(h[i], present, next[i]) };
            }
        }
    }
}

/// Which lane of limbs a group's message is in.
#[inline(always)]
const fn lane_of(message: usize) -> usize {
    2 * (message % 4) + message / 4
}

/// Blocks 0 to 3, and 4 to 7.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma")]
fn four_and_four(blocks: [__m128i; GROUP]) -> [__m512i; 2] {
    let mut fours = [_mm512_setzero_si512(); 2];
    for i in 0..2 {
        let low = _mm256_set_m128i(blocks[4 * i + 1], blocks[4 * i]);
        let high = _mm256_set_m128i(blocks[4 * i + 3], blocks[4 * i + 2]);
        fours[i] = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
    }
    fours
}

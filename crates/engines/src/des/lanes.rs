//! Many messages at a time, each under its own key: CBC, CFB encryption and the MAC are chains, and
//! many chains fill the lanes that one leaves empty.
//!
//! Ref. FIPS 81 and NIST SP 800-38A §6.2 (CBC), §6.3 (CFB with 64-bit segments); FIPS 113 (the MAC).
//!
//! The messages are put in order, the longest first, and go in waves as wide as the kernel, see
//! `waves.rs`. Triple DES and DES go apart.
//!
//! # Safety
//! The entry points need their kernel's features; the managers hold a [`Bound`], the proof that
//! they exist, and are the only callers.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::ops::{BLOCK, Keyed};
use super::{CBC_LANES, CFB_LANES, Cbc, Cfb, MAC_LANES, Mac};
use crate::InOut;
use crate::kernel::{Bound, Kernel, Row, Timing};
use crate::lanes::Crossover;
use crate::modes::Direction;

/// A kernel's functions. Each takes any number of jobs, the longest first, all of them DES or all
/// of them triple DES.
#[derive(Debug)]
pub struct LanesOps {
    pub(super) crossover: Crossover,
    pub(super) cbc: unsafe fn(&mut [&mut CbcJob<'_>]),
    pub(super) cfb: unsafe fn(&mut [&mut CfbJob<'_>]),
    pub(super) mac: unsafe fn(&mut [&mut MacJob<'_>]),
    pub(super) cbc_decrypt: unsafe fn(&mut [&mut CbcJob<'_>]),
}

/// The functions of a kernel with lanes: `run` and `decrypt` compiled for the features named.
macro_rules! lane_entry_points {
    ($crossover:expr, $run:ident, $decrypt:ident) => {{
        use $crate::des::lanes::LanesOps;
        LanesOps {
            crossover: $crossover,
            // SAFETY: the caller vouches for the kernel's features; so in the others.
            cbc: |jobs| unsafe { $run(jobs) },
            // SAFETY: as above.
            cfb: |jobs| unsafe { $run(jobs) },
            // SAFETY: as above.
            mac: |jobs| unsafe { $run(jobs) },
            // SAFETY: as above.
            cbc_decrypt: |jobs| unsafe { $decrypt(jobs) },
        }
    }};
}
pub(super) use lane_entry_points;

/// One message for [`CbcLanes`].
pub struct CbcJob<'a> {
    /// The key; its kernel need not be that of the lanes.
    pub key: &'a Cbc,
    /// The initialisation vector before, the last block of ciphertext after.
    pub iv: [u8; BLOCK],
    /// Whole blocks.
    pub data: InOut<'a>,
}

/// One message for [`CfbLanes`].
pub struct CfbJob<'a> {
    /// The key; its kernel need not be that of the lanes.
    pub key: &'a Cfb,
    /// The initialisation vector before, the last whole block of ciphertext (if any) after.
    pub iv: [u8; BLOCK],
    /// Of any length.
    pub data: InOut<'a>,
}

/// One message for [`MacLanes`].
pub struct MacJob<'a> {
    /// The key; it is only read, and what was added to it does not count.
    pub key: &'a Mac,
    /// Of any length; padded with zeros as by [`Mac`].
    pub message: &'a [u8],
    /// After: the last block, of which the MAC is the left part (4 bytes by custom).
    pub mac: [u8; BLOCK],
}

/// What the lanes need to know of a job. Its pointers are valid for its length; the output's is
/// the input's or that of other memory.
pub(super) trait Job<'k> {
    /// Whether the ciphertext is the cipher's output plus the plaintext (CFB) or the cipher's output
    /// for the plaintext plus the chaining value.
    const FEEDBACK: bool = false;
    /// Whether a block that is not whole is padded with zeros and is one.
    const PADDED: bool = false;
    /// The schedule and the direct kernel.
    fn keyed(&self) -> &'k Keyed;
    /// Bytes of message.
    fn len(&self) -> usize;
    fn input(&self) -> *const u8;
    /// Where the ciphertext goes, if anywhere: the same answer for all jobs of a type.
    fn output(&mut self) -> Option<*mut u8>;
    /// The chaining value.
    fn chain(&mut self) -> &mut [u8; BLOCK];
    /// Does the rest, `at` bytes from the beginning, with the direct kernel.
    fn finish(&mut self, at: usize);
}

impl<'k> Job<'k> for CbcJob<'k> {
    #[inline(always)]
    fn keyed(&self) -> &'k Keyed {
        &self.key.0
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.data.len()
    }

    #[inline(always)]
    fn input(&self) -> *const u8 {
        self.data.input_ptr()
    }

    #[inline(always)]
    fn output(&mut self) -> Option<*mut u8> {
        Some(self.data.output_ptr())
    }

    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK] {
        &mut self.iv
    }

    fn finish(&mut self, at: usize) {
        self.key.0.cbc(Direction::Encrypt, &mut self.iv, self.data.reborrow().split_at(at).1);
    }
}

impl<'k> Job<'k> for CfbJob<'k> {
    const FEEDBACK: bool = true;

    #[inline(always)]
    fn keyed(&self) -> &'k Keyed {
        &self.key.0
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.data.len()
    }

    #[inline(always)]
    fn input(&self) -> *const u8 {
        self.data.input_ptr()
    }

    #[inline(always)]
    fn output(&mut self) -> Option<*mut u8> {
        Some(self.data.output_ptr())
    }

    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK] {
        &mut self.iv
    }

    fn finish(&mut self, at: usize) {
        let (blocks, mut tail) = self.data.reborrow().split_at(at).1.split_blocks(BLOCK);
        self.key.0.cfb(Direction::Encrypt, &mut self.iv, blocks);
        if !tail.is_empty() {
            let mut pad = self.iv;
            self.key.0.ecb(Direction::Encrypt, InOut::in_place(&mut pad));
            tail.xor(&pad[..tail.len()]);
        }
    }
}

impl<'k> Job<'k> for MacJob<'k> {
    const PADDED: bool = true;

    #[inline(always)]
    fn keyed(&self) -> &'k Keyed {
        self.key.keyed()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.message.len()
    }

    #[inline(always)]
    fn input(&self) -> *const u8 {
        self.message.as_ptr()
    }

    #[inline(always)]
    fn output(&mut self) -> Option<*mut u8> {
        None
    }

    #[inline(always)]
    fn chain(&mut self) -> &mut [u8; BLOCK] {
        &mut self.mac
    }

    fn finish(&mut self, at: usize) {
        let (blocks, tail) = self.message[at..].as_chunks();
        self.key.keyed().mac(&mut self.mac, blocks);
        if !tail.is_empty() {
            let mut last = [0; BLOCK];
            last[..tail.len()].copy_from_slice(tail);
            self.key.keyed().mac(&mut self.mac, &[last]);
        }
    }
}

/// The kernel without lanes.
pub(super) const DIRECT: Row<LanesOps> = Row {
    kernel: Kernel {
        name: "direct-x1",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "one message after another on its key's own kernel",
    },
    ops: LanesOps {
        crossover: Crossover::NEVER,
        cbc: |jobs| direct(jobs),
        cfb: |jobs| direct(jobs),
        mac: |jobs| direct(jobs),
        cbc_decrypt: direct_decrypt,
    },
};

fn direct<'k, J: Job<'k>>(jobs: &mut [&mut J]) {
    for job in jobs {
        job.finish(0);
    }
}

pub(super) fn direct_decrypt(jobs: &mut [&mut CbcJob<'_>]) {
    for job in jobs {
        job.key.0.cbc(Direction::Decrypt, &mut job.iv, job.data.reborrow());
    }
}

/// Puts the jobs into the order that the kernels take, and calls `run` for those of triple DES and
/// for those of DES.
fn in_order<'k, J: Job<'k>>(jobs: &mut [&mut J], mut run: impl FnMut(&mut [&mut J])) {
    let order = |job: &&mut J| (job.keyed().schedule().rounds(), job.len());
    if !jobs.is_sorted_by(|a, b| order(a) >= order(b)) {
        jobs.sort_unstable_by_key(|job| std::cmp::Reverse(order(job)));
    }
    let triple = match jobs {
        [first, .., last] if order(first).0 != order(last).0 => {
            jobs.partition_point(|job| order(job).0 == order(&jobs[0]).0)
        }
        _ => jobs.len(),
    };
    let (triple, single) = jobs.split_at_mut(triple);
    run(triple);
    if !single.is_empty() {
        run(single);
    }
}

macro_rules! manager {
    ($(#[$doc:meta])* $lanes:ident $job:ident, $table:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $lanes {
            kernel: Bound<LanesOps>,
        }

        impl $lanes {
            /// The best kernel that `features` allow.
            pub fn new(features: Features) -> Self {
                Self::with_kernel($table.best(features))
            }

            /// A kernel of choice.
            pub fn with_kernel(kernel: Bound<LanesOps>) -> Self {
                $lanes { kernel }
            }

            /// The kernel in use.
            pub fn kernel(&self) -> &'static Kernel {
                self.kernel.kernel()
            }

            /// From how many messages lanes take less time than the direct kernel for chains.
            pub fn crossover(&self) -> Crossover {
                self.kernel.ops().crossover
            }

            /// Whether so few jobs are better done one after another.
            fn few(&self, jobs: &[&mut $job<'_>]) -> bool {
                let longest = jobs.iter().map(|job| job.len()).max().unwrap_or(0);
                jobs.len() < self.crossover().objects(longest)
            }
        }
    };
}

manager! {
    /// CBC of many messages at a time, under one key or many, of DES and triple DES.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::{InOut, des};
    ///
    /// let key = des::Cbc::new(Features::hardware(), b"K1 of 8.K2 of 8.K3 of 8.")?;
    /// let mut data = [*b"two blocks of 8."; 40];
    /// let mut jobs: Vec<_> = data
    ///     .iter_mut()
    ///     .map(|data| des::CbcJob { key: &key, iv: [0; 8], data: InOut::in_place(data) })
    ///     .collect();
    /// let mut jobs: Vec<_> = jobs.iter_mut().collect();
    /// des::CbcLanes::new(Features::hardware()).encrypt(&mut jobs);
    /// assert_ne!(&data[0], b"two blocks of 8.");
    /// assert_eq!(data[0], data[39]);
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    CbcLanes CbcJob, CBC_LANES
}
manager! {
    /// CFB encryption, with 64-bit feedback, of many messages at a time, as [`CbcLanes`].
    CfbLanes CfbJob, CFB_LANES
}
manager! {
    /// The DES MAC of many messages at a time, as [`CbcLanes`].
    MacLanes MacJob, MAC_LANES
}

impl CbcLanes {
    /// Encrypts; the order of the references may change.
    ///
    /// # Panics
    /// When a job's data is not whole blocks.
    pub fn encrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        check_blocks(jobs);
        if self.few(jobs) {
            return direct(jobs);
        }
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().cbc)(jobs) });
    }

    /// Decrypts; the order of the references may change.
    ///
    /// # Panics
    /// When a job's data is not whole blocks.
    pub fn decrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        check_blocks(jobs);
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().cbc_decrypt)(jobs) });
    }
}

impl CfbLanes {
    /// Encrypts; the order of the references may change.
    pub fn encrypt(&self, jobs: &mut [&mut CfbJob<'_>]) {
        if self.few(jobs) {
            return direct(jobs);
        }
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().cfb)(jobs) });
    }
}

impl MacLanes {
    /// Writes each job's MAC; the order of the references may change.
    pub fn mac(&self, jobs: &mut [&mut MacJob<'_>]) {
        for job in jobs.iter_mut() {
            job.mac = [0; BLOCK];
        }
        if self.few(jobs) {
            return direct(jobs);
        }
        // SAFETY: `kernel` is the proof of its features.
        in_order(jobs, |jobs| unsafe { (self.kernel.ops().mac)(jobs) });
    }
}

fn check_blocks(jobs: &[&mut CbcJob<'_>]) {
    assert!(jobs.iter().all(|job| job.data.len().is_multiple_of(BLOCK)), "not whole blocks");
}

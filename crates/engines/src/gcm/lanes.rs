//! Many AES-GCM messages at once, with equal or different keys.
//!
//! Ref. NIST SP 800-38D §7.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists
//! only where they do.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::job::{ALONE, BLOCK, GcmJob, GcmLanesOps, Group, MESSAGES, Tags};
use super::{Gcm, example, tags_match};
use crate::{AlgorithmInfo, Bound, Crossover, InOut, Kernel, Row, Standing, Table, Timing};

/// The most blocks of text for which messages of different keys or shapes gain.
const UNEQUAL_BLOCKS: u32 = 12;

/// The number of messages that are sorted at a time.
const WINDOW: usize = 64;

/// The kernels of AES-GCM over many messages.
pub static GCM_LANES: Table<GcmLanesOps> = Table::new(
    AlgorithmInfo {
        name: "aes-gcm-lanes",
        standing: Standing::Current,
        standard: "NIST SP 800-38D",
        key_bits: &[128, 192, 256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<GcmLanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-vaes512-x4",
            requires: super::arch::x86_64_vaes512::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "2 registers of text of each message; tags and reductions of 4 in one register",
        },
        ops: super::arch::x86_64_vaes512::LANES,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-vaes256-x4",
            requires: super::arch::x86_64_vaes256::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "2 registers of text of each message; tags and reductions of 4 in two registers",
        },
        ops: super::arch::x86_64_vaes256::LANES,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-aesni-pclmul-x4",
            requires: super::arch::x86_64_aesni::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "2 blocks of text of each message; tags and reductions of 4 side by side",
        },
        ops: super::arch::x86_64_aesni::LANES,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni512-x4",
            requires: super::arch::x86_64_gfni512::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "GFNI in place of AES instructions; 2 registers of text of each message",
        },
        ops: super::arch::x86_64_gfni512::LANES,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni256-x4",
            requires: super::arch::x86_64_gfni256::LANES_REQUIRES,
            timing: Timing::Constant,
            note: "GFNI in place of AES instructions; 2 registers of text of each message",
        },
        ops: super::arch::x86_64_gfni256::LANES,
    },
    Row {
        kernel: Kernel {
            name: "direct-x1",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "one after another, each on its key's own kernel",
        },
        ops: GcmLanesOps { crossover: Crossover::NEVER, seal: no_group, open: no_group },
    },
];

fn no_group(_: &mut Group<'_, '_>, _: &[u128; MESSAGES], _: bool) -> Tags {
    unreachable!("lanes that never pay are never used")
}

/// Seals and opens many messages at once.
#[derive(Clone, Copy, Debug)]
pub struct GcmLanes {
    kernel: Bound<GcmLanesOps>,
}

impl GcmLanes {
    /// The best kernel that `features` allow.
    #[inline]
    pub fn new(features: Features) -> Self {
        GcmLanes::with_kernel(GCM_LANES.best(features))
    }

    /// The kernel given.
    #[inline]
    pub fn with_kernel(kernel: Bound<GcmLanesOps>) -> Self {
        GcmLanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages for which lanes are used, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts every message and computes its tag. An error in one message does not touch the
    /// others.
    #[inline]
    pub fn seal(&self, jobs: &mut [&mut GcmJob<'_>]) {
        self.all::<false>(jobs);
    }

    /// Decrypts every message whose tag is right. An error in one message does not touch the
    /// others.
    #[inline]
    pub fn open(&self, jobs: &mut [&mut GcmJob<'_>]) {
        self.all::<true>(jobs);
    }

    fn all<const OPEN: bool>(&self, jobs: &mut [&mut GcmJob<'_>]) {
        if jobs.len() < self.crossover().objects(0) {
            return direct::<OPEN>(jobs);
        }
        // Messages that come in the same shape need no sorting.
        let mut done = 0;
        while let Some(four) = jobs[done..].first_chunk_mut() {
            let Some(shape) = common_shape::<OPEN>(four) else { break };
            self.group::<OPEN>(four, [shape; 2]);
            done += MESSAGES;
        }
        for window in jobs[done..].chunks_mut(WINDOW) {
            self.window::<OPEN>(window);
        }
    }

    /// Forms groups of messages of about the same shape.
    fn window<const OPEN: bool>(&self, jobs: &mut [&mut GcmJob<'_>]) {
        let mut order = [0; WINDOW];
        let mut n = 0;
        for (i, job) in jobs.iter_mut().enumerate() {
            let shape = job.shape::<OPEN>();
            if shape == ALONE {
                job.direct::<OPEN>();
            } else {
                order[n] = shape << 8 | i as u32;
                n += 1;
            }
        }
        let order = &mut order[..n];
        order.sort_unstable();
        let (groups, rest) = order.as_chunks::<MESSAGES>();
        for entries in groups {
            let indices = entries.map(|entry| (entry & 0xff) as usize);
            let Ok([a, b, c, d]) = jobs.get_disjoint_mut(indices) else {
                unreachable!("each index occurs once")
            };
            let shapes = [entries[0] >> 8, entries[MESSAGES - 1] >> 8];
            self.group::<OPEN>(&mut [&mut **a, &mut **b, &mut **c, &mut **d], shapes);
        }
        for entry in rest {
            jobs[(entry & 0xff) as usize].direct::<OPEN>();
        }
    }

    /// Works on four messages of the shapes `least` to `most`.
    #[inline(always)]
    fn group<const OPEN: bool>(&self, jobs: &mut Group<'_, '_>, [least, most]: [u32; 2]) {
        let equal = least == most && have_one_key(jobs);
        if !equal && !alike(least, most) {
            return direct::<OPEN>(jobs);
        }
        let mut before = [0; MESSAGES];
        for (job, before) in jobs.iter().zip(&mut before) {
            if job.aad.len() > BLOCK {
                // SAFETY: the key's kernel is bound.
                *before = unsafe { (job.key.kernel.ops().ghash)(&job.key.key, 0, job.split_aad().0) };
            }
        }
        let ops = self.kernel.ops();
        let work = if OPEN { ops.open } else { ops.seal };
        // SAFETY: `kernel` is bound.
        let tags = unsafe { work(jobs, &before, equal) };
        for (job, tag) in jobs.iter_mut().zip(tags) {
            job.result = Ok(());
            if !OPEN {
                job.tag = tag;
            } else if !tags_match(u128::from_be_bytes(tag), &job.tag[..job.tag_len]) {
                job.result = Err(job.withdraw());
            }
        }
    }
}

/// Works on one message after another, each on its key's own kernel.
fn direct<const OPEN: bool>(jobs: &mut [&mut GcmJob<'_>]) {
    for job in jobs {
        job.direct::<OPEN>();
    }
}

/// Returns the shape of all messages, if they have the same one and can stand side by side.
#[inline(always)]
fn common_shape<const OPEN: bool>(jobs: &Group<'_, '_>) -> Option<u32> {
    let shape = jobs[0].shape::<OPEN>();
    let mut common = shape != ALONE;
    for job in &jobs[1..] {
        common &= job.shape::<OPEN>() == shape;
    }
    common.then_some(shape)
}

/// Returns true if all have one key.
#[inline(always)]
fn have_one_key(jobs: &Group<'_, '_>) -> bool {
    let key = jobs[0].key;
    let mut one = true;
    for job in jobs {
        one &= std::ptr::eq(job.key, key);
    }
    one
}

/// Returns true if messages of the shapes `least` to `most`, which are not all of one key and
/// shape, gain by standing side by side. They need the same number of rounds, and lengths so
/// similar that few lanes are idle. Very short messages are faster alone, and so are long ones,
/// which share less of the work.
fn alike(least: u32, most: u32) -> bool {
    let (few, many) = (least & 0xff, most & 0xff);
    least >> 8 == most >> 8 && few > 2 && many <= UNEQUAL_BLOCKS && many <= 2 * few
}

/// Test case 4 of the specification submitted to NIST, in every lane and some more.
fn known_answer(kernel: Bound<GcmLanesOps>) -> bool {
    let lanes = GcmLanes::with_kernel(kernel);
    let Ok(key) = Gcm::new(Features::hardware(), &example::KEY) else { return false };
    let mut buffers = [example::PLAIN; 19];
    let mut jobs = buffers
        .each_mut()
        .map(|buffer| GcmJob::new(&key, &example::NONCE, &example::AAD, InOut::in_place(buffer)));
    lanes.seal(&mut jobs.each_mut());
    let sealed = jobs
        .iter_mut()
        .all(|job| job.result.is_ok() && *job.data.input() == example::CIPHER && job.tag == example::TAG);
    lanes.open(&mut jobs.each_mut());
    sealed && jobs.iter().all(|job| job.result.is_ok() && *job.data.input() == example::PLAIN)
}

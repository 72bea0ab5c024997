//! Many AES-GCM messages at once, with equal or different keys.
//!
//! Ref. NIST SP 800-38D §7.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists
//! only where they do.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::{Gcm, example};
use crate::aead::{Aead, TAG};
use crate::{Algorithm, Bound, Crossover, Error, InOut, Kernel, Row, Standing, Table, Timing};

/// One message for [`GcmLanes`].
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::gcm::{Gcm, GcmJob, GcmLanes};
/// use millstream_engines::{Error, InOut};
///
/// let features = Features::hardware();
/// let (lanes, key) = (GcmLanes::new(features), Gcm::new(features, &[7; 16])?);
/// let mut buffers = [*b"first object", *b"other object"];
/// let nonces = [[1; 12], [2; 12]];
///
/// let [first, other] = &mut buffers;
/// let mut first = GcmJob::new(&key, &nonces[0], b"", InOut::in_place(first));
/// let mut other = GcmJob::new(&key, &nonces[1], b"", InOut::in_place(other));
/// lanes.seal(&mut [&mut first, &mut other]);
/// lanes.open(&mut [&mut first, &mut other]);
/// assert_eq!([first.result, other.result], [Ok(()); 2]);
///
/// other.tag[3] ^= 1;
/// lanes.seal(&mut [&mut first]);
/// lanes.open(&mut [&mut first, &mut other]);
/// assert_eq!([first.result, other.result], [Ok(()), Err(Error::Authentication)]);
/// # Ok::<(), Error>(())
/// ```
pub struct GcmJob<'a> {
    /// The key, of any size and on any kernel.
    pub key: &'a Gcm,
    /// The nonce, as long as [`Gcm`] takes them; with 12 bytes a message may share lanes.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// What is encrypted or decrypted.
    pub data: InOut<'a>,
    /// The tag: `seal` writes it, all of it, unless the result is an error; `open` reads it.
    pub tag: [u8; TAG],
    /// How many bytes of the tag `open` compares: 16, or as few as `Gcm::open` takes.
    pub tag_len: usize,
    /// What came of it: as [`Aead::seal`] and [`Aead::open`] of [`Gcm`], which also say what the
    /// output then holds.
    pub result: Result<(), Error>,
}

impl<'a> GcmJob<'a> {
    /// A message with a tag of zeros, all 16 bytes long.
    #[inline]
    pub const fn new(key: &'a Gcm, nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        GcmJob { key, nonce, aad, data, tag: [0; TAG], tag_len: TAG, result: Ok(()) }
    }

    /// Seals it with the key's own kernel.
    fn seal(&mut self) {
        self.result = self.key.seal(self.nonce, self.aad, self.data.reborrow(), &mut self.tag);
    }

    /// Opens it with the key's own kernel.
    fn open(&mut self) {
        let tag = self.tag.get(..self.tag_len);
        self.result = match tag {
            Some(tag) => self.key.open(self.nonce, self.aad, self.data.reborrow(), tag),
            None => Err(super::tag_length(self.tag_len)),
        };
    }
}

/// The functions of one row.
#[derive(Debug)]
pub struct GcmLanesOps {
    /// From how many messages on they pay.
    crossover: Crossover,
    /// Seals all messages.
    seal: unsafe fn(&mut [&mut GcmJob<'_>]),
    /// Opens all messages.
    open: unsafe fn(&mut [&mut GcmJob<'_>]),
}

/// The kernels of AES-GCM over many messages.
pub static GCM_LANES: Table<GcmLanesOps> = Table::new(
    Algorithm {
        name: "aes-gcm-lanes",
        standing: Standing::Current,
        standard: "NIST SP 800-38D",
        key_bits: &[128, 192, 256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<GcmLanesOps>] = &[Row {
    kernel: Kernel {
        name: "direct-x1",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "one after another, each on its key's own kernel",
    },
    ops: GcmLanesOps { crossover: Crossover::NEVER, seal: seal_each, open: open_each },
}];

fn seal_each(jobs: &mut [&mut GcmJob<'_>]) {
    for job in jobs {
        job.seal();
    }
}

fn open_each(jobs: &mut [&mut GcmJob<'_>]) {
    for job in jobs {
        job.open();
    }
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

    /// From how many messages of a length on lanes are used.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts every message and computes its tag. What goes wrong with one does not touch the
    /// others.
    #[inline]
    pub fn seal(&self, jobs: &mut [&mut GcmJob<'_>]) {
        // SAFETY: `kernel` is bound.
        unsafe { (self.kernel.ops().seal)(jobs) }
    }

    /// Decrypts every message whose tag is right. What goes wrong with one does not touch the
    /// others.
    #[inline]
    pub fn open(&self, jobs: &mut [&mut GcmJob<'_>]) {
        // SAFETY: `kernel` is bound.
        unsafe { (self.kernel.ops().open)(jobs) }
    }
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

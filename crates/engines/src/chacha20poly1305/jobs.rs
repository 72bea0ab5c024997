//! Many ChaCha20-Poly1305 messages at once, with equal or different keys.
//!
//! Ref. RFC 8439 §2.8.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists
//! only where they do.
#![allow(unsafe_code)]

use millstream_cpu::{FeatureSet, Features};

use super::{ChaCha20Poly1305, example};
use crate::aead::{Aead, TAG};
use crate::{Algorithm, Bound, Crossover, Error, InOut, Kernel, Row, Standing, Table, Timing};

/// One message for [`ChaCha20Poly1305Lanes`].
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::chacha20poly1305::{ChaCha20Poly1305, ChaCha20Poly1305Job, ChaCha20Poly1305Lanes};
/// use millstream_engines::{Error, InOut};
///
/// let features = Features::hardware();
/// let (lanes, key) = (ChaCha20Poly1305Lanes::new(features), ChaCha20Poly1305::new(features, &[7; 32])?);
/// let mut buffers = [*b"first object", *b"other object"];
/// let nonces = [[1; 12], [2; 12]];
///
/// let [first, other] = &mut buffers;
/// let mut first = ChaCha20Poly1305Job::new(&key, &nonces[0], b"", InOut::in_place(first));
/// let mut other = ChaCha20Poly1305Job::new(&key, &nonces[1], b"", InOut::in_place(other));
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
pub struct ChaCha20Poly1305Job<'a> {
    /// The key, on any kernel.
    pub key: &'a ChaCha20Poly1305,
    /// The nonce, 12 bytes.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// What is encrypted or decrypted.
    pub data: InOut<'a>,
    /// The tag: `seal` writes it, unless the result is an error; `open` reads it.
    pub tag: [u8; TAG],
    /// What came of it: as [`Aead::seal`] and [`Aead::open`] of [`ChaCha20Poly1305`], which also say what the
    /// output then holds.
    pub result: Result<(), Error>,
}

impl<'a> ChaCha20Poly1305Job<'a> {
    /// A message with a tag of zeros.
    #[inline]
    pub const fn new(key: &'a ChaCha20Poly1305, nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        ChaCha20Poly1305Job { key, nonce, aad, data, tag: [0; TAG], result: Ok(()) }
    }

    /// Seals it with the key's own kernel.
    fn seal(&mut self) {
        self.result = self.key.seal(self.nonce, self.aad, self.data.reborrow(), &mut self.tag);
    }

    /// Opens it with the key's own kernel.
    fn open(&mut self) {
        self.result = self.key.open(self.nonce, self.aad, self.data.reborrow(), &self.tag);
    }
}

/// The functions of one row.
#[derive(Debug)]
pub struct ChaCha20Poly1305LanesOps {
    /// From how many messages on they pay.
    crossover: Crossover,
    /// Seals all messages.
    seal: unsafe fn(&mut [&mut ChaCha20Poly1305Job<'_>]),
    /// Opens all messages.
    open: unsafe fn(&mut [&mut ChaCha20Poly1305Job<'_>]),
}

/// The kernels of ChaCha20-Poly1305 over many messages.
pub static CHACHA20_POLY1305_LANES: Table<ChaCha20Poly1305LanesOps> = Table::new(
    Algorithm {
        name: "chacha20-poly1305-lanes",
        standing: Standing::Current,
        standard: "RFC 8439 §2.8",
        key_bits: &[256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<ChaCha20Poly1305LanesOps>] = &[Row {
    kernel: Kernel {
        name: "direct-x1",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "one after another, each on its key's own kernel",
    },
    ops: ChaCha20Poly1305LanesOps { crossover: Crossover::NEVER, seal: seal_each, open: open_each },
}];

fn seal_each(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    for job in jobs {
        job.seal();
    }
}

fn open_each(jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
    for job in jobs {
        job.open();
    }
}

/// Seals and opens many messages at once.
#[derive(Clone, Copy, Debug)]
pub struct ChaCha20Poly1305Lanes {
    kernel: Bound<ChaCha20Poly1305LanesOps>,
}

impl ChaCha20Poly1305Lanes {
    /// The best kernel that `features` allow.
    #[inline]
    pub fn new(features: Features) -> Self {
        ChaCha20Poly1305Lanes::with_kernel(CHACHA20_POLY1305_LANES.best(features))
    }

    /// The kernel given.
    #[inline]
    pub fn with_kernel(kernel: Bound<ChaCha20Poly1305LanesOps>) -> Self {
        ChaCha20Poly1305Lanes { kernel }
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
    pub fn seal(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        // SAFETY: `kernel` is bound.
        unsafe { (self.kernel.ops().seal)(jobs) }
    }

    /// Decrypts every message whose tag is right. What goes wrong with one does not touch the
    /// others.
    #[inline]
    pub fn open(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        // SAFETY: `kernel` is bound.
        unsafe { (self.kernel.ops().open)(jobs) }
    }
}

/// The example of RFC 8439 §2.8.2, in every lane and some more.
fn known_answer(kernel: Bound<ChaCha20Poly1305LanesOps>) -> bool {
    let lanes = ChaCha20Poly1305Lanes::with_kernel(kernel);
    let Ok(key) = ChaCha20Poly1305::new(Features::hardware(), &example::KEY) else { return false };
    let mut buffers = [example::PLAIN; 19];
    let mut jobs = buffers.each_mut().map(|buffer| {
        ChaCha20Poly1305Job::new(&key, &example::NONCE, &example::AAD, InOut::in_place(buffer))
    });
    lanes.seal(&mut jobs.each_mut());
    let sealed = jobs.iter_mut().all(|job| job.result.is_ok() && job.tag == example::TAG);
    lanes.open(&mut jobs.each_mut());
    sealed && jobs.iter().all(|job| job.result.is_ok() && *job.data.input() == example::PLAIN)
}

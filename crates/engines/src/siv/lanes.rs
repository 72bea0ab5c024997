//! Messages of any keys, as they come from queues.

use millstream_cpu::Features;

use super::{Siv, SivJob, TAG};
use crate::aead::{by_key, in_arrays};
use crate::{Error, InOut};

/// One message with its key, for [`SivLanes`], as the AEAD of RFC 5297 §6: the associated data is one component, also where it has no
/// bytes, and a nonce that has any is the last one.
pub struct KeyedSivJob<'a> {
    /// The key.
    pub key: &'a Siv,
    /// The nonce, of any length; none for a deterministic ciphertext.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: sealing writes it, unless the result is an error; opening reads it.
    pub tag: [u8; TAG],
    /// The result of [`Siv::seal`] or [`Siv::open`], which also say what the output then holds.
    pub result: Result<(), Error>,
}

impl<'a> KeyedSivJob<'a> {
    /// A message with a tag of zeros.
    pub const fn new(key: &'a Siv, nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        KeyedSivJob { key, nonce, aad, data, tag: [0; TAG], result: Ok(()) }
    }

    /// Returns the components and their number.
    fn components(&self) -> ([&'a [u8]; 2], usize) {
        ([self.aad, self.nonce], 1 + usize::from(!self.nonce.is_empty()))
    }
}

/// Many AES-SIV messages of any keys.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::siv::{KeyedSivJob, Siv, SivLanes};
///
/// let features = Features::hardware();
/// let key = Siv::new(features, &[7; 64])?;
/// let mut values = [*b"first value", *b"first value"];
/// let mut jobs = values.each_mut().map(|value| KeyedSivJob::new(&key, b"", b"column", InOut::in_place(value)));
/// SivLanes::new(features).seal(&mut jobs.each_mut());
/// assert_eq!(jobs[0].tag, jobs[1].tag);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SivLanes;

impl SivLanes {
    /// Lanes for keys that are bound to any kernels.
    pub const fn new(_: Features) -> Self {
        SivLanes
    }

    /// Seals many messages, those of one key side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn seal(&self, jobs: &mut [&mut KeyedSivJob<'_>]) {
        run::<false>(jobs);
    }

    /// Opens many messages, those of one key side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn open(&self, jobs: &mut [&mut KeyedSivJob<'_>]) {
        run::<true>(jobs);
    }
}

fn run<const OPEN: bool>(jobs: &mut [&mut KeyedSivJob<'_>]) {
    by_key(
        jobs,
        |job| std::ptr::from_ref(job.key),
        |jobs| {
            in_arrays!(jobs, |array| of_one_key::<OPEN, _>(array));
        },
    );
}

fn of_one_key<const OPEN: bool, const COUNT: usize>(jobs: &mut [&mut KeyedSivJob<'_>; COUNT]) {
    let key = jobs[0].key;
    let components = jobs.each_ref().map(|job| job.components());
    let mut all = components.iter();
    let mut inner = jobs.each_mut().map(|job| {
        let (components, count) = all.next().expect("components of each message");
        let tag = job.tag;
        SivJob { tag, ..SivJob::new(&components[..*count], job.data.reborrow()) }
    });
    if OPEN {
        key.open_many(&mut inner.each_mut());
    } else {
        key.seal_many(&mut inner.each_mut());
    }
    let done = inner.map(|inner| (inner.tag, inner.result));
    for (job, (tag, result)) in jobs.iter_mut().zip(done) {
        (job.tag, job.result) = (tag, result);
    }
}

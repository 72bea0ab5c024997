//! One message to seal or open among many.

use super::{LONGEST, MAX_COMPONENTS, Siv, TAG};
use crate::{Error, InOut};

/// One message for [`Siv::seal_many`] and [`Siv::open_many`].
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::siv::{Siv, SivJob};
///
/// let siv = Siv::new(Features::hardware(), &[7; 32])?;
/// let mut values = [*b"first value", *b"other value", *b"first value"];
/// let mut jobs = values.each_mut().map(|value| SivJob::new(&[b"column"], InOut::in_place(value)));
/// siv.seal_many(&mut jobs.each_mut());
/// assert_eq!(jobs[0].tag, jobs[2].tag);
/// siv.open_many(&mut jobs.each_mut());
/// assert!(jobs.iter().all(|job| job.result.is_ok()));
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct SivJob<'a> {
    /// The components of the associated data, in their order.
    pub components: &'a [&'a [u8]],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: sealing writes it, unless the result is an error; opening reads it.
    pub tag: [u8; TAG],
    /// The result of [`Siv::seal`] or [`Siv::open`], which also say what the output then holds.
    pub result: Result<(), Error>,
}

impl<'a> SivJob<'a> {
    /// A message with a tag of zeros.
    pub const fn new(components: &'a [&'a [u8]], data: InOut<'a>) -> Self {
        SivJob { components, data, tag: [0; TAG], result: Ok(()) }
    }

    /// Returns true if the message gains by standing beside others.
    pub(super) fn is_short(&self) -> bool {
        let mut short = self.data.len() <= LONGEST && self.components.len() <= MAX_COMPONENTS;
        for component in self.components {
            short &= component.len() <= LONGEST;
        }
        short
    }

    /// Works on this message alone.
    pub(super) fn direct<const OPEN: bool>(&mut self, siv: &Siv) {
        let data = self.data.reborrow();
        self.result = if OPEN {
            siv.open(self.components, data, &self.tag)
        } else {
            siv.seal(self.components, data, &mut self.tag)
        };
    }
}

//! One message to seal or open among many.

use super::{GcmSiv, LONGEST, NONCE};
use crate::aead::{Aead, TAG};
use crate::{Error, InOut};

/// One message for [`GcmSiv::seal_many`] and [`GcmSiv::open_many`].
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob};
///
/// let key = GcmSiv::new(Features::hardware(), &[7; 32])?;
/// let mut values = [*b"first value", *b"other value"];
/// let mut jobs = values.each_mut().map(|v| GcmSivJob::new(&[1; 12], b"row", InOut::in_place(v)));
/// key.seal_many(&mut jobs.each_mut());
/// key.open_many(&mut jobs.each_mut());
/// assert!(jobs.iter().all(|job| job.result.is_ok()));
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct GcmSivJob<'a> {
    /// The nonce of 12 bytes.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: sealing writes it, unless the result is an error; opening reads it.
    pub tag: [u8; TAG],
    /// The result of [`Aead::seal`] or [`Aead::open`] of [`GcmSiv`], which also say what the output then holds.
    pub result: Result<(), Error>,
}

impl<'a> GcmSivJob<'a> {
    /// A message with a tag of zeros.
    pub const fn new(nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        GcmSivJob { nonce, aad, data, tag: [0; TAG], result: Ok(()) }
    }

    /// Returns true if the message gains by standing beside others.
    pub(super) fn is_short(&self) -> bool {
        self.nonce.len() == NONCE && self.data.len() <= LONGEST && self.aad.len() <= LONGEST
    }

    /// Works on this message alone.
    pub(super) fn direct<const OPEN: bool>(&mut self, key: &GcmSiv) {
        let data = self.data.reborrow();
        self.result = if OPEN {
            key.open(self.nonce, self.aad, data, &self.tag)
        } else {
            key.seal(self.nonce, self.aad, data, &mut self.tag)
        };
    }
}

//! One message's work for the lanes of f8 or f9, and the functions of a lane kernel.
//!
//! Ref. TS 35.201 §3 (f8), §4 (f9).

use super::{F8, F9, first_block_f8};
use crate::{Crossover, Error, InOut};

/// One message for [`F8Lanes`](super::F8Lanes).
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::kasumi::{F8, F8Job, F8Lanes};
/// use millstream_engines::{Error, InOut};
///
/// let features = Features::hardware();
/// let (lanes, keys) = (F8Lanes::new(features), [F8::new(features, &[7; 16])?, F8::new(features, &[8; 16])?]);
/// let mut buffers = [*b"thirteen bits", *b"and some more"];
///
/// let [first, other] = &mut buffers;
/// let mut first = F8Job::new(&keys[0], 1, 3, 0, InOut::in_place(first), 13);
/// let mut other = F8Job::new(&keys[1], 9, 3, 1, InOut::in_place(other), 8 * 13);
/// lanes.apply(&mut [&mut first, &mut other]);
/// assert_eq!(first.result.unwrap_err().to_string(), "kasumi-f8: data of length 13; it takes as many bits as the buffer's bytes hold");
/// assert_eq!(other.result, Ok(()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct F8Job<'a> {
    /// The key, on any kernel.
    pub key: &'a F8,
    /// COUNT.
    pub count: u32,
    /// BEARER, five bits.
    pub bearer: u8,
    /// DIRECTION, one bit.
    pub direction: u8,
    /// Bits behind DIRECTION, which are zeros but in an initialisation vector of [`F8Job::with_iv`].
    pub(super) rest: u32,
    /// The data to encipher or decipher.
    pub data: InOut<'a>,
    /// The data's length in bits.
    pub bits: usize,
    /// The result of [`F8::apply`].
    pub result: Result<(), Error>,
    /// The enciphered first block, during a call.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no row with lanes there yet
    pub(super) start: u64,
}

impl<'a> F8Job<'a> {
    /// Takes the message's parameters, in the order of [`F8::apply`].
    #[inline]
    pub const fn new(
        key: &'a F8,
        count: u32,
        bearer: u8,
        direction: u8,
        data: InOut<'a>,
        bits: usize,
    ) -> Self {
        F8Job { key, count, bearer, direction, rest: 0, data, bits, result: Ok(()), start: 0 }
    }

    /// Takes the first block as a whole, as [`F8::apply_iv`].
    #[inline]
    pub const fn with_iv(key: &'a F8, iv: u64, data: InOut<'a>, bits: usize) -> Self {
        let low = iv as u32;
        let mut job =
            F8Job::new(key, (iv >> 32) as u32, (low >> 27) as u8, (low >> 26) as u8 & 1, data, bits);
        job.rest = low & 0x03ff_ffff;
        job
    }

    /// Returns the block that is enciphered first.
    #[inline]
    pub(super) fn first_block(&self) -> u64 {
        first_block_f8(self.count, self.bearer, self.direction) | u64::from(self.rest)
    }
}

/// One message for [`F9Lanes`](super::F9Lanes).
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::kasumi::{F9, F9Job, F9Lanes};
///
/// let features = Features::hardware();
/// let (lanes, key) = (F9Lanes::new(features), F9::new(features, &[7; 16])?);
/// let mut jobs = [1, 2, 3].map(|count| F9Job::new(&key, count, 0x1234_5678, 0, b"message", 53));
/// lanes.mac(&mut jobs.each_mut());
/// assert_eq!(jobs[2].result, key.mac(3, 0x1234_5678, 0, b"message", 53));
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Debug)]
pub struct F9Job<'a> {
    /// The key, on any kernel.
    pub key: &'a F9,
    /// COUNT.
    pub count: u32,
    /// FRESH.
    pub fresh: u32,
    /// DIRECTION, one bit.
    pub direction: u8,
    /// The message.
    pub message: &'a [u8],
    /// The message's length in bits.
    pub bits: usize,
    /// The authentication code, once it is computed, as [`F9::mac`] gives it.
    pub result: Result<[u8; 4], Error>,
    /// The sum of the chain, during a call.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no row with lanes there yet
    pub(super) sum: u64,
}

impl<'a> F9Job<'a> {
    /// Takes the message's parameters, in the order of [`F9::mac`], with a code of zeros.
    #[inline]
    pub const fn new(
        key: &'a F9,
        count: u32,
        fresh: u32,
        direction: u8,
        message: &'a [u8],
        bits: usize,
    ) -> Self {
        F9Job { key, count, fresh, direction, message, bits, result: Ok([0; 4]), sum: 0 }
    }
}

/// The functions of one row of [`UEA1_LANES`](super::UEA1_LANES).
#[derive(Clone, Copy, Debug)]
pub struct F8LanesOps {
    /// The least number of messages for which lanes pay.
    pub(super) crossover: Crossover,
    pub(super) apply: unsafe fn(&mut [&mut F8Job<'_>]),
}

/// The functions of one row of [`UIA1_LANES`](super::UIA1_LANES).
#[derive(Clone, Copy, Debug)]
pub struct F9LanesOps {
    /// The least number of messages for which lanes pay.
    pub(super) crossover: Crossover,
    pub(super) mac: unsafe fn(&mut [&mut F9Job<'_>]),
}

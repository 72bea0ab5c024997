//! The checksum of IP, UDP, TCP and ICMP, alone and fused with a copy.
//!
//! The sum of 16-bit words in ones' complement does not depend on byte order (RFC 1071 §2 (B)), so
//! kernels add little-endian words of any width and the result is swapped once.
//!
//! Ref. RFC 1071; RFC 1624 (incremental update).
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

mod arch;
mod portable;

use millstream_cpu::{FeatureSet, Features};

use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table, Timing};

const NAME: &str = "ip-checksum";

/// The functions of a kernel. Both return a number that is congruent modulo 2^16 - 1 to the sum of
/// the little-endian words of the data, with a zero byte behind an odd last one. The number is zero
/// only if every byte is.
#[derive(Debug)]
pub struct Ops {
    sum: unsafe fn(&[u8]) -> u64,
    /// Does the same as `sum`, and copies the data.
    copy: unsafe fn(InOut<'_>) -> u64,
}

/// The kernels of the IP checksum.
pub static IP_CHECKSUM: Table<Ops> = Table::new(
    AlgorithmInfo { name: NAME, standing: Standing::NotCryptographic, standard: "RFC 1071", key_bits: &[] },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512-by4",
            requires: FeatureSet::parse("avx512f,avx512bw"),
            timing: Timing::Constant,
            note: "256 bytes a step in 64-bit lanes, the end masked",
        },
        ops: arch::x86_64_avx512::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2-by4",
            requires: FeatureSet::parse("avx2"),
            timing: Timing::Constant,
            note: "128 bytes a step in 64-bit lanes",
        },
        ops: arch::x86_64_avx2::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "64-bit words in a 128-bit sum",
        },
        ops: portable::OPS,
    },
];

/// The sum of a stretch of data, not yet inverted, so that it can be added to the sum of the data
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialSum {
    /// Sum of the words as they are in memory, little-endian.
    words: u16,
    /// True if the number of bytes is odd.
    odd: bool,
}

impl PartialSum {
    /// Returns the sum of this data followed by the data of `next`. After an odd number of bytes
    /// every byte of `next` has the other place in its word, so its sum is swapped (RFC 1071 §2
    /// (B)).
    #[must_use]
    pub fn then(self, next: PartialSum) -> PartialSum {
        let words = if self.odd { next.words.swap_bytes() } else { next.words };
        PartialSum { words: fold(u64::from(self.words) + u64::from(words)), odd: self.odd ^ next.odd }
    }

    /// Returns the checksum: the sum inverted, as the number whose `to_be_bytes` go into the
    /// header.
    pub fn checksum(self) -> u16 {
        !self.words.swap_bytes()
    }
}

/// An IP checksum in progress, over pieces of any length.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::ipsum::IpChecksum;
///
/// // RFC 1071 §3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
/// let mut sum = IpChecksum::new(Features::hardware());
/// sum.update(&[0x00, 0x01, 0xf2]);
/// sum.update(&[0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
/// assert_eq!(sum.value(), !0xddf2);
/// ```
#[derive(Clone, Debug)]
pub struct IpChecksum {
    kernel: Bound<Ops>,
    sum: PartialSum,
}

impl IpChecksum {
    /// Begins a sum, on the fastest kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Self::with_kernel(IP_CHECKSUM.best(features))
    }

    /// Begins a sum on the given kernel.
    pub fn with_kernel(kernel: Bound<Ops>) -> Self {
        IpChecksum { kernel, sum: PartialSum::default() }
    }

    /// Returns a sum on the same kernel that continues after data whose sum is `sum`.
    #[must_use]
    pub fn resume(&self, sum: PartialSum) -> Self {
        IpChecksum { kernel: self.kernel, sum }
    }

    /// The checksum of `data`.
    pub fn of(features: Features, data: &[u8]) -> u16 {
        let mut sum = Self::new(features);
        sum.update(data);
        sum.value()
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Takes the next bytes.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        // SAFETY: `self.kernel` is bound.
        let words = unsafe { (self.kernel.ops().sum)(data) };
        self.add(words, data.len());
    }

    /// Copies `source` to `destination` and takes it as the next bytes, in one pass.
    ///
    /// # Errors
    /// [`Error::OutputLength`] when the two are not of one length; nothing is taken then.
    pub fn update_copy(&mut self, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
        let pass = InOut::separate(source, destination)?;
        // SAFETY: `self.kernel` is bound.
        let words = unsafe { (self.kernel.ops().copy)(pass) };
        self.add(words, source.len());
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, words: u64, len: usize) {
        self.sum = self.sum.then(PartialSum { words: fold(words), odd: len % 2 == 1 });
    }

    /// The sum so far, to be combined with others by [`PartialSum::then`].
    pub fn partial(&self) -> PartialSum {
        self.sum
    }

    /// Returns the checksum of the data so far, as the number whose `to_be_bytes` go into the
    /// header. For data that contains a valid checksum this is zero.
    #[inline]
    pub fn value(&self) -> u16 {
        self.sum.checksum()
    }

    /// The checksum after one 16-bit word of the data changed from `old` to `new`.
    ///
    /// Ref. RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
    ///
    /// ```
    /// # use millstream_engines::ipsum::IpChecksum;
    /// // RFC 1624 §4.
    /// assert_eq!(IpChecksum::replace(0xdd2f, 0x5555, 0x3285), 0x0000);
    /// ```
    pub const fn replace(checksum: u16, old: u16, new: u16) -> u16 {
        !fold(!checksum as u64 + !old as u64 + new as u64)
    }
}

/// Returns the number below 2^16 that is congruent modulo 2^16 - 1. The result is zero only for
/// zero.
#[inline(always)]
const fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// Checks the example of RFC 1071 §3, and ninety of it in a row at an odd place.
fn known_answer(kernel: Bound<Ops>) -> bool {
    const EXAMPLE: [u8; 8] = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    let mut sum = IpChecksum::with_kernel(kernel);
    sum.update(&EXAMPLE);
    let short = sum.value() == !0xddf2;
    let long = [EXAMPLE; 90];
    let mut sum = IpChecksum::with_kernel(kernel);
    sum.update(&[0]);
    sum.update(long.as_flattened());
    short && sum.value() == !fold(0xddf2 * 90).swap_bytes()
}

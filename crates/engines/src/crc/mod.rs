//! CRC-32 (zlib, Ethernet) and CRC32c (iSCSI, ext4, SCTP): checksums against accidents, alone and
//! fused with a copy.
//!
//! Ref. IEEE 802.3 §3.2.9 and ITU-T V.42 §8.1.1.6.2 (CRC-32); RFC 3720 §12.1 (CRC32c); both
//! bit-reflected, begun with ones and inverted at the end.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

mod arch;
mod polynomial;
mod portable;

use std::marker::PhantomData;

#[cfg(target_arch = "aarch64")]
use millstream_cpu::Feature;
use millstream_cpu::{FeatureSet, Features};

use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table, Timing};
use polynomial::{multiply, x_to_the_bytes};

/// One of the two polynomials.
pub trait Polynomial: Sized + 'static {
    /// The name, as in `crc-32`.
    const NAME: &'static str;
    /// The polynomial without x^32, the coefficient of x^0 in the highest bit.
    const REFLECTED: u32;
    /// Returns the polynomial's kernels.
    fn table() -> &'static Table<Ops<Self>>;
}

/// The polynomial of CRC-32: x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 +
/// x^5 + x^4 + x^2 + x + 1.
#[derive(Clone, Copy, Debug)]
pub struct Ieee;

/// The polynomial of CRC32c, found by Castagnoli, Bräuer and Herrmann.
#[derive(Clone, Copy, Debug)]
pub struct Castagnoli;

impl Polynomial for Ieee {
    const NAME: &'static str = "crc-32";
    const REFLECTED: u32 = 0xedb8_8320;

    fn table() -> &'static Table<Ops<Self>> {
        &CRC32
    }
}

impl Polynomial for Castagnoli {
    const NAME: &'static str = "crc32c";
    const REFLECTED: u32 = 0x82f6_3b78;

    fn table() -> &'static Table<Ops<Self>> {
        &CRC32C
    }
}

/// The functions of a kernel. Both take and return the remainder as it is between bytes: the CRC
/// inverted.
#[derive(Debug)]
pub struct Ops<P> {
    update: unsafe fn(u32, &[u8]) -> u32,
    /// Does the same as `update`, and copies the data.
    copy: unsafe fn(u32, InOut<'_>) -> u32,
    /// Keeps the kernels of the two polynomials apart.
    polynomial: PhantomData<fn() -> P>,
}

/// The kernels of CRC-32.
pub static CRC32: Table<Ops<Ieee>> = Table::new(
    AlgorithmInfo {
        name: Ieee::NAME,
        standing: Standing::NotCryptographic,
        standard: "IEEE 802.3 §3.2.9",
        key_bits: &[],
    },
    CRC32_ROWS,
    |kernel| known_answer(kernel, 0xcbf4_3926),
);

/// The kernels of CRC32c.
pub static CRC32C: Table<Ops<Castagnoli>> = Table::new(
    AlgorithmInfo {
        name: Castagnoli::NAME,
        standing: Standing::NotCryptographic,
        standard: "RFC 3720 §12.1",
        key_bits: &[],
    },
    CRC32C_ROWS,
    |kernel| known_answer(kernel, 0xe306_9283),
);

const PORTABLE: Kernel = Kernel {
    name: "portable",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "sixteen bytes a step from sixteen tables",
};

#[cfg(target_arch = "x86_64")]
const VPCLMUL: Kernel = Kernel {
    name: "x86_64-vpclmul512-by4",
    requires: FeatureSet::parse("avx512f,vpclmulqdq,pclmulqdq"),
    timing: Timing::Constant,
    note: "256 bytes a step folded by carry-less multiplication",
};

#[cfg(target_arch = "x86_64")]
const PCLMUL: Kernel = Kernel {
    name: "x86_64-pclmul-by4",
    requires: FeatureSet::parse("pclmulqdq,sse4.1,ssse3"),
    timing: Timing::Constant,
    note: "64 bytes a step folded by carry-less multiplication",
};

#[cfg(target_arch = "aarch64")]
const ARMV8: Kernel = Kernel {
    name: "aarch64-crc-by3",
    requires: FeatureSet::parse("crc,aes").union(FeatureSet::of(&[Feature::Pmull])),
    timing: Timing::Constant,
    note: "the CRC instructions on three stretches at once",
};

const CRC32_ROWS: &[Row<Ops<Ieee>>] = &[
    #[cfg(target_arch = "x86_64")]
    Row { kernel: VPCLMUL, ops: arch::x86_64_vpclmul::ops() },
    #[cfg(target_arch = "x86_64")]
    Row { kernel: PCLMUL, ops: arch::x86_64_pclmul::ops() },
    #[cfg(target_arch = "aarch64")]
    Row { kernel: ARMV8, ops: arch::aarch64_crc::ops() },
    Row { kernel: PORTABLE, ops: portable::ops() },
];

const CRC32C_ROWS: &[Row<Ops<Castagnoli>>] = &[
    #[cfg(target_arch = "x86_64")]
    Row { kernel: VPCLMUL, ops: arch::x86_64_vpclmul::CASTAGNOLI },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-sse42-by3",
            requires: FeatureSet::parse("sse4.2,pclmulqdq"),
            timing: Timing::Constant,
            note: "the CRC32 instruction on three stretches at once",
        },
        ops: arch::x86_64_sse42::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row { kernel: PCLMUL, ops: arch::x86_64_pclmul::ops() },
    #[cfg(target_arch = "aarch64")]
    Row { kernel: ARMV8, ops: arch::aarch64_crc::ops() },
    Row { kernel: PORTABLE, ops: portable::ops() },
];

/// A CRC-32 in progress, see [`Crc`].
pub type Crc32 = Crc<Ieee>;

/// A CRC32c in progress, see [`Crc`].
pub type Crc32c = Crc<Castagnoli>;

/// A CRC in progress. The CRC so far is its whole state: [`Crc::value`] and [`Crc::resume`] export
/// and import it.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::crc::{Crc32, Crc32c};
///
/// let mut crc = Crc32::new(Features::hardware());
/// crc.update(b"1234");
/// crc.update(b"56789");
/// assert_eq!(crc.value(), 0xcbf43926);
/// assert_eq!(Crc32c::of(Features::hardware(), b"123456789"), 0xe3069283);
/// ```
pub struct Crc<P: Polynomial> {
    kernel: Bound<Ops<P>>,
    /// The CRC, inverted.
    remainder: u32,
}

impl<P: Polynomial> Crc<P> {
    /// Begins a CRC, on the fastest kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        Self::with_kernel(P::table().best(features))
    }

    /// Begins a CRC on the given kernel.
    pub fn with_kernel(kernel: Bound<Ops<P>>) -> Self {
        Crc { kernel, remainder: !0 }
    }

    /// Returns a CRC on the same kernel that continues after data whose CRC is `value`.
    #[must_use]
    pub fn resume(&self, value: u32) -> Self {
        Crc { kernel: self.kernel, remainder: !value }
    }

    /// The CRC of `data`.
    pub fn of(features: Features, data: &[u8]) -> u32 {
        let mut crc = Self::new(features);
        crc.update(data);
        crc.value()
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Takes the next bytes.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        // SAFETY: `self.kernel` is bound.
        self.remainder = unsafe { (self.kernel.ops().update)(self.remainder, data) };
    }

    /// Copies `source` to `destination` and takes it as the next bytes, in one pass.
    ///
    /// # Errors
    /// [`Error::OutputLength`] when the two are not of one length; nothing is taken then.
    pub fn update_copy(&mut self, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
        let pass = InOut::separate(source, destination)?;
        // SAFETY: `self.kernel` is bound.
        self.remainder = unsafe { (self.kernel.ops().copy)(self.remainder, pass) };
        Ok(())
    }

    /// The CRC of what was taken so far.
    #[inline]
    pub fn value(&self) -> u32 {
        !self.remainder
    }

    /// Returns the CRC of A followed by B, from the CRC of A, the CRC of B and the length of B in
    /// bytes.
    ///
    /// ```
    /// # use millstream_engines::crc::Crc32;
    /// # use millstream_cpu::Features;
    /// let crc = |data| Crc32::of(Features::hardware(), data);
    /// assert_eq!(Crc32::combine(crc(b"12345"), crc(b"6789"), 4), crc(b"123456789"));
    /// ```
    pub fn combine(crc_a: u32, crc_b: u32, len_b: u64) -> u32 {
        // Appending B moves A's remainder up by B's length; the initial ones and final inversions
        // of both cancel out.
        multiply(P::REFLECTED, crc_a, x_to_the_bytes(P::REFLECTED, len_b)) ^ crc_b
    }
}

impl<P: Polynomial> Clone for Crc<P> {
    fn clone(&self) -> Self {
        Crc { kernel: self.kernel, remainder: self.remainder }
    }
}

impl<P: Polynomial> std::fmt::Debug for Crc<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:08x} on {:?}", P::NAME, self.value(), self.kernel)
    }
}

/// Checks the check value, which is the CRC of the digits 1 to 9, and a message long enough for
/// the widest step. That message, followed by its own CRC, leaves the same as four zero bytes
/// after a CRC of zero.
fn known_answer<P: Polynomial>(kernel: Bound<Ops<P>>, check: u32) -> bool {
    let after = |crc: &Crc<P>, data: &[u8]| {
        let mut crc = crc.clone();
        crc.update(data);
        crc
    };
    let nothing = Crc::with_kernel(kernel);
    let long = after(&nothing, &[0x5a; 1019]);
    let followed = after(&long, &long.value().to_le_bytes());
    after(&nothing, b"123456789").value() == check
        && followed.value() == after(&nothing.resume(0), &[0; 4]).value()
}

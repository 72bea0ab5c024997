//! KASUMI and its two modes: f8, the confidentiality algorithm UEA1, and f9, the integrity
//! algorithm UIA1, both on messages of any number of bits.
//!
//! Ref. TS 35.201 (f8, f9), TS 35.202 (KASUMI), TS 35.203 (test data).
//!
//! # Safety
//! The functions of a kernel are called through a [`Bound`], which is the witness that their
//! features exist; see [`crate::kernel`].
#![allow(unsafe_code)]

mod arch;
mod cipher;
mod job;
mod lanes;
mod portable;
mod sbox;
mod schedule;
#[cfg(target_arch = "x86_64")]
mod side_by_side;
#[cfg(target_arch = "x86_64")]
mod sliced;
mod vartime;

use std::fmt;

use millstream_cpu::{FeatureSet, Features};

pub use cipher::{Keystream, Sums};
pub use job::{F8Job, F8LanesOps, F9Job, F9LanesOps};
pub use lanes::{F8Lanes, F9Lanes, UEA1_LANES, UIA1_LANES};
pub use sbox::{S7, S9};
pub use schedule::Schedule;

use crate::compare::begins;
use crate::kernel::{LineBesideKernel, no_padding};
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table, Timing};

/// The functions of one kernel.
#[derive(Clone, Copy)]
pub struct Ops {
    expand: unsafe fn(key: &[u8; 16]) -> Schedule,
    block: unsafe fn(&Schedule, u64) -> u64,
    f8: unsafe fn(&Schedule, Keystream, InOut<'_>),
    f9: unsafe fn(&Schedule, Sums, blocks: &[u8]) -> Sums,
}

static ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512vbmi",
            requires: arch::x86_64_vbmi::REQUIRES,
            timing: Timing::Constant,
            note: "S7 and S9 in registers: byte permutes of 128 entries, GFNI for what depends on the other two bits",
        },
        ops: arch::x86_64_vbmi::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "S7 and S9 from their equations, four S-boxes in one 64-bit word",
        },
        ops: portable::OPS,
    },
    Row {
        kernel: Kernel {
            name: "vartime-s7s9-tables",
            requires: FeatureSet::EMPTY,
            timing: Timing::Variable,
            note: "the S-boxes as tables of 128 and 512 entries",
        },
        ops: vartime::BOXES,
    },
    Row {
        kernel: Kernel {
            name: "vartime-merged-tables",
            requires: FeatureSet::EMPTY,
            timing: Timing::Variable,
            note: "each half of FI as one table of 65,536 entries",
        },
        ops: vartime::MERGED_TABLES,
    },
];

/// The kernels of f8.
pub static UEA1: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "kasumi-f8",
        standing: Standing::Telecom,
        standard: "TS 35.201 §3",
        key_bits: &[128],
    },
    ROWS,
    |kernel| {
        // TS 35.203 §3.4, the first four bytes of test set 1.
        let mut data = [0x7e, 0xc6, 0x12, 0x72];
        let f8 = F8::with_kernel(kernel, &SELF_TEST_KEY).expect("sixteen bytes");
        f8.apply(0x72a4_f20f, 0x0c, 1, InOut::in_place(&mut data), 32).is_ok()
            && data == [0xd1, 0xe2, 0xde, 0x70]
    },
);

/// The kernels of f9.
pub static UIA1: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "kasumi-f9",
        standing: Standing::Telecom,
        standard: "TS 35.201 §4",
        key_bits: &[128],
    },
    ROWS,
    |kernel| {
        // TS 35.203 §4.4, test set 1.
        let message = [
            0x6b, 0x22, 0x77, 0x37, 0x29, 0x6f, 0x39, 0x3c, 0x80, 0x79, 0x35, 0x3e, 0xdc, 0x87, 0xe2, 0xe8,
            0x05, 0xd2, 0xec, 0x49, 0xa4, 0xf2, 0xd8, 0xe0,
        ];
        let f9 = F9::with_kernel(kernel, &SELF_TEST_KEY).expect("sixteen bytes");
        f9.verify(0x38a6_f056, 0x05d2_ec49, 0, &message, 189, &[0xf6, 0x3b, 0xd7, 0x2c]).is_ok()
    },
);

/// The key of the first test sets of TS 35.203.
const SELF_TEST_KEY: [u8; 16] =
    [0x2b, 0xd6, 0x45, 0x9f, 0x82, 0xc5, 0xb3, 0x00, 0x95, 0x2c, 0x49, 0x10, 0x48, 0x81, 0xff, 0x48];

/// Two expanded keys, and the kernel for which they were expanded.
struct Keys {
    kernel: Bound<Ops>,
    plain: Schedule,
    modified: Schedule,
    _unused: LineBesideKernel,
}

no_padding!(Keys: Schedule, Schedule, Bound<Ops>, LineBesideKernel);

impl Keys {
    /// Expands the key, and the key with every byte changed by `modifier` (KM of TS 35.201).
    fn new(algorithm: &'static str, kernel: Bound<Ops>, key: &[u8], modifier: u8) -> Result<Self, Error> {
        let key: &[u8; 16] = key.try_into().map_err(|_| Error::KeyLength {
            algorithm,
            given: key.len(),
            takes: "16 bytes",
        })?;
        let mut other = zeroize::Zeroizing::new(*key);
        for byte in other.iter_mut() {
            *byte ^= modifier;
        }
        // SAFETY: `kernel` is a `Bound`.
        let (plain, modified) = unsafe { ((kernel.ops().expand)(key), (kernel.ops().expand)(&other)) };
        Ok(Keys { kernel, plain, modified, _unused: [0; size_of::<LineBesideKernel>()] })
    }

    fn block(&self, schedule: &Schedule, x: u64) -> u64 {
        // SAFETY: `self.kernel` is a `Bound`.
        unsafe { (self.kernel.ops().block)(schedule, x) }
    }
}

/// The confidentiality algorithm f8, keyed.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, kasumi};
///
/// let f8 = kasumi::F8::new(Features::hardware(), &[7; 16])?;
/// let mut message = *b"thirteen bits";
/// f8.apply(1, 3, 0, InOut::in_place(&mut message), 8 * 13)?;
/// f8.apply(1, 3, 0, InOut::in_place(&mut message), 8 * 13)?;
/// assert_eq!(&message, b"thirteen bits");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct F8 {
    keys: Keys,
}

impl F8 {
    /// Expands a confidentiality key (CK) of 16 bytes for the best kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        F8::with_kernel(UEA1.best(features), key)
    }

    /// Does the same as [`F8::new`], for the kernel given.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
        Ok(F8 { keys: Keys::new(UEA1.algorithm.name, kernel, key, 0x55)? })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.keys.kernel.kernel()
    }

    /// Enciphers or deciphers the first `bits` bits of `data`, most significant bit of each byte first. Bits of the
    /// last byte beyond the length stay as they are.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless `data` is just the bytes that hold `bits` bits;
    /// [`Error::Parameter`] when `bearer` does not fit five bits, or `direction` one.
    pub fn apply(
        &self,
        count: u32,
        bearer: u8,
        direction: u8,
        data: InOut<'_>,
        bits: usize,
    ) -> Result<(), Error> {
        check_f8(bearer, direction, data.len(), bits)?;
        self.apply_iv(first_block_f8(count, bearer, direction), data, bits)
    }

    /// Does the same as [`F8::apply`] with the block that is enciphered first as a whole: COUNT, BEARER, DIRECTION, and 26 bits which are
    /// zeros in TS 35.201. Interfaces that take an initialisation vector have it so.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless `data` is just the bytes that hold `bits` bits.
    pub fn apply_iv(&self, iv: u64, data: InOut<'_>, bits: usize) -> Result<(), Error> {
        check_length(UEA1.algorithm.name, data.len(), bits)?;
        if bits > 0 {
            self.pour(self.keystream(iv), data, bits);
        }
        Ok(())
    }

    /// Begins a message in pieces.
    ///
    /// # Errors
    /// [`Error::Parameter`], as for [`F8::apply`].
    pub fn begin(&self, count: u32, bearer: u8, direction: u8) -> Result<F8State, Error> {
        check_f8(bearer, direction, 0, 0)?;
        Ok(self.begin_iv(first_block_f8(count, bearer, direction)))
    }

    /// Begins a message in pieces with the block that is enciphered first as a whole, as [`F8::apply_iv`] does.
    pub fn begin_iv(&self, iv: u64) -> F8State {
        F8State { stream: self.keystream(iv) }
    }

    /// Returns the keystream of a message, at its begin.
    fn keystream(&self, iv: u64) -> Keystream {
        Keystream { start: self.keys.block(&self.keys.modified, iv), number: 0, last: 0 }
    }

    /// Adds the keystream, from its position on, to `bits` bits, at least one.
    fn pour(&self, stream: Keystream, mut data: InOut<'_>, bits: usize) {
        let last = data.len() - 1;
        let [before] = data.load::<1>(last);
        // SAFETY: `kernel` is a `Bound`.
        unsafe { (self.keys.kernel.ops().f8)(&self.keys.plain, stream, data.reborrow()) };
        let output = &mut data.output()[last];
        *output = keep_beyond(bits, before, *output);
    }

    /// KASUMI itself on one block under this key, for tests against TS 35.203.
    pub fn block(&self, block: u64) -> u64 {
        self.keys.block(&self.keys.plain, block)
    }

    /// Returns the block for which [`F8::block`] gives `block`. Neither f8 nor f9 needs this function. It takes
    /// constant time, and is slow.
    pub fn inverse_block(&self, block: u64) -> u64 {
        portable::inverse_block(&schedule::expand(&self.keys.plain.key), block)
    }
}

/// One message through f8 in pieces, without its key. Zeroised on drop.
pub struct F8State {
    stream: Keystream,
}

impl F8State {
    /// Passes the next piece of `bits` bits, under the key with which the message was begun. All pieces but the last
    /// are whole blocks of 8 bytes.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless `data` is just the bytes that hold `bits` bits.
    pub fn apply(&mut self, key: &F8, mut data: InOut<'_>, bits: usize) -> Result<(), Error> {
        check_length(UEA1.algorithm.name, data.len(), bits)?;
        if bits == 0 {
            return Ok(());
        }
        let last = data.len().checked_sub(8);
        let before = last.map(|at| u64::from_be_bytes(data.load(at)));
        key.pour(self.stream, data.reborrow(), bits);
        if let (Some(at), Some(before)) = (last, before) {
            let [after] = data.output()[at..].as_chunks::<8>().0 else { return Ok(()) };
            // The keystream's last block is the difference of the data before and after.
            self.stream.last = before ^ u64::from_be_bytes(*after);
            self.stream.number += (data.len() / 8) as u64;
        }
        Ok(())
    }
}

impl Drop for F8State {
    fn drop(&mut self) {
        (self.stream.start, self.stream.last) = (0, 0);
        zeroize::optimization_barrier(&self.stream);
    }
}

/// One message through f9 in pieces, without its key. Zeroised on drop.
pub struct F9State {
    sums: Sums,
}

impl F9State {
    /// Adds the next piece, whole blocks of 8 bytes, under the key with which the message was begun. The message's last
    /// piece, and its last bits, go to [`F9State::finish`].
    ///
    /// # Panics
    /// When `blocks` is not whole blocks.
    pub fn update(&mut self, key: &F9, blocks: &[u8]) {
        assert!(blocks.len().is_multiple_of(8), "whole blocks");
        self.sums = key.chain(self.sums, blocks);
    }

    /// Ends the message with its last piece, of `bits` bits, and returns the authentication code.
    ///
    /// # Errors
    /// The errors of [`F9::mac`].
    pub fn finish(self, key: &F9, direction: u8, last: &[u8], bits: usize) -> Result<[u8; 4], Error> {
        check_f9(direction, last.len(), bits)?;
        Ok(key.end(self.sums, direction, last, bits))
    }
}

impl Drop for F9State {
    fn drop(&mut self) {
        self.sums = Sums::default();
        zeroize::optimization_barrier(&self.sums);
    }
}

/// The integrity algorithm f9, keyed.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::kasumi;
///
/// let f9 = kasumi::F9::new(Features::hardware(), &[7; 16])?;
/// let tag = f9.mac(1, 0x1234_5678, 0, b"message", 53)?;
/// assert!(f9.verify(1, 0x1234_5678, 0, b"message", 53, &tag).is_ok());
/// assert!(f9.verify(1, 0x1234_5678, 1, b"message", 53, &tag).is_err());
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct F9 {
    keys: Keys,
}

impl F9 {
    /// Expands an integrity key (IK) of 16 bytes for the best kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        F9::with_kernel(UIA1.best(features), key)
    }

    /// Does the same as [`F9::new`], for the kernel given.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
        Ok(F9 { keys: Keys::new(UIA1.algorithm.name, kernel, key, 0xaa)? })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.keys.kernel.kernel()
    }

    /// The authentication code of the first `bits` bits of `message`, most significant bit of each
    /// byte first. Bits of the last byte beyond the length play no part.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless `message` is just the bytes that hold `bits` bits;
    /// [`Error::Parameter`] when `direction` does not fit one bit.
    pub fn mac(
        &self,
        count: u32,
        fresh: u32,
        direction: u8,
        message: &[u8],
        bits: usize,
    ) -> Result<[u8; 4], Error> {
        check_f9(direction, message.len(), bits)?;
        // TS 35.201 §4.4: COUNT || FRESH || MESSAGE || DIRECTION || 1 || 0...0.
        Ok(self.end(self.begin(count, fresh).sums, direction, message, bits))
    }

    /// Begins a message in pieces.
    pub fn begin(&self, count: u32, fresh: u32) -> F9State {
        let first = first_block_f9(count, fresh).to_be_bytes();
        F9State { sums: self.chain(Sums::default(), &first) }
    }

    /// The code of a message that ends with these bits.
    fn end(&self, sums: Sums, direction: u8, message: &[u8], bits: usize) -> [u8; 4] {
        let sums = self.chain(sums, &message[..bits / 64 * 8]);
        let (end, blocks) = last_blocks(message, bits, direction);
        let sums = self.chain(sums, end[..blocks].as_flattened());
        let mac = self.keys.block(&self.keys.modified, sums.b);
        ((mac >> 32) as u32).to_be_bytes()
    }

    /// Compares the code of a message with `mac`, in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; otherwise as [`F9::mac`].
    pub fn verify(
        &self,
        count: u32,
        fresh: u32,
        direction: u8,
        message: &[u8],
        bits: usize,
        mac: &[u8; 4],
    ) -> Result<(), Error> {
        let own = self.mac(count, fresh, direction, message, bits)?;
        if begins(&own, mac).into() { Ok(()) } else { Err(Error::Authentication) }
    }

    fn chain(&self, sums: Sums, blocks: &[u8]) -> Sums {
        // SAFETY: `kernel` is a `Bound`.
        unsafe { (self.keys.kernel.ops().f9)(&self.keys.plain, sums, blocks) }
    }
}

/// Returns the one or two blocks that end the padded string, and their number: the message's last bits that fill no
/// block, DIRECTION, a one, and zeros to the block's end.
#[inline]
fn last_blocks(message: &[u8], bits: usize, direction: u8) -> ([[u8; 8]; 2], usize) {
    let rest = bits % 64;
    let mut word = 0;
    if let Some(&last) = message.last_chunk::<8>() {
        let bytes = rest.div_ceil(8) as u32;
        word = u64::from_be_bytes(last).checked_shl(64 - 8 * bytes).unwrap_or(0);
    } else {
        for (i, &byte) in message.iter().enumerate() {
            word |= u64::from(byte) << (56 - 8 * i);
        }
    }
    word = word & !(u64::MAX >> rest) | u64::from(direction) << (63 - rest);
    if rest < 63 {
        ([(word | 1 << (62 - rest)).to_be_bytes(), [0; 8]], 1)
    } else {
        ([word.to_be_bytes(), [0x80, 0, 0, 0, 0, 0, 0, 0]], 2)
    }
}

/// COUNT || BEARER || DIRECTION || 0...0, which f8 enciphers first (TS 35.201 §3.4).
fn first_block_f8(count: u32, bearer: u8, direction: u8) -> u64 {
    (count as u64) << 32 | (bearer as u64) << 27 | (direction as u64) << 26
}

/// COUNT || FRESH, with which f9 begins (TS 35.201 §4.4).
fn first_block_f9(count: u32, fresh: u32) -> u64 {
    (count as u64) << 32 | fresh as u64
}

/// Returns the last byte of `bits` bits: `after` up to the length, and `before` beyond it.
fn keep_beyond(bits: usize, before: u8, after: u8) -> u8 {
    let beyond = if bits.is_multiple_of(8) { 0 } else { 0xff >> (bits % 8) };
    after & !beyond | before & beyond
}

/// Checks the parameters as [`F8::apply`] requires them.
fn check_f8(bearer: u8, direction: u8, bytes: usize, bits: usize) -> Result<(), Error> {
    let algorithm = UEA1.algorithm.name;
    check_length(algorithm, bytes, bits)?;
    check_bearer(algorithm, bearer)?;
    check_direction(algorithm, direction)
}

/// Checks the parameters as [`F9::mac`] requires them.
fn check_f9(direction: u8, bytes: usize, bits: usize) -> Result<(), Error> {
    let algorithm = UIA1.algorithm.name;
    check_length(algorithm, bytes, bits)?;
    check_direction(algorithm, direction)
}

/// Requires that `bytes` bytes are just those which hold `bits` bits.
fn check_length(algorithm: &'static str, bytes: usize, bits: usize) -> Result<(), Error> {
    if bytes == bits.div_ceil(8) {
        return Ok(());
    }
    Err(Error::DataLength { algorithm, given: bits as u64, takes: "as many bits as the buffer's bytes hold" })
}

/// Requires one bit.
fn check_direction(algorithm: &'static str, direction: u8) -> Result<(), Error> {
    match direction {
        0 | 1 => Ok(()),
        _ => Err(Error::Parameter { algorithm, name: "DIRECTION", given: direction.into(), takes: "0 or 1" }),
    }
}

/// Requires five bits.
fn check_bearer(algorithm: &'static str, bearer: u8) -> Result<(), Error> {
    match bearer {
        0..32 => Ok(()),
        _ => Err(Error::Parameter { algorithm, name: "BEARER", given: bearer.into(), takes: "0 to 31" }),
    }
}

impl fmt::Debug for F8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kasumi::F8({})", self.kernel().name)
    }
}

impl fmt::Debug for F9 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kasumi::F9({})", self.kernel().name)
    }
}

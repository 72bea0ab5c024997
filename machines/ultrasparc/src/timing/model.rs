//! The cycles of an operation: formulas over [`super::parameters`].

use super::parameters::{self as parameters, Parameter};
use crate::isa::Class;
use crate::processor::Processor;
use crate::spu::{Auth, CipherKind, Kind, Op, Task, Work};

/// Cycles a second.
#[must_use]
pub fn clock(processor: Processor) -> f64 {
    let clock = match processor {
        Processor::UltraSparc2 => parameters::ULTRASPARC2_CLOCK,
        Processor::T1 => parameters::T1_CLOCK,
        Processor::T2 => parameters::T2_CLOCK,
        Processor::T3 => parameters::T3_CLOCK,
        Processor::T4 => parameters::T4_CLOCK,
    };
    clock.value
}

/// Cycles of so many instructions of each class, on one strand that has its pipeline for itself.
pub fn instructions(processor: Processor, counts: impl IntoIterator<Item = (Class, u64)>) -> f64 {
    counts.into_iter().map(|(class, count)| parameters::cycles(processor, class) * count as f64).sum()
}

/// The work of the cipher and hash part of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bulk {
    Aes128,
    Aes192,
    Aes256,
    Des,
    TripleDes,
    Rc4,
    Md5,
    Sha1,
    Sha256,
    Copy,
}

impl Bulk {
    /// Returns the cycles a byte.
    #[must_use]
    pub fn per_byte(self) -> Parameter {
        match self {
            Bulk::Aes128 => parameters::SPU_AES128,
            Bulk::Aes192 => parameters::SPU_AES192,
            Bulk::Aes256 => parameters::SPU_AES256,
            Bulk::Des => parameters::SPU_DES,
            Bulk::TripleDes => parameters::SPU_3DES,
            Bulk::Rc4 => parameters::SPU_RC4,
            Bulk::Md5 => parameters::SPU_MD5,
            Bulk::Sha1 => parameters::SPU_SHA1,
            Bulk::Sha256 => parameters::SPU_SHA256,
            Bulk::Copy => parameters::SPU_COPY,
        }
    }
}

/// The memory that holds an operation's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Level {
    L2,
    Dram,
}

/// Returns the cycles for which the unit is busy with one operation. The unit starts the next operation when this one
/// has ended, so small operations wait for the word, the key and the first bytes to be fetched.
#[must_use]
pub fn unit(bulk: Bulk, bytes: u64, level: Level) -> f64 {
    let start = match level {
        Level::L2 => parameters::SPU_START_L2,
        Level::Dram => parameters::SPU_START_DRAM,
    };
    start.value + bulk.per_byte().value * bytes as f64
}

/// The part of the unit's highest throughput that objects of this length reach.
#[must_use]
pub fn part_of_peak(bulk: Bulk, bytes: u64, level: Level) -> f64 {
    bulk.per_byte().value * bytes as f64 / unit(bulk, bytes, level)
}

/// Cycles of the arithmetic unit for one Montgomery multiplication of so many words.
#[must_use]
pub fn arithmetic_multiply(words: u64) -> f64 {
    let products = 2 * words * words + words;
    parameters::MAU_OPERATION.value + parameters::MAU_PRODUCT.value * products as f64
}

/// Cycles of the framework's path for one synchronous operation without the unit's own, `copied` bytes in and out together.
#[must_use]
pub fn framework(copied: u64) -> f64 {
    parameters::FRAMEWORK_THREAD.value
        + parameters::FRAMEWORK_REST.value
        + parameters::T2_COPY.value * copied as f64
}

/// Cycles of one `montmul` or `montsqr` of so many words, with loading and storing its operands.
#[must_use]
pub fn montmul(words: u64) -> f64 {
    let products = 2 * words * words;
    parameters::T4_MONTMUL_CALL.value + parameters::T4_MONTMUL_PRODUCT.value * products as f64
}

/// Cycles of a unit for a piece of work, with its data in L2.
#[must_use]
pub fn work(processor: Processor, work: &Work) -> f64 {
    let start = if work.first { parameters::SPU_START_L2.value } else { 0.0 };
    match work.kind {
        Kind::Control(task) => start + bulk(task).per_byte().value * work.bytes as f64,
        Kind::Refused => start,
        Kind::Modular(Op::Load | Op::Store) => parameters::MAU_OPERATION.value + work.words as f64,
        Kind::Modular(_) => {
            // T1's unit has the multiplier of one core's strands for itself, at half the speed.
            let slower = if processor == Processor::T1 { 2.0 } else { 1.0 };
            slower * work.multiplications as f64 * arithmetic_multiply(work.words as u64)
        }
    }
}

/// The kind of a task for the unit's speed. A task without a published speed goes with its nearest relative.
fn bulk(task: Task) -> Bulk {
    match task {
        Task::Cipher(cipher) => match cipher.kind {
            CipherKind::Rc4 | CipherKind::Rc4NoStream => Bulk::Rc4,
            CipherKind::Des => Bulk::Des,
            CipherKind::TripleDes => Bulk::TripleDes,
            CipherKind::Aes192 => Bulk::Aes192,
            CipherKind::Aes256 => Bulk::Aes256,
            CipherKind::Aes128 | CipherKind::Kasumi | CipherKind::KasumiF8 => Bulk::Aes128,
        },
        Task::Auth(Auth::Md5 | Auth::HmacMd5 | Auth::SslMd5 | Auth::PartialMd5) | Task::SslKey => Bulk::Md5,
        Task::Auth(Auth::Sha1 | Auth::HmacSha1 | Auth::SslSha1 | Auth::PartialSha1) => Bulk::Sha1,
        Task::Auth(Auth::Crc32 | Auth::Crc32c | Auth::TcpChecksum | Auth::IpChecksum) | Task::Copy => {
            Bulk::Copy
        }
        Task::Auth(_) => Bulk::Sha256,
    }
}

//! SM4, the block cipher of the Chinese standards, and its modes ECB, CBC and CTR.
//!
//! Ref. GB/T 32907-2016 (the cipher), ISO/IEC 18033-3:2010/Amd 1:2021 (the same in English), GB/T 17964-2021 and NIST
//! SP 800-38A (the modes), RFC 8998 (in TLS).

mod arch;
mod lanes;
mod portable;
mod sbox;
mod schedule;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod sliced;

use millstream_cpu::FeatureSet;

pub use lanes::{CBC_LANES, CTR_LANES};
pub use sbox::S_BOX;

use crate::blocks::{self, Cipher, Example, Ops, Schedule, Tables};
use crate::{AlgorithmInfo, Error, Kernel, Row, Standing, Table, Timing};

/// The cipher, which [`Ecb`], [`Cbc`], [`Ctr`] and the lanes use.
#[derive(Clone, Copy, Debug)]
pub enum Sm4 {}

impl Cipher for Sm4 {
    const TABLES: Tables<Self> =
        Tables { ecb: &ECB, cbc: &CBC, ctr: &CTR, cbc_lanes: &CBC_LANES, ctr_lanes: &CTR_LANES };

    /// GB/T 32907-2016 §A.1: the key is the plaintext too.
    const EXAMPLE: Example = Example {
        key: &KEY,
        plain: KEY,
        cipher: [
            0x68, 0x1e, 0xdf, 0x34, 0xd2, 0x06, 0x96, 0x5e, 0x86, 0xb3, 0xe9, 0x4f, 0x53, 0x6e, 0x42, 0x46,
        ],
    };

    type Rows<T: Copy> = [[T; 16]; schedule::ROWS];

    fn rows_of<T: Copy>(value: T) -> Self::Rows<T> {
        [[value; 16]; schedule::ROWS]
    }

    fn expand(algorithm: &'static str, key: &[u8]) -> Result<Schedule<Self>, Error> {
        schedule::expand(algorithm, key)
    }
}

const KEY: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10];

/// SM4 in ECB: each block on its own, for constructions that need the bare cipher.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, modes::BlockMode, sm4};
///
/// let ecb = sm4::Ecb::new(Features::hardware(), &[7; 16])?;
/// let mut block = *b"sixteen bytes..!";
/// ecb.encrypt(&mut [], InOut::in_place(&mut block));
/// ecb.decrypt(&mut [], InOut::in_place(&mut block));
/// assert_eq!(&block, b"sixteen bytes..!");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub type Ecb = blocks::Ecb<Sm4>;
/// SM4 in CBC.
pub type Cbc = blocks::Cbc<Sm4>;
/// SM4 in counter mode; the counter is the whole block, big-endian.
pub type Ctr = blocks::Ctr<Sm4>;
/// One message for [`CbcLanes`].
pub type CbcJob<'a> = blocks::CbcJob<'a, Sm4>;
/// One message for [`CtrLanes`].
pub type CtrJob<'a> = blocks::CtrJob<'a, Sm4>;
/// CBC encryption of many messages at once.
pub type CbcLanes = blocks::CbcLanes<Sm4>;
/// CTR over many messages at once.
pub type CtrLanes = blocks::CtrLanes<Sm4>;

const fn algorithm(name: &'static str, standard: &'static str) -> AlgorithmInfo {
    AlgorithmInfo { name, standing: Standing::Current, standard, key_bits: &[128] }
}

/// The kernels of ECB.
pub static ECB: Table<Ops<Sm4>> =
    Table::new(algorithm("sm4-ecb", "GB/T 32907-2016; SP 800-38A §6.1"), ROWS, blocks::ecb_is_right);

/// The kernels of CBC.
pub static CBC: Table<Ops<Sm4>> =
    Table::new(algorithm("sm4-cbc", "GB/T 32907-2016; SP 800-38A §6.2"), ROWS, blocks::cbc_is_right);

/// The kernels of CTR.
pub static CTR: Table<Ops<Sm4>> =
    Table::new(algorithm("sm4-ctr", "GB/T 32907-2016; SP 800-38A §6.5"), ROWS, blocks::ctr_is_right);

static ROWS: &[Row<Ops<Sm4>>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni256-by32",
            requires: arch::x86_64_gfni::REQUIRES,
            timing: Timing::Constant,
            note: "each byte of 32 blocks in one AVX2 register; an S-box with its part of L is two instructions",
        },
        ops: arch::x86_64_gfni::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-aesni-by16",
            requires: arch::x86_64_aesni::REQUIRES,
            timing: Timing::Constant,
            note: "the AES S-box between affine maps by shuffles",
        },
        ops: arch::x86_64_aesni::OPS,
    },
    #[cfg(target_arch = "aarch64")]
    Row {
        kernel: Kernel {
            name: "aarch64-ce-by16",
            requires: arch::aarch64_ce::REQUIRES,
            timing: Timing::Constant,
            note: "the AES S-box between affine maps by table instructions",
        },
        ops: arch::aarch64_ce::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "bitsliced over sixteen blocks, inversion in GF((2^4)^2)",
        },
        ops: portable::OPS,
    },
];

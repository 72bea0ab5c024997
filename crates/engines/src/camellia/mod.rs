//! Camellia with keys of 128, 192 and 256 bits, and its modes ECB, CBC and CTR.
//!
//! Ref. RFC 3713 (the cipher), NIST SP 800-38A (the modes), RFC 5528 (counter mode).

mod arch;
mod lanes;
mod portable;
mod round;
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
mod sbox;
mod schedule;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod sliced;

use millstream_cpu::FeatureSet;

pub use lanes::{CBC_LANES, CTR_LANES};
pub use sbox::S1;

pub use crate::blocks::Block;

use crate::blocks::{self, Cipher, Example, Ops, Schedule, Tables};
use crate::{AlgorithmInfo, Error, Kernel, Row, Standing, Table, Timing};

/// The cipher, which [`Ecb`], [`Cbc`], [`Ctr`] and the lanes use.
#[derive(Clone, Copy, Debug)]
pub enum Camellia {}

impl Cipher for Camellia {
    const TABLES: Tables<Self> =
        Tables { ecb: &ECB, cbc: &CBC, ctr: &CTR, cbc_lanes: &CBC_LANES, ctr_lanes: &CTR_LANES };

    /// RFC 3713 appendix A, 128-bit key: the key is the plaintext too.
    const EXAMPLE: Example = Example {
        key: &KEY,
        plain: KEY,
        cipher: [
            0x67, 0x67, 0x31, 0x38, 0x54, 0x96, 0x69, 0x73, 0x08, 0x57, 0x06, 0x56, 0x48, 0xea, 0xbe, 0x43,
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

/// Camellia in ECB: each block on its own, for constructions that need the bare cipher.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, camellia, modes::BlockMode};
///
/// let ecb = camellia::Ecb::new(Features::hardware(), &[7; 32])?;
/// let mut block = *b"sixteen bytes..!";
/// ecb.encrypt(&mut [], InOut::in_place(&mut block));
/// ecb.decrypt(&mut [], InOut::in_place(&mut block));
/// assert_eq!(&block, b"sixteen bytes..!");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub type Ecb = blocks::Ecb<Camellia>;
/// Camellia in CBC.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::camellia::Cbc;
/// use millstream_engines::modes::{BlockStream, Direction, Padding};
///
/// let cbc = Cbc::new(Features::hardware(), &[7; 16])?;
/// let mut out = [0; 32];
/// let mut stream = BlockStream::new(&cbc, &[1; 16], Direction::Encrypt, Padding::Pkcs7)?;
/// let n = stream.update(b"of any length at all", &mut out)?;
/// assert_eq!(n + stream.finish(&mut out[n..])?, 32);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub type Cbc = blocks::Cbc<Camellia>;
/// Camellia in counter mode; the counter is the whole block, big-endian.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, camellia::Ctr};
/// use millstream_engines::modes::{ByteStream, Direction};
///
/// let ctr = Ctr::new(Features::hardware(), &[7; 24])?;
/// let mut message = *b"of any length";
/// ByteStream::new(&ctr, &[1; 16], Direction::Encrypt)?.update(InOut::in_place(&mut message));
/// ByteStream::new(&ctr, &[1; 16], Direction::Decrypt)?.update(InOut::in_place(&mut message));
/// assert_eq!(&message, b"of any length");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub type Ctr = blocks::Ctr<Camellia>;
/// One message for [`CbcLanes`].
pub type CbcJob<'a> = blocks::CbcJob<'a, Camellia>;
/// One message for [`CtrLanes`].
pub type CtrJob<'a> = blocks::CtrJob<'a, Camellia>;
/// CBC encryption of many messages at once.
pub type CbcLanes = blocks::CbcLanes<Camellia>;
/// CTR over many messages at once.
pub type CtrLanes = blocks::CtrLanes<Camellia>;
/// The functions of one row of [`CBC_LANES`].
pub type CbcLanesOps = blocks::CbcLanesOps<Camellia>;
/// The functions of one row of [`CTR_LANES`].
pub type CtrLanesOps = blocks::CtrLanesOps<Camellia>;

const fn algorithm(name: &'static str, standard: &'static str) -> AlgorithmInfo {
    AlgorithmInfo { name, standing: Standing::Current, standard, key_bits: &[128, 192, 256] }
}

/// The kernels of ECB.
pub static ECB: Table<Ops<Camellia>> =
    Table::new(algorithm("camellia-ecb", "RFC 3713; SP 800-38A §6.1"), ROWS, blocks::ecb_is_right);

/// The kernels of CBC.
pub static CBC: Table<Ops<Camellia>> =
    Table::new(algorithm("camellia-cbc", "RFC 3713; SP 800-38A §6.2"), ROWS, blocks::cbc_is_right);

/// The kernels of CTR.
pub static CTR: Table<Ops<Camellia>> =
    Table::new(algorithm("camellia-ctr", "RFC 5528; SP 800-38A §6.5"), ROWS, blocks::ctr_is_right);

static ROWS: &[Row<Ops<Camellia>>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni256-by32",
            requires: arch::x86_64_gfni::REQUIRES_256,
            timing: Timing::Constant,
            note: "each byte of 32 blocks in one AVX2 register; an S-box is two affine instructions",
        },
        ops: arch::x86_64_gfni::OPS_256,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni512-by64",
            requires: arch::x86_64_gfni::REQUIRES_512,
            timing: Timing::Constant,
            note: "as by32 in AVX-512 registers, which Zen 4 splits in two",
        },
        ops: arch::x86_64_gfni::OPS_512,
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
            note: "bitsliced over eight blocks, inversion in GF((2^4)^2)",
        },
        ops: portable::OPS,
    },
];

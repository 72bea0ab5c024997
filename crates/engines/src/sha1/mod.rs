//! SHA-1, for protocols that still ask for it.
//!
//! Collisions have been found (SHAttered, 2017): it must not be used for signatures. HMAC-SHA-1 and
//! HKDF-SHA-1 do not rest on collision resistance.
//!
//! Ref. FIPS 180-4 §6.1.

pub(crate) mod arch;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod portable;

use millstream_cpu::{FeatureSet, Features};

use crate::hash::chain::{self, Chain, Chaining, chaining_big_endian};
use crate::hash::{Hash, job as lane_rows};
use crate::{Bound, Row, Standing, Table};

/// Bytes in a block.
pub const BLOCK: usize = 64;
/// Bytes in a digest.
pub const LEN: usize = Hash::Sha1.output_len();

pub(crate) type State = [u32; 5];

/// The function of a kernel: the compression function.
pub type CompressOps = crate::hash::CompressOps<[u32; 5], BLOCK>;

/// The functions of a kernel for many messages at once.
pub type LanesOps = crate::hash::LanesOps<[u32; 5], BLOCK>;

/// FIPS 180-4 §5.3.1.
pub(crate) const INITIAL: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// FIPS 180-4 §4.2.1: the constant of each twenty rounds.
pub(crate) const K: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

/// The kernels, best first.
pub static SHA1: Table<CompressOps> =
    chain::table("sha1", Standing::Legacy, "FIPS 180-4 §6.1", ROWS, known_answer);

static ROWS: &[Row<CompressOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_shani::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2::ROW,
    #[cfg(target_arch = "aarch64")]
    arch::aarch64_ce::ROW,
    chain::row("portable", FeatureSet::EMPTY, portable::compress, "rolling schedule of sixteen words"),
];

chaining_big_endian!(u32, 5, u64, Sha1 INITIAL);

/// The kernels for many messages, best first.
pub static SHA1_LANES: Table<LanesOps> =
    lane_rows::table("sha1-lanes", Standing::Legacy, "FIPS 180-4 §6.1", LANES_ROWS, lanes_known_answer);

static LANES_ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::SHANI_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::SHANI_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::ROW,
    lane_rows::direct_row!(),
];

/// FIPS 180-4's example "abc".
const ABC: &[u8; LEN] = b"\xa9\x99\x3e\x36\x47\x06\x81\x6a\xba\x3e\x25\x71\x78\x50\xc2\x6c\x9c\xd0\xd8\x9d";

fn known_answer(kernel: Bound<CompressOps>) -> bool {
    let mut out = [0; LEN];
    Chain { kernel, state: INITIAL }.digest(0, b"abc").write(&mut out);
    out == *ABC
}

fn lanes_known_answer(kernel: Bound<LanesOps>) -> bool {
    lane_rows::known_answer(kernel, &SHA1, Hash::Sha1, ABC)
}

/// The SHA-1 digest of a message.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::sha1;
///
/// let digest = sha1::digest(Features::hardware(), b"abc");
/// assert_eq!(digest[..4], [0xa9, 0x99, 0x3e, 0x36]);
/// ```
pub fn digest(features: Features, data: &[u8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    Chain { kernel: SHA1.best(features), state: INITIAL }.digest(0, data).write(&mut out);
    out
}

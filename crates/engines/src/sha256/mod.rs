//! SHA-256 and SHA-224.
//!
//! Ref. FIPS 180-4 §6.2 and §6.3.

pub(crate) mod arch;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod portable;

use millstream_cpu::{FeatureSet, Features};

use crate::hash::chain::{self, Chain, Chaining, chaining_big_endian};
use crate::hash::{Hash, LaneBlocks, LaneStates, fold, job as lane_rows};
use crate::{Bound, Row, Standing, Table};

/// Bytes in a block.
pub const BLOCK: usize = 64;
/// Bytes in a SHA-256 digest.
pub const LEN: usize = Hash::Sha256.output_len();
/// Bytes in a SHA-224 digest.
pub const LEN_224: usize = Hash::Sha224.output_len();

pub(crate) type State = [u32; 8];

/// The chaining value with which a message of SHA-256 begins: FIPS 180-4 §5.3.3.
pub const START: [u32; 8] = INITIAL;

/// The function of a kernel: the compression function.
pub type CompressOps = crate::hash::CompressOps<[u32; 8], BLOCK>;

/// The functions of a kernel for many messages at once.
pub type LanesOps = crate::hash::LanesOps<[u32; 8], BLOCK>;

/// FIPS 180-4 §5.3.3.
#[rustfmt::skip]
pub(crate) const INITIAL: State = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

/// FIPS 180-4 §5.3.2.
#[rustfmt::skip]
pub(crate) const INITIAL_224: State = [
    0xc105_9ed8, 0x367c_d507, 0x3070_dd17, 0xf70e_5939, 0xffc0_0b31, 0x6858_1511, 0x64f9_8fa7, 0xbefa_4fa4,
];

/// FIPS 180-4 §4.2.2.
#[rustfmt::skip]
pub(crate) static K: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// The kernels of SHA-256 and SHA-224, best first.
pub static SHA256: Table<CompressOps> =
    chain::table("sha256", Standing::Current, "FIPS 180-4 §6.2", ROWS, known_answer);

static ROWS: &[Row<CompressOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_shani::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_bmi::ROW,
    #[cfg(target_arch = "aarch64")]
    arch::aarch64_ce::ROW,
    chain::row("portable", FeatureSet::EMPTY, portable::compress, "rolling schedule of sixteen words"),
];

chaining_big_endian!(u32, 8, u64, Sha224 INITIAL_224 Sha256 INITIAL);

/// The kernels for many messages of SHA-256 and SHA-224, best first.
pub static SHA256_LANES: Table<LanesOps> =
    lane_rows::table("sha256-lanes", Standing::Current, "FIPS 180-4 §6.2", LANES_ROWS, lanes_known_answer);

static LANES_ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::SHANI_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_shani::PAIRS_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::ROW,
    lane_rows::direct_row!(),
];

/// Messages whose blocks are folded together.
pub const FOLD_LANES: usize = 16;

/// The function of a kernel that folds a block of each of up to sixteen messages.
pub type FoldOps = crate::hash::FoldOps<u32, FOLD_LANES>;

/// The kernels of the compression function for blocks of many messages, best first.
pub static SHA256_FOLD: Table<FoldOps> =
    fold::table("sha256-fold", "FIPS 180-4 §6.2.2", FOLD_ROWS, fold_known_answer);

static FOLD_ROWS: &[Row<FoldOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::SHANI_FOLD_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_shani::FOLD_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::FOLD_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::FOLD_ROW,
    #[cfg(target_arch = "aarch64")]
    arch::aarch64_ce::FOLD_ROW,
    fold::row("portable", FeatureSet::EMPTY, fold_portable, "one message after another"),
];

fn fold_portable(
    states: &mut LaneStates<u32, FOLD_LANES>,
    blocks: &LaneBlocks<u32, FOLD_LANES>,
    live: usize,
) {
    fold::one_by_one(states, blocks, 0, live, |state, block| portable::compress(state, &[*block], &[]));
}

fn fold_known_answer(kernel: Bound<FoldOps>) -> bool {
    let mut block = [0; 16];
    (block[0], block[15]) = (0x6162_6380, 24);
    let mut digest = [0; 8];
    for (word, bytes) in digest.iter_mut().zip(ABC.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    fold::known_answer(kernel, &INITIAL, &block, &digest)
}

/// FIPS 180-4's example "abc".
const ABC: &[u8; LEN] = b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\
    \xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";

fn known_answer(kernel: Bound<CompressOps>) -> bool {
    let mut out = [0; LEN];
    Chain { kernel, state: INITIAL }.digest(0, b"abc").write(&mut out);
    out == *ABC
}

fn lanes_known_answer(kernel: Bound<LanesOps>) -> bool {
    lane_rows::known_answer(kernel, &SHA256, Hash::Sha256, ABC)
}

/// The SHA-256 digest of a message.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::sha256;
///
/// let digest = sha256::digest(Features::hardware(), b"abc");
/// assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
/// ```
pub fn digest(features: Features, data: &[u8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    Chain { kernel: SHA256.best(features), state: INITIAL }.digest(0, data).write(&mut out);
    out
}

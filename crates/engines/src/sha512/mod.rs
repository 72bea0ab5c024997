//! SHA-512, SHA-384 and SHA-512/256.
//!
//! Ref. FIPS 180-4 §6.4, §6.5 and §6.7.

pub(crate) mod arch;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod portable;

use millstream_cpu::{FeatureSet, Features};

use crate::hash::chain::{self, Chain, Chaining, chaining_big_endian};
use crate::hash::{Hash, LaneBlocks, LaneStates, fold, job as lane_rows};
use crate::{Bound, Row, Standing, Table};

/// Bytes in a block.
pub const BLOCK: usize = 128;
/// Bytes in a SHA-512 digest.
pub const LEN: usize = Hash::Sha512.output_len();
/// Bytes in a SHA-384 digest.
pub const LEN_384: usize = Hash::Sha384.output_len();
/// Bytes in a SHA-512/256 digest.
pub const LEN_256: usize = Hash::Sha512_256.output_len();

pub(crate) type State = [u64; 8];

/// The chaining value with which a message of SHA-512 begins: FIPS 180-4 §5.3.5.
pub const START: [u64; 8] = INITIAL;

/// The function of a kernel: the compression function.
pub type CompressOps = crate::hash::CompressOps<[u64; 8], BLOCK>;

/// The functions of a kernel for many messages at once.
pub type LanesOps = crate::hash::LanesOps<[u64; 8], BLOCK>;

/// FIPS 180-4 §5.3.5.
#[rustfmt::skip]
pub(crate) const INITIAL: State = [
    0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
];

/// FIPS 180-4 §5.3.4.
#[rustfmt::skip]
pub(crate) const INITIAL_384: State = [
    0xcbbb_9d5d_c105_9ed8, 0x629a_292a_367c_d507, 0x9159_015a_3070_dd17, 0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31, 0x8eb4_4a87_6858_1511, 0xdb0c_2e0d_64f9_8fa7, 0x47b5_481d_befa_4fa4,
];

/// FIPS 180-4 §5.3.6.2.
#[rustfmt::skip]
pub(crate) const INITIAL_256: State = [
    0x2231_2194_fc2b_f72c, 0x9f55_5fa3_c84c_64c2, 0x2393_b86b_6f53_b151, 0x9638_7719_5940_eabd,
    0x9628_3ee2_a88e_ffe3, 0xbe5e_1e25_5386_3992, 0x2b01_99fc_2c85_b8aa, 0x0eb7_2ddc_81c5_2ca2,
];

/// FIPS 180-4 §4.2.3.
#[rustfmt::skip]
pub(crate) static K: [u64; 80] = [
    0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
];

/// The kernels of SHA-512, SHA-384 and SHA-512/256, best first.
pub static SHA512: Table<CompressOps> =
    chain::table("sha512", Standing::Current, "FIPS 180-4 §6.4", ROWS, known_answer);

static ROWS: &[Row<CompressOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_sha512::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2::ROW,
    #[cfg(target_arch = "aarch64")]
    arch::aarch64_ce::ROW,
    chain::row("portable", FeatureSet::EMPTY, portable::compress, "rolling schedule of sixteen words"),
];

chaining_big_endian!(u64, 8, u128, Sha384 INITIAL_384 Sha512 INITIAL Sha512_256 INITIAL_256);

/// The kernels for many messages of SHA-512, SHA-384 and SHA-512/256, best first.
pub static SHA512_LANES: Table<LanesOps> =
    lane_rows::table("sha512-lanes", Standing::Current, "FIPS 180-4 §6.4", LANES_ROWS, lanes_known_answer);

static LANES_ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::ROW,
    lane_rows::direct_row!(),
];

/// Messages whose blocks are folded together.
pub const FOLD_LANES: usize = 8;

/// The function of a kernel that folds a block of each of up to eight messages.
pub type FoldOps = crate::hash::FoldOps<u64, FOLD_LANES>;

/// The kernels of the compression function for blocks of many messages, best first.
pub static SHA512_FOLD: Table<FoldOps> =
    fold::table("sha512-fold", "FIPS 180-4 §6.4.2", FOLD_ROWS, fold_known_answer);

static FOLD_ROWS: &[Row<FoldOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::FOLD_ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::FOLD_ROW,
    fold::row("portable", FeatureSet::EMPTY, fold_portable, "one message after another"),
];

fn fold_portable(
    states: &mut LaneStates<u64, FOLD_LANES>,
    blocks: &LaneBlocks<u64, FOLD_LANES>,
    live: usize,
) {
    fold::one_by_one(states, blocks, 0, live, |state, block| portable::compress(state, &[*block], &[]));
}

fn fold_known_answer(kernel: Bound<FoldOps>) -> bool {
    let mut block = [0; 16];
    (block[0], block[15]) = (0x6162_6380 << 32, 24);
    let mut digest = [0; 8];
    for (word, bytes) in digest.iter_mut().zip(ABC.as_chunks().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    fold::known_answer(kernel, &INITIAL, &block, &digest)
}

/// FIPS 180-4's example "abc".
const ABC: &[u8; LEN] = b"\xdd\xaf\x35\xa1\x93\x61\x7a\xba\xcc\x41\x73\x49\xae\x20\x41\x31\
    \x12\xe6\xfa\x4e\x89\xa9\x7e\xa2\x0a\x9e\xee\xe6\x4b\x55\xd3\x9a\
    \x21\x92\x99\x2a\x27\x4f\xc1\xa8\x36\xba\x3c\x23\xa3\xfe\xeb\xbd\
    \x45\x4d\x44\x23\x64\x3c\xe8\x0e\x2a\x9a\xc9\x4f\xa5\x4c\xa4\x9f";

fn known_answer(kernel: Bound<CompressOps>) -> bool {
    let mut out = [0; LEN];
    Chain { kernel, state: INITIAL }.digest(0, b"abc").write(&mut out);
    out == *ABC
}

fn lanes_known_answer(kernel: Bound<LanesOps>) -> bool {
    lane_rows::known_answer(kernel, &SHA512, Hash::Sha512, ABC)
}

/// The SHA-512 digest of a message.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::sha512;
///
/// let digest = sha512::digest(Features::hardware(), b"abc");
/// assert_eq!(digest[..4], [0xdd, 0xaf, 0x35, 0xa1]);
/// ```
pub fn digest(features: Features, data: &[u8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    Chain { kernel: SHA512.best(features), state: INITIAL }.digest(0, data).write(&mut out);
    out
}

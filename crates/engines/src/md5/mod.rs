//! MD5, for protocols that still ask for it.
//!
//! Collisions take seconds: nothing that must resist an adversary may rest on MD5 alone. HMAC-MD5
//! is not known to be broken, and not to be chosen for anything new either (RFC 6151).
//!
//! Ref. RFC 1321.

pub(crate) mod arch;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod portable;
mod rounds;

use millstream_cpu::{FeatureSet, Features};

use crate::hash::chain::{self, Chain, Chaining};
use crate::hash::{Hash, job as lane_rows};
use crate::{Bound, Row, Standing, Table};

/// Bytes in a block.
pub const BLOCK: usize = 64;
/// Bytes in a digest.
pub const LEN: usize = Hash::Md5.output_len();

pub(crate) type State = [u32; 4];

/// The function of a kernel: the compression function.
pub type CompressOps = crate::hash::CompressOps<[u32; 4], BLOCK>;

/// The functions of a kernel for many messages at once.
pub type LanesOps = crate::hash::LanesOps<[u32; 4], BLOCK>;

/// RFC 1321 §3.3.
pub(crate) const INITIAL: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The kernels, best first.
pub static MD5: Table<CompressOps> = chain::table("md5", Standing::Legacy, "RFC 1321", ROWS, known_answer);

static ROWS: &[Row<CompressOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_scalar::ROW,
    chain::row("portable", FeatureSet::EMPTY, portable::compress, "bound by the latency of its one chain"),
];

/// The kernels for many messages, best first.
pub static MD5_LANES: Table<LanesOps> =
    lane_rows::table("md5-lanes", Standing::Legacy, "RFC 1321", LANES_ROWS, lanes_known_answer);

static LANES_ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512_lanes::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2_lanes::ROW,
    lane_rows::direct_row!(),
];

/// RFC 1321 §A.5.
const ABC: &[u8; LEN] = b"\x90\x01\x50\x98\x3c\xd2\x4f\xb0\xd6\x96\x3f\x7d\x28\xe1\x7f\x72";

fn known_answer(kernel: Bound<CompressOps>) -> bool {
    let mut out = [0; LEN];
    Chain { kernel, state: INITIAL }.digest(0, b"abc").write(&mut out);
    out == *ABC
}

fn lanes_known_answer(kernel: Bound<LanesOps>) -> bool {
    lane_rows::known_answer(kernel, &MD5, Hash::Md5, ABC)
}

/// The MD5 digest of a message.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::md5;
///
/// let digest = md5::digest(Features::hardware(), b"message digest");
/// assert_eq!(digest[..4], [0xf9, 0x6b, 0x69, 0x7d]);
/// ```
pub fn digest(features: Features, data: &[u8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    Chain { kernel: MD5.best(features), state: INITIAL }.digest(0, data).write(&mut out);
    out
}

/// The chaining value, which alone among the hashes here has little-endian words.
impl Chaining for State {
    const LEN: usize = size_of::<Self>();

    #[inline(always)]
    fn initial(_: Hash) -> Self {
        INITIAL
    }

    #[inline(always)]
    fn write(&self, out: &mut [u8]) {
        for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(self) {
            *bytes = word.to_le_bytes();
        }
    }

    fn read(bytes: &[u8]) -> Self {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }

    /// RFC 1321 §3.2: the low 64 bits of the length, so a longer message is no error.
    #[inline(always)]
    fn write_length(last_block: &mut [u8], bytes: u64) {
        if let Some(field) = last_block.last_chunk_mut() {
            *field = (bytes << 3).to_le_bytes();
        }
    }
}

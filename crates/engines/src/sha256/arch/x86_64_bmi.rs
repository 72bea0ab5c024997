//! SHA-256 for processors without its own instructions: the portable rounds, with and-not and with
//! rotations that leave their source alone.
//!
//! Ref. FIPS 180-4 §6.2.2.

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::chain;
use crate::sha256::{BLOCK, CompressOps, State, portable};

pub(crate) const ROW: Row<CompressOps> = chain::row(
    "x86_64-bmi",
    FeatureSet::parse("bmi1,bmi2"),
    compress,
    "the portable rounds, a twentieth faster with RORX and ANDN",
);

#[target_feature(enable = "bmi1,bmi2")]
fn compress(state: &mut State, blocks: &[[u8; BLOCK]], last: &[[u8; BLOCK]]) {
    portable::compress(state, blocks, last);
}

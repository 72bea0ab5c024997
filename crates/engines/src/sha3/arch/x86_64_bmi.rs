//! SHA-3 with and-not, which is half of the step chi, and with rotations that leave their source alone.
//!
//! Ref. FIPS 202 §3.2.

use millstream_cpu::FeatureSet;

use crate::Row;
use crate::hash::{CompressOps, chain};
use crate::sha3::states::{self, KeccakOps, States, one_by_one};
use crate::sha3::{State, portable};

pub(crate) const fn row<const RATE: usize>() -> Row<CompressOps<State, RATE>> {
    chain::row(
        "x86_64-bmi",
        FeatureSet::parse("bmi1,bmi2"),
        compress,
        "the portable rounds with ANDN and RORX",
    )
}

#[target_feature(enable = "bmi1,bmi2")]
fn compress<const RATE: usize>(state: &mut State, blocks: &[[u8; RATE]], last: &[[u8; RATE]]) {
    portable::compress(state, blocks, last);
}

pub(crate) const fn states_row() -> Row<KeccakOps> {
    states::row(
        "x86_64-bmi",
        FeatureSet::parse("bmi1,bmi2"),
        KeccakOps { width: 1, one, four: in_turn, eight: in_turn },
        "the portable rounds with ANDN and RORX, one state after another",
    )
}

#[target_feature(enable = "bmi1,bmi2")]
pub(super) fn one(states: &mut States<1>) {
    portable::permute(states.words.as_flattened_mut());
}

#[target_feature(enable = "bmi1,bmi2")]
fn in_turn<const N: usize>(states: &mut States<N>) {
    one_by_one(states, portable::permute);
}

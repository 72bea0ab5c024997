//! Many objects at once, in lanes: the chaining modes, where one object alone leaves the processor
//! waiting for each block, and CTR for objects too short to fill it.

mod cbc;
mod cfb;
mod cmac;
mod ctr;

pub use cbc::{CBC_LANES, CbcJob, CbcLanes, CbcLanesOps};
pub use cfb::{CFB_LANES, CfbJob, CfbLanes, CfbLanesOps};
pub use cmac::{CMAC_LANES, CmacJob, CmacLanes, CmacLanesOps};
pub use ctr::{CTR_LANES, CtrJob, CtrLanes, CtrLanesOps};

use millstream_cpu::{FeatureSet, Features};

use crate::{Kernel, Timing};

/// The row that every table of lanes ends with.
const DIRECT: Kernel = Kernel {
    name: "direct-x1",
    requires: FeatureSet::EMPTY,
    timing: Timing::Constant,
    note: "one object after another, each on its own key's kernel",
};

/// As many objects as fill the lanes of every kernel, and some more.
const EVERY_LANE: usize = 33;

/// Just the features that a bound kernel requires: what its known answer may use.
fn features_of(kernel: &Kernel) -> Features {
    let all = Features::hardware();
    all.without(all.set().difference(kernel.requires))
}

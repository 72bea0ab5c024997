//! AES-128, AES-192 and AES-256 and their modes.
//!
//! Each mode is written once, in its own file, over the vectors of `vector.rs`. A processor tier in
//! `arch/` names a vector and the unit of `unit.rs` that computes the rounds on it, and compiles all modes
//! for itself. `lanes/` takes many objects at once,
//! each a job of `job.rs`; `side_by_side.rs` has the code that all lane kernels share.
//!
//! Ref. FIPS 197.

mod ahead;
pub(crate) mod arch;
mod cbc;
mod cfb;
mod cmac;
mod ctr;
mod ecb;
// Only one kernel has rounds of its own, and only FF1 asks for them.
#[cfg_attr(not(all(feature = "ff1", target_arch = "x86_64")), allow(dead_code))]
pub(crate) mod feistel;
mod forward;
// Lanes are built for x86-64 only so far; elsewhere the managers have the direct row.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]
pub(crate) mod job;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]
mod lanes;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
pub(crate) mod permute;
pub(crate) mod portable;
pub(crate) mod schedule;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]
pub(crate) mod side_by_side;
mod sliced;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod tower;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
pub(crate) mod unit;
pub(crate) mod vector;
mod xts;

pub use crate::cmac::MIN_TAG;
pub use ahead::{KeystreamAhead, srtp_counter};
pub use cbc::{CBC, Cbc, CbcOps};
pub use cfb::{CFB, Cfb, CfbOps};
pub use cmac::{CMAC, Cmac, CmacOps, CmacState, CmacStream};
pub use ctr::{CTR, Ctr, CtrOps};
pub use ecb::{ECB, Ecb, EcbOps};
pub(crate) use forward::{Forward, wipe};
pub use job::{CbcJob, CbcLanesOps, CfbJob, CfbLanesOps, CmacJob, CmacLanesOps, CtrJob, CtrLanesOps};
pub(crate) use lanes::features_of;
pub use lanes::{CBC_LANES, CFB_LANES, CMAC_LANES, CTR_LANES, CbcLanes, CfbLanes, CmacLanes, CtrLanes};
pub use schedule::{Block, Schedule};
pub use xts::{MAX_DATA_UNIT, XTS, Xts, XtsDecryption, XtsOps};

//! AES-128, AES-192 and AES-256 and their modes.
//!
//! Each mode's text is written once, in its own file, over the lanes of `lanes.rs`; a processor
//! tier in `arch/` says what a lane is and compiles all modes for itself. `many/` takes many objects
//! at once.
//!
//! Ref. FIPS 197.

mod ahead;
pub(crate) mod arch;
mod cbc;
mod cfb;
mod cmac;
mod ctr;
mod ecb;
mod lanes;
// Lanes are built for x86-64 only so far; elsewhere the managers have the direct row.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]
mod many;
pub(crate) mod portable;
pub(crate) mod schedule;
mod xts;

pub use crate::cmac::MIN_TAG;
pub use ahead::{KeystreamAhead, srtp_counter};
pub use cbc::{CBC, Cbc, CbcOps};
pub use cfb::{CFB, Cfb, CfbOps};
pub use cmac::{CMAC, Cmac, CmacOps, CmacState, CmacStream};
pub use ctr::{CTR, Ctr, CtrOps};
pub use ecb::{ECB, Ecb, EcbOps};
pub use many::{
    CBC_LANES, CFB_LANES, CMAC_LANES, CTR_LANES, CbcJob, CbcLanes, CbcLanesOps, CfbJob, CfbLanes,
    CfbLanesOps, CmacJob, CmacLanes, CmacLanesOps, CtrJob, CtrLanes, CtrLanesOps,
};
pub use schedule::{Block, Schedule};
pub use xts::{MAX_DATA_UNIT, XTS, Xts, XtsDecryption, XtsOps};

//! AES-CMAC of many messages at once.
//!
//! Ref. NIST SP 800-38B §6; RFC 4493.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::{EVERY_LANE, MACS, distribute, features_of};
use crate::aes::arch::lane_rows;
use crate::aes::job::{CmacJob, CmacLanesOps};
use crate::aes::schedule::KEY_BITS;
use crate::aes::{CMAC, Cmac};
use crate::{AlgorithmInfo, Bound, Crossover, Kernel, Row, Standing, Table};

/// The kernels of AES-CMAC in lanes.
pub static CMAC_LANES: Table<CmacLanesOps> = Table::new(
    AlgorithmInfo {
        name: "aes-cmac-lanes",
        standing: Standing::Current,
        standard: "NIST SP 800-38B, RFC 4493",
        key_bits: KEY_BITS,
    },
    lane_rows!(CmacLanesOps { crossover: MACS, sign: cmac_lanes, direct }),
    known_answer,
);

/// AES-CMAC of many messages at once, under one key or many.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aes::{Cmac, CmacJob, CmacLanes};
///
/// let key = Cmac::new(Features::hardware(), &[7; 16])?;
/// let mut jobs = ["one message", "another message"]
///     .map(|message| CmacJob { key: &key, data: message.as_bytes(), tag: [0; 16] });
/// CmacLanes::new(Features::hardware()).sign(&mut jobs.each_mut());
/// for job in &jobs {
///     key.verify(job.data, &job.tag)?;
/// }
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CmacLanes {
    kernel: Bound<CmacLanesOps>,
}

impl CmacLanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CmacLanes::with_kernel(CMAC_LANES.best(features))
    }

    /// The given kernel.
    pub fn with_kernel(kernel: Bound<CmacLanesOps>) -> Self {
        CmacLanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of messages that are authenticated in lanes, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Computes every tag, and may reorder `jobs`.
    pub fn sign(&self, jobs: &mut [&mut CmacJob<'_>]) {
        let ops = self.kernel.ops();
        // SAFETY: the kernel is bound.
        let lanes = |jobs: &mut [&mut CmacJob<'_>], one_key| unsafe { (ops.sign)(jobs, one_key) };
        distribute(jobs, (ops.form, ops.crossover), lanes, direct);
    }
}

fn direct(jobs: &mut [&mut CmacJob<'_>]) {
    for job in jobs {
        job.tag = job.key.mac(job.data);
    }
}

/// RFC 4493 §4, example 3, in every lane.
fn known_answer(kernel: Bound<CmacLanesOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let message = [
        0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128,
        0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51,
        0x30c8_1c46_a35c_e411_0000_0000_0000_0000,
    ]
    .map(u128::to_be_bytes);
    let tag = 0xdfa6_6747_de9a_e630_30ca_3261_1497_c827_u128.to_be_bytes();
    let Ok(cmac) = Cmac::with_kernel(CMAC.best(features_of(kernel.kernel())), &key) else { return false };
    let mut jobs =
        [(); EVERY_LANE].map(|()| CmacJob { key: &cmac, data: &message.as_flattened()[..40], tag: [0; 16] });
    CmacLanes::with_kernel(kernel).sign(&mut jobs.each_mut());
    jobs.iter().all(|job| job.tag == tag)
}

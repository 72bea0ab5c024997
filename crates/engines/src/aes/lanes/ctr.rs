//! AES-CTR of many objects at once: short ones side by side, so that none waits for the rounds of
//! the one before.
//!
//! Ref. NIST SP 800-38A §6.5, appendix B.1.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::{EVERY_LANE, INDEPENDENT, distribute, features_of};
use crate::aes::arch::lane_rows;
use crate::aes::job::{CtrJob, CtrLanesOps};
use crate::aes::schedule::KEY_BITS;
use crate::aes::{CTR, Ctr};
use crate::{AlgorithmInfo, Bound, Crossover, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-CTR in lanes.
pub static CTR_LANES: Table<CtrLanesOps> = Table::new(
    AlgorithmInfo {
        name: "aes-ctr-lanes",
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.5",
        key_bits: KEY_BITS,
    },
    lane_rows!(CtrLanesOps { crossover: INDEPENDENT, apply: ctr_lanes, direct }),
    known_answer,
);

/// AES-CTR of many objects at once, under one key or many.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::{Ctr, CtrJob, CtrLanes}};
///
/// let key = Ctr::new(Features::hardware(), &[7; 16])?;
/// let mut objects = [*b"any length"; 20];
/// let mut jobs: Vec<_> = (0u128..)
///     .zip(&mut objects)
///     .map(|(i, o)| CtrJob { key: &key, counter: (i << 32).to_be_bytes(), data: InOut::in_place(o) })
///     .collect();
/// CtrLanes::new(Features::hardware()).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
///
/// let mut alone = *b"any length";
/// key.apply(&(19u128 << 32).to_be_bytes(), InOut::in_place(&mut alone));
/// assert_eq!(objects[19], alone);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CtrLanes {
    kernel: Bound<CtrLanesOps>,
}

impl CtrLanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CtrLanes::with_kernel(CTR_LANES.best(features))
    }

    /// The given kernel.
    pub fn with_kernel(kernel: Bound<CtrLanesOps>) -> Self {
        CtrLanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of objects that one call works on side by side, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts or decrypts every object, and may reorder `jobs`.
    pub fn apply(&self, jobs: &mut [&mut CtrJob<'_>]) {
        let ops = self.kernel.ops();
        // SAFETY: the kernel is bound.
        let lanes = |jobs: &mut [&mut CtrJob<'_>], one_key| unsafe { (ops.apply)(jobs, one_key) };
        distribute(jobs, (ops.form, ops.crossover), lanes, direct);
    }
}

fn direct(jobs: &mut [&mut CtrJob<'_>]) {
    for job in jobs {
        job.key.apply(&job.counter, job.data.reborrow());
    }
}

/// NIST SP 800-38A F.5.1, the first two blocks, in every lane.
fn known_answer(kernel: Bound<CtrLanesOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let counter = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff_u128.to_be_bytes();
    let plain = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let cipher = [0x874d_6191_b620_e326_1bef_6864_990d_b6ce_u128, 0x9806_f66b_7970_fdff_8617_187b_b9ff_fdff];
    let (plain, cipher) = (plain.map(u128::to_be_bytes), cipher.map(u128::to_be_bytes));
    let Ok(ctr) = Ctr::with_kernel(CTR.best(features_of(kernel.kernel())), &key) else { return false };
    let mut objects = [plain; EVERY_LANE];
    let mut jobs = objects.each_mut().map(|o| CtrJob {
        key: &ctr,
        counter,
        data: InOut::in_place(o.as_flattened_mut()),
    });
    CtrLanes::with_kernel(kernel).apply(&mut jobs.each_mut());
    objects == [cipher; EVERY_LANE]
}

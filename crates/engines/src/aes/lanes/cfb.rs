//! AES-CFB128 encryption of many objects at once. (Decryption needs no lanes: one object's blocks
//! don't wait for each other.)
//!
//! Ref. NIST SP 800-38A §6.3, with segments of 128 bits.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::{CHAINS, EVERY_LANE, distribute, features_of};
use crate::aes::arch::lane_rows;
use crate::aes::job::{CfbJob, CfbLanesOps};
use crate::aes::schedule::{Block, KEY_BITS};
use crate::aes::{CFB, Cfb};
use crate::{AlgorithmInfo, Bound, Crossover, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-CFB128 in lanes.
pub static CFB_LANES: Table<CfbLanesOps> = Table::new(
    AlgorithmInfo {
        name: "aes-cfb128-lanes",
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.3",
        key_bits: KEY_BITS,
    },
    lane_rows!(CfbLanesOps { crossover: CHAINS, encrypt: cfb_lanes, direct }),
    known_answer,
);

/// AES-CFB128 encryption of many objects at once, under one key or many.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::{Cfb, CfbJob, CfbLanes}};
///
/// let key = Cfb::new(Features::hardware(), &[7; 16])?;
/// let mut objects = [*b"any length"; 20];
/// let mut jobs: Vec<_> =
///     objects.iter_mut().map(|o| CfbJob { key: &key, iv: [9; 16], data: InOut::in_place(o) }).collect();
/// CfbLanes::new(Features::hardware()).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
///
/// let mut alone = *b"any length";
/// key.encrypt(&[9; 16], InOut::in_place(&mut alone));
/// assert_eq!(objects, [alone; 20]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CfbLanes {
    kernel: Bound<CfbLanesOps>,
}

impl CfbLanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CfbLanes::with_kernel(CFB_LANES.best(features))
    }

    /// The given kernel.
    pub fn with_kernel(kernel: Bound<CfbLanesOps>) -> Self {
        CfbLanes { kernel }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the least number of objects that are encrypted in lanes, by their length.
    pub fn crossover(&self) -> Crossover {
        self.kernel.ops().crossover
    }

    /// Encrypts every object, and may reorder `jobs`.
    pub fn encrypt(&self, jobs: &mut [&mut CfbJob<'_>]) {
        let ops = self.kernel.ops();
        // SAFETY: the kernel is bound.
        let lanes = |jobs: &mut [&mut CfbJob<'_>], one_key| unsafe { (ops.encrypt)(jobs, one_key) };
        distribute(jobs, (ops.form, ops.crossover), lanes, direct);
    }
}

fn direct(jobs: &mut [&mut CfbJob<'_>]) {
    for job in jobs {
        job.key.encrypt(&job.iv, job.data.reborrow());
        if let Some(last) = job.data.output().as_chunks().0.last() {
            job.iv = *last;
        }
    }
}

/// NIST SP 800-38A F.3.13, the first two blocks, in every lane.
fn known_answer(kernel: Bound<CfbLanesOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let iv: Block = std::array::from_fn(|i| i as u8);
    let plain = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let cipher = [0x3b3f_d92e_b72d_ad20_3334_49f8_e83c_fb4a_u128, 0xc8a6_4537_a0b3_a93f_cde3_cdad_9f1c_e58b];
    let (plain, cipher) = (plain.map(u128::to_be_bytes), cipher.map(u128::to_be_bytes));
    let Ok(cfb) = Cfb::with_kernel(CFB.best(features_of(kernel.kernel())), &key) else { return false };
    let mut objects = [plain; EVERY_LANE];
    let mut jobs =
        objects.each_mut().map(|o| CfbJob { key: &cfb, iv, data: InOut::in_place(o.as_flattened_mut()) });
    CfbLanes::with_kernel(kernel).encrypt(&mut jobs.each_mut());
    jobs.iter().all(|job| job.iv == cipher[1]) && objects == [cipher; EVERY_LANE]
}

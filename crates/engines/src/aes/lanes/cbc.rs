//! AES-CBC of many objects at once.
//!
//! Ref. NIST SP 800-38A §6.2.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::{CHAINS, EVERY_LANE, distribute, features_of};
use crate::aes::arch::lane_rows;
use crate::aes::job::{CbcJob, CbcLanesOps};
use crate::aes::schedule::{Block, KEY_BITS};
use crate::aes::{CBC, Cbc};
use crate::modes::BlockMode;
use crate::{AlgorithmInfo, Bound, Crossover, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-CBC in lanes.
pub static CBC_LANES: Table<CbcLanesOps> = Table::new(
    AlgorithmInfo {
        name: "aes-cbc-lanes",
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.2",
        key_bits: KEY_BITS,
    },
    lane_rows!(CbcLanesOps { crossover: CHAINS, encrypt: cbc_lanes, direct }),
    known_answer,
);

/// AES-CBC of many objects at once, under one key or many.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::{Cbc, CbcJob, CbcLanes}, modes::BlockMode};
///
/// let key = Cbc::new(Features::hardware(), &[7; 32])?;
/// let mut objects = [[1; 32]; 20];
/// let mut jobs: Vec<_> =
///     objects.iter_mut().map(|o| CbcJob { key: &key, iv: [9; 16], data: InOut::in_place(o) }).collect();
/// CbcLanes::new(Features::hardware()).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
///
/// let mut alone = [1; 32];
/// key.encrypt(&mut [9; 16], InOut::in_place(&mut alone));
/// assert_eq!(objects, [alone; 20]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CbcLanes {
    kernel: Bound<CbcLanesOps>,
}

impl CbcLanes {
    /// The best kernel that `features` allow.
    pub fn new(features: Features) -> Self {
        CbcLanes::with_kernel(CBC_LANES.best(features))
    }

    /// The given kernel.
    pub fn with_kernel(kernel: Bound<CbcLanesOps>) -> Self {
        CbcLanes { kernel }
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
    ///
    /// # Panics
    /// When an object is not whole blocks; none has been encrypted then.
    pub fn encrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        whole_blocks(jobs);
        let ops = self.kernel.ops();
        // SAFETY: the kernel is bound.
        let lanes = |jobs: &mut [&mut CbcJob<'_>], one_key| unsafe { (ops.encrypt)(jobs, one_key) };
        distribute(jobs, (ops.form, ops.crossover), lanes, direct);
    }

    /// Decrypts every object, one after another: in decryption a block does not wait for the one before.
    ///
    /// # Panics
    /// When an object is not whole blocks; none has been decrypted then.
    pub fn decrypt(&self, jobs: &mut [&mut CbcJob<'_>]) {
        whole_blocks(jobs);
        for job in jobs {
            job.key.decrypt(&mut job.iv, job.data.reborrow());
        }
    }
}

fn whole_blocks(jobs: &[&mut CbcJob<'_>]) {
    let bits = jobs.iter().fold(0, |bits, job| bits | job.data.len());
    assert!(bits.is_multiple_of(16), "an object that is not whole blocks");
}

fn direct(jobs: &mut [&mut CbcJob<'_>]) {
    for job in jobs {
        job.key.encrypt(&mut job.iv, job.data.reborrow());
    }
}

/// NIST SP 800-38A F.2.1, the first two blocks, in every lane.
fn known_answer(kernel: Bound<CbcLanesOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let iv: Block = std::array::from_fn(|i| i as u8);
    let plain = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let cipher = [0x7649_abac_8119_b246_cee9_8e9b_12e9_197d_u128, 0x5086_cb9b_5072_19ee_95db_113a_9176_78b2];
    let (plain, cipher) = (plain.map(u128::to_be_bytes), cipher.map(u128::to_be_bytes));
    let Ok(cbc) = Cbc::with_kernel(CBC.best(features_of(kernel.kernel())), &key) else { return false };
    let lanes = CbcLanes::with_kernel(kernel);
    let mut objects = [plain; EVERY_LANE];
    let mut jobs =
        objects.each_mut().map(|o| CbcJob { key: &cbc, iv, data: InOut::in_place(o.as_flattened_mut()) });
    lanes.encrypt(&mut jobs.each_mut());
    if jobs.iter().any(|job| job.iv != cipher[1]) || objects != [cipher; EVERY_LANE] {
        return false;
    }
    let mut jobs =
        objects.each_mut().map(|o| CbcJob { key: &cbc, iv, data: InOut::in_place(o.as_flattened_mut()) });
    lanes.decrypt(&mut jobs.each_mut());
    jobs.iter().all(|job| job.iv == cipher[1]) && objects == [plain; EVERY_LANE]
}

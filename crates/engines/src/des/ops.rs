//! A kernel's entry points, and a key bound to them.
//!
//! # Safety
//! The entry points need their kernel's features. [`Keyed`] holds a [`Bound`], the proof that they
//! exist, and is the only caller.
#![allow(unsafe_code)]

use super::schedule::Schedule;
use crate::kernel::Bound;
use crate::modes::Direction;
use crate::{Error, InOut};

/// Bytes in a block.
pub const BLOCK: usize = 8;

/// A kernel's functions. Each works on whole blocks; `chain` is the block that the mode carries
/// from one call to the next.
#[derive(Debug)]
pub struct Ops {
    pub(super) ecb: unsafe fn(&Schedule, Direction, InOut<'_>),
    pub(super) cbc: unsafe fn(&Schedule, Direction, &mut [u8; BLOCK], InOut<'_>),
    pub(super) cfb: unsafe fn(&Schedule, Direction, &mut [u8; BLOCK], InOut<'_>),
    pub(super) mac: unsafe fn(&Schedule, &mut [u8; BLOCK], &[[u8; BLOCK]]),
}

/// The entry points of one kernel: the modes' bodies, compiled for the features named.
macro_rules! entry_points {
    ($cipher:ty $(, $features:literal)?) => {{
        use $crate::InOut;
        use $crate::des::ops::{BLOCK, Ops};
        use $crate::des::{modes, schedule::Schedule};
        use $crate::modes::Direction;

        $(#[target_feature(enable = $features)])?
        unsafe fn ecb(schedule: &Schedule, direction: Direction, data: InOut<'_>) {
            // SAFETY: the caller vouches for the kernel's features, which this function has.
            unsafe { modes::ecb::<$cipher>(schedule, direction, data) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn cbc(schedule: &Schedule, direction: Direction, chain: &mut [u8; BLOCK], data: InOut<'_>) {
            // SAFETY: as above.
            unsafe { modes::cbc::<$cipher>(schedule, direction, chain, data) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn cfb(schedule: &Schedule, direction: Direction, chain: &mut [u8; BLOCK], data: InOut<'_>) {
            // SAFETY: as above.
            unsafe { modes::cfb::<$cipher>(schedule, direction, chain, data) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn mac(schedule: &Schedule, chain: &mut [u8; BLOCK], blocks: &[[u8; BLOCK]]) {
            // SAFETY: as above.
            unsafe { modes::mac::<$cipher>(schedule, chain, blocks) }
        }
        Ops { ecb, cbc, cfb, mac }
    }};
}

/// The row of a kernel that is compiled for the features it requires.
#[cfg(target_arch = "x86_64")]
macro_rules! row {
    ($name:literal, $features:literal, $cipher:ty, $note:literal) => {
        $crate::Row {
            kernel: $crate::Kernel {
                name: $name,
                requires: millstream_cpu::FeatureSet::parse($features),
                timing: $crate::Timing::Constant,
                note: $note,
            },
            ops: $crate::des::ops::entry_points!($cipher, $features),
        }
    };
}
pub(super) use entry_points;
#[cfg(target_arch = "x86_64")]
pub(super) use row;

/// An expanded key and the kernel it is used with.
pub(super) struct Keyed {
    pub(super) kernel: Bound<Ops>,
    schedule: Schedule,
}

impl Keyed {
    /// Expands the key; `algorithm` and `triple` are its names for one key and for several.
    pub(super) fn new(
        kernel: Bound<Ops>,
        [algorithm, triple]: [&'static str; 2],
        key: &[u8],
    ) -> Result<Self, Error> {
        let name = if key.len() > BLOCK { triple } else { algorithm };
        Ok(Keyed { kernel, schedule: Schedule::new(name, key)? })
    }

    #[inline(always)]
    pub(super) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    pub(super) fn ecb(&self, direction: Direction, data: InOut<'_>) {
        assert!(data.len().is_multiple_of(BLOCK), "not whole blocks");
        // SAFETY: `kernel` is the proof of its features.
        unsafe { (self.kernel.ops().ecb)(&self.schedule, direction, data) }
    }

    pub(super) fn cbc(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        assert!(data.len().is_multiple_of(BLOCK), "not whole blocks");
        // SAFETY: `kernel` is the proof of its features.
        unsafe { (self.kernel.ops().cbc)(&self.schedule, direction, one_block(chain), data) }
    }

    pub(super) fn cfb(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        assert!(data.len().is_multiple_of(BLOCK), "not whole blocks");
        // SAFETY: `kernel` is the proof of its features.
        unsafe { (self.kernel.ops().cfb)(&self.schedule, direction, one_block(chain), data) }
    }

    pub(super) fn mac(&self, chain: &mut [u8; BLOCK], blocks: &[[u8; BLOCK]]) {
        // SAFETY: `kernel` is the proof of its features.
        unsafe { (self.kernel.ops().mac)(&self.schedule, chain, blocks) }
    }
}

fn one_block(chain: &mut [u8]) -> &mut [u8; BLOCK] {
    chain.try_into().expect("a chaining value of one block")
}

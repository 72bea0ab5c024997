//! The tables of kernels of the curves.
//!
//! # Safety
//! The known answers are asked of a [`Bound`].
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;
use millstream_kernel::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::curve;
use super::example::Example;
use super::named::Curve;
use super::ops::{Ops, ops};

impl Curve {
    /// Returns the curve's table of kernels.
    pub fn table(self) -> &'static Table<Ops> {
        match self {
            Curve::P256 => &P256,
            Curve::P384 => &P384,
            Curve::P521 => &P521,
        }
    }
}

/// The kernels of P-256.
pub static P256: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "p256",
        standing: Standing::Current,
        standard: "SP 800-186 §3.2.1.3",
        key_bits: &[256],
    },
    P256_ROWS,
    known_answer,
);

const P256_ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row { kernel: BY4, ops: arch::x86_64_ifma_by4::P256 },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-adx",
            requires: arch::x86_64_adx::REQUIRES,
            timing: Timing::Constant,
            note: "MULX and two carry chains",
        },
        ops: arch::x86_64_adx::OPS,
    },
    Row {
        kernel: portable("Montgomery's multiplication by the form of the prime"),
        ops: ops::<curve::P256, 4>(Curve::P256),
    },
];

/// The kernels of P-384.
pub static P384: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "p384",
        standing: Standing::Current,
        standard: "SP 800-186 §3.2.1.4",
        key_bits: &[384],
    },
    &[
        #[cfg(target_arch = "x86_64")]
        Row { kernel: BY4, ops: arch::x86_64_ifma_by4::P384 },
        Row { kernel: portable("Montgomery's multiplication"), ops: ops::<curve::P384, 6>(Curve::P384) },
    ],
    known_answer,
);

/// The kernels of P-521.
pub static P521: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "p521",
        standing: Standing::Current,
        standard: "SP 800-186 §3.2.1.5",
        key_bits: &[521],
    },
    &[
        #[cfg(target_arch = "x86_64")]
        Row { kernel: BY4, ops: arch::x86_64_ifma_by4::P521 },
        Row { kernel: portable("reduction by a shift"), ops: ops::<curve::P521, 9>(Curve::P521) },
    ],
    known_answer,
);

/// The kernel of four multiplications side by side.
#[cfg(target_arch = "x86_64")]
const BY4: Kernel = Kernel {
    name: "x86_64-avx512ifma-by4",
    requires: arch::x86_64_ifma_by4::REQUIRES,
    timing: Timing::Constant,
    note: "four multiplications of a point's formula side by side, in limbs of 48 bits",
};

const fn portable(note: &'static str) -> Kernel {
    Kernel { name: "portable", requires: FeatureSet::EMPTY, timing: Timing::Constant, note }
}

fn known_answer(kernel: Bound<Ops>) -> bool {
    let ops = kernel.ops();
    // SAFETY: `kernel` is bound.
    unsafe { Example::of(ops.curve).is_answered_by(ops) }
}

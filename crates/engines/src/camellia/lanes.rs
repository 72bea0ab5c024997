//! The tables of Camellia's lanes: many messages in CBC or CTR at once.
//!
//! Ref. RFC 3713; NIST SP 800-38A §6.2 (CBC), §6.5 (CTR).

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::arch;
use super::{Camellia, algorithm};
use crate::Table;
use crate::blocks::{self, CbcLanesOps, CtrLanesOps};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::{Crossover, Kernel, Row, Timing};

#[cfg(target_arch = "x86_64")]
const GFNI_512: Kernel = Kernel {
    name: "x86_64-avx512gfni-x32",
    requires: arch::x86_64_gfni::REQUIRES_512,
    timing: Timing::Constant,
    note: "as in AVX2 registers, with three-way additions and twice as many registers",
};

#[cfg(target_arch = "x86_64")]
const GFNI_256: Kernel = Kernel {
    name: "x86_64-avx2gfni-x32",
    requires: arch::x86_64_gfni::REQUIRES_256,
    timing: Timing::Constant,
    note: "each byte of 32 messages' blocks in one register; up to 16 messages in half of one",
};

#[cfg(target_arch = "x86_64")]
const AESNI: Kernel = Kernel {
    name: "x86_64-aesni-x16",
    requires: arch::x86_64_aesni::REQUIRES,
    timing: Timing::Constant,
    note: "each byte of 16 messages' blocks in one register; the AES S-box between affine maps",
};

#[cfg(target_arch = "aarch64")]
const AARCH64: Kernel = Kernel {
    name: "aarch64-ce-x16",
    requires: arch::aarch64_ce::REQUIRES,
    timing: Timing::Constant,
    note: "each byte of 16 messages' blocks in one register; the AES S-box between affine maps",
};

/// The crossovers of CBC with GFNI and with AES instructions, measured on Zen 4 with different keys.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const CBC_CROSSOVER: [Crossover; 2] =
    [Crossover(&[(16, 6), (usize::MAX, 2)]), Crossover(&[(16, 4), (usize::MAX, 3)])];

/// The crossovers of CTR, measured likewise. Longer messages fill the direct kernels' registers by
/// themselves.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const CTR_CROSSOVER: [Crossover; 2] = [
    Crossover(&[(16, 4), (64, 7), (256, 24), (usize::MAX, usize::MAX)]),
    Crossover(&[(16, 3), (64, 5), (usize::MAX, usize::MAX)]),
];

/// The kernels of CBC encryption over many messages.
pub static CBC_LANES: Table<CbcLanesOps<Camellia>> = Table::new(
    algorithm("camellia-cbc-lanes", "RFC 3713; SP 800-38A §6.2"),
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_512,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[0], encrypt: arch::x86_64_gfni::cbc_lanes_512 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_256,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[0], encrypt: arch::x86_64_gfni::cbc_lanes_256 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AESNI,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[1], encrypt: arch::x86_64_aesni::cbc_lanes },
        },
        #[cfg(target_arch = "aarch64")]
        Row {
            kernel: AARCH64,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER[1], encrypt: arch::aarch64_ce::cbc_lanes },
        },
        blocks::cbc_direct(),
    ],
    blocks::cbc_lanes_are_right,
);

/// The kernels of CTR over many messages.
pub static CTR_LANES: Table<CtrLanesOps<Camellia>> = Table::new(
    algorithm("camellia-ctr-lanes", "RFC 5528; SP 800-38A §6.5"),
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_512,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[0], apply: arch::x86_64_gfni::ctr_lanes_512 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI_256,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[0], apply: arch::x86_64_gfni::ctr_lanes_256 },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AESNI,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[1], apply: arch::x86_64_aesni::ctr_lanes },
        },
        #[cfg(target_arch = "aarch64")]
        Row {
            kernel: AARCH64,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER[1], apply: arch::aarch64_ce::ctr_lanes },
        },
        blocks::ctr_direct(),
    ],
    blocks::ctr_lanes_are_right,
);

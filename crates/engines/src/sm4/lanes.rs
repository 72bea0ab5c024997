//! The tables of SM4's lanes: many messages in CBC or CTR at once.
//!
//! Ref. GB/T 32907-2016; NIST SP 800-38A §6.2 (CBC), §6.5 (CTR).

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::arch;
use super::{Sm4, algorithm};
use crate::Table;
use crate::blocks::{self, CbcLanesOps, CtrLanesOps};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::{Crossover, Kernel, Row, Timing};

#[cfg(target_arch = "x86_64")]
const GFNI: Kernel = Kernel {
    name: "x86_64-avx2gfni-x32",
    requires: arch::x86_64_gfni::REQUIRES,
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

/// The crossover of CBC, which is Camellia's until SM4's is measured.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const CBC_CROSSOVER: Crossover = Crossover(&[(16, 4), (usize::MAX, 3)]);

/// The crossover of CTR, likewise. Longer messages fill the direct kernels' registers by themselves.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const CTR_CROSSOVER: Crossover = Crossover(&[(16, 4), (64, 7), (usize::MAX, usize::MAX)]);

/// The kernels of CBC encryption over many messages.
pub static CBC_LANES: Table<CbcLanesOps<Sm4>> = Table::new(
    algorithm("sm4-cbc-lanes", "GB/T 32907-2016; SP 800-38A §6.2"),
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER, encrypt: arch::x86_64_gfni::cbc_lanes },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AESNI,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER, encrypt: arch::x86_64_aesni::cbc_lanes },
        },
        #[cfg(target_arch = "aarch64")]
        Row {
            kernel: AARCH64,
            ops: CbcLanesOps { crossover: CBC_CROSSOVER, encrypt: arch::aarch64_ce::cbc_lanes },
        },
        blocks::cbc_direct(),
    ],
    blocks::cbc_lanes_are_right,
);

/// The kernels of CTR over many messages.
pub static CTR_LANES: Table<CtrLanesOps<Sm4>> = Table::new(
    algorithm("sm4-ctr-lanes", "GB/T 32907-2016; SP 800-38A §6.5"),
    &[
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: GFNI,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER, apply: arch::x86_64_gfni::ctr_lanes },
        },
        #[cfg(target_arch = "x86_64")]
        Row {
            kernel: AESNI,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER, apply: arch::x86_64_aesni::ctr_lanes },
        },
        #[cfg(target_arch = "aarch64")]
        Row {
            kernel: AARCH64,
            ops: CtrLanesOps { crossover: CTR_CROSSOVER, apply: arch::aarch64_ce::ctr_lanes },
        },
        blocks::ctr_direct(),
    ],
    blocks::ctr_lanes_are_right,
);

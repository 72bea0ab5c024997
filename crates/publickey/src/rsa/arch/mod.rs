//! RSA on particular processors.

pub(super) mod x86_64_avx512ifma;
pub(super) mod x86_64_avx512ifma_lanes;

//! Vectors of words on particular processors.

pub(crate) mod x86_64_avx2;
pub(crate) mod x86_64_avx512;

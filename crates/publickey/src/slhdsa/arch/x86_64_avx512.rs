//! The blocks of the lanes put together with AVX-512.

use crate::slhdsa::kernel::kernel;

kernel!(pub(in crate::slhdsa) OPS: [target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]);

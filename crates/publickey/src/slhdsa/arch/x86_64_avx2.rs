//! The blocks of the lanes put together with AVX2.

use crate::slhdsa::kernel::kernel;

kernel!(pub(in crate::slhdsa) OPS: [target_feature(enable = "avx2,bmi1,bmi2")]);

//! The blocks of the lanes on plain words, for any processor. The compiler makes vectors of them where there are some.

use super::kernel::kernel;

kernel!(pub(super) OPS: []);

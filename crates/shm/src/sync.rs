//! The atomics of the tally: the standard library's here, the model checker's where that runs the tally.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

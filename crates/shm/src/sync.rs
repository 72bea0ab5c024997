//! What the tally is made of: the standard library's here, the model checker's where that runs it.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

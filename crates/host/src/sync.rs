//! The parts that a mailbox is made of: the standard library's here, the model checker's where that runs it.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};
pub(super) use std::sync::mpsc::sync_channel;
pub(super) use std::sync::{Mutex, PoisonError};

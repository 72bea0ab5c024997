//! Shared memory between processes that need not trust each other: sealed memory, mappings, futexes,
//! doorbells, messages with descriptors, memory for keys, and [counters](tally) in a file.
//!
//! A [`Memory`] is a descriptor whose size can't change any more, so that no mapping of it ever faults. A
//! [`Mapping`] makes it visible to this process. Bytes that a peer may write are reached as atomic [`Words`]
//! or by [copies](Mapping::read), never through a reference to plain bytes.
#![deny(unsafe_code)]

mod copy;
mod doorbell;
mod forever;
mod fork;
mod free;
mod futex;
mod heap;
mod layout;
mod listener;
mod mapping;
mod memory;
mod plain;
mod rights;
mod secret;
mod signals;
mod socket;
mod stack;
mod sync;
pub mod tally;
mod unread;
mod vmclock;

pub use copy::{copy_name, prefetch, prefetch_words, prefetch_write, share};
pub use doorbell::Doorbell;
pub use fork::{forks, watch_forks};
pub use heap::SecretHeap;
pub use layout::{AAD_BYTES, BUFFER_HEAD, Rings, STATE_PLACE_BYTES, buffer_bytes};
pub use listener::Listener;
pub use mapping::{Mapping, Words};
pub use memory::Memory;
pub use plain::{plain, words};
pub use secret::{SecretBytes, SecretMemory};
pub use signals::without_signals;
pub use socket::{Credentials, MAX_DESCRIPTORS, MAX_MESSAGE, Received, Socket, pair};
pub use stack::{WIPED_STACK, spawn_on_secret_stack, wipe_stack};
pub use vmclock::VmGeneration;

/// Pins the calling thread, and the threads it starts, to a processor.
///
/// # Errors
/// The system's: there is no such processor, or this process may not use it.
pub fn pin(cpu: usize) -> std::io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpu >= CpuSet::MAX_CPU {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Sleeping on a word of shared memory, and waking a sleeper.
pub mod sleep {
    pub use crate::futex::{wait, wake};
}

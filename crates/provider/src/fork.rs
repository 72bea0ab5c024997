//! What a forked child must not use: it counts forks.
//!
//! # Safety
//! The handler that the C library calls in a child adds to an atomic number, which is allowed there. The module is never
//! unmapped (see `build.rs`), so the handler stays where it is.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

static FORKS: AtomicU64 = AtomicU64::new(0);

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many forks lie between this process and the one that loaded the module. Counted from the first call on.
pub fn generation() -> u64 {
    static COUNTED: AtomicBool = AtomicBool::new(false);
    if !COUNTED.load(Ordering::Relaxed) && !COUNTED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler is safe in a child, and stays mapped.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
    FORKS.load(Ordering::Relaxed)
}

/// A value that each process makes anew: a child leaves its parent's alone, with whatever lock was held in it at the fork.
pub struct PerProcess<T: 'static> {
    at: AtomicPtr<(u64, T)>,
}

impl<T: Default + Sync> PerProcess<T> {
    pub const fn new() -> Self {
        PerProcess { at: AtomicPtr::new(ptr::null_mut()) }
    }

    /// This process's own. What was a parent's is forgotten, not dropped.
    pub fn get(&self) -> &'static T {
        let now = generation();
        loop {
            let seen = self.at.load(Ordering::Acquire);
            // SAFETY: what was put there is never freed.
            if let Some((made_in, value)) = unsafe { seen.as_ref() }
                && *made_in == now
            {
                return value;
            }
            let made = Box::into_raw(Box::new((now, T::default())));
            if self.at.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody has seen it.
                drop(unsafe { Box::from_raw(made) });
            }
        }
    }
}

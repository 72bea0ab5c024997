//! Values that a process does not share with its forked children.
//!
//! # Safety
//! A value that [`PerProcess`] has published is never freed, so references to it are valid for the rest of the process. The
//! pointer is replaced only by a compare-and-exchange, and whoever loses that race frees a value that nobody has seen.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use millstream_shm as shm;
use rustix::thread::{CapabilitySet, capabilities};

/// Returns the number of forks between this process and the first one that asked.
pub(super) fn forks() -> u64 {
    // If the system has no memory for the fork handlers, a grant's memory can't be mapped either.
    let _ = shm::watch_forks();
    shm::forks()
}

/// Tells whether this process may call `chroot(2)`, after which paths such as the service's socket may be out of its reach.
/// A library opens in time what it needs later: see [`Grants::connect_early`](super::Grants::connect_early).
pub fn may_change_root() -> bool {
    capabilities(None).is_ok_and(|held| held.effective.contains(CapabilitySet::SYS_CHROOT))
}

/// A value that each process makes for itself, for statics of libraries that a program may fork with.
///
/// A forked child has only one of its parent's threads: a lock that another thread held at the fork stays locked for ever. So
/// the child leaves its parent's value alone and makes its own at the first use. Nothing is dropped: each process leaks
/// the value of its parent.
///
/// ```
/// use std::sync::Mutex;
/// use millstream::isolated::PerProcess;
///
/// static SESSIONS: PerProcess<Mutex<Vec<u64>>> = PerProcess::new();
///
/// SESSIONS.get().lock().unwrap().push(1);
/// assert_eq!(*SESSIONS.get().lock().unwrap(), [1]);
/// // A child of `fork` finds no session, and never waits for a lock of its parent's.
/// ```
pub struct PerProcess<T: 'static> {
    /// The number of forks when the value was made, and the value.
    newest: AtomicPtr<(u64, T)>,
}

impl<T: Default + Sync> PerProcess<T> {
    /// Makes no value yet.
    pub const fn new() -> Self {
        PerProcess { newest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns this process's value, which the first call in a process makes with [`Default`]. When several threads make
    /// the first call at once, each may make a value, and all get the same one.
    pub fn get(&self) -> &'static T {
        let now = forks();
        loop {
            let seen = self.newest.load(Ordering::Acquire);
            // SAFETY: a published value is never freed.
            if let Some((made_at, value)) = unsafe { seen.as_ref() }
                && *made_at == now
            {
                return value;
            }
            let made = Box::into_raw(Box::new((now, T::default())));
            if self.newest.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: `made` came from `into_raw` above and was not published.
                drop(unsafe { Box::from_raw(made) });
            }
        }
    }
}

impl<T: Default + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

impl<T> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerProcess").finish_non_exhaustive()
    }
}

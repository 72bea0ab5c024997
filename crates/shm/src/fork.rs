//! Replaces shared memory in a forked child, which must not touch its parent's queues.
//!
//! # Safety
//! The handlers run in `fork` and hold the registry's lock from before the fork until after it, so that the
//! child's list is whole. Only one thread exists in the child. The kernel leaves registered ranges out of the
//! child, and zeros are mapped in their place, so that a reference that is left over neither faults nor
//! reaches the parent.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

/// Mappings, as pairs of address and length.
type Ranges = Vec<(usize, usize)>;

/// All shared mappings of this process.
static REGISTRY: Mutex<Ranges> = Mutex::new(Vec::new());
static FORKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The registry's lock, held while this thread forks.
    static HELD: RefCell<Option<MutexGuard<'static, Ranges>>> = const { RefCell::new(None) };
}

/// Returns how many forks lie between this process and the first one that had shared memory or
/// [watched](watch_forks) for forks. Memory that was mapped under another number now holds zeros of this
/// process's own, and the queues in it must refuse. The call costs one load.
#[inline(always)]
pub fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

fn registry() -> MutexGuard<'static, Ranges> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes [`forks`] count from now on, even without shared memory. A caller with its own threads needs this,
/// because a forked child does not have them.
///
/// # Errors
/// Fails when the system has no memory for the handlers.
pub fn watch_forks() -> io::Result<()> {
    static HANDLERS: OnceLock<i32> = OnceLock::new();
    // SAFETY: the handlers are functions that live as long as the process.
    let failed =
        *HANDLERS.get_or_init(|| unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) });
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    Ok(())
}

/// Gives forked children zeros of their own in place of this range.
pub(crate) fn keep_from_children(base: NonNull<u8>, len: usize) -> io::Result<()> {
    watch_forks()?;
    // SAFETY: the range is mapped; the advice changes no contents.
    unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxDontFork)? };
    registry().push((base.as_ptr().expose_provenance(), len));
    Ok(())
}

/// Forgets a range that is about to be unmapped.
pub(crate) fn forget(base: NonNull<u8>, len: usize) {
    registry().retain(|entry| *entry != (base.as_ptr().addr(), len));
}

extern "C" fn before() {
    let guard = registry();
    // The slot is unreachable only in a thread that is being torn down. The fork then goes on without the
    // lock.
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(guard));
}

extern "C" fn parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

extern "C" fn child() {
    let _ = HELD.try_with(|held| {
        let Some(mut registry) = held.borrow_mut().take() else { return };
        FORKS.fetch_add(1, Ordering::Relaxed);
        for (base, len) in registry.drain(..) {
            let place = std::ptr::with_exposed_provenance_mut(base);
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: the kernel left this range out of the child, so that nothing else is mapped there yet.
            let mapped =
                unsafe { mmap_anonymous(place, len, protection, MapFlags::PRIVATE | MapFlags::FIXED) };
            if mapped.is_err() {
                std::process::abort();
            }
        }
    });
}

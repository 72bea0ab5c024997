//! What becomes of shared memory in a forked child: it must not touch its parent's queues.
//!
//! # Safety
//! The handlers run in `fork`, with the registry's lock held from before it to after it, so that its list is whole.
//! In the child only one thread exists, and what lay at a registered range is not mapped there any more: the
//! kernel leaves it out. Zeros are mapped in its place, so that what still refers to it neither faults nor
//! reaches the parent.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

/// Mappings: address and length.
type Ranges = Vec<(usize, usize)>;

/// The shared ones.
static REGISTRY: Mutex<Ranges> = Mutex::new(Vec::new());
static FORKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Held while this thread forks.
    static HELD: RefCell<Option<MutexGuard<'static, Ranges>>> = const { RefCell::new(None) };
}

/// How many forks lie between this process and the first one that had shared memory, or [watched](watch_forks). What was mapped when the number
/// was another is zeros of this process's own now, and the queues in it must refuse. It costs one load.
#[inline(always)]
pub fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

fn registry() -> MutexGuard<'static, Ranges> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on [`forks`] counts, whether or not there is shared memory: for what a forked child has no thread for.
///
/// # Errors
/// The system's: no memory for it.
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

/// Sees to it that a forked child has zeros of its own there.
pub(crate) fn keep_from_children(base: NonNull<u8>, len: usize) -> io::Result<()> {
    watch_forks()?;
    // SAFETY: the range is mapped; the advice changes no contents.
    unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxDontFork)? };
    registry().push((base.as_ptr().expose_provenance(), len));
    Ok(())
}

/// The range is about to be unmapped.
pub(crate) fn forget(base: NonNull<u8>, len: usize) {
    registry().retain(|entry| *entry != (base.as_ptr().addr(), len));
}

extern "C" fn before() {
    let guard = registry();
    // A thread that is being torn down can't hold it: then the fork goes on without.
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

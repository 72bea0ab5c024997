//! Memory for keys. Only this process maps it, and where possible even the kernel can't reach it.
//!
//! # Safety
//! The allocator's lists lie outside the memory it manages, which stays mapped as long as the allocator
//! lives. It hands out each piece at most once at a time.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, munmap};
use zeroize::optimization_barrier;

use crate::free::Free;

/// Memory is handed out in whole pieces of this many bytes.
const PIECE: usize = 64;

/// Memory for keys. Places are zeroed when they come back, and all of it is when it is given up. It is never
/// swapped, dumped or inherited by a child. With `memfd_secret` (Linux 5.14) not even the kernel has it
/// mapped, so that nothing outside this process, not even a debugger, can read it.
pub struct SecretMemory {
    base: NonNull<u8>,
    len: usize,
    hidden: bool,
    free: Mutex<Free>,
}

// SAFETY: it is memory, and the list of free pieces is behind a lock.
unsafe impl Send for SecretMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for SecretMemory {}

impl SecretMemory {
    /// Reserves room for `len` bytes of keys, rounded up to whole pages.
    ///
    /// # Errors
    /// Fails when the memory can't be had or not be locked. Raise the limit of locked memory then (`ulimit
    /// -l`, `LimitMEMLOCK=`).
    pub fn new(len: usize) -> io::Result<Self> {
        let len = len.max(1).next_multiple_of(rustix::param::page_size());
        let (base, hidden) = match map_secret(len) {
            Ok(base) => (base, true),
            Err(_) => (map_locked(len)?, false),
        };
        SecretMemory::over(base, len, hidden)
    }

    fn over(base: *mut u8, len: usize, hidden: bool) -> io::Result<Self> {
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = SecretMemory { base, len, hidden, free: Mutex::new(Free::new(len / PIECE)) };
        for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
            // SAFETY: the range was just mapped; the advice changes no contents.
            let advised = unsafe { madvise(base.as_ptr().cast(), len, advice) };
            // Secret memory is never dumped anyway, and some kernels refuse the advice for it.
            if !hidden {
                advised?;
            }
        }
        Ok(memory)
    }

    /// Does what [`SecretMemory::new`] does, but fails where the memory would not be hidden. Pages are taken
    /// from the system when they are first used, so `len` may be large.
    ///
    /// # Errors
    /// Fails when the kernel has no `memfd_secret`, or when so much may not be locked.
    pub fn hidden(len: usize) -> io::Result<Self> {
        let len = len.max(1).next_multiple_of(rustix::param::page_size());
        SecretMemory::over(map_secret(len)?, len, true)
    }

    /// Returns true when the memory comes from `memfd_secret`.
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Returns where the memory begins and how many bytes it has.
    pub fn range(&self) -> (NonNull<u8>, usize) {
        (self.base, self.len)
    }

    /// Hands out a zeroed place for a value, or none when there is no room.
    pub fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let pieces = pieces(layout)?;
        let align = layout.align().div_ceil(PIECE);
        let first = self.free.lock().unwrap_or_else(PoisonError::into_inner).take(pieces, align)?;
        // SAFETY: inside the mapping.
        Some(unsafe { self.base.add(first * PIECE) })
    }

    /// Takes a place back, and zeroes it.
    ///
    /// # Safety
    /// The place came from `allocate` on this same memory with the same layout, and nobody uses it any more.
    pub unsafe fn free(&self, place: NonNull<u8>, layout: Layout) {
        let Some(pieces) = pieces(layout) else { return };
        // SAFETY: it was handed out with this size, and is the caller's alone.
        unsafe { place.as_ptr().write_bytes(0, layout.size()) };
        optimization_barrier(&place);
        let first = (place.as_ptr().addr() - self.base.as_ptr().addr()) / PIECE;
        self.free.lock().unwrap_or_else(PoisonError::into_inner).give_back(first, pieces);
    }
}

/// Bytes in memory for keys, zeroed when they are dropped. See [`SecretMemory`].
///
/// ```
/// let mut key = millstream_shm::SecretBytes::new(32)?;
/// key[0] = 7;
/// assert_eq!(key.len(), 32);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SecretBytes {
    memory: SecretMemory,
    len: usize,
}

impl SecretBytes {
    /// Returns `len` zeros.
    ///
    /// # Errors
    /// As [`SecretMemory::new`].
    pub fn new(len: usize) -> io::Result<Self> {
        Ok(SecretBytes { memory: SecretMemory::new(len)?, len })
    }
}

impl Deref for SecretBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory has at least so many bytes, from its beginning on, and hands out none of them.
        unsafe { std::slice::from_raw_parts(self.memory.base.as_ptr(), self.len) }
    }
}

impl DerefMut for SecretBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.memory.base.as_ptr(), self.len) }
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretBytes").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Returns how many pieces a layout needs, or none where its alignment exceeds the mapping's.
fn pieces(layout: Layout) -> Option<usize> {
    (layout.align() <= rustix::param::page_size()).then(|| layout.size().div_ceil(PIECE).max(1))
}

fn map_secret(len: usize) -> io::Result<*mut u8> {
    // SAFETY: a system call that makes a descriptor and touches no memory.
    let descriptor = unsafe { libc::syscall(libc::SYS_memfd_secret, libc::O_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and this its only owner.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
    rustix::fs::ftruncate(&descriptor, len as u64)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the system's choice touches no other.
    let base = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, &descriptor, 0)? };
    Ok(base.cast())
}

fn map_locked(len: usize) -> io::Result<*mut u8> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: as in `map_secret`.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
    // SAFETY: the range was just mapped.
    if let Err(error) = unsafe { mlock(base, len) } {
        // SAFETY: the same range, which nobody knows of yet.
        let _ = unsafe { munmap(base, len) };
        return Err(error.into());
    }
    Ok(base.cast())
}

impl Drop for SecretMemory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; whoever was handed a part of it has given it back or leaked it.
        unsafe {
            self.base.as_ptr().write_bytes(0, self.len);
            optimization_barrier(&self.base);
            let _ = munmap(self.base.as_ptr().cast(), self.len);
        }
    }
}

impl fmt::Debug for SecretMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.hidden { "memfd_secret" } else { "locked" };
        write!(f, "SecretMemory({} bytes, {kind})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart_aligned_and_come_back_zeroed() {
        let memory = SecretMemory::new(64 * 1024).unwrap();
        let layout = Layout::from_size_align(100, 64).unwrap();
        let places: Vec<_> = std::iter::from_fn(|| memory.allocate(layout)).collect();
        assert_eq!(places.len(), 512);
        for place in &places {
            assert!(place.as_ptr().addr().is_multiple_of(64));
            // SAFETY: each place is this test's alone.
            unsafe {
                assert_eq!(std::slice::from_raw_parts(place.as_ptr(), 100), [0; 100]);
                place.as_ptr().write_bytes(0xa5, 100);
            }
        }
        for place in places {
            // SAFETY: from this memory, with this layout, used no more.
            unsafe { memory.free(place, layout) };
        }
        let whole = memory.allocate(Layout::from_size_align(64 * 1024, 64).unwrap()).unwrap();
        // SAFETY: all of it is this test's.
        let bytes = unsafe { std::slice::from_raw_parts(whole.as_ptr(), 64 * 1024) };
        assert!(bytes.iter().all(|b| *b == 0));
        assert!(memory.allocate(layout).is_none());
    }
}

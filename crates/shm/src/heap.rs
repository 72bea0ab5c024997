//! A heap in memory for keys, for a process that computes with the secrets of others.
//!
//! The heap of such a process holds more secrets than keys: messages that bring a key, the states of hashes,
//! plaintext on its way. So all of it lies in one [`SecretMemory`], and is zeroed when it is freed.
//!
//! # Safety
//! A block is cut once from memory that is never given up. From then on it belongs either to its owner or to
//! the list of its size, and only the holder of the lock touches the lists and the blocks in them. Memory
//! that was allocated before the heap began, or when it is full, belongs to the system; the address of a
//! block tells which of both it is.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zeroize::optimization_barrier;

use crate::SecretMemory;

/// The smallest blocks have 32 bytes; each next size is twice as large.
const SMALLEST: u32 = 5;

/// The number of sizes; the largest blocks have 2 GiB.
const SIZES: usize = 27;

/// Smaller blocks are cut from a page at once. No block is aligned to more than this.
const PAGE: usize = 4096;

static BEGIN: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
static LISTS: Mutex<Lists> = Mutex::new(Lists { unused: 0, end: 0, free: [0; SIZES] });

/// The free blocks of each size, and the memory that was never used. A free block is all zero except for its
/// first word, which is the address of the next.
struct Lists {
    unused: usize,
    end: usize,
    free: [usize; SIZES],
}

/// An allocator for a program that may come to compute with secrets. It forwards to the system until
/// [`SecretHeap::begin`].
///
/// ```
/// use millstream_shm::SecretHeap;
///
/// #[global_allocator]
/// static HEAP: SecretHeap = SecretHeap;
///
/// SecretHeap::begin(1 << 20)?;
/// assert!(SecretHeap::has(Box::into_raw(Box::new(7_u64)).cast()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SecretHeap;

impl SecretHeap {
    /// Serves allocations from memory for keys from here on. `bytes` are reserved and used up page by page;
    /// what no longer fits comes from the system. Returns true when the memory is hidden, as
    /// [`SecretMemory::is_hidden`] says.
    ///
    /// # Errors
    /// Those of [`SecretMemory::new`]; [`io::ErrorKind::AlreadyExists`] when it began already.
    pub fn begin(bytes: usize) -> io::Result<bool> {
        let memory = SecretMemory::new(bytes)?;
        let (hidden, (base, len)) = (memory.is_hidden(), memory.range());
        let begin = base.as_ptr().expose_provenance();
        let mut lists = lists();
        if lists.end != 0 {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        std::mem::forget(memory);
        (lists.unused, lists.end) = (begin, begin + len);
        drop(lists);
        END.store(begin + len, Ordering::Relaxed);
        BEGIN.store(begin, Ordering::Release);
        Ok(hidden)
    }

    /// Returns true when the address lies in this heap.
    #[inline]
    pub fn has(at: *mut u8) -> bool {
        let begin = BEGIN.load(Ordering::Acquire);
        begin != 0 && (begin..END.load(Ordering::Relaxed)).contains(&at.addr())
    }
}

/// Takes the lock. The allocator can't panic while it holds it, so the lock is never truly poisoned.
fn lists() -> MutexGuard<'static, Lists> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the index of the size that fits a layout, and the bytes of its blocks.
fn size_of_blocks(layout: Layout) -> Option<(usize, usize)> {
    let bytes = layout.size().max(layout.align()).max(1 << SMALLEST).checked_next_power_of_two()?;
    let size = (bytes.trailing_zeros() - SMALLEST) as usize;
    (size < SIZES && layout.align() <= PAGE).then_some((size, bytes))
}

impl Lists {
    /// Takes a free block. It is all zero except perhaps for its first word.
    fn take(&mut self, size: usize, bytes: usize) -> Option<*mut u8> {
        if self.free[size] == 0 {
            self.cut(size, bytes).or_else(|| self.split(size, bytes))?;
        }
        let block = with_exposed_provenance_mut::<u8>(self.free[size]);
        // SAFETY: a block in a list begins with the address of the next, and is nobody else's.
        self.free[size] = unsafe { block.cast::<usize>().read() };
        Some(block)
    }

    /// Makes blocks of a size from memory that was never used. Memory is cut in whole pages, so every block
    /// is aligned to its own size or to a page.
    fn cut(&mut self, size: usize, bytes: usize) -> Option<()> {
        let piece = bytes.max(PAGE);
        if piece > self.end - self.unused {
            return None;
        }
        let begin = self.unused;
        self.unused += piece;
        for at in (begin..begin + piece).step_by(bytes).rev() {
            // SAFETY: it lies in what was just taken, which nobody has used.
            unsafe { self.put(with_exposed_provenance_mut(at), size) };
        }
        Some(())
    }

    /// Makes blocks of a size from a larger free one. They are never joined again.
    #[cold]
    fn split(&mut self, size: usize, bytes: usize) -> Option<()> {
        let larger = (size + 1..SIZES).find(|larger| self.free[*larger] != 0)?;
        let block = self.take(larger, 0)?;
        // SAFETY: it was free, and all zero but for this word.
        unsafe { block.cast::<usize>().write(0) };
        let begin = block.expose_provenance();
        for at in (begin..begin + (1 << (larger + SMALLEST as usize))).step_by(bytes).rev() {
            // SAFETY: it lies in that block.
            unsafe { self.put(with_exposed_provenance_mut(at), size) };
        }
        Some(())
    }

    /// # Safety
    /// `block` is a block of that size, all zero, and nobody uses it.
    unsafe fn put(&mut self, block: *mut u8, size: usize) {
        // SAFETY: as the caller says; every block has room for an address.
        unsafe { block.cast::<usize>().write(self.free[size]) };
        self.free[size] = block.expose_provenance();
    }
}

fn allocate(layout: Layout) -> Option<*mut u8> {
    if BEGIN.load(Ordering::Acquire) == 0 {
        return None;
    }
    let (size, bytes) = size_of_blocks(layout)?;
    lists().take(size, bytes)
}

// SAFETY: blocks are apart, and as large and as well aligned as was asked for; memory goes back to where it
// came from. The file's head says why.
unsafe impl GlobalAlloc for SecretHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        allocate(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match allocate(layout) {
            Some(block) => {
                // SAFETY: the first word is the only one that is not zero.
                unsafe { block.cast::<usize>().write(0) };
                block
            }
            // SAFETY: as the caller says.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if BEGIN.load(Ordering::Acquire) == 0 {
            // SAFETY: as the caller says: all memory is the system's.
            return unsafe { System.realloc(at, layout, bytes) };
        }
        // SAFETY: the caller says that with this alignment so many bytes are a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        if SecretHeap::has(at) && size_of_blocks(layout) == size_of_blocks(wanted) {
            if bytes < layout.size() {
                // SAFETY: these bytes are the caller's until now. `dealloc` will only zero the new size, so
                // the bytes that are cut off are zeroed here.
                unsafe { at.add(bytes).write_bytes(0, layout.size() - bytes) };
            }
            return at;
        }
        // SAFETY: the old memory has `layout.size()` bytes, the new one as many as wanted, and they are apart.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                new.copy_from_nonoverlapping(at, layout.size().min(bytes));
                self.dealloc(at, layout);
            }
            new
        }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let mine = SecretHeap::has(at);
        if BEGIN.load(Ordering::Relaxed) != 0 {
            // SAFETY: it is the caller's, has so many bytes, and is not used any more.
            unsafe { at.write_bytes(0, layout.size()) };
            optimization_barrier(&at);
        }
        match size_of_blocks(layout) {
            // SAFETY: it was cut as a block of this size, was just zeroed, and comes back.
            Some((size, _)) if mine => unsafe { lists().put(at, size) },
            // SAFETY: as the caller says: it is the system's.
            _ => unsafe { System.dealloc(at, layout) },
        }
    }
}

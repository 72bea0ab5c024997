//! The buffers that a heap lends.
//!
//! # Safety
//! As the heap says: a buffer is the only way to its bytes until a word names them, and the heap counts it, so both the heap and
//! the bytes are there as long as the buffer is.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use millstream_shm::{prefetch, prefetch_write};
use zeroize::optimization_barrier;

use super::{HEAD, Heap, LINE, SMALL};

/// Bytes in a queue's arena, where its operations find their input and leave their output. Zero at first;
/// wiped when dropped.
///
/// ```
/// use millstream::queue::{Config, Queue};
///
/// let queue = Queue::inline(millstream::features()?, Config::default())?;
/// let mut buffer = queue.buffer(5)?;
/// buffer.copy_from_slice(b"hello");
/// assert_eq!(&buffer[..], b"hello");
/// # Ok::<(), millstream::Error>(())
/// ```
///
/// A buffer is small, because it is moved into a request, a queue and out again for every operation: it is two numbers, which the
/// compiler keeps in two registers. Were it three, they would be moved through memory.
pub struct Buffer {
    heap: NonNull<Heap>,
    /// The length, and in the lower half the place: the number of the line in which its bytes begin, and below it the size of its
    /// block. 2^size lines were taken from the heap; the block begins at a multiple of its size, at or before the buffer's head.
    span: u64,
}

// SAFETY: the heap is `Send` and `Sync`, and the bytes are the buffer's alone.
unsafe impl Send for Buffer {}
// SAFETY: as for `Send`; by reference its bytes are only read.
unsafe impl Sync for Buffer {}

/// Returns the offset of the line for an initialisation vector, for a buffer whose bytes begin there.
#[inline(always)]
pub(crate) fn iv_line(at: u32) -> u32 {
    at - HEAD as u32
}

/// Returns the offset of the line for a tag, for a buffer whose bytes begin there.
#[inline(always)]
pub(crate) fn tag_line(at: u32) -> u32 {
    at - LINE as u32
}

/// The bits of a buffer's place that are the size of its block.
const SIZE_BITS: u32 = 5;

/// The size of an abandoned buffer, which no block has.
const ABANDONED: u32 = (1 << SIZE_BITS) - 1;

impl Buffer {
    /// Makes the buffer of a block of 2^`size` lines whose head begins in the line `begin`. The heap has counted it.
    #[inline(always)]
    pub(super) fn counted(heap: &Arc<Heap>, begin: u32, size: u32, len: u32) -> Self {
        let place = (begin + (HEAD / LINE) as u32) << SIZE_BITS | size;
        // The pointer is the `Arc`'s own, because the last buffer makes the `Arc` from it again.
        let heap = NonNull::new(Arc::as_ptr(heap).cast_mut()).expect("an `Arc` is not null");
        Buffer { heap, span: u64::from(len) << 32 | u64::from(place) }
    }

    #[inline(always)]
    fn place(&self) -> u32 {
        self.span as u32
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        (self.span >> 32) as usize
    }

    /// The heap that lent it.
    #[inline(always)]
    fn heap(&self) -> &Heap {
        // SAFETY: the heap counts the buffer, and is there as long as that is.
        unsafe { self.heap.as_ref() }
    }

    /// Returns the buffer's offset in the arena.
    #[inline(always)]
    pub(crate) fn at(&self) -> u32 {
        const { assert!(LINE == 1 << (SIZE_BITS + 1)) };
        (self.place() & !ABANDONED) << 1
    }

    /// Returns the first line of its block, and the block's size; none where it was abandoned.
    #[inline(always)]
    fn block(&self) -> Option<(u32, u32)> {
        let (line, size) = (self.place() >> SIZE_BITS, self.place() & ABANDONED);
        let head = line - (HEAD / LINE) as u32;
        (size != ABANDONED).then(|| (head >> size << size, size))
    }

    /// Returns true when the buffer is of this heap.
    #[inline(always)]
    pub(crate) fn is_of(&self, heap: &Arc<Heap>) -> bool {
        std::ptr::eq(self.heap.as_ptr(), Arc::as_ptr(heap))
    }

    /// The line for an initialisation vector.
    #[inline(always)]
    pub(crate) fn iv(&self) -> &[u8; SMALL] {
        // SAFETY: the line is this buffer's, inside the arena, and written only while a queue owns the buffer.
        unsafe { &*self.heap().base.as_ptr().add(self.at() as usize - HEAD).cast() }
    }

    /// The line for a tag.
    #[inline(always)]
    pub(crate) fn tag(&self) -> &[u8; SMALL] {
        // SAFETY: the line is this buffer's, inside the arena, and written only while a queue owns the buffer.
        unsafe { &*self.heap().base.as_ptr().add(self.at() as usize - LINE).cast() }
    }

    /// Leaves its bytes to a worker that may still write to them: nobody gets them again.
    #[cold]
    pub(crate) fn abandon(&mut self) {
        self.span |= u64::from(ABANDONED);
    }

    /// Prefetches the buffer for reading: an accelerator on another core has written it.
    #[inline(always)]
    pub(crate) fn will_be_read(&self) {
        prefetch(self);
    }

    /// The same, where only its tag was written.
    #[inline(always)]
    pub(crate) fn tag_will_be_read(&self) {
        prefetch(self.tag());
    }

    /// Prefetches the buffer for writing: its owner soon gets it back, and as a rule writes to it again.
    #[inline(always)]
    pub(crate) fn will_be_written(&self) {
        prefetch_write(self);
    }

    /// The same, for the line beside it that has a tag and, as a rule, an initialisation vector.
    #[inline(always)]
    pub(crate) fn tag_will_be_written(&self) {
        prefetch_write(self.tag());
    }

    /// The most bytes it can have.
    #[inline]
    pub fn capacity(&self) -> usize {
        let Some((first, size)) = self.block() else { return 0 };
        (first as usize + (1 << size)) * LINE - self.at() as usize
    }

    /// Makes it so many bytes long. What comes to it is what was there before, or zero.
    ///
    /// # Panics
    /// When `len` is more than [`Buffer::capacity`].
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "a length within the capacity");
        self.span = (len as u64) << 32 | u64::from(self.place());
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the span is this buffer's, and inside the arena.
        unsafe {
            let base = self.heap().base.as_ptr().add(self.at() as usize);
            std::slice::from_raw_parts(base, self.bytes())
        }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the span is this buffer's alone, and inside the arena.
        unsafe {
            let base = self.heap().base.as_ptr().add(self.at() as usize);
            std::slice::from_raw_parts_mut(base, self.bytes())
        }
    }
}

impl Drop for Buffer {
    /// Hands on what it is made of, so that its own address gets nowhere and it stays in registers.
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it is this buffer's heap and block, and this is the buffer's end.
        unsafe { give_back(self.heap, self.block()) }
    }
}

/// Wipes a buffer's block and gives it back to the heap.
///
/// # Safety
/// The heap and the block are those of a buffer that is used no more.
#[inline(never)]
unsafe fn give_back(heap: NonNull<Heap>, block: Option<(u32, u32)>) {
    // An abandoned buffer's lines stay taken.
    if let Some((first, size)) = block {
        // SAFETY: the buffer is counted, so the heap is there; its block is inside the arena, and nobody else's.
        let whole = unsafe {
            let base = heap.as_ref().base.as_ptr().add(first as usize * LINE);
            std::slice::from_raw_parts_mut(base, LINE << size)
        };
        // The whole of it, head and all.
        whole.fill(0);
        optimization_barrier(&*whole);
    }
    // SAFETY: as the caller says.
    unsafe { Heap::give_back(heap, block) }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Says where it is and shows no data.
impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {})", self.bytes(), self.at())
    }
}

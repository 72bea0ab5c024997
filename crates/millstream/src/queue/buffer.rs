//! The arena of a queue, and the buffers that are handed out of it.
//!
//! # Safety
//! The heap hands out every span at most once at a time, so a [`Buffer`] is the only way to its bytes; a
//! queue owns the buffers of what it has in flight. That is what lets [`Heap`] promise the accelerator that the
//! spans of words in flight are its alone.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use buddy_system_allocator::FrameAllocator;
use millstream_accelerator::{Arena, LocalArena};
use zeroize::optimization_barrier;

/// What is handed out is whole cache lines.
const LINE: usize = 64;

/// Before the bytes of a buffer: a line for an initialisation vector and one for a tag, so that what belongs to an
/// operation lies together and needs no copy to come back.
const HEAD: usize = 2 * LINE;

/// The longest initialisation vector, and the longest tag, in bytes.
pub(crate) const SMALL: usize = LINE;

/// An arena and what of it is free. Free memory is zero.
pub(crate) struct Heap {
    arena: LocalArena,
    free: Mutex<Free>,
}

/// What is free, in cache lines, and how many buffers there have been.
struct Free {
    lines: FrameAllocator<32>,
    buffers: usize,
}

impl Heap {
    pub(crate) fn new(bytes: u32) -> Arc<Self> {
        let arena = LocalArena::new(bytes);
        let mut lines = FrameAllocator::new();
        lines.add_frame(0, arena.len() as usize / LINE);
        Arc::new(Heap { arena, free: Mutex::new(Free { lines, buffers: 0 }) })
    }

    /// What a buffer of that many bytes takes of the arena: it is handed out in powers of two.
    pub(crate) fn bytes_for(len: usize) -> usize {
        (HEAD + len).next_power_of_two()
    }

    /// Copies bytes into a place of the arena that no [`Buffer`] lends.
    #[inline(always)]
    pub(crate) fn write(&self, at: u32, bytes: &[u8]) {
        // SAFETY: a queue's own place: its other side reads it only after the word that names it was published.
        unsafe { self.arena.write_unshared(at, bytes) }
    }

    /// Copies bytes out of a place of the arena.
    #[inline(always)]
    pub(crate) fn read(&self, at: u32, out: &mut [u8]) {
        // SAFETY: a queue's own place: its other side has written it before the completion was published.
        unsafe { self.arena.read_unshared(at, out) }
    }

    /// A buffer of zeros.
    pub(crate) fn buffer(self: &Arc<Self>, len: usize) -> Option<Buffer> {
        let needed = (HEAD + len).div_ceil(LINE);
        let lines = needed.next_power_of_two();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let first = free.lines.alloc(lines)?;
        // Buffers of one size would all begin in the same few sets of the cache, and lanes work on many at once: each
        // begins one line later in the room it has than the one before.
        free.buffers = free.buffers.wrapping_add(1);
        let begin = first + free.buffers % (lines - needed + 1);
        drop(free);
        // Inside the arena, so everything fits 32 bits.
        let at = (begin * LINE + HEAD) as u32;
        let place =
            Place { heap: self.clone(), at, len: len as u32, first: first as u32, lines: lines as u32 };
        Some(Buffer(Box::new(place)))
    }
}

/// The arena as an accelerator has it.
#[derive(Clone)]
pub(crate) struct Exclusive(pub(crate) Arc<Heap>);

// SAFETY: the allocation is the heap's, which this keeps alive. A word in flight names only spans of buffers
// that its queue owns until the completion has come: nobody else can reach them, and no two buffers overlap.
// A queue that is dropped first takes its words back.
unsafe impl Arena for Exclusive {
    fn base(&self) -> NonNull<u8> {
        self.0.arena.base()
    }

    fn len(&self) -> u32 {
        self.0.arena.len()
    }

    fn exclusive(&self) -> bool {
        true
    }
}

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
pub struct Buffer(Box<Place>);

/// Where a buffer is. In a box, because a buffer is moved into a request, a queue and out again for every operation.
struct Place {
    heap: Arc<Heap>,
    at: u32,
    len: u32,
    /// What was taken from the heap: the first of its cache lines, and how many.
    first: u32,
    lines: u32,
}

impl Buffer {
    /// Its offset in the arena.
    #[inline(always)]
    pub(crate) fn at(&self) -> u32 {
        self.0.at
    }

    /// Whether it is of this heap.
    #[inline(always)]
    pub(crate) fn is_of(&self, heap: &Arc<Heap>) -> bool {
        Arc::ptr_eq(&self.0.heap, heap)
    }

    /// Copies an initialisation vector to its line; its offset.
    #[inline(always)]
    pub(crate) fn write_iv(&self, iv: &[u8]) -> u32 {
        let at = self.0.at - HEAD as u32;
        self.0.heap.write(at, &iv[..iv.len().min(SMALL)]);
        at
    }

    /// The offset of the line for a tag.
    #[inline(always)]
    pub(crate) fn tag_at(&self) -> u32 {
        self.0.at - LINE as u32
    }

    /// The line for a tag.
    #[inline(always)]
    pub(crate) fn tag(&self) -> &[u8; SMALL] {
        // SAFETY: the line is this buffer's, inside the arena, and written only while a queue owns the buffer.
        unsafe { &*self.0.heap.arena.base().as_ptr().add(self.0.at as usize - LINE).cast() }
    }

    /// The most bytes it can have.
    pub fn capacity(&self) -> usize {
        (self.0.first + self.0.lines) as usize * LINE - self.0.at as usize
    }

    /// Makes it so many bytes long. What comes to it is what was there before, or zero.
    ///
    /// # Panics
    /// When `len` is more than [`Buffer::capacity`].
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "a length within the capacity");
        self.0.len = len as u32;
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the span is this buffer's, and inside the arena.
        unsafe {
            let base = self.0.heap.arena.base().as_ptr().add(self.0.at as usize);
            std::slice::from_raw_parts(base, self.0.len as usize)
        }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the span is this buffer's alone, and inside the arena.
        unsafe {
            let base = self.0.heap.arena.base().as_ptr().add(self.0.at as usize);
            std::slice::from_raw_parts_mut(base, self.0.len as usize)
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // The whole of it, head and all.
        let Place { first, lines, .. } = *self.0;
        (self.0.at, self.0.len) = (first * LINE as u32, lines * LINE as u32);
        self.fill(0);
        optimization_barrier(&**self);
        let mut free = self.0.heap.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.lines.dealloc(first as usize, lines as usize);
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Says where it is and shows no data.
impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {})", self.0.len, self.0.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_never_overlap_and_come_back_as_zeros() {
        let heap = Heap::new(64 * 1024);
        let mut buffers: Vec<Buffer> = (1..200).map_while(|i| heap.buffer(i * 7)).collect();
        assert!(buffers.len() > 40, "{}", buffers.len());
        for (i, buffer) in buffers.iter_mut().enumerate() {
            assert!(buffer.iter().all(|b| *b == 0));
            buffer.fill(i as u8 + 1);
        }
        for (i, buffer) in buffers.iter().enumerate() {
            assert!(buffer.iter().all(|b| *b == i as u8 + 1));
        }
        drop(buffers);
        let whole = heap.buffer(64 * 1024 - HEAD).expect("all of it is free again, in one piece");
        assert!(whole.iter().all(|b| *b == 0));
        assert!(heap.buffer(1).is_none());
    }
}

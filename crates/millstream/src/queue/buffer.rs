//! The arena of a queue, and the buffers that are handed out of it.
//!
//! # Safety
//! The heap hands out every span at most once at a time, so a [`Buffer`] is the only way to its bytes; a
//! queue owns the buffers of what it has in flight. That is what lets [`Heap`] promise the accelerator that the
//! spans of words in flight are its alone.
//!
//! Where the accelerator is another process it maps the same memory, and this process trusts it with its data: it
//! writes only what words in flight name as output. A buffer is lent again only when its word has ended: its
//! completion came, or the worker is known to have ended; what can't be known is abandoned.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use buddy_system_allocator::FrameAllocator;
use millstream_accelerator::Arena;
use millstream_shm::{BUFFER_HEAD, Mapping, prefetch, prefetch_write};
use zeroize::optimization_barrier;

/// What is handed out is whole cache lines.
const LINE: usize = 64;

/// Before the bytes of a buffer: a line for an initialisation vector and one for a tag, so that what belongs to an
/// operation lies together and needs no copy to come back.
const HEAD: usize = BUFFER_HEAD;
const _: () = assert!(HEAD == 2 * LINE);

/// The longest initialisation vector, and the longest tag, in bytes.
pub(crate) const SMALL: usize = LINE;

/// An arena and what of it is free. Free memory is zero.
pub(crate) struct Heap {
    /// Where the mapping begins: it is asked for with every byte.
    base: NonNull<u8>,
    len: u32,
    _memory: Arc<Mapping>,
    /// How many forks there had been when it was made, if a forked child has zeros in its place.
    forks: Option<u64>,
    free: Mutex<Free>,
}

// SAFETY: memory that does not depend on a thread; who reaches which bytes is what buffers are for.
unsafe impl Send for Heap {}
// SAFETY: as for `Send`; what is free is behind a lock.
unsafe impl Sync for Heap {}

/// What is free, in cache lines, and how many buffers there have been.
struct Free {
    lines: FrameAllocator<32>,
    buffers: usize,
}

impl Heap {
    /// Over memory that only threads of this process reach.
    pub(crate) fn private(bytes: u32) -> io::Result<Arc<Self>> {
        Ok(Heap::over(Mapping::private(bytes as usize)?, None))
    }

    /// Over memory that a worker maps too.
    pub(crate) fn shared(memory: Arc<Mapping>) -> Arc<Self> {
        Heap::over(memory, Some(millstream_shm::forks()))
    }

    fn over(memory: Arc<Mapping>, forks: Option<u64>) -> Arc<Self> {
        let lines = (memory.len() / LINE).min(u32::MAX as usize / LINE);
        let mut free = FrameAllocator::new();
        free.add_frame(0, lines);
        let free = Mutex::new(Free { lines: free, buffers: 0 });
        Arc::new(Heap { base: memory.base(), len: (lines * LINE) as u32, _memory: memory, forks, free })
    }

    /// Whether this is a forked child of the process whose heap it was.
    #[inline(always)]
    fn is_parents(&self) -> bool {
        self.forks.is_some_and(|forks| forks != millstream_shm::forks())
    }

    /// Copies bytes into a place of the arena that no [`Buffer`] lends.
    #[inline(always)]
    pub(crate) fn write(&self, at: u32, bytes: &[u8]) {
        assert!(at as usize + bytes.len() <= self.len as usize, "a write inside the arena");
        // SAFETY: the place is inside the arena, no buffer lends it, and no word in flight names it yet.
        unsafe { self.base.as_ptr().add(at as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Copies bytes out of a place of the arena.
    #[inline(always)]
    pub(crate) fn read(&self, at: u32, out: &mut [u8]) {
        assert!(at as usize + out.len() <= self.len as usize, "a read inside the arena");
        // SAFETY: the place is inside the arena, and the word that named it has ended.
        unsafe { out.as_mut_ptr().copy_from_nonoverlapping(self.base.as_ptr().add(at as usize), out.len()) }
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
        self.0.base
    }

    fn len(&self) -> u32 {
        self.0.len
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
        unsafe { &*self.0.heap.base.as_ptr().add(self.0.at as usize - LINE).cast() }
    }

    /// Leaves its bytes to a worker that may still write to them: nobody gets them again.
    #[cold]
    pub(crate) fn abandon(&mut self) {
        self.0.lines = 0;
    }

    /// It will soon be read: an accelerator on another core has written it.
    #[inline(always)]
    pub(crate) fn will_be_read(&self) {
        prefetch(self);
        self.tag_will_be_read();
    }

    /// The same, where only its tag was written.
    #[inline(always)]
    pub(crate) fn tag_will_be_read(&self) {
        prefetch(self.tag());
    }

    /// It will soon be given back, and then as a rule written again.
    #[inline(always)]
    pub(crate) fn will_be_written(&self) {
        prefetch_write(self);
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
            let base = self.0.heap.base.as_ptr().add(self.0.at as usize);
            std::slice::from_raw_parts(base, self.0.len as usize)
        }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the span is this buffer's alone, and inside the arena.
        unsafe {
            let base = self.0.heap.base.as_ptr().add(self.0.at as usize);
            std::slice::from_raw_parts_mut(base, self.0.len as usize)
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Place { first, lines, .. } = *self.0;
        // What was abandoned is not free; and in a forked child the heap's lock may be held for ever.
        if lines == 0 || self.0.heap.is_parents() {
            return;
        }
        // The whole of it, head and all.
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
        let heap = Heap::private(64 * 1024).unwrap();
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

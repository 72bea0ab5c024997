//! The arena of a queue, and the buffers that are handed out of it.
//!
//! # Safety
//! The heap hands out every span at most once at a time, so a [`Buffer`] is the only way to its bytes; a
//! queue owns the buffers of what it has in flight. That is what lets [`Heap`] promise the accelerator that the
//! spans of words in flight are its alone.
//!
//! An accelerator in another process maps the same memory, and this process trusts it with its data: it writes only
//! what words in flight name as output. A buffer is lent again only when its word has ended: its completion came, or
//! the worker is known to have ended. Where neither can be known the buffer is abandoned.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use buddy_system_allocator::FrameAllocator;
use millstream_accelerator::Arena;
use millstream_shm::{BUFFER_HEAD, Mapping, Socket, prefetch, prefetch_write};
use zeroize::optimization_barrier;

use crate::refusal::{LONGEST_BUFFER, Refusal};

/// The heap hands out whole cache lines.
const LINE: usize = 64;

/// Before the bytes of a buffer: a line for an initialisation vector and one for a tag, so that what belongs to an
/// operation lies together and needs no copy to come back.
const HEAD: usize = BUFFER_HEAD;
const _: () = assert!(HEAD == 2 * LINE);

// With its head the longest buffer ends inside an arena of 4 GiB.
const _: () = assert!(LONGEST_BUFFER == u32::MAX as usize - HEAD);

/// The longest initialisation vector that has its line, and the longest tag, in bytes.
pub(crate) const SMALL: usize = LINE;

/// An arena and what of it is free. Free memory is zero.
pub(crate) struct Heap {
    /// The beginning of the mapping, kept here because every access to a byte asks for it.
    base: NonNull<u8>,
    len: u32,
    _memory: Arc<Mapping>,
    _connection: Option<Arc<Socket>>,
    /// The number of forks when the heap was made, if a forked child can't use it: the child has zeros in its place, or
    /// no thread that serves it.
    forks: Option<u64>,
    free: Mutex<Free>,
}

// SAFETY: memory that does not depend on a thread; who reaches which bytes is what buffers are for.
unsafe impl Send for Heap {}
// SAFETY: as for `Send`; what is free is behind a lock.
unsafe impl Sync for Heap {}

/// The free cache lines, and the number of buffers so far.
struct Free {
    lines: FrameAllocator<32>,
    buffers: usize,
}

impl Heap {
    /// Over memory that only threads of this process reach. `served` says that one of them is an accelerator's, which a
    /// forked child does not have.
    pub(crate) fn private(bytes: u32, served: bool) -> io::Result<Arc<Self>> {
        let forks = served.then(millstream_shm::forks);
        Ok(Heap::over(Mapping::private(bytes as usize)?, forks, None))
    }

    /// Over memory that a worker maps too. The broker gives it back to the system when the connection is closed, so buffers keep
    /// that open.
    pub(crate) fn shared(memory: Arc<Mapping>, connection: Arc<Socket>) -> Arc<Self> {
        Heap::over(memory, Some(millstream_shm::forks()), Some(connection))
    }

    fn over(memory: Arc<Mapping>, forks: Option<u64>, connection: Option<Arc<Socket>>) -> Arc<Self> {
        let lines = (memory.len() / LINE).min(u32::MAX as usize / LINE);
        let mut free = FrameAllocator::new();
        free.add_frame(0, lines);
        let free = Mutex::new(Free { lines: free, buffers: 0 });
        Arc::new(Heap {
            base: memory.base(),
            len: (lines * LINE) as u32,
            _memory: memory,
            _connection: connection,
            forks,
            free,
        })
    }

    /// Returns true in a forked child of the process whose heap it was.
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
    pub(crate) fn buffer(self: &Arc<Self>, len: usize) -> Result<Buffer, Refusal> {
        // Offsets are computed in a `usize` and kept in a `u32`: a length that either can't hold would become a short
        // piece of the arena with a long slice over it.
        if len > LONGEST_BUFFER {
            return Err(Refusal::BufferLength);
        }
        let needed = (HEAD + len).div_ceil(LINE);
        let lines = needed.next_power_of_two();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let first = free.lines.alloc(lines).ok_or(Refusal::ArenaFull)?;
        // Buffers of one size would all begin in the same few sets of the cache, and lanes work on many at once: each
        // begins one line later in the room it has than the one before.
        free.buffers = free.buffers.wrapping_add(1);
        let begin = first + free.buffers % (lines - needed + 1);
        drop(free);
        // Inside the arena, so everything fits 32 bits.
        let at = (begin * LINE + HEAD) as u32;
        let place =
            Place { heap: self.clone(), at, len: len as u32, first: first as u32, lines: lines as u32 };
        Ok(Buffer(Box::new(place)))
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

/// The place of a buffer. It is in a box because a buffer is moved into a request, a queue and out again for every
/// operation.
struct Place {
    heap: Arc<Heap>,
    at: u32,
    len: u32,
    /// The first of the cache lines that were taken from the heap, and their number.
    first: u32,
    lines: u32,
}

impl Buffer {
    /// Returns the buffer's offset in the arena.
    #[inline(always)]
    pub(crate) fn at(&self) -> u32 {
        self.0.at
    }

    /// Returns true when the buffer is of this heap.
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

    /// The line for an initialisation vector.
    #[inline(always)]
    pub(crate) fn iv(&self) -> &[u8; SMALL] {
        // SAFETY: the line is this buffer's, inside the arena, and written only while a queue owns the buffer.
        unsafe { &*self.0.heap.base.as_ptr().add(self.0.at as usize - HEAD).cast() }
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

    /// Prefetches the buffer for reading: an accelerator on another core has written it.
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

    /// Prefetches the buffer for writing: its owner soon gets it back, and as a rule writes to it again.
    #[inline(always)]
    pub(crate) fn will_be_written(&self) {
        prefetch_write(self);
    }

    /// The most bytes it can have.
    pub fn capacity(&self) -> usize {
        let end = (self.0.first as usize + self.0.lines as usize) * LINE;
        // An abandoned buffer has no lines any more, so it would end before its own bytes begin.
        end.saturating_sub(self.0.at as usize)
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
        // An abandoned buffer's lines stay taken.
        if lines == 0 {
            return;
        }
        // The whole of it, head and all.
        (self.0.at, self.0.len) = (first * LINE as u32, lines * LINE as u32);
        self.fill(0);
        optimization_barrier(&**self);
        // In a forked child the heap's lock may be held for ever.
        if self.0.heap.is_parents() {
            return;
        }
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
    fn miri_buffers_never_overlap_and_come_back_as_zeros() {
        const ARENA: u32 = if cfg!(miri) { 4 } else { 64 } * 1024;
        let heap = Heap::private(ARENA, false).unwrap();
        let mut buffers: Vec<Buffer> = (1..200).map_while(|i| heap.buffer(i * 7).ok()).collect();
        assert!(buffers.len() > ARENA as usize / 1600, "{}", buffers.len());
        for (i, buffer) in buffers.iter_mut().enumerate() {
            assert!(buffer.iter().all(|b| *b == 0));
            buffer.fill(i as u8 + 1);
        }
        for (i, buffer) in buffers.iter().enumerate() {
            assert!(buffer.iter().all(|b| *b == i as u8 + 1));
        }
        drop(buffers);
        let whole = heap.buffer(ARENA as usize - HEAD).expect("all of it is free again, in one piece");
        assert!(whole.iter().all(|b| *b == 0));
        assert_eq!(heap.buffer(1).unwrap_err(), Refusal::ArenaFull);
    }

    #[test]
    fn miri_no_length_becomes_a_slice_that_is_longer_than_its_memory() {
        let heap = Heap::private(64 * 1024, false).unwrap();
        let wraps =
            [usize::MAX, usize::MAX - 1, usize::MAX - HEAD + 1, usize::MAX - HEAD, usize::MAX / 2 + 1];
        let cut = [u32::MAX as usize, LONGEST_BUFFER + 1];
        #[cfg(target_pointer_width = "64")]
        let cut = cut.into_iter().chain([1 << 32, (1 << 32) + 1, (1 << 32) + HEAD]);
        for len in wraps.into_iter().chain(cut) {
            let refused = heap.buffer(len).unwrap_err();
            assert_eq!(refused, Refusal::BufferLength, "{len}");
            assert!(refused.to_string().contains(&LONGEST_BUFFER.to_string()), "{refused}");
        }
        // One that may be had somewhere, but not here.
        assert_eq!(heap.buffer(LONGEST_BUFFER).unwrap_err(), Refusal::ArenaFull);
        for len in [1, LINE - 1, LINE, 4096, 20_000] {
            let mut buffer = heap.buffer(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.capacity() >= len && buffer.at() as usize + buffer.capacity() <= 64 * 1024);
            buffer.set_len(buffer.capacity());
            // The first byte and the last are its own.
            let last = buffer.len() - 1;
            (buffer[0], buffer[last]) = (1, 2);
        }
    }

    #[test]
    fn miri_an_abandoned_buffer_has_no_room_and_is_not_lent_again() {
        let heap = Heap::private(4096, false).unwrap();
        let mut buffer = heap.buffer(4096 - HEAD).unwrap();
        buffer.abandon();
        assert_eq!(buffer.capacity(), 0);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| buffer.set_len(1))).is_err());
        drop(buffer);
        assert_eq!(heap.buffer(1).unwrap_err(), Refusal::ArenaFull);
    }
    /// Each thread's buffers are its alone, whichever thread gives them back.
    #[test]
    fn miri_threads_lend_and_give_back() {
        let heap = Heap::private(8 * 1024, false).unwrap();
        let (send, receive) = std::sync::mpsc::channel::<Buffer>();
        std::thread::scope(|scope| {
            for number in 1..=3_u8 {
                let (heap, send) = (&heap, send.clone());
                scope.spawn(move || {
                    for len in [1, 63, 300] {
                        let mut buffer = heap.buffer(len).unwrap();
                        assert!(buffer.iter().all(|byte| *byte == 0));
                        buffer.fill(number);
                        let iv = buffer.write_iv(&[number; 12]);
                        let mut read = [0; 12];
                        heap.read(iv, &mut read);
                        assert_eq!(read, [number; 12]);
                        assert!(buffer.iter().all(|byte| *byte == number));
                        send.send(buffer).unwrap();
                    }
                });
            }
            drop(send);
            // Given back here, and lent again there.
            for buffer in receive {
                assert!(buffer.iter().all(|byte| *byte == buffer[0]) && *buffer.tag() == [0; SMALL]);
            }
        });
        assert!(heap.buffer(8 * 1024 - HEAD).unwrap().iter().all(|byte| *byte == 0));
    }

    /// The accelerator works in the buffers that it was lent while others are read and written, and a queue that is dropped
    /// takes back what was in flight.
    #[test]
    fn miri_operations_work_in_the_buffers_they_were_lent() {
        use crate::queue::{Config, Queue, Request};
        use millstream_cwq::Algorithm;
        let config = Config { depth: 4, arena_bytes: 16 * 1024, key_slots: 2, weight: 1 };
        let mut queue = Queue::inline(millstream_cpu::Features::none(), config).unwrap();
        let key = queue.import_key(Algorithm::ChaCha20Poly1305, &[7; 32]).unwrap();
        let mut bystander = queue.buffer(100).unwrap();
        for round in 0..3_u8 {
            let (mut plain, sealed) = (queue.buffer(70).unwrap(), queue.buffer(70).unwrap());
            plain.fill(round);
            queue.submit(Request::seal(key, &[round; 12], &[1; 5], plain, sealed)).unwrap();
            bystander.fill(round);
            let done = queue.wait().unwrap();
            done.result.unwrap();
            let tag = *done.tag().first_chunk().unwrap();
            let (plain, sealed) = (done.buffers.source.unwrap(), done.buffers.destination.unwrap());
            assert!(plain[..] != sealed[..] && bystander.iter().all(|byte| *byte == round));
            queue.submit(Request::open(key, &[round; 12], &[1; 5], sealed, plain, &tag)).unwrap();
            bystander.fill(!round);
            let done = queue.wait().unwrap();
            done.result.unwrap();
            assert!(done.buffers.destination.unwrap().iter().all(|byte| *byte == round));
        }
        let (source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
        queue.submit(Request::copy(source, destination)).unwrap();
        drop(queue);
        assert!(bystander.iter().all(|byte| *byte == !2));
    }
}

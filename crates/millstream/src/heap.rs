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
//!
//! A [`Buffer`] has a pointer to its heap and no count of its own: the heap keeps itself while any is lent, and counts
//! them under the lock that lending takes anyway.
#![allow(unsafe_code)]

mod buffer;
mod free;

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use millstream_accelerator::{Arena, copy};
use millstream_shm::{BUFFER_HEAD, Mapping, Socket};

use crate::refusal::{LONGEST_BUFFER, Refusal};
pub use buffer::Buffer;
pub(crate) use buffer::{iv_line, tag_line};
use free::Free;

/// The heap hands out whole cache lines.
const LINE: usize = 64;

/// Before the bytes of a buffer: a line for an initialisation vector and one for a tag, so that what belongs to an
/// operation lies together and needs no copy to come back. Where both are short, the second line has both.
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
    /// The buffers that are lent. While there are any they have one `Arc` of the heap together. It changes while `free` is
    /// locked, except in a forked child, where only drops change it.
    lent: AtomicUsize,
}

// SAFETY: memory that does not depend on a thread; who reaches which bytes is what buffers are for.
unsafe impl Send for Heap {}
// SAFETY: as for `Send`; what is free is behind a lock.
unsafe impl Sync for Heap {}

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
        Arc::new(Heap {
            base: memory.base(),
            len: (lines * LINE) as u32,
            _memory: memory,
            _connection: connection,
            forks,
            free: Mutex::new(Free::new(lines)),
            lent: AtomicUsize::new(0),
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
        unsafe { copy(bytes.as_ptr(), self.base.as_ptr().add(at as usize), bytes.len()) }
    }

    /// Copies bytes out of a place of the arena.
    #[inline(always)]
    pub(crate) fn read(&self, at: u32, out: &mut [u8]) {
        assert!(at as usize + out.len() <= self.len as usize, "a read inside the arena");
        // SAFETY: the place is inside the arena, and the word that named it has ended.
        unsafe { copy(self.base.as_ptr().add(at as usize), out.as_mut_ptr(), out.len()) }
    }

    /// A buffer of zeros.
    #[inline]
    pub(crate) fn buffer(self: &Arc<Self>, len: usize) -> Result<Buffer, Refusal> {
        // Offsets are computed in a `usize` and kept in a `u32`: a length that either can't hold would become a short
        // piece of the arena with a long slice over it.
        if len > LONGEST_BUFFER {
            return Err(Refusal::BufferLength);
        }
        let needed = (HEAD + len).div_ceil(LINE);
        let lines = needed.next_power_of_two();
        let size = lines.trailing_zeros();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let first = free.lend(size as usize).ok_or(Refusal::ArenaFull)?;
        // Inside the arena, so everything fits 32 bits. Each begins later or earlier in the room it has than the one before.
        let begin = first + free.spread((lines - needed + 1) as u32);
        let lent = self.lent.load(Ordering::Relaxed);
        self.lent.store(lent + 1, Ordering::Relaxed);
        drop(free);
        if lent == 0 {
            // The first of those that are lent: from here on they keep the heap.
            std::mem::forget(self.clone());
        }
        Ok(Buffer::counted(self, begin, size, len as u32))
    }

    /// Gives a buffer's block back, or only counts a buffer whose block stays taken. The caller has wiped it.
    ///
    /// Once the lock is released, another thread may give the last buffer back and free the heap. This thread then touches nothing
    /// of it: to wake the next at the lock, the release names only its address to the system.
    ///
    /// # Safety
    /// The heap is the buffer's, which has not been given back yet and is not used any more.
    #[inline]
    unsafe fn give_back(heap: NonNull<Heap>, block: Option<(u32, u32)>) {
        // SAFETY: as long as the buffer is counted, the heap is there.
        let this = unsafe { heap.as_ref() };
        let lent = if this.is_parents() {
            // In a forked child the lock may be held for ever. Nothing is lent here any more, so drops alone count.
            this.lent.fetch_sub(1, Ordering::AcqRel)
        } else {
            let mut free = this.free.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((first, size)) = block {
                free.take_back(first, size as usize);
            }
            let lent = this.lent.load(Ordering::Relaxed);
            this.lent.store(lent - 1, Ordering::Relaxed);
            lent
        };
        if lent == 1 {
            // SAFETY: it was forgotten when the first of those that were lent was made, and the last has just gone.
            drop(unsafe { Arc::from_raw(heap.as_ptr().cast_const()) });
        }
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

    #[test]
    fn miri_buffers_keep_their_heap_and_the_last_lets_it_go() {
        let heap = Heap::private(4096, false).unwrap();
        let memory = Arc::downgrade(&heap);
        for _ in 0..3 {
            let mut abandoned = heap.buffer(1).unwrap();
            let other = heap.buffer(1).unwrap();
            abandoned.abandon();
            drop((other, abandoned));
            assert_eq!(Arc::strong_count(&heap), 1);
        }
        let (mut first, second) = (heap.buffer(64).unwrap(), heap.buffer(64).unwrap());
        drop(heap);
        drop(second);
        first.fill(1);
        assert!(memory.upgrade().is_some());
        drop(first);
        assert!(memory.upgrade().is_none());
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
                        let iv = iv_line(buffer.at());
                        heap.write(iv, &[number; 12]);
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

//! Mappings of memory into this process.
//!
//! # Safety
//! A [`Mapping`] is unmapped when its last owner drops it; [`Words`] are owners. A peer may write to shared
//! memory at any moment, so no reference to its bytes is made here, only to atomic words. The sealed size
//! keeps every access from faulting.
#![allow(unsafe_code)]

use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::copy;
use crate::fork;
use crate::memory::Memory;

/// Memory in this process's address space. It is left out of core dumps, and a forked child has zeros in its
/// place: see [`forks`](crate::forks).
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
    /// True when a forked child gets zeros in its place.
    shared: bool,
}

// SAFETY: memory does not depend on a thread, and this one is reached by atomics and copies only.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps memory for reading and writing.
    ///
    /// # Errors
    /// The system's; also when the memory was sealed against writing.
    pub fn shared(memory: &Memory) -> io::Result<Arc<Self>> {
        Mapping::of(memory, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps memory for reading. Writing to it faults.
    ///
    /// # Errors
    /// The system's.
    pub fn read_only(memory: &Memory) -> io::Result<Arc<Self>> {
        Mapping::of(memory, ProtFlags::READ)
    }

    fn of(memory: &Memory, protection: ProtFlags) -> io::Result<Arc<Self>> {
        let len = memory.len();
        // SAFETY: a new mapping at an address of the system's choice touches no other.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, memory, 0)? };
        Mapping::own(base, len, true)
    }

    /// Maps private zeroed memory.
    ///
    /// # Errors
    /// The system's.
    pub fn private(len: usize) -> io::Result<Arc<Self>> {
        let len = len.max(1).next_multiple_of(rustix::param::page_size());
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: as in `of`.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        Mapping::own(base, len, false)
    }

    /// Maps the first page that a device shows, for reading. A forked child has it too.
    ///
    /// # Errors
    /// The system's; also where the device can't be mapped.
    pub(crate) fn of_device(device: &std::fs::File) -> io::Result<Arc<Self>> {
        let len = rustix::param::page_size();
        // SAFETY: as in `of`.
        let base = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, device, 0)? };
        Mapping::own(base, len, false)
    }

    fn own(base: *mut std::ffi::c_void, len: usize, shared: bool) -> io::Result<Arc<Self>> {
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping { base, len, shared };
        // Miri does not know the advice, and makes no core dumps.
        if !cfg!(miri) {
            // SAFETY: the range was just mapped; the advice changes no contents.
            unsafe { madvise(mapping.base.as_ptr().cast(), len, Advice::LinuxDontDump)? };
        }
        if shared {
            fork::keep_from_children(mapping.base, len)?;
        }
        Ok(Arc::new(mapping))
    }

    /// Returns where the mapping begins.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when there are no bytes, which is never so.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the `count` words that begin at byte `at`, or none where they are not all inside or `at` is no
    /// multiple of 8.
    pub fn words(self: &Arc<Self>, at: usize, count: usize) -> Option<Words> {
        let end = count.checked_mul(8)?.checked_add(at)?;
        if end > self.len || !at.is_multiple_of(8) {
            return None;
        }
        // SAFETY: inside the mapping.
        let first = unsafe { self.base.add(at).cast() };
        Some(Words { first, count, _keep: self.clone() })
    }

    /// Copies bytes out of the mapping. Each byte of the copy has one of the values that were there, whoever writes meanwhile.
    ///
    /// # Panics
    /// Panics when the bytes are not all inside.
    #[inline]
    pub fn read(&self, at: usize, out: &mut [u8]) {
        assert!(at <= self.len && out.len() <= self.len - at, "a read inside the mapping");
        // SAFETY: the source is inside the mapping, and `out` is ours alone.
        unsafe { copy::copy_out(self.base.as_ptr().add(at), out.as_mut_ptr(), out.len()) }
    }

    /// Copies bytes into the mapping, whoever reads or writes them meanwhile. It must be mapped for writing.
    ///
    /// # Panics
    /// Panics when the bytes would not all be inside.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at <= self.len && bytes.len() <= self.len - at, "a write inside the mapping");
        // SAFETY: the destination is inside the mapping, and no reference to it exists.
        unsafe { copy::copy_in(bytes.as_ptr(), self.base.as_ptr().add(at), bytes.len()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.shared {
            fork::forget(self.base, self.len);
        }
        // SAFETY: mapped in `own`, and nothing refers to it any more. If the call fails the memory stays
        // mapped, which harms nobody.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Words of a mapping, which they keep alive. A ring needs nothing else.
///
/// ```
/// use std::sync::atomic::Ordering;
/// use millstream_shm::{Mapping, Memory};
///
/// let memory = Memory::new("example", 4096)?;
/// let (here, there) = (Mapping::shared(&memory)?, Mapping::shared(&memory)?);
/// here.words(64, 8).unwrap()[1].store(5, Ordering::Release);
/// assert_eq!(there.words(72, 1).unwrap()[0].load(Ordering::Acquire), 5);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Words {
    first: NonNull<AtomicU64>,
    count: usize,
    _keep: Arc<Mapping>,
}

// SAFETY: a slice of atomics and an owner of where they lie.
unsafe impl Send for Words {}
// SAFETY: as for `Send`.
unsafe impl Sync for Words {}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the words are inside the mapping, aligned, and it lives as long as this.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_written_here_are_read_there() {
        let memory = Memory::new("test", 100_000).unwrap();
        let (here, there) = (Mapping::shared(&memory).unwrap(), Mapping::shared(&memory).unwrap());
        let bytes: Vec<u8> = (0..99_000_u32).map(|i| (i * 7 / 3) as u8).collect();
        for len in (0..300).chain([511, 512, 513, 4096, 99_000]) {
            here.write(13, &bytes[..len]);
            let mut out = vec![0; len + 2];
            there.read(13, &mut out[1..=len]);
            assert_eq!(out[1..=len], bytes[..len], "{len}");
            assert_eq!((out[0], out[len + 1]), (0, 0));
        }
    }

    /// A start that is aligned to eight.
    #[repr(align(8))]
    struct Aligned([u8; 64]);

    /// Copies between all alignments of both sides, beside words of the same mapping that another thread
    /// writes.
    #[test]
    fn miri_copies_take_what_they_are_to_and_nothing_else() {
        let mapping = Mapping::private(4096).unwrap();
        let words = mapping.words(2048, 4).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..50_u64 {
                    words.iter().for_each(|word| word.store(i, std::sync::atomic::Ordering::Relaxed));
                }
            });
            let source = Aligned(std::array::from_fn(|i| i as u8));
            let places = (0..3).flat_map(|s| (0..3).flat_map(move |d| (0..3).map(move |o| (s, d, o))));
            // Miri knows no atomics of one size over those of another, so either both copies go by words or none does.
            for (turn, (s, d, o)) in places.filter(|(s, d, o)| (s == d) == (o == d)).enumerate() {
                let (at, len) = (64 * turn + d, 20 + turn % 7);
                mapping.write(at, &source.0[s..s + len]);
                let mut out = Aligned([0xee; 64]);
                mapping.read(at, &mut out.0[o..o + len]);
                assert_eq!(out.0[o..o + len], source.0[s..s + len], "from {s} to {d} to {o}");
                assert!(out.0.iter().filter(|byte| **byte == 0xee).count() == 64 - len);
            }
            // The other thread writes whole words, so each word that is read is one that it wrote.
            let mut out = [0_u64; 4];
            for _ in 0..20 {
                // SAFETY: both sides are aligned words, the mapping's reached by atomics only.
                unsafe { copy::copy_out(mapping.base().as_ptr().add(2048), out.as_mut_ptr().cast(), 32) };
                assert!(out.iter().all(|word| *word < 50), "{out:?}");
            }
        });
    }

    #[test]
    fn miri_words_outside_are_none() {
        let mapping = Mapping::private(4096).unwrap();
        assert!(mapping.words(0, 512).is_some());
        assert!(mapping.words(8, 512).is_none());
        assert!(mapping.words(4, 1).is_none());
        assert!(mapping.words(0, usize::MAX / 4).is_none());
    }

    #[test]
    #[should_panic(expected = "inside the mapping")]
    fn reads_stay_inside() {
        Mapping::private(4096).unwrap().read(usize::MAX, &mut [0; 2]);
    }
}

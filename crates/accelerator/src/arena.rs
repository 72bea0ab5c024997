//! The memory in which the objects of a grant lie.
//!
//! # Safety
//! An accelerator touches an arena through the functions here only. Bytes are reached in one of two ways.
//! *Staged*: [`Arena::read`] and [`Arena::write`] copy whole spans between the arena and private memory, so
//! no reference to the arena ever exists and it does not matter who writes there meanwhile. *Direct*: where
//! [`Arena::exclusive`] vouches that nobody else touches the spans of words in flight, slices of the arena
//! itself are lent to the engines.
//!
//! Threads share a [`LocalArena`], so it copies byte by byte, each an atomic of its own: a thread that reads where another
//! writes gets a mix of old and new bytes, and no worse. A caller who knows that nobody else touches a span has
//! [`LocalArena::read_unshared`] and [`LocalArena::write_unshared`].
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use millstream_cwq::ControlWord;

/// A part of an arena, or of staging memory: offset and length in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Span {
    /// Returns where the bytes behind it begin.
    #[inline(always)]
    pub(crate) fn end(self) -> u64 {
        u64::from(self.at) + u64::from(self.len)
    }

    /// Returns the offsets of its bytes.
    #[inline(always)]
    pub(crate) fn range(self) -> Range<u64> {
        u64::from(self.at)..self.end()
    }

    /// Returns true when all of it lies in front of a range, or behind it.
    #[inline(always)]
    pub(crate) fn is_outside(self, range: &Range<u64>) -> bool {
        (self.end() <= range.start) | (range.end <= u64::from(self.at))
    }

    /// Returns true when two spans of one arena have a byte in common. Spans don't wrap, so one of them begins in the other
    /// then.
    #[inline(always)]
    pub(crate) fn overlaps(self, other: Span) -> bool {
        let begins_in = |a: Span, b: Span| a.at.wrapping_sub(b.at) < b.len;
        (begins_in(self, other) | begins_in(other, self)) & (self.len > 0) & (other.len > 0)
    }
}

/// Memory that control words name by offset and length.
///
/// # Safety
/// `base` is valid for reads and writes of `len` bytes for as long as the value lives, wherever it is
/// moved. Where `exclusive` returns `true`: from the moment a control word is published until its
/// completion is, nobody but the accelerator reads or writes the spans that the word writes, nobody
/// writes those it reads, and no two words in flight name overlapping spans of which one is written.
/// `read` and `write` as they are here are plain copies: a type that several threads of this process can reach
/// at once has its own, or sees to it that no two of them touch the same bytes.
pub unsafe trait Arena {
    /// Returns the address of the first byte.
    fn base(&self) -> NonNull<u8>;

    /// Returns the number of bytes.
    fn len(&self) -> u32;

    /// Returns true for an arena without bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true when the spans of words in flight are the accelerator's alone.
    fn exclusive(&self) -> bool;

    /// Returns true once the grant has ended, after which nobody touches the arena any more. The grant's words that have
    /// not completed by then are revoked. An arena that is gone stays gone. By default it never is.
    #[inline(always)]
    fn is_gone(&self) -> bool {
        false
    }

    /// Says that bytes will be read soon. By default nothing is done about it.
    #[inline(always)]
    fn prefetch(&self, _at: u32, _len: u32) {}

    /// Says that bytes will be written soon. By default nothing is done about it.
    #[inline(always)]
    fn prefetch_write(&self, _at: u32, _len: u32) {}

    /// Says that a signature on hashes, or a key for one, is about to be computed, which takes long: meanwhile nothing of the arena is read or
    /// written. By default nothing is done about it.
    #[inline(always)]
    fn rest(&self) {}

    /// Copies bytes out of the arena.
    ///
    /// # Panics
    /// When they are not all inside.
    #[inline(always)]
    fn read(&self, at: u32, out: &mut [u8]) {
        assert!(at as usize + out.len() <= self.len() as usize, "a read inside the arena");
        // SAFETY: the bytes are inside the arena, and `out` is not in it: no reference to it exists.
        unsafe { copy(self.base().as_ptr().add(at as usize), out.as_mut_ptr(), out.len()) }
    }

    /// Copies bytes into the arena.
    ///
    /// # Panics
    /// When they would not all be inside.
    #[inline(always)]
    fn write(&self, at: u32, bytes: &[u8]) {
        assert!(at as usize + bytes.len() <= self.len() as usize, "a write inside the arena");
        // SAFETY: as in `read`.
        unsafe { copy(bytes.as_ptr(), self.base().as_ptr().add(at as usize), bytes.len()) }
    }
}

/// Copies bytes. Nonces, tags and short associated data, of 8 to 32 bytes, are copied without a call.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    /// Copies the first and the last bytes, which together are all.
    ///
    /// # Safety
    /// As for [`copy`], with a length from `T`'s to twice that.
    #[inline(always)]
    unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, len: usize) {
        let last = len - size_of::<T>();
        // SAFETY: both reads and both writes are inside of what the caller vouches for.
        unsafe {
            let (a, b) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
            to.cast::<T>().write_unaligned(a);
            to.add(last).cast::<T>().write_unaligned(b);
        }
    }
    // SAFETY: the caller's promise, and the length.
    unsafe {
        match len {
            8..=16 => ends::<[u8; 8]>(from, to, len),
            17..=32 => ends::<[u8; 16]>(from, to, len),
            _ => to.copy_from_nonoverlapping(from, len),
        }
    }
}

/// Lends a span as a slice.
///
/// # Safety
/// The span is inside the arena, which is exclusive, and belongs to a word in flight; it does not overlap
/// any span that a [`slice_mut`] lent is of.
#[inline(always)]
pub(crate) unsafe fn slice<A: Arena>(arena: &A, span: Span) -> &[u8] {
    // SAFETY: the caller vouches for the span.
    unsafe { std::slice::from_raw_parts(arena.base().as_ptr().add(span.at as usize), span.len as usize) }
}

/// Lends a span as a slice to write to.
///
/// # Safety
/// The same as for `slice`; the word writes the span, and no other slice that is lent overlaps it.
#[inline(always)]
#[allow(clippy::mut_from_ref)]
pub(crate) unsafe fn slice_mut<A: Arena>(arena: &A, span: Span) -> &mut [u8] {
    // SAFETY: the caller vouches for the span.
    unsafe { std::slice::from_raw_parts_mut(arena.base().as_ptr().add(span.at as usize), span.len as usize) }
}

/// An arena in this process's own memory, zeroed at first, in whole cache lines.
///
/// Anybody may send words over it, so their objects are staged.
#[derive(Debug)]
pub struct LocalArena {
    base: NonNull<u8>,
    len: u32,
}

// SAFETY: plain bytes that are reached by copies only, wherever the value is.
unsafe impl Send for LocalArena {}
// SAFETY: by reference the bytes are reached as atomics only, or by unsafe calls that promise to be alone.
unsafe impl Sync for LocalArena {}

impl LocalArena {
    /// Makes an arena of that many bytes, rounded up to whole cache lines.
    pub fn new(len: u32) -> Self {
        let layout = LocalArena::layout(len);
        // SAFETY: the layout's size is not zero.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        LocalArena { base, len: layout.size().min(u32::MAX as usize) as u32 }
    }

    /// Returns the bytes of a span, as threads may share them.
    fn shared(&self, at: u32, len: usize) -> &[AtomicU8] {
        assert!(at as usize + len <= self.len as usize, "inside the arena");
        // SAFETY: the bytes are inside the arena, which lives as long; an `AtomicU8` is a byte; while it is shared
        // nobody touches them otherwise but by calls that promise to be alone.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(at as usize).cast(), len) }
    }

    /// Copies bytes out of the arena, faster than [`Arena::read`].
    ///
    /// # Safety
    /// Nobody writes them meanwhile.
    ///
    /// # Panics
    /// When they are not all inside.
    #[inline(always)]
    pub unsafe fn read_unshared(&self, at: u32, out: &mut [u8]) {
        assert!(at as usize + out.len() <= self.len as usize, "a read inside the arena");
        // SAFETY: the bytes are inside the arena, nobody writes them, and `out` is not in it.
        unsafe { out.as_mut_ptr().copy_from_nonoverlapping(self.base.as_ptr().add(at as usize), out.len()) }
    }

    /// Copies bytes into the arena, faster than [`Arena::write`].
    ///
    /// # Safety
    /// Nobody reads or writes what is there meanwhile.
    ///
    /// # Panics
    /// When they would not all be inside.
    #[inline(always)]
    pub unsafe fn write_unshared(&self, at: u32, bytes: &[u8]) {
        assert!(at as usize + bytes.len() <= self.len as usize, "a write inside the arena");
        // SAFETY: as in `read_unshared`.
        unsafe { self.base.as_ptr().add(at as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    fn layout(len: u32) -> Layout {
        let lines = (len as usize).div_ceil(ControlWord::BYTES).max(1);
        Layout::array::<[u8; ControlWord::BYTES]>(lines)
            .and_then(|layout| layout.align_to(4096))
            .expect("less than 4 GiB fits any address space")
    }
}

impl Drop for LocalArena {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout: a length rounded up rounds up to itself.
        unsafe { dealloc(self.base.as_ptr(), LocalArena::layout(self.len)) }
    }
}

// SAFETY: `base` is an allocation of at least `len` bytes that lives until the value is dropped.
unsafe impl Arena for LocalArena {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn exclusive(&self) -> bool {
        false
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        let bytes = self.shared(at, out.len());
        for (to, from) in out.iter_mut().zip(bytes) {
            *to = from.load(Ordering::Relaxed);
        }
    }

    fn write(&self, at: u32, bytes: &[u8]) {
        for (to, from) in self.shared(at, bytes.len()).iter().zip(bytes) {
            to.store(*from, Ordering::Relaxed);
        }
    }
}

// SAFETY: whoever shares an arena keeps it alive; the rest is the arena's own promise.
unsafe impl<A: Arena> Arena for std::sync::Arc<A> {
    fn base(&self) -> NonNull<u8> {
        A::base(self)
    }

    fn len(&self) -> u32 {
        A::len(self)
    }

    fn exclusive(&self) -> bool {
        A::exclusive(self)
    }

    fn is_gone(&self) -> bool {
        A::is_gone(self)
    }

    fn prefetch(&self, at: u32, len: u32) {
        A::prefetch(self, at, len);
    }

    fn prefetch_write(&self, at: u32, len: u32) {
        A::prefetch_write(self, at, len);
    }

    #[inline(always)]
    fn read(&self, at: u32, out: &mut [u8]) {
        A::read(self, at, out);
    }

    #[inline(always)]
    fn write(&self, at: u32, bytes: &[u8]) {
        A::write(self, at, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_copies_of_any_length_are_whole() {
        for len in 0..=70 {
            let from: Vec<u8> = (1..=len).collect();
            let mut to = vec![0; usize::from(len) + 2];
            // SAFETY: both have that many bytes there.
            unsafe { copy(from.as_ptr(), to[1..].as_mut_ptr(), from.len()) };
            assert_eq!((to[0], &to[1..=from.len()], to[from.len() + 1]), (0, &from[..], 0));
        }
    }

    #[test]
    fn bytes_come_back_and_lengths_are_whole_lines() {
        let arena = LocalArena::new(100);
        assert_eq!(arena.len(), 128);
        arena.write(120, b"at last!");
        let mut out = [0; 9];
        arena.read(119, &mut out);
        assert_eq!(&out, b"\0at last!");
    }

    /// Under Miri this is how it is known that there is no data race.
    #[test]
    fn miri_threads_may_write_the_same_bytes() {
        let arena = LocalArena::new(64);
        let mut seen = [0; 64];
        std::thread::scope(|scope| {
            for byte in 1..=2 {
                let arena = &arena;
                scope.spawn(move || arena.write(0, &[byte; 64]));
            }
            arena.read(0, &mut seen);
        });
        assert!(seen.iter().all(|byte| *byte <= 2));
        arena.read(0, &mut seen);
        assert!(seen.iter().all(|byte| matches!(byte, 1 | 2)));
    }

    #[test]
    #[should_panic(expected = "inside the arena")]
    fn writes_stay_inside() {
        LocalArena::new(64).write(60, b"too long");
    }

    #[test]
    fn spans_overlap_as_sets_of_bytes_do() {
        let spans = || (0..9).flat_map(|at| (0..9 - at).map(move |len| Span { at, len }));
        for (a, b) in spans().flat_map(|a| spans().map(move |b| (a, b))) {
            let common = (a.at..a.at + a.len).any(|byte| (b.at..b.at + b.len).contains(&byte));
            assert_eq!(a.overlaps(b), common, "{a:?} {b:?}");
        }
    }

    #[test]
    fn spans_overlap_only_where_both_have_bytes() {
        let span = |at, len| Span { at, len };
        assert!(span(0, 10).overlaps(span(9, 1)));
        assert!(!span(0, 10).overlaps(span(10, 1)));
        assert!(!span(0, 10).overlaps(span(5, 0)));
        assert!(span(u32::MAX - 1, 1).overlaps(span(0, u32::MAX)));
        assert!(!span(u32::MAX, 0).overlaps(span(0, u32::MAX)) && !span(3, 0).overlaps(span(3, 0)));
        assert!(!span(u32::MAX - 5, 5).overlaps(span(0, u32::MAX - 5)));
    }
}

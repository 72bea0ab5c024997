//! Pages that other processes have too: children of this one, and whoever attaches the same segment; and the operations
//! on them that no other process comes between.
//!
//! # Safety
//! As in the parent: pointers go into the reservation only. What is mapped there lies in pages that `pages_of` gave, and
//! nobody refers to what was there before, as `Memory` is borrowed mutably.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags};

use super::{Access, Fault, Memory, PAGE_BITS, PAGE_BYTES, Protection, pages_of};

/// Pages that are shared.
#[derive(Clone)]
pub(super) struct Shared {
    pages: Range<usize>,
    /// Whether this process may never write them.
    read_only: bool,
}

impl Shared {
    fn overlaps(&self, pages: &Range<usize>) -> bool {
        self.pages.start < pages.end && pages.start < self.pages.end
    }

    /// What is left of it without some pages.
    fn without(self, pages: &Range<usize>) -> impl Iterator<Item = Shared> {
        let Range { start, end } = self.pages;
        [start..end.min(pages.start), start.max(pages.end)..end]
            .into_iter()
            .filter(|rest| !rest.is_empty())
            .map(move |pages| Shared { pages, read_only: self.read_only })
    }
}

impl Memory {
    /// As [`Memory::map`], and children that this process forks later share the pages with it.
    ///
    /// # Errors
    /// The host can't share pages of this length.
    pub fn share(&mut self, address: u64, length: u64, protection: Protection) -> io::Result<()> {
        can_share()?;
        self.map(address, length, protection);
        let pages = pages_of(address, length);
        self.renew(pages.clone(), MapFlags::SHARED)?;
        self.shared.push(Shared { pages, read_only: false });
        Ok(())
    }

    /// As [`Memory::map`], and the pages are those of a segment of the host (System V) of `length` bytes. A segment that ends
    /// within a page ends with the host's page there; what follows is this process's own.
    ///
    /// # Errors
    /// The host's, or it can't share pages of this length. Nothing has changed then.
    pub fn attach(
        &mut self,
        address: u64,
        length: u64,
        segment: i32,
        read_only: bool,
        protection: Protection,
    ) -> io::Result<()> {
        can_share()?;
        let pages = pages_of(address, length);
        let bytes = (length as usize).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping, at an address that the host chooses, touches nothing that exists.
        let from =
            unsafe { libc::shmat(segment, std::ptr::null(), if read_only { libc::SHM_RDONLY } else { 0 }) };
        if from as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        self.map(address, length, protection);
        // SAFETY: `from` is the mapping of that many bytes, which nobody else knows; the pages lie inside the reservation.
        let moved = unsafe {
            let to = self.base.as_ptr().add(pages.start << PAGE_BITS).cast();
            rustix::mm::mremap_fixed(from, bytes, bytes, MremapFlags::MAYMOVE, to)
        };
        if let Err(error) = moved {
            self.unmap(address, length);
            // SAFETY: it is where the host put it.
            unsafe { libc::shmdt(from) };
            return Err(error.into());
        }
        self.shared.push(Shared { pages, read_only });
        Ok(())
    }

    /// Whether the page at `address` is shared.
    #[must_use]
    pub fn is_shared(&self, address: u64) -> bool {
        let page = (address >> PAGE_BITS) as usize;
        self.shared.iter().any(|shared| shared.pages.contains(&page))
    }

    /// Whether a page of the range must never be made writable.
    #[must_use]
    pub fn is_read_only(&self, address: u64, length: u64) -> bool {
        let pages = pages_of(address, length);
        self.shared.iter().any(|shared| shared.read_only && shared.overlaps(&pages))
    }

    /// Has the host put memory of this process alone where pages are shared; whether there were any, and it could.
    pub(super) fn take_back(&mut self, pages: &Range<usize>) -> bool {
        if !self.shared.iter().any(|shared| shared.overlaps(pages)) {
            return false;
        }
        let done = self.renew(pages.clone(), MapFlags::PRIVATE).is_ok();
        if done {
            let all = std::mem::take(&mut self.shared);
            self.shared = all.into_iter().flat_map(|shared| shared.without(pages)).collect();
        }
        done
    }

    /// Has the host put new memory where the pages are.
    fn renew(&mut self, pages: Range<usize>, flags: MapFlags) -> io::Result<()> {
        let bytes = pages.len() << PAGE_BITS;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the pages lie inside the reservation, which is this value's own, and `self` is borrowed mutably: what was there
        // nobody refers to.
        unsafe {
            rustix::mm::mmap_anonymous(
                self.base.as_ptr().add(pages.start << PAGE_BITS).cast(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                flags | MapFlags::FIXED | MapFlags::NORESERVE,
            )?;
        }
        Ok(())
    }
}

/// Where the host's pages are longer, they can't be put at each of this machine's.
fn can_share() -> io::Result<()> {
    let possible = rustix::param::page_size() as u64 <= PAGE_BYTES;
    if possible { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// The operations of one width.
macro_rules! width {
    ($type:ty, $atomic:ty, $exchange:ident, $compare:ident, $width:literal) => {
        #[doc = concat!("Stores ", $width, " and answers what was there, in one step.")]
        ///
        /// # Errors
        /// The address can't be written, or is no multiple of its size.
        pub fn $exchange(&mut self, address: u64, new: $type) -> Result<$type, Fault> {
            let at = self.place(address, size_of::<$type>() as u64)?;
            // SAFETY: the address is a multiple of the size, inside the reservation, and can be written.
            let place = unsafe { <$atomic>::from_ptr(at.cast()) };
            Ok(<$type>::from_be(place.swap(new.to_be(), Ordering::SeqCst)))
        }

        #[doc = concat!("Stores ", $width, " if others are there, and answers what was there, in one step.")]
        ///
        /// # Errors
        /// The address can't be written, or is no multiple of its size, even where nothing is stored.
        pub fn $compare(&mut self, address: u64, old: $type, new: $type) -> Result<$type, Fault> {
            let at = self.place(address, size_of::<$type>() as u64)?;
            // SAFETY: as for the exchange.
            let place = unsafe { <$atomic>::from_ptr(at.cast()) };
            let order = Ordering::SeqCst;
            let (Ok(was) | Err(was)) = place.compare_exchange(old.to_be(), new.to_be(), order, order);
            Ok(<$type>::from_be(was))
        }
    };
}

impl Memory {
    width!(u8, AtomicU8, exchange_u8, compare_and_exchange_u8, "a byte");
    width!(u32, AtomicU32, exchange_u32, compare_and_exchange_u32, "four bytes");
    width!(u64, AtomicU64, exchange_u64, compare_and_exchange_u64, "eight bytes");

    /// Where an object of `size` bytes lies that can be written.
    fn place(&self, address: u64, size: u64) -> Result<*mut u8, Fault> {
        if !address.is_multiple_of(size) {
            return Err(self.fault(address, Access::Write));
        }
        self.span(address, size as usize, Protection::WRITE.0, Access::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1 << 20;

    #[test]
    fn part_of_shared_pages_is_taken_back() {
        let mut memory = Memory::new().unwrap();
        memory.share(AT, 4 * PAGE_BYTES, Protection::DATA).unwrap();
        memory.unmap(AT + PAGE_BYTES, PAGE_BYTES);
        memory.map(AT + PAGE_BYTES, PAGE_BYTES, Protection::DATA);
        let shared: Vec<bool> = (0..5).map(|page| memory.is_shared(AT + page * PAGE_BYTES)).collect();
        assert_eq!(shared, [true, false, true, true, false]);
    }

    #[test]
    fn two_who_attach_a_segment_see_the_same() {
        // SAFETY: numbers only.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 10_000, libc::IPC_CREAT | 0o600) };
        assert!(segment >= 0, "{}", io::Error::last_os_error());
        let (mut one, mut two) = (Memory::new().unwrap(), Memory::new().unwrap());
        one.attach(AT, 10_000, segment, false, Protection::DATA).unwrap();
        two.attach(2 * AT, 10_000, segment, true, Protection::READ).unwrap();
        // SAFETY: numbers only; it goes when both have let go.
        unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
        one.store_u64(AT + 9992, 7).unwrap();
        assert_eq!(two.load_u64(2 * AT + 9992), Ok(7));
        assert!(two.store_u64(2 * AT, 1).is_err());
        assert!(two.is_read_only(2 * AT, 1) && !one.is_read_only(AT, 1));
        one.unmap(AT, 2 * PAGE_BYTES);
        one.map(AT, 2 * PAGE_BYTES, Protection::DATA);
        assert_eq!((one.load_u64(AT + 9992), two.load_u64(2 * AT + 9992)), (Ok(0), Ok(7)));
        assert!(one.attach(AT, 10_000, segment + 1, false, Protection::DATA).is_err());
    }

    #[test]
    fn exchanges_answer_what_was_there() {
        let mut memory = Memory::new().unwrap();
        memory.map(AT, PAGE_BYTES, Protection::DATA);
        memory.store_u64(AT, 0x0102_0304_0506_0708).unwrap();
        assert_eq!(memory.exchange_u8(AT, 0xff), Ok(1));
        assert_eq!(memory.exchange_u32(AT + 4, 9), Ok(0x0506_0708));
        assert_eq!(memory.compare_and_exchange_u64(AT, 1, 2), Ok(0xff02_0304_0000_0009));
        assert_eq!(memory.compare_and_exchange_u64(AT, 0xff02_0304_0000_0009, 2), Ok(0xff02_0304_0000_0009));
        assert_eq!(memory.load_u64(AT), Ok(2));
        assert!(memory.exchange_u32(AT + 2, 1).is_err());
        memory.protect(AT, PAGE_BYTES, Protection::READ).unwrap();
        assert!(memory.compare_and_exchange_u32(AT, 77, 1).is_err(), "it is to be writable in any case");
    }
}

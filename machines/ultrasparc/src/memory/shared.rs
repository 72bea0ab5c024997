//! Pages that other processes have too, namely children of this one and everybody who attaches the same segment; and
//! the atomic operations on them.
//!
//! # Safety
//! As in the parent, pointers go into the reservation only. New mappings lie in pages that `pages_of` gave, and
//! nobody refers to the old ones, as `Memory` is borrowed mutably. Others may write shared pages at any time: they
//! hold numbers and bytes, for which any value is valid, and an access that must not be torn is an atomic operation.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, MremapFlags, MsyncFlags, ProtFlags};

use super::Memory;
use super::extent::Shared;
use super::page::{Access, Fault, PAGE_BITS, PAGE_BYTES, Protection, pages_of};

impl Memory {
    /// Maps pages like [`Memory::map`], and shares them with children that this process forks later.
    ///
    /// # Errors
    /// The host can't share pages of this length.
    pub fn share(&mut self, address: u64, length: u64, protection: Protection) -> io::Result<()> {
        can_share()?;
        self.map(address, length, protection);
        let pages = pages_of(address, length);
        self.renew(pages.clone(), MapFlags::SHARED)?;
        self.shared.push(Shared { pages, read_only: false, of_file: false });
        Ok(())
    }

    /// Maps the pages of a segment of the host (System V) of `length` bytes. A segment that ends within a page ends
    /// with the host's page there; the rest is this process's own.
    ///
    /// # Errors
    /// The host's error, or the host can't share pages of this length. Nothing has changed then.
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
        self.adopt(from, bytes, Shared { pages, read_only, of_file: false }, protection)
    }

    /// Maps the pages of a file, given by its descriptor and an offset: everybody who maps or reads the file sees
    /// what is written.
    ///
    /// # Errors
    /// The host's error. Nothing has changed then.
    pub fn map_file(
        &mut self,
        address: u64,
        length: u64,
        (fd, offset): (i32, u64),
        writable: bool,
        protection: Protection,
    ) -> io::Result<()> {
        can_share()?;
        let pages = pages_of(address, length);
        let bytes = pages.len() << PAGE_BITS;
        let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let offset = offset.try_into().map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        // SAFETY: a new mapping, at an address that the host chooses, touches nothing that exists.
        let from = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, offset) };
        if from == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        self.adopt(from, bytes, Shared { pages, read_only: !writable, of_file: true }, protection)
    }

    /// Moves a mapping that nobody knows yet into the place of pages.
    fn adopt(
        &mut self,
        from: *mut std::ffi::c_void,
        bytes: usize,
        shared: Shared,
        protection: Protection,
    ) -> io::Result<()> {
        let (address, length) = shared.extent();
        self.map(address, length, protection);
        // SAFETY: `from` is the mapping of that many bytes, which nobody else knows; the pages lie inside the reservation.
        let moved = unsafe {
            let to = self.base.as_ptr().add(address as usize).cast();
            rustix::mm::mremap_fixed(from, bytes, bytes, MremapFlags::MAYMOVE, to)
        };
        if let Err(error) = moved {
            self.unmap(address, length);
            // SAFETY: the host put it there, and nobody else knows of it.
            let _ = unsafe { rustix::mm::munmap(from, bytes) };
            return Err(error.into());
        }
        if shared.of_file {
            self.are_of_file(shared.pages.clone(), protection);
        }
        self.shared.push(shared);
        Ok(())
    }

    /// Writes the changes to files that are mapped in a range to the disk.
    ///
    /// # Errors
    /// The host's error.
    pub fn sync(&self, address: u64, length: u64, flags: u32) -> io::Result<()> {
        let pages = pages_of(address, length);
        if !self.shared.iter().any(|shared| shared.overlaps(&pages)) {
            return Ok(());
        }
        // SAFETY: the pages lie inside the reservation. Their bytes stay as they are.
        unsafe {
            let at = self.base.as_ptr().add(pages.start << PAGE_BITS).cast();
            Ok(rustix::mm::msync(at, pages.len() << PAGE_BITS, MsyncFlags::from_bits_retain(flags))?)
        }
    }

    /// Fills the page in which a mapped file ends with zeros from there on, as a program that only reads finds it.
    /// The host's page may end before this machine's, and nothing is mapped behind it.
    pub fn end_with_zeros(&mut self, address: u64, bytes: u64) {
        let host = bytes.next_multiple_of(rustix::param::page_size() as u64);
        let rest = bytes.next_multiple_of(PAGE_BYTES).saturating_sub(host);
        if rest == 0 || self.protection(address + host).is_none() {
            return;
        }
        // SAFETY: this is the rest of a page inside the reservation, which `self`, borrowed mutably, knows to be
        // mapped. If the call fails, the file's page is there as before.
        let _ = unsafe {
            let at = self.base.as_ptr().add((address + host) as usize).cast();
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            rustix::mm::mmap_anonymous(at, rest as usize, ProtFlags::READ, flags)
        };
    }

    /// Moves shared pages to another place, and makes them more or fewer.
    ///
    /// # Errors
    /// The host's error: they are not all of one mapping, or it has no room. Nothing has changed then.
    pub fn move_shared(&mut self, old: u64, old_length: u64, new: u64, new_length: u64) -> io::Result<()> {
        let pages = pages_of(old, old_length);
        let whole = |shared: &&Shared| shared.pages.start <= pages.start && pages.end <= shared.pages.end;
        let found = self.shared.iter().find(whole).ok_or(io::ErrorKind::OutOfMemory)?;
        let (read_only, of_file) = (found.read_only, found.of_file);
        let protection = self.protection(old).unwrap_or(Protection::NONE);
        // SAFETY: a length of zero moves nothing; it makes a new mapping of the shared pages, at an address that the
        // host chooses.
        let from = unsafe {
            let at = self.base.as_ptr().add(old as usize).cast();
            rustix::mm::mremap(at, 0, new_length as usize, MremapFlags::MAYMOVE)?
        };
        self.unmap(old, old_length);
        self.adopt(
            from,
            new_length as usize,
            Shared { pages: pages_of(new, new_length), read_only, of_file },
            protection,
        )
    }

    /// True if the host can share pages: longer pages of its own can't be put at each of this machine's.
    #[must_use]
    pub fn can_share() -> bool {
        rustix::param::page_size() as u64 <= PAGE_BYTES
    }

    /// True if the page at `address` is shared.
    #[must_use]
    pub fn is_shared(&self, address: u64) -> bool {
        let page = (address >> PAGE_BITS) as usize;
        self.shared.iter().any(|shared| shared.pages.contains(&page))
    }

    /// True if a page of the range must never be made writable.
    #[must_use]
    pub fn is_read_only(&self, address: u64, length: u64) -> bool {
        let pages = pages_of(address, length);
        self.shared.iter().any(|shared| shared.read_only && shared.overlaps(&pages))
    }

    /// Puts private memory in the place of shared pages; true if there were any and it could.
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

    /// Maps new memory in the place of the pages.
    fn renew(&mut self, pages: Range<usize>, flags: MapFlags) -> io::Result<()> {
        let bytes = pages.len() << PAGE_BITS;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the pages lie inside the reservation, which is this value's own. `self` is borrowed mutably, so
        // nobody refers to the old ones.
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

fn can_share() -> io::Result<()> {
    if Memory::can_share() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
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

    /// The host's address of an object of `size` bytes that can be written.
    fn place(&self, address: u64, size: u64) -> Result<*mut u8, Fault> {
        if !address.is_multiple_of(size) {
            return Err(self.fault(address, Access::Write));
        }
        self.permitted_place(address, size)
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
        // SAFETY: the call takes numbers only.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 10_000, libc::IPC_CREAT | 0o600) };
        assert!(segment >= 0, "{}", io::Error::last_os_error());
        let (mut one, mut two) = (Memory::new().unwrap(), Memory::new().unwrap());
        one.attach(AT, 10_000, segment, false, Protection::DATA).unwrap();
        two.attach(2 * AT, 10_000, segment, true, Protection::READ).unwrap();
        // SAFETY: the call takes numbers only; the segment goes when both have let go.
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
    fn a_file_is_moved_with_what_it_shares() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 * PAGE_BYTES).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let mut memory = Memory::new().unwrap();
        memory.map_file(AT, 2 * PAGE_BYTES, (fd, PAGE_BYTES), true, Protection::DATA).unwrap();
        memory.store_u64(AT + PAGE_BYTES, 5).unwrap();
        memory.move_shared(AT + PAGE_BYTES, PAGE_BYTES, 2 * AT, 2 * PAGE_BYTES).unwrap();
        assert!(memory.load_u64(AT + PAGE_BYTES).is_err() && memory.load_u64(AT).is_ok());
        memory.store_u64(2 * AT + PAGE_BYTES, 6).unwrap();
        let mut bytes = [0; 8];
        for (page, number) in [(2, 5), (3, 6)] {
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, page * PAGE_BYTES).unwrap();
            assert_eq!(u64::from_be_bytes(bytes), number);
        }
        // The next mapping is another one, so nothing can be moved out of both.
        memory.map_file(AT + PAGE_BYTES, PAGE_BYTES, (fd, 0), true, Protection::DATA).unwrap();
        assert!(memory.move_shared(AT, 2 * PAGE_BYTES, 3 * AT, 2 * PAGE_BYTES).is_err());
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

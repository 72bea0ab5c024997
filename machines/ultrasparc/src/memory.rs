//! A program's memory: one span of addresses in pages, big-endian.
//!
//! The whole span is reserved in the host once and costs nothing until it is touched, so that a guest address is an
//! offset. A byte for each page says what the program may do there, and each access checks it. One comparison serves
//! alignment and the end of the span: rotating the address moves the bits that must be zero to the top, where they
//! make the page's number too large.
//!
//! # Safety
//! The file dereferences pointers into its own reservation only. `Memory::span` checks that a range lies inside it.
//! The inlined loads and stores check it by the length of the table of pages, which is that of the reservation.
#![allow(unsafe_code)]

mod extent;
mod file;
mod page;
mod region;
mod shared;

use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};

use rustix::mm::{Advice, MapFlags, ProtFlags};

use self::extent::Shared;
use self::page::{CODE, FILE, MAPPED, PAGE_BITS, PAGES, pages_of, permitted};

pub(crate) use self::file::after_sigbus;
pub use self::page::{Access, Fault, PAGE_BYTES, Protection, SPAN_BYTES};
pub use self::region::Region;

/// The address at which [`Memory::free_span`] begins to search.
const FREE_BASE: u64 = 4 << 30;

const FREE_PAGE: usize = (FREE_BASE / PAGE_BYTES) as usize;

/// A program's memory.
///
/// ```
/// use millstream_ultrasparc::memory::{Memory, PAGE_BYTES, Protection};
///
/// let mut memory = Memory::new()?;
/// memory.map(0x10000, PAGE_BYTES, Protection::DATA);
/// memory.store_u32(0x10004, 0x0102_0304).unwrap();
/// assert_eq!(memory.load_u8(0x10004), Ok(1));
/// assert!(memory.load_u8(0x10000 + PAGE_BYTES).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Memory {
    base: NonNull<u8>,
    /// `None` while another thread has the memory: see [`Memory::absent`].
    reservation: Option<Arc<Reservation>>,
    /// This value's own if it has a reservation, else [`NO_PAGES`].
    pages: NonNull<[u8; PAGES]>,
    /// No page between [`FREE_BASE`] and this one is free.
    first_free: usize,
    /// Pages with blocks whose words may have changed.
    stale: Vec<u64>,
    /// The pages that are shared with other processes.
    shared: Vec<Shared>,
}

/// The table of absent memory, no byte of which is ever written.
static NO_PAGES: LazyLock<Box<[u8; PAGES]>> = LazyLock::new(new_pages);

fn new_pages() -> Box<[u8; PAGES]> {
    vec![0; PAGES].into_boxed_slice().try_into().expect("the length is that of the array")
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.reservation.is_some() {
            // SAFETY: the table is the box that `new` leaked, and nobody else has it.
            drop(unsafe { Box::from_raw(self.pages.as_ptr()) });
        }
    }
}

// SAFETY: only this value and the kernel write the reservation, and its address means the same in every thread.
unsafe impl Send for Memory {}

/// The host's addresses of a program's memory, reserved as long as anybody needs them.
struct Reservation(NonNull<u8>);

// SAFETY: the value is an address that is used only when it is dropped.
unsafe impl Send for Reservation {}
// SAFETY: the same holds for shared references.
unsafe impl Sync for Reservation {}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: this is the reservation of `Memory::new`, of that length, and everybody who points into it holds
        // this value. If the call fails, the addresses stay reserved, which costs nothing else.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr().cast(), SPAN_BYTES as usize) };
    }
}

impl Memory {
    /// Memory with no page in it.
    ///
    /// # Errors
    /// The host has no 256 gigabytes of addresses left: `ulimit -v` may say so.
    pub fn new() -> io::Result<Memory> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new anonymous mapping, at an address that the host chooses, touches nothing that exists.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                SPAN_BYTES as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory {
            base,
            reservation: Some(Arc::new(Reservation(base))),
            pages: NonNull::from(Box::leak(new_pages())),
            first_free: FREE_PAGE,
            stale: Vec::new(),
            shared: Vec::new(),
        })
    }

    /// Stands in the place of memory that another thread has: every access faults.
    #[must_use]
    pub fn absent() -> Memory {
        Memory {
            base: NonNull::dangling(),
            reservation: None,
            pages: NonNull::from(&**NO_PAGES),
            first_free: FREE_PAGE,
            stale: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// The table of what each page permits.
    #[inline(always)]
    fn table(&self) -> &[u8; PAGES] {
        // SAFETY: the table is this value's own, or one that is never written.
        unsafe { self.pages.as_ref() }
    }

    fn table_mut(&mut self) -> &mut [u8; PAGES] {
        assert!(self.reservation.is_some(), "the memory is another's");
        // SAFETY: the table is this value's own, which is borrowed mutably.
        unsafe { self.pages.as_mut() }
    }

    /// Makes the pages of `address..address + length` new ones full of zeros. Both ends are rounded outwards to
    /// pages; the part beyond the span is left out.
    pub fn map(&mut self, address: u64, length: u64, protection: Protection) {
        self.clear(address, length);
        let pages = pages_of(address, length);
        if pages.contains(&self.first_free) {
            self.first_free = pages.end;
        }
        self.table_mut()[pages].fill(protection.page());
    }

    /// Removes the pages of the range.
    pub fn unmap(&mut self, address: u64, length: u64) {
        self.clear(address, length);
        let pages = pages_of(address, length);
        self.first_free = self.first_free.min(pages.start.max(FREE_PAGE));
        self.table_mut()[pages].fill(0);
    }

    /// Changes what the pages of the range permit.
    ///
    /// # Errors
    /// The first page that is not mapped; those before it are changed.
    pub fn protect(&mut self, address: u64, length: u64, protection: Protection) -> Result<(), Fault> {
        if address.checked_add(length).is_none_or(|end| end > SPAN_BYTES) {
            return Err(Fault { address, access: Access::Read, mapped: false, ended: false });
        }
        for page in pages_of(address, length) {
            if self.table()[page] & MAPPED == 0 {
                return Err(Fault {
                    address: (page as u64) << PAGE_BITS,
                    access: Access::Read,
                    mapped: false,
                    ended: false,
                });
            }
            self.forget_code(page);
            let is_of_file = self.table()[page] & FILE != 0;
            self.table_mut()[page] = if is_of_file { protection.page_of_file() } else { protection.page() };
        }
        Ok(())
    }

    /// The protection of the page at `address`, if there is one.
    #[must_use]
    pub fn protection(&self, address: u64) -> Option<Protection> {
        let page = self.table().get((address >> PAGE_BITS) as usize)?;
        (page & MAPPED != 0).then_some(Protection(permitted(*page) & Protection::ALL.0))
    }

    /// The lowest place, for a mapping without a place of its own, with `length` bytes free.
    #[must_use]
    pub fn free_span(&self, length: u64) -> Option<u64> {
        let wanted = usize::try_from(length.div_ceil(PAGE_BYTES)).ok()?;
        let mut run = 0;
        for (page, byte) in self.table().iter().enumerate().skip(self.first_free) {
            run = if *byte == 0 { run + 1 } else { 0 };
            if run >= wanted {
                return Some(((page + 1 - run) as u64) << PAGE_BITS);
            }
        }
        None
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// The first address that can't be read.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), Fault> {
        to.copy_from_slice(self.bytes(address, to.len(), Access::Read)?);
        Ok(())
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// The first address that can't be written; nothing has been written then.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.bytes_mut(address, from.len())?.copy_from_slice(from);
        Ok(())
    }

    /// Copies bytes in whatever the pages permit, for a loader and a debugger.
    ///
    /// # Errors
    /// The first address that is not mapped; nothing has been written then.
    pub fn force_write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        let at = self.span(address, from.len(), MAPPED, Access::Write)?;
        for page in pages_of(address, from.len() as u64) {
            self.forget_code(page);
        }
        // SAFETY: `span` found the range inside the reservation; `from` is no part of it, as `self` is borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), at, from.len()) };
        Ok(())
    }

    /// The bytes of a range, if each page permits the access.
    ///
    /// # Errors
    /// The first address that does not permit it.
    pub fn bytes(&self, address: u64, length: usize, access: Access) -> Result<&[u8], Fault> {
        let at = self.span(address, length, access.bit(), access)?;
        // SAFETY: `span` found the range inside the reservation, which lives as long as `self`, and is initialised.
        Ok(unsafe { std::slice::from_raw_parts(at, length) })
    }

    /// The bytes of a range, if each page can be written. Blocks made from them become stale.
    ///
    /// # Errors
    /// The first address that can't be written.
    pub fn bytes_mut(&mut self, address: u64, length: usize) -> Result<&mut [u8], Fault> {
        let at = self.span(address, length, Access::Write.bit(), Access::Write)?;
        for page in pages_of(address, length as u64) {
            self.forget_code(page);
        }
        // SAFETY: as in `bytes`, and `self` is borrowed mutably.
        Ok(unsafe { std::slice::from_raw_parts_mut(at, length) })
    }

    /// The bytes up to the next zero, which is left out.
    ///
    /// # Errors
    /// The first address that can't be read.
    pub fn c_string(&self, address: u64) -> Result<Vec<u8>, Fault> {
        let (mut string, mut at) = (Vec::new(), address);
        loop {
            // The page in which the string ends may be the last one.
            let rest = PAGE_BYTES - at % PAGE_BYTES;
            let bytes = self.bytes(at, rest as usize, Access::Read)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                string.extend_from_slice(&bytes[..end]);
                return Ok(string);
            }
            string.extend_from_slice(bytes);
            at += rest;
        }
    }

    /// The instruction at `address`.
    ///
    /// # Errors
    /// The address can't be executed.
    pub fn fetch(&self, address: u64) -> Result<u32, Fault> {
        let mut word = [0; 4];
        word.copy_from_slice(self.bytes(address, 4, Access::Execute)?);
        Ok(u32::from_be_bytes(word))
    }

    /// The host's address of a range, if each of its pages has one of `bits`, and no file ends before it.
    fn span(&self, address: u64, length: usize, bits: u8, access: Access) -> Result<*mut u8, Fault> {
        let at = self.permitted_span(address, length, bits, access)?;
        self.look_at_files(address, length as u64, access)?;
        Ok(at)
    }

    /// The host's address of a range, if each of its pages has one of `bits`.
    fn permitted_span(
        &self,
        address: u64,
        length: usize,
        bits: u8,
        access: Access,
    ) -> Result<*mut u8, Fault> {
        let end = address.checked_add(length as u64).filter(|end| *end <= SPAN_BYTES);
        if end.is_none() {
            return Err(self.fault(address, access));
        }
        let pages = pages_of(address, length as u64);
        if let Some(wrong) = self.table()[pages.clone()].iter().position(|page| permitted(*page) & bits == 0)
        {
            let page = (pages.start + wrong) as u64;
            return Err(self.fault(address.max(page << PAGE_BITS), access));
        }
        // SAFETY: the range ends inside the reservation.
        Ok(unsafe { self.base.as_ptr().add(address as usize) })
    }

    #[cold]
    fn fault(&self, address: u64, access: Access) -> Fault {
        Fault { address, access, mapped: self.protection(address).is_some(), ended: false }
    }

    /// Gives the range's pages back to the host, so that they are zero when touched again.
    fn clear(&mut self, address: u64, length: u64) {
        let pages = pages_of(address, length);
        for page in pages.clone() {
            self.forget_code(page);
        }
        if pages.is_empty() || self.table()[pages.clone()].iter().all(|page| *page == 0) {
            return;
        }
        if self.take_back(&pages) {
            return;
        }
        self.give_back(pages);
    }

    /// Makes pages that only this process has zeros.
    fn give_back(&mut self, pages: std::ops::Range<usize>) {
        let bytes = pages.len() << PAGE_BITS;
        // SAFETY: `pages_of` gives pages inside the reservation, and `self` is borrowed mutably.
        unsafe {
            let at = self.base.as_ptr().add(pages.start << PAGE_BITS);
            let given = rustix::param::page_size() as u64 <= PAGE_BYTES
                && rustix::mm::madvise(at.cast(), bytes, Advice::LinuxDontNeed).is_ok();
            if !given {
                std::ptr::write_bytes(at, 0, bytes);
            }
        }
    }
}

/// The account of pages from which blocks were made.
impl Memory {
    /// Notes that blocks were made from the page at `address`.
    pub(crate) fn mark_code(&mut self, address: u64) {
        if let Some(page) = self.table_mut().get_mut((address >> PAGE_BITS) as usize) {
            *page |= CODE;
        }
    }

    /// Notes that the instructions at `address` may have changed; true if blocks were made from them.
    pub fn code_changed(&mut self, address: u64) -> bool {
        let page = (address >> PAGE_BITS) as usize;
        if page < PAGES {
            self.forget_code(page);
        }
        !self.stale.is_empty()
    }

    /// True if blocks are out of date.
    pub(crate) fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Takes the addresses of the pages whose blocks are out of date.
    pub(crate) fn take_stale(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stale)
    }

    fn forget_code(&mut self, page: usize) {
        if self.table()[page] & CODE != 0 {
            self.table_mut()[page] &= !CODE;
            self.stale.push((page as u64) << PAGE_BITS);
        }
    }
}

/// The loads and stores of one width.
macro_rules! width {
    ($type:ty, $load:ident, $store:ident, $width:literal) => {
        #[doc = concat!("Loads ", $width, ". An address that is no multiple of its size is a fault.")]
        ///
        /// # Errors
        /// The address can't be read.
        #[inline(always)]
        pub fn $load(&self, address: u64) -> Result<$type, Fault> {
            const SHIFT: u32 = size_of::<$type>().trailing_zeros();
            match self.table().get((address.rotate_right(SHIFT) >> (PAGE_BITS - SHIFT)) as usize) {
                Some(page) if page & Protection::READ.0 != 0 => {
                    // SAFETY: the table has the page, so the address is a multiple of the size, inside the reservation.
                    Ok(<$type>::from_be(unsafe {
                        self.base.as_ptr().add(address as usize).cast::<$type>().read()
                    }))
                }
                _ => self
                    .load_slowly(address, size_of::<$type>() as u64)
                    .map(|value| <$type>::from_be(value as $type)),
            }
        }

        #[doc = concat!("Stores ", $width, ". An address that is no multiple of its size is a fault.")]
        ///
        /// # Errors
        /// The address can't be written.
        #[inline(always)]
        pub fn $store(&mut self, address: u64, value: $type) -> Result<(), Fault> {
            const SHIFT: u32 = size_of::<$type>().trailing_zeros();
            match self.table().get((address.rotate_right(SHIFT) >> (PAGE_BITS - SHIFT)) as usize) {
                Some(page) if page & Protection::WRITE.0 != 0 => {
                    // SAFETY: the checks are those of the load, and `self` is borrowed mutably.
                    unsafe { self.base.as_ptr().add(address as usize).cast::<$type>().write(value.to_be()) };
                    Ok(())
                }
                _ => self.store_slowly(address, size_of::<$type>() as u64, value.to_be().into()),
            }
        }
    };
}

impl Memory {
    width!(u8, load_u8, store_u8, "a byte");
    width!(u16, load_u16, store_u16, "two bytes");
    width!(u32, load_u32, store_u32, "four bytes");
    width!(u64, load_u64, store_u64, "eight bytes");
}

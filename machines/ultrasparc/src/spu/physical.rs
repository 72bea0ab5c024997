//! Physical memory as an accelerator reaches it: bytes at addresses, or an error of the bus.

use std::fmt;

use crate::memory::Memory;

/// Memory that an accelerator reads and writes.
///
/// ```
/// use millstream_ultrasparc::spu::{BusError, Physical};
///
/// let mut memory = vec![0_u8; 8];
/// memory.write(6, b"ab")?;
/// assert_eq!(memory.write(7, b"ab"), Err(BusError { address: 7 }));
/// # Ok::<(), BusError>(())
/// ```
pub trait Physical {
    /// Reads the bytes at an address.
    ///
    /// # Errors
    /// [`BusError`] if some of them do not exist.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError>;

    /// Writes the bytes at an address, all or none.
    ///
    /// # Errors
    /// [`BusError`] if some of them do not exist.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError>;
}

/// There is no memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError {
    /// The first address of the access.
    pub address: u64,
}

impl fmt::Display for BusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no memory at physical address {:#x}", self.address)
    }
}

impl std::error::Error for BusError {}

/// The bytes `address..address + len` of a memory that long.
fn span(memory: usize, address: u64, len: usize) -> Result<std::ops::Range<usize>, BusError> {
    let start = usize::try_from(address).ok();
    let end = start.and_then(|start| start.checked_add(len)).filter(|&end| end <= memory);
    start.zip(end).map(|(start, end)| start..end).ok_or(BusError { address })
}

/// A memory that begins at address 0.
impl Physical for Vec<u8> {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError> {
        to.copy_from_slice(&self[span(self.len(), address, to.len())?]);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError> {
        let span = span(self.len(), address, from.len())?;
        self[span].copy_from_slice(from);
        Ok(())
    }
}

/// A program's memory, whose addresses are taken as physical ones.
impl Physical for Memory {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError> {
        Memory::read(self, address, to).map_err(|_| BusError { address })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError> {
        Memory::write(self, address, from).map_err(|_| BusError { address })
    }
}

/// Reads a big-endian word.
pub(crate) fn read_word(memory: &dyn Physical, address: u64) -> Result<u64, BusError> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// Writes a big-endian word.
pub(crate) fn write_word(memory: &mut dyn Physical, address: u64, word: u64) -> Result<(), BusError> {
    memory.write(address, &word.to_be_bytes())
}

/// Part of memory, with addresses of its own that begin at 0. A queue of the fast path reaches nothing else.
pub(crate) struct Page<'m> {
    pub memory: &'m mut dyn Physical,
    pub base: u64,
    pub bytes: u64,
}

impl Page<'_> {
    fn place(&self, offset: u64, len: usize) -> Result<u64, BusError> {
        let end = offset.checked_add(len as u64).filter(|&end| end <= self.bytes);
        end.and_then(|_| self.base.checked_add(offset)).ok_or(BusError { address: offset })
    }
}

impl Physical for Page<'_> {
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), BusError> {
        self.memory.read(self.place(offset, to.len())?, to).map_err(|_| BusError { address: offset })
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), BusError> {
        let place = self.place(offset, from.len())?;
        self.memory.write(place, from).map_err(|_| BusError { address: offset })
    }
}

//! A piece of memory that can be passed to other processes: a memfd whose size is sealed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate,
    memfd_create,
};

/// Memory behind a descriptor. The size is sealed, so nobody can make a mapping fault by cutting the memory
/// off.
#[derive(Debug)]
pub struct Memory {
    descriptor: OwnedFd,
    len: usize,
}

/// The seals that memory from a peer must have before it is mapped.
const SIZE: SealFlags = SealFlags::GROW.union(SealFlags::SHRINK);

impl Memory {
    /// Makes zeroed memory of `len` bytes. The name shows up in `/proc/PID/maps`.
    ///
    /// # Errors
    /// The system's: too many descriptors, no memory.
    pub fn new(name: &str, len: usize) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL)
            // Linux before 6.3 has no such flag.
            .or_else(|_| memfd_create(name, flags))?;
        ftruncate(&descriptor, len as u64)?;
        fcntl_add_seals(&descriptor, SIZE)?;
        Ok(Memory { descriptor, len })
    }

    /// Takes all of the memory from the system now, so that nobody who writes to it later finds that there is
    /// none left. It is charged to the control group of this process.
    ///
    /// # Errors
    /// The system's: no memory.
    pub fn commit(&self) -> io::Result<()> {
        Ok(fallocate(&self.descriptor, FallocateFlags::empty(), 0, self.len as u64)?)
    }

    /// Gives all of the memory back to the system, even though others still have descriptors or mappings.
    /// They read zeros from here on. Writing takes new memory, which is charged to the writer.
    ///
    /// # Errors
    /// The system's; it can't be done where writing is sealed.
    pub fn discard(&self) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.descriptor, flags, 0, self.len as u64)?)
    }

    /// Returns the bytes that the system has given for this memory.
    ///
    /// # Errors
    /// The system's.
    pub fn committed(&self) -> io::Result<u64> {
        Ok(u64::try_from(fstat(&self.descriptor)?.st_blocks).unwrap_or(0) * 512)
    }

    /// Forbids further seals, so that a peer gets memory whose seals are final.
    ///
    /// # Errors
    /// The system's.
    pub fn seal(&self) -> io::Result<()> {
        Ok(fcntl_add_seals(&self.descriptor, SealFlags::SEAL)?)
    }

    /// Forbids new writable mappings and writes for ever. Mappings that are already writable stay so.
    ///
    /// # Errors
    /// The system's.
    pub fn seal_writing(&self) -> io::Result<()> {
        Ok(fcntl_add_seals(&self.descriptor, SealFlags::FUTURE_WRITE | SealFlags::SEAL)?)
    }

    /// Takes over memory that came from another process.
    ///
    /// # Errors
    /// Fails when the size is not sealed, because mapping it would not be safe, or is zero.
    pub fn received(descriptor: OwnedFd) -> io::Result<Self> {
        let seals = fcntl_get_seals(&descriptor)?;
        let len = usize::try_from(fstat(&descriptor)?.st_size).unwrap_or(0);
        if !seals.contains(SIZE) || len == 0 {
            let what = "a descriptor that is not memory of a sealed size";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Memory { descriptor, len })
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when there are no bytes, which is never so.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes another descriptor for the same memory.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn duplicate(&self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }
}

impl AsFd for Memory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl From<Memory> for OwnedFd {
    fn from(memory: Memory) -> OwnedFd {
        memory.descriptor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mapping;

    #[test]
    fn its_size_never_changes() {
        let memory = Memory::new("test", 8192).unwrap();
        assert!(ftruncate(&memory, 4096).is_err());
        assert!(ftruncate(&memory, 16384).is_err());
        let other = Memory::received(memory.duplicate().unwrap()).unwrap();
        assert_eq!(other.len(), 8192);
    }

    #[test]
    fn what_is_discarded_is_the_systems_again_whoever_has_it_mapped() {
        let memory = Memory::new("test", 64 << 10).unwrap();
        assert_eq!(memory.committed().unwrap(), 0);
        memory.commit().unwrap();
        assert_eq!(memory.committed().unwrap(), 64 << 10);
        let mapping = Mapping::shared(&memory).unwrap();
        mapping.write(100, &[7; 5000]);
        memory.seal().unwrap();
        memory.discard().unwrap();
        assert_eq!(memory.committed().unwrap(), 0);
        let mut out = [1; 5000];
        mapping.read(100, &mut out);
        assert_eq!(out, [0; 5000]);
    }

    #[test]
    fn what_is_not_sealed_is_refused() {
        let unsealed = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&unsealed, 4096).unwrap();
        assert_eq!(Memory::received(unsealed).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn sealed_against_writing_it_can_be_read_by_others_only() {
        use std::sync::atomic::Ordering;
        let memory = Memory::new("test", 4096).unwrap();
        let writer = Mapping::shared(&memory).unwrap();
        memory.seal_writing().unwrap();
        assert!(Mapping::shared(&memory).is_err(), "no second one that can write");
        let reader = Mapping::read_only(&memory).unwrap();
        writer.words(0, 1).unwrap()[0].store(7, Ordering::Relaxed);
        assert_eq!(reader.words(0, 1).unwrap()[0].load(Ordering::Relaxed), 7);
    }
}

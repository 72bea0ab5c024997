//! Partitions: the real memory of each, and the physical memory behind it.

use super::Status;
use crate::spu::{BusError, Physical};

/// Physical addresses from here on are the hypervisor's own memory. Addresses have 40 bits.
pub const HYPERVISOR_MEMORY: u64 = 0xff_0000_0000;

/// A piece of a partition's real memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The address by which the partition knows it.
    pub real: u64,
    /// The address by which the hardware knows it.
    pub physical: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A partition.
pub struct Domain {
    pub(super) memory: Vec<Range>,
    /// The version of the NCS calls that it agreed on.
    pub(super) version: Option<(u64, u64)>,
}

impl Domain {
    /// A partition with that memory.
    ///
    /// # Panics
    /// A piece reaches into the hypervisor's memory.
    pub(super) fn new(memory: Vec<Range>) -> Domain {
        for range in &memory {
            let end = range.physical.checked_add(range.bytes).filter(|&end| end <= HYPERVISOR_MEMORY);
            assert!(end.is_some(), "{range:x?} reaches into the hypervisor's memory");
            assert!(range.real.checked_add(range.bytes).is_some(), "{range:x?} has no end");
        }
        Domain { memory, version: None }
    }

    /// The physical address of `bytes` bytes of real memory, if the partition has them all.
    pub(super) fn translate(&self, real: u64, bytes: u64) -> Result<u64, Status> {
        let within = |range: &&Range| {
            let offset = real.checked_sub(range.real)?;
            let end = offset.checked_add(bytes)?;
            (end <= range.bytes && offset < range.bytes).then_some(range.physical + offset)
        };
        self.memory.iter().find_map(|range| within(&range)).ok_or(Status::NoRealAddress)
    }
}

/// All memory: the partitions' and the hypervisor's.
pub(super) struct Bus<'m> {
    pub memory: &'m mut dyn Physical,
    pub own: &'m mut Vec<u8>,
}

impl Physical for Bus<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError> {
        match address.checked_sub(HYPERVISOR_MEMORY) {
            Some(offset) => self.own.read(offset, to).map_err(|_| BusError { address }),
            None => self.memory.read(address, to),
        }
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError> {
        match address.checked_sub(HYPERVISOR_MEMORY) {
            Some(offset) => self.own.write(offset, from).map_err(|_| BusError { address }),
            None => self.memory.write(address, from),
        }
    }
}

//! Memory as the hypervisor and the units see it: the process's, and far behind it the kernel's.

use crate::memory::Memory;
use crate::spu::{BusError, Physical};

/// The address at which the kernel's own memory begins. A process's ends far before; the arithmetic unit's addresses
/// have 39 bits.
pub(super) const KERNEL_MEMORY: u64 = 0x40_0000_0000;

/// Both memories, as one.
pub(super) struct Bus<'m> {
    pub process: &'m mut Memory,
    pub kernel: &'m mut Vec<u8>,
}

impl Physical for Bus<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError> {
        match address.checked_sub(KERNEL_MEMORY) {
            Some(offset) => self.kernel.read(offset, to).map_err(|_| BusError { address }),
            None => Physical::read(self.process, address, to),
        }
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError> {
        match address.checked_sub(KERNEL_MEMORY) {
            Some(offset) => self.kernel.write(offset, from).map_err(|_| BusError { address }),
            None => Physical::write(self.process, address, from),
        }
    }
}

//! Loads, stores and atomic operations, and the address spaces.
//! Ref. The SPARC Architecture Manual, Version 9, appendix A.26 to A.29, A.51 to A.55; UltraSPARC T2 Supplement, ASIs.

use crate::cpu::Trap;
use crate::memory::Memory;

/// ASI_PRIMARY.
pub const PRIMARY: u8 = 0x80;

/// What answers accesses to address spaces that are not memory.
pub trait Device: Send {
    /// A load of eight bytes.
    ///
    /// # Errors
    /// There is nothing at the address: [`Trap::PrivilegedAction`] if the ASI is none of the device's.
    fn load(&mut self, memory: &mut Memory, asi: u8, address: u64) -> Result<u64, Trap>;

    /// A store of eight bytes.
    ///
    /// # Errors
    /// As for a load.
    fn store(&mut self, memory: &mut Memory, asi: u8, address: u64, value: u64) -> Result<(), Trap>;

    /// The program has executed about this many more instructions; called from time to time.
    fn tick(&mut self, _memory: &mut Memory, _instructions: u64) {}
}

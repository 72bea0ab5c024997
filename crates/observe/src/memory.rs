//! Memory of a process, or of something that stands for one.

use std::io;

/// Memory that can be read by address.
pub trait Memory {
    /// Fills `buffer` with what is at `address`.
    ///
    /// # Errors
    /// When any of it is not mapped.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The eight bytes at `address`, little-endian.
    ///
    /// # Errors
    /// When any of them is not mapped.
    fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

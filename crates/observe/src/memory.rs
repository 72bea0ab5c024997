//! Access to the memory of a process, or of a stand-in for one.

use std::io;

/// Memory that can be read by address.
pub trait Memory {
    /// Fills `buffer` with the bytes at `address`.
    ///
    /// # Errors
    /// Fails when any of them is not mapped.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Returns the eight bytes at `address`, little-endian.
    ///
    /// # Errors
    /// Fails when any of them is not mapped.
    fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// A stand-in for a process's memory in tests.
#[cfg(test)]
pub(crate) mod test {
    use std::cell::RefCell;
    use std::io;

    use super::Memory;

    /// Bytes at an address, with nothing mapped next to them.
    pub struct Bytes {
        pub start: u64,
        pub bytes: RefCell<Vec<u8>>,
    }

    impl Bytes {
        pub fn new(start: u64, bytes: Vec<u8>) -> Self {
            Bytes { start, bytes: RefCell::new(bytes) }
        }
    }

    impl Memory for Bytes {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            let bytes = self.bytes.borrow();
            let start = address.checked_sub(self.start).ok_or(io::ErrorKind::UnexpectedEof)? as usize;
            let found = bytes.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(found);
            Ok(())
        }
    }
}

//! The memory of another process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::process::Pid;

use crate::memory::Memory;

/// The memory of a process, as long as it keeps this image. `exec` gives it another one.
///
/// The file stays open, so the memory can still be read after the process makes itself undumpable.
#[derive(Debug)]
pub struct ProcessMemory {
    pid: Pid,
    file: io::Result<File>,
}

impl ProcessMemory {
    /// Opens the memory of a process.
    ///
    /// A failure to open it is reported by the first access.
    pub fn of(pid: Pid) -> ProcessMemory {
        let path = format!("/proc/{pid}/mem");
        let both = OpenOptions::new().read(true).write(true).open(&path);
        ProcessMemory { pid, file: both.or_else(|_| File::open(&path)) }
    }

    /// Returns the process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Writes bytes, even where the process itself may not. A private mapping of a file is copied first.
    ///
    /// # Errors
    /// Fails when any of it is not mapped, or is shared and read-only, or when the kernel allows nobody this
    /// (`proc_mem.force_override=never`).
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_all_at(bytes, address)
    }

    /// Reads as much as is mapped, and returns the number of bytes.
    ///
    /// # Errors
    /// Fails when the first byte is not mapped.
    pub fn read_some(&self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file()?.read_at(buffer, address)
    }

    /// Returns a copy of the descriptor.
    ///
    /// # Errors
    /// Fails when the memory could not be opened, or there are too many descriptors.
    pub fn try_clone(&self) -> io::Result<File> {
        self.file()?.try_clone()
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().map_err(|error| {
            let text = format!("the memory of process {} can't be opened: {error}", self.pid);
            io::Error::new(error.kind(), text)
        })
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file()?.read_exact_at(buffer, address)
    }
}

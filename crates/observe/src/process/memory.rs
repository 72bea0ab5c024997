//! The memory of another process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::process::Pid;

use crate::memory::Memory;

/// The memory of a process, as long as it has this image: after `exec` it is another.
///
/// What is opened stays open, so it can be read also when the process makes itself undumpable later.
#[derive(Debug)]
pub struct ProcessMemory {
    pid: Pid,
    file: io::Result<File>,
}

impl ProcessMemory {
    /// That of this process.
    ///
    /// Whether it can be opened is seen when it is read.
    pub fn of(pid: Pid) -> ProcessMemory {
        let path = format!("/proc/{pid}/mem");
        let both = OpenOptions::new().read(true).write(true).open(&path);
        ProcessMemory { pid, file: both.or_else(|_| File::open(&path)) }
    }

    /// Whose it is.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Writes, also where the process itself may not: what is mapped from a file privately is copied first.
    ///
    /// # Errors
    /// When any of it is not mapped, or is shared and read-only, or the kernel was told to allow nobody this
    /// (`proc_mem.force_override=never`).
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_all_at(bytes, address)
    }

    /// As much of it as is mapped: how many bytes that was.
    ///
    /// # Errors
    /// When the first byte is not mapped.
    pub fn read_some(&self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file()?.read_at(buffer, address)
    }

    /// The descriptor, to be kept for itself.
    ///
    /// # Errors
    /// When it could not be opened, or there are too many.
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

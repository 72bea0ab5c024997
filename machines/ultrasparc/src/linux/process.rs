//! A process: the processor, the state that the kernel keeps of a program, and the ways in which calls reach its
//! memory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cpu::Cpu;
use crate::linux::errno::Errno;
use crate::linux::kept::{After, Driver, Kept, Mapped};
use crate::linux::signals::Signals;
use crate::linux::threads::{Thread, Threads};
use crate::memory::{Access, PAGE_BYTES, Region, SPAN_BYTES};
use crate::processor::{Features, Processor};

/// The address at which mappings without a place of their own begin. A program's break ends below it.
const BREAK_LIMIT: u64 = 4 << 30;

/// The way in which a program is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The processor.
    pub processor: Processor,
    /// The features that it has: see [`Features::removing`].
    pub features: Features,
    /// A directory in which absolute paths are looked up first: a sparc64 system's libraries.
    pub sysroot: Option<PathBuf>,
    /// Reports each system call on standard error.
    pub trace: bool,
    /// Catches signals that would end the program, so that [`Process::run`] returns: otherwise they end this process.
    pub witnessed: bool,
    /// The command line with which a program's child runs this emulator again: command, options, and the option that
    /// gives the name by which a program was called. That name, the program's file and its arguments follow.
    pub again: Vec<OsString>,
}

impl Settings {
    /// The settings of a full processor, without directory, trace, and the means to start other programs.
    #[must_use]
    pub fn of(processor: Processor) -> Settings {
        Settings {
            processor,
            features: processor.features(),
            sysroot: None,
            trace: false,
            witnessed: false,
            again: Vec::new(),
        }
    }
}

/// One program, as it is seen by the one of its threads that has the turn: see `threads.rs`.
pub struct Process {
    /// The processor, and the program's memory.
    pub cpu: Cpu,
    /// The driver that answers the program beside Linux.
    pub driver: Option<Box<dyn Driver>>,
    pub(crate) settings: Arc<Settings>,
    /// The absolute path of the program's file.
    pub(crate) file: PathBuf,
    pub(crate) kept: Kept,
    pub(crate) signals: Signals,
    pub(crate) after: After,
    /// `None` as long as the process had only one thread.
    pub(crate) threads: Option<Arc<Threads>>,
    pub(crate) thread: Thread,
}

impl Process {
    /// The files whose code was in memory: of the program, its interpreter and its libraries.
    #[must_use]
    pub fn code(&self) -> &[Mapped] {
        &self.kept.mapped
    }

    /// Reports something to the user on standard error.
    pub(crate) fn say(&self, what: &str) {
        use std::io::Write;
        // Nobody reads a closed standard error.
        let _ = writeln!(std::io::stderr(), "millstream sparc: {}: {what}", self.file.display());
    }

    /// Reads a text, such as a path, from the program's memory.
    pub(crate) fn text(&self, address: u64) -> Result<std::ffi::CString, Errno> {
        let bytes = self.cpu.memory.c_string(address)?;
        if bytes.len() >= libc::PATH_MAX as usize {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        // The bytes end before the first zero.
        std::ffi::CString::new(bytes).map_err(|_| Errno(libc::EINVAL))
    }

    /// Reads a path from the program's memory. If the path exists under the sysroot, it is the one there.
    pub(crate) fn path(&self, address: u64) -> Result<std::ffi::CString, Errno> {
        use std::os::unix::ffi::OsStrExt;
        let text = self.text(address)?;
        let path = under(self.settings.sysroot.as_deref(), Path::new(OsStr::from_bytes(text.as_bytes())));
        path.map_or(Ok(text), |path| {
            std::ffi::CString::new(path.into_os_string().into_encoded_bytes())
                .map_err(|_| Errno(libc::EINVAL))
        })
    }

    /// Bytes of the program's memory, to be read only.
    pub(crate) fn bytes(&self, address: u64, length: u64) -> Result<&[u8], Errno> {
        let length = usize::try_from(length).map_err(|_| Errno(libc::EFAULT))?;
        if length == 0 {
            return Ok(&[]);
        }
        Ok(self.cpu.memory.bytes(address, length, Access::Read)?)
    }

    /// Bytes of the program's memory, to be written.
    pub(crate) fn bytes_mut(&mut self, address: u64, length: u64) -> Result<&mut [u8], Errno> {
        let length = usize::try_from(length).map_err(|_| Errno(libc::EFAULT))?;
        if length == 0 {
            return Ok(&mut []);
        }
        Ok(self.cpu.memory.bytes_mut(address, length)?)
    }

    /// Bytes of the program's memory, for a call that can wait.
    pub(crate) fn region(&mut self, address: u64, length: u64, access: Access) -> Result<Region, Errno> {
        let length = usize::try_from(length).map_err(|_| Errno(libc::EFAULT))?;
        Ok(self.cpu.memory.region(address, length, access)?)
    }

    /// Returns as many of the bytes as can be written. A program may claim more than it has, if the call needs less.
    pub(crate) fn room(&mut self, address: u64, length: u64) -> Result<Region, Errno> {
        let length = length.min(SPAN_BYTES.saturating_sub(address));
        let length = match self.cpu.memory.region(address, length as usize, Access::Write) {
            Err(fault) if fault.address > address => fault.address - address,
            Err(fault) if length != 0 => return Err(fault.into()),
            Ok(region) if length != 0 => return Ok(region),
            _ => length,
        };
        if length == 0 && address >= SPAN_BYTES {
            Err(Errno(libc::EFAULT))
        } else {
            self.region(address, length, Access::Write)
        }
    }

    /// Writes a structure to the program's memory, unless its address is null.
    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        if address != 0 {
            self.cpu.memory.write(address, bytes)?;
        }
        Ok(())
    }

    /// Moves the break, if it can be moved; answers its new place.
    pub(crate) fn set_break(&mut self, wanted: u64) -> u64 {
        if !(self.kept.data_end..=BREAK_LIMIT).contains(&wanted) {
            return self.kept.break_end;
        }
        let (old, new) =
            (self.kept.break_end.next_multiple_of(PAGE_BYTES), wanted.next_multiple_of(PAGE_BYTES));
        if new > old {
            let free = (old..new)
                .step_by(PAGE_BYTES as usize)
                .all(|page| self.cpu.memory.protection(page).is_none());
            if !free {
                return self.kept.break_end;
            }
            self.cpu.memory.map(old, new - old, crate::memory::Protection::DATA);
        } else {
            self.cpu.memory.unmap(new, old - new);
        }
        self.kept.break_end = wanted;
        wanted
    }
}

/// The file under the sysroot for an absolute path, if it exists.
pub(super) fn under(sysroot: Option<&Path>, path: &Path) -> Option<PathBuf> {
    let inside = sysroot?.join(path.strip_prefix("/").ok()?);
    inside.symlink_metadata().is_ok().then_some(inside)
}

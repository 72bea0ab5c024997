//! A process: the processor, what the kernel keeps of a program, and how calls reach the program's memory.

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

/// Where mappings without a place of their own begin: a program's break ends below.
const BREAK_LIMIT: u64 = 4 << 30;

/// How a program is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The processor.
    pub processor: Processor,
    /// What it has: see [`Features::removing`].
    pub features: Features,
    /// A directory in which absolute paths are looked up first: a sparc64 system's libraries.
    pub sysroot: Option<PathBuf>,
    /// Whether each system call is told on standard error.
    pub trace: bool,
    /// Whether [`Process::run`] is to answer also where a signal that was sent ends the program: it would end this process.
    pub witnessed: bool,
    /// How this emulator is called for a program that the program starts: command, options, and the option that gives the name
    /// by which a program was called. That name, the program's file and its arguments follow.
    pub again: Vec<OsString>,
}

impl Settings {
    /// All of a processor, no directory, no trace, and no program that starts others.
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

/// One program, as one of its threads sees it that has the turn: see `threads.rs`.
pub struct Process {
    /// The processor, and the program's memory.
    pub cpu: Cpu,
    /// What else answers the program.
    pub driver: Option<Box<dyn Driver>>,
    pub(crate) settings: Arc<Settings>,
    /// The program's file, from the root.
    pub(crate) file: PathBuf,
    pub(crate) kept: Kept,
    pub(crate) signals: Signals,
    pub(crate) after: After,
    /// None as long as there was one only.
    pub(crate) threads: Option<Arc<Threads>>,
    pub(crate) thread: Thread,
}

impl Process {
    /// The files whose code was in memory: the program's own, its interpreter's, its libraries'.
    #[must_use]
    pub fn code(&self) -> &[Mapped] {
        &self.kept.mapped
    }

    /// Tells the user something on standard error.
    pub(crate) fn say(&self, what: &str) {
        use std::io::Write;
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "millstream sparc: {}: {what}", self.file.display());
    }

    /// A path of the program's memory.
    pub(crate) fn text(&self, address: u64) -> Result<std::ffi::CString, Errno> {
        let bytes = self.cpu.memory.c_string(address)?;
        if bytes.len() >= libc::PATH_MAX as usize {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        // The bytes are those before the first zero.
        std::ffi::CString::new(bytes).map_err(|_| Errno(libc::EINVAL))
    }

    /// A path of the program's memory; one that lies under the directory of its own files is that one.
    pub(crate) fn path(&self, address: u64) -> Result<std::ffi::CString, Errno> {
        use std::os::unix::ffi::OsStrExt;
        let text = self.text(address)?;
        let path = under(self.settings.sysroot.as_deref(), Path::new(OsStr::from_bytes(text.as_bytes())));
        path.map_or(Ok(text), |path| {
            std::ffi::CString::new(path.into_os_string().into_encoded_bytes())
                .map_err(|_| Errno(libc::EINVAL))
        })
    }

    /// Bytes of the program's memory that are only read.
    pub(crate) fn bytes(&self, address: u64, length: u64) -> Result<&[u8], Errno> {
        let length = usize::try_from(length).map_err(|_| Errno(libc::EFAULT))?;
        if length == 0 {
            return Ok(&[]);
        }
        Ok(self.cpu.memory.bytes(address, length, Access::Read)?)
    }

    /// Bytes of the program's memory that are written.
    pub(crate) fn bytes_mut(&mut self, address: u64, length: u64) -> Result<&mut [u8], Errno> {
        let length = usize::try_from(length).map_err(|_| Errno(libc::EFAULT))?;
        if length == 0 {
            return Ok(&mut []);
        }
        Ok(self.cpu.memory.bytes_mut(address, length)?)
    }

    /// Bytes of the program's memory for a call that can wait.
    pub(crate) fn region(&mut self, address: u64, length: u64, access: Access) -> Result<Region, Errno> {
        let length = usize::try_from(length).map_err(|_| Errno(libc::EFAULT))?;
        Ok(self.cpu.memory.region(address, length, access)?)
    }

    /// As many of the bytes as can be written: a program may name more than it has, if less is enough.
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

    /// Writes a structure, if the program wants it.
    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        if address != 0 {
            self.cpu.memory.write(address, bytes)?;
        }
        Ok(())
    }

    /// Moves the break: to where it is then.
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

/// The file under a sysroot for an absolute path, if there is one.
pub(super) fn under(sysroot: Option<&Path>, path: &Path) -> Option<PathBuf> {
    let inside = sysroot?.join(path.strip_prefix("/").ok()?);
    inside.symlink_metadata().is_ok().then_some(inside)
}

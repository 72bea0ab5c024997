//! A process: the processor, what the kernel keeps of a program, and the loop that serves what stops it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::cpu::{Cpu, Trap};
use crate::linux::elf::{Image, LoadError, Placed};
use crate::linux::errno::{self, Errno, RESTART};
use crate::linux::signals::{self, Actions, Signals};
use crate::linux::stack::Start;
use crate::linux::threads::{Thread, Threads};
use crate::linux::{host, syscalls};
use crate::memory::{Access, PAGE_BYTES, Region, SPAN_BYTES};
use crate::processor::{Features, Processor};

/// Where a program lies that can lie anywhere.
const MOVABLE_BASE: u64 = 1 << 30;

/// Where mappings without a place of their own begin: a program's break ends below.
const BREAK_LIMIT: u64 = 4 << 30;

/// Software traps. Ref. Linux `arch/sparc/kernel/ttable_64.S`.
mod trap {
    pub const BREAKPOINT: u8 = 0x01;
    pub const DIVISION: u8 = 0x02;
    pub const FLUSH_WINDOWS: u8 = 0x03;
    pub const SYSTEM_CALL: u8 = 0x6d;
    pub const GET_CONTEXT: u8 = 0x6e;
    pub const SET_CONTEXT: u8 = 0x6f;
    /// The first of the hypervisor's.
    pub const HYPERVISOR: u8 = 0x80;
}

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

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this status.
    Exited(u8),
    /// By this signal, the host's number.
    Killed(i32),
}

/// What answers programs beside Linux: the hypervisor and the driver of the accelerators.
pub trait Driver: Send {
    /// Answers a software trap from 0x80 on; false if there is no such.
    fn trap(&mut self, cpu: &mut Cpu, number: u8) -> bool;

    /// Answers a system call that Linux has not; `None` if there is no such.
    fn call(&mut self, cpu: &mut Cpu, number: u64, arguments: &[u64; 6]) -> Option<Result<u64, Errno>>;
}

/// What happens when a system call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The program goes on after it, with its result.
    Return,
    /// The call has set all registers itself.
    Keep,
    /// The thread or the program has ended.
    End(Left),
}

/// What ended, where the processor stops for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The thread, with a status that matters if it is the first.
    Thread(u8),
    /// The program.
    Process(Ended),
}

/// A file of which a part lies in memory to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The file.
    pub file: PathBuf,
    /// Where the part begins in it.
    pub offset: u64,
    /// Where it lies.
    pub address: u64,
}

/// What the kernel keeps of a process, which its threads have together.
#[derive(Default)]
pub(crate) struct Kept {
    /// What was mapped to be executed: what was unmapped stays here.
    pub mapped: Vec<Mapped>,
    /// Where the program's data end, and where its break is.
    pub data_end: u64,
    pub break_end: u64,
    /// What it does about signals.
    pub actions: Actions,
    /// Segments that are attached.
    pub attached: Vec<syscalls::Attached>,
    /// Whether it may have a descriptor whose bytes are the kernel's structures.
    pub has_special: bool,
    /// Calls that are not known and were told.
    told: BTreeSet<u64>,
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
    /// Loads a program. `arguments` begin with the name it was called by.
    ///
    /// # Errors
    /// It is no program for this machine, or can't be read or placed.
    pub fn new(
        settings: Settings,
        file: &Path,
        arguments: &[OsString],
        environment: &[OsString],
    ) -> Result<Process, LoadError> {
        let mut cpu = Cpu::new(settings.features).map_err(LoadError::Memory)?;
        let hwcap = settings.processor.linux_hwcap(settings.features);
        let mut mapped = Vec::new();
        let (program, interpreter) = load(&mut cpu, file, settings.sysroot.as_deref(), &mut mapped)?;
        Start { arguments, environment, file, program, interpreter, hwcap }.set_up(&mut cpu)?;
        host::attend(&cpu.attention);
        let mut actions = Actions::inherited();
        if settings.witnessed {
            actions.witness();
        }
        let end = program.end.next_multiple_of(PAGE_BYTES);
        Ok(Process {
            cpu,
            driver: None,
            settings: Arc::new(settings),
            file: std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()),
            kept: Kept {
                mapped,
                data_end: end,
                break_end: end,
                actions,
                has_special: syscalls::are_inherited(),
                ..Kept::default()
            },
            signals: Signals::inherited(),
            after: After::Return,
            threads: None,
            thread: Thread::first(),
        })
    }

    /// The files whose code was in memory: the program's own, its interpreter's, its libraries'.
    #[must_use]
    pub fn code(&self) -> &[Mapped] {
        &self.kept.mapped
    }

    /// Runs the program to its end.
    pub fn run(&mut self) -> Ended {
        let left = self.serve();
        self.finish(left)
    }

    /// Runs a thread to its end, or the program's.
    pub(crate) fn serve(&mut self) -> Left {
        let left = loop {
            if let Some(ended) = self.thread.over {
                break Left::Process(ended);
            }
            let left = match self.cpu.run() {
                Trap::Attention => {
                    // Before it is looked what was caught: a signal after this sets it again.
                    self.cpu.attention.store(false, Ordering::SeqCst);
                    self.pass_turn();
                    None
                }
                Trap::Software(trap::SYSTEM_CALL) => self.system_call(),
                Trap::Software(number) => self.software_trap(number).map(Left::Process),
                trap => {
                    if self.settings.trace {
                        self.say(&format!("{trap:x?} at {:#x}", self.cpu.pc));
                    }
                    let fault = signals::of_trap(&self.cpu, trap);
                    fault.and_then(|fault| self.fault(fault)).map(Left::Process)
                }
            };
            let caught = left.is_none() && host::is_caught();
            let left = if caught { self.deliver().map(Left::Process) } else { left };
            if let Some(left) = left {
                break left;
            }
        };
        self.release(left);
        left
    }

    fn software_trap(&mut self, number: u8) -> Option<Ended> {
        match number {
            trap::FLUSH_WINDOWS => match self.cpu.flush_windows() {
                Ok(()) => self.cpu.advance(),
                Err(trap) => return signals::of_trap(&self.cpu, trap).and_then(|fault| self.fault(fault)),
            },
            trap::GET_CONTEXT => return self.get_context(),
            trap::SET_CONTEXT => return self.set_context(),
            trap::BREAKPOINT => return self.fault(signals::breakpoint(&self.cpu)),
            trap::DIVISION => {
                return signals::of_trap(&self.cpu, Trap::DivisionByZero).and_then(|fault| self.fault(fault));
            }
            _ => {
                let answered = number >= trap::HYPERVISOR
                    && self.driver.as_mut().is_some_and(|driver| driver.trap(&mut self.cpu, number));
                if !answered {
                    return self.fault(signals::unknown_trap(&self.cpu));
                }
                self.cpu.advance();
            }
        }
        None
    }

    /// `ta 0x6d`: number in %g1, arguments in %o0 to %o5; result in %o0, or with the carries set the error.
    fn system_call(&mut self) -> Option<Left> {
        // A signal comes before a call that was not begun.
        if host::is_caught() {
            return None;
        }
        // Who has the turn is called by nobody but by mistake.
        host::take_call();
        let number = self.cpu.r[1];
        let mut arguments = [0; 6];
        arguments.copy_from_slice(&self.cpu.r[8..14]);
        let call = syscalls::find(number);
        self.after = After::Return;
        let answer = match call {
            Some(call) => (call.run)(self, &arguments),
            None => self.unknown_call(number, &arguments),
        };
        let answer = match answer {
            Err(Errno(libc::EINTR))
                if call.is_some_and(|call| call.restarts) && self.restarts_after_caught() =>
            {
                Err(RESTART)
            }
            answer => answer,
        };
        if self.settings.trace {
            let name = call.map_or("?", |call| call.name);
            syscalls::tell(self, name, call.map_or("", |call| call.shown), number, &arguments, answer);
        }
        match (self.after, answer) {
            (After::End(left), _) => return Some(left),
            (After::Keep, _) | (After::Return, Err(RESTART)) => {}
            (After::Return, answer) => self.give(answer),
        }
        None
    }

    fn unknown_call(&mut self, number: u64, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let driver = self.driver.as_mut();
        if let Some(answer) = driver.and_then(|driver| driver.call(&mut self.cpu, number, arguments)) {
            return answer;
        }
        if self.settings.trace && self.kept.told.insert(number) {
            self.say(&format!("system call {number} is not known here"));
        }
        Err(Errno(libc::ENOSYS))
    }

    /// Goes on after the call, with what it answered.
    fn give(&mut self, answer: Result<u64, Errno>) {
        const CARRIES: u8 = 0x11;
        let ccr = self.cpu.ccr();
        match answer {
            Ok(result) => {
                self.cpu.r[8] = result;
                self.cpu.set_ccr(ccr & !CARRIES);
            }
            Err(error) => {
                self.cpu.r[8] = errno::of_sparc(error);
                self.cpu.set_ccr(ccr | CARRIES);
            }
        }
        self.cpu.advance();
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
fn under(sysroot: Option<&Path>, path: &Path) -> Option<PathBuf> {
    let inside = sysroot?.join(path.strip_prefix("/").ok()?);
    inside.symlink_metadata().is_ok().then_some(inside)
}

/// Puts a program and its interpreter into memory.
fn load(
    cpu: &mut Cpu,
    file: &Path,
    sysroot: Option<&Path>,
    mapped: &mut Vec<Mapped>,
) -> Result<(Placed, Option<Placed>), LoadError> {
    let image = Image::read(file)?;
    let base = if image.is_movable() { MOVABLE_BASE } else { 0 };
    let program = image.place(&mut cpu.memory, base)?;
    mapped.push(Mapped { file: file.to_owned(), offset: 0, address: base + image.addresses()?.start });
    let Some(name) = image.interpreter()? else { return Ok((program, None)) };
    let found = under(sysroot, &name).unwrap_or_else(|| name.clone());
    let interpreter = match Image::read(&found) {
        Ok(interpreter) => interpreter,
        Err(LoadError::Read { .. }) => {
            let (path, sysroot) = (file.to_owned(), sysroot.map(Path::to_owned));
            return Err(LoadError::NoInterpreter { path, interpreter: name, sysroot });
        }
        Err(other) => return Err(other),
    };
    let Range { start, end: length } = interpreter.addresses()?;
    let base = if interpreter.is_movable() { cpu.memory.free_span(length) } else { Some(0) };
    let base = base.ok_or_else(|| LoadError::Memory(std::io::ErrorKind::OutOfMemory.into()))?;
    mapped.push(Mapped { file: found, offset: 0, address: base + start });
    Ok((program, Some(interpreter.place(&mut cpu.memory, base)?)))
}

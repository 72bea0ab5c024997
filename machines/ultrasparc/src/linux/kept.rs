//! State that the kernel keeps of a process, the ways in which a process ends, and the driver that answers it beside
//! the kernel.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::cpu::Cpu;
use crate::linux::errno::Errno;
use crate::linux::signals::Actions;

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program exited with this status.
    Exited(u8),
    /// A signal killed it, by the host's number.
    Killed(i32),
}

/// A driver, which answers programs beside Linux: the hypervisor and the driver of the accelerators.
pub trait Driver: Send {
    /// Answers a software trap from 0x80 on; false if there is no such trap.
    fn trap(&mut self, cpu: &mut Cpu, number: u8) -> bool;

    /// Answers a system call that Linux lacks; `None` if there is no such call.
    fn call(&mut self, cpu: &mut Cpu, number: u64, arguments: &[u64; 6]) -> Option<Result<u64, Errno>>;
}

/// The next step after a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The program goes on after the call, with its result.
    Return,
    /// The call has set all registers itself.
    Keep,
    /// The thread or the program has ended.
    End(Left),
}

/// The thing that ended, so that the processor stops for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The thread ended, with a status that matters if it is the first.
    Thread(u8),
    /// The whole program ended.
    Process(Ended),
}

/// A file with a part that is mapped to be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The file.
    pub file: PathBuf,
    /// The offset of that part in the file.
    pub offset: u64,
    /// The address at which it is mapped.
    pub address: u64,
}

/// State that the kernel keeps of a process, and that its threads share.
#[derive(Default)]
pub(crate) struct Kept {
    /// The files that were mapped to be executed. They stay here after they are unmapped.
    pub mapped: Vec<Mapped>,
    /// The end of the program's data, and its break.
    pub data_end: u64,
    pub break_end: u64,
    /// The process's actions on signals.
    pub actions: Actions,
    /// Segments that are attached.
    pub attached: Vec<Attached>,
    /// True if the process may have a descriptor whose bytes are the kernel's structures.
    pub has_special: bool,
    /// Unknown calls that were reported once.
    pub told: BTreeSet<u64>,
}

/// The place and length of an attached segment.
pub(crate) struct Attached {
    pub start: u64,
    pub length: u64,
}

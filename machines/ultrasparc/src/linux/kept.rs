//! What the kernel keeps of a process, how a process ends, and what may answer it beside the kernel.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::cpu::Cpu;
use crate::linux::errno::Errno;
use crate::linux::signals::Actions;

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
    pub attached: Vec<Attached>,
    /// Whether it may have a descriptor whose bytes are the kernel's structures.
    pub has_special: bool,
    /// Calls that are not known and were told.
    pub told: BTreeSet<u64>,
}

/// Where a segment is attached, and for how many bytes.
pub(crate) struct Attached {
    pub start: u64,
    pub length: u64,
}

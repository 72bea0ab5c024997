//! A traced thread that is stopped.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use rustix::process::Pid;

use super::memory::ProcessMemory;
use super::registers::Registers;
use super::siginfo::SigInfo;
use super::signals::Stop;
use super::sys;

/// The state that all threads of one process image share.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) memory: ProcessMemory,
    /// The address of an instruction that makes system calls.
    #[cfg(target_arch = "x86_64")]
    pub(super) gate: std::cell::Cell<Option<u64>>,
}

impl Image {
    pub(super) fn of(pid: Pid) -> Rc<Image> {
        Rc::new(Image {
            memory: ProcessMemory::of(pid),
            #[cfg(target_arch = "x86_64")]
            gate: std::cell::Cell::new(None),
        })
    }
}

impl Image {
    /// Returns the state for a forked child, where the same addresses are valid.
    pub(super) fn copy(&self, pid: Pid) -> Rc<Image> {
        Rc::new(Image {
            memory: ProcessMemory::of(pid),
            #[cfg(target_arch = "x86_64")]
            gate: self.gate.clone(),
        })
    }
}

/// The way in which a process image began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// The tracer launched this program.
    Launched,
    /// The program was already running when the tracer attached.
    Attached,
    /// A traced process has executed another program.
    Exec {
        /// The former number of the thread that called `exec`. It now has the number of its process.
        former: Pid,
    },
}

/// A traced thread, while it is stopped.
#[derive(Debug)]
pub struct Thread {
    /// The thread's own number.
    pub tid: Pid,
    /// The number of its process.
    pub pid: Pid,
    pub(super) image: Rc<Image>,
    pub(super) stop: Stop,
    /// The registers that the thread is to have, and those that it has.
    registers: Option<(Registers, Registers)>,
    /// The information on the signal it stopped for, kept once the kernel no longer has it.
    pub(super) kept: Option<SigInfo>,
    /// Signals that arrived during a step.
    pub(super) held: VecDeque<SigInfo>,
    /// Statuses other than signals that arrived during a step.
    pub(super) met: VecDeque<i32>,
    /// True when the process was stopped during a step.
    pub(super) regroup: bool,
    /// True when the signal's handler is to begin with that signal unblocked.
    pub(super) unblocked: bool,
}

impl Thread {
    pub(super) fn new(tid: Pid, pid: Pid, image: Rc<Image>) -> Thread {
        Thread {
            tid,
            pid,
            image,
            stop: Stop::Trap,
            registers: None,
            kept: None,
            held: VecDeque::new(),
            met: VecDeque::new(),
            regroup: false,
            unblocked: false,
        }
    }

    /// Returns the registers. They are fetched at the first call, and changes are written before the thread
    /// is resumed.
    ///
    /// # Errors
    /// Fails when the thread has been killed.
    pub fn registers(&mut self) -> io::Result<&mut Registers> {
        if self.registers.is_none() {
            let now = Registers::new(sys::registers(self.tid)?);
            self.registers = Some((now, now));
        }
        let both = self.registers.as_mut().expect("they were fetched if they were not there");
        Ok(&mut both.0)
    }

    /// Returns the memory of the thread's process.
    pub fn memory(&self) -> &ProcessMemory {
        &self.image.memory
    }

    /// Makes the handler of the signal that is about to be delivered, if there is one, begin with that signal
    /// unblocked. The handler may then execute instructions that fault on a tracer's behalf. If such a
    /// fault's signal is blocked, the kernel removes the program's handler for good.
    pub fn leave_unblocked(&mut self) {
        self.unblocked = true;
    }

    /// Records that the thread has stopped.
    pub(super) fn arrived(&mut self, stop: Stop) {
        self.stop = stop;
        self.registers = None;
        self.kept = None;
        self.unblocked = false;
    }

    /// Writes the changed registers to the thread.
    pub(super) fn write_back(&mut self) -> io::Result<()> {
        if let Some((wanted, there)) = &mut self.registers
            && wanted != there
        {
            sys::set_registers(self.tid, wanted.raw())?;
            *there = *wanted;
        }
        Ok(())
    }

    /// Drops the fetched registers, which the thread has changed by running.
    pub(super) fn forget_registers(&mut self) {
        self.registers = None;
    }
}

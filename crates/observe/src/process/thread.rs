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

/// What the threads of one process image share.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) memory: ProcessMemory,
    /// Where an instruction for system calls is.
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
    /// That of a child, which is a copy: what is known of the addresses is so there, too.
    pub(super) fn copy(&self, pid: Pid) -> Rc<Image> {
        Rc::new(Image {
            memory: ProcessMemory::of(pid),
            #[cfg(target_arch = "x86_64")]
            gate: self.gate.clone(),
        })
    }
}

/// How a process image began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// It is the program that was launched.
    Launched,
    /// It ran already.
    Attached,
    /// A process that was traced runs another program now.
    Exec {
        /// The thread that called `exec`: now it has the number of its process.
        former: Pid,
    },
}

/// A traced thread, while it is stopped.
#[derive(Debug)]
pub struct Thread {
    /// Its own number.
    pub tid: Pid,
    /// Its process's.
    pub pid: Pid,
    pub(super) image: Rc<Image>,
    pub(super) stop: Stop,
    /// As they are to be, and as the thread has them.
    registers: Option<(Registers, Registers)>,
    /// What was told with the signal it stopped for, once that can't be asked any more.
    pub(super) kept: Option<SigInfo>,
    /// Signals that came while it was stepped.
    pub(super) held: VecDeque<SigInfo>,
    /// Statuses that came while it was stepped, and mean something else.
    pub(super) met: VecDeque<i32>,
    /// Whether its process was stopped while it was stepped.
    pub(super) regroup: bool,
    /// Whether the signal's handler is to begin with that signal unblocked.
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

    /// Its registers. They are fetched when they are first asked for, and what is changed is written before it goes on.
    ///
    /// # Errors
    /// When it has been killed.
    pub fn registers(&mut self) -> io::Result<&mut Registers> {
        if self.registers.is_none() {
            let now = Registers::new(sys::registers(self.tid)?);
            self.registers = Some((now, now));
        }
        let both = self.registers.as_mut().expect("they were fetched if they were not there");
        Ok(&mut both.0)
    }

    /// The memory of its process.
    pub fn memory(&self) -> &ProcessMemory {
        &self.image.memory
    }

    /// Has the handler of the signal that is about to be delivered, if there is one, begin with that signal unblocked. So an instruction that
    /// faults on behalf of a tracer can be used in it: where the signal of a fault is blocked, the kernel takes the
    /// program's handler away for good.
    pub fn leave_unblocked(&mut self) {
        self.unblocked = true;
    }

    /// It stopped.
    pub(super) fn arrived(&mut self, stop: Stop) {
        self.stop = stop;
        self.registers = None;
        self.kept = None;
        self.unblocked = false;
    }

    /// Gives it the registers that were changed.
    pub(super) fn write_back(&mut self) -> io::Result<()> {
        if let Some((wanted, there)) = &mut self.registers
            && wanted != there
        {
            sys::set_registers(self.tid, wanted.raw())?;
            *there = *wanted;
        }
        Ok(())
    }

    /// They changed by themselves.
    pub(super) fn forget_registers(&mut self) {
        self.registers = None;
    }
}

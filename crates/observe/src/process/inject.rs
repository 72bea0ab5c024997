//! Single steps.

use std::io;

use super::siginfo::SigInfo;
use super::signals::{Stop, stop};
use super::sys::{self, Go};
use super::thread::Thread;

/// The outcome of a step.
#[derive(Clone, Copy, Debug)]
pub enum Stepped {
    /// The instruction was executed.
    Done,
    /// The instruction raised this signal instead, or it is a breakpoint and was executed. The signal comes
    /// to [`super::Watcher::signal`] later, with the registers of that time.
    Fault(SigInfo),
}

impl Thread {
    /// Executes one instruction. Signals that others send meanwhile come to [`super::Watcher::signal`] later.
    ///
    /// # Errors
    /// Fails with `ESRCH` when the thread has been killed.
    pub fn step(&mut self) -> io::Result<Stepped> {
        self.keep_signal()?;
        loop {
            self.write_back()?;
            sys::go(self.tid, Go::Step, 0)?;
            let status = sys::wait_one(self.tid)?;
            self.forget_registers();
            let Some(stop) = stop(status) else {
                self.met.push_back(status);
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            };
            match stop {
                Stop::Signal(_) => {
                    if let Some(stepped) = self.stepped(sys::signal_info(self.tid)?) {
                        return Ok(stepped);
                    }
                }
                Stop::Group(_) => self.regroup = true,
                // The tracer's own filter marked an injected call, which is still to be made.
                Stop::Trap | Stop::Event(libc::PTRACE_EVENT_SECCOMP) => {}
                Stop::Syscall | Stop::Event(_) => {
                    self.met.push_back(status);
                    return Ok(Stepped::Done);
                }
            }
        }
    }

    /// Decodes a signal during the step. Returns `None` if the step is still to be made.
    fn stepped(&mut self, info: SigInfo) -> Option<Stepped> {
        let trap = info.number() == libc::SIGTRAP && info.code() > 0;
        if trap && info.code() != super::SI_KERNEL {
            return Some(Stepped::Done);
        }
        self.held.push_back(info);
        info.is_fault().then_some(Stepped::Fault(info))
    }

    /// Keeps the information on the signal that the thread stopped for, because the kernel forgets it at the
    /// next stop. SIGTRAP is left out: breakpoints raise many, and the tracer swallows them.
    fn keep_signal(&mut self) -> io::Result<()> {
        if let Stop::Signal(number) = self.stop
            && number != libc::SIGTRAP
            && self.kept.is_none()
        {
            self.kept = Some(sys::signal_info(self.tid)?);
        }
        Ok(())
    }

    /// Fails on this architecture.
    ///
    /// # Errors
    /// Always fails.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn inject(&mut self, number: u64, arguments: [u64; 6]) -> io::Result<u64> {
        let _ = (number, arguments);
        Err(io::Error::new(io::ErrorKind::Unsupported, "system calls are injected on x86-64 only"))
    }
}

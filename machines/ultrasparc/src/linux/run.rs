//! The loop that runs a program: the processor executes until something stops it, and the loop serves the cause.

use std::sync::atomic::Ordering;

use crate::cpu::Trap;
use crate::linux::errno::{self, Errno, RESTART};
use crate::linux::kept::{After, Ended, Left};
use crate::linux::process::Process;
use crate::linux::{host, signals, syscalls};

/// Software traps. Ref. Linux `arch/sparc/kernel/ttable_64.S`.
mod trap {
    pub const BREAKPOINT: u8 = 0x01;
    pub const DIVISION: u8 = 0x02;
    pub const FLUSH_WINDOWS: u8 = 0x03;
    pub const SYSTEM_CALL: u8 = 0x6d;
    pub const GET_CONTEXT: u8 = 0x6e;
    pub const SET_CONTEXT: u8 = 0x6f;
    /// The first of the hypervisor's traps.
    pub const HYPERVISOR: u8 = 0x80;
}

impl Process {
    /// Runs the program to its end.
    pub fn run(&mut self) -> Ended {
        let left = self.serve();
        self.finish(left)
    }

    /// Runs a thread to its end, or to the program's.
    pub(crate) fn serve(&mut self) -> Left {
        let left = loop {
            if let Some(ended) = self.thread.over {
                break Left::Process(ended);
            }
            let left = match self.cpu.run() {
                Trap::Attention => {
                    // The flag is cleared before caught signals are looked for, as a later signal sets it again.
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

    /// Serves `ta 0x6d`: the number is in %g1, arguments are in %o0 to %o5. The result goes to %o0, or with the
    /// carries set the error.
    fn system_call(&mut self) -> Option<Left> {
        // A pending signal is delivered before the call begins.
        if host::is_caught() {
            return None;
        }
        // A call-out to the thread that has the turn is out of date.
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

    /// Sets the call's result or error, and goes on after it.
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
}

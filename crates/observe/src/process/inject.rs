//! Single steps, and system calls that a traced thread makes on our behalf.

use std::io;

use rustix::process::Pid;

use super::signals::{SigInfo, Stop, stop};
use super::sys::{self, Go};
use super::thread::Thread;
use crate::memory::Memory;

/// How a step ended.
#[derive(Clone, Copy, Debug)]
pub enum Stepped {
    /// The instruction was executed.
    Done,
    /// The instruction raised this signal instead, or is a breakpoint and was executed. The signal comes to
    /// [`super::Watcher::signal`] later, with the registers as they are then.
    Fault(SigInfo),
}

impl Thread {
    /// Executes one instruction. Signals that others send meanwhile come to [`super::Watcher::signal`] later.
    ///
    /// # Errors
    /// `ESRCH` when the thread has been killed.
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
                Stop::Trap => {}
                Stop::Syscall | Stop::Event(_) => {
                    self.met.push_back(status);
                    return Ok(Stepped::Done);
                }
            }
        }
    }

    /// What a signal says of the step; `None` if the step is still to be made.
    fn stepped(&mut self, info: SigInfo) -> Option<Stepped> {
        let trap = info.number() == libc::SIGTRAP && info.code() > 0;
        if trap && info.code() != super::SI_KERNEL {
            return Some(Stepped::Done);
        }
        self.held.push_back(info);
        info.is_fault().then_some(Stepped::Fault(info))
    }

    /// Remembers what the signal it stopped for says: after another stop nobody can ask. Of a breakpoint's, which are many
    /// and end here, nothing is remembered.
    fn keep_signal(&mut self) -> io::Result<()> {
        if let Stop::Signal(number) = self.stop
            && number != libc::SIGTRAP
            && self.kept.is_none()
        {
            self.kept = Some(sys::signal_info(self.tid)?);
        }
        Ok(())
    }

    /// Has it make a system call, with the number that its own kind of program has for it. Everything but what the call
    /// does is as before: also a call that was interrupted by this stop is restarted as it would have been.
    ///
    /// # Errors
    /// What the call answers; `ESRCH` when the thread has been killed.
    #[cfg(target_arch = "x86_64")]
    pub fn inject(&mut self, number: u64, arguments: [u64; 6]) -> io::Result<u64> {
        let before = *self.registers()?;
        let in_vdso = self.gate(before.is_32_bit());
        let at = in_vdso.unwrap_or(before.pc());
        let displaced = if in_vdso.is_none() { Some(self.write_gate(at, before.is_32_bit())?) } else { None };
        self.registers()?.prepare_call(at, number, arguments);
        let stepped = self.step();
        if let Some(bytes) = displaced {
            self.memory().write(at, &bytes)?;
        }
        let stepped = stepped?;
        let result = self.registers()?.result();
        *self.registers()? = before;
        match stepped {
            Stepped::Done => answer(result, before.is_32_bit()),
            Stepped::Fault(info) => {
                self.held.pop_back();
                Err(io::Error::other(format!("signal {} instead of a system call", info.number())))
            }
        }
    }

    /// Not on this architecture.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn inject(&mut self, number: u64, arguments: [u64; 6]) -> io::Result<u64> {
        let _ = (number, arguments);
        Err(io::Error::new(io::ErrorKind::Unsupported, "system calls are injected on x86-64 only"))
    }

    /// Writes the instruction for system calls over others: what was there.
    #[cfg(target_arch = "x86_64")]
    fn write_gate(&self, at: u64, is_32_bit: bool) -> io::Result<[u8; 2]> {
        let mut bytes = [0; 2];
        self.memory().read(at, &mut bytes)?;
        self.memory().write(at, &instruction(is_32_bit))?;
        Ok(bytes)
    }

    /// Where the kernel's own code in the process has an instruction for system calls, or bytes that are one: it is executed
    /// alone, so it does not matter what they are there for. So no code is written, which other threads may be executing.
    #[cfg(target_arch = "x86_64")]
    fn gate(&self, is_32_bit: bool) -> Option<u64> {
        if self.image.gate.get().is_none() {
            self.image.gate.set(self.find_gate(is_32_bit));
        }
        self.image.gate.get()
    }

    #[cfg(target_arch = "x86_64")]
    fn find_gate(&self, is_32_bit: bool) -> Option<u64> {
        const MOST: usize = 8192;
        let base = vdso(self.pid, is_32_bit)?;
        let mut code = [0; MOST];
        let length = self.memory().read_some(base, &mut code).ok()?;
        let wanted = instruction(is_32_bit);
        let offset = code[..length].windows(wanted.len()).position(|bytes| bytes == wanted)?;
        Some(base + offset as u64)
    }
}

/// `syscall`, or `int 0x80`.
#[cfg(target_arch = "x86_64")]
fn instruction(is_32_bit: bool) -> [u8; 2] {
    if is_32_bit { [0xcd, 0x80] } else { [0x0f, 0x05] }
}

/// The last 4095 values are errors.
#[cfg(target_arch = "x86_64")]
fn answer(result: u64, is_32_bit: bool) -> io::Result<u64> {
    let signed = if is_32_bit { i64::from(result as i32) } else { result as i64 };
    match signed {
        -4095..0 => Err(io::Error::from_raw_os_error(-signed as i32)),
        _ => Ok(result),
    }
}

/// Where the kernel put its code: the auxiliary vector says it.
#[cfg(target_arch = "x86_64")]
fn vdso(pid: Pid, is_32_bit: bool) -> Option<u64> {
    const AT_SYSINFO_EHDR: u64 = 33;
    let vector = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let size = if is_32_bit { 4 } else { 8 };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let mut entries = vector.chunks_exact(2 * size).map(|entry| entry.split_at(size));
    let found = entries.find(|(kind, _)| number(kind) == AT_SYSINFO_EHDR);
    found.map(|(_, value)| number(value))
}

//! System calls that a traced thread makes on the tracer's behalf.

use std::io;

use rustix::process::Pid;

use super::inject::Stepped;
use super::signals::Stop;
use super::thread::Thread;
use crate::memory::Memory;

impl Thread {
    /// Makes the thread execute a system call, by its number for 64-bit or 32-bit programs. Only the call's
    /// own effects remain: a call that this stop interrupted is restarted as it would have been.
    ///
    /// # Errors
    /// Returns the call's error, `ESRCH` when the thread has been killed, or [`io::ErrorKind::ResourceBusy`]
    /// while it waits for its vfork child.
    pub fn inject(&mut self, number: u64, arguments: [u64; 6]) -> io::Result<u64> {
        if matches!(self.stop, Stop::Event(_)) {
            self.finish_call()?;
        }
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

    /// Lets the thread finish the system call that it is in.
    fn finish_call(&mut self) -> io::Result<()> {
        if self.stop == Stop::Event(libc::PTRACE_EVENT_VFORK) {
            let text = "it waits for the child that it made with vfork";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        self.step()?;
        self.stop = Stop::Trap;
        Ok(())
    }

    /// Finds an instruction for system calls while the memory can be read. Forked children can then make
    /// calls even where their memory can't be read.
    ///
    /// # Errors
    /// Fails when the thread has been killed.
    pub fn expect_calls(&mut self) -> io::Result<()> {
        let is_32_bit = self.registers()?.is_32_bit();
        self.gate(is_32_bit);
        Ok(())
    }

    /// Opens the memory of a new process whose parent had made itself undumpable, which also bars an
    /// unprivileged tracer. The process is made dumpable for a moment in which it does not run.
    ///
    /// # Errors
    /// Returns the error of a call, or that the memory can't be opened even so.
    pub fn open_memory(&mut self) -> io::Result<()> {
        let prctl = |thread: &mut Thread, what: i32, value: u64| {
            thread.inject(libc::SYS_prctl as u64, [what as u64, value, 0, 0, 0, 0])
        };
        if self.image.gate.get().is_none() || prctl(self, libc::PR_GET_DUMPABLE, 0)? != 0 {
            return self.memory().try_clone().map(drop);
        }
        prctl(self, libc::PR_SET_DUMPABLE, 1)?;
        self.image = self.image.copy(self.pid);
        prctl(self, libc::PR_SET_DUMPABLE, 0)?;
        self.memory().try_clone().map(drop)
    }

    /// Writes the instruction for system calls over the code, and returns the bytes from before.
    fn write_gate(&self, at: u64, is_32_bit: bool) -> io::Result<[u8; 2]> {
        let mut bytes = [0; 2];
        self.memory().read(at, &mut bytes)?;
        self.memory().write(at, &instruction(is_32_bit))?;
        Ok(bytes)
    }

    /// Returns the address of an instruction for system calls in the vDSO, or of bytes that decode as one, as
    /// only that instruction is executed. Using it avoids writing to code that other threads may be
    /// executing.
    fn gate(&self, is_32_bit: bool) -> Option<u64> {
        if self.image.gate.get().is_none() {
            self.image.gate.set(self.find_gate(is_32_bit));
        }
        self.image.gate.get()
    }

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

/// Returns `syscall` or `int 0x80`.
fn instruction(is_32_bit: bool) -> [u8; 2] {
    if is_32_bit { [0xcd, 0x80] } else { [0x0f, 0x05] }
}

/// Decodes a call's result. The last 4095 values are errors.
fn answer(result: u64, is_32_bit: bool) -> io::Result<u64> {
    let signed = if is_32_bit { i64::from(result as i32) } else { result as i64 };
    match signed {
        -4095..0 => Err(io::Error::from_raw_os_error(-signed as i32)),
        _ => Ok(result),
    }
}

/// Returns the address of the vDSO, from the auxiliary vector.
fn vdso(pid: Pid, is_32_bit: bool) -> Option<u64> {
    const AT_SYSINFO_EHDR: u64 = 33;
    let vector = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let size = if is_32_bit { 4 } else { 8 };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let mut entries = vector.chunks_exact(2 * size).map(|entry| entry.split_at(size));
    let found = entries.find(|(kind, _)| number(kind) == AT_SYSINFO_EHDR);
    found.map(|(_, value)| number(value))
}

//! The kernel's information on a signal.

use rustix::process::Pid;

/// The code of signals from the kernel itself: for a key on the terminal, a breakpoint, or a fault without an
/// address.
pub const SI_KERNEL: i32 = 0x80;

/// The kernel's information on a signal, beside its number.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(8))]
pub struct SigInfo {
    pub(super) number: i32,
    errno: i32,
    code: i32,
    filler: i32,
    rest: [u64; 14],
}

impl SigInfo {
    /// The signal's number.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Returns the cause: positive if the kernel sent the signal, for a fault [`SI_KERNEL`] or one of the
    /// signal's own codes.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Returns the address of a fault.
    pub fn address(&self) -> u64 {
        self.rest[0]
    }

    /// Returns the sender, if a process sent the signal.
    pub fn sender(&self) -> Option<Pid> {
        if self.code > 0 { None } else { Pid::from_raw(self.rest[0] as u32 as i32) }
    }

    /// Returns true when an instruction of the thread raised the signal, so that executing it again raises it
    /// again.
    pub fn is_fault(&self) -> bool {
        let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        self.code > 0 && faults.contains(&self.number)
    }
}

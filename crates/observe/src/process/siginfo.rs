//! What the kernel tells of a signal besides its number.

use rustix::process::Pid;

/// The code of a signal that the kernel sent: for a key on the terminal, a breakpoint, a fault that has no address.
pub const SI_KERNEL: i32 = 0x80;

/// What is known of a signal besides its number.
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

    /// Why: positive when the kernel sent it, for a fault [`SI_KERNEL`] or one of the signal's own codes.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Where, of a fault.
    pub fn address(&self) -> u64 {
        self.rest[0]
    }

    /// Who sent it, when a process did.
    pub fn sender(&self) -> Option<Pid> {
        if self.code > 0 { None } else { Pid::from_raw(self.rest[0] as u32 as i32) }
    }

    /// Whether an instruction of the thread itself raised it, so that it comes again when that is executed again.
    pub fn is_fault(&self) -> bool {
        let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        self.code > 0 && faults.contains(&self.number)
    }
}

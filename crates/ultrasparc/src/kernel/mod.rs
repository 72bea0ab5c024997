//! The operating system's part in using the accelerators: the framework's path, the fast path's grant, and hypervisor
//! calls of privileged guests.
//!
//! Solaris reached the units through its cryptographic framework; none of that is here. What is here does the same work in
//! the same order (a system call, copies, control words, hypervisor calls, an interrupt, copies) behind a system call of ours.

use crate::cpu::Cpu;

/// What a machine has beside Linux: it answers what the Linux personality does not know.
pub trait Extension {
    /// A system call: the value for %o0, or an errno of SPARC's. Nothing where this has no such call either.
    fn syscall(&mut self, cpu: &mut Cpu, number: u64, arguments: [u64; 6]) -> Option<Result<u64, u64>>;

    /// A software trap from 0x80 on, `ta 0x80 + n`: it sets the registers and answers true, and its caller goes on after the
    /// instruction; or false, for an illegal instruction's signal.
    fn hypervisor(&mut self, cpu: &mut Cpu, number: u8) -> bool;
}

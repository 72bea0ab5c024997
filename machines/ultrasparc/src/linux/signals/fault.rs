//! The signals of a program's own making: the signal of each trap that stops it.

use super::{SIGBUS, SIGEMT, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
use crate::cpu::{Cpu, Trap};
use crate::linux::structures::Fields;
use crate::memory::{Access, Fault};

/// A signal to a program: SPARC's number and `siginfo`.
pub struct Signal {
    pub(super) number: u8,
    pub(super) information: Vec<u8>,
}

/// A signal about an address.
pub(super) fn about(number: u8, code: u32, address: u64) -> Signal {
    let information = Fields::new().u32(number.into()).u32(0).u32(code).u32(0).u64(address).pad(128).bytes();
    Signal { number, information }
}

/// The signal of a trap; `None` for traps that are no fault, such as system calls.
pub fn of_trap(cpu: &Cpu, trap: Trap) -> Option<Signal> {
    const ILL_ILLOPC: u32 = 1;
    const ILL_PRVOPC: u32 = 5;
    const BUS_ADRALN: u32 = 1;
    const BUS_ADRERR: u32 = 2;
    const SEGV_MAPERR: u32 = 1;
    const SEGV_ACCERR: u32 = 2;
    const FPE_INTDIV: u32 = 1;
    const EMT_TAGOVF: u32 = 1;
    Some(match trap {
        Trap::IllegalInstruction(_) => about(SIGILL, ILL_ILLOPC, cpu.pc),
        Trap::PrivilegedOpcode(_) | Trap::PrivilegedAction => about(SIGILL, ILL_PRVOPC, cpu.pc),
        Trap::NotAligned(address) => about(SIGBUS, BUS_ADRALN, address),
        Trap::Memory(fault) => {
            let (signal, code) = match fault {
                Fault { ended: true, .. } => (SIGBUS, BUS_ADRERR),
                Fault { mapped: true, .. } => (SIGSEGV, SEGV_ACCERR),
                Fault { .. } => (SIGSEGV, SEGV_MAPERR),
            };
            let address = if fault.access == Access::Execute { cpu.pc } else { fault.address };
            about(signal, code, address)
        }
        Trap::DivisionByZero => about(SIGFPE, FPE_INTDIV, cpu.pc),
        Trap::TagOverflow => about(SIGEMT, EMT_TAGOVF, cpu.pc),
        Trap::FpException => about(SIGFPE, float_code(cpu.fsr), cpu.pc),
        Trap::Software(_) | Trap::Attention => return None,
    })
}

/// `si_code` of the exception in `fsr`.
fn float_code(fsr: u64) -> u32 {
    const IEEE: u64 = 1;
    const FPE_FLTUNK: u32 = 14;
    if fsr >> 14 & 7 != IEEE {
        return FPE_FLTUNK;
    }
    // The bits of `cexc` from the highest: invalid, overflow, underflow, division, inexact.
    let codes = [(0x10, 7), (0x08, 4), (0x04, 5), (0x02, 3), (0x01, 6)];
    codes.into_iter().find(|(bit, _)| fsr & bit != 0).map_or(FPE_FLTUNK, |(_, code)| code)
}

/// The signal of `ta 1`.
pub fn breakpoint(cpu: &Cpu) -> Signal {
    const TRAP_BRKPT: u32 = 1;
    about(SIGTRAP, TRAP_BRKPT, cpu.pc)
}

/// The signal of a software trap that nobody answers.
pub fn unknown_trap(cpu: &Cpu) -> Signal {
    const ILL_ILLTRP: u32 = 4;
    about(SIGILL, ILL_ILLTRP, cpu.pc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_exception_has_its_code() {
        assert_eq!(float_code(1 << 14 | 0x02), 3);
        assert_eq!(float_code(1 << 14 | 0x10), 7);
        assert_eq!(float_code(2 << 14), 14);
    }
}

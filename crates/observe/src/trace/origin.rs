//! What crypto instructions ran for, as far as those who called say it.

use super::findings::Origin;
use crate::code::unwind::{Caller, Registers};

/// What it was, by the names of the functions that a thread was in.
pub(super) fn of(_library: Option<&str>, _function: &str, _chain: &[String]) -> Origin {
    Origin::Work
}

/// A frame's name for people.
pub(super) fn name(caller: &Caller) -> String {
    match (&caller.function, &caller.module) {
        (Some(function), Some(module)) if !caller.is_named => format!("{module}:{function}"),
        (Some(function), _) => function.clone(),
        (None, Some(module)) => format!("{module}:{:x}", caller.address),
        (None, None) => format!("{:x}", caller.address),
    }
}

/// In the order that unwinding wants.
#[cfg(target_arch = "x86_64")]
pub(super) fn registers(registers: &crate::process::Registers) -> Registers {
    let r = registers;
    Registers {
        pc: r.pc(),
        general: [
            r.rax(),
            r.rdx(),
            r.rcx(),
            r.rbx(),
            r.rsi(),
            r.rdi(),
            r.rbp(),
            r.rsp(),
            r.r8(),
            r.r9(),
            r.r10(),
            r.r11(),
            r.r12(),
            r.r13(),
            r.r14(),
            r.r15(),
        ],
    }
}

/// Nothing is unwound here.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn registers(registers: &crate::process::Registers) -> Registers {
    Registers { pc: registers.pc(), general: [0; 16] }
}

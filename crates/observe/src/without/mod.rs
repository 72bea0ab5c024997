//! Hides features of the processor from a program.
//!
//! On x86-64, the kernel can make the instruction CPUID fault (`ARCH_SET_CPUID`). Each traced program is set
//! up so before its first instruction, and its CPUIDs are answered here with the bits of withheld features
//! cleared. The cost is one stop for each CPUID; programs execute some dozens when they start. On AArch64,
//! programs read the auxiliary vector instead, which is edited on each new program's stack.
//!
//! The instructions themselves can't be taken away. A program that executes AES rounds without asking still
//! does so.
//!
//! # What a program could notice
//! - The fault is a SIGSEGV that the program never sees. But if the thread has SIGSEGV blocked or ignored
//!   while it executes CPUID, the kernel resets the process's disposition of SIGSEGV to the default, and
//!   nothing tells afterwards whether it did. So handlers of SIGSEGV begin with the signal unblocked, and may
//!   execute CPUID. A handler that faults itself is entered again rather than killed. The remaining case are
//!   programs that catch SIGSEGV, block it, and then ask for features.
//! - `arch_prctl(ARCH_GET_CPUID)` returns 0, and `ARCH_SET_CPUID` lets a program see everything again.
//! - Set-user-ID programs do not gain privileges while they are traced, unless root traces them.
//!   [`Report::notes`] lists them.

mod answer;
mod arch;
pub mod auxv;
mod masker;
mod processor;
mod report;

pub use answer::{Answer, Question, answer, hidden};
pub use masker::Masker;
pub use processor::{Unsupported, supported};
pub use report::{Note, Report, Why};

//! A program that does not see what the processor has.
//!
//! On x86-64 the kernel can have the instruction CPUID fault (`ARCH_SET_CPUID`): each traced program is set so before its first
//! instruction, and what it asks is answered here, with the bits of what is withheld cleared. It costs what a stop costs
//! for each CPUID, of which programs execute some dozens when they start, and nothing afterwards. On AArch64 programs read the
//! auxiliary vector instead, and that is edited on each new program's stack.
//!
//! The instructions themselves can't be taken away: a program that executes AES rounds without asking still does so.
//!
//! # What a program could notice
//! - The fault is a SIGSEGV that the program never sees. If the thread has SIGSEGV blocked or ignored while it executes CPUID,
//!   the kernel makes the process's disposition of SIGSEGV the default one, and nobody can tell afterwards whether it did. So
//!   handlers of SIGSEGV begin with it unblocked, and may execute CPUID; one that faults itself is entered again
//!   rather than ended. What is left are programs that catch SIGSEGV, block it, and then ask for features.
//! - `arch_prctl(ARCH_GET_CPUID)` answers 0, and `ARCH_SET_CPUID` lets a program see everything again.
//! - Set-user-ID programs do not gain privileges while they are traced, unless root traces them. [`Report::notes`] has them.

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

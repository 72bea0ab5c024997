//! Linux for sparc64: programs are loaded, and their system calls and signals are those of this machine's kernel.
//!
//! A [`Process`] is one program on one processor. Its descriptors, children, timers and terminal are this process's
//! own. Only numbers and layouts differ, which [`errno`], [`flags`] and [`structures`] translate. [`syscalls`] is the
//! table of calls.
//! Ref. Linux `arch/sparc/kernel/{entry.S,systbls.S,signal_64.c,sys_sparc_64.c}`.

pub mod elf;
pub mod errno;
pub mod flags;
pub mod host;
mod kept;
mod load;
pub mod process;
mod run;
pub mod signals;
pub mod stack;
pub mod structures;
pub mod syscalls;
pub(crate) mod threads;

pub use elf::LoadError;
pub use errno::Errno;
pub use kept::{Driver, Ended, Mapped};
pub use process::{Process, Settings};

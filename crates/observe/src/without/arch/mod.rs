//! The method of hiding features on each architecture: `hide` runs before a program begins, `faulted` when it
//! gets a SIGSEGV, `show` before it is let go.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Kept;

#[cfg(not(target_arch = "x86_64"))]
mod vector;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use vector::Kept;

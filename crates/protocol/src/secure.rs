//! The identity of this process, and whether somebody else controls its environment.
//!
//! # Safety
//! The calls of the C library here take and return numbers, and touch no memory of ours.
#![allow(unsafe_code)]

/// Returns true when the process has more rights than whoever started it. The kernel says so of a set-user-ID
/// or set-group-ID program, one with file capabilities, and one that a security module put into another
/// domain. A process that has taken another user's identity since then counts, too.
pub fn has_more_rights() -> bool {
    // SAFETY: the file's head says why.
    unsafe {
        libc::getauxval(libc::AT_SECURE) != 0
            || libc::getuid() != libc::geteuid()
            || libc::getgid() != libc::getegid()
    }
}

/// Returns the effective user of the process.
pub(crate) fn uid() -> u32 {
    // SAFETY: the file's head says why.
    unsafe { libc::geteuid() }
}

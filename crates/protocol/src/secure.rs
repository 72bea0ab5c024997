//! What this process is allowed to believe: who it is, and whether somebody else chose its environment.
//!
//! # Safety
//! The C library's calls here take and return numbers and touch no memory of ours.
#![allow(unsafe_code)]

/// Whether the process has more rights than whoever started it, as the kernel said when it was started: a set-user-ID or
/// set-group-ID program, one with file capabilities, or one that a security module gave another domain. A
/// process that took another user's identity later on, without a new program, has them too.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: see the module.
    unsafe {
        libc::getauxval(libc::AT_SECURE) != 0
            || libc::getuid() != libc::geteuid()
            || libc::getgid() != libc::getegid()
    }
}

/// The user whose rights the process has.
pub(crate) fn uid() -> u32 {
    // SAFETY: see the module.
    unsafe { libc::geteuid() }
}

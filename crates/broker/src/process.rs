//! The limits of the broker's own process: the privileges it gives up, its descriptors, and the machine's
//! memory.
//!
//! # Safety
//! The one call without a safe wrapper takes a number and returns one.
#![allow(unsafe_code)]

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::set_no_new_privs;

/// Gives up new privileges, core dumps and inspection by others of the same user. Raises the limit of
/// descriptors to the hard limit, because a grant takes six.
pub(crate) fn settle() -> io::Result<()> {
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files })?;
    Ok(())
}

/// Returns how many descriptors there are for clients, apart from those that the broker needs itself.
pub(crate) fn descriptors_for_clients(workers: usize) -> u64 {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    files - (files / 4).min(64 + 4 * workers as u64)
}

/// Returns the bytes of the machine's memory.
pub(crate) fn memory() -> u64 {
    // SAFETY: the file's head says why.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(1 << 18).saturating_mul(rustix::param::page_size() as u64)
}

/// Returns true when memory or descriptors have run out, here or in the system.
pub(crate) fn has_run_out(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS | libc::ENOSPC | libc::ETOOMANYREFS)
    )
}

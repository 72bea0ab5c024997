//! What the broker's own process gives up, and how many descriptors it may have.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::set_no_new_privs;

/// No new privileges, no core dump, no peeking by others of the same user; and as many descriptors as the hard
/// limit allows, because a grant takes six.
pub(crate) fn settle() -> io::Result<()> {
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files })?;
    Ok(())
}

/// Whether memory or descriptors have run out, here or in the system.
pub(crate) fn has_run_out(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS | libc::ENOSPC | libc::ETOOMANYREFS)
    )
}

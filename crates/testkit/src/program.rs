//! Copies of programs for tests.

use std::path::Path;
use std::process::Command;

/// Copies a program that is to be started. Another process does the copying, because a descriptor that is
/// open for writing is inherited by each child that a thread of this process starts meanwhile, and until that
/// child's exec nobody can start the copy.
///
/// # Panics
/// When it can't be copied.
#[track_caller]
pub fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status();
    assert!(status.is_ok_and(|status| status.success()), "cp {} {}", from.display(), to.display());
}

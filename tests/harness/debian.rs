//! Debian's sources, for programs that no package has in the needed form.

use std::path::{Path, PathBuf};

// The development tasks, which have no library, need the same.
#[path = "../../crates/xtask/src/upstream/apt.rs"]
mod apt;

/// Unpacks a Debian source package below a folder.
///
/// # Panics
/// Panics when it can't be had.
#[track_caller]
pub fn debian_source(work: &Path, package: &str) -> PathBuf {
    let source = apt::Apt::new(work).and_then(|apt| apt.source(package));
    source.unwrap_or_else(|why| panic!("{why}")).1
}

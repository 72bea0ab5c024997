//! The driver in the next Debian: built for DPDK 24.11, under the suites of that version.

use crate::install::build::{artifact, cargo};
use crate::release::system::{Inside, bootstrap_of, try_out};
use crate::run::{CHECKED, root};

/// The Debian that has DPDK 24.11.
const SUITE: &str = "trixie";

/// The script that builds the driver there, and runs it.
const SCRIPT: &str = include_str!("newer.sh");

/// Builds the driver in a Debian with DPDK 24.11, and runs that version's cryptodev suites on it.
///
/// # Errors
/// When a step fails, or more cases do than are known.
pub fn newer() -> Result<(), String> {
    let packages = "dpdk-dev,libdpdk-dev,gcc,libc6-dev,pkgconf";
    let Some(system) = bootstrap_of(SUITE, "dpdk", "minbase", packages)? else {
        println!("SKIPPED dpdk-newer: this machine can't make a system of Debian {SUITE}");
        return Ok(());
    };
    let messages = cargo(CHECKED, &["build", "--package", "millstream-dpdk", "--lib"], &[])?;
    let archive = artifact(&messages, "millstream_dpdk", ".a")?;
    let inside = archive.strip_prefix(root()).map_err(|_| "the archive is outside of the workspace")?;
    let script = SCRIPT.replace("ARCHIVE", &format!("/from/{}", inside.display()));
    try_out(&system, &root(), &Inside::Script(&script))
}

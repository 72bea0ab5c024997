//! The driver for DPDK: the crate's archive, linked with the driver's C side where DPDK's headers are.

mod gateway;
mod next;

use std::path::PathBuf;

use crate::install::build::{artifact, cargo};
use crate::run::{command, root, run, works};

pub use gateway::gateway;
pub use next::next;

/// Returns true if the headers that the driver is compiled with are installed.
pub fn has_headers() -> bool {
    works("pkg-config", &["--exists", "libdpdk"])
}

/// Builds the driver in a profile, under its own name. Returns its path.
///
/// # Errors
/// When there are no headers of a version that the driver knows, or a step fails.
pub fn build(profile: &str) -> Result<PathBuf, String> {
    if !has_headers() {
        return Err("pkg-config finds no libdpdk: install libdpdk-dev".to_owned());
    }
    let messages = cargo(profile, &["build", "--package", "millstream-dpdk", "--lib"], &[])?;
    let archive = artifact(&messages, "millstream_dpdk", ".a")?;
    let library = archive.with_file_name("libmillstream-dpdk.so");
    let script = root().join("crates/dpdk/driver/link.sh");
    let mut link = command("sh", &[]);
    link.arg(script).arg(archive).arg(&library);
    run(link)?;
    Ok(library)
}

/// Builds the driver as it is released, and says where it is.
///
/// # Errors
/// As for [`build`].
pub fn dpdk() -> Result<(), String> {
    println!("{}", build("release")?.display());
    Ok(())
}

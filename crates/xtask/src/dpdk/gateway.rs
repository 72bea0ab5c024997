//! DPDK's example of a gateway, `ipsec-secgw`, on the driver: its own tests of packets, and tunnels to `millstream esp`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{build, has_headers};
use crate::run::{RELEASE, command, root, run};
use crate::upstream::apt::Apt;

/// The script that runs the gateway.
const SCRIPT: &str = include_str!("gateway.sh");

/// Builds the gateway from the distribution's source of DPDK, and runs it on the driver in namespaces of its own. It needs neither huge pages nor devices.
///
/// # Errors
/// When a step fails.
pub fn gateway() -> Result<(), String> {
    if !has_headers() {
        println!("SKIPPED dpdk-gateway: pkg-config finds no libdpdk");
        return Ok(());
    }
    let example = example()?;
    let driver = build(RELEASE)?;
    run(command("cargo", &["build", "--release", "--package", "millstream-cli", "--bin", "millstream"]))?;
    let millstream = driver.with_file_name("millstream");
    let work = root().join("target/dpdk/gateway");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    unshare.args(["bash", "-euc", SCRIPT, "gateway"]).args([&example, &driver, &millstream]);
    // The script is long, so the command is not shown.
    let status = unshare.current_dir(&work).status().map_err(|e| format!("unshare: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("the gateway: {status}; see {}", work.display())) }
}

/// Returns the folder of the example, in which it is built.
fn example() -> Result<PathBuf, String> {
    let folder = root().join("target/upstream/dpdk");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (_, source) = Apt::new(&folder)?.source("dpdk")?;
    let example = source.join("examples/ipsec-secgw");
    // The example's own rules ask pkg-config for the DPDK that is installed.
    let mut make = command("make", &["-s"]);
    make.env("CFLAGS", "-O1").env_remove("MAKEFLAGS").current_dir(&example);
    if !Path::new(&example.join("build/ipsec-secgw")).exists() {
        run(make)?;
    }
    Ok(example)
}

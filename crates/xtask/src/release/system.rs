//! Small Debian systems: made once, and used by trials that leave them as they were.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{at, command, root, run, works};
use crate::setup::{SYSTEMS, is_root};

/// The script that mounts a system.
const IN_CLEAN_ROOT: &str = include_str!("in_clean_root.sh");

/// The line that follows, to run its argument in the system.
const WITHIN: &str = "exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root chroot \"$clean\" \
                      sh -euc \"$argument\"";

/// A script to run in a system.
pub enum Inside<'a> {
    /// A script, which the system's own shell runs.
    Script(&'a str),
    /// A script that the host's shell runs beside the system, with its argument. The system's folder is `$clean` there.
    Outer(&'a str, &'a str),
}

/// Returns the folder of a system of this machine's Debian with some packages, which is made once. Returns nothing if this
/// machine can't make it, or this user may not mount it.
///
/// # Errors
/// When a folder can't be made.
pub fn bootstrap(name: &str, variant: &str, packages: &str) -> Result<Option<PathBuf>, String> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    bootstrap_of(suite.ok_or("/etc/os-release: no VERSION_CODENAME")?, name, variant, packages)
}

/// Does the same as [`bootstrap`] for another Debian, by its code name.
///
/// # Errors
/// When a folder can't be made.
pub fn bootstrap_of(
    suite: &str,
    name: &str,
    variant: &str,
    packages: &str,
) -> Result<Option<PathBuf>, String> {
    let may_mount = || {
        works("unshare", &["--mount", "--pid", "--fork", "--net", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
    };
    if !is_root() || !may_mount() || !works("mmdebstrap", &["--version"]) {
        return Ok(None);
    }
    let folder = root().join(SYSTEMS).join(format!("{suite}-{name}"));
    if folder.exists() {
        return Ok(Some(folder));
    }
    let fresh = folder.with_extension("new");
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir_all(root().join(SYSTEMS)).map_err(at(&fresh))?;
    let mut make = command("mmdebstrap", &["--mode=root", "--quiet", "--dpkgopt=force-unsafe-io"]);
    make.args([format!("--variant={variant}"), format!("--include={packages}")]).arg(suite).arg(&fresh);
    if let Err(why) = run(make) {
        // Without a mirror of Debian there is no system to be had.
        eprintln!("xtask: {why}: packages will not be tried in a system of their own");
        return Ok(None);
    }
    fs::rename(&fresh, &folder).map_err(at(&folder))?;
    Ok(Some(folder))
}

/// Runs something in a system that forgets all changes. The folder `from` is visible there as `/from`.
///
/// # Errors
/// When it fails.
pub fn try_out(system: &Path, from: &Path, inside: &Inside) -> Result<(), String> {
    let (script, argument) = match inside {
        Inside::Script(script) => (WITHIN, *script),
        Inside::Outer(script, argument) => (*script, *argument),
    };
    let work = root().join("target/packaging/clean");
    fs::create_dir_all(&work).map_err(at(&work))?;
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--net", "--kill-child", "sh", "-euc"]);
    unshare.arg(format!("{IN_CLEAN_ROOT}{script}")).arg("sh").arg(system).arg(&work).arg(from).arg(argument);
    // The scripts are long, so the command is not shown.
    let status = unshare.status().map_err(|e| format!("unshare: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("the trial in {}: {status}", system.display())) }
}

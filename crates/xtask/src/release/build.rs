//! A build of a commit, and the time that everything made of it bears.

use std::path::Path;
use std::process::Command;

use super::components::{self, Component};
use crate::install::build::{Built, Extent};
use crate::run::{RELEASE, command, output, run};

/// The options with which all files of an archive are root's, whoever makes it.
pub const OF_ROOT: &[&str] = &["--owner=0", "--group=0"];

/// A build of a commit, from which packages are made.
pub struct Build {
    pub built: Built,
    /// The crates that are compiled in.
    pub components: Vec<Component>,
    /// The time of the commit, in seconds since 1970.
    pub epoch: String,
    /// The level of compression. A release that is only tried is hardly compressed, which takes a tenth of the time.
    pub level: u8,
}

impl Build {
    /// Builds the release, and finds out what is in it.
    ///
    /// # Errors
    /// Names the step that failed.
    pub fn make(extent: Extent) -> Result<Self, String> {
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => {
                let time = output(command("git", &["log", "-1", "--format=%ct"]));
                time.map_err(|e| format!("{e}; outside of a repository set SOURCE_DATE_EPOCH"))?
                    .trim()
                    .to_owned()
            }
        };
        let level = match extent {
            Extent::Small => 1,
            Extent::Full => 6,
        };
        Ok(Build { built: Built::make(RELEASE, extent)?, components: components::shipped()?, epoch, level })
    }

    /// Archives a folder. The ending of the archive's name says how it is compressed, and `owners` whose the files are.
    ///
    /// # Errors
    /// When `tar` fails.
    pub fn archive(&self, tree: &Path, to: &Path, owners: &[&str]) -> Result<(), String> {
        let mut tar = Command::new("tar");
        tar.args(["--create", "--auto-compress", "--sort=name", "--numeric-owner"]).args(owners);
        tar.args(["--format=gnu", "--mode=u+rwX,go=rX"]).arg(format!("--mtime=@{}", self.epoch));
        tar.arg("--file").arg(to).arg("--directory").arg(tree).arg(".");
        // With several threads the bytes would depend on their number.
        tar.env("XZ_OPT", format!("-{} --threads=1", self.level));
        run(tar)
    }
}

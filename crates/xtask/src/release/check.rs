//! Checks what `cargo xtask release` makes: the same bytes twice, lintian's rules, and use in a clean system.

use std::fs;
use std::path::{Path, PathBuf};

use super::build::Build;
use super::image;
use super::make::{ARTIFACTS, Release, debian_packages};
use super::system::{Inside, bootstrap, try_out};
use crate::install::build::Extent;
use crate::install::items::files;
use crate::run::{at, command, output, root, run, works};
use crate::setup::is_root;

/// The folder of a second release, to compare with.
const AGAIN: &str = "target/artifacts-again";

/// The packages of the clean system, beside those that every Debian system has.
const NEEDED: &str = "gcc,libc6-dev,openssl,pkg-config";

/// The script that starts a container's command.
const TRIAL_OF_IMAGE: &str = include_str!("trial_image.sh");

/// The script that installs, uses, removes and purges the packages.
const TRIAL: &str = include_str!("trial.sh");

/// The result of checking packages.
#[derive(Default)]
pub struct Checked {
    /// The number of checks that passed.
    pub passed: u64,
    /// The checks that can't be made on this machine, and why.
    pub skipped: Vec<String>,
}

/// Makes the release to this extent, and checks it.
///
/// # Errors
/// Names the check that failed.
pub fn check(extent: Extent) -> Result<Checked, String> {
    let mut checked = Checked::default();
    let release = Release { out: ARTIFACTS.into() };
    let build = Build::make(extent)?;
    release.write(&build)?;
    let out = root().join(&release.out);
    let again = root().join(AGAIN);
    debian_packages(&build, &again)?;
    compare(&out, &again)?;
    checked.passed += 1;
    if works("lintian", &["--version"]) {
        lintian(&out)?;
        checked.passed += 1;
    } else {
        checked.skipped.push("lintian is not installed: packages were not held to Debian's rules".to_owned());
    }
    match clean_root()? {
        Some(clean) => {
            try_out(&clean, &out, &Inside::Script(TRIAL))?;
            checked.passed += 1;
        }
        None => checked.skipped.push(
            "mmdebstrap is missing or found no mirror, or this user may not mount: packages were not installed in a clean system"
                .to_owned(),
        ),
    }
    image_runs(&out, &mut checked)?;
    Ok(checked)
}

/// Builds everything once more in another folder, packages it, and compares with the release that `check` has made.
///
/// # Errors
/// Names the files that differ.
pub fn build_again() -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| format!("xtask: {e}"))?;
    let mut release = command(&program.to_string_lossy(), &["release", "--out", AGAIN]);
    release.env("CARGO_TARGET_DIR", root().join("target/again"));
    run(release)?;
    compare(&root().join(ARTIFACTS), &root().join(AGAIN))
}

/// Compares the files of a second run with those of the first, and removes them.
fn compare(first: &Path, again: &Path) -> Result<(), String> {
    for file in files(again)? {
        let first = first.join(file.file_name().unwrap_or_default());
        if fs::read(&file).map_err(at(&file))? != fs::read(&first).map_err(at(&first))? {
            return Err(format!("{} and {} differ", first.display(), file.display()));
        }
    }
    fs::remove_dir_all(again).map_err(at(again))
}

fn lintian(out: &Path) -> Result<(), String> {
    let mut lintian = command("lintian", &["--fail-on", "error,warning", "--tag-display-limit", "0"]);
    if is_root() {
        lintian.arg("--allow-root");
    }
    lintian.args(files(out)?.iter().filter(|file| file.extension().is_some_and(|end| end == "deb")));
    run(lintian)
}

/// Returns the folder of the clean Debian system in which packages are tried, which is made once.
///
/// # Errors
/// When it can't be made.
pub fn clean_root() -> Result<Option<PathBuf>, String> {
    bootstrap("clean", "minbase", NEEDED)
}

/// Has a reader of images look at the image, and its command run from its files alone.
fn image_runs(out: &Path, checked: &mut Checked) -> Result<(), String> {
    let image = files(out)?.into_iter().find(|file| file.to_string_lossy().ends_with("-oci.tar"));
    let Some(image) = image else {
        checked.skipped.push("the image was not made: see above".to_owned());
        return Ok(());
    };
    if works("skopeo", &["--version"]) {
        let mut skopeo = command("skopeo", &["inspect"]);
        skopeo.arg(format!("oci-archive:{}", image.display()));
        let said = output(skopeo)?;
        println!("{said}");
        checked.passed += 1;
    } else {
        checked.skipped.push("skopeo is not installed: the image was not read by another program".to_owned());
    }
    let command = [&[image::USER], image::ENTRY, image::ARGUMENTS].concat().join(" ");
    try_out(&root().join(image::ROOT), out, &Inside::Outer(TRIAL_OF_IMAGE, &command))?;
    checked.passed += 1;
    Ok(())
}

//! Makes the release: packages, archives, the image, and the lists.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use clap::Args;

use super::build::{Build, OF_ROOT};
use super::{components, debian, image, sizes};
use crate::install::build::Extent;
use crate::install::items::{Layout, VERSION, files};
use crate::install::place::Placing;
use crate::run::{at, command, output, root, run};

/// The folder of the release.
pub const ARTIFACTS: &str = "target/artifacts";

/// The options of a release.
#[derive(Args)]
pub struct Release {
    /// The folder for what is made, which is replaced.
    #[arg(long, value_name = "DIR", default_value = ARTIFACTS)]
    pub out: PathBuf,
}

impl Release {
    /// Builds and packages everything.
    ///
    /// # Errors
    /// Names the step or the file that failed. The folder is then as before.
    pub fn run(&self) -> Result<(), String> {
        self.write(&Build::make(Extent::Full)?)
    }

    /// Packages a build.
    ///
    /// # Errors
    /// Names the step or the file that failed. The folder is then as before.
    pub fn write(&self, build: &Build) -> Result<(), String> {
        let out = root().join(&self.out);
        let fresh = out.with_extension("new");
        package(build, &fresh)?;
        if !image::make(build, &fresh)? {
            println!(
                "SKIPPED the image: mmdebstrap is missing or found no mirror, or this user may not mount"
            );
        }
        checksums(&fresh)?;
        if out.exists() {
            fs::remove_dir_all(&out).map_err(at(&out))?;
        }
        fs::rename(&fresh, &out).map_err(at(&out))?;
        for file in files(&out)? {
            let bytes = fs::metadata(&file).map_err(at(&file))?.len();
            println!("{bytes:10}  {}", file.display());
        }
        Ok(())
    }
}

/// Packages everything but the image into a folder, which is replaced.
fn package(build: &Build, out: &Path) -> Result<(), String> {
    let work = work(out)?;
    // Most of the time goes into compression.
    thread::scope(|scope| {
        let archives = scope.spawn(|| archives(build, &work, out));
        debian::packages(build, &work, out)?;
        archives.join().expect("archiving does not panic")
    })?;
    components::write(&build.components, &build.epoch, &out.join(format!("millstream-{VERSION}.cdx.json")))?;
    sizes::write(&build.built, &work, out)
}

/// Makes the Debian packages alone, in a folder, which is replaced.
///
/// # Errors
/// Names the step or the file that failed.
pub fn debian_packages(build: &Build, out: &Path) -> Result<(), String> {
    debian::packages(build, &work(out)?, out)
}

/// Archives the files of an installation below /usr/local, and the sources.
fn archives(build: &Build, work: &Path, out: &Path) -> Result<(), String> {
    let tree = work.join("usr-local");
    let layout = Layout::new("/usr/local".into(), "lib".into());
    let placing = Placing { destdir: Some(&tree), unstripped: false };
    let items = layout.items(&build.built)?;
    placing.place(items.iter(), |_, _| ())?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let folder = tree.join("usr/local/share/doc/millstream");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        fs::copy(root().join(licence), folder.join(licence)).map_err(at(&folder))?;
    }
    let third = tree.join("usr/local/share/doc/millstream/third-party");
    fs::write(&third, components::licences(&build.components)?).map_err(at(&third))?;
    let name = format!("millstream-{VERSION}-linux-{}.tar.xz", std::env::consts::ARCH);
    build.archive(&tree, &out.join(name), OF_ROOT)?;
    if root().join(".git").exists() {
        let name = format!("millstream-{VERSION}-source.tar.gz");
        let mut archive = command("git", &["archive", "--format=tar.gz"]);
        archive.arg(format!("--prefix=millstream-{VERSION}/")).arg("-o").arg(out.join(name)).arg("HEAD");
        run(archive)?;
    }
    Ok(())
}

/// Empties the folder for what is made, and that for what it is made of, which is returned.
fn work(out: &Path) -> Result<PathBuf, String> {
    let work = root().join("target/packaging").join(out.file_name().unwrap_or_default());
    for folder in [out, &work] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    Ok(work)
}

/// Writes SHA256SUMS beside the files of a folder.
fn checksums(folder: &Path) -> Result<(), String> {
    let mut sum = Command::new("sha256sum");
    for file in files(folder)? {
        sum.arg(file.file_name().unwrap_or_default());
    }
    sum.current_dir(folder);
    let sums = output(sum)?;
    let place = folder.join("SHA256SUMS");
    fs::write(&place, sums).map_err(at(&place))
}

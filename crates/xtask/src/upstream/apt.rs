//! Packages as Debian has them, checked by apt's signatures: sources of this system's releases, and programs of a newer one.
//!
//! This module has its own lists of packages: those of the system may leave sources out, and only root may change them.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The age up to which lists are used.
const FRESH: Duration = Duration::from_hours(24);

/// apt with lists of its own.
pub struct Apt {
    folder: PathBuf,
    configuration: PathBuf,
}

impl Apt {
    /// Prepares apt with lists in `folder/apt`, which are downloaded unless they are younger than a day.
    ///
    /// # Errors
    /// When the system's apt knows no repository of Debian's, or it can't be reached.
    pub fn new(folder: &Path) -> Result<Apt, String> {
        Apt::with(folder, sources_of_this_system)
    }

    /// Prepares apt with the lists of the repositories that `repositories` returns.
    fn with(folder: &Path, repositories: impl FnOnce() -> Result<String, String>) -> Result<Apt, String> {
        let place = folder.join("apt");
        let apt = Apt { folder: folder.to_owned(), configuration: place.join("apt.conf") };
        let stamp = place.join("updated");
        let age = std::fs::metadata(&stamp).and_then(|data| data.modified()).map(|at| at.elapsed());
        if matches!(age, Ok(Ok(age)) if age < FRESH) {
            return Ok(apt);
        }
        let fail = |e: std::io::Error| format!("{}: {e}", place.display());
        for folder in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(place.join(folder)).map_err(fail)?;
        }
        std::fs::write(place.join("sources.list"), repositories()?).map_err(fail)?;
        let at = place.display();
        let configuration = format!(
            "Dir::Etc::sourcelist \"{at}/sources.list\";\nDir::Etc::sourceparts \"-\";\nDir::State::lists \"{at}/lists\";\n\
             Dir::Cache \"{at}/cache\";\nAPT::Sandbox::User \"root\";\n"
        );
        std::fs::write(&apt.configuration, configuration).map_err(fail)?;
        apt.said("apt-get", &["update", "-q"], folder)?;
        std::fs::write(stamp, "").map_err(fail)?;
        Ok(apt)
    }

    /// Unpacks a source package below the folder, once, in a folder for its version alone, and returns the version and
    /// the folder. The version is the newest that can be downloaded, because a repository may list versions that it
    /// does not hold yet, or no longer.
    ///
    /// # Errors
    /// When none can be had, with apt's reasons.
    pub fn source(&self, package: &str) -> Result<(String, PathBuf), String> {
        let mut refused = format!("no source of {package} can be had");
        for version in self.versions(package)? {
            match self.unpacked(package, &version) {
                Ok(source) => return Ok((version, source)),
                Err(why) => refused += &format!("\n{package} {version}: {why}"),
            }
        }
        Err(refused)
    }

    /// Returns the listed versions, the newest first.
    fn versions(&self, package: &str) -> Result<Vec<String>, String> {
        let listed = self.said("apt-cache", &["showsrc", "--only-source", package], &self.folder)?;
        let mut versions: Vec<String> =
            listed.lines().filter_map(|line| line.strip_prefix("Version: ")).map(str::to_owned).collect();
        versions.sort();
        versions.dedup();
        versions.sort_by(|a, b| if is_newer(a, b) { Ordering::Less } else { Ordering::Greater });
        Ok(versions)
    }

    /// Returns the unpacked source of a version.
    fn unpacked(&self, package: &str, version: &str) -> Result<PathBuf, String> {
        // The colon behind an epoch would separate paths elsewhere.
        let place = self.folder.join(format!("{package}-{}", version.replace(':', "_")));
        let source = place.join("source");
        if source.exists() {
            return Ok(source);
        }
        let fail = |e: std::io::Error| format!("{}: {e}", place.display());
        let work = place.join("unpacking");
        let _ = std::fs::remove_dir_all(&work);
        std::fs::create_dir_all(&work).map_err(fail)?;
        self.download(package, version, &work).inspect_err(|_| drop(std::fs::remove_dir_all(&place)))?;
        let files = std::fs::read_dir(&work).map_err(fail)?.map_while(Result::ok).map(|entry| entry.path());
        let described = files.filter(|path| path.extension().is_some_and(|ending| ending == "dsc")).last();
        let described = described.ok_or_else(|| format!("apt brought no .dsc to {}", work.display()))?;
        let described = described.to_string_lossy();
        // Apt has checked the files already, and the key of the maintainer who signed them need not be here.
        self.said("dpkg-source", &["--no-check", "-x", &described, "source"], &work)?;
        std::fs::rename(work.join("source"), &source).map_err(fail)?;
        std::fs::remove_dir_all(&work).map_err(fail)?;
        Ok(source)
    }

    /// Downloads a version's files from the first release that has them. Several releases may list a version, while the
    /// server holds it in one.
    fn download(&self, package: &str, version: &str, to: &Path) -> Result<(), String> {
        let bring = |wanted: &str| {
            self.said("apt-get", &["source", "-q", "--only-source", "--download-only", wanted], to).map(drop)
        };
        bring(&format!("{package}={version}")).or_else(|why| {
            let releases = self.releases()?;
            // A release may have another version, so the file's name must contain this one.
            let file = format!("_{}.dsc", version.rsplit_once(':').map_or(version, |(_, version)| version));
            let found = releases.iter().any(|release| {
                bring(&format!("{package}/{release}")).is_ok()
                    && std::fs::read_dir(to).is_ok_and(|mut files| {
                        files.any(|entry| {
                            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(&file))
                        })
                    })
            });
            if found { Ok(()) } else { Err(why) }
        })
    }

    /// The code names of the releases that are listed.
    fn releases(&self) -> Result<Vec<String>, String> {
        let said = self.said("apt-get", &["indextargets", "--format", "$(CODENAME)"], &self.folder)?;
        let mut releases: Vec<String> = said.lines().map(str::to_owned).collect();
        releases.sort();
        releases.dedup();
        Ok(releases)
    }

    /// Downloads packages and all that they need, as for a system without any, and unpacks them below `to`.
    fn unpack(&self, packages: &[&str], to: &Path) -> Result<(), String> {
        let download = ["install", "-q", "-y", "--no-install-recommends", "--download-only"];
        // Nobody else uses this cache, and its lock is where only root may write.
        let apart = ["-o", "Dir::State::status=/dev/null", "-o", "Debug::NoLocking=1"];
        let download = [&download[..], &apart, packages].concat();
        self.said("apt-get", &download, &self.folder)?;
        let cache = self.folder.join("apt/cache/archives");
        let fail = |e: std::io::Error| format!("{}: {e}", cache.display());
        let archives =
            std::fs::read_dir(&cache).map_err(fail)?.map_while(Result::ok).map(|entry| entry.path());
        for archive in archives.filter(|path| path.extension().is_some_and(|ending| ending == "deb")) {
            let [archive, to] = [&archive, to].map(|path| path.to_string_lossy());
            self.said("dpkg-deb", &["--extract", &archive, &to], &self.folder)?;
        }
        Ok(())
    }

    /// Returns the output of a command that works with these lists.
    ///
    /// # Errors
    /// When it fails, with its message.
    pub fn said(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).env("APT_CONFIG", &self.configuration).current_dir(folder);
        said(&mut command)
    }
}

/// The release of Debian whose OpenSSL has a provider for PKCS #11, which Debian 12 has not.
pub const DEBIAN_13: &str = "trixie";

/// Returns the folder of OpenSSL and its provider for PKCS #11 as a release of Debian has them, with the libraries that they need. They are unpacked
/// below `folder` once, in a place of their own, and this system's OpenSSL stays as it is.
///
/// # Errors
/// When they can't be had, with apt's reasons.
pub fn openssl_of(release: &str, folder: &Path) -> Result<PathBuf, String> {
    let place = folder.join(format!("{release}-openssl"));
    if place.exists() {
        return Ok(place);
    }
    let fail = |e: std::io::Error| format!("{}: {e}", place.display());
    // Two that unpack at once have a folder each.
    let work = folder.join(format!("{release}-openssl.{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(fail)?;
    let apt = Apt::with(&work, || {
        let mirror = repositories("$(REPO_URI)")?.into_iter().find(|uri| !uri.contains("security"));
        let mirror = mirror.ok_or("apt knows no mirror of Debian's releases")?;
        Ok(format!("deb {mirror} {release} main\n"))
    })?;
    let root = work.join("root");
    apt.unpack(&["openssl", "pkcs11-provider"], &root)?;
    match std::fs::rename(&root, &place) {
        // Somebody else was faster.
        Err(_) if place.exists() => {}
        renamed => renamed.map_err(fail)?,
    }
    std::fs::remove_dir_all(&work).map_err(fail)?;
    Ok(place)
}

/// Returns the lines that name this system's repositories and their sources.
fn sources_of_this_system() -> Result<String, String> {
    let lines = repositories("$(REPO_URI) $(RELEASE) $(COMPONENT)")?;
    Ok(lines.iter().map(|line| format!("deb {line}\ndeb-src {line}\n")).collect())
}

/// Returns what the system's apt knows of Debian's repositories, in a form of apt's.
fn repositories(form: &str) -> Result<Vec<String>, String> {
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", form]);
    targets.args(["Created-By: Packages", "Origin: Debian", "Component: main"]);
    let mut lines: Vec<String> = said(&mut targets)?.lines().map(str::to_owned).collect();
    // One for each architecture.
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        return Err("apt knows no repository of Debian's: run `apt-get update`".into());
    }
    Ok(lines)
}

fn is_newer(a: &str, b: &str) -> bool {
    Command::new("dpkg")
        .args(["--compare-versions", a, "gt", b])
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the output of a command, if it succeeds.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).output().map_err(|e| {
        let package = if name == "dpkg-source" { "dpkg-dev" } else { "apt" };
        format!("{name}: {e}: the package {package} has it")
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

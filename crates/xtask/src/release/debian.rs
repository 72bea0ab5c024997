//! Debian packages, made by dpkg-deb from the files of an installation and from `dist/debian`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::build::Build;
use super::components;
use crate::install::items::{Item, Layout, Part, VERSION, What, files};
use crate::install::place::{Placing, mode};
use crate::run::{at, command, output, root, run};

/// The packages, and the part of an installation that each has.
pub const PACKAGES: &[(&str, Part)] = &[
    ("millstream", Part::Command),
    ("libmillstream0", Part::Library),
    ("libmillstream-dev", Part::Development),
    ("openssl-provider-millstream", Part::Provider),
    ("millstream-pkcs11", Part::Pkcs11),
    ("millstream-srtp", Part::Srtp),
];

/// The number of the packaging of a version.
const REVISION: &str = "1";

/// The files of `dist/debian/PACKAGE` that dpkg reads, with their permissions.
const CONTROL_FILES: &[(&str, u32)] =
    &[("postinst", 0o755), ("prerm", 0o755), ("postrm", 0o755), ("triggers", 0o644)];

/// The machine that packages are for.
struct Machine {
    architecture: String,
    multiarch: String,
}

/// Makes all packages.
///
/// # Errors
/// Names the step or the file that failed.
pub fn packages(build: &Build, work: &Path, out: &Path) -> Result<(), String> {
    let asked =
        |what: &str| Ok::<_, String>(output(command("dpkg-architecture", &[what]))?.trim().to_owned());
    let machine =
        Machine { architecture: asked("-qDEB_HOST_ARCH")?, multiarch: asked("-qDEB_HOST_MULTIARCH")? };
    let libraries = Path::new("lib").join(&machine.multiarch);
    let layout = Layout { zsh: "share/zsh/vendor-completions", ..Layout::new("/usr".into(), libraries) };
    let items = layout.items(&build.built)?;
    let mut made = Vec::new();
    for (name, part) in PACKAGES {
        let items: Vec<&Item> = items.iter().filter(|item| item.part == *part).collect();
        let package = Package { name, build, machine: &machine, tree: work.join(name), items };
        package.fill()?;
        package.control(work)?;
        made.push(package);
    }
    thread::scope(|scope| {
        let packing: Vec<_> = made.iter().map(|package| scope.spawn(|| package.pack(out))).collect();
        packing.into_iter().try_for_each(|one| one.join().expect("packing does not panic"))
    })
}

/// A package that is being made.
struct Package<'a> {
    name: &'a str,
    build: &'a Build,
    machine: &'a Machine,
    /// The folder with the package's files.
    tree: PathBuf,
    items: Vec<&'a Item>,
}

impl Package<'_> {
    /// Puts the package's files in place, with those that Debian's policy asks of every package.
    fn fill(&self) -> Result<(), String> {
        let placing = Placing { destdir: Some(&self.tree), unstripped: false };
        placing.place(self.items.iter().copied(), |_, _| ())?;
        for manual in self.items.iter().map(|item| &item.at).filter(|at| at.starts_with("/usr/share/man")) {
            gzip(&placing.below(manual))?;
        }
        let doc = |name: &str| self.tree.join("usr/share/doc").join(self.name).join(name);
        write(&doc("copyright"), &copyright()?, 0o644)?;
        self.compressed(&doc("changelog"), &read("CHANGELOG.md")?)?;
        self.compressed(&doc("changelog.Debian"), &self.changelog()?)?;
        self.compressed(&doc("third-party"), &components::licences(&self.build.components)?)?;
        if self.items.iter().any(|item| item.part == Part::Development) {
            for example in files(&root().join("docs/c"))? {
                let text = fs::read_to_string(&example).map_err(at(&example))?;
                let name = example.file_name().unwrap_or_default().to_string_lossy();
                write(&doc(&format!("examples/{name}")), &text, 0o644)?;
            }
        }
        let overrides = self.tree.join("usr/share/lintian/overrides").join(self.name);
        write(&overrides, &read("dist/debian/lintian-overrides")?, 0o644)?;
        Ok(())
    }

    /// Writes what dpkg reads of a package.
    fn control(&self, work: &Path) -> Result<(), String> {
        let md5sums = self.md5sums()?;
        let own = |name: &str| self.tree.join("DEBIAN").join(name);
        let control =
            self.data("control")?.ok_or_else(|| format!("dist/debian/{}: no control", self.name))?;
        let control = control
            .replace("@VERSION@", &version())
            .replace("@ARCHITECTURE@", &self.machine.architecture)
            .replace("@MAINTAINER@", &maintainer())
            .replace("@SIZE@", &self.kibibytes()?.to_string())
            .replace("@DEPENDS@", &self.depends(work)?);
        write(&own("control"), &control, 0o644)?;
        write(&own("md5sums"), &md5sums, 0o644)?;
        let kept = self.items.iter().filter(|item| matches!(item.what, What::Configuration(_)));
        let kept: String = kept.map(|item| format!("{}\n", item.at.display())).collect();
        if !kept.is_empty() {
            write(&own("conffiles"), &kept, 0o644)?;
        }
        if self.name == "libmillstream0" {
            write(&own("shlibs"), &format!("libmillstream 0 libmillstream0 (>= {VERSION})\n"), 0o644)?;
        }
        for (name, permissions) in CONTROL_FILES {
            if let Some(text) = self.data(name)? {
                write(&own(name), &text, *permissions)?;
            }
        }
        Ok(())
    }

    fn pack(&self, out: &Path) -> Result<(), String> {
        open_folders(&self.tree)?;
        let file = format!("{}_{}_{}.deb", self.name, version(), self.machine.architecture);
        let mut dpkg = Command::new("dpkg-deb");
        // With several threads the bytes would depend on their number.
        dpkg.args(["--root-owner-group", "-Zxz", "--threads-max=1"]).arg(format!("-z{}", self.build.level));
        dpkg.arg("--build").arg(&self.tree).arg(out.join(file)).env("SOURCE_DATE_EPOCH", &self.build.epoch);
        run(dpkg)
    }

    /// Returns a file of `dist/debian/PACKAGE`, if there is one.
    fn data(&self, name: &str) -> Result<Option<String>, String> {
        let place = root().join("dist/debian").join(self.name).join(name);
        if place.exists() { fs::read_to_string(&place).map(Some).map_err(at(&place)) } else { Ok(None) }
    }

    fn compressed(&self, place: &Path, text: &str) -> Result<(), String> {
        write(place, text, 0o644)?;
        gzip(place)
    }

    fn changelog(&self) -> Result<String, String> {
        let mut date = command("date", &["--utc", "--rfc-email"]);
        date.arg(format!("--date=@{}", self.build.epoch));
        let (version, maintainer, date) = (version(), maintainer(), output(date)?);
        Ok(format!(
            "millstream ({version}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- {maintainer}  {date}"
        ))
    }

    /// Returns the dependencies on packages whose libraries the package's files are linked with.
    fn depends(&self, work: &Path) -> Result<String, String> {
        let placing = Placing { destdir: Some(&self.tree), unstripped: false };
        let folder = work.join("dependencies");
        write(
            &folder.join("debian/control"),
            "Source: millstream\n\nPackage: millstream\nArchitecture: any\n",
            0o644,
        )?;
        let mut shlibdeps = Command::new("dpkg-shlibdeps");
        shlibdeps.arg("-O").current_dir(&folder);
        let linked =
            self.items.iter().filter(|item| matches!(item.what, What::Program(_) | What::Library(_)));
        let linked: Vec<PathBuf> = linked.map(|item| placing.below(&item.at)).collect();
        if linked.is_empty() {
            return Ok(String::new());
        }
        shlibdeps.args(linked.iter().map(|file| format!("-e{}", file.display())));
        let said = output(shlibdeps)?;
        said.trim()
            .strip_prefix("shlibs:Depends=")
            .map(str::to_owned)
            .ok_or("dpkg-shlibdeps: no result".to_owned())
    }

    fn md5sums(&self) -> Result<String, String> {
        let mut sum = Command::new("md5sum");
        sum.current_dir(&self.tree).args(regular(&self.tree, Path::new(""))?);
        output(sum)
    }

    /// Returns the room that the package's files take, as Debian's policy counts it.
    fn kibibytes(&self) -> Result<u64, String> {
        let sizes = regular(&self.tree, Path::new(""))?;
        let size = |file: &PathBuf| fs::metadata(self.tree.join(file)).map(|data| data.len().div_ceil(1024));
        sizes.iter().map(size).sum::<std::io::Result<u64>>().map_err(at(&self.tree))
    }
}

fn version() -> String {
    format!("{VERSION}-{REVISION}")
}

/// Returns the person who makes the package, as Debian's tools name them.
fn maintainer() -> String {
    let name = std::env::var("DEBFULLNAME").unwrap_or_else(|_| "The Millstream authors".to_owned());
    let address = std::env::var("DEBEMAIL").unwrap_or_else(|_| "millstream@localhost".to_owned());
    format!("{name} <{address}>")
}

fn copyright() -> Result<String, String> {
    let indent = |line: &str| if line.is_empty() { " .".to_owned() } else { format!(" {line}") };
    let terms = read("LICENSE-MIT")?.lines().map(indent).collect::<Vec<_>>().join("\n");
    Ok(read("dist/debian/copyright")?.replace("@MIT@", &terms))
}

/// Reads a file of the workspace.
fn read(name: &str) -> Result<String, String> {
    let place = root().join(name);
    fs::read_to_string(&place).map_err(at(&place))
}

fn gzip(place: &Path) -> Result<(), String> {
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name", "--force"]).arg(place);
    output(gzip).map(drop)
}

fn write(place: &Path, text: &str, permissions: u32) -> Result<(), String> {
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder).map_err(at(folder))?;
    fs::write(place, text).and_then(|()| mode(place, permissions)).map_err(at(place))
}

/// Returns the regular files below a folder, relative to it and sorted.
fn regular(tree: &Path, below: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in files(&tree.join(below))? {
        let relative = below.join(path.file_name().unwrap_or_default());
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(regular(tree, &relative)?);
        } else {
            found.push(relative);
        }
    }
    Ok(found)
}

/// Opens all folders below one to all users, whatever the umask of the person who packages.
fn open_folders(folder: &Path) -> Result<(), String> {
    mode(folder, 0o755).map_err(at(folder))?;
    let folders = files(folder)?.into_iter().filter(|path| path.is_dir() && !path.is_symlink());
    folders.into_iter().try_for_each(|folder| open_folders(&folder))
}

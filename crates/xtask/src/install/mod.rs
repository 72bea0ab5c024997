//! `cargo xtask install`: builds everything first, then puts all files in place, each whole or not at all. `cargo xtask
//! uninstall` removes them again.

pub mod build;
pub mod items;
mod manifest;
pub mod place;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::run::{RELEASE, command, run};
use crate::setup::is_root;
use build::{Built, Extent};
use items::Layout;
use manifest::Manifest;
use place::Placing;

/// The options of an installation.
#[derive(Args)]
pub struct Install {
    #[command(flatten)]
    place: Place,
    /// The folder for libraries: below the prefix, or absolute. Debian's own OpenSSL looks for the provider in
    /// lib/x86_64-linux-gnu below /usr.
    #[arg(long, value_name = "DIR", default_value = "lib")]
    libdir: PathBuf,
    /// Leave symbols and line tables in programs and libraries.
    #[arg(long)]
    unstripped: bool,
    /// The profile that is built.
    #[arg(long, default_value = "release", hide = true)]
    profile: String,
}

/// The installation to remove.
#[derive(Args)]
pub struct Uninstall {
    #[command(flatten)]
    place: Place,
    /// Remove the configuration, too.
    #[arg(long)]
    purge: bool,
}

/// The place of an installation.
#[derive(Args)]
struct Place {
    /// The folder from which the files are used: an absolute path.
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
    /// The folder below which they lie all the same, as packages are made.
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,
}

impl Install {
    /// Builds and installs.
    ///
    /// # Errors
    /// Names the step or the file that failed. If it is a file, the install has left nothing but perhaps folders. A
    /// failed rename is the exception, and the message then names it.
    pub fn run(&self) -> Result<(), String> {
        let placing = self.place.placing(self.unstripped)?;
        let prefix = &self.place.prefix;
        let layout = Layout::new(prefix.clone(), self.libdir.clone());
        let extent = if self.profile == RELEASE { Extent::Full } else { Extent::Small };
        let built = Built::make(&self.profile, extent)?;
        let items = layout.items(&built)?;
        let mut manifest = Manifest::read(&placing, prefix)?;
        let placed = placing.place(items.iter(), told)?;
        manifest.add(&items, placed);
        placing.place(std::iter::once(&manifest.item(prefix)), told)?;
        if manifest.forget(&items, &placing)? {
            placing.place(std::iter::once(&manifest.item(prefix)), told)?;
        }
        match self.place.destdir {
            Some(_) => Ok(()),
            None => loader(&layout.libraries()),
        }
    }
}

impl Uninstall {
    /// Removes what [`Install::run`] has put in place, and nothing else.
    ///
    /// # Errors
    /// When nothing is installed there, or a file can't be removed, which is named.
    pub fn run(&self) -> Result<(), String> {
        let placing = self.place.placing(false)?;
        let manifest = Manifest::read(&placing, &self.place.prefix)?;
        if manifest.is_empty() {
            let prefix = placing.below(&self.place.prefix);
            return Err(format!("{}: `cargo xtask install` has installed nothing here", prefix.display()));
        }
        manifest.remove(&placing, &self.place.prefix, self.purge)?;
        match (&self.place.destdir, manifest.libraries()) {
            (None, Some(libraries)) => loader(libraries),
            _ => Ok(()),
        }
    }
}

impl Place {
    fn placing(&self, unstripped: bool) -> Result<Placing<'_>, String> {
        if !self.prefix.is_absolute() {
            return Err(format!("--prefix {}: give an absolute path", self.prefix.display()));
        }
        if self.prefix.to_str().is_none_or(|prefix| prefix.contains('\n')) {
            return Err(format!("--prefix {}: give a path that is one line of text", self.prefix.display()));
        }
        Ok(Placing { destdir: self.destdir.as_deref(), unstripped })
    }
}

fn told(what: &str, place: &Path) {
    println!("{what:9} {}", place.display());
}

/// Has the loader take note of the libraries of a folder, or says what to do.
fn loader(libraries: &Path) -> Result<(), String> {
    let shown = libraries.display();
    if !searched(libraries) {
        println!("note: the loader does not search {shown}: link programs with -Wl,-rpath,{shown}");
        return Ok(());
    }
    if is_root() {
        return run(command(LDCONFIG, &[]));
    }
    println!("note: run `ldconfig` as root, for the loader to take note of {shown}");
    Ok(())
}

const LDCONFIG: &str = "/sbin/ldconfig";

/// Returns true if the loader searches a folder.
fn searched(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    // Neither the cache nor any link is written: this only lists the folders, each before a colon.
    let listed = command(LDCONFIG, &["-N", "-X", "-v"]).output();
    let text = listed.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut folders =
        text.lines().filter(|line| line.starts_with('/')).filter_map(|line| line.split_once(':'));
    folders.any(|(name, _)| Path::new(name).canonicalize().is_ok_and(|name| name == folder))
}

#[cfg(test)]
mod tests {
    use crate::run::root;

    /// An installed program stops at an overflow. The only exceptions are the engines of both crates and the code that is inlined into
    /// them, and no other crate of ours may be left out.
    #[test]
    fn what_ships_checks_its_arithmetic() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let section = |name: &str| {
            let (_, rest) = manifest.split_once(&format!("\n[{name}]\n")).expect("the section is there");
            rest.split("\n[").next().unwrap_or_default().to_owned()
        };
        assert!(section("profile.release").lines().any(|line| line == "overflow-checks = true"));
        let section = section("profile.release.package");
        let ours = section.lines().filter(|line| line.starts_with("millstream"));
        let ours: Vec<&str> = ours.filter(|line| line.contains("overflow-checks")).collect();
        let exceptions = ["millstream-engines", "millstream-kernel", "millstream-publickey"];
        assert_eq!(ours, exceptions.map(|crate_of| format!("{crate_of}.overflow-checks = false")));
    }
}

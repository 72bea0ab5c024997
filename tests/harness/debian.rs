//! Sources as Debian has them, for programs that no package has as they are needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{program, run};

/// Debian's source package, by lists of packages of its own: those of the system may leave sources out, and only
/// root may change them.
///
/// # Panics
/// When it can't be had.
#[track_caller]
pub fn debian_source(work: &Path, package: &str) -> PathBuf {
    let format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let mut targets = Command::new(program("apt-get"));
    targets.args([
        "indextargets",
        "--format",
        format,
        "Created-By: Packages",
        "Origin: Debian",
        "Component: main",
    ]);
    let lists: String =
        run(&mut targets, b"").text().lines().map(|line| format!("deb-src {line}\n")).collect();
    assert!(!lists.is_empty(), "apt knows no repository of Debian's: run `apt-get update`");
    for folder in ["lists/partial", "cache/archives/partial"] {
        std::fs::create_dir_all(work.join(folder)).expect("the target folder can be written to");
    }
    std::fs::write(work.join("sources.list"), lists).expect("the target folder can be written to");
    let at = work.display();
    let configuration = format!(
        "Dir::Etc::sourcelist \"{at}/sources.list\";\nDir::Etc::sourceparts \"-\";\nDir::State::lists \"{at}/lists\";\n\
         Dir::Cache \"{at}/cache\";\nAPT::Sandbox::User \"root\";\n"
    );
    let file = work.join("apt.conf");
    std::fs::write(&file, configuration).expect("the target folder can be written to");
    // apt says of a missing dpkg-source only that something failed.
    let _ = program("dpkg-source");
    for words in [&["update", "-q"][..], &["source", "-q", package]] {
        let mut apt = Command::new(program("apt-get"));
        run(apt.args(words).env("APT_CONFIG", &file).current_dir(work), b"").good();
    }
    let entries =
        std::fs::read_dir(work).expect("it is there").flatten().filter(|entry| entry.path().is_dir());
    let unpacked = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(package));
    unpacked.map(|entry| entry.path()).max().expect("apt-get unpacked the source")
}

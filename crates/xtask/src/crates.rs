//! The crates that can be published: each has in it what it needs, and what belongs to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::run::{at, command, output, root, run};

/// The files that each crate must have.
const EACH: &[&str] = &["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The beginning of the names of files that are the same in each crate.
const SAME: &str = "LICENSE-";

/// The texts before the name of a file that the compiler reads.
const READS: &[&str] = &["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];

/// A crate that can be published.
struct Crate {
    name: String,
    folder: PathBuf,
}

/// Checks what would be in the archive of each crate, and builds nothing.
///
/// # Errors
/// Names each file that a crate lacks.
pub fn check() -> Result<(), String> {
    let mut faults = Vec::new();
    let crates = published()?;
    for Crate { name, folder } in &crates {
        let listed = command("cargo", &["package", "--list", "--allow-dirty", "--quiet", "--package", name]);
        let files: BTreeSet<PathBuf> = output(listed)?.lines().map(PathBuf::from).collect();
        let missing = EACH.iter().filter(|file| !files.contains(Path::new(file)));
        faults.extend(missing.map(|file| format!("{name} has no {file}")));
        for file in EACH.iter().filter(|file| file.starts_with(SAME)) {
            let [own, whole] = [folder.join(file), root().join(file)].map(fs::read);
            if !matches!((own, whole), (Ok(own), Ok(whole)) if own == whole) {
                faults.push(format!("{name}: {file} is not the workspace's: make it a link to that"));
            }
        }
        for source in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            let place = folder.join(source);
            let text = fs::read_to_string(&place).map_err(at(&place))?;
            let read = reads(&text).map(|file| beside(source, file)).filter(|file| !files.contains(file));
            let outside = |file: PathBuf| {
                format!(
                    "{name}: {} reads {}, which is outside of the archive",
                    source.display(),
                    file.display()
                )
            };
            faults.extend(read.map(outside));
        }
    }
    println!("{} crates can be published", crates.len());
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// Makes the archive of each crate, and builds the crate from it.
///
/// # Errors
/// When one can't be built.
pub fn build() -> Result<(), String> {
    let mut package = command("cargo", &["package", "--allow-dirty"]);
    for Crate { name, .. } in published()? {
        package.args(["--package", &name]);
    }
    package.env("CARGO_TARGET_DIR", root().join("target/crates"));
    run(package)
}

/// Lists the crates that can be published.
fn published() -> Result<Vec<Crate>, String> {
    let metadata = output(command("cargo", &["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages = packages.filter(|package| package["publish"].is_null());
    let crates = packages.filter_map(|package| {
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Crate { name: package["name"].as_str()?.to_owned(), folder })
    });
    Ok(crates.collect())
}

/// Returns the names of the files that the compiler reads for a source.
fn reads(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("///"));
    code.flat_map(|line| READS.iter().filter_map(move |before| line.split_once(before)))
        .filter_map(|(_, rest)| rest.split('"').next())
}

/// Returns the path of a file that is named relative to a source.
fn beside(source: &Path, file: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in source.parent().unwrap_or(source).join(file).components() {
        match part {
            // Beyond the crate's folder there is nothing to go back from.
            Component::ParentDir if path.components().next_back().is_some_and(is_name) => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

fn is_name(part: Component) -> bool {
    matches!(part, Component::Normal(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_source_reads_is_found() {
        let text = "#![doc = include_str!(\"../../../docs/c/direct.c\")]\n/// include!(\"no\")\n#[path = \"a/b.rs\"]\nmod b;\n";
        let found: Vec<PathBuf> = reads(text).map(|file| beside(Path::new("src/lib.rs"), file)).collect();
        assert_eq!(found, [PathBuf::from("../../docs/c/direct.c"), PathBuf::from("src/a/b.rs")]);
    }
}

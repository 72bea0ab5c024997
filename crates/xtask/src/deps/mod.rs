//! The direction of dependencies: a crate may depend only on those that ARCHITECTURE.md lists, and files of a crate import
//! each other in no circle but those that are known.

mod circles;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::run::{command, root};

/// The crates under both sides of the isolated path.
const UNDER: &[&str] = &[
    "millstream-accelerator",
    "millstream-host",
    "millstream-shm",
    "millstream-protocol",
    "millstream-cwq",
    "millstream-engines",
    "millstream-publickey",
    "millstream-cpu",
];

/// The crates under the broker and its workers: a worker is the vault of tokens too, and makes keys in them.
const BROKER: &[&str] = &[
    "millstream-accelerator",
    "millstream-host",
    "millstream-shm",
    "millstream-protocol",
    "millstream-files",
    "millstream-store",
    "millstream-cwq",
    "millstream-engines",
    "millstream-publickey",
    "millstream-cpu",
];

/// Each crate, and the crates of this workspace it may depend on. Development dependencies are
/// free: tests may use anything.
const ALLOWED: &[(&str, &[&str])] = &[
    ("millstream-cpu", &[]),
    ("millstream-kernel", &["millstream-cpu"]),
    ("millstream-engines", &["millstream-kernel", "millstream-cpu"]),
    ("millstream-publickey", &["millstream-engines", "millstream-kernel", "millstream-cpu"]),
    ("millstream-measure", &[]),
    ("millstream-files", &["millstream-engines", "millstream-publickey", "millstream-cpu"]),
    (
        "millstream-backup",
        &["millstream-files", "millstream-engines", "millstream-publickey", "millstream-cpu"],
    ),
    ("millstream-store", &["millstream-engines", "millstream-protocol", "millstream-cpu"]),
    ("millstream-cwq", &[]),
    (
        "millstream-accelerator",
        &["millstream-engines", "millstream-publickey", "millstream-cpu", "millstream-cwq"],
    ),
    ("millstream-shm", &["millstream-cwq"]),
    ("millstream-host", &["millstream-shm"]),
    ("millstream-protocol", &[]),
    ("millstream-observe", &["millstream-cpu"]),
    ("millstream-ultrasparc", &["millstream-engines", "millstream-cpu"]),
    ("millstream", UNDER),
    ("millstream-broker", BROKER),
    ("millstream-provider", &["millstream"]),
    ("millstream-capi", &["millstream"]),
    ("millstream-pkcs11", &["millstream", "millstream-files", "millstream-store"]),
    ("millstream-srtp", &["millstream"]),
    ("millstream-str0m", &["millstream"]),
    ("millstream-dpdk", &["millstream"]),
    ("millstream-esp", &["millstream"]),
    ("millstream-columns", &["millstream", "millstream-files"]),
    ("millstream-tables", &["millstream-columns"]),
    ("millstream-datafusion", &["millstream", "millstream-columns"]),
    ("millstream-python", &["millstream", "millstream-columns", "millstream-files"]),
    (
        "millstream-cli",
        &[
            "millstream",
            "millstream-broker",
            "millstream-accelerator",
            "millstream-shm",
            "millstream-protocol",
            "millstream-files",
            "millstream-backup",
            "millstream-columns",
            "millstream-esp",
            "millstream-tables",
            "millstream-store",
            "millstream-measure",
            "millstream-observe",
            "millstream-ultrasparc",
            "millstream-cwq",
            "millstream-engines",
            "millstream-cpu",
        ],
    ),
];

/// Crates for development only, which may depend on any.
const DEVELOPMENT: &[&str] = &[
    "millstream-constant-time",
    "millstream-double",
    "millstream-fuzz-replay",
    "millstream-testkit",
    "millstream-bench",
    "millstream-tests",
    "millstream-subjects",
    "xtask",
];

/// The folders whose crates are searched for circles.
const FOLDERS: &[&str] = &["crates", "machines"];

/// Circles of files, by crate. The list only gets shorter. Each circle's line tells why it stays, or which move opens
/// it.
const CIRCLES: &str = include_str!("circles.txt");

/// Returns the circles that are not known, and the known ones that were opened and are still listed.
fn closed() -> Result<Vec<String>, String> {
    let mut known = known(CIRCLES);
    let mut faults = Vec::new();
    let mut crates = Vec::new();
    for folder in FOLDERS {
        let folder = root().join(folder);
        let entries = std::fs::read_dir(&folder)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|e| format!("{}: {e}", folder.display()))?;
        crates.extend(entries);
    }
    crates.sort_by_key(std::fs::DirEntry::file_name);
    for entry in crates {
        let name = entry.file_name().to_string_lossy().into_owned();
        for circle in circles::circles(&entry.path().join("src"))? {
            match known.iter_mut().find(|known| known.of == name && circle.is_subset(&known.files)) {
                Some(known) => known.found = true,
                None => faults.push(format!("{name}: files import each other in a circle: {circle:?}")),
            }
        }
    }
    let opened = known.iter().filter(|known| !known.found);
    faults.extend(opened.map(|k| {
        format!("{}: the circle {:?} is open: take it off crates/xtask/src/deps/circles.txt", k.of, k.files)
    }));
    Ok(faults)
}

/// A circle that is known.
struct Known {
    of: String,
    files: BTreeSet<String>,
    found: bool,
}

/// Reads one circle a line, `crate: file file ...`; `#` begins a comment.
fn known(list: &str) -> Vec<Known> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.split_once(':'));
    rows.map(|(of, files)| Known {
        of: of.to_owned(),
        files: files.split_whitespace().map(str::to_owned).collect(),
        found: false,
    })
    .collect()
}

/// Checks every crate of the workspace against the lists.
///
/// # Errors
/// Names each dependency that is not allowed, each crate that is not listed, and each circle that is not known.
pub fn check() -> Result<(), String> {
    let output = command("cargo", &["metadata", "--no-deps", "--format-version=1"])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    let ours: Vec<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        if DEVELOPMENT.contains(&name) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(listed, _)| *listed == name) else {
            faults.push(format!("{name} is not listed in crates/xtask/src/deps/mod.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let on = dependency["name"].as_str().unwrap_or_default();
            let development = dependency["kind"] == "dev";
            if ours.contains(&on) && !development && !allowed.contains(&on) {
                faults.push(format!("{name} may not depend on {on}"));
            }
        }
    }
    faults.extend(closed()?);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

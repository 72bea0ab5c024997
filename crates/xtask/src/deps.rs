//! The direction of dependencies: a crate may depend only on those that ARCHITECTURE.md lists.

use serde_json::Value;

use crate::run::command;

/// What both sides of the isolated path stand on.
const UNDER: &[&str] = &[
    "millstream-accelerator",
    "millstream-shm",
    "millstream-protocol",
    "millstream-cwq",
    "millstream-engines",
    "millstream-cpu",
];

/// Each crate, and the crates of this workspace it may depend on. Development dependencies are
/// free: tests may use anything.
const ALLOWED: &[(&str, &[&str])] = &[
    ("millstream-cpu", &[]),
    ("millstream-engines", &["millstream-cpu"]),
    ("millstream-measure", &[]),
    ("millstream-files", &["millstream-engines", "millstream-cpu"]),
    ("millstream-cwq", &[]),
    ("millstream-accelerator", &["millstream-engines", "millstream-cpu", "millstream-cwq"]),
    ("millstream-shm", &["millstream-cwq"]),
    ("millstream-protocol", &[]),
    ("millstream-observe", &["millstream-cpu"]),
    ("millstream-ultrasparc", &["millstream-engines", "millstream-cpu"]),
    ("millstream", UNDER),
    ("millstream-broker", UNDER),
    ("millstream-provider", &["millstream"]),
    ("millstream-capi", &["millstream"]),
    (
        "millstream-cli",
        &[
            "millstream",
            "millstream-broker",
            "millstream-accelerator",
            "millstream-shm",
            "millstream-protocol",
            "millstream-files",
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
    "millstream-testkit",
    "millstream-bench",
    "millstream-tests",
    "millstream-subjects",
    "xtask",
];

/// Checks every crate of the workspace against the list.
///
/// # Errors
/// Names each dependency that is not allowed, and each crate that is not listed.
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
            faults.push(format!("{name} is not listed in crates/xtask/src/deps.rs"));
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
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

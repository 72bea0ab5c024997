//! The check that nothing is compiled twice in a profile, whatever is built: the whole workspace for its tests, or one product alone.
//!
//! Cargo gives a crate the features that the chosen packages ask for. Where one package asks for fewer than all do together, the crate is
//! another one, and so is everything that stands on it: the engines take minutes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::Value;

use crate::run::{CHECKED, RELEASE, command, output};

/// The packages that are built alone, by tests, by the installation and by the release.
const PRODUCTS: &[&str] = &[
    "millstream-cli",
    "millstream-provider",
    "millstream-pkcs11",
    "millstream-srtp",
    "millstream-capi",
    "millstream-dpdk",
];

/// The packages whose tests run in another profile than `checked`.
const WITHOUT: &[&str] = &[
    "millstream-tests",
    "millstream-constant-time",
    "millstream-bench",
    "xtask",
    "millstream-tables",
    "millstream-datafusion",
    "millstream-str0m",
];

#[derive(Deserialize)]
struct Graph {
    units: Vec<Unit>,
}

#[derive(Deserialize)]
struct Unit {
    pkg_id: String,
    target: Target,
    profile: Value,
    platform: Option<String>,
    mode: String,
    features: Vec<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Dependency {
    index: usize,
}

impl Graph {
    /// Asks cargo what it would compile.
    fn of(cargo: &str, profile: &str, packages: &[&str]) -> Result<Self, String> {
        let how = ["+nightly", cargo, "--profile", profile, "-Zunstable-options", "--unit-graph"];
        let text = output(command("cargo", &[&how, packages].concat()))?;
        serde_json::from_str(&text).map_err(|e| format!("cargo's graph of units: {e}"))
    }

    /// Returns a number for each unit that follows from it and from all that it stands on.
    fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![None; self.units.len()];
        (0..self.units.len()).map(|unit| self.number(unit, &mut numbers)).collect()
    }

    fn number(&self, unit: usize, numbers: &mut [Option<u64>]) -> u64 {
        if let Some(number) = numbers[unit] {
            return number;
        }
        let Unit { pkg_id, target, profile, platform, mode, features, dependencies } = &self.units[unit];
        let mut hasher = DefaultHasher::new();
        (pkg_id, &target.name, &target.kind, profile.to_string(), platform, mode).hash(&mut hasher);
        features.hash(&mut hasher);
        let mut under: Vec<u64> = dependencies.iter().map(|on| self.number(on.index, numbers)).collect();
        under.sort_unstable();
        under.hash(&mut hasher);
        *numbers[unit].insert(hasher.finish())
    }
}

/// Compares what is built alone with what has been built.
///
/// # Errors
/// Names the crates of this workspace that would be compiled once more, and the packages whose features make the difference.
pub fn check() -> Result<(), String> {
    let excluded = WITHOUT.iter().flat_map(|package| ["--exclude", package]);
    let whole: Vec<&str> = ["--workspace", "--no-run"].into_iter().chain(excluded).collect();
    let installed = ["--package", PRODUCTS[0], "--package", PRODUCTS[1]];
    let mut faults = Vec::new();
    for (profile, before) in
        [(CHECKED, Graph::of("test", CHECKED, &whole)?), (RELEASE, Graph::of("build", RELEASE, &installed)?)]
    {
        let mut built: HashSet<u64> = before.numbers().into_iter().collect();
        let mut names: HashSet<String> = before.units.iter().map(|unit| name(&unit.pkg_id)).collect();
        for product in PRODUCTS {
            let graph = Graph::of("build", profile, &["--package", product, "--lib", "--bins"])?;
            let numbers = graph.numbers();
            if let Some(fault) = again(&graph, &numbers, &built, &names) {
                faults.push(format!("{product} alone, in the profile {profile}: {fault}"));
            }
            names.extend(graph.units.iter().map(|unit| name(&unit.pkg_id)));
            built.extend(numbers);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Says what would be compiled again, if anything of this workspace would.
fn again(graph: &Graph, numbers: &[u64], built: &HashSet<u64>, names: &HashSet<String>) -> Option<String> {
    let is_new = |unit: &usize| !built.contains(&numbers[*unit]);
    let twice = |unit: &usize| is_new(unit) && names.contains(&name(&graph.units[*unit].pkg_id));
    let of = |units: &mut dyn Iterator<Item = usize>| {
        let mut names: Vec<String> = units.map(|unit| name(&graph.units[unit].pkg_id)).collect();
        names.sort();
        names.dedup();
        names.join(", ")
    };
    let all = || (0..graph.units.len()).filter(twice);
    let ours = of(&mut all().filter(|unit| graph.units[*unit].pkg_id.starts_with("path+")));
    // All that these stand on was built before, so the difference is their own.
    let causes =
        of(&mut all().filter(|unit| graph.units[*unit].dependencies.iter().all(|on| !is_new(&on.index))));
    (!ours.is_empty())
        .then(|| format!("{ours} would be compiled once more, because of other features of {causes}"))
}

/// Returns the name of a package, with its version where that is not this workspace's.
fn name(pkg_id: &str) -> String {
    let (place, name) = pkg_id.rsplit_once('#').unwrap_or(("", pkg_id));
    match name.contains('@') {
        true => name.to_owned(),
        false => format!("{} {name}", place.rsplit('/').next().unwrap_or(place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(package: &str, features: &[&str], under: &[usize]) -> Unit {
        Unit {
            pkg_id: package.to_owned(),
            target: Target { name: package.to_owned(), kind: vec!["lib".to_owned()] },
            profile: Value::Null,
            platform: None,
            mode: "build".to_owned(),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
            dependencies: under.iter().map(|index| Dependency { index: *index }).collect(),
        }
    }

    #[test]
    fn what_stands_on_other_features_is_found_with_the_cause() {
        let graph = |features: &[&str]| Graph {
            units: vec![
                unit("registry+x#syn@2.0.1", features, &[]),
                unit("path+file:///w/crates/engines#0.1.0", &[], &[0]),
                unit("path+file:///w/crates/cpu#0.1.0", &[], &[]),
            ],
        };
        let whole = graph(&["full", "visit"]);
        let built: HashSet<u64> = whole.numbers().into_iter().collect();
        let names: HashSet<String> = whole.units.iter().map(|unit| name(&unit.pkg_id)).collect();
        let (same, other) = (graph(&["full", "visit"]), graph(&["full"]));
        assert_eq!(again(&same, &same.numbers(), &built, &names), None);
        let fault = again(&other, &other.numbers(), &built, &names).expect("two are other ones");
        let expected = "engines 0.1.0 would be compiled once more, because of other features of syn@2.0.1";
        assert_eq!(fault, expected);
    }
}

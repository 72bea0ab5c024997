//! The crates that are compiled into what ships: a list of them in CycloneDX's form, and their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::install::build::RELEASED;
use crate::install::items::{VERSION, files};
use crate::run::{at, command, output, root};

/// The packages whose dependencies ship.
const SHIPPED: &[&str] =
    &["millstream-cli", "millstream-capi", "millstream-provider", "millstream-pkcs11", "millstream-srtp"];

/// A crate that ships.
pub struct Component {
    name: String,
    version: String,
    licence: String,
    /// The SHA-256 of the crate's archive in the registry. The workspace's own crates have none.
    sha256: Option<String>,
    folder: PathBuf,
    /// The crates that it depends on, as `NAME@VERSION`.
    uses: Vec<String>,
}

impl Component {
    fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Lists the crates that ship, in the order of their names. What only tests or the build need is not among them.
///
/// # Errors
/// When cargo fails, or says something unexpected.
pub fn shipped() -> Result<Vec<Component>, String> {
    let host = output(command("rustc", &["-vV"]))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc -vV: no host")?;
    let features = ["--features", RELEASED];
    let arguments = ["metadata", "--locked", "--format-version=1", "--filter-platform", host];
    let arguments = [&arguments[..], &features].concat();
    let metadata: Value = serde_json::from_str(&output(command("cargo", &arguments))?)
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let sums = sums()?;
    let roots = packages.iter().filter(|(_, p)| p["name"].as_str().is_some_and(|n| SHIPPED.contains(&n)));
    let mut open: Vec<&str> = roots.map(|(id, _)| *id).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let uses: Vec<&str> = compiled_in(nodes.get(id).ok_or_else(|| format!("cargo metadata: no {id}"))?);
        found.push(component(packages[id], &uses, &packages, &sums)?);
        open.extend(uses);
    }
    found.sort_by_key(Component::reference);
    Ok(found)
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|value| Some((value["id"].as_str()?, value))).collect()
}

/// Returns the dependencies of a node that are compiled into it.
fn compiled_in(node: &Value) -> Vec<&str> {
    let normal =
        |dep: &&Value| dep["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null());
    let deps = node["deps"].as_array().into_iter().flatten().filter(normal);
    deps.filter_map(|dep| dep["pkg"].as_str()).collect()
}

fn component(
    package: &Value,
    uses: &[&str],
    packages: &BTreeMap<&str, &Value>,
    sums: &BTreeMap<String, String>,
) -> Result<Component, String> {
    let word = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let name = |package: &Value| format!("{}@{}", word(package, "name"), word(package, "version"));
    let licence = word(package, "license");
    if licence.is_empty() {
        return Err(format!("{}: its manifest names no licence", name(package)));
    }
    let mut uses: Vec<String> = uses.iter().map(|id| name(packages[id])).collect();
    uses.sort();
    Ok(Component {
        sha256: sums.get(&name(package)).cloned(),
        name: word(package, "name"),
        version: word(package, "version"),
        // Old manifests separate alternatives by a stroke.
        licence: licence.replace('/', " OR "),
        folder: Path::new(&word(package, "manifest_path")).parent().unwrap_or(Path::new("/")).to_owned(),
        uses,
    })
}

/// Returns the checksums of Cargo.lock, by `NAME@VERSION`.
fn sums() -> Result<BTreeMap<String, String>, String> {
    let place = root().join("Cargo.lock");
    let text = fs::read_to_string(&place).map_err(at(&place))?;
    let lock: toml::Table = toml::from_str(&text).map_err(|e| format!("{}: {e}", place.display()))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let sum = |package: &toml::Value| {
        let word = |key| package.get(key).and_then(toml::Value::as_str);
        Some((format!("{}@{}", word("name")?, word("version")?), word("checksum")?.to_owned()))
    };
    Ok(packages.filter_map(sum).collect())
}

/// Writes the list in CycloneDX's form (ECMA-424).
///
/// # Errors
/// Names the file if it can't be written.
pub fn write(components: &[Component], epoch: &str, to: &Path) -> Result<(), String> {
    let described: Vec<Value> = components.iter().map(described).collect();
    let uses = |c: &Component| json!({ "ref": c.reference(), "dependsOn": c.uses });
    let dependencies: Vec<Value> = components.iter().map(uses).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time(epoch)?,
            "component": { "type": "application", "bom-ref": "millstream", "name": "millstream", "version": VERSION },
        },
        "components": described,
        "dependencies": dependencies,
    });
    let text = serde_json::to_string_pretty(&document).map_err(|e| e.to_string())?;
    fs::write(to, text + "\n").map_err(at(to))
}

fn described(component: &Component) -> Value {
    let mut value = json!({
        "type": "library",
        "bom-ref": component.reference(),
        "name": component.name,
        "version": component.version,
        "licenses": [{ "expression": component.licence }],
    });
    if let Some(sha256) = &component.sha256 {
        value["purl"] = json!(format!("pkg:cargo/{}@{}", component.name, component.version));
        value["hashes"] = json!([{ "alg": "SHA-256", "content": sha256 }]);
    }
    value
}

/// Writes seconds since 1970 as a date and a time.
///
/// # Errors
/// When `date` fails.
pub fn time(epoch: &str) -> Result<String, String> {
    let mut date = command("date", &["--utc", "+%Y-%m-%dT%H:%M:%SZ"]);
    date.arg(format!("--date=@{epoch}"));
    Ok(output(date)?.trim().to_owned())
}

/// Returns the licences of all crates that others wrote, with the texts that come with each.
///
/// # Errors
/// Names the file that can't be read.
pub fn licences(components: &[Component]) -> Result<String, String> {
    let mut text =
        String::from("The crates that are compiled into Millstream, and the terms that come with each.\n");
    for component in components.iter().filter(|component| component.sha256.is_some()) {
        text += &format!("\n==== {} {}: {}\n", component.name, component.version, component.licence);
        for file in files(&component.folder)?.iter().filter(|file| is_terms(file)) {
            text += &format!("\n{}\n", fs::read_to_string(file).map_err(at(file))?.trim_end());
        }
    }
    Ok(text)
}

fn is_terms(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    file.is_file()
        && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|word| name.starts_with(word))
}

//! Files of a crate that import each other in a circle.
//!
//! An import is a `use` of something that another file of the crate defines. A re-exported item counts as defined in
//! its own file, so a folder's `mod.rs` may name its children's items for everybody. Tests are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One file of a crate, by the path of its module.
#[derive(Default)]
struct File {
    path: PathBuf,
    /// Paths that it imports, from the crate's root.
    imports: Vec<Vec<String>>,
    /// The names that it re-exports, and the paths of their definitions.
    exports: BTreeMap<String, Vec<String>>,
}

/// The files of a crate.
type Files = BTreeMap<Vec<String>, File>;

/// Returns the circles among the files of a crate whose sources are in a folder. Each is a set of files that can be
/// reached from each other, as paths within the folder, in order.
///
/// # Errors
/// When a file can't be read.
pub fn circles(folder: &Path) -> Result<Vec<BTreeSet<String>>, String> {
    let mut files = Files::new();
    gather(folder, folder, &mut files)?;
    Ok(components(&files))
}

fn gather(root: &Path, folder: &Path, files: &mut Files) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            gather(root, &path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test(&path) {
            let within = path.strip_prefix(root).unwrap_or(&path).to_owned();
            let module = module_of(&within);
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            files.insert(module.clone(), read(within, &module, &text));
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

/// Returns a file's module. `a/b.rs` and `a/b/mod.rs` are both the module a, b.
fn module_of(within: &Path) -> Vec<String> {
    let path = within.with_extension("");
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let mut module: Vec<String> = parts.collect();
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Reads a file's imports, up to its tests.
fn read(path: PathBuf, module: &[String], text: &str) -> File {
    let mut file = File { path, ..File::default() };
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let (is_public, rest) = match bare.strip_prefix("use ") {
            Some(rest) => (false, rest),
            None => match bare.split_once(" use ").or_else(|| bare.split_once(") use ")) {
                Some((visibility, rest)) if visibility.starts_with("pub") => (true, rest),
                _ => continue,
            },
        };
        let mut statement = rest.to_owned();
        while !statement.contains(';') {
            let Some(more) = lines.next() else { break };
            statement.push_str(more.trim());
        }
        let statement = statement.split(';').next().unwrap_or_default();
        for path in expand(statement) {
            let Some((target, name)) = absolute(module, &path) else { continue };
            if is_public {
                file.exports.insert(name, target);
            } else {
                file.imports.push(target);
            }
        }
    }
    file
}

/// Returns the single paths of a statement like `a::{b, c::{d, e as f}}`, each with the name that it gets.
fn expand(statement: &str) -> Vec<(Vec<String>, String)> {
    let statement = statement.trim();
    let Some((before, inside)) = statement.split_once('{') else {
        let (path, name) = match statement.split_once(" as ") {
            Some((path, name)) => (path, Some(name.trim().to_owned())),
            None => (statement, None),
        };
        let parts: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
        let own = parts.iter().rev().find(|part| *part != "self").cloned().unwrap_or_default();
        return vec![(parts, name.unwrap_or(own))];
    };
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let prefix: Vec<String> =
        before.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let mut all = Vec::new();
    for part in parts(inside) {
        for (path, name) in expand(part) {
            // The name that `a::{self}` imports is a.
            let name = if path == ["self"] && name.is_empty() {
                prefix.last().cloned().unwrap_or_default()
            } else {
                name
            };
            all.push(([prefix.clone(), path].concat(), name));
        }
    }
    all
}

/// Splits at the commas outside of braces.
fn parts(inside: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Returns the same path from the crate's root. A path into another crate becomes an item of the module itself, which
/// is no import.
fn absolute(module: &[String], (path, name): &(Vec<String>, String)) -> Option<(Vec<String>, String)> {
    let mut parts = path.iter().filter(|part| *part != "*").map(String::as_str).peekable();
    let mut base: Vec<String> = match parts.next()? {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        child => [module, &[child.to_owned()]].concat(),
    };
    for part in parts {
        match part {
            "super" => drop(base.pop()?),
            "self" => {}
            part => base.push(part.to_owned()),
        }
    }
    Some((base, name.clone()))
}

/// Returns the file that defines a path's item.
fn defining<'f>(files: &'f Files, path: &[String]) -> Option<&'f Vec<String>> {
    let mut path = path.to_vec();
    // A chain of re-exports is no longer than this.
    for _ in 0..8 {
        let length = (0..=path.len()).rev().find(|&length| files.contains_key(&path[..length]))?;
        let (module, file) = files.get_key_value(&path[..length])?;
        match path.get(length).and_then(|name| file.exports.get(name)) {
            Some(target) => path = [target.as_slice(), &path[length + 1..]].concat(),
            None => return Some(module),
        }
    }
    None
}

/// Returns the files that are imported, directly or through others.
fn reached<'f>(
    next: &BTreeMap<&'f Vec<String>, BTreeSet<&'f Vec<String>>>,
    from: &'f Vec<String>,
) -> BTreeSet<&'f Vec<String>> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(next[module].iter().filter(|target| seen.insert(**target)));
    }
    seen
}

/// Returns the sets of more than one file that can be reached from each other.
fn components(files: &Files) -> Vec<BTreeSet<String>> {
    let next: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = files
        .iter()
        .map(|(module, file)| {
            let targets = file.imports.iter().filter_map(|path| defining(files, path));
            (module, targets.filter(|target| *target != module).collect())
        })
        .collect();
    let reach: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        files.keys().map(|module| (module, reached(&next, module))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (module, targets) in reach.iter().filter(|(module, targets)| targets.contains(**module)) {
        let circle: BTreeSet<String> = targets
            .iter()
            .filter(|target| reach[**target].contains(*module))
            .map(|target| files[*target].path.display().to_string())
            .collect();
        if !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut files = Files::new();
        for (path, text) in sources {
            let module = module_of(Path::new(path));
            files.insert(module.clone(), read(PathBuf::from(path), &module, text));
        }
        components(&files).into_iter().map(|circle| circle.into_iter().collect()).collect()
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let both = [("a.rs", "use crate::b::{self, Thing};\n"), ("b.rs", "use super::a::Other as More;\n")];
        assert_eq!(circles_of(&both), [["a.rs", "b.rs"]]);
        let one = [("a.rs", "use crate::b::Thing;\n"), ("b.rs", "use std::fmt;\n")];
        assert!(circles_of(&one).is_empty());
    }

    #[test]
    fn what_is_re_exported_belongs_to_who_defines_it() {
        let folder = [
            ("x/mod.rs", "mod a;\nmod b;\npub use a::A;\npub use self::b::B;\n"),
            ("x/a.rs", "use super::B;\n"),
            ("x/b.rs", "use std::fmt;\n"),
        ];
        assert!(circles_of(&folder).is_empty());
        let circle = [folder[0], folder[1], ("x/b.rs", "use crate::x::{\n    A,\n};\n")];
        assert_eq!(circles_of(&circle), [["x/a.rs", "x/b.rs"]]);
    }

    #[test]
    fn tests_import_what_they_like() {
        let files = [
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
        ];
        assert!(circles_of(&files).is_empty());
    }

    #[test]
    fn statements_with_braces_in_braces() {
        let names: Vec<String> = expand("crate::{a::{B, c::D as E}, f}")
            .into_iter()
            .map(|(path, name)| format!("{} {name}", path.join("::")))
            .collect();
        assert_eq!(names, ["crate::a::B B", "crate::a::c::D E", "crate::f f"]);
    }
}

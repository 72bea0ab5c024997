//! `millstream sparc --count` and `--unreached`: how often each function was entered, and the crypto
//! instructions that were never reached.

use std::collections::BTreeMap;

use millstream_ultrasparc::counts::{Name, Paths};
use serde_json::{Value, json};

use crate::observe::table::table;

/// Formats a line for each function, the most entered last, as DTrace does.
pub fn text(entries: &BTreeMap<Name, u64>) -> String {
    let mut entries: Vec<(&Name, u64)> = entries.iter().map(|(name, &count)| (name, count)).collect();
    entries.sort_by_key(|&(name, count)| (count, name));
    let row =
        |(name, count): (&Name, u64)| vec![name.library.clone(), name.function.clone(), count.to_string()];
    let rows: Vec<_> = entries.into_iter().map(row).collect();
    table(&[("LIBRARY", false), ("FUNCTION", false), ("ENTRIES", true)], &rows)
}

/// Returns the same for programs.
pub fn json(entries: &BTreeMap<Name, u64>) -> Value {
    let entry = |(name, count): (&Name, &u64)| json!({ "library": name.library, "function": name.function, "entries": count });
    entries.iter().map(entry).collect()
}

/// Formats a line for each function that has crypto instructions, those that were never reached last.
pub fn paths_text(paths: &BTreeMap<Name, Paths>) -> String {
    let mut paths: Vec<(&Name, &Paths)> = paths.iter().collect();
    paths.sort_by_key(|(_, paths)| paths.reached == 0);
    let row = |(name, paths): (&Name, &Paths)| {
        let missed = match paths.reached {
            0 => "all".to_owned(),
            _ => paths
                .unreached
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let numbers = [paths.present, paths.reached, paths.executions].map(|number| number.to_string());
        [name.library.clone(), name.function.clone()].into_iter().chain(numbers).chain([missed]).collect()
    };
    let rows: Vec<Vec<String>> = paths.into_iter().map(row).collect();
    let columns = [
        ("LIBRARY", false),
        ("FUNCTION", false),
        ("PRESENT", true),
        ("REACHED", true),
        ("EXECUTED", true),
        ("NEVER EXECUTED", false),
    ];
    table(&columns, &rows)
}

/// Returns the instructions that were never executed, by function.
pub fn unreached_json(paths: &BTreeMap<Name, Paths>) -> Value {
    let missed = paths.iter().filter(|(_, paths)| !paths.unreached.is_empty());
    let function = |(name, paths): (&Name, &Paths)| {
        json!({
            "library": name.library,
            "function": name.function,
            "reached": paths.reached,
            "instructions": paths.unreached,
        })
    };
    missed.map(function).collect()
}

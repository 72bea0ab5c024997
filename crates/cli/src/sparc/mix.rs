//! `millstream sparc --mix`: the kinds of instructions that a program executed, and the crypto instructions
//! by name.

use std::cmp::Reverse;

use millstream_ultrasparc::counts::Counts;
use millstream_ultrasparc::isa::Class;
use serde_json::{Map, Value};

use crate::observe::table::table;

/// Formats a line for each kind, the most frequent first. Crypto kinds have their instructions below them.
pub fn text(counts: &Counts) -> String {
    let total = counts.total();
    let share = |count: u64| format!("{:.1} %", 100.0 * count as f64 / total.max(1) as f64);
    let mut classes: Vec<(Class, u64)> = counts.classes().into_iter().collect();
    classes.sort_by_key(|&(class, count)| (Reverse(count), class));
    let mut rows = Vec::new();
    for (class, count) in classes {
        rows.push(vec![class.name().to_owned(), count.to_string(), share(count)]);
        if class.is_crypto() {
            let named = by_name(counts, class);
            rows.extend(
                named
                    .into_iter()
                    .map(|(name, count)| vec![format!("  {name}"), count.to_string(), share(count)]),
            );
        }
    }
    rows.push(vec!["all".to_owned(), total.to_string(), String::new()]);
    table(&[("CLASS", false), ("INSTRUCTIONS", true), ("SHARE", true)], &rows)
}

/// Returns how often each instruction of a class was executed, the most frequent first.
fn by_name(counts: &Counts, class: Class) -> Vec<(&'static str, u64)> {
    let rows = counts.rows().filter(|(row, _)| row.class == class);
    let mut named: Vec<_> = rows.map(|(row, count)| (row.name, count)).collect();
    named.sort_by_key(|&(name, count)| (Reverse(count), name));
    named
}

/// Returns the counts by class.
pub fn classes(counts: &Counts) -> Value {
    let classes = counts.classes().into_iter();
    classes.map(|(class, count)| (class.name().to_owned(), Value::from(count))).collect::<Map<_, _>>().into()
}

/// Returns the counts by name. All conditions and formats of a name are counted together.
pub fn rows(counts: &Counts) -> Value {
    let mut named = Map::new();
    for (row, count) in counts.rows() {
        let before = named.get(row.name).and_then(Value::as_u64).unwrap_or(0);
        named.insert(row.name.to_owned(), Value::from(before + count));
    }
    named.into()
}

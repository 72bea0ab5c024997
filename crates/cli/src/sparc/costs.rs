//! `millstream sparc --costs`: the cost of a program and of its use of the accelerators, by the timing model.

use millstream_ultrasparc::counts::Counts;
use millstream_ultrasparc::kernel::{Accounts, Line};
use millstream_ultrasparc::processor::Processor;
use millstream_ultrasparc::timing::model;

use crate::observe::table::table;

/// Formats a line for each kind of cost of the accelerators, their sum, and the program's own instructions.
/// The latter include starting and printing, which are not the program's purpose.
pub fn text(processor: Processor, accounts: Option<&Accounts>, executed: &Counts) -> String {
    let lines = accounts.map(Accounts::lines).unwrap_or_default();
    let clock = model::clock(processor);
    let row = |what: &str, count: Option<u64>, cycles: f64| {
        let micros = format!("{:.2}", cycles / clock * 1e6);
        vec![what.to_owned(), count.map_or(String::new(), |n| n.to_string()), format!("{cycles:.0}"), micros]
    };
    let mut rows: Vec<Vec<String>> =
        lines.iter().map(|Line { what, count, cycles, .. }| row(what, Some(*count), *cycles)).collect();
    let cycles = model::instructions(processor, executed.classes());
    let whole = format!(
        "{} instructions in the whole program, {cycles:.0} cycles one after another\n",
        executed.total()
    );
    if rows.is_empty() {
        return whole;
    }
    let total = lines.iter().filter(|line| !line.meanwhile).map(|line| line.cycles).sum();
    rows.push(row("all of it, one after another", None, total));
    let title = format!("{processor}, {:.2} GHz", clock / 1e9);
    table(&[(&title, false), ("TIMES", true), ("CYCLES", true), ("MICROSECONDS", true)], &rows) + &whole
}

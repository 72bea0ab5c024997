//! `millstream sparc --costs`: what a program's use of the accelerators cost, by the timing model.

use millstream_ultrasparc::kernel::{Accounts, Line};
use millstream_ultrasparc::timing::model;

use crate::observe::table::table;

/// A line for each kind of cost, and their sum.
pub fn text(accounts: &Accounts) -> String {
    let lines = accounts.lines();
    let clock = model::clock(accounts.processor());
    let total: f64 = lines.iter().filter(|line| !line.meanwhile).map(|line| line.cycles).sum();
    let micros = |cycles: f64| format!("{:.2}", cycles / clock * 1e6);
    let row = |Line { what, count, cycles, .. }: &Line| {
        vec![(*what).to_owned(), count.to_string(), format!("{cycles:.0}"), micros(*cycles)]
    };
    let mut rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    rows.push(vec![
        "all of it, one after another".to_owned(),
        String::new(),
        format!("{total:.0}"),
        micros(total),
    ]);
    let title = format!("{}, {:.2} GHz", accounts.processor(), clock / 1e9);
    table(&[(&title, false), ("TIMES", true), ("CYCLES", true), ("MICROSECONDS", true)], &rows)
}

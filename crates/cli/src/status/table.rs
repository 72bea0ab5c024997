//! The counts as tables, for people.

use std::fmt::Write;
use std::path::Path;

use millstream::isolated::UseStatus;
use millstream::isolated::token::TokenStatus;
use millstream_cwq::Status;
use millstream_measure::figures::significant;
use rustix::process::geteuid;

use super::{Grant, View, Worker, rule, user};
use crate::shown;

/// A column: its title, its alignment, and its contents.
struct Column<'a, T> {
    title: &'a str,
    right: bool,
    text: Box<dyn Fn(&T) -> String + 'a>,
}

fn left<'a, T>(title: &'a str, text: impl Fn(&T) -> String + 'a) -> Column<'a, T> {
    Column { title, right: false, text: Box::new(text) }
}

fn right<'a, T>(title: &'a str, text: impl Fn(&T) -> String + 'a) -> Column<'a, T> {
    Column { title, right: true, text: Box::new(text) }
}

/// Formats the workers, the grants, and the rules that were broken. `extra` gives each grant one more column,
/// if it has a title.
pub fn text(view: &View, socket: &Path, extra: (&str, &dyn Fn(&Grant) -> String)) -> String {
    let (workers, grants) = (count(view.workers.len(), "worker"), count(view.grants.len(), "grant"));
    let socket = shown::path(socket);
    let mut text = if view.is_whole() {
        format!("{socket}: {workers}, {grants}\n")
    } else {
        let own = user(geteuid().as_raw());
        format!(
            "{socket}: {grants} of user {own}, and the workers that serve them; root, the service's user and the \
             policy's operators see all\n"
        )
    };
    if !view.workers.is_empty() {
        text += &format!("\n{}", table(&worker_columns(), &view.workers));
    }
    if !view.grants.is_empty() {
        let mut columns = grant_columns();
        if !extra.0.is_empty() {
            columns.push(left(extra.0, extra.1));
        }
        text += &format!("\n{}", table(&columns, &view.grants));
    }
    if !view.uses.is_empty() {
        text += &format!("\n{}", table(&use_columns(), &view.uses));
    }
    if !view.tokens.is_empty() {
        text += &format!("\n{}", table(&token_columns(), &view.tokens));
    }
    let failed = view.grants.iter().filter(|grant| grant.failures() > 0);
    for (i, grant) in failed.enumerate() {
        let gap = if i == 0 { "\n" } else { "" };
        let _ = write!(text, "{gap}{}", failures(grant));
    }
    text
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn worker_columns<'a>() -> Vec<Column<'a, Worker>> {
    vec![
        right("WORKER", |w: &Worker| w.now.worker.to_string()),
        right("PID", |w: &Worker| w.now.pid.to_string()),
        right("CPU", |w: &Worker| if w.now.cpu.0 { w.now.cpu.1.to_string() } else { "any".into() }),
        right("GRANTS", |w: &Worker| w.now.grants.to_string()),
        right("LANES", |w: &Worker| w.lanes.map_or("-".into(), significant)),
        right("SLEEPS", |w: &Worker| short(w.now.sleeps as f64)),
        right("SLEEPS/S", |w: &Worker| per_second(w.sleeps_per_s)),
        right("RESTARTS", |w: &Worker| w.now.restarts.to_string()),
        left("FOR", served),
        left("KEYS IN", |w: &Worker| shown::text(&w.now.key_memory)),
        left("SANDBOX", |w: &Worker| shown::text(&w.now.sandbox)),
    ]
}

/// Returns what a worker is for and, where grants of its may use presignatures, the counts of those.
fn served(worker: &Worker) -> String {
    let presigned = &worker.now.presigned;
    match (worker.now.private_keys, presigned.grants) {
        (false, _) => "data".to_owned(),
        (true, 0) => "private keys".to_owned(),
        (true, _) => {
            let [taken, dropped] = [presigned.taken, presigned.dropped].map(|count| short(count as f64));
            format!(
                "private keys (presignatures: {} ready, {taken} used, {dropped} dropped)",
                presigned.ready
            )
        }
    }
}

fn token_columns<'a>() -> Vec<Column<'a, TokenStatus>> {
    let tries = |left: u8| if left == 0 { "locked".to_owned() } else { format!("{left} tries") };
    vec![
        left("TOKEN", |t: &TokenStatus| shown::text(&t.label)),
        right("OBJECTS", |t: &TokenStatus| t.objects.to_string()),
        right("CHANGES", |t: &TokenStatus| short(t.changes as f64)),
        right("OPEN", |t: &TokenStatus| t.sessions.to_string()),
        left(
            "USER PIN",
            move |t: &TokenStatus| {
                if t.has_user_pin { tries(t.user_tries_left) } else { "none".to_owned() }
            },
        ),
        left("OFFICER'S PIN", move |t: &TokenStatus| tries(t.officer_tries_left)),
        left("THIS USER", |t: &TokenStatus| if t.manages { "manages".into() } else { "uses".into() }),
        left("OPEN TO GRANTS", holders),
    ]
}

/// Returns the grants that have a token open, as far as this user may see them.
fn holders(token: &TokenStatus) -> String {
    let grants = token.holders.iter().map(|holder| match holder.sessions {
        1 => holder.grant.to_string(),
        sessions => format!("{} ({sessions} times)", holder.grant),
    });
    let shown: u32 = token.holders.iter().map(|holder| holder.sessions).sum();
    let others = (token.sessions > shown).then(|| "others".to_owned());
    let all: Vec<String> = grants.chain(others).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

/// Returns the columns for the use of resources.
fn use_columns<'a>() -> Vec<Column<'a, UseStatus>> {
    let of = |what: &'static str| {
        move |status: &UseStatus| {
            let found = status.uses.iter().find(|each| each.what == what);
            found.map_or("-".into(), |each| match each.limit {
                u64::MAX => short(each.used as f64),
                limit => format!("{}/{}", short(each.used as f64), short(limit as f64)),
            })
        }
    };
    vec![
        left("LIMITS OF", |status: &UseStatus| match (status.user, status.worker) {
            (true, _) => user(status.number),
            (_, true) => format!("worker {}", status.number),
            _ => "service".to_owned(),
        }),
        right("GRANTS", of("grants")),
        right("CONNECTIONS", of("connections")),
        right("DESCRIPTORS", of("descriptors")),
        right("QUEUES", of("queues")),
        right("MEMORY", of("memory_bytes")),
        right("KEY MEMORY", of("key_memory_bytes")),
        right("ORDERS", of("orders")),
    ]
}

fn grant_columns<'a>() -> Vec<Column<'a, Grant>> {
    vec![
        right("GRANT", |g: &Grant| g.now.grant.id.to_string()),
        left("USER", |g: &Grant| g.user.clone()),
        right("PID", |g: &Grant| g.now.pid.to_string()),
        left("PROGRAM", |g: &Grant| g.program.clone().unwrap_or_else(|| "-".into())),
        right("WORKER", |g: &Grant| g.now.worker.to_string()),
        right("AGE", |g: &Grant| age(g.now.age_s)),
        right("QUEUES", |g: &Grant| format!("{}x{}", g.now.grant.queues, g.now.grant.depth)),
        right("IN FLIGHT", |g: &Grant| g.now.counts.in_flight.to_string()),
        right("OPS", |g: &Grant| short(g.now.counts.operations as f64)),
        right("OPS/S", |g: &Grant| per_second(g.rates.map(|r| r.operations))),
        right("BYTES/S", |g: &Grant| per_second(g.rates.map(|r| r.bytes))),
        right("BELLS/S", |g: &Grant| per_second(g.rates.map(|r| r.doorbells))),
        right("WAKES/S", |g: &Grant| per_second(g.rates.map(|r| r.wakes))),
        right("KEYS", |g: &Grant| format!("{}/{}", g.now.counts.keys, g.now.grant.key_slots)),
        right("ERRORS", |g: &Grant| short(g.failures() as f64)),
    ]
}

fn per_second(value: Option<f64>) -> String {
    value.map_or("-".into(), short)
}

/// Formats a number in at most five characters without blanks, like `812` and `3.20k`.
fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| value >= *unit) {
        Some((unit, name)) => format!("{}{name}", significant(value / unit)),
        None => format!("{value:.0}"),
    }
}

/// Formats an age like `59s`, `3m`, `5h`, `12d`.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

/// Formats a grant's failures, like `grant 7: 3 source-range (the source is not inside the arena)`.
fn failures(grant: &Grant) -> String {
    let mut text = String::new();
    for &(code, times) in &grant.now.counts.failures {
        let why = Status::from_code(code).map_or_else(String::new, |status| format!(" ({status})"));
        let _ = writeln!(text, "grant {}: {times} {}{why}", grant.now.grant.id, rule(code));
    }
    text
}

fn table<T>(columns: &[Column<'_, T>], rows: &[T]) -> String {
    let mut lines = vec![String::new(); rows.len() + 1];
    for column in columns {
        let cells: Vec<String> = std::iter::once(column.title.to_owned())
            .chain(rows.iter().map(|row| (column.text)(row)))
            .collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(&cells) {
            let gap = if line.is_empty() { "" } else { "  " };
            let _ = match column.right {
                true => write!(line, "{gap}{cell:>width$}"),
                false => write!(line, "{gap}{cell:width$}"),
            };
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grant, view};
    use super::*;

    #[test]
    fn a_line_a_grant_and_a_line_a_broken_rule() {
        let mut view = view(vec![(grant(7, 3200), Some(grant(7, 1600))), (grant(8, 5), None)]);
        let text = text(&view, Path::new("/run/x"), ("", &|_| String::new()));
        let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
        assert!(text.starts_with("/run/x: 2 grants of user "), "{text}");
        view.uses.push(UseStatus::default());
        let whole = self::text(&view, Path::new("/run/x"), ("", &|_| String::new()));
        assert!(whole.starts_with("/run/x: 1 worker, 2 grants\n"), "{whole}");
        let cells: Vec<&str> = line("7 ").split_whitespace().collect();
        assert_eq!(cells[1], "root");
        assert_eq!(&cells[5..8], ["1m", "2x64", "0"], "{text}");
        assert_eq!(&cells[8..], ["3.20k", "800", "51.2k", "0", "0", "0/256", "3"], "{text}");
        assert_eq!(line("0 ").split_whitespace().nth(4), Some("16.0"), "{text}");
        assert!(line("8 ").contains(" - "), "{text}");
        assert!(text.contains("grant 7: 3 source-range (the source is not inside the arena)\n"), "{text}");
        assert_eq!(line("worker 2").split_whitespace().nth(5), Some("3/4.10k"), "{text}");
        // All lines of a table end below the end of its title.
        assert_eq!(line("GRANT ").len(), line("7 ").len());
    }

    #[test]
    fn ages() {
        assert_eq!([59, 60, 7199, 86400].map(age), ["59s", "1m", "1h", "1d"]);
    }
}

//! The report of what was computed for a program, for people and as JSON.

use std::ffi::OsString;

use millstream::tally::{Counted, Place};
use millstream_measure::figures::significant;
use serde_json::{Value, json};

use super::executable::Executable;
use super::folder::Seen;
use super::service::Service;
use crate::{exact, shown};

/// The report at the end of a run.
pub struct Report<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The program's exit code.
    pub status: u8,
    /// The counts.
    pub counted: Vec<Counted>,
    /// The service that held the keys, if the program did not.
    pub service: Option<&'a Service>,
    /// The reason why nothing was counted.
    pub nothing: Option<String>,
}

impl Report<'_> {
    /// Formats lines for people.
    pub fn text(&self) -> String {
        let mut text = match &self.nothing {
            Some(why) => format!("millstream run: nothing was accelerated: {why}\n"),
            None => format!("millstream run: accelerated\n{}", table(&self.by_bytes())),
        };
        if let Some(service) = self.service {
            let own = if service.is_own() { ", started for this run" } else { "" };
            text += &format!("service: {}{own}\n", shown::path(service.socket()));
        }
        text
    }

    /// Returns the same for programs.
    pub fn json(&self) -> Value {
        let service = self.service.map(|service| {
            let mut value = json!({ "own": service.is_own() });
            exact::put(&mut value, "socket", service.socket().as_os_str());
            value
        });
        let rows = self.by_bytes().into_iter().map(|row| {
            json!({
                "place": place(row.place),
                "algorithm": row.algorithm,
                "kernel": row.kernel,
                "operations": row.operations,
                "bytes": row.bytes,
            })
        });
        let mut value = json!({
            "version": 1,
            "status": self.status,
            "service": service,
            "accelerated": rows.collect::<Vec<_>>(),
            "nothing": self.nothing,
        });
        exact::put_command(&mut value, self.command);
        value
    }

    fn by_bytes(&self) -> Vec<&Counted> {
        let mut rows: Vec<&Counted> = self.counted.iter().collect();
        rows.sort_by(|a, b| (b.bytes, b.operations, *a).cmp(&(a.bytes, a.operations, *b)));
        rows
    }
}

fn place(place: Place) -> &'static str {
    match place {
        Place::InProcess => "in-process",
        Place::Isolated => "isolated",
    }
}

/// Formats a line for each row under the titles. Numbers are aligned to the right.
fn table(rows: &[&Counted]) -> String {
    const TITLES: [&str; 5] = ["ALGORITHM", "KERNEL", "PLACE", "OPERATIONS", "BYTES"];
    let line = |row: &&Counted| {
        let (operations, bytes) = (short(row.operations, ""), short(row.bytes, "B"));
        [row.algorithm.clone(), row.kernel.clone(), place(row.place).into(), operations, bytes]
    };
    let lines: Vec<[String; 5]> =
        std::iter::once(TITLES.map(str::to_owned)).chain(rows.iter().map(line)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let [algorithm, kernel, place, operations, bytes] = line;
        let [a, k, p, o, b] = widths;
        text += &format!("{algorithm:a$}  {kernel:k$}  {place:p$}  {operations:>o$}  {bytes:>b$}\n");
    }
    text
}

/// Formats a number like `812` or `3.20 kB`.
fn short(number: u64, unit: &str) -> String {
    let value = number as f64;
    let prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let text = match prefixes.into_iter().find(|(prefix, _)| value >= *prefix) {
        Some((prefix, name)) => format!("{} {name}{unit}", significant(value / prefix)),
        None => format!("{number} {unit}"),
    };
    text.trim_end().to_owned()
}

/// Returns the likely reason why nothing was counted, from how far the provider got and from the program's
/// file.
pub fn why_nothing(seen: Option<Seen>, program: Option<&Executable>, demands_fips: bool) -> String {
    match seen {
        Some(Seen { tally: true, .. }) => {
            "the provider was loaded, but completed no operation".into()
        }
        Some(Seen { configuration: true, .. }) if demands_fips => {
            "OpenSSL's configuration demands fips=yes, which Millstream does not meet".into()
        }
        Some(Seen { configuration: true, .. }) => {
            "the program read the configuration, but asked for nothing that Millstream computes, asked for another \
             provider by name, was refused by the service (its log says why), or could not reach the file of \
             counters (in another root, for example)"
                .into()
        }
        Some(_) => why_unread(program),
        None => "the program used nothing that Millstream computes, or not OpenSSL 3".into(),
    }
}

fn why_unread(program: Option<&Executable>) -> String {
    let Some(program) = program else {
        return "no program that ran read OpenSSL's configuration".into();
    };
    let path = program.path.display();
    if program.is_privileged {
        return format!(
            "{path} is a set-user-ID or set-group-ID program, which ignores the environment's configuration"
        );
    }
    match (&program.libraries, program.other_library()) {
        (None, _) => format!("{path} is linked statically, and read no OpenSSL configuration"),
        (_, Some(other)) => format!("{path} uses {other}"),
        _ => format!(
            "{path} read no OpenSSL configuration: it does not use libcrypto of OpenSSL 3, reads a configuration \
             of its own, or clears the environment"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(place: Place, algorithm: &str, operations: u64, bytes: u64) -> Counted {
        Counted { place, algorithm: algorithm.into(), kernel: "portable".into(), operations, bytes }
    }

    #[test]
    fn the_table_has_the_most_bytes_first() {
        let counted = vec![
            row(Place::InProcess, "SHA2-256", 12, 999),
            row(Place::Isolated, "AES-256-GCM", 1200, 5_240_000),
        ];
        let report = Report { command: &["x".into()], status: 3, counted, service: None, nothing: None };
        let expected = "\
millstream run: accelerated
ALGORITHM    KERNEL    PLACE       OPERATIONS    BYTES
AES-256-GCM  portable  isolated        1.20 k  5.24 MB
SHA2-256     portable  in-process          12    999 B
";
        assert_eq!(report.text(), expected);
        let json = report.json();
        assert_eq!((&json["status"], &json["accelerated"][0]["bytes"]), (&json!(3), &json!(5_240_000)));
    }

    #[test]
    fn the_reason_is_the_nearest_one() {
        let program = |is_privileged, libraries: Option<&[&str]>| Executable {
            path: "/bin/x".into(),
            is_privileged,
            libraries: libraries.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        };
        let unread = Some(Seen { configuration: false, tally: false });
        let why = |program: &Executable| why_nothing(unread, Some(program), false);
        assert!(why(&program(true, None)).contains("set-user-ID"));
        assert!(why(&program(false, None)).contains("statically"));
        assert!(why(&program(false, Some(&["libnss3.so"]))).contains("NSS"));
        assert!(why(&program(false, Some(&["libcrypto.so.3", "libnss3.so"]))).contains("clears"));
        let read = Some(Seen { configuration: true, tally: false });
        assert!(why_nothing(read, None, true).contains("fips=yes"));
        assert!(why_nothing(read, None, false).contains("another provider"));
    }
}

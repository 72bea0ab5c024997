//! Java: a program that is compiled here, with the JDK's provider for PKCS #11 and without it.

use std::process::Command;

use super::bed::{Bed, pin};
use super::{Arguments, Place, Row, output};

/// The program that is compiled.
const PROGRAM: &str = include_str!("Turns.java");

/// Returns what Java says of its version.
///
/// # Errors
/// There is no Java.
pub fn version() -> Result<(String, String), String> {
    let told = output(Command::new("java").arg("--version"))?;
    Ok(("Java".to_owned(), told.lines().next().unwrap_or_default().to_owned()))
}

/// Measures authenticated encryption and signatures.
///
/// # Errors
/// The program can't be compiled, or a token made something else than the JDK's own code.
pub fn run(arguments: &Arguments, bed: &Bed) -> Result<Vec<Row>, String> {
    let folder = bed.folder.path();
    let write =
        |name: &str, text: &str| std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"));
    write("Turns.java", PROGRAM)?;
    for place in [Place::Millstream, Place::SoftHsm] {
        let (name, library) = (place.name(), bed.module(place).display());
        write(&format!("{name}.cfg"), &format!("name = {name}\nlibrary = {library}\nslotListIndex = 0\n"))?;
    }
    output(Command::new("javac").args(["-d", "."]).arg("Turns.java").current_dir(folder))?;
    let [client, _] = bed.processors;
    let (rounds, seconds) = match arguments.common.check_only {
        true => (1, 0.001),
        false => (arguments.rounds, arguments.seconds / 10.0),
    };
    let mut java = Command::new("taskset");
    java.args(["-c", &client.to_string(), "java", "-cp", ".", "Turns", &pin(), "."]);
    java.args([rounds.to_string(), seconds.to_string()]).current_dir(folder);
    bed.apply(&mut java);
    rows(&output(&mut java)?)
}

/// Reads lines of a name, a place and a rate.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        let fail = || format!("java: {line}");
        let [what, place, rate] = line.split('\t').collect::<Vec<_>>()[..] else { return Err(fail()) };
        let at = Place::ALL.iter().position(|of| of.name() == place).ok_or_else(fail)?;
        let what = format!("java, {what}");
        if rows.last().is_none_or(|row| row.what != what) {
            rows.push(Row::new(what));
        }
        let row = rows.last_mut().ok_or_else(fail)?;
        row.rates[at].push(rate.parse().map_err(|_| fail())?);
    }
    Ok(rows)
}

//! The lines in which `digest` and `mac` print results: those of Solaris, those of `sha256sum`, and JSON.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::mem;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::commands::print;
use crate::error::Error;
use crate::{exact, shown};

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `HEX`, or `(file) = HEX` among several, as on Solaris.
    Plain,
    /// `algorithm (file) = HEX`, as `-v` on Solaris.
    Verbose,
    /// `HEX  file`, as `sha256sum` prints it.
    Sum,
    /// `SHA256 (file) = HEX`, as BSD and `sha256sum --tag` print it, with this name of the algorithm.
    Tagged(&'static str),
    /// A line of JSON.
    Json,
}

/// The way results are printed.
pub(super) struct Style<'a> {
    /// The algorithm as the user named it.
    pub(super) algorithm: &'a str,
    /// The name of the result in JSON: `digest` or `mac`.
    pub(super) what: &'static str,
    pub(super) form: Form,
    /// True when a terminal shows the lines.
    pub(super) on_screen: bool,
    pub(super) quiet: bool,
}

/// Formats a result. Without a file it is that of standard input.
pub(super) fn line(style: &Style<'_>, file: Option<&OsStr>, several: bool, sum: &[u8]) -> Vec<u8> {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let hex: String = sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    let bytes = file.map(OsStr::as_bytes);
    // sha256sum calls standard input so.
    let named = escaped(bytes.unwrap_or(b"-"));
    let start: &[u8] = if matches!(named, Cow::Owned(_)) { b"\\" } else { b"" };
    let mut line = match (style.form, bytes) {
        (Form::Json, _) => json(style, file, hex).to_string().into_bytes(),
        (Form::Sum, _) => [start, hex.as_bytes(), b"  ", &named].concat(),
        (Form::Tagged(tag), _) => [start, tag.as_bytes(), b" (", &named, b") = ", hex.as_bytes()].concat(),
        (Form::Verbose, Some(name)) => {
            [style.algorithm.as_bytes(), b" (", name, b") = ", hex.as_bytes()].concat()
        }
        (Form::Verbose, None) => format!("{} {hex}", style.algorithm).into_bytes(),
        (Form::Plain, Some(name)) if several => [b"(", name, b") = ", hex.as_bytes()].concat(),
        (Form::Plain, _) => hex.into_bytes(),
    };
    if style.on_screen {
        line = on_screen(&line);
    }
    line.push(b'\n');
    line
}

/// Formats the object, whose file is null for standard input.
fn json(style: &Style<'_>, file: Option<&OsStr>, hex: String) -> Value {
    let mut line = json!({ "algorithm": style.algorithm, "file": null, style.what: hex });
    if let Some(file) = file {
        exact::put(&mut line, "file", file);
    }
    line
}

/// Spells out backslashes and ends of lines in a name as `sha256sum` does, which marks such a line with a backslash
/// at its beginning.
pub(super) fn escaped(name: &[u8]) -> Cow<'_, [u8]> {
    if !name.iter().any(|byte| b"\\\n\r".contains(byte)) {
        return Cow::Borrowed(name);
    }
    let mut text = Vec::with_capacity(name.len() + 8);
    for &byte in name {
        match byte {
            b'\\' => text.extend(b"\\\\"),
            b'\n' => text.extend(b"\\n"),
            b'\r' => text.extend(b"\\r"),
            byte => text.push(byte),
        }
    }
    Cow::Owned(text)
}

/// Returns what a terminal may be shown of a line.
pub(super) fn on_screen(line: &[u8]) -> Vec<u8> {
    shown::text(&String::from_utf8_lossy(line)).into_bytes()
}

/// Lines that are printed together: a write for each would take longer than the sum of a small file.
#[derive(Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// The bytes that are printed together.
    const TOGETHER: usize = 64 << 10;

    /// Adds a line, and prints when there are many.
    pub(super) fn add(&mut self, line: Vec<u8>) -> Result<(), Error> {
        self.0.extend(line);
        if self.0.len() >= Lines::TOGETHER { self.print() } else { Ok(()) }
    }

    /// Prints the lines that were added.
    pub(super) fn print(&mut self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { print(mem::take(&mut self.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_line() {
        let file = OsStr::new("a\\b\n");
        for (form, alone, named) in [
            (Form::Plain, "0aff\n", "(a\\b\n) = 0aff\n"),
            (Form::Verbose, "sha256 0aff\n", "sha256 (a\\b\n) = 0aff\n"),
            (Form::Sum, "0aff  -\n", "\\0aff  a\\\\b\\n\n"),
            (Form::Tagged("SHA256"), "SHA256 (-) = 0aff\n", "\\SHA256 (a\\\\b\\n) = 0aff\n"),
        ] {
            let style = Style { algorithm: "sha256", what: "digest", form, on_screen: false, quiet: true };
            assert_eq!(line(&style, None, false, &[10, 255]), alone.as_bytes(), "{form:?}");
            assert_eq!(line(&style, Some(file), true, &[10, 255]), named.as_bytes(), "{form:?}");
        }
        assert_eq!(on_screen(b"a\x1b[31m\xff"), "a\\x1b[31m\u{fffd}".as_bytes());
    }
}

//! `millstream backup get`.

use std::io::{self, BufWriter, IsTerminal};
use std::ops::Range;
use std::path::PathBuf;

use millstream_backup::{self as backup, get};
use serde_json::json;

use super::{At, Long, features, to_errors, verifier};
use crate::commands::wrapping::Opening;
use crate::commands::{Context, cautions};
use crate::error::Error;
use crate::output::Output;

/// Restore a backup, or a range of it
///
/// Nothing is written that was not verified, and a file gets its name only when it is whole. With --json, lines go to standard error.
#[derive(clap::Args)]
pub(super) struct Get {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    keys: Opening,
    /// The file or device to write; without it, or with -, standard output
    #[arg(short = 'o', long, value_name = "FILE", allow_hyphen_values = true)]
    output: Option<PathBuf>,
    /// The bytes that are wanted, as in 0-99 for the first hundred, or 4096- for all from there on
    #[arg(long, value_name = "FIRST-LAST", value_parser = range)]
    range: Option<Wanted>,
    /// Accept a backup that has another name than it was made under
    #[arg(long)]
    moved: bool,
    /// The verifier that put printed: refuse a backup that it has not signed
    #[arg(long, value_name = "HEX", value_parser = verifier)]
    verifier: Option<[u8; 32]>,
    #[command(flatten)]
    long: Long,
}

/// A range as HTTP has it: both ends are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    first: u64,
    last: Option<u64>,
}

fn range(text: &str) -> Result<Wanted, String> {
    let parsed = text.split_once('-').and_then(|(first, last)| {
        let digits =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        let last = if last.is_empty() { None } else { Some(digits(last)?) };
        Some(Wanted { first: digits(first)?, last })
    });
    let in_order =
        |wanted: &Wanted| wanted.last.is_none_or(|last| wanted.first <= last && last < u64::MAX - 1);
    parsed.filter(in_order).ok_or_else(|| "a range is as in 0-99, or 4096- for all from there on".into())
}

impl Get {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        if self.output.is_none() && io::stdout().is_terminal() {
            let why = "standard output is a terminal, which a backup would garble; name a file with -o, or insist with '-o -'";
            return Err(Error::Usage(why.into()));
        }
        let destination = cautions::file(self.output.as_deref());
        cautions::spare_secrets(destination, &self.keys.files())?;
        let (store, location) = self.at.open()?;
        let features = features()?;
        let mut options = backup::Get::new(features);
        (options.memory, options.moved, options.verifier) = (self.long.memory, self.moved, self.verifier);
        let bytes = get::manifest(&store, &location, features, self.verifier.as_ref())?.index.bytes;
        if let Some(Wanted { first, last }) = self.range {
            options.range = Some(Range { start: first, end: last.map_or(u64::MAX, |last| last + 1) });
        }
        let secrets = self.keys.read(context)?;
        let output = match destination {
            // Nobody has said who may read it.
            Some(path) => Output::as_private_as(path, &pipe()?)?,
            None => Output::standard()?,
        };
        let progress = self.long.progress(Some(
            options.range.as_ref().map_or(bytes, |range| range.end.min(bytes).saturating_sub(range.start)),
        ));
        let tell = |event| self.long.tell(&progress, &event, to_errors);
        let mut writer = BufWriter::with_capacity(0, output.file());
        let done = get::get(&store, &location, &options, &secrets.identities(), &mut writer, &tell);
        drop(writer);
        progress.finish(done.is_ok());
        let written = done.map_err(|error| match error {
            backup::Error::Write(source) => Error::Write { name: output.name(), source },
            error => error.into(),
        })?;
        if self.long.json {
            to_errors(&json!({ "event": "done", "bytes": written }));
        }
        output.finish()
    }
}

/// Returns a file that is a pipe, as the input of an output that only its owner may read.
fn pipe() -> Result<std::fs::File, Error> {
    let failed = |source: io::Error| Error::Read { name: "a pipe".into(), source };
    let (reader, _) = io::pipe().map_err(failed)?;
    Ok(std::fs::File::from(std::os::fd::OwnedFd::from(reader)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range("0-99"), Ok(Wanted { first: 0, last: Some(99) }));
        assert_eq!(range("4096-"), Ok(Wanted { first: 4096, last: None }));
        for wrong in ["", "-", "5", "9-8", "-5", "a-b", "0-18446744073709551615", "+1-+5"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}

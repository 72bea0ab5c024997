//! `millstream backup`: streams in object stores.

use std::time::Duration;

use millstream_backup::{Event, Location, Policy, Store};
use millstream_cpu::Features;
use serde_json::{Value, json};

use crate::commands::{Context, pages};
use crate::error::Error;
use crate::progress::Progress;

mod get;
mod keep;
mod list;
mod put;
mod source;
mod verify;

/// Keep streams in object stores: snapshots, folders, devices
///
/// A stream is cut into segments, which are encrypted and stored in parallel. A manifest makes them a backup when all are there. What was
/// interrupted goes on with resume. The address is a bucket with a name, as in s3://bucket/pool/now, or a folder.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::BACKUP))]
pub(super) struct Command {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    Put(put::Put),
    Resume(put::Resume),
    Get(get::Get),
    List(list::List),
    Verify(verify::Verify),
    Remove(keep::Remove),
    Prune(keep::Prune),
    Rekey(keep::Rekey),
}

impl Command {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        match self.which {
            Which::Put(command) => command.run(context),
            Which::Resume(command) => command.run(context),
            Which::Get(command) => command.run(context),
            Which::List(command) => command.run(context),
            Which::Verify(command) => command.run(context),
            Which::Remove(command) => command.run(),
            Which::Prune(command) => command.run(context),
            Which::Rekey(command) => command.run(context),
        }
    }
}

/// The address of a backup, and the way its store is used.
#[derive(clap::Args)]
struct At {
    /// The address: s3://BUCKET/NAME, gs://BUCKET/NAME, az://CONTAINER/NAME, or a folder
    #[arg(value_name = "ADDRESS", allow_hyphen_values = true)]
    address: String,
    /// The most bytes a second to and from the store, on average over some segments, as in 20M
    #[arg(long, value_name = "RATE", value_parser = size)]
    bandwidth: Option<u64>,
    /// The number of times that a failed call to the store is made again
    #[arg(long, value_name = "N", default_value_t = 7)]
    retries: u32,
}

impl At {
    /// Opens the store. A folder of this machine is asked once: what fails there does not pass.
    fn open(&self) -> Result<(Store, Location), Error> {
        let (location, inner, is_local) = Location::parse(&self.address)?;
        let policy = Policy {
            attempts: if is_local { 1 } else { self.retries.saturating_add(1) },
            first_wait: Duration::from_millis(250),
            bytes_per_second: self.bandwidth,
            is_local,
        };
        Ok((Store::new(inner, policy)?, location))
    }
}

/// The options of what takes long.
#[derive(clap::Args)]
struct Long {
    /// The most memory for segments, as in 1G
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "384M")]
    memory: u64,
    /// Show neither a progress bar nor what was done. Of a backup the verifier is not shown either
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Write an object of JSON in a line for each segment, and for the end
    #[arg(long)]
    json: bool,
}

impl Long {
    /// Makes the bar. It is the store that takes long, however short the stream is.
    fn progress(&self, total: Option<u64>) -> Progress {
        Progress::of_any_length(total, self.quiet || self.json)
    }

    /// Tells of an event: on the bar, or as JSON by `write`.
    fn tell(&self, progress: &Progress, event: &Event, write: fn(&Value)) {
        if let Event::Bytes(bytes) = event {
            return progress.advance(*bytes);
        }
        if self.json {
            write(&match event {
                Event::Stored { segment, bytes } => {
                    json!({ "event": "stored", "segment": segment, "bytes": bytes })
                }
                Event::Kept { segment, bytes } => {
                    json!({ "event": "kept", "segment": segment, "bytes": bytes })
                }
                Event::Verified { segment } => json!({ "event": "verified", "segment": segment }),
                _ => return,
            });
        }
    }
}

/// Writes a line of JSON on standard output. Nobody may be there to read it.
fn to_output(value: &Value) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout().lock(), "{value}");
}

/// Writes a line of JSON on standard error, where standard output has the stream.
fn to_errors(value: &Value) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{value}");
}

fn features() -> Result<Features, Error> {
    Ok(Features::active()?)
}

/// Parses bytes, with K, M, G or T for powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches("iB").trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match text.trim_end_matches("iB").strip_prefix(digits) {
        Some("") => 0,
        Some("K") => 10,
        Some("M") => 20,
        Some("G") => 30,
        Some("T") => 40,
        _ => return Err("a size is a number of bytes, as in 64M".into()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "a size is a number of bytes, as in 64M".into())
}

/// Parses a verifier.
fn verifier(text: &str) -> Result<[u8; 32], String> {
    millstream_backup::manifest::unhex(text.as_bytes())
        .ok_or_else(|| "a verifier has 64 hexadecimal digits, as put and list print it".into())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes() {
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("3GiB"), Ok(3 << 30));
        for wrong in ["", "0", "M", "1MM", "1m", "-1", "1.5G", "99999999999T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}

//! `millstream backup verify`.

use millstream_backup::{self as backup, verify};
use serde_json::json;

use super::{At, Long, features, to_output, verifier};
use crate::commands::wrapping::Opening;
use crate::commands::{Context, print};
use crate::error::Error;

/// Verify a backup
///
/// Without a key, the ciphertext is compared with the signed manifest. With one, every segment is opened as well.
#[derive(clap::Args)]
pub(super) struct Verify {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    keys: Opening,
    /// Examine so many percent of the segments, chosen at random
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=100))]
    sample: u8,
    /// Accept a backup that has another name than it was made under
    #[arg(long)]
    moved: bool,
    /// The verifier that put printed: refuse a backup that it has not signed
    #[arg(long, value_name = "HEX", value_parser = verifier)]
    verifier: Option<[u8; 32]>,
    #[command(flatten)]
    long: Long,
}

impl Verify {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let (store, location) = self.at.open()?;
        let mut options = backup::Get::new(features()?);
        (options.memory, options.moved, options.verifier) = (self.long.memory, self.moved, self.verifier);
        let secrets = if self.keys.is_given() { Some(self.keys.read(context)?) } else { None };
        let identities = secrets.as_ref().map(|secrets| secrets.identities());
        let progress = self.long.progress(None);
        let tell = |event| self.long.tell(&progress, &event, to_output);
        let done = verify::verify(&store, &location, &options, identities.as_deref(), self.sample, &tell);
        progress.finish(done.is_ok());
        let done = done?;
        let (examined, all) = (done.segments, done.index.segments.len());
        if self.long.json {
            to_output(&json!({ "event": "done", "segments": examined, "of": all, "opened": done.opened }));
            return Ok(());
        }
        if self.long.quiet {
            return Ok(());
        }
        let how = match (done.opened, self.verifier) {
            (true, _) => "opened, and right",
            (false, Some(_)) => "as they were stored, by the verifier that was named",
            (false, None) => "as the manifest says; --verifier shows that the manifest is the right one",
        };
        print(format!("{examined} of {all} segments: {how}\n"))
    }
}

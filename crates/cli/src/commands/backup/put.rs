//! `millstream backup put` and `resume`.

use millstream_backup::put::{self, Done};
use millstream_backup::{self as backup, manifest};
use serde_json::json;

use super::source::Source;
use super::{At, Long, features, size, to_output};
use crate::commands::wrapping::{Opening, Sealing};
use crate::commands::{Context, print};
use crate::error::Error;

/// Make a backup of a stream
///
/// The last line names the verifier: who keeps it can later verify the backup without the key, against any change.
#[derive(clap::Args)]
pub(super) struct Put {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    keys: Sealing,
    /// The bytes of a segment, which is an object of the store
    #[arg(long, value_name = "SIZE", value_parser = segment, default_value = "64M")]
    segment: u64,
    #[command(flatten)]
    long: Long,
}

/// Go on with a backup that was interrupted
///
/// The stream must come again from its beginning, as 'zfs send' makes it again. Segments that are in the store and have the same contents are not
/// stored again.
#[derive(clap::Args)]
pub(super) struct Resume {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    keys: Opening,
    #[command(flatten)]
    long: Long,
}

/// Parses the size of segments.
fn segment(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if (64 << 10..=4 << 30).contains(&bytes) { Ok(bytes) } else { Err("from 64K to 4G, as in 128M".into()) }
}

impl Put {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let mut options = backup::Put::new(features()?);
        (options.segment_bytes, options.memory) = (self.segment, self.long.memory);
        let (store, location) = self.at.open()?;
        let secrets = self.keys.read(context)?;
        let mut stream = self.source.open()?;
        options.source.clone_from(&stream.name);
        let progress = stream.progress(&self.long);
        let tell = |event| self.long.tell(&progress, &event, to_output);
        let done = put::put(&store, &location, &options, &secrets.recipients(), &mut stream.reader, &tell);
        progress.finish(done.is_ok());
        finished(context, &self.long, &self.at.address, &stream.name, done)
    }
}

impl Resume {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let mut options = backup::Put::new(features()?);
        options.memory = self.long.memory;
        let (store, location) = self.at.open()?;
        let secrets = self.keys.read(context)?;
        let mut stream = self.source.open()?;
        let progress = stream.progress(&self.long);
        let tell = |event| self.long.tell(&progress, &event, to_output);
        let done = put::resume(&store, &location, &options, &secrets.identities(), &mut stream.reader, &tell);
        progress.finish(done.is_ok());
        finished(context, &self.long, &self.at.address, &stream.name, done)
    }
}

fn finished(
    context: &Context,
    long: &Long,
    address: &str,
    name: &str,
    done: Result<Done, backup::Error>,
) -> Result<(), Error> {
    let done = done.map_err(|error| match error {
        backup::Error::Read(source) => Error::Read { name: name.to_owned(), source },
        error => error.into(),
    })?;
    if done.index.bytes == 0 && !done.was_whole {
        context.warn("the stream was empty: this is a backup of nothing");
    }
    if let Some(why) = &done.untidy {
        context.say(format!(
            "the backup is whole; something that is of no use any more stayed in the store: {why}"
        ));
    }
    let (bytes, segments) = (done.index.bytes, done.index.segments.len());
    let verifier = manifest::hex(&done.index.verifier);
    if long.json {
        to_output(&json!({
            "event": "done",
            "address": address,
            "bytes": bytes,
            "segments": segments,
            "kept": done.kept,
            "was_whole": done.was_whole,
            "verifier": verifier,
        }));
        return Ok(());
    }
    if long.quiet {
        return Ok(());
    }
    if done.was_whole {
        return print(format!(
            "the backup was whole already: the stream was not read\nverifier {verifier}\n"
        ));
    }
    let kept = if done.kept > 0 { format!(", {} of them from before", done.kept) } else { String::new() };
    print(format!("{bytes} bytes in {segments} segments{kept}\nverifier {verifier}\n"))
}

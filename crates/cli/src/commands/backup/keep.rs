//! `millstream backup remove`, `prune` and `rekey`.

use millstream_backup::{self as backup, list};

use super::list::table;
use super::{At, features};
use crate::commands::wrapping::{Opening, Sealing};
use crate::commands::{Context, print};
use crate::error::Error;

/// Remove a backup, or the beginning of one; this takes no key
///
/// The backup must not be running: one that is removed while it is made ends with an error.
#[derive(clap::Args)]
pub(super) struct Remove {
    #[command(flatten)]
    at: At,
}

/// Remove all backups under a name but the newest; this takes no key
///
/// All under the name count together, at any depth, so call it once for each series. The newest are those that were begun last, by the clocks of
/// the machines that made them.
#[derive(clap::Args)]
pub(super) struct Prune {
    #[command(flatten)]
    at: At,
    /// The number of backups that are kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    /// Remove interrupted backups, too. None of them may be running
    #[arg(long)]
    partial: bool,
    /// Only list what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Write an object of JSON in a line for each
    #[arg(long)]
    json: bool,
}

/// Wrap a backup's key for other keys, passphrases and recipients
///
/// One of the usual options names a key that opens the backup now. The keys that are named as new replace all that there were: name again each that
/// is to stay. No segment is stored again, so whoever had the old key and a copy of the old manifest can still open the backup.
#[derive(clap::Args)]
pub(super) struct Rekey {
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    keys: Opening,
    /// The file with the new key of 32 bytes
    #[arg(long, value_name = "KEYFILE")]
    new_key: Option<std::path::PathBuf>,
    /// The file whose first line is the new passphrase
    #[arg(long, value_name = "FILE")]
    new_passphrase_file: Option<std::path::PathBuf>,
    /// The file with the public key of a new recipient; may be given several times
    #[arg(long, value_name = "FILE")]
    new_recipient: Vec<std::path::PathBuf>,
    /// Accept a backup that has another name than it was made under
    #[arg(long)]
    moved: bool,
}

impl Remove {
    pub(super) fn run(self) -> Result<(), Error> {
        let (store, location) = self.at.open()?;
        Ok(list::remove(&store, &location)?)
    }
}

impl Prune {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let (store, location) = self.at.open()?;
        let keep = self.keep as usize;
        let removed = list::prune(&store, &location, features()?, keep, self.partial, self.dry_run)?;
        if self.dry_run && !removed.is_empty() && !self.json {
            context.say("these would be removed:");
        }
        print(table(&removed, self.json))
    }
}

impl Rekey {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let (store, location) = self.at.open()?;
        let mut options = backup::Get::new(features()?);
        options.moved = self.moved;
        let new = Sealing::named(self.new_key, self.new_passphrase_file, self.new_recipient);
        if !new.is_given() {
            let why = "name the new key: --new-key, --new-passphrase-file or --new-recipient";
            return Err(Error::Usage(why.into()));
        }
        let (old, new) = (self.keys.read(context)?, new.read(context)?);
        Ok(list::rekey(&store, &location, &options, &old.identities(), &new.recipients())?)
    }
}

//! `millstream seal` and `millstream open`: single files in C2SP's chunked encryption, with their wrapped key in front.

use std::io;
use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use millstream_engines::modes::Direction;
use millstream_files::{self as files, Format, envelope};

use super::crypt::{Whole, whole};
use super::wrapping::{Opening, Sealing};
use crate::commands::{Context, cautions, pages};
use crate::error::Error;

/// Seal a file for keys, passphrases or recipients
///
/// The file is encrypted in chunks of 16 KiB with AES-256-GCM under a key of its own (C2SP chunked encryption), which is wrapped for each of
/// the keys that are named. Without one, a passphrase is asked for. 'millstream open' opens it.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::SEAL))]
pub(super) struct Seal {
    #[command(flatten)]
    keys: Sealing,
    #[command(flatten)]
    ends: Ends,
}

/// Open a file that 'millstream seal' made
///
/// A chunk is written only after it was verified, and a file gets its name only when it is whole.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::OPEN))]
pub(super) struct Open {
    #[command(flatten)]
    keys: Opening,
    #[command(flatten)]
    ends: Ends,
}

/// The input and the output.
#[derive(clap::Args)]
struct Ends {
    /// The file to read; without it, or with -, standard input
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
    /// The file to write, which may be the input; without it, or with -, standard output
    #[arg(short = 'o', long, value_name = "FILE", allow_hyphen_values = true)]
    output: Option<PathBuf>,
    /// Show no progress bar
    #[arg(short = 'q', long)]
    quiet: bool,
}

impl Ends {
    fn whole<'a>(
        &'a self,
        direction: Direction,
        secrets: &'a [(&'static str, Option<&'a Path>)],
    ) -> Whole<'a> {
        let input = cautions::file(self.input.as_deref());
        Whole { direction, input, output: self.output.as_deref(), secrets, verbose: false, quiet: self.quiet }
    }
}

impl Seal {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let features = Features::active()?;
        let named = self.keys.files();
        cautions::spare_terminal(self.ends.output.as_deref(), Direction::Encrypt)?;
        let secrets = self.keys.read(context)?;
        whole(&self.ends.whole(Direction::Encrypt, &named), |name, _| {
            envelope::seal(features, &secrets.recipients()).map_err(|error| Error::in_format(error, name, ""))
        })
    }
}

impl Open {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let features = Features::active()?;
        let named = self.keys.files();
        whole(&self.ends.whole(Direction::Decrypt, &named), |name, source| {
            let failed = |error| Error::in_format(error, name, "");
            let head = source.peek(files::DETECT_LEN).map_err(failed)?;
            if files::detect(&head) != Some(Format::Envelope) {
                let why = match files::detect(&head) {
                    Some(Format::Tink | Format::Age) => {
                        "it is a file of another format; open it with 'millstream decrypt'"
                    }
                    _ => "it is no file that 'millstream seal' made, or its beginning was changed",
                };
                return Err(failed(files::Error::Read(io::Error::other(why))));
            }
            let secrets = self.keys.read(context)?;
            envelope::open(features, &mut source.reader, &secrets.identities()).map_err(failed)
        })
    }
}

//! `decrypt`: like decrypt(1) of Solaris, for every format that `encrypt` writes.

use millstream_engines::modes::Direction;

use crate::commands::{Context, crypt, pages};
use crate::error::Error;

/// Decrypt files or standard input
///
/// Without -a and --format the file must be in an authenticated format, such as the one that encrypt writes
/// by default. Without -k a passphrase is asked for, if the file was encrypted with one.
#[derive(clap::Args)]
#[command(
    override_usage = "millstream decrypt -l\n       millstream decrypt [-v] [-a ALGORITHM] [--format FORMAT] [-k KEYFILE | \
                      --passphrase-file FILE] [-i FILE] [-o FILE]\n       millstream decrypt [OPTIONS] [--output-dir DIR] \
                      [--suffix SUFFIX] [--force] FILE...",
    after_long_help = pages::help(pages::DECRYPT)
)]
pub(super) struct Decrypt {
    #[command(flatten)]
    options: crypt::Options,
}

impl Decrypt {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        crypt::run(&self.options, context, Direction::Decrypt)
    }
}

//! `encrypt`: like encrypt(1) of Solaris, but authenticated by default.

use millstream_engines::modes::Direction;

use crate::commands::{Context, crypt, pages};
use crate::error::Error;

/// Encrypt files or standard input
///
/// Without -a and --format the result is authenticated and in the format of Tink's streaming AEAD
/// AES256-GCM-HKDF with 1 MB segments. -a aes, arcfour, des or 3des means the format of the
/// Solaris command. Without -k a passphrase is asked for.
#[derive(clap::Args)]
#[command(
    override_usage = "millstream encrypt -l\n       millstream encrypt [-v] [-a ALGORITHM] [--format FORMAT] [-k KEYFILE | \
                      --passphrase-file FILE] [-i FILE] [-o FILE]\n       millstream encrypt [OPTIONS] [--output-dir DIR] \
                      [--suffix SUFFIX] [--force] FILE...",
    after_long_help = pages::help(pages::ENCRYPT)
)]
pub(super) struct Encrypt {
    #[command(flatten)]
    options: crypt::Options,
}

impl Encrypt {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        crypt::run(&self.options, context, Direction::Encrypt)
    }
}

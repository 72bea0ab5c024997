//! `millstream key`: keys in tokens and in files.

pub(super) mod forms;
mod listed;
mod moved;
mod options;

use crate::commands::{Context, pages};
use crate::error::Error;

/// Make, import, export and list keys, in tokens and in files
///
/// A key is named by a file, or by the label of a token and its own (-T and -K). Keys in a token leave it only if they were made
/// exportable. Files are PKCS#8 in PEM, and other forms with --form.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::KEY))]
pub(super) struct Command {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    Generate(moved::Generate),
    Import(moved::Import),
    Export(moved::Export),
    Copy(moved::Copy),
    List(listed::List),
    Show(listed::Show),
    Public(listed::Public),
    Remove(listed::Remove),
}

impl Command {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        match self.which {
            Which::Generate(command) => command.run(),
            Which::Import(command) => command.run(context),
            Which::Export(command) => command.run(),
            Which::Copy(command) => command.run(),
            Which::List(command) => command.run(context),
            Which::Show(command) => command.run(context),
            Which::Public(command) => command.run(context),
            Which::Remove(command) => command.run(),
        }
    }
}

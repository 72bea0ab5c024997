//! `millstream completions`: completions for a shell, generated from the definitions.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::commands::{Cli, print};
use crate::error::Error;

/// Write completions for a shell to standard output
#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "millstream", &mut text);
        print(text)
    }
}

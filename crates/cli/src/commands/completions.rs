//! `millstream completions`: completions for a shell, generated from the definitions, with the names of algorithms
//! and features, and those of the running service's grants.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use millstream_ultrasparc::processor::Processor;

use crate::commands::{Cli, crypt, decrypt, digest, encrypt, mac, print, standalone};
use crate::error::Error;
use crate::observe::features;
use crate::speed::algorithm;

mod running;
mod scripts;

/// Write completions for a shell to standard output
///
/// Without a NAME, they are those of the command millstream. For a link to it that has a name of Solaris, there is a
/// script of its own, for the folder where the shell looks for that name.
/// Names of algorithms and features are completed, in lists behind the last comma, too. The grants and workers for
/// `revoke` and `move` are those of the running service, which is asked for half a second at most.
#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(required = true)]
    shell: Option<Shell>,
    /// The name by which the command is called
    #[arg(value_enum, default_value_t = Name::Millstream)]
    name: Name,
    /// Print the grants or workers that may follow these words of a command line, for the scripts
    #[arg(long, hide = true, exclusive = true, num_args = 0.., allow_hyphen_values = true)]
    running: Vec<OsString>,
}

/// A name by which the command can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    Millstream,
    Digest,
    Mac,
    Encrypt,
    Decrypt,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), Error> {
        let Some(shell) = self.shell else { return print(running::following(&self.running)) };
        let (mut command, name) = match self.name {
            Name::Millstream => (whole(), "millstream"),
            Name::Digest => alone::<digest::Digest>("digest"),
            Name::Mac => alone::<mac::Mac>("mac"),
            Name::Encrypt => alone::<encrypt::Encrypt>("encrypt"),
            Name::Decrypt => alone::<decrypt::Decrypt>("decrypt"),
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, name, &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        print(match self.name {
            Name::Millstream => scripts::completed(shell, &command, script),
            _ => script,
        })
    }
}

fn whole() -> Command {
    Cli::command().mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        with_names(command, &name)
    })
}

fn alone<A: Args>(name: &'static str) -> (Command, &'static str) {
    (with_names(standalone::<A>(name.to_owned()), name), name)
}

/// Tells a command's arguments the names that they take. The command itself has none of them as values, because it
/// reports a wrong name in its own words, and takes other spellings.
fn with_names(command: Command, name: &str) -> Command {
    let named = |command: Command, argument: &'static str, names: Vec<String>| {
        command.mut_arg(argument, |argument| argument.value_parser(PossibleValuesParser::new(names)))
    };
    let owned = |names: &mut dyn Iterator<Item = &'static str>| names.map(str::to_owned).collect::<Vec<_>>();
    match name {
        "digest" => named(command, "algorithm", owned(&mut digest::names())),
        "mac" => named(command, "algorithm", owned(&mut mac::names())),
        "encrypt" | "decrypt" => named(command, "algorithm", owned(&mut crypt::names())),
        "speed" => {
            let names = algorithm::names().into_iter().chain(["all".to_owned()]).collect();
            named(command, "algorithms", names)
        }
        "run" | "compare" | "trace" => {
            ["without", "with_only"].into_iter().fold(command, |command, list| {
                // The command itself takes the whole list as one value.
                let command = command.mut_arg(list, |argument| argument.value_delimiter(','));
                named(command, list, owned(&mut features::known()))
            })
        }
        "sparc" => named(command, "cpu", Processor::ALL.iter().map(ToString::to_string).collect()),
        _ => command,
    }
}

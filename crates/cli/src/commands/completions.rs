//! `millstream completions`: completions for a shell, generated from the definitions, with the names of algorithms
//! and features.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use millstream_ultrasparc::processor::Processor;

use crate::commands::{Cli, crypt, decrypt, digest, encrypt, mac, print, standalone};
use crate::error::Error;
use crate::observe::features;
use crate::speed::algorithm;

/// Write completions for a shell to standard output
///
/// Without a NAME, they are those of the command millstream. For a link to it that has a name of Solaris, there is a
/// script of its own, for the folder where the shell looks for that name.
#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
    /// The name by which the command is called
    #[arg(value_enum, default_value_t = Name::Millstream)]
    name: Name,
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
        let (mut command, name) = match self.name {
            Name::Millstream => (whole(), "millstream"),
            Name::Digest => alone::<digest::Digest>("digest"),
            Name::Mac => alone::<mac::Mac>("mac"),
            Name::Encrypt => alone::<encrypt::Encrypt>("encrypt"),
            Name::Decrypt => alone::<decrypt::Decrypt>("decrypt"),
        };
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut text);
        if (self.shell, self.name) == (Shell::Fish, Name::Millstream) {
            text.extend(operands_for_fish(&command).into_bytes());
        }
        print(text)
    }
}

/// Returns what fish is told about operands with names, which the generator leaves out.
fn operands_for_fish(command: &Command) -> String {
    let mut text = String::new();
    for command in command.get_subcommands() {
        let values = command.get_positionals().flat_map(|operand| operand.get_possible_values());
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        if !names.is_empty() {
            let (command, names) = (command.get_name(), names.join(" "));
            text += &format!(
                "complete -c millstream -n \"__fish_millstream_using_subcommand {command}\" -f -a \"{names}\"\n"
            );
        }
    }
    text
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
            let command = named(command, "without", owned(&mut features::known()));
            named(command, "with_only", owned(&mut features::known()))
        }
        "sparc" => named(command, "cpu", Processor::ALL.iter().map(ToString::to_string).collect()),
        _ => command,
    }
}

//! The subcommands, and the choice among them.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::Styles;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::{Error, exit};
use crate::{shown, signals};

mod agent;
mod backup;
mod caps;
mod cautions;
mod check;
mod checklist;
mod columns;
mod compare;
mod completions;
mod crypt;
mod decrypt;
mod digest;
mod doctor;
mod encrypt;
mod esp;
mod isolated;
mod key;
mod keygen;
mod lines;
mod mac;
mod man;
mod migrate;
mod move_grant;
mod openssl_conf;
mod pages;
mod reload;
mod revoke;
mod run;
mod seal;
mod serve;
mod setup;
mod sparc;
mod speed;
mod status;
mod sum;
mod token;
mod token_seal;
mod trace;
mod worker;
mod wrapping;

/// Cryptographic acceleration for Linux
///
/// Encrypts, decrypts, digests and authenticates files with the fastest kernels that this processor can run,
/// and shows which kernels those are. Accelerates programs that use OpenSSL, and holds keys in a service
/// where programs can't reach them. The environment variable MILLSTREAM_HWCAP takes processor features away,
/// as in MILLSTREAM_HWCAP="-aes -sha". MILLSTREAM_QUEUE=general has queues take their general way, to compare the fast
/// one with.
#[derive(Parser)]
#[command(name = "millstream", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Caps(caps::Caps),
    Check(check::Check),
    Doctor(doctor::Doctor),
    Speed(Box<speed::Speed>),
    Run(Box<run::Run>),
    Compare(compare::Compare),
    Trace(trace::Trace),
    Sparc(Box<sparc::Sparc>),
    OpensslConf(openssl_conf::OpensslConf),
    Serve(serve::Serve),
    Status(status::Status),
    Revoke(revoke::Revoke),
    Move(move_grant::Move),
    Reload(reload::Reload),
    Keygen(keygen::Keygen),
    Token(token::Command),
    Key(Box<key::Command>),
    Agent(agent::Agent),
    Encrypt(encrypt::Encrypt),
    Decrypt(decrypt::Decrypt),
    Seal(Box<seal::Seal>),
    Open(Box<seal::Open>),
    Backup(Box<backup::Command>),
    Columns(Box<columns::Command>),
    Esp(Box<esp::Command>),
    Digest(digest::Digest),
    Mac(mac::Mac),
    Man(man::Man),
    Completions(completions::Completions),
    #[command(skip)]
    Worker(worker::Worker),
}

impl Command {
    fn run(self, context: &Context) -> Result<(), Error> {
        match self {
            Command::Caps(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Speed(command) => command.run(context),
            Command::Run(command) => command.run(context),
            Command::Compare(command) => command.run(context),
            Command::Trace(command) => command.run(context),
            Command::Sparc(command) => command.run(context),
            Command::OpensslConf(command) => command.run(context),
            Command::Serve(command) => command.run(),
            Command::Worker(command) => command.run(),
            Command::Status(command) => command.run(),
            Command::Revoke(command) => command.run(context),
            Command::Move(command) => command.run(),
            Command::Reload(command) => command.run(),
            Command::Keygen(command) => command.run(context),
            Command::Token(command) => command.run(context),
            Command::Key(command) => command.run(context),
            Command::Agent(command) => command.run(context),
            Command::Seal(command) => command.run(context),
            Command::Open(command) => command.run(context),
            Command::Backup(command) => command.run(context),
            Command::Columns(command) => command.run(context),
            Command::Esp(command) => command.run(context),
            Command::Digest(command) => command.run(context),
            Command::Mac(command) => command.run(context),
            Command::Encrypt(command) => command.run(context),
            Command::Decrypt(command) => command.run(context),
            Command::Man(command) => command.run(),
            Command::Completions(command) => command.run(),
        }
    }
}

/// The address of a running service.
#[derive(Args)]
struct At {
    /// The service's socket [default: what MILLSTREAM_SOCKET names, else this user's or the machine's]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// The facts about a call that its command needs.
#[derive(Clone)]
struct Context {
    /// The beginning of messages: `millstream digest`, or `digest` when called by that name.
    name: String,
    /// True when the command was called by the name that it has on Solaris.
    solaris: bool,
}

impl Context {
    /// Prints a message on standard error that does not end the command.
    fn say(&self, what: impl Display) {
        self.tell("", what);
    }

    /// Prints a warning.
    fn warn(&self, what: impl Display) {
        let style = Styles::styled().get_invalid().bold();
        self.tell(&format!("{style}warning:{style:#} "), what);
    }

    /// Prints an error. Solaris has no word in front of it.
    fn fail(&self, what: impl Display) {
        let style = *Styles::styled().get_error();
        let word = if self.solaris { String::new() } else { format!("{style}error:{style:#} ") };
        self.tell(&word, what);
    }

    /// Prints a line with the command's name, in colours where the terminal has them and NO_COLOR is not set.
    fn tell(&self, word: &str, what: impl Display) {
        // If standard error is closed, there is nobody to tell.
        let what = shown::lines(&what.to_string());
        let _ = writeln!(anstream::stderr().lock(), "{}: {word}{what}", self.name);
    }
}

/// Runs the command line `args`, whose first word may be `digest`, `mac`, `encrypt` or `decrypt`.
pub fn run(args: Vec<OsString>) -> ExitCode {
    let (command, name) = match parse(&args) {
        Ok(parsed) => parsed,
        Err(refusal) => return refusal.tell(),
    };
    // These commands handle signals and exits themselves.
    let own = matches!(
        command,
        Command::Serve(_)
            | Command::Worker(_)
            | Command::Run(_)
            | Command::Esp(_)
            | Command::Compare(_)
            | Command::Trace(_)
            | Command::Sparc(_)
    );
    if !own {
        signals::install();
    }
    let solaris = SOLARIS.contains(&name.as_str());
    let context = Context { name, solaris };
    match command.run(&context) {
        Ok(()) => ExitCode::from(exit::SUCCESS),
        Err(error) => {
            if !matches!(error, Error::Reported(_)) {
                context.fail(&error);
            }
            if matches!(error, Error::Usage(_)) {
                let _ = writeln!(io::stderr(), "Try '{} --help'.", context.name);
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// The commands that Solaris has too, by their names there.
const SOLARIS: [&str; 4] = ["digest", "mac", "encrypt", "decrypt"];

/// Parses the command line. Returns the command, and the beginning of its messages.
fn parse(args: &[OsString]) -> Result<(Command, String), Refusal> {
    let called = args.first().and_then(|arg| Path::new(arg).file_name()).and_then(|name| name.to_str());
    let called = called.unwrap_or_default();
    let name = called.strip_prefix("millstream-").unwrap_or(called);
    let own = called.to_owned();
    match name {
        "digest" => alone(name, args).map(|command| (Command::Digest(command), own)),
        "mac" => alone(name, args).map(|command| (Command::Mac(command), own)),
        "encrypt" => alone(name, args).map(|command| (Command::Encrypt(command), own)),
        "decrypt" => alone(name, args).map(|command| (Command::Decrypt(command), own)),
        // Only the service starts a worker, so no help and no completion names it.
        _ if args.get(1).is_some_and(|word| word == "worker") => alone("worker", &args[1..])
            .map(|command| (Command::Worker(command), "millstream worker".to_owned())),
        _ => {
            let matches = Cli::command().mut_subcommands(with_flags_again).try_get_matches_from(args);
            let command = args.get(1).map_or("".as_ref(), OsString::as_os_str);
            let refused = |error| Refusal::new(name_of(command), cautions::with_hint(error));
            let matches = matches.map_err(refused)?;
            let name = format!("millstream {}", matches.subcommand_name().unwrap_or_default());
            Ok((Cli::from_arg_matches(&matches).map_err(refused)?.command, name))
        }
    }
}

/// Parses the options of a command that was called by its own name.
fn alone<A: Args>(name: &str, args: &[OsString]) -> Result<A, Refusal> {
    // The Solaris commands read their options with getopt(3C), where the last of several counts, so scripts
    // may rely on that. `millstream-encrypt` is not a name that Solaris has.
    let called = args.first().and_then(|arg| Path::new(arg).file_name());
    let as_on_solaris = called.is_some_and(|called| SOLARIS.iter().any(|solaris| called == *solaris));
    let mut command = with_flags_again(standalone::<A>(name.to_owned())).args_override_self(as_on_solaris);
    if as_on_solaris && matches!(name, "digest" | "mac") {
        // getopt(3C) ends at the first operand: all that follows is a file.
        command = command.mut_arg("files", |files| files.trailing_var_arg(true));
    }
    let matches = command.try_get_matches_from_mut(args);
    let refused = |error| Refusal::new(name.to_owned(), cautions::with_hint(error));
    let matches = matches.map_err(refused)?;
    A::from_arg_matches(&matches).map_err(|error| refused(error.format(&mut command)))
}

/// A command line that can't be run, or that only asks for help.
struct Refusal {
    /// The beginning of the message.
    name: String,
    error: clap::Error,
}

impl Refusal {
    fn new(name: String, error: clap::Error) -> Self {
        Refusal { name, error: cautions::harmless(error) }
    }

    /// Prints the help on standard output, or the error like those of commands.
    fn tell(&self) -> ExitCode {
        if self.error.use_stderr() {
            let text = self.error.render();
            let _ = write!(anstream::stderr().lock(), "{}: {}", self.name, text.ansi());
        } else {
            let _ = self.error.print();
        }
        ExitCode::from(self.error.exit_code() as u8)
    }
}

/// Returns the beginning of messages about a command line whose command is this word, if it is one.
fn name_of(word: &OsStr) -> String {
    let cli = Cli::command();
    let known = cli.get_subcommands().find(|command| command.get_name() == word);
    known.map_or("millstream".to_owned(), |command| format!("millstream {}", command.get_name()))
}

/// Lets flags be repeated, as in `-qq`, which loses nothing. An option with a value may not be repeated,
/// because one of the values would go unused.
fn with_flags_again(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| match argument.get_action() {
        ArgAction::SetTrue => {
            let id = argument.get_id().clone();
            argument.overrides_with(id)
        }
        _ => argument,
    })
}

/// Makes a command of its own, for a call by its own name.
fn standalone<A: Args>(name: String) -> clap::Command {
    A::augment_args(clap::Command::new(name).version(env!("CARGO_PKG_VERSION")).max_term_width(100))
}

/// Writes to standard output.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())
        .and_then(|()| out.flush())
        .map_err(|source| Error::Write { name: "standard output".into(), source })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definitions_are_sound() {
        use clap::CommandFactory;
        super::Cli::command().debug_assert();
    }
}

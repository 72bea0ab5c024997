//! `millstream run`: a program with everything configured, and what was accelerated.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use millstream_protocol::SOCKET_VARIABLE;

use crate::commands::openssl_conf::From;
use crate::commands::{Context, man};
use crate::error::{Error, exit, plain};
use crate::output::Output;
use crate::programs::configuration::{Configuration, demands_fips};
use crate::programs::executable::Executable;
use crate::programs::folder::Folder;
use crate::programs::report::{Report, why_nothing};
use crate::programs::service::Service;
use crate::programs::{child, module};

/// The file of counters, for a provider whose configuration names none.
const TALLY_VARIABLE: &str = "MILLSTREAM_TALLY";

/// Codes of env(1) and shells for a program that can't be run.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Run a program with Millstream in its OpenSSL, and say what was accelerated
///
/// The program is any that uses libcrypto of OpenSSL 3, and needs no change; what it starts is configured too. At the end
/// a table on standard error says what Millstream computed.
#[derive(clap::Args)]
#[command(after_long_help = man::help(man::RUN))]
pub(super) struct Run {
    #[command(flatten)]
    how: How,
    /// Say what was accelerated as JSON
    #[arg(long)]
    json: bool,
    /// Say it in this file, not on standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Say nothing on standard error
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// What is put around the program.
#[derive(clap::Args)]
struct How {
    /// Keep keys out of the program's reach: in the running service, else in one that is started for this run. So it is
    /// also where MILLSTREAM_SOCKET is set
    #[arg(short = 'I', long)]
    isolated: bool,
    /// The service's socket; implies --isolated [default: what MILLSTREAM_SOCKET names, else this user's or the
    /// machine's]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    from: From,
}

/// All that is there while the program runs. What is dropped first comes first: the service ends before its folder goes.
struct Around {
    service: Option<Service>,
    folder: Folder,
    configuration: PathBuf,
    demands_fips: bool,
}

impl How {
    fn set_up(&self) -> Result<Around, Error> {
        let module = module::find(self.from.module.as_deref())?;
        let (base, include) = self.from.base()?;
        let mut folder = Folder::new()?;
        let named = self.socket.is_some() || std::env::var_os(SOCKET_VARIABLE).is_some();
        let isolated = self.isolated || named;
        let service = isolated.then(|| Service::find(self.socket.as_deref(), &folder)).transpose()?;
        // What the environment says is said here too: programs clear it for those they start, as nginx does.
        let configuration = Configuration {
            module,
            isolated,
            socket: service.as_ref().map(|service| service.socket().to_owned()),
            tally: Some(folder.tally()),
        };
        let text = configuration.text(&base, include.as_deref());
        let configuration = folder.write("openssl.cnf", &text)?;
        folder.watch(&configuration);
        Ok(Around { service, folder, configuration, demands_fips: demands_fips(&base) })
    }
}

impl Around {
    fn run(&self, command: &[OsString]) -> io::Result<ExitStatus> {
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]);
        child.env("OPENSSL_CONF", &self.configuration).env(TALLY_VARIABLE, self.folder.tally());
        if let Some(service) = &self.service {
            child.env(SOCKET_VARIABLE, service.socket());
        }
        child::run(&mut child)
    }

    fn report<'a>(&'a mut self, command: &'a [OsString], status: u8) -> Report<'a> {
        let counted = self.folder.counts().read();
        let seen = self.folder.seen();
        let why = || why_nothing(seen, Executable::find(&command[0]).as_ref(), self.demands_fips);
        let nothing = counted.is_empty().then(why);
        Report { command, status, counted, service: self.service.as_ref(), nothing }
    }
}

impl Run {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        // What can't be written is not noticed after hours only.
        let file = self.report.as_deref().map(Output::named).transpose()?;
        let mut around = self.how.set_up()?;
        let code = match around.run(&self.command) {
            Ok(status) => child::code(status),
            Err(error) => {
                context.say(format!("{}: {}", self.command[0].display(), plain(&error)));
                let found = error.kind() != io::ErrorKind::NotFound;
                return Err(Error::Reported(if found { NOT_EXECUTABLE } else { NOT_FOUND }));
            }
        };
        let report = around.report(&self.command, code);
        let text = if self.json { format!("{:#}\n", report.json()) } else { report.text() };
        drop(around);
        let saved = match file {
            Some(output) => save(output, &text),
            None if self.quiet => Ok(()),
            None => {
                // Where standard error is closed there is nobody to tell.
                let _ = io::stderr().write_all(text.as_bytes());
                Ok(())
            }
        };
        match (code, saved) {
            (exit::SUCCESS, saved) => saved,
            (code, saved) => {
                // The program's own failure is what its caller has to know.
                saved.unwrap_or_else(|error| context.say(error));
                Err(Error::Reported(code))
            }
        }
    }
}

fn save(output: Output, text: &str) -> Result<(), Error> {
    let written = output.file().write_all(text.as_bytes());
    written.map_err(|source| Error::Write { name: output.name(), source })?;
    output.finish()
}

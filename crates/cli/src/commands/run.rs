//! `millstream run`: runs a program with Millstream in its OpenSSL, or without features of the processor.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use millstream_observe::capability::Withheld;
use millstream_protocol::SOCKET_VARIABLE;
use serde_json::{Value, json};

use crate::commands::openssl_conf::From;
use crate::commands::{Context, pages, print};
use crate::error::{Error, exit, plain};
use crate::observe::explain::explain;
use crate::observe::features::{self, Features};
use crate::observe::without::{Outcome, Way};
use crate::output::Output;
use crate::programs::configuration::{Configuration, Isolated, demands_fips};
use crate::programs::executable::Executable;
use crate::programs::folder::Folder;
use crate::programs::report::{Report, why_nothing};
use crate::programs::service::Service;
use crate::programs::{child, module};
use crate::{exact, shown};

/// The file of counters, for a provider whose configuration names none.
const TALLY_VARIABLE: &str = "MILLSTREAM_TALLY";

/// The loader's variable for libraries that come before a program's own.
const PRELOAD: &str = "LD_PRELOAD";

/// Run a program with Millstream in its OpenSSL, or without features of the processor
///
/// With Millstream, the program can be any that uses libcrypto of OpenSSL 3, unchanged. Where libsrtp2 is installed, Millstream
/// is put behind that, too. The programs that it starts are configured, too. At the end, a table on standard error says what Millstream computed.
///
/// With --without or --with-only, the program can be any at all, and finds the processor without those features.
/// At the end, a line on standard error says how they were withheld.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::RUN))]
pub(super) struct Run {
    #[command(flatten)]
    features: Features,
    /// With --without: only set the variables that libraries read, without tracing the program. Libraries
    /// that read none go on using everything
    #[arg(long)]
    knobs_only: bool,
    /// With --without: put Millstream into the program's OpenSSL, too. Implied by --isolated, --socket,
    /// --module and --base
    #[arg(long)]
    provider: bool,
    /// List the features that can be withheld, and run nothing; with --json as JSON
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    how: How,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
    /// Write the report to this file, not to standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write nothing to standard error
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(
        value_name = "CMD",
        required_unless_present = "list",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

/// The surroundings of the program.
#[derive(clap::Args)]
struct How {
    /// Keep keys out of the program's reach, in the running service or else in one that is started for this
    /// run: all, or with --isolated=private the private keys that it loads. Implied where MILLSTREAM_SOCKET is set
    #[arg(short = 'I', long, value_name = "KEYS", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    isolated: Option<Isolated>,
    /// The service's socket; implies --isolated [default: what MILLSTREAM_SOCKET names, else this user's or the
    /// machine's]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    from: From,
}

/// Everything that exists while the program runs. Fields are dropped in order: the service ends before its
/// folder goes.
struct Around {
    service: Option<Service>,
    folder: Folder,
    configuration: PathBuf,
    demands_fips: bool,
    /// The library that is preloaded, where there is a libsrtp2 for it to be in front of.
    srtp: Option<PathBuf>,
}

impl How {
    /// Returns true when one of the options was given.
    fn is_asked_for(&self) -> bool {
        self.isolated.is_some()
            || self.socket.is_some()
            || self.from.module.is_some()
            || self.from.base.is_some()
    }

    fn set_up(&self) -> Result<Around, Error> {
        let module = module::find(self.from.module.as_deref())?;
        let (base, include) = self.from.base()?;
        let mut folder = Folder::new()?;
        let named = self.socket.is_some() || std::env::var_os(SOCKET_VARIABLE).is_some();
        let isolated = self.isolated.or(named.then_some(Isolated::All));
        let service = isolated.map(|_| Service::find(self.socket.as_deref(), &folder)).transpose()?;
        // The configuration repeats what the environment says, because some programs clear the environment of
        // those they start, as nginx does.
        let configuration = Configuration {
            module,
            isolated,
            socket: service.as_ref().map(|service| service.socket().to_owned()),
            tally: Some(folder.tally()),
        };
        let text = configuration.text(&base, include.as_deref());
        let configuration = folder.write("openssl.cnf", &text)?;
        folder.watch(&configuration);
        let srtp = module::find_srtp();
        Ok(Around { service, folder, configuration, demands_fips: demands_fips(&base), srtp })
    }
}

impl Around {
    /// Configures a program to find all of it.
    fn configure(&self, child: &mut Command) {
        child.env("OPENSSL_CONF", &self.configuration).env(TALLY_VARIABLE, self.folder.tally());
        if let Some(service) = &self.service {
            child.env(SOCKET_VARIABLE, service.socket());
        }
        if let Some(srtp) = &self.srtp {
            // The libraries that the caller preloads come first, because some libraries, such as a sanitizer's, have to.
            let before = std::env::var_os(PRELOAD).filter(|before| !before.is_empty());
            let mut libraries = before.map_or_else(OsString::new, |mut before| {
                before.push(":");
                before
            });
            libraries.push(srtp);
            child.env(PRELOAD, libraries);
        }
    }

    fn report<'a>(&'a mut self, command: &'a [OsString], status: u8) -> Report<'a> {
        let counted = self.folder.counts().read();
        let seen = self.folder.seen();
        let why = || why_nothing(seen, Executable::find(&command[0]).as_ref(), self.demands_fips);
        let nothing = counted.is_empty().then(why);
        Report { command, status, counted, service: self.service.as_ref(), nothing }
    }
}

/// The report of a run.
struct Told {
    text: String,
    json: Value,
}

impl Run {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        if self.list {
            return print(if self.json { format!("{:#}\n", features::json()) } else { features::text() });
        }
        let withheld = self.features.withheld()?;
        if withheld.is_none() && (self.knobs_only || self.provider) {
            return Err(Error::Usage("--knobs-only and --provider need --without or --with-only".into()));
        }
        // A file that can't be written should be noticed now, and not after hours.
        let file = self.report.as_deref().map(Output::named).transpose()?;
        let around = match withheld {
            Some(_) if !self.provider && !self.how.is_asked_for() => None,
            _ => Some(self.how.set_up()?),
        };
        let way = withheld.map(|withheld| self.way(withheld, context));
        let (code, told) = self.watched(around, way, context)?;
        let text = if self.json { format!("{:#}\n", told.json) } else { told.text };
        let saved = match file {
            Some(output) => output.save(&text),
            None if self.quiet => Ok(()),
            None => {
                // If standard error is closed, there is nobody to tell.
                let _ = io::stderr().write_all(text.as_bytes());
                Ok(())
            }
        };
        match (code, saved) {
            (exit::SUCCESS, saved) => saved,
            (code, saved) => {
                // The program's own failure is what its caller has to know.
                saved.unwrap_or_else(|error| context.fail(error));
                Err(Error::Reported(code))
            }
        }
    }

    /// Decides how features are withheld, and tells the user what to know beforehand.
    fn way(&self, withheld: Withheld, context: &Context) -> Way {
        let way = Way::new(withheld, self.knobs_only);
        features::tell_missing(&self.features, withheld, &|text| self.say(text, context));
        way.warn(&|text| self.say(text, context));
        way
    }

    fn say(&self, text: &str, context: &Context) {
        if !self.quiet {
            context.say(text);
        }
    }

    /// Runs the program. Returns its exit code, and the report.
    fn watched(
        &self,
        around: Option<Around>,
        mut way: Option<Way>,
        context: &Context,
    ) -> Result<(u8, Told), Error> {
        let mut child = Command::new(&self.command[0]);
        child.args(&self.command[1..]);
        if let Some(around) = &around {
            around.configure(&mut child);
        }
        let warn = |text: &str| self.say(text, context);
        let run = match &mut way {
            Some(way) => way.run(&mut child, &warn).map(|outcome| (outcome.status, Some(outcome))),
            None => child::run(&mut child).map(|status| (status, None)),
        };
        let (status, outcome) = run.map_err(|error| {
            context.fail(format!("{}: {}", shown::path(self.command[0].as_ref()), plain(&error)));
            Error::Reported(child::not_run(&error))
        })?;
        let code = child::code(status);
        let mut told = Told { text: String::new(), json: json!({ "version": 1 }) };
        if let Some(mut around) = around {
            let report = around.report(&self.command, code);
            told = Told { text: report.text(), json: report.json() };
        } else {
            exact::put_command(&mut told.json, &self.command);
            told.json["status"] = json!(code);
        }
        if let Some((way, outcome)) = way.zip(outcome) {
            told.add(&way, &outcome);
        }
        Ok((code, told))
    }
}

impl Told {
    fn add(&mut self, way: &Way, outcome: &Outcome) {
        let answers = outcome.answers.as_ref();
        self.json["without"] = way.json(answers);
        self.text += &format!("millstream run: {}\n", way.text(answers));
        for note in answers.iter().flat_map(|answers| &answers.notes) {
            self.text += &format!("millstream run: {note}\n");
        }
        if let Some(why) = explain(outcome.status, outcome.time, way.taken(), outcome.illegal.as_ref()) {
            self.text += &format!("millstream run: {why}\n");
            self.json["without"]["why_failed"] = json!(why);
        }
    }
}

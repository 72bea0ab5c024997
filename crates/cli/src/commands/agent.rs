//! `millstream agent`: an ssh-agent that signs with the keys of a token.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use millstream::cwq::Usages;
use millstream_cpu::Features;
use millstream_files::key::{Key, Kind};
use millstream_shm::Listener;
use millstream_store::{Attributes, ObjectId, Role, usage};
use rustix::process::{DumpableBehavior, Pid, set_dumpable_behavior};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::agent::confirm::Confirm;
use crate::agent::identity::{self, Identity};
use crate::agent::protocol;
use crate::agent::serve::serve;
use crate::commands::{Context, pages, print};
use crate::error::{Error, plain};
use crate::programs::child;
use crate::tokens::pins::UserPin;
use crate::tokens::{Loaded, Open, Place};
use crate::{shown, signals};

/// Sign for SSH with the keys of a token
///
/// Serves the protocol of ssh-agent at a socket, for ssh, git and, as HostKeyAgent, sshd. The keys are read from the token once, and never
/// leave this process; those of the service's tokens are not even in it. Nobody can add keys or take them out.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::AGENT))]
pub(super) struct Agent {
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN")]
    token: String,
    /// The label of a key, or its identifier; may be repeated [default: all keys of the token that sign for SSH]
    #[arg(short = 'K', long = "token-key", value_name = "LABEL")]
    keys: Vec<String>,
    /// The socket [default: millstream-agent.sock in XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Ask before each signature, by the program that SSH_ASKPASS names
    #[arg(long)]
    confirm: bool,
    /// Forget the keys after this time, as 90s, 30m or 8h
    #[arg(long, value_name = "TIME", value_parser = time)]
    lifetime: Option<Duration>,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
    /// A program that finds the agent in SSH_AUTH_SOCK, and its arguments: the agent ends with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Reads a time with its unit; seconds need none.
fn time(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(digits) => (digits, &text[digits.len()..]),
        None => (text, "s"),
    };
    let seconds = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => 1,
    };
    let number = digits.parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or("a time has a number and a unit, as 90s, 30m, 8h or 1d")?;
    Ok(Duration::from_secs(u64::from(number) * seconds))
}

impl Agent {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let confirm = match self.confirm {
            true => Some(Confirm::find().ok_or_else(|| {
                Error::Usage("--confirm needs SSH_ASKPASS, which names the program that asks".into())
            })?),
            false => None,
        };
        // No other process of this user reads the keys from this one's memory, and no core file has them.
        let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        hidden.map_err(|error| failed("the process's memory", error.into()))?;
        let path = self.path()?;
        let (features, identities) = self.identities(context)?;
        let listener = Listener::bind_stream_with_mode(&path, 0o600);
        let listener = listener.map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                let path = shown::path(&path);
                Error::Serve(format!(
                    "{path}: another agent serves there; end it, or name another socket with --socket"
                ))
            }
            _ => failed(&path.display().to_string(), error),
        })?;
        signals::untidy().temporaries.push(path.clone());
        let agent = Arc::new(protocol::Agent::new(features, identities, confirm));
        if let Some(lifetime) = self.lifetime {
            let agent = Arc::clone(&agent);
            std::thread::spawn(move || {
                sleep_through_suspends(lifetime);
                agent.forget();
            });
        }
        if self.command.is_empty() {
            print(format!("SSH_AUTH_SOCK={}; export SSH_AUTH_SOCK;\n", quoted(&path.display().to_string())))?;
            return serve(&listener, &agent).map_err(|error| failed("the socket", error));
        }
        std::thread::spawn(move || serve(&listener, &agent));
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env("SSH_AUTH_SOCK", &path);
        let name = self.command[0].to_string_lossy().into_owned();
        let mut program = match command.spawn() {
            Ok(program) => program,
            Err(error) => {
                context.fail(format!("can not run {}: {}", shown::text(&name), plain(&error)));
                let _ = std::fs::remove_file(&path);
                return Err(Error::Reported(child::not_run(&error)));
            }
        };
        let pid = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
        signals::untidy().children.extend(pid);
        let status = program.wait().map_err(|error| failed(&name, error))?;
        let mut untidy = signals::untidy();
        untidy.children.retain(|child| Some(*child) != pid);
        untidy.forget(Some(path.clone()));
        // The agent ends with the program, and so do the threads of its clients.
        let _ = std::fs::remove_file(&path);
        std::process::exit(child::code(status).into());
    }

    fn path(&self) -> Result<PathBuf, Error> {
        if let Some(path) = &self.socket {
            return Ok(path.clone());
        }
        let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
        let folder = folder.ok_or_else(|| {
            Error::Usage(
                "XDG_RUNTIME_DIR names no folder for the socket; name the socket with --socket".into(),
            )
        })?;
        Ok(PathBuf::from(folder).join("millstream-agent.sock"))
    }

    /// Takes the keys from the token.
    fn identities(&self, context: &Context) -> Result<(Features, Vec<Identity>), Error> {
        let features = Features::active()?;
        let mut store = self.place.open()?;
        let mut token = store.token(&self.token, Role::User, &self.pin.get()?)?;
        let objects = match self.keys.is_empty() {
            true => token.objects()?,
            false => self.keys.iter().map(|key| token.find(key)).collect::<Result<_, _>>()?,
        };
        let mut identities = Vec::new();
        for object in objects {
            let attributes = token.show(object)?;
            match identity(features, &mut token, object, &attributes)? {
                Some(identity) => identities.push(identity),
                None if self.keys.is_empty() => {}
                None => return Err(no_signer(&attributes)),
            }
        }
        if identities.is_empty() {
            context.warn(format!("token {} has no key that signs for SSH", self.token));
        }
        Ok((features, identities))
    }
}

/// Returns what signs with a key of the token; none if that is not for SSH.
fn identity(
    features: Features,
    token: &mut Open<'_>,
    object: ObjectId,
    attributes: &Attributes,
) -> Result<Option<Identity>, Error> {
    let signs = attributes.usages & usage::SIGN != 0;
    let Some(kind) = Kind::named(&attributes.kind).filter(|_| signs) else { return Ok(None) };
    let Some(algorithm) = identity::algorithm(kind) else { return Ok(None) };
    let label = &attributes.label;
    let made = match token.load(object, algorithm, Usages::SIGN)? {
        Loaded::Here(secret) => {
            let key = Key::new(features, kind, &secret);
            Identity::new(features, label, &key.map_err(|error| Error::in_format(error, label, ""))?)
        }
        Loaded::Service(key) => Identity::in_service(features, label, kind, key),
    };
    made.map_err(|error| Error::Key(format!("key {}: {error}", shown::text(label))))
}

fn no_signer(attributes: &Attributes) -> Error {
    Error::Key(format!(
        "key {} ({}) does not sign for SSH: keys of rsa, p-256, p-384, p-521 and ed25519 with the usage sign do",
        attributes.label, attributes.kind
    ))
}

fn failed(name: &str, source: std::io::Error) -> Error {
    Error::Write { name: name.to_owned(), source }
}

/// Sleeps for a time in which the machine may be suspended.
fn sleep_through_suspends(time: Duration) {
    let now = || {
        let Timespec { tv_sec, .. } = clock_gettime(ClockId::Boottime);
        tv_sec
    };
    let end = now().saturating_add_unsigned(time.as_secs());
    loop {
        let left = u64::try_from(end - now()).unwrap_or(0);
        if left == 0 {
            return;
        }
        // Sleep does not count the time of a suspension.
        std::thread::sleep(Duration::from_secs(left.min(5)));
    }
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

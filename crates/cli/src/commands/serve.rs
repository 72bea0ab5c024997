//! `millstream serve`: the service.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use listenfd::ListenFd;
use millstream::isolated::Service;
use millstream_broker::{Broker, Config, MetricsAddress, MetricsConfig, Stop, WorkerCommand};
use nix::unistd::{User, getgrouplist};
use rustix::net::SocketAddrUnix;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::level_filters::LevelFilter;

use crate::commands::pages;
use crate::error::{Error, plain};

/// Serve programs whose keys are to be out of their reach
///
/// Runs in the foreground until SIGTERM or SIGINT. Each worker is a separate process that holds keys and
/// computes; clients reach it through shared memory. SIGHUP makes the service read the policy file again.
/// Without --policy, only this user and root may use the service.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::SERVE))]
pub(super) struct Serve {
    /// The path of the socket [default: what MILLSTREAM_SOCKET names, else in this user's runtime directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The limits of users, in TOML
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Number of workers, each with one accelerator
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    accelerators: u16,
    /// Number of workers for private keys, which come after the others
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=1024))]
    private_accelerators: u16,
    /// Processors that the workers are pinned to, in turn
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pin: Vec<usize>,
    /// Microseconds that an idle worker polls for work before it sleeps
    #[arg(long, value_name = "N", default_value_t = 50)]
    spin_us: u32,
    /// Microseconds that operations may wait so that others can be computed with them
    #[arg(long, value_name = "N", default_value_t = 0)]
    flush_us: u32,
    /// The same for operations with private keys, which go together as soon as eight are there
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    gather_us: u32,
    /// Memory for the keys of each worker, as in 128M: 2 KiB for each key slot that is granted
    #[arg(long, value_name = "SIZE", default_value = "128M", value_parser = size)]
    key_memory: usize,
    /// Serve metrics for Prometheus at this address, as in 127.0.0.1:9464, or unix:PATH for a socket with
    /// mode 0660
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<MetricsAddress>,
    /// Names of this machine under which metrics may be asked for, besides localhost and addresses
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "metrics")]
    metrics_host: Vec<String>,
    /// List each grant in the metrics, with its process and the client's name, besides users and workers
    #[arg(long, requires = "metrics")]
    metrics_names: bool,
    /// Continue as this user, when started by root
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Log warnings and errors only
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Write the socket's path and a newline to this descriptor when clients can connect
    #[arg(long, value_name = "N")]
    ready_fd: Option<i32>,
}

impl Serve {
    pub(super) fn run(self) -> Result<(), Error> {
        log(self.quiet);
        let activated = activated()?;
        let given = activated.as_ref().and_then(address).or_else(|| self.socket.clone());
        let socket = given.unwrap_or_else(millstream_protocol::socket);
        // After the change of user, the descriptor could not be opened any more.
        let waits = self.ready_fd.map(Waits::open).transpose()?;
        if let Some(user) = &self.user {
            become_user(user, if activated.is_none() { socket.parent() } else { None })?;
        }
        let stop = Stop::new().map_err(|source| Error::Serve(plain(&source)))?;
        obey_signals(&stop, &socket)?;
        let broker = Broker::start(self.config(socket.clone(), activated)).map_err(serve)?;
        tracing::info!("listening at {}", socket.display());
        notify(&[NotifyState::Ready]);
        waits.map_or(Ok(()), |waits| waits.tell(&socket))?;
        let ended = broker.run(&stop).map_err(serve);
        tracing::info!("ended");
        ended
    }

    fn config(&self, socket: PathBuf, listener: Option<OwnedFd>) -> Config {
        Config {
            listener,
            policy: self.policy.clone(),
            accelerators: self.accelerators.into(),
            private_accelerators: self.private_accelerators.into(),
            pin: self.pin.clone(),
            spin: Duration::from_micros(self.spin_us.into()),
            flush: Duration::from_micros(self.flush_us.into()),
            gather: Duration::from_micros(self.gather_us.into()),
            key_memory: self.key_memory,
            metrics: self.metrics(),
            quiet: self.quiet,
            ..Config::new(socket, WorkerCommand::this_program())
        }
    }

    fn metrics(&self) -> Option<MetricsConfig> {
        self.metrics.as_ref().map(|address| MetricsConfig {
            address: address.clone(),
            hosts: self.metrics_host.clone(),
            names: self.metrics_names,
        })
    }
}

/// Parses bytes, with K, M or G for kibibytes, mebibytes or gibibytes.
fn size(text: &str) -> Result<usize, String> {
    let (number, shift) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) if text.ends_with('K') => (number, 10),
        Some(number) if text.ends_with('M') => (number, 20),
        Some(number) => (number, 30),
        None => (text, 0),
    };
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes @ 0x10000..=0x100_0000_0000) => Ok(bytes),
        _ => Err("from 64K to 1024G, as in 128M".to_owned()),
    }
}

/// The descriptor of whoever started the service and waits until it is ready.
struct Waits(i32, File);

impl Waits {
    fn open(descriptor: i32) -> Result<Waits, Error> {
        let file = File::options().write(true).open(format!("/proc/self/fd/{descriptor}"));
        file.map(|file| Waits(descriptor, file)).map_err(|source| Waits::failed(descriptor, source))
    }

    fn tell(mut self, socket: &Path) -> Result<(), Error> {
        writeln!(self.1, "{}", socket.display()).map_err(|source| Waits::failed(self.0, source))
    }

    fn failed(descriptor: i32, source: io::Error) -> Error {
        Error::Write { name: format!("descriptor {descriptor}"), source }
    }
}

fn serve(error: millstream_broker::Error) -> Error {
    Error::Serve(error.to_string())
}

/// Logs lines to standard error. The journal, and most programs that read a pipe, add the time themselves.
fn log(quiet: bool) {
    let stderr = std::io::stderr();
    let person = stderr.is_terminal() && std::env::var_os("JOURNAL_STREAM").is_none();
    let level = if quiet { LevelFilter::WARN } else { LevelFilter::INFO };
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(level)
        .with_target(false)
        // The service must not end because nobody reads the log any more.
        .log_internal_errors(false)
        .with_ansi(person);
    // Only one subscriber is ever set.
    let _ = match person {
        true => lines.try_init(),
        false => lines.without_time().try_init(),
    };
}

/// Returns the socket that systemd listens at for this service, if it does: the one named `millstream`, or
/// the only one.
fn activated() -> Result<Option<OwnedFd>, Error> {
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut given = ListenFd::from_env();
    let at = match given.len() {
        0 => return Ok(None),
        1 => 0,
        _ => names.split(':').position(|name| name.trim_end_matches(".socket") == "millstream").unwrap_or(0),
    };
    let kind = "listening socket of sequenced packets; use ListenSequentialPacket= in the socket unit";
    given
        .take_custom(at, AF_UNIX, SOCK_SEQPACKET, kind)
        .map_err(|source| Error::Serve(format!("socket activation: {}", plain(&source))))
}

/// Returns the path of somebody else's socket, if it is in the file system.
fn address(listener: &OwnedFd) -> Option<PathBuf> {
    let address = SocketAddrUnix::try_from(rustix::net::getsockname(listener).ok()?).ok()?;
    address.path_bytes().map(|path| PathBuf::from(OsStr::from_bytes(path)))
}

const AF_UNIX: i32 = 1;
/// The number is the same on all architectures except MIPS and PA-RISC.
const SOCK_SEQPACKET: i32 = 5;

/// Has SIGTERM and SIGINT end the service, and SIGHUP reload its policy, and tells systemd.
fn obey_signals(stop: &Stop, socket: &Path) -> Result<(), Error> {
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP]);
    let mut signals = signals.map_err(|source| Error::Serve(plain(&source)))?;
    let (stop, socket) = (stop.clone(), socket.to_owned());
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                reload(&socket);
                continue;
            }
            tracing::info!("ending");
            notify(&[NotifyState::Stopping]);
            stop.stop();
        }
    });
    Ok(())
}

/// Reloads as `millstream reload` does, so that there is an answer to log.
fn reload(socket: &Path) {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
    match Service::connect(Some(socket)).and_then(|mut service| service.reload()) {
        Ok(()) => tracing::info!("the policy was read again"),
        Err(error) => tracing::error!("{error}"),
    }
    notify(&[NotifyState::Ready]);
}

/// Tells systemd, if it asked for it.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("systemd could not be told: {}", plain(&error));
    }
}

/// Gives up root for `name`, for good. That user becomes the owner of the socket's directory, if it was made
/// here.
fn become_user(name: &str, directory: Option<&Path>) -> Result<(), Error> {
    let failed = |why: String| Error::Serve(format!("--user {name}: {why}"));
    let found = User::from_name(name).map_err(|error| failed(plain(&error.into())))?;
    let user = found.ok_or_else(|| failed("there is no such user".into()))?;
    let (uid, gid) = (Uid::from_raw(user.uid.as_raw()), Gid::from_raw(user.gid.as_raw()));
    if rustix::process::geteuid() == uid {
        return Ok(());
    }
    if let Some(directory) = directory.filter(|directory| !directory.exists()) {
        let made = std::fs::create_dir(directory)
            .and_then(|()| Ok(rustix::fs::chown(directory, Some(uid), Some(gid))?));
        made.map_err(|source| failed(format!("{}: {}", directory.display(), plain(&source))))?;
    }
    let groups = getgrouplist(&CString::new(name).map_err(|_| failed("not a name".into()))?, user.gid);
    let groups = groups.map_err(|error| failed(plain(&error.into())))?;
    let groups: Vec<Gid> = groups.iter().map(|group| Gid::from_raw(group.as_raw())).collect();
    // This is the only thread so far, and later ones inherit its identity.
    set_thread_groups(&groups)
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid))
        .map_err(|error| failed(format!("{}; only root can", plain(&error.into()))))
}

//! `millstream esp`: IPsec's ESP in user space.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::builder::TypedValueParser;
use millstream::isolated::Attach;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::commands::{Context, pages, print};
use crate::error::Error;
use crate::esp::{self, Options};
use crate::input::Input;

/// Carry packets of IPsec's ESP, where the kernel can't
///
/// Inner packets come from a TUN device and go out as ESP in UDP, or as ESP itself where raw sockets are allowed. A user and network namespace
/// is all the privilege that this needs. The keys may be in the service, out of this process's reach.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::ESP))]
pub(super) struct Command {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    Run(Run),
    Add(Add),
    Del(Del),
    Show(Show),
}

impl Command {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        match self.which {
            Which::Run(command) => command.run(context),
            Which::Add(command) => command.run(),
            Which::Del(command) => command.run(),
            Which::Show(command) => command.run(),
        }
    }
}

/// The address of a running data plane.
#[derive(clap::Args)]
struct At {
    /// The socket by which a data plane is changed [default: millstream-esp.sock in XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

impl At {
    fn path(&self) -> Result<PathBuf, Error> {
        esp::socket_path(self.control.as_deref())
    }
}

/// Carry packets until a signal comes
#[derive(clap::Args)]
struct Run {
    /// The file with associations and policies; others may be added later
    #[arg(long, value_name = "FILE")]
    sa: Option<PathBuf>,
    /// Take the associations and policies that a daemon of IKE has given to the kernel, and follow their changes
    #[arg(long, conflicts_with = "sa")]
    from_kernel: bool,
    /// The folder that has the sequence numbers of keys [default: the file's name with .state behind it]
    #[arg(long, value_name = "FOLDER", required_unless_present = "sa")]
    state: Option<PathBuf>,
    /// The name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "esp0")]
    tun: String,
    /// The number of threads that encrypt and decrypt; with 0 those that read packets do
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=1024))]
    workers: u16,
    /// The longest outer packet, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(700..=65535))]
    mtu: u16,
    /// The narrowest path that messages of ICMP are believed about, in bytes of outer packets; with 0 none is believed, and routers may
    /// cut packets
    #[arg(long, value_name = "BYTES", default_value_t = 1280, value_parser = least_path_mtu())]
    least_path_mtu: u16,
    /// The seconds after which a keep-alive is sent where nothing else was; 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    keepalive: u16,
    /// Send to where a peer's newest authentic packet came from, when a NAT gives it another address or port; not where this machine is
    /// behind a NAT itself
    #[arg(long)]
    follow_peers: bool,
    /// Hold the keys in the service
    #[arg(long)]
    isolated: bool,
    /// The socket of the service [default: what MILLSTREAM_SOCKET names, else this user's or the machine's]
    #[arg(long, value_name = "PATH", requires = "isolated")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    at: At,
}

/// Returns the reader of `--least-path-mtu`: 0, or the bytes that a host of IPv4 takes (RFC 791).
fn least_path_mtu() -> impl TypedValueParser<Value = u16> {
    clap::value_parser!(u16).try_map(|bytes| match bytes {
        1..576 => Err("a path takes 576 bytes at least, and 0 stands for no belief in ICMP"),
        _ => Ok(bytes),
    })
}

/// The readers of a data plane that compute with keys in the service: that of the device, and those of its sockets.
const READERS: u32 = 8;

/// The most sockets of a data plane otherwise. Each has a thread.
const MOST_SOCKETS: usize = 256;

/// The keys that a service holds for a data plane.
const KEY_SLOTS: usize = 1024;

impl Run {
    fn run(self, context: &Context) -> Result<(), Error> {
        let state = match (self.state, &self.sa) {
            (Some(state), _) => state,
            (None, Some(file)) => beside(file),
            (None, None) => return Err(Error::Usage("--state names the folder of sequence numbers".into())),
        };
        let service = self.isolated.then(|| Attach {
            socket: self.socket.clone(),
            name: context.name.clone(),
            // Each worker has a queue of its own. Where there is none, each reader has one.
            queues: u32::from(self.workers) + READERS,
            key_slots: KEY_SLOTS,
            arena_bytes: 32 << 20,
            ..Attach::default()
        });
        let options = Options {
            tun: self.tun,
            file: self.sa,
            from_kernel: self.from_kernel,
            state,
            control: self.at.path()?,
            workers: self.workers.into(),
            most_sockets: if self.isolated && self.workers == 0 {
                READERS as usize - 1
            } else {
                MOST_SOCKETS
            },
            mtu: self.mtu.into(),
            least_path_mtu: (self.least_path_mtu > 0).then(|| self.least_path_mtu.into()),
            keepalive: (self.keepalive > 0).then(|| Duration::from_secs(self.keepalive.into())),
            follows: self.follow_peers,
            service,
        };
        let context = context.clone();
        let say: esp::Say = Arc::new(move |what| context.say(what));
        esp::run(&options, &say)
    }
}

/// Returns the folder beside a file that belongs to its keys.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".state");
    PathBuf::from(name)
}

/// Add associations and policies to a running data plane
#[derive(clap::Args)]
struct Add {
    /// The file that describes them [default: standard input]
    #[arg(value_name = "FILE")]
    file: Option<OsString>,
    #[command(flatten)]
    at: At,
}

impl Add {
    fn run(self) -> Result<(), Error> {
        use std::io::Read;
        let input = match &self.file {
            Some(file) => Input::operand(file)?,
            None => Input::standard()?,
        };
        // The data plane refuses what is longer, so no more than that has to be read.
        let mut request = Zeroizing::new(Vec::with_capacity(esp::MOST_BYTES as usize + 8));
        request.extend_from_slice(b"add\n");
        let read = (&input.file).take(esp::MOST_BYTES).read_to_end(&mut request);
        let len = read.map_err(|source| Error::Read { name: input.name.clone(), source })? as u64;
        let refused = |what: &str| Err(Error::Serve(format!("{}: {what}", input.name)));
        match len {
            0 => return refused("it is empty; write associations and policies as 'ip xfrm' prints them"),
            esp::MOST_BYTES.. => {
                return refused("a megabyte or more; divide it, and add its parts one by one");
            }
            _ => {}
        }
        esp::ask(&self.at.path()?, &request)?;
        Ok(())
    }
}

/// Remove an association from a running data plane
#[derive(clap::Args)]
struct Del {
    /// The SPI, as 0xc0de0001
    #[arg(value_name = "SPI")]
    spi: String,
    /// The outer destination, where several associations have this SPI
    #[arg(value_name = "ADDRESS")]
    destination: Option<String>,
    #[command(flatten)]
    at: At,
}

impl Del {
    fn run(self) -> Result<(), Error> {
        let words: Vec<String> = ["del".to_owned(), self.spi].into_iter().chain(self.destination).collect();
        esp::ask(&self.at.path()?, format!("{}\n", words.join(" ")).as_bytes())?;
        Ok(())
    }
}

/// Show the associations of a running data plane, and its counters
#[derive(clap::Args)]
struct Show {
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Show {
    fn run(self) -> Result<(), Error> {
        let answer = esp::ask(&self.at.path()?, b"show\n")?;
        let report: Value = serde_json::from_str(&answer)
            .map_err(|_| Error::Serve("the data plane's report makes no sense".to_owned()))?;
        print(match self.json {
            true => format!("{report:#}\n"),
            false => esp::text(&report),
        })
    }
}

//! The request for a grant.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_cwq::{Algorithm, AlgorithmSet};
use millstream_protocol as protocol;
use millstream_shm::{Doorbell, Mapping, Memory, Rings, Socket, words};
use protocol::{Message, Reply, Request, Wanted};

use super::Accelerator;
use super::local::Local;
use crate::grant::GrantInfo;
use crate::link::{Link, Received};
use crate::queue::Config;

/// The time that a service may take to start a worker in place of one that died.
const RESTART: Duration = Duration::from_secs(1);

/// Between two requests meanwhile.
const RETRY: Duration = Duration::from_millis(5);

/// A wish for a grant. A number that is 0 leaves the choice to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The service's socket. Without one `MILLSTREAM_SOCKET` names it, or it is in the user's runtime directory, or in
    /// `/run/millstream`.
    pub socket: Option<PathBuf>,
    /// The user whom a service may have, by number, besides root and this process's own user. Where none is named
    /// `MILLSTREAM_SERVICE_UID` does, and the service in `/run/millstream` may have the user whom root gave that directory.
    /// A service that systemd's socket unit starts is root's to clients, whatever user it has.
    pub service_uid: Option<u32>,
    /// The name by which `millstream status` lists this client; by default the program's.
    pub name: String,
    /// The number of queues.
    pub queues: u32,
    /// The number of operations that may be in flight in each queue; rounded up to a power of two, at most 65536.
    pub depth: usize,
    /// Bytes of arena for buffers.
    pub arena_bytes: u32,
    /// The number of keys it may hold.
    pub key_slots: usize,
    /// True for a grant for private keys ([`Algorithm::Ed25519`] and its like), which other grants
    /// don't take: workers of their own serve it, so that no signature stands in the way of a packet.
    pub private_keys: bool,
    /// The remedy when no service can be reached.
    pub fallback: Fallback,
    /// The time that the service may take to answer: this request, and later ones about keys. For requests about tokens it is a minute at
    /// least, because each PIN takes long on purpose, and one is tried after another.
    pub limit: Duration,
    /// The time for which [`Queue::wait`](crate::queue::Queue::wait) looks before it sleeps. To sleep and be woken
    /// costs about 50 µs; looking for as long as that is never worse than twice the best. A queue shortens the time by
    /// itself where looking fails often, as it must where client and worker share a processor.
    pub spin: Duration,
    /// The fewest bytes of input whose cache lines are handed towards the worker's core at submission (`cldemote` or
    /// `clwb`), where the operation has output too. By default none are: measured, handing over gained little or
    /// nothing below 512 bytes and cost a good part of the throughput from 2 KiB on. Input that has no output, as a
    /// hash's, is always handed over: there it pays. The effect depends on the processor's caches, so measure before
    /// you ask.
    pub demote_from: Option<usize>,
}

/// A connection to a service, over which nothing was asked for yet: see [`Attach::connect`].
#[derive(Debug)]
pub struct Connection {
    socket: Arc<Socket>,
    path: PathBuf,
}

/// The remedy when no service can be reached, which means that nothing listens at the socket. A service that refuses,
/// that this user may not reach, or that does not answer is there all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// Attaching fails.
    #[default]
    Never,
    /// An accelerator on a thread of this process takes its place, and holds the keys. It is counted: see
    /// [`fallbacks`](super::fallbacks).
    InProcess,
}

impl Default for Attach {
    fn default() -> Self {
        let program = std::env::args_os().next().map(PathBuf::from);
        let name =
            program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Attach {
            socket: None,
            service_uid: None,
            name: name.unwrap_or_default(),
            queues: 1,
            depth: 256,
            arena_bytes: 8 << 20,
            key_slots: 64,
            private_keys: false,
            fallback: Fallback::Never,
            limit: Duration::from_secs(5),
            spin: Duration::from_micros(50),
            demote_from: None,
        }
    }
}

/// Why there is no grant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// No service can be reached there.
    NoService {
        /// The socket that was tried last.
        path: PathBuf,
        /// The system's error.
        why: io::ErrorKind,
    },
    /// The service refused.
    Refused {
        /// Why.
        why: protocol::Refusal,
        /// More about it: the limit, or the line of the policy.
        detail: String,
    },
    /// The service speaks another version of the protocol.
    Version {
        /// The service's socket.
        path: PathBuf,
        /// The service's version.
        theirs: u16,
    },
    /// The service did not answer in time.
    Limit {
        /// The service's socket.
        path: PathBuf,
        /// The time that it had.
        limit: Duration,
    },
    /// The service's answer makes no sense.
    Answer {
        /// The service's socket.
        path: PathBuf,
        /// The fault in the answer.
        what: &'static str,
    },
    /// The process that listens there belongs to nobody whom this program may give its keys to. Nothing was sent.
    Untrusted {
        /// The socket.
        path: PathBuf,
        /// The user of whoever listens, as the kernel says.
        found: u32,
        /// The users that would do.
        trusted: Vec<u32>,
    },
    /// The granted memory can't be mapped.
    Memory(io::ErrorKind),
    /// This process has no descriptors left.
    Descriptors,
    /// The accelerator in this process, which was to take the service's place, could not be made.
    InProcess(Box<crate::Error>),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::NoService { path, why: io::ErrorKind::PermissionDenied } => write!(
                f,
                "this user may not connect to {}: ask its owner, or start a service of your own with `millstream serve`",
                path.display()
            ),
            AttachError::NoService { path, why } => write!(
                f,
                "no service at {} ({}): start one with `millstream serve`, or name its socket with {}",
                path.display(),
                absence(*why),
                protocol::SOCKET_VARIABLE
            ),
            AttachError::Refused { why, detail } if detail.is_empty() => {
                write!(f, "the service refused: {why}; {}", remedy(*why))
            }
            AttachError::Refused { why, detail } => {
                write!(f, "the service refused: {why} ({detail}); {}", remedy(*why))
            }
            AttachError::Version { path, theirs } => write!(
                f,
                "the service at {} speaks version {theirs} of the protocol and this program {}: use the same release",
                path.display(),
                protocol::VERSION
            ),
            AttachError::Limit { path, limit } => write!(
                f,
                "the service at {} did not answer within {limit:?}: see whether it is stopped or overloaded, or allow a longer limit",
                path.display()
            ),
            AttachError::Answer { path, what } => write!(
                f,
                "the service at {} answered {what}: it is not a Millstream service of this release",
                path.display()
            ),
            AttachError::Untrusted { path, found, trusted } => write!(
                f,
                "the service at {} belongs to uid {found}, and this program gives its keys to uid {} only: if that user \
                 is meant to run the service, name it with {}={found} or Attach::service_uid; else find out who listens there",
                path.display(),
                trusted.iter().map(u32::to_string).collect::<Vec<_>>().join(" or "),
                protocol::SERVICE_UID_VARIABLE
            ),
            AttachError::Memory(kind) => write!(
                f,
                "the granted memory can't be mapped: {}; ask for less arena_bytes or raise the limit of address space (ulimit -v)",
                words(*kind)
            ),
            AttachError::Descriptors => f.write_str(
                "this process has no descriptors left for a grant, which takes six for a moment: close some or raise the limit (ulimit -n)",
            ),
            AttachError::InProcess(error) => {
                write!(f, "no service, and no accelerator in this process either: {error}")
            }
        }
    }
}

impl std::error::Error for AttachError {
    /// Returns the cause behind an error that the message repeats.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AttachError::InProcess(error) => error.source(),
            _ => None,
        }
    }
}

/// Says why a service can't be reached.
fn absence(why: io::ErrorKind) -> String {
    match why {
        io::ErrorKind::NotFound => "nothing of that name is there".to_owned(),
        io::ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
        why => words(why),
    }
}

/// Returns the remedy for a refusal.
fn remedy(why: protocol::Refusal) -> &'static str {
    match why {
        protocol::Refusal::Denied => "have this user or group added to the service's policy",
        protocol::Refusal::TooMuch => "ask for less, or have the policy's limits raised",
        protocol::Refusal::TooManyGrants => "close another client, or have the policy's limit raised",
        protocol::Refusal::NoSuchGrant | protocol::Refusal::NoSuchWorker => "`millstream status` lists them",
        protocol::Refusal::NoWorker => "see `millstream status` and the service's log",
        protocol::Refusal::NotOperator => "ask one, or have this user named under [operators] in its policy",
        protocol::Refusal::NotNow => "wait, and try again",
        protocol::Refusal::Exhausted => "close other clients, or raise the service's limits",
        _ => "see the service's log",
    }
}

impl Accelerator {
    /// Asks for a grant as it usually is: [`Attach::default`].
    ///
    /// # Errors
    /// [`AttachError`].
    pub fn attach() -> Result<Self, AttachError> {
        Attach::default().attach()
    }
}

impl Attach {
    /// Returns the options for a grant that takes keys of an algorithm.
    pub(crate) fn for_key(&self, algorithm: Algorithm) -> Attach {
        let private_keys = AlgorithmSet::private_keys().contains(algorithm);
        if !private_keys || self.private_keys {
            return Attach { private_keys, ..self.clone() };
        }
        // A message to sign has little room, and there are fewer such keys than others.
        let (arena_bytes, key_slots) = (self.arena_bytes.min(4 << 20), self.key_slots.min(256));
        Attach { private_keys, arena_bytes, key_slots, ..self.clone() }
    }

    /// Asks for a grant: one round trip. Where a worker has just died it waits, up to a second, for the next one.
    ///
    /// # Errors
    /// [`AttachError`].
    pub fn attach(&self) -> Result<Accelerator, AttachError> {
        let until = Instant::now() + RESTART.min(self.limit);
        loop {
            match self.attach_once() {
                Err(AttachError::Refused { why: protocol::Refusal::NoWorker, .. })
                    if Instant::now() < until =>
                {
                    std::thread::sleep(RETRY);
                }
                attached => return attached,
            }
        }
    }

    /// Connects to the service and asks for nothing yet. For programs that won't reach its socket later, as after `chroot(2)`:
    /// [`Attach::attach_over`] then asks for the grant.
    ///
    /// The service judges such a program as the user that it is now. It closes a connection over which nothing was asked for in a
    /// while: after 60 s, unless its policy says otherwise (`idle_s`).
    ///
    /// # Errors
    /// As for [`Attach::attach`], when no service can be reached or it is not to be trusted.
    pub fn connect(&self) -> Result<Connection, AttachError> {
        let (socket, path) = self.reach(|socket, path| self.is_trusted(socket, path))?;
        Ok(Connection { socket: Arc::new(socket), path })
    }

    /// Asks for a grant over a connection that was made before: one, which lives until the accelerator and the connection are dropped.
    /// After a refusal another can be asked for.
    ///
    /// ```no_run
    /// use millstream::isolated::Attach;
    ///
    /// let attach = Attach::default();
    /// let connection = attach.connect()?;
    /// std::os::unix::fs::chroot("/var/empty")?;
    /// let accelerator = attach.attach_over(&connection)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Attach::attach`]; [`Fallback`] has no part in it.
    pub fn attach_over(&self, connection: &Connection) -> Result<Accelerator, AttachError> {
        let link = self.ask(connection.socket.clone(), &connection.path)?;
        Ok(Accelerator::of_worker(link))
    }

    fn attach_once(&self) -> Result<Accelerator, AttachError> {
        match self.reach(|socket, path| self.is_trusted(socket, path)) {
            Ok((socket, path)) => {
                let link = self.ask(Arc::new(socket), &path)?;
                Ok(Accelerator::of_worker(link))
            }
            Err(error) if self.fallback == Fallback::InProcess && is_absence(&error) => {
                let local = Local::new(&self.in_process(), self.queues.max(1));
                let local = local.map_err(|error| AttachError::InProcess(Box::new(error)))?;
                Ok(Accelerator::fall_back(local))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the size of a queue of this process that takes the service's place.
    fn in_process(&self) -> Config {
        let usual = Config::default();
        let or = |given: usize, usual: usize| if given == 0 { usual } else { given };
        Config {
            depth: or(self.depth, usual.depth).next_power_of_two().min(1 << 16),
            arena_bytes: or(self.arena_bytes as usize, usual.arena_bytes as usize) as u32,
            key_slots: or(self.key_slots, usual.key_slots),
            weight: 1,
        }
    }

    /// Connects to the first service there is that is accepted. That one is not to be reached for a reason of its own
    /// says more than that the next is not there.
    pub(super) fn reach(
        &self,
        accepted: impl Fn(&Socket, &Path) -> Result<(), AttachError>,
    ) -> Result<(Socket, PathBuf), AttachError> {
        let places = self.socket.clone().map_or_else(protocol::sockets, |path| vec![path]);
        let mut failed = None;
        for path in places {
            let connected = Socket::connect_within(&path, self.limit)
                .map_err(|error| unreached(error, path.clone(), self.limit))
                .and_then(|socket| accepted(&socket, &path).map(|()| socket));
            match connected {
                Ok(socket) => return Ok((socket, path)),
                Err(error) => {
                    if failed.as_ref().is_none_or(is_absence) {
                        failed = Some(error);
                    }
                }
            }
        }
        Err(failed
            .unwrap_or(AttachError::NoService { path: protocol::socket(), why: io::ErrorKind::NotFound }))
    }

    /// Checks that whoever listens may have this program's keys and data. The kernel says who called `listen`.
    fn is_trusted(&self, socket: &Socket, path: &Path) -> Result<(), AttachError> {
        let peer = socket.peer().map_err(|error| unreached(error, path.to_owned(), self.limit))?;
        let trusted = protocol::trusted_uids(path, self.service_uid);
        if trusted.contains(&peer.uid) {
            return Ok(());
        }
        Err(AttachError::Untrusted { path: path.to_owned(), found: peer.uid, trusted })
    }

    fn ask(&self, socket: Arc<Socket>, path: &Path) -> Result<Link, AttachError> {
        let until = Instant::now() + self.limit;
        let wanted = Wanted {
            // A long name would make a message too long.
            name: self.name.chars().take(64).collect(),
            queues: self.queues,
            depth: if self.depth == 0 { 0 } else { self.depth.next_power_of_two().min(1 << 16) as u32 },
            arena_bytes: self.arena_bytes,
            key_slots: u32::try_from(self.key_slots).unwrap_or(u32::MAX),
            private_keys: self.private_keys,
        };
        let io = |error: io::Error| unreached(error, path.to_owned(), self.limit);
        socket.send(&Request::Attach { wanted }.encode(), &[]).map_err(io)?;
        let (reply, descriptors) = receive(&socket, path, until, self.limit)?;
        match reply {
            Reply::Granted { grant } => self.take(socket, path, grant, descriptors),
            Reply::Refused { why, detail } => Err(AttachError::Refused { why, detail }),
            _ => Err(AttachError::Answer { path: path.to_owned(), what: "something else than was asked" }),
        }
    }

    /// Checks what came against what it should be, and maps it.
    fn take(
        &self,
        service: Arc<Socket>,
        path: &Path,
        grant: protocol::Grant,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Link, AttachError> {
        let answer = |what| AttachError::Answer { path: path.to_owned(), what };
        let memory = |error: io::Error| match error.raw_os_error() {
            Some(_) => AttachError::Memory(error.kind()),
            None => answer("memory whose size is not sealed"),
        };
        let layout = Rings::new(grant.queues, grant.depth).ok_or(answer("a grant of no queues"))?;
        let descriptors = <[OwnedFd; 5]>::try_from(descriptors);
        let [arena, rings, state, doorbell, keys] =
            descriptors.map_err(|_| answer("without the five descriptors"))?;
        let [arena, rings, state] = [arena, rings, state].map(Memory::received);
        let (arena, rings, state) = (arena.map_err(memory)?, rings.map_err(memory)?, state.map_err(memory)?);
        if arena.len() < grant.arena_bytes as usize || u32::try_from(arena.len()).is_err() {
            return Err(answer("an arena of another size"));
        }
        if rings.len() < layout.bytes() || state.len() != protocol::STATE_BYTES {
            return Err(answer("rings or a state page of another size"));
        }
        let received = Received {
            arena: Mapping::shared(&arena).map_err(memory)?,
            rings: Mapping::shared(&rings).map_err(memory)?,
            state: Mapping::read_only(&state).map_err(memory)?,
            doorbell: Doorbell::received(doorbell),
            keys: Socket::received(keys),
            service,
        };
        let info = GrantInfo {
            id: grant.id,
            queues: grant.queues,
            depth: grant.depth as usize,
            arena_bytes: arena.len() as u32,
            key_slots: grant.key_slots as usize,
            weight: grant.weight,
            algorithms: grant.algorithms,
        };
        let tuning = (self.spin, self.demote_from.unwrap_or(usize::MAX));
        Link::new(received, layout, info, path.to_owned(), self.limit, tuning)
            .ok_or(answer("a state page of another size"))
    }
}

/// Returns true when nothing listens: only then may a fall-back take the service's place.
fn is_absence(error: &AttachError) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error, AttachError::NoService { why: NotFound | ConnectionRefused, .. })
}

/// Translates an error of the socket.
pub(super) fn unreached(error: io::Error, path: PathBuf, limit: Duration) -> AttachError {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AttachError::Limit { path, limit },
        _ if [Errno::MFILE, Errno::NFILE].iter().any(|full| code == Some(full.raw_os_error())) => {
            AttachError::Descriptors
        }
        // The descriptors that came with the answer could not be opened here.
        io::ErrorKind::InvalidData => AttachError::Descriptors,
        why => AttachError::NoService { path, why },
    }
}

/// Waits for an answer.
pub(super) fn receive(
    socket: &Socket,
    path: &Path,
    until: Instant,
    limit: Duration,
) -> Result<(Reply, Vec<OwnedFd>), AttachError> {
    let io = |error: io::Error| unreached(error, path.to_owned(), limit);
    if !socket.wait(Some(until.saturating_duration_since(Instant::now()))).map_err(io)? {
        return Err(AttachError::Limit { path: path.to_owned(), limit });
    }
    let Some(message) = socket.try_receive().map_err(io)? else {
        return Err(AttachError::NoService { path: path.to_owned(), why: io::ErrorKind::ConnectionAborted });
    };
    match Reply::decode(&message.bytes) {
        Ok(reply) => Ok((reply, message.descriptors)),
        Err(protocol::Error::Version(theirs)) => Err(AttachError::Version { path: path.to_owned(), theirs }),
        Err(_) => Err(AttachError::Answer { path: path.to_owned(), what: "what is no message" }),
    }
}

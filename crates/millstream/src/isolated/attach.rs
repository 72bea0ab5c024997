//! The request for a grant.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// The remedy when no service can be reached.
    pub fallback: Fallback,
    /// The time that the service may take to answer: this request, and later ones about keys.
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

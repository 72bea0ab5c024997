//! What the broker counts, and how others fetch it: the text format of Prometheus over HTTP.
//!
//! | file | holds |
//! | --- | --- |
//! | `place.rs` | where it is served: a port, or a socket in the file system |
//! | `serve.rs` | the connections, and their limits |
//! | `request.rs` | what is asked, and whether it is answered |
//! | `text.rs` | the answer |
//! | `totals.rs` | what a user's grants did, those that have ended included |

mod place;
mod request;
mod serve;
mod text;
mod totals;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use millstream_protocol::{GrantStatus, Refusal, UseStatus, WorkerStatus};

pub use place::MetricsAddress;

/// How metrics are served.
#[derive(Clone, Debug)]
pub struct MetricsConfig {
    /// Where. Whoever can connect there sees which users have grants, and what these do.
    pub address: MetricsAddress,
    /// Names of this machine by which they may be asked for, beside `localhost` and addresses. A browser that was led here
    /// under another name is refused.
    pub hosts: Vec<String>,
    /// Whether each grant is told of by itself, with its process and that one's name. Clients make these up, as many as they
    /// may have grants.
    pub names: bool,
}

impl MetricsConfig {
    /// Served there, without names.
    pub fn new(address: MetricsAddress) -> Self {
        MetricsConfig { address, hosts: Vec::new(), names: false }
    }
}

/// What happened since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) granted: u64,
    /// How long all grants took together.
    pub(crate) granting: Duration,
    /// By the reason.
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) revoked: u64,
    /// Grants that ended with their worker.
    pub(crate) gone: u64,
    pub(crate) restarts: u64,
}

impl Counters {
    pub(crate) fn granted(&mut self, took: Duration) {
        self.granted += 1;
        self.granting += took;
    }

    pub(crate) fn refused(&mut self, why: Refusal) {
        *self.refused.entry(format!("{why:?}")).or_default() += 1;
    }
}

/// Everything there is to tell, at one moment.
pub(crate) struct Snapshot {
    pub(crate) workers: Vec<WorkerStatus>,
    pub(crate) grants: Vec<GrantStatus>,
    pub(crate) counters: Counters,
    pub(crate) uses: Vec<UseStatus>,
}

/// Who waits for a snapshot.
pub(crate) struct Asker {
    sender: SyncSender<Snapshot>,
    bell: Arc<UnixStream>,
}

impl Asker {
    pub(crate) fn answer(&self, snapshot: Snapshot) {
        // Who waits no longer has given up.
        if self.sender.try_send(snapshot).is_ok() {
            // Where there is no room for a byte, there are some that wake.
            let _ = (&*self.bell).write(&[0]);
        }
    }
}

/// The broker's end of the thread that serves metrics. That ends with it.
pub(crate) struct Metrics {
    asks: Receiver<SyncSender<Snapshot>>,
    /// A byte comes here for each that asks, and one goes back with the answer.
    bell: Arc<UnixStream>,
    /// Where it listens in the file system, for as long as it does.
    _place: Option<millstream_shm::Listener>,
}

impl Metrics {
    /// Listens, and serves in a thread of its own. Where `refuse` is true, the kernel is asked to refuse descriptors that are sent
    /// there.
    pub(crate) fn serve(config: &MetricsConfig, refuse: bool) -> io::Result<Self> {
        let (listener, bound) = place::bind(&config.address, refuse)?;
        let (ask, asks) = sync_channel(1);
        let (ring, bell) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let server = serve::Server::new(listener, ask, ring, config);
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || server.run())?;
        Ok(Metrics { asks, bell: Arc::new(bell), _place: bound })
    }

    /// Who asks.
    pub(crate) fn asked(&self) -> Vec<Asker> {
        empty(&self.bell);
        self.asks.try_iter().map(|sender| Asker { sender, bell: self.bell.clone() }).collect()
    }
}

impl AsFd for Metrics {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// Takes the bytes that wake, and says whether the other end is still there.
fn empty(mut bell: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    loop {
        match bell.read(&mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

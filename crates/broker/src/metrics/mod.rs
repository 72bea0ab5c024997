//! The broker's counters, served in the text format of Prometheus over HTTP.
//!
//! | file | holds |
//! | --- | --- |
//! | `place.rs` | where it is served: a port, or a socket in the file system |
//! | `serve.rs` | the connections, and their limits |
//! | `request.rs` | what is asked, and whether it is answered |
//! | `text.rs` | the answer |

mod place;
mod request;
mod serve;
mod text;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use millstream_protocol::{GrantStatus, Refusal, UseStatus, WorkerStatus};

pub use place::MetricsAddress;

use crate::totals::Totals;

/// The way metrics are served.
#[derive(Clone, Debug)]
pub struct MetricsConfig {
    /// The address. Whoever can connect to it sees which users have grants, and what these grants do.
    pub address: MetricsAddress,
    /// Names of this machine under which clients may ask, beside `localhost` and addresses. A browser that
    /// was led here under another name is refused.
    pub hosts: Vec<String>,
    /// True to list each grant by itself, with its process and the client's name. Clients make these names
    /// up, as many as they may have grants.
    pub names: bool,
}

impl MetricsConfig {
    /// Serves at an address, without names.
    pub fn new(address: MetricsAddress) -> Self {
        MetricsConfig { address, hosts: Vec::new(), names: false }
    }
}

/// Counts of events since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) granted: u64,
    /// The time that all grants took together.
    pub(crate) granting: Duration,
    /// Refusals by their reason.
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) revoked: u64,
    /// Grants that ended with their worker.
    pub(crate) gone: u64,
    pub(crate) restarts: u64,
    /// PINs of tokens that were tried: those that opened one, wrong ones, and those after which the token or the vault failed.
    pub(crate) tokens_opened: u64,
    pub(crate) wrong_pins: u64,
    pub(crate) failed_tries: u64,
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

/// The tokens that grants have open at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenTokens {
    /// The number of tokens that are open at least once.
    pub(crate) tokens: u64,
    /// The times that all of them are open together.
    pub(crate) sessions: u64,
}

/// All metrics at one moment.
pub(crate) struct Snapshot {
    pub(crate) workers: Vec<WorkerStatus>,
    pub(crate) grants: Vec<GrantStatus>,
    pub(crate) counters: Counters,
    pub(crate) totals: Totals,
    pub(crate) uses: Vec<UseStatus>,
    pub(crate) open: OpenTokens,
}

/// A party that waits for a snapshot.
pub(crate) struct Asker {
    sender: SyncSender<Snapshot>,
    bell: Arc<UnixStream>,
}

impl Asker {
    pub(crate) fn answer(&self, snapshot: Snapshot) {
        // A receiver that has gone has given up.
        if self.sender.try_send(snapshot).is_ok() {
            // A full bell already holds bytes that wake.
            let _ = (&*self.bell).write(&[0]);
        }
    }
}

/// The broker's end of the thread that serves metrics. The thread ends when this is dropped.
pub(crate) struct Metrics {
    asks: Receiver<SyncSender<Snapshot>>,
    /// A byte comes here for each request, and one goes back with the answer.
    bell: Arc<UnixStream>,
    /// The socket in the file system, kept for as long as it is served.
    _place: Option<millstream_shm::Listener>,
}

impl Metrics {
    /// Listens, and serves in a thread of its own. Where `refuse` is true, the kernel is asked to refuse
    /// descriptors that are sent there.
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

    /// Returns the parties that ask.
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

/// Takes the bytes that wake. Returns false when the other end is gone.
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

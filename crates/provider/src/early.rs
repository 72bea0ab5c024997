//! What is opened before a program shuts itself in: who has called `chroot(2)` reaches the service's socket and the file of counters no more.
//!
//! Only who has `CAP_SYS_CHROOT` can do that. So only such a process opens that file and connects to the service when it fetches its first
//! algorithm, and keeps the connection for its first key. All others do so when they set a key, and hold nothing before.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use millstream::isolated::{Attach, Connection};
use rustix::thread::{CapabilitySet, capabilities};

use crate::count;
use crate::fork::PerProcess;
use crate::provider::Provider;

/// Connections of this process, with the sockets that were configured.
fn connections() -> &'static Mutex<Vec<(PathBuf, Connection)>> {
    static CONNECTIONS: PerProcess<Mutex<Vec<(PathBuf, Connection)>>> = PerProcess::new();
    CONNECTIONS.get()
}

/// Opens what is configured, if it may be out of this process's reach later.
pub fn open(provider: Provider) {
    let may_shut_itself_in = capabilities(None)
        .is_ok_and(|capabilities| capabilities.effective.contains(CapabilitySet::SYS_CHROOT));
    if may_shut_itself_in {
        count::open(provider);
        provider.configuration().socket.as_deref().into_iter().for_each(connect);
    }
}

fn connect(socket: &Path) {
    let mut connections = connections().lock().unwrap_or_else(PoisonError::into_inner);
    if connections.iter().any(|(of, _)| of == socket) {
        return;
    }
    // Where there is none yet, the first key asks again.
    if let Ok(connection) = (Attach { socket: named(socket), ..Attach::default() }).connect() {
        connections.push((socket.to_owned(), connection));
    }
}

/// The connection that was made to the service at that socket.
pub fn take(socket: &Path) -> Option<Connection> {
    let mut connections = connections().lock().unwrap_or_else(PoisonError::into_inner);
    let at = connections.iter().position(|(of, _)| of == socket)?;
    Some(connections.swap_remove(at).1)
}

/// The path of a configured socket; none for the usual places.
pub fn named(socket: &Path) -> Option<PathBuf> {
    (!socket.as_os_str().is_empty()).then(|| socket.to_owned())
}

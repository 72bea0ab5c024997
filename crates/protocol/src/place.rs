//! Where the broker's socket is.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The environment variable that names the broker's socket.
pub const SOCKET_VARIABLE: &str = "MILLSTREAM_SOCKET";

/// The socket's name in a runtime directory.
const SOCKET_NAME: &str = "millstream.sock";

/// The runtime directory of a service of the whole machine.
const SYSTEM: &str = "/run/millstream";

/// Where a broker of this user listens: what [`SOCKET_VARIABLE`] says, else in the user's runtime directory; root's
/// in `/run/millstream`.
pub fn socket() -> PathBuf {
    match env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => runtime_directory().join(SOCKET_NAME),
    }
}

/// Where a client looks for a broker, in this order: what [`SOCKET_VARIABLE`] says and nowhere else, or the user's own
/// and then that of the machine.
pub fn sockets() -> Vec<PathBuf> {
    let mut places = vec![socket()];
    let system = PathBuf::from(SYSTEM).join(SOCKET_NAME);
    if env::var_os(SOCKET_VARIABLE).is_none_or(|path| path.is_empty()) && places[0] != system {
        places.push(system);
    }
    places
}

fn runtime_directory() -> PathBuf {
    // The owner of what describes this process is this process's user.
    let uid = std::fs::metadata("/proc/self").map_or(0, |found| found.uid());
    if uid == 0 {
        return SYSTEM.into();
    }
    let own = env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    own.map_or_else(|| PathBuf::from(format!("/run/user/{uid}")), PathBuf::from)
}

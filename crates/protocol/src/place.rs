//! The path of the broker's socket, and the users whose service a client may trust.
//!
//! This is the one place that reads the environment for Rust, C and the OpenSSL provider. When a program has
//! more rights than the user who started it, that user controls its environment, and could name a socket of
//! their own to be sent the program's keys. Such a program reads none of these variables, and knows the
//! machine's service only.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::secure::{has_more_rights, uid};

/// The environment variable that names the broker's socket.
pub const SOCKET_VARIABLE: &str = "MILLSTREAM_SOCKET";

/// The environment variable that names, by number, a user whose service clients may trust.
pub const SERVICE_UID_VARIABLE: &str = "MILLSTREAM_SERVICE_UID";

/// The socket's name in a runtime directory.
const SOCKET_NAME: &str = "millstream.sock";

/// The runtime directory of a service for the whole machine.
const SYSTEM: &str = "/run/millstream";

/// Returns a variable of the environment, unless it is empty or this program has more rights than whoever
/// started it.
pub fn environment(name: &str) -> Option<OsString> {
    if has_more_rights() {
        return None;
    }
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the path at which a broker of this user listens: the value of [`SOCKET_VARIABLE`], else a path in
/// the user's runtime directory, or in `/run/millstream` for root.
pub fn socket() -> PathBuf {
    match environment(SOCKET_VARIABLE) {
        Some(path) => path.into(),
        None => runtime_directory().join(SOCKET_NAME),
    }
}

/// Returns the paths at which a client looks for a broker, in order: only the value of [`SOCKET_VARIABLE`]
/// when that is set, else the user's own and then the machine's. A program with more rights than whoever
/// started it looks for the machine's only.
pub fn sockets() -> Vec<PathBuf> {
    let mut places = vec![socket()];
    let system = system_socket();
    if environment(SOCKET_VARIABLE).is_none() && places[0] != system {
        places.push(system);
    }
    places
}

/// Returns the users whose service a client may give its keys to when it found the socket at `path`. These
/// are root; the client's own user, unless the program has more rights than whoever started it; the user that
/// the caller or [`SERVICE_UID_VARIABLE`] names; and for the machine's socket the user to whom root gave its
/// directory.
pub fn trusted_uids(path: &Path, named: Option<u32>) -> Vec<u32> {
    let own = (!has_more_rights()).then(uid);
    let named = named.or_else(|| environment(SERVICE_UID_VARIABLE)?.to_str()?.parse().ok());
    let systems = if path == system_socket() { given_by_root(Path::new(SYSTEM)) } else { None };
    let mut trusted = vec![0];
    for uid in [own, named, systems].into_iter().flatten() {
        if !trusted.contains(&uid) {
            trusted.push(uid);
        }
    }
    trusted
}

fn system_socket() -> PathBuf {
    PathBuf::from(SYSTEM).join(SOCKET_NAME)
}

/// Returns the owner of a directory that only root can have made, and that nobody else can write to.
fn given_by_root(directory: &Path) -> Option<u32> {
    const OTHERS_WRITE: u32 = 0o022;
    let parent = fs::symlink_metadata(directory.parent()?).ok()?;
    let found = fs::symlink_metadata(directory).ok()?;
    let by_root = parent.is_dir() && parent.uid() == 0 && parent.mode() & OTHERS_WRITE == 0;
    (by_root && found.is_dir() && found.mode() & OTHERS_WRITE == 0).then(|| found.uid())
}

fn runtime_directory() -> PathBuf {
    let uid = uid();
    // A user's own directory is under the control of whoever may have started this program.
    if uid == 0 || has_more_rights() {
        return SYSTEM.into();
    }
    let own = environment("XDG_RUNTIME_DIR");
    own.map_or_else(|| PathBuf::from(format!("/run/user/{uid}")), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn only_a_directory_that_root_gave_away_names_a_user() {
        if uid() != 0 {
            println!("SKIPPED only_a_directory_that_root_gave_away_names_a_user: this needs root");
            return;
        }
        let place = env::temp_dir().join(format!("millstream-protocol-{}", std::process::id()));
        let directory = place.join("service");
        fs::create_dir_all(&directory).unwrap();
        let set = |path: &Path, owner: u32, mode: u32| {
            chown(path, Some(owner), None).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&place, 0, 0o755);
        set(&directory, 1234, 0o755);
        assert_eq!(given_by_root(&directory), Some(1234));
        // Somebody else could have put a socket there.
        set(&directory, 1234, 0o777);
        assert_eq!(given_by_root(&directory), None);
        set(&directory, 1234, 0o755);
        // Somebody else could have made the directory.
        set(&place, 0, 0o777);
        assert_eq!(given_by_root(&directory), None);
        set(&place, 1234, 0o755);
        assert_eq!(given_by_root(&directory), None);
        set(&place, 0, 0o755);
        symlink(&directory, place.join("link")).unwrap();
        assert_eq!(given_by_root(&place.join("link")), None);
        assert_eq!(given_by_root(&place.join("missing")), None);
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn root_and_the_own_user_and_the_named_one_are_trusted() {
        let elsewhere = Path::new("/nowhere/millstream.sock");
        let own = if uid() == 0 { vec![0] } else { vec![0, uid()] };
        assert_eq!(trusted_uids(elsewhere, None), own);
        assert_eq!(trusted_uids(elsewhere, Some(0)), own);
        assert_eq!(trusted_uids(elsewhere, Some(4_000_000)), [own, vec![4_000_000]].concat());
    }
}

//! A socket with a path, at which clients connect. It is bound, given its mode and removed without following
//! whatever others may put in its place.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fchmod, open};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with,
};
use rustix::process::geteuid;

use crate::socket::Socket;

/// A socket at which clients connect.
#[derive(Debug)]
pub struct Listener {
    descriptor: OwnedFd,
    /// The path to remove in the end, if it was bound here, and the inode that must still be there.
    path: Option<(PathBuf, Inode)>,
}

/// The identity of a file under any name: its file system and its number there.
type Inode = (u64, u64);

fn inode(path: &Path) -> io::Result<Inode> {
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Removes a stale socket from the path: one that nobody listens at any more.
fn remove_remains(path: &Path, address: &SocketAddrUnix, kind: SocketType) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a file that is no socket is in the way",
            ));
        }
        Ok(_) => {}
        // The file has gone meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = socket_with(AddressFamily::UNIX, kind, flags, None)?;
    match connect(&probe, address) {
        Err(Errno::CONNREFUSED) => std::fs::remove_file(path),
        Err(Errno::NOENT) => Ok(()),
        // A listener with a full backlog is alive, and so may a socket of another type be.
        Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) => Err(error.into()),
    }
}

impl Listener {
    /// Listens at a path. A socket that nobody listens at any more is replaced. The umask decides the mode of
    /// the file, and so who may connect.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AddrInUse`] when somebody listens there,
    /// [`io::ErrorKind::AlreadyExists`] when the path holds anything but a socket, which includes a link to
    /// one.
    pub fn bind(path: &Path) -> io::Result<Self> {
        Self::bind_to(path, SocketType::SEQPACKET, None)
    }

    /// Listens at a path, with a mode that is set before anybody can connect, whatever the umask is.
    ///
    /// # Errors
    /// Those of [`Listener::bind`] and [`Listener::set_mode`].
    pub fn bind_with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        Self::bind_to(path, SocketType::SEQPACKET, Some(mode))
    }

    /// Listens for connections that carry bytes and no messages. They are accepted from the listener's
    /// descriptor.
    ///
    /// # Errors
    /// The same as for [`Listener::bind_with_mode`].
    pub fn bind_stream_with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        Self::bind_to(path, SocketType::STREAM, Some(mode))
    }

    fn bind_to(path: &Path, kind: SocketType, mode: Option<u32>) -> io::Result<Self> {
        let descriptor = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        if let Some(mode) = mode {
            // The file is created with this mode, less what the umask takes away.
            fchmod(&descriptor, Mode::from_raw_mode(mode))?;
        }
        let address = SocketAddrUnix::new(path)?;
        match bind(&descriptor, &address) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => {
                remove_remains(path, &address, kind)?;
                bind(&descriptor, &address)?;
            }
            Err(error) => return Err(error.into()),
        }
        let listener = Listener { descriptor, path: Some((path.to_owned(), inode(path)?)) };
        if let Some(mode) = mode {
            listener.set_mode(mode)?;
        }
        // Nobody could connect until now.
        listen(&listener.descriptor, 128)?;
        Ok(listener)
    }

    /// Changes who may connect from now on. Does nothing where somebody else bound the socket: its mode is
    /// theirs to choose.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::NotFound`] when the path does not lead to this socket any more. The
    /// file that is there instead stays as it is.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let Some((path, bound)) = &self.path else { return Ok(()) };
        // This descriptor names the file itself, whatever becomes of the path.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let named = File::from(open(path, flags, Mode::empty())?);
        let found = named.metadata()?;
        let is_own = found.file_type().is_socket() && found.uid() == geteuid().as_raw() && found.nlink() == 1;
        if !is_own || (found.dev(), found.ino()) != *bound {
            return Err(io::Error::new(io::ErrorKind::NotFound, "another file is in its place"));
        }
        if found.mode() & 0o7777 == mode {
            return Ok(());
        }
        let link = format!("/proc/self/fd/{}", named.as_raw_fd());
        std::fs::set_permissions(link, Permissions::from_mode(mode))
    }

    /// Takes over a socket that somebody else bound and listens at, as systemd does.
    pub fn received(descriptor: OwnedFd) -> Self {
        Listener { descriptor, path: None }
    }

    /// Returns true while the path still leads to this socket, so that clients find it. A socket that
    /// somebody else bound counts as in place, because its path is not known.
    pub fn is_in_place(&self) -> bool {
        self.path.as_ref().is_none_or(|(path, bound)| inode(path).is_ok_and(|found| found == *bound))
    }

    /// Removes the path, and returns the descriptor so that it can be closed elsewhere. Closing it also
    /// closes the connections that were never accepted, which may block.
    ///
    /// # Errors
    /// Too many descriptors; the listener is closed here then.
    pub fn into_descriptor(self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }

    /// Waits for the next connection. A descriptor that does not block gives [`io::ErrorKind::WouldBlock`]
    /// when there is none.
    ///
    /// # Errors
    /// The system's: too many descriptors.
    pub fn accept(&self) -> io::Result<Socket> {
        Ok(Socket::received(accept_with(&self.descriptor, SocketFlags::CLOEXEC)?))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.path
            && self.is_in_place()
        {
            // A file that is gone already needs no removal.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn the_kernel_says_who_connects() {
        let place = std::env::temp_dir().join(format!("millstream-shm-{}", std::process::id()));
        let listener = Listener::bind(&place).unwrap();
        assert_eq!(Listener::bind(&place).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let client = Socket::connect(&place).unwrap();
        let peer = listener.accept().unwrap().peer().unwrap();
        assert_eq!(peer.pid, std::process::id());
        assert_eq!(peer.uid, rustix::process::getuid().as_raw());
        drop((client, listener));
        assert!(!place.exists());
    }

    #[test]
    fn only_the_own_socket_is_removed() {
        let place = std::env::temp_dir().join(format!("millstream-shm-own-{}", std::process::id()));
        let first = Listener::bind(&place).unwrap();
        assert!(first.is_in_place());
        std::fs::remove_file(&place).unwrap();
        assert!(!first.is_in_place());
        let second = Listener::bind(&place).unwrap();
        drop(first);
        assert!(second.is_in_place() && place.exists());
    }

    fn mode(path: &Path) -> io::Result<u32> {
        Ok(std::fs::symlink_metadata(path)?.mode() & 0o7777)
    }

    #[test]
    fn its_mode_is_right_before_anybody_connects() {
        let directory = tempfile::tempdir().unwrap();
        for round in 0..300 {
            let wanted = [0o666, 0o600, 0o660][round % 3];
            let path = directory.path().join(round.to_string());
            thread::scope(|scope| {
                let watcher = scope.spawn(|| {
                    let begin = Instant::now();
                    while Socket::connect(&path).is_err() {
                        if let Ok(seen) = mode(&path) {
                            assert_eq!(seen & !wanted, 0, "{seen:o} for {wanted:o}");
                        }
                        assert!(begin.elapsed() < LIMIT, "nobody can connect");
                    }
                    mode(&path).unwrap()
                });
                let listener = Listener::bind_with_mode(&path, wanted).unwrap();
                assert_eq!(watcher.join().unwrap(), wanted);
                let other = wanted ^ 0o066;
                listener.set_mode(other).unwrap();
                assert_eq!(mode(&path).unwrap(), other);
            });
        }
    }

    #[test]
    fn who_takes_no_connections_listens_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("busy");
        let _listener = Listener::bind(&path).unwrap();
        let address = SocketAddrUnix::new(&path).unwrap();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let mut waiting = Vec::new();
        loop {
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
            match connect(&socket, &address) {
                Ok(()) => waiting.push(socket),
                Err(error) => break assert_eq!(error, Errno::AGAIN),
            }
        }
        let (tell, told) = mpsc::channel();
        let at = path.clone();
        thread::spawn(move || tell.send(Listener::bind(&at).map(drop).unwrap_err().kind()));
        assert_eq!(told.recv_timeout(LIMIT).expect("it hangs"), io::ErrorKind::AddrInUse);
        assert!(path.exists() && waiting.len() > 100);
    }

    #[test]
    fn what_is_left_of_a_listener_is_replaced_and_another_type_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("remains");
        // A dropped `UnixListener` leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let listener = Listener::bind_with_mode(&path, 0o600).unwrap();
        assert!(Socket::connect(&path).is_ok() && listener.is_in_place());
        drop(listener);
        let _stream = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(Listener::bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name| directory.path().join(name);
        let (victim, link, live) = (at("victim"), at("link"), at("live"));
        std::fs::write(&victim, b"private").unwrap();
        std::fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
        let listener = Listener::bind(&live).unwrap();
        for target in [&victim, &live, &at("nothing")] {
            symlink(target, &link).unwrap();
            let error = Listener::bind_with_mode(&link, 0o666).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(std::fs::read_link(&link).unwrap(), *target, "it stays");
            std::fs::remove_file(&link).unwrap();
        }
        assert!(!at("nothing").exists());
        // Somebody puts something else in its place: a link, a link to itself, another socket.
        let before = mode(&live).unwrap();
        std::fs::rename(&live, at("moved")).unwrap();
        for target in [&victim, &at("moved")] {
            symlink(target, &live).unwrap();
            listener.set_mode(0o666).unwrap_err();
            std::fs::remove_file(&live).unwrap();
        }
        let other = Listener::bind_with_mode(&live, 0o600).unwrap();
        assert_eq!(listener.set_mode(0o666).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(mode(&live).unwrap(), 0o600);
        assert_eq!((mode(&victim).unwrap(), mode(&at("moved")).unwrap()), (0o600, before));
        drop(other);
    }
}

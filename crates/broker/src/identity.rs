//! The identity of a peer, as the kernel gives it.
//!
//! # Safety
//! The calls without a safe wrapper fill buffers of the length that they are told. A descriptor that the
//! kernel returns is new and has no other owner.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use millstream_shm::Socket;

/// The identity of a peer when it connected, whatever the process does later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The process ID.
    pub pid: u32,
    /// The user ID.
    pub uid: u32,
    /// The group IDs.
    pub gids: Vec<u32>,
}

impl Peer {
    /// Returns the peer of a connection.
    ///
    /// # Errors
    /// The system's.
    pub fn of(socket: &Socket) -> io::Result<Self> {
        let found = socket.peer()?;
        let mut gids = supplementary_groups(socket)?;
        gids.insert(0, found.gid);
        Ok(Peer { pid: found.pid, uid: found.uid, gids })
    }
}

fn supplementary_groups(socket: &Socket) -> io::Result<Vec<u32>> {
    let descriptor = socket.as_fd().as_raw_fd();
    let mut gids: Vec<libc::gid_t> = vec![0; 32];
    loop {
        let mut bytes = size_of_val(gids.as_slice()) as libc::socklen_t;
        // SAFETY: the buffer is as long as `bytes` says.
        let failed = unsafe {
            libc::getsockopt(
                descriptor,
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                gids.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        let count = bytes as usize / size_of::<libc::gid_t>();
        if failed == 0 {
            gids.truncate(count);
            return Ok(gids);
        }
        let error = io::Error::last_os_error();
        // The kernel returns the right length when the buffer was too short.
        if error.raw_os_error() != Some(libc::ERANGE) || count <= gids.len() {
            return Err(error);
        }
        gids.resize(count, 0);
    }
}

/// Returns a descriptor for the process that connected, which becomes readable when the process ends; none on
/// kernels before Linux 6.5. A forked child holds the connection open, but can't use it.
pub(crate) fn process(socket: impl AsFd) -> Option<OwnedFd> {
    let mut number: libc::c_int = -1;
    let mut bytes = size_of_val(&number) as libc::socklen_t;
    // SAFETY: the buffer is as long as `bytes` says.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut number).cast(),
            &raw mut bytes,
        )
    };
    // SAFETY: the call has made it for this process.
    (failed == 0 && number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_who_it_is() {
        let (here, _there) = millstream_shm::pair().unwrap();
        let peer = Peer::of(&here).unwrap();
        assert_eq!(peer.pid, std::process::id());
        assert_eq!(peer.uid, rustix::process::getuid().as_raw());
        assert_eq!(peer.gids[0], rustix::process::getgid().as_raw());
        let supplementary = rustix::process::getgroups().unwrap();
        assert_eq!(peer.gids[1..], supplementary.iter().map(|gid| gid.as_raw()).collect::<Vec<_>>());
    }
}

//! Messages with descriptors between processes of one machine. They are sequenced packets over a Unix socket,
//! so each message arrives whole or not at all.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, recvmsg,
    sendmsg, socket_with, socketpair, sockopt,
};

/// The most bytes in a message.
pub const MAX_MESSAGE: usize = 12 << 10;
/// The most descriptors in a message.
pub const MAX_DESCRIPTORS: usize = 8;

/// The identity of the process at the other end, as the kernel gives it: the one that connected, or made the
/// pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The process ID.
    pub pid: u32,
    /// The user ID.
    pub uid: u32,
    /// The group ID.
    pub gid: u32,
}

/// A message that was received.
#[derive(Debug)]
pub struct Received {
    /// The message's bytes.
    pub bytes: Vec<u8>,
    /// The message's descriptors, in order. They are closed on exec.
    pub descriptors: Vec<OwnedFd>,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// Makes the two ends of a connection.
///
/// # Errors
/// Too many descriptors.
pub fn pair() -> io::Result<(Socket, Socket)> {
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok((Socket(a), Socket(b)))
}

impl Socket {
    /// Connects to a listener.
    ///
    /// # Errors
    /// The system's: nothing listens there, no permission.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Socket(socket))
    }

    /// Connects, but fails with [`io::ErrorKind::WouldBlock`] when the listener's backlog stays full for the
    /// limit. Messages sent later have the same limit.
    ///
    /// # Errors
    /// The same as for [`Socket::connect`].
    pub fn connect_within(path: &Path, limit: Duration) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // A timeout of zero would mean for ever.
        let limit = limit.max(Duration::from_micros(1));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(limit))?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Socket(socket))
    }

    /// Takes over an end that came from another process.
    pub fn received(descriptor: OwnedFd) -> Self {
        Socket(descriptor)
    }

    /// Sends a message with descriptors, of which the sender keeps its own. Never raises SIGPIPE.
    ///
    /// # Errors
    /// The system's, as when the peer is gone; [`io::ErrorKind::InvalidInput`] when the message is too long.
    pub fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send_with(bytes, descriptors, SendFlags::NOSIGNAL)
    }

    /// Sends a message, but fails with [`io::ErrorKind::WouldBlock`] at once when the peer's queue is full.
    ///
    /// # Errors
    /// The same as for [`Socket::send`].
    pub fn try_send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send_with(bytes, descriptors, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }

    fn send_with(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
        if bytes.is_empty() || bytes.len() > MAX_MESSAGE || descriptors.len() > MAX_DESCRIPTORS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        loop {
            match sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, flags) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the next message. Returns none when the peer is gone and all of its messages were taken.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::InvalidData`] when the message is too long or has too many descriptors.
    pub fn receive(&self) -> io::Result<Option<Received>> {
        self.receive_with(RecvFlags::CMSG_CLOEXEC)
    }

    /// Receives the next message, or fails with [`io::ErrorKind::WouldBlock`] at once when there is none.
    ///
    /// # Errors
    /// The same as for [`Socket::receive`].
    pub fn try_receive(&self) -> io::Result<Option<Received>> {
        self.receive_with(RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT)
    }

    fn receive_with(&self, flags: RecvFlags) -> io::Result<Option<Received>> {
        let mut bytes = vec![0; MAX_MESSAGE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let message = loop {
            match recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags) {
                Ok(message) => break message,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            let what =
                "a message that is too long or has too many descriptors, or no more can be opened here";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if message.bytes == 0 {
            return Ok(None);
        }
        bytes.truncate(message.bytes);
        Ok(Some(Received { bytes, descriptors }))
    }

    /// Receives the bytes of the next message, or fails with [`io::ErrorKind::WouldBlock`] at once. Use it
    /// only on an end to which nobody can send descriptors (see [`Socket::refuses_descriptors`]): any that
    /// came would be closed here, which may block.
    ///
    /// # Errors
    /// The same as for [`Socket::receive`].
    pub fn try_receive_bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; MAX_MESSAGE];
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let (_, len) = loop {
            match recv(&self.0, bytes.as_mut_slice(), flags) {
                Ok(lengths) => break lengths,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        if len > MAX_MESSAGE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
        }
        bytes.truncate(len);
        Ok((len > 0).then_some(bytes))
    }

    /// Receives the bytes of the next message on an end to which anybody may send descriptors. A message that
    /// has some is left in the queue and nothing is closed; the call fails with
    /// [`io::ErrorKind::Unsupported`] each time.
    ///
    /// # Errors
    /// The same as for [`Socket::receive`].
    pub fn try_receive_plain(&self) -> io::Result<Option<Vec<u8>>> {
        self.peek_plain(&mut [0])?;
        // Nobody else takes messages from this end, so the next message is the one just peeked at.
        self.try_receive_bytes()
    }

    /// Peeks at the bytes that come next, as far as there is room, and returns how many there are. They can
    /// be received afterwards, also where the connection is a stream of bytes.
    ///
    /// # Errors
    /// The same as for [`Socket::try_receive_plain`].
    pub fn peek_plain(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        loop {
            // There is no room for descriptors, so the kernel reports any as cut off.
            let mut none = RecvAncillaryBuffer::default();
            match recvmsg(&self.0, &mut [IoSliceMut::new(bytes)], &mut none, flags) {
                Ok(seen) if seen.flags.contains(ReturnFlags::CTRUNC) => {
                    let what = "a message with descriptors, which nobody asked for";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, what));
                }
                Ok(seen) => return Ok(seen.bytes),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until a message is there or the peer is gone. Returns false when the limit passes first.
    ///
    /// # Errors
    /// The system's.
    pub fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_nanos()),
        });
        loop {
            match poll(&mut polled, limit.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns true when the peer is gone.
    pub fn is_closed(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::RDHUP;
        poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(gone)
    }

    /// Returns the identity of the process at the other end.
    ///
    /// # Errors
    /// The system's.
    pub fn peer(&self) -> io::Result<Credentials> {
        let found = sockopt::socket_peercred(&self.0)?;
        Ok(Credentials {
            pid: found.pid.as_raw_pid() as u32,
            uid: found.uid.as_raw(),
            gid: found.gid.as_raw(),
        })
    }

    /// Returns the inode number of this end, by which another process can recognize it.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::InvalidInput`] where the descriptor is no socket.
    pub fn inode(&self) -> io::Result<u64> {
        let found = rustix::fs::fstat(&self.0)?;
        let is_socket = rustix::fs::FileType::from_raw_mode(found.st_mode).is_socket();
        if is_socket { Ok(found.st_ino) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Makes another descriptor for the same end.
    ///
    /// # Errors
    /// Too many descriptors.
    pub fn duplicate(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> OwnedFd {
        socket.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapping, Memory};
    use std::sync::atomic::Ordering;

    #[test]
    fn messages_come_whole_with_their_descriptors() {
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        Mapping::shared(&memory).unwrap().words(0, 1).unwrap()[0].store(42, Ordering::Relaxed);
        here.send(b"one", &[memory.as_fd(), memory.as_fd()]).unwrap();
        here.send(b"two", &[]).unwrap();
        let first = there.receive().unwrap().unwrap();
        assert_eq!((first.bytes.as_slice(), first.descriptors.len()), (&b"one"[..], 2));
        let memory = Memory::received(first.descriptors.into_iter().next().unwrap()).unwrap();
        let words = Mapping::read_only(&memory).unwrap().words(0, 1).unwrap();
        assert_eq!(words[0].load(Ordering::Relaxed), 42);
        assert_eq!(there.receive().unwrap().unwrap().bytes, b"two");
        assert_eq!(there.try_receive().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(!there.is_closed() && !there.wait(Some(Duration::from_millis(1))).unwrap());
        drop(here);
        assert!(there.is_closed() && there.wait(None).unwrap());
        assert!(there.receive().unwrap().is_none());
        assert!(there.send(b"lost", &[]).is_err(), "an error, not a signal");
    }

    #[test]
    fn descriptors_of_strangers_are_not_opened() {
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        here.send(b"one", &[memory.as_fd()]).unwrap();
        assert_eq!(there.try_receive_bytes().unwrap().unwrap(), b"one");
        assert_eq!(there.try_receive_bytes().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        rustix::net::send(&here, &[1; MAX_MESSAGE + 1], SendFlags::empty()).unwrap();
        assert_eq!(there.try_receive_bytes().unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(here);
        assert!(there.try_receive_bytes().unwrap().is_none());
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let (here, _there) = pair().unwrap();
        let error = here.send(&[0; MAX_MESSAGE + 1], &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(here.send(&[], &[]).is_err(), "nothing would be read as the end");
    }
}

//! A worker's end of a grant's key socket, to which its client may send anything.
//!
//! There is nothing to fear if the kernel refuses descriptors that are sent here (the broker asks it to, from Linux
//! 6.16 on). On other kernels a message with descriptors is never received, and the broker holds this end once more, so
//! that to close it here closes nothing that is in its queue (see the broker's `key_ends.rs`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use millstream_protocol::{KeyReply, Message};
use millstream_shm::Socket;

/// One end, which never blocks: not when it is dropped, either.
pub(super) struct KeySocket {
    /// None when it is dropped only.
    socket: Option<Socket>,
    /// True when the kernel refuses descriptors.
    is_plain: bool,
}

impl KeySocket {
    pub(super) fn new(socket: Socket) -> Self {
        let is_plain = socket.refuses_descriptors();
        KeySocket { socket: Some(socket), is_plain }
    }

    fn socket(&self) -> &Socket {
        self.socket.as_ref().expect("a socket until it is dropped")
    }

    /// For another worker: the client does not notice.
    pub(super) fn into_socket(mut self) -> Socket {
        self.socket.take().expect("a socket until it is dropped")
    }

    /// The next request, if one is there; none at the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when none is there now; others when there can be no more.
    pub(super) fn try_receive(&self) -> io::Result<Option<Vec<u8>>> {
        if self.is_plain { self.socket().try_receive_bytes() } else { self.socket().try_receive_plain() }
    }

    /// Answers, if the client takes it.
    ///
    /// # Errors
    /// As of [`Socket::try_send`].
    pub(super) fn try_send(&self, reply: &KeyReply) -> io::Result<()> {
        self.socket().try_send(&reply.encode(), &[])
    }
}

impl AsFd for KeySocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl Drop for KeySocket {
    fn drop(&mut self) {
        // The client is to see the end now, though the broker holds the socket still.
        if let Some(socket) = self.socket.take().filter(|_| !self.is_plain) {
            socket.hang_up();
        }
    }
}

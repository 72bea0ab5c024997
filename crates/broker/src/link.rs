//! A connection whose other side may be slow or hostile. Messages that it does not take are kept until it
//! does, and descriptors that it sends are neither received nor closed here.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use millstream_protocol::{MAX_BYTES, Message};
use millstream_shm::{MAX_MESSAGE, Socket};
use zeroize::Zeroizing;

use crate::disposal::Disposal;

// Sockets take every message.
const _: () = assert!(MAX_BYTES <= MAX_MESSAGE);

/// A descriptor that is sent, and perhaps kept.
pub(crate) type Shared = Arc<dyn AsFd + Send + Sync>;

/// A message that was not taken yet.
struct Parcel {
    ticket: u64,
    bytes: Zeroizing<Vec<u8>>,
    descriptors: Vec<Shared>,
}

/// The guard of a connection to which descriptors can be sent because the kernel does not refuse them.
struct Guard {
    disposal: Disposal,
    /// The user at the other end.
    uid: Option<u32>,
}

/// One end of a connection, which never blocks, not even when it is dropped.
pub(crate) struct Link {
    /// None only while it is dropped.
    socket: Option<Socket>,
    kept: VecDeque<Parcel>,
    /// The number of messages so far.
    sent: u64,
    /// None where the kernel has refused descriptors that are sent here from the beginning.
    guard: Option<Guard>,
}

impl Link {
    /// Wraps the connection of a worker, or of a user.
    pub(crate) fn new(socket: Socket, disposal: &Disposal, uid: Option<u32>) -> Self {
        let guard = (!socket.refuses_descriptors()).then(|| Guard { disposal: disposal.clone(), uid });
        Link { socket: Some(socket), kept: VecDeque::new(), sent: 0, guard }
    }

    /// Returns true when descriptors may have been sent here.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Returns the socket.
    pub(crate) fn socket(&self) -> &Socket {
        self.socket.as_ref().expect("a socket until it is dropped")
    }

    /// Sends a message after those that were kept.
    ///
    /// # Errors
    /// The other side is gone, or can't be sent descriptors.
    pub(crate) fn send(&mut self, message: &impl Message, descriptors: Vec<Shared>) -> io::Result<()> {
        self.sent += 1;
        self.kept.push_back(Parcel { ticket: self.sent, bytes: message.encode(), descriptors });
        self.flush()
    }

    /// Sends kept messages, as far as they are taken.
    ///
    /// # Errors
    /// The same as for [`Link::send`].
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some(parcel) = self.kept.front() {
            let descriptors: Vec<BorrowedFd<'_>> =
                parcel.descriptors.iter().map(|descriptor| descriptor.as_fd()).collect();
            match self.socket().try_send(&parcel.bytes, &descriptors) {
                Ok(()) => {
                    self.kept.pop_front();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Forgets the message that could not be sent, if it is the only one. Returns false if there are others.
    pub(crate) fn take_back(&mut self) -> bool {
        self.kept.len() == 1 && self.kept.pop_front().is_some()
    }

    /// Returns the ticket of the last message.
    pub(crate) fn last(&self) -> u64 {
        self.sent
    }

    /// Takes back a message. Returns false when it was sent already.
    pub(crate) fn withdraw(&mut self, ticket: u64) -> bool {
        let at = self.kept.iter().position(|parcel| parcel.ticket == ticket);
        at.and_then(|at| self.kept.remove(at)).is_some()
    }

    /// Forgets the kept messages, which nobody will take.
    pub(crate) fn forget(&mut self) {
        self.kept.clear();
    }

    /// Returns true when everything was sent.
    pub(crate) fn is_clear(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns true when the other side has received everything, or is gone.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_clear() && self.socket().unread().is_ok_and(|bytes| bytes == 0)
    }

    /// Returns the next message's bytes, or none at the end of the connection.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is no message now; [`io::ErrorKind::Unsupported`] when it
    /// came with descriptors: it stays in the queue then, and no message after it is received.
    pub(crate) fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        match &self.guard {
            None => self.socket().try_receive_bytes(),
            Some(_) => self.socket().try_receive_plain(),
        }
    }
}

/// Reads what the other side has said and nobody will answer. Unread messages would make the end overtake
/// what it was told last.
fn drain(socket: &Socket) {
    const MOST: usize = 256;
    for _ in 0..MOST {
        if !matches!(socket.try_receive_bytes(), Ok(Some(_))) {
            return;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let Some(socket) = self.socket.take() else { return };
        match &self.guard {
            None => drain(&socket),
            Some(guard) => {
                if !socket.stop_receiving() {
                    // The peer is to see the end now, and not when the socket is closed at last.
                    socket.hang_up();
                    guard.disposal.take(socket.into(), guard.uid);
                }
            }
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

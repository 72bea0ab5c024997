//! A connection whose other side may be slow: what it does not take is kept until it does.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use millstream_protocol::Message;
use millstream_shm::Socket;
use zeroize::Zeroizing;

/// A descriptor that is sent, and perhaps kept.
pub(crate) type Shared = Arc<dyn AsFd + Send + Sync>;

/// A message that was not taken yet.
struct Parcel {
    bytes: Zeroizing<Vec<u8>>,
    descriptors: Vec<Shared>,
}

/// One end of a connection, which never blocks.
pub(crate) struct Link {
    socket: Socket,
    kept: VecDeque<Parcel>,
}

impl Link {
    pub(crate) fn new(socket: Socket) -> Self {
        Link { socket, kept: VecDeque::new() }
    }

    /// Sends a message after those that were kept.
    ///
    /// # Errors
    /// The other side is gone, or can't be sent descriptors.
    pub(crate) fn send(&mut self, message: &impl Message, descriptors: Vec<Shared>) -> io::Result<()> {
        self.kept.push_back(Parcel { bytes: message.encode(), descriptors });
        self.flush()
    }

    /// Sends what was kept, as far as it is taken.
    ///
    /// # Errors
    /// As for [`Link::send`].
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some(parcel) = self.kept.front() {
            let descriptors: Vec<BorrowedFd<'_>> =
                parcel.descriptors.iter().map(|descriptor| descriptor.as_fd()).collect();
            match self.socket.try_send(&parcel.bytes, &descriptors) {
                Ok(()) => {
                    self.kept.pop_front();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Forgets the message that could not be sent, where it is the only one; whether it is.
    pub(crate) fn take_back(&mut self) -> bool {
        self.kept.len() == 1 && self.kept.pop_front().is_some()
    }

    /// Whether the other side took everything.
    pub(crate) fn is_clear(&self) -> bool {
        self.kept.is_empty()
    }

    /// The next message's bytes, if one is there; without any at the end. Descriptors with it are not opened: to close
    /// what a stranger sent may block.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when none is there now.
    pub(crate) fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        self.socket.try_receive_bytes()
    }
}

/// Reads what the other side has said and nobody will answer: else the end would overtake what it was told last.
pub(crate) fn drain(socket: &Socket) {
    const MOST: usize = 256;
    for _ in 0..MOST {
        if !matches!(socket.try_receive_bytes(), Ok(Some(_))) {
            return;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        drain(&self.socket);
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

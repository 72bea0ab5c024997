//! Keeps descriptors that strangers send out of this process.
//!
//! Taking a message out of a socket's queue, or closing the socket, also closes the descriptors in the
//! message that the receiver does not open. Closing the last descriptor of a file may take as long as the
//! file's owner likes: a TCP socket with unsent data and `SO_LINGER` can hold up the closer for hours. So a
//! thread that serves others must neither receive such a message nor close a socket in whose queue one may
//! be.
//!
//! Since Linux 6.16 a receiver can ask the kernel to refuse such messages to their sender
//! ([`Socket::refuse_descriptors`]). On older kernels the receiver looks before it takes a message
//! ([`Socket::try_receive_plain`]), and empties the queue before it closes ([`Socket::stop_receiving`]). A
//! socket that can't be emptied must be closed by a thread that may block.
//!
//! # Safety
//! Both calls pass the address and the size of a local integer, which the kernel reads or writes before it returns.
#![allow(unsafe_code)]

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, Shutdown, recv, recvmsg, shutdown, sockopt};

use crate::listener::Listener;
use crate::socket::Socket;

/// The option's number on all processors that Millstream is built for. Neither libc nor rustix has it yet.
const SO_PASSRIGHTS: libc::c_int = 83;

/// The most messages that are taken from a socket before it is closed. A queue holds fewer.
const MOST_QUEUED: usize = 4096;

/// The kind of the first message in a queue.
enum First {
    Plain,
    Descriptors,
    Nothing,
}

fn set(socket: impl AsFd, value: libc::c_int) -> io::Result<()> {
    let bytes = size_of_val(&value) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until the call returns.
    let done = unsafe {
        libc::setsockopt(descriptor, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const value).cast(), bytes)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn get(socket: impl AsFd) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 1;
    let mut bytes = size_of_val(&value) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `bytes` bytes to `value`, and their number to `bytes`; both live until it returns.
    let done = unsafe {
        libc::getsockopt(descriptor, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw mut value).cast(), &raw mut bytes)
    };
    if done == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

impl Socket {
    /// Has the kernel refuse messages with descriptors that are sent to this end from now on. Their sender
    /// gets `EPERM`.
    ///
    /// # Errors
    /// Fails with `ENOPROTOOPT` on Linux before 6.16.
    pub fn refuse_descriptors(&self) -> io::Result<()> {
        set(self, 0)
    }

    /// Returns true when the kernel refuses them. An end that has refused them since it was made can't hold
    /// any.
    pub fn refuses_descriptors(&self) -> bool {
        get(self).is_ok_and(|passes| passes == 0)
    }

    /// Lets no more messages in and takes out what is there. Returns true when nothing is left, so that
    /// closing this end can't block. A message with descriptors stays, and so does everything behind it.
    ///
    /// A peer of an emptied socket still reads what it was sent last before it sees the end of the
    /// connection.
    pub fn stop_receiving(&self) -> bool {
        // The peer may be gone already, which is as good.
        let _ = shutdown(self, Shutdown::Read);
        // Each message carries its sender's credentials from here on, which tells an empty message from the
        // end.
        if sockopt::set_socket_passcred(self, true).is_err() {
            return false;
        }
        for _ in 0..MOST_QUEUED {
            match self.first() {
                First::Plain => drop(recv(self, &mut [0; 1], RecvFlags::DONTWAIT)),
                First::Nothing => return true,
                First::Descriptors => return false,
            }
        }
        false
    }

    /// Peeks at the first message in the queue of an end that receives no more and is told who sends.
    fn first(&self) -> First {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut sender = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        match recvmsg(self, &mut [IoSliceMut::new(&mut [0])], &mut sender, flags) {
            Ok(seen) if seen.flags.contains(ReturnFlags::CTRUNC) => First::Descriptors,
            Ok(_) if sender.drain().next().is_some() => First::Plain,
            Ok(_) => First::Nothing,
            // The peer has left unread what was sent to it, and the kernel says so once. The next look finds
            // what the peer sent.
            Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::INTR) => self.first(),
            Err(_) => First::Descriptors,
        }
    }

    /// Ends the connection in both directions, even though others may hold a descriptor of this end.
    pub fn hang_up(&self) {
        // The call fails when the peer is gone, who need not be told.
        let _ = shutdown(self, Shutdown::Both);
    }
}

impl Listener {
    /// Has the kernel refuse messages with descriptors from all clients that connect from now on, as
    /// [`Socket::refuse_descriptors`] does.
    ///
    /// # Errors
    /// The same as for [`Socket::refuse_descriptors`].
    pub fn refuse_descriptors(&self) -> io::Result<()> {
        set(self, 0)
    }

    /// Returns true when the kernel refuses them.
    pub fn refuses_descriptors(&self) -> bool {
        get(self).is_ok_and(|passes| passes == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, pair};

    #[test]
    fn the_kernel_refuses_descriptors_in_one_direction_only() {
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        if let Err(error) = here.refuse_descriptors() {
            assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
            println!("SKIPPED refusing descriptors: the kernel is older than 6.16");
            return;
        }
        assert!(here.refuses_descriptors() && !there.refuses_descriptors());
        assert_eq!(there.send(b"no", &[memory.as_fd()]).unwrap_err().raw_os_error(), Some(libc::EPERM));
        there.send(b"plain", &[]).unwrap();
        here.send(b"back", &[memory.as_fd()]).unwrap();
        assert_eq!(here.try_receive_plain().unwrap().unwrap(), b"plain");
        assert_eq!(there.receive().unwrap().unwrap().descriptors.len(), 1);
    }

    #[test]
    fn who_connects_to_a_listener_that_refuses_them_is_refused_too() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("socket");
        let listener = Listener::bind(&place).unwrap();
        if listener.refuse_descriptors().is_err() {
            println!("SKIPPED refusing descriptors: the kernel is older than 6.16");
            return;
        }
        let client = Socket::connect(&place).unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        // The connection has not been accepted yet.
        assert!(client.send(b"no", &[memory.as_fd()]).is_err());
        let accepted = listener.accept().unwrap();
        assert!(listener.refuses_descriptors() && accepted.refuses_descriptors());
    }

    #[test]
    fn a_message_with_descriptors_is_seen_and_stays_where_it_is() {
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        here.send(b"one", &[]).unwrap();
        here.send(b"two", &[memory.as_fd()]).unwrap();
        assert_eq!(there.try_receive_plain().unwrap().unwrap(), b"one");
        for _ in 0..3 {
            assert_eq!(there.try_receive_plain().unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
        assert!(!there.stop_receiving(), "it is still there");
        assert!(here.send(b"three", &[]).is_err(), "and nothing comes after it");
        assert_eq!(there.receive().unwrap().unwrap().descriptors.len(), 1);
        assert!(there.stop_receiving());
    }

    /// An empty message looks like the end of the connection, and must not hide what is behind it.
    #[test]
    fn messages_without_bytes_hide_none_with_descriptors() {
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        rustix::net::send(&here, &[], rustix::net::SendFlags::empty()).unwrap();
        here.send(b"one", &[memory.as_fd()]).unwrap();
        assert!(!there.stop_receiving());
        let (here, there) = pair().unwrap();
        rustix::net::send(&here, &[], rustix::net::SendFlags::empty()).unwrap();
        rustix::net::send(&here, &[], rustix::net::SendFlags::empty()).unwrap();
        drop(here);
        assert!(there.stop_receiving());
    }

    #[test]
    fn a_peer_that_is_gone_may_have_left_descriptors() {
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        there.send(b"unread", &[]).unwrap();
        here.send(b"one", &[memory.as_fd()]).unwrap();
        drop(here);
        assert!(!there.stop_receiving(), "whatever error is told first");
    }

    #[test]
    fn what_is_plain_is_taken_before_the_end() {
        let (here, there) = pair().unwrap();
        for _ in 0..5 {
            here.send(b"unread", &[]).unwrap();
        }
        there.send(b"last words", &[]).unwrap();
        assert!(there.stop_receiving());
        drop(there);
        assert_eq!(here.receive().unwrap().unwrap().bytes, b"last words");
        assert!(here.receive().unwrap().is_none());
    }
}

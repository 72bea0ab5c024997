//! The amount of sent data that the other end of a connection has not taken yet.
//!
//! # Safety
//! The call passes the address of a local integer, which the kernel writes before it returns.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::socket::Socket;

impl Socket {
    /// Returns how much memory the messages take that this end sent and the other has not received: zero when
    /// it has received them all, or is gone. Nobody holds the descriptors in such messages, but the system
    /// still counts them for the user who sent them, even after this end is closed.
    ///
    /// # Errors
    /// The system's.
    pub fn unread(&self) -> io::Result<usize> {
        let mut bytes: libc::c_int = 0;
        let descriptor = self.as_fd().as_raw_fd();
        // SAFETY: the kernel writes one integer to `bytes`, which lives until the call returns. TIOCOUTQ is
        // another name of SIOCOUTQ.
        let done = unsafe { libc::ioctl(descriptor, libc::TIOCOUTQ, &raw mut bytes) };
        if done == 0 { Ok(usize::try_from(bytes).unwrap_or(0)) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Memory, pair};

    #[test]
    fn what_was_sent_is_unread_until_it_is_received() {
        use std::os::fd::AsFd;
        let (here, there) = pair().unwrap();
        let memory = Memory::new("test", 4096).unwrap();
        assert_eq!(here.unread().unwrap(), 0);
        here.send(b"one", &[memory.as_fd()]).unwrap();
        here.send(b"two", &[]).unwrap();
        there.send(b"another direction", &[]).unwrap();
        let all = here.unread().unwrap();
        assert_eq!(there.receive().unwrap().unwrap().bytes, b"one");
        let rest = here.unread().unwrap();
        assert!(0 < rest && rest < all, "{rest} of {all}");
        assert_eq!(there.receive().unwrap().unwrap().bytes, b"two");
        assert_eq!(here.unread().unwrap(), 0);
    }

    #[test]
    fn only_the_other_end_s_end_makes_it_go_away() {
        let (here, there) = pair().unwrap();
        here.send(b"one", &[]).unwrap();
        here.hang_up();
        assert!(here.unread().unwrap() > 0);
        drop(there);
        assert_eq!(here.unread().unwrap(), 0);
    }
}

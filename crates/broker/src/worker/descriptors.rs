//! The descriptors that a worker begins with: one socket, and where its messages go.
//!
//! # Safety
//! A worker owns all descriptors that it inherits; nothing else of this process has been made to use them yet.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use millstream_shm::Socket;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;

/// Takes the control socket, which must be one.
pub(super) fn control(number: RawFd) -> io::Result<Socket> {
    // SAFETY: a descriptor that is not open is only named, never kept: see the file's head.
    let named = unsafe { BorrowedFd::borrow_raw(number.max(0)) };
    if socket_type(named)? != SocketType::SEQPACKET {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Above those with a meaning, where a message to the terminal can't be sent to it.
    let socket = fcntl_dupfd_cloexec(named, 3)?;
    Ok(Socket::received(socket))
}

/// Closes all but the control socket and standard error. Where the others were is nothing that can be read or written
/// to much effect, so that what comes later is not taken for standard input or output.
pub(super) fn close_others(control: &Socket) -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for standard in [0, 1] {
        // SAFETY: both are open, or are not and will be.
        if unsafe { libc::dup2(null.as_raw_fd(), standard) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    drop(null);
    let keep = control.as_fd().as_raw_fd();
    close_range(3, keep - 1)?;
    close_range(keep + 1, RawFd::MAX)
}

fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: see the file's head.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the allocator and the standard library ask now for what they will need, so that they need no files later: the C
/// library reads some when it makes a heap for another thread smaller, so there is one heap for both.
pub(super) fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: there is one thread, and the number is one of its parameters.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    // The page size is cached once it was found.
    let _ = rustix::param::page_size();
}

//! A descriptor that takes long to close: whoever closes its last copy waits.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use millstream_shm::Socket;
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size};

/// The time that closing it takes when nobody interrupts.
pub const LINGER: Duration = Duration::from_secs(30);
/// The most that a bystander may have to wait meanwhile: much longer than it should, and much shorter than
/// [`LINGER`].
pub const PROMPT: Duration = Duration::from_secs(8);

/// Sends a message with a TCP socket whose other end does not read, and keeps no descriptor of it. Returns
/// that other end, which the caller must keep.
pub fn send(to: &Socket, bytes: &[u8]) -> io::Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    set_socket_recv_buffer_size(&listener, 4096)?;
    let mut stream = TcpStream::connect(listener.local_addr()?)?;
    let deaf = listener.accept()?.0;
    set_socket_send_buffer_size(&stream, 4096)?;
    stream.set_nonblocking(true)?;
    while stream.write(&[0; 4096]).is_ok() {}
    set_socket_linger(&stream, Some(LINGER))?;
    match to.try_send(bytes, &[stream.as_fd()]) {
        Ok(()) => Ok(deaf),
        Err(error) => {
            // Dropping the stream here would linger otherwise.
            set_socket_linger(&stream, None)?;
            Err(error)
        }
    }
}

/// Returns whether the kernel refuses descriptors when it is asked to.
pub fn kernel_can_refuse() -> bool {
    millstream_shm::pair().unwrap().0.refuse_descriptors().is_ok()
}

//! A descriptor that takes long to close: whoever closes its last one waits.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use millstream_shm::Socket;
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size, set_socket_send_buffer_size};

/// How long to close it takes, where nobody does anything about it.
pub const LINGER: Duration = Duration::from_secs(30);
/// How long a bystander may have to wait meanwhile: much longer than it should, and much shorter than that.
pub const PROMPT: Duration = Duration::from_secs(8);

/// Sends a message with a TCP socket whose other end does not read, and keeps no descriptor of it. Returns that other end,
/// which is to be kept.
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
            // Else it would be closed here, and linger.
            set_socket_linger(&stream, None)?;
            Err(error)
        }
    }
}

/// Whether the kernel refuses descriptors where it is asked to.
pub fn kernel_can_refuse() -> bool {
    millstream_shm::pair().unwrap().0.refuse_descriptors().is_ok()
}

//! The address of the metrics: a port, or a socket in the file system.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

use millstream_shm::Socket;
use rustix::net::{RecvFlags, sockopt};

use crate::disposal::Disposal;
use crate::link::Link;

/// The mode of a socket in the file system: its user and its group may connect. The directory can keep out
/// more.
const MODE: u32 = 0o660;

/// The address at which metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsAddress {
    /// A port.
    Tcp(SocketAddr),
    /// A socket in the file system, with mode 0660: the service's user and group can connect.
    Unix(PathBuf),
}

impl FromStr for MetricsAddress {
    type Err = String;

    /// Parses `ADDRESS:PORT`, or `unix:PATH`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(MetricsAddress::Unix(path.into())),
            _ => text
                .parse()
                .map(MetricsAddress::Tcp)
                .map_err(|_| "an address with its port, as in 127.0.0.1:9464, or unix:PATH".to_owned()),
        }
    }
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricsAddress::Tcp(address) => address.fmt(f),
            MetricsAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listener that never blocks.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// A connection that must not be closed on a serving thread goes to the disposal.
    Unix(UnixListener, Disposal),
}

impl Listener {
    pub fn accept(&self) -> io::Result<Stream> {
        let stream = match self {
            Listener::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
            Listener::Unix(_, disposal) if disposal.is_full() => {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            Listener::Unix(listener, disposal) => {
                let socket = Socket::received(listener.accept()?.0.into());
                // Without this, a byte that is sent out of band, and descriptors that came along, would be
                // taken unseen.
                sockopt::set_socket_oobinline(&socket, true)?;
                Stream::Unix(Link::new(socket, disposal, None))
            }
        };
        rustix::io::ioctl_fionbio(&stream, true)?;
        Ok(stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }
}

/// A connection that never blocks.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(Link),
}

impl Stream {
    /// Returns the address that the connection came to, or none where browsers can't connect.
    pub fn local(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(stream) => stream.local_addr().ok().map(|address| address.ip().to_canonical()),
            Stream::Unix(_) => None,
        }
    }

    /// Reads some bytes; none at the end of the connection.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]; [`io::ErrorKind::Unsupported`] where descriptors come with them.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = match self {
            Stream::Unix(link) if link.is_guarded() => link.socket().peek_plain(bytes)?,
            _ => bytes.len(),
        };
        Ok(rustix::net::recv(self, &mut bytes[..len], RecvFlags::DONTWAIT)?.0)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(link) => link.as_fd(),
        }
    }
}

/// Listens at an address. A socket that was bound in the file system is removed when the second value is
/// dropped.
pub(super) fn bind(
    address: &MetricsAddress,
    refuse: bool,
) -> io::Result<(Listener, Option<millstream_shm::Listener>)> {
    Ok(match address {
        MetricsAddress::Tcp(address) => {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            (Listener::Tcp(listener), None)
        }
        MetricsAddress::Unix(path) => {
            let bound = millstream_shm::Listener::bind_stream_with_mode(path, MODE)?;
            if refuse {
                // On kernels that can't, each connection is guarded.
                let _ = bound.refuse_descriptors();
            }
            let listener = UnixListener::from(bound.as_fd().try_clone_to_owned()?);
            listener.set_nonblocking(true)?;
            (Listener::Unix(listener, Disposal::default()), Some(bound))
        }
    })
}

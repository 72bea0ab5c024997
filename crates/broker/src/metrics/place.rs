//! Where metrics are served: a port, or a socket in the file system.

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

/// Who may connect to a socket in the file system: its user and its group. Who else is kept out is the directory's affair.
const MODE: u32 = 0o660;

/// Where metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsAddress {
    /// A port.
    Tcp(SocketAddr),
    /// A socket in the file system, with mode 0660: the service's user and group can connect.
    Unix(PathBuf),
}

impl FromStr for MetricsAddress {
    type Err = String;

    /// `ADDRESS:PORT`, or `unix:PATH`.
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

/// Where connections come from. It never waits.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// What was connected here and is not to be closed in the way of others goes there.
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
                // Else a byte that is sent out of turn is taken, with what came along, without a look at it.
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

/// A connection. It never waits.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(Link),
}

impl Stream {
    /// The address by which it came here. None where browsers can't come from.
    pub fn local(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(stream) => stream.local_addr().ok().map(|address| address.ip().to_canonical()),
            Stream::Unix(_) => None,
        }
    }

    /// Reads some bytes; none at the end.
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

/// Listens. What was bound in the file system, if anything, is taken away when it is dropped.
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
                // Where the kernel can't, each connection is guarded.
                let _ = bound.refuse_descriptors();
            }
            let listener = UnixListener::from(bound.as_fd().try_clone_to_owned()?);
            listener.set_nonblocking(true)?;
            (Listener::Unix(listener, Disposal::default()), Some(bound))
        }
    })
}

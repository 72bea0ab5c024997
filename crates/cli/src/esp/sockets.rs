//! The outer sockets: ESP in UDP, and ESP itself where this process may have a raw socket.
//!
//! Ref. RFC 3948 §2 (marker, keep-alive), §3.2 (port 4500).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, bind, socket_with, sockopt};

/// The local end of packets: an address, and a port if they go in UDP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Local {
    pub(super) address: IpAddr,
    pub(super) port: Option<u16>,
}

/// An outer socket.
pub(super) struct Socket {
    descriptor: OwnedFd,
    local: Local,
}

/// A packet that has arrived.
pub(super) struct Arrived {
    /// The place of its first byte behind the outer headers, in what was read.
    pub(super) start: usize,
    /// Bytes from there on.
    pub(super) len: usize,
    /// The traffic class of the outer header.
    pub(super) class: u8,
    /// The sender.
    pub(super) from: Option<SocketAddr>,
}

/// The number of ESP among the protocols of IP.
const ESP: Protocol = Protocol::from_raw(std::num::NonZeroU32::new(50).unwrap());

/// Bytes that the kernel may keep for a socket. It gives as many as its limit allows.
const KEPT: usize = 4 << 20;

impl Socket {
    /// Opens a socket.
    ///
    /// # Errors
    /// The system's: the address is not this machine's, the port is taken, or raw sockets are not allowed.
    pub(super) fn open(local: Local) -> io::Result<Self> {
        let descriptor = match local.port {
            Some(port) => OwnedFd::from(UdpSocket::bind((local.address, port))?),
            None => {
                let family = if local.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let raw = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(ESP))?;
                bind(&raw, &SocketAddr::new(local.address, 0))?;
                raw
            }
        };
        if local.address.is_ipv4() {
            sockopt::set_ip_recvtos(&descriptor, true)?;
        } else {
            sockopt::set_ipv6_recvtclass(&descriptor, true)?;
        }
        // Bursts that a worker is busy with wait in the kernel.
        let _ = sockopt::set_socket_recv_buffer_size(&descriptor, KEPT);
        let _ = sockopt::set_socket_send_buffer_size(&descriptor, KEPT);
        Ok(Socket { descriptor, local })
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn wait(&self) -> io::Result<()> {
        super::tun::wait(self.descriptor.as_fd())
    }

    /// Reads a packet; none if there is none now. A packet that is longer than the room is cut, and fails to be authentic.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn receive(&self, room: &mut [u8]) -> io::Result<Option<Arrived>> {
        let mut control = cmsg_space!(u8, i32);
        let mut parts = [IoSliceMut::new(room)];
        let received = recvmsg::<SockaddrStorage>(
            self.descriptor.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::MSG_DONTWAIT,
        );
        use nix::errno::Errno;
        let received = match received {
            Ok(received) => received,
            // A peer's "port unreachable" is told once, and concerns no packet that comes.
            Err(
                Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH,
            ) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let len = received.bytes;
        let from = received.address.and_then(|address| socket_address(&address));
        let mut class = 0;
        for message in received.cmsgs().into_iter().flatten() {
            match message {
                ControlMessageOwned::Ipv4Tos(tos) => class = tos,
                ControlMessageOwned::Ipv6TClass(tos) => class = tos as u8,
                _ => {}
            }
        }
        // A raw socket of IPv4 gives the outer header, too.
        let is_raw_v4 = self.local.port.is_none() && self.local.address.is_ipv4();
        let start = if is_raw_v4 { usize::from(room.first().copied().unwrap_or(0) & 15) * 4 } else { 0 };
        let start = start.min(len);
        Ok(Some(Arrived { start, len: len - start, class, from }))
    }

    /// Sends a packet with this traffic class.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn send(&self, packet: &[u8], class: u8, to: SocketAddr) -> io::Result<()> {
        let wide = i32::from(class);
        let class =
            if to.is_ipv4() { ControlMessage::Ipv4Tos(&class) } else { ControlMessage::Ipv6TClass(&wide) };
        let to = SockaddrStorage::from(to);
        sendmsg(
            self.descriptor.as_raw_fd(),
            &[IoSlice::new(packet)],
            &[class],
            MsgFlags::empty(),
            Some(&to),
        )?;
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

/// Returns true if the address is one of this machine's.
pub(super) fn is_local(address: IpAddr) -> bool {
    !address.is_unspecified() && UdpSocket::bind((address, 0)).is_ok()
}

//! The outer sockets: ESP in UDP, and ESP itself where this process may have a raw socket.
//!
//! Packets of one length to one peer go to the kernel in one call, which divides them (`UDP_SEGMENT`), and such packets come in one, too
//! (`UDP_GRO`).
//!
//! Ref. RFC 3948 §2 (marker, keep-alive), §3.2 (port 4500).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt as options,
};
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
    /// True while the kernel divides what is sent.
    divides: AtomicBool,
}

/// A packet that has arrived.
pub(super) struct Arrived {
    /// The place of its first byte behind the outer headers, in what was read.
    pub(super) start: usize,
    /// Bytes from there on.
    pub(super) len: usize,
    /// Bytes of each packet where these are several, of which the last one may be shorter.
    pub(super) each: usize,
    /// The traffic class of the outer header.
    pub(super) class: u8,
    /// The sender.
    pub(super) from: Option<SocketAddr>,
}

/// The number of ESP among the protocols of IP.
const ESP: Protocol = Protocol::from_raw(std::num::NonZeroU32::new(50).unwrap());

/// Bytes that the kernel may keep for a socket. It gives as many as its limit allows.
const KEPT: usize = 4 << 20;

/// The packets of one call: Linux takes 64 since it divides at all.
const MOST_PACKETS: usize = 64;

/// The bytes of one call: a packet of IP has 65535 with its headers.
const MOST_BYTES: usize = 65_000;

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
        if local.port.is_some() {
            // Linux before 5.0 gives them one by one.
            let _ = setsockopt(&descriptor, options::UdpGroSegment, &true);
        }
        Ok(Socket { descriptor, local, divides: AtomicBool::new(local.port.is_some()) })
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn wait(&self) -> io::Result<()> {
        super::tun::wait(self.descriptor.as_fd())
    }

    /// Reads a packet, or several of one length from one peer; none if there is none now. A packet that is longer than the room is cut, and
    /// fails to be authentic.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn receive(&self, room: &mut [u8]) -> io::Result<Option<Arrived>> {
        let mut control = cmsg_space!(u8, i32, i32);
        let mut parts = [IoSliceMut::new(room)];
        let received = recvmsg::<SockaddrStorage>(
            self.descriptor.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::MSG_DONTWAIT,
        );
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
        let (mut class, mut each) = (0, len);
        for message in received.cmsgs().into_iter().flatten() {
            match message {
                ControlMessageOwned::Ipv4Tos(tos) => class = tos,
                ControlMessageOwned::Ipv6TClass(tos) => class = tos as u8,
                ControlMessageOwned::UdpGroSegments(bytes) => each = usize::try_from(bytes).unwrap_or(len),
                _ => {}
            }
        }
        // A raw socket of IPv4 gives the outer header, too.
        let is_raw_v4 = self.local.port.is_none() && self.local.address.is_ipv4();
        let start = if is_raw_v4 { usize::from(room.first().copied().unwrap_or(0) & 15) * 4 } else { 0 };
        let start = start.min(len);
        let len = len - start;
        Ok(Some(Arrived { start, len, each: each.clamp(1, len.max(1)), class, from }))
    }

    /// Sends packets with this traffic class, in as few calls as possible, and returns how many of them the kernel did not take.
    pub(super) fn send(&self, packets: &[&[u8]], class: u8, to: SocketAddr) -> usize {
        let (mut refused, mut rest) = (0, packets);
        while !rest.is_empty() {
            let (run, others) = rest.split_at(self.run(rest));
            rest = others;
            let sent = match run {
                [_] => self.call(run, class, to),
                _ => self.call(run, class, to).or_else(|error| {
                    // The path or the device does not take packets that are to be divided, and most often never will.
                    if error != Errno::EMSGSIZE {
                        self.divides.store(false, Ordering::Relaxed);
                    }
                    let failed = |packet| self.call(std::slice::from_ref(packet), class, to).is_err();
                    refused += run.iter().filter(|packet| failed(*packet)).count();
                    Ok(())
                }),
            };
            refused += usize::from(sent.is_err());
        }
        refused
    }

    /// Returns how many of the packets one call can send: those of one length, and a shorter one behind them.
    fn run(&self, packets: &[&[u8]]) -> usize {
        let len = packets[0].len();
        let most = if self.divides.load(Ordering::Relaxed) && len > 0 {
            MOST_PACKETS.min(MOST_BYTES / len).clamp(1, packets.len())
        } else {
            1
        };
        let equal = packets[..most].iter().take_while(|packet| packet.len() == len).count();
        let shorter = packets[..most].get(equal).is_some_and(|packet| (1..len).contains(&packet.len()));
        equal + usize::from(shorter)
    }

    fn call(&self, packets: &[&[u8]], class: u8, to: SocketAddr) -> nix::Result<()> {
        let (wide, each) = (i32::from(class), packets[0].len() as u16);
        let class =
            if to.is_ipv4() { ControlMessage::Ipv4Tos(&class) } else { ControlMessage::Ipv6TClass(&wide) };
        let control = [class, ControlMessage::UdpGsoSegments(&each)];
        let control = if packets.len() > 1 { &control[..] } else { &control[..1] };
        let parts: Vec<_> = packets.iter().map(|packet| IoSlice::new(packet)).collect();
        let to = SockaddrStorage::from(to);
        sendmsg(self.descriptor.as_raw_fd(), &parts, control, MsgFlags::empty(), Some(&to)).map(|_| ())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of this machine.
    fn ends() -> [(Socket, SocketAddr); 2] {
        [0; 2].map(|_| {
            // A free port, which the second socket takes over.
            let free = UdpSocket::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
            let socket = Socket::open(Local { address: free.ip(), port: Some(free.port()) }).unwrap();
            (socket, free)
        })
    }

    /// Receives packets until there are so many, and returns how many calls that took.
    fn received(socket: &Socket, count: usize) -> (Vec<Vec<u8>>, usize) {
        let (mut packets, mut calls) = (Vec::new(), 0);
        let mut room = vec![0; 65_536];
        while packets.len() < count {
            let Some(arrived) = socket.receive(&mut room).unwrap() else {
                socket.wait().unwrap();
                continue;
            };
            calls += 1;
            assert_eq!(arrived.class, 0x12);
            let data = &room[arrived.start..arrived.start + arrived.len];
            packets.extend(data.chunks(arrived.each).map(<[u8]>::to_vec));
        }
        (packets, calls)
    }

    #[test]
    fn packets_of_one_length_go_together_and_arrive_one_by_one() {
        let [(sender, _), (receiver, to)] = ends();
        // Runs with and without a shorter end, single packets, and more than one call takes.
        let lens =
            [vec![100; 5], vec![7], vec![200; 3], vec![1, 900], vec![1200; 130], vec![3000; 40]].concat();
        let packets: Vec<Vec<u8>> = lens
            .iter()
            .enumerate()
            .map(|(i, len)| (0..*len).map(|at| (at + 7 * i) as u8).collect())
            .collect();
        let all: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        for divides in [true, false] {
            sender.divides.store(divides, Ordering::Relaxed);
            for some in all.chunks(70) {
                assert_eq!(sender.send(some, 0x12, to), 0);
                let (got, calls) = received(&receiver, some.len());
                assert!(got == some, "divided: {divides}");
                assert!(divides || calls == some.len());
            }
        }
    }

    #[test]
    fn what_the_kernel_does_not_take_is_counted() {
        let [(sender, to), _] = ends();
        let (fits, long) = (vec![1; 100], vec![2; 65_530]);
        assert_eq!(sender.send(&[&fits, &long, &fits, &fits], 0, to), 1);
    }
}

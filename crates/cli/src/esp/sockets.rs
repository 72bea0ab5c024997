//! The outer sockets: ESP in UDP, and ESP itself where this process may have a raw socket.
//!
//! Packets of one length to one peer go to the kernel in one call, which divides them (`UDP_SEGMENT`), and such packets come in one, too
//! (`UDP_GRO`). Where they come one by one, as in raw sockets, many are read in one call (`recvmmsg`).
//!
//! Ref. RFC 3948 §2 (marker, keep-alive), §3.2 (port 4500).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{SO_EE_ORIGIN_ICMP, SO_EE_ORIGIN_ICMP6, sock_extended_err, sockaddr_in6};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg, recvmsg,
    sendmsg, setsockopt, sockopt as options,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
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
    is_over: AtomicBool,
    /// An event that can be read when nobody is to wait for packets any more.
    over: OwnedFd,
}

/// A packet that has arrived, or several that came as one.
pub(super) struct Arrived {
    /// Bytes of each packet where these are several, of which the last one may be shorter.
    pub(super) each: usize,
    /// The traffic class of the outer header.
    pub(super) class: u8,
    /// The sender.
    pub(super) from: Option<SocketAddr>,
}

/// Room for what is read in one call.
pub(super) struct Inbox {
    rooms: Vec<Box<[u8]>>,
    /// The number of packets to ask for.
    next: usize,
}

impl Inbox {
    /// Makes one.
    pub(super) fn new() -> Self {
        Inbox { rooms: Vec::new(), next: 1 }
    }
}

/// The longest packet of a socket.
const LONGEST: usize = 65_536;

/// A router's message that a packet was too big: "fragmentation needed" of ICMP, or "packet too big" of ICMPv6.
pub(super) struct TooBig {
    /// The address to which the packet was sent.
    pub(super) peer: IpAddr,
    /// The MTU that the message has.
    pub(super) mtu: usize,
    /// The beginning of the packet that the message quotes, behind its outer headers.
    pub(super) quoted: Vec<u8>,
}

/// The number of ESP among the protocols of IP.
const ESP: Protocol = Protocol::from_raw(std::num::NonZeroU32::new(50).unwrap());

/// Bytes that the kernel may keep for a socket. It gives as many as its limit allows.
const KEPT: usize = 4 << 20;

/// The packets of one call: Linux takes 64 since it divides at all.
const MOST_PACKETS: usize = 64;

/// The bytes of a quoted packet that count: SPI and number.
const QUOTED: usize = 8;

/// The bytes of one call: a packet of IP has 65535 with its headers.
pub(super) const MOST_BYTES: usize = 65_000;

impl Socket {
    /// Opens a socket. With `hears_icmp` routers may not cut outer packets, and what they say comes by [`Socket::too_big`]; without
    /// it routers may cut, and nothing that they say counts.
    ///
    /// # Errors
    /// The system's: the address is not this machine's, the port is taken, or raw sockets are not allowed.
    pub(super) fn open(local: Local, hears_icmp: bool) -> io::Result<Self> {
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
            let discovery = if hears_icmp { Ipv4PathMtuDiscovery::WANT } else { Ipv4PathMtuDiscovery::OMIT };
            sockopt::set_ip_mtu_discover(&descriptor, discovery)?;
            setsockopt(&descriptor, options::Ipv4RecvErr, &hears_icmp)?;
        } else {
            sockopt::set_ipv6_recvtclass(&descriptor, true)?;
            let discovery = if hears_icmp { Ipv6PathMtuDiscovery::WANT } else { Ipv6PathMtuDiscovery::OMIT };
            sockopt::set_ipv6_mtu_discover(&descriptor, discovery)?;
            setsockopt(&descriptor, options::Ipv6RecvErr, &hears_icmp)?;
        }
        // Bursts that a worker is busy with wait in the kernel.
        let _ = sockopt::set_socket_recv_buffer_size(&descriptor, KEPT);
        let _ = sockopt::set_socket_send_buffer_size(&descriptor, KEPT);
        if local.port.is_some() {
            // Linux before 5.0 gives them one by one.
            let _ = setsockopt(&descriptor, options::UdpGroSegment, &true);
        }
        let over = eventfd(0, EventfdFlags::CLOEXEC)?;
        let (divides, is_over) = (AtomicBool::new(local.port.is_some()), AtomicBool::new(false));
        Ok(Socket { descriptor, local, divides, is_over, over })
    }

    /// Has whoever waits for packets wait no longer, now and later.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The first number always fits.
        let _ = rustix::io::write(&self.over, &1u64.to_ne_bytes());
    }

    /// Returns true after [`Socket::end`].
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits for a packet or the end, and returns true if there is something for [`Socket::too_big`].
    ///
    /// # Errors
    /// The system's.
    pub(super) fn wait(&self) -> io::Result<bool> {
        super::tun::wait([self.descriptor.as_fd(), self.over.as_fd()])
    }

    /// Reads packets, gives each to `take`, or several of one length from one peer at once, and returns how many there were, these counted
    /// as one. Asks for more the next time if there were as many as were asked for. A packet that is longer than the room is cut, and fails to
    /// be authentic.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn receive(
        &self,
        inbox: &mut Inbox,
        mut take: impl FnMut(&[u8], &Arrived),
    ) -> io::Result<usize> {
        let asked = inbox.next;
        while inbox.rooms.len() < asked {
            inbox.rooms.push(vec![0; LONGEST].into());
        }
        // The kernel writes lengths into the headers, so those of the last call are of no use.
        let mut headers = MultiHeaders::preallocate(asked, Some(cmsg_space!(u8, i32, i32)));
        let mut parts: Vec<_> = inbox.rooms[..asked].iter_mut().map(|room| [IoSliceMut::new(room)]).collect();
        let descriptor = self.descriptor.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let received = match recvmmsg(descriptor, &mut headers, parts.iter_mut(), flags, None) {
            Ok(received) => received,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(0),
            // Such an error concerns no packet that comes.
            Err(error) if is_told_once(error) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let (mut count, mut gathered) = (0, false);
        for message in received {
            count += 1;
            let room = message.iovs().next().unwrap_or_default();
            let (start, arrived) = self.describe(&message, room);
            gathered |= arrived.each < room.len() - start;
            take(&room[start..], &arrived);
        }
        inbox.next = match count == asked && !gathered {
            true => (2 * asked).min(MOST_PACKETS),
            false => count.max(1),
        };
        Ok(count)
    }

    /// Returns where a packet begins behind its outer headers, and what was said of it.
    fn describe(&self, message: &RecvMsg<'_, '_, SockaddrStorage>, room: &[u8]) -> (usize, Arrived) {
        let from = message.address.and_then(|address| socket_address(&address));
        let (mut class, mut each) = (0, room.len());
        for message in message.cmsgs().into_iter().flatten() {
            match message {
                ControlMessageOwned::Ipv4Tos(tos) => class = tos,
                ControlMessageOwned::Ipv6TClass(tos) => class = tos as u8,
                ControlMessageOwned::UdpGroSegments(bytes) => each = usize::try_from(bytes).unwrap_or(each),
                _ => {}
            }
        }
        // A raw socket of IPv4 gives the outer header, too.
        let is_raw_v4 = self.local.port.is_none() && self.local.address.is_ipv4();
        let start = if is_raw_v4 { usize::from(room.first().copied().unwrap_or(0) & 15) * 4 } else { 0 };
        let start = start.min(room.len());
        (start, Arrived { each: each.clamp(1, (room.len() - start).max(1)), class, from })
    }

    /// Takes what routers have said about packets that were too big. Other errors that came by ICMP are taken, too, and of no concern.
    pub(super) fn too_big(&self) -> Vec<TooBig> {
        let mut all = Vec::new();
        let mut room = [0; QUOTED];
        // Whoever sends many of them does not keep this thread from packets.
        for _ in 0..MOST_PACKETS {
            let mut control = cmsg_space!(sock_extended_err, sockaddr_in6, i32);
            let mut parts = [IoSliceMut::new(&mut room)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_ERRQUEUE;
            let descriptor = self.descriptor.as_raw_fd();
            let Ok(received) = recvmsg::<SockaddrStorage>(descriptor, &mut parts, Some(&mut control), flags)
            else {
                break;
            };
            let told = received.cmsgs().into_iter().flatten().find_map(told_mtu);
            let peer = received.address.and_then(|address| socket_address(&address));
            let len = received.bytes;
            if let (Some(mtu), Some(peer)) = (told, peer) {
                all.push(TooBig { peer: peer.ip(), mtu, quoted: room[..len].to_vec() });
            }
        }
        all
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
        let send = || {
            sendmsg(self.descriptor.as_raw_fd(), &parts, control, MsgFlags::empty(), Some(&to)).map(|_| ())
        };
        match send() {
            // The error may concern an earlier packet, and this one was not tried then.
            Err(error) if is_told_once(error) => send(),
            ended => ended,
        }
    }
}

/// Returns the MTU of a router's message among the errors of a socket.
fn told_mtu(message: ControlMessageOwned) -> Option<usize> {
    let error = match message {
        ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => error,
        _ => return None,
    };
    let is_router = [SO_EE_ORIGIN_ICMP, SO_EE_ORIGIN_ICMP6].contains(&error.ee_origin);
    (is_router && error.ee_errno == Errno::EMSGSIZE as u32).then_some(error.ee_info as usize)
}

/// Returns true for an error that may have come by ICMP: the next call ends with it, whatever that call is about.
fn is_told_once(error: Errno) -> bool {
    use Errno::{
        EACCES, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, EMSGSIZE, ENETUNREACH, ENONET, ENOPROTOOPT,
        EOPNOTSUPP, EPROTO,
    };
    let told = [
        EACCES,
        ECONNREFUSED,
        EHOSTDOWN,
        EHOSTUNREACH,
        EMSGSIZE,
        ENETUNREACH,
        ENONET,
        ENOPROTOOPT,
        EOPNOTSUPP,
        EPROTO,
    ];
    told.contains(&error)
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
            let socket = Socket::open(Local { address: free.ip(), port: Some(free.port()) }, true).unwrap();
            (socket, free)
        })
    }

    /// Receives packets until there are so many, and returns in how many pieces they came, and how many calls that took.
    fn received(socket: &Socket, count: usize) -> (Vec<Vec<u8>>, usize, usize) {
        let (mut packets, mut pieces, mut calls) = (Vec::new(), 0, 0);
        let mut inbox = Inbox::new();
        while packets.len() < count {
            let came = socket.receive(&mut inbox, |data, arrived| {
                assert_eq!(arrived.class, 0x12);
                packets.extend(data.chunks(arrived.each).map(<[u8]>::to_vec));
            });
            match came.unwrap() {
                0 => assert!(!socket.wait().unwrap()),
                some => (pieces, calls) = (pieces + some, calls + 1),
            }
        }
        (packets, pieces, calls)
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
                let (got, pieces, calls) = received(&receiver, some.len());
                assert!(got == some, "divided: {divides}");
                assert!(divides || pieces == some.len());
                // One, two, four and so on.
                assert!(calls <= 8, "{calls} calls for {pieces} pieces");
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

//! Calls on sockets. Only the family, in the first two bytes of an address, and fields without network order differ
//! from the host's.

use crate::linux::errno::Errno;
use crate::linux::flags::{self, DESCRIPTOR, SOL_SOCKET};
use crate::linux::host::{self, Message};
use crate::linux::process::Process;
use crate::linux::structures::{self as s, Fields, guest_u32, guest_u64, host_u32, host_u64};
use crate::linux::syscalls::descriptors::{gather, pieces, room, scatter};
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::memory::Access;

/// The longest address.
const ADDRESS: usize = 128;

/// The most ancillary data.
const CONTROL: u64 = 65536;

pub(super) const CALLS: &[Call] = &[
    call(97, "socket", "dxd", socket),
    call(135, "socketpair", "dxdp", socketpair),
    call(353, "bind", "dpd", |p, a| {
        let address = read_address(p, a[1], a[2])?;
        let length = address.len() as u64;
        host::call(host::BIND, [int(a[0]).into(), address.as_slice().into(), length.into()])
    }),
    call(98, "connect", "dpd", |p, a| {
        let address = read_address(p, a[1], a[2])?;
        let length = address.len() as u64;
        let address = address.as_slice();
        p.wait(|| host::call(host::CONNECT, [int(a[0]).into(), address.into(), length.into()]))
    })
    .restarting(),
    call(354, "listen", "dd", |_, a| host::call(host::LISTEN, [int(a[0]).into(), int(a[1]).into()])),
    call(99, "accept", "dpp", |p, a| accept(p, a, 0)).restarting(),
    call(323, "accept4", "dppx", |p, a| accept(p, a, a[3])).restarting(),
    call(150, "getsockname", "dpp", |p, a| name(p, host::GETSOCKNAME, a)),
    call(141, "getpeername", "dpp", |p, a| name(p, host::GETPEERNAME, a)),
    call(133, "sendto", "dpdxpd", sendto).restarting(),
    call(125, "recvfrom", "dpdxpp", recvfrom).restarting(),
    call(114, "sendmsg", "dpx", |p, a| send_message(p, a[0], a[1], a[2])).restarting(),
    call(113, "recvmsg", "dpx", |p, a| receive_message(p, a[0], a[1], a[2])).restarting(),
    call(336, "sendmmsg", "dpdx", |p, a| several(p, a, send_message)).restarting(),
    call(328, "recvmmsg", "dpdxp", |p, a| several(p, a, receive_message)).restarting(),
    call(134, "shutdown", "dd", |_, a| host::call(host::SHUTDOWN, [int(a[0]).into(), int(a[1]).into()])),
    call(355, "setsockopt", "dddpd", setsockopt),
    call(118, "getsockopt", "dddpp", getsockopt),
    call(206, "socketcall", "dp", socketcall).restarting(),
];

/// The host's type of a socket, with its flags.
fn kind(sparc: u64) -> Result<i32, Errno> {
    let (flags, kind) = flags::of_sparc(DESCRIPTOR, sparc & 0xffff_ffff);
    if kind > 0xf { Err(Errno(libc::EINVAL)) } else { Ok(flags | kind as i32) }
}

/// Makes a socket of the host. Netlink is refused: its messages have structures in the order of the machine, and the
/// C library does without it.
fn socket(_: &mut Process, a: &[u64; 6]) -> Answer {
    if a[0] as i32 == libc::AF_NETLINK {
        return Err(Errno(libc::EAFNOSUPPORT));
    }
    host::call(host::SOCKET, [int(a[0]).into(), kind(a[1])?.into(), int(a[2]).into()])
}

/// Swaps the fields that have no network order: the family, the scope of IPv6, the interface of packets.
fn swap_address(address: &mut [u8], family: u16) {
    s::swap(address, &[2]);
    match i32::from(family) {
        libc::AF_INET6 if address.len() >= 28 => s::swap_word(&mut address[24..28]),
        libc::AF_PACKET if address.len() >= 10 => {
            s::swap_word(&mut address[4..8]);
            s::swap_word(&mut address[8..10]);
        }
        _ => {}
    }
}

/// An address in the program's memory.
fn read_address(p: &Process, address: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let length = int(length);
    if length > ADDRESS as u64 {
        return Err(Errno(libc::EINVAL));
    }
    let mut bytes = p.bytes(address, length)?.to_vec();
    if bytes.len() >= 2 {
        let family = u16::from_be_bytes([bytes[0], bytes[1]]);
        swap_address(&mut bytes, family);
    }
    Ok(bytes)
}

/// Writes the host's address and its length to the program, which says how much of it it takes.
fn put_address(
    p: &mut Process,
    to: u64,
    length_at: u64,
    address: &mut [u8],
    length: usize,
) -> Result<(), Errno> {
    if to == 0 || length_at == 0 {
        return Ok(());
    }
    let room = guest_u32(p.bytes(length_at, 4)?, 0) as usize;
    let have = &mut address[..length.min(ADDRESS)];
    if have.len() >= 2 {
        let family = u16::from_ne_bytes([have[0], have[1]]);
        swap_address(have, family);
    }
    p.put(to, &have[..room.min(have.len())])?;
    p.put(length_at, &(length as u32).to_be_bytes())
}

/// Room for an address of the host, with the length beside it.
fn address_room() -> ([u8; ADDRESS], [u8; 4]) {
    ([0; ADDRESS], (ADDRESS as u32).to_ne_bytes())
}

fn socketpair(p: &mut Process, a: &[u64; 6]) -> Answer {
    let mut pair = [0; 8];
    p.bytes_mut(a[3], 8)?;
    let done = host::call(
        host::SOCKETPAIR,
        [int(a[0]).into(), kind(a[1])?.into(), int(a[2]).into(), pair.as_mut_slice().into()],
    )?;
    s::swap(&mut pair, s::TWO_INTS);
    p.put(a[3], &pair)?;
    Ok(done)
}

fn accept(p: &mut Process, a: &[u64; 6], flags: u64) -> Answer {
    let (flags, left) = flags::of_sparc(DESCRIPTOR, flags);
    if left != 0 {
        return Err(Errno(libc::EINVAL));
    }
    let (mut address, mut length) = address_room();
    let socket = p.wait(|| {
        host::call(
            host::ACCEPT,
            [int(a[0]).into(), address.as_mut_slice().into(), length.as_mut_slice().into(), flags.into()],
        )
    })?;
    put_address(p, a[1], a[2], &mut address, u32::from_ne_bytes(length) as usize)?;
    Ok(socket)
}

fn name(p: &mut Process, number: host::Number, a: &[u64; 6]) -> Answer {
    let (mut address, mut length) = address_room();
    let done =
        host::call(number, [int(a[0]).into(), address.as_mut_slice().into(), length.as_mut_slice().into()])?;
    put_address(p, a[1], a[2], &mut address, u32::from_ne_bytes(length) as usize)?;
    Ok(done)
}

fn sendto(p: &mut Process, a: &[u64; 6]) -> Answer {
    let address = if a[4] == 0 { None } else { Some(read_address(p, a[4], a[5])?) };
    let length = address.as_ref().map_or(0, |address| address.len() as u64);
    let data = p.region(a[1], a[2], Access::Read)?;
    let address = address.as_deref();
    p.wait(|| {
        host::call(
            host::SENDTO,
            [int(a[0]).into(), (&data).into(), a[2].into(), a[3].into(), address.into(), length.into()],
        )
    })
}

fn recvfrom(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (mut address, mut length) = address_room();
    let data = p.room(a[1], a[2])?;
    let count = p.wait(|| {
        host::call(
            host::RECVFROM,
            [
                int(a[0]).into(),
                (&data).into(),
                data.length().into(),
                a[3].into(),
                address.as_mut_slice().into(),
                length.as_mut_slice().into(),
            ],
        )
    })?;
    p.cpu.memory.written(a[1], data.length().min(count));
    put_address(p, a[4], a[5], &mut address, u32::from_ne_bytes(length) as usize)?;
    Ok(count)
}

/// `struct msghdr`: name and its length, pieces and their count, ancillary data and their length, flags.
struct Header {
    name: u64,
    name_length: u64,
    pieces: Vec<(u64, u64)>,
    control: u64,
    control_length: u64,
}

impl Header {
    fn read(p: &Process, address: u64) -> Result<Header, Errno> {
        let bytes = p.bytes(address, 56)?;
        let word = |at| guest_u64(bytes, at);
        Ok(Header {
            name: word(0),
            name_length: if word(0) == 0 { 0 } else { guest_u32(bytes, 8).into() },
            pieces: pieces(p, word(16), word(24))?,
            control: word(32),
            control_length: if word(32) == 0 { 0 } else { word(40).min(CONTROL) },
        })
    }
}

fn send_message(p: &mut Process, socket: u64, address: u64, flags: u64) -> Answer {
    let header = Header::read(p, address)?;
    let mut name = read_address(p, header.name, header.name_length)?;
    let mut data = gather(p, &header.pieces)?;
    let mut control = control_to_host(p.bytes(header.control, header.control_length)?)?;
    let mut message = Message { name: &mut name, data: &mut data, control: &mut control };
    p.wait(|| host::send_message(int(socket), &mut message, flags))
}

fn receive_message(p: &mut Process, socket: u64, address: u64, flags: u64) -> Answer {
    let header = Header::read(p, address)?;
    let mut name = [0; ADDRESS];
    let mut data = room(p, &header.pieces)?;
    let mut control = vec![0; header.control_length as usize];
    let mut message = Message { name: &mut name, data: &mut data, control: &mut control };
    // The flag that closes received descriptors when a program is started has the same value on every machine.
    let (count, name_length, control_length, flags) =
        p.wait(|| host::receive_message(int(socket), &mut message, flags))?;
    scatter(p, &header.pieces, &data[..data.len().min(count as usize)])?;
    if header.name != 0 {
        p.put(address + 8, &(header.name_length as u32).to_be_bytes())?;
        put_address(p, header.name, address + 8, &mut name, name_length)?;
    }
    let control = control_of_host(&control[..control_length.min(control.len())]);
    // Received descriptors may be of a special kind.
    p.kept.has_special |= !control.is_empty();
    p.put(header.control, &control)?;
    p.put(address + 40, &(control.len() as u64).to_be_bytes())?;
    p.put(address + 48, &flags.to_be_bytes())?;
    Ok(count)
}

/// `struct cmsghdr`: length, level and type; then data that for sockets are numbers of four bytes.
fn control_to_host(guest: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut host = guest.to_vec();
    let mut at = 0;
    while at + 16 <= host.len() {
        let length = guest_u64(guest, at);
        let end = at.checked_add(length as usize).filter(|end| *end <= host.len() && length >= 16);
        let end = end.ok_or(Errno(libc::EINVAL))?;
        let level = guest_u32(guest, at + 8);
        s::swap(&mut host[at..at + 16], &[8, 4, 4]);
        if u64::from(level) == SOL_SOCKET {
            host[at + 8..at + 12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        }
        s::swap_each(&mut host[at + 16..end], &[4]);
        at = end.next_multiple_of(8);
    }
    Ok(host)
}

fn control_of_host(host: &[u8]) -> Vec<u8> {
    let mut guest = host.to_vec();
    let mut at = 0;
    while at + 16 <= host.len() {
        let length = host_u64(host, at) as usize;
        let end = at.saturating_add(length).min(host.len());
        if length < 16 {
            break;
        }
        let level = host_u32(host, at + 8);
        s::swap(&mut guest[at..at + 16], &[8, 4, 4]);
        if level == libc::SOL_SOCKET as u32 {
            guest[at + 8..at + 12].copy_from_slice(&(SOL_SOCKET as u32).to_be_bytes());
        }
        s::swap_each(&mut guest[at + 16..end], &[4]);
        at = end.next_multiple_of(8);
    }
    guest
}

/// Serves calls with `struct mmsghdr`: a header and the bytes of its message.
fn several(p: &mut Process, a: &[u64; 6], one: fn(&mut Process, u64, u64, u64) -> Answer) -> Answer {
    const EACH: u64 = 64;
    const MOST: u64 = 1024;
    const MSG_WAITFORONE: u64 = 0x10000;
    let mut flags = a[3];
    let waits_for_one = flags & MSG_WAITFORONE != 0;
    flags &= !MSG_WAITFORONE;
    for index in 0..a[2].min(MOST) {
        let address = a[1] + index * EACH;
        match one(p, a[0], address, flags) {
            Ok(count) => p.put(address + 56, &(count as u32).to_be_bytes())?,
            Err(error) if index == 0 => return Err(error),
            Err(_) => return Ok(index),
        }
        if waits_for_one {
            flags |= libc::MSG_DONTWAIT as u64;
        }
    }
    Ok(a[2].min(MOST))
}

/// The host's level and option.
fn option(level: u64, option: u64) -> Result<(i32, i32), Errno> {
    match int(level) {
        SOL_SOCKET => {
            let option = flags::socket_option(int(option)).ok_or(Errno(libc::ENOPROTOOPT))?;
            Ok((libc::SOL_SOCKET, option))
        }
        level => Ok((level as i32, option as i32)),
    }
}

/// True if an option's value is a time.
fn is_time(level: i32, option: i32) -> bool {
    level == libc::SOL_SOCKET && matches!(option, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO)
}

/// True if an option's value is a text or an address, not numbers.
fn is_bytes(level: i32, option: i32) -> bool {
    matches!(
        (level, option),
        (libc::SOL_SOCKET, libc::SO_BINDTODEVICE) | (libc::IPPROTO_TCP, libc::TCP_CONGESTION)
    ) || (level == libc::IPPROTO_IP && matches!(option, 35..=40))
}

fn setsockopt(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (level, option) = option(a[1], a[2])?;
    let guest = p.bytes(a[3], int(a[4]).min(CONTROL))?;
    let mut value = guest.to_vec();
    if is_time(level, option) && value.len() >= 16 {
        value = s::timeval_of_guest(guest).to_vec();
    } else if !is_bytes(level, option) {
        s::swap_each(&mut value, &[4]);
    }
    let length = value.len() as u64;
    host::call(
        host::SETSOCKOPT,
        [int(a[0]).into(), level.into(), option.into(), value.as_slice().into(), length.into()],
    )
}

fn getsockopt(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (level, option) = option(a[1], a[2])?;
    let room = u64::from(guest_u32(p.bytes(a[4], 4)?, 0)).min(CONTROL);
    let mut value = vec![0; room as usize];
    let mut length = (room as u32).to_ne_bytes();
    let done = host::call(
        host::GETSOCKOPT,
        [
            int(a[0]).into(),
            level.into(),
            option.into(),
            value.as_mut_slice().into(),
            length.as_mut_slice().into(),
        ],
    )?;
    value.truncate(u32::from_ne_bytes(length) as usize);
    if is_time(level, option) && value.len() >= 16 {
        value = s::timeval_of_host(&value);
    } else if !is_bytes(level, option) {
        s::swap_each(&mut value, &[4]);
    }
    if (level, option) == (libc::SOL_SOCKET, libc::SO_ERROR) && value.len() == 4 {
        // The value is the number of an error.
        let error = crate::linux::errno::of_sparc(Errno(guest_u32(&value, 0) as i32)) as u32;
        value = Fields::new().u32(error).bytes();
    }
    p.put(a[3], &value)?;
    p.put(a[4], &(value.len() as u32).to_be_bytes())?;
    Ok(done)
}

/// Serves the older way: the number of a call, and its arguments in memory.
fn socketcall(p: &mut Process, a: &[u64; 6]) -> Answer {
    /// The calls by that number: socket, bind, connect, listen, accept, getsockname, getpeername, socketpair, send,
    /// recv, sendto, recvfrom, shutdown, setsockopt, getsockopt, sendmsg, recvmsg, accept4, recvmmsg, sendmmsg.
    const NUMBERS: [u64; 20] =
        [97, 353, 98, 354, 99, 150, 141, 135, 133, 125, 133, 125, 134, 355, 118, 114, 113, 323, 328, 336];
    const COUNTS: [u64; 20] = [3, 3, 3, 2, 3, 3, 3, 4, 4, 4, 6, 6, 2, 5, 5, 3, 3, 4, 5, 4];
    let index = int(a[0]).wrapping_sub(1) as usize;
    let (Some(&number), Some(&count)) = (NUMBERS.get(index), COUNTS.get(index)) else {
        return Err(Errno(libc::EINVAL));
    };
    let mut arguments = [0; 6];
    for (to, from) in arguments.iter_mut().zip(p.bytes(a[1], count * 8)?.chunks_exact(8)) {
        *to = guest_u64(from, 0);
    }
    match super::find(number) {
        Some(call) => (call.run)(p, &arguments),
        None => Err(Errno(libc::ENOSYS)),
    }
}

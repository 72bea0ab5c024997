//! A TUN device: inner packets to and from the kernel, many of a stream or many datagrams as one (`crates/esp/src/offload`).
//!
//! # Safety
//! Each request to the kernel has the number that belongs to its structure: TUNSETIFF, SIOCSIFMTU, SIOCGIFFLAGS and SIOCSIFFLAGS take an `ifreq`
//! (netdevice(7)), which is plain bytes, and of whose union the field is read that the same request wrote; TUNSETOFFLOAD takes a number.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use millstream_esp::{OFFLOAD_LEN, Offload, Train, train};
use nix::libc;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::ioctl::{IntegerSetter, Setter, Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Room for the longest packet that the kernel gives at a time, and the header in front of it.
pub(super) const ROOM: usize = OFFLOAD_LEN + 65_536;

/// The kinds of long packets that are asked for: stretches of TCP, and packets whose checksum is still to be made. Stretches with a mark of
/// congestion are left out, since only their first packet has the mark.
const STREAMS: libc::c_uint = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;

/// Datagrams of one length, which Linux gives and takes since 6.2.
const DATAGRAMS: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// A TUN device, which is gone when this is dropped.
pub(super) struct Tun {
    file: File,
    name: String,
    /// True if the kernel takes several datagrams as one.
    takes_udp: bool,
}

/// The end of packets for the kernel.
#[derive(Default)]
pub(super) struct Written {
    /// Packets that it did not take: it takes none that is none of IP, and none while the device is down.
    pub(super) refused: u64,
    /// Packets that it took and that stand for several.
    pub(super) long: u64,
}

impl Tun {
    /// Makes a device with this name; the kernel puts a number for `%d`.
    ///
    /// # Errors
    /// The system's: no device of that kind, no privilege in this network namespace, or a name that is taken.
    pub(super) fn create(name: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let file = options.open("/dev/net/tun")?;
        let mut request = request(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as i16;
        // SAFETY: see the module.
        unsafe { ioctl(&file, Updater::<{ libc::TUNSETIFF as _ }, _>::new(&mut request)) }?;
        let offers = |what: libc::c_uint| {
            // SAFETY: see the module.
            unsafe { ioctl(&file, IntegerSetter::<{ libc::TUNSETOFFLOAD as _ }>::new_usize(what as usize)) }
        };
        let takes_udp = offers(STREAMS | DATAGRAMS).is_ok();
        if !takes_udp {
            offers(STREAMS)?;
        }
        let bytes = request.ifr_name.iter().take_while(|letter| **letter != 0);
        let name = bytes.map(|letter| char::from(*letter as u8)).collect();
        Ok(Tun { file, name, takes_udp })
    }

    /// Returns the device's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sets the longest packet, and switches the device on.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn bring_up(&self, mtu: usize) -> io::Result<()> {
        let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        let mut request = request(&self.name)?;
        request.ifr_ifru.ifru_mtu = mtu as i32;
        // SAFETY: see the module.
        unsafe { ioctl(&any, Setter::<{ libc::SIOCSIFMTU as _ }, _>::new(request)) }?;
        // SAFETY: see the module.
        unsafe { ioctl(&any, Updater::<{ libc::SIOCGIFFLAGS as _ }, _>::new(&mut request)) }?;
        // SAFETY: the request has just written the flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
        // SAFETY: see the module.
        unsafe { ioctl(&any, Setter::<{ libc::SIOCSIFFLAGS as _ }, _>::new(request)) }?;
        Ok(())
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn wait(&self) -> io::Result<()> {
        wait([self.file.as_fd()]).map(|_| ())
    }

    /// Reads a packet, which may stand for many; none if there is none now.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn read<'r>(&self, room: &'r mut [u8]) -> io::Result<Option<(Offload, &'r mut [u8])>> {
        let len = match rustix::io::read(&self.file, &mut *room) {
            Ok(len) => len,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read = room[..len].split_first_chunk_mut();
        Ok(read.map(|(header, packet)| (Offload::from_bytes(*header), packet)))
    }

    /// Gives the kernel packets, in as few calls as possible.
    pub(super) fn write(&self, packets: &[&[u8]]) -> Written {
        let (mut written, mut rest) = (Written::default(), packets);
        while !rest.is_empty() {
            let train = train(rest, self.takes_udp);
            let (these, others) = rest.split_at(train.count);
            rest = others;
            let is_given = self.give(&train, these).is_ok();
            match these {
                [_] => written.refused += u64::from(!is_given),
                _ if is_given => written.long += 1,
                _ => {
                    let failed = these.iter().filter(|packet| self.give_one(packet).is_err());
                    written.refused += failed.count() as u64;
                }
            }
        }
        written
    }

    fn give(&self, train: &Train, packets: &[&[u8]]) -> io::Result<()> {
        let parts = packets.iter().map(|packet| IoSlice::new(&packet[train.from..]));
        let parts: Vec<_> = [IoSlice::new(train.lead())].into_iter().chain(parts).collect();
        rustix::io::writev(&self.file, &parts)?;
        Ok(())
    }

    fn give_one(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::writev(&self.file, &[IoSlice::new(&[0; OFFLOAD_LEN]), IoSlice::new(packet)])?;
        Ok(())
    }
}

/// Waits until one of some descriptors can be read, and returns true if the first has an error to tell.
///
/// # Errors
/// The system's.
pub(super) fn wait<const N: usize>(descriptors: [BorrowedFd<'_>; N]) -> io::Result<bool> {
    let mut polled = descriptors.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    match poll(&mut polled, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(polled[0].revents().contains(PollFlags::ERR)),
        Err(error) => Err(error.into()),
    }
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: zeros are an `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name has 1 to 15 letters"));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as c_char;
    }
    Ok(request)
}

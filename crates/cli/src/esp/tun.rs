//! A TUN device: inner packets to and from the kernel.
//!
//! # Safety
//! Each request to the kernel has the number that belongs to its structure: TUNSETIFF, SIOCSIFMTU, SIOCGIFFLAGS and SIOCSIFFLAGS take an `ifreq`
//! (netdevice(7)), which is plain bytes, and of whose union the field is read that the same request wrote.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::ioctl::{Setter, Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A TUN device, which is gone when this is dropped.
pub(super) struct Tun {
    file: File,
    name: String,
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
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        // SAFETY: see the module.
        unsafe { ioctl(&file, Updater::<{ libc::TUNSETIFF as _ }, _>::new(&mut request)) }?;
        let bytes = request.ifr_name.iter().take_while(|letter| **letter != 0);
        let name = bytes.map(|letter| char::from(*letter as u8)).collect();
        Ok(Tun { file, name })
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
        wait(self.file.as_fd())
    }

    /// Reads a packet; none if there is none now.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, room) {
            Ok(len) => Ok(Some(len)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the kernel a packet.
    ///
    /// # Errors
    /// The system's: it takes no packet that is none of IP, and none while the device is down.
    pub(super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.file, packet)?;
        Ok(())
    }
}

/// Waits until a descriptor can be read.
///
/// # Errors
/// The system's.
pub(super) fn wait(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
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

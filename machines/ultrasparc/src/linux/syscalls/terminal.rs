//! `ioctl`: requests on terminals, and those on any descriptor.
//! Ref. Linux `arch/sparc/include/uapi/asm/{ioctl,ioctls}.h`: a request contains the direction and the length of its
//! argument, in other bits than elsewhere.

use crate::linux::errno::Errno;
use crate::linux::host;
use crate::linux::process::Process;
use crate::linux::structures::{self as s, TERMIOS_BYTES};
use crate::linux::syscalls::{Answer, Call, call, int};

pub(super) const CALLS: &[Call] = &[call(54, "ioctl", "dxx", ioctl).restarting()];

/// The argument of a request.
#[derive(Clone, Copy)]
enum Kind {
    /// A number, or nothing.
    Number,
    /// An `int` that the kernel reads, or writes.
    Int,
    /// `struct winsize`.
    Window,
    /// `struct termios` that the kernel writes, or reads.
    GetTerminal,
    SetTerminal,
}

/// A request without an argument in memory.
const fn none(group: u8, number: u32) -> u64 {
    (1 << 29 | (group as u32) << 8 | number) as u64
}

/// A request whose argument of so many bytes the kernel writes.
const fn reads(group: u8, number: u32, bytes: u32) -> u64 {
    (2 << 29 | bytes << 16 | (group as u32) << 8 | number) as u64
}

/// A request whose argument of so many bytes the kernel reads.
const fn writes(group: u8, number: u32, bytes: u32) -> u64 {
    (4 << 29 | bytes << 16 | (group as u32) << 8 | number) as u64
}

/// SPARC's requests, the host's, and their arguments.
const REQUESTS: &[(u64, u64, Kind)] = &[
    (reads(b'T', 8, 36), libc::TCGETS, Kind::GetTerminal),
    (writes(b'T', 9, 36), libc::TCSETS, Kind::SetTerminal),
    (writes(b'T', 10, 36), libc::TCSETSW, Kind::SetTerminal),
    (writes(b'T', 11, 36), libc::TCSETSF, Kind::SetTerminal),
    (none(b'T', 5), libc::TCSBRK, Kind::Number),
    (none(b'T', 6), libc::TCXONC, Kind::Number),
    (none(b'T', 7), libc::TCFLSH, Kind::Number),
    (0x5425, libc::TCSBRKP, Kind::Number),
    (reads(b't', 104, 8), libc::TIOCGWINSZ, Kind::Window),
    (writes(b't', 103, 8), libc::TIOCSWINSZ, Kind::Window),
    (reads(b't', 131, 4), libc::TIOCGPGRP, Kind::Int),
    (writes(b't', 130, 4), libc::TIOCSPGRP, Kind::Int),
    (reads(b't', 133, 4), libc::TIOCGSID, Kind::Int),
    (reads(b't', 115, 4), libc::TIOCOUTQ, Kind::Int),
    (reads(b't', 134, 4), libc::TIOCGPTN, Kind::Int),
    (writes(b't', 135, 4), libc::TIOCSPTLCK, Kind::Int),
    (none(b't', 132), libc::TIOCSCTTY, Kind::Number),
    (none(b't', 113), libc::TIOCNOTTY, Kind::Number),
    (none(b't', 13), libc::TIOCEXCL, Kind::Number),
    (none(b't', 14), libc::TIOCNXCL, Kind::Number),
    (none(b'f', 1), libc::FIOCLEX, Kind::Number),
    (none(b'f', 2), libc::FIONCLEX, Kind::Number),
    (writes(b'f', 126, 4), libc::FIONBIO, Kind::Int),
    (writes(b'f', 125, 4), libc::FIOASYNC, Kind::Int),
    (reads(b'f', 127, 4), libc::FIONREAD, Kind::Int),
];

fn ioctl(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [fd, request, argument, ..] = *a;
    let known = REQUESTS.iter().find(|(sparc, ..)| *sparc == request & 0xffff_ffff);
    let Some(&(_, host_request, kind)) = known else {
        // Every other request is for terminals, which other files are not.
        return Err(Errno(libc::ENOTTY));
    };
    let (fd, request) = (int(fd), host_request);
    match kind {
        Kind::Number => p.wait(|| host::call(host::IOCTL, [fd.into(), request.into(), argument.into()])),
        Kind::Int => swapped(p, host::IOCTL_INT, fd, request, argument, &[4]),
        Kind::Window => swapped(p, host::IOCTL_WINSIZE, fd, request, argument, s::WINSIZE),
        Kind::GetTerminal => {
            let terminal = terminal(fd)?;
            p.cpu.memory.write(argument, &s::termios_of_host(&terminal))?;
            Ok(0)
        }
        Kind::SetTerminal => {
            let before = terminal(fd)?;
            let mut terminal = s::termios_of_guest(p.bytes(argument, TERMIOS_BYTES.0 as u64)?, &before);
            let terminal = terminal.as_mut_slice().into();
            p.wait(|| host::call(host::IOCTL_TERMIOS, [fd.into(), request.into(), terminal]))
        }
    }
}

/// A request whose argument differs only in the order of bytes.
fn swapped(
    p: &mut Process,
    number: host::Number,
    fd: u64,
    request: u64,
    address: u64,
    widths: s::Widths,
) -> Answer {
    let length = widths.iter().sum::<usize>() as u64;
    let mut bytes = p.bytes(address, length)?.to_vec();
    s::swap(&mut bytes, widths);
    let done = host::call(number, [fd.into(), request.into(), bytes.as_mut_slice().into()])?;
    s::swap(&mut bytes, widths);
    p.put(address, &bytes)?;
    Ok(done)
}

/// The host's `struct termios` of a terminal.
fn terminal(fd: u64) -> Result<[u8; TERMIOS_BYTES.1], Errno> {
    let mut terminal = [0; TERMIOS_BYTES.1];
    host::call(host::IOCTL_TERMIOS, [fd.into(), (libc::TCGETS).into(), terminal.as_mut_slice().into()])?;
    Ok(terminal)
}

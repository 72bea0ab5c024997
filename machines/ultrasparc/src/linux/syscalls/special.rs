//! Descriptors whose bytes are the kernel's structures rather than a program's own: counters, timers, signals, events
//! of files. The numbers in them are swapped as they are read and written.

use crate::linux::errno::Errno;
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::signals::{mask_to_host, of_host};
use crate::linux::structures::{self as s, Widths, guest_u64, host_u32};
use crate::linux::syscalls::descriptors::descriptor_flags;
use crate::linux::syscalls::{Answer, Call, call, int};

pub(super) const CALLS: &[Call] = &[
    call(311, "signalfd", "dpd", |p, a| signalfd(p, a[0], a[1], a[2], 0)),
    call(317, "signalfd4", "dpdx", |p, a| signalfd(p, a[0], a[1], a[2], a[3])),
    call(313, "eventfd", "d", |p, a| p.special(host::EVENTFD, [(a[0] & 0xffff_ffff).into(), 0.into()])),
    call(318, "eventfd2", "dx", |p, a| {
        let flags = descriptor_flags(a[1], 1)?;
        p.special(host::EVENTFD, [(a[0] & 0xffff_ffff).into(), flags.into()])
    }),
    call(312, "timerfd_create", "dx", |p, a| {
        let flags = descriptor_flags(a[1], 0)?;
        p.special(host::TIMERFD_CREATE, [int(a[0]).into(), flags.into()])
    }),
    call(151, "inotify_init", "", |p, _| p.special(host::INOTIFY_INIT, [0.into()])),
    call(322, "inotify_init1", "x", |p, a| {
        let flags = descriptor_flags(a[0], 0)?;
        p.special(host::INOTIFY_INIT, [flags.into()])
    }),
];

/// `struct signalfd_siginfo`.
const SIGNAL: Widths = &[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 2, 2, 4, 8, 4];
const SIGNAL_BYTES: usize = 128;

/// The form of a descriptor's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One number of 64 bits.
    Count,
    /// One structure for each signal.
    Signals,
    /// Events of files.
    Events,
}

fn signalfd(p: &mut Process, fd: u64, mask: u64, size: u64, flags: u64) -> Answer {
    if size != bytes::SIGSET as u64 {
        return Err(Errno(libc::EINVAL));
    }
    let mask = mask_to_host(guest_u64(p.bytes(mask, size)?, 0)).to_ne_bytes();
    let flags = descriptor_flags(flags, 0)?;
    p.special(host::SIGNALFD, [int(fd).into(), mask.as_slice().into(), size.into(), flags.into()])
}

impl Process {
    /// Makes a call that answers such a descriptor.
    fn special<const N: usize>(
        &mut self,
        number: host::Number,
        arguments: [host::Argument<'_>; N],
    ) -> Answer {
        let fd = host::call(number, arguments)?;
        self.kept.has_special = true;
        Ok(fd)
    }

    /// The form of a descriptor's bytes, if they are not the program's own. The host is asked only if the program may
    /// have such a descriptor, which most programs have not.
    pub(super) fn kind(&self, fd: u64) -> Option<Kind> {
        if !self.kept.has_special {
            return None;
        }
        kind(&std::fs::read_link(format!("/proc/self/fd/{}", fd as i32)).ok()?)
    }

    /// The swapped bytes for a write to a descriptor, if that is special.
    pub(super) fn turned(&self, fd: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        if bytes.len() < 8 || self.kind(fd) != Some(Kind::Count) {
            return None;
        }
        let mut bytes = bytes.to_vec();
        s::swap(&mut bytes, &[8]);
        Some(bytes)
    }
}

impl Kind {
    /// Swaps the bytes that were read.
    pub(super) fn turn(self, bytes: &mut [u8]) {
        match self {
            Kind::Count => s::swap(bytes, &[8]),
            Kind::Signals => bytes.chunks_exact_mut(SIGNAL_BYTES).for_each(signal),
            Kind::Events => events(bytes),
        }
    }
}

/// True if this process inherited such a descriptor.
pub(crate) fn are_inherited() -> bool {
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return true };
    descriptors
        .flatten()
        .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|name| kind(&name).is_some()))
}

/// The kind, by the name that the kernel gives a descriptor without a file.
fn kind(name: &std::path::Path) -> Option<Kind> {
    match name.to_str()?.strip_prefix("anon_inode:")? {
        "[eventfd]" | "[timerfd]" => Some(Kind::Count),
        "[signalfd]" => Some(Kind::Signals),
        "inotify" | "[inotify]" => Some(Kind::Events),
        _ => None,
    }
}

/// Swaps one `struct signalfd_siginfo`.
fn signal(bytes: &mut [u8]) {
    const STATUS: usize = 40;
    const INT: usize = 44;
    const POINTER: usize = 48;
    const CLD_EXITED: u32 = 1;
    let (number, code) = (host_u32(bytes, 0) as i32, host_u32(bytes, 8));
    let (status, value) = (host_u32(bytes, STATUS) as i32, s::host_u64(bytes, POINTER));
    let mut set = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    set(0, of_host(number).into());
    // The number in a value is its upper half here.
    set(INT, (value >> 32) as u32);
    if number == libc::SIGCHLD && code != CLD_EXITED {
        set(STATUS, of_host(status).into());
    }
    s::swap(bytes, SIGNAL);
}

/// Swaps each `struct inotify_event`, which its name follows.
fn events(mut bytes: &mut [u8]) {
    const HEAD: usize = 16;
    while bytes.len() >= HEAD {
        let length = HEAD + host_u32(bytes, 12) as usize;
        s::swap(bytes, s::INOTIFY_EVENT);
        let Some((_, rest)) = bytes.split_at_mut_checked(length) else { return };
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::structures::{guest_u32, swap_word};

    #[test]
    fn a_signal_has_sparcs_numbers() {
        assert_eq!(SIGNAL.iter().sum::<usize>(), 100);
        let mut bytes = [0; SIGNAL_BYTES];
        bytes[..4].copy_from_slice(&libc::SIGCHLD.to_ne_bytes());
        bytes[8..12].copy_from_slice(&2_u32.to_ne_bytes());
        bytes[40..44].copy_from_slice(&libc::SIGUSR1.to_ne_bytes());
        bytes[48..56].copy_from_slice(&(77_u64 << 32).to_ne_bytes());
        signal(&mut bytes);
        let words = [0, 8, 40, 44].map(|at| guest_u32(&bytes, at));
        assert_eq!(words, [20, 2, 30, 77]);
    }

    #[test]
    fn each_event_is_turned_over() {
        let mut bytes = [0; 48];
        for (at, word) in [(0, 1_u32), (12, 16), (32, 2)] {
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes[16..20].copy_from_slice(b"name");
        events(&mut bytes);
        let mut one = 1_u32.to_ne_bytes();
        swap_word(&mut one);
        assert_eq!((&bytes[..4], guest_u32(&bytes, 32), &bytes[16..20]), (&one[..], 2, &b"name"[..]));
    }
}

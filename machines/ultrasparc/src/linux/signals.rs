//! Signals: SPARC's numbers, a program's actions, and the frames that its handlers run on.
//!
//! The host's kernel keeps the account of blocked and pending signals: the host's mask is always the program's. A
//! signal that the program handles is caught by [`host`]'s handler, which blocks all others until the signal has been
//! dealt with here.
//! Ref. Linux `arch/sparc/kernel/signal_64.c`, `arch/sparc/include/uapi/asm/{signal,uctx,ptrace}.h`.

mod actions;
mod deliver;
mod fault;
mod frames;

use crate::linux::host;
use crate::linux::structures::{Fields, guest_u32, guest_u64, host_u32, host_u64};

pub(crate) use actions::Actions;
pub use actions::Signals;
pub use fault::{Signal, breakpoint, of_trap, unknown_trap};

/// The host's number that stands for SPARC's SIGEMT, which the host lacks. It is SIGSTKFLT's, which no kernel sends.
pub const EMT_ON_HOST: i32 = libc::SIGSTKFLT;

/// SPARC's number of each of the host's signals 1 to 31.
const OF_HOST: [u8; 32] = {
    let mut table = [0; 32];
    let mut i = 0;
    while i < 32 {
        table[i] = i as u8;
        i += 1;
    }
    table[libc::SIGBUS as usize] = SIGBUS;
    table[libc::SIGUSR1 as usize] = 30;
    table[libc::SIGUSR2 as usize] = 31;
    table[EMT_ON_HOST as usize] = SIGEMT;
    table[libc::SIGCHLD as usize] = SIGCHLD;
    table[libc::SIGCONT as usize] = 19;
    table[libc::SIGSTOP as usize] = SIGSTOP;
    table[libc::SIGTSTP as usize] = 18;
    table[libc::SIGURG as usize] = 16;
    table[libc::SIGIO as usize] = SIGIO;
    table[libc::SIGPWR as usize] = 29;
    table[libc::SIGSYS as usize] = 12;
    table
};

const SIGILL: u8 = 4;
const SIGTRAP: u8 = 5;
const SIGEMT: u8 = 7;
const SIGFPE: u8 = 8;
const SIGKILL: u8 = 9;
const SIGBUS: u8 = 10;
const SIGSEGV: u8 = 11;
const SIGSTOP: u8 = 17;
const SIGCHLD: u8 = 20;
const SIGIO: u8 = 23;

/// The highest signal's number.
pub const SIGNALS: u64 = 64;

/// The host's number of a signal.
#[must_use]
pub fn to_host(sparc: u64) -> i32 {
    match OF_HOST.iter().position(|number| u64::from(*number) == sparc) {
        Some(host) => host as i32,
        None => sparc as i32,
    }
}

/// SPARC's number of a signal.
#[must_use]
pub fn of_host(host: i32) -> u8 {
    usize::try_from(host).ok().and_then(|host| OF_HOST.get(host).copied()).unwrap_or(host as u8)
}

/// The host's set for a set of SPARC's, without the signals that this emulator uses itself.
#[must_use]
pub fn mask_to_host(sparc: u64) -> u64 {
    bits(sparc).fold(0, |set, number| set | 1 << (to_host(number) - 1)) & !host::reserved()
}

/// SPARC's set for a set of the host's.
#[must_use]
pub fn mask_of_host(host: u64) -> u64 {
    bits(host).fold(0, |set, number| set | 1 << (of_host(number as i32) - 1))
}

/// The numbers in a set.
fn bits(set: u64) -> impl Iterator<Item = u64> {
    (1..=SIGNALS).filter(move |number| set >> (number - 1) & 1 != 0)
}

/// SPARC's `siginfo` from the host's: the same fields, except for one.
#[must_use]
pub fn information_of_host(host: &[u8]) -> Vec<u8> {
    let word = |at: usize| host_u32(host, at);
    let number = of_host(word(0) as i32);
    let code = word(8) as i32;
    let fields = Fields::new().u32(number.into()).u32(word(4)).u32(code as u32).u32(0);
    let fields = match (number, code) {
        // A child: its process, its user, its end, and its times.
        (SIGCHLD, 1..=6) => {
            let status = if code == 1 { word(24) } else { of_host(word(24) as i32).into() };
            fields
                .u32(word(16))
                .u32(word(20))
                .u32(status)
                .u32(0)
                .u64(host_u64(host, 32))
                .u64(host_u64(host, 40))
        }
        // A descriptor, whose band is an int on SPARC.
        (SIGIO, 1..=6) => fields.u32(word(16)).u32(word(24)),
        // A timer, or another process: two words, then the value that was sent along.
        _ => fields.u32(word(16)).u32(word(20)).u64(value_of(host_u64(host, 24), code)),
    };
    fields.pad(128).bytes()
}

/// The value that was sent along with a signal. Programs here send a word as a big-endian union has it.
fn value_of(host: u64, code: i32) -> u64 {
    const SI_QUEUE: i32 = -1;
    const SI_TIMER: i32 = -2;
    const SI_MESGQ: i32 = -3;
    if matches!(code, SI_QUEUE | SI_TIMER | SI_MESGQ) { host } else { 0 }
}

/// The host's `siginfo` for a signal that a program sends.
#[must_use]
pub fn information_to_host(guest: &[u8]) -> [u8; 128] {
    let mut host = [0; 128];
    let number = to_host(guest_u32(guest, 0).into()) as u32;
    for (at, word) in [
        (0, number),
        (4, guest_u32(guest, 4)),
        (8, guest_u32(guest, 8)),
        (16, guest_u32(guest, 16)),
        (20, guest_u32(guest, 20)),
    ] {
        host[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    host[24..32].copy_from_slice(&guest_u64(guest, 24).to_ne_bytes());
    host
}

/// The status of a child that ended or stopped, with SPARC's signals.
#[must_use]
pub fn status_of_host(status: u32) -> u32 {
    match status & 0x7f {
        0 => status,
        0x7f if status != 0xffff => status & !0xff00 | u32::from(of_host((status >> 8 & 0xff) as i32)) << 8,
        0x7f => status,
        signal => status & !0x7f | u32::from(of_host(signal as i32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_there_and_back_are_the_same() {
        for host in 1..=64 {
            assert_eq!(to_host(of_host(host).into()), host);
        }
        assert_eq!((of_host(libc::SIGCHLD), of_host(libc::SIGUSR1), of_host(libc::SIGSYS)), (20, 30, 12));
        assert_eq!(to_host(10), libc::SIGBUS);
        for set in [0, u64::MAX, 0x8000_0000_0010_0400] {
            assert_eq!(mask_of_host(mask_to_host(set)), set);
        }
    }

    #[test]
    fn a_status_names_sparcs_signal() {
        assert_eq!(status_of_host(0x0300), 0x0300);
        assert_eq!(status_of_host(libc::SIGBUS as u32 | 0x80), 10 | 0x80);
        assert_eq!(status_of_host((libc::SIGSTOP as u32) << 8 | 0x7f), 17 << 8 | 0x7f);
        assert_eq!(status_of_host(0xffff), 0xffff);
    }
}

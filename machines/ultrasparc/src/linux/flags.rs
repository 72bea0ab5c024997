//! Numbers of calls' arguments that are SPARC's own: flags of files, descriptors, sockets and memory.
//! Ref. Linux `arch/sparc/include/uapi/asm/{fcntl,socket,mman,resource}.h`.

use std::ffi::c_int;

/// Flags, each as SPARC's value and the host's.
pub type Flags = &'static [(u64, c_int)];

/// Flags of `open`. The access modes are the same everywhere.
pub const OPEN: Flags = &[
    (0x3, libc::O_ACCMODE),
    (0x8, libc::O_APPEND),
    (0x40, libc::O_ASYNC),
    (0x200, libc::O_CREAT),
    (0x400, libc::O_TRUNC),
    (0x800, libc::O_EXCL),
    (0x2000, libc::O_DSYNC),
    (0x4000, libc::O_NONBLOCK),
    (0x8000, libc::O_NOCTTY),
    (0x10000, libc::O_DIRECTORY),
    (0x20000, libc::O_NOFOLLOW),
    (0x10_0000, libc::O_DIRECT),
    (0x20_0000, libc::O_NOATIME),
    (0x40_0000, libc::O_CLOEXEC),
    // Together with O_DSYNC this makes O_SYNC.
    (0x80_0000, libc::O_SYNC & !libc::O_DSYNC),
    (0x100_0000, libc::O_PATH),
    (0x200_0000, libc::O_TMPFILE & !libc::O_DIRECTORY),
];

/// The flag of large files. Every file here may be large.
pub const O_LARGEFILE: u64 = 0x4_0000;

/// Flags of `socket`'s type, `accept4`, `pipe2` and `dup3`, with the values of `open`'s.
pub const DESCRIPTOR: Flags = &[(0x4000, libc::O_NONBLOCK), (0x40_0000, libc::O_CLOEXEC)];

/// `SOL_SOCKET`.
pub const SOL_SOCKET: u64 = 0xffff;

/// Options of sockets.
pub const SOCKET_OPTIONS: Flags = &[
    (0x1, libc::SO_DEBUG),
    (0x2, libc::SO_PASSCRED),
    (0x4, libc::SO_REUSEADDR),
    (0x8, libc::SO_KEEPALIVE),
    (0x10, libc::SO_DONTROUTE),
    (0x20, libc::SO_BROADCAST),
    (0x40, libc::SO_PEERCRED),
    (0x80, libc::SO_LINGER),
    (0x100, libc::SO_OOBINLINE),
    (0x200, libc::SO_REUSEPORT),
    (0x800, libc::SO_RCVLOWAT),
    (0x1000, libc::SO_SNDLOWAT),
    (0x2000, libc::SO_RCVTIMEO),
    (0x4000, libc::SO_SNDTIMEO),
    (0x8000, libc::SO_ACCEPTCONN),
    (0x1001, libc::SO_SNDBUF),
    (0x1002, libc::SO_RCVBUF),
    (0x1007, libc::SO_ERROR),
    (0x1008, libc::SO_TYPE),
    (0x100a, libc::SO_SNDBUFFORCE),
    (0x100b, libc::SO_RCVBUFFORCE),
    (0x1028, libc::SO_PROTOCOL),
    (0x1029, libc::SO_DOMAIN),
    (0xb, libc::SO_NO_CHECK),
    (0xc, libc::SO_PRIORITY),
    (0xd, libc::SO_BINDTODEVICE),
    (0x22, libc::SO_MARK),
    (0x24, libc::SO_RXQ_OVFL),
    (0x26, libc::SO_PEEK_OFF),
    (0x30, libc::SO_BUSY_POLL),
];

/// The host's option for SPARC's.
#[must_use]
pub fn socket_option(sparc: u64) -> Option<c_int> {
    SOCKET_OPTIONS.iter().find(|(number, _)| *number == sparc).map(|(_, host)| *host)
}

/// The host's flags, and those of SPARC's that have no meaning.
#[must_use]
pub fn of_sparc(table: Flags, sparc: u64) -> (c_int, u64) {
    table.iter().fold((0, sparc), |(host, left), &(theirs, ours)| match theirs {
        // The access mode is a number of two bits.
        3 => (host | (sparc & 3) as c_int, left & !3),
        _ if sparc & theirs != 0 => (host | ours, left & !theirs),
        _ => (host, left),
    })
}

/// SPARC's flags.
#[must_use]
pub fn of_host(table: Flags, host: c_int) -> u64 {
    table.iter().fold(0, |sparc, &(theirs, ours)| match theirs {
        3 => sparc | (host & 3) as u64,
        _ if ours != 0 && host & ours == ours => sparc | theirs,
        _ => sparc,
    })
}

/// The host's number of a resource: SPARC has the numbers of files and of processes the other way round.
#[must_use]
pub fn resource(sparc: u64) -> u64 {
    const SPARC_FILES: u64 = 6;
    const SPARC_PROCESSES: u64 = 7;
    match sparc {
        SPARC_FILES => libc::RLIMIT_NOFILE as u64,
        SPARC_PROCESSES => libc::RLIMIT_NPROC as u64,
        other => other,
    }
}

/// Flags of `mmap`.
pub mod map {
    #![allow(missing_docs)]
    pub const SHARED: u64 = 1;
    pub const SHARED_VALIDATE: u64 = 3;
    pub const FIXED: u64 = 0x10;
    pub const ANONYMOUS: u64 = 0x20;
    pub const FIXED_NOREPLACE: u64 = 0x10_0000;
}

/// Commands of `semctl`, `msgctl` and `shmctl` that all three know.
pub mod ipc {
    #![allow(missing_docs)]
    pub const SET: u64 = 1;
    pub const STAT: u64 = 2;
    pub const INFO: u64 = 3;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_there_and_back_are_the_same() {
        for (sparc, _) in OPEN.iter().filter(|(sparc, _)| *sparc != 3) {
            let (host, left) = of_sparc(OPEN, *sparc | 1);
            assert_eq!((of_host(OPEN, host), left), (*sparc | 1, 0), "{sparc:#x}");
        }
        assert_eq!(of_sparc(OPEN, 0x4000_0000), (0, 0x4000_0000));
        assert_eq!(of_sparc(OPEN, 0x80_2000).0, libc::O_SYNC);
    }
}

//! Error numbers: the host's, and SPARC's.
//!
//! Numbers up to 34 are Unix's own and the same everywhere; the others are SunOS's on SPARC.
//! Ref. Linux `arch/sparc/include/uapi/asm/errno.h`.

use crate::memory::Fault;

/// The error of a system call, as the host's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// Says that the call is made once more after the signal that interrupted it has been handled. No program sees this
/// number.
pub const RESTART: Errno = Errno(512);

/// The highest number that is the same everywhere.
const COMMON: i32 = libc::ERANGE;

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Errno(error.raw_os_error())
    }
}

impl From<Fault> for Errno {
    fn from(_: Fault) -> Self {
        Errno(libc::EFAULT)
    }
}

/// The host's number, and SPARC's.
const NUMBERS: &[(i32, u64)] = &[
    (libc::EINPROGRESS, 36),
    (libc::EALREADY, 37),
    (libc::ENOTSOCK, 38),
    (libc::EDESTADDRREQ, 39),
    (libc::EMSGSIZE, 40),
    (libc::EPROTOTYPE, 41),
    (libc::ENOPROTOOPT, 42),
    (libc::EPROTONOSUPPORT, 43),
    (libc::ESOCKTNOSUPPORT, 44),
    (libc::EOPNOTSUPP, 45),
    (libc::EPFNOSUPPORT, 46),
    (libc::EAFNOSUPPORT, 47),
    (libc::EADDRINUSE, 48),
    (libc::EADDRNOTAVAIL, 49),
    (libc::ENETDOWN, 50),
    (libc::ENETUNREACH, 51),
    (libc::ENETRESET, 52),
    (libc::ECONNABORTED, 53),
    (libc::ECONNRESET, 54),
    (libc::ENOBUFS, 55),
    (libc::EISCONN, 56),
    (libc::ENOTCONN, 57),
    (libc::ESHUTDOWN, 58),
    (libc::ETOOMANYREFS, 59),
    (libc::ETIMEDOUT, 60),
    (libc::ECONNREFUSED, 61),
    (libc::ELOOP, 62),
    (libc::ENAMETOOLONG, 63),
    (libc::EHOSTDOWN, 64),
    (libc::EHOSTUNREACH, 65),
    (libc::ENOTEMPTY, 66),
    (libc::EUSERS, 68),
    (libc::EDQUOT, 69),
    (libc::ESTALE, 70),
    (libc::EREMOTE, 71),
    (libc::ENOSTR, 72),
    (libc::ETIME, 73),
    (libc::ENOSR, 74),
    (libc::ENOMSG, 75),
    (libc::EBADMSG, 76),
    (libc::EIDRM, 77),
    (libc::EDEADLK, 78),
    (libc::ENOLCK, 79),
    (libc::ENONET, 80),
    (libc::ENOLINK, 82),
    (libc::EADV, 83),
    (libc::ESRMNT, 84),
    (libc::ECOMM, 85),
    (libc::EPROTO, 86),
    (libc::EMULTIHOP, 87),
    (libc::EDOTDOT, 88),
    (libc::EREMCHG, 89),
    (libc::ENOSYS, 90),
    (libc::ESTRPIPE, 91),
    (libc::EOVERFLOW, 92),
    (libc::EBADFD, 93),
    (libc::ECHRNG, 94),
    (libc::EL2NSYNC, 95),
    (libc::EL3HLT, 96),
    (libc::EL3RST, 97),
    (libc::ELNRNG, 98),
    (libc::EUNATCH, 99),
    (libc::ENOCSI, 100),
    (libc::EL2HLT, 101),
    (libc::EBADE, 102),
    (libc::EBADR, 103),
    (libc::EXFULL, 104),
    (libc::ENOANO, 105),
    (libc::EBADRQC, 106),
    (libc::EBADSLT, 107),
    (libc::EBFONT, 109),
    (libc::ELIBEXEC, 110),
    (libc::ENODATA, 111),
    (libc::ELIBBAD, 112),
    (libc::ENOPKG, 113),
    (libc::ELIBACC, 114),
    (libc::ENOTUNIQ, 115),
    (libc::ERESTART, 116),
    (libc::EUCLEAN, 117),
    (libc::ENOTNAM, 118),
    (libc::ENAVAIL, 119),
    (libc::EISNAM, 120),
    (libc::EREMOTEIO, 121),
    (libc::EILSEQ, 122),
    (libc::ELIBMAX, 123),
    (libc::ELIBSCN, 124),
    (libc::ENOMEDIUM, 125),
    (libc::EMEDIUMTYPE, 126),
    (libc::ECANCELED, 127),
    (libc::ENOKEY, 128),
    (libc::EKEYEXPIRED, 129),
    (libc::EKEYREVOKED, 130),
    (libc::EKEYREJECTED, 131),
    (libc::EOWNERDEAD, 132),
    (libc::ENOTRECOVERABLE, 133),
    (libc::ERFKILL, 134),
    (libc::EHWPOISON, 135),
];

/// SPARC's number of an error, which a program is told.
#[must_use]
pub fn of_sparc(error: Errno) -> u64 {
    let host = error.0;
    if host <= COMMON {
        return host as u64;
    }
    // An error without a number on SPARC is still a failure.
    NUMBERS.iter().find(|(number, _)| *number == host).map_or(libc::EIO as u64, |(_, sparc)| *sparc)
}

/// The host's error for a number of a program.
#[must_use]
pub fn of_host(sparc: u64) -> Errno {
    let known = NUMBERS.iter().find(|(_, number)| *number == sparc).map(|(host, _)| *host);
    Errno(known.unwrap_or(sparc as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_sparc() {
        for (host, sparc) in [
            (Errno(libc::EPERM), 1),
            (Errno(libc::ERANGE), 34),
            (Errno(libc::EINPROGRESS), 36),
            (Errno(libc::ELOOP), 62),
            (Errno(libc::ENAMETOOLONG), 63),
            (Errno(libc::ENOTEMPTY), 66),
            (Errno(libc::EDEADLK), 78),
            (Errno(libc::ENOSYS), 90),
            (Errno(libc::EHWPOISON), 135),
        ] {
            assert_eq!(of_sparc(host), sparc);
            assert_eq!(of_host(sparc), host);
        }
    }

    #[test]
    fn no_number_stands_for_two_errors() {
        let mut sparc: Vec<_> = NUMBERS.iter().map(|(_, sparc)| *sparc).collect();
        sparc.sort_unstable();
        assert!(sparc.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((sparc.first(), sparc.last()), (Some(&36), Some(&135)));
    }
}

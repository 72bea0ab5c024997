//! The reasons for which a session or a device can't be had, with DPDK's error number for each.

use std::fmt;

use libc::c_int;

use crate::algorithms::{Class, Range};

/// The reason why there is no session, or no device.
#[derive(Debug)]
pub enum Refusal {
    /// The table has no such algorithm.
    Algorithm(Class, u32),
    /// A length is none that the algorithm has.
    Length {
        /// The thing that has the length.
        of: &'static str,
        /// The length that was given.
        given: u16,
        /// The lengths that the algorithm has.
        takes: Range,
    },
    /// The chain of transforms is none that is offered.
    Chain,
    /// An engine, a queue or the service refused.
    Millstream(millstream::Error),
}

impl Refusal {
    /// Returns the error number for DPDK, which is negative.
    pub fn number(&self) -> c_int {
        match self {
            Refusal::Algorithm(..) | Refusal::Chain => -libc::ENOTSUP,
            Refusal::Length { .. } => -libc::EINVAL,
            Refusal::Millstream(millstream::Error::KeySlots) => -libc::ENOSPC,
            Refusal::Millstream(millstream::Error::Key(_)) => -libc::EACCES,
            Refusal::Millstream(millstream::Error::Engine(_)) => -libc::EINVAL,
            Refusal::Millstream(_) => -libc::EIO,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Algorithm(class, number) => {
                write!(
                    f,
                    "the algorithm {number} of class {class:?} is not offered: see the device's capabilities"
                )
            }
            Refusal::Length { of, given, takes: Range { min, max, increment } } => {
                write!(f, "{given} bytes of {of}; the algorithm takes {min} to {max} in steps of {increment}")
            }
            Refusal::Chain => f.write_str(
                "no such chain of transforms: a cipher, an authentication, both in either order, or an AEAD",
            ),
            Refusal::Millstream(error) => error.fmt(f),
        }
    }
}

impl<E: Into<millstream::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Millstream(error.into())
    }
}

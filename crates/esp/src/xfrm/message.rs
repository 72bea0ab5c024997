//! The things that the kernel tells, and what can be wrong with that.

use std::fmt;
use std::net::IpAddr;

use crate::description::{Description, Policy};

/// Something that the kernel tells.
#[derive(Debug)]
pub enum KernelMessage {
    /// There is such an association, which is new or has changed.
    State(Box<Description>),
    /// An association was removed.
    StateGone(KernelState),
    /// All associations of ESP were removed.
    StatesGone,
    /// A lifetime has ended; behind the hard one the association is removed.
    Expired {
        /// The association.
        state: KernelState,
        /// True for the hard limit.
        hard: bool,
    },
    /// There is such a policy, which is new or has changed.
    Policy {
        /// The policy.
        policy: Policy,
        /// True if it is for packets that are forwarded, which the kernel tells apart from those for this machine.
        forwarded: bool,
    },
    /// A policy was removed. Its selector and its direction tell which.
    PolicyGone {
        /// The policy, of which nothing else is known.
        policy: Policy,
        /// True if it was for packets that are forwarded.
        forwarded: bool,
    },
    /// All policies were removed.
    PoliciesGone,
    /// The list that was asked for has ended. It is not whole if there was a change meanwhile.
    End {
        /// True if all that was there is in the list.
        whole: bool,
    },
    /// A request was refused, with this number of the system's.
    Refused(i32),
    /// Something that is of no concern: an association without keys yet, one of another protocol, or a socket's policy.
    Other,
}

/// The SPI and the outer destination by which the kernel knows an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelState {
    /// The security parameters index.
    pub spi: u32,
    /// The outer destination.
    pub destination: IpAddr,
}

/// The reason why a message is not understood, or something in it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError(String);

impl KernelError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        KernelError(what.into())
    }

    /// Says why an attribute is refused: it is among those that are known and not there, or `owner` has no such attribute that is known.
    pub(super) fn refused(kind: u16, not_there: &[(u16, &str)], owner: &str) -> Self {
        match not_there.iter().find(|(number, _)| *number == kind) {
            Some((_, name)) => KernelError(format!("{name}: not there")),
            None => KernelError(format!("attribute {kind} of {owner}: not known")),
        }
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KernelError {}

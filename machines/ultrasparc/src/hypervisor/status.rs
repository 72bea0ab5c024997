//! What the hypervisor answers.
//! Ref. UltraSPARC Virtual Machine Specification 3.0, §1.4 and §25.2.

/// A hypervisor call's status, which it leaves in %o0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Status {
    /// Well.
    Ok = 0,
    /// No such processor.
    NoCpu = 1,
    /// No such real address.
    NoRealAddress = 2,
    /// An argument that can't be.
    Invalid = 6,
    /// No such function, or not of the version agreed on.
    BadTrap = 7,
    /// An address or size that is no multiple of what it must be.
    BadAlignment = 8,
    /// It would have to wait.
    WouldBlock = 9,
    /// Not the caller's.
    NoAccess = 10,
    /// An error of the hardware.
    Io = 11,
    /// No such version.
    NotSupported = 13,
}

/// What a call leaves in %o0 to %o3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// %o0.
    pub status: Status,
    /// %o1 to %o3.
    pub results: [u64; 3],
}

impl From<Status> for Reply {
    fn from(status: Status) -> Reply {
        Reply { status, results: [0; 3] }
    }
}

impl From<Result<[u64; 3], Status>> for Reply {
    fn from(result: Result<[u64; 3], Status>) -> Reply {
        match result {
            Ok(results) => Reply { status: Status::Ok, results },
            Err(status) => status.into(),
        }
    }
}

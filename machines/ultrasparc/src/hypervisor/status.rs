//! The hypervisor's answers.
//! Ref. UltraSPARC Virtual Machine Specification 3.0, §1.4 and §25.2.

/// A hypervisor call's status, which it leaves in %o0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Status {
    /// The call is done.
    Ok = 0,
    /// There is no such processor.
    NoCpu = 1,
    /// There is no such real address.
    NoRealAddress = 2,
    /// An argument is invalid.
    Invalid = 6,
    /// There is no such function, or not in the version agreed on.
    BadTrap = 7,
    /// An address or size is not the multiple that it has to be.
    BadAlignment = 8,
    /// The call would have to wait.
    WouldBlock = 9,
    /// The caller may not use this.
    NoAccess = 10,
    /// The hardware failed.
    Io = 11,
    /// There is no such version.
    NotSupported = 13,
}

/// The registers that a call leaves: %o0 to %o3.
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

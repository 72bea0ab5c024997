//! The rights that a worker gives up before it serves anybody, for good.
//!
//! First what the process can do, in this order: be dumped, gain privileges, use other descriptors, be root, reach the
//! network, open files. Then, for each thread, all system calls but those it needs. The end of the broker is seen on the
//! control socket, not by a signal.
//!
//! # Safety
//! Namespaces are left while the process has one thread, so that no other thread has the old ones.
#![allow(unsafe_code)]

mod filter;

use std::fmt;
use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr,
    RulesetStatus, Scope,
};
use millstream_shm::plain;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, geteuid, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags, set_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};
use seccompiler::BpfProgram;

pub use filter::{BadRules, Role, Rule, all_rules};

/// Why a worker could not be confined. It does not serve then.
#[derive(Debug)]
#[non_exhaustive]
pub enum SandboxError {
    /// A step that every kernel can do failed.
    Step(&'static str, io::Error),
    /// The rules can't be used.
    Rules(BadRules),
    /// The kernel refuses the filter.
    Filter(seccompiler::Error),
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SandboxError::Step(what, error) => write!(f, "it can't {what}: {}", plain(error)),
            SandboxError::Rules(error) => error.fmt(f),
            SandboxError::Filter(error) => write!(
                f,
                "the kernel takes no seccomp filter ({error}): use one with CONFIG_SECCOMP_FILTER, and a container that allows it"
            ),
        }
    }
}

fn step<T>(what: &'static str, done: Result<T, rustix::io::Errno>) -> Result<T, SandboxError> {
    done.map_err(|error| SandboxError::Step(what, error.into()))
}

/// The filter of one thread, compiled while reading its rules does no harm.
pub(super) struct Filter(BpfProgram);

impl Filter {
    pub(super) fn new(role: Role, deny: Option<&str>) -> Result<Self, SandboxError> {
        filter::program(role, std::env::consts::ARCH, deny).map(Filter).map_err(SandboxError::Rules)
    }

    /// Confines this thread to what its rules say, for good.
    pub(super) fn apply(&self) -> Result<(), SandboxError> {
        seccompiler::apply_filter(&self.0).map_err(SandboxError::Filter)
    }
}

/// Gives up debuggers, core dumps and new privileges. Returns how many bytes may be locked, if there is a limit.
pub(super) fn hide(locked: u64) -> Result<Option<u64>, SandboxError> {
    step("be kept from being dumped", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    step("give up core dumps", setrlimit(Resource::Core, none))?;
    step("give up new privileges", set_no_new_privs(true))?;
    Ok(raise_locked(locked))
}

/// Raises the limit of locked memory to what keys may take, as far as the system lets it: what can't be locked is
/// refused later.
fn raise_locked(locked: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Memlock);
    let maximum =
        limit.maximum.map(|maximum| if geteuid().is_root() { maximum.max(locked) } else { maximum });
    let _ = setrlimit(Resource::Memlock, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Memlock).current
}

/// Gives up what the process could do, and says in a few words what holds.
pub(super) fn confine(user: (u32, u32)) -> Result<String, SandboxError> {
    let network = leave_network();
    let privileges = drop_privileges(user)?;
    // Another user makes it dumpable again.
    step("be kept from being dumped", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    let landlock = close_files()?;
    let network = if network { "own network" } else { "the machine's network" };
    Ok(format!("seccomp, {landlock}, {network}, {privileges}"))
}

/// A network of its own, in which there is nothing; whether it could be had.
fn leave_network() -> bool {
    // SAFETY: see the file's head. Descriptors stay as they are.
    let leave = |flags| unsafe { unshare_unsafe(flags) }.is_ok();
    leave(UnshareFlags::NEWNET) || leave(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)
}

/// Root becomes another user. Capabilities that are left, as in a name space of its own, are given up.
fn drop_privileges((uid, gid): (u32, u32)) -> Result<String, SandboxError> {
    let mut what = "no privileges".to_owned();
    if geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let dropped = set_thread_groups(&[])
            .and_then(|()| set_thread_res_gid(gid, gid, gid))
            .and_then(|()| set_thread_res_uid(uid, uid, uid));
        // In a container there may be no other user.
        if dropped.is_err() {
            what = "root without capabilities".to_owned();
        }
    }
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    step("give up capabilities", set_capabilities(None, none))?;
    Ok(what)
}

/// No file can be opened, nothing connected to, nobody outside signalled, as far as the kernel knows how to say so.
fn close_files() -> Result<String, SandboxError> {
    const NEWEST: ABI = ABI::V9;
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.restrict_self());
    let status = restricted.map_err(|error| {
        SandboxError::Step("be kept from files by landlock", io::Error::other(error.to_string()))
    })?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if status.ruleset != RulesetStatus::NotEnforced => {
            format!("landlock {}", effective_abi as i32)
        }
        _ => "no landlock".to_owned(),
    })
}

//! The real processor's answers to CPUID, and whether the kernel can make CPUID fault.
//!
//! # Safety
//! `arch_prctl` is called with codes that take a number and no pointer.
#![allow(unsafe_code)]

use std::fmt;

#[cfg(target_arch = "x86_64")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

#[cfg(target_arch = "x86_64")]
use super::answer::{Answer, Question};

/// The reason why CPUID can't be made to fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// The kernel is older than 4.12.
    Kernel,
    /// The processor can't, or a hypervisor hides that it can.
    Processor,
    /// The kernel refuses the call, with this error.
    Refused(i32),
    /// The architecture is neither x86-64 nor AArch64.
    Architecture,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Kernel => f.write_str("this kernel can't have CPUID fault: that needs Linux 4.12 or later"),
            Unsupported::Processor => f.write_str(
                "this processor, or the hypervisor it is behind, can't have CPUID fault (no cpuid_fault in /proc/cpuinfo)",
            ),
            Unsupported::Refused(error) => write!(
                f,
                "arch_prctl is refused ({}): a seccomp filter forbids it here, as some containers' do",
                std::io::Error::from_raw_os_error(*error)
            ),
            Unsupported::Architecture => f.write_str("features can be withheld on x86-64 and AArch64 only"),
        }
    }
}

impl std::error::Error for Unsupported {}

/// The `arch_prctl` code that asks whether this thread may execute CPUID.
#[cfg(target_arch = "x86_64")]
const ARCH_GET_CPUID: i32 = 0x1011;

/// The `arch_prctl` code that lets CPUID be executed (1) or fault (0).
#[cfg(target_arch = "x86_64")]
pub(super) const ARCH_SET_CPUID: u64 = 0x1012;

/// Checks whether features can be hidden from programs here.
///
/// # Errors
/// Returns the reason why they can't.
#[cfg(target_arch = "x86_64")]
pub fn supported() -> Result<(), Unsupported> {
    let call = |code: i32, argument: u64| {
        // SAFETY: see the module's head.
        match unsafe { libc::syscall(libc::SYS_arch_prctl, code, argument) } {
            -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
            value => Ok(value),
        }
    };
    // CPUID faults in this process already. Setting it again would show this process everything.
    if call(ARCH_GET_CPUID, 0) == Ok(0) {
        return Ok(());
    }
    match call(ARCH_SET_CPUID as i32, 1) {
        Ok(_) => Ok(()),
        Err(libc::EINVAL) => Err(Unsupported::Kernel),
        Err(libc::ENODEV) => Err(Unsupported::Processor),
        Err(error) => Err(Unsupported::Refused(error)),
    }
}

/// Checks whether features can be hidden from programs here.
///
/// # Errors
/// Returns the reason why they can't.
#[cfg(not(target_arch = "x86_64"))]
pub fn supported() -> Result<(), Unsupported> {
    if cfg!(target_arch = "aarch64") { Ok(()) } else { Err(Unsupported::Architecture) }
}

/// Leaves whose answers differ between processors: number, caches, kind of core.
#[cfg(target_arch = "x86_64")]
const OWN: [u32; 10] = [1, 2, 4, 0xb, 0x18, 0x1a, 0x1f, 0x8000_001d, 0x8000_001e, 0x8000_0026];

/// Returns the thread's affinity, if the answer depends on it and it is a single processor.
#[cfg(target_arch = "x86_64")]
pub(super) fn bound(thread: rustix::process::Pid, question: Question) -> Option<CpuSet> {
    if !OWN.contains(&question.leaf) {
        return None;
    }
    sched_getaffinity(Some(thread)).ok().filter(|set| set.count() == 1)
}

/// Asks the processor; the given one, if one is given.
#[cfg(target_arch = "x86_64")]
pub(super) fn ask(question: Question, on: Option<&CpuSet>) -> Answer {
    let ours = on.filter(|set| !set.is_set(sched_getcpu())).and_then(|_| sched_getaffinity(None).ok());
    if let (Some(set), Some(_)) = (on, &ours) {
        // If the kernel refuses, another processor answers, as for a thread that moves.
        let _ = sched_setaffinity(None, set);
    }
    let answer = cpuid(question);
    if let Some(ours) = ours {
        let _ = sched_setaffinity(None, &ours);
    }
    answer
}

#[cfg(target_arch = "x86_64")]
pub(super) fn cpuid(question: Question) -> Answer {
    let std::arch::x86_64::CpuidResult { eax, ebx, ecx, edx } =
        std::arch::x86_64::__cpuid_count(question.leaf, question.subleaf);
    Answer { eax, ebx, ecx, edx }
}

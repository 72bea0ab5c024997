//! The system calls of tracing that rustix lacks: ptrace, sigtimedwait, seccomp.
//!
//! # Safety
//! Every pointer handed to the kernel here is to a local of the type and length that the request fills or reads, and lives
//! until the call returns. No request lets the kernel write to memory of this process in any other way.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use libc::{c_int, c_uint, c_void, sigaction, sigset_t};
use rustix::process::{Pid, WaitOptions, getegid, geteuid, getgid, getuid};

use super::registers::Raw;
use super::siginfo::SigInfo;

/// The next stop of a thread that is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    /// The next event.
    On,
    /// The next instruction.
    Step,
    /// The next entry into a system call, or exit from one.
    Syscall,
}

fn request(request: c_uint, pid: Pid, address: usize, data: *mut c_void) -> io::Result<()> {
    // SAFETY: the callers below pass data that is a number, or a pointer as the module's head says.
    let result = unsafe { libc::ptrace(request, pid.as_raw_pid(), address, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn number(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

pub(super) fn seize(pid: Pid, options: c_int) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, 0, number(options as usize))
}

pub(super) fn interrupt(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, pid, 0, null_mut())
}

/// Leaves a thread stopped, and has the kernel report when it is continued.
pub(super) fn listen(pid: Pid) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, pid, 0, null_mut())
}

pub(super) fn go(pid: Pid, how: Go, signal: c_int) -> io::Result<()> {
    let how = match how {
        Go::On => libc::PTRACE_CONT,
        Go::Step => libc::PTRACE_SINGLESTEP,
        Go::Syscall => libc::PTRACE_SYSCALL,
    };
    request(how, pid, 0, number(signal as usize))
}

pub(super) fn detach(pid: Pid, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_DETACH, pid, 0, number(signal as usize))
}

/// Returns the value that belongs to a thread's event: the child's number, the former number, or the filter's
/// mark.
pub(super) fn event_message(pid: Pid) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, pid, 0, (&raw mut message).cast())?;
    Ok(message)
}

pub(super) fn signal_info(pid: Pid) -> io::Result<SigInfo> {
    let mut info = SigInfo::default();
    request(libc::PTRACE_GETSIGINFO, pid, 0, (&raw mut info).cast())?;
    Ok(info)
}

/// Sets what a signal's handler will be told, while the thread is stopped for that signal.
pub(super) fn set_signal_info(pid: Pid, info: &SigInfo) -> io::Result<()> {
    let mut info = *info;
    request(libc::PTRACE_SETSIGINFO, pid, 0, (&raw mut info).cast())
}

/// Removes a signal from a stopped thread's mask.
pub(super) fn unblock(pid: Pid, signal: c_int) -> io::Result<()> {
    const GETSIGMASK: c_uint = 0x420a;
    const SETSIGMASK: c_uint = 0x420b;
    let mut mask: u64 = 0;
    request(GETSIGMASK, pid, size_of::<u64>(), (&raw mut mask).cast())?;
    let bit = 1 << (signal - 1);
    if mask & bit == 0 {
        return Ok(());
    }
    mask &= !bit;
    request(SETSIGMASK, pid, size_of::<u64>(), (&raw mut mask).cast())
}

/// Returns signals that are pending for this thread alone.
pub(super) fn pending(pid: Pid) -> io::Result<Vec<SigInfo>> {
    const MOST: usize = 8;
    let mut infos = [SigInfo::default(); MOST];
    let arguments = libc::ptrace_peeksiginfo_args { off: 0, flags: 0, nr: MOST as i32 };
    let arguments = (&raw const arguments).expose_provenance();
    // SAFETY: the arguments ask for no more than the array holds.
    let count = unsafe {
        libc::ptrace(
            libc::PTRACE_PEEKSIGINFO,
            pid.as_raw_pid(),
            arguments,
            infos.as_mut_ptr().cast::<c_void>(),
        )
    };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    Ok(infos[..count].to_vec())
}

/// Returns the general registers.
pub(super) fn registers(pid: Pid) -> io::Result<Raw> {
    // SAFETY: the structure is numbers, of which zero is one.
    let mut raw: Raw = unsafe { zeroed() };
    let mut vector = libc::iovec { iov_base: (&raw mut raw).cast(), iov_len: size_of::<Raw>() };
    if cfg!(target_arch = "x86_64") {
        // This request has one form for 64-bit and 32-bit programs.
        request(GETREGS, pid, 0, (&raw mut raw).cast())?;
    } else {
        request(libc::PTRACE_GETREGSET, pid, NT_PRSTATUS, (&raw mut vector).cast())?;
        if vector.iov_len != size_of::<Raw>() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it is a 32-bit program"));
        }
    }
    Ok(raw)
}

pub(super) fn set_registers(pid: Pid, raw: &Raw) -> io::Result<()> {
    let mut raw = *raw;
    let mut vector = libc::iovec { iov_base: (&raw mut raw).cast(), iov_len: size_of::<Raw>() };
    if cfg!(target_arch = "x86_64") {
        request(SETREGS, pid, 0, (&raw mut raw).cast())
    } else {
        request(libc::PTRACE_SETREGSET, pid, NT_PRSTATUS, (&raw mut vector).cast())
    }
}

const GETREGS: c_uint = 12;
const SETREGS: c_uint = 13;
const NT_PRSTATUS: usize = 1;

/// Restricts a wait to children and traced threads of this thread, also those made by clone.
const OURS: i32 = libc::__WALL | libc::__WNOTHREAD;

/// Returns the next status of any thread, or `None` if there is none yet. `ECHILD` means that there is nobody
/// to wait for.
pub(super) fn wait_any() -> rustix::io::Result<Option<(Pid, i32)>> {
    let options = WaitOptions::from_bits_retain(OURS as u32) | WaitOptions::NOHANG;
    Ok(rustix::process::wait(options)?.map(|(pid, status)| (pid, status.as_raw())))
}

/// Waits for the next status of one thread.
pub(super) fn wait_one(pid: Pid) -> rustix::io::Result<i32> {
    let options = WaitOptions::from_bits_retain(OURS as u32);
    loop {
        match rustix::process::waitpid(Some(pid), options) {
            Ok(Some((_, status))) => return Ok(status.as_raw()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits for the next status of one thread. Returns `None` if the thread is in an uninterruptible wait, for
/// the child that it made with vfork or for a disk. It stops when that wait is over, and executes nothing of
/// the program before.
pub(super) fn wait_soon(pid: Pid) -> Option<i32> {
    const SPIN: Duration = Duration::from_micros(100);
    const PAUSE: Duration = Duration::from_millis(1);
    /// The number of looks in a row that must find the thread waiting, as it may wait for a moment only.
    const ASLEEP: u32 = 3;
    const MOST: Duration = Duration::from_secs(2);
    let options = WaitOptions::from_bits_retain(OURS as u32) | WaitOptions::NOHANG;
    let began = Instant::now();
    let mut asleep = 0;
    while asleep < ASLEEP && began.elapsed() < MOST {
        match rustix::process::waitpid(Some(pid), options) {
            Ok(Some((_, status))) => return Some(status.as_raw()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
        if began.elapsed() < SPIN {
            std::thread::yield_now();
            continue;
        }
        std::thread::sleep(PAUSE);
        asleep = if is_asleep(pid) { asleep + 1 } else { 0 };
    }
    None
}

/// Returns true when a thread waits uninterruptibly or has ended.
fn is_asleep(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A thread that runs, sleeps or is stopped will report its stop soon. One that has ended won't.
    stat.rsplit_once(") ").is_none_or(|(_, rest)| !rest.starts_with(['R', 'S', 't', 'T']))
}

/// Waits for the next stop of one thread, without reaping it if it ends. `ECHILD` means that it has ended.
pub(super) fn wait_stop(pid: Pid) -> rustix::io::Result<i32> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::from_bits_retain(OURS as u32) | WaitIdOptions::STOPPED;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) => {
                let stop = status.trapping_signal().or_else(|| status.stopping_signal()).unwrap_or(0);
                return Ok(stop << 8 | 0x7f);
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// A set of signals.
#[derive(Clone, Copy)]
pub(super) struct Set(sigset_t);

impl Set {
    pub(super) fn of(signals: &[c_int]) -> Set {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset writes all of the set; sigaddset changes a set that was written.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), *signal);
            }
            Set(set.assume_init())
        }
    }

    /// Blocks these signals in this thread, in addition to others. Returns the mask from before.
    pub(super) fn block(&self) -> io::Result<Set> {
        self.mask(libc::SIG_BLOCK)
    }

    /// Makes this set the mask of this thread. May be called after fork.
    pub(super) fn set(&self) -> io::Result<()> {
        self.mask(libc::SIG_SETMASK).map(drop)
    }

    fn mask(&self, how: c_int) -> io::Result<Set> {
        let mut before = MaybeUninit::uninit();
        // SAFETY: the old set is written when the call succeeds, and only read then.
        unsafe {
            match libc::pthread_sigmask(how, &self.0, before.as_mut_ptr()) {
                0 => Ok(Set(before.assume_init())),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Waits until one of these blocked signals arrives here, for `most` at most.
    pub(super) fn wait(&self, most: Option<Duration>) -> Option<SigInfo> {
        let mut info = SigInfo::default();
        let most = most.map(|most| libc::timespec {
            tv_sec: most.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: most.subsec_nanos().into(),
        });
        let most = most.as_ref().map_or(null(), |most| most as *const libc::timespec);
        // SAFETY: SigInfo has the size and alignment of siginfo_t.
        let signal = unsafe { libc::sigtimedwait(&self.0, (&raw mut info).cast(), most) };
        (signal > 0).then_some(info)
    }
}

/// The disposition of a signal.
#[derive(Clone, Copy)]
pub(super) struct Disposition(sigaction);

/// Gives SIGCHLD its default disposition, because nobody is told of stops where it is ignored. Returns the
/// one from before.
pub(super) fn default_sigchld() -> io::Result<Disposition> {
    // SAFETY: a zeroed sigaction is the default disposition, with no flags and an empty mask.
    let usual: sigaction = unsafe { zeroed() };
    let mut before = usual;
    // SAFETY: the default disposition is no handler.
    let result = unsafe { libc::sigaction(libc::SIGCHLD, &usual, &mut before) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(Disposition(before)) }
}

impl Disposition {
    /// Restores SIGCHLD's disposition. May be called after fork.
    pub(super) fn set(&self) -> io::Result<()> {
        // SAFETY: it is what this process had before.
        let result = unsafe { libc::sigaction(libc::SIGCHLD, &self.0, null_mut()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Stops this process as if by the signal's default, until somebody continues it.
pub(super) fn stop_self() {
    // SAFETY: raise takes a number.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Sends a signal to one thread. A thread that is gone is no error.
pub(super) fn tell(pid: Pid, tid: Pid, signal: c_int) {
    // SAFETY: tgkill takes three numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, pid.as_raw_pid(), tid.as_raw_pid(), signal) };
}

/// Sends a signal to a process. A process that is gone is no error.
pub(super) fn send(pid: Pid, signal: c_int) {
    // SAFETY: kill takes two numbers.
    unsafe { libc::kill(pid.as_raw_pid(), signal) };
}

/// Returns true when two processes share their memory, and false where the kernel does not say.
pub(super) fn share_memory(one: Pid, other: Pid) -> bool {
    const KCMP_VM: c_int = 1;
    // SAFETY: kcmp takes numbers.
    unsafe { libc::syscall(libc::SYS_kcmp, one.as_raw_pid(), other.as_raw_pid(), KCMP_VM, 0, 0) == 0 }
}

/// Puts this process and its descendants under the filter. May be called after fork.
pub(super) fn install_filter(program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let install = || {
        // SAFETY: the kernel copies the program, which is borrowed until then.
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) }
    };
    if install() == 0 {
        return Ok(());
    }
    // Unprivileged processes may install a filter only after giving up any gain of privileges.
    rustix::thread::set_no_new_privs(true)?;
    if install() == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns true when this process has more rights than whoever started it, so that its environment is not
/// trusted.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: getauxval takes a number and returns one.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
    is_secure || getuid() != geteuid() || getgid() != getegid()
}

//! Calls that make, replace, await and end processes.

use std::ffi::{CString, OsStr};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::linux::elf;
use crate::linux::errno::{Errno, RESTART};
use crate::linux::flags;
use crate::linux::host::{self, bytes};
use crate::linux::process::{After, Ended, Process};
use crate::linux::signals::{information_of_host, status_of_host, to_host};
use crate::linux::structures::{self as s, guest_u32, guest_u64};
use crate::linux::syscalls::{Answer, Call, call, int};

/// Flags of `clone`.
const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;
/// Its low byte is the signal at the child's end.
const SIGNAL_MASK: u64 = 0xff;

pub(super) const CALLS: &[Call] = &[
    call(1, "exit", "d", end),
    call(188, "exit_group", "d", end),
    call(2, "fork", "", |p, _| fork(p, None)),
    // The parent's memory is not lent but copied: it does not matter to programs that do what vfork permits.
    call(66, "vfork", "", |p, _| fork(p, None)),
    call(217, "clone", "xpppp", clone),
    call(59, "execve", "spp", |p, a| execute(p, None, a[0], a[1], a[2])),
    call(350, "execveat", "dsppx", |p, a| execute(p, Some((a[0], a[4])), a[1], a[2], a[3])),
    call(7, "wait4", "dpxp", |p, a| wait4(p, a[0], a[1], a[2], a[3])).restarting(),
    call(212, "waitpid", "dpx", |p, a| wait4(p, a[0], a[1], a[2], 0)).restarting(),
    call(279, "waitid", "ddpxp", waitid).restarting(),
    call(434, "pidfd_open", "dx", |_, a| host::call(host::PIDFD_OPEN, [int(a[0]).into(), a[1].into()])),
    call(166, "set_tid_address", "p", |_, _| host::call(host::GETTID, [])),
    // Its locks are those of threads.
    call(300, "set_robust_list", "pd", |_, _| Ok(0)),
    call(142, "futex", "pdxppx", futex),
    call(117, "getrusage", "dp", |p, a| {
        let mut usage = [0; bytes::RUSAGE];
        let done = host::call(host::GETRUSAGE, [int(a[0]).into(), usage.as_mut_slice().into()])?;
        p.cpu.memory.write(a[1], &s::rusage_of_host(&usage))?;
        Ok(done)
    }),
    call(144, "getrlimit", "dp", |p, a| limit(p, 0, a[0], 0, a[1])),
    call(145, "setrlimit", "dp", |p, a| limit(p, 0, a[0], a[1], 0)),
    call(331, "prlimit64", "ddpp", |p, a| limit(p, a[0], a[1], a[2], a[3])),
    call(147, "prctl", "dxxxx", prctl),
];

fn end(p: &mut Process, a: &[u64; 6]) -> Answer {
    p.after = After::End(Ended::Exited(a[0] as u8));
    Ok(0)
}

/// In the parent %o0 is the child and %o1 zero; in the child %o0 is the parent and %o1 one.
fn fork(p: &mut Process, stack: Option<u64>) -> Answer {
    let parent = rustix::process::getpid().as_raw_pid();
    if host::is_caught() {
        return Err(RESTART);
    }
    match host::fork()? {
        0 => {
            // What comes to the parent is not the child's.
            host::forget();
            p.signals.set_mask(p.signals.mask);
            p.cpu.r[9] = 1;
            if let Some(stack) = stack {
                p.cpu.r[14] = stack;
            }
            Ok(parent as u64)
        }
        child => {
            p.cpu.r[9] = 0;
            Ok(child as u64)
        }
    }
}

fn clone(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [flags, stack, parent_tid, tls, child_tid, _] = *a;
    if flags & CLONE_VM != 0 && flags & CLONE_VFORK == 0 {
        p.say("it starts a thread, and programs have one only here: it is told to try again later (EAGAIN)");
        return Err(Errno(libc::EAGAIN));
    }
    // That the child's number is cleared at its end is for threads alone.
    let numbers = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    let known = SIGNAL_MASK | CLONE_VM | CLONE_VFORK | CLONE_SETTLS | numbers;
    if flags & !known != 0 {
        return Err(Errno(libc::EINVAL));
    }
    let before = rustix::process::getpid();
    let answer = fork(p, (stack != 0).then_some(stack))?;
    let own = rustix::process::getpid();
    let is_child = own != before;
    let child = if is_child { own.as_raw_pid() as u32 } else { answer as u32 };
    if flags & CLONE_PARENT_SETTID != 0 {
        p.put(parent_tid, &child.to_be_bytes())?;
    }
    if is_child && flags & CLONE_CHILD_SETTID != 0 {
        p.put(child_tid, &child.to_be_bytes())?;
    }
    if is_child && flags & CLONE_SETTLS != 0 {
        p.cpu.r[7] = tls;
    }
    Ok(answer)
}

/// The texts of a list that ends with a null pointer.
fn texts(p: &Process, mut address: u64) -> Result<Vec<CString>, Errno> {
    let mut texts = Vec::new();
    while address != 0 {
        let text = guest_u64(p.bytes(address, 8)?, 0);
        if text == 0 {
            break;
        }
        let bytes = p.cpu.memory.c_string(text)?;
        texts.push(CString::new(bytes).map_err(|_| Errno(libc::EINVAL))?);
        address += 8;
    }
    Ok(texts)
}

/// Becomes another program: one of this machine's in a new emulator, another by the host's kernel.
fn execute(p: &mut Process, at: Option<(u64, u64)>, path: u64, arguments: u64, environment: u64) -> Answer {
    let mut path = p.path(path)?;
    if let Some((directory, _)) = at.filter(|_| !path.as_bytes().starts_with(b"/")) {
        path = beside(directory, &path)?;
    }
    if path.as_bytes() == b"/proc/self/exe" {
        path = CString::new(p.file.as_os_str().as_bytes()).map_err(|_| Errno(libc::ENOENT))?;
    }
    let (arguments, environment) = (texts(p, arguments)?, texts(p, environment)?);
    let file = Path::new(OsStr::from_bytes(path.as_bytes()));
    let ours = is_ours(file)?;
    if !ours {
        return Err(host::execute(&path, &arguments, &environment));
    }
    if p.settings.again.is_empty() {
        p.say("it starts another program, which is not offered here");
        return Err(Errno(libc::ENOSYS));
    }
    let own = std::env::current_exe().map_err(|_| Errno(libc::ENOENT))?;
    let own = CString::new(own.into_os_string().into_vec()).map_err(|_| Errno(libc::ENOENT))?;
    let again = p.settings.again.iter().filter_map(|word| CString::new(word.as_bytes()).ok());
    let name = arguments.first().cloned().unwrap_or_default();
    let rest = arguments.into_iter().skip(1);
    let arguments: Vec<_> = again.chain([name, path]).chain(rest).collect();
    Err(host::execute(&own, &arguments, &environment))
}

/// A path beside a descriptor's directory.
fn beside(directory: u64, path: &CString) -> Result<CString, Errno> {
    let directory = directory as i32;
    if directory == libc::AT_FDCWD {
        return Ok(path.clone());
    }
    let mut whole = format!("/proc/self/fd/{directory}").into_bytes();
    if !path.as_bytes().is_empty() {
        whole.push(b'/');
        whole.extend_from_slice(path.as_bytes());
    }
    CString::new(whole).map_err(|_| Errno(libc::ENOENT))
}

/// Whether a file can be executed, and is a program for this machine.
fn is_ours(file: &Path) -> Result<bool, Errno> {
    let failed = |error: std::io::Error| Errno(error.raw_os_error().unwrap_or(libc::EACCES));
    let metadata = std::fs::metadata(file).map_err(failed)?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(Errno(libc::EACCES));
    }
    let mut start = Vec::new();
    // One that can be executed and not read is left to the kernel.
    if let Ok(file) = std::fs::File::open(file) {
        file.take(64).read_to_end(&mut start).map_err(failed)?;
    }
    Ok(elf::is_ours(&start))
}

fn wait4(p: &mut Process, pid: u64, status: u64, options: u64, usage: u64) -> Answer {
    let (mut host_status, mut host_usage) = ([0; 4], [0; bytes::RUSAGE]);
    let child = host::call(
        host::WAIT4,
        [
            int(pid).into(),
            host_status.as_mut_slice().into(),
            options.into(),
            host_usage.as_mut_slice().into(),
        ],
    )?;
    if child != 0 {
        p.put(status, &status_of_host(u32::from_ne_bytes(host_status)).to_be_bytes())?;
        p.put(usage, &s::rusage_of_host(&host_usage))?;
    }
    Ok(child)
}

fn waitid(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (mut information, mut usage) = ([0; bytes::SIGINFO], [0; bytes::RUSAGE]);
    let done = host::call(
        host::WAITID,
        [
            int(a[0]).into(),
            int(a[1]).into(),
            information.as_mut_slice().into(),
            a[3].into(),
            usage.as_mut_slice().into(),
        ],
    )?;
    // With WNOHANG and no child all is zero.
    let information = if information[0] == 0 { vec![0; 128] } else { information_of_host(&information) };
    p.put(a[2], &information)?;
    p.put(a[4], &s::rusage_of_host(&usage))?;
    Ok(done)
}

/// A word that other processes have too is the host's. Of one's own there is one thread, so nobody waits to be woken, and who
/// waits for another waits for its time or for a signal.
fn futex(p: &mut Process, a: &[u64; 6]) -> Answer {
    const WAIT: u64 = 0;
    const WAKE: u64 = 1;
    const WAIT_BITSET: u64 = 9;
    const WAKE_BITSET: u64 = 10;
    const OPERATION: u64 = 0x7f;
    const PRIVATE: u64 = 0x80;
    if a[1] & PRIVATE == 0 && p.cpu.memory.is_shared(a[0]) {
        return shared_futex(p, a);
    }
    match a[1] & OPERATION {
        WAKE | WAKE_BITSET => Ok(0),
        operation @ (WAIT | WAIT_BITSET) => {
            if guest_u32(p.bytes(a[0], 4)?, 0) != a[2] as u32 {
                return Err(Errno(libc::EAGAIN));
            }
            wait_in_vain(p, a[3], operation == WAIT_BITSET, a[1])?;
            Err(Errno(libc::ETIMEDOUT))
        }
        _ => Err(Errno(libc::ENOSYS)),
    }
}

/// Waits for, or wakes, who else has the word: each holds it big-endian, so it is compared as it lies there.
fn shared_futex(p: &mut Process, a: &[u64; 6]) -> Answer {
    const WAIT: u64 = 0;
    const WAKE: u64 = 1;
    const WAIT_BITSET: u64 = 9;
    const WAKE_BITSET: u64 = 10;
    const OPERATION: u64 = 0x7f;
    let waits = matches!(a[1] & OPERATION, WAIT | WAIT_BITSET);
    if !waits && !matches!(a[1] & OPERATION, WAKE | WAKE_BITSET) {
        return Err(Errno(libc::ENOSYS));
    }
    let value = if waits { (a[2] as u32).to_be() } else { a[2] as u32 };
    let mut timeout = match a[3] {
        0 => None,
        _ if !waits => None,
        address => Some(p.bytes(address, bytes::TIMESPEC as u64)?.to_vec()),
    };
    if let Some(timeout) = &mut timeout {
        s::swap(timeout, s::TIMESPEC);
    }
    let word = p.bytes(a[0] & !3, 4)?;
    if !a[0].is_multiple_of(4) {
        return Err(Errno(libc::EINVAL));
    }
    let answer = host::call(
        host::FUTEX,
        [
            word.into(),
            (a[1] & 0xffff_ffff).into(),
            u64::from(value).into(),
            timeout.as_deref().into(),
            0.into(),
            (a[5] & 0xffff_ffff).into(),
        ],
    );
    match answer {
        // Without a time it is made once more, as a call of its kind that reads is.
        Err(Errno(libc::EINTR)) if a[3] == 0 && p.restarts_after_caught() => Err(RESTART),
        answer => answer,
    }
}

/// Waits for the time of a futex, which `WAIT_BITSET` names as a point on a clock.
fn wait_in_vain(p: &Process, timeout: u64, is_point: bool, flags: u64) -> Answer {
    const REALTIME: u64 = 0x100;
    if timeout == 0 {
        return host::call(host::PPOLL, [0.into(), 0.into(), 0.into(), 0.into(), 0.into()]);
    }
    let mut time = p.bytes(timeout, bytes::TIMESPEC as u64)?.to_vec();
    s::swap(&mut time, s::TIMESPEC);
    let clock = if is_point && flags & REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    let absolute = if is_point { libc::TIMER_ABSTIME } else { 0 };
    host::call(host::CLOCK_NANOSLEEP, [clock.into(), absolute.into(), time.as_slice().into(), 0.into()])
}

/// The new and the old limit, each if there is an address for it.
fn limit(p: &mut Process, pid: u64, resource: u64, new: u64, old: u64) -> Answer {
    let mut wanted = match new {
        0 => None,
        address => Some(p.bytes(address, bytes::RLIMIT as u64)?.to_vec()),
    };
    if let Some(wanted) = &mut wanted {
        s::swap(wanted, s::RLIMIT);
    }
    let mut before = [0; bytes::RLIMIT];
    let resource = flags::resource(resource);
    // What the program may use of addresses is not what this process needs.
    let spared = resource == libc::RLIMIT_AS as u64 || resource == libc::RLIMIT_DATA as u64;
    let wanted = wanted.as_deref().filter(|_| !spared);
    let done = host::call(
        host::PRLIMIT,
        [int(pid).into(), resource.into(), wanted.into(), before.as_mut_slice().into()],
    )?;
    s::swap(&mut before, s::RLIMIT);
    p.put(old, &before)?;
    Ok(done)
}

fn prctl(p: &mut Process, a: &[u64; 6]) -> Answer {
    let plain = |a: &[u64; 6]| {
        host::call(host::PRCTL, [a[0].into(), a[1].into(), a[2].into(), a[3].into(), a[4].into()])
    };
    let name = |bytes: &mut [u8]| host::call(host::PRCTL_NAME, [a[0].into(), bytes.into()]);
    match a[0] as i32 {
        libc::PR_SET_PDEATHSIG => plain(&[a[0], to_host(a[1]) as u64, 0, 0, 0, 0]),
        libc::PR_GET_DUMPABLE
        | libc::PR_SET_DUMPABLE
        | libc::PR_GET_KEEPCAPS
        | libc::PR_SET_KEEPCAPS
        | libc::PR_CAPBSET_READ
        | libc::PR_SET_NO_NEW_PRIVS
        | libc::PR_GET_NO_NEW_PRIVS
        | libc::PR_SET_TIMERSLACK
        | libc::PR_GET_TIMERSLACK
        | libc::PR_SET_CHILD_SUBREAPER => plain(a),
        libc::PR_SET_NAME => {
            let text = p.cpu.memory.c_string(a[1])?;
            let mut bytes = [0; 16];
            let length = text.len().min(15);
            bytes[..length].copy_from_slice(&text[..length]);
            name(&mut bytes)
        }
        libc::PR_GET_NAME => {
            let mut bytes = [0; 16];
            let done = name(&mut bytes)?;
            p.put(a[1], &bytes)?;
            Ok(done)
        }
        _ => Err(Errno(libc::EINVAL)),
    }
}

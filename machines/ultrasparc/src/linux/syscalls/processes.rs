//! Calls that make, replace, await and end processes.

use std::ffi::{CString, OsStr};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::cpu::Cpu;
use crate::cpu::window::{BIAS, Windows};
use crate::linux::elf;
use crate::linux::errno::{Errno, RESTART};
use crate::linux::flags;
use crate::linux::host::{self, bytes};
use crate::linux::kept::{After, Ended, Left};
use crate::linux::process::Process;
use crate::linux::signals::{information_of_host, status_of_host, to_host};
use crate::linux::structures::{self as s, guest_u64};
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::linux::threads::Beginning;

/// Flags of `clone`.
const CLONE_VM: u64 = 0x100;
const CLONE_FS: u64 = 0x200;
const CLONE_FILES: u64 = 0x400;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SYSVSEM: u64 = 0x4_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
/// An obsolete flag, which musl still sets.
const CLONE_DETACHED: u64 = 0x40_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;
/// The low byte, which has the signal at the child's end.
const SIGNAL_MASK: u64 = 0xff;

pub(super) const CALLS: &[Call] = &[
    call(1, "exit", "d", |p, a| end(p, Left::Thread(a[0] as u8))),
    call(188, "exit_group", "d", |p, a| end(p, Left::Process(Ended::Exited(a[0] as u8)))),
    call(2, "fork", "", |p, _| fork(p, None)),
    // The parent's memory is not lent but copied, which makes no difference to programs that do only what vfork
    // permits.
    call(66, "vfork", "", |p, _| fork(p, None)),
    call(217, "clone", "xpppp", clone),
    call(59, "execve", "spp", |p, a| execute(p, None, a[0], a[1], a[2])),
    call(350, "execveat", "dsppx", |p, a| execute(p, Some((a[0], a[4])), a[1], a[2], a[3])),
    call(7, "wait4", "dpxp", |p, a| wait4(p, a[0], a[1], a[2], a[3])).restarting(),
    call(212, "waitpid", "dpx", |p, a| wait4(p, a[0], a[1], a[2], 0)).restarting(),
    call(279, "waitid", "ddpxp", waitid).restarting(),
    call(434, "pidfd_open", "dx", |_, a| host::call(host::PIDFD_OPEN, [int(a[0]).into(), a[1].into()])),
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

fn end(p: &mut Process, left: Left) -> Answer {
    p.after = After::End(left);
    Ok(0)
}

/// Forks. In the parent %o0 is the child and %o1 zero; in the child %o0 is the parent and %o1 one. `frame` has the
/// child's stack and frame pointers, if they differ from the parent's.
fn fork(p: &mut Process, frame: Option<Frame>) -> Answer {
    let parent = rustix::process::getpid().as_raw_pid();
    if host::is_caught() {
        return Err(RESTART);
    }
    match host::fork()? {
        0 => {
            // Signals that the parent caught are not the child's.
            host::forget();
            p.become_first();
            p.signals.set_mask(p.signals.mask);
            p.cpu.r[9] = 1;
            if let Some(frame) = frame {
                frame.enter(&mut p.cpu);
            }
            Ok(parent as u64)
        }
        child => {
            p.cpu.r[9] = 0;
            Ok(child as u64)
        }
    }
}

/// The beginning of a child's stack: its stack pointer and its frame pointer.
struct Frame {
    stack: u64,
    frame: u64,
}

impl Frame {
    /// Copies the caller's frame below an address on a new stack.
    /// Ref. Linux `arch/sparc/kernel/process_64.c`, `clone_stackframe`.
    fn copied(p: &mut Process, stack: u64) -> Result<Frame, Errno> {
        p.spill_window()?;
        let from = p.cpu.r[14].wrapping_add(BIAS);
        let length = p.cpu.r[30].wrapping_add(BIAS).wrapping_sub(from);
        let end = stack.wrapping_add(BIAS) & !15;
        let to = end.wrapping_sub(length);
        let bytes = p.bytes(from, length)?.to_vec();
        p.cpu.memory.write(to, &bytes)?;
        let frame = end.wrapping_sub(BIAS);
        p.cpu.memory.store_u64(to.wrapping_add(14 * 8), frame)?;
        Ok(Frame { stack: to.wrapping_sub(BIAS), frame })
    }

    fn enter(self, cpu: &mut Cpu) {
        (cpu.r[14], cpu.r[30]) = (self.stack, self.frame);
        // The windows above are the parent's, and its frames hold them.
        cpu.windows = Windows::default();
    }
}

fn clone(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [flags, stack, parent_tid, tls, child_tid, _] = *a;
    if flags & CLONE_VM != 0 && flags & CLONE_VFORK == 0 {
        return thread(p, a);
    }
    // Clearing the child's number at its end matters only to threads.
    let numbers = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    let known = SIGNAL_MASK | CLONE_VM | CLONE_VFORK | CLONE_SETTLS | numbers;
    if flags & !known != 0 {
        return Err(Errno(libc::EINVAL));
    }
    let before = rustix::process::getpid();
    let frame = if stack == 0 { None } else { Some(Frame::copied(p, stack)?) };
    let answer = fork(p, frame)?;
    let own = rustix::process::getpid();
    let is_child = own != before;
    let child = if is_child { own.as_raw_pid() as u32 } else { answer as u32 };
    if flags & CLONE_PARENT_SETTID != 0 {
        p.put(parent_tid, &child.to_be_bytes())?;
    }
    if is_child && flags & CLONE_CHILD_SETTID != 0 {
        p.put(child_tid, &child.to_be_bytes())?;
    }
    if is_child && flags & CLONE_CHILD_CLEARTID != 0 {
        p.thread.clear_tid = child_tid;
    }
    if is_child && flags & CLONE_SETTLS != 0 {
        p.cpu.r[7] = tls;
    }
    Ok(answer)
}

/// Starts a thread: it shares everything with its parent except registers, and begins after the same call. In it %o0
/// is its parent and %o1 one.
fn thread(p: &mut Process, a: &[u64; 6]) -> Answer {
    const SHARES: u64 = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    const CARRIES: u8 = 0x11;
    let [flags, stack, parent_tid, tls, child_tid, _] = *a;
    let numbers = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    let known = SHARES | SIGNAL_MASK | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_DETACHED | numbers;
    if flags & SHARES != SHARES || flags & !known != 0 || stack == 0 {
        return Err(Errno(libc::EINVAL));
    }
    if host::is_caught() {
        return Err(RESTART);
    }
    let frame = Frame::copied(p, stack)?;
    let mut cpu = p.cpu.strand();
    frame.enter(&mut cpu);
    cpu.r[8] = rustix::thread::gettid().as_raw_pid() as u64;
    cpu.r[9] = 1;
    if flags & CLONE_SETTLS != 0 {
        cpu.r[7] = tls;
    }
    cpu.set_ccr(cpu.ccr() & !CARRIES);
    cpu.advance();
    let clear_tid = if flags & CLONE_CHILD_CLEARTID != 0 { child_tid } else { 0 };
    let number = p.start_thread(Beginning { cpu, clear_tid })?;
    // The thread waits for its turn, so it finds the numbers written. An address that can't be written is ignored.
    for (flag, place) in [(CLONE_PARENT_SETTID, parent_tid), (CLONE_CHILD_SETTID, child_tid)] {
        if flags & flag != 0 {
            let _ = p.put(place, &number.to_be_bytes());
        }
    }
    p.cpu.r[9] = 0;
    Ok(number as u64)
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

/// Becomes another program: one for this machine runs in a new emulator, any other by the host's kernel.
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

/// True if a file can be executed and is a program for this machine.
fn is_ours(file: &Path) -> Result<bool, Errno> {
    let failed = |error: std::io::Error| Errno(error.raw_os_error().unwrap_or(libc::EACCES));
    let metadata = std::fs::metadata(file).map_err(failed)?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(Errno(libc::EACCES));
    }
    let mut start = Vec::new();
    // A file that can be executed but not read is left to the kernel.
    if let Ok(file) = std::fs::File::open(file) {
        file.take(64).read_to_end(&mut start).map_err(failed)?;
    }
    Ok(elf::is_ours(&start))
}

fn wait4(p: &mut Process, pid: u64, status: u64, options: u64, usage: u64) -> Answer {
    let (mut host_status, mut host_usage) = ([0; 4], [0; bytes::RUSAGE]);
    let child = p.wait(|| {
        host::call(
            host::WAIT4,
            [
                int(pid).into(),
                host_status.as_mut_slice().into(),
                options.into(),
                host_usage.as_mut_slice().into(),
            ],
        )
    })?;
    if child != 0 {
        p.put(status, &status_of_host(u32::from_ne_bytes(host_status)).to_be_bytes())?;
        p.put(usage, &s::rusage_of_host(&host_usage))?;
    }
    Ok(child)
}

fn waitid(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (mut information, mut usage) = ([0; bytes::SIGINFO], [0; bytes::RUSAGE]);
    let done = p.wait(|| {
        host::call(
            host::WAITID,
            [
                int(a[0]).into(),
                int(a[1]).into(),
                information.as_mut_slice().into(),
                a[3].into(),
                usage.as_mut_slice().into(),
            ],
        )
    })?;
    // With WNOHANG and no child all fields are zero.
    let information = if information[0] == 0 { vec![0; 128] } else { information_of_host(&information) };
    p.put(a[2], &information)?;
    p.put(a[4], &s::rusage_of_host(&usage))?;
    Ok(done)
}

/// Serves the calls on limits: reads the new one and writes the old one, each if it has an address.
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
    // This process needs more addresses than the program, so a limit on these is not set.
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

//! Calls on paths: opening, status, names, directories.

use std::ffi::CString;

use crate::linux::errno::Errno;
use crate::linux::flags::{self, O_LARGEFILE, OPEN};
use crate::linux::host::{self, Number, bytes};
use crate::linux::process::Process;
use crate::linux::structures::{self as s, Stat, guest_u64};
use crate::linux::syscalls::{Answer, Call, call, int};

/// The current directory, in place of a descriptor.
const AT_FDCWD: u64 = libc::AT_FDCWD as i64 as u64;
const AT_EMPTY_PATH: u64 = libc::AT_EMPTY_PATH as u64;
const AT_SYMLINK_NOFOLLOW: u64 = libc::AT_SYMLINK_NOFOLLOW as u64;

pub(super) const CALLS: &[Call] = &[
    call(5, "open", "sxx", |p, a| open(p, AT_FDCWD, a[0], a[1], a[2])).restarting(),
    call(8, "creat", "sx", |p, a| open(p, AT_FDCWD, a[0], 0x601, a[1])).restarting(),
    call(284, "openat", "dsxx", |p, a| open(p, a[0], a[1], a[2], a[3])).restarting(),
    call(38, "stat", "sp", |p, a| {
        stat(p, AT_FDCWD, a[0], 0).and_then(|stat| put(p, a[1], Stat(&stat).stat()))
    }),
    call(40, "lstat", "sp", |p, a| {
        stat(p, AT_FDCWD, a[0], AT_SYMLINK_NOFOLLOW).and_then(|stat| put(p, a[1], Stat(&stat).stat()))
    }),
    call(62, "fstat", "dp", |p, a| fstat(a[0]).and_then(|stat| put(p, a[1], Stat(&stat).stat()))),
    call(139, "stat64", "sp", |p, a| {
        stat(p, AT_FDCWD, a[0], 0).and_then(|stat| put(p, a[1], Stat(&stat).stat64()))
    }),
    call(132, "lstat64", "sp", |p, a| {
        stat(p, AT_FDCWD, a[0], AT_SYMLINK_NOFOLLOW).and_then(|stat| put(p, a[1], Stat(&stat).stat64()))
    }),
    call(63, "fstat64", "dp", |p, a| fstat(a[0]).and_then(|stat| put(p, a[1], Stat(&stat).stat64()))),
    call(289, "fstatat64", "dspx", |p, a| {
        stat(p, a[0], a[1], a[3]).and_then(|stat| put(p, a[2], Stat(&stat).stat64()))
    }),
    call(360, "statx", "dsxxp", statx),
    call(33, "access", "sd", |p, a| access(p, AT_FDCWD, a[0], a[1])),
    call(296, "faccessat", "dsd", |p, a| access(p, a[0], a[1], a[2])),
    call(439, "faccessat2", "dsdx", |p, a| {
        let path = p.path(a[1])?;
        host::call(host::ACCESS2, [int(a[0]).into(), (&path).into(), int(a[2]).into(), a[3].into()])
    }),
    call(58, "readlink", "spd", |p, a| readlink(p, AT_FDCWD, a[0], a[1], a[2])),
    call(294, "readlinkat", "dspd", |p, a| readlink(p, a[0], a[1], a[2], a[3])),
    call(9, "link", "ss", |p, a| two(p, host::LINK, AT_FDCWD, a[0], AT_FDCWD, a[1], 0)),
    call(292, "linkat", "dsdsx", |p, a| two(p, host::LINK, a[0], a[1], a[2], a[3], a[4])),
    call(57, "symlink", "ss", |p, a| symlink(p, a[0], AT_FDCWD, a[1])),
    call(293, "symlinkat", "sds", |p, a| symlink(p, a[0], a[1], a[2])),
    call(10, "unlink", "s", |p, a| one(p, host::UNLINK, AT_FDCWD, a[0], [0, 0])),
    call(137, "rmdir", "s", |p, a| one(p, host::UNLINK, AT_FDCWD, a[0], [libc::AT_REMOVEDIR as u64, 0])),
    call(290, "unlinkat", "dsx", |p, a| one(p, host::UNLINK, a[0], a[1], [a[2], 0])),
    call(128, "rename", "ss", |p, a| two(p, host::RENAME, AT_FDCWD, a[0], AT_FDCWD, a[1], 0)),
    call(291, "renameat", "dsds", |p, a| two(p, host::RENAME, a[0], a[1], a[2], a[3], 0)),
    call(345, "renameat2", "dsdsx", |p, a| two(p, host::RENAME, a[0], a[1], a[2], a[3], a[4])),
    call(136, "mkdir", "sx", |p, a| one(p, host::MKDIR, AT_FDCWD, a[0], [a[1], 0])),
    call(285, "mkdirat", "dsx", |p, a| one(p, host::MKDIR, a[0], a[1], [a[2], 0])),
    call(14, "mknod", "sxx", |p, a| one(p, host::MKNOD, AT_FDCWD, a[0], [a[1], a[2]])),
    call(286, "mknodat", "dsxx", |p, a| one(p, host::MKNOD, a[0], a[1], [a[2], a[3]])),
    call(15, "chmod", "sx", |p, a| one(p, host::CHMOD, AT_FDCWD, a[0], [a[1], 0])),
    call(295, "fchmodat", "dsx", |p, a| one(p, host::CHMOD, a[0], a[1], [a[2], 0])),
    call(124, "fchmod", "dx", |_, a| host::call(host::FCHMOD, [int(a[0]).into(), a[1].into()])),
    call(13, "chown", "sdd", |p, a| chown(p, AT_FDCWD, a[0], a[1], a[2], 0)),
    call(16, "lchown", "sdd", |p, a| chown(p, AT_FDCWD, a[0], a[1], a[2], AT_SYMLINK_NOFOLLOW)),
    call(287, "fchownat", "dsddx", |p, a| chown(p, a[0], a[1], a[2], a[3], a[4])),
    call(123, "fchown", "ddd", |_, a| {
        host::call(host::FCHOWN, [int(a[0]).into(), int(a[1]).into(), int(a[2]).into()])
    }),
    call(129, "truncate", "sx", |p, a| {
        let path = p.text(a[0])?;
        host::call(host::TRUNCATE, [(&path).into(), a[1].into()])
    }),
    call(30, "utime", "sp", utime),
    call(138, "utimes", "sp", |p, a| utimes(p, AT_FDCWD, a[0], a[1])),
    call(288, "futimesat", "dsp", |p, a| utimes(p, a[0], a[1], a[2])),
    call(310, "utimensat", "dspx", utimensat),
    call(12, "chdir", "s", |p, a| alone(p, host::CHDIR, a[0])),
    call(176, "fchdir", "d", |_, a| host::call(host::FCHDIR, [int(a[0]).into()])),
    call(61, "chroot", "s", |p, a| alone(p, host::CHROOT, a[0])),
    call(119, "getcwd", "pd", |p, a| {
        let to = p.room(a[0], a[1])?;
        host::call(host::GETCWD, [(&to).into(), to.length().into()])
    }),
    call(154, "getdents64", "dpd", getdents),
    call(157, "statfs", "sp", |p, a| statfs(p, a[0], a[1])),
    call(158, "fstatfs", "dp", |p, a| fstatfs(p, a[0], a[1])),
    call(234, "statfs64", "sdp", |p, a| statfs(p, a[0], a[2])),
    call(235, "fstatfs64", "ddp", |p, a| fstatfs(p, a[0], a[2])),
    call(60, "umask", "x", |_, a| host::call(host::UMASK, [a[0].into()])),
    call(172, "getxattr", "sspd", |p, a| attribute(p, host::GETXATTR, a)),
    call(173, "lgetxattr", "sspd", |p, a| attribute(p, host::LGETXATTR, a)),
    call(177, "fgetxattr", "dspd", |p, a| {
        let name = p.text(a[1])?;
        let to = p.bytes_mut(a[2], a[3])?;
        host::call(host::FGETXATTR, [int(a[0]).into(), (&name).into(), to.into(), a[3].into()])
    }),
    call(178, "listxattr", "spd", |p, a| attributes(p, host::LISTXATTR, a)),
    call(179, "llistxattr", "spd", |p, a| attributes(p, host::LLISTXATTR, a)),
    call(180, "flistxattr", "dpd", |p, a| {
        let to = p.bytes_mut(a[1], a[2])?;
        host::call(host::FLISTXATTR, [int(a[0]).into(), to.into(), a[2].into()])
    }),
    call(169, "setxattr", "sspdx", |p, a| set_attribute(p, host::SETXATTR, a)),
    call(170, "lsetxattr", "sspdx", |p, a| set_attribute(p, host::LSETXATTR, a)),
    call(171, "fsetxattr", "dspdx", |p, a| {
        let name = p.text(a[1])?;
        let value = p.bytes(a[2], a[3])?;
        let (fd, length, flags) = (int(a[0]).into(), a[3].into(), a[4].into());
        host::call(host::FSETXATTR, [fd, (&name).into(), value.into(), length, flags])
    }),
    call(181, "removexattr", "ss", |p, a| remove_attribute(p, host::REMOVEXATTR, a)),
    call(182, "lremovexattr", "ss", |p, a| remove_attribute(p, host::LREMOVEXATTR, a)),
    call(186, "fremovexattr", "ds", |p, a| {
        let name = p.text(a[1])?;
        host::call(host::FREMOVEXATTR, [int(a[0]).into(), (&name).into()])
    }),
    call(152, "inotify_add_watch", "dsx", |p, a| {
        let path = p.text(a[1])?;
        host::call(host::INOTIFY_ADD, [int(a[0]).into(), (&path).into(), a[2].into()])
    }),
    call(332, "name_to_handle_at", "dsppx", name_to_handle),
    call(333, "open_by_handle_at", "dpx", open_by_handle),
    call(156, "inotify_rm_watch", "dd", |_, a| {
        host::call(host::INOTIFY_REMOVE, [int(a[0]).into(), int(a[1]).into()])
    }),
];

/// Bytes of a handle's head: its length and its type.
const HANDLE_HEAD: usize = 8;

/// The host's form of a program's handle, in which only the head is numbers.
fn handle(p: &Process, address: u64) -> Result<[u8; bytes::FILE_HANDLE], Errno> {
    let head = p.bytes(address, HANDLE_HEAD as u64)?;
    let length = s::guest_u32(head, 0) as usize;
    if length > bytes::FILE_HANDLE - HANDLE_HEAD {
        return Err(Errno(libc::EINVAL));
    }
    let mut handle = [0; bytes::FILE_HANDLE];
    let whole = HANDLE_HEAD + length;
    handle[..whole].copy_from_slice(p.bytes(address, whole as u64)?);
    s::swap(&mut handle, s::TWO_INTS);
    Ok(handle)
}

fn name_to_handle(p: &mut Process, a: &[u64; 6]) -> Answer {
    // Numbers of mounts are an `int` here, as this machine's libraries have them.
    const MNT_ID_UNIQUE: u64 = 1;
    if a[4] & MNT_ID_UNIQUE != 0 {
        return Err(Errno(libc::EINVAL));
    }
    let (path, mut handle, mut mount) = (p.path(a[1])?, handle(p, a[2])?, [0; 8]);
    let answer = host::call(
        host::NAME_TO_HANDLE,
        [
            int(a[0]).into(),
            (&path).into(),
            handle.as_mut_slice().into(),
            mount.as_mut_slice().into(),
            int(a[4]).into(),
        ],
    );
    // A handle that is too long has its length reported.
    let used = match answer {
        Ok(_) => HANDLE_HEAD + s::host_u32(&handle, 0) as usize,
        Err(Errno(libc::EOVERFLOW)) => 4,
        Err(_) => 0,
    };
    if used != 0 {
        s::swap(&mut handle, s::TWO_INTS);
        p.cpu.memory.write(a[2], &handle[..used])?;
        p.cpu.memory.write(a[3], &s::host_u32(&mount, 0).to_be_bytes())?;
    }
    answer
}

fn open_by_handle(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (flags, _) = flags::of_sparc(OPEN, a[2] & 0xffff_ffff & !O_LARGEFILE);
    let handle = handle(p, a[1])?;
    p.wait(|| host::call(host::OPEN_BY_HANDLE, [int(a[0]).into(), handle.as_slice().into(), flags.into()]))
}

fn put(p: &mut Process, address: u64, bytes: Vec<u8>) -> Answer {
    p.cpu.memory.write(address, &bytes)?;
    Ok(0)
}

/// True if a path is that of the running program.
fn is_self(path: &CString) -> bool {
    let own = format!("/proc/{}/exe", rustix::process::getpid().as_raw_pid());
    path.as_bytes() == b"/proc/self/exe" || path.as_bytes() == own.as_bytes()
}

fn open(p: &mut Process, at: u64, path: u64, sparc: u64, mode: u64) -> Answer {
    // Bits without a meaning are left out, as the kernel does.
    let (flags, _) = flags::of_sparc(OPEN, sparc & 0xffff_ffff & !O_LARGEFILE);
    let path = if flags & libc::O_CREAT != 0 { p.text(path)? } else { p.path(path)? };
    let path = if is_self(&path) { own_file(p)? } else { path };
    p.wait(|| host::call(host::OPENAT, [int(at).into(), (&path).into(), flags.into(), mode.into()]))
}

/// The program's own file, in place of the emulator's, which `/proc` has.
fn own_file(p: &Process) -> Result<CString, Errno> {
    let bytes = p.file.as_os_str().as_encoded_bytes().to_vec();
    CString::new(bytes).map_err(|_| Errno(libc::ENOENT))
}

/// The host's answer about a path.
fn stat(p: &mut Process, at: u64, path: u64, flags: u64) -> Result<[u8; bytes::STATX], Errno> {
    let path = p.path(path)?;
    let follows = flags & AT_SYMLINK_NOFOLLOW == 0;
    let path = if follows && is_self(&path) { own_file(p)? } else { path };
    host_stat(int(at), &path, flags, libc::STATX_BASIC_STATS)
}

pub(super) fn fstat(fd: u64) -> Result<[u8; bytes::STATX], Errno> {
    host_stat(int(fd), &CString::default(), AT_EMPTY_PATH, libc::STATX_BASIC_STATS)
}

fn host_stat(at: u64, path: &CString, flags: u64, mask: u32) -> Result<[u8; bytes::STATX], Errno> {
    let mut stat = [0; bytes::STATX];
    let to = stat.as_mut_slice().into();
    host::call(host::STATX, [at.into(), path.into(), flags.into(), u64::from(mask).into(), to])?;
    Ok(stat)
}

fn statx(p: &mut Process, a: &[u64; 6]) -> Answer {
    let path = p.path(a[1])?;
    let path = if is_self(&path) { own_file(p)? } else { path };
    let mut stat = host_stat(int(a[0]), &path, a[2], a[3] as u32)?;
    s::swap(&mut stat, s::STATX);
    put(p, a[4], stat.to_vec())
}

fn access(p: &mut Process, at: u64, path: u64, mode: u64) -> Answer {
    let path = p.path(path)?;
    host::call(host::ACCESS, [int(at).into(), (&path).into(), int(mode).into()])
}

fn readlink(p: &mut Process, at: u64, path: u64, to: u64, length: u64) -> Answer {
    let path = p.path(path)?;
    if is_self(&path) {
        let own = own_file(p)?.into_bytes();
        let count = own.len().min(length as usize);
        p.cpu.memory.write(to, &own[..count])?;
        return Ok(count as u64);
    }
    let to = p.room(to, int(length))?;
    host::call(host::READLINK, [int(at).into(), (&path).into(), (&to).into(), to.length().into()])
}

/// Makes a call on one path, with up to two numbers.
fn one(p: &mut Process, number: Number, at: u64, path: u64, rest: [u64; 2]) -> Answer {
    let path = p.text(path)?;
    host::call(number, [int(at).into(), (&path).into(), rest[0].into(), rest[1].into()])
}

/// Makes a call on a path without a directory beside it.
fn alone(p: &mut Process, number: Number, path: u64) -> Answer {
    let path = p.text(path)?;
    host::call(number, [(&path).into()])
}

/// Makes a call on two paths.
fn two(p: &mut Process, number: Number, at: u64, from: u64, to_at: u64, to: u64, flags: u64) -> Answer {
    let (from, to) = (p.text(from)?, p.text(to)?);
    host::call(number, [int(at).into(), (&from).into(), int(to_at).into(), (&to).into(), flags.into()])
}

fn symlink(p: &mut Process, target: u64, at: u64, path: u64) -> Answer {
    let (target, path) = (p.text(target)?, p.text(path)?);
    host::call(host::SYMLINK, [(&target).into(), int(at).into(), (&path).into()])
}

fn chown(p: &mut Process, at: u64, path: u64, user: u64, group: u64, flags: u64) -> Answer {
    let path = p.text(path)?;
    let (user, group) = (int(user).into(), int(group).into());
    host::call(host::CHOWN, [int(at).into(), (&path).into(), user, group, flags.into()])
}

/// Sets the times of a file, given as two of the host's `timespec`, or to now.
fn set_times(path: Option<&CString>, at: u64, times: Option<[u8; 32]>, flags: u64) -> Answer {
    let path = path.map_or(host::Argument::Word(0), Into::into);
    let times = times.as_ref().map(|times| times.as_slice());
    host::call(host::UTIMENS, [int(at).into(), path, times.into(), flags.into()])
}

fn utime(p: &mut Process, a: &[u64; 6]) -> Answer {
    let path = p.text(a[0])?;
    let times = match a[1] {
        0 => None,
        at => {
            let bytes = p.bytes(at, 16)?;
            let mut times = [0; 32];
            times[..8].copy_from_slice(&guest_u64(bytes, 0).to_ne_bytes());
            times[16..24].copy_from_slice(&guest_u64(bytes, 8).to_ne_bytes());
            Some(times)
        }
    };
    set_times(Some(&path), AT_FDCWD, times, 0)
}

fn utimes(p: &mut Process, at: u64, path: u64, times: u64) -> Answer {
    let path = p.text(path)?;
    let times = match times {
        0 => None,
        address => {
            let bytes = p.bytes(address, 32)?;
            let mut times = [0; 32];
            for (to, from) in times.chunks_exact_mut(16).zip(bytes.chunks_exact(16)) {
                let time = s::timeval_of_guest(from);
                let nanoseconds = s::host_u64(&time, 8).wrapping_mul(1000);
                to[..8].copy_from_slice(&time[..8]);
                to[8..].copy_from_slice(&nanoseconds.to_ne_bytes());
            }
            Some(times)
        }
    };
    set_times(Some(&path), at, times, 0)
}

fn utimensat(p: &mut Process, a: &[u64; 6]) -> Answer {
    let path = if a[1] == 0 { None } else { Some(p.text(a[1])?) };
    let times = match a[2] {
        0 => None,
        address => {
            let mut times = [0; 32];
            times.copy_from_slice(p.bytes(address, 32)?);
            s::swap_each(&mut times, s::TIMESPEC);
            Some(times)
        }
    };
    set_times(path.as_ref(), a[0], times, a[3])
}

fn getdents(p: &mut Process, a: &[u64; 6]) -> Answer {
    let to = p.bytes_mut(a[1], a[2])?;
    let count = host::call(host::GETDENTS, [int(a[0]).into(), to.into(), a[2].into()])?;
    s::dirents_of_host(p.bytes_mut(a[1], count)?);
    Ok(count)
}

fn statfs(p: &mut Process, path: u64, to: u64) -> Answer {
    let path = p.path(path)?;
    let mut statfs = [0; 120];
    host::call(host::STATFS, [(&path).into(), statfs.as_mut_slice().into()])?;
    s::swap(&mut statfs, s::STATFS);
    put(p, to, statfs.to_vec())
}

fn fstatfs(p: &mut Process, fd: u64, to: u64) -> Answer {
    let mut statfs = [0; 120];
    host::call(host::FSTATFS, [int(fd).into(), statfs.as_mut_slice().into()])?;
    s::swap(&mut statfs, s::STATFS);
    put(p, to, statfs.to_vec())
}

fn attribute(p: &mut Process, number: Number, a: &[u64; 6]) -> Answer {
    let (path, name) = (p.path(a[0])?, p.text(a[1])?);
    let to = p.bytes_mut(a[2], a[3])?;
    host::call(number, [(&path).into(), (&name).into(), to.into(), a[3].into()])
}

fn attributes(p: &mut Process, number: Number, a: &[u64; 6]) -> Answer {
    let path = p.path(a[0])?;
    let to = p.bytes_mut(a[1], a[2])?;
    host::call(number, [(&path).into(), to.into(), a[2].into()])
}

fn set_attribute(p: &mut Process, number: Number, a: &[u64; 6]) -> Answer {
    let (path, name) = (p.text(a[0])?, p.text(a[1])?);
    let value = p.bytes(a[2], a[3])?;
    host::call(number, [(&path).into(), (&name).into(), value.into(), a[3].into(), a[4].into()])
}

fn remove_attribute(p: &mut Process, number: Number, a: &[u64; 6]) -> Answer {
    let (path, name) = (p.text(a[0])?, p.text(a[1])?);
    host::call(number, [(&path).into(), (&name).into()])
}

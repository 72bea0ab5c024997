//! Calls on descriptors: reading, writing, positions, copies, locks.

use crate::linux::errno::Errno;
use crate::linux::flags::{self, DESCRIPTOR, O_LARGEFILE, OPEN};
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::structures::{self as s, guest_u64};
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::memory::{Access, Region};

/// The most pieces of one `readv`.
const IOV_MAX: u64 = 1024;

pub(super) const CALLS: &[Call] = &[
    call(3, "read", "dpd", |p, a| read(p, host::READ, a, 0)).restarting(),
    call(4, "write", "dpd", |p, a| write(p, host::WRITE, a, 0)).restarting(),
    call(67, "pread64", "dpdx", |p, a| read(p, host::PREAD, a, a[3])).restarting(),
    call(68, "pwrite64", "dpdx", |p, a| write(p, host::PWRITE, a, a[3])).restarting(),
    call(120, "readv", "dpd", |p, a| readv(p, a, None)).restarting(),
    call(121, "writev", "dpd", |p, a| writev(p, a, None)).restarting(),
    call(324, "preadv", "dpdx", |p, a| readv(p, a, Some(a[3]))).restarting(),
    call(325, "pwritev", "dpdx", |p, a| writev(p, a, Some(a[3]))).restarting(),
    call(358, "preadv2", "dpdx", |p, a| readv(p, a, (a[3] != u64::MAX).then_some(a[3]))).restarting(),
    call(359, "pwritev2", "dpdx", |p, a| writev(p, a, (a[3] != u64::MAX).then_some(a[3]))).restarting(),
    call(6, "close", "d", |p, a| p.wait(|| host::call(host::CLOSE, [int(a[0]).into()]))),
    call(436, "close_range", "ddx", |p, a| p.wait(|| host::call(host::CLOSE_RANGE, words(a)))),
    call(19, "lseek", "ddd", |_, a| {
        host::call(host::LSEEK, [int(a[0]).into(), a[1].into(), int(a[2]).into()])
    }),
    call(236, "_llseek", "dxxpd", |p, a| {
        let offset = a[1] << 32 | a[2] & 0xffff_ffff;
        let position = host::call(host::LSEEK, [int(a[0]).into(), offset.into(), int(a[4]).into()])?;
        p.cpu.memory.write(a[3], &position.to_be_bytes())?;
        Ok(0)
    }),
    call(41, "dup", "d", |_, a| host::call(host::DUP, [int(a[0]).into()])),
    call(90, "dup2", "dd", dup2),
    call(320, "dup3", "ddx", |_, a| dup3(a[0], a[1], a[2])),
    call(42, "pipe", "", pipe),
    call(321, "pipe2", "px", pipe2),
    call(92, "fcntl", "ddx", fcntl).restarting(),
    call(131, "flock", "dd", |p, a| p.wait(|| host::call(host::FLOCK, [int(a[0]).into(), int(a[1]).into()])))
        .restarting(),
    call(95, "fsync", "d", |p, a| p.wait(|| host::call(host::FSYNC, [int(a[0]).into()]))),
    call(253, "fdatasync", "d", |p, a| p.wait(|| host::call(host::FDATASYNC, [int(a[0]).into()]))),
    call(36, "sync", "", |p, _| p.wait(|| host::call(host::SYNC, []))),
    call(335, "syncfs", "d", |p, a| p.wait(|| host::call(host::SYNCFS, [int(a[0]).into()]))),
    call(255, "sync_file_range", "dxxx", |p, a| p.wait(|| host::call(host::SYNC_FILE_RANGE, words(a)))),
    call(130, "ftruncate", "dx", |_, a| host::call(host::FTRUNCATE, [int(a[0]).into(), a[1].into()]))
        .restarting(),
    call(314, "fallocate", "dxxx", |_, a| host::call(host::FALLOCATE, words(a))).restarting(),
    call(209, "fadvise64", "dxxd", |_, a| host::call(host::FADVISE, words(a))),
    call(210, "fadvise64_64", "dxxd", |_, a| host::call(host::FADVISE, words(a))),
    call(205, "readahead", "dxx", |_, a| host::call(host::READAHEAD, words(a))),
    call(39, "sendfile", "ddpx", sendfile).restarting(),
    call(140, "sendfile64", "ddpx", sendfile).restarting(),
    call(357, "copy_file_range", "dpdpxx", |p, a| between(p, host::COPY_FILE_RANGE, a)).restarting(),
    call(232, "splice", "dpdpxx", |p, a| between(p, host::SPLICE, a)).restarting(),
    call(280, "tee", "ddxx", |p, a| p.wait(|| host::call(host::TEE, words(a)))).restarting(),
    call(25, "vmsplice", "dpdx", vmsplice).restarting(),
    call(348, "memfd_create", "sx", |p, a| {
        let name = p.text(a[0])?;
        host::call(host::MEMFD_CREATE, [(&name).into(), a[1].into()])
    }),
];

/// All six arguments as they are.
pub(super) fn words(a: &[u64; 6]) -> [host::Argument<'static>; 6] {
    a.map(host::Argument::Word)
}

/// The host's flags for a new descriptor; `kept` are bits that have the same meaning everywhere.
pub(super) fn descriptor_flags(sparc: u64, kept: u64) -> Result<i32, Errno> {
    let (flags, left) = flags::of_sparc(DESCRIPTOR, sparc & !kept);
    if left != 0 { Err(Errno(libc::EINVAL)) } else { Ok(flags | (sparc & kept) as i32) }
}

fn read(p: &mut Process, number: host::Number, a: &[u64; 6], offset: u64) -> Answer {
    let [fd, buffer, length, ..] = *a;
    let to = p.room(buffer, length)?;
    let length = to.length();
    let count =
        p.wait(|| host::call(number, [int(fd).into(), (&to).into(), length.into(), offset.into()]))?;
    p.cpu.memory.written(buffer, count);
    if let Some(kind) = p.kind(fd).filter(|_| count > 0) {
        let mut bytes = p.bytes(buffer, count)?.to_vec();
        kind.turn(&mut bytes);
        p.put(buffer, &bytes)?;
    }
    Ok(count)
}

fn write(p: &mut Process, number: host::Number, a: &[u64; 6], offset: u64) -> Answer {
    let [fd, buffer, length, ..] = *a;
    let turned = p.turned(fd, p.bytes(buffer, length)?);
    let from = p.region(buffer, length, Access::Read)?;
    p.wait(|| {
        let from = turned.as_deref().map_or_else(|| (&from).into(), Into::into);
        host::call(number, [int(fd).into(), from, length.into(), offset.into()])
    })
}

/// The pieces of a vector: addresses and lengths.
pub(super) fn pieces(p: &Process, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    if count > IOV_MAX {
        return Err(Errno(libc::EINVAL));
    }
    let bytes = p.bytes(address, count * 16)?;
    let pieces: Vec<_> =
        bytes.chunks_exact(16).map(|piece| (guest_u64(piece, 0), guest_u64(piece, 8))).collect();
    let total = pieces.iter().try_fold(0_u64, |sum, (_, length)| sum.checked_add(*length));
    if total.is_none_or(|total| total > i64::MAX as u64) {
        return Err(Errno(libc::EINVAL));
    }
    Ok(pieces)
}

/// The bytes of all pieces, one after another.
pub(super) fn gather(p: &Process, pieces: &[(u64, u64)]) -> Result<Vec<u8>, Errno> {
    let mut all = Vec::new();
    for &(address, length) in pieces {
        all.extend_from_slice(p.bytes(address, length)?);
    }
    Ok(all)
}

/// Spreads bytes over pieces.
pub(super) fn scatter(p: &mut Process, pieces: &[(u64, u64)], mut bytes: &[u8]) -> Result<(), Errno> {
    for &(address, length) in pieces {
        let (piece, rest) = bytes.split_at(bytes.len().min(length as usize));
        p.cpu.memory.write(address, piece)?;
        bytes = rest;
    }
    Ok(())
}

/// Room for all pieces, each of which can be written.
pub(super) fn room(p: &mut Process, pieces: &[(u64, u64)]) -> Result<Vec<u8>, Errno> {
    let mut total = 0;
    for &(address, length) in pieces {
        total += p.bytes_mut(address, length)?.len();
    }
    Ok(vec![0; total])
}

fn readv(p: &mut Process, a: &[u64; 6], offset: Option<u64>) -> Answer {
    let pieces = pieces(p, a[1], a[2])?;
    let mut all = room(p, &pieces)?;
    let length = all.len() as u64;
    let fd = int(a[0]).into();
    let to = all.as_mut_slice().into();
    let count = p.wait(|| match offset {
        None => host::call(host::READ, [fd, to, length.into()]),
        Some(offset) => host::call(host::PREAD, [fd, to, length.into(), offset.into()]),
    })?;
    let read = &mut all[..count as usize];
    if let Some(kind) = p.kind(a[0]) {
        kind.turn(read);
    }
    scatter(p, &pieces, read)?;
    Ok(count)
}

fn writev(p: &mut Process, a: &[u64; 6], offset: Option<u64>) -> Answer {
    let all = gather(p, &pieces(p, a[1], a[2])?)?;
    let all = p.turned(a[0], &all).unwrap_or(all);
    let (fd, length) = (int(a[0]).into(), all.len() as u64);
    p.wait(|| match offset {
        None => host::call(host::WRITE, [fd, all.as_slice().into(), length.into()]),
        Some(offset) => host::call(host::PWRITE, [fd, all.as_slice().into(), length.into(), offset.into()]),
    })
}

/// Serves `vmsplice`, which takes the program's own pages into a pipe, and copies out of one. The end of the pipe
/// says which.
fn vmsplice(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [fd, vector, count, flags, ..] = *a;
    let pieces = pieces(p, vector, count)?;
    let way = host::call(host::FCNTL, [int(fd).into(), libc::F_GETFL.into(), 0.into()])?;
    if way as i32 & libc::O_ACCMODE != libc::O_RDONLY {
        let regions: Result<Vec<Region>, Errno> =
            pieces.iter().map(|&(address, length)| p.region(address, length, Access::Read)).collect();
        let regions = regions?;
        return p.wait(|| host::splice_from_memory(int(fd), &regions, flags));
    }
    let mut all = room(p, &pieces)?;
    let count = p.wait(|| host::splice_to_memory(int(fd), &mut all, flags))?;
    scatter(p, &pieces, &all[..count as usize])?;
    Ok(count)
}

fn dup2(_: &mut Process, a: &[u64; 6]) -> Answer {
    if int(a[0]) == int(a[1]) {
        return host::call(host::FCNTL, [int(a[0]).into(), libc::F_GETFD.into()]).map(|_| int(a[1]));
    }
    dup3(a[0], a[1], 0)
}

fn dup3(from: u64, to: u64, flags: u64) -> Answer {
    host::call(host::DUP3, [int(from).into(), int(to).into(), descriptor_flags(flags, 0)?.into()])
}

/// Makes a pipe: its two descriptors.
fn new_pipe(flags: i32) -> Result<[u32; 2], Errno> {
    let mut pair = [0; 8];
    host::call(host::PIPE2, [pair.as_mut_slice().into(), flags.into()])?;
    Ok([s::host_u32(&pair, 0), s::host_u32(&pair, 4)])
}

/// Serves `pipe`, whose second descriptor is in %o1.
fn pipe(p: &mut Process, _: &[u64; 6]) -> Answer {
    let [read, write] = new_pipe(0)?;
    p.cpu.r[9] = write.into();
    Ok(read.into())
}

fn pipe2(p: &mut Process, a: &[u64; 6]) -> Answer {
    let flags = descriptor_flags(a[1], 0)?;
    p.bytes_mut(a[0], 8)?;
    let [read, write] = new_pipe(flags)?;
    p.put(a[0], &s::Fields::new().u32(read).u32(write).bytes())?;
    Ok(0)
}

fn fcntl(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [fd, command, argument, ..] = *a;
    let plain = |command: i32, argument: u64| {
        host::call(host::FCNTL, [int(fd).into(), command.into(), argument.into()])
    };
    match command as i32 {
        libc::F_GETFL => {
            plain(libc::F_GETFL, 0).map(|flags| flags::of_host(OPEN, flags as i32) | O_LARGEFILE)
        }
        libc::F_SETFL => plain(libc::F_SETFL, flags::of_sparc(OPEN, argument & !O_LARGEFILE).0 as u64),
        5 => plain(libc::F_GETOWN, 0),
        6 => plain(libc::F_SETOWN, int(argument)),
        7 => lock(p, fd, libc::F_GETLK, argument),
        8 => lock(p, fd, libc::F_SETLK, argument),
        9 => lock(p, fd, libc::F_SETLKW, argument),
        36 => lock(p, fd, libc::F_OFD_GETLK, argument),
        37 => lock(p, fd, libc::F_OFD_SETLK, argument),
        38 => lock(p, fd, libc::F_OFD_SETLKW, argument),
        libc::F_DUPFD | libc::F_GETFD | libc::F_SETFD | 10 | 11 | 1024..=1034 => {
            plain(command as i32, argument)
        }
        15 | 16 => owner(p, fd, command as i32, argument),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Serves calls with `struct flock`: SPARC numbers the kinds of lock from one.
fn lock(p: &mut Process, fd: u64, command: i32, address: u64) -> Answer {
    let mut lock = p.bytes(address, bytes::FLOCK as u64)?.to_vec();
    s::swap(&mut lock, s::FLOCK);
    let kind = |bytes: &[u8]| u16::from_ne_bytes([bytes[0], bytes[1]]);
    let host = kind(&lock).wrapping_sub(1).to_ne_bytes();
    lock[..2].copy_from_slice(&host);
    let to = lock.as_mut_slice().into();
    let done = p.wait(|| host::call(host::FCNTL_LOCK, [int(fd).into(), command.into(), to]))?;
    if matches!(command, libc::F_GETLK | libc::F_OFD_GETLK) {
        let sparc = kind(&lock).wrapping_add(1).to_ne_bytes();
        lock[..2].copy_from_slice(&sparc);
        s::swap(&mut lock, s::FLOCK);
        p.put(address, &lock)?;
    }
    Ok(done)
}

/// Serves calls with `struct f_owner_ex`.
fn owner(p: &mut Process, fd: u64, command: i32, address: u64) -> Answer {
    let mut owner = p.bytes(address, 8)?.to_vec();
    s::swap(&mut owner, s::TWO_INTS);
    let done = host::call(host::FCNTL_OWNER, [int(fd).into(), command.into(), owner.as_mut_slice().into()])?;
    s::swap(&mut owner, s::TWO_INTS);
    p.put(address, &owner)?;
    Ok(done)
}

/// A position in the program's memory that the call uses and sets.
fn position(p: &Process, address: u64) -> Result<Option<[u8; 8]>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    Ok(Some(guest_u64(p.bytes(address, 8)?, 0).to_ne_bytes()))
}

fn put_position(p: &mut Process, address: u64, position: Option<[u8; 8]>) -> Result<(), Errno> {
    match position {
        Some(position) => p.put(address, &u64::from_ne_bytes(position).to_be_bytes()),
        None => Ok(()),
    }
}

fn sendfile(p: &mut Process, a: &[u64; 6]) -> Answer {
    let mut at = position(p, a[2])?;
    let place = at.as_mut().map(|at| at.as_mut_slice()).into();
    let sent =
        p.wait(|| host::call(host::SENDFILE, [int(a[0]).into(), int(a[1]).into(), place, a[3].into()]))?;
    put_position(p, a[2], at)?;
    Ok(sent)
}

fn between(p: &mut Process, number: host::Number, a: &[u64; 6]) -> Answer {
    let (mut from, mut to) = (position(p, a[1])?, position(p, a[3])?);
    let moved = p.wait(|| {
        host::call(
            number,
            [
                int(a[0]).into(),
                from.as_mut().map(|at| at.as_mut_slice()).into(),
                int(a[2]).into(),
                to.as_mut().map(|at| at.as_mut_slice()).into(),
                a[4].into(),
                a[5].into(),
            ],
        )
    })?;
    put_position(p, a[1], from)?;
    put_position(p, a[3], to)?;
    Ok(moved)
}

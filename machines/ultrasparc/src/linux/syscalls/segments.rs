//! System V's segments of shared memory. They are the host's own and their pages lie in the program's memory, so
//! everybody who attaches one sees at once what another writes.

use crate::linux::errno::Errno;
use crate::linux::flags::ipc as command;
use crate::linux::host::{self, bytes};
use crate::linux::kept::Attached;
use crate::linux::process::Process;
use crate::linux::structures::{self as s, host_u64};
use crate::linux::syscalls::memory::{is_free, pages};
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::memory::{PAGE_BYTES, Protection, SPAN_BYTES};

pub(super) const CALLS: &[Call] = &[
    call(395, "shmget", "xxx", |_, a| get_segment(a[0], a[1], a[2])),
    call(396, "shmctl", "dxp", |p, a| control_segment(p, a[0], a[1], a[2])),
    call(397, "shmat", "dpx", |p, a| attach(p, a[0], a[1], a[2])),
    call(398, "shmdt", "p", |p, a| detach(p, a[0])),
];

/// The alignment of segments: the size of the first UltraSPARC's cache, which Linux keeps for all later ones.
const SHMLBA: u64 = 16 << 10;

pub(super) fn get_segment(key: u64, length: u64, flags: u64) -> Answer {
    host::call(host::SHMGET, [int(key).into(), length.into(), int(flags).into()])
}

pub(super) fn control_segment(p: &mut Process, segment: u64, command: u64, address: u64) -> Answer {
    const RMID: u64 = 0;
    const LOCK: u64 = 11;
    const UNLOCK: u64 = 12;
    const SHM_STAT: u64 = 13;
    const SHM_INFO: u64 = 14;
    const SHM_STAT_ANY: u64 = 15;
    let (segment, command) = (int(segment), int(command));
    let mut structure = [0; bytes::SHMID];
    if command == command::SET {
        structure.copy_from_slice(p.bytes(address, bytes::SHMID as u64)?);
        s::shmid_to_host(&mut structure);
    }
    let done = host::call(host::SHMCTL, [segment.into(), command.into(), structure.as_mut_slice().into()])?;
    let written = match command {
        RMID | LOCK | UNLOCK | command::SET => 0,
        command::STAT | SHM_STAT | SHM_STAT_ANY => {
            s::shmid_of_host(&mut structure);
            bytes::SHMID
        }
        command::INFO => {
            s::swap(&mut structure, s::SHMINFO);
            72
        }
        SHM_INFO => {
            s::swap(&mut structure, s::SHM_INFO);
            48
        }
        _ => return Err(Errno(libc::EINVAL)),
    };
    p.cpu.memory.write(address, &structure[..written])?;
    Ok(done)
}

/// Bytes of a segment.
fn length(segment: u64) -> Answer {
    let mut structure = [0; bytes::SHMID];
    host::call(host::SHMCTL, [segment.into(), command::STAT.into(), structure.as_mut_slice().into()])?;
    Ok(host_u64(&structure, 48))
}

pub(super) fn attach(p: &mut Process, segment: u64, wanted: u64, flags: u64) -> Answer {
    let (segment, flags) = (int(segment), flags as i32);
    if (segment as i32) < 0 {
        return Err(Errno(libc::EINVAL));
    }
    let length = length(segment)?;
    let whole = pages(length)?;
    let start = place(p, wanted, whole, flags)?;
    let read_only = flags & libc::SHM_RDONLY != 0;
    let mut protection = if read_only { Protection::READ } else { Protection::DATA };
    if flags & libc::SHM_EXEC != 0 {
        protection = protection | Protection::EXECUTE;
    }
    let attached = p.cpu.memory.attach(start, length, segment as i32, read_only, protection);
    attached.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::ENOSYS)))?;
    p.forget_attached(start, whole);
    p.kept.attached.push(Attached { start, length: whole });
    Ok(start)
}

/// The address of a segment.
fn place(p: &Process, wanted: u64, length: u64, flags: i32) -> Answer {
    let remaps = flags & libc::SHM_REMAP != 0;
    if wanted == 0 {
        if remaps {
            return Err(Errno(libc::EINVAL));
        }
        let span = p.cpu.memory.free_span(length + SHMLBA).ok_or(Errno(libc::ENOMEM))?;
        return Ok(span.next_multiple_of(SHMLBA));
    }
    let rounds = flags & libc::SHM_RND != 0;
    let start = if rounds { wanted & !(SHMLBA - 1) } else { wanted };
    let outside = start.checked_add(length).is_none_or(|end| end > SPAN_BYTES);
    if start == 0 || !start.is_multiple_of(SHMLBA) || outside || !remaps && !is_free(p, start, length) {
        return Err(Errno(libc::EINVAL));
    }
    Ok(start)
}

pub(super) fn detach(p: &mut Process, address: u64) -> Answer {
    let found = p.kept.attached.iter().position(|attached| attached.start == address);
    let Attached { start, length } = p.kept.attached.remove(found.ok_or(Errno(libc::EINVAL))?);
    // Pages that the program mapped there since are not the segment's.
    for page in (start..start + length).step_by(PAGE_BYTES as usize) {
        if p.cpu.memory.is_shared(page) {
            p.cpu.memory.unmap(page, PAGE_BYTES);
        }
    }
    Ok(0)
}

impl Process {
    /// Forgets the segments that are attached in a range.
    pub(super) fn forget_attached(&mut self, address: u64, length: u64) {
        let end = address.saturating_add(length);
        self.kept.attached.retain(|attached| attached.start < address || attached.start >= end);
    }

    /// Notes that a segment was moved.
    pub(super) fn move_attached(&mut self, from: u64, to: u64) {
        self.kept
            .attached
            .iter_mut()
            .filter(|attached| attached.start == from)
            .for_each(|attached| attached.start = to);
    }
}

//! Calls on the program's memory. It belongs to this process, so the host serves none of these calls.

use crate::linux::errno::Errno;
use crate::linux::flags::map;
use crate::linux::host;
use crate::linux::kept::Mapped;
use crate::linux::process::Process;
use crate::linux::structures::Stat;
use crate::linux::syscalls::files::fstat;
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::memory::{Memory, PAGE_BYTES, Protection, SPAN_BYTES};

pub(super) const CALLS: &[Call] = &[
    call(17, "brk", "x", |p, a| Ok(p.set_break(a[0]))),
    call(71, "mmap", "xxxxdx", mmap),
    call(73, "munmap", "xx", munmap),
    call(74, "mprotect", "xxx", mprotect),
    call(250, "mremap", "xxxxx", mremap),
    call(65, "msync", "xxx", msync),
    call(75, "madvise", "xxd", madvise),
    call(78, "mincore", "xxp", mincore),
    // Pages are never swapped at the program's wish, so locking only checks them.
    call(237, "mlock", "xx", |p, a| locked(p, a[0], a[1])),
    call(356, "mlock2", "xxx", |p, a| locked(p, a[0], a[1])),
    call(238, "munlock", "xx", |p, a| locked(p, a[0], a[1])),
    call(239, "mlockall", "x", |_, _| Ok(0)),
    call(240, "munlockall", "", |_, _| Ok(0)),
    call(64, "getpagesize", "", |_, _| Ok(PAGE_BYTES)),
    call(351, "membarrier", "ddd", |_, a| {
        host::call(host::MEMBARRIER, [int(a[0]).into(), a[1].into(), int(a[2]).into()])
    }),
];

/// The flag of a private mapping.
const PRIVATE: u64 = 2;
/// The protection of a writable mapping.
const PROT_WRITE: u64 = 2;

/// A length in whole pages; an error if there is none.
pub(super) fn pages(length: u64) -> Result<u64, Errno> {
    match length.checked_next_multiple_of(PAGE_BYTES) {
        Some(pages) if pages <= SPAN_BYTES => Ok(pages),
        _ => Err(Errno(libc::ENOMEM)),
    }
}

fn aligned(address: u64) -> Result<(), Errno> {
    if address.is_multiple_of(PAGE_BYTES) { Ok(()) } else { Err(Errno(libc::EINVAL)) }
}

/// Locks or unlocks the pages of a range of bytes, which may begin and end anywhere.
fn locked(p: &mut Process, address: u64, length: u64) -> Answer {
    let before = address % PAGE_BYTES;
    range(p, address - before, length.checked_add(before).ok_or(Errno(libc::ENOMEM))?).map(|()| 0)
}

fn msync(p: &mut Process, a: &[u64; 6]) -> Answer {
    aligned(a[0])?;
    range(p, a[0], a[1])?;
    // The file has the bytes already; this writes them to the disk.
    let synchronized = p.cpu.memory.sync(a[0], pages(a[1])?, a[2] as u32);
    synchronized.map(|()| 0).map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))
}

/// Checks that each page of a range is mapped, and that the range begins with a page.
fn range(p: &Process, address: u64, length: u64) -> Result<(), Errno> {
    let end =
        address.checked_add(pages(length)?).filter(|end| *end <= SPAN_BYTES).ok_or(Errno(libc::ENOMEM))?;
    let mapped =
        (address..end).step_by(PAGE_BYTES as usize).all(|page| p.cpu.memory.protection(page).is_some());
    if mapped { Ok(()) } else { Err(Errno(libc::ENOMEM)) }
}

/// True if no page of a range is mapped.
pub(super) fn is_free(p: &Process, address: u64, length: u64) -> bool {
    (address..address + length)
        .step_by(PAGE_BYTES as usize)
        .all(|page| p.cpu.memory.protection(page).is_none())
}

fn mmap(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [wanted, length, protection, flags, fd, offset] = *a;
    let kind = flags & 0xf;
    if length == 0 || !offset.is_multiple_of(PAGE_BYTES) || !(1..=map::SHARED_VALIDATE).contains(&kind) {
        return Err(Errno(libc::EINVAL));
    }
    let length = pages(length)?;
    let mapping = Mapping { length, permits: Protection::from_bits(protection as u32), fd, offset };
    let source = mapping.source(flags & map::ANONYMOUS != 0, kind != PRIVATE)?;
    let place = place(p, wanted, length, flags)?;
    mapping.put(p, source, place)?;
    if protection & 4 != 0 && flags & map::ANONYMOUS == 0 {
        remember(p, fd, offset, place);
    }
    Ok(place)
}

/// A mapping that a program asked for.
struct Mapping {
    length: u64,
    permits: Protection,
    fd: u64,
    offset: u64,
}

/// The source of a mapping's bytes.
enum Source {
    /// Zeros of the process alone.
    Own,
    /// Zeros that children share.
    Common,
    /// A copy of a file.
    Copy(Vec<u8>),
    /// A file itself: so many bytes from the offset on, and true if it could be written.
    File(u64, bool),
}

impl Mapping {
    fn source(&self, anonymous: bool, shares: bool) -> Result<Source, Errno> {
        let zeros = if shares { Source::Common } else { Source::Own };
        if anonymous {
            return Ok(zeros);
        }
        let stat = fstat(self.fd)?;
        let stat = Stat(&stat);
        if stat.is_zero_device() {
            return Ok(zeros);
        }
        if !stat.is_file() {
            return Err(Errno(libc::ENODEV));
        }
        let way = host::call(host::FCNTL, [int(self.fd).into(), libc::F_GETFL.into(), 0.into()])? as i32;
        let writes = shares && self.permits.bits() & Protection::WRITE.bits() != 0;
        match way & libc::O_ACCMODE {
            libc::O_WRONLY => return Err(Errno(libc::EACCES)),
            libc::O_RDONLY if writes => return Err(Errno(libc::EACCES)),
            _ => {}
        }
        let rest = stat.size().saturating_sub(self.offset);
        if shares && Memory::can_share() {
            return Ok(Source::File(rest, way & libc::O_ACCMODE == libc::O_RDWR));
        }
        // Others would not see what is written into a copy.
        if writes {
            return Err(Errno(libc::ENODEV));
        }
        contents(self.fd, self.offset, rest.min(self.length)).map(Source::Copy)
    }

    /// Maps it into the program's memory.
    fn put(&self, p: &mut Process, source: Source, place: u64) -> Result<(), Errno> {
        let &Mapping { length, permits, fd, offset } = self;
        let memory = &mut p.cpu.memory;
        match source {
            Source::Own => memory.map(place, length, permits),
            // If the host can't share these pages, each process has memory of its own.
            Source::Common if memory.share(place, length, permits).is_ok() => {}
            Source::Common => memory.map(place, length, permits),
            Source::Copy(bytes) => {
                memory.map(place, length, permits);
                memory.force_write(place, &bytes)?;
            }
            Source::File(bytes, writable) => {
                let mut map =
                    |writable| memory.map_file(place, length, (fd as i32, offset), writable, permits);
                let done = match map(writable) {
                    // A sealed file can only be read, however it was opened.
                    Err(_) if writable && permits.bits() & Protection::WRITE.bits() == 0 => map(false),
                    done => done,
                };
                done.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::ENODEV)))?;
                if permits.bits() & Protection::WRITE.bits() == 0 {
                    memory.end_with_zeros(place, bytes.min(length));
                }
            }
        }
        p.forget_attached(place, length);
        Ok(())
    }
}

/// Notes the file whose code lies at an address.
fn remember(p: &mut Process, fd: u64, offset: u64, address: u64) {
    if let Ok(file) = std::fs::read_link(format!("/proc/self/fd/{}", fd as i32)) {
        p.kept.mapped.push(Mapped { file, offset, address });
    }
}

/// The address of a mapping.
fn place(p: &Process, wanted: u64, length: u64, flags: u64) -> Result<u64, Errno> {
    if flags & (map::FIXED | map::FIXED_NOREPLACE) != 0 {
        aligned(wanted)?;
        if wanted.checked_add(length).is_none_or(|end| end > SPAN_BYTES) {
            return Err(Errno(libc::ENOMEM));
        }
        if flags & map::FIXED_NOREPLACE != 0 && !is_free(p, wanted, length) {
            return Err(Errno(libc::EEXIST));
        }
        return Ok(wanted);
    }
    let hint = wanted & !(PAGE_BYTES - 1);
    if hint != 0 && hint.checked_add(length).is_some_and(|end| end <= SPAN_BYTES) && is_free(p, hint, length)
    {
        return Ok(hint);
    }
    p.cpu.memory.free_span(length).ok_or(Errno(libc::ENOMEM))
}

/// A file's bytes from an offset on.
fn contents(fd: u64, offset: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        let (count, at) = (rest.len() as u64, offset + filled as u64);
        match host::call(host::PREAD, [int(fd).into(), rest.into(), count.into(), at.into()])? {
            0 => break,
            count => filled += count as usize,
        }
    }
    Ok(bytes)
}

fn munmap(p: &mut Process, a: &[u64; 6]) -> Answer {
    aligned(a[0])?;
    let length = pages(a[1])?;
    if length == 0 || a[0].checked_add(length).is_none_or(|end| end > SPAN_BYTES) {
        return Err(Errno(libc::EINVAL));
    }
    p.forget_attached(a[0], length);
    p.cpu.memory.unmap(a[0], length);
    Ok(0)
}

fn mprotect(p: &mut Process, a: &[u64; 6]) -> Answer {
    aligned(a[0])?;
    if a[2] & PROT_WRITE != 0 && p.cpu.memory.is_read_only(a[0], a[1]) {
        return Err(Errno(libc::EACCES));
    }
    let changed = p.cpu.memory.protect(a[0], pages(a[1])?, Protection::from_bits(a[2] as u32));
    changed.map(|()| 0).map_err(|_| Errno(libc::ENOMEM))
}

fn mremap(p: &mut Process, a: &[u64; 6]) -> Answer {
    const MAYMOVE: u64 = 1;
    const FIXED: u64 = 2;
    let [old, old_length, new_length, flags, wanted, _] = *a;
    aligned(old)?;
    let (old_length, new_length) = (pages(old_length)?, pages(new_length)?);
    if new_length == 0 || flags & !(MAYMOVE | FIXED) != 0 || old_length == 0 {
        return Err(Errno(libc::EINVAL));
    }
    range(p, old, old_length).map_err(|_| Errno(libc::EFAULT))?;
    let protection = p.cpu.memory.protection(old).unwrap_or(Protection::DATA);
    let shared =
        (old..old + old_length).step_by(PAGE_BYTES as usize).any(|page| p.cpu.memory.is_shared(page));
    if flags & FIXED == 0 {
        if new_length <= old_length {
            p.cpu.memory.unmap(old + new_length, old_length - new_length);
            return Ok(old);
        }
        let more = new_length - old_length;
        if !shared && old + new_length <= SPAN_BYTES && is_free(p, old + old_length, more) {
            p.cpu.memory.map(old + old_length, more, protection);
            return Ok(old);
        }
    }
    if flags & MAYMOVE == 0 {
        return Err(Errno(libc::ENOMEM));
    }
    let place = if flags & FIXED != 0 {
        place(p, wanted, new_length, map::FIXED)?
    } else {
        p.cpu.memory.free_span(new_length).ok_or(Errno(libc::ENOMEM))?
    };
    p.forget_attached(place, new_length);
    if shared {
        let moved = p.cpu.memory.move_shared(old, old_length, place, new_length);
        moved.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::ENOMEM)))?;
        p.move_attached(old, place);
    } else {
        move_pages(p, old, old_length, place, new_length, protection)?;
    }
    Ok(place)
}

/// Copies the pages to their new place and removes the old ones.
fn move_pages(
    p: &mut Process,
    old: u64,
    old_length: u64,
    place: u64,
    new_length: u64,
    protection: Protection,
) -> Result<(), Errno> {
    let kept = old_length.min(new_length);
    p.cpu.memory.protect(old, kept, Protection::READ).map_err(|_| Errno(libc::EFAULT))?;
    let bytes = p.bytes(old, kept)?.to_vec();
    p.cpu.memory.unmap(old, old_length);
    p.cpu.memory.map(place, new_length, protection);
    Ok(p.cpu.memory.force_write(place, &bytes)?)
}

/// Serves `madvise`: advice that changes the contents is followed, the rest is ignored.
fn madvise(p: &mut Process, a: &[u64; 6]) -> Answer {
    const DONTNEED: u64 = 4;
    aligned(a[0])?;
    let length = pages(a[1])?;
    range(p, a[0], length)?;
    if a[2] == DONTNEED {
        for page in (a[0]..a[0] + length).step_by(PAGE_BYTES as usize) {
            if p.cpu.memory.is_shared(page) {
                continue;
            }
            let protection = p.cpu.memory.protection(page).unwrap_or(Protection::NONE);
            p.cpu.memory.map(page, PAGE_BYTES, protection);
        }
    }
    Ok(0)
}

/// Serves `mincore`: every mapped page counts as in memory.
fn mincore(p: &mut Process, a: &[u64; 6]) -> Answer {
    aligned(a[0])?;
    range(p, a[0], a[1])?;
    let count = pages(a[1])? / PAGE_BYTES;
    p.put(a[2], &vec![1; count as usize])?;
    Ok(0)
}

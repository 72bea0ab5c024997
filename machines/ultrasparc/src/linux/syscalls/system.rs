//! Calls about the machine.

use crate::linux::errno::Errno;
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::structures as s;
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::memory::Access;

/// Bytes of each text of `uname`.
const NAME: usize = 65;

pub(super) const CALLS: &[Call] = &[
    call(189, "uname", "p", uname),
    call(162, "getdomainname", "pd", |p, a| {
        let names = host_names()?;
        let name = &names[5 * NAME..];
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(0) + 1;
        if length as u64 > a[1] {
            return Err(Errno(libc::EINVAL));
        }
        p.cpu.memory.write(a[0], &name[..length])?;
        Ok(0)
    }),
    call(88, "sethostname", "sd", |p, a| {
        host::call(host::SETHOSTNAME, [p.bytes(a[0], a[1])?.into(), a[1].into()])
    }),
    call(163, "setdomainname", "sd", |p, a| {
        host::call(host::SETDOMAINNAME, [p.bytes(a[0], a[1])?.into(), a[1].into()])
    }),
    call(214, "sysinfo", "p", |p, a| {
        let mut information = [0; bytes::SYSINFO];
        let done = host::call(host::SYSINFO, [information.as_mut_slice().into()])?;
        s::swap(&mut information, s::SYSINFO);
        p.cpu.memory.write(a[0], &information)?;
        Ok(done)
    }),
    call(347, "getrandom", "pdx", |p, a| {
        let to = p.region(a[0], a[1], Access::Write)?;
        p.wait(|| host::call(host::GETRANDOM, [(&to).into(), a[1].into(), a[2].into()]))
    })
    .restarting(),
    // The feature of a T4's kernel: a program may use mixed byte orders in ELF headers.
    call(340, "kern_features", "", |_, _| Ok(1)),
    call(52, "memory_ordering", "d", |_, _| Ok(0)),
    // These are threads' restartable sequences, keys of pages, and rings: programs that find none go on without.
    call(365, "rseq", "pdxx", |_, _| Err(Errno(libc::ENOSYS))),
    call(425, "io_uring_setup", "dp", |_, _| Err(Errno(libc::ENOSYS))),
    call(363, "pkey_alloc", "xx", |_, _| Err(Errno(libc::ENOSYS))),
    call(346, "seccomp", "dxp", |_, _| Err(Errno(libc::EINVAL))),
    call(21, "capget", "pp", capget),
    call(22, "capset", "pp", capset),
    call(341, "kcmp", "dddxx", |p, a| {
        const EPOLL: u64 = 7;
        let [one, other, kind, first, second, _] = *a;
        let [one, other, kind] = [one, other, kind].map(int);
        if kind != EPOLL {
            return host::call(
                host::KCMP,
                [one.into(), other.into(), kind.into(), first.into(), second.into()],
            );
        }
        let mut slot = p.bytes(second, 12)?.to_vec();
        s::swap_each(&mut slot, &[4]);
        let slot = slot.as_slice().into();
        host::call(host::KCMP_EPOLL, [one.into(), other.into(), kind.into(), first.into(), slot])
    }),
    call(207, "syslog", "dpd", |p, a| {
        const READS: [u64; 3] = [2, 3, 4];
        let (kind, length) = (int(a[0]), int(a[2]));
        if !READS.contains(&kind) || a[1] == 0 || (length as i64) < 0 {
            // Other kinds ignore the address, so no buffer is made, and an invalid kind is refused.
            return host::call(host::SYSLOG, [kind.into(), 0.into(), length.into()]);
        }
        let to = p.room(a[1], length)?;
        p.wait(|| host::call(host::SYSLOG, [kind.into(), (&to).into(), to.length().into()]))
    })
    .restarting(),
];

/// The head of `capget` and `capset`: a version, which the kernel corrects, and a process.
fn capability_head(p: &Process, address: u64) -> Result<([u8; 8], usize), Errno> {
    const FIRST: u32 = 0x1998_0330;
    let mut head = [0; 8];
    head.copy_from_slice(p.bytes(address, 8)?);
    s::swap(&mut head, s::TWO_INTS);
    // The first version has 32 capabilities, the others 64.
    let used = if s::host_u32(&head, 0) == FIRST { bytes::CAPABILITIES / 2 } else { bytes::CAPABILITIES };
    Ok((head, used))
}

/// Tells a program the version that it should have used.
fn put_capability_head(p: &mut Process, address: u64, mut head: [u8; 8]) -> Result<(), Errno> {
    s::swap(&mut head, s::TWO_INTS);
    p.put(address, &head)
}

fn capget(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (mut head, used) = capability_head(p, a[0])?;
    let mut sets = [0; bytes::CAPABILITIES];
    let wanted = (a[1] != 0).then_some(sets.as_mut_slice());
    let answer = host::call(host::CAPGET, [head.as_mut_slice().into(), wanted.into()]);
    put_capability_head(p, a[0], head)?;
    if answer.is_ok() {
        s::swap_each(&mut sets, &[4]);
        p.put(a[1], &sets[..used])?;
    }
    answer
}

fn capset(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (mut head, used) = capability_head(p, a[0])?;
    let mut sets = [0; bytes::CAPABILITIES];
    sets[..used].copy_from_slice(p.bytes(a[1], used as u64)?);
    s::swap_each(&mut sets, &[4]);
    let answer = host::call(host::CAPSET, [head.as_mut_slice().into(), sets.as_slice().into()]);
    put_capability_head(p, a[0], head)?;
    answer
}

fn host_names() -> Result<[u8; bytes::UTSNAME], Errno> {
    let mut names = [0; bytes::UTSNAME];
    host::call(host::UNAME, [names.as_mut_slice().into()])?;
    Ok(names)
}

/// Serves `uname` with the host's names, except for the machine.
fn uname(p: &mut Process, a: &[u64; 6]) -> Answer {
    let mut names = host_names()?;
    let machine = &mut names[4 * NAME..5 * NAME];
    machine.fill(0);
    machine[..7].copy_from_slice(b"sparc64");
    p.cpu.memory.write(a[0], &names)?;
    Ok(0)
}

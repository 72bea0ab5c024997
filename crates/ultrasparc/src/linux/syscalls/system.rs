//! Calls about the machine.

use crate::linux::errno::Errno;
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::structures as s;
use crate::linux::syscalls::{Answer, Call, call};

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
        let to = p.bytes_mut(a[0], a[1])?;
        host::call(host::GETRANDOM, [to.into(), a[1].into(), a[2].into()])
    })
    .restarting(),
    // What a T4's kernel features are: a program may use mixed byte orders in ELF headers.
    call(340, "kern_features", "", |_, _| Ok(1)),
    call(52, "memory_ordering", "d", |_, _| Ok(0)),
    // Threads' restartable sequences, keys of pages, rings: programs that find none go on without.
    call(365, "rseq", "pdxx", |_, _| Err(Errno(libc::ENOSYS))),
    call(425, "io_uring_setup", "dp", |_, _| Err(Errno(libc::ENOSYS))),
    call(363, "pkey_alloc", "xx", |_, _| Err(Errno(libc::ENOSYS))),
    call(346, "seccomp", "dxp", |_, _| Err(Errno(libc::EINVAL))),
    call(21, "capget", "pp", |_, _| Err(Errno(libc::ENOSYS))),
    call(22, "capset", "pp", |_, _| Err(Errno(libc::EPERM))),
];

fn host_names() -> Result<[u8; bytes::UTSNAME], Errno> {
    let mut names = [0; bytes::UTSNAME];
    host::call(host::UNAME, [names.as_mut_slice().into()])?;
    Ok(names)
}

/// The host's names but for the machine.
fn uname(p: &mut Process, a: &[u64; 6]) -> Answer {
    let mut names = host_names()?;
    let machine = &mut names[4 * NAME..5 * NAME];
    machine.fill(0);
    machine[..7].copy_from_slice(b"sparc64");
    p.cpu.memory.write(a[0], &names)?;
    Ok(0)
}

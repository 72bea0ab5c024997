//! Calls on signals, most of which [`crate::linux::signals`] serves.

use crate::linux::errno::Errno;
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::signals::{
    information_of_host, information_to_host, mask_of_host, mask_to_host, of_host, to_host,
};
use crate::linux::structures::{self as s, guest_u64};
use crate::linux::syscalls::{Answer, Call, call, int};

pub(super) const CALLS: &[Call] = &[
    call(37, "kill", "dd", |_, a| host::call(host::KILL, [int(a[0]).into(), to_host(int(a[1])).into()])),
    call(187, "tkill", "dd", |_, a| host::call(host::TKILL, [int(a[0]).into(), to_host(int(a[1])).into()])),
    call(211, "tgkill", "ddd", |_, a| {
        host::call(host::TGKILL, [int(a[0]).into(), int(a[1]).into(), to_host(int(a[2])).into()])
    }),
    call(101, "rt_sigreturn", "", |p, _| p.leave_handler()),
    call(102, "rt_sigaction", "dpppd", |p, a| p.set_action(a)),
    call(103, "rt_sigprocmask", "dppd", |p, a| p.change_mask(a)),
    call(104, "rt_sigpending", "pd", |p, a| {
        let mut set = [0; bytes::SIGSET];
        let done = host::call(host::SIGPENDING, [set.as_mut_slice().into(), (bytes::SIGSET as u64).into()])?;
        let set = mask_of_host(u64::from_ne_bytes(set)).to_be_bytes();
        p.put(a[0], &set[..(a[1] as usize).min(8)])?;
        Ok(done)
    }),
    call(105, "rt_sigtimedwait", "pppd", timed_wait),
    call(106, "rt_sigqueueinfo", "ddp", |p, a| {
        let information = information_to_host(p.bytes(a[2], 128)?);
        let signal = to_host(int(a[1]));
        host::call(host::SIGQUEUE, [int(a[0]).into(), signal.into(), information.as_slice().into()])
    }),
    call(326, "rt_tgsigqueueinfo", "dddp", |p, a| {
        let information = information_to_host(p.bytes(a[3], 128)?);
        let signal = to_host(int(a[2]));
        host::call(
            host::TGSIGQUEUE,
            [int(a[0]).into(), int(a[1]).into(), signal.into(), information.as_slice().into()],
        )
    }),
    call(107, "rt_sigsuspend", "pd", |p, a| {
        let mask = guest_u64(p.bytes(a[0], 8)?, 0);
        suspend(p, mask)
    }),
    call(29, "pause", "", |p, _| {
        let mask = p.signals.mask;
        suspend(p, mask)
    }),
    call(28, "sigaltstack", "pp", |p, a| p.change_stack(a)),
];

fn suspend(p: &mut Process, mask: u64) -> Answer {
    let set = mask_to_host(mask).to_ne_bytes();
    let set = set.as_slice();
    let answer = p.wait(|| host::call(host::SIGSUSPEND, [set.into(), (bytes::SIGSET as u64).into()]));
    if answer == Err(Errno(libc::EINTR)) && host::is_caught() {
        p.signals.suspended(mask);
    }
    answer
}

fn timed_wait(p: &mut Process, a: &[u64; 6]) -> Answer {
    let set = mask_to_host(guest_u64(p.bytes(a[0], 8)?, 0)).to_ne_bytes();
    let mut timeout = match a[2] {
        0 => None,
        address => Some(p.bytes(address, 16)?.to_vec()),
    };
    if let Some(timeout) = &mut timeout {
        s::swap(timeout, s::TIMESPEC);
    }
    let mut information = [0; bytes::SIGINFO];
    let signal = p.wait(|| {
        host::call(
            host::SIGTIMEDWAIT,
            [
                set.as_slice().into(),
                information.as_mut_slice().into(),
                timeout.as_deref().into(),
                (bytes::SIGSET as u64).into(),
            ],
        )
    })?;
    p.put(a[1], &information_of_host(&information))?;
    Ok(of_host(signal as i32).into())
}

//! POSIX's message queues.

use crate::linux::errno::Errno;
use crate::linux::flags::{self, OPEN};
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::structures::{self as s, guest_u64};
use crate::linux::syscalls::time::{event_to_host, read};
use crate::linux::syscalls::{Answer, Call, call, int};
use crate::memory::Access;

pub(super) const CALLS: &[Call] = &[
    call(273, "mq_open", "sxxp", open),
    call(274, "mq_unlink", "s", |p, a| {
        let name = p.text(a[0])?;
        host::call(host::MQ_UNLINK, [(&name).into()])
    }),
    call(275, "mq_timedsend", "dpddp", |p, a| {
        let timeout = read(p, a[4], s::TIMESPEC)?;
        let message = p.region(a[1], a[2], Access::Read)?;
        let priority = a[3] & 0xffff_ffff;
        p.wait(|| {
            host::call(
                host::MQ_SEND,
                [
                    int(a[0]).into(),
                    (&message).into(),
                    a[2].into(),
                    priority.into(),
                    timeout.as_deref().into(),
                ],
            )
        })
    })
    .restarting(),
    call(276, "mq_timedreceive", "dpdpp", receive).restarting(),
    call(277, "mq_notify", "dp", |p, a| {
        const SIGEV_SIGNAL: u32 = 0;
        const SIGEV_NONE: u32 = 1;
        // The library's own way, for a thread, has the kernel send a message over a kind of socket that is not
        // offered here.
        let event = event_to_host(p, a[1], &[SIGEV_SIGNAL, SIGEV_NONE])?;
        host::call(host::MQ_NOTIFY, [int(a[0]).into(), event.as_ref().map(|event| event.as_slice()).into()])
    }),
    call(278, "mq_getsetattr", "dpp", get_and_set),
];

fn open(p: &mut Process, a: &[u64; 6]) -> Answer {
    let name = p.text(a[0])?;
    let (flags, _) = flags::of_sparc(OPEN, a[1] & 0xffff_ffff);
    let attributes = match flags & libc::O_CREAT {
        0 => None,
        _ => read(p, a[3], s::MQ_ATTR)?,
    };
    host::call(
        host::MQ_OPEN,
        [(&name).into(), flags.into(), (a[2] & 0xffff).into(), attributes.as_deref().into()],
    )
}

fn receive(p: &mut Process, a: &[u64; 6]) -> Answer {
    let timeout = read(p, a[4], s::TIMESPEC)?;
    let mut priority = [0; 4];
    let to = p.room(a[1], a[2])?;
    let received = p.wait(|| {
        host::call(
            host::MQ_RECEIVE,
            [
                int(a[0]).into(),
                (&to).into(),
                to.length().into(),
                priority.as_mut_slice().into(),
                timeout.as_deref().into(),
            ],
        )
    })?;
    p.cpu.memory.written(a[1], received);
    p.put(a[3], &u32::from_ne_bytes(priority).to_be_bytes())?;
    Ok(received)
}

/// Serves `mq_getsetattr`: only waiting or not can be set.
fn get_and_set(p: &mut Process, a: &[u64; 6]) -> Answer {
    let mut new = read(p, a[1], s::MQ_ATTR)?;
    if let Some(new) = &mut new {
        let (host, left) = flags::of_sparc(OPEN, guest_u64(p.bytes(a[1], 8)?, 0));
        if left != 0 || host & !libc::O_NONBLOCK != 0 {
            return Err(Errno(libc::EINVAL));
        }
        new[..8].copy_from_slice(&i64::from(host).to_ne_bytes());
    }
    let mut old = [0; bytes::MQ_ATTR];
    let done = host::call(
        host::MQ_GETSETATTR,
        [int(a[0]).into(), new.as_deref().into(), old.as_mut_slice().into()],
    )?;
    let sparc = flags::of_host(OPEN, s::host_u64(&old, 0) as i32);
    s::swap(&mut old, s::MQ_ATTR);
    old[..8].copy_from_slice(&sparc.to_be_bytes());
    p.put(a[2], &old)?;
    Ok(done)
}

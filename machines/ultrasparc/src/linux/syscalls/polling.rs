//! Calls that wait for descriptors.

use crate::linux::errno::Errno;
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::signals::mask_to_host;
use crate::linux::structures::{self as s, Fields, guest_u32, guest_u64};
use crate::linux::syscalls::descriptors::descriptor_flags;
use crate::linux::syscalls::{Answer, Call, call, int};

/// The most descriptors for which one call waits here.
const MOST: u64 = 65536;

/// Bytes of `struct epoll_event` on SPARC, where it is not packed.
const EPOLL_EVENT: usize = 16;

pub(super) const CALLS: &[Call] = &[
    call(153, "poll", "pdd", |p, a| {
        let milliseconds = a[2] as i32;
        let timeout = (milliseconds >= 0).then(|| {
            let (seconds, rest) = (milliseconds as u64 / 1000, milliseconds as u64 % 1000);
            timespec(seconds, rest * 1_000_000)
        });
        poll(p, a[0], a[1], timeout, None).map(|(count, _)| count)
    }),
    call(298, "ppoll", "pdppd", |p, a| {
        let timeout = read_timespec(p, a[2])?;
        let mask = read_mask(p, a[3])?;
        let (count, left) = poll(p, a[0], a[1], timeout, mask)?;
        put_timespec(p, a[2], left)?;
        Ok(count)
    }),
    call(93, "select", "dpppp", select),
    call(230, "_newselect", "dpppp", select),
    call(297, "pselect6", "dppppp", pselect),
    call(193, "epoll_create", "d", |_, a| {
        if a[0] as i32 <= 0 { Err(Errno(libc::EINVAL)) } else { host::call(host::EPOLL_CREATE, [0.into()]) }
    }),
    call(319, "epoll_create1", "x", |_, a| {
        host::call(host::EPOLL_CREATE, [descriptor_flags(a[0], 0)?.into()])
    }),
    call(194, "epoll_ctl", "dddp", epoll_ctl),
    call(195, "epoll_wait", "dpdd", |p, a| epoll_wait(p, a, None)),
    call(309, "epoll_pwait", "dpddpd", |p, a| {
        let mask = read_mask(p, a[4])?;
        epoll_wait(p, a, mask)
    }),
];

fn timespec(seconds: u64, nanoseconds: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&seconds.to_ne_bytes());
    bytes[8..].copy_from_slice(&nanoseconds.to_ne_bytes());
    bytes
}

/// The host's `timespec` from a program's, if there is one.
fn read_timespec(p: &Process, address: u64) -> Result<Option<[u8; 16]>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    let bytes = p.bytes(address, 16)?;
    Ok(Some(timespec(guest_u64(bytes, 0), guest_u64(bytes, 8))))
}

fn put_timespec(p: &mut Process, address: u64, time: Option<[u8; 16]>) -> Result<(), Errno> {
    match time {
        Some(mut time) => {
            s::swap(&mut time, s::TIMESPEC);
            p.put(address, &time)
        }
        None => Ok(()),
    }
}

/// A set of signals, if there is one.
fn read_mask(p: &Process, address: u64) -> Result<Option<u64>, Errno> {
    if address == 0 { Ok(None) } else { Ok(Some(guest_u64(p.bytes(address, 8)?, 0))) }
}

/// Makes a call that waits with another mask, which stays in force for a handler that interrupts it.
fn masked(p: &mut Process, mask: Option<u64>, made: impl FnOnce(Option<u64>) -> Answer) -> Answer {
    let answer = p.wait(|| made(mask.map(mask_to_host)));
    if let (Some(mask), Err(Errno(libc::EINTR))) = (mask, answer)
        && host::is_caught()
    {
        p.signals.suspended(mask);
    }
    answer
}

fn poll(
    p: &mut Process,
    address: u64,
    count: u64,
    mut timeout: Option<[u8; 16]>,
    mask: Option<u64>,
) -> Result<(u64, Option<[u8; 16]>), Errno> {
    if count > MOST {
        return Err(Errno(libc::EINVAL));
    }
    let mut set = p.bytes(address, count * bytes::POLLFD as u64)?.to_vec();
    s::swap_each(&mut set, s::POLLFD);
    let ready = masked(p, mask, |mask| {
        let mask = mask.map(u64::to_ne_bytes);
        host::call(
            host::PPOLL,
            [
                set.as_mut_slice().into(),
                count.into(),
                timeout.as_mut().map(|time| time.as_mut_slice()).into(),
                mask.as_ref().map(|mask| mask.as_slice()).into(),
                (bytes::SIGSET as u64).into(),
            ],
        )
    })?;
    s::swap_each(&mut set, s::POLLFD);
    p.cpu.memory.write(address, &set)?;
    Ok((ready, timeout))
}

/// Bytes of a set for that many descriptors: whole words.
fn set_bytes(count: u64) -> u64 {
    count.div_ceil(64) * 8
}

fn read_set(p: &Process, address: u64, count: u64) -> Result<Option<[u8; bytes::FD_SET]>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    let mut set = [0; bytes::FD_SET];
    let length = set_bytes(count);
    set[..length as usize].copy_from_slice(p.bytes(address, length)?);
    s::swap_each(&mut set, &[8]);
    Ok(Some(set))
}

/// Makes `pselect6`: its answer, the sets, and the time that is left.
fn wait_for_sets(
    p: &mut Process,
    a: &[u64; 6],
    mut timeout: Option<[u8; 16]>,
    mask: Option<u64>,
) -> Result<(u64, Option<[u8; 16]>), Errno> {
    if a[0] as i32 <= -1 {
        return Err(Errno(libc::EINVAL));
    }
    let count = (a[0] & 0xffff_ffff).min(8 * bytes::FD_SET as u64);
    let mut sets = [read_set(p, a[1], count)?, read_set(p, a[2], count)?, read_set(p, a[3], count)?];
    let ready = masked(p, mask, |mask| {
        let [one, two, three] = &mut sets;
        let sets = [one, two, three].map(|set| set.as_mut().map(|set| set.as_mut_slice()));
        host::pselect(count, sets, timeout.as_mut().map(|time| time.as_mut_slice()), mask)
    })?;
    for (set, address) in sets.into_iter().zip(&a[1..4]) {
        if let Some(mut set) = set {
            s::swap_each(&mut set, &[8]);
            p.put(*address, &set[..set_bytes(count) as usize])?;
        }
    }
    Ok((ready, timeout))
}

fn select(p: &mut Process, a: &[u64; 6]) -> Answer {
    let timeout = match a[4] {
        0 => None,
        address => {
            let time = s::timeval_of_guest(p.bytes(address, 16)?);
            let microseconds = s::host_u64(&time, 8);
            Some(timespec(s::host_u64(&time, 0) + microseconds / 1_000_000, microseconds % 1_000_000 * 1000))
        }
    };
    let (ready, left) = wait_for_sets(p, a, timeout, None)?;
    if let Some(left) = left {
        let (seconds, microseconds) = (s::host_u64(&left, 0), s::host_u64(&left, 8) / 1000);
        p.put(a[4], &Fields::new().u64(seconds).u32(microseconds as u32).u32(0).bytes())?;
    }
    Ok(ready)
}

fn pselect(p: &mut Process, a: &[u64; 6]) -> Answer {
    let timeout = read_timespec(p, a[4])?;
    let mask = match a[5] {
        0 => None,
        sized => {
            let address = guest_u64(p.bytes(sized, 16)?, 0);
            read_mask(p, address)?
        }
    };
    let (ready, left) = wait_for_sets(p, a, timeout, mask)?;
    put_timespec(p, a[4], left)?;
    Ok(ready)
}

/// The host's `epoll_event`, which is packed on x86-64.
fn event_to_host(guest: &[u8]) -> [u8; bytes::EPOLL_EVENT] {
    let mut host = [0; bytes::EPOLL_EVENT];
    host[..4].copy_from_slice(&guest_u32(guest, 0).to_ne_bytes());
    host[bytes::EPOLL_EVENT - 8..].copy_from_slice(&guest_u64(guest, 8).to_ne_bytes());
    host
}

fn event_of_host(host: &[u8]) -> Vec<u8> {
    Fields::new().u32(s::host_u32(host, 0)).u32(0).u64(s::host_u64(host, bytes::EPOLL_EVENT - 8)).bytes()
}

fn epoll_ctl(p: &mut Process, a: &[u64; 6]) -> Answer {
    let event = match a[3] {
        0 => None,
        address => Some(event_to_host(p.bytes(address, EPOLL_EVENT as u64)?)),
    };
    let event = event.as_ref().map(|event| event.as_slice());
    host::call(host::EPOLL_CTL, [int(a[0]).into(), int(a[1]).into(), int(a[2]).into(), event.into()])
}

fn epoll_wait(p: &mut Process, a: &[u64; 6], mask: Option<u64>) -> Answer {
    let most = a[2] as i32;
    if most <= 0 || most as u64 > MOST {
        return Err(Errno(libc::EINVAL));
    }
    let mut events = vec![0; most as usize * bytes::EPOLL_EVENT];
    let count = masked(p, mask, |mask| {
        let mask = mask.map(u64::to_ne_bytes);
        host::call(
            host::EPOLL_WAIT,
            [
                int(a[0]).into(),
                events.as_mut_slice().into(),
                (most as u64).into(),
                int(a[3]).into(),
                mask.as_ref().map(|mask| mask.as_slice()).into(),
                (bytes::SIGSET as u64).into(),
            ],
        )
    })?;
    let events: Vec<u8> =
        events.chunks_exact(bytes::EPOLL_EVENT).take(count as usize).flat_map(event_of_host).collect();
    p.put(a[1], &events)?;
    Ok(count)
}

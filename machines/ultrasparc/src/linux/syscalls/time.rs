//! Calls on clocks and timers.

use crate::linux::errno::Errno;
use crate::linux::host::{self, Number, bytes};
use crate::linux::process::Process;
use crate::linux::signals::to_host;
use crate::linux::structures::{self as s, Fields, Widths, guest_u32, guest_u64, host_u64};
use crate::linux::syscalls::{Answer, Call, call, int};

pub(super) const CALLS: &[Call] = &[
    call(257, "clock_gettime", "dp", |p, a| filled(p, host::CLOCK_GETTIME, a[0], a[1], s::TIMESPEC)),
    call(258, "clock_getres", "dp", |p, a| filled(p, host::CLOCK_GETRES, a[0], a[1], s::TIMESPEC)),
    call(256, "clock_settime", "dp", |p, a| {
        let time = read(p, a[1], s::TIMESPEC)?;
        host::call(host::CLOCK_SETTIME, [int(a[0]).into(), time.as_deref().into()])
    }),
    call(249, "nanosleep", "pp", |p, a| sleep(p, libc::CLOCK_MONOTONIC as u64, 0, a[0], a[1])),
    call(259, "clock_nanosleep", "dxpp", |p, a| sleep(p, a[0], a[1], a[2], a[3])),
    call(116, "gettimeofday", "pp", |p, a| {
        let mut time = [0; bytes::TIMESPEC];
        host::call(host::CLOCK_GETTIME, [0.into(), time.as_mut_slice().into()])?;
        let microseconds = host_u64(&time, 8) / 1000;
        p.put(a[0], &Fields::new().u64(host_u64(&time, 0)).u32(microseconds as u32).u32(0).bytes())?;
        p.put(a[1], &[0; 8])?;
        Ok(0)
    }),
    call(43, "times", "p", |p, a| {
        let mut times = [0; 32];
        let ticks = host::call(host::TIMES, [times.as_mut_slice().into()])?;
        s::swap(&mut times, s::TMS);
        p.put(a[0], &times)?;
        Ok(ticks)
    }),
    call(27, "alarm", "d", alarm),
    call(86, "getitimer", "dp", |p, a| {
        let mut timer = [0; 32];
        let done = host::call(host::GETITIMER, [int(a[0]).into(), timer.as_mut_slice().into()])?;
        p.put(a[1], &interval_of_host(&timer))?;
        Ok(done)
    }),
    call(83, "setitimer", "dpp", |p, a| {
        let new = match a[1] {
            0 => None,
            address => {
                let bytes = p.bytes(address, 32)?;
                Some([s::timeval_of_guest(&bytes[..16]), s::timeval_of_guest(&bytes[16..])].concat())
            }
        };
        let mut old = [0; 32];
        let done = host::call(
            host::SETITIMER,
            [int(a[0]).into(), new.as_deref().into(), old.as_mut_slice().into()],
        )?;
        p.put(a[2], &interval_of_host(&old))?;
        Ok(done)
    }),
    call(266, "timer_create", "dpp", timer_create),
    call(262, "timer_settime", "dxpp", |p, a| set_timer(p, host::TIMER_SETTIME, a)),
    call(263, "timer_gettime", "dp", |p, a| filled(p, host::TIMER_GETTIME, a[0], a[1], s::ITIMERSPEC)),
    call(264, "timer_getoverrun", "d", |_, a| host::call(host::TIMER_GETOVERRUN, [int(a[0]).into()])),
    call(265, "timer_delete", "d", |_, a| host::call(host::TIMER_DELETE, [int(a[0]).into()])),
    call(315, "timerfd_settime", "dxpp", |p, a| set_timer(p, host::TIMERFD_SETTIME, a)),
    call(316, "timerfd_gettime", "dp", |p, a| filled(p, host::TIMERFD_GETTIME, a[0], a[1], s::ITIMERSPEC)),
    call(248, "sched_rr_get_interval", "dp", |p, a| filled(p, host::SCHED_INTERVAL, a[0], a[1], s::TIMESPEC)),
    // A program may not set the clock: whoever may does so on the host.
    call(219, "adjtimex", "p", |_, _| Err(Errno(libc::EPERM))),
    call(122, "settimeofday", "pp", |_, _| Err(Errno(libc::EPERM))),
    call(233, "stime", "p", |_, _| Err(Errno(libc::EPERM))),
];

/// Reads a structure of the program's into the host's order, unless its address is null.
pub(super) fn read(p: &Process, address: u64, widths: Widths) -> Result<Option<Vec<u8>>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    let mut bytes = p.bytes(address, widths.iter().sum::<usize>() as u64)?.to_vec();
    s::swap(&mut bytes, widths);
    Ok(Some(bytes))
}

/// Makes a call that fills a structure.
fn filled(p: &mut Process, number: Number, first: u64, to: u64, widths: Widths) -> Answer {
    let mut bytes = vec![0; widths.iter().sum()];
    let done = host::call(number, [int(first).into(), bytes.as_mut_slice().into()])?;
    s::swap(&mut bytes, widths);
    p.put(to, &bytes)?;
    Ok(done)
}

fn sleep(p: &mut Process, clock: u64, flags: u64, wanted: u64, left: u64) -> Answer {
    let wanted = read(p, wanted, s::TIMESPEC)?.ok_or(Errno(libc::EFAULT))?;
    let mut rest = [0; bytes::TIMESPEC];
    let answer = p.wait(|| {
        host::call(
            host::CLOCK_NANOSLEEP,
            [int(clock).into(), flags.into(), wanted.as_slice().into(), rest.as_mut_slice().into()],
        )
    });
    if answer == Err(Errno(libc::EINTR)) && flags & libc::TIMER_ABSTIME as u64 == 0 {
        s::swap(&mut rest, s::TIMESPEC);
        p.put(left, &rest)?;
    }
    answer
}

fn interval_of_host(host: &[u8]) -> Vec<u8> {
    [s::timeval_of_host(&host[..16]), s::timeval_of_host(&host[16..])].concat()
}

/// Serves `alarm`: the seconds that were left, rounded to the nearest, but never to none.
fn alarm(_: &mut Process, a: &[u64; 6]) -> Answer {
    let mut new = [0; 32];
    new[16..24].copy_from_slice(&(a[0] & 0xffff_ffff).to_ne_bytes());
    let mut old = [0; 32];
    host::call(
        host::SETITIMER,
        [u64::from(libc::ITIMER_REAL as u32).into(), new.as_slice().into(), old.as_mut_slice().into()],
    )?;
    let (seconds, microseconds) = (host_u64(&old, 16), host_u64(&old, 24));
    let more = microseconds >= 500_000 || (seconds == 0 && microseconds > 0);
    Ok(seconds + u64::from(more))
}

/// Reads `struct sigevent`, unless its address is null: a value, a signal, and the kind of notification, which has to
/// be one of those.
pub(super) fn event_to_host(
    p: &Process,
    address: u64,
    ways: &[u32],
) -> Result<Option<[u8; bytes::SIGEVENT]>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    let guest = p.bytes(address, bytes::SIGEVENT as u64)?;
    let (signal, way) = (to_host(guest_u32(guest, 8).into()), guest_u32(guest, 12));
    if !ways.contains(&way) {
        return Err(Errno(libc::EINVAL));
    }
    let mut event = [0; bytes::SIGEVENT];
    event[..8].copy_from_slice(&guest_u64(guest, 0).to_ne_bytes());
    for (at, word) in [(8, signal as u32), (12, way), (16, guest_u32(guest, 16))] {
        event[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    Ok(Some(event))
}

fn timer_create(p: &mut Process, a: &[u64; 6]) -> Answer {
    const SIGEV_SIGNAL: u32 = 0;
    const SIGEV_NONE: u32 = 1;
    const SIGEV_THREAD_ID: u32 = 4;
    let event = event_to_host(p, a[1], &[SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD_ID])?;
    let mut timer = [0; 4];
    let event = event.as_ref().map(|event| event.as_slice());
    let done = host::call(host::TIMER_CREATE, [int(a[0]).into(), event.into(), timer.as_mut_slice().into()])?;
    p.put(a[2], &u32::from_ne_bytes(timer).to_be_bytes())?;
    Ok(done)
}

fn set_timer(p: &mut Process, number: Number, a: &[u64; 6]) -> Answer {
    let new = read(p, a[2], s::ITIMERSPEC)?;
    let mut old = [0; bytes::ITIMERSPEC];
    let done = host::call(
        number,
        [int(a[0]).into(), a[1].into(), new.as_deref().into(), old.as_mut_slice().into()],
    )?;
    s::swap(&mut old, s::ITIMERSPEC);
    p.put(a[3], &old)?;
    Ok(done)
}

//! Calls about a process's identity: its numbers, users, groups, sessions and priorities.

use crate::linux::host;
use crate::linux::process::Process;
use crate::linux::structures::{host_u32, swap_each};
use crate::linux::syscalls::descriptors::words;
use crate::linux::syscalls::{Answer, Call, call, int};

/// The most groups a process has.
const NGROUPS: u64 = 65536;

pub(super) const CALLS: &[Call] = &[
    call(20, "getpid", "", |_, _| host::call(host::GETPID, [])),
    call(197, "getppid", "", |_, _| host::call(host::GETPPID, [])),
    call(143, "gettid", "", |_, _| host::call(host::GETTID, [])),
    call(24, "getuid", "", |_, _| host::call(host::GETUID, [])),
    call(49, "geteuid", "", |_, _| host::call(host::GETEUID, [])),
    call(47, "getgid", "", |_, _| host::call(host::GETGID, [])),
    call(50, "getegid", "", |_, _| host::call(host::GETEGID, [])),
    call(23, "setuid", "d", |_, a| host::call(host::SETUID, [int(a[0]).into()])),
    call(46, "setgid", "d", |_, a| host::call(host::SETGID, [int(a[0]).into()])),
    call(126, "setreuid", "dd", |_, a| host::call(host::SETREUID, ints(a))),
    call(127, "setregid", "dd", |_, a| host::call(host::SETREGID, ints(a))),
    call(108, "setresuid", "ddd", |_, a| host::call(host::SETRESUID, ints(a))),
    call(110, "setresgid", "ddd", |_, a| host::call(host::SETRESGID, ints(a))),
    call(109, "getresuid", "ppp", |p, a| three(p, host::GETRESUID, a)),
    call(111, "getresgid", "ppp", |p, a| three(p, host::GETRESGID, a)),
    call(228, "setfsuid", "d", |_, a| host::call(host::SETFSUID, [int(a[0]).into()])),
    call(229, "setfsgid", "d", |_, a| host::call(host::SETFSGID, [int(a[0]).into()])),
    call(79, "getgroups", "dp", getgroups),
    call(80, "setgroups", "dp", setgroups),
    call(81, "getpgrp", "", |_, _| host::call(host::GETPGID, [0.into()])),
    call(224, "getpgid", "d", |_, a| host::call(host::GETPGID, [int(a[0]).into()])),
    call(185, "setpgid", "dd", |_, a| host::call(host::SETPGID, ints(a))),
    call(252, "getsid", "d", |_, a| host::call(host::GETSID, [int(a[0]).into()])),
    call(175, "setsid", "", |_, _| host::call(host::SETSID, [])),
    call(34, "nice", "d", nice),
    call(100, "getpriority", "dd", |_, a| host::call(host::GETPRIORITY, ints(a))),
    call(96, "setpriority", "ddd", |_, a| host::call(host::SETPRIORITY, ints(a))),
    call(196, "ioprio_set", "ddd", |_, a| host::call(host::IOPRIO_SET, ints(a))),
    call(218, "ioprio_get", "dd", |_, a| host::call(host::IOPRIO_GET, ints(a))),
    call(245, "sched_yield", "", |p, _| {
        p.pass_turn();
        host::call(host::SCHED_YIELD, [])
    }),
    call(260, "sched_getaffinity", "ddp", getaffinity),
    call(261, "sched_setaffinity", "ddp", setaffinity),
    call(244, "sched_getscheduler", "d", |_, a| host::call(host::SCHED_GETSCHEDULER, [int(a[0]).into()])),
    call(243, "sched_setscheduler", "ddp", |p, a| {
        let priority = parameter(p, a[2])?;
        host::call(host::SCHED_SETSCHEDULER, [int(a[0]).into(), int(a[1]).into(), priority.as_slice().into()])
    }),
    call(241, "sched_setparam", "dp", |p, a| {
        let priority = parameter(p, a[1])?;
        host::call(host::SCHED_SETPARAM, [int(a[0]).into(), priority.as_slice().into()])
    }),
    call(242, "sched_getparam", "dp", |p, a| {
        let mut priority = [0; 4];
        let done = host::call(host::SCHED_GETPARAM, [int(a[0]).into(), priority.as_mut_slice().into()])?;
        p.put(a[1], &host_u32(&priority, 0).to_be_bytes())?;
        Ok(done)
    }),
    call(246, "sched_get_priority_max", "d", |_, a| host::call(host::SCHED_MAX, [int(a[0]).into()])),
    call(247, "sched_get_priority_min", "d", |_, a| host::call(host::SCHED_MIN, [int(a[0]).into()])),
    call(308, "getcpu", "pp", getcpu),
    call(191, "personality", "x", |_, a| host::call(host::PERSONALITY, words(a))),
];

/// Three numbers that may be -1.
fn ints(a: &[u64; 6]) -> [host::Argument<'static>; 3] {
    [int(a[0]).into(), int(a[1]).into(), int(a[2]).into()]
}

fn three(p: &mut Process, number: host::Number, a: &[u64; 6]) -> Answer {
    let (mut one, mut two, mut three) = ([0; 4], [0; 4], [0; 4]);
    let done = host::call(
        number,
        [one.as_mut_slice().into(), two.as_mut_slice().into(), three.as_mut_slice().into()],
    )?;
    for (address, value) in a.iter().zip([one, two, three]) {
        p.cpu.memory.write(*address, &u32::from_ne_bytes(value).to_be_bytes())?;
    }
    Ok(done)
}

fn getgroups(p: &mut Process, a: &[u64; 6]) -> Answer {
    let wanted = a[0].min(NGROUPS);
    let mut groups = vec![0; wanted as usize * 4];
    let count = host::call(host::GETGROUPS, [wanted.into(), groups.as_mut_slice().into()])?;
    if wanted != 0 {
        groups.truncate(count as usize * 4);
        swap_each(&mut groups, &[4]);
        p.put(a[1], &groups)?;
    }
    Ok(count)
}

fn setgroups(p: &mut Process, a: &[u64; 6]) -> Answer {
    let mut groups = p.bytes(a[1], a[0].min(NGROUPS + 1) * 4)?.to_vec();
    swap_each(&mut groups, &[4]);
    host::call(host::SETGROUPS, [a[0].into(), groups.as_mut_slice().into()])
}

/// Serves `nice`, which the host's library makes of two calls.
fn nice(_: &mut Process, a: &[u64; 6]) -> Answer {
    // The kernel answers 20 less the priority, so that no answer is negative.
    let now = 20 - host::call(host::GETPRIORITY, [0.into(), 0.into()])? as i64;
    let wanted = (now + i64::from(a[0] as i32)).clamp(-20, 19);
    host::call(host::SETPRIORITY, [0.into(), 0.into(), (wanted as u64).into()])
}

/// Serves `sched_getaffinity`, whose set of processors is words of 64 bits.
fn getaffinity(p: &mut Process, a: &[u64; 6]) -> Answer {
    let length = a[1] & !7;
    let set = p.bytes_mut(a[2], length)?;
    let count = host::call(host::SCHED_GETAFFINITY, [int(a[0]).into(), length.into(), set.into()])?;
    swap_each(p.bytes_mut(a[2], count)?, &[8]);
    Ok(count)
}

fn setaffinity(p: &mut Process, a: &[u64; 6]) -> Answer {
    let length = a[1] & !7;
    let mut set = p.bytes(a[2], length)?.to_vec();
    swap_each(&mut set, &[8]);
    host::call(host::SCHED_SETAFFINITY, [int(a[0]).into(), length.into(), set.as_slice().into()])
}

/// `struct sched_param`: one number.
fn parameter(p: &Process, address: u64) -> Result<[u8; 4], crate::linux::Errno> {
    let mut number = [0; 4];
    number.copy_from_slice(p.bytes(address, 4)?);
    swap_each(&mut number, &[4]);
    Ok(number)
}

fn getcpu(p: &mut Process, a: &[u64; 6]) -> Answer {
    let (mut cpu, mut node) = ([0; 4], [0; 4]);
    let done = host::call(host::GETCPU, [cpu.as_mut_slice().into(), node.as_mut_slice().into(), 0.into()])?;
    p.put(a[0], &u32::from_ne_bytes(cpu).to_be_bytes())?;
    p.put(a[1], &u32::from_ne_bytes(node).to_be_bytes())?;
    Ok(done)
}

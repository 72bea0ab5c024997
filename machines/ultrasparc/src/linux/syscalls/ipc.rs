//! System V's semaphores and message queues, and the one call through which programs reach them and segments.
//! Ref. Linux `arch/sparc/kernel/sys_sparc_64.c`, `sparc_ipc`.

use crate::linux::errno::Errno;
use crate::linux::flags::ipc as command;
use crate::linux::host::{self, bytes};
use crate::linux::process::Process;
use crate::linux::structures as s;
use crate::linux::syscalls::segments::{attach, control_segment, detach, get_segment};
use crate::linux::syscalls::{Answer, Call, call, int};

pub(super) const CALLS: &[Call] = &[
    call(215, "ipc", "dxxxpx", ipc),
    call(392, "semtimedop", "dpdp", |p, a| operate(p, a[0], a[1], a[2], a[3])),
    call(393, "semget", "xdx", |_, a| get_set(a[0], a[1], a[2])),
    call(394, "semctl", "ddxx", |p, a| control_set(p, a[0], a[1], a[2], a[3])),
    call(399, "msgget", "xx", |_, a| get_queue(a[0], a[1])),
    call(400, "msgsnd", "dpdx", |p, a| send(p, a[0], a[1], a[2], a[3])),
    call(401, "msgrcv", "dpddx", |p, a| receive(p, a[0], a[1], a[2], a[3], a[4])),
    call(402, "msgctl", "dxp", |p, a| control_queue(p, a[0], a[1], a[2])),
];

/// Asks for today's structures, which `ipc` takes for granted.
const IPC_64: u64 = 0x100;

/// The most semaphores that one call changes; no kernel permits more.
const SEMOPM: u64 = 65536;

/// More bytes than any message has.
const MESSAGE: u64 = 16 << 20;

/// Serves `ipc`: the number of the call, then an identity, two numbers, a pointer and one more number, as most of the
/// calls take them.
fn ipc(p: &mut Process, a: &[u64; 6]) -> Answer {
    let [which, first, second, third, pointer, fifth] = *a;
    let plain = |command: u64| command & 0xffff_ffff & !IPC_64;
    match which & 0xffff_ffff {
        1 => operate(p, first, pointer, second, 0),
        2 => get_set(first, second, third),
        3 => control_set(p, first, second, plain(third), pointer),
        4 => operate(p, first, pointer, second, fifth),
        11 => send(p, first, pointer, second, third),
        12 => receive(p, first, pointer, second, fifth, third),
        13 => get_queue(first, second),
        14 => control_queue(p, first, plain(second), pointer),
        21 => {
            let address = attach(p, first, pointer, second)?;
            p.cpu.memory.write(third, &address.to_be_bytes())?;
            Ok(0)
        }
        22 => detach(p, pointer),
        23 => get_segment(first, second, third),
        24 => control_segment(p, first, plain(second), pointer),
        _ => Err(Errno(libc::ENOSYS)),
    }
}

fn get_set(key: u64, count: u64, flags: u64) -> Answer {
    host::call(host::SEMGET, [int(key).into(), int(count).into(), int(flags).into()])
}

fn operate(p: &mut Process, set: u64, operations: u64, count: u64, timeout: u64) -> Answer {
    let count = count & 0xffff_ffff;
    if count == 0 {
        return Err(Errno(libc::EINVAL));
    }
    if count > SEMOPM {
        return Err(Errno(libc::E2BIG));
    }
    let mut operations = p.bytes(operations, count * 6)?.to_vec();
    s::swap_each(&mut operations, s::SEMBUF);
    let mut timeout = match timeout {
        0 => None,
        address => Some(p.bytes(address, bytes::TIMESPEC as u64)?.to_vec()),
    };
    if let Some(timeout) = &mut timeout {
        s::swap(timeout, s::TIMESPEC);
    }
    let operations = operations.as_mut_slice().into();
    let timeout = timeout.as_deref().into();
    p.wait(|| host::call(host::SEMTIMEDOP, [int(set).into(), operations, count.into(), timeout]))
}

fn control_set(p: &mut Process, set: u64, number: u64, command: u64, argument: u64) -> Answer {
    const RMID: u64 = 0;
    const GETPID: u64 = 11;
    const GETVAL: u64 = 12;
    const GETALL: u64 = 13;
    const GETNCNT: u64 = 14;
    const GETZCNT: u64 = 15;
    const SETVAL: u64 = 16;
    const SETALL: u64 = 17;
    const SEM_STAT: u64 = 18;
    const SEM_INFO: u64 = 19;
    const SEM_STAT_ANY: u64 = 20;
    let (set, number, command) = (int(set), int(number), int(command));
    let about = |structure: &mut [u8]| {
        host::call(host::SEMCTL_SET, [set.into(), number.into(), command.into(), structure.into()])
    };
    match command {
        RMID | GETPID | GETVAL | GETNCNT | GETZCNT => {
            host::call(host::SEMCTL, [set.into(), number.into(), command.into(), 0.into()])
        }
        SETVAL => {
            // The union's `int` is its upper half.
            let value = argument >> 32;
            host::call(host::SEMCTL, [set.into(), number.into(), command.into(), value.into()])
        }
        GETALL | SETALL => all_values(p, set, command == SETALL, command, argument),
        command::STAT | SEM_STAT | SEM_STAT_ANY => {
            let mut structure = [0; bytes::SEMID];
            let done = about(&mut structure)?;
            p.cpu.memory.write(argument, &s::semid_of_host(&structure))?;
            Ok(done)
        }
        command::SET => about(&mut s::semid_to_host(p.bytes(argument, s::SEMID_BYTES as u64)?)),
        command::INFO | SEM_INFO => {
            let mut structure = [0; bytes::SEMID];
            let done = about(&mut structure)?;
            let information = &mut structure[..40];
            s::swap(information, s::SEMINFO);
            p.cpu.memory.write(argument, information)?;
            Ok(done)
        }
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Reads or sets the values of all semaphores of a set.
fn all_values(p: &mut Process, set: u64, sets: bool, command: u64, address: u64) -> Answer {
    let mut structure = [0; bytes::SEMID];
    let stat = [set.into(), 0.into(), command::STAT.into(), structure.as_mut_slice().into()];
    host::call(host::SEMCTL_SET, stat)?;
    let length = 2 * s::semaphores(&structure);
    let mut values = vec![0; bytes::SEMAPHORES];
    if length > values.len() as u64 {
        return Err(Errno(libc::ENOMEM));
    }
    let used = length as usize;
    if sets {
        values[..used].copy_from_slice(p.bytes(address, length)?);
        s::swap_each(&mut values[..used], &[2]);
    }
    let values_ = values.as_mut_slice().into();
    let done = host::call(host::SEMCTL_ALL, [set.into(), 0.into(), command.into(), values_])?;
    if !sets {
        s::swap_each(&mut values[..used], &[2]);
        p.cpu.memory.write(address, &values[..used])?;
    }
    Ok(done)
}

fn get_queue(key: u64, flags: u64) -> Answer {
    host::call(host::MSGGET, [int(key).into(), int(flags).into()])
}

/// Sends a message: its type, a number of eight bytes, and as many bytes as the call says.
fn send(p: &mut Process, queue: u64, message: u64, length: u64, flags: u64) -> Answer {
    if length > MESSAGE {
        return Err(Errno(libc::EINVAL));
    }
    let mut bytes = p.bytes(message, 8 + length)?.to_vec();
    s::swap(&mut bytes, &[8]);
    let bytes = bytes.as_slice().into();
    p.wait(|| host::call(host::MSGSND, [int(queue).into(), bytes, length.into(), int(flags).into()]))
}

fn receive(p: &mut Process, queue: u64, message: u64, length: u64, kind: u64, flags: u64) -> Answer {
    if length > i64::MAX as u64 {
        return Err(Errno(libc::EINVAL));
    }
    // A program may claim more room than it has.
    let length = length.min(MESSAGE);
    let mut bytes = vec![0; 8 + length as usize];
    let to = bytes.as_mut_slice().into();
    let received = p.wait(|| {
        host::call(host::MSGRCV, [int(queue).into(), to, length.into(), kind.into(), int(flags).into()])
    })?;
    s::swap(&mut bytes, &[8]);
    p.cpu.memory.write(message, &bytes[..8 + received as usize])?;
    Ok(received)
}

fn control_queue(p: &mut Process, queue: u64, command: u64, address: u64) -> Answer {
    const RMID: u64 = 0;
    const MSG_STAT: u64 = 11;
    const MSG_INFO: u64 = 12;
    const MSG_STAT_ANY: u64 = 13;
    let (queue, command) = (int(queue), int(command));
    let mut structure = [0; bytes::MSQID];
    if command == command::SET {
        structure.copy_from_slice(p.bytes(address, bytes::MSQID as u64)?);
        s::swap_msqid(&mut structure);
    }
    let done = host::call(host::MSGCTL, [queue.into(), command.into(), structure.as_mut_slice().into()])?;
    match command {
        RMID | command::SET => {}
        command::STAT | MSG_STAT | MSG_STAT_ANY => {
            s::swap_msqid(&mut structure);
            p.cpu.memory.write(address, &structure)?;
        }
        command::INFO | MSG_INFO => {
            s::swap(&mut structure, s::MSGINFO);
            p.cpu.memory.write(address, &structure[..32])?;
        }
        _ => return Err(Errno(libc::EINVAL)),
    }
    Ok(done)
}

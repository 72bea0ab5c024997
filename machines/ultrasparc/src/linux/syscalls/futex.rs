//! Futexes are the host's. A word lies in the program's memory big-endian, so the value that it is compared with is
//! swapped.

use crate::linux::errno::{Errno, RESTART};
use crate::linux::host;
use crate::linux::kept::Left;
use crate::linux::process::Process;
use crate::linux::structures::{self as s, guest_u64};
use crate::linux::syscalls::time::read;
use crate::linux::syscalls::{Answer, Call, call};
use crate::memory::Access;

pub(super) const CALLS: &[Call] = &[
    call(142, "futex", "pdxppx", futex),
    call(166, "set_tid_address", "p", |p, a| {
        p.thread.clear_tid = a[0];
        host::call(host::GETTID, [])
    }),
    call(300, "set_robust_list", "pd", |p, a| {
        if a[1] != HEAD_BYTES {
            return Err(Errno(libc::EINVAL));
        }
        p.thread.robust_list = a[0];
        Ok(0)
    }),
];

/// Operations on a word.
mod operation {
    pub const WAIT: u64 = 0;
    pub const WAKE: u64 = 1;
    pub const REQUEUE: u64 = 3;
    pub const CMP_REQUEUE: u64 = 4;
    pub const WAKE_OP: u64 = 5;
    pub const WAIT_BITSET: u64 = 9;
    pub const WAKE_BITSET: u64 = 10;
    /// The operation's bits in the argument. The others say if the word is private to the process, and which clock is
    /// used.
    pub const ALL: u64 = 0x7f;
}

/// `struct robust_list_head`: the first lock, the offset of a lock's word, and the lock that is just being taken or
/// released.
const HEAD_BYTES: u64 = 24;

/// Fields of a lock's word: its owner, that the owner died, that others wait.
const OWNER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;
const WAITERS: u32 = 0x8000_0000;

/// More locks than any thread has.
const LIST_LIMIT: usize = 2048;

fn futex(p: &mut Process, a: &[u64; 6]) -> Answer {
    let flags = a[1] & 0xffff_ffff;
    match flags & operation::ALL {
        operation::WAIT | operation::WAIT_BITSET => wait(p, a, flags),
        operation::WAKE | operation::WAKE_BITSET => wake(p, a[0], flags, a[2], a[5]),
        operation::REQUEUE | operation::CMP_REQUEUE => requeue(p, a, flags),
        operation::WAKE_OP => change_and_wake(p, a, flags),
        _ => Err(Errno(libc::ENOSYS)),
    }
}

/// A 32-bit number as it lies in the program's memory.
fn word(value: u64) -> u64 {
    u64::from((value as u32).to_be())
}

fn aligned(address: u64) -> Result<(), Errno> {
    if address.is_multiple_of(4) { Ok(()) } else { Err(Errno(libc::EINVAL)) }
}

fn wait(p: &mut Process, a: &[u64; 6], flags: u64) -> Answer {
    aligned(a[0])?;
    let timeout = read(p, a[3], s::TIMESPEC)?;
    let place = p.region(a[0], 4, Access::Read)?;
    let answer = p.wait(|| {
        host::call(
            host::FUTEX,
            [
                (&place).into(),
                flags.into(),
                word(a[2]).into(),
                timeout.as_deref().into(),
                0.into(),
                (a[5] & 0xffff_ffff).into(),
            ],
        )
    });
    match answer {
        // Without a time the call is made once more after the handler, like a read that waits.
        Err(Errno(libc::EINTR)) if a[3] == 0 && p.restarts_after_caught() => Err(RESTART),
        answer => answer,
    }
}

/// Wakes up to `count` threads that wait at a word.
fn wake(p: &mut Process, address: u64, flags: u64, count: u64, bits: u64) -> Answer {
    aligned(address)?;
    let place = p.region(address, 4, Access::Read)?;
    let (count, bits) = (count & 0xffff_ffff, bits & 0xffff_ffff);
    host::call(host::FUTEX, [(&place).into(), flags.into(), count.into(), 0.into(), 0.into(), bits.into()])
}

/// Wakes some of the threads that wait at a word, and moves others to another word.
fn requeue(p: &mut Process, a: &[u64; 6], flags: u64) -> Answer {
    aligned(a[0] | a[4])?;
    let (from, to) = (p.region(a[0], 4, Access::Read)?, p.region(a[4], 4, Access::Read)?);
    let (woken, moved) = (a[2] & 0xffff_ffff, a[3] & 0xffff_ffff);
    host::call(
        host::FUTEX_REQUEUE,
        [(&from).into(), flags.into(), woken.into(), moved.into(), (&to).into(), word(a[5]).into()],
    )
}

/// Changes the second word; wakes at the first, and at the second if its old value passes the test in the last
/// argument.
fn change_and_wake(p: &mut Process, a: &[u64; 6], flags: u64) -> Answer {
    let signed = |shift: u32| ((a[5] as u32) << (20 - shift)) as i32 >> 20;
    let [how, compares] = [a[5] >> 28 & 15, a[5] >> 24 & 15];
    let (operand, compared) = (signed(12), signed(0));
    let operand = if how & 8 != 0 { 1_i32.wrapping_shl(operand as u32) } else { operand } as u32;
    let change = |old: u32| match how & 7 {
        0 => Ok(operand),
        1 => Ok(old.wrapping_add(operand)),
        2 => Ok(old | operand),
        3 => Ok(old & !operand),
        4 => Ok(old ^ operand),
        _ => Err(Errno(libc::ENOSYS)),
    };
    aligned(a[0] | a[4])?;
    let old = loop {
        let old = p.cpu.memory.load_u32(a[4])?;
        if p.cpu.memory.compare_and_exchange_u32(a[4], old, change(old)?)? == old {
            break old as i32;
        }
    };
    let wakes_both = match compares {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return Err(Errno(libc::ENOSYS)),
    };
    let flags = flags & !operation::ALL | operation::WAKE;
    let first = wake(p, a[0], flags, a[2], 0)?;
    let second = if wakes_both { wake(p, a[4], flags, a[3], 0)? } else { 0 };
    Ok(first + second)
}

impl Process {
    /// Does what Linux does at a thread's end: tells those who wait for its locks that it died, and those who wait
    /// for it that it is gone.
    pub(crate) fn release(&mut self, left: Left) {
        let head = std::mem::take(&mut self.thread.robust_list);
        if head != 0 {
            // A broken list is left where it breaks.
            let _ = release_locks(self, head);
        }
        let clear = std::mem::take(&mut self.thread.clear_tid);
        if clear != 0 && self.threads.is_some() && matches!(left, Left::Thread(_)) {
            // Nobody waits at an address without memory.
            let _ =
                self.put(clear, &[0; 4]).and_then(|()| wake(self, clear, operation::WAKE, 1, 0).map(|_| ()));
        }
    }
}

fn release_locks(p: &mut Process, head: u64) -> Result<(), Errno> {
    let bytes = p.bytes(head, HEAD_BYTES)?;
    let [mut entry, offset, pending] = [0, 8, 16].map(|at| guest_u64(bytes, at));
    // The lowest bit marks a kind of lock that does not exist here.
    let lock = |entry: u64| (entry & !1).wrapping_add(offset);
    for _ in 0..LIST_LIMIT {
        if entry & !1 == head {
            break;
        }
        let next = p.cpu.memory.load_u64(entry & !1)?;
        if entry != pending {
            release_lock(p, lock(entry), false)?;
        }
        entry = next;
    }
    if pending != 0 {
        release_lock(p, lock(pending), true)?;
    }
    Ok(())
}

fn release_lock(p: &mut Process, address: u64, pending: bool) -> Result<(), Errno> {
    aligned(address)?;
    let own = rustix::thread::gettid().as_raw_pid() as u32;
    loop {
        let old = p.cpu.memory.load_u32(address)?;
        if pending && old == 0 {
            return wake(p, address, operation::WAKE, 1, 0).map(|_| ());
        }
        if old & OWNER != own {
            return Ok(());
        }
        let new = old & WAITERS | OWNER_DIED;
        if p.cpu.memory.compare_and_exchange_u32(address, old, new)? == old {
            let waits = old & WAITERS != 0;
            return if waits { wake(p, address, operation::WAKE, 1, 0).map(|_| ()) } else { Ok(()) };
        }
    }
}

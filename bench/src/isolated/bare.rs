//! The machine's own cost between two processes: a cache line there and back, a copy, a wake-up.
//!
//! # Safety
//! The peer is forked while this process has one thread. It calls nothing that allocates, and leaves by
//! `_exit`. Both share one mapping, whose words are atomics. A slot's words say which side owns its objects.
#![allow(unsafe_code)]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// The most objects that are on their way at a time.
pub const SLOTS: usize = 32;
/// The longest object, in bytes.
pub const LONGEST: usize = 16384;

/// A word on a cache line of its own.
#[repr(C, align(64))]
struct Line(AtomicU64);

/// The memory that both processes see.
#[repr(C, align(4096))]
struct Shared {
    /// The task of the peer. `bytes` and `depth` below are an object's length and the number on their way.
    task: Line,
    /// The peer's current task.
    doing: Line,
    bytes: Line,
    depth: Line,
    there: Line,
    back: Line,
    asleep: [AtomicU32; 16],
    /// The number of times that a slot's source was filled, and its destination copied.
    filled: [Line; SLOTS],
    copied: [Line; SLOTS],
    sources: [[u8; LONGEST]; SLOTS],
    destinations: [[u8; LONGEST]; SLOTS],
}

const REST: u64 = 0;
const ECHO: u64 = 1;
const COPY: u64 = 2;
const SLEEP: u64 = 3;
const END: u64 = 4;

/// A process on another processor that does only what is necessary.
pub struct Peer {
    shared: *mut Shared,
    child: libc::pid_t,
    slept: u32,
}

impl Peer {
    /// Forks the peer, and pins it. This process must have one thread.
    pub fn fork(cpu: usize) -> Result<Peer, String> {
        let error = |what: &str| format!("{what}: {}", std::io::Error::last_os_error());
        // SAFETY: a new mapping touches no other.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Shared>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(error("shared memory"));
        }
        let shared: *mut Shared = memory.cast();
        // SAFETY: the caller says that there is one thread.
        match unsafe { libc::fork() } {
            -1 => Err(error("fork")),
            0 => {
                pin(cpu);
                serve(shared);
                // SAFETY: ends the peer, and runs nothing of its parent's.
                unsafe { libc::_exit(0) }
            }
            child => Ok(Peer { shared, child, slept: 0 }),
        }
    }

    fn word(&self, line: impl FnOnce(&Shared) -> &AtomicU64) -> &AtomicU64 {
        // SAFETY: mapped as long as this lives; atomics and bytes that are all valid. Nobody makes a `&mut` of it.
        line(unsafe { &*self.shared })
    }

    fn task(&self, task: u64) {
        self.word(|shared| &shared.task.0).store(task, Ordering::SeqCst);
        while self.word(|shared| &shared.doing.0).load(Ordering::SeqCst) != task {
            spin_loop();
        }
    }

    /// Returns the nanoseconds that a cache line takes there and another back, with both sides spinning.
    pub fn round_trip_ns(&self, times: u64) -> f64 {
        let (there, back) = (self.word(|shared| &shared.there.0), self.word(|shared| &shared.back.0));
        let first = there.load(Ordering::SeqCst);
        self.task(ECHO);
        let echo = |i: u64| {
            there.store(i, Ordering::Release);
            while back.load(Ordering::Acquire) != i {
                spin_loop();
            }
        };
        (1..=100).for_each(|i| echo(first + i));
        let begin = Instant::now();
        (101..=100 + times).for_each(|i| echo(first + i));
        let ns = begin.elapsed().as_nanos() as f64 / times as f64;
        self.task(REST);
        ns
    }

    /// Returns the nanoseconds for an object that is filled here, copied there, and read here, with `depth`
    /// on their way.
    pub fn copy_ns(&self, bytes: usize, depth: usize, times: usize, data: &[u8], out: &mut [u8]) -> f64 {
        self.word(|shared| &shared.bytes.0).store(bytes as u64, Ordering::SeqCst);
        self.word(|shared| &shared.depth.0).store(depth as u64, Ordering::SeqCst);
        self.task(COPY);
        let begin = Instant::now();
        for i in 0..times + depth {
            let slot = i % depth;
            let copied = self.word(|shared| &shared.copied[slot].0);
            let filled = self.word(|shared| &shared.filled[slot].0);
            let lap = filled.load(Ordering::Relaxed);
            while copied.load(Ordering::Acquire) != lap {
                spin_loop();
            }
            // SAFETY: the peer has copied the slot, so it is ours until it is filled again.
            unsafe {
                if i >= depth {
                    let from = (&raw const (*self.shared).destinations[slot]).cast::<u8>();
                    from.copy_to_nonoverlapping(out.as_mut_ptr(), bytes.min(out.len()));
                }
                if i < times {
                    let to = (&raw mut (*self.shared).sources[slot]).cast::<u8>();
                    data.as_ptr().copy_to_nonoverlapping(to, bytes.min(data.len()));
                    filled.store(lap + 1, Ordering::Release);
                }
            }
        }
        let ns = begin.elapsed().as_nanos() as f64 / times as f64;
        std::hint::black_box(out);
        self.task(REST);
        ns
    }

    /// Returns the nanoseconds from a futex wake to the answer of the sleeper, with this side spinning.
    pub fn wake_ns(&mut self) -> f64 {
        let back = self.word(|shared| &shared.back.0);
        let before = back.load(Ordering::SeqCst);
        self.task(SLEEP);
        // SAFETY: as in `word`.
        let asleep = unsafe { &(*self.shared).asleep[0] };
        while asleep.load(Ordering::SeqCst) != self.slept + 1 {
            spin_loop();
        }
        // The peer has announced its sleep, and needs a moment to fall asleep.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let begin = Instant::now();
        asleep.store(self.slept + 2, Ordering::SeqCst);
        // SAFETY: wakes a waiter on a word that is mapped.
        unsafe { libc::syscall(libc::SYS_futex, asleep.as_ptr(), libc::FUTEX_WAKE, 1) };
        while back.load(Ordering::Acquire) == before {
            spin_loop();
        }
        let ns = begin.elapsed().as_nanos() as f64;
        self.slept += 2;
        self.task(REST);
        ns
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task(END);
        // SAFETY: the child is ours; the mapping is used no more after it.
        unsafe {
            libc::waitpid(self.child, std::ptr::null_mut(), 0);
            libc::munmap(self.shared.cast(), size_of::<Shared>());
        }
    }
}

/// Runs the peer.
fn serve(shared: *mut Shared) {
    // SAFETY: as in `Peer::word`.
    let see = unsafe { &*shared };
    let mut laps = [0; SLOTS];
    loop {
        let task = see.task.0.load(Ordering::SeqCst);
        see.doing.0.store(task, Ordering::SeqCst);
        match task {
            ECHO => {
                let mut last = see.back.0.load(Ordering::Relaxed);
                while see.task.0.load(Ordering::Relaxed) == ECHO {
                    let there = see.there.0.load(Ordering::Acquire);
                    if there != last {
                        see.back.0.store(there, Ordering::Release);
                        last = there;
                    }
                }
            }
            COPY => {
                let bytes = see.bytes.0.load(Ordering::SeqCst) as usize;
                let depth = (see.depth.0.load(Ordering::SeqCst) as usize).clamp(1, SLOTS);
                let mut slot = 0;
                while see.task.0.load(Ordering::Relaxed) == COPY {
                    if see.filled[slot].0.load(Ordering::Acquire) == laps[slot] {
                        continue;
                    }
                    laps[slot] += 1;
                    // SAFETY: the slot is filled, and the other side does not touch it until it is copied.
                    unsafe {
                        let from = (&raw const (*shared).sources[slot]).cast::<u8>();
                        let to = (&raw mut (*shared).destinations[slot]).cast::<u8>();
                        from.copy_to_nonoverlapping(to, bytes);
                    }
                    see.copied[slot].0.store(laps[slot], Ordering::Release);
                    slot = (slot + 1) % depth;
                }
            }
            SLEEP => {
                let asleep = &see.asleep[0];
                let value = asleep.load(Ordering::SeqCst) + 1;
                asleep.store(value, Ordering::SeqCst);
                while asleep.load(Ordering::SeqCst) == value {
                    // SAFETY: waits on a word that is mapped.
                    unsafe {
                        libc::syscall(
                            libc::SYS_futex,
                            asleep.as_ptr(),
                            libc::FUTEX_WAIT,
                            value,
                            std::ptr::null::<u8>(),
                        );
                    }
                }
                see.back.0.fetch_add(1, Ordering::Release);
                while see.task.0.load(Ordering::Relaxed) == SLEEP {
                    spin_loop();
                }
            }
            END => return,
            _ => {
                // SAFETY: sleeps, and touches nothing.
                unsafe { libc::usleep(200) };
            }
        }
    }
}

/// Pins this thread to a processor.
pub fn pin(cpu: usize) {
    // SAFETY: the set is ours, and as long as the call says.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

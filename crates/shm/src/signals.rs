//! Keeps a program's signals away from the threads that a library starts in it.
//!
//! A signal to a process goes to any thread that does not block it. A program that waits in `sigsuspend` or
//! `sigwait` for a signal never wakes if a library's thread got it. A thread inherits its mask from the one that starts it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

/// A thread itself causes these signals. Blocked, they would end the process without a word to its own handlers.
const OF_THE_THREAD: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Calls a function while the calling thread blocks all signals but those that its own faults cause. Threads that the function
/// starts go on without signals; the caller's mask is as before in the end.
///
/// ```
/// let thread = millstream_shm::without_signals(|| std::thread::spawn(|| 7));
/// assert_eq!(thread.join().unwrap(), 7);
/// ```
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let _restored = Mask::blocked();
    start()
}

/// The mask of the calling thread as it was, which returns when this is dropped.
struct Mask(libc::sigset_t);

impl Mask {
    fn blocked() -> Mask {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigfillset` writes the whole set; the other calls can fail only for numbers that are not signals, and for a
        // `how` that is none, and the last one writes the whole old mask.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in OF_THE_THREAD {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Mask(before.assume_init())
        }
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        // SAFETY: the set is whole, and no old mask is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    /// Returns the calling thread's mask, one bit for each signal.
    fn mask() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    fn has(mask: u64, signal: i32) -> bool {
        mask >> (signal - 1) & 1 == 1
    }

    #[test]
    fn a_thread_has_no_signals_and_its_starter_keeps_them() {
        let before = mask();
        let there = without_signals(|| std::thread::spawn(mask)).join().unwrap();
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGHUP, libc::SIGALRM, libc::SIGUSR1, libc::SIGIO]
        {
            assert!(has(there, signal), "signal {signal} in {there:016x}");
        }
        for signal in OF_THE_THREAD {
            assert!(!has(there, signal), "signal {signal} in {there:016x}");
        }
        assert_eq!(mask(), before);
    }
}

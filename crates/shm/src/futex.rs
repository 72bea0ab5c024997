//! Sleeping on a word of shared memory.
//!
//! # Safety
//! A futex is the low half of an `AtomicU64`, which is mapped as long as the reference lives.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::thread::futex::{self, Flags, Timespec};

/// Returns the low half of a word, which is the half that the kernel waits on.
fn low(word: &AtomicU64) -> &AtomicU32 {
    let half = std::ptr::from_ref(word).cast::<AtomicU32>();
    let half = if cfg!(target_endian = "little") { half } else { half.wrapping_add(1) };
    // SAFETY: a half of the word, aligned to 4 bytes; both are atomics of the same memory.
    unsafe { &*half }
}

/// Sleeps while the low half of `word` is `value`, until [`wake`], a signal or the limit. Like any futex wait
/// it may return for no reason. Other processes that map the same memory can wake the sleeper.
pub fn wait(word: &AtomicU64, value: u32, limit: Duration) {
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
    // The caller sees in the word what happened, so the result says nothing new.
    let _ = futex::wait(low(word), Flags::empty(), value, Some(&limit));
}

/// Wakes one sleeper on `word`, in any process. The call never blocks, and costs the same however many sleep
/// there. One is enough: each word belongs to one consumer, who wakes any others that wait with him.
pub fn wake(word: &AtomicU64) {
    let _ = futex::wake(low(word), Flags::empty(), 1);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    use super::*;
    use crate::{Mapping, Memory};

    #[test]
    fn it_is_woken_through_another_mapping() {
        let memory = Memory::new("test", 4096).unwrap();
        let (here, there) = (Mapping::shared(&memory).unwrap(), Mapping::shared(&memory).unwrap());
        let (mine, theirs) = (here.words(8, 1).unwrap(), there.words(8, 1).unwrap());
        mine[0].store(1, Ordering::SeqCst);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while mine[0].load(Ordering::SeqCst) == 1 {
                    wait(&mine[0], 1, Duration::from_secs(60));
                }
            });
            std::thread::sleep(Duration::from_millis(30));
            theirs[0].store(0, Ordering::SeqCst);
            wake(&theirs[0]);
        });
        assert!(begin.elapsed() < Duration::from_secs(30), "woken, not timed out");
        wait(&mine[0], 1, Duration::from_secs(60));
        assert!(begin.elapsed() < Duration::from_secs(30), "another value does not sleep");
    }

    #[test]
    fn one_is_woken_at_a_time() {
        const SLEEPERS: usize = 8;
        let word = AtomicU64::new(1);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..SLEEPERS {
                let (tell, word) = (tell.clone(), &word);
                scope.spawn(move || {
                    tell.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
                    wait(word, 1, Duration::from_secs(60));
                });
            }
            let begin = Instant::now();
            for thread in told.iter().take(SLEEPERS) {
                // Both threads sleep in `wait` from here on, and nowhere else.
                let stat = format!("/proc/self/task/{thread}/stat");
                while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
                    assert!(begin.elapsed() < Duration::from_secs(30), "it does not sleep");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            wake(&word);
            let others = futex::wake(low(&word), Flags::empty(), i32::MAX as u32).unwrap();
            assert_eq!(others, SLEEPERS - 1);
        });
    }

    #[test]
    fn it_does_not_sleep_for_ever() {
        let word = AtomicU64::new(3);
        let begin = Instant::now();
        wait(&word, 3, Duration::from_millis(20));
        assert!(begin.elapsed() >= Duration::from_millis(15));
    }
}

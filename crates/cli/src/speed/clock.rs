//! Time: short spans in ticks of the processor's counter, long ones in nanoseconds, and the core's
//! clock as it is at the moment.
//!
//! # Safety
//! Reading the time-stamp counter touches no memory. Every x86-64 processor has it.
#![allow(unsafe_code)]

use std::time::Instant;

/// Multiplications in one look at the core's clock: two microseconds or so.
const CHAIN: u32 = 2000;

/// Counts ticks, and knows how long one takes.
pub struct Clock {
    began: Instant,
    first_tick: u64,
    /// Ticks that reading the counter twice takes in the mean: some counters move in steps of 10 ns.
    own_ticks: u64,
}

impl Clock {
    /// Starts the clock.
    pub fn start() -> Clock {
        let mut clock = Clock { began: Instant::now(), first_tick: ticks(), own_ticks: 0 };
        // Without the slowest, for one interruption would weigh as much as all the rest.
        let mut own: Vec<u64> = (0..1000).map(|_| clock.ticks_of(|| ())).collect();
        own.sort_unstable();
        let usual = &own[..900];
        clock.own_ticks = usual.iter().sum::<u64>() / usual.len() as u64;
        clock
    }

    /// Ticks that `work` took, without those for counting them.
    #[inline(always)]
    pub fn ticks_of(&self, work: impl FnOnce()) -> u64 {
        let begin = ticks();
        work();
        (ticks() - begin).saturating_sub(self.own_ticks)
    }

    /// Nanoseconds in a tick, the better known the longer ago the clock was started.
    pub fn ns_per_tick(&self) -> f64 {
        let ticks = ticks() - self.first_tick;
        self.began.elapsed().as_nanos() as f64 / (ticks.max(1)) as f64
    }
}

/// The fences keep the processor from doing before or after it what it is to time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: as the heading says.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Nanoseconds, where no counter is known that a process may read.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ticks() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The core's clock in GHz, from a chain of multiplications each of which needs the one before and
/// takes three cycles on every x86-64 core of the last fifteen years. Nothing on other
/// architectures, where that differs from core to core.
pub fn core_ghz() -> Option<f64> {
    const LATENCY: f64 = 3.0;
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let begin = Instant::now();
    let mut x = std::hint::black_box(3u64);
    for _ in 0..CHAIN {
        x = x.wrapping_mul(x);
    }
    std::hint::black_box(x);
    let ns = begin.elapsed().as_nanos() as f64;
    Some(f64::from(CHAIN) * LATENCY / ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_nanoseconds_agree() {
        let clock = Clock::start();
        let wait = std::time::Duration::from_millis(20);
        let ticks = clock.ticks_of(|| std::thread::sleep(wait));
        let ns = ticks as f64 * clock.ns_per_tick();
        assert!(ns > 19.5e6 && ns < 10e9, "{ns}");
    }

    #[test]
    fn the_core_has_a_clock_of_some_gigahertz() {
        if let Some(ghz) = core_ghz() {
            assert!(ghz > 0.1 && ghz < 10.0, "{ghz}");
        }
    }
}

//! Time: short spans in ticks of the processor's counter, long ones in nanoseconds, and the core's current
//! clock rate.
//!
//! # Safety
//! Reading the time-stamp counter touches no memory, and every x86-64 processor has it. The other instructions touch
//! registers only.
#![allow(unsafe_code)]

use std::time::Instant;

/// A clock that counts ticks, and knows how long one takes.
pub struct Clock {
    began: Instant,
    first_tick: u64,
    /// The mean number of ticks between two reads of the counter. Some counters move in steps of 10 ns.
    own_ticks: u64,
}

impl Clock {
    /// Starts the clock.
    pub fn start() -> Clock {
        let mut clock = Clock { began: Instant::now(), first_tick: ticks(), own_ticks: 0 };
        // The slowest tenth is left out, because one interruption would outweigh all the rest.
        let mut own: Vec<u64> = (0..1000).map(|_| clock.ticks_of(|| ())).collect();
        own.sort_unstable();
        let usual = &own[..900];
        clock.own_ticks = usual.iter().sum::<u64>() / usual.len() as u64;
        clock
    }

    /// Returns the ticks that `work` took, without those for counting them.
    #[inline(always)]
    pub fn ticks_of(&self, work: impl FnOnce()) -> u64 {
        let begin = ticks();
        work();
        (ticks() - begin).saturating_sub(self.own_ticks)
    }

    /// Returns the nanoseconds in a tick. The figure gets more precise the longer the clock runs.
    pub fn ns_per_tick(&self) -> f64 {
        let ticks = ticks() - self.first_tick;
        self.began.elapsed().as_nanos() as f64 / (ticks.max(1)) as f64
    }
}

/// Reads the counter. The fences keep the processor from moving the timed work past the read.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: the file's head says why.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Reads nanoseconds on processors without a known counter that a process may read.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ticks() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Returns the core's clock in GHz, from a chain of multiplications. Each needs the one before, and takes
/// three cycles on every x86-64 core of the last fifteen years. (A chain of additions won't do: some cores
/// fold immediate additions away.) Returns none on other architectures, where the latency differs from core
/// to core.
#[cfg(target_arch = "x86_64")]
pub fn core_ghz() -> Option<f64> {
    const LATENCY: f64 = 3.0;
    /// The number of multiplications in one look, which takes about two microseconds.
    const CHAIN: u32 = 2000;
    let begin = Instant::now();
    let mut x = 3u64;
    for _ in 0..CHAIN / 10 {
        multiply_ten_times(&mut x);
    }
    std::hint::black_box(x);
    let ns = begin.elapsed().as_nanos() as f64;
    Some(f64::from(CHAIN) * LATENCY / ns)
}

/// Performs ten dependent multiplications.
///
/// # Safety
/// The assembly touches one register and the flags.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn multiply_ten_times(x: &mut u64) {
    // SAFETY: the file's head says why.
    unsafe {
        std::arch::asm!(
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            "imul {0}, {0}",
            inout(reg) * x,
            options(pure, nomem, nostack),
        );
    }
}

/// Returns none, because there is no figure for this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn core_ghz() -> Option<f64> {
    None
}

/// Returns the nanoseconds of processor time that `work` took. The time of other programs on the core does
/// not count, as far as the kernel knows of it.
pub fn time_ns(work: impl FnOnce()) -> f64 {
    clear_upper_halves();
    let begin = thread_ns();
    work();
    thread_ns() - begin
}

/// Clears the upper halves of the vector registers. A library that leaves them in use, as isa-l_crypto does,
/// makes later SSE instructions half as slow again, including those of SHA.
///
/// # Safety
/// The instruction exists where AVX does, and nothing is kept in upper halves across a call.
fn clear_upper_halves() {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx")]
        fn clear() {
            std::arch::x86_64::_mm256_zeroupper();
        }
        if is_x86_feature_detected!("avx") {
            // SAFETY: see above.
            unsafe { clear() }
        }
    }
}

/// Returns the nanoseconds that passed while `work` was done.
pub fn elapsed_ns(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64
}

/// Returns the processor time of this thread.
fn thread_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
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

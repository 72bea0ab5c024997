//! Time: short spans in ticks of the processor's counter, long ones in nanoseconds, and the core's
//! clock as it is at the moment.
//!
//! # Safety
//! Reading the time-stamp counter touches no memory, and every x86-64 processor has it. The other instructions touch
//! registers only.
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

/// The core's clock in GHz, from a chain of multiplications each of which needs the one before
/// and takes three cycles on every x86-64 core of the last fifteen years. (A chain of additions
/// won't do: some cores fold immediate additions away.) Nothing on other architectures, where the
/// latency differs from core to core.
#[cfg(target_arch = "x86_64")]
pub fn core_ghz() -> Option<f64> {
    const LATENCY: f64 = 3.0;
    let begin = Instant::now();
    let mut x = 3u64;
    for _ in 0..CHAIN / 10 {
        multiply_ten_times(&mut x);
    }
    std::hint::black_box(x);
    let ns = begin.elapsed().as_nanos() as f64;
    Some(f64::from(CHAIN) * LATENCY / ns)
}

/// Ten dependent multiplications.
///
/// # Safety
/// The assembly touches one register and the flags.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn multiply_ten_times(x: &mut u64) {
    // SAFETY: as the heading says.
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

/// No figure for this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn core_ghz() -> Option<f64> {
    None
}

/// Nanoseconds of processor time that `work` took: what other programs do with the core in the
/// meantime does not count, as far as the kernel knows of it.
pub fn time_ns(work: impl FnOnce()) -> f64 {
    clear_upper_halves();
    let begin = thread_ns();
    work();
    thread_ns() - begin
}

/// Clears the upper halves of the vector registers. A library that leaves them in use (isa-l_crypto
/// does) makes SSE instructions after it, SHA's among them, half as slow again.
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
            // SAFETY: as the heading says.
            unsafe { clear() }
        }
    }
}

/// Nanoseconds that passed while `work` was done.
pub fn elapsed_ns(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64
}

/// The processor time this thread has had.
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

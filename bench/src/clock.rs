//! Time, and the core's clock as it is at the moment.

use std::time::Instant;

/// Multiplications in one look at the core's clock: two microseconds or so.
const CHAIN: u32 = 2000;

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
#[allow(unsafe_code)]
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
#[allow(unsafe_code)]
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
///
/// # Safety
/// The call fills the structure it is given.
#[allow(unsafe_code)]
fn thread_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as the heading says.
    let error = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(error, 0, "no clock for a thread's time");
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

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

/// Nanoseconds that `work` took.
pub fn time_ns(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64
}

//! The KASUMI study of Rainbow Falls, repeated: f8 with S-boxes as tables of 128 and 512 entries,
//! with merged tables of 65,536, and with the kernels that use no table in memory.
//!
//! ```text
//! cargo run --release -p millstream-engines --example kasumi_study
//! ```

use std::time::Instant;

use millstream_cpu::{Features, processor_name};
use millstream_engines::kasumi::{F8, UEA1};
use millstream_engines::{InOut, Timing};

/// Bytes a message, and batches of which the best counts.
const MESSAGES: [usize; 3] = [16, 256, 2048];
const BATCHES: usize = 200;

/// Nanoseconds of the fastest of many calls on one message of `bytes` bytes.
fn best_ns(f8: &F8, bytes: usize) -> f64 {
    let mut data = vec![0x5a; bytes];
    let calls = (4096 / bytes).max(1);
    let mut best = f64::INFINITY;
    for count in 0..BATCHES {
        let begin = Instant::now();
        for _ in 0..calls {
            f8.apply(count as u32, 1, 0, InOut::in_place(&mut data), 8 * bytes).expect("whole bytes");
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / calls as f64);
    }
    best
}

/// Bytes of table in memory that a kernel reads.
fn table_bytes(kernel: &str) -> &'static str {
    match kernel {
        "vartime-s7s9-tables" => "1,280",
        "vartime-merged-tables" => "262,144",
        _ => "none",
    }
}

fn main() {
    println!("KASUMI f8, one stream at a time, on {}", processor_name());
    println!(
        "best of {BATCHES} batches; ns a call at each length, then ns a block and a byte at the longest\n"
    );
    println!(
        "{:<24}{:<10}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "kernel", "time", "tables", "16 B", "256 B", "2048 B", "ns/block", "ns/B"
    );
    for kernel in UEA1.available(Features::hardware()) {
        let f8 = F8::with_kernel(kernel, b"sixteen byte key").expect("sixteen bytes");
        let ns = MESSAGES.map(|bytes| best_ns(&f8, bytes));
        let timing = if kernel.kernel().timing == Timing::Constant { "constant" } else { "variable" };
        let per_byte = ns[2] / MESSAGES[2] as f64;
        println!(
            "{:<24}{timing:<10}{:>9}{:>10.0}{:>10.0}{:>10.0}{:>10.1}{per_byte:>10.2}",
            kernel.kernel().name,
            table_bytes(kernel.kernel().name),
            ns[0],
            ns[1],
            ns[2],
            8.0 * per_byte,
        );
    }
}

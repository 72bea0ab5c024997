//! Measures the cost of running a program without features: for each exec, for each CPUID, and in between.
//!
//! `cargo run --release --example cost` prints a table. The example starts itself with other arguments, with
//! and without a tracer in turns, and takes the least of several times.

use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use millstream_observe::capability::Withheld;
use millstream_observe::process::{Launch, Tracer};
use millstream_observe::without::{Masker, supported};

const CPUIDS: u32 = 100_000;
const EXECS: u32 = 200;
const TURNS: usize = 7;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        None => table(),
        Some("nothing") => ExitCode::SUCCESS,
        Some("cpuid") => {
            (0..CPUIDS).for_each(|_| {
                black_box(cpuid());
            });
            ExitCode::SUCCESS
        }
        Some("exec") => {
            let program = std::env::current_exe().expect("a running program has a file");
            let all =
                (0..EXECS).all(|_| Command::new(&program).arg("nothing").status().is_ok_and(|s| s.success()));
            if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Some("compute") => {
            black_box(compute(1_000_000_000));
            ExitCode::SUCCESS
        }
        Some("calls") => {
            (0..2_000_000).for_each(|_| {
                black_box(rustix::process::getppid());
            });
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!("what is {other}?");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn cpuid() -> u32 {
    std::arch::x86_64::__cpuid(1).ecx
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid() -> u32 {
    0
}

fn compute(rounds: u64) -> u64 {
    (0..rounds).fold(1, |sum: u64, round| (sum ^ round).rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn table() -> ExitCode {
    if let Err(why) = supported() {
        println!("SKIPPED: {why}");
        return ExitCode::SUCCESS;
    }
    let per = |what: &str, count: u32| {
        let (plain, masked) = both(what);
        let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(count);
        println!(
            "{what:<10} {:>12.2} {:>12.2} {:>12.2} us more each",
            each(plain),
            each(masked),
            each(masked) - each(plain)
        );
    };
    println!("{:<10} {:>12} {:>12}", "", "plain us", "masked us");
    per("nothing", 1);
    per("exec", EXECS);
    per("cpuid", CPUIDS);
    for what in ["compute", "calls"] {
        let (plain, masked) = both(what);
        let [plain, masked] = [plain, masked].map(|time| time.as_secs_f64() * 1e6);
        println!("{what:<10} {plain:>12.0} {masked:>12.0} {:>12.2} % more", (masked / plain - 1.0) * 100.0);
    }
    ExitCode::SUCCESS
}

/// Returns the least time, without a tracer and with one.
fn both(what: &str) -> (Duration, Duration) {
    let mut least = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        let program = std::env::current_exe().expect("a running program has a file");
        let mut command = Command::new(program);
        command.arg(what).stdout(Stdio::null());
        let start = Instant::now();
        let plain = command.status().expect("this program starts");
        least.0 = least.0.min(start.elapsed());
        let start = Instant::now();
        let mut masker = Masker::new(Withheld::without("aes").unwrap_or_default());
        let masked = Tracer::launch(&mut command, Launch { kill_with_us: true, ..Launch::default() })
            .and_then(|mut tracer| tracer.run(&mut masker))
            .expect("this program can be traced");
        least.1 = least.1.min(start.elapsed());
        assert!(plain.success() && masked.success() && masker.report().programs > 0);
    }
    least
}

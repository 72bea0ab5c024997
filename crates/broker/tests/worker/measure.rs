//! The cost of the way to a worker, of its sleep and of a shared processor, measured with
//! `cargo test --release -p millstream-broker --test worker measure -- --ignored --nocapture`.
//! Client and worker have a processor each, which nothing else should use.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, Completion, ControlWord, Opcode};
use millstream_shm::{Mapping, Memory};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![test("measure", measure).with_ignored_flag(true)]
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).unwrap();
}

fn null(tag: u64) -> ControlWord {
    ControlWord { tag, ..ControlWord::default() }
}

fn measure() {
    pin(0);
    let worker = Worker::start(&["--cpu", "1", "--spin-us", "1000000"]);
    println!("worker: {}, {}", worker.sandbox, worker.key_memory);
    let mut client = Client::served(&worker, grant(1));
    let key = client.import(Algorithm::AesCbc, false, &[7; 16]);
    for _ in 0..3 {
        let bare = ping_pong();
        let null_ns = in_flight(&mut client);
        let cbc = ControlWord {
            opcode: Opcode::Cipher as u8,
            algorithm: Algorithm::AesCbc as u8,
            key,
            source: 4096,
            source_len: 64,
            destination: 8192,
            iv_len: 16,
            ..ControlWord::default()
        };
        let trip = round_trip(&mut client, cbc);
        let empty = round_trip(&mut client, null(0));
        println!(
            "null, 192 in flight {null_ns:.1} ns; bare cache-line round trip {bare:.0} ns; 64-byte CBC {trip:.0} ns ({:.2} of it); null {empty:.0} ns",
            trip / bare
        );
    }
    drop(client);
    drop(worker);
    idle();
    one_core();
}

/// Measures the nanoseconds for a cache line to another process and back. The other process only echoes.
fn ping_pong() -> f64 {
    const ROUNDS: u64 = 40_000;
    let memory = Memory::new("ping", 4096).unwrap();
    let mapping = Mapping::shared(&memory).unwrap();
    let words = mapping.words(0, 64).unwrap();
    let descriptor = std::os::fd::OwnedFd::from(memory);
    let mut echo = std::process::Command::new(std::env::current_exe().unwrap())
        .arg(crate::process::ECHO)
        .stdin(std::process::Stdio::from(descriptor))
        .spawn()
        .unwrap();
    let mut best = f64::MAX;
    let mut next = 1;
    for _ in 0..5 {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            words[0].store(next, Ordering::Release);
            while words[8].load(Ordering::Acquire) != next {
                std::hint::spin_loop();
            }
            next += 1;
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / ROUNDS as f64);
    }
    words[0].store(u64::MAX, Ordering::Release);
    echo.wait().unwrap();
    best
}

/// Runs the other side of [`ping_pong`].
pub fn echo() {
    use std::os::fd::AsFd;
    pin(1);
    let memory = Memory::received(std::io::stdin().as_fd().try_clone_to_owned().unwrap()).unwrap();
    let words = Mapping::shared(&memory).unwrap().words(0, 64).unwrap();
    let mut last = 0;
    loop {
        let next = words[0].load(Ordering::Acquire);
        if next == u64::MAX {
            return;
        }
        if next != last {
            words[8].store(next, Ordering::Release);
            last = next;
        }
        std::hint::spin_loop();
    }
}

/// Measures the nanoseconds for an operation that does nothing, with 192 in flight; the best of five.
fn in_flight(client: &mut Client) -> f64 {
    const DEPTH: u64 = 192;
    const OPERATIONS: u64 = 400_000;
    let mut best = f64::MAX;
    // The worker is awake from here on, so no bell is rung below.
    client.execute(null(0));
    for _ in 0..5 {
        let (mut next, mut done) = (0, 0);
        let begin = Instant::now();
        while done < OPERATIONS {
            let queue = &mut client.queues[0];
            // Words go in halves of the depth, so that neither side waits for single words.
            if next - done <= DEPTH / 2 || next == OPERATIONS {
                while next < OPERATIONS && next - done < DEPTH {
                    queue.submissions.push(&null(next).to_words()).unwrap();
                    next += 1;
                }
                queue.submissions.publish();
            }
            while let Some(words) = queue.completions.pop().unwrap() {
                assert_eq!(Completion::from_words(words).status, 0);
                done += 1;
            }
            queue.completions.release();
            std::hint::spin_loop();
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / OPERATIONS as f64);
    }
    best
}

fn round_trip(client: &mut Client, word: ControlWord) -> f64 {
    const ROUNDS: u32 = 20_000;
    let mut best = f64::MAX;
    client.execute(null(0));
    for _ in 0..5 {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            let queue = &mut client.queues[0];
            queue.submissions.push(&word.to_words()).unwrap();
            queue.submissions.publish();
            while queue.completions.pop().unwrap().is_none() {
                std::hint::spin_loop();
            }
            queue.completions.release();
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    }
    best
}

/// Measures the cost of waking, and what an idle worker uses.
fn idle() {
    for spin in ["0", "50"] {
        let worker = Worker::start(&["--cpu", "1", "--spin-us", spin]);
        let mut client = Client::served(&worker, grant(1));
        let mut trips: Vec<_> = (0..200)
            .map(|tag| {
                while !client.worker_sleeps() {
                    std::thread::sleep(Duration::from_micros(100));
                }
                std::thread::sleep(Duration::from_millis(1));
                let begin = Instant::now();
                client.execute(null(tag));
                begin.elapsed().as_nanos() as f64 / 1000.0
            })
            .collect();
        trips.sort_by(f64::total_cmp);
        let time = worker.cpu_time();
        std::thread::sleep(Duration::from_secs(2));
        let used = worker.cpu_time() - time;
        println!(
            "spin {spin} µs: round trip to a sleeping worker {:.1} µs (best {:.1}); idle {used:?} in 2 s",
            trips[100], trips[0]
        );
    }
}

/// Measures a round trip where client and worker share one processor, and the client sleeps while it waits.
fn one_core() {
    for spin in ["0", "50"] {
        let worker = Worker::start(&["--cpu", "0", "--spin-us", spin]);
        let mut client = Client::served(&worker, grant(1));
        let mut trips: Vec<_> = (0..500)
            .map(|tag| {
                let begin = Instant::now();
                client.submit(&[null(tag)]);
                client.next_asleep(Duration::from_secs(1));
                begin.elapsed().as_nanos() as f64 / 1000.0
            })
            .collect();
        trips.sort_by(f64::total_cmp);
        println!("one processor, spin {spin} µs: round trip {:.1} µs (best {:.1})", trips[250], trips[0]);
    }
}

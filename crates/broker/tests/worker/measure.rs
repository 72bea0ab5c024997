//! The cost of isolation, measured with `cargo test --release -p millstream-broker --test worker measure --
//! --ignored --nocapture`. Client and worker have a processor each, which nothing else should use.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_accelerator::{Accelerator, Arena, FlushPolicy, LocalArena};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Completion, ControlWord, Opcode, ring};
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
        let null_ns = in_flight(&mut client, 192, 400_000, 0, null);
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
    copy();
    throughput(&mut client);
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

/// Measures the nanoseconds for an operation with so many in flight; the best of five.
fn in_flight(
    client: &mut Client,
    depth: u64,
    operations: u64,
    touch: u32,
    word: impl Fn(u64) -> ControlWord,
) -> f64 {
    let mut best = f64::MAX;
    // The worker is awake from here on, so no bell is rung below.
    client.execute(null(0));
    let (arena, mut bytes) = (client.arena.clone(), vec![7; touch as usize]);
    for _ in 0..5 {
        let (mut next, mut done) = (0, 0);
        let begin = Instant::now();
        while done < operations {
            let queue = &mut client.queues[0];
            // Words go in halves of the depth, so that neither side waits for single words.
            if next - done <= depth / 2 || next == operations {
                while next < operations && next - done < depth {
                    let word = word(next);
                    if touch > 0 {
                        arena.write(word.source as usize, &bytes);
                    }
                    queue.submissions.push(&word.to_words()).unwrap();
                    next += 1;
                    if touch > 0 {
                        queue.submissions.publish();
                    }
                }
                queue.submissions.publish();
            }
            while let Some(words) = queue.completions.pop().unwrap() {
                let completion = Completion::from_words(words);
                assert_eq!(completion.status, 0);
                if touch > 0 {
                    let word = word(completion.tag);
                    let (at, len) =
                        if word.destination > 0 { (word.destination, bytes.len()) } else { (word.mac, 32) };
                    arena.read(at as usize, &mut bytes[..len]);
                }
                done += 1;
            }
            queue.completions.release();
            std::hint::spin_loop();
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / operations as f64);
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

fn words_for(algorithm: Algorithm, key: u32, len: u32) -> impl Fn(u64) -> ControlWord {
    move |tag| {
        let place = (tag % 32) as u32 * 8192;
        let base = ControlWord { source: 65536 + place, source_len: len, tag, ..ControlWord::default() };
        let (destination, mac) = (512 * 1024 + place, 1024 + 64 * (tag % 32) as u32);
        let code = algorithm as u8;
        match algorithm {
            Algorithm::Sha256 => {
                ControlWord { opcode: Opcode::Hmac as u8, hash: code, key, mac, mac_len: 32, ..base }
            }
            Algorithm::AesGcm => ControlWord {
                opcode: Opcode::Aead as u8,
                algorithm: code,
                key,
                destination,
                iv_len: 12,
                mac,
                mac_len: 16,
                ..base
            },
            _ => ControlWord {
                opcode: Opcode::Cipher as u8,
                algorithm: code,
                key,
                destination,
                iv_len: 16,
                ..base
            },
        }
    }
}

/// Measures gigabytes a second with 32 in flight, isolated and on the same thread. The client writes each
/// source and reads each destination, or touches neither.
fn throughput(client: &mut Client) {
    let algorithms = [Algorithm::AesCtr, Algorithm::AesGcm, Algorithm::AesCbc, Algorithm::Sha256];
    println!("GB/s, 32 in flight: isolated, and a local accelerator on the client's thread");
    for algorithm in algorithms {
        let key = client.import(algorithm, false, &[7; 16]);
        for len in [256_u32, 1024, 2048, 4096, 8192] {
            let operations = u64::from((8 << 20) / len);
            let word = words_for(algorithm, key, len);
            let ns = [len, 0].map(|touch| in_flight(client, 32, operations, touch, &word));
            let locals = [true, false].map(|touch| local(algorithm, len, operations, touch));
            let rate = |ns: f64| f64::from(len) / ns;
            println!(
                "{algorithm:?} {len}: {:.2} {:.2} ({:.0} %); not touched {:.2} {:.2} ({:.0} %)",
                rate(ns[0]),
                rate(locals[0]),
                100.0 * locals[0] / ns[0],
                rate(ns[1]),
                rate(locals[1]),
                100.0 * locals[1] / ns[1]
            );
        }
    }
}

/// Measures how fast one core can take over data from another: gigabytes a second that this process copies
/// out of what the other has just written.
fn copy() {
    for len in [256, 1024, 4096, 8192_usize] {
        println!("copy of {len} bytes that another core has just written: {:.2} GB/s", copied(len));
    }
}

fn copied(len: usize) -> f64 {
    const PLACES: usize = 32;
    const ROUNDS: u64 = 2000;
    let mapping = Mapping::shared(&Memory::new("copy", 4096 + PLACES * 8192).unwrap()).unwrap();
    let words = mapping.words(0, 64).unwrap();
    let mut best = Duration::MAX;
    let (ready, begun) = std::sync::mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        let (words, mapping) = (&words, &mapping);
        scope.spawn(move || {
            pin(1);
            // The thread is pinned now, so it does not take the other's processor.
            ready.send(()).unwrap();
            let bytes = vec![3; len];
            for round in 1..=ROUNDS {
                for place in 0..PLACES {
                    mapping.write(4096 + place * 8192, &bytes);
                }
                words[0].store(round, Ordering::Release);
                while words[8].load(Ordering::Acquire) != round {
                    std::hint::spin_loop();
                }
            }
        });
        begun.recv().unwrap();
        let mut out = vec![0; len];
        for round in 1..=ROUNDS {
            while words[0].load(Ordering::Acquire) != round {
                std::hint::spin_loop();
            }
            let begin = Instant::now();
            for place in 0..PLACES {
                mapping.read(4096 + place * 8192, &mut out);
                black_box(&out);
            }
            best = best.min(begin.elapsed());
            words[8].store(round, Ordering::Release);
        }
    });
    (PLACES * len) as f64 / best.as_nanos() as f64
}

/// Measures the same words on this thread.
fn local(algorithm: Algorithm, len: u32, operations: u64, touch: bool) -> f64 {
    let mut bytes = vec![7; len as usize];
    let rings: (Arc<[AtomicU64]>, Arc<[AtomicU64]>) =
        (ring::memory::<{ ControlWord::WORDS }>(64).into(), ring::memory::<{ Completion::WORDS }>(64).into());
    let arena = Arc::new(own::Exclusive(LocalArena::new(1 << 20)));
    let mut accelerator = Accelerator::new(Features::hardware(), FlushPolicy::default());
    let grant = accelerator.add_grant(arena.clone(), 16);
    accelerator.add_queue(grant, rings.0.clone(), rings.1.clone(), 1).unwrap();
    let key = accelerator.insert_raw_key(grant, algorithm, &[7; 16], false).unwrap().to_bits();
    let word = words_for(algorithm, key, len);
    let mut submissions = ring::Producer::<_, { ControlWord::WORDS }>::new(rings.0).unwrap();
    let mut completions = ring::Consumer::<_, { Completion::WORDS }>::new(rings.1).unwrap();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        let mut done = 0;
        while done < operations {
            for tag in done..(done + 32).min(operations) {
                let word = word(tag);
                if touch {
                    arena.write(word.source, &bytes);
                }
                submissions.push(&word.to_words()).unwrap();
            }
            submissions.publish();
            accelerator.step(0);
            while let Some(words) = completions.pop().unwrap() {
                let word = word(black_box(Completion::from_words(words)).tag);
                if touch && word.destination > 0 {
                    arena.read(word.destination, &mut bytes);
                }
                done += 1;
            }
            completions.release();
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / operations as f64);
    }
    best
}

mod own {
    #![allow(unsafe_code)]

    use std::ptr::NonNull;

    use millstream_accelerator::{Arena, LocalArena};

    /// An arena that one thread has, like that of a local queue.
    pub struct Exclusive(pub LocalArena);

    // SAFETY: the arena's own. One thread fills it, steps, and reads the results, in this order.
    unsafe impl Arena for Exclusive {
        fn base(&self) -> NonNull<u8> {
            self.0.base()
        }

        fn len(&self) -> u32 {
            self.0.len()
        }

        fn exclusive(&self) -> bool {
            true
        }
    }
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

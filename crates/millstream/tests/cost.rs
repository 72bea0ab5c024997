//! The cost of a queue, printed: not a test, so it is run by name (`--ignored --nocapture`, in release).

use std::time::{Duration, Instant};

use millstream::cwq::Algorithm;
use millstream::isolated::Attach;
use millstream::queue::{AcceleratorThread, Buffer, Config, Queue, Request, ThreadConfig};
use millstream_double::Double;

const CONFIG: Config = Config { depth: 256, arena_bytes: 8 << 20, key_slots: 8, weight: 1 };
const FOR: Duration = Duration::from_millis(200);

/// Nanoseconds for an operation.
fn time(mut work: impl FnMut() -> u32) -> f64 {
    let (began, mut operations) = (Instant::now(), 0);
    while began.elapsed() < FOR {
        operations += work();
    }
    began.elapsed().as_nanos() as f64 / f64::from(operations)
}

/// Null operations, 192 in flight.
fn null(queue: &mut Queue) -> f64 {
    for _ in 0..192 {
        queue.submit(Request::null()).unwrap();
    }
    let cost = time(|| {
        let mut ended = 0;
        for _ in 0..1024 {
            if queue.poll().is_some() {
                queue.submit(Request::null()).unwrap();
                ended += 1;
            }
        }
        ended
    });
    while queue.wait().is_some() {}
    cost
}

/// CBC of 64 bytes, one at a time.
fn cbc(queue: &mut Queue) -> f64 {
    let key = queue.import_key(Algorithm::AesCbc, &[7; 16]).unwrap();
    let mut buffers: Option<(Buffer, Buffer)> = Some((queue.buffer(64).unwrap(), queue.buffer(64).unwrap()));
    let cost = time(|| {
        let (source, destination) = buffers.take().unwrap();
        queue.submit(Request::encrypt(key, &[1; 16], source, destination)).unwrap();
        let done = queue.wait().unwrap();
        done.result.unwrap();
        buffers = Some((done.buffers.source.unwrap(), done.buffers.destination.unwrap()));
        1
    });
    queue.remove_key(key);
    cost
}

/// The calling thread, and those it starts, stay on a processor; with `ONE_CPU` in the environment on the first.
fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(if std::env::var_os("ONE_CPU").is_some() { 0 } else { cpu });
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}

#[test]
#[ignore = "it measures"]
fn queues() {
    let features = millstream::features().unwrap();
    pin(1);
    let thread = AcceleratorThread::spawn(features, ThreadConfig::default()).unwrap();
    let double = Double::start();
    let isolated = Attach { depth: 256, arena_bytes: 8 << 20, ..double.wanted() }.attach().unwrap();
    pin(0);
    let mut queues = [
        ("inline", Queue::inline(features, CONFIG).unwrap()),
        ("thread", thread.queue(CONFIG).unwrap()),
        ("isolated", isolated.queue().unwrap()),
    ];
    for _ in 0..7 {
        for (name, queue) in &mut queues {
            print!("{name} null {:.1} cbc64 {:.0} | ", null(queue), cbc(queue));
        }
        println!();
    }
}

/// Counter mode over objects that the client fills and reads, 32 in flight; with `DEMOTE_FROM=64` in the environment their
/// cache lines are handed over.
#[test]
#[ignore = "it measures"]
fn hand_over() {
    pin(1);
    let double = Double::start();
    let demote_from = std::env::var("DEMOTE_FROM").ok().map(|from| from.parse().unwrap());
    let wanted = Attach { depth: 64, arena_bytes: 32 << 20, demote_from, ..double.wanted() };
    let isolated = wanted.attach().unwrap();
    pin(0);
    let mut queue = isolated.queue().unwrap();
    let key = queue.import_key(Algorithm::AesCtr, &[7; 16]).unwrap();
    for size in [64, 256, 1024, 2048, 4096, 16384, 65536] {
        let mut pairs: Vec<_> =
            (0..32).map(|_| (queue.buffer(size).unwrap(), queue.buffer(size).unwrap())).collect();
        let (mut byte, mut sum) = (0, 0_u64);
        let cost = time(|| {
            let mut ended = 0;
            for _ in 0..64 {
                while let Some((mut source, destination)) = pairs.pop() {
                    byte += 1;
                    source.fill(byte);
                    queue.submit(Request::encrypt(key, &[1; 16], source, destination)).unwrap();
                    byte %= 100;
                }
                let done = queue.wait().unwrap();
                let destination = done.buffers.destination.unwrap();
                sum += destination
                    .as_chunks()
                    .0
                    .iter()
                    .map(|c| u64::from_le_bytes(*c))
                    .fold(0, u64::wrapping_add)
                    & 1;
                pairs.push((done.buffers.source.unwrap(), destination));
                ended += 1;
            }
            ended
        });
        while queue.wait().is_some() {}
        print!("{size}: {cost:.0} ns {:.2} GB/s | ", size as f64 / cost);
        assert!(sum < u64::MAX);
    }
    println!();
}

/// The least time of an operation in many short batches, in nanoseconds: what else the machine does is left out. The number of
/// batches is `BATCHES` of the environment, so that a profiler can tell what a batch costs.
fn least(operations: u32, mut batch: impl FnMut()) -> f64 {
    let batches = std::env::var("BATCHES").map_or(2000, |batches| batches.parse().unwrap());
    let one = |_| {
        let began = Instant::now();
        batch();
        began.elapsed()
    };
    (0..batches).map(one).min().unwrap().as_nanos() as f64 / f64::from(operations)
}

/// Operations of 64 bytes on an inline queue, `flight` at a time, in buffers that are kept.
fn in_flight(flight: u32, algorithm: Option<Algorithm>) -> f64 {
    let mut queue = Queue::inline(millstream::features().unwrap(), CONFIG).unwrap();
    let key = queue.import_key(algorithm.unwrap_or(Algorithm::AesCbc), &[7; 16]).unwrap();
    let pair = |_| (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
    let mut kept: Vec<(Buffer, Buffer)> = (0..flight).map(pair).collect();
    let rounds = 512 / flight;
    least(rounds * flight, || {
        for _ in 0..rounds {
            for _ in 0..flight {
                let request = match algorithm {
                    None => Request::null(),
                    Some(algorithm) => {
                        let (source, destination) = kept.pop().unwrap();
                        match algorithm {
                            Algorithm::AesGcm => Request::seal(key, &[1; 12], &[2; 13], source, destination),
                            Algorithm::AesEcb => Request::encrypt(key, &[], source, destination),
                            _ => Request::encrypt(key, &[1; 16], source, destination),
                        }
                    }
                };
                queue.submit(request).unwrap();
            }
            while let Some(done) = queue.poll() {
                assert!(done.result.is_ok());
                if let (Some(source), Some(destination)) = (done.buffers.source, done.buffers.destination) {
                    kept.push((source, destination));
                }
            }
        }
    })
}

/// The hot path of an inline queue, part by part.
#[test]
#[ignore = "it measures"]
fn hot_path() {
    let which = std::env::var("ONLY").unwrap_or_default();
    let show = |name: &str, cost: &dyn Fn() -> f64| {
        if name.contains(&which) {
            print!("{name} {:.1} | ", cost());
        }
    };
    show("buffer", &|| {
        let queue = Queue::inline(millstream::features().unwrap(), CONFIG).unwrap();
        least(512, || (0..512).for_each(|_| drop(queue.buffer(64).unwrap())))
    });
    show("32 buffers", &|| {
        let queue = Queue::inline(millstream::features().unwrap(), CONFIG).unwrap();
        let mut taken = Vec::with_capacity(32);
        least(512, || {
            for _ in 0..16 {
                taken.extend((0..32).map(|_| queue.buffer(64).unwrap()));
                taken.clear();
            }
        })
    });
    for (name, algorithm) in [
        ("null", None),
        ("gcm", Some(Algorithm::AesGcm)),
        ("cbc", Some(Algorithm::AesCbc)),
        ("ecb", Some(Algorithm::AesEcb)),
    ] {
        for flight in [1, 8, 64] {
            show(&format!("{name}/{flight}"), &|| in_flight(flight, algorithm));
        }
    }
    println!();
}

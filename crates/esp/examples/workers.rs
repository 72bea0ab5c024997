//! Measures how one association gains from a second worker: packets of 1400 bytes are sealed, and opened, in order, without any device or socket.
//!
//! ```text
//! cargo run --release -p millstream-esp --example workers [SECONDS [ROUNDS]]
//! ```
//!
//! One thread hands packets in, as the data plane's readers do, and so many workers compute them. Each round measures every number of workers once.
//! What was sealed is opened, and is compared with what went in, before anything is measured.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millstream_esp::{FreshKey, Held, Job, Lane, Numbers, Packet, Place, Sa, Side, Workers, parse};

/// Packets that are handed in at a time.
const BATCH: usize = 64;

/// Bytes of an inner packet.
const BYTES: usize = 1400;

/// Batches of buffers that go round, as the data plane's readers take them.
const BATCHES: usize = 32;

const SUITES: [(&str, &str); 3] = [
    ("AES-128-GCM", "aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128"),
    (
        "AES-128-CBC, HMAC-SHA256",
        "enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f auth-trunc hmac(sha256) 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128",
    ),
    (
        "3DES-CBC, HMAC-SHA1",
        "enc cbc(des3_ede) 0x0123456789abcdef23456789abcdef01456789abcdef0123 auth hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let seconds: f64 = words.next().map_or(Ok(1.0), |word| word.parse())?;
    let rounds: usize = words.next().map_or(Ok(5), |word| word.parse())?;
    let duration = Duration::from_secs_f64(seconds);
    println!("{:26} {:>9} {:>9} {:>9} {:>7}", "K packets/s", "0 workers", "1 worker", "2 workers", "1 to 2");
    for (name, suite) in SUITES {
        compare(suite)?;
        let mut rates = [const { Vec::new() }; 3];
        for round in 0..rounds {
            for turn in 0..rates.len() {
                let workers = (turn + round) % rates.len();
                rates[workers].push(sealed(suite, workers, duration)?);
            }
        }
        let [none, one, two] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2] / 1e3
        });
        println!("{name:26} {none:9.0} {one:9.0} {two:9.0} {:7.2}", two / one);
    }
    Ok(())
}

/// Returns the packets that are sealed in a second.
fn sealed(suite: &str, workers: usize, duration: Duration) -> Result<f64, Box<dyn Error>> {
    let numbers = Numbers::new(1, true, Box::new(FreshKey));
    let sa = association(suite, Side::Out { numbers, vectors: 7 })?;
    let (give, take) = channel();
    for _ in 0..BATCHES {
        give.send((0..BATCH).map(|_| Packet::with_room(BYTES)).collect::<Vec<_>>())?;
    }
    let (count, next) = (Arc::new(AtomicU64::new(0)), Mutex::new(1));
    let counted = count.clone();
    let workers = Workers::start(Place::Here, workers)?;
    let mut line = workers.line(move |mut jobs: Vec<Job>| {
        let mut next = next.lock().expect("nobody panics");
        for job in &mut jobs {
            assert_eq!((job.finish(|_, _| true), job.number()), (Ok(()), *next), "packets are in order");
            *next += 1;
        }
        counted.fetch_add(jobs.len() as u64, Ordering::Relaxed);
        // Nobody takes them when the time is over.
        let _ = give.send(jobs.into_iter().map(Job::into_packet).collect());
    });
    let inner = inner();
    let begin = Instant::now();
    while begin.elapsed() < duration {
        let (held, mut jobs) = (Held::new(&sa)?, Vec::with_capacity(BATCH));
        for mut packet in take.recv()? {
            packet.room()[..BYTES].copy_from_slice(&inner);
            packet.set_len(BYTES);
            jobs.push(Job::seal_held(&held, packet).map_err(|(_, fate)| fate)?);
        }
        line.hand_in(jobs);
    }
    line.drain();
    Ok(count.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64())
}

/// Opens what was sealed, and compares it.
fn compare(suite: &str) -> Result<(), Box<dyn Error>> {
    let numbers = Numbers::new(1, true, Box::new(FreshKey));
    let sealing = association(suite, Side::Out { numbers, vectors: 7 })?;
    let opening = association(suite, Side::In { top: 0 })?;
    let inner = inner();
    let mut lane = Lane::new(&Place::Here);
    let begin = |_| Job::seal(&sealing, Packet::from_slice(&inner)).map_err(|(_, fate)| fate);
    let mut jobs: Vec<Job> = (0..BATCH).map(begin).collect::<Result<_, _>>()?;
    lane.run(&mut jobs);
    let open = |job: &mut Job| {
        job.finish(|_, _| true)?;
        Job::open(&opening, Packet::from_slice(job.packet().data()), 0, None).map_err(|(_, fate)| fate)
    };
    let mut opened: Vec<Job> = jobs.iter_mut().map(open).collect::<Result<_, _>>()?;
    lane.run(&mut opened);
    for job in &mut opened {
        job.finish(|_, _| true)?;
        assert!(job.packet().data() == inner, "what came out is not what went in");
    }
    Ok(())
}

fn association(suite: &str, side: Side) -> Result<Arc<Sa>, Box<dyn Error>> {
    let text = format!(
        "src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x101 mode tunnel replay-window 128 flag esn {suite}"
    );
    let description = parse(&text)?.states.remove(0);
    let keys = Place::Here.bind(description.suite, &description.keys)?;
    Ok(Arc::new(Sa::new(description, keys, side)?))
}

/// A packet of IPv4 from 10.0.0.1 to 10.0.0.2.
fn inner() -> Vec<u8> {
    let [high, low] = (BYTES as u16).to_be_bytes();
    let header = [69, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    header.into_iter().chain((20..BYTES).map(|i| (i * 31) as u8)).collect()
}

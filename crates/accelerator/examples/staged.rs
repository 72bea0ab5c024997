//! Measures the cost of staging objects: the same words over an arena that others may write to, and over one that is
//! exclusive, by turns, in one process and on one thread.
//!
//! `cargo run --release -p millstream-accelerator --example staged`
//!
//! # Safety
//! The arena that calls itself exclusive is touched by this thread only, and never while `step` runs.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use millstream_accelerator::{Accelerator, Arena, FlushPolicy, Key, LocalArena};
use millstream_cpu::Features;
use millstream_cwq::ring::{self, Consumer, Producer, Word};
use millstream_cwq::{Algorithm, Completion, ControlWord, Opcode, Status};

type Memory = Arc<[Word]>;

const CAPACITY: usize = 64;
/// Bytes of arena for each word in flight.
const PLACE: u32 = 32 * 1024;
/// A key needs a line of its own for nonce and tag.
const HEAD: u32 = 128;

struct MaybeExclusive(LocalArena, bool);

// SAFETY: the memory is the local arena's; who touches it is said at the head of this file.
unsafe impl Arena for MaybeExclusive {
    fn base(&self) -> NonNull<u8> {
        self.0.base()
    }

    fn len(&self) -> u32 {
        self.0.len()
    }

    fn exclusive(&self) -> bool {
        self.1
    }
}

struct Station {
    accelerator: Accelerator<MaybeExclusive, Memory>,
    submissions: Producer<Memory, { ControlWord::WORDS }>,
    completions: Consumer<Memory, { Completion::WORDS }>,
    words: Vec<ControlWord>,
}

/// Something to measure: its name, and its word but for keys and places.
struct Subject {
    name: &'static str,
    key: Option<Algorithm>,
    word: ControlWord,
}

fn subjects() -> Vec<Subject> {
    let word = |opcode: Opcode| ControlWord { opcode: opcode as u8, ..ControlWord::default() };
    let cipher =
        |algorithm: Algorithm| ControlWord { algorithm: algorithm as u8, iv_len: 16, ..word(Opcode::Cipher) };
    let gcm =
        ControlWord { algorithm: Algorithm::AesGcm as u8, iv_len: 12, mac_len: 16, ..word(Opcode::Aead) };
    let hmac = ControlWord { hash: Algorithm::Sha256 as u8, mac_len: 32, ..word(Opcode::Hmac) };
    vec![
        Subject { name: "aes-128-cbc", key: Some(Algorithm::AesCbc), word: cipher(Algorithm::AesCbc) },
        Subject { name: "aes-128-ctr", key: Some(Algorithm::AesCtr), word: cipher(Algorithm::AesCtr) },
        Subject { name: "aes-128-gcm", key: Some(Algorithm::AesGcm), word: gcm },
        Subject { name: "hmac-sha256", key: Some(Algorithm::Sha256), word: hmac },
        Subject { name: "null", key: None, word: word(Opcode::Null) },
    ]
}

fn station(subject: &Subject, len: u32, exclusive: bool) -> Station {
    let features = Features::hardware();
    let submissions: Memory = ring::memory::<{ ControlWord::WORDS }>(CAPACITY).into();
    let completions: Memory = ring::memory::<{ Completion::WORDS }>(CAPACITY).into();
    let mut accelerator = Accelerator::new(features, FlushPolicy::default());
    let arena = MaybeExclusive(LocalArena::new(CAPACITY as u32 * PLACE), exclusive);
    let grant = accelerator.add_grant(arena, 1);
    accelerator.add_queue(grant, submissions.clone(), completions.clone(), 1).expect("rings");
    let key = subject.key.map_or(0, |algorithm| {
        let key = Key::new(features, algorithm, &[7; 16]).expect("a good key");
        accelerator.insert_key(grant, key).expect("a free slot").to_bits()
    });
    let place = |index: usize| {
        // Objects of the same size would all begin in the same sets of the cache.
        let at = index as u32 * PLACE + index as u32 % 32 * 64;
        let mut word = ControlWord { tag: index as u64, ..subject.word };
        if subject.key.is_some() {
            (word.key, word.source, word.source_len) = (key, at + HEAD, len);
        }
        if word.iv_len > 0 {
            (word.iv, word.destination) = (at, at + HEAD + len);
        }
        if word.mac_len > 0 {
            word.mac = at + 64;
        }
        word
    };
    Station {
        accelerator,
        submissions: Producer::new(submissions).expect("a ring"),
        completions: Consumer::new(completions).expect("a ring"),
        words: (0..CAPACITY).map(place).collect(),
    }
}

impl Station {
    /// Nanoseconds an operation, with so many in flight.
    fn measure(&mut self, in_flight: usize, rounds: usize) -> f64 {
        let begin = Instant::now();
        for _ in 0..rounds {
            for word in &self.words[..in_flight] {
                self.submissions.push(&word.to_words()).expect("room");
            }
            self.submissions.publish();
            self.accelerator.step(0);
            for _ in 0..in_flight {
                let words = self.completions.pop().expect("a ring").expect("a completion");
                assert_eq!(Completion::from_words(words).status, Status::Ok as u16);
            }
            self.completions.release();
        }
        begin.elapsed().as_nanos() as f64 / (rounds * in_flight) as f64
    }
}

/// Nanoseconds of a step that finds nothing to do, with so many queues.
fn idle(queues: usize) -> f64 {
    const STEPS: u32 = 10_000;
    let mut accelerator = Accelerator::new(Features::hardware(), FlushPolicy::default());
    for _ in 0..queues {
        let submissions: Memory = ring::memory::<{ ControlWord::WORDS }>(CAPACITY).into();
        let completions: Memory = ring::memory::<{ Completion::WORDS }>(CAPACITY).into();
        let grant = accelerator.add_grant(MaybeExclusive(LocalArena::new(64), false), 0);
        accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    }
    let round = || {
        let begin = Instant::now();
        for _ in 0..STEPS {
            assert_eq!(std::hint::black_box(&mut accelerator).step(0), 0);
        }
        begin.elapsed().as_nanos() as f64 / f64::from(STEPS)
    };
    std::iter::repeat_with(round).take(50).fold(f64::INFINITY, f64::min)
}

fn main() {
    for queues in [1, 4, 16] {
        println!("an idle step with {queues} queues: {:.1} ns", idle(queues));
    }
    println!(
        "{:12} {:>6} {:>9} {:>12} {:>12} {:>8}",
        "", "bytes", "in flight", "exclusive ns", "staged ns", "ratio"
    );
    for subject in subjects() {
        let lengths: &[u32] = if subject.key.is_some() { &[64, 1024, 8192] } else { &[0] };
        for &len in lengths {
            for in_flight in [1, 32] {
                let mut stations = [true, false].map(|exclusive| station(&subject, len, exclusive));
                let rounds = 200_000 / (in_flight * (len as usize + 200));
                let mut best = [f64::INFINITY; 2];
                for _ in 0..100 {
                    for (best, station) in best.iter_mut().zip(&mut stations) {
                        *best = best.min(station.measure(in_flight, rounds.max(4)));
                    }
                }
                let [exclusive, staged] = best;
                println!(
                    "{:12} {len:6} {in_flight:9} {exclusive:12.1} {staged:12.1} {:8.2}",
                    subject.name,
                    staged / exclusive
                );
            }
        }
    }
}

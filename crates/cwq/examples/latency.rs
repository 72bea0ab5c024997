//! The round trip of one entry between two threads that spin: a control word there, a completion back.
//!
//! `cargo run --release -p millstream-cwq --example latency`

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use millstream_cwq::ring::{Consumer, Producer, Word, memory};
use millstream_cwq::{Completion, ControlWord};

const TRIPS: u64 = 2000;
const ROUNDS: usize = 300;

fn main() {
    type Memory = Arc<[Word]>;
    let submissions: Memory = memory::<{ ControlWord::WORDS }>(64).into();
    let completions: Memory = memory::<{ Completion::WORDS }>(64).into();
    let mut there = Producer::<_, { ControlWord::WORDS }>::new(submissions.clone()).expect("a ring");
    let mut back = Consumer::<_, { Completion::WORDS }>::new(completions.clone()).expect("a ring");
    let server = thread::spawn(move || {
        let mut words = Consumer::<_, { ControlWord::WORDS }>::new(submissions).expect("a ring");
        let mut done = Producer::<_, { Completion::WORDS }>::new(completions).expect("a ring");
        loop {
            let Some(entry) = words.pop().expect("a ring") else {
                std::hint::spin_loop();
                continue;
            };
            words.release();
            let tag = ControlWord::from_words(entry).tag;
            done.push(&[tag, 0]).expect("room");
            done.publish();
            if tag == u64::MAX {
                return;
            }
        }
    });
    let mut trip = |tag: u64| {
        let word = ControlWord { tag, ..ControlWord::default() };
        there.push(&word.to_words()).expect("room");
        there.publish();
        while back.pop().expect("a ring").is_none() {
            std::hint::spin_loop();
        }
        back.release();
    };
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            (0..TRIPS).for_each(&mut trip);
            begin.elapsed().as_nanos() as f64 / TRIPS as f64
        })
        .collect();
    trip(u64::MAX);
    server.join().expect("no panic");
    rounds.sort_by(f64::total_cmp);
    let [best, median] = [rounds[0], rounds[ROUNDS / 2]];
    println!("round trip: best {best:.0} ns, median {median:.0} ns");
}

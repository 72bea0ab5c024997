//! The order that workers keep.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use millstream_esp::{Job, Packet, Place, Workers};
use millstream_testkit::Random;

use crate::peers::{described, inner, into, out, suites};

/// Batches of very different cost, of several associations: each line gives its packets out in the order in which they came, and what one line
/// gives out another one can open.
#[test]
fn every_association_keeps_its_order_with_any_number_of_workers() {
    for count in [0, 1, 3] {
        let workers = Workers::start(Place::Here, count).unwrap();
        let all = suites();
        let texts: Vec<String> = [0, 3, 4, 16].iter().map(|at| described(&all[*at].line, "")).collect();
        let sealing: Vec<_> = texts.iter().map(|text| out(text, 1)).collect();
        let opening: Vec<_> = texts.iter().map(|text| into(text, 0)).collect();

        let opened = Arc::new(AtomicU64::new(0));
        let counter = opened.clone();
        let mut arrivals = workers.line(move |jobs: Vec<Job>| {
            for mut job in jobs {
                job.finish(|_, _| true).unwrap();
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let sealed = Arc::new(Mutex::new(Vec::new()));
        let kept = sealed.clone();
        let mut leaving = workers.line(move |jobs: Vec<Job>| {
            for mut job in jobs {
                job.finish(|_, _| true).unwrap();
                kept.lock().unwrap().push((job.sa().clone(), job.number(), job.packet().data().to_vec()));
            }
        });
        let mut random = Random::new(count as u64);
        let mut total = 0;
        for _ in 0..40 {
            let jobs: Vec<Job> = (0..1 + random.below(40))
                .map(|_| {
                    let len = if random.below(9) == 0 { 2000 } else { 60 };
                    let packet = Packet::from_slice(&inner(&mut random, len));
                    Job::seal(&sealing[random.below(4)], packet).unwrap()
                })
                .collect();
            total += jobs.len();
            leaving.hand_in(jobs);
        }
        leaving.drain();
        let sealed = std::mem::take(&mut *sealed.lock().unwrap());
        assert_eq!(sealed.len(), total);
        for sa in &sealing {
            let numbers: Vec<u64> =
                sealed.iter().filter(|(of, ..)| Arc::ptr_eq(of, sa)).map(|(_, number, _)| *number).collect();
            assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{count} workers: {numbers:?}");
        }
        for batch in sealed.chunks(33) {
            let jobs = batch.iter().map(|(sa, _, packet)| {
                let at = sealing.iter().position(|other| Arc::ptr_eq(other, sa)).unwrap();
                Job::open(&opening[at], Packet::from_slice(packet), 0, None).unwrap()
            });
            arrivals.hand_in(jobs.collect());
        }
        arrivals.drain();
        assert_eq!(opened.load(Ordering::Relaxed), total as u64);
    }
}

/// A sink that panics loses its own batch alone.
#[test]
fn a_batch_that_fails_does_not_hold_up_those_behind_it() {
    let workers = Workers::start(Place::Here, 2).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let counter = seen.clone();
    let mut line = workers.line(move |jobs: Vec<Job>| {
        assert_ne!(counter.fetch_add(1, Ordering::Relaxed), 3, "the fourth batch fails on purpose");
        drop(jobs);
    });
    for _ in 0..20 {
        line.hand_in(Vec::new());
    }
    line.drain();
    assert_eq!(seen.load(Ordering::Relaxed), 20);
}

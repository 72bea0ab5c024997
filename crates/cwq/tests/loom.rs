//! Every interleaving of a producer and a consumer, by the model checker:
//! `RUSTFLAGS="--cfg loom" cargo test -p millstream-cwq --release --test loom`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use millstream_cwq::ring::{Consumer, Producer, memory};

/// An `Arc` of the model checker's that is a slice.
#[derive(Clone)]
struct Memory(Arc<Vec<AtomicU64>>);

impl std::ops::Deref for Memory {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

fn ring(capacity: usize) -> (Producer<Memory, 2>, Consumer<Memory, 2>) {
    let memory = Memory(Arc::new(memory::<2>(capacity)));
    (Producer::new(memory.clone()).unwrap(), Consumer::new(memory).unwrap())
}

/// No entry is seen before all its words are there, none is lost, none comes twice, even where
/// the ring is full and places are used again.
#[test]
fn entries_arrive_whole_and_in_order() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(2);
        let sender = thread::spawn(move || {
            for i in 1..=3 {
                while producer.push(&[i, !i]).is_err() {
                    thread::yield_now();
                }
                producer.publish();
            }
        });
        for i in 1..=3 {
            let entry = loop {
                if let Some(entry) = consumer.pop().unwrap() {
                    break entry;
                }
                thread::yield_now();
            };
            assert_eq!(entry, [i, !i]);
            consumer.release();
        }
        sender.join().unwrap();
    });
}

/// The same, where several are written and read at a time.
#[test]
fn batches_arrive_whole_and_in_order() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(2);
        let sender = thread::spawn(move || {
            let mut next = 1;
            while next <= 3 {
                let room = producer.room().unwrap();
                let mut writer = producer.writer();
                while next <= 3 && writer.push(&[next, !next]) {
                    next += 1;
                }
                writer.finish();
                producer.publish();
                if room == 0 {
                    thread::yield_now();
                }
            }
        });
        let mut expected = 1;
        while expected <= 3 {
            if consumer.ready().unwrap() == 0 {
                thread::yield_now();
            }
            let mut reader = consumer.reader();
            while let Some(entry) = reader.peek() {
                assert_eq!(entry, [expected, !expected]);
                expected += 1;
                reader.advance();
            }
            reader.finish();
            consumer.release();
        }
        sender.join().unwrap();
    });
}

/// Entries published together are seen together or not yet.
#[test]
fn a_burst_is_published_as_one() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(4);
        let sender = thread::spawn(move || {
            producer.push(&[1, 1]).unwrap();
            producer.push(&[2, 2]).unwrap();
            producer.publish();
        });
        let ready = consumer.ready().unwrap();
        assert!(ready == 0 || ready == 2);
        sender.join().unwrap();
        assert_eq!(consumer.ready().unwrap(), 2);
    });
}

/// A consumer that goes to sleep either sees the entry or is woken: never neither.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(2);
        let bell = Arc::new(AtomicU64::new(0));
        let rung = bell.clone();
        let sender = thread::spawn(move || {
            producer.push(&[1, 1]).unwrap();
            producer.publish();
            if producer.must_wake() {
                rung.store(1, Ordering::Release);
            }
        });
        let slept = consumer.sleep().unwrap();
        sender.join().unwrap();
        assert!(!slept || bell.load(Ordering::Acquire) == 1, "asleep for ever");
        assert_eq!(consumer.pop().unwrap(), Some([1, 1]));
    });
}

/// A consumer and, after it, another that goes on where it left off: nothing is lost, nothing comes twice, while
/// the producer knows nothing of it.
#[test]
fn another_consumer_goes_on() {
    loom::model(|| {
        let memory = Memory(Arc::new(memory::<2>(2)));
        let mut producer = Producer::<_, 2>::new(memory.clone()).unwrap();
        let sender = thread::spawn(move || {
            for i in 1..=2 {
                producer.push(&[i, !i]).unwrap();
                producer.publish();
            }
            // Another producer goes on too.
            let mut producer =
                Producer::<_, 2>::resume(producer.memory().clone(), producer.position()).unwrap();
            while producer.push(&[3, !3]).is_err() {
                thread::yield_now();
            }
            producer.publish();
        });
        let mut position = 0;
        for i in 1..=3 {
            let mut consumer = Consumer::<_, 2>::resume(memory.clone(), position).unwrap();
            let entry = loop {
                if let Some(entry) = consumer.pop().unwrap() {
                    break entry;
                }
                thread::yield_now();
            };
            assert_eq!(entry, [i, !i]);
            consumer.release();
            position = consumer.position();
        }
        sender.join().unwrap();
    });
}

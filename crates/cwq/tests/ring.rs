//! The ring against a queue that is known to be right, against a peer that writes nonsense, and
//! between two real threads.
#![cfg(not(loom))]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_cwq::ring::{Consumer, Corrupt, Producer, PushError, memory};
use proptest::prelude::*;

type Memory = Arc<[AtomicU64]>;

fn ring<const W: usize>(capacity: usize) -> (Producer<Memory, W>, Consumer<Memory, W>, Memory) {
    let words: Memory = memory::<W>(capacity).into();
    (Producer::new(words.clone()).unwrap(), Consumer::new(words.clone()).unwrap(), words)
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Publish,
    Pop,
    /// Only what was there at the last look.
    PopKnown,
    Release,
    /// Several at a time.
    PushMany,
    PopMany,
    /// Entries are looked at, or written, and not counted.
    Abandon,
    /// Another producer, or consumer, goes on where the last left off.
    Move,
}

proptest! {
    #[test]
    fn it_behaves_as_a_bounded_queue(
        order in 0u32..6,
        steps in proptest::collection::vec(
            prop_oneof![Just(Step::Push), Just(Step::Push), Just(Step::Publish), Just(Step::Pop), Just(Step::Pop), Just(Step::PopKnown), Just(Step::Release), Just(Step::PushMany), Just(Step::PopMany), Just(Step::Abandon), Just(Step::Move)],
            0..400,
        ),
    ) {
        let capacity = 1usize << order;
        let (mut producer, mut consumer, words) = ring::<2>(capacity);
        let (mut hidden, mut shown, mut unreleased) = (VecDeque::new(), VecDeque::new(), 0usize);
        for (i, step) in (0u64..).zip(steps) {
            match step {
                Step::Push => {
                    let full = hidden.len() + shown.len() + unreleased == capacity;
                    let pushed = producer.push(&[i, !i]);
                    prop_assert_eq!(pushed, if full { Err(PushError::Full) } else { Ok(()) });
                    if !full {
                        hidden.push_back(i);
                    }
                }
                Step::Publish => {
                    producer.publish();
                    shown.append(&mut hidden);
                }
                Step::Pop => {
                    let popped = consumer.pop().unwrap();
                    prop_assert_eq!(popped, shown.pop_front().map(|i: u64| [i, !i]));
                    unreleased += usize::from(popped.is_some());
                }
                Step::PopKnown => {
                    let known = consumer.ready().unwrap();
                    prop_assert_eq!(known == 0, shown.is_empty());
                    prop_assert_eq!(consumer.pop_known(), shown.pop_front().map(|i: u64| [i, !i]));
                    if known == 1 {
                        prop_assert_eq!(consumer.pop_known(), None);
                    }
                    unreleased += known.min(1);
                }
                Step::Release => {
                    consumer.release();
                    unreleased = 0;
                }
                Step::PushMany => {
                    let room = producer.room_for(3).unwrap().min(3) as u64;
                    prop_assert_eq!(room, (capacity - hidden.len() - shown.len() - unreleased).min(3) as u64);
                    let mut writer = producer.writer();
                    for more in 0..room {
                        prop_assert!(writer.push(&[i + (more << 32), !(i + (more << 32))]));
                        hidden.push_back(i + (more << 32));
                    }
                    prop_assert!(room == 3 || !writer.push(&[0, 0]));
                    writer.finish();
                }
                Step::PopMany => {
                    prop_assert_eq!(consumer.ready().unwrap().min(1), shown.len().min(1));
                    let mut reader = consumer.reader();
                    for _ in 0..3 {
                        let Some(entry) = reader.peek() else { break };
                        prop_assert_eq!(reader.peek(), Some(entry));
                        prop_assert_eq!(Some(entry), shown.pop_front().map(|i: u64| [i, !i]));
                        reader.advance();
                        unreleased += 1;
                    }
                    reader.finish();
                }
                Step::Abandon => {
                    let _ = consumer.ready().unwrap();
                    let mut reader = consumer.reader();
                    reader.advance();
                    let mut writer = producer.writer();
                    writer.push(&[77, 77]);
                }
                Step::Move => {
                    if hidden.is_empty() {
                        producer = Producer::resume(words.clone(), producer.position()).unwrap();
                    }
                    if unreleased == 0 {
                        consumer = Consumer::resume(words.clone(), consumer.position()).unwrap();
                    }
                    prop_assert_eq!(consumer.waiting(), Ok(shown.len()));
                }
            }
        }
    }

    /// Whatever a peer writes where its index is, the other side takes no entry that is not there and
    /// pushes none where it has no room.
    #[test]
    fn an_impossible_index_is_an_error(index: u64, pushed in 0usize..8) {
        let (mut producer, mut consumer, words) = ring::<2>(8);
        for i in 0..pushed {
            producer.push(&[i as u64; 2]).unwrap();
        }
        producer.publish();
        words[0].store(index, Ordering::Relaxed);
        match consumer.ready() {
            Ok(ready) => prop_assert!(ready <= 8 && ready as u64 == index),
            Err(Corrupt) => prop_assert!(index > 8),
        }
        words[8].store(index, Ordering::Relaxed);
        for i in pushed..8 {
            prop_assert_eq!(producer.push(&[i as u64; 2]), Ok(()));
        }
        match producer.push(&[0; 2]) {
            Ok(()) => prop_assert!(index >= 1 && index <= pushed as u64),
            Err(PushError::Full) => prop_assert_eq!(index, 0),
            Err(PushError::Corrupt) => prop_assert!(index > pushed as u64),
        }
    }
}

proptest! {
    /// Whoever goes on with a ring believes its peer no more than whoever began it.
    #[test]
    fn what_is_resumed_is_checked(
        position: u64,
        index in prop_oneof![any::<u64>(), 0..40_u64],
        relative: bool,
    ) {
        let words: Memory = memory::<2>(8).into();
        let index = if relative { position.wrapping_add(index).wrapping_sub(16) } else { index };
        words[0].store(index, Ordering::Relaxed);
        words[8].store(index, Ordering::Relaxed);
        let mut consumer = Consumer::<_, 2>::resume(words.clone(), position).unwrap();
        let ready = index.wrapping_sub(position);
        prop_assert_eq!(consumer.ready(), if ready <= 8 { Ok(ready as usize) } else { Err(Corrupt) });
        let mut producer = Producer::<_, 2>::resume(words, position).unwrap();
        let held = position.wrapping_sub(index);
        prop_assert_eq!(producer.room_for(8), if held <= 8 { Ok(8 - held as usize) } else { Err(Corrupt) });
    }
}

/// Both sides have the same word to sleep and to wake by.
#[test]
fn the_sleep_word_says_who_sleeps() {
    let (mut producer, mut consumer, words) = ring::<2>(8);
    assert!(std::ptr::eq(producer.sleep_word(), consumer.sleep_word()));
    assert!(std::ptr::eq(producer.sleep_word(), &words[16]));
    assert_eq!(consumer.sleep(), Ok(true));
    assert_eq!(producer.sleep_word().load(Ordering::Relaxed), 1);
    assert!(producer.must_wake() && !producer.must_wake());
    assert_eq!(consumer.sleep_word().load(Ordering::Relaxed), 0);
}

#[test]
fn a_producer_index_that_goes_back_is_an_error() {
    let (mut producer, mut consumer, words) = ring::<2>(8);
    for _ in 0..4 {
        producer.push(&[0; 2]).unwrap();
    }
    producer.publish();
    for _ in 0..4 {
        consumer.pop().unwrap().unwrap();
    }
    words[0].store(2, Ordering::Relaxed);
    assert_eq!(consumer.pop(), Err(Corrupt));
}

/// Else there would seem to be room for completions where there is none.
#[test]
fn a_consumer_index_that_goes_back_is_an_error() {
    let (mut producer, _, words) = ring::<2>(8);
    for _ in 0..8 {
        producer.push(&[0; 2]).unwrap();
    }
    producer.publish();
    words[8].store(8, Ordering::Relaxed);
    for _ in 0..8 {
        producer.push(&[0; 2]).unwrap();
    }
    words[8].store(4, Ordering::Relaxed);
    assert_eq!(producer.room(), Err(Corrupt));
    assert_eq!(producer.push(&[0; 2]), Err(PushError::Corrupt));
    words[8].store(7, Ordering::Relaxed);
    assert_eq!(producer.room(), Err(Corrupt), "not even where that is room enough");
    words[8].store(8, Ordering::Relaxed);
    assert_eq!(producer.room(), Ok(0));
}

#[test]
fn memory_of_another_size_is_refused() {
    for (words, fits) in
        [(0, false), (24, false), (24 + 8, true), (24 + 24, false), (24 + 16, true), (25, false)]
    {
        let memory: Memory = (0..words).map(|_| AtomicU64::new(0)).collect();
        assert_eq!(Producer::<_, 8>::new(memory.clone()).is_ok(), fits, "{words} words");
        assert_eq!(Consumer::<_, 8>::new(memory).is_ok(), fits, "{words} words");
    }
}

/// Under Miri two hundred.
#[test]
fn miri_a_million_entries_pass_between_two_threads_in_order() {
    const ENTRIES: u64 = if cfg!(miri) { 200 } else { 1_000_000 };
    let (mut producer, mut consumer, _) = ring::<8>(64);
    let sender = std::thread::spawn(move || {
        for i in 0..ENTRIES {
            let entry = std::array::from_fn(|word| i.wrapping_mul(2 * word as u64 + 1));
            while producer.push(&entry).is_err() {
                producer.publish();
                std::thread::yield_now();
            }
            if i % 7 == 0 {
                producer.publish();
            }
        }
        producer.publish();
    });
    for i in 0..ENTRIES {
        let entry = loop {
            match consumer.pop().unwrap() {
                Some(entry) => break entry,
                None => {
                    consumer.release();
                    std::thread::yield_now();
                }
            }
        };
        assert_eq!(entry, std::array::from_fn(|word| i.wrapping_mul(2 * word as u64 + 1)));
        if i % 5 == 0 {
            consumer.release();
        }
    }
    sender.join().unwrap();
}

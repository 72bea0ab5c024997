//! The end of a worker: it is told to end, or its broker is gone.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_protocol::{Message, Order, Report};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("told_to_stop_it_finishes_what_was_submitted", told_to_stop_it_finishes_what_was_submitted),
        test("a_client_that_never_stops_does_not_keep_it", a_client_that_never_stops_does_not_keep_it),
        test("without_a_broker_it_ends", without_a_broker_it_ends),
        test("a_sleeping_client_is_woken_at_the_end", a_sleeping_client_is_woken_at_the_end),
        test("stopped_and_continued_it_goes_on", stopped_and_continued_it_goes_on),
    ]
}

fn digest(tag: u64) -> ControlWord {
    ControlWord {
        opcode: Opcode::Hash as u8,
        hash: Algorithm::Sha256 as u8,
        source_len: 8192,
        mac: 16384,
        mac_len: 32,
        tag,
        ..ControlWord::default()
    }
}

fn told_to_stop_it_finishes_what_was_submitted() {
    let mut worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    client.submit(&(0..256).map(digest).collect::<Vec<_>>());
    worker.control.send(&Order::Stop {}.encode(), &[]).unwrap();
    assert_eq!(worker.report(), Some(Report::Done {}));
    assert_eq!(worker.report(), None);
    assert!(worker.ended().success());
    // The worker has ended, but its completions are there.
    for tag in 0..256 {
        let done = client.next();
        assert_eq!((done.tag, done.status()), (tag, Some(Status::Ok)));
    }
}

fn a_client_that_never_stops_does_not_keep_it() {
    let mut worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let (mut next, mut done) = (0, 0);
            while !over.load(Ordering::Relaxed) {
                if next - done < 128 {
                    client.submit(&[digest(next)]);
                    next += 1;
                }
                while client.queues[0].completions.pop().unwrap().is_some() {
                    done += 1;
                }
                client.queues[0].completions.release();
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        let begin = Instant::now();
        worker.control.send(&Order::Stop {}.encode(), &[]).unwrap();
        let ended = worker.ended();
        over.store(true, Ordering::Relaxed);
        flood.join().unwrap();
        assert!(ended.success() && begin.elapsed() < Duration::from_secs(5), "{ended}");
    });
}

fn without_a_broker_it_ends() {
    let mut worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    assert_eq!(client.execute(digest(0)), Status::Ok);
    let (gone, _) = millstream_shm::pair().unwrap();
    drop(std::mem::replace(&mut worker.control, gone));
    assert!(worker.ended().success());
    assert!(
        client.keys.wait(Some(Duration::from_secs(5))).unwrap() && client.keys.receive().unwrap().is_none()
    );
}

fn a_sleeping_client_is_woken_at_the_end() {
    let mut worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    let completions = &mut client.queues[0].completions;
    std::thread::scope(|scope| {
        assert_eq!(completions.sleep(), Ok(true));
        let sleeper = scope.spawn(|| {
            let begin = Instant::now();
            // There is no completion. The worker's end wakes the client.
            millstream_shm::sleep::wait(completions.sleep_word(), 1, Duration::from_secs(30));
            begin.elapsed()
        });
        std::thread::sleep(Duration::from_millis(100));
        worker.control.send(&Order::Stop {}.encode(), &[]).unwrap();
        assert!(worker.ended().success());
        assert!(sleeper.join().unwrap() < Duration::from_secs(10));
    });
}

fn stopped_and_continued_it_goes_on() {
    use rustix::process::{Pid, Signal, kill_process};
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    let pid = Pid::from_child(&worker.child);
    for asleep in [true, false] {
        if asleep {
            client.await_sleep();
        } else {
            assert_eq!(client.execute(digest(1)), Status::Ok);
        }
        kill_process(pid, Signal::STOP).unwrap();
        // One of the worker's threads sees the signal first, and stops the other.
        std::thread::sleep(Duration::from_millis(20));
        client.submit(&[digest(2)]);
        std::thread::sleep(Duration::from_millis(20));
        assert!(client.queues[0].completions.ready() == Ok(0) || !asleep);
        kill_process(pid, Signal::CONT).unwrap();
        assert_eq!(client.next().tag, 2);
        client.import(Algorithm::AesCbc, false, &[1; 16]);
    }
}

//! An accelerator's thread sleeps and is woken, under every interleaving: by its mailbox, by clients that publish, and by
//! both at once. The rings are the real ones, and so is the mailbox: its source is included, with the model checker's atomics.
//! What stands in for the kernel is an eventfd that an epoll watches for edges: a sleeper that has not seen the newest edge wakes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p millstream-cwq --release --test loom_mailbox`
#![cfg(loom)]
#![allow(dead_code, missing_docs)]

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use millstream_cwq::ring::{Consumer, Producer, memory};

use mailbox::{Bell, End};
use serving::Serving;

/// Rather than time, preemptions are bounded: with three of them all the windows of these protocols are met, and a model
/// takes seconds.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// The epoll in which a worker sleeps, and which all of its doorbells ring.
struct Epoll {
    edges: Mutex<u64>,
    rung: Condvar,
}

impl Epoll {
    fn new() -> Arc<Self> {
        Arc::new(Epoll { edges: Mutex::new(0), rung: Condvar::new() })
    }

    /// Sleeps until there is an edge that the sleeper has not been told of.
    fn wait(&self, seen: &mut u64) {
        let mut edges = self.edges.lock().unwrap();
        while *edges == *seen {
            edges = self.rung.wait(edges).unwrap();
        }
        *seen = *edges;
    }
}

impl Epoll {
    /// Returns true when there is an edge that the sleeper has not been told of, without waiting for one.
    fn look(&self, seen: &mut u64) -> bool {
        let edges = self.edges.lock().unwrap();
        std::mem::replace(seen, *edges) != *edges
    }
}

/// In place of `millstream_shm::Doorbell`.
pub struct Doorbell(Arc<Epoll>);

impl Bell for Doorbell {
    fn ring(&self) {
        *self.0.edges.lock().unwrap() += 1;
        self.0.rung.notify_one();
    }
}

type Mailbox = mailbox::Mailbox<Serving, Doorbell>;

/// The types that the mailbox is made of.
mod sync {
    pub(super) use loom::sync::Mutex;
    pub(super) use loom::sync::atomic::{AtomicBool, Ordering};
    pub(super) use std::sync::PoisonError;

    /// An answer has room in both kinds of channel.
    pub(super) fn sync_channel<T>(_: usize) -> (loom::sync::mpsc::Sender<T>, loom::sync::mpsc::Receiver<T>) {
        loom::sync::mpsc::channel()
    }
}

/// The type that commands work on.
mod serving {
    #[derive(Default)]
    pub(super) struct Serving {
        pub(super) done: Vec<u32>,
    }
}

#[path = "../../host/src/mailbox.rs"]
mod mailbox;

/// The accelerator's thread as `millstream_host::run` has it, without the work: obeys, looks, says that it sleeps, looks again, sleeps.
struct Thread {
    mailbox: Arc<Mailbox>,
    epoll: Arc<Epoll>,
    seen: u64,
    serving: Serving,
}

impl Thread {
    fn new(mailbox: &Arc<Mailbox>, epoll: &Arc<Epoll>) -> Self {
        Thread { mailbox: mailbox.clone(), epoll: epoll.clone(), seen: 0, serving: Serving::default() }
    }

    /// Executes commands, and returns how to end once it is told to.
    fn obey(&mut self) -> Option<End> {
        if !self.mailbox.is_told() {
            return None;
        }
        let (commands, end) = self.mailbox.take();
        for command in commands {
            command(&mut self.serving);
        }
        end
    }

    /// Until it is told to end.
    fn run(mut self) -> (Vec<u32>, End) {
        loop {
            if let Some(end) = self.obey() {
                return (self.serving.done, end);
            }
            if !self.mailbox.is_told() {
                self.epoll.wait(&mut self.seen);
            }
        }
    }
}

fn worker() -> (Arc<Mailbox>, Arc<Epoll>) {
    let epoll = Epoll::new();
    (Arc::new(Mailbox::new(Doorbell(epoll.clone()))), epoll)
}

/// Whoever asks gets an answer, however the thread falls asleep meanwhile, and the end comes after what was asked before.
#[test]
fn what_is_asked_is_done_and_the_end_is_seen() {
    check(|| {
        let (mailbox, epoll) = worker();
        let thread = Thread::new(&mailbox, &epoll);
        let accelerator = thread::spawn(move || thread.run());
        let answer = mailbox.ask(|serving: &mut Serving| {
            serving.done.push(7);
            serving.done.len()
        });
        assert_eq!(answer, Some(1));
        mailbox.end(End::Finish);
        assert_eq!(accelerator.join().unwrap(), (vec![7], End::Finish));
    });
}

/// Two that ask at once both get their answers.
#[test]
fn two_ask_at_once() {
    check(|| {
        let (mailbox, epoll) = worker();
        let thread = Thread::new(&mailbox, &epoll);
        let accelerator = thread::spawn(move || thread.run());
        let other = mailbox.clone();
        let asker = thread::spawn(move || other.ask(|serving: &mut Serving| serving.done.push(1)));
        assert_eq!(mailbox.ask(|serving: &mut Serving| serving.done.push(2)), Some(()));
        assert_eq!(asker.join().unwrap(), Some(()));
        mailbox.end(End::Now);
        let (mut done, end) = accelerator.join().unwrap();
        done.sort_unstable();
        assert_eq!((done, end), (vec![1, 2], End::Now));
    });
}

/// A model's memory that is a slice.
#[derive(Clone)]
struct Memory(std::sync::Arc<Vec<AtomicU64>>);

impl std::ops::Deref for Memory {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}

type Rings = (Producer<Memory, 1>, Consumer<Memory, 1>);

fn ring() -> Rings {
    let memory = Memory(std::sync::Arc::new(memory::<1>(2)));
    (Producer::new(memory.clone()).unwrap(), Consumer::new(memory).unwrap())
}

/// A client: publishes one word, and rings where it is told that somebody sleeps.
fn submit(mut producer: Producer<Memory, 1>, word: u64, bell: &Doorbell) {
    producer.push(&[word]).unwrap();
    producer.publish();
    if producer.must_wake() {
        bell.ring();
    }
}

/// Takes as many words as are to come from all rings, and sleeps between: one bell for all of them.
fn serve(
    consumers: &mut [Consumer<Memory, 1>],
    words: usize,
    epoll: &Epoll,
    told: impl Fn() -> bool,
) -> Vec<u64> {
    let (mut taken, mut seen) = (Vec::new(), 0);
    loop {
        for consumer in consumers.iter_mut() {
            while let Some([word]) = consumer.pop().unwrap() {
                taken.push(word);
                consumer.release();
            }
        }
        if taken.len() == words && told() {
            return taken;
        }
        // Like `Accelerator::sleep`: either all rings say that their consumer sleeps, or none does.
        let mut asleep = true;
        for consumer in consumers.iter_mut() {
            asleep &= consumer.sleep().unwrap();
        }
        if asleep {
            epoll.wait(&mut seen);
        }
        for consumer in consumers.iter_mut() {
            consumer.wake();
        }
    }
}

/// A worker that sleeps for two clients is woken by whichever publishes, and never sleeps over a word.
#[test]
fn two_clients_and_one_sleeper() {
    check(|| {
        let epoll = Epoll::new();
        let ((first, one), (second, other)) = (ring(), ring());
        let bells = [Doorbell(epoll.clone()), Doorbell(epoll.clone())];
        let [bell, bell_of_other] = bells;
        let client = thread::spawn(move || submit(first, 1, &bell));
        let other_client = thread::spawn(move || submit(second, 2, &bell_of_other));
        let mut taken = serve(&mut [one, other], 2, &epoll, || true);
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        client.join().unwrap();
        other_client.join().unwrap();
    });
}

/// A queue that rests by itself while the worker is awake for another: its word says that nobody looks, and it is looked at
/// again when its client has rung, whether the worker is awake then or asleep.
#[test]
fn a_queue_that_rests_alone() {
    check(|| {
        let epoll = Epoll::new();
        let ((first, mut resting), (second, mut busy)) = (ring(), ring());
        assert!(resting.sleep().unwrap(), "nothing was submitted yet");
        let bells = [Doorbell(epoll.clone()), Doorbell(epoll.clone())];
        let [bell, bell_of_other] = bells;
        let client = thread::spawn(move || submit(first, 1, &bell));
        let other_client = thread::spawn(move || submit(second, 2, &bell_of_other));
        let (mut rests, mut seen, mut taken) = (true, 0, Vec::new());
        while taken.len() < 2 {
            let rung = epoll.look(&mut seen);
            if rests && rung && resting.sleep_word().load(Ordering::Relaxed) == 0 {
                rests = false;
            }
            for consumer in [Some(&mut busy), (!rests).then_some(&mut resting)].into_iter().flatten() {
                while let Some([word]) = consumer.pop().unwrap() {
                    taken.push(word);
                    consumer.release();
                }
            }
            if taken.len() < 2 && busy.sleep().unwrap() && (rests || resting.sleep().unwrap()) {
                let before = seen;
                epoll.wait(&mut seen);
                // The edge that woke it is looked at above.
                seen = before;
            }
            busy.wake();
            if !rests {
                resting.wake();
            }
        }
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        client.join().unwrap();
        other_client.join().unwrap();
    });
}

/// A client's word and a command from the control thread at once: neither is slept over.
#[test]
fn a_word_and_a_command_at_once() {
    check(|| {
        let (mailbox, epoll) = worker();
        let (producer, mut consumer) = ring();
        let bell = Doorbell(epoll.clone());
        let client = thread::spawn(move || submit(producer, 1, &bell));
        let teller = mailbox.clone();
        let control = thread::spawn(move || teller.end(End::Finish));
        let (mut thread, mut taken, mut end) = (Thread::new(&mailbox, &epoll), Vec::new(), None);
        loop {
            end = end.or(thread.obey());
            while let Some([word]) = consumer.pop().unwrap() {
                taken.push(word);
                consumer.release();
            }
            if end.is_some() && taken.len() == 1 {
                break;
            }
            if !thread.mailbox.is_told() && consumer.sleep().unwrap() {
                thread.epoll.wait(&mut thread.seen);
            }
            consumer.wake();
        }
        assert_eq!((taken, end), (vec![1], Some(End::Finish)));
        client.join().unwrap();
        control.join().unwrap();
    });
}

/// The other way: a client sleeps on its completions' own word, as on a futex, and whoever publishes wakes it. The kernel
/// compares the word under its own lock before it puts the client to sleep.
#[test]
fn a_client_that_sleeps_on_its_completions() {
    check(|| {
        let futex = Arc::new((Mutex::new(()), Condvar::new()));
        let (mut producer, mut consumer) = ring();
        let waker = futex.clone();
        let worker = thread::spawn(move || {
            for word in 1..=2 {
                producer.push(&[word]).unwrap();
                producer.publish();
                if producer.must_wake() {
                    // FUTEX_WAKE: nothing is lost between the comparison and the sleep of who waits.
                    drop(waker.0.lock().unwrap());
                    waker.1.notify_one();
                }
            }
        });
        let mut taken = Vec::new();
        while taken.len() < 2 {
            while let Some([word]) = consumer.pop().unwrap() {
                taken.push(word);
                consumer.release();
            }
            if taken.len() < 2 && consumer.sleep().unwrap() {
                let mut kernel = futex.0.lock().unwrap();
                while consumer.sleep_word().load(Ordering::Relaxed) == 1 {
                    kernel = futex.1.wait(kernel).unwrap();
                }
            }
            consumer.wake();
        }
        assert_eq!(taken, [1, 2]);
        worker.join().unwrap();
    });
}

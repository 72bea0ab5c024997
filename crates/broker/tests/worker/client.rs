//! A client with its grant, made of shared memory, rings and messages alone.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millstream_cwq::ring::{Consumer, Producer};
use millstream_cwq::{Algorithm, Completion, ControlWord, Status};
use millstream_protocol::{
    Grant, KeyPurpose, KeyRefusal, KeyReply, KeyRequest, KeyRules, Message, Order, STATE_BYTES, Secret,
};
use millstream_shm::{Doorbell, Mapping, Memory, Rings, Socket, Words, pair, sleep};

use crate::process::{LIMIT, Worker};

/// The client's side of one queue.
pub struct Queue {
    pub submissions: Producer<Words, { ControlWord::WORDS }>,
    pub completions: Consumer<Words, { Completion::WORDS }>,
}

/// A client, and the things that its broker keeps of its grant.
pub struct Client {
    pub grant: Grant,
    pub arena: Arc<Mapping>,
    pub queues: Vec<Queue>,
    pub doorbell: Doorbell,
    pub keys: Socket,
    pub arena_memory: Memory,
    pub rings_memory: Memory,
    pub state_memory: Memory,
    /// None once it was given to a worker.
    pub worker_keys: Option<Socket>,
    /// The inode by which the key socket is recognized when the grant moves.
    pub key_inode: u64,
}

/// Returns a grant of one queue of 256 operations, a megabyte, 64 keys, and all algorithms.
pub fn grant(id: u64) -> Grant {
    Grant {
        id,
        queues: 1,
        depth: 256,
        arena_bytes: 1 << 20,
        key_slots: 64,
        weight: 1,
        algorithms: u128::MAX,
        keys: KeyRules::default(),
    }
}

impl Client {
    pub fn new(grant: Grant) -> Client {
        let rings = Rings::new(grant.queues, grant.depth).unwrap();
        let arena_memory = Memory::new("arena", grant.arena_bytes as usize).unwrap();
        let rings_memory = Memory::new("rings", rings.bytes()).unwrap();
        let state_memory = Memory::new("state", STATE_BYTES).unwrap();
        let shared = Mapping::shared(&rings_memory).unwrap();
        let queues = (0..grant.queues).map(|queue| {
            let of = |(at, words)| shared.words(at, words).unwrap();
            Queue {
                submissions: Producer::new(of(rings.submissions(queue))).unwrap(),
                completions: Consumer::new(of(rings.completions(queue))).unwrap(),
            }
        });
        let (keys, worker_keys) = pair().unwrap();
        Client {
            queues: queues.collect(),
            arena: Mapping::shared(&arena_memory).unwrap(),
            doorbell: Doorbell::new().unwrap(),
            keys,
            arena_memory,
            rings_memory,
            state_memory,
            key_inode: worker_keys.inode().unwrap(),
            worker_keys: Some(worker_keys),
            grant,
        }
    }

    /// Duplicates what the broker keeps of a client: its descriptors, to pass them on.
    pub fn broker_side(of: &Client, keys: Socket) -> Client {
        let again = |memory: &Memory| Memory::received(memory.duplicate().unwrap()).unwrap();
        Client {
            grant: of.grant.clone(),
            arena: of.arena.clone(),
            queues: Vec::new(),
            doorbell: Doorbell::received(of.doorbell.duplicate().unwrap()),
            keys,
            arena_memory: again(&of.arena_memory),
            rings_memory: again(&of.rings_memory),
            state_memory: again(&of.state_memory),
            worker_keys: None,
            key_inode: of.key_inode,
        }
    }

    /// Makes a client that a worker serves.
    pub fn served(worker: &Worker, grant: Grant) -> Client {
        let mut client = Client::new(grant);
        let keys = client.worker_keys.take().unwrap();
        worker.obeys(&Order::Serve { grant: client.grant.clone() }, &client.descriptors(&keys));
        client
    }

    /// Returns the descriptors that go with a grant, in order, and then a socket.
    pub fn descriptors<'a>(&'a self, socket: &'a Socket) -> [std::os::fd::BorrowedFd<'a>; 5] {
        [
            self.arena_memory.as_fd(),
            self.rings_memory.as_fd(),
            self.state_memory.as_fd(),
            self.doorbell.as_fd(),
            socket.as_fd(),
        ]
    }

    /// Pushes words into a queue, and publishes them.
    pub fn submit_to(&mut self, queue: usize, words: &[ControlWord]) {
        let queue = &mut self.queues[queue];
        for word in words {
            queue.submissions.push(&word.to_words()).unwrap();
        }
        queue.submissions.publish();
        if queue.submissions.must_wake() {
            self.doorbell.ring();
        }
    }

    pub fn submit(&mut self, words: &[ControlWord]) {
        self.submit_to(0, words);
    }

    /// Polls for the next completion.
    pub fn next(&mut self) -> Completion {
        let begin = Instant::now();
        loop {
            if let Some(words) = self.queues[0].completions.pop().unwrap() {
                self.queues[0].completions.release();
                return Completion::from_words(words);
            }
            self.assert_served(begin);
            std::hint::spin_loop();
        }
    }

    /// Sleeps until the next completion, at most `limit` at a time.
    pub fn next_asleep(&mut self, limit: Duration) -> Completion {
        let begin = Instant::now();
        loop {
            let completions = &mut self.queues[0].completions;
            if let Some(words) = completions.pop().unwrap() {
                completions.release();
                return Completion::from_words(words);
            }
            self.assert_served(begin);
            let completions = &mut self.queues[0].completions;
            if completions.sleep() == Ok(true) {
                sleep::wait(completions.sleep_word(), 1, limit);
            }
            completions.wake();
        }
    }

    /// Fails when it waits too long, or for a worker that is gone.
    fn assert_served(&self, since: Instant) {
        let waited = since.elapsed();
        assert!(waited < LIMIT, "no completion comes");
        assert!(waited < Duration::from_millis(200) || !self.keys.is_closed(), "the worker is gone");
    }

    /// Executes one word and returns how it ended.
    pub fn execute(&mut self, word: ControlWord) -> Status {
        self.submit(&[word]);
        let done = self.next();
        assert_eq!(done.tag, word.tag);
        done.status().unwrap()
    }

    /// Sends a request about a key. Returns none when nobody answers any more.
    pub fn ask(&self, request: &KeyRequest) -> Option<KeyReply> {
        self.keys.send(&request.encode(), &[]).ok()?;
        assert!(self.keys.wait(Some(LIMIT)).unwrap(), "no answer about a key");
        Some(KeyReply::decode(&self.keys.receive().ok()??.bytes).unwrap())
    }

    /// Sends a request that must be refused, and returns the reason.
    #[track_caller]
    pub fn refused(&self, request: &KeyRequest) -> KeyRefusal {
        match self.ask(request) {
            Some(KeyReply::Refused { why }) => why,
            other => panic!("{other:?} in answer to {request:?}"),
        }
    }

    /// Imports a key.
    #[track_caller]
    pub fn import(&self, algorithm: Algorithm, exportable: bool, bytes: &[u8]) -> u32 {
        let request = KeyRequest::Import {
            algorithm: algorithm as u8,
            exportable,
            purpose: KeyPurpose::default(),
            bytes: Secret::new(bytes),
        };
        match self.ask(&request) {
            Some(KeyReply::Key { handle }) => handle,
            other => panic!("{other:?}"),
        }
    }

    /// Exports a key.
    #[track_caller]
    pub fn export(&self, handle: u32) -> Vec<u8> {
        match self.ask(&KeyRequest::Export { handle }) {
            Some(KeyReply::Exported { bytes }) => bytes.expose().to_vec(),
            other => panic!("{other:?}"),
        }
    }

    pub fn read(&self, at: usize, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        self.arena.read(at, &mut out);
        out
    }

    /// Returns true when the worker has announced its sleep on all queues.
    pub fn worker_sleeps(&self) -> bool {
        self.queues.iter().all(|queue| queue.submissions.sleep_word().load(Ordering::SeqCst) == 1)
    }

    /// Waits until the worker sleeps.
    pub fn await_sleep(&self) {
        let begin = Instant::now();
        while !self.worker_sleeps() {
            assert!(begin.elapsed() < LIMIT, "the worker does not sleep");
            std::thread::sleep(Duration::from_micros(200));
        }
        // The worker announces its sleep a moment before it sleeps.
        std::thread::sleep(Duration::from_millis(5));
    }
}

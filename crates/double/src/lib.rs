//! A stand-in for the service: a broker and its workers on threads of the test's own process, with real sockets, real
//! shared memory and a real accelerator. It can be told to misbehave.
//!
//! The accelerator in it is compiled once, because this is a crate, and not for each suite that uses it.

mod orders;
mod worker;

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use millstream::cwq::ring::SLEEP_WORD;
use millstream::isolated::{Accelerator, Attach};
use millstream_protocol::{
    Grant, GrantStatus, KeyRules, Message, QueueCounts, Refusal, Reply, Request, STATE_BYTES, STATE_GONE,
    STATE_LIVE, STATE_REVOKED, Wanted, WorkerStatus,
};
use millstream_shm::{self as shm, Doorbell, Listener, Mapping, Memory, Rings, Socket, Words};
pub use orders::Orders;
use worker::Worker;

/// The stand-in's behaviour towards a client.
#[derive(Clone, Debug, PartialEq)]
pub enum Manner {
    /// Behaves as a service does.
    Serve,
    /// Refuses, with these details.
    Refuse(Refusal, &'static str),
    /// Never answers.
    Silent,
    /// Speaks another version of the protocol.
    OtherVersion,
    /// Grants, but the memory of the rings is too small.
    ShortRings,
    /// Grants, but a descriptor is missing.
    FourDescriptors,
}

/// A stand-in that listens until it is dropped.
pub struct Double {
    path: PathBuf,
    /// The behaviour towards clients from now on.
    pub manner: Arc<Mutex<Manner>>,
    grants: Arc<Mutex<Vec<Arc<Served>>>>,
}

/// A grant that is served.
pub struct Served {
    /// The grant's number.
    pub id: u64,
    name: String,
    state: Words,
    completions: Vec<Words>,
    /// The broker's end of the client's connection.
    client: Mutex<Option<Socket>>,
    worker: Mutex<Option<thread::JoinHandle<()>>>,
    /// The orders to its worker.
    pub orders: Arc<Orders>,
}

impl Double {
    /// Listens at a socket of its own.
    ///
    /// # Panics
    /// When the folder for temporary files can't be written, like everything here on what a test's machine has to have.
    pub fn start() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("millstream-double-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = Listener::bind(&path).unwrap();
        let double =
            Double { path, manner: Arc::new(Mutex::new(Manner::Serve)), grants: Arc::new(Mutex::default()) };
        let (manner, grants) = (double.manner.clone(), double.grants.clone());
        thread::spawn(move || {
            let mut id = 0;
            while let Ok(client) = listener.accept() {
                id += 1;
                let (manner, grants) = (manner.lock().unwrap().clone(), grants.clone());
                thread::spawn(move || attend(client, id, manner, &grants));
            }
        });
        double
    }

    /// Attaches as the tests of queues do.
    pub fn attach(&self) -> Accelerator {
        self.wanted().attach().unwrap()
    }

    /// Returns the grant that the tests of queues ask for.
    pub fn wanted(&self) -> Attach {
        Attach {
            socket: Some(self.path.clone()),
            depth: 16,
            arena_bytes: 1 << 20,
            key_slots: 8,
            ..Attach::default()
        }
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The grant that was served last.
    pub fn last(&self) -> Arc<Served> {
        self.grants.lock().unwrap().last().expect("a grant").clone()
    }
}

impl Drop for Double {
    /// Grants go on; nobody finds the way here any more.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Served {
    /// Revokes as a broker does: the worker lets go, then the client is told.
    pub fn revoke(&self) {
        self.orders.revoke.store(true, Ordering::Release);
        self.join();
        self.end(STATE_REVOKED);
    }

    /// The worker dies in the middle of what it does; the broker sees it.
    pub fn kill_worker(&self) {
        self.orders.die.store(true, Ordering::Release);
        self.join();
        self.end(STATE_GONE);
    }

    /// The broker dies; the worker finishes what it took, and ends.
    pub fn kill_broker(&self) {
        if let Some(client) = self.client.lock().unwrap().take() {
            rustix::net::shutdown(&client, rustix::net::Shutdown::Both).unwrap();
        }
        self.orders.finish.store(true, Ordering::Release);
        self.join();
    }

    /// Only the state page says it; the worker knows nothing.
    pub fn end(&self, state: u64) {
        self.state[0].store(state, Ordering::Release);
        for words in &self.completions {
            words[SLEEP_WORD].store(0, Ordering::SeqCst);
            shm::sleep::wake(&words[SLEEP_WORD]);
        }
    }

    /// True while its worker runs.
    pub fn is_served(&self) -> bool {
        self.worker.lock().unwrap().as_ref().is_some_and(|worker| !worker.is_finished())
    }

    /// Writes an index that can't be into the first completion ring.
    pub fn corrupt(&self) {
        self.completions[0][0].store(1 << 40, Ordering::SeqCst);
    }

    fn join(&self) {
        if let Some(worker) = self.worker.lock().unwrap().take() {
            worker.join().unwrap();
        }
    }
}

/// One client of the broker.
fn attend(client: Socket, id: u64, manner: Manner, grants: &Mutex<Vec<Arc<Served>>>) {
    while let Ok(Some(message)) = client.receive() {
        let reply = |reply: Reply| client.send(&reply.encode(), &[]).unwrap();
        match (Request::decode(&message.bytes).unwrap(), &manner) {
            (_, Manner::Silent) => {}
            (_, Manner::Refuse(why, detail)) => {
                reply(Reply::Refused { why: *why, detail: (*detail).to_owned() });
            }
            (_, Manner::OtherVersion) => {
                let mut bytes = Reply::End {}.encode();
                bytes[0] = 77;
                client.send(&bytes, &[]).unwrap();
            }
            (Request::Attach { wanted }, _) => {
                let served = grant(&client, id, wanted, &manner, grants);
                // The grant lives as long as the connection.
                while let Ok(Some(_)) = client.receive() {}
                drop(served.client.lock().unwrap().take());
                served.orders.revoke.store(true, Ordering::Release);
                return;
            }
            (Request::Status {}, _) => {
                reply(Reply::Worker { status: WorkerStatus { worker: 3, ..WorkerStatus::default() } });
                for served in grants.lock().unwrap().iter() {
                    let grant = Grant { id: served.id, ..Grant::default() };
                    let counts = QueueCounts::default();
                    let name = served.name.clone();
                    reply(Reply::Grant {
                        status: GrantStatus { grant, name, counts, ..GrantStatus::default() },
                    });
                }
                reply(Reply::End {});
            }
            (Request::Revoke { grant } | Request::Move { grant, .. }, _) => {
                let served = grants.lock().unwrap().iter().find(|served| served.id == grant).cloned();
                match served {
                    Some(served) => {
                        served.revoke();
                        reply(Reply::End {});
                    }
                    None => reply(Reply::Refused { why: Refusal::NoSuchGrant, detail: String::new() }),
                }
            }
            (_, _) => reply(Reply::End {}),
        }
    }
}

/// Makes a grant, has it served, and sends it.
fn grant(
    client: &Socket,
    id: u64,
    wanted: Wanted,
    manner: &Manner,
    grants: &Mutex<Vec<Arc<Served>>>,
) -> Arc<Served> {
    let Wanted { queues, depth, arena_bytes, key_slots, name, .. } = wanted;
    let layout = Rings::new(queues, depth).unwrap();
    let terms = Grant {
        id,
        queues,
        depth,
        arena_bytes: (arena_bytes + queues * depth * 768).next_multiple_of(4096),
        key_slots,
        weight: 1,
        algorithms: u128::MAX,
        keys: KeyRules::default(),
    };
    let arena = Memory::new("arena", terms.arena_bytes as usize).unwrap();
    let short = if *manner == Manner::ShortRings { 4096 } else { layout.bytes() };
    let rings = Memory::new("rings", short).unwrap();
    let page = Memory::new("state", STATE_BYTES).unwrap();
    let state = Mapping::shared(&page).unwrap().words(0, 1).unwrap();
    state[0].store(STATE_LIVE, Ordering::Release);
    page.seal_writing().unwrap();
    let doorbell = Doorbell::new().unwrap();
    let (theirs, ours) = shm::pair().unwrap();
    let orders = Arc::new(Orders::default());
    let mapped = Mapping::shared(&rings).unwrap();
    let words = |(at, words)| mapped.words(at, words);
    let completions: Vec<Words> = (0..queues).filter_map(|queue| words(layout.completions(queue))).collect();
    let submissions: Vec<Words> = (0..queues).filter_map(|queue| words(layout.submissions(queue))).collect();
    let worker = Worker::new(
        &terms,
        Mapping::shared(&arena).unwrap(),
        submissions,
        completions.clone(),
        Doorbell::received(doorbell.duplicate().unwrap()),
        ours,
        orders.clone(),
    );
    let worker = thread::spawn(move || worker.run());
    let mut descriptors: Vec<BorrowedFd<'_>> =
        vec![arena.as_fd(), rings.as_fd(), page.as_fd(), doorbell.as_fd(), theirs.as_fd()];
    if *manner == Manner::FourDescriptors {
        descriptors.pop();
    }
    let end = Socket::received(client.duplicate().unwrap());
    let (owned, worker) = (Mutex::new(Some(end)), Mutex::new(Some(worker)));
    let served = Arc::new(Served { id, name, state, completions, client: owned, worker, orders });
    // The client may ask for it as soon as it has its answer.
    grants.lock().unwrap().push(served.clone());
    client.send(&Reply::Granted { grant: terms }.encode(), &descriptors).unwrap();
    served
}

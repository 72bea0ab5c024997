//! The broker with its real workers: submitted operations complete, wherever their grants are.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use millstream_broker::worker::{self, Config};
use millstream_cwq::ring::{Consumer, Producer};
use millstream_cwq::{Algorithm, Completion, ControlWord, Opcode, Status};
use millstream_protocol::{
    KeyPurpose, KeyReply, KeyRequest, Message, Reply, Request, STATE_GONE, STATE_REVOKED, Secret, Wanted,
};
use millstream_shm::{Doorbell, Mapping, Rings, Words};
use rustix::process::Signal;

use crate::client::{Client, Granted};
use crate::system::{LIMIT, Service, Setting, eventually, grants_are_quick, send};

pub const TRIALS: &[(&str, fn())] = &[
    ("real workers: operations are done before and after a move", moves),
    ("real workers: two grants change places at once, again and again", change_places),
    ("real workers: moved to and fro with operations in flight", to_and_fro),
    ("real workers: a revoked grant does nothing more", revoked),
    ("real workers: the death of one ends its grants", killed),
    ("real workers: one that is stopped holds up nobody", stopped),
    (
        "real workers: one that is stopped while a grant leaves it is replaced, and no other",
        stopped_in_a_move,
    ),
    ("real workers: they die and grants move, and it goes on", chaos),
    ("real workers: another policy holds at once", policy),
    ("real workers: they end with their broker", broker_killed),
    ("real workers: what they do is counted", counted),
    ("real workers: a grant takes less than a millisecond beside its memory", quick),
    ("real workers: an idle service does not run", idle),
];

/// Runs the worker's own side.
pub fn run(arguments: &[OsString]) {
    let number = |name: &str| {
        let found = arguments.iter().find_map(|argument| argument.to_str()?.strip_prefix(name));
        found.map(|value| value.parse::<u64>().unwrap())
    };
    let spin = Duration::from_nanos(number("--spin-ns=").unwrap());
    let flush = Duration::from_nanos(number("--flush-ns=").unwrap());
    let cpu = number("--cpu=").map(|cpu| cpu as usize);
    let key_memory = number("--key-memory=").unwrap() as usize;
    let private_keys = arguments.iter().any(|argument| argument == "--private-keys");
    if let Err(error) = worker::run(Config { spin, flush, cpu, key_memory, private_keys, ..Config::new(0) }) {
        eprintln!("worker: {error}");
        std::process::exit(1);
    }
}

fn service(workers: usize) -> Service {
    Service::with(Setting { workers, real: true, ..Setting::default() })
}

/// The client's side of a queue of a grant.
pub struct Queue {
    submissions: Producer<Words, { ControlWord::WORDS }>,
    completions: Consumer<Words, { Completion::WORDS }>,
    doorbell: Doorbell,
    pub granted: Arc<Granted>,
    tag: u64,
}

impl Queue {
    /// Returns the first queue of a grant.
    pub fn of(granted: Granted) -> Self {
        Queue::number(0, Arc::new(granted))
    }

    /// Returns another queue of the same grant.
    pub fn another(&self, number: u32) -> Self {
        Queue::number(number, self.granted.clone())
    }

    fn number(number: u32, granted: Arc<Granted>) -> Self {
        let layout = Rings::new(granted.grant.queues, granted.grant.depth).unwrap();
        let rings = Mapping::shared(&granted.rings).unwrap();
        let words = |(at, count)| rings.words(at, count).unwrap();
        Queue {
            submissions: Producer::new(words(layout.submissions(number))).unwrap(),
            completions: Consumer::new(words(layout.completions(number))).unwrap(),
            doorbell: Doorbell::received(granted.doorbell.try_clone().unwrap()),
            granted,
            tag: 0,
        }
    }

    pub fn submit(&mut self, word: ControlWord) {
        self.tag += 1;
        self.submissions.push(&ControlWord { tag: self.tag, ..word }.to_words()).unwrap();
        self.submissions.publish();
        if self.submissions.must_wake() {
            self.doorbell.ring();
        }
    }

    /// Returns true when an operation has ended, and frees its place. Each end is reported once.
    pub fn has_room_again(&mut self) -> bool {
        let ended = self.has_ended();
        self.completions.release();
        ended
    }

    /// Returns true when an operation has ended. Each end is reported once.
    pub fn has_ended(&mut self) -> bool {
        self.completions.pop().unwrap().is_some()
    }

    /// Returns how an operation has ended, and frees its place; none where none has ended.
    pub fn ended(&mut self) -> Option<Status> {
        let words = self.completions.pop().unwrap()?;
        self.completions.release();
        Completion::from_words(words).status()
    }

    /// Returns the next completion's status; none when the grant ends first.
    pub fn next(&mut self) -> Option<Status> {
        let begin = Instant::now();
        loop {
            if let Some(words) = self.completions.pop().unwrap() {
                self.completions.release();
                return Completion::from_words(words).status();
            }
            if self.granted.state() != 0 {
                return None;
            }
            assert!(begin.elapsed() < LIMIT, "no completion");
            std::thread::yield_now();
        }
    }

    pub fn null(&mut self) -> Option<Status> {
        self.submit(ControlWord { opcode: Opcode::Null as u8, ..ControlWord::default() });
        self.next()
    }

    /// Computes the CMAC of an empty message with a key.
    pub fn mac(&mut self, key: u32) -> Option<Status> {
        self.submit(ControlWord {
            opcode: Opcode::Mac as u8,
            algorithm: Algorithm::AesCmac as u8,
            key,
            mac_len: 16,
            ..ControlWord::default()
        });
        self.next()
    }

    /// Has the worker write to all of the arena.
    pub fn fill_arena(&mut self) {
        let all = self.granted.grant.arena_bytes;
        let piece = 1 << 20;
        for at in (piece..all - piece).step_by(piece as usize) {
            self.submit(ControlWord {
                opcode: Opcode::Copy as u8,
                source: 0,
                source_len: piece,
                destination: at,
                ..ControlWord::default()
            });
            assert_eq!(self.next(), Some(Status::Ok));
        }
    }

    pub fn key(&self, request: &KeyRequest) -> KeyReply {
        self.granted.keys.send(&request.encode(), &[]).unwrap();
        assert!(self.granted.keys.wait(Some(LIMIT)).unwrap());
        KeyReply::decode(&self.granted.keys.receive().unwrap().unwrap().bytes).unwrap()
    }

    /// Imports so many keys with different contents, many requests at a time. Returns the handles up to the
    /// first refusal.
    pub fn import_many(&self, algorithm: Algorithm, count: usize) -> Vec<u32> {
        const AT_ONCE: usize = 16;
        let (mut handles, mut sent) = (Vec::with_capacity(count), 0);
        let keys = &self.granted.keys;
        for answered in 0..count {
            while sent < count.min(answered + AT_ONCE) {
                let mut bytes = [0x5a; 32];
                bytes[..8].copy_from_slice(&(sent as u64).to_le_bytes());
                let bytes = Secret::new(&bytes);
                let request = KeyRequest::Import {
                    algorithm: algorithm as u8,
                    exportable: true,
                    purpose: KeyPurpose::default(),
                    bytes,
                };
                keys.send(&request.encode(), &[]).unwrap();
                sent += 1;
            }
            assert!(keys.wait(Some(LIMIT)).unwrap());
            match KeyReply::decode(&keys.receive().unwrap().unwrap().bytes).unwrap() {
                KeyReply::Key { handle } => handles.push(handle),
                KeyReply::Refused { .. } => {}
                reply => panic!("{reply:?}"),
            }
        }
        handles
    }

    /// Returns the number that is the content of an exported key.
    pub fn exported(&self, handle: u32) -> u64 {
        match self.key(&KeyRequest::Export { handle }) {
            KeyReply::Exported { bytes } => u64::from_le_bytes(bytes.expose()[..8].try_into().unwrap()),
            reply => panic!("{reply:?}"),
        }
    }

    pub fn import(&self) -> u32 {
        let bytes = Secret::new(&[7; 16]);
        let algorithm = Algorithm::AesCmac as u8;
        match self.key(&KeyRequest::Import {
            algorithm,
            exportable: false,
            purpose: KeyPurpose::default(),
            bytes,
        }) {
            KeyReply::Key { handle } => handle,
            reply => panic!("{reply:?}"),
        }
    }
}

pub fn attach(client: &Client) -> Queue {
    Queue::of(client.try_attach(Wanted { depth: 64, ..Wanted::default() }).unwrap())
}

fn worker_of(watcher: &Client) -> u32 {
    watcher.status().1[0].worker
}

fn change_places() {
    let service = service(2);
    let operators = [service.client(), service.client()];
    let clients = [service.client(), service.client()];
    let mut queues = clients.each_ref().map(attach);
    let keys = queues.each_mut().map(|queue| queue.import());
    let place = |id: u64| {
        let (_, grants) = service.client().status();
        grants.iter().find(|found| found.grant.id == id).unwrap().worker
    };
    let ids = queues.each_ref().map(|queue| queue.granted.grant.id);
    // The two grants change places.
    operators[0].ask(&Request::Move { grant: ids[0], worker: 0 });
    operators[1].ask(&Request::Move { grant: ids[1], worker: 1 });
    for round in 0..20 {
        let begin = Instant::now();
        for (i, operator) in operators.iter().enumerate() {
            operator.send(&Request::Move { grant: ids[i], worker: (i as u32 + round + 1) % 2 });
        }
        for operator in &operators {
            assert_eq!(operator.next().unwrap().0, Reply::End {}, "{round}");
        }
        assert!(begin.elapsed() < Duration::from_secs(2), "{round}: {:?}", begin.elapsed());
        for (i, queue) in queues.iter_mut().enumerate() {
            assert_eq!(place(ids[i]), (i as u32 + round + 1) % 2, "{round}");
            assert_eq!(queue.mac(keys[i]), Some(Status::Ok), "{round}");
        }
    }
}

fn moves() {
    let service = service(2);
    let (client, operator) = (service.client(), service.client());
    let mut queue = attach(&client);
    let key = queue.import();
    let id = queue.granted.grant.id;
    for round in 0..6 {
        assert_eq!(queue.null(), Some(Status::Ok), "{round}");
        assert_eq!(queue.mac(key), Some(Status::Ok), "the key comes along: {round}");
        let to = 1 - worker_of(&operator);
        assert_eq!(operator.ask(&Request::Move { grant: id, worker: to }), Reply::End {});
        assert_eq!(worker_of(&operator), to);
    }
    assert!(matches!(queue.key(&KeyRequest::Destroy { handle: key }), KeyReply::Destroyed {}));
    assert_eq!(queue.mac(key), Some(Status::Key));
}

fn to_and_fro() {
    let service = service(2);
    let (client, operator) = (service.client(), service.client());
    let mut queue = attach(&client);
    let key = queue.import();
    let id = queue.granted.grant.id;
    // The test waits for so many moves and operations, however busy the machine is.
    const ENOUGH: usize = 100;
    let begin = Instant::now();
    let (moved, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let goes_on = || {
        assert!(begin.elapsed() < 3 * LIMIT, "{moved:?} moves, {done:?} operations");
        moved.load(Relaxed) < ENOUGH || done.load(Relaxed) < ENOUGH
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for to in [1, 0].into_iter().cycle().take_while(|_| goes_on()) {
                assert_eq!(operator.ask(&Request::Move { grant: id, worker: to }), Reply::End {});
                moved.fetch_add(1, Relaxed);
            }
        });
        while goes_on() {
            assert_eq!(queue.mac(key), Some(Status::Ok));
            done.fetch_add(1, Relaxed);
        }
    });
    println!("{moved:?} moves, {done:?} operations meanwhile, in {:?}", begin.elapsed());
}

fn revoked() {
    let service = service(1);
    let (client, operator) = (service.client(), service.client());
    let mut queue = attach(&client);
    assert_eq!(queue.null(), Some(Status::Ok));
    assert_eq!(operator.ask(&Request::Revoke { grant: queue.granted.grant.id }), Reply::End {});
    queue.granted.ends_as(STATE_REVOKED);
    assert_eq!(queue.null(), None);
    eventually("the key socket ends", || queue.granted.keys.is_closed().then_some(()));
}

fn killed() {
    let service = service(1);
    let (client, watcher) = (service.client(), service.client());
    let mut queue = attach(&client);
    assert_eq!(queue.null(), Some(Status::Ok));
    send(watcher.status().0[0].pid, Signal::KILL);
    queue.granted.ends_as(STATE_GONE);
    let wanted = || Wanted { depth: 64, ..Wanted::default() };
    let granted = eventually("another grant", || client.try_attach(wanted()).ok());
    assert_eq!(Queue::of(granted).null(), Some(Status::Ok));
}

fn broker_killed() {
    let mut service = service(2);
    let (client, watcher) = (service.client(), service.client());
    let queue = attach(&client);
    let pids: Vec<u32> = watcher.status().0.iter().map(|worker| worker.pid).collect();
    service.child.kill().unwrap();
    service.child.wait().unwrap();
    assert!(client.next().is_none(), "the client sees it");
    for pid in pids {
        eventually("the worker ends", || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
            // A zombie counts as gone, because there may be nobody to wait for it.
            state.is_none_or(|state| state.contains(") Z ")).then_some(())
        });
    }
    drop(queue);
}

fn counted() {
    let service = service(1);
    let (client, watcher) = (service.client(), service.client());
    let mut queue = attach(&client);
    let key = queue.import();
    for _ in 0..50 {
        assert_eq!(queue.mac(key), Some(Status::Ok));
    }
    assert_ne!(queue.mac(key + 1000), Some(Status::Ok));
    let (workers, grants) = watcher.status();
    assert!(!workers[0].sandbox.is_empty() && !workers[0].key_memory.is_empty());
    let counts = &grants[0].counts;
    assert_eq!((counts.operations, counts.keys), (51, 1), "{counts:?}");
    assert_eq!(counts.failures, [(Status::Key as u16, 1)]);
}

fn quick() {
    grants_are_quick(&service(1), "grants by real workers");
}

fn idle() {
    let service = service(2);
    let (client, watcher) = (service.client(), service.client());
    let mut queue = attach(&client);
    assert_eq!(queue.null(), Some(Status::Ok));
    let mut pids: Vec<u32> = watcher.status().0.iter().map(|worker| worker.pid).collect();
    pids.push(service.child.id());
    // The thread that took its memory from the system must have ended by then.
    std::thread::sleep(Duration::from_millis(1500));
    let switches = || {
        let all = pids.iter().flat_map(|pid| {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
            tasks.map(|task| {
                let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
                let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
                line.unwrap().trim().parse::<u64>().unwrap()
            })
        });
        all.collect::<Vec<_>>()
    };
    let before = switches();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(before, switches(), "something woke up");
}

fn stopped() {
    let service = service(1);
    let (client, watcher) = (service.client(), service.client());
    let mut queue = attach(&client);
    assert_eq!(queue.null(), Some(Status::Ok));
    let pid = watcher.status().0[0].pid;
    send(pid, Signal::STOP);
    queue.submit(ControlWord { opcode: Opcode::Null as u8, ..ControlWord::default() });
    let begin = Instant::now();
    let id = queue.granted.grant.id;
    assert_eq!(watcher.ask(&Request::Revoke { grant: id }), Reply::End {});
    assert_eq!(queue.granted.state(), STATE_REVOKED);
    assert!(begin.elapsed() < Duration::from_secs(4));
    send(pid, Signal::CONT);
    let wanted = || Wanted { depth: 64, ..Wanted::default() };
    let granted = eventually("it goes on", || client.try_attach(wanted()).ok());
    assert_eq!(Queue::of(granted).null(), Some(Status::Ok));
    assert_eq!(watcher.status().0[0].pid, pid, "the same worker");
}

fn stopped_in_a_move() {
    let service = service(2);
    let (client, operator) = (service.client(), service.client());
    let queue = attach(&client);
    let id = queue.granted.grant.id;
    // The grant goes to whichever worker was ready first.
    let from = operator.status().1[0].worker;
    let pids = operator.status().0.iter().map(|worker| worker.pid).collect::<Vec<_>>();
    let (from, to) = (from as usize, 1 - from as usize);
    send(pids[from], Signal::STOP);
    let (why, _) = operator.refusal(&Request::Move { grant: id, worker: to as u32 });
    assert_eq!(why, millstream_protocol::Refusal::NoWorker);
    // The state is revoked if the stopped thread was just working on this grant.
    eventually("its end", || [STATE_GONE, STATE_REVOKED].contains(&queue.granted.state()).then_some(()));
    eventually("the new worker", || (operator.status().0[from].restarts == 1).then_some(()));
    assert_eq!(operator.status().0[to].pid, pids[to], "the one that waited for it lives");
}

fn chaos() {
    let service = service(2);
    let operator = service.client();
    let begin = Instant::now();
    let mut seed = 7_u32;
    let (mut lost, mut done) = (0, 0);
    while begin.elapsed() < Duration::from_secs(2) || lost < 3 || done < 100 {
        assert!(begin.elapsed() < 3 * LIMIT, "{done} operations, {lost} grants lost");
        let client = service.client();
        let wanted = Wanted { depth: 64, ..Wanted::default() };
        let Ok(granted) = client.try_attach(wanted) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let mut queue = Queue::of(granted);
        let id = queue.granted.grant.id;
        for step in 0..20 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match queue.null() {
                Some(status) => assert_eq!(status, Status::Ok),
                None => break,
            }
            done += 1;
            operator.send(&Request::Move { grant: id, worker: step % 2 });
            if seed >> 24 < 8 {
                let pid = std::fs::read_to_string(children(service.child.id())).unwrap_or_default();
                if let Some(pid) =
                    pid.split(' ').nth((seed >> 8) as usize % 2).and_then(|pid| pid.parse().ok())
                {
                    send(pid, Signal::KILL);
                }
            }
            assert!(matches!(operator.next(), Some((Reply::End {} | Reply::Refused { .. }, _))));
        }
        lost += u32::from(queue.granted.state() == STATE_GONE);
    }
    println!("{done} operations, {lost} grants lost with their workers");
    eventually("both are there again", || {
        let (workers, grants) = operator.status();
        (grants.is_empty() && workers.iter().all(|worker| !worker.sandbox.is_empty())).then_some(())
    });
    assert_eq!(attach(&service.client()).null(), Some(Status::Ok));
}

/// Returns the path of the file that names the children of a process, which are its workers.
fn children(pid: u32) -> String {
    format!("/proc/{pid}/task/{pid}/children")
}

fn policy() {
    let service = Service::with(Setting { policy: Some("[default]\n"), real: true, ..Setting::default() });
    let (client, operator) = (service.client(), service.client());
    let mut queue = attach(&client);
    let key = queue.import();
    assert_eq!(queue.mac(key), Some(Status::Ok));
    let path = service.directory.path().join("policy.toml");
    std::fs::write(&path, "[default]\nalgorithms = [\"sha256\"]\n").unwrap();
    assert_eq!(operator.ask(&Request::Reload {}), Reply::End {});
    eventually("the worker obeys", || (queue.mac(key) == Some(Status::Policy)).then_some(()));
    std::fs::write(&path, "[default]\n").unwrap();
    assert_eq!(operator.ask(&Request::Reload {}), Reply::End {});
    eventually("and again", || (queue.mac(key) == Some(Status::Ok)).then_some(()));
}

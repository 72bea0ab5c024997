//! Signatures on hashes take longer than any turn. A client that never stops making them keeps its grant, and others have turns in between.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use millstream_accelerator::given_by;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_protocol::{KeyPurpose, KeyRefusal, KeyReply, KeyRequest, Reply, Request, Wanted};

use crate::client::Client;
use crate::real::Queue;
use crate::system::{Service, Setting, eventually, processor_time};

pub const TRIALS: &[(&str, fn())] = &[
    (
        "real workers: signatures on hashes that never end cost no grant, and no neighbour its turns",
        endless_signatures,
    ),
    ("real workers: signatures in full lanes get half of the time beside signatures on hashes", shares),
    ("real workers: while a grant moves with keys on hashes, others ask about keys", keys_move),
];

/// A worker without progress for this long is dead. A grant whose memory occupies it for half as long is ended.
const STUCK: Duration = Duration::from_secs(3);

/// The signatures that a neighbour has in flight.
const MANY: usize = 48;

/// The signatures that fill the lanes for many turns, however late their client comes back.
const FULL: usize = 4000;

/// The time in which a client measures what its signatures take.
const LASTS: Duration = Duration::from_millis(400);

/// A client that signs with a key that the worker has made.
struct Signer {
    /// The grant ends with the connection.
    _client: Client,
    queue: Queue,
    word: ControlWord,
    in_flight: usize,
}

impl Signer {
    fn new(service: &Service, algorithm: Algorithm, len: u16, depth: u32, word: ControlWord) -> Self {
        let wanted = Wanted { depth, private_keys: true, ..Wanted::default() };
        let client = service.client();
        let queue = Queue::of(client.try_attach(wanted).unwrap());
        let request = KeyRequest::Generate {
            algorithm: algorithm as u8,
            exportable: false,
            purpose: KeyPurpose::default(),
            len,
        };
        let KeyReply::Key { handle } = queue.key(&request) else { panic!("no key of {algorithm:?}") };
        let (opcode, algorithm) = (Opcode::Sign as u8, algorithm as u8);
        let word = ControlWord { opcode, algorithm, key: handle, source: 64, source_len: 32, ..word };
        Signer { _client: client, queue, word, in_flight: 0 }
    }

    /// Has so many signatures in flight from now on, and returns how many have ended.
    fn keep(&mut self, in_flight: usize) -> usize {
        let mut ended = 0;
        while let Some(status) = self.queue.ended() {
            assert_eq!(status, Status::Ok);
            (self.in_flight, ended) = (self.in_flight - 1, ended + 1);
        }
        while self.in_flight < in_flight {
            self.queue.submit(self.word);
            self.in_flight += 1;
        }
        ended
    }

    /// Waits for the end of what is in flight.
    fn rest(&mut self) {
        while self.in_flight > 0 {
            assert_eq!(self.queue.next(), Some(Status::Ok));
            self.in_flight -= 1;
        }
    }

    /// Returns the processor time of the workers that a signature takes when nobody else signs, with so many in flight.
    fn cost(&mut self, workers: &[u32], in_flight: usize) -> Duration {
        let (begin, before, mut ended) = (Instant::now(), processor_time(workers), 0);
        while begin.elapsed() < LASTS {
            ended += self.keep(in_flight);
            std::thread::yield_now();
        }
        ended += self.in_flight;
        self.rest();
        (processor_time(workers) - before) / ended as u32
    }

    /// Returns the time that a signature takes when nobody else signs, with so many in flight.
    fn alone(&mut self, in_flight: usize, lasts: Duration) -> Duration {
        let (begin, mut ended) = (Instant::now(), 0);
        while begin.elapsed() < lasts {
            ended += self.keep(in_flight);
            std::thread::yield_now();
        }
        ended += self.in_flight;
        self.rest();
        begin.elapsed() / ended as u32
    }
}

/// Returns a client of signatures on hashes.
fn slow(service: &Service, algorithm: Algorithm) -> Signer {
    let mac_key_len = given_by(algorithm, Opcode::Sign) as u16;
    let word = ControlWord { destination: 4096, mac_key_len, ..ControlWord::default() };
    Signer::new(service, algorithm, 64, 64, word)
}

/// Returns a client of signatures that go side by side in lanes, with that many places in its queue.
fn quick(service: &Service, depth: u32) -> Signer {
    let word = ControlWord { mac: 256, mac_len: 64, ..ControlWord::default() };
    Signer::new(service, Algorithm::Ed25519, 32, depth, word)
}

fn endless_signatures() {
    let service = Service::with(Setting { real: true, private: 1, stuck: Some(STUCK), ..Setting::default() });
    let watcher = service.client();
    let workers =
        || watcher.status().0.iter().map(|worker| (worker.pid, worker.restarts)).collect::<Vec<_>>();
    let before = workers();
    // Nobody else has turns, so that all of them are long, and no memory of the client is to blame.
    let mut slowest = slow(&service, Algorithm::SlhDsaShake128s);
    let took = slowest.alone(4, STUCK / 4 * 3);
    assert_eq!(slowest.queue.granted.state(), 0, "a signature takes {took:?}");

    let mut signer = slow(&service, Algorithm::SlhDsaSha2_128s);
    let mut neighbour = quick(&service, 64);
    // Whoever waits beside it waits for one of its signatures at a time: all that the neighbour has in flight is done in between.
    // On a busy machine this thread may come back late, when several of the slow ones have ended and the neighbour had nothing more to do.
    let (begin, mut ended, mut times) = (Instant::now(), [0, 0], 0);
    while begin.elapsed() < STUCK / 2 {
        let slow = signer.keep(4);
        times += usize::from(slow > 0);
        ended[0] += slow;
        ended[1] += neighbour.keep(MANY);
        std::thread::yield_now();
    }
    signer.rest();
    neighbour.rest();
    println!(
        "a signature took {took:.0?}; beside a neighbour with {MANY} in flight, {ended:?} ended, seen {times} times"
    );
    assert!(times > 1 && ended[1] >= MANY * (times - 1), "{ended:?}, seen {times} times");
    let states = [&slowest, &signer, &neighbour].map(|signer| signer.queue.granted.state());
    assert_eq!((states, workers()), ([0; 3], before));
}

fn shares() {
    let service = Service::with(Setting { real: true, private: 1, ..Setting::default() });
    // What it has in flight lasts for longer than its thread may have to wait for a processor.
    let word = ControlWord { hash: Algorithm::Sha256 as u8, mac: 256, mac_len: 96, ..ControlWord::default() };
    let mut neighbour = Signer::new(&service, Algorithm::P384, 48, 4096, word);
    let mut signer = slow(&service, Algorithm::SlhDsaSha2_128f);
    let worker = service.client().status().0.iter().map(|worker| worker.pid).collect::<Vec<_>>();
    // A neighbour whose thread comes back too late leaves the time to others, so the best of some tries counts.
    let found = (0..5).any(|_| {
        let alone = [signer.cost(&worker, 4), neighbour.cost(&worker, FULL)];
        let (begin, mut ended) = (Instant::now(), [0, 0]);
        while begin.elapsed() < 2 * LASTS {
            ended[0] += signer.keep(4);
            ended[1] += neighbour.keep(FULL);
            std::thread::yield_now();
        }
        signer.rest();
        neighbour.rest();
        let times = [0, 1].map(|i| alone[i].as_secs_f64() * ended[i] as f64);
        let share = times[1] / (times[0] + times[1]);
        println!(
            "{alone:.2?} alone; {ended:?} ended beside each other, in {times:.2?} s, a share of {share:.2}"
        );
        (0.35..0.65).contains(&share)
    });
    assert!(found, "the neighbour never had its share");
}

/// The keys that a grant brings along, each of which takes milliseconds to expand.
const KEYS: usize = 8;

fn keys_move() {
    let service = Service::with(Setting { real: true, private: 2, ..Setting::default() });
    let (mover, operator) = (service.client(), service.client());
    let wanted = || Wanted { depth: 64, private_keys: true, key_slots: 1024, ..Wanted::default() };
    let moved = Queue::of(mover.try_attach(wanted()).unwrap());
    let id = moved.granted.grant.id;
    let places =
        || operator.status().1.iter().map(|grant| (grant.grant.id, grant.worker)).collect::<Vec<_>>();
    let from = places()[0].1;
    let (algorithm, purpose) = (Algorithm::SlhDsaSha2_128s as u8, KeyPurpose::default());
    let make = KeyRequest::Generate { algorithm, exportable: false, purpose, len: 64 };
    let mut made = 0;
    eventually("all keys are made", || {
        match moved.key(&make) {
            KeyReply::Key { .. } => made += 1,
            KeyReply::Refused { why: KeyRefusal::Busy } => {}
            reply => panic!("{reply:?}"),
        }
        (made == KEYS).then_some(())
    });
    // Another client is where the grant goes.
    let asker = service.client();
    let asking = Queue::of(asker.try_attach(wanted()).unwrap());
    let other = asking.granted.grant.id;
    let to = places().iter().find(|(grant, _)| *grant == other).unwrap().1;
    assert_ne!(from, to);
    let over = AtomicBool::new(false);
    let (lasted, waits) = std::thread::scope(|scope| {
        let moves = scope.spawn(|| {
            let begin = Instant::now();
            assert_eq!(operator.ask(&Request::Move { grant: id, worker: to }), Reply::End {});
            over.store(true, Relaxed);
            begin.elapsed()
        });
        let mut waits = vec![];
        while !over.load(Relaxed) {
            let begin = Instant::now();
            asking.key(&KeyRequest::Destroy { handle: u32::MAX });
            waits.push(begin.elapsed());
        }
        (moves.join().unwrap(), waits)
    });
    let longest = waits.iter().max().unwrap();
    println!(
        "{KEYS} keys moved in {lasted:.0?}; beside them {} answers, the latest after {longest:.0?}",
        waits.len()
    );
    assert!(waits.len() > KEYS / 2 && *longest < lasted / 2, "{longest:?} of {lasted:?}");
}

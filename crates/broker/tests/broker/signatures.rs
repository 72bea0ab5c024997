//! Signatures on hashes take longer than any turn. A client that never stops making them keeps its grant, and others have turns in between.

use std::time::{Duration, Instant};

use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_protocol::{KeyPurpose, KeyReply, KeyRequest, Wanted};

use crate::client::Client;
use crate::real::Queue;
use crate::system::{Service, Setting};

pub const TRIALS: &[(&str, fn())] = &[(
    "real workers: signatures on hashes that never end cost no grant, and no neighbour its turns",
    endless_signatures,
)];

/// A worker without progress for this long is dead. A grant whose memory occupies it for half as long is ended.
const STUCK: Duration = Duration::from_secs(3);

/// The signatures that a neighbour has in flight.
const MANY: usize = 48;

/// A client that signs with a key that the worker has made.
struct Signer {
    /// The grant ends with the connection.
    _client: Client,
    queue: Queue,
    word: ControlWord,
    in_flight: usize,
}

impl Signer {
    fn new(service: &Service, algorithm: Algorithm, len: u16, word: ControlWord) -> Self {
        let wanted = Wanted { depth: 64, private_keys: true, ..Wanted::default() };
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

fn endless_signatures() {
    let service = Service::with(Setting { real: true, private: 1, stuck: Some(STUCK), ..Setting::default() });
    let watcher = service.client();
    let workers =
        || watcher.status().0.iter().map(|worker| (worker.pid, worker.restarts)).collect::<Vec<_>>();
    let before = workers();
    let slow = |algorithm, mac_key_len| {
        Signer::new(
            &service,
            algorithm,
            64,
            ControlWord { destination: 4096, mac_key_len, ..ControlWord::default() },
        )
    };
    // Nobody else has turns, so that all of them are long, and no memory of the client is to blame.
    let mut slowest = slow(Algorithm::SlhDsaShake128s, 7856);
    let took = slowest.alone(4, STUCK / 4 * 3);
    assert_eq!(slowest.queue.granted.state(), 0, "a signature takes {took:?}");

    let mut signer = slow(Algorithm::SlhDsaSha2_128s, 7856);
    let word = ControlWord { mac: 256, mac_len: 64, ..ControlWord::default() };
    let mut neighbour = Signer::new(&service, Algorithm::Ed25519, 32, word);
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

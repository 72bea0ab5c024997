//! A bystander has its share whatever others do: beside every algorithm and size, beside doorbells and
//! requests about keys that never end, and beside thousands of queues.
//!
//! The share is compared with what the bystander had alone just before, on the machine in its current state,
//! and the comparison is repeated for a while because other tests want the processors too. Time that threads
//! waited for a processor, as the kernel counts it, is not held against the worker.

use std::fmt;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_accelerator::hash_of;
use millstream_cwq::{Algorithm, AlgorithmSet, ControlWord, Opcode, Status};
use millstream_protocol::{Grant, KeyRequest, Message, Order};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("every_algorithm_leaves_others_their_share", every_algorithm_leaves_others_their_share),
        test("bells_and_keys_leave_others_their_share", bells_and_keys_leave_others_their_share),
        test("queues_that_are_not_used_cost_nothing", queues_that_are_not_used_cost_nothing),
        test(
            "queues_that_are_hardly_used_leave_others_their_share",
            queues_that_are_hardly_used_leave_others_their_share,
        ),
    ]
}

/// The time for which a comparison is repeated until it succeeds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The factor by which an operation that is done one at a time may take longer: it waits for the rest of a
/// turn of others, and for the turn that it is in. A factor of two is usual, and three beside the slowest
/// algorithms, whose shortest turn is longer than it should be. The bound leaves room for other processors.
const TIMES_AS_LONG: f64 = 5.0;

/// The longest that one of a hundred operations may take when the machine is not to blame.
const LATE: Duration = Duration::from_millis(2);

/// The times that operations took.
#[derive(Clone, Copy)]
struct Times {
    middle: Duration,
    /// One of a hundred took longer.
    late: Duration,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?}, at the end {:.1?}", self.middle, self.late)
    }
}

/// Returns how long this thread and those of a worker have waited for a processor.
fn waited(worker: u32) -> Duration {
    let of = |path: std::path::PathBuf| -> u64 {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().nth(1).and_then(|waited| waited.parse().ok()).unwrap_or(0)
    };
    let threads = std::fs::read_dir(format!("/proc/{worker}/task")).into_iter().flatten().flatten();
    let theirs: u64 = threads.map(|thread| of(thread.path().join("schedstat"))).sum();
    Duration::from_nanos(theirs + of("/proc/thread-self/schedstat".into()))
}

/// A client that encrypts 64 bytes with AES, one object at a time.
struct Bystander {
    client: Client,
    word: ControlWord,
    worker: u32,
}

impl Bystander {
    fn new(worker: &Worker) -> Self {
        let client = Client::served(worker, grant(1));
        let key = client.import(Algorithm::AesEcb, false, &[7; 16]);
        let (opcode, algorithm) = (Opcode::Cipher as u8, Algorithm::AesEcb as u8);
        let word =
            ControlWord { opcode, algorithm, key, source: 64, source_len: 64, destination: 256, ..null() };
        Bystander { client, word, worker: worker.child.id() }
    }

    /// Executes that many operations. Others do something before each.
    fn times(&mut self, count: u64, mut others: impl FnMut()) -> Times {
        let mut waited_before = waited(self.worker);
        let mut times: Vec<_> = (0..count)
            .map(|tag| {
                others();
                let begin = Instant::now();
                assert_eq!(self.client.execute(ControlWord { tag, ..self.word }), Status::Ok);
                let taken = begin.elapsed();
                if taken < LATE / 2 {
                    return (taken, taken);
                }
                let waited = waited(self.worker);
                let of_that = waited.saturating_sub(std::mem::replace(&mut waited_before, waited));
                (taken, taken.saturating_sub(of_that))
            })
            .collect();
        let count = times.len();
        times.sort_unstable();
        let middle = times[count / 2].0;
        times.sort_unstable_by_key(|(_, blamed)| *blamed);
        Times { middle, late: times[count * 99 / 100].1 }
    }

    /// Fails unless operations take at most so many times as long beside others as alone.
    fn keeps(&mut self, what: &str, times_as_long: f64, count: u64, mut others: impl FnMut()) {
        compare(what, times_as_long, || {
            let alone = self.times(count, || ());
            others();
            (alone, self.times(count, &mut others))
        });
    }
}

/// Fails unless the second of two times is at most so many times the first.
fn compare(what: &str, times_as_long: f64, mut measured: impl FnMut() -> (Times, Times)) {
    let mut seen = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let (alone, beside) = measured();
        let middle = beside.middle.as_secs_f64() <= times_as_long * alone.middle.as_secs_f64();
        let line = format!("{what}: {alone} alone; {beside} beside");
        if middle && beside.late <= LATE.max(2 * alone.late) {
            println!("{line}");
            return;
        }
        seen.push(line);
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("tried {} times, at last:\n{}", seen.len(), seen[seen.len().saturating_sub(8)..].join("\n"));
}

fn null() -> ControlWord {
    ControlWord::default()
}

/// The sizes of an attacker's objects.
const SIZES: [u32; 4] = [16, 1024, 64 << 10, 16 << 20];
const QUEUES: u32 = 3;
const DEPTH: u32 = 64;
const DESTINATION: u32 = 4096 + (16 << 20);

/// Makes a word for an algorithm, without its key and source.
fn word(algorithm: Algorithm) -> ControlWord {
    use Algorithm::*;
    let word = ControlWord { algorithm: algorithm as u8, source: 4096, ..null() };
    let cipher = ControlWord { opcode: Opcode::Cipher as u8, destination: DESTINATION, ..word };
    let sum = ControlWord { opcode: Opcode::Mac as u8, mac: 64, ..word };
    match algorithm {
        None => null(),
        Crc32 | Crc32c | IpChecksum => ControlWord { opcode: Opcode::Checksum as u8, ..word },
        Random => ControlWord { opcode: Opcode::Random as u8, source: 0, ..cipher },
        AesGcm | AesSiv | AesGcmSiv | Xaes256Gcm | ChaCha20Poly1305 => {
            let iv_len = if algorithm == Xaes256Gcm { 24 } else { 12 };
            ControlWord { opcode: Opcode::Aead as u8, iv_len, mac: 64, mac_len: 16, ..cipher }
        }
        Fernet => ControlWord { opcode: Opcode::Aead as u8, iv_len: 24, mac: 64, mac_len: 32, ..cipher },
        AesKw => ControlWord { opcode: Opcode::Aead as u8, mac: 64, mac_len: 8, ..cipher },
        AesKwp => {
            ControlWord { opcode: Opcode::Aead as u8, iv: 128, iv_len: 4, mac: 64, mac_len: 8, ..cipher }
        }
        AesFf1 => ControlWord { parameter: 10, ..cipher },
        AesCmac => ControlWord { mac_len: 16, ..sum },
        DesMac => ControlWord { mac_len: 8, ..sum },
        KasumiF9 => ControlWord { mac_len: 4, iv_len: 8, ..sum },
        // Such words have workers of their own, where each waits for others that take as long.
        Ed25519 | X25519 | P256 | P384 | P521 | Rsa | MlKem512 | MlKem768 | MlKem1024 | MlDsa44 | MlDsa65
        | MlDsa87 => unreachable!("left out"),
        AesEcb | CamelliaEcb | Sm4Ecb | DesEcb | Rc4 => cipher,
        DesCbc | DesCfb | KasumiF8 => ControlWord { iv_len: 8, ..cipher },
        _ => match hash_of(algorithm) {
            Some(hash) => ControlWord {
                opcode: Opcode::Hash as u8,
                algorithm: 0,
                hash: algorithm as u8,
                mac_len: hash.output_len() as u8,
                ..sum
            },
            Option::None => ControlWord { iv_len: 16, ..cipher },
        },
    }
}

/// A grant with as many operations in flight as its queues hold.
struct Attacker {
    client: Client,
    word: ControlWord,
}

impl Attacker {
    fn new(worker: &Worker, id: u64, algorithm: Algorithm) -> Self {
        let arena_bytes = 2 * DESTINATION;
        let mut client =
            Client::served(worker, Grant { queues: QUEUES, depth: DEPTH, arena_bytes, ..grant(id) });
        let mut word = word(algorithm);
        let key: Vec<u8> = (0..32).map(|i: u8| i.wrapping_mul(37) | 1).collect();
        let len = match algorithm {
            Algorithm::AesXts | Algorithm::ChaCha20Poly1305 => 32,
            Algorithm::AesSiv | Algorithm::Xaes256Gcm | Algorithm::Fernet => 32,
            algorithm if algorithm.name().contains("des") => 24,
            _ => 16,
        };
        let keyless = [Opcode::Null, Opcode::Hash, Opcode::Checksum, Opcode::Random];
        if !keyless.iter().any(|opcode| *opcode as u8 == word.opcode) {
            word.key = client.import(algorithm, false, &key[..len]);
        }
        // The length of a key that is wrapped.
        client.arena.write(128, &16_u32.to_be_bytes());
        let some = ControlWord { source_len: if word.opcode == 0 { 0 } else { 16 }, ..word };
        assert_eq!(client.execute(some), Status::Ok, "{algorithm:?}");
        Attacker { client, word }
    }

    /// Fills its queues.
    fn fill(&mut self, len: u32) {
        let source_len = if self.word.opcode == Opcode::Null as u8 { 0 } else { len };
        let words = ControlWord { source_len, ..self.word }.to_words();
        for queue in &mut self.client.queues {
            while queue.completions.pop().unwrap().is_some() {}
            queue.completions.release();
            while queue.submissions.push(&words).is_ok() {}
            queue.submissions.publish();
            if queue.submissions.must_wake() {
                self.client.doorbell.ring();
            }
        }
    }
}

/// Two grants of the same weight have half the time each. The one that waits for each object also loses the
/// end of a turn.
fn every_algorithm_leaves_others_their_share() {
    let worker = Worker::start(&[]);
    let mut bystander = Bystander::new(&worker);
    bystander.times(1000, || ());
    let private = AlgorithmSet::private_keys();
    let served = Algorithm::ALL.iter().filter(|algorithm| !private.contains(**algorithm));
    for (id, algorithm) in (2..).zip(served) {
        for (id, len) in (10 * id..).zip(SIZES) {
            let mut attacker = Attacker::new(&worker, id, *algorithm);
            bystander
                .keeps(&format!("{algorithm:?}, {len} bytes"), TIMES_AS_LONG, 300, || attacker.fill(len));
            worker.obeys(&Order::Drop { grant: id }, &[]);
        }
    }
}

fn bells_and_keys_leave_others_their_share() {
    let worker = Worker::start(&[]);
    let mut bystander = Bystander::new(&worker);
    let ringing: Vec<_> =
        (2..34).map(|id| Client::served(&worker, Grant { queues: 64, depth: 16, ..grant(id) })).collect();
    bystander.times(1000, || ());
    bystander.keeps("doorbells of 32 grants with 64 queues", 4.0, 1000, || {
        ringing.iter().for_each(|client| {
            client.doorbell.ring();
        });
    });
    let asking = Client::served(&worker, grant(40));
    let request = KeyRequest::Destroy { handle: 77 }.encode();
    let mut unanswered = 0;
    bystander.keeps("requests about keys", 4.0, 500, || {
        // The client waits for no answer, but leaves no more of them unread than its socket holds: the worker ends
        // clients that do.
        for _ in 0..4 {
            if unanswered < UNREAD && asking.keys.try_send(&request, &[]).is_ok() {
                unanswered += 1;
            }
        }
        while let Ok(answer) = asking.keys.try_receive() {
            assert!(answer.is_some(), "the worker has done with it");
            unanswered -= 1;
        }
    });
}

/// The number of unread answers, which is less than a socket holds.
const UNREAD: usize = 100;

/// The number of grants that others have, of 64 queues each.
const OTHERS: u64 = 64;

/// Makes other clients, with 4096 queues.
fn crowd(worker: &Worker) -> Vec<Client> {
    let one =
        |id| Client::served(worker, Grant { queues: 64, depth: 16, arena_bytes: 4096, ..grant(100 + id) });
    (0..OTHERS).map(one).collect()
}

fn queues_that_are_not_used_cost_nothing() {
    let workers = [(), ()].map(|()| Worker::start(&[]));
    let [mut alone, mut beside] = [0, 1].map(|i: usize| Bystander::new(&workers[i]));
    let _others = crowd(&workers[1]);
    // Their queues go to sleep while something else is done.
    beside.times(1000, || std::thread::sleep(Duration::from_micros(50)));
    compare("4096 queues that are not used", 1.1, || {
        let [a, b] = [&mut alone, &mut beside].map(|bystander| {
            bystander.times(1000, || ());
            bystander.times(4000, || ())
        });
        (a, b)
    });
}

fn queues_that_are_hardly_used_leave_others_their_share() {
    let worker = Worker::start(&[]);
    let mut bystander = Bystander::new(&worker);
    let mut others = crowd(&worker);
    let mut next = 0;
    bystander.keeps("4096 queues that have a word now and then", 4.0, 8192, || {
        let (client, queue) = (&mut others[next / 64], next % 64);
        next = (next + 1) % (64 * OTHERS as usize);
        let of = &mut client.queues[queue];
        while of.completions.pop().unwrap().is_some() {}
        of.completions.release();
        if of.submissions.push(&null().to_words()).is_ok() {
            of.submissions.publish();
            if of.submissions.must_wake() {
                client.doorbell.ring();
            }
        }
    });
}

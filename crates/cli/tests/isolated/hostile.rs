//! A client that owns a grant and does its worst: it writes anything anywhere in its mappings.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millstream::cwq::{Completion, ControlWord, Flags, VERSION};
use millstream_protocol::{Grant, KeyPurpose, KeyReply, KeyRequest, Message, Reply, Request, Secret, Wanted};
use millstream_shm::{Doorbell, Mapping, Memory, Rings, Socket, Words};
use millstream_testkit::Random;

use super::operations::{Client, KEY};
use super::service::Service;

/// A grant without the library, which would behave.
pub struct Raw {
    pub grant: Grant,
    pub arena: Arc<Mapping>,
    pub rings: Arc<Mapping>,
    pub state: Arc<Mapping>,
    pub keys: Socket,
    doorbell: Doorbell,
    _broker: Socket,
    layout: Rings,
}

impl Raw {
    pub fn attach(service: &Service, queues: u32, depth: u32) -> Raw {
        let broker = Socket::connect(service.socket()).unwrap();
        let (name, arena_bytes) = ("hostile".into(), 1 << 20);
        let wanted = Wanted { name, queues, depth, arena_bytes, key_slots: 8, private_keys: false };
        broker.send(&Request::Attach { wanted }.encode(), &[]).unwrap();
        let received = broker.receive().unwrap().unwrap();
        let Reply::Granted { grant } = Reply::decode(&received.bytes).unwrap() else { panic!("refused") };
        let mut descriptors = received.descriptors.into_iter();
        let mut next = || descriptors.next().unwrap();
        let arena = Memory::received(next()).unwrap();
        let rings = Memory::received(next()).unwrap();
        let state = Memory::received(next()).unwrap();
        assert!(Mapping::shared(&state).is_err(), "the state page is the broker's");
        Raw {
            arena: Mapping::shared(&arena).unwrap(),
            rings: Mapping::shared(&rings).unwrap(),
            state: Mapping::read_only(&state).unwrap(),
            doorbell: Doorbell::received(next()),
            keys: Socket::received(next()),
            layout: Rings::new(grant.queues, grant.depth).unwrap(),
            grant,
            _broker: broker,
        }
    }

    fn submissions(&self, queue: u32) -> Words {
        let (at, words) = self.layout.submissions(queue);
        self.rings.words(at, words).unwrap()
    }

    fn completions(&self, queue: u32) -> Words {
        let (at, words) = self.layout.completions(queue);
        self.rings.words(at, words).unwrap()
    }

    /// Sends a request about a key, and returns the answer.
    pub fn ask(&self, request: &KeyRequest) -> Option<KeyReply> {
        self.keys.send(&request.encode(), &[]).ok()?;
        if !self.keys.wait(Some(Duration::from_secs(5))).ok()? {
            return None;
        }
        KeyReply::decode(&self.keys.receive().ok()??.bytes).ok()
    }

    /// Does one thing that nobody should do.
    fn misbehave(&self, random: &mut Random) {
        let queue = random.below(self.grant.queues as usize) as u32;
        let ring = self.submissions(queue);
        match random.below(10) {
            // A word of nonsense, published as it should be.
            0..=3 => {
                let word = nonsense(random, self.arena.len() as u64);
                let at = ring[0].load(Ordering::Relaxed);
                let capacity = ((ring.len() - 24) / 8) as u64;
                let place = 24 + 8 * (at % capacity) as usize;
                ring[place..place + 8]
                    .iter()
                    .zip(word.to_words())
                    .for_each(|(to, from)| to.store(from, Ordering::Relaxed));
                ring[0].store(at + 1, Ordering::Release);
                let done = self.completions(queue);
                done[8].store(done[0].load(Ordering::Acquire), Ordering::Release);
            }
            // Indices of its own side and of the other.
            4 if random.below(50) == 0 => {
                ring[[0, 8, 16][random.below(3)]].store(random.next_u64(), Ordering::Release)
            }
            5 if random.below(50) == 0 => {
                let done = self.completions(queue);
                done[[0, 8, 16][random.below(3)]].store(random.next_u64(), Ordering::Release);
            }
            // Words that are being processed.
            6 => ring[24 + random.below(ring.len() - 24)].store(random.next_u64(), Ordering::Relaxed),
            // Data that is being processed.
            7 => {
                let words = self.arena.words(0, self.arena.len() / 8).unwrap();
                for _ in 0..16 {
                    words[random.below(words.len())].store(random.next_u64(), Ordering::Relaxed);
                }
            }
            8 => self.doorbell.ring(),
            _ => {
                // Keys and nonsense, without taking the answers.
                let len = 1 + random.below(200);
                let bytes = random.bytes(len);
                let _ = self.keys.try_send(&bytes, &[self.doorbell.as_fd()]);
                let request = KeyRequest::Import {
                    algorithm: 0x11,
                    exportable: true,
                    purpose: KeyPurpose::default(),
                    bytes: Secret::new(&[1; 16]),
                };
                let _ = self.keys.try_send(&request.encode(), &[]);
            }
        }
    }
}

/// Makes a word that is wrong in one field, or in all.
fn nonsense(random: &mut Random, arena: u64) -> ControlWord {
    let mut words = [0; 8];
    if random.below(3) == 0 {
        words.iter_mut().for_each(|word| *word = random.next_u64());
        return ControlWord::from_words(words);
    }
    let mut near = || (random.next_u64() % (arena + 64)) as u32;
    let mut word = ControlWord {
        source: near(),
        destination: near(),
        iv: near(),
        mac: near(),
        state: near(),
        ..ControlWord::default()
    };
    word.version = VERSION;
    word.opcode = random.below(14) as u8;
    word.algorithm = [0x10, 0x11, 0x12, 0x15, 0x20, 0x31, 0x40, 0x53, 0x60][random.below(9)];
    word.hash = 0x50 + random.below(7) as u8;
    word.flags = random.next_u64() as u16 & Flags::ALL;
    word.source_len = random.below(9000) as u32;
    word.iv_len = [0, 8, 12, 16][random.below(4)];
    word.mac_len = [0, 4, 16, 20, 32][random.below(5)];
    word.key = random.below(3) as u32 | 1 << 16;
    word.key_len = 16;
    word.mac_key_len = 16;
    word.tag = random.next_u64();
    word
}

#[test]
fn the_worker_survives_and_others_get_what_is_theirs() {
    let service = Service::with(&["--accelerators", "1"]);
    let worker = service.workers();
    let mut victim = Client::new(service.attach().unwrap());
    assert_eq!(victim.stream(2000, |_| {}).unwrap().good, 2000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(11);
            while !stop.load(Ordering::Relaxed) {
                let raw = Raw::attach(&service, 2, 64);
                (0..20_000).for_each(|_| raw.misbehave(&mut random));
            }
        });
        let begin = Instant::now();
        let mut done = 0;
        while begin.elapsed() < Duration::from_secs(6) {
            done += victim.stream(500, |_| {}).unwrap().good;
        }
        stop.store(true, Ordering::Relaxed);
        assert!(done > 1000, "{done}");
    });
    assert_eq!(service.workers(), worker, "the same process serves");
    assert_eq!(victim.stream(2000, |_| {}).unwrap().good, 2000);
}

/// The memory that one grant's client can map holds nothing of another's: no data, results or keys.
#[test]
fn nothing_of_another_grant_is_ever_readable() {
    let service = Service::with(&["--accelerators", "1"]);
    let raw = Raw::attach(&service, 1, 64);
    let mut victim = Client::new(service.attach().unwrap());
    let stop = AtomicBool::new(false);
    let mut marker = *b"a marker that is in the victim's";
    marker[0] = b'A';
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(12);
            while !stop.load(Ordering::Relaxed) {
                // The attacker writes only words and indices, and no data that could be taken for the
                // victim's.
                let word = nonsense(&mut random, raw.arena.len() as u64);
                let ring = raw.submissions(0);
                let at = ring[0].load(Ordering::Relaxed);
                let place = 24 + 8 * (at % 128) as usize;
                ring[place..place + 8]
                    .iter()
                    .zip(word.to_words())
                    .for_each(|(to, from)| to.store(from, Ordering::Relaxed));
                ring[0].store(at + 1, Ordering::Release);
                let done = raw.completions(0);
                done[8].store(done[0].load(Ordering::Acquire), Ordering::Release);
                if random.below(64) == 0 {
                    raw.doorbell.ring();
                }
            }
        });
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(3) {
            let mut source = victim.queue.buffer(1024).unwrap();
            source.chunks_exact_mut(32).for_each(|chunk| chunk.copy_from_slice(&marker));
            let destination = victim.queue.buffer(1024).unwrap();
            victim.queue.submit(millstream::queue::Request::copy(source, destination)).unwrap();
            victim.queue.wait().unwrap().result.unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    for mapping in [&raw.arena, &raw.rings, &raw.state] {
        let mut bytes = vec![0; mapping.len()];
        mapping.read(0, &mut bytes);
        for secret in [&marker[..16], &marker[16..], &KEY[..]] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
    }
}

#[test]
fn handles_of_other_grants_are_handles_of_nothing() {
    use millstream::cwq::{Algorithm, Status};
    use millstream::queue::Request;
    let service = Service::with(&["--accelerators", "1"]);
    let owner = Client::new(service.attach().unwrap());
    let other = service.attach().unwrap();
    let mut queue = other.queue().unwrap();
    // The same bits are unknown in a grant without keys.
    let (source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
    queue.submit(Request::encrypt(owner.key, &[0; 16], source, destination)).unwrap();
    assert_eq!(queue.wait().unwrap().result, Err(Status::Key));
    let raw = Raw::attach(&service, 1, 64);
    for handle in [0, 1, 1 << 16, 1 << 16 | 1, u32::MAX] {
        for request in [KeyRequest::Export { handle }, KeyRequest::Destroy { handle }] {
            assert!(matches!(raw.ask(&request), Some(KeyReply::Refused { .. })), "{request:?}");
        }
    }
    let own = queue.import_key(Algorithm::AesCbc, &[9; 16]).unwrap();
    assert_eq!(own.algorithm(), Algorithm::AesCbc);
}

#[test]
fn slots_run_out_for_who_takes_them_only() {
    let service = Service::with(&["--accelerators", "1"]);
    let raw = Raw::attach(&service, 1, 64);
    let import = KeyRequest::Import {
        algorithm: 0x11,
        exportable: false,
        purpose: KeyPurpose::default(),
        bytes: Secret::new(&[1; 16]),
    };
    let answers: Vec<_> = (0..20).map(|_| raw.ask(&import).unwrap()).collect();
    let got = answers.iter().filter(|answer| matches!(answer, KeyReply::Key { .. })).count();
    assert_eq!(got, raw.grant.key_slots as usize);
    assert_eq!(Client::new(service.attach().unwrap()).stream(100, |_| {}).unwrap().good, 100);
}

/// A flood of one grant leaves another its share of the accelerator. Both keep their queues full. The victim
/// is measured alone first.
#[test]
fn a_flood_leaves_others_their_share() {
    let service = Service::with(&["--accelerators", "1"]);
    let mut victim = Client::new(service.attach().unwrap());
    let rate = |victim: &mut Client| {
        let (begin, mut done) = (Instant::now(), 0);
        while begin.elapsed() < Duration::from_secs(2) {
            done += victim.stream(500, |_| {}).unwrap().good;
        }
        done as f64 / begin.elapsed().as_secs_f64()
    };
    rate(&mut victim);
    let alone = rate(&mut victim);
    let (stop, flooded) = (AtomicBool::new(false), AtomicU64::new(0));
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Null words cost the flooder least, so it can send the most of them.
            let raw = Raw::attach(&service, 4, 256);
            while !stop.load(Ordering::Relaxed) {
                for queue in 0..4 {
                    let (ring, done) = (raw.submissions(queue), raw.completions(queue));
                    let at = done[0].load(Ordering::Acquire);
                    done[8].store(at, Ordering::Release);
                    flooded.store(at, Ordering::Relaxed);
                    let capacity = (ring.len() - 24) / 8;
                    for entry in 0..capacity {
                        let word = ControlWord { tag: 1, ..ControlWord::default() };
                        let place = 24 + 8 * entry;
                        ring[place..place + 8]
                            .iter()
                            .zip(word.to_words())
                            .for_each(|(to, from)| to.store(from, Ordering::Relaxed));
                    }
                    let taken = ring[8].load(Ordering::Acquire);
                    ring[0].store(taken + capacity as u64, Ordering::Release);
                    raw.doorbell.ring();
                }
            }
        });
        std::thread::sleep(Duration::from_millis(200));
        let beside = rate(&mut victim);
        stop.store(true, Ordering::Relaxed);
        beside
    });
    println!("alone {alone:.0}/s, beside a flood {beside:.0}/s: {:.2}", beside / alone);
    assert!(flooded.load(Ordering::Relaxed) > 0, "the flood was served too");
    // Three processes share two processors, so the scheduler takes its part too.
    assert!(beside > alone / 20.0, "alone {alone:.0}/s, beside a flood {beside:.0}/s");
    let _ = size_of::<Completion>();
}

//! Grants: what their policy forbids, keys that come and go, statistics, and moves to another accelerator.
//!
//! # Safety
//! [`Counted`] gives out memory of the system's allocator, and takes it back with the layout it was asked for.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_accelerator::{
    Accelerator, Arena, ExportError, FlushPolicy, GrantConfig, GrantId, Handle, InsertError, Key, KeyMemory,
    KeySlots, LocalArena, PreparedKey, QueueId, SharedKeyMemory,
};
use millstream_cwq::{Algorithm, AlgorithmSet, Completion, ControlWord, Flags, Opcode, Status};
use millstream_publickey::{mldsa, slhdsa};
use millstream_testkit::Random;

use crate::case::{every_kind, features, random_case};
use crate::queue::{self, Client, Form, Memory, Station};

type Local = Accelerator<Arc<LocalArena>, Memory>;

fn accelerator() -> Local {
    queue::accelerator(FlushPolicy::default())
}

/// The HMAC-SHA256 of the first 64 bytes, to 1024.
fn hmac(key: Handle, tag: u64) -> ControlWord {
    ControlWord {
        opcode: Opcode::Hmac as u8,
        hash: Algorithm::Sha256 as u8,
        key: key.to_bits(),
        source_len: 64,
        mac: 1024,
        mac_len: 32,
        tag,
        ..ControlWord::default()
    }
}

fn next(client: &mut Client) -> Completion {
    client.completed().expect("a completion")
}

fn status(client: &mut Client) -> Status {
    next(client).status().expect("a status")
}

/// One grant with one queue, and its key.
struct Served {
    accelerator: Local,
    arena: Arc<LocalArena>,
    grant: GrantId,
    queue: QueueId,
    client: Client,
    rings: [Memory; 2],
}

fn served(config: GrantConfig) -> Served {
    let mut accelerator = accelerator();
    let arena = Arc::new(LocalArena::new(4096));
    let grant = accelerator.add_grant_with(arena.clone(), config);
    let (client, submissions, completions) = Client::new(16);
    let rings = [submissions.clone(), completions.clone()];
    let queue = accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    Served { accelerator, arena, grant, queue, client, rings }
}

/// Every kind of operation, with all algorithms allowed but the one it needs, or but its hash: keys in slots and
/// carried.
#[test]
fn what_the_policy_forbids_has_its_status() {
    let mut random = Random::new(71);
    let mut seen = BTreeSet::new();
    for kind in every_kind() {
        let case = random_case(&mut random, &kind, 64);
        for without in [case.algorithm, case.hash] {
            // The hash of a scheme made a digest elsewhere.
            let of_scheme = matches!(case.opcode, Opcode::Sign | Opcode::Decrypt) && without == case.hash;
            if without == Algorithm::None || of_scheme {
                continue;
            }
            for carried in [false, true] {
                let mut station = Station::new(Arc::new(LocalArena::new(1 << 16)), 8);
                let word = station.lay(&case, 1, Form { carried, gather: false, in_place: false }).word;
                let mut allowed = AlgorithmSet::all();
                allowed.remove(without);
                for (set, expected) in [
                    (allowed, Status::Policy),
                    ([case.algorithm, case.hash].into_iter().collect(), case.status),
                ] {
                    assert!(station.accelerator.set_algorithms(station.grant, set));
                    station.client.submit(&word);
                    station.accelerator.step(0);
                    assert_eq!(status(&mut station.client), expected, "{case:?} without {without:?}");
                }
                seen.insert(without as u8);
            }
        }
    }
    // Of the sets of SLH-DSA one is a kind here.
    let others = slhdsa::Set::ALL.len() - 1;
    assert_eq!(seen.len() + others, AlgorithmSet::all().len(), "every algorithm was forbidden once");
}

#[test]
fn a_key_that_the_policy_forbids_is_refused() {
    let algorithms = [Algorithm::AesGcm].into_iter().collect();
    let Served { mut accelerator, grant, .. } = served(GrantConfig { algorithms, ..GrantConfig::new(1) });
    let insert = |accelerator: &mut Local, algorithm, bytes: &[u8]| {
        accelerator.insert_raw_key(grant, algorithm, bytes, false)
    };
    let refused = Err(InsertError::Policy(Algorithm::AesCbc));
    assert_eq!(insert(&mut accelerator, Algorithm::AesCbc, &[1; 16]), refused);
    let key = Key::new(features(), Algorithm::AesCbc, &[1; 16]).expect("a good key");
    assert_eq!(accelerator.insert_key(grant, key), refused);
    let key = PreparedKey::new(features(), Algorithm::AesCbc, &[1; 16], false, None).expect("a good key");
    assert_eq!(accelerator.insert_prepared(grant, key), refused);
    assert!(matches!(insert(&mut accelerator, Algorithm::AesGcm, &[1; 15]), Err(InsertError::Engine(_))));
    assert!(matches!(insert(&mut accelerator, Algorithm::None, &[]), Err(InsertError::Engine(_))));
    assert!(insert(&mut accelerator, Algorithm::AesGcm, &[1; 16]).is_ok());
    assert_eq!(insert(&mut accelerator, Algorithm::AesGcm, &[1; 16]), Err(InsertError::SlotsFull));
    accelerator.remove_grant(grant);
    assert_eq!(insert(&mut accelerator, Algorithm::AesGcm, &[1; 16]), Err(InsertError::NoGrant));
    assert!(!accelerator.set_algorithms(grant, AlgorithmSet::all()));
}

/// Memory for keys that is counted, and has room for so many.
struct Counted {
    live: AtomicUsize,
    room: usize,
    /// The bytes of keys that lie elsewhere, and how many there may be.
    beside: AtomicUsize,
    most_beside: usize,
}

impl Counted {
    fn new(room: usize, most_beside: usize) -> Arc<Self> {
        Arc::new(Counted { live: AtomicUsize::new(0), room, beside: AtomicUsize::new(0), most_beside })
    }
}

// SAFETY: the memory is the system's; a layout is of a key, so it is not empty.
unsafe impl KeyMemory for Counted {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        if self.live.fetch_add(1, Ordering::Relaxed) >= self.room {
            self.live.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        // SAFETY: as above.
        NonNull::new(unsafe { alloc(layout) })
    }

    fn charge(&self, bytes: usize) -> bool {
        let fits = self.beside.load(Ordering::Relaxed) + bytes <= self.most_beside;
        if fits {
            self.beside.fetch_add(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn discharge(&self, bytes: usize) {
        self.beside.fetch_sub(bytes, Ordering::Relaxed);
    }

    unsafe fn free(&self, at: NonNull<u8>, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe {
            let bytes = std::slice::from_raw_parts(at.as_ptr(), layout.size());
            assert!(bytes.iter().all(|byte| *byte == 0), "what is given back is zero");
            dealloc(at.as_ptr(), layout);
        }
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A key on lattices lies on the heap for the most part. That is counted, and there is no key where it is too much.
#[test]
fn what_a_key_has_beside_its_place_is_counted() {
    let set = mldsa::Set::MlDsa44;
    let memory = Counted::new(8, 2 * set.kept_private_len() + 63);
    let key_memory: Option<SharedKeyMemory> = Some(memory.clone());
    let config = GrantConfig { key_memory, ..GrantConfig::new(8) };
    let Served { mut accelerator, grant, .. } = served(config);
    let counts = || (memory.live.load(Ordering::Relaxed), memory.beside.load(Ordering::Relaxed));
    let mut insert = || accelerator.insert_raw_key(grant, Algorithm::MlDsa44, &[7; 32], false);
    let first = insert().expect("room");
    insert().expect("room");
    assert_eq!(counts(), (2, 2 * set.kept_private_len()));
    assert_eq!(insert(), Err(InsertError::Memory));
    assert_eq!(counts(), (2, 2 * set.kept_private_len()), "what was refused is not counted");
    assert!(accelerator.remove_key(grant, first));
    assert_eq!(counts(), (1, set.kept_private_len()));
    // Where the bytes beside fit and the place does not, both are free again.
    let none = Counted::new(0, usize::MAX);
    let refused =
        PreparedKey::new(features(), Algorithm::MlKem768, &[1; 64], false, Some(&(none.clone() as _)));
    assert!(matches!(refused, Err(InsertError::Memory)));
    assert_eq!(none.beside.load(Ordering::Relaxed), 0);
    accelerator.remove_grant(grant);
    assert_eq!(counts(), (0, 0));
}

#[test]
fn keys_live_in_the_memory_of_their_grant() {
    let memory = Counted::new(3, 0);
    let key_memory: Option<SharedKeyMemory> = Some(memory.clone());
    let live = || memory.live.load(Ordering::Relaxed);
    let config = GrantConfig { key_memory, ..GrantConfig::new(8) };
    let Served { mut accelerator, grant, .. } = served(config.clone());
    let raw = accelerator.insert_raw_key(grant, Algorithm::Sha256, b"key", true).expect("a key");
    let key = Key::new(features(), Algorithm::AesCbc, &[1; 16]).expect("a good key");
    accelerator.insert_key(grant, key).expect("room");
    let prepared =
        PreparedKey::new(features(), Algorithm::AesGcm, &[2; 16], false, config.key_memory.as_ref());
    accelerator.insert_prepared(grant, prepared.expect("a good key")).expect("room");
    assert_eq!((live(), accelerator.keys(grant)), (3, 3));
    let full = accelerator.insert_raw_key(grant, Algorithm::Sha256, b"key", true);
    assert_eq!(full, Err(InsertError::Memory));
    assert!(accelerator.remove_key(grant, raw));
    assert_eq!(live(), 2);
    accelerator.remove_grant(grant);
    assert_eq!(live(), 0);
}

#[test]
fn only_exportable_keys_are_exported() {
    let Served { mut accelerator, grant, .. } = served(GrantConfig::new(8));
    let mut insert = |exportable| {
        accelerator.insert_raw_key(grant, Algorithm::Sha512, b"some key", exportable).expect("a key")
    };
    let (open, closed) = (insert(true), insert(false));
    let other = accelerator.add_grant(Arc::new(LocalArena::new(64)), 4);
    assert_eq!(accelerator.export_key(grant, open).expect("exportable")[..], b"some key"[..]);
    assert_eq!(accelerator.export_key(grant, closed), Err(ExportError::NotExportable));
    assert_eq!(accelerator.export_key(other, open), Err(ExportError::NoKey));
    assert!(accelerator.remove_key(grant, open));
    assert_eq!(accelerator.export_key(grant, open), Err(ExportError::NoKey));
}

/// An identifier that was given up names nothing, also when its place is taken again.
#[test]
fn stale_identifiers_name_nothing() {
    let Served { mut accelerator, arena, grant, queue, mut client, .. } = served(GrantConfig::new(8));
    let key = accelerator.insert_raw_key(grant, Algorithm::Sha256, b"key", true).expect("a key");
    accelerator.remove_grant(grant);
    let next_grant = accelerator.add_grant(arena, 8);
    let (mut next_client, submissions, completions) = Client::new(16);
    let next_queue = accelerator.add_queue(next_grant, submissions, completions, 1).expect("rings");
    let next_key = accelerator.insert_raw_key(next_grant, Algorithm::Sha256, b"key", true).expect("a key");
    assert_eq!(key, next_key, "the places are the same");
    assert_eq!(accelerator.export_key(grant, key), Err(ExportError::NoKey));
    assert!(!accelerator.remove_key(grant, key) && !accelerator.set_weight(queue, 2));
    assert!(accelerator.stats(queue).is_none() && accelerator.is_corrupt(queue));
    let (_, submissions, completions) = Client::new(16);
    assert!(accelerator.add_queue(grant, submissions, completions, 1).is_err());
    accelerator.remove_queue(queue);
    accelerator.remove_grant(grant);
    assert!(accelerator.release_grant(grant).is_none());
    next_client.submit(&hmac(next_key, 1));
    client.submit(&hmac(key, 1));
    accelerator.step(0);
    assert_eq!(status(&mut next_client), Status::Ok);
    assert!(client.completed().is_none());
    assert!(accelerator.stats(next_queue).is_some());
}

#[test]
fn what_ends_is_counted() {
    let Served { mut accelerator, arena, grant, queue, mut client, .. } = served(GrantConfig::new(8));
    let key = accelerator.insert_raw_key(grant, Algorithm::Sha256, b"key", true).expect("a key");
    for tag in 0..3 {
        client.submit(&hmac(key, tag));
    }
    client.submit(&ControlWord { version: 2, ..hmac(key, 3) });
    client.submit(&ControlWord { key: 77, ..hmac(key, 4) });
    client.submit(&ControlWord::default());
    let gather = ControlWord { flags: Flags::GATHER, source: 2048, source_len: 2, ..hmac(key, 5) };
    arena.write(2048, &[0_u32, 100, 50, 30].map(u32::to_le_bytes).concat());
    client.submit(&gather);
    assert_eq!(accelerator.stats(queue).expect("a queue").waiting, 7);
    accelerator.step(0);
    client.submit(&ControlWord::default());
    let stats = accelerator.stats(queue).expect("a queue");
    assert_eq!((stats.operations, stats.bytes, stats.waiting, stats.held), (7, 3 * 64 + 130, 1, 0));
    assert_eq!([Status::Version, Status::Key, Status::Ok].map(|status| stats.ended_with(status)), [1, 1, 5]);
    assert_eq!(stats.failures.iter().sum::<u64>(), 2);
    let filled = accelerator.filled();
    assert_eq!((filled.operations, filled.calls), (4, 1), "the HMACs, side by side");
}

/// Words before and after, held and waiting, under keys of before: nothing is lost and nothing comes twice.
#[test]
fn a_grant_moves_and_its_client_notices_nothing() {
    let policy = FlushPolicy { full: 100, deadline: 1000 };
    let mut here: Local = queue::accelerator(policy);
    let mut there: Local = queue::accelerator(policy);
    let arena = Arc::new(LocalArena::new(4096));
    let config = GrantConfig { label: 9, ..GrantConfig::new(8) };
    let mut grant = here.add_grant_with(arena.clone(), config.clone());
    let (mut client, submissions, completions) = Client::new(8);
    let mut queue = here.add_queue(grant, submissions.clone(), completions.clone(), 3).expect("rings");
    let dead = here.insert_raw_key(grant, Algorithm::Sha256, b"dead", true).expect("a key");
    let key = here.insert_raw_key(grant, Algorithm::Sha256, b"key", true).expect("a key");
    let closed = here.insert_raw_key(grant, Algorithm::AesXts, &[3; 64], false);
    assert!(here.remove_key(grant, dead) && closed.is_err(), "both halves are the same");
    let (mut sent, mut received) = (0, 0);
    for round in 0..40_u64 {
        // Some are held by the one accelerator, some wait in the ring for the other.
        for _ in 0..round % 4 {
            client.submit(&hmac(key, sent));
            sent += 1;
        }
        here.step(round);
        for _ in 0..round % 3 {
            client.submit(&hmac(if round % 5 == 0 { dead } else { key }, sent));
            sent += 1;
        }
        let before = here.stats(queue).expect("a queue");
        let released = here.release_grant(grant).expect("a grant");
        assert!(here.release_grant(grant).is_none() && here.stats(queue).is_none());
        assert_eq!(here.held(), 0);
        let queues = released.queues.into_iter().map(|(_, queue)| {
            assert_eq!(queue.weight, 3);
            assert_eq!(queue.stats.operations, before.operations + before.held);
            (submissions.clone(), completions.clone(), queue)
        });
        let keys = KeySlots::from_moved(features(), 8, None, released.keys.into_moved()).expect("keys");
        let adopted = there.adopt_grant(arena.clone(), config.clone(), queues, keys).expect("rings");
        (grant, queue) = (adopted.0, adopted.1[0]);
        assert_eq!(there.export_key(grant, key).expect("exportable")[..], b"key"[..]);
        there.step(round);
        there.flush();
        while let Some(done) = client.completed() {
            assert_eq!(done.tag, received, "in order, each once");
            received += 1;
        }
        assert_eq!(received, sent);
        assert_eq!(there.stats(queue).expect("a queue").operations, sent);
        std::mem::swap(&mut here, &mut there);
    }
    let stats = here.stats(queue).expect("a queue");
    assert!(stats.ended_with(Status::Key) > 3 && stats.ended_with(Status::Ok) > 50);
}

/// A client that sleeps when its grant moves is woken by whoever goes on.
#[test]
fn a_client_that_sleeps_over_a_move_is_woken() {
    let Served { mut accelerator, arena, grant, mut client, rings, .. } = served(GrantConfig::new(1));
    let mut there: Local = self::accelerator();
    assert!(accelerator.sleep());
    assert_eq!(client.completions.sleep(), Ok(true));
    client.submit(&ControlWord { version: 9, tag: 1, ..ControlWord::default() });
    accelerator.step(0);
    let released = accelerator.release_grant(grant).expect("a grant");
    let [submissions, completions] = rings;
    let queues =
        released.queues.into_iter().map(|(_, queue)| (submissions.clone(), completions.clone(), queue));
    there.adopt_grant(arena, GrantConfig::new(1), queues, released.keys).expect("rings");
    assert!(!client.submissions.must_wake(), "who goes on is awake");
    let mut woken = 0;
    there.wake_clients(|_| woken += 1);
    assert_eq!(woken, 1);
    assert_eq!(status(&mut client), Status::Version);
}

/// The notes that say where tracepoints are, as `readelf -n` lists them, are in whatever has an accelerator in it.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
#[test]
fn tracepoints_are_listed() {
    let program = std::fs::read(std::env::current_exe().expect("a path")).expect("readable");
    for name in ["start", "complete"] {
        // After the names come the places of the arguments: put together here, so that the test does not find itself.
        let note = format!("millstream\0{name}\0{}", "-8@%");
        let listed = program.windows(note.len()).filter(|bytes| *bytes == note.as_bytes()).count();
        assert!(listed > 0, "{name}");
    }
}

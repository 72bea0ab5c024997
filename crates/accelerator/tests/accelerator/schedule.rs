//! The scheduler against a simple model: what is taken completes once, shares are fair, and nobody's nonsense
//! is another's affair.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use millstream_accelerator::{
    Accelerator, Arena, FlushPolicy, GrantId, Handle, Key, LocalArena, QueueId, Turns,
};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Status};
use proptest::prelude::*;

use crate::queue::{Client, Memory, accelerator};

const CAPACITY: usize = 16;

#[derive(Clone, Debug)]
enum Step {
    /// A digest of that many bytes on a queue.
    Digest {
        queue: usize,
        len: u32,
    },
    /// A word with nothing in it that makes sense.
    Nonsense {
        queue: usize,
    },
    /// An HMAC with the grant's key.
    Keyed {
        queue: usize,
    },
    /// Takes back the queue's word before the last so many.
    Cancel {
        queue: usize,
        back: usize,
    },
    /// Time passes, and the accelerator works.
    Work {
        later: u64,
    },
    Flush,
    /// The client takes so many completions.
    Collect {
        queue: usize,
        most: usize,
    },
    RemoveKey {
        grant: usize,
    },
    RemoveQueue {
        queue: usize,
    },
    RemoveGrant {
        grant: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let queue = 0..QUEUES;
    prop_oneof![
        6 => (queue.clone(), prop_oneof![0..100_u32, 0..60_000_u32])
            .prop_map(|(queue, len)| Step::Digest { queue, len }),
        1 => queue.clone().prop_map(|queue| Step::Nonsense { queue }),
        2 => queue.clone().prop_map(|queue| Step::Keyed { queue }),
        2 => (queue.clone(), 0..5_usize).prop_map(|(queue, back)| Step::Cancel { queue, back }),
        6 => (0..30_u64).prop_map(|later| Step::Work { later }),
        1 => Just(Step::Flush),
        4 => (queue.clone(), 1..20_usize).prop_map(|(queue, most)| Step::Collect { queue, most }),
        1 => (0..2_usize).prop_map(|grant| Step::RemoveKey { grant }),
        1 => queue.prop_map(|queue| Step::RemoveQueue { queue }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // At most one grant goes, late.
    (
        prop::collection::vec(step(), 1..150),
        prop::option::of(0..2_usize),
        prop::collection::vec(step(), 0..20),
    )
        .prop_map(|(mut steps, grant, more)| {
            steps.extend(grant.map(|grant| Step::RemoveGrant { grant }));
            steps.extend(more);
            steps
        })
}

const QUEUES: usize = 4;

/// The model's knowledge of a queue: the words that have been submitted and not collected, in order.
struct Known {
    id: QueueId,
    grant: usize,
    client: Client,
    open: BTreeMap<u64, Opcode>,
    submitted: VecDeque<u64>,
    removed: bool,
}

struct World {
    accelerator: Accelerator<Arc<LocalArena>, Memory>,
    grants: Vec<(GrantId, Handle, bool)>,
    queues: Vec<Known>,
    now: u64,
    policy: FlushPolicy,
    next: u64,
}

fn world(policy: FlushPolicy, weights: [u32; QUEUES]) -> World {
    let mut accelerator = accelerator(policy);
    let grants: Vec<_> = (0..2)
        .map(|_| {
            let id = accelerator.add_grant(Arc::new(LocalArena::new(1 << 16)), 4);
            let key = Key::new(Features::hardware(), Algorithm::Sha1, b"key").expect("a good key");
            (id, accelerator.insert_key(id, key).expect("a free slot"), false)
        })
        .collect();
    let queues = (0..QUEUES)
        .map(|i| {
            let (client, submissions, completions) = Client::new(CAPACITY);
            let grant = i % 2;
            let id = accelerator.add_queue(grants[grant].0, submissions, completions, weights[i]);
            let (open, submitted) = (BTreeMap::new(), VecDeque::new());
            Known { id: id.expect("rings"), grant, client, open, submitted, removed: false }
        })
        .collect();
    World { accelerator, grants, queues, now: 0, policy, next: 1 }
}

impl World {
    fn submit(&mut self, index: usize, word: ControlWord, opcode: Opcode) {
        let queue = &mut self.queues[index];
        if queue.removed {
            return;
        }
        let tag = self.next;
        if queue.client.submissions.push(&ControlWord { tag, ..word }.to_words()).is_ok() {
            queue.client.submissions.publish();
            queue.open.insert(tag, opcode);
            queue.submitted.push_back(tag);
            self.next += 1;
        }
    }

    fn collect(&mut self, index: usize, most: usize) {
        let queue = &mut self.queues[index];
        for _ in 0..most {
            let Some(done) = queue.client.completed() else { break };
            let opcode = queue.open.remove(&done.tag).expect("a tag that is open, and completes once");
            let status = done.status().expect("a status");
            let allowed: &[Status] = match opcode {
                Opcode::Hash => &[Status::Ok, Status::Cancelled, Status::Revoked],
                Opcode::Hmac => &[Status::Ok, Status::Key, Status::Cancelled, Status::Revoked],
                Opcode::Cancel => &[Status::Ok, Status::Revoked],
                // The nonsense.
                _ => &[Status::Opcode, Status::Cancelled, Status::Revoked],
            };
            assert!(allowed.contains(&status), "{opcode:?}: {status:?}");
            if status == Status::Key {
                assert!(self.grants[queue.grant].2, "a key that was not removed");
            }
            if status == Status::Revoked {
                assert!(queue.removed, "a queue that was not removed");
            }
        }
    }

    fn run(&mut self, step: &Step) {
        let digest = |len: u32| ControlWord {
            opcode: Opcode::Hash as u8,
            hash: Algorithm::Sha1 as u8,
            source_len: len,
            mac: 65000,
            mac_len: 20,
            ..ControlWord::default()
        };
        match *step {
            Step::Digest { queue, len } => self.submit(queue, digest(len), Opcode::Hash),
            Step::Nonsense { queue } => {
                self.submit(queue, ControlWord { opcode: 99, ..digest(1) }, Opcode::Null);
            }
            Step::Keyed { queue } => {
                let key = self.grants[self.queues[queue].grant].1.to_bits();
                let word = ControlWord { opcode: Opcode::Hmac as u8, key, ..digest(100) };
                self.submit(queue, word, Opcode::Hmac);
            }
            Step::Cancel { queue, back } => {
                let submitted = &self.queues[queue].submitted;
                let Some(tag) = submitted.iter().rev().nth(back).copied() else { return };
                let word = ControlWord {
                    opcode: Opcode::Cancel as u8,
                    key: tag as u32,
                    mac_key: (tag >> 32) as u32,
                    ..ControlWord::default()
                };
                self.submit(queue, word, Opcode::Cancel);
            }
            Step::Work { later } => {
                self.now += later;
                let held = self.accelerator.held();
                let ended = self.accelerator.step(self.now);
                assert!(ended >= held || ended == 0, "all or nothing");
                let full = self.accelerator.held() < self.policy.full;
                assert!(full, "what is full is executed");
                if self.policy.deadline == 0 {
                    assert_eq!(self.accelerator.held(), 0);
                }
            }
            Step::Flush => {
                let held = self.accelerator.held();
                assert_eq!((self.accelerator.flush(), self.accelerator.held()), (held, 0));
            }
            Step::Collect { queue, most } => self.collect(queue, most),
            Step::RemoveKey { grant } => {
                let (id, handle, removed) = &mut self.grants[grant];
                assert_eq!(self.accelerator.remove_key(*id, *handle), !*removed);
                *removed = true;
            }
            Step::RemoveQueue { queue } => {
                self.accelerator.remove_queue(self.queues[queue].id);
                self.removed(queue);
            }
            Step::RemoveGrant { grant } => {
                self.accelerator.remove_grant(self.grants[grant].0);
                self.grants[grant].2 = true;
                (0..QUEUES)
                    .filter(|i| i % 2 == grant)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|i| self.removed(i));
            }
        }
    }

    /// Expects that the words taken from a removed queue have completed. Other words stay in its ring.
    fn removed(&mut self, index: usize) {
        if std::mem::replace(&mut self.queues[index].removed, true) {
            return;
        }
        self.collect(index, usize::MAX);
        let queue = &mut self.queues[index];
        let memory = queue.client.submissions.memory();
        let left = memory[0].load(Ordering::Relaxed) - memory[8].load(Ordering::Relaxed);
        assert_eq!(queue.open.len() as u64, left, "each word that was taken has completed");
        queue.open.clear();
        queue.submitted.clear();
    }

    /// In the end everything completes.
    fn finish(&mut self) {
        for _ in 0..200 {
            self.now += 1000;
            self.accelerator.step(self.now);
            (0..QUEUES).for_each(|queue| self.collect(queue, usize::MAX));
        }
        for queue in &mut self.queues {
            assert!(queue.open.is_empty(), "nothing is lost: {:?}", queue.open);
        }
        assert!(!self.accelerator.has_work());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_word_that_is_taken_completes_once(
        steps in steps(),
        deadline in prop_oneof![Just(0_u64), 1..40_u64],
        full in 1..40_usize,
        weights in [1..5_u32, 1..5_u32, 1..5_u32, 1..5_u32],
    ) {
        let mut world = world(FlushPolicy { full, deadline }, weights);
        steps.iter().for_each(|step| world.run(step));
        world.finish();
    }
}

/// The words that a queue of [`crowd`] sends.
#[derive(Clone, Copy, Debug)]
struct Load {
    weight: u32,
    word: ControlWord,
    /// The cost of a word: a byte of a checksum is the unit.
    bytes: u64,
}

fn copy(weight: u32, len: u32) -> Load {
    let word = ControlWord {
        opcode: Opcode::Checksum as u8,
        algorithm: Algorithm::IpChecksum as u8,
        source_len: len,
        ..ControlWord::default()
    };
    Load { weight, word, bytes: u64::from(len) + 512 }
}

/// Queues that always offer as much as their rings hold; the bytes each was served in that many steps.
fn crowd(loads: &[Load], steps: usize, arena_len: u32, prepare: impl Fn(&LocalArena)) -> Vec<u64> {
    let mut accelerator = accelerator(FlushPolicy::default());
    let mut clients: Vec<_> = loads
        .iter()
        .map(|load| {
            let arena = Arc::new(LocalArena::new(arena_len));
            prepare(&arena);
            let grant = accelerator.add_grant(arena, 0);
            let (client, submissions, completions) = Client::new(2048);
            accelerator.add_queue(grant, submissions, completions, load.weight).expect("rings");
            client
        })
        .collect();
    let mut served = vec![0; loads.len()];
    for _ in 0..steps {
        for (client, load) in clients.iter_mut().zip(loads) {
            while client.submissions.push(&load.word.to_words()).is_ok() {}
            client.submissions.publish();
        }
        accelerator.step(0);
        for ((client, load), served) in clients.iter_mut().zip(loads).zip(&mut served) {
            while let Some(done) = client.completed() {
                assert_eq!(done.status(), Some(Status::Ok));
                *served += load.bytes;
            }
        }
    }
    served
}

/// Expects a queue to be no further ahead of its share than its quantum, and the object with which it went over it, twice.
fn fair(loads: &[Load], served: &[u64]) {
    const QUANTUM: u64 = 64 * 1024;
    for (a, served_a) in loads.iter().zip(served) {
        for (b, served_b) in loads.iter().zip(served) {
            let (share_a, share_b) =
                (*served_a as f64 / f64::from(a.weight), *served_b as f64 / f64::from(b.weight));
            let slack = |load: &Load| 2.0 * (QUANTUM as f64 + load.bytes as f64 / f64::from(load.weight));
            assert!(share_a <= share_b + slack(a) + slack(b), "{served:?} for {loads:?}");
        }
    }
}

#[test]
fn a_flood_of_big_objects_starves_nobody() {
    let loads = [copy(1, 1 << 20), copy(1, 16)];
    fair(&loads, &crowd(&loads, 200, 1 << 20, |_| ()));
}

#[test]
fn a_flood_of_small_objects_starves_nobody() {
    let loads = [copy(1, 0), copy(1, 3000), copy(1, 100_000)];
    fair(&loads, &crowd(&loads, 400, 1 << 20, |_| ()));
}

#[test]
fn weights_count_for_words_of_any_size() {
    for len in [0, 16, 1000, 70_000] {
        let loads = [copy(1, len), copy(3, len), copy(2, len)];
        let served = crowd(&loads, 1000, 1 << 20, |_| ());
        fair(&loads, &served);
        assert!(served[1] > 2 * served[0], "{len}: {served:?}");
    }
}

#[test]
fn gathered_bytes_count_as_any_others() {
    // Sixty-four times the same 16 KiB: as long as the arena.
    let gather = ControlWord { flags: Flags::GATHER, source: 0, source_len: 64, ..copy(1, 0).word };
    let loads = [Load { weight: 1, word: gather, bytes: 1 << 20 }, copy(1, 1000)];
    let prepare = |arena: &LocalArena| {
        let piece = [0_u32.to_le_bytes(), (1_u32 << 14).to_le_bytes()].concat();
        arena.write(0, &piece.repeat(64));
    };
    fair(&loads, &crowd(&loads, 200, 1 << 20, prepare));
}

/// A byte of 3DES takes some forty times as long as one of AES: whoever floods with it gets as much time, not as many
/// bytes.
#[test]
fn shares_are_of_time() {
    let mut accelerator = accelerator(FlushPolicy::default());
    let mut queue = |algorithm: Algorithm, key: &[u8], iv_len, capacity| {
        let grant = accelerator.add_grant(Arc::new(LocalArena::new(1 << 18)), 1);
        let key = accelerator.insert_raw_key(grant, algorithm, key, false).expect("a key");
        let (client, submissions, completions) = Client::new(capacity);
        let id = accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        let word = ControlWord {
            opcode: Opcode::Cipher as u8,
            algorithm: algorithm as u8,
            key: key.to_bits(),
            iv_len,
            source: 64,
            source_len: 16 << 10,
            destination: 128 << 10,
            ..ControlWord::default()
        };
        (client, id, word)
    };
    let bundle: Vec<u8> = (0..24_u8).map(|i| i.wrapping_mul(38) | 1).collect();
    let mut slow = queue(Algorithm::DesCbc, &bundle, 8, 256);
    let mut fast = queue(Algorithm::AesCtr, &[7; 16], 16, 512);
    for _ in 0..20 {
        for (client, _, word) in [&mut slow, &mut fast] {
            while client.submissions.push(&word.to_words()).is_ok() {}
            client.submissions.publish();
        }
        accelerator.step(0);
        for (client, ..) in [&mut slow, &mut fast] {
            while client.completed().is_some_and(|done| done.status() == Some(Status::Ok)) {}
        }
    }
    let bytes = [slow.1, fast.1].map(|id| accelerator.stats(id).expect("a queue").bytes);
    assert!(bytes[0] > 0 && (35 * bytes[0]..60 * bytes[0]).contains(&bytes[1]), "{bytes:?}");
}

/// A client that waits for one word at a time waits for one turn of the others at most, where turns are bounded, however many
/// others offer as much as they can. These have every other turn, each of them its share.
#[test]
fn a_client_with_few_words_waits_for_one_turn_of_others() {
    const STEPS: usize = 4000;
    let mut accelerator = accelerator(FlushPolicy::default());
    // This clock makes every turn take equally long.
    let mut now = 0;
    let clock = move || {
        now += 500;
        now
    };
    accelerator.bound_turns(Turns::default(), clock);
    let mut queue = |capacity| {
        let grant = accelerator.add_grant(Arc::new(LocalArena::new(1 << 16)), 0);
        let (client, submissions, completions) = Client::new(capacity);
        let id = accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        (client, id)
    };
    let [mut one, mut another, mut waits] = [queue(2048), queue(2048), queue(8)];
    let (mut waited, mut waits_of) = (0, vec![0; 8]);
    waits.0.submit(&copy(1, 64).word);
    for step in 0..STEPS {
        for (client, _) in [&mut one, &mut another] {
            while client.completed().is_some() {}
            while client.submissions.push(&copy(1, 256).word.to_words()).is_ok() {}
            client.submissions.publish();
        }
        accelerator.step(step as u64);
        if waits.0.completed().is_some() {
            waits_of[waited.min(7)] += 1;
            waited = 0;
            waits.0.submit(&copy(1, 64).word);
        } else {
            waited += 1;
        }
    }
    let served: usize = waits_of.iter().sum();
    let at_once: usize = waits_of[..2].iter().sum();
    assert!(served > STEPS / 4 && at_once > served * 9 / 10, "{waits_of:?}");
    let floods = [one.1, another.1].map(|id| accelerator.stats(id).expect("a queue").operations);
    assert!(floods.iter().all(|done| *done > STEPS as u64 / 4), "{floods:?}, {waits_of:?}");
    assert!(floods[0].abs_diff(floods[1]) < floods[0] / 4, "{floods:?}");
}

/// A grant with four queues has no greater share than a grant with one.
#[test]
fn queues_of_one_grant_divide_its_share() {
    let mut accelerator = accelerator(FlushPolicy::default());
    let mut queues = Vec::new();
    for (number, of_grant) in [1, 4].into_iter().enumerate() {
        let grant = accelerator.add_grant(Arc::new(LocalArena::new(1 << 16)), 0);
        for _ in 0..of_grant {
            let (client, submissions, completions) = Client::new(512);
            let id = accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
            queues.push((number, client, id));
        }
    }
    let word = copy(1, 16 << 10).word;
    for _ in 0..40 {
        for (_, client, _) in &mut queues {
            while client.submissions.push(&word.to_words()).is_ok() {}
            client.submissions.publish();
        }
        accelerator.step(0);
        for (_, client, _) in &mut queues {
            while client.completed().is_some() {}
        }
    }
    let mut bytes = [0; 2];
    for (number, _, id) in &queues {
        bytes[*number] += accelerator.stats(*id).expect("a queue").bytes;
    }
    assert!(bytes[0] > 0 && bytes[0].abs_diff(bytes[1]) < bytes[0] / 8, "{bytes:?}");
    // The others get the share of a queue that goes.
    let gone = queues.pop().expect("five queues");
    accelerator.remove_queue(gone.2);
    assert!(accelerator.stats(gone.2).is_none());
}

/// A queue whose completions nobody takes gets no service, and does not save up turns for later.
#[test]
fn a_full_completion_ring_stops_the_queue() {
    let mut accelerator = accelerator(FlushPolicy::default());
    let grant = accelerator.add_grant(Arc::new(LocalArena::new(1 << 16)), 0);
    let (mut client, submissions, completions) = Client::new(8);
    accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    let big = ControlWord { source_len: 1 << 16, ..copy(1, 0).word };
    let offer = |client: &mut Client| {
        while client.submissions.push(&big.to_words()).is_ok() {}
        client.submissions.publish();
    };
    let mut ended = 0;
    for _ in 0..1000 {
        offer(&mut client);
        ended += accelerator.step(0);
    }
    assert_eq!(ended, 8, "as many as the ring holds");
    while client.completed().is_some() {}
    let more = accelerator.step(0);
    assert!(more <= 8, "no more than there is room for");
    ended += more;
    for _ in 0..1000 {
        ended += accelerator.step(0);
        while client.completed().is_some() {}
    }
    assert!(ended >= 15);
}

/// Nonsense in a queue's rings is its own affair.
#[test]
fn a_corrupt_ring_harms_only_its_own_queue() {
    for (ring, index) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut accelerator = accelerator(FlushPolicy::default());
        let grant = accelerator.add_grant(Arc::new(LocalArena::new(4096)), 0);
        let mut queues: Vec<_> = (0..2)
            .map(|_| {
                let (client, submissions, completions) = Client::new(8);
                let memory = [submissions.clone(), completions.clone()];
                let id = accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
                (client, memory, id)
            })
            .collect();
        for tag in 0..40 {
            if tag == 10 {
                // Index 0 is the producer's, 8 the consumer's.
                queues[0].1[ring][8 * index].store(1 << 40, Ordering::Relaxed);
            }
            for (client, ..) in &mut queues {
                let _ = client.submissions.push(&ControlWord { tag, ..copy(1, 10).word }.to_words());
            }
            queues[1].0.submissions.publish();
            if tag < 10 {
                queues[0].0.submissions.publish();
                accelerator.step(0);
                assert_eq!(queues[0].0.completed().map(|done| done.tag), Some(tag));
            } else {
                accelerator.step(0);
            }
            assert_eq!(queues[1].0.completed().map(|done| done.tag), Some(tag), "ring {ring}, index {index}");
        }
        assert!(!accelerator.is_corrupt(queues[1].2));
    }
}

/// Cancellation by the tag, of what is held; a cancellation that is malformed cancels nothing.
#[test]
fn what_is_held_can_be_taken_back() {
    let policy = FlushPolicy { full: 100, deadline: 100 };
    let mut accelerator = accelerator(policy);
    let grant = accelerator.add_grant(Arc::new(LocalArena::new(4096)), 0);
    let (mut client, submissions, completions) = Client::new(16);
    accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    let cancel = |of: u64, tag| ControlWord {
        opcode: Opcode::Cancel as u8,
        key: of as u32,
        mac_key: (of >> 32) as u32,
        tag,
        ..ControlWord::default()
    };
    const BIG: u64 = 0xfedc_ba98_7654_3210;
    client.submit(&ControlWord { tag: BIG, ..copy(1, 10).word });
    client.submit(&ControlWord { tag: 2, ..copy(1, 10).word });
    accelerator.step(0);
    client.submit(&cancel(BIG, 3));
    client.submit(&cancel(BIG, 4));
    client.submit(&cancel(3, 5));
    client.submit(&ControlWord { source: 1, ..cancel(2, 6) });
    client.submit(&ControlWord { version: 2, ..cancel(2, 7) });
    client.submit(&ControlWord { flags: Flags::GATHER, ..cancel(2, 8) });
    accelerator.step(1);
    assert_eq!(accelerator.held(), 8);
    assert_eq!(accelerator.flush(), 8);
    let mut done = BTreeMap::new();
    while let Some(completion) = client.completed() {
        done.insert(completion.tag, (completion.status().expect("a status"), completion.value));
    }
    assert_eq!(done[&BIG].0, Status::Cancelled);
    assert_eq!(done[&2].0, Status::Ok);
    assert_eq!(done[&3], (Status::Ok, 1));
    assert_eq!(done[&4], (Status::Ok, 0), "only once");
    assert_eq!(done[&5], (Status::Ok, 0), "not a cancellation");
    assert_eq!([done[&6].0, done[&7].0, done[&8].0], [Status::Reserved, Status::Version, Status::Flags]);
}

/// Nothing of one grant is another's: neither keys nor queues.
#[test]
fn a_handle_of_another_grant_is_none() {
    let mut accelerator = accelerator(FlushPolicy::default());
    let arena = || Arc::new(LocalArena::new(4096));
    let (mine, theirs) = (accelerator.add_grant(arena(), 4), accelerator.add_grant(arena(), 4));
    let key = Key::new(Features::hardware(), Algorithm::Sha256, b"secret").expect("a good key");
    let handle = accelerator.insert_key(theirs, key).expect("a free slot");
    let (mut client, submissions, completions) = Client::new(8);
    accelerator.add_queue(mine, submissions, completions, 1).expect("rings");
    client.submit(&ControlWord {
        opcode: Opcode::Hmac as u8,
        hash: Algorithm::Sha256 as u8,
        key: handle.to_bits(),
        mac: 100,
        mac_len: 32,
        ..ControlWord::default()
    });
    accelerator.step(0);
    assert_eq!(client.completed().and_then(|done| done.status()), Some(Status::Key));
    accelerator.remove_grant(mine);
    assert!(accelerator.remove_key(theirs, handle));
    assert!(!accelerator.remove_key(mine, handle));
}

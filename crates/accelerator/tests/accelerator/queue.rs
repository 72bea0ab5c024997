//! An accelerator with one queue over an arena, and cases laid out there as control words.
//!
//! # Safety
//! The arena that calls itself exclusive is touched by one thread only, and never while `step` runs.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use millstream_accelerator::{Accelerator, Arena, FlushPolicy, GrantId, Handle, Key, LocalArena, Turns, Way};
use millstream_cwq::ring::{self, Consumer, Producer, Word};
use millstream_cwq::{Completion, ControlWord, Flags, Opcode, Status};
use millstream_testkit::Random;

use crate::case::{Case, UNTOUCHED, features, not_so_random};

pub type Memory = Arc<[Word]>;

/// An arena whose spans are lent to the engines.
#[derive(Clone)]
pub struct Exclusive(pub Arc<LocalArena>);

// SAFETY: the memory is the local arena's, which lives as long; who touches it is said at the head of this file.
unsafe impl Arena for Exclusive {
    fn base(&self) -> NonNull<u8> {
        self.0.base()
    }

    fn len(&self) -> u32 {
        self.0.len()
    }

    fn exclusive(&self) -> bool {
        true
    }
}

/// Returns an accelerator on the way that `MILLSTREAM_QUEUE` names: the pipeline runs these tests on both.
pub fn accelerator<A: Arena>(policy: FlushPolicy) -> Accelerator<A, Memory> {
    let mut accelerator = Accelerator::new(features(), policy);
    accelerator.set_way(Way::active().expect("a way"));
    accelerator
}

/// The rings of one queue, as its client has them.
pub struct Client {
    pub submissions: Producer<Memory, { ControlWord::WORDS }>,
    pub completions: Consumer<Memory, { Completion::WORDS }>,
}

impl Client {
    /// Both sides of the rings of a new queue.
    pub fn new(capacity: usize) -> (Self, Memory, Memory) {
        let submissions: Memory = ring::memory::<{ ControlWord::WORDS }>(capacity).into();
        let completions: Memory = ring::memory::<{ Completion::WORDS }>(capacity).into();
        let client = Client {
            submissions: Producer::new(submissions.clone()).expect("a ring"),
            completions: Consumer::new(completions.clone()).expect("a ring"),
        };
        (client, submissions, completions)
    }

    pub fn submit(&mut self, word: &ControlWord) {
        self.submissions.push(&word.to_words()).expect("room in the ring");
        self.submissions.publish();
    }

    pub fn completed(&mut self) -> Option<Completion> {
        let words = self.completions.pop().expect("a sound ring")?;
        self.completions.release();
        Some(Completion::from_words(words))
    }
}

/// In what form cases become words.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Keys lie in the arena, not in slots.
    pub carried: bool,
    /// Sources are in pieces.
    pub gather: bool,
    /// Destinations are where sources are.
    pub in_place: bool,
}

pub const FORMS: [Form; 6] = [
    Form { carried: false, gather: false, in_place: false },
    Form { carried: true, gather: false, in_place: false },
    Form { carried: false, gather: true, in_place: false },
    Form { carried: true, gather: true, in_place: false },
    Form { carried: false, gather: false, in_place: true },
    Form { carried: true, gather: false, in_place: true },
];

pub struct Station<A> {
    pub accelerator: Accelerator<A, Memory>,
    pub arena: A,
    pub grant: GrantId,
    pub client: Client,
    pub layout: Layout<A>,
    handles: Vec<Handle>,
}

/// Lays cases out in an arena.
pub struct Layout<A> {
    arena: A,
    random: Random,
    /// The end of the part of the arena that is in use.
    pub end: u32,
}

/// A case as it was laid out: its word, and the bytes that must lie in the arena after it.
pub struct Laid {
    pub word: ControlWord,
    pub expected: Vec<(u32, Vec<u8>)>,
}

impl<A: Arena + Clone> Station<A> {
    pub fn new(arena: A, capacity: usize) -> Self {
        let (client, submissions, completions) = Client::new(capacity);
        let mut accelerator = accelerator(FlushPolicy::default());
        accelerator.set_random(not_so_random);
        let grant = accelerator.add_grant(arena.clone(), 2 * capacity);
        accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        let layout = Layout::new(arena.clone());
        Station { accelerator, arena, grant, client, layout, handles: vec![] }
    }

    /// Has everything executed in slices of that many bytes.
    pub fn slice(mut self, bytes: u32) -> Self {
        self.accelerator.bound_turns(Turns { bytes, ..Turns::default() }, || 0);
        self
    }

    /// Forgets what was laid out, and the keys.
    pub fn clear(&mut self) {
        self.layout.end = 0;
        for handle in self.handles.drain(..) {
            assert!(self.accelerator.remove_key(self.grant, handle));
        }
    }

    /// Lays a case out in the arena, its keys there or in slots.
    pub fn lay(&mut self, case: &Case, tag: u64, form: Form) -> Laid {
        let Station { accelerator, grant, layout, handles, .. } = self;
        layout.lay(case, tag, form, |key| {
            let handle = accelerator.insert_key(*grant, key).expect("a free slot");
            handles.push(handle);
            handle
        })
    }

    /// The arena as far as it is in use, and a little after.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut bytes = vec![0; (self.layout.end + 64).min(self.arena.len()) as usize];
        self.arena.read(0, &mut bytes);
        bytes
    }

    /// Runs cases as control words and compares completions and the whole arena.
    pub fn run(&mut self, cases: &[&Case], form: Form) {
        self.clear();
        let laid: Vec<_> = cases.iter().zip(1000..).map(|(case, tag)| self.lay(case, tag, form)).collect();
        let mut expected = self.snapshot();
        for laid in &laid {
            self.client.submissions.push(&laid.word.to_words()).expect("room in the ring");
            for (at, bytes) in &laid.expected {
                expected[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
            }
        }
        self.client.submissions.publish();
        let mut seen = vec![false; cases.len()];
        while self.accelerator.step(0) > 0 || self.accelerator.held() > 0 {}
        while let Some(done) = self.client.completed() {
            let index = (done.tag - 1000) as usize;
            assert!(!std::mem::replace(&mut seen[index], true), "one completion for each word");
            let case = cases[index];
            assert_eq!(done.status(), Some(case.status), "{form:?} {case:?}");
            assert_eq!(done.value, case.completion_value(), "{form:?} {case:?}");
        }
        assert!(seen.iter().all(|seen| *seen), "every word completes");
        let after = self.snapshot();
        if after == expected {
            return;
        }
        for (case, laid) in cases.iter().zip(&laid) {
            for (at, bytes) in &laid.expected {
                let found = &after[*at as usize..*at as usize + bytes.len()];
                assert_eq!(found, bytes, "{form:?} {case:?}");
            }
        }
        panic!("bytes changed that no word writes");
    }
}

impl<A: Arena> Layout<A> {
    pub fn new(arena: A) -> Self {
        let random = Random::new(u64::from(arena.len()));
        Layout { arena, random, end: 0 }
    }

    /// Puts bytes at an odd place of the arena, with untouched ones between it and the next.
    pub fn put(&mut self, bytes: &[u8]) -> u32 {
        let gap = [UNTOUCHED; 8];
        let gap = &gap[..1 + self.random.below(8)];
        self.arena.write(self.end, gap);
        let at = self.end + gap.len() as u32;
        self.arena.write(at, bytes);
        self.end = at + bytes.len() as u32;
        at
    }

    fn key(
        &mut self,
        case: &Case,
        mac: bool,
        carried: bool,
        insert: &mut impl FnMut(Key) -> Handle,
    ) -> (u32, u16) {
        let (bytes, algorithm) =
            if mac { (&case.mac_key, case.hash) } else { (&case.key, case.key_algorithm()) };
        if carried {
            return (self.put(bytes), bytes.len() as u16);
        }
        let key = Key::new(features(), algorithm, bytes).expect("a good key");
        (insert(key).to_bits(), 0)
    }

    /// Lays a case out in the arena.
    pub fn lay(&mut self, case: &Case, tag: u64, form: Form, mut insert: impl FnMut(Key) -> Handle) -> Laid {
        let mut word = ControlWord {
            opcode: case.opcode as u8,
            algorithm: case.algorithm as u8,
            hash: case.hash as u8,
            parameter: case.parameter,
            iv_len: case.iv.len() as u8,
            mac_len: case.mac.len() as u8,
            tag,
            ..ControlWord::default()
        };
        let mut expected = vec![];
        // A key that can't be made can only be carried.
        let may = case.key.len() <= usize::from(ControlWord::MOST_KEY_BYTES);
        let carried = may && form.carried || case.status == Status::KeyLength;
        if case.has_key() {
            (word.key, word.key_len) = self.key(case, false, carried, &mut insert);
            word.flags |= if carried { Flags::KEY_IN_ARENA } else { 0 };
        }
        if case.brings_public_key() {
            (word.key, word.key_len) = (self.put(&case.key), case.key.len() as u16);
            word.flags |= Flags::KEY_IN_ARENA;
        }
        if case.is_chained() {
            (word.mac_key, word.mac_key_len) = self.key(case, true, carried, &mut insert);
            word.flags |= if carried { Flags::MAC_KEY_IN_ARENA } else { 0 };
            word.aad_len = case.clear as u32;
        } else if case.reverse {
            word.flags |= Flags::REVERSE;
        }
        if matches!(case.opcode, Opcode::Null | Opcode::Cancel) {
            return Laid { word, expected };
        }
        if !case.iv.is_empty() {
            word.iv = self.put(&case.iv);
        }
        match case.opcode {
            Opcode::PublicKey | Opcode::Encapsulate => {}
            Opcode::Random => word.source_len = case.source.len() as u32,
            _ => self.lay_source(case, &mut word, form.gather),
        }
        if case.has_destination() && form.in_place && case.opcode != Opcode::Random {
            word.destination = word.source;
            // An operation that fails leaves its input as it was.
            if case.status == Status::Ok {
                expected.push((word.destination, case.expected_output()));
            }
        } else if case.has_destination() {
            word.destination = self.put(&vec![UNTOUCHED; case.source.len()]);
            expected.push((word.destination, case.expected_output()));
        }
        if case.opcode == Opcode::PartialHash {
            word.flags |= if case.first { Flags::FIRST } else { 0 } | if case.last { Flags::LAST } else { 0 };
        }
        if matches!(case.opcode, Opcode::Aead | Opcode::PartialHash | Opcode::Verify | Opcode::Decrypt) {
            word.aad = self.put(&case.aad);
            word.aad_len = case.aad.len() as u32;
        }
        if case.opcode == Opcode::PartialHash && !case.last {
            word.state = self.put(&[UNTOUCHED; ControlWord::STATE_BYTES as usize]);
            expected.push((word.state, case.state.clone()));
        }
        if case.is_long() {
            let room = case.room();
            (word.destination, word.mac_key_len) = (self.put(&vec![UNTOUCHED; room]), room as u16);
            if case.status == Status::Ok {
                expected.push((word.destination, case.state.clone()));
            }
        }
        if case.reverse && !case.mac.is_empty() {
            word.mac = self.put(&case.mac);
        } else if !case.mac.is_empty() {
            word.mac = self.put(&vec![UNTOUCHED; case.mac.len()]);
            if case.status == Status::Ok {
                expected.push((word.mac, case.mac.clone()));
            }
        }
        Laid { word, expected }
    }

    fn lay_source(&mut self, case: &Case, word: &mut ControlWord, gather: bool) {
        if !gather {
            (word.source, word.source_len) = (self.put(&case.source), case.source.len() as u32);
            return;
        }
        let mut list = vec![];
        let mut rest = case.source.as_slice();
        while !rest.is_empty() {
            let most = if list.len() < 7 * 8 { rest.len() } else { 0 };
            let (piece, others) =
                rest.split_at(if most > 0 { self.random.below(most + 1) } else { rest.len() });
            list.extend(self.put(piece).to_le_bytes());
            list.extend((piece.len() as u32).to_le_bytes());
            rest = others;
        }
        word.flags |= Flags::GATHER;
        (word.source, word.source_len) = (self.put(&list), list.len() as u32 / 8);
    }
}

//! The fast path in the unit: nothing leaves the page, and queues share fairly.

use std::cell::RefCell;
use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::spu::{Identity, Slot, UserQueue, status};

const PAGE: u64 = 0x4000;
const PAGE_BYTES: u64 = 0x2000;
const WORDS: u64 = 8;

fn identity(context: u16) -> Identity {
    Identity { partition: 0, context }
}

/// A unit with one user queue, in the middle of memory that must not change.
struct Page {
    memory: Watched,
    queues: Queues,
    slot: Slot,
}

/// Memory that notes every access.
#[derive(Clone)]
struct Watched {
    bytes: Vec<u8>,
    reads: RefCell<Vec<Range<u64>>>,
    writes: Vec<Range<u64>>,
}

impl Watched {
    fn new(bytes: Vec<u8>) -> Watched {
        Watched { bytes, reads: RefCell::default(), writes: Vec::new() }
    }
}

impl Physical for Watched {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError> {
        self.reads.borrow_mut().push(address..address + to.len() as u64);
        self.bytes.read(address, to)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError> {
        self.writes.push(address..address + from.len() as u64);
        self.bytes.write(address, from)
    }
}

impl Page {
    fn new() -> Page {
        let memory = (0..0xa000_u32).map(|i| (i * 31 + i / 256) as u8).collect();
        let mut queues = Queues::new(Model::RainbowFalls);
        let queue = UserQueue::new(identity(1), PAGE, PAGE_BYTES, 0, WORDS);
        let slot = queues.users_mut().insert(queue).expect("room");
        Page { memory: Watched::new(memory), queues, slot }
    }

    fn queue(&mut self) -> &mut UserQueue {
        self.queues.users_mut().get_mut(self.slot).expect("the queue")
    }

    fn submit(&mut self, words: &[ControlWord]) {
        let mut tail = self.queue().tail();
        for word in words {
            self.memory.bytes.write(PAGE + tail, &word.build()).expect("the queue");
            tail = (tail + 64) % (WORDS * 64);
        }
        self.queue().set_tail(tail);
    }

    fn run(&mut self) -> Vec<Completed> {
        let mut done = Vec::new();
        while self.queues.start(&mut self.memory).is_some() {
            done.extend(self.queues.finish(&mut self.memory));
        }
        done
    }

    fn one(&mut self, word: ControlWord) -> Outcome {
        self.submit(&[word]);
        let done = self.run();
        assert_eq!(done.len(), 1);
        done[0].outcome
    }

    /// The control of the last executed word, as the process sees it.
    fn seen(&mut self) -> Control {
        let last = (self.queue().tail() + WORDS * 64 - 64) % (WORDS * 64);
        Control(read_word(&self.memory.bytes, PAGE + last).expect("the queue"))
    }
}

const AES_CBC: Cipher = Cipher { kind: CipherKind::Aes128, chaining: Chaining::Cbc };

fn encrypt() -> ControlWord {
    ControlWord {
        control: Control::new(Opcode::Cipher, 64).with_cipher(AES_CBC).encrypting(),
        source: 0x400,
        cipher_key: 0x500,
        cipher_iv: 0x510,
        destination: 0x600,
        ..ControlWord::default()
    }
}

#[test]
fn addresses_are_those_of_the_page() {
    let mut page = Page::new();
    let at = |page: &Page, offset: u64, len| {
        let start = (PAGE + offset) as usize;
        page.memory.bytes[start..start + len].to_vec()
    };
    let expected =
        plain::cipher(AES_CBC, true, &at(&page, 0x500, 16), &at(&page, 0x510, 16), &at(&page, 0x400, 64));
    assert_eq!(page.one(encrypt()), Outcome::Done);
    assert_eq!(at(&page, 0x600, 64), expected);
    assert_eq!(page.seen(), encrypt().control.with_done());
    assert_eq!(page.queue().status(), status::GRANTED);
    assert_eq!((page.queue().head(), page.queue().tail()), (64, 64));
    assert_eq!(page.queues.take_interrupt(), None, "nothing interrupts");
}

/// Each object in turn lies a byte over the end of the page, far outside, and in the queue.
#[test]
fn objects_outside_the_page() {
    let hmac = ControlWord {
        control: Control::new(Opcode::Auth, 16)
            .with_auth(Auth::HmacSha256)
            .with_auth_key_len(32)
            .storing_state(),
        source: 0x400,
        auth_key: 0x500,
        auth_iv: 0x540,
        final_auth_state: 0x580,
        destination: 0x600,
        ..ControlWord::default()
    };
    let hmac = ControlWord { control: hmac.control.with_hash_len(32), ..hmac };
    type Set = fn(&mut ControlWord, u64);
    let cases: [(ControlWord, Field, u64, Set); 8] = [
        (encrypt(), Field::Source, 64, |word, at| word.source = at),
        (encrypt(), Field::CipherKey, 16, |word, at| word.cipher_key = at),
        (encrypt(), Field::CipherIv, 16, |word, at| word.cipher_iv = at),
        (encrypt(), Field::Destination, 64, |word, at| word.destination = at),
        (hmac, Field::AuthKey, 32, |word, at| word.auth_key = at),
        (hmac, Field::AuthIv, 32, |word, at| word.auth_iv = at),
        (hmac, Field::FinalAuthState, 32, |word, at| word.final_auth_state = at),
        (hmac, Field::Destination, 32, |word, at| word.destination = at),
    ];
    for (word, field, len, set) in cases {
        let mut page = Page::new();
        let mut with = |at: u64| {
            let mut word = word;
            set(&mut word, at);
            page.one(word)
        };
        assert_eq!(with(PAGE_BYTES - len), Outcome::Done, "{field} ends with the page");
        let queue = WORDS * 64;
        assert_eq!(with(queue), Outcome::Done, "{field} begins after the queue");
        let refused = Outcome::Failed(Fault::Refused(Refusal::OutsidePage(field)));
        for at in
            [PAGE_BYTES - len + 1, PAGE_BYTES, PAGE, PAGE_BYTES * 2, u64::MAX, u64::MAX - len, 1, queue - 1]
        {
            assert_eq!(with(at), refused, "{field} at {at:#x}");
        }
        assert_eq!(page.queue().status(), status::GRANTED | status::PROTOCOL_ERROR);
        page.queue().clear_errors();
        assert_eq!(page.queue().status(), status::GRANTED);
        assert!(page.seen().protocol_error() && page.seen().done() && !page.seen().hardware_error());
    }
}

#[test]
fn what_could_not_be_done_again_is_refused() {
    let mut page = Page::new();
    let refused = |refusal| Outcome::Failed(Fault::Refused(refusal));
    let in_place = ControlWord { control: encrypt().control.in_place_bit(), destination: 0, ..encrypt() };
    assert_eq!(page.one(in_place), refused(Refusal::InPlace));
    let rc4 = Cipher { kind: CipherKind::Rc4, chaining: Chaining::Ecb };
    let stream = ControlWord { control: encrypt().control.with_cipher(rc4), ..encrypt() };
    assert_eq!(page.one(stream), refused(Refusal::InPlace), "RC4 that writes its state back");
    let no_stream = Cipher { kind: CipherKind::Rc4NoStream, ..rc4 };
    let word =
        ControlWord { control: encrypt().control.with_cipher(no_stream), cipher_key: 0x800, ..encrypt() };
    assert_eq!(page.one(word), Outcome::Done);
    // The result lies over any byte of the source, the key or the vector.
    for destination in [0x3c1, 0x400, 0x43f, 0x4c1, 0x50f, 0x4d1, 0x51f] {
        let word = ControlWord { destination, ..encrypt() };
        assert_eq!(page.one(word), refused(Refusal::Overlap), "{destination:#x}");
    }
    for destination in [0x3c0, 0x440, 0x4c0, 0x520] {
        let word = ControlWord { destination, ..encrypt() };
        assert_eq!(page.one(word), Outcome::Done, "{destination:#x}");
    }
    // Linux's hash has its state at its destination.
    let hash = ControlWord {
        control: Control::new(Opcode::Auth, 16).with_auth(Auth::Sha1).with_hash_len(20),
        source: 0x400,
        auth_iv: 0x600,
        destination: 0x600,
        ..ControlWord::default()
    };
    assert_eq!(page.one(hash), refused(Refusal::Overlap));
    // The same bit, in-place, means no transform in place for a hash.
    let apart = ControlWord { control: hash.control.in_place_bit(), auth_iv: 0x680, ..hash };
    assert_eq!(page.one(apart), Outcome::Done);
    // The digest lies over the state that is stored.
    let both = ControlWord {
        control: hash.control.storing_state(),
        final_auth_state: 0x700,
        auth_iv: 0x680,
        ..hash
    };
    assert_eq!(page.one(both), Outcome::Done);
    assert_eq!(page.one(ControlWord { destination: 0x710, ..both }), refused(Refusal::Overlap));
}

/// A word at fault takes its block with it, and no more.
#[test]
fn the_rest_of_a_block_is_skipped() {
    let mut page = Page::new();
    let copy = |source, last: bool| ControlWord {
        control: Control(Control::new(Opcode::Copy, 16).0 & if last { u64::MAX } else { !(1 << 53) }),
        source,
        destination: 0x600,
        ..ControlWord::default()
    };
    let piece = |last: bool| {
        let control = Control::piece(16);
        ControlWord {
            control: if last { control.ends() } else { control },
            source: 0x700,
            ..ControlWord::default()
        }
    };
    page.submit(&[copy(PAGE_BYTES, false), piece(false), piece(true), copy(0x800, true)]);
    let outcomes: Vec<_> = page.run().iter().map(|done| done.outcome).collect();
    let refused = Outcome::Failed(Fault::Refused(Refusal::OutsidePage(Field::Source)));
    assert_eq!(outcomes, [refused, Outcome::Skipped, Outcome::Skipped, Outcome::Done]);
    // The block reaches to the tail if no word ends it.
    page.submit(&[copy(PAGE_BYTES, false), piece(false)]);
    page.run();
    page.submit(&[piece(true), copy(0x800, true)]);
    let outcomes: Vec<_> = page.run().iter().map(|done| done.outcome).collect();
    assert_eq!(outcomes, [Outcome::Failed(Fault::Refused(Refusal::NotBegun)), Outcome::Done]);
}

#[test]
fn tails_outside_the_queue_are_ignored() {
    let mut page = Page::new();
    for tail in [1, 63, WORDS * 64, u64::MAX, PAGE] {
        page.queue().set_tail(tail);
        assert_eq!(page.queue().tail(), 0);
        assert_eq!(page.queue().status(), status::GRANTED | status::PROTOCOL_ERROR);
        page.queue().clear_errors();
    }
}

/// After a revocation at each moment of an operation in two words, the page is unchanged but for words marked as
/// done.
#[test]
fn revoked_at_any_time() {
    let first = ControlWord { control: Control(encrypt().control.0 & !(1 << 53)), ..encrypt() };
    let second = ControlWord { control: Control::piece(64).ends(), source: 0x440, ..ControlWord::default() };
    for steps in 0..5 {
        let mut page = Page::new();
        page.submit(&[first, second]);
        let before = page.memory.bytes.clone();
        for step in 0..steps {
            if step % 2 == 0 {
                assert!(page.queues.start(&mut page.memory).is_some());
            } else {
                assert!(page.queues.finish(&mut page.memory).is_some());
            }
        }
        let queue = page.queues.revoke(page.slot).expect("the queue");
        assert!(page.queues.revoke(page.slot).is_none());
        assert!(page.queues.start(&mut page.memory).is_none(), "nothing goes on");
        assert!(page.queues.finish(&mut page.memory).is_none());
        let data = (PAGE + WORDS * 64) as usize;
        if steps < 4 {
            assert_eq!(page.memory.bytes[data..], before[data..], "nothing was written after {steps} steps");
            assert_eq!(queue.head(), 0, "to be done again from its first word");
        } else {
            assert_ne!(page.memory.bytes[data..], before[data..]);
        }
        // Another unit does it again.
        let mut whole = Page::new();
        whole.submit(&[first, second]);
        whole.run();
        page.queues = Queues::new(Model::RainbowFalls);
        page.slot = page.queues.users_mut().insert(queue).expect("room");
        page.run();
        assert_eq!(page.memory.bytes[data..], whole.memory.bytes[data..], "redone after {steps} steps");
    }
}

/// Queues with words of very different lengths are always full: each gets the same number of bytes, within a word.
#[test]
fn the_unit_is_shared_fairly() {
    let mut queues = Queues::new(Model::RainbowFalls);
    let mut memory = vec![0_u8; 0x8_0000];
    let lens = [64, 4096, 500, 1];
    let pages = [0, 0x2_0000, 0x4_0000, 0x6_0000];
    let slots: Vec<Slot> = (0..4)
        .map(|i| {
            let queue = UserQueue::new(identity(i as u16), pages[i], 0x2_0000, 0, 64);
            queues.users_mut().insert(queue).expect("room")
        })
        .collect();
    for (page, len) in pages.iter().zip(lens) {
        let copy = ControlWord {
            control: Control::new(Opcode::Copy, len),
            source: 0x2000,
            destination: 0x8000,
            ..ControlWord::default()
        };
        for entry in 0..64 {
            memory.write(page + 64 * entry, &copy.build()).expect("memory");
        }
    }
    let mut served = [0_usize; 4];
    for _ in 0..3000 {
        for slot in &slots {
            // The queue stays full.
            let queue = queues.users_mut().get_mut(*slot).expect("the queue");
            let before = (queue.head() + 63 * 64) % (64 * 64);
            queue.set_tail(before);
        }
        queues.start(&mut memory);
        let done = queues.finish(&mut memory).expect("there is always work");
        let Place::User(slot) = done.work.place else { panic!("of a user") };
        served[usize::from(slot.0)] += done.work.bytes + 64;
    }
    let (least, most) = (served.iter().min().expect("four"), served.iter().max().expect("four"));
    assert!(most - least <= 2 * (4096 + 64), "{served:?}");
}

/// The bytes that a list gathers count, not the list, even if the list changes under way.
#[test]
fn gathered_bytes_are_counted() {
    for changes in [false, true] {
        let mut queues = Queues::new(Model::RainbowFalls);
        let mut memory = vec![0_u8; 0x8_0000];
        let list = |len: u64| [0x1_0000, len].map(u64::to_be_bytes).concat();
        let mut copy = ControlWord {
            control: Control::new(Opcode::Copy, 16).gathering(),
            source: 0x1000,
            destination: 0x2000,
            ..ControlWord::default()
        };
        let mut slots = Vec::new();
        for i in 0..2 {
            let page = u64::from(i) * 0x4_0000;
            for entry in 0..64 {
                memory.write(page + 64 * entry, &copy.build()).expect("memory");
            }
            let queue = UserQueue::new(identity(i), page, 0x4_0000, 0, 64);
            slots.push(queues.users_mut().insert(queue).expect("room"));
            queues.users_mut().get_mut(slots[usize::from(i)]).expect("the queue").set_tail(63 * 64);
            // The second queue copies as much, without a list.
            copy = ControlWord { control: Control::new(Opcode::Copy, 4096), source: 0x1_0000, ..copy };
        }
        let mut served = [0; 2];
        for _ in 0..40 {
            memory.write(0x1000, &list(if changes { 1 } else { 4096 })).expect("memory");
            let work = queues.start(&mut memory).expect("work");
            assert_eq!(work.bytes == 1, changes && work.place == Place::User(slots[0]));
            memory.write(0x1000, &list(4096)).expect("memory");
            let done = queues.finish(&mut memory).expect("work");
            assert_eq!(done.outcome, Outcome::Done);
            served[usize::from(done.work.place == Place::User(slots[1]))] += 1;
        }
        assert_eq!(served, [20, 20]);
    }
}

/// A queue that was idle saves nothing up.
#[test]
fn idle_queues_save_nothing_up() {
    let mut queues = Queues::new(Model::RainbowFalls);
    let mut memory = vec![0_u8; 0x2_0000];
    let page = |i: u64| i * 0x8000;
    let slots: Vec<Slot> = (0..2)
        .map(|i| {
            let queue = UserQueue::new(identity(i), page(i.into()), 0x8000, 0, 64);
            queues.users_mut().insert(queue).expect("room")
        })
        .collect();
    let copy = ControlWord {
        control: Control::new(Opcode::Copy, 1000),
        source: 0x2000,
        destination: 0x4000,
        ..ControlWord::default()
    };
    for entry in 0..64 {
        for i in 0..2 {
            memory.write(page(i) + 64 * entry, &copy.build()).expect("memory");
        }
    }
    let mut serve = |queues: &mut Queues| {
        queues.start(&mut memory);
        queues.finish(&mut memory).expect("work").work.place
    };
    for _ in 0..50 {
        let queue = queues.users_mut().get_mut(slots[0]).expect("the queue");
        queue.set_tail((queue.head() + 64) % 4096);
        assert_eq!(serve(&mut queues), Place::User(slots[0]));
    }
    for slot in &slots {
        let queue = queues.users_mut().get_mut(*slot).expect("the queue");
        queue.set_tail((queue.head() + 20 * 64) % 4096);
    }
    let places: Vec<_> = (0..20).map(|_| serve(&mut queues)).collect();
    let newcomer = places.iter().filter(|place| **place == Place::User(slots[1])).count();
    assert!((9..=11).contains(&newcomer), "{places:?}");
}

/// Any word at all, made likelier to be valid.
fn any_word() -> impl Strategy<Value = ControlWord> {
    let address = prop_oneof![
        4 => 0_u64..PAGE_BYTES + 0x200,
        1 => Just(0_u64),
        1 => PAGE_BYTES - 300..PAGE_BYTES + 2,
        1 => any::<u64>(),
        1 => (u64::MAX - 300)..=u64::MAX,
    ];
    let control = (
        prop_oneof![8 => prop::sample::select(vec![0x10_u64, 0x20, 0x40, 0x41, 0xc0, 0xc1, 0xa0, 0x48, 0x49, 0x28]),
                    1 => 0_u64..256],
        0_u64..256,
        prop_oneof![3 => 0_u64..64, 1 => 0_u64..256],
        0_u64..256,
        prop_oneof![3 => 0_u64..0x24, 1 => 0_u64..256],
        prop_oneof![3 => 0_u64..64, 1 => 0_u64..256],
        prop_oneof![2 => (0_u64..20).prop_map(|n| 16 * n + 15), 2 => 0_u64..600, 1 => 0_u64..0x1_0000],
    );
    (control, prop::collection::vec(address, 7)).prop_map(|(control, addresses)| word_of(control, &addresses))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// No word reads or writes outside its page, whatever it says. In the page it writes no word of the queue, except
    /// the status of words that it executes. Revocation at any step leaves nothing under way.
    #[test]
    fn no_word_escapes_its_page(
        words in prop::collection::vec(any_word(), 1..7),
        revoke_after in 0_usize..30,
    ) {
        let mut page = Page::new();
        page.submit(&words);
        let before = page.memory.bytes.clone();
        for step in 0..14 {
            if step == revoke_after {
                prop_assert!(page.queues.revoke(page.slot).is_some());
            }
            if step % 2 == 0 {
                page.queues.start(&mut page.memory);
            } else {
                page.queues.finish(&mut page.memory);
            }
        }
        let inside = PAGE..PAGE + PAGE_BYTES;
        for span in page.memory.reads.borrow().iter().chain(&page.memory.writes) {
            prop_assert!(inside.contains(&span.start) && span.end <= inside.end, "{span:x?}");
        }
        let queue = PAGE..PAGE + WORDS * 64;
        for span in &page.memory.writes {
            let status = span.start % 64 == 0 && span.end == span.start + 8;
            prop_assert!(span.start >= queue.end || status, "{span:x?}");
        }
        let (start, end) = (PAGE as usize, (PAGE + PAGE_BYTES) as usize);
        prop_assert_eq!(&page.memory.bytes[..start], &before[..start]);
        prop_assert_eq!(&page.memory.bytes[end..], &before[end..]);
    }

    /// A finished operation can be done again: the same words on their own results make the same.
    #[test]
    fn every_operation_can_be_done_again(word in any_word()) {
        let mut page = Page::new();
        page.one(word);
        let once = page.memory.bytes.clone();
        // The word's place in the queue is another one now.
        page.one(word);
        let data = (PAGE + WORDS * 64) as usize;
        prop_assert_eq!(&page.memory.bytes[data..], &once[data..]);
    }
}

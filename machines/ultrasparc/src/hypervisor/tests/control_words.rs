//! Control words through the hypervisor.

use proptest::prelude::*;

use super::*;
use crate::spu::tests::word_of;

#[test]
fn from_the_guest_to_the_unit_and_back() {
    let mut guest = guest(Processor::T2, 2);
    // Processor 13 is strand 5 of core 1.
    let handle = guest.cwq(13, 8);
    let key = guest.read(DATA, 16);
    let iv = guest.read(DATA + 0x10, 16);
    let source = guest.read(DATA + 0x100, 32);
    let aes = Cipher { kind: CipherKind::Aes128, chaining: Chaining::Cbc };
    let word = ControlWord {
        control: Control::new(Opcode::Cipher, 32).with_cipher(aes).encrypting(),
        source: DATA + 0x100,
        cipher_key: DATA,
        cipher_iv: DATA + 0x10,
        destination: DATA + 0x200,
        ..ControlWord::default()
    };
    guest.put(0, &[word]);
    assert_eq!(guest.value(13, function::SETTAIL, [handle, 64, 0]), 0);
    assert_eq!(guest.value(13, function::GETTAIL, [handle, 0, 0]), 64);
    assert_eq!(guest.gethead(13, handle), 0);
    assert!(guest.machine.interrupts(13).is_empty());
    let events = guest.advance(1);
    assert_eq!(events.iter().map(|event| event.core).collect::<Vec<_>>(), [1]);

    use ::aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
    let cipher = ::aes::Aes128::new_from_slice(&key).expect("16 bytes");
    let mut chain = iv;
    let mut expected = Vec::new();
    for block in source.chunks(16) {
        let mixed: Vec<u8> = block.iter().zip(&chain).map(|(byte, chain)| byte ^ chain).collect();
        let mut block = Array::try_from(&mixed[..]).expect("a block");
        cipher.encrypt_block(&mut block);
        chain = block.to_vec();
        expected.extend(&chain);
    }
    assert_eq!(guest.read(DATA + 0x200, 32), expected);
    assert_eq!(
        guest.control(0),
        word.control.with_done(),
        "the guest's own word: no strand, no interrupt bit"
    );
    assert_eq!(guest.gethead(13, handle), 64);
    // The strand that configured the queue is interrupted, until the head is marked.
    let devino = guest.value(13, function::QHANDLE_TO_DEVINO, [handle, 0, 0]);
    assert_eq!(guest.machine.interrupts(13), [devino]);
    for cpu in (0..16).filter(|cpu| *cpu != 13) {
        assert!(guest.machine.interrupts(cpu).is_empty(), "processor {cpu}");
    }
    guest.value(13, function::SETHEAD_MARKER, [handle, 64, 0]);
    assert!(guest.machine.interrupts(13).is_empty());
}

/// More words than the queue has entries, as a driver submits them: the queue wraps.
#[test]
fn around_the_queue() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 4);
    let mut tail = 0;
    for round in 0..25_u64 {
        guest.write(DATA, &[round as u8; 16]);
        let to = DATA + 0x100 + 16 * round;
        guest.put(tail / 64, &[copy(DATA, to)]);
        tail = (tail + 64) % 256;
        guest.value(0, function::SETTAIL, [handle, tail, 0]);
        guest.advance(1);
        assert_eq!(guest.read(to, 16), [round as u8; 16]);
        assert_eq!(guest.gethead(0, handle), tail);
        guest.value(0, function::SETHEAD_MARKER, [handle, tail, 0]);
    }
}

/// The guest changes words after the call, which has no effect.
#[test]
fn the_shadow_is_private() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 4);
    guest.put(0, &[copy(DATA, DATA + 0x100)]);
    guest.value(0, function::SETTAIL, [handle, 64, 0]);
    guest.put(0, &[copy(DATA + 0x40, DATA + 0x200)]);
    let before = guest.read(DATA + 0x200, 16);
    guest.advance(1);
    assert_eq!(guest.read(DATA + 0x100, 16), guest.read(DATA, 16));
    assert_eq!(guest.read(DATA + 0x200, 16), before);
}

/// The last submitted word ends its block, even if the guest did not say so.
#[test]
fn the_last_word_ends_its_block() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 8);
    let open = ControlWord {
        control: Control(Control::new(Opcode::Copy, 16).0 & !(1 << 53)),
        ..copy(DATA, DATA + 0x100)
    };
    guest.put(0, &[open, ControlWord::piece(DATA + 0x40, 16)]);
    guest.value(0, function::SETTAIL, [handle, 128, 0]);
    guest.advance(2);
    assert_eq!(guest.read(DATA + 0x110, 16), guest.read(DATA + 0x40, 16));
    assert!(guest.control(1).done() && !guest.control(1).end_of_block());
    guest.put(2, &[open]);
    guest.value(0, function::SETTAIL, [handle, 192, 0]);
    guest.advance(1);
    // A piece that is submitted alone has no beginning.
    guest.put(3, &[ControlWord::piece(DATA, 16)]);
    guest.value(0, function::SETTAIL, [handle, 256, 0]);
    let events = guest.advance(1);
    assert_eq!(events[0].completed.outcome, Outcome::Failed(Fault::Refused(Refusal::NotBegun)));
}

/// An error takes its block with it, up to EOB; the words before it are done, and those after the block go on.
#[test]
fn errors_and_their_blocks() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 8);
    let good = copy(DATA, DATA + 0x100);
    let open = |word: ControlWord| ControlWord { control: Control(word.control.0 & !(1 << 53)), ..word };
    let bad = ControlWord { control: Control(good.control.0 | 0x0f << 56), ..good };
    let piece = ControlWord::piece(DATA, 16);
    let last = ControlWord { control: piece.control.ends(), ..piece };
    guest.put(0, &[good, open(bad), piece, last, copy(DATA, DATA + 0x200)]);
    guest.value(0, function::SETTAIL, [handle, 320, 0]);
    let events = guest.advance(100);
    let outcomes: Vec<_> = events.iter().map(|event| event.completed.outcome).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Failed(Fault::Refused(Refusal::Opcode)), Outcome::Done]);
    let status: Vec<u64> = (0..5).map(|entry| guest.control(entry).0 >> 50 & 7).collect();
    assert_eq!(status, [1, 3, 3, 3, 1], "done; done and protocol error up to EOB; done");
    assert_eq!(guest.gethead(0, handle), 320);
    assert_eq!(guest.read(DATA + 0x200, 16), guest.read(DATA, 16));
}

/// Memory that the partition has and the machine lacks is an error of the hardware.
#[test]
fn hardware_errors() {
    let mut guest = guest(Processor::T2, 1);
    let all = vec![
        Range { real: REAL, physical: PHYSICAL, bytes: BYTES },
        Range { real: 0x8000_0000, physical: 0x8000_0000, bytes: 0x1000 },
    ];
    guest.machine.set_memory(0, all);
    let handle = guest.cwq(0, 8);
    guest.put(0, &[copy(0x8000_0000, DATA), copy(DATA, DATA + 0x100)]);
    guest.value(0, function::SETTAIL, [handle, 128, 0]);
    guest.advance(100);
    assert_eq!(guest.control(0).0 >> 50 & 7, 5, "done and hardware error");
    assert_eq!(guest.control(1).0 >> 50 & 7, 1);
}

/// The unit is busy with the next word when the interrupt of one comes: the most recent one waits for the next interrupt.
#[test]
fn the_most_recent_word_waits_while_the_unit_is_busy() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 8);
    guest.put(0, &[copy(DATA, DATA + 0x100); 3]);
    guest.value(0, function::SETTAIL, [handle, 192, 0]);
    let mut heads = Vec::new();
    for _ in 0..3 {
        assert_eq!(guest.advance(1).len(), 1);
        heads.push((guest.gethead(0, handle), (0..3).filter(|entry| guest.control(*entry).done()).count()));
    }
    assert_eq!(heads, [(0, 0), (64, 1), (192, 3)]);
}

/// A full queue uses all but one of its entries, as head and tail would be the same.
#[test]
fn full() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 4);
    guest.put(0, &[copy(DATA, DATA + 0x100); 4]);
    guest.value(0, function::SETTAIL, [handle, 192, 0]);
    assert_eq!(
        guest.status(0, function::SETTAIL, [handle, 0, 0]),
        Status::Invalid,
        "a fourth makes it seem empty"
    );
    assert_eq!(guest.advance(100).len(), 3);
}

/// Rainbow Falls' gather lists are refused: a guest could change one after it was checked.
#[test]
fn gather_lists_are_not_for_this_path() {
    let mut guest = guest(Processor::T3, 1);
    let handle = guest.cwq(0, 4);
    let word = copy(DATA, DATA + 0x100);
    guest.put(0, &[ControlWord { control: word.control.gathering(), ..word }]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), Status::Invalid);
}

/// The longer operands of Rainbow Falls are checked too.
#[test]
fn operands_of_rainbow_falls() {
    let mut guest = guest(Processor::T3, 1);
    let handle = guest.cwq(0, 4);
    let end = REAL + BYTES;
    let word = ControlWord {
        control: Control::new(Opcode::Auth, 16).with_auth(Auth::Sha512).with_hash_len(64),
        source: DATA,
        auth_iv: end - 63,
        destination: DATA + 0x100,
        ..ControlWord::default()
    };
    guest.put(0, &[word]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), Status::NoRealAddress);
    guest.put(0, &[ControlWord { auth_iv: end - 64, ..word }]);
    assert_eq!(guest.status(0, function::SETTAIL, [handle, 64, 0]), Status::Ok);
    assert_eq!(guest.advance(1)[0].completed.outcome, Outcome::Done);
}

/// Memory that notes every access outside the partition's.
struct Fenced {
    bytes: Vec<u8>,
    escaped: std::cell::Cell<Option<u64>>,
}

impl Fenced {
    fn check(&self, address: u64, len: usize) {
        if address < PHYSICAL || address + len as u64 > PHYSICAL + BYTES {
            self.escaped.set(Some(address));
        }
    }
}

impl Physical for Fenced {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), crate::spu::BusError> {
        self.check(address, to.len());
        self.bytes.read(address, to)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), crate::spu::BusError> {
        self.check(address, from.len());
        self.bytes.write(address, from)
    }
}

fn any_word() -> impl Strategy<Value = ControlWord> {
    let end = REAL + BYTES;
    let address = prop_oneof![
        6 => DATA..end,
        2 => end - 300..end + 2,
        2 => Just(0_u64),
        1 => PHYSICAL..PHYSICAL + BYTES,
        1 => HYPERVISOR_MEMORY..HYPERVISOR_MEMORY + 5000,
        1 => any::<u64>(),
    ];
    let control = (
        prop_oneof![8 => prop::sample::select(vec![0x10_u64, 0x20, 0x40, 0x41, 0xc0, 0xc1, 0xa0, 0x90]),
                    1 => 0_u64..256],
        prop_oneof![3 => prop::sample::select(vec![0x60_u64, 0x40, 0x20, 0, 0x62, 0xe2]), 1 => 0_u64..256],
        prop_oneof![3 => 0_u64..64, 1 => 0_u64..256],
        0_u64..32,
        prop_oneof![3 => 0_u64..0x24, 1 => 0_u64..256],
        prop_oneof![3 => 0_u64..32, 1 => 0_u64..256],
        prop_oneof![2 => (0_u64..20).prop_map(|n| 16 * n + 15), 2 => 0_u64..600, 1 => 0_u64..0x1_0000],
    );
    (control, prop::collection::vec(address, 7)).prop_map(|(control, addresses)| word_of(control, &addresses))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// No word reads or writes outside its partition's memory, on either unit that has the queue.
    #[test]
    fn no_word_leaves_its_partition(
        words in prop::collection::vec(any_word(), 1..8),
        new in any::<bool>(),
        changes in prop::collection::vec((any_word(), 0_u64..8), 0..3),
    ) {
        let Guest { mut machine, memory } = guest(if new { Processor::T3 } else { Processor::T2 }, 1);
        let mut memory = Fenced { bytes: memory, escaped: Default::default() };
        let reply = machine.hypercall(0, function::QCONF, [2, QUEUE, 8, 0], &mut memory);
        let handle = reply.results[0];
        let mut tail = 0;
        for (i, word) in (0..).zip(&words) {
            memory.bytes.write(PHYSICAL + 64 * i, &word.build()).expect("the queue");
            // Words are submitted one at a time and, if that fails, together with the next.
            let reply = machine.hypercall(0, function::SETTAIL, [handle, 64 * (i + 1) % 512, 0, 0], &mut memory);
            if reply.status == Status::Ok {
                tail = 64 * (i + 1) % 512;
            }
            for (word, entry) in &changes {
                memory.bytes.write(PHYSICAL + 64 * entry, &word.build()).expect("the queue");
            }
            machine.advance(&mut memory, 1, &one);
            memory.bytes.write(PHYSICAL + 64 * i, &word.build()).expect("the queue");
        }
        machine.advance(&mut memory, 100, &one);
        prop_assert!(machine.is_idle());
        prop_assert_eq!(memory.escaped.get(), None);
        let reply = machine.hypercall(0, function::GETHEAD, [handle, 0, 0, 0], &mut memory);
        prop_assert_eq!(reply.results[0], tail, "all that was submitted has ended");
    }
}

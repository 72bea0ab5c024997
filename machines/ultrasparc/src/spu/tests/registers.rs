//! The queue's registers: wrapping, enabling, errors, interrupts, waiting, aborting.

use super::*;

/// Words that each copy one byte to the next place of a tape, so that their order shows.
fn copies(bench: &mut Bench, count: u8) -> (u64, Vec<ControlWord>) {
    let source = bench.place(&(1..=count).collect::<Vec<_>>());
    let tape = bench.room(usize::from(count));
    let word = |i| ControlWord {
        control: Control::new(Opcode::Copy, 1),
        source: source + i,
        destination: tape + i,
        ..ControlWord::default()
    };
    (tape, (0..u64::from(count)).map(word).collect())
}

#[test]
fn pointers_have_48_bits() {
    let mut bench = Bench::new(Model::T2);
    for address in [register::HEAD, register::TAIL, register::FIRST, register::LAST] {
        assert!(bench.spu.store(address, u64::MAX));
        assert_eq!(bench.register(address), 0xffff_ffff_ffc0);
    }
    assert!(!bench.spu.store(0x38, 0) && bench.queues().load(0x38).is_none());
}

/// `aes_kat_ecb_wrap.s`: a queue of two entries; the tail wraps when it comes to LAST + 64.
#[test]
fn the_last_entry_is_followed_by_the_first() {
    let mut bench = Bench::new(Model::T2);
    assert!(bench.spu.store(register::LAST, QUEUE + 64));
    let (tape, words) = copies(&mut bench, 9);
    for (i, word) in words.iter().enumerate() {
        bench.execute(&[*word]);
        assert_eq!(bench.register(register::HEAD), QUEUE + 64 * (i as u64 + 1) % 128, "after {i}");
    }
    assert_eq!(bench.bytes(tape, 9), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn work_starts_when_enabled_and_not_before() {
    let mut bench = Bench::new(Model::T2);
    assert!(bench.spu.store(register::CSR, 0));
    let (tape, words) = copies(&mut bench, 2);
    bench.submit(&words);
    assert!(bench.run().is_empty());
    assert!(bench.spu.store(register::CSR_ENABLE, 0xff), "only the lowest bit can be written");
    assert_eq!(bench.register(register::CSR), csr::ENABLED);
    assert_eq!(bench.run().len(), 2);
    assert_eq!(bench.bytes(tape, 2), [1, 2]);
}

#[test]
fn busy_while_a_word_is_under_way() {
    let mut bench = Bench::new(Model::T2);
    let (tape, words) = copies(&mut bench, 3);
    bench.submit(&words);
    assert!(bench.spu.step(&mut bench.memory).is_none());
    assert_eq!(bench.register(register::CSR), csr::ENABLED | csr::BUSY);
    assert_eq!(bench.register(register::HEAD), QUEUE, "the head counts finished words");
    // Disabling lets the word end, and starts no other.
    assert!(bench.spu.store(register::CSR, 0));
    assert_eq!(bench.register(register::CSR), csr::BUSY);
    assert_eq!(bench.run().len(), 1);
    assert_eq!(bench.register(register::CSR), 0);
    assert_eq!(bench.register(register::HEAD), QUEUE + 64);
    assert_eq!(bench.bytes(tape, 2), [1, 0x5a]);
}

#[test]
fn sync_waits_until_the_queue_is_idle() {
    let mut bench = Bench::new(Model::T2);
    let (tape, words) = copies(&mut bench, 5);
    bench.submit(&words);
    bench.spu.step(&mut bench.memory);
    let (value, done) = bench.spu.load(register::SYNC, 0, &mut bench.memory).expect("SYNC");
    assert_eq!((value, done.len()), (csr::ENABLED, 5), "OpenSPARC's tests want 1");
    assert_eq!(bench.bytes(tape, 5), [1, 2, 3, 4, 5]);
    let (value, done) = bench.spu.load(register::SYNC, 0, &mut bench.memory).expect("SYNC");
    assert_eq!((value, done.len()), (csr::ENABLED, 0));
}

#[test]
fn errors_stop_the_queue_at_the_word() {
    let mut bench = Bench::new(Model::T2);
    let (tape, mut words) = copies(&mut bench, 4);
    words[2].control = Control(words[2].control.0 | 0x50 << 56).with_strand(5);
    bench.submit(&words);
    bench.run();
    assert_eq!(bench.register(register::CSR), csr::PROTOCOL_ERROR, "disabled, and says why");
    assert_eq!(bench.register(register::HEAD), QUEUE + 128);
    assert_eq!(bench.bytes(tape, 4), [1, 2, 0x5a, 0x5a]);
    let interrupt = Interrupt { trap: trap::CONTROL_WORD_QUEUE, strand: 5 };
    assert_eq!(
        bench.spu.take_interrupt(),
        Some(interrupt),
        "an error interrupts, whether the word asked for it or not"
    );
    // Writing to CSR_ENABLE keeps the error, and to CSR clears it; then the word is tried again.
    bench.spu.store(register::CSR_ENABLE, 1);
    assert_eq!(bench.register(register::CSR), csr::PROTOCOL_ERROR | csr::ENABLED);
    bench.spu.store(register::CSR, 0);
    assert_eq!(bench.register(register::CSR), 0);
    words[2].control = words[1].control;
    bench.memory.write(QUEUE + 128, &words[2].build()).expect("the queue");
    bench.spu.store(register::CSR, csr::ENABLED);
    bench.run();
    assert_eq!(bench.bytes(tape, 4), [1, 2, 3, 4]);
}

#[test]
fn a_queue_that_is_not_in_memory() {
    let mut bench = Bench::new(Model::T2);
    bench.spu.store(register::HEAD, 0x7000_0000);
    bench.spu.store(register::TAIL, 0x7000_0040);
    bench.run();
    assert_eq!(bench.register(register::CSR), csr::HARDWARE_ERROR);
}

/// An interrupt comes at the end of an operation, if any of its words wants one, to the strand of the first.
#[test]
fn interrupts() {
    let mut bench = Bench::new(Model::T2);
    let source = bench.place(&[1; 48]);
    let destination = bench.room(48);
    let first = Control(Control::new(Opcode::Copy, 16).0 & !(1 << 53)).with_strand(3);
    for wants in 0..3 {
        let mut words = [
            ControlWord { control: first, source, destination, ..ControlWord::default() },
            ControlWord::piece(source, 16),
            ControlWord {
                control: Control::piece(16).ends().with_strand(6),
                source,
                ..ControlWord::default()
            },
        ];
        words[wants].control = words[wants].control.interrupting();
        bench.submit(&words[..2]);
        bench.run();
        assert_eq!(bench.spu.take_interrupt(), None);
        bench.execute(&words[2..]);
        let interrupt = Interrupt { trap: 0x3c, strand: 3 };
        assert_eq!((bench.spu.take_interrupt(), bench.spu.take_interrupt()), (Some(interrupt), None));
    }
}

/// An operation that is aborted has written nothing, and is done again from its first word.
#[test]
fn aborted_and_done_again() {
    let mut bench = Bench::new(Model::T2);
    let source = bench.place(&[1; 48]);
    let destination = bench.room(48);
    let first = Control(Control::new(Opcode::Copy, 16).0 & !(1 << 53));
    let words = [
        ControlWord { control: first, source, destination, ..ControlWord::default() },
        ControlWord { control: Control::piece(32).ends(), source: source + 16, ..ControlWord::default() },
    ];
    let whole = |bench: &Bench| bench.bytes(destination, 48);
    for steps in 1..4 {
        bench.memory.write(destination, &[0; 48]).expect("memory");
        bench.submit(&words);
        let begun = bench.register(register::HEAD);
        for _ in 0..steps {
            bench.spu.step(&mut bench.memory);
        }
        bench.spu.queues.as_mut().expect("a queue").abort();
        if steps == 1 || steps == 3 {
            assert_eq!(bench.register(register::HEAD), begun, "back at the first word");
        }
        assert_eq!(whole(&bench), [0; 48]);
        bench.run();
        assert_eq!(whole(&bench), [1; 48], "done again");
    }
}

#[test]
fn diagnostics_show_the_last_operation() {
    let mut bench = Bench::new(Model::T2);
    let (key, iv): ([u8; 16], [u8; 16]) = ([0x11; 16], [0x22; 16]);
    let cbc = Cipher { kind: CipherKind::Aes128, chaining: Chaining::Cbc };
    let word = bench.cipher(cbc, true, &key, &iv, &[0x33; 64]);
    let made = bench.crypt(&word);
    assert_eq!(bench.register(0x100), word.word.control.0);
    assert_eq!(bench.register(0x110), 0x3333_3333_3333_3333);
    assert_eq!(bench.register(0x150), 0x1111_1111_1111_1111);
    assert_eq!(bench.register(0x1a0).to_be_bytes(), made[..8]);
    assert_eq!(bench.register(0x1d8).to_be_bytes(), made[56..]);
    let rc4 = Cipher { kind: CipherKind::Rc4, chaining: Chaining::Ecb };
    let word = bench.cipher(rc4, true, &plain::rc4_state(b"Key"), &[], &[0; 9]);
    bench.crypt(&word);
    let state = bench.bytes(word.word.cipher_key, 258);
    assert_eq!(bench.register(0x300).to_be_bytes(), state[..8]);
    assert_eq!(bench.register(0x400) >> 48, u64::from(state[256]) << 8 | u64::from(state[257]), "X and Y");
    for address in [0x200, 0x2f8, 0x408, 0x104, 0x7fff_ffff_ffff_fff8] {
        assert_eq!(bench.queues().load(address), None, "{address:#x}");
    }
}

/// The work that the timing model asks for: the kind of each word, its bytes, and the ends of operations.
#[test]
fn what_was_done_is_told() {
    let mut bench = Bench::new(Model::T2);
    let source = bench.place(&[1; 48]);
    let destination = bench.room(48);
    let first = Control(Control::new(Opcode::Copy, 16).0 & !(1 << 53));
    bench.submit(&[
        ControlWord { control: first, source, destination, ..ControlWord::default() },
        ControlWord { control: Control::piece(32).ends(), source, ..ControlWord::default() },
        ControlWord { control: Control::new(Opcode::Copy, 1), ..ControlWord::default() },
    ]);
    let done = bench.run();
    let told: Vec<_> = done.iter().map(|d| (d.work.kind, d.work.bytes, d.work.first, d.last)).collect();
    let copy = Kind::Control(Task::Copy);
    assert_eq!(told, [(copy, 16, true, false), (copy, 32, false, true), (copy, 1, true, true)]);
    assert_eq!(done[2].outcome, Outcome::Failed(Fault::Refused(Refusal::NoAddress(Field::Destination))));
}

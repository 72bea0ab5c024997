//! The call of version 1.0.

use super::*;
use crate::spu::ctl;

/// The address of the arguments.
const ARGUMENT: u64 = DATA + 0x1000;

fn old(processor: Processor, cores: usize) -> Guest {
    let mut guest = guest(processor, cores);
    guest.machine.set_version(0, GROUP, 1, 0).expect("version 1");
    guest
}

impl Guest {
    fn argument(&mut self, words: &[u64]) {
        self.write(ARGUMENT, &words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>());
    }

    fn configure(&mut self, cpu: usize, words: [u64; 4]) -> Status {
        self.argument(&words);
        self.status(cpu, function::REQUEST, [1, ARGUMENT, 32])
    }

    fn tail(&mut self, cpu: usize, index: u64, asynchronous: u64) -> Status {
        // The call ignores the unit's number.
        self.argument(&[99, index, asynchronous]);
        self.status(cpu, function::REQUEST, [2, ARGUMENT, 24])
    }
}

/// The order is alignment, subfunction and size, address, then the subfunction's own checks.
#[test]
fn order() {
    let mut guest = old(Processor::T2, 2);
    let status = |guest: &mut Guest, a, b, c| guest.status(0, function::REQUEST, [a, b, c]);
    assert_eq!(status(&mut guest, 9, 0x8000_0001, 1), Status::BadAlignment);
    assert_eq!(status(&mut guest, 9, 0x8000_0000, 32), Status::Invalid);
    for (subfunction, size) in [(1, 24), (1, 40), (2, 32), (2, 16), (1, 0)] {
        assert_eq!(status(&mut guest, subfunction, 0x8000_0000, size), Status::Invalid);
    }
    assert_eq!(status(&mut guest, 1, 0x8000_0000, 32), Status::NoRealAddress);
    assert_eq!(status(&mut guest, 1, REAL + BYTES - 24, 32), Status::NoRealAddress);
    assert_eq!(
        status(&mut guest, 2, REAL + BYTES - 24, 24),
        Status::Invalid,
        "there, but no queue is configured"
    );

    let nowhere = 0x8000_0000;
    assert_eq!(guest.configure(0, [8, nowhere, nowhere, 4]), Status::Invalid, "no such unit");
    guest.machine.withhold(1, QueueType::Mau);
    assert_eq!(guest.configure(0, [1, nowhere, nowhere, 4]), Status::Ok, "a unit that is absent");
    assert_eq!(guest.configure(0, [7, nowhere, nowhere, 4]), Status::Ok, "a unit that is absent");
    for (end, entries) in
        [(nowhere, 4), (nowhere + 255, 4), (nowhere + 256, 3), (nowhere - 64, 1), (nowhere, 0)]
    {
        assert_eq!(guest.configure(0, [0, nowhere, end, entries]), Status::Invalid);
    }
    assert_eq!(
        guest.configure(0, [0, nowhere, nowhere, 1 << 58]),
        Status::Invalid,
        "its bytes are no number"
    );
    assert_eq!(guest.configure(0, [0, nowhere, nowhere + 256, 4]), Status::NoRealAddress);
    assert_eq!(guest.configure(0, [0, QUEUE, QUEUE + 256, 4]), Status::Ok);
    assert_eq!(guest.tail(0, 4, 1), Status::Invalid);
    assert_eq!(guest.tail(8, 0, 1), Status::Invalid, "the caller's own unit has no queue");
    assert_eq!(guest.tail(0, 0, 1), Status::Ok);
}

#[test]
fn synchronous_and_asynchronous() {
    for (processor, model) in [(Processor::T1, Model::T1), (Processor::T2, Model::T2)] {
        let mut guest = old(processor, 1);
        assert_eq!(guest.configure(0, [0, QUEUE, QUEUE + 256, 4]), Status::Ok);
        let words = [1_u64, 0x80 | 1, ctl::command(model, 0, 2), DATA, 0, 0, 0, 0];
        let store = [1_u64, 0x80 | 1, ctl::command(model, 1, 2), DATA + 0x100, 0, 0, 0, 0];
        for (i, entry) in (0..).zip([words, store]) {
            guest
                .write(QUEUE + 64 * i, &entry.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>());
        }
        assert_eq!(guest.tail(0, 1, 1), Status::Ok);
        assert_eq!(guest.word(QUEUE), 2, "busy");
        assert_eq!(guest.configure(0, [0, 0, 0, 0]), Status::WouldBlock);
        guest.advance(1);
        assert_eq!(guest.word(QUEUE), 3);
        assert_eq!(guest.machine.interrupts(0).len(), 1);
        assert_eq!(guest.tail(0, 1, 1), Status::Ok);
        assert!(guest.machine.interrupts(0).is_empty(), "it was seen");
        assert_eq!(guest.tail(0, 2, 0), Status::Ok);
        assert_eq!(guest.word(QUEUE + 64), 3, "the call has waited");
        assert_eq!(guest.machine.take_events().len(), 1);
        assert_eq!(guest.read(DATA + 0x100, 16), guest.read(DATA, 16));
        assert_eq!(guest.configure(0, [0, 0, 0, 0]), Status::Ok);
        assert_eq!(guest.tail(0, 0, 0), Status::Invalid, "no queue any more");
        assert_eq!(guest.configure(0, [0, 0, 0, 0]), Status::Ok);
    }
}

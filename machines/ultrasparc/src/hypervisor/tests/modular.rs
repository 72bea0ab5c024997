//! Modular arithmetic through the hypervisor's queue.

use super::*;
use crate::spu::ctl;

const START: u64 = 1;
const CONTINUED: u64 = 2;
const END: u64 = 0x80;

/// An entry: type, operation, words, MPA, MA_ADDR, NP.
fn entry(model: Model, kind: u64, op: u8, len: usize, mpa: u64, ma_addr: u64, np: u64) -> [u64; 8] {
    [1, kind, ctl::command(model, op, len), mpa, ma_addr, np, 0, 0]
}

impl Guest {
    fn put_entries(&mut self, first: u64, entries: &[[u64; 8]]) {
        for (i, entry) in (first..).zip(entries) {
            let bytes: Vec<u8> = entry.iter().flat_map(|word| word.to_be_bytes()).collect();
            self.write(QUEUE + 64 * i, &bytes);
        }
    }

    fn put_words(&mut self, at: u64, words: &[u64]) {
        self.write(at, &words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>());
    }

    /// The state and error of each entry.
    fn states(&self, entries: std::ops::Range<u64>) -> Vec<(u64, u64)> {
        entries.map(|entry| (self.word(QUEUE + 64 * entry), self.word(QUEUE + 64 * entry + 48))).collect()
    }
}

const A: [u64; 3] = [0x017c07f149c5fbe7, 0x1d3fa02f8c9668dc, 0x045a16f73049ccde];
const B: [u64; 3] = [0x5a75c6f94143432c, 0x771c2f2cd244c515, 0xb390005c4ad05215];
const N: [u64; 3] = [0x0563db9e12344321, 0xdc15fdf3776a798b, 0xd663acd99426505f];
const X: [u64; 3] = [0xc6170e73f5540f61, 0xa1abc5e6438cf9d4, 0xb15deb102bb002a1];
const NP: u64 = 0x3c53382cf10eff1f;

/// A multiplication with all that goes before and after it, in five entries; `at` is the place of the numbers.
fn multiplication(model: Model, at: u64) -> [[u64; 8]; 5] {
    [
        entry(model, START, 0, 3, at, 0, 0),
        entry(model, CONTINUED, 0, 3, at + 0x20, 3, 0),
        entry(model, CONTINUED, 0, 3, at + 0x40, 6, 0),
        entry(model, CONTINUED, 2, 3, 0, 0x0c_0906_0300, NP),
        entry(model, END, 1, 3, at + 0x60, 12, 0),
    ]
}

#[test]
fn a_job_of_five_entries() {
    for (processor, model) in
        [(Processor::T1, Model::T1), (Processor::T2, Model::T2), (Processor::T3, Model::RainbowFalls)]
    {
        let mut guest = guest(processor, 2);
        let cpu = model.strands() + 2;
        let handle = guest.mau(cpu, 8);
        for (at, words) in [(DATA, A), (DATA + 0x20, B), (DATA + 0x40, N)] {
            guest.put_words(at, &words);
        }
        guest.put_entries(0, &multiplication(model, DATA));
        guest.value(cpu, function::SETTAIL, [handle, 320, 0]);
        assert_eq!(guest.states(0..2), [(2, 0), (1, 0)], "the first is busy, the second pending");
        for done in 1..=5 {
            assert!(guest.machine.interrupts(cpu).is_empty(), "the guest hears of the end of a job");
            assert_eq!(guest.advance(1).len(), 1);
            assert_eq!(guest.gethead(cpu, handle), 64 * done);
        }
        assert_eq!(guest.states(0..5), [(3, 0); 5]);
        assert_eq!([0, 8, 16].map(|i| guest.word(DATA + 0x60 + i)), X);
        let devino = guest.value(cpu, function::QHANDLE_TO_DEVINO, [handle, 0, 0]);
        assert_eq!(guest.machine.interrupts(cpu), [devino]);
        guest.value(cpu, function::SETHEAD_MARKER, [handle, 320, 0]);
        assert!(guest.machine.interrupts(cpu).is_empty());
    }
}

/// An error in a job takes all entries up to its end; the next job goes on.
#[test]
fn errors_in_jobs() {
    let bad_entries = |model| {
        [
            (entry(model, CONTINUED, 5, 3, 0, 0, 0), 1, "no such operation"),
            (entry(model, CONTINUED, 7, 3, 0, 0, 0), 1, "no such operation"),
            (entry(model, CONTINUED, 0, 3, REAL - 8, 0, 0), 2, "an address that is none"),
            (entry(model, CONTINUED, 0, 3, REAL + BYTES - 16, 0, 0), 2, "its end is none"),
            (entry(model, CONTINUED, 0, 3, DATA + 4, 0, 0), 2, "not at a word"),
        ]
    };
    for (processor, model) in [(Processor::T1, Model::T1), (Processor::T2, Model::T2)] {
        for (bad, error, why) in bad_entries(model) {
            let mut guest = guest(processor, 1);
            let handle = guest.mau(0, 16);
            let good = multiplication(model, DATA);
            let mut job = good;
            job[1] = bad;
            guest.put_entries(0, &job);
            guest.put_entries(5, &good);
            guest.value(0, function::SETTAIL, [handle, 640, 0]);
            guest.advance(100);
            let failed = (4, error);
            assert_eq!(guest.states(0..5), [(3, 0), failed, failed, failed, failed], "{why}");
            assert_eq!(guest.states(5..10), [(3, 0); 5], "{why}");
            assert_eq!(guest.gethead(0, handle), 640);
        }
    }
    // The unit itself finds operands outside its memory.
    for (processor, model) in [(Processor::T1, Model::T1), (Processor::T2, Model::T2)] {
        let mut guest = guest(processor, 1);
        let handle = guest.mau(0, 4);
        guest.put_entries(0, &[entry(model, START | END, 0, 16, DATA, 150, 0)]);
        guest.value(0, function::SETTAIL, [handle, 64, 0]);
        guest.advance(1);
        assert_eq!(guest.states(0..1), [(4, 1)]);
    }
}

#[test]
fn checks() {
    let mut guest = guest(Processor::T2, 2);
    let handle = guest.mau(0, 4);
    let mut status = |cpu, offset| guest.status(cpu, function::SETTAIL, [handle, offset, 0]);
    assert_eq!(status(8, 1), Status::Invalid);
    assert_eq!(status(0, 1), Status::Invalid);
    assert_eq!(status(0, 256), Status::Invalid);
    assert_eq!(status(0, 192), Status::Ok);
    assert_eq!(guest.status(0, function::QCONF, [1, handle, 0]), Status::WouldBlock);
    assert_eq!(guest.status(0, function::QCONF, [1, QUEUE, 4]), Status::WouldBlock);
    guest.advance(100);
    assert_eq!(guest.status(0, function::QCONF, [1, handle, 0]), Status::Ok);
    assert_eq!(guest.status(0, function::QCONF, [1, handle, 0]), Status::Invalid);
}

/// Erratum 192 of T2: control words wait while a store of modular arithmetic is under way.
#[test]
fn stores_and_control_words() {
    let ten = |_: &Work| 10;
    for (processor, model, waits) in
        [(Processor::T2, Model::T2, true), (Processor::T3, Model::RainbowFalls, false)]
    {
        let mut guest = guest(processor, 1);
        let cwq = guest.value(0, function::QCONF, [2, QUEUE + 0x400, 4]);
        let mau = guest.mau(0, 4);
        guest.put_entries(0, &[entry(model, START | END, 1, 3, DATA, 0, 0)]);
        guest.put(16, &[copy(DATA + 0x100, DATA + 0x200); 3]);
        guest.value(0, function::SETTAIL, [cwq, 64, 0]);
        assert!(guest.machine.advance(&mut guest.memory, 5, &ten).is_empty());
        // The word under way is finished before the store begins.
        guest.value(0, function::SETTAIL, [mau, 64, 0]);
        assert_eq!(guest.machine.take_events().len(), usize::from(waits));
        guest.value(0, function::SETTAIL, [cwq, 192, 0]);
        let events = guest.machine.advance(&mut guest.memory, 9, &ten);
        assert_eq!(events.is_empty(), waits, "no word while the store lasts");
        guest.machine.advance(&mut guest.memory, 100, &ten);
        guest.machine.advance(&mut guest.memory, 100, &ten);
        assert_eq!(guest.gethead(0, cwq), 192, "enabled again");
        assert_eq!(guest.states(0..1), [(3, 0)]);
    }
}

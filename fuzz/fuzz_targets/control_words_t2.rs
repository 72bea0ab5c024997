//! Control words of T2 and of Rainbow Falls, of any 64 bytes: through the hypervisor none leaves its partition's memory, on
//! the fast path none leaves its page, what a queue was given ends, and revocation at any step stops it.
#![cfg_attr(fuzzing, no_main)]

use std::cell::Cell;

use libfuzzer_sys::fuzz_target;
use millstream_ultrasparc::hypervisor::{GROUP, Machine, Range, Status, function, user_register};
use millstream_ultrasparc::processor::Processor;
use millstream_ultrasparc::spu::{BusError, Physical};

/// The partition's memory is the middle of the machine's. Real addresses are a page of 4 MB from physical ones.
const PAGE: u64 = 4 << 20;
const MEMORY: u64 = 3 * PAGE;
const WORDS: usize = 7;
const QUEUE_BYTES: u64 = 8 * 64;

/// Memory that notes what is touched outside the partition's.
struct Fenced {
    bytes: Vec<u8>,
    escaped: Cell<Option<u64>>,
}

impl Fenced {
    fn check(&self, address: u64, len: usize) {
        if address < PAGE || address.saturating_add(len as u64) > 2 * PAGE {
            self.escaped.set(Some(address));
        }
    }
}

impl Physical for Fenced {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), BusError> {
        self.check(address, to.len());
        self.bytes.read(address, to)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), BusError> {
        self.check(address, from.len());
        self.bytes.write(address, from)
    }
}

/// Makes addresses likelier to be inside.
fn tame(word: &mut [u8], base: u64) {
    for (i, field) in word.chunks_exact_mut(8).enumerate().skip(1) {
        let address = u64::from_be_bytes(field.try_into().expect("8 bytes"));
        if address != 0 && word_bit(address, i) {
            field.copy_from_slice(&(base + address % (PAGE + 64)).to_be_bytes());
        }
    }
}

fn word_bit(address: u64, i: usize) -> bool {
    address >> (i + 40) & 1 == 0
}

thread_local! {
    static MEMORY_OF_ALL: Cell<Vec<u8>> = Cell::new(vec![0x5a; MEMORY as usize]);
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, bytes)) = data.split_first() else { return };
    let mut memory = Fenced { bytes: MEMORY_OF_ALL.take(), escaped: Cell::new(None) };
    let processor = if how & 1 == 0 { Processor::T2 } else { Processor::T3 };
    let user = how & 3 == 3;
    let mut machine = Machine::new(processor, 1);
    machine.set_memory(0, vec![Range { real: 2 * PAGE, physical: PAGE, bytes: PAGE }]);
    machine.set_version(0, GROUP, 2, 1).expect("version 2");
    let (function, arguments) =
        if user { (function::ULQCONF, [2 * PAGE, 3, 8, 0]) } else { (function::QCONF, [2, 2 * PAGE, 8, 0]) };
    let reply = machine.hypercall(0, function, arguments, &mut memory);
    assert_eq!(reply.status, Status::Ok);
    let handle = reply.results[0];
    let revoke_at = usize::from(how >> 2 & 15);
    for (i, chunk) in bytes.chunks(64).take(WORDS).enumerate() {
        let mut word = [0; 64];
        word[..chunk.len()].copy_from_slice(chunk);
        if how & 0x40 != 0 {
            tame(&mut word, if user { 0 } else { 2 * PAGE });
        }
        let at = 64 * i as u64;
        memory.bytes.write(PAGE + at, &word).expect("the queue");
        let tail = at + 64;
        if user {
            machine.user_store(0, user_register::TAIL, tail);
        } else {
            machine.hypercall(0, function::SETTAIL, [handle, tail, 0, 0], &mut memory);
        }
        if user && i == revoke_at {
            machine.hypercall(0, function::ULQCONF, [handle, 0, 0, 0], &mut memory);
            assert!(machine.is_idle());
        }
        if how & 0x80 != 0 {
            machine.advance(&mut memory, 1, &|_| 2);
        }
    }
    machine.advance(&mut memory, 100, &|_| 1);
    assert!(machine.is_idle(), "every word ends");
    assert_eq!(memory.escaped.get(), None);
    let guard = |span: std::ops::Range<u64>| memory.bytes[span.start as usize..span.end as usize].iter();
    assert!(guard(PAGE - 4096..PAGE).chain(guard(2 * PAGE..2 * PAGE + 4096)).all(|byte| *byte == 0x5a));
    memory.bytes[PAGE as usize..][..QUEUE_BYTES as usize].fill(0);
    MEMORY_OF_ALL.set(memory.bytes);
});

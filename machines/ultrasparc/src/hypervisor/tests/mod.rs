//! The calls, with one error at a time and with several at once; and work through them.

mod control_words;
mod fast_path;
mod machine;
mod modular;
mod order;
mod request;

use super::*;
use crate::processor::Processor;
use crate::spu::{
    Auth, Chaining, Cipher, CipherKind, Completed, Control, ControlWord, Fault, Field, Model, Opcode,
    Outcome, Physical, Refusal, WORD_BYTES, Work, read_word,
};

/// The partition's memory, whose real addresses are not the physical ones.
const REAL: u64 = 0x10_0000;
const PHYSICAL: u64 = 0x4000;
const BYTES: u64 = 0x8000;

/// The real addresses of the queue, and of data.
const QUEUE: u64 = REAL;
const DATA: u64 = REAL + 0x2000;

/// A machine with a partition that has the memory above and all cores, and a version agreed on.
struct Guest {
    machine: Machine,
    memory: Vec<u8>,
}

fn guest(processor: Processor, cores: usize) -> Guest {
    let mut machine = Machine::new(processor, cores);
    machine.set_memory(0, vec![Range { real: REAL, physical: PHYSICAL, bytes: BYTES }]);
    machine.set_version(0, GROUP, 2, 1).expect("version 2");
    let memory = (0..PHYSICAL + BYTES + 0x4000).map(|i| (i * 13 + i / 256) as u8).collect();
    Guest { machine, memory }
}

/// A cost of one cycle for each piece of work.
fn one(_: &Work) -> u64 {
    1
}

impl Guest {
    fn call(&mut self, cpu: usize, function: u64, arguments: [u64; 3]) -> Reply {
        let [a, b, c] = arguments;
        self.machine.hypercall(cpu, function, [a, b, c, 0], &mut self.memory)
    }

    /// Makes a call, and answers its status.
    fn status(&mut self, cpu: usize, function: u64, arguments: [u64; 3]) -> Status {
        self.call(cpu, function, arguments).status
    }

    /// Makes a call that must succeed, and answers its first result.
    fn value(&mut self, cpu: usize, function: u64, arguments: [u64; 3]) -> u64 {
        let reply = self.call(cpu, function, arguments);
        assert_eq!(reply.status, Status::Ok, "{function:#x} {arguments:x?}");
        reply.results[0]
    }

    fn cwq(&mut self, cpu: usize, entries: u64) -> u64 {
        self.value(cpu, function::QCONF, [QueueType::Cwq as u64, QUEUE, entries])
    }

    fn mau(&mut self, cpu: usize, entries: u64) -> u64 {
        self.value(cpu, function::QCONF, [QueueType::Mau as u64, QUEUE, entries])
    }

    fn write(&mut self, real: u64, bytes: &[u8]) {
        self.memory.write(real - REAL + PHYSICAL, bytes).expect("the partition's memory");
    }

    fn read(&self, real: u64, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        self.memory.read(real - REAL + PHYSICAL, &mut read).expect("the partition's memory");
        read
    }

    fn word(&self, real: u64) -> u64 {
        read_word(&self.memory, real - REAL + PHYSICAL).expect("the partition's memory")
    }

    /// Writes control words from an entry on.
    fn put(&mut self, entry: u64, words: &[ControlWord]) {
        for (i, word) in (entry..).zip(words) {
            self.write(QUEUE + i * WORD_BYTES, &word.build());
        }
    }

    /// The control of an entry.
    fn control(&self, entry: u64) -> Control {
        Control(self.word(QUEUE + entry * WORD_BYTES))
    }

    fn advance(&mut self, cycles: u64) -> Vec<Event> {
        self.machine.advance(&mut self.memory, cycles, &one)
    }

    fn gethead(&mut self, cpu: usize, handle: u64) -> u64 {
        self.value(cpu, function::GETHEAD, [handle, 0, 0])
    }
}

/// A copy of 16 bytes.
fn copy(from: u64, to: u64) -> ControlWord {
    ControlWord {
        control: Control::new(Opcode::Copy, 16),
        source: from,
        destination: to,
        ..ControlWord::default()
    }
}

const ALL: [u64; 9] = [
    function::REQUEST,
    function::QCONF,
    function::QINFO,
    function::GETHEAD,
    function::GETTAIL,
    function::SETTAIL,
    function::QHANDLE_TO_DEVINO,
    function::SETHEAD_MARKER,
    function::ULQCONF,
];

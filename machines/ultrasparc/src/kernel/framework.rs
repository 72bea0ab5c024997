//! The framework's path: a system call for each operation, whose objects are copied into the kernel and back.
//!
//! A process that uses it knows nothing of queues. It gives control words with its own addresses, or the numbers of a
//! power. The kernel writes words and entries with real addresses into its queues, has the hypervisor take them, and
//! waits for the interrupt. The unit never sees the process's memory, so a transform in place is made with two
//! buffers here.

use super::bus::KERNEL_MEMORY;
use super::{CPU, Kernel};
use crate::arithmetic::negative_inverse;
use crate::hypervisor::{QueueType, function};
use crate::linux::Errno;
use crate::memory::Memory;
use crate::spu::{Control, ControlWord, Field, Physical, Task, WORD_BYTES, ctl, read_word};

/// Entries of both queues.
const ENTRIES: u64 = 64;
const QUEUE_BYTES: u64 = ENTRIES * WORD_BYTES;
/// The offset of copied objects in the kernel's memory, after both queues.
const OBJECTS: u64 = 2 * QUEUE_BYTES;
/// The kernel's memory: 64 KB of source, as much of destination, keys and gaps.
pub(super) const MEMORY_BYTES: usize = 256 << 10;

/// The most words of one operation.
const MOST_WORDS: u64 = 16;
/// The longest number: the unit's memory holds five.
const MOST_NUMBER: usize = 32;

/// More cycles than any work takes.
const LONG: u64 = 1 << 40;

/// The kernel's queues, once they are configured, and the place of the next entry.
#[derive(Default)]
pub(super) struct Queues {
    words: Option<Queue>,
    modular: Option<Queue>,
}

#[derive(Clone, Copy)]
struct Queue {
    handle: u64,
    /// The queue's offset in the kernel's memory.
    base: u64,
    tail: u64,
}

/// An object that is copied back when an operation is done.
struct Copied {
    kernel: u64,
    process: u64,
    bytes: usize,
}

/// Places in the kernel's memory, given out one after the other.
struct Places {
    next: u64,
}

impl Places {
    fn take(&mut self, bytes: usize) -> Result<u64, Errno> {
        let at = self.next;
        self.next = (at + bytes as u64).next_multiple_of(64);
        if self.next as usize > MEMORY_BYTES { Err(Errno(libc::EINVAL)) } else { Ok(KERNEL_MEMORY + at) }
    }
}

impl Kernel {
    /// Executes one operation of `count` words at `words`.
    pub(super) fn operation(&mut self, memory: &mut Memory, words: u64, count: u64) -> Result<u64, Errno> {
        if !self.model.has_queue() {
            return Err(Errno(libc::ENODEV));
        }
        if !(1..=MOST_WORDS).contains(&count) {
            return Err(Errno(libc::EINVAL));
        }
        let mut block = Vec::new();
        for index in 0..count {
            let mut bytes = [0; 64];
            let address = words.checked_add(index * WORD_BYTES).ok_or(Errno(libc::EFAULT))?;
            memory.read(address, &mut bytes).map_err(|_| Errno(libc::EFAULT))?;
            block.push(ControlWord::parse(&bytes));
        }
        self.accounts.operations += 1;
        let mut places = Places { next: OBJECTS };
        let results = self.copy_in(memory, &mut block, &mut places)?;
        self.submit_words(memory, &block)?;
        self.copy_out(memory, &results)
    }

    /// Copies all objects that the words name into the kernel, and gives the words their addresses there.
    fn copy_in(
        &mut self,
        memory: &mut Memory,
        block: &mut [ControlWord],
        places: &mut Places,
    ) -> Result<Vec<Copied>, Errno> {
        let asked = block[0];
        let task = Task::of(self.model, asked.control).map_err(|_| Errno(libc::EINVAL))?;
        if !asked.control.start_of_block() || asked.control.gather() {
            return Err(Errno(libc::EINVAL));
        }
        let mut results = Vec::new();
        let mut source = 0;
        for word in &mut *block {
            let bytes = task.source_len(word.control);
            source += bytes;
            word.source = self.bring(memory, word.source, bytes, places)?;
        }
        let first = &mut block[0];
        for operand in task.operands(&asked) {
            let at = self.bring(memory, operand.address, operand.len, places)?;
            set(first, operand.field, at);
            if operand.write {
                results.push(Copied { kernel: at, process: operand.address, bytes: operand.len });
            }
        }
        let bytes = task.destination_len(asked.control, source);
        let in_place = task.in_place(asked.control);
        if bytes > 0 {
            let process = if in_place { asked.source } else { asked.destination };
            first.destination = places.take(bytes)?;
            results.push(Copied { kernel: first.destination, process, bytes });
        }
        if in_place {
            first.control = Control(first.control.0 & !Control::IN_PLACE);
        }
        Ok(results)
    }

    /// Copies an object of the process into the kernel, and answers its address there. An address of zero stays zero.
    fn bring(
        &mut self,
        memory: &Memory,
        address: u64,
        bytes: usize,
        places: &mut Places,
    ) -> Result<u64, Errno> {
        if address == 0 || bytes == 0 {
            return Ok(0);
        }
        let at = places.take(bytes)?;
        let start = (at - KERNEL_MEMORY) as usize;
        memory.read(address, &mut self.own[start..start + bytes]).map_err(|_| Errno(libc::EFAULT))?;
        self.accounts.bytes_copied += bytes as u64;
        Ok(at)
    }

    fn copy_out(&mut self, memory: &mut Memory, results: &[Copied]) -> Result<u64, Errno> {
        for &Copied { kernel, process, bytes } in results {
            let start = (kernel - KERNEL_MEMORY) as usize;
            memory.write(process, &self.own[start..start + bytes]).map_err(|_| Errno(libc::EFAULT))?;
            self.accounts.bytes_copied += bytes as u64;
        }
        Ok(0)
    }

    /// Writes the words into the queue, has them executed, and checks their status.
    fn submit_words(&mut self, memory: &mut Memory, block: &[ControlWord]) -> Result<(), Errno> {
        let queue = match self.queues.words {
            Some(queue) => queue,
            None => self.configure(memory, QueueType::Cwq, 0)?,
        };
        let places: Vec<u64> = (0..block.len() as u64)
            .map(|i| queue.base + (queue.tail + i * WORD_BYTES) % QUEUE_BYTES)
            .collect();
        for (&at, word) in places.iter().zip(block) {
            self.own.write(at, &word.build()).map_err(|_| Errno(libc::EINVAL))?;
        }
        let tail = (queue.tail + block.len() as u64 * WORD_BYTES) % QUEUE_BYTES;
        let submitted = self.call(memory, function::SETTAIL, [queue.handle, tail, 0]);
        if submitted.is_err() {
            return submitted.map(|_| ());
        }
        self.queues.words = Some(Queue { tail, ..queue });
        self.wait(memory, queue.handle, tail)?;
        for at in places {
            let control = Control(read_word(&self.own, at).map_err(|_| Errno(libc::EIO))?);
            if !control.done() || control.protocol_error() || control.hardware_error() {
                return Err(Errno(libc::EIO));
            }
        }
        Ok(())
    }

    fn configure(&mut self, memory: &mut Memory, queue_type: QueueType, base: u64) -> Result<Queue, Errno> {
        let arguments = [queue_type as u64, KERNEL_MEMORY + base, ENTRIES];
        let [handle, ..] = self.call(memory, function::QCONF, arguments)?;
        let queue = Queue { handle, base, tail: 0 };
        match queue_type {
            QueueType::Cwq => self.queues.words = Some(queue),
            QueueType::Mau => self.queues.modular = Some(queue),
        }
        Ok(queue)
    }

    /// Sleeps until the interrupt, whose handler asks for the head and marks it as seen.
    fn wait(&mut self, memory: &mut Memory, handle: u64, tail: u64) -> Result<(), Errno> {
        self.advance(memory, LONG);
        if self.machine.interrupts(CPU).is_empty() {
            return Err(Errno(libc::EIO));
        }
        self.accounts.interrupts += 1;
        let [head, ..] = self.call(memory, function::GETHEAD, [handle, 0, 0])?;
        self.call(memory, function::SETHEAD_MARKER, [handle, head, 0])?;
        if head == tail { Ok(()) } else { Err(Errno(libc::EIO)) }
    }
}

/// Gives a field of a word another address.
fn set(word: &mut ControlWord, field: Field, address: u64) {
    *match field {
        Field::Source => &mut word.source,
        Field::AuthKey => &mut word.auth_key,
        Field::AuthIv => &mut word.auth_iv,
        Field::FinalAuthState => &mut word.final_auth_state,
        Field::CipherKey => &mut word.cipher_key,
        Field::CipherIv => &mut word.cipher_iv,
        Field::Destination => &mut word.destination,
    } = address;
}

/// The words of a power's request: addresses of result, base, exponent and modulus, then their length.
const REQUEST_WORDS: usize = 5;

/// One operation of modular arithmetic for the unit.
struct Step {
    op: u8,
    words: usize,
    address: u64,
    operands: [u8; 6],
}

impl Kernel {
    /// `base ^ exponent mod modulus`, numbers of up to 32 words with the least significant first.
    pub(super) fn power(&mut self, memory: &mut Memory, request: u64) -> Result<u64, Errno> {
        let [result, base, exponent, modulus, words] = numbers::<REQUEST_WORDS>(memory, request)?;
        let words = usize::try_from(words).ok().filter(|words| (1..=MOST_NUMBER).contains(words));
        let words = words.ok_or(Errno(libc::EINVAL))?;
        self.accounts.operations += 1;
        self.accounts.bytes_copied += 32 * words as u64;
        let number = |address| {
            let mut value = vec![0; words];
            for (address, word) in (address..).step_by(8).zip(&mut value) {
                *word = numbers::<1>(memory, address)?[0];
            }
            Ok::<_, Errno>(value)
        };
        let (base, mut exponent, modulus) = (number(base)?, number(exponent)?, number(modulus)?);
        if modulus[0] & 1 == 0 {
            return Err(Errno(libc::EINVAL));
        }
        // The unit reads the exponent from its most significant word.
        exponent.reverse();
        let unit = times_power_of_two(&one(words), 64 * words, &modulus);
        let base = times_power_of_two(&base, 64 * words, &modulus);
        let mut places = Places { next: OBJECTS };
        let mut put = |value: &[u64]| {
            let at = places.take(8 * words)?;
            for (offset, word) in (at - KERNEL_MEMORY..).step_by(8).zip(value) {
                self.own[offset as usize..][..8].copy_from_slice(&word.to_be_bytes());
            }
            Ok::<_, Errno>(at)
        };
        let addresses = [&modulus, &base, &unit, &exponent, &one(words)].map(|value| put(value));
        let [modulus_at, base_at, unit_at, exponent_at, one_at] = addresses;
        let steps = steps(words, [modulus_at?, base_at?, unit_at?, exponent_at?, one_at?]);
        self.submit_steps(memory, &steps, negative_inverse(modulus[0]))?;
        self.copy_out(
            memory,
            &[Copied { kernel: steps[steps.len() - 1].address, process: result, bytes: 8 * words }],
        )
    }

    fn submit_steps(&mut self, memory: &mut Memory, steps: &[Step], np: u64) -> Result<(), Errno> {
        let queue = match self.queues.modular {
            Some(queue) => queue,
            None => self.configure(memory, QueueType::Mau, QUEUE_BYTES)?,
        };
        let mut tail = queue.tail;
        let mut places = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let flags = u64::from(index == 0) | if index + 1 == steps.len() { 0x80 } else { 0 };
            let operands = step.operands.iter().rev().fold(0, |all, &one| all << 8 | u64::from(one));
            let control = ctl::command(self.model, step.op, step.words);
            let entry = [PENDING, flags, control, step.address, operands, np, 0, 0];
            let at = queue.base + tail;
            for (offset, word) in (at..).step_by(8).zip(entry) {
                self.own.write(offset, &word.to_be_bytes()).map_err(|_| Errno(libc::EINVAL))?;
            }
            places.push(at);
            tail = (tail + WORD_BYTES) % QUEUE_BYTES;
        }
        self.call(memory, function::SETTAIL, [queue.handle, tail, 0])?;
        self.queues.modular = Some(Queue { tail, ..queue });
        self.wait(memory, queue.handle, tail)?;
        let done = places.iter().all(|&at| read_word(&self.own, at) == Ok(ENTRY_DONE));
        if done { Ok(()) } else { Err(Errno(libc::EIO)) }
    }
}

/// States of an entry.
const PENDING: u64 = 1;
const ENTRY_DONE: u64 = 3;

/// The steps of a power on the unit: five numbers in its memory, of which the base's place and the exponent's are
/// used twice.
fn steps(words: usize, [modulus, base, unit, exponent, one]: [u64; 5]) -> Vec<Step> {
    const LOAD: u8 = 0;
    const STORE: u8 = 1;
    const MULTIPLY: u8 = 2;
    const EXPONENTIATE: u8 = 4;
    let place = |index: usize| (index * words) as u8;
    let [n, a, m, x, e] = [0, 1, 2, 3, 4].map(place);
    let load = |at, address| Step { op: LOAD, words, address, operands: [at, 0, 0, 0, 0, 0] };
    let length = (8 * words - 1) as u8;
    vec![
        load(n, modulus),
        load(a, base),
        load(x, unit),
        load(e, exponent),
        Step { op: EXPONENTIATE, words, address: 0, operands: [a, m, n, x, e, length] },
        load(a, one),
        Step { op: MULTIPLY, words, address: 0, operands: [x, a, n, m, e, 0] },
        Step { op: STORE, words, address: one, operands: [e, 0, 0, 0, 0, 0] },
    ]
}

fn one(words: usize) -> Vec<u64> {
    let mut one = vec![0; words];
    one[0] = 1;
    one
}

/// `a · 2^bits mod n`, by doubling. The kernel's driver had to do as much, because the unit only multiplies numbers
/// that are in Montgomery's form already.
fn times_power_of_two(a: &[u64], bits: usize, n: &[u64]) -> Vec<u64> {
    let mut a = a.to_vec();
    crate::arithmetic::reduce_once(&mut a, 0, n);
    for _ in 0..bits {
        let mut carry = 0;
        for word in &mut a {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        crate::arithmetic::reduce_once(&mut a, carry, n);
    }
    a
}

/// Reads words of a process's memory.
fn numbers<const N: usize>(memory: &Memory, address: u64) -> Result<[u64; N], Errno> {
    let mut bytes = [[0; 8]; N];
    memory.read(address, bytes.as_flattened_mut()).map_err(|_| Errno(libc::EFAULT))?;
    Ok(bytes.map(u64::from_be_bytes))
}

//! Queues of processes: identity, doorbells, revocation, moving.

use super::*;
use crate::spu::status;

const PAGE: u64 = 4 << 20;

/// A machine of two cores, whose one partition has `pages` pages, at real addresses that are physical ones less one page.
fn machine(pages: u64) -> (Machine, Vec<u8>) {
    let mut machine = Machine::new(Processor::T3, 2);
    machine.set_memory(0, vec![Range { real: PAGE, physical: 0, bytes: pages * PAGE }]);
    machine.set_version(0, GROUP, 2, 1).expect("version 2.1");
    (machine, vec![0; (pages * PAGE) as usize])
}

fn grant(machine: &mut Machine, memory: &mut Vec<u8>, cpu: usize, page: u64) -> u64 {
    let reply = machine.hypercall(cpu, function::ULQCONF, [PAGE * (page + 1), 3, 16, 0], memory);
    assert_eq!(reply.status, Status::Ok);
    reply.results[0]
}

/// A copy inside a page.
fn inside() -> ControlWord {
    copy(0x1000, 0x2000)
}

fn put(memory: &mut Vec<u8>, page: u64, entry: u64, word: ControlWord, data: u8) {
    memory.write(page * PAGE + 64 * entry, &word.build()).expect("memory");
    memory.write(page * PAGE + 0x1000, &[data; 16]).expect("memory");
}

fn result(memory: &[u8], page: u64) -> &[u8] {
    &memory[(page * PAGE + 0x2000) as usize..][..16]
}

#[test]
fn without_the_hypervisor_on_the_way() {
    let (mut machine, mut memory) = machine(1);
    machine.set_context(3, 42);
    assert_eq!(machine.user_load(3, user_register::STATUS), Some(0), "no grant");
    grant(&mut machine, &mut memory, 3, 0);
    put(&mut memory, 0, 0, inside(), 7);
    assert!(machine.user_store(3, user_register::TAIL, 64));
    assert_eq!(machine.user_load(3, user_register::STATUS), Some(status::GRANTED | status::BUSY));
    assert_eq!(machine.user_load(3, user_register::HEAD), Some(0));
    machine.advance(&mut memory, 1, &one);
    assert_eq!(result(&memory, 0), [7; 16]);
    assert_eq!(machine.user_load(3, user_register::STATUS), Some(status::GRANTED));
    assert_eq!(machine.user_load(3, user_register::HEAD), Some(64));
    assert_eq!(machine.user_load(3, user_register::TAIL), Some(64));
    assert!(Control(read_word(&memory, 0).expect("the queue")).done(), "the word says so too");
    assert!(machine.interrupts(3).is_empty());
    assert!(!machine.user_store(3, 0x18, 0) && machine.user_load(3, 0x18).is_none());
}

/// Requests of another context, another core and another partition are ignored.
#[test]
fn requests_without_a_grant() {
    let (mut machine, mut memory) = machine(1);
    let other = machine.add_domain(vec![], []);
    machine.set_context(0, 1);
    grant(&mut machine, &mut memory, 0, 0);
    put(&mut memory, 0, 0, inside(), 7);
    // Strand 1 executes another process, strand 8 belongs to the other core, and strand 2 executes the same process.
    machine.set_context(1, 2);
    machine.set_context(8, 1);
    machine.set_context(2, 1);
    for cpu in [1, 8, 999] {
        assert!(machine.user_store(cpu, user_register::TAIL, 64));
        assert_eq!(machine.user_load(cpu, user_register::STATUS), Some(0), "processor {cpu}");
        assert_eq!(machine.user_load(cpu, user_register::TAIL), Some(0));
        assert!(machine.advance(&mut memory, 100, &one).is_empty(), "processor {cpu}");
    }
    assert_ne!(machine.user_load(2, user_register::STATUS), Some(0), "threads of a process share its queue");
    assert!(machine.user_store(2, user_register::TAIL, 64));
    assert_eq!(machine.advance(&mut memory, 100, &one).len(), 1);
    // The same context number in another partition is another process.
    machine.cores[0].partition = other;
    assert_eq!(machine.user_load(0, user_register::STATUS), Some(0));
}

/// A queue is revoked while a word is under way: nothing of it is written, requests are ignored, and it can be
/// granted again.
#[test]
fn revoked_in_the_middle() {
    let (mut machine, mut memory) = machine(1);
    let handle = grant(&mut machine, &mut memory, 0, 0);
    put(&mut memory, 0, 0, inside(), 7);
    machine.user_store(0, user_register::TAIL, 64);
    let long = |_: &Work| 100;
    assert!(machine.advance(&mut memory, 50, &long).is_empty());
    let before = memory.clone();
    let reply = machine.hypercall(5, function::ULQCONF, [handle, 3, 0, 0], &mut memory);
    assert_eq!(reply.status, Status::Ok, "never waits");
    assert!(machine.advance(&mut memory, 1000, &long).is_empty());
    assert_eq!(memory, before);
    assert_eq!(machine.user_load(0, user_register::STATUS), Some(0), "the process sees that it was revoked");
    machine.user_store(0, user_register::TAIL, 64);
    assert!(machine.advance(&mut memory, 1000, &long).is_empty());
    // After a new grant, software does it again. The time of the aborted word is not counted.
    grant(&mut machine, &mut memory, 0, 0);
    machine.user_store(0, user_register::TAIL, 64);
    assert!(machine.advance(&mut memory, 99, &long).is_empty());
    assert_eq!(machine.advance(&mut memory, 1, &long).len(), 1);
    assert_eq!(result(&memory, 0), [7; 16]);
}

/// A process moves to another core in the middle of an operation: its queue follows, and the operation is done again.
#[test]
fn moved_in_the_middle() {
    let (mut machine, mut memory) = machine(1);
    machine.set_context(0, 9);
    let handle = grant(&mut machine, &mut memory, 0, 0);
    put(&mut memory, 0, 0, inside(), 1);
    put(&mut memory, 0, 1, inside(), 2);
    machine.user_store(0, user_register::TAIL, 128);
    let long = |_: &Work| 100;
    machine.advance(&mut memory, 150, &long);
    machine.set_context(0, 0);
    machine.set_context(8, 9);
    let moved = machine.move_user_queue(0, handle, 1).expect("room");
    assert_eq!(machine.user_load(8, user_register::HEAD), Some(64), "one word was finished");
    assert_eq!(machine.user_load(8, user_register::TAIL), Some(128));
    let events = machine.advance(&mut memory, 100, &long);
    assert_eq!(events.iter().map(|event| event.core).collect::<Vec<_>>(), [1]);
    assert_eq!(machine.user_load(8, user_register::HEAD), Some(128));
    assert_eq!(machine.move_user_queue(0, handle, 1), Err(Status::Invalid), "the old handle is none");
    assert_eq!(machine.move_user_queue(0, moved, 7), Err(Status::NoAccess));
    machine.add_domain(vec![], [0]);
    assert_eq!(machine.move_user_queue(8, moved, 0), Err(Status::NoAccess), "another partition's core");
}

/// A unit takes as many processes as a core has strands; a further one would have to wait.
#[test]
fn a_queue_for_each_strand() {
    let (mut machine, mut memory) = machine(9);
    for cpu in 0..8 {
        machine.set_context(cpu, cpu as u16 + 1);
        grant(&mut machine, &mut memory, cpu, cpu as u64);
    }
    machine.set_context(0, 99);
    let reply = machine.hypercall(0, function::ULQCONF, [9 * PAGE, 3, 16, 0], &mut memory);
    assert_eq!(reply.status, Status::WouldBlock);
    // Each process works in its own page, all at once, beside the hypervisor's queue.
    machine.set_context(0, 1);
    let queue = 9 * PAGE;
    let reply = machine.hypercall(0, function::QCONF, [2, queue, 4, 0], &mut memory);
    assert_eq!(reply.status, Status::Ok);
    memory.write(8 * PAGE, &copy(queue + 0x1000, queue + 0x2000).build()).expect("memory");
    memory.write(8 * PAGE + 0x1000, &[0x88; 16]).expect("memory");
    assert_eq!(
        machine.hypercall(0, function::SETTAIL, [reply.results[0], 64, 0, 0], &mut memory).status,
        Status::Ok
    );
    for cpu in 0..8 {
        put(&mut memory, cpu as u64, 0, inside(), cpu as u8 + 1);
        machine.user_store(cpu, user_register::TAIL, 64);
    }
    assert_eq!(machine.advance(&mut memory, 9, &one).len(), 9, "each has one turn in nine");
    for page in 0..8 {
        assert_eq!(result(&memory, page), [page as u8 + 1; 16]);
    }
    assert_eq!(result(&memory, 8), [0x88; 16]);
}

/// A word's error affects only its own process, which goes on, as do the others.
#[test]
fn errors_stay_with_the_process() {
    let (mut machine, mut memory) = machine(2);
    machine.set_context(0, 1);
    machine.set_context(1, 2);
    for cpu in 0..2 {
        grant(&mut machine, &mut memory, cpu, cpu as u64);
    }
    put(&mut memory, 0, 0, ControlWord { destination: PAGE + 0x2000, ..inside() }, 7);
    put(&mut memory, 0, 1, inside(), 7);
    put(&mut memory, 1, 0, inside(), 8);
    machine.user_store(0, user_register::TAIL, 128);
    machine.user_store(1, user_register::TAIL, 64);
    let outcomes: Vec<Completed> =
        machine.advance(&mut memory, 10, &one).into_iter().map(|event| event.completed).collect();
    let refused = Outcome::Failed(Fault::Refused(Refusal::OutsidePage(Field::Destination)));
    assert_eq!(outcomes.iter().filter(|done| done.outcome == refused).count(), 1);
    assert_eq!(machine.user_load(0, user_register::STATUS), Some(status::GRANTED | status::PROTOCOL_ERROR));
    assert_eq!(machine.user_load(1, user_register::STATUS), Some(status::GRANTED));
    assert_eq!((result(&memory, 0), result(&memory, 1)), (&[7; 16][..], &[8; 16][..]));
    machine.user_store(0, user_register::STATUS, 0);
    assert_eq!(machine.user_load(0, user_register::STATUS), Some(status::GRANTED));
}

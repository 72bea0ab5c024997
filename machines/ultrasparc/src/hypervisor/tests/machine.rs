//! The machine: processors, time, partitions.

use super::*;
use crate::spu::{Kind, ctl};

#[test]
fn processors_of_machines() {
    for (processor, asked, cores, strands) in [
        (Processor::T1, 8, 8, 4),
        (Processor::T2, 99, 8, 8),
        (Processor::T3, 99, 16, 8),
        (Processor::T2, 1, 1, 8),
    ] {
        let machine = Machine::new(processor, asked);
        assert_eq!((machine.cores(), machine.model().map(Model::strands)), (cores, Some(strands)));
    }
}

/// Work takes the cycles that `cost` says, in slices of any length; both parts of a unit and all cores work at once.
#[test]
fn time_passes() {
    let cost = |work: &Work| match work.kind {
        Kind::Control(_) => 10 + work.bytes as u64,
        _ => 7,
    };
    for slice in [1, 3, 26, 1000] {
        let mut guest = guest(Processor::T2, 2);
        for cpu in [0, 8] {
            let base = QUEUE + 0x400 * (cpu as u64 / 8 + 1);
            let cwq = guest.value(cpu, function::QCONF, [2, base, 16]);
            guest.put((base - QUEUE) / 64, &[copy(DATA, DATA + 0x100); 4]);
            guest.value(cpu, function::SETTAIL, [cwq, 256, 0]);
        }
        let mau = guest.mau(0, 4);
        for i in 0..3 {
            let entry = [1, 0x81, ctl::command(Model::T2, 3, 1), 0, 0, 0, 0, 0];
            let bytes: Vec<u8> = entry.iter().flat_map(|word: &u64| word.to_be_bytes()).collect();
            guest.write(QUEUE + 64 * i, &bytes);
        }
        guest.value(0, function::SETTAIL, [mau, 192, 0]);
        let mut done = Vec::new();
        let mut now = 0;
        while !guest.machine.is_idle() {
            let events = guest.machine.advance(&mut guest.memory, slice, &cost);
            now += slice;
            done.extend(events.into_iter().map(|event| (now, event.core, event.completed.work.kind)));
        }
        let ended = |core: usize, modular: bool| -> Vec<u64> {
            let of = |kind: &Kind| matches!(kind, Kind::Modular(_)) == modular;
            done.iter().filter(|(_, c, kind)| *c == core && of(kind)).map(|(now, ..)| *now).collect()
        };
        let at = |times: [u64; 4]| times.map(|time| time.next_multiple_of(slice));
        assert_eq!(ended(0, false), at([26, 52, 78, 104]), "slices of {slice}");
        assert_eq!(ended(1, false), at([26, 52, 78, 104]));
        assert_eq!(ended(0, true), at([7, 14, 21, 0])[..3]);
    }
}

#[test]
fn partitions_have_their_own_memory_and_units() {
    let mut machine = Machine::new(Processor::T2, 2);
    machine.set_memory(0, vec![Range { real: 0, physical: 0, bytes: 0x4000 }]);
    let second = machine.add_domain(vec![Range { real: 0, physical: 0x4000, bytes: 0x4000 }], [1]);
    assert_eq!(second, 1);
    let mut memory = vec![0_u8; 0x8000];
    for (cpu, partition) in [(0, 0_u64), (8, 1)] {
        machine.set_version(cpu, GROUP, 2, 0).expect("version 2");
        let base = partition * 0x4000;
        memory.write(base + 0x1000, &copy(0x2000, 0x3000).build()).expect("memory");
        memory.write(base + 0x2000, &[partition as u8 + 1; 16]).expect("memory");
        let handle = machine.hypercall(cpu, function::QCONF, [2, 0x1000, 4, 0], &mut memory).results[0];
        let reply = machine.hypercall(cpu, function::SETTAIL, [handle, 64, 0, 0], &mut memory);
        assert_eq!(reply.status, Status::Ok);
        let other = Handle::Cwq(1 - partition).code();
        assert_eq!(
            machine.hypercall(cpu, function::QINFO, [other, 0, 0, 0], &mut memory).status,
            Status::Invalid
        );
    }
    machine.advance(&mut memory, 10, &one);
    assert_eq!((&memory[0x3000..0x3010], &memory[0x7000..0x7010]), (&[1; 16][..], &[2; 16][..]));
}

#[test]
#[should_panic(expected = "reaches into the hypervisor's memory")]
fn the_hypervisors_memory_is_its_own() {
    Machine::new(Processor::T2, 1)
        .set_memory(0, vec![Range { real: 0, physical: HYPERVISOR_MEMORY - 8, bytes: 16 }]);
}

/// A word that fails in a queue whose shadow is gone is ignored.
#[test]
fn withheld_units_stop() {
    let mut guest = guest(Processor::T2, 1);
    let handle = guest.cwq(0, 4);
    guest.put(0, &[copy(DATA, DATA + 0x100)]);
    guest.value(0, function::SETTAIL, [handle, 64, 0]);
    guest.machine.withhold(0, QueueType::Cwq);
    assert!(guest.advance(100).is_empty());
    assert_eq!(guest.status(0, function::GETHEAD, [handle, 0, 0]), Status::Invalid);
    assert_eq!(guest.status(0, function::QCONF, [2, QUEUE, 4]), Status::NoAccess);
}

/// Queues are in their partition's memory: with other memory, or in another partition, they are gone.
#[test]
fn queues_do_not_outlive_their_memory() {
    for take_core in [false, true] {
        let mut guest = guest(Processor::T3, 1);
        let handle = guest.cwq(0, 4);
        guest.put(0, &[copy(DATA, DATA + 0x100)]);
        guest.value(0, function::SETTAIL, [handle, 64, 0]);
        let before = guest.memory.clone();
        assert!(guest.machine.advance(&mut guest.memory, 1, &|_| 10).is_empty(), "under way");
        if take_core {
            guest.machine.add_domain(vec![], [0]);
        } else {
            guest.machine.set_memory(0, vec![Range { real: REAL, physical: 0, bytes: 0x1000 }]);
        }
        assert!(guest.advance(100).is_empty());
        assert!(guest.memory == before, "nothing was written");
        assert_ne!(guest.status(0, function::GETHEAD, [handle, 0, 0]), Status::Ok);
    }
}

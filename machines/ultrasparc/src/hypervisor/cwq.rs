//! The hypervisor's side of a control word queue.
//!
//! The guest writes words with real addresses into its queue. The hypervisor copies submitted words into a shadow
//! queue, with physical addresses, and the unit reads only that: later changes by the guest have no effect. Status
//! goes into the guest's own words.
//!
//! Ref. OpenSPARC hypervisor, `hcall_ncs.s` (settail), `cwq.s` (interrupt); VM Specification 3.0 §25.2. The released
//! code checks a key against the length of the authentication key, a vector and a state against 32 bytes and a
//! destination against the source of its own word. A unit may exceed these (RC4's state has 258 bytes, a destination
//! is as long as all pieces), so everything the unit will touch is checked after that here, and no word leaves its
//! partition. The specification forbids a tail that takes back submitted words; the released code does not check it.

mod shadow;

use super::core::Core;
use super::domain::{Bus, Domain};
use super::handle::Handle;
use super::machine::Machine;
use super::position::Position;
use super::{HYPERVISOR_MEMORY, Status};
use crate::spu::{Control, ControlWord, Model, Operand, Physical, Task, WORD_BYTES, csr, register};

pub(super) use shadow::{SHADOW_BYTES, ShadowQueue};

/// The operation whose words are being submitted, as far as it is known.
struct Submitted {
    task: Task,
    word: ControlWord,
    bytes: usize,
}

/// Checks everything that the unit will touch for a word. The unit itself refuses words of unknown operations.
fn check_reach(
    model: Model,
    domain: &Domain,
    word: &ControlWord,
    block: &mut Option<Submitted>,
) -> Result<(), Status> {
    if word.control.start_of_block() {
        *block = Task::of(model, word.control).ok().map(|task| Submitted { task, word: *word, bytes: 0 });
    }
    let Some(under_way) = block else { return Ok(()) };
    let Submitted { task, word: first, bytes } = under_way;
    // The guest could change the gather list after this check.
    if first.control.gather() {
        return Err(Status::Invalid);
    }
    let source = task.source_len(word.control);
    domain.translate(word.source, source as u64)?;
    *bytes += source;
    if word.control.start_of_block() {
        for Operand { address, len, .. } in task.operands(word) {
            if address != 0 {
                domain.translate(address, len as u64)?;
            }
        }
    }
    let made = task.destination_len(first.control, *bytes) as u64;
    if !task.in_place(first.control) && made > 0 && first.destination != 0 {
        domain.translate(first.destination, made)?;
    }
    if word.control.end_of_block() {
        *block = None;
    }
    Ok(())
}

impl Machine {
    pub(super) fn configure_cwq(&mut self, id: usize, position: Position) -> Result<u64, Status> {
        let base = HYPERVISOR_MEMORY + id as u64 * SHADOW_BYTES;
        let core = &mut self.cores[id];
        let queues = core.queues()?;
        if !queues.is_idle() {
            return Err(Status::WouldBlock);
        }
        for (address, value) in [
            (register::CSR, 0),
            (register::FIRST, base),
            (register::HEAD, base),
            (register::TAIL, base),
            (register::LAST, base + position.bytes() - WORD_BYTES),
            (register::CSR_ENABLE, csr::ENABLED),
        ] {
            queues.store(address, value);
        }
        core.cwq = Some(ShadowQueue { position, base });
        Ok(Handle::Cwq(id as u64).code())
    }

    pub(super) fn unconfigure_cwq(&mut self, id: usize, memory: &mut dyn Physical) -> Result<(), Status> {
        let core = &mut self.cores[id];
        if core.cwq.is_none() {
            return Err(Status::Invalid);
        }
        let queues = core.spu.queues.as_mut().ok_or(Status::NoAccess)?;
        if !queues.is_idle() {
            return Err(Status::WouldBlock);
        }
        queues.store(register::CSR, 0);
        let done = queues.drain(&mut Bus { memory, own: &mut self.own });
        core.cwq = None;
        self.log(id, done);
        Ok(())
    }

    pub(super) fn cwq_tail(&self, id: usize) -> u64 {
        let core = &self.cores[id];
        core.cwq.as_ref().map_or(0, |queue| core.register(register::TAIL) - queue.base)
    }

    pub(super) fn settail_cwq(
        &mut self,
        id: usize,
        offset: u64,
        memory: &mut dyn Physical,
    ) -> Result<(), Status> {
        let core = &self.cores[id];
        let queue = core.cwq.as_ref().ok_or(Status::Invalid)?;
        if !queue.position.has(offset) {
            return Err(Status::Invalid);
        }
        let pointers =
            [register::TAIL, register::FIRST, register::LAST].map(|address| core.register(address));
        if pointers.contains(&0) {
            return Err(Status::Invalid);
        }
        let (head, tail) = (core.register(register::HEAD) - queue.base, pointers[0] - queue.base);
        let pending = |tail: u64| (tail + queue.position.bytes() - head) % queue.position.bytes();
        if pending(offset) < pending(tail) {
            return Err(Status::Invalid);
        }
        self.submit(id, tail, offset, memory)?;
        let core = &mut self.cores[id];
        let tail = core.cwq.as_ref().map_or(0, |queue| queue.at(offset));
        core.queues()?.store(register::TAIL, tail);
        Ok(())
    }

    /// Copies the guest's words from one offset up to another into the shadow.
    fn submit(&mut self, id: usize, from: u64, to: u64, memory: &mut dyn Physical) -> Result<(), Status> {
        let Machine { cores, domains, own, model, .. } = self;
        let (Some(model), Some(queue)) = (*model, &cores[id].cwq) else { return Err(Status::Invalid) };
        let domain = &domains[usize::from(cores[id].partition)];
        let mut bus = Bus { memory, own };
        let mut block = None;
        let mut offset = from;
        while offset != to {
            let mut bytes = [0; 64];
            let place = queue.position.physical + offset;
            bus.read(place, &mut bytes).map_err(|_| Status::NoRealAddress)?;
            let word = ControlWord::parse(&bytes);
            let mut shadow = queue.translate(domain, word)?;
            check_reach(model, domain, &word, &mut block)?;
            let next = queue.position.after(offset);
            if next == to {
                shadow.control = shadow.control.ends();
            }
            bus.write(queue.at(offset), &shadow.build()).map_err(|_| Status::Io)?;
            offset = next;
        }
        Ok(())
    }

    /// Serves the trap of the control word queue.
    pub(super) fn cwq_interrupt(&mut self, id: usize, memory: &mut dyn Physical) {
        let Core { spu, cwq: Some(queue), .. } = &mut self.cores[id] else { return };
        let Some(queues) = &mut spu.queues else { return };
        let mut bus = Bus { memory, own: &mut self.own };
        let register = |address| queues.load(address).unwrap_or(0);
        let status = register(register::CSR);
        let head = register(register::HEAD) - queue.base;
        let tail = register(register::TAIL) - queue.base;
        let errors = status & (csr::PROTOCOL_ERROR | csr::HARDWARE_ERROR);
        let mut upto = head;
        if errors == 0 && status & csr::BUSY != 0 && upto != queue.position.head {
            // The most recent word waits for the next interrupt, because the unit may still be busy with it.
            upto = queue.before(upto);
        }
        let mut interrupt = false;
        let mut offset = queue.position.head;
        while offset != upto {
            interrupt |= queue.finished(offset, Control::default().with_done(), &mut bus).interrupt();
            offset = queue.position.after(offset);
        }
        if errors != 0 {
            let bits = Control((errors >> 1 | 1) << 50);
            loop {
                let word = queue.finished(offset, bits, &mut bus);
                interrupt |= word.interrupt();
                offset = queue.position.after(offset);
                if word.end_of_block() || offset == tail {
                    break;
                }
            }
            queues.store(register::HEAD, queue.at(offset));
            queues.store(register::CSR, csr::ENABLED);
        }
        queue.position.head = offset;
        if interrupt {
            queue.position.interrupt();
        }
    }
}

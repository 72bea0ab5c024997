//! The hypervisor's side of a queue of modular arithmetic.
//!
//! An entry is the registers to load and a state that the hypervisor keeps:
//!
//! | offset | |
//! | --- | --- |
//! | 0 | state: free 0, pending 1, busy 2, done 3, error 4 |
//! | 8 | type: start 1, continued 2, end 0x80 |
//! | 16 | CTL |
//! | 24 | MPA, a real address |
//! | 32 | MA_ADDR |
//! | 40 | NP |
//! | 48 | error: invalid operation 1, hardware error 2 |
//!
//! Ref. VM Specification 3.0, table 25.3; OpenSPARC hypervisor, `ncs_api.h`. Ours: an invalid address makes the entry
//! a hardware error.

mod queue;

use super::Status;
use super::core::Core;
use super::domain::Bus;
use super::handle::Handle;
use super::machine::Machine;
use super::position::Position;
use crate::spu::{
    Model, Op, Physical, Queues, WORD_BYTES, csr, ctl, mau_register, read_word, register, write_word,
};

pub(super) use queue::MauQueue;

/// Bytes of an entry.
pub(super) const ENTRY_BYTES: u64 = WORD_BYTES;

const STATE: u64 = 0;
const TYPE: u64 = 8;
const ERROR: u64 = 48;

const BUSY: u64 = 2;
const DONE: u64 = 3;
const FAILED: u64 = 4;

/// The flag of a job's last entry.
const END: u64 = 0x80;

const INVALID_OPERATION: u64 = 1;
const HARDWARE_ERROR: u64 = 2;

impl Machine {
    pub(super) fn configure_mau(&mut self, id: usize, position: Position) -> Result<u64, Status> {
        let core = &mut self.cores[id];
        if core.mau.as_ref().is_some_and(MauQueue::is_busy) {
            return Err(Status::WouldBlock);
        }
        core.mau = Some(MauQueue::new(position));
        Ok(Handle::Mau(id as u64).code())
    }

    pub(super) fn unconfigure_mau(&mut self, id: usize) -> Result<(), Status> {
        let queue = &mut self.cores[id].mau;
        if queue.as_ref().ok_or(Status::Invalid)?.is_busy() {
            return Err(Status::WouldBlock);
        }
        *queue = None;
        Ok(())
    }

    pub(super) fn settail_mau(
        &mut self,
        id: usize,
        offset: u64,
        memory: &mut dyn Physical,
    ) -> Result<(), Status> {
        let queue = self.cores[id].mau.as_mut().ok_or(Status::Invalid)?;
        if !queue.position.has(offset) {
            return Err(Status::Invalid);
        }
        queue.tail = offset;
        if !queue.running {
            self.start_mau(id, memory);
        }
        Ok(())
    }

    /// Gives the unit the entry at the head. An entry that can't be given fails, with the rest of its job.
    pub(super) fn start_mau(&mut self, id: usize, memory: &mut dyn Physical) {
        loop {
            let Some(queue) = &self.cores[id].mau else { return };
            if queue.position.head == queue.tail {
                return;
            }
            match self.load_entry(id, memory) {
                Ok(()) => return,
                Err(error) => self.fail_job(id, error, memory),
            }
        }
    }

    fn load_entry(&mut self, id: usize, memory: &mut dyn Physical) -> Result<(), u64> {
        let Machine { cores, domains, own, model, .. } = self;
        let core = &mut cores[id];
        let domain = &domains[usize::from(core.partition)];
        let (Core { mau: Some(queue), spu, .. }, Some(model)) = (core, *model) else {
            return Err(HARDWARE_ERROR);
        };
        let mut bus = Bus { memory, own };
        let entry = queue.position.physical + queue.position.head;
        let mut words = [0; 8];
        for (i, word) in (0..).zip(&mut words) {
            *word = read_word(&bus, entry + 8 * i).map_err(|_| HARDWARE_ERROR)?;
        }
        let [_, _, control, mpa, ma_addr, np, ..] = words;
        let op = ctl::op(model, control);
        let mpa = if matches!(op, Op::Load | Op::Store) {
            let bytes = 8 * ctl::words(model, control) as u64;
            let physical = domain.translate(mpa, bytes).ok().filter(|physical| physical % 8 == 0);
            physical.ok_or(HARDWARE_ERROR)?
        } else {
            mpa
        };
        write_word(&mut bus, entry + STATE, BUSY).map_err(|_| HARDWARE_ERROR)?;
        let mut drained = Vec::new();
        if op == Op::Store && model == Model::T2 {
            // Erratum 192 of T2: control words must not run during a store of modular arithmetic.
            drained = stop_queue(spu.queues.as_mut(), &mut queue.stopped_cwq, &mut bus);
        }
        let interrupt = if model == Model::T1 { ctl::T1_INTERRUPT } else { ctl::T2_INTERRUPT };
        let control = ctl::with_strand(model, control, queue.position.strand as u8) | interrupt;
        for (register, value) in [
            (mau_register::MPA, mpa),
            (mau_register::MA_ADDR, ma_addr),
            (mau_register::NP, np),
            (mau_register::CTL, control),
        ] {
            spu.store(register, value);
        }
        queue.running = true;
        self.log(id, drained);
        Ok(())
    }

    /// Fails the entry at the head, and all entries up to the end of its job.
    fn fail_job(&mut self, id: usize, error: u64, memory: &mut dyn Physical) {
        let Some(queue) = &mut self.cores[id].mau else { return };
        let mut bus = Bus { memory, own: &mut self.own };
        loop {
            let entry = queue.position.physical + queue.position.head;
            let kind = read_word(&bus, entry + TYPE).unwrap_or(END);
            let _ = write_word(&mut bus, entry + ERROR, error);
            let _ = write_word(&mut bus, entry + STATE, FAILED);
            queue.position.head = queue.position.after(queue.position.head);
            if kind & END != 0 || queue.position.head == queue.tail {
                break;
            }
        }
        queue.running = false;
        queue.position.interrupt();
    }

    /// Serves the trap of the unit: an entry has ended, so the next one begins.
    pub(super) fn mau_interrupt(&mut self, id: usize, memory: &mut dyn Physical) {
        let Core { spu, mau: Some(queue), .. } = &mut self.cores[id] else { return };
        if !queue.running {
            return;
        }
        if std::mem::take(&mut queue.stopped_cwq)
            && let Some(queues) = &mut spu.queues
        {
            queues.store(register::CSR_ENABLE, csr::ENABLED);
        }
        let errors = spu.mau.errors();
        if errors != 0 {
            let invalid = errors & ctl::T2_INVALID != 0;
            self.fail_job(id, if invalid { INVALID_OPERATION } else { HARDWARE_ERROR }, memory);
        } else {
            let mut bus = Bus { memory, own: &mut self.own };
            let entry = queue.position.physical + queue.position.head;
            let kind = read_word(&bus, entry + TYPE).unwrap_or(END);
            let _ = write_word(&mut bus, entry + STATE, DONE);
            queue.position.head = queue.position.after(queue.position.head);
            queue.running = false;
            if kind & END != 0 || queue.position.head == queue.tail {
                queue.position.interrupt();
            }
        }
        self.start_mau(id, memory);
    }

    /// Has the unit work through its queue, for a call that waits for it.
    pub(super) fn drain_mau(&mut self, id: usize, memory: &mut dyn Physical) {
        loop {
            let done = self.cores[id].spu.mau.finish(&mut Bus { memory, own: &mut self.own });
            if done.is_none() {
                return;
            }
            self.log(id, done);
            self.serve_interrupts(id, memory);
        }
    }
}

/// Disables the control word queue, notes in `stopped` if it was enabled, and waits until it is idle.
fn stop_queue(
    queues: Option<&mut Queues>,
    stopped: &mut bool,
    bus: &mut Bus<'_>,
) -> Vec<crate::spu::Completed> {
    let Some(queues) = queues else { return Vec::new() };
    *stopped = queues.csr() & csr::ENABLED != 0;
    queues.store(register::CSR_ENABLE, 0);
    queues.drain(bus)
}

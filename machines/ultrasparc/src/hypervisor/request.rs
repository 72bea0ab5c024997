//! ncs_request, the call of version 1.0: a queue of modular arithmetic, by the number of its unit.
//!
//! | subfunction | argument |
//! | --- | --- |
//! | 1 | configure: unit, real address of the queue and of its end, entries |
//! | 2 | new tail: unit (not looked at), index of an entry, 0 to wait for the end or 1 |
//!
//! Ref. FWARC 2006/174; OpenSPARC hypervisor, `hcall_ncs.s`. Ours: the order of checks before the subfunction's own;
//! that an argument's size is checked before its address; and that a new tail marks finished entries as seen.

use super::Status;
use super::domain::Bus;
use super::machine::{Caller, Machine};
use super::mau::ENTRY_BYTES;
use super::position::Position;
use crate::spu::{Physical, read_word};

const CONFIGURE: u64 = 1;
const UPDATE_TAIL: u64 = 2;

impl Machine {
    /// ncs_request.
    pub(super) fn request(
        &mut self,
        caller: Caller,
        subfunction: u64,
        argument: u64,
        bytes: u64,
        memory: &mut dyn Physical,
    ) -> Result<(), Status> {
        if !argument.is_multiple_of(8) {
            return Err(Status::BadAlignment);
        }
        match (subfunction, bytes) {
            (CONFIGURE, 32) => {
                let words = self.argument(caller, argument, memory)?;
                self.configure_v1(caller, words)
            }
            (UPDATE_TAIL, 24) => {
                let [_, index, asynchronous] = self.argument(caller, argument, memory)?;
                self.update_tail(caller, index, asynchronous != 0, memory)
            }
            _ => Err(Status::Invalid),
        }
    }

    fn argument<const N: usize>(
        &mut self,
        caller: Caller,
        argument: u64,
        memory: &mut dyn Physical,
    ) -> Result<[u64; N], Status> {
        let place = self.domain_of(caller.core).translate(argument, 8 * N as u64)?;
        let bus = Bus { memory, own: &mut self.own };
        let mut words = [0; N];
        for (i, word) in (0..).zip(&mut words) {
            *word = read_word(&bus, place + 8 * i).map_err(|_| Status::NoRealAddress)?;
        }
        Ok(words)
    }

    fn configure_v1(&mut self, caller: Caller, [unit, base, end, entries]: [u64; 4]) -> Result<(), Status> {
        if self.model.is_none_or(|model| unit >= model.units()) {
            return Err(Status::Invalid);
        }
        let id = unit as usize;
        let partition = self.cores[caller.core].partition;
        let present = self.cores.get(id).is_some_and(|core| core.partition == partition && core.given.mau);
        if !present {
            // A guest gets no error for a unit that it does not have.
            return Ok(());
        }
        if base == 0 {
            return match self.unconfigure_mau(id) {
                Err(Status::WouldBlock) => Err(Status::WouldBlock),
                _ => Ok(()),
            };
        }
        let bytes = entries.checked_mul(ENTRY_BYTES).filter(|&bytes| bytes > 0);
        let bytes = bytes.filter(|&bytes| end.checked_sub(base) == Some(bytes)).ok_or(Status::Invalid)?;
        let physical = self.domain_of(caller.core).translate(base, bytes)?;
        self.configure_mau(id, Position::new(base, physical, entries, caller.strand)).map(|_| ())
    }

    fn update_tail(
        &mut self,
        caller: Caller,
        index: u64,
        asynchronous: bool,
        memory: &mut dyn Physical,
    ) -> Result<(), Status> {
        let queue = self.cores[caller.core].mau.as_mut().filter(|queue| index < queue.position.entries);
        let position = &mut queue.ok_or(Status::Invalid)?.position;
        position.mark(position.head);
        self.settail_mau(caller.core, index * ENTRY_BYTES, memory)?;
        if !asynchronous {
            self.drain_mau(caller.core, memory);
        }
        Ok(())
    }
}

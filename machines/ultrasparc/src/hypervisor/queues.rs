//! The calls on queues of either type: ncs_qconf, qinfo, gethead, gettail, settail, qhandle_to_devino, sethead_marker.
//!
//! Ref. UltraSPARC Virtual Machine Specification 3.0 §25.2.3 to §25.2.9; OpenSPARC hypervisor, `hcall_ncs.s`. Ours:
//! the device interrupt numbers, which a real machine's description gives; that the handle of a queue that is not
//! configured is bad; and that a busy queue can't be configured anew.

use super::Status;
use super::handle::Handle;
use super::machine::{Caller, Machine};
use super::position::{Position, QueueType, cwq_devino, mau_devino};
use crate::spu::{Physical, WORD_BYTES};

impl Machine {
    /// The queue that a handle names, if it belongs to the caller's partition.
    pub(super) fn owned(&self, caller: Caller, handle: u64) -> Result<Handle, Status> {
        let handle = Handle::parse(self.model.ok_or(Status::Invalid)?, handle)?;
        let (Handle::Mau(id) | Handle::Cwq(id) | Handle::User(id, _)) = handle;
        let partition = self.cores[caller.core].partition;
        let unit = self.cores.get(id as usize).filter(|core| {
            let given = if matches!(handle, Handle::Mau(_)) { core.given.mau } else { core.given.cwq };
            core.partition == partition && given
        });
        unit.map(|_| handle).ok_or(Status::Invalid)
    }

    fn position(&mut self, caller: Caller, handle: u64) -> Result<&mut Position, Status> {
        let position = match self.owned(caller, handle)? {
            Handle::Mau(id) => self.cores[id as usize].mau.as_mut().map(|queue| &mut queue.position),
            Handle::Cwq(id) => self.cores[id as usize].cwq.as_mut().map(|queue| &mut queue.position),
            Handle::User(..) => None,
        };
        position.ok_or(Status::Invalid)
    }

    /// ncs_qconf: configures a queue, or with no entries takes it away.
    pub(super) fn qconf(
        &mut self,
        caller: Caller,
        queue_type: u64,
        base: u64,
        entries: u64,
        memory: &mut dyn Physical,
    ) -> Result<u64, Status> {
        let is = |wanted: QueueType| queue_type == wanted as u64;
        if !is(QueueType::Mau) && !is(QueueType::Cwq) {
            return Err(Status::Invalid);
        }
        if entries == 0 {
            return match self.owned_for_qconf(caller, base)? {
                Handle::Mau(id) if is(QueueType::Mau) => self.unconfigure_mau(id as usize).map(|()| 0),
                Handle::Cwq(id) if is(QueueType::Cwq) => {
                    self.unconfigure_cwq(id as usize, memory).map(|()| 0)
                }
                _ => Err(Status::Invalid),
            };
        }
        if !(2..).contains(&entries) || !entries.is_power_of_two() || is(QueueType::Cwq) && entries > 64 {
            return Err(Status::Invalid);
        }
        let given = self.cores[caller.core].given;
        if !(if is(QueueType::Mau) { given.mau } else { given.cwq }) {
            return Err(Status::NoAccess);
        }
        let bytes = entries.checked_mul(WORD_BYTES).ok_or(Status::Invalid)?;
        if !base.is_multiple_of(bytes) {
            return Err(Status::BadAlignment);
        }
        let physical = self.domain_of(caller.core).translate(base, bytes)?;
        let position = Position::new(base, physical, entries, caller.strand);
        if is(QueueType::Mau) {
            self.configure_mau(caller.core, position)
        } else {
            self.configure_cwq(caller.core, position)
        }
    }

    /// Like [`Machine::owned`], with another error for a unit of another partition than for a handle that is none.
    fn owned_for_qconf(&self, caller: Caller, handle: u64) -> Result<Handle, Status> {
        Handle::parse(self.model.ok_or(Status::Invalid)?, handle)?;
        self.owned(caller, handle).map_err(|_| Status::NoAccess)
    }

    /// ncs_qinfo: type, real address and entries.
    pub(super) fn qinfo(&mut self, caller: Caller, handle: u64) -> Result<[u64; 3], Status> {
        let kind = match self.owned(caller, handle)? {
            Handle::Mau(_) => QueueType::Mau,
            Handle::Cwq(_) | Handle::User(..) => QueueType::Cwq,
        };
        let position = self.position(caller, handle)?;
        Ok([kind as u64, position.real, position.entries])
    }

    /// ncs_gethead.
    pub(super) fn gethead(&mut self, caller: Caller, handle: u64) -> Result<u64, Status> {
        Ok(self.position(caller, handle)?.head)
    }

    /// ncs_gettail.
    pub(super) fn gettail(&mut self, caller: Caller, handle: u64) -> Result<u64, Status> {
        self.position(caller, handle)?;
        match self.owned(caller, handle)? {
            Handle::Mau(id) => Ok(self.cores[id as usize].mau.as_ref().map_or(0, |queue| queue.tail)),
            Handle::Cwq(id) => Ok(self.cwq_tail(id as usize)),
            Handle::User(..) => Err(Status::Invalid),
        }
    }

    /// ncs_settail: submits entries.
    pub(super) fn settail(
        &mut self,
        caller: Caller,
        handle: u64,
        offset: u64,
        memory: &mut dyn Physical,
    ) -> Result<(), Status> {
        let (id, handle) = match self.owned(caller, handle)? {
            handle @ (Handle::Mau(id) | Handle::Cwq(id)) => (id as usize, handle),
            Handle::User(..) => return Err(Status::Invalid),
        };
        if id != caller.core {
            return Err(Status::Invalid);
        }
        match handle {
            Handle::Mau(_) => self.settail_mau(id, offset, memory),
            _ => self.settail_cwq(id, offset, memory),
        }
    }

    /// ncs_qhandle_to_devino.
    pub(super) fn devino(&mut self, caller: Caller, handle: u64) -> Result<u64, Status> {
        match self.owned(caller, handle)? {
            Handle::Mau(id) => Ok(mau_devino(id as usize)),
            Handle::Cwq(id) => Ok(cwq_devino(id as usize)),
            // Nothing interrupts the fast path.
            Handle::User(..) => Err(Status::Invalid),
        }
    }

    /// ncs_sethead_marker: the guest has seen all entries before that one.
    pub(super) fn sethead_marker(&mut self, caller: Caller, handle: u64, offset: u64) -> Result<(), Status> {
        let position = self.position(caller, handle)?;
        if !position.has(offset) {
            return Err(Status::Invalid);
        }
        position.mark(offset);
        Ok(())
    }
}

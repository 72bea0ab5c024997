//! ncs_ulqconf: a queue for a process, which it then uses without the hypervisor.
//!
//! The queue belongs to the caller's core and to the process that the caller's processor executes: its partition, and
//! the context that it is in. One page is dedicated to it, with the queue in the first 4 KB and all data after it.
//!
//! Ref. FWARC 2009/451; VM Specification 3.0 §25.2.10. Ours: that the address given is the queue's, from which the
//! page follows; the answers for a process that has its queue already and for a unit without room; that pages of two
//! processes may not overlap; and moving a queue.

use super::Status;
use super::handle::Handle;
use super::machine::{Caller, Machine};
use crate::spu::{Identity, Model, Queues, Slot, UserQueue, WORD_BYTES};

/// The offset in its page below which a queue must end.
const QUEUE_END: u64 = 4096;

/// The bytes of a page size code. The codes of 8 KB and 64 KB exist, but such pages are too small.
const fn page_bytes(code: u64) -> Option<u64> {
    match code {
        3 => Some(4 << 20),
        5 => Some(256 << 20),
        _ => None,
    }
}

impl Machine {
    /// ncs_ulqconf: grants a queue, or with no entries revokes it.
    pub(super) fn ulqconf(
        &mut self,
        caller: Caller,
        base: u64,
        code: u64,
        entries: u64,
    ) -> Result<u64, Status> {
        if entries == 0 {
            return self.revoke(caller, base).map(|()| 0);
        }
        let page_bytes = page_bytes(code).ok_or(Status::Invalid)?;
        if !(2..=64).contains(&entries) || !entries.is_power_of_two() {
            return Err(Status::Invalid);
        }
        let queue_bytes = entries * WORD_BYTES;
        let offset = base % page_bytes;
        if offset + queue_bytes > QUEUE_END {
            return Err(Status::Invalid);
        }
        let identity = self.identity(caller.core, caller.strand);
        let core = &self.cores[caller.core];
        let queues =
            core.spu.queues.as_ref().filter(|_| core.given.cwq && self.model == Some(Model::RainbowFalls));
        let users = queues.ok_or(Status::NoAccess)?.users();
        if users.of(identity).is_some() {
            return Err(Status::NoAccess);
        }
        if !base.is_multiple_of(queue_bytes) {
            return Err(Status::BadAlignment);
        }
        let page = self.domain_of(caller.core).translate(base - offset, page_bytes)?;
        if self.is_granted_to_another(identity, page, page_bytes) {
            return Err(Status::NoAccess);
        }
        let queue = UserQueue::new(identity, page, page_bytes, offset, entries);
        let users = self.cores[caller.core].spu.queues.as_mut().map(Queues::users_mut);
        let slot = users.and_then(|users| users.insert(queue)).ok_or(Status::WouldBlock)?;
        Ok(Handle::User(caller.core as u64, slot).code())
    }

    fn is_granted_to_another(&self, identity: Identity, page: u64, bytes: u64) -> bool {
        let queues = self.cores.iter().filter_map(|core| core.spu.queues.as_ref());
        let mut all = queues.flat_map(|queues| queues.users().iter());
        all.any(|(_, queue)| {
            let apart = queue.page() + queue.page_bytes() <= page || page + bytes <= queue.page();
            queue.identity != identity && !apart
        })
    }

    /// The process that makes a request: the partition and the context of a strand.
    fn identity(&self, core: usize, strand: usize) -> Identity {
        let core = &self.cores[core];
        Identity { partition: core.partition, context: core.contexts[strand] }
    }

    /// Takes a process's queue away at once. An operation under way is aborted, and nothing of it is written.
    fn revoke(&mut self, caller: Caller, handle: u64) -> Result<(), Status> {
        let (id, slot) = self.user_queue(caller, handle)?;
        let queues = self.cores[id].spu.queues.as_mut().ok_or(Status::Invalid)?;
        queues.revoke(slot).map(|_| ()).ok_or(Status::Invalid)
    }

    fn user_queue(&self, caller: Caller, handle: u64) -> Result<(usize, Slot), Status> {
        match self.owned(caller, handle)? {
            Handle::User(id, slot) => Ok((id as usize, slot)),
            _ => Err(Status::Invalid),
        }
    }

    /// Moves a process's queue to another core's unit, as a hypervisor does when the process moves; answers its new
    /// handle. An operation under way is aborted and done again there.
    ///
    /// # Errors
    /// The errors of the call, and [`Status::NoAccess`] if the core belongs to another partition.
    pub fn move_user_queue(&mut self, cpu: usize, handle: u64, to: usize) -> Result<u64, Status> {
        let (core, strand) = self.strand_of(cpu).ok_or(Status::NoCpu)?;
        let (id, slot) = self.user_queue(Caller { core, strand }, handle)?;
        let partition = self.cores[core].partition;
        let target = self.cores.get(to).filter(|target| target.partition == partition && target.given.cwq);
        let users = target.and_then(|target| target.spu.queues.as_ref()).ok_or(Status::NoAccess)?.users();
        if users.iter().count() == crate::spu::SLOTS {
            return Err(Status::WouldBlock);
        }
        let from = self.cores[id].spu.queues.as_mut();
        let queue = from.and_then(|queues| queues.revoke(slot)).ok_or(Status::Invalid)?;
        let users = self.cores[to].spu.queues.as_mut().map(Queues::users_mut);
        let slot = users.and_then(|users| users.insert(queue)).ok_or(Status::WouldBlock)?;
        Ok(Handle::User(to as u64, slot).code())
    }

    /// The queue, at its core's unit, of the process that a processor executes.
    pub(super) fn user_queue_of(&mut self, cpu: usize) -> Option<&mut UserQueue> {
        let (core, strand) = self.strand_of(cpu)?;
        let identity = self.identity(core, strand);
        let users = self.cores[core].spu.queues.as_mut()?.users_mut();
        let slot = users.of(identity)?;
        users.get_mut(slot)
    }
}

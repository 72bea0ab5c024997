//! The way of a completion back to its request's buffers.

use millstream_cwq::{Completion, Status};

use super::cancel::CANCEL;
use super::driver::Driver;
use super::parts::STATE;
use super::{Done, Queue, Ticket};
use crate::heap::Buffer;

impl Queue {
    /// Sees to it that all that was submitted is under way, without waiting for any of it: for a thread that submits,
    /// and then does something else for long. An accelerator that sleeps is woken; an inline one executes it now.
    pub fn flush(&mut self) {
        if self.in_flight() > 0 || self.cancels > 0 {
            self.drive();
        }
    }

    /// Returns the next operation that has ended, if there is one. An inline accelerator executes what was submitted
    /// first; one that sleeps elsewhere is woken.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Done> {
        if !matches!(self.completions.ready(), Ok(1..)) {
            self.completions.release();
            if self.in_flight() == 0 && self.cancels == 0 {
                return None;
            }
            if self.drive() {
                return self.last();
            }
        }
        self.reap()
    }

    /// Waits for the next operation to end; none when nothing is in flight.
    #[inline(always)]
    pub fn wait(&mut self) -> Option<Done> {
        let done = self.poll();
        if done.is_none() && self.in_flight() > 0 {
            return self.wait_longer();
        }
        done
    }

    #[cold]
    fn wait_longer(&mut self) -> Option<Done> {
        loop {
            if let Some(done) = self.poll() {
                return Some(done);
            }
            if self.in_flight() == 0 {
                return None;
            }
            match &mut self.driver {
                Driver::Inline(..) => {}
                Driver::Thread(client) => client.park(&mut self.completions),
                Driver::Isolated(isolated) => isolated.park(&mut self.completions),
            }
        }
    }

    /// Lets an inline accelerator work, or wakes one that sleeps. Returns true when it has ended, so that no completion
    /// will come any more.
    #[inline(never)]
    pub(super) fn drive(&mut self) -> bool {
        self.submissions.publish();
        if self.would_repeat_nonces() {
            return true;
        }
        match &mut self.driver {
            Driver::Inline(accelerator, _) => {
                accelerator.step(0);
                false
            }
            Driver::Thread(client) => {
                if self.submissions.must_wake() {
                    client.ring();
                }
                client.has_ended()
            }
            Driver::Isolated(isolated) => isolated.drive(&mut self.submissions),
        }
    }

    /// Ends the next operation after the accelerator's end: first those whose completions it had posted.
    #[cold]
    pub(super) fn last(&mut self) -> Option<Done> {
        self.reap().or_else(|| self.end_next_lost())
    }

    /// Takes the next completion out of the ring that somebody waits for.
    #[inline(always)]
    pub(super) fn reap(&mut self) -> Option<Done> {
        loop {
            let words = match self.completions.pop() {
                Ok(Some(words)) => words,
                nothing => {
                    // Places go back in one store for all that were popped.
                    self.completions.release();
                    if nothing.is_err() {
                        self.mark_corrupt();
                    }
                    return None;
                }
            };
            if self.on_other_core {
                self.prefetch_next();
            }
            let completion = Completion::from_words(words);
            let Some(ticket) = self.ended(completion.tag) else { continue };
            if let Some(done) = self.end(ticket, completion) {
                return Some(done);
            }
        }
    }

    /// Ends an operation as its completion says. Returns none when nobody waits for it.
    #[inline(always)]
    fn end(&mut self, ticket: Ticket, completion: Completion) -> Option<Done> {
        let entry = &mut self.slots[ticket.slot() as usize];
        let detached = entry.end();
        if detached || !self.shared {
            self.free.push(ticket.slot());
        }
        let status = if completion.status == Status::Ok as u16 {
            None
        } else {
            Some(completion.status().unwrap_or(Status::Gone))
        };
        let mut buffers = entry.take_buffers();
        let tag_len = if status.is_none() { entry.mac_len } else { 0 };
        let made_nonce = entry.makes_nonce && status.is_none();
        if let Some(status) = status {
            buffers.keep_lengths(entry.shape, status);
        }
        if let Some(cold) = &mut buffers.cold {
            cold.extra.clear();
        }
        if std::mem::take(&mut entry.has_state) {
            let len = if status.is_none() { completion.value } else { 0 };
            buffers.cold.get_or_insert_default().state = self.take_state(ticket.slot(), len);
        }
        if detached {
            return None;
        }
        let result = match status {
            None => Ok(()),
            Some(status) => Err(status),
        };
        Some(Done { ticket, result, value: completion.value, tag_len, made_nonce, buffers })
    }

    /// Stops believing the other side of the ring, which wrote what can't be.
    #[cold]
    fn mark_corrupt(&self) {
        if let Driver::Isolated(isolated) = &self.driver {
            isolated.link().mark_gone();
        }
    }

    /// Fetches the lines that the next completions are about. An accelerator on another core has written them: each takes
    /// a while to come here, and several at once take no longer.
    #[inline]
    fn prefetch_next(&mut self) {
        const AHEAD: u64 = 4;
        let popped = self.completions.popped();
        let first = self.prefetched_to.saturating_sub(popped).min(AHEAD);
        for ahead in first..AHEAD {
            let Some([tag, _]) = self.completions.peek(ahead) else { break };
            self.prefetched_to = popped + ahead + 1;
            let Some(slot) = self.slots.get(tag as u32 as usize) else { continue };
            if let Some(source) = &slot.source {
                source.will_be_written();
            }
            match &slot.destination {
                Some(destination) => destination.will_be_read(),
                None => slot.source.iter().for_each(Buffer::tag_will_be_read),
            }
        }
    }

    /// Finds the operation in flight that a completion is of.
    #[inline(always)]
    fn ended(&mut self, tag: u64) -> Option<Ticket> {
        if tag == CANCEL {
            self.cancels = self.cancels.saturating_sub(1);
            return None;
        }
        let ticket = Ticket::from_bits(tag);
        self.slots.get(ticket.slot() as usize)?.holds(ticket).then_some(ticket)
    }

    /// Takes the mid-state of an operation from its place.
    #[cold]
    fn take_state(&self, slot: u32, len: u32) -> Vec<u8> {
        let at = self.places.state.at() + slot * STATE as u32;
        let mut state = vec![0; (len as usize).min(STATE)];
        self.heap.read(at, &mut state);
        self.heap.write(at, &[0; STATE]);
        state
    }

    /// Ends the next operation in flight that the accelerator's end has lost. Its input is intact.
    fn end_next_lost(&mut self) -> Option<Done> {
        let (status, settled) = match &self.driver {
            Driver::Isolated(isolated) => isolated.end(),
            _ => (Status::Gone, true),
        };
        loop {
            let slot = self.slots.iter().position(|slot| slot.live)?;
            let entry = &mut self.slots[slot];
            let ticket = Ticket::new(slot as u32, entry.generation);
            let detached = entry.end();
            let mut buffers = entry.take_buffers();
            // The worker may still write to it.
            if !settled && let Some(mut destination) = buffers.destination.take() {
                destination.abandon();
            }
            if detached || !self.shared {
                self.free.push(ticket.slot());
            }
            if !detached {
                let result = Err(status);
                return Some(Done { ticket, result, value: 0, tag_len: 0, made_nonce: false, buffers });
            }
        }
    }
}

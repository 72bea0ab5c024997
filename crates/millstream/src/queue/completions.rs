//! The way of a completion back to its request's buffers.

use std::time::{Duration, Instant};

use millstream_cwq::{Completion, Status};

use super::buffers::{Buffers, Cold};
use super::cancel::CANCEL;
use super::driver::Driver;
use super::parts::STATE;
use super::{Done, Queue, Ticket};
use crate::heap::Buffer;

/// The outcome of a look for completions.
enum Refill {
    /// There are some to reap, or the ring's index can't be believed, which [`Queue::reap`] deals with.
    Known,
    /// None have come.
    Nothing,
    /// The accelerator has ended.
    Over,
}

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
        self.next::<false>()
    }

    /// Waits for the next operation to end; none when nothing is in flight.
    #[inline(always)]
    pub fn wait(&mut self) -> Option<Done> {
        self.next::<true>()
    }

    /// Waits for the next operation to end, for so long at most; none when nothing is in flight, or has ended by then.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use millstream::hash::Hash;
    /// use millstream::queue::{AcceleratorThread, Config, Request, ThreadConfig};
    ///
    /// let thread = AcceleratorThread::spawn(millstream::features()?, ThreadConfig::default())?;
    /// let mut queue = thread.queue(Config::default())?;
    /// assert!(queue.wait_for(Duration::from_secs(60)).is_none(), "there is nothing to wait for");
    /// let source = queue.buffer(3).unwrap();
    /// queue.submit(Request::digest(Hash::Sha256, source)).unwrap();
    /// assert!(queue.wait_for(Duration::from_secs(60)).is_some_and(|done| done.result.is_ok()));
    /// # Ok::<(), millstream::Error>(())
    /// ```
    pub fn wait_for(&mut self, limit: Duration) -> Option<Done> {
        match self.poll() {
            None if self.in_flight() > 0 => self.wait_longer(Instant::now().checked_add(limit)),
            done => done,
        }
    }

    /// Ends the next operation. The frequent end is made here, in registers: no address of it gets out. All others are made
    /// elsewhere and come by way of the stash.
    #[inline(always)]
    fn next<const WAIT: bool>(&mut self) -> Option<Done> {
        let mut popped = self.completions.pop_known();
        if popped.is_none() {
            match self.refill() {
                Refill::Known => popped = self.completions.pop_known(),
                Refill::Nothing if !WAIT => return None,
                Refill::Nothing | Refill::Over => {}
            }
        }
        let Some([tag, end]) = popped else {
            return if self.next_rare::<WAIT>(None) { self.stash.take() } else { None };
        };
        if self.on_other_core {
            self.prefetch_next();
        }
        let plain = match self.slots.get(tag as u32 as usize) {
            Some(slot) => slot.is_plain(tag) & (end as u16 == Status::Ok as u16),
            None => false,
        };
        if !plain {
            return if self.next_rare::<WAIT>(Some([tag, end])) { self.stash.take() } else { None };
        }
        let slot = &mut self.slots[tag as u32 as usize];
        let tag_len = slot.end().tag_len();
        let buffers =
            Buffers { source: slot.source.take(), destination: slot.destination.take(), cold: Cold::NONE };
        if !self.shared {
            self.free.push(tag as u32);
        }
        let (ticket, value) = (Ticket::from_bits(tag), (end >> 32) as u32);
        Some(Done { ticket, result: Ok(()), value, tag_len, made_nonce: false, buffers })
    }

    /// Looks for completions, and lets the accelerator work if there are none.
    #[inline(never)]
    fn refill(&mut self) -> Refill {
        if matches!(self.completions.ready(), Ok(1..)) {
            return Refill::Known;
        }
        // Places go back in one store for all that were popped.
        self.completions.release();
        if self.in_flight() == 0 && self.cancels == 0 {
            return Refill::Nothing;
        }
        if self.drive() {
            return Refill::Over;
        }
        match self.completions.ready() {
            Ok(0) => Refill::Nothing,
            Ok(1..) | Err(_) => Refill::Known,
        }
    }

    /// Ends the next operation where that is not one that was found and went well. Leaves it in the stash, and returns true if
    /// there is one. The completion, if there is one, was popped already.
    #[inline(never)]
    fn next_rare<const WAIT: bool>(&mut self, popped: Option<[u64; Completion::WORDS]>) -> bool {
        let mut done = popped.and_then(|words| self.settle(words));
        if done.is_none() {
            done = self.poll_longer();
        }
        if WAIT && done.is_none() && self.in_flight() > 0 {
            done = self.wait_longer(None);
        }
        self.stash = done;
        self.stash.is_some()
    }

    fn poll_longer(&mut self) -> Option<Done> {
        match self.refill() {
            Refill::Known => self.reap(),
            Refill::Nothing => None,
            Refill::Over => self.last(),
        }
    }

    /// Waits until a moment, or for however long it takes.
    #[cold]
    fn wait_longer(&mut self, until: Option<Instant>) -> Option<Done> {
        loop {
            if let Some(done) = self.poll_longer() {
                return Some(done);
            }
            if self.in_flight() == 0 {
                return None;
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            match &mut self.driver {
                Driver::Inline(..) => {}
                Driver::Thread(client) => client.park(&mut self.completions, left),
                Driver::Isolated(isolated) => isolated.park(&mut self.completions, left),
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
            if let Some(done) = self.settle(words) {
                return Some(done);
            }
        }
    }

    /// Ends an operation as its completion says. Returns none when it is of none in flight, or nobody waits for it.
    fn settle(&mut self, words: [u64; Completion::WORDS]) -> Option<Done> {
        let completion = Completion::from_words(words);
        let ticket = self.ended(completion.tag)?;
        let entry = &mut self.slots[ticket.slot() as usize];
        let state = entry.end();
        if state.is_detached() || !self.shared {
            self.free.push(ticket.slot());
        }
        let result = match completion.status() {
            Some(Status::Ok) => Ok(()),
            status => Err(status.unwrap_or(Status::Gone)),
        };
        let mut buffers = entry.take_buffers();
        if let Err(status) = result {
            buffers.keep_lengths(entry.shape, status);
        }
        if let Some(cold) = buffers.cold.as_mut() {
            cold.extra.clear();
        }
        if state.has_state() {
            let len = match (&result, buffers.at_home(Buffer::tag)) {
                (Err(_), _) => 0,
                (Ok(()), Some(_)) => completion.value,
                (Ok(()), None) => u32::from(state.tag_len()),
            };
            buffers.cold.get_or_insert_default().state = self.take_state(ticket.slot(), len);
        }
        if state.is_detached() {
            return None;
        }
        let tag_len = if result.is_ok() { state.tag_len() } else { 0 };
        let made_nonce = state.makes_nonce() && result.is_ok();
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
                Some(destination) => {
                    // The next input goes to the place of this one, as a rule.
                    match slot.source {
                        None => destination.will_be_written(),
                        Some(_) => destination.will_be_read(),
                    }
                    destination.tag_will_be_written();
                }
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
            let entry = self.slots.iter_mut().find(|slot| slot.is_live())?;
            let ticket = entry.ticket();
            let detached = entry.end().is_detached();
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

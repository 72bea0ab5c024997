//! Queues, as C has them: which buffers and which number of the caller's belong to each operation in flight.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use millstream::queue::{Buffer, Done, KeyHandle, Queue as Inner, Refusal, Refused, Request, Ticket};
use zeroize::{Zeroize, Zeroizing};

use crate::failure::{Failure, no_key, of_operation};
use crate::ffi::lent::{self, Lent};
use crate::ffi::queue::Done as End;
use crate::ffi::tell;
use crate::status::Status;

/// The room for a tag in C's structure, in bytes.
const TAG: usize = 64;

/// A queue, and the values that C gave along with the operations in flight.
pub struct Queue {
    inner: Inner,
    /// The operations in flight by slot, which is the lower half of a ticket.
    flights: Vec<Flight>,
    /// Operations that have ended, and were taken to make room. Each keeps its buffers until C takes it.
    ended: VecDeque<(Done, Flight)>,
    /// The mid-state of the last operation that had one.
    state: Zeroizing<Vec<u8>>,
}

/// The values that belong to an operation in flight.
#[derive(Default)]
pub struct Flight {
    /// The input.
    pub source: Option<Lent>,
    /// The output.
    pub destination: Option<Lent>,
    /// More input, which few operations have.
    pub more: Option<Box<[Lent]>>,
    /// The caller's own value.
    pub user: u64,
}

/// Returns the key behind a number that C holds.
#[inline(always)]
pub fn key(bits: u64) -> Result<KeyHandle, Failure> {
    KeyHandle::from_bits(bits).ok_or_else(no_key)
}

impl Queue {
    /// Wraps a queue that was just made.
    pub fn new(inner: Inner) -> Self {
        let flights = (0..inner.depth()).map(|_| Flight::default()).collect();
        Queue { inner, flights, ended: VecDeque::new(), state: Zeroizing::default() }
    }

    /// Returns the queue itself.
    #[inline(always)]
    pub fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Returns the queue itself, to be changed.
    #[inline(always)]
    pub fn inner_mut(&mut self) -> &mut Inner {
        &mut self.inner
    }

    /// Returns the number of operations whose end C has not taken.
    pub fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.ended.len()
    }

    /// Waits until an operation can be submitted, for so long at most. Operations that end meanwhile are kept, but
    /// no more than fit into the queue.
    pub fn await_room(&mut self, limit: Duration) -> Result<(), Failure> {
        let began = Instant::now();
        while self.inner.in_flight() == self.inner.depth() {
            let left = limit.saturating_sub(began.elapsed());
            if self.ended.len() >= self.inner.depth() {
                return Err(Refusal::Full.into());
            }
            let done = self.inner.wait_for(left).ok_or(Refusal::Full)?;
            let flight = self.flight_of(&done);
            self.ended.push_back((done, flight));
        }
        Ok(())
    }

    #[inline(always)]
    fn flight_of(&mut self, done: &Done) -> Flight {
        std::mem::take(&mut self.flights[done.ticket.index()])
    }

    /// Puts an operation in flight, and returns its ticket's number. If it is refused, C has its buffers back.
    #[inline(always)]
    pub fn submit(&mut self, request: Request<'_>, flight: Flight) -> Result<u64, Failure> {
        match self.inner.submit(request) {
            Ok(ticket) => {
                // The flight there has ended, and nothing of it is left to drop, which the compiler can't know.
                std::mem::forget(std::mem::replace(&mut self.flights[ticket.index()], flight));
                Ok(ticket.to_bits())
            }
            Err(refused) => Err(flight.refuse(refused)),
        }
    }

    /// Takes the next operation that has ended, and writes its end to `place`; with `WAIT` it waits for one if any is in
    /// flight. The frequent end is written here, out of registers: no address of it gets out. All others are written elsewhere.
    #[inline(always)]
    pub fn next<const WAIT: bool>(&mut self, place: &mut MaybeUninit<End>) -> Result<(), Failure> {
        if !self.ended.is_empty() {
            return self.next_kept(place);
        }
        let done = if WAIT { self.inner.wait() } else { self.inner.poll() };
        let Some(mut done) = done else { return Err(Failure::Nothing) };
        let mut flight = self.flight_of(&done);
        let simple = done.result.is_ok() & done.nonce().is_empty() & done.state().is_empty();
        let computed = done.tag();
        if !simple || computed.len() > TAG || flight.more.is_some() || !self.state.is_empty() {
            self.tell(done, flight, place);
            return Ok(());
        }
        let (tag, tag_length) = (padded(computed), computed.len() as u32);
        let back = |lent: Option<Lent>, bytes| lent.map_or(null_mut(), |lent| lent.give_back(bytes));
        place.write(End {
            ticket: done.ticket.to_bits(),
            user: flight.user,
            status: Status::Ok.into(),
            value: done.value,
            tag_length,
            nonce_length: 0,
            source: back(flight.source.take(), done.buffers.source.take()),
            destination: back(flight.destination.take(), done.buffers.destination.take()),
            state: null(),
            state_length: 0,
            tag,
        });
        Ok(())
    }

    #[cold]
    fn next_kept(&mut self, place: &mut MaybeUninit<End>) -> Result<(), Failure> {
        let (done, flight) = self.ended.pop_front().ok_or(Failure::Nothing)?;
        self.tell(done, flight, place);
        Ok(())
    }

    /// Writes any end of an operation for C, and gives its buffers back.
    #[cold]
    fn tell(&mut self, mut done: Done, mut flight: Flight, place: &mut MaybeUninit<End>) {
        // A tag for which there is no room comes where mid-states come.
        let (short, long) = match done.tag() {
            tag if tag.len() > TAG => (&[][..], tag),
            tag => (tag, done.state()),
        };
        self.state.zeroize();
        self.state.extend_from_slice(long);
        let (mut tag, tag_length, nonce) = (padded(short), short.len(), done.nonce());
        if let Some(place) = tag.get_mut(tag_length..tag_length + nonce.len()) {
            place.copy_from_slice(nonce);
        }
        let nonce_length = nonce.len() as u32;
        let status = done.result.err().map_or(Status::Ok, |status| {
            if let Err(error) = done.check() {
                tell(error.into());
            }
            of_operation(status)
        });
        let more = done.buffers.take_more();
        let (source, destination) = (done.buffers.source.take(), done.buffers.destination.take());
        let (source, destination) = flight.give_back(source, destination, more);
        place.write(End {
            ticket: done.ticket.to_bits(),
            user: flight.user,
            status: status.into(),
            value: done.value,
            tag_length: tag_length as u32,
            nonce_length,
            source,
            destination,
            state: if self.state.is_empty() { null() } else { self.state.as_ptr() },
            state_length: self.state.len(),
            tag,
        });
    }

    /// Takes an operation back if it has not begun.
    pub fn cancel(&mut self, ticket: u64) {
        self.inner.cancel(Ticket::from_bits(ticket));
    }
}

/// Returns a tag with zeros behind it. The frequent lengths are copied by a move or two, and not by a call.
#[inline(always)]
fn padded(tag: &[u8]) -> [u8; TAG] {
    let mut padded = [0; TAG];
    match tag.len() {
        0 => {}
        16 => padded[..16].copy_from_slice(tag),
        32 => padded[..32].copy_from_slice(tag),
        len => padded[..len].copy_from_slice(tag),
    }
    padded
}

impl Flight {
    /// Gives the buffers of an operation back to C, and returns the handles of source and destination.
    #[cold]
    fn give_back(
        &mut self,
        source: Option<Buffer>,
        destination: Option<Buffer>,
        more: Vec<Buffer>,
    ) -> (*mut lent::Buffer, *mut lent::Buffer) {
        if let Some(lent) = self.more.take() {
            let mut more = more.into_iter();
            lent.into_iter().for_each(|lent| {
                lent.give_back(more.next());
            });
        }
        let back = |lent: Option<Lent>, bytes| lent.map_or(null_mut(), |lent| lent.give_back(bytes));
        (back(self.source.take(), source), back(self.destination.take(), destination))
    }

    /// Gives the buffers of a request that was refused back to C, and returns the reason.
    #[cold]
    fn refuse(mut self, mut refused: Refused) -> Failure {
        let more = refused.buffers.take_more();
        self.give_back(refused.buffers.source.take(), refused.buffers.destination.take(), more);
        refused.why.into()
    }
}

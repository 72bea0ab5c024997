//! Queues, as C has them: which buffers and which number of the caller's belong to each operation in flight.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use millstream::hash::Hash;
use millstream::queue::{Buffer, Done, KeyHandle, Queue as Inner, Refusal, Request, Ticket};
use millstream::{Checksum, DecryptionScheme, SignatureScheme, cwq};
use zeroize::{Zeroize, Zeroizing};

use crate::failure::Failure;
use crate::ffi::batch::Kind;
use crate::ffi::lent::Lent;

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
struct Flight {
    source: Option<Lent>,
    destination: Option<Lent>,
    more: Vec<Lent>,
    user: u64,
}

/// Buffers on their way into a request, each with its bytes.
#[derive(Default)]
pub struct Loan {
    /// The input.
    pub source: Option<(Lent, Buffer)>,
    /// The output.
    pub destination: Option<(Lent, Buffer)>,
    /// More input.
    pub more: Vec<(Lent, Buffer)>,
}

impl Loan {
    /// Gives the buffers back to C: nothing was submitted.
    #[cold]
    pub fn back(self) {
        let of_one = self.source.into_iter().chain(self.destination);
        for (lent, bytes) in of_one.chain(self.more) {
            lent.give_back(Some(bytes));
        }
    }
}

/// The parts of a request beside its buffers, all of which were checked.
pub struct Plan<'a> {
    /// The kind of the operation.
    pub work: Work,
    /// Initialisation vector or nonce.
    pub iv: &'a [u8],
    /// Associated data, or the mid-state before.
    pub aad: &'a [u8],
    /// The tag to compare with.
    pub tag: &'a [u8],
    /// For KASUMI, the bits of the last byte that are no part of the message, and DIRECTION.
    pub parameter: (u8, u8),
    /// The caller's own value.
    pub user: u64,
}

/// The kind of an operation, with the keys and algorithms that it needs.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Work {
    Null,
    Copy,
    CopyChecksum(Checksum),
    Checksum(Checksum),
    Encrypt(KeyHandle),
    Decrypt(KeyHandle),
    Seal(KeyHandle),
    SealWithMadeNonce(KeyHandle),
    Open(KeyHandle),
    Digest(Hash),
    Mac(KeyHandle),
    Verify(KeyHandle),
    EncryptThenMac(KeyHandle, KeyHandle, u32),
    MacThenDecrypt(KeyHandle, KeyHandle, u32),
    PartialDigest(Hash),
    LastDigest(Hash),
    Sign(KeyHandle, SignatureScheme),
    Agree(KeyHandle),
    PublicKey(KeyHandle),
    SignRsa(KeyHandle, SignatureScheme),
    DecryptRsa(KeyHandle, DecryptionScheme<'static>),
    PublicKeyRsa(KeyHandle),
    Random,
}

impl Kind {
    /// Tells whether the kind takes a source, and a destination.
    pub fn buffers(self) -> (bool, bool) {
        match self {
            Kind::Null | Kind::PublicKey => (false, false),
            Kind::PublicKeyRsa | Kind::Random => (false, true),
            Kind::Checksum
            | Kind::Digest
            | Kind::Mac
            | Kind::Verify
            | Kind::PartialDigest
            | Kind::LastDigest
            | Kind::Sign
            | Kind::Agree => (true, false),
            _ => (true, true),
        }
    }
}

/// Returns the key behind a number that C holds.
pub fn key(bits: u64) -> Result<KeyHandle, Failure> {
    Ok(KeyHandle::from_bits(bits).ok_or(cwq::Status::Key)?)
}

/// The end of an operation, with C's handles.
pub struct Ended {
    /// The end as the library gives it.
    pub done: Done,
    /// The source's handle.
    pub source: *mut crate::ffi::lent::Buffer,
    /// The destination's.
    pub destination: *mut crate::ffi::lent::Buffer,
    /// The caller's own.
    pub user: u64,
    /// The digest or tag: room for the longest, and its length.
    pub tag: ([u8; 64], usize),
    /// Bytes of a nonce that was made, after the tag.
    pub nonce: usize,
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

    /// Returns the mid-state of the last operation that had one; none before.
    pub fn state(&self) -> &[u8] {
        &self.state
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

    fn flight_of(&mut self, done: &Done) -> Flight {
        std::mem::take(&mut self.flights[done.ticket.to_bits() as u32 as usize])
    }

    /// Puts an operation in flight, and returns its ticket's number. If it is refused, C has its buffers back.
    #[inline(always)]
    pub fn submit(&mut self, plan: Plan<'_>, loan: Loan) -> Result<u64, Failure> {
        let (source, source_bytes) = loan.source.unzip();
        let (destination, destination_bytes) = loan.destination.unzip();
        let (more, more_bytes) = loan.more.into_iter().unzip();
        let mut flight = Flight { source, destination, more, user: plan.user };
        match self.inner.submit(request(&plan, source_bytes, destination_bytes, more_bytes)) {
            Ok(ticket) => {
                let bits = ticket.to_bits();
                // A ticket's lower half is below the depth, which is the number of flights.
                self.flights[bits as u32 as usize] = flight;
                Ok(bits)
            }
            Err(mut refused) => {
                let more = refused.buffers.take_more();
                flight.give_back(refused.buffers.source, refused.buffers.destination, more);
                Err(refused.why.into())
            }
        }
    }

    /// Takes the next operation that has ended; with `wait` it waits for one if any is in flight.
    #[inline(always)]
    pub fn next(&mut self, wait: bool) -> Result<Ended, Failure> {
        let (mut done, mut flight) = match self.ended.pop_front() {
            Some(kept) => kept,
            None => {
                let done = if wait { self.inner.wait() } else { self.inner.poll() };
                let done = done.ok_or(Failure::Nothing)?;
                let flight = self.flight_of(&done);
                (done, flight)
            }
        };
        let mut tag = ([0; 64], 0);
        let computed = done.tag();
        if let Some(place) = tag.0.get_mut(..computed.len()) {
            place.copy_from_slice(computed);
            tag.1 = computed.len();
        }
        let computed_len = computed.len();
        let made = done.nonce();
        let nonce = match tag.0.get_mut(tag.1..tag.1 + made.len()) {
            Some(place) => {
                place.copy_from_slice(made);
                made.len()
            }
            None => 0,
        };
        self.state.zeroize();
        let long = if computed_len > tag.0.len() { done.tag() } else { done.state() };
        self.state.extend_from_slice(long);
        let more = if flight.more.is_empty() { Vec::new() } else { done.buffers.take_more() };
        let (source, destination) = (done.buffers.source.take(), done.buffers.destination.take());
        let (source, destination) = flight.give_back(source, destination, more);
        Ok(Ended { done, source, destination, user: flight.user, tag, nonce })
    }

    /// Takes an operation back if it has not begun.
    pub fn cancel(&mut self, ticket: u64) {
        self.inner.cancel(Ticket::from_bits(ticket));
    }
}

impl Flight {
    /// Gives the buffers of an operation back to C, and returns the handles of source and destination.
    #[inline(always)]
    fn give_back(
        &mut self,
        source: Option<Buffer>,
        destination: Option<Buffer>,
        more: Vec<Buffer>,
    ) -> (*mut crate::ffi::lent::Buffer, *mut crate::ffi::lent::Buffer) {
        let mut more = more.into_iter();
        for lent in std::mem::take(&mut self.more) {
            lent.give_back(more.next());
        }
        let back =
            |lent: Option<Lent>, bytes| lent.map_or(std::ptr::null_mut(), |lent| lent.give_back(bytes));
        (back(self.source.take(), source), back(self.destination.take(), destination))
    }
}

/// Builds a request in the library's form.
#[inline(always)]
fn request<'a>(
    plan: &Plan<'a>,
    source: Option<Buffer>,
    destination: Option<Buffer>,
    more: Vec<Buffer>,
) -> Request<'a> {
    let Plan { iv, aad, tag, .. } = *plan;
    let before = (!aad.is_empty()).then_some(aad);
    let request = match (plan.work, source, destination) {
        (Work::Copy, Some(source), Some(destination)) => Request::copy(source, destination),
        (Work::CopyChecksum(checksum), Some(source), Some(destination)) => {
            Request::copy_checksum(checksum, source, destination)
        }
        (Work::Checksum(checksum), Some(source), _) => Request::checksum(checksum, source),
        (Work::Encrypt(key), Some(source), Some(destination)) => {
            Request::encrypt(key, iv, source, destination)
        }
        (Work::Decrypt(key), Some(source), Some(destination)) => {
            Request::decrypt(key, iv, source, destination)
        }
        (Work::Seal(key), Some(source), Some(destination)) => {
            Request::seal(key, iv, aad, source, destination)
        }
        (Work::SealWithMadeNonce(key), Some(source), Some(destination)) => {
            Request::seal_with_made_nonce(key, aad, source, destination)
        }
        (Work::Open(key), Some(source), Some(destination)) => {
            Request::open_cut(key, iv, aad, source, destination, tag, 16)
        }
        (Work::Digest(hash), Some(source), _) => Request::digest(hash, source),
        (Work::Mac(key), Some(source), _) => Request::mac(key, source).with_iv(iv),
        (Work::Verify(key), Some(source), _) => Request::verify(key, source, tag).with_iv(iv),
        (Work::EncryptThenMac(cipher, mac, clear), Some(source), Some(destination)) => {
            Request::encrypt_then_mac(cipher, iv, mac, clear, source, destination)
        }
        (Work::MacThenDecrypt(cipher, mac, clear), Some(source), Some(destination)) => {
            Request::mac_then_decrypt(cipher, iv, mac, clear, source, destination, tag)
        }
        (Work::PartialDigest(hash), Some(source), _) => Request::partial_hash(hash, before, source),
        (Work::LastDigest(hash), Some(source), _) => Request::last_hash(hash, before, source),
        (Work::Sign(key, scheme), Some(source), _) => Request::sign_with(key, scheme, source),
        (Work::Agree(key), Some(source), _) => Request::agree(key, source),
        (Work::PublicKey(key), ..) => Request::public_key(key),
        (Work::SignRsa(key, scheme), Some(source), Some(destination)) => {
            Request::sign_rsa(key, scheme, source, destination)
        }
        (Work::DecryptRsa(key, scheme), Some(source), Some(destination)) => {
            Request::decrypt_rsa(key, scheme.with_label(aad), source, destination)
        }
        (Work::PublicKeyRsa(key), _, Some(destination)) => Request::public_key_rsa(key, destination),
        (Work::Random, _, Some(destination)) => Request::random(destination),
        // A plan goes with the buffers that its kind takes.
        _ => Request::null(),
    };
    let request = match plan.parameter {
        (0, 0) => request,
        (unused_bits, direction) => request.with_parameter(unused_bits, direction),
    };
    if more.is_empty() { request } else { request.and_then(more) }
}

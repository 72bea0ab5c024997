//! A grant goes from one worker to another: [`HandOver`] messages over a socket that the broker made for it.

use std::io;
use std::os::fd::AsFd;
use std::vec::IntoIter;

use millstream_accelerator::{
    Handle, KeySlots, MovedKey, MovedQueue, MovedSlot, NonceCounter, Nonces, Position, Purpose, QueueStats,
    SharedKeyMemory,
};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Status, Usages};
use millstream_protocol::{Grant, HandOver, KeyPurpose, Message, NoncesLeft, QueueCounts, Secret};
use millstream_shm::{Received, Socket};
use zeroize::Zeroizing;

use super::grant::Refused;
use super::serving::WakeCounts;

/// The outcome of one message.
pub(super) enum Step {
    /// The message went, or came.
    Went,
    /// The other worker takes none now, or has none.
    Waits,
    /// The message was the last.
    Over,
}

/// The parts of a grant that go to another worker.
pub(super) struct Leaving {
    queues: IntoIter<MovedQueue>,
    slots: IntoIter<MovedSlot>,
    /// The counts of the grant as a whole go with its first queue.
    wake_counts: Option<WakeCounts>,
    /// None where the client has closed it, or lost it.
    keys: Option<Socket>,
    /// The next message, and whether it is the last; none where it was not made.
    next: Option<(Zeroizing<Vec<u8>>, bool)>,
}

impl Leaving {
    pub(super) fn new(
        queues: Vec<MovedQueue>,
        slots: Vec<MovedSlot>,
        wake_counts: WakeCounts,
        keys: Option<Socket>,
    ) -> Self {
        let (queues, slots) = (queues.into_iter(), slots.into_iter());
        Leaving { queues, slots, wake_counts: Some(wake_counts), keys, next: None }
    }

    fn message(&mut self) -> (Zeroizing<Vec<u8>>, bool) {
        if let Some(queue) = self.queues.next() {
            let mut counts = counts_of(&queue.stats);
            if let Some(wake_counts) = self.wake_counts.take() {
                (counts.client_wakes, counts.doorbells) = (wake_counts.wakes, wake_counts.doorbells);
            }
            let Position { submissions: taken, completions: posted } = queue.position;
            (HandOver::Queue { taken, posted, counts }.encode(), false)
        } else if let Some(slot) = self.slots.next() {
            (key_message(slot).encode(), false)
        } else {
            (HandOver::End {}.encode(), true)
        }
    }

    /// Sends a message, if the other worker takes it.
    pub(super) fn send(&mut self, to: &Socket) -> Result<Step, Refused> {
        let (bytes, is_last) = match self.next.take() {
            Some(next) => next,
            None => self.message(),
        };
        let keys: Vec<_> = self.keys.iter().filter(|_| is_last).map(AsFd::as_fd).collect();
        match to.try_send(&bytes, &keys) {
            Ok(()) if is_last => Ok(Step::Over),
            Ok(()) => Ok(Step::Went),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.next = Some((bytes, is_last));
                Ok(Step::Waits)
            }
            Err(error) => Err(Refused::Peer(error)),
        }
    }
}

/// The parts that have come.
pub(super) struct Moved {
    pub(super) queues: Vec<MovedQueue>,
    pub(super) slots: KeySlots,
    pub(super) wake_counts: WakeCounts,
    /// None where the client has closed it, or lost it.
    pub(super) keys: Option<Socket>,
}

/// The parts of a grant that come from another worker: so many queues, and at most so many keys.
pub(super) struct Arriving {
    moved: Moved,
    features: Features,
    queues: usize,
    /// The inode by which the key socket is known.
    inode: u64,
}

impl Arriving {
    pub(super) fn new(grant: &Grant, features: Features, memory: &SharedKeyMemory, inode: u64) -> Self {
        let slots = KeySlots::with_memory(grant.key_slots as usize, Some(memory.clone()));
        let moved = Moved { queues: Vec::new(), slots, wake_counts: WakeCounts::default(), keys: None };
        Arriving { moved, features, queues: grant.queues as usize, inode }
    }

    /// All of it, its queues with that weight.
    pub(super) fn into_moved(mut self, weight: u32) -> Moved {
        self.moved.queues.iter_mut().for_each(|queue| queue.weight = weight);
        self.moved
    }

    /// Takes a message, if there is one.
    pub(super) fn receive(&mut self, from: &Socket) -> Result<Step, Refused> {
        let bytes = match from.try_receive_plain() {
            Ok(Some(bytes)) => Zeroizing::new(bytes),
            Ok(None) => return Err(Refused::HandOver("it ended too early")),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Step::Waits),
            // With descriptors, which only the last one has.
            Err(error) if error.kind() == io::ErrorKind::Unsupported && self.is_whole() => {
                return self.receive_end(from);
            }
            Err(error) => return Err(Refused::Peer(error)),
        };
        let Moved { queues, slots, wake_counts, .. } = &mut self.moved;
        match HandOver::decode(&bytes).map_err(Refused::Message)? {
            HandOver::Queue { taken, posted, counts } if queues.len() < self.queues => {
                wake_counts.wakes += counts.client_wakes;
                wake_counts.doorbells += counts.doorbells;
                let position = Position { submissions: taken, completions: posted };
                queues.push(MovedQueue { position, stats: stats_of(&counts), ..MovedQueue::default() });
                Ok(Step::Went)
            }
            HandOver::Key { handle, algorithm, exportable, purpose, nonces, bytes } => {
                let algorithm = Algorithm::from_code(algorithm);
                let algorithm = algorithm.ok_or(Refused::HandOver("a key of an unknown algorithm"))?;
                let purpose = moved_purpose(&purpose, &nonces)?;
                let bytes = Zeroizing::new(bytes.expose().to_vec());
                let key = MovedKey { algorithm, exportable, purpose, bytes };
                let key = (algorithm != Algorithm::None).then_some(key);
                let slot = MovedSlot { handle: Handle::from_bits(handle), key };
                slots.push_moved(self.features, slot).map_err(Refused::Keys)?;
                Ok(Step::Went)
            }
            HandOver::End {} if self.is_whole() => Ok(Step::Over),
            _ => Err(Refused::HandOver("more or fewer queues than were granted")),
        }
    }

    fn is_whole(&self) -> bool {
        self.moved.queues.len() == self.queues
    }

    /// Takes the last message, with the key socket. Whatever else came is not closed: that might take as long as whoever made
    /// it likes. So a worker that sends such things costs this one descriptors, one move's at a time, and nobody time.
    fn receive_end(&mut self, from: &Socket) -> Result<Step, Refused> {
        let received = from.try_receive().map_err(Refused::Peer)?;
        let Received { bytes, descriptors } = received.ok_or(Refused::HandOver("it ended too early"))?;
        let is_end = matches!(HandOver::decode(&bytes), Ok(HandOver::End {}));
        let mut others = 0;
        for descriptor in descriptors {
            let socket = Socket::received(descriptor);
            if is_end && self.moved.keys.is_none() && socket.inode().ok() == Some(self.inode) {
                self.moved.keys = Some(socket);
            } else {
                others += 1;
                std::mem::forget(socket);
            }
        }
        match (is_end, others) {
            (true, 0) => Ok(Step::Over),
            _ => Err(Refused::HandOver("descriptors that are not the key socket")),
        }
    }
}

/// Returns the message about a slot. An empty one sends only its number, so that handles to its old keys stay stale.
fn key_message(slot: MovedSlot) -> HandOver {
    let handle = slot.handle.to_bits();
    let Some(MovedKey { algorithm, exportable, purpose, bytes }) = slot.key else {
        let (purpose, nonces) = (KeyPurpose::default(), NoncesLeft::default());
        let (algorithm, bytes) = (Algorithm::None as u8, Secret::default());
        return HandOver::Key { handle, algorithm, exportable: false, purpose, nonces, bytes };
    };
    let usages = purpose.usages.to_bits();
    let (makes_nonces, nonces) = match purpose.nonces {
        Nonces::Made(counter) => {
            let (next, left) = counter.into_position();
            (true, NoncesLeft { next, left })
        }
        _ => (false, NoncesLeft::default()),
    };
    let purpose = KeyPurpose { usages, makes_nonces };
    HandOver::Key {
        handle,
        algorithm: algorithm as u8,
        exportable,
        purpose,
        nonces,
        bytes: Secret::new(&bytes),
    }
}

/// The purpose of a key that comes from the other worker.
fn moved_purpose(purpose: &KeyPurpose, nonces: &NoncesLeft) -> Result<Purpose, Refused> {
    let usages =
        Usages::from_bits(purpose.usages).ok_or(Refused::HandOver("a key for an unknown purpose"))?;
    let nonces = match purpose.makes_nonces {
        true => Nonces::Made(NonceCounter::resume((nonces.next, nonces.left))),
        false => Nonces::Given,
    };
    Ok(Purpose { usages, nonces })
}

/// Returns an accelerator's counts of a queue, as messages have them.
pub(super) fn counts_of(stats: &QueueStats) -> QueueCounts {
    let failures = Status::ALL.iter().filter(|status| **status != Status::Ok);
    let failures = failures.map(|status| (*status as u16, stats.ended_with(*status)));
    QueueCounts {
        operations: stats.operations,
        bytes: stats.bytes,
        in_flight: u32::try_from(stats.held + stats.waiting).unwrap_or(u32::MAX),
        failures: failures.filter(|(_, count)| *count > 0).collect(),
        ..QueueCounts::default()
    }
}

fn stats_of(counts: &QueueCounts) -> QueueStats {
    let mut stats =
        QueueStats { operations: counts.operations, bytes: counts.bytes, ..QueueStats::default() };
    for (status, count) in &counts.failures {
        if let Some(status) = Status::from_code(*status) {
            stats.failures[status.index()] = *count;
        }
    }
    stats
}

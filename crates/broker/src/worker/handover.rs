//! A grant goes from one worker to another: [`HandOver`] messages over a socket that the broker made for it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use millstream_accelerator::{Handle, MovedKey, MovedQueue, MovedSlot, Position, QueueStats};
use millstream_cwq::{Algorithm, Status};
use millstream_protocol::{HandOver, Message, QueueCounts, Secret};
use millstream_shm::Socket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zeroize::Zeroizing;

use super::grant::Refused;
use super::serving::Bells;

/// How long the other worker may say nothing, or take nothing.
const PATIENCE: Duration = Duration::from_secs(5);

/// What goes over.
pub(super) struct Moved {
    pub(super) queues: Vec<MovedQueue>,
    pub(super) slots: Vec<MovedSlot>,
    pub(super) bells: Bells,
    /// None where the client has closed it, or lost it.
    pub(super) keys: Option<Socket>,
}

impl Moved {
    /// Hands it to the worker at the other end.
    pub(super) fn send(self, to: &Socket) -> Result<(), Refused> {
        for (index, queue) in self.queues.iter().enumerate() {
            let mut counts = counts_of(&queue.stats);
            // What is counted for the grant as a whole goes with its first queue.
            if index == 0 {
                (counts.client_wakes, counts.doorbells) = (self.bells.wakes, self.bells.doorbells);
            }
            let Position { submissions: taken, completions: posted } = queue.position;
            send(to, &HandOver::Queue { taken, posted, counts }, &[])?;
        }
        for slot in &self.slots {
            let handle = slot.handle.to_bits();
            // Of an empty slot only the number goes, so that handles to its old keys stay stale.
            let (algorithm, exportable, bytes) = match &slot.key {
                Some(key) => (key.algorithm, key.exportable, Secret::new(&key.bytes)),
                None => (Algorithm::None, false, Secret::default()),
            };
            send(to, &HandOver::Key { handle, algorithm: algorithm as u8, exportable, bytes }, &[])?;
        }
        let descriptors: Vec<_> = self.keys.iter().map(AsFd::as_fd).collect();
        send(to, &HandOver::End {}, &descriptors)
    }

    /// Takes it from the worker at the other end: so many queues, of that weight, and at most so many keys.
    pub(super) fn receive(from: &Socket, queues: usize, weight: u32, slots: usize) -> Result<Self, Refused> {
        let mut moved = Moved { queues: Vec::new(), slots: Vec::new(), bells: Bells::default(), keys: None };
        loop {
            if !from.wait(Some(PATIENCE)).map_err(Refused::Peer)? {
                return Err(Refused::Peer(io::ErrorKind::TimedOut.into()));
            }
            let received = from.receive().map_err(Refused::Peer)?;
            let received = received.ok_or(Refused::HandOver("it ended too early"))?;
            let bytes = Zeroizing::new(received.bytes);
            match HandOver::decode(&bytes).map_err(Refused::Message)? {
                HandOver::Queue { taken, posted, counts } if moved.queues.len() < queues => {
                    moved.bells.wakes += counts.client_wakes;
                    moved.bells.doorbells += counts.doorbells;
                    let position = Position { submissions: taken, completions: posted };
                    moved.queues.push(MovedQueue { weight, position, stats: stats_of(&counts) });
                }
                HandOver::Key { handle, algorithm, exportable, bytes } if moved.slots.len() < slots => {
                    let algorithm = Algorithm::from_code(algorithm);
                    let algorithm = algorithm.ok_or(Refused::HandOver("a key of an unknown algorithm"))?;
                    let bytes = Zeroizing::new(bytes.expose().to_vec());
                    let key =
                        (algorithm != Algorithm::None).then_some(MovedKey { algorithm, exportable, bytes });
                    moved.slots.push(MovedSlot { handle: Handle::from_bits(handle), key });
                }
                HandOver::End {} if moved.queues.len() == queues => {
                    moved.keys = received.descriptors.into_iter().next().map(Socket::received);
                    return Ok(moved);
                }
                _ => return Err(Refused::HandOver("more or fewer queues or keys than were granted")),
            }
        }
    }
}

/// Sends a message, and waits for the other worker to make room, but not for ever: it may wait for this one.
fn send(to: &Socket, message: &HandOver, descriptors: &[BorrowedFd<'_>]) -> Result<(), Refused> {
    let (bytes, begin) = (message.encode(), Instant::now());
    loop {
        match to.try_send(&bytes, descriptors) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begin.elapsed() < PATIENCE => {
                let mut polled = [PollFd::new(to, PollFlags::OUT)];
                let limit = Timespec { tv_sec: 1, tv_nsec: 0 };
                // Whatever it says, the next try tells.
                let _ = poll(&mut polled, Some(&limit));
            }
            Err(error) => return Err(Refused::Peer(error)),
        }
    }
}

/// What an accelerator counted of a queue, as messages have it.
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

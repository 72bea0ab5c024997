//! Grants on their way to another worker, or from one: a step at a time, between what other grants and the broker want.
//!
//! The other worker is no more trusted than it has to be: what it says is checked, it has only so much time, and it can't have
//! this thread close what it sent. Of a message with descriptors only the last one of a hand-over is received, and of that only
//! the grant's own key socket is kept, which its broker says how to know. The broker holds both ends of the connection
//! until both workers are done with it, so what is left unread in it is never closed here either.

use std::io;
use std::ops::Bound;
use std::time::{Duration, Instant};

use millstream_accelerator::SharedKeyMemory;
use millstream_protocol::{Grant, Report};
use millstream_shm::Socket;
use rustix::event::epoll;

use super::control::{Control, Held};
use super::grant::{Parts, Refused};
use super::handover::{Arriving, Leaving, Step};
use super::key_socket::KeySocket;
use super::pace::SHORT;

/// Added to the numbers of grants, the connection over which one moves.
pub(super) const MOVES: u64 = 1 << 63;

/// The time that a grant's long operations have to end before it moves. Those that are not done by then are cancelled.
const PAUSE: Duration = Duration::from_millis(200);
/// The interval at which they are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(1);
/// The time for which the other worker may say nothing, or take nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time that all of a move may take on either side.
const LIMIT: Duration = Duration::from_secs(8);
/// The number of messages that go, or come, at a time. Fewer come where they have keys that take long to expand: see [`SHORT`].
const AT_ONCE: usize = 64;

/// The progress of a move, on this side of it.
enum Stage {
    /// The grant takes no more words, and its long operations come to their end, if that does not take too long.
    Pausing(Box<Held>),
    Sending(Leaving),
    Receiving(Box<(Parts, SharedKeyMemory, Arriving)>),
    /// Nothing is left.
    Over,
}

pub(super) struct Move {
    stage: Stage,
    other: Socket,
    began: Instant,
    /// When something last went or came.
    heard: Instant,
}

impl Move {
    fn new(stage: Stage, other: Socket) -> Self {
        let now = Instant::now();
        Move { stage, other, began: now, heard: now }
    }

    /// Returns the time at which the move must be looked at, whatever happens.
    fn due(&self) -> Instant {
        match self.stage {
            Stage::Pausing(_) => self.heard + LOOK,
            _ => (self.heard + PATIENCE).min(self.began + LIMIT),
        }
    }

    /// Returns true when the move can go on at any time: all but its pause is messages.
    fn goes(&self) -> bool {
        !matches!(self.stage, Stage::Pausing(_))
    }

    /// The policy has changed.
    pub(super) fn limit(&mut self, change: impl FnOnce(&mut Grant)) {
        if let Stage::Receiving(arrives) = &mut self.stage {
            change(&mut arrives.0.grant);
        }
    }
}

impl Control {
    /// Begins to hand a grant to the worker at the other end. What comes of it is told after the answer to the order.
    pub(super) fn leave(&mut self, number: u64, held: Held, to: Socket) {
        let mut leaves = Move::new(Stage::Pausing(Box::new(held)), to);
        leaves.heard = leaves.began.checked_sub(LOOK).unwrap_or(leaves.began);
        self.moves.insert(number, leaves);
    }

    /// Begins to take a grant from the worker at the other end, with the key socket that the broker has told.
    pub(super) fn arrive(
        &mut self,
        parts: Parts,
        memory: SharedKeyMemory,
        from: Socket,
        keys: u64,
    ) -> Result<(), Refused> {
        let number = parts.grant.id;
        self.wait_for(&from, number, epoll::EventFlags::IN)?;
        let arriving = Arriving::new(&parts.grant, self.features, &memory, keys);
        let stage = Stage::Receiving(Box::new((parts, memory, arriving)));
        self.moves.insert(number, Move::new(stage, from));
        Ok(())
    }

    fn wait_for(&self, other: &Socket, number: u64, flags: epoll::EventFlags) -> Result<(), Refused> {
        let data = epoll::EventData::new_u64(MOVES | number);
        epoll::add(&self.epoll, other, data, flags).map_err(|error| Refused::Peer(error.into()))
    }

    /// Returns the time for which nothing need be done for any of them.
    pub(super) fn moves_rest(&self) -> Option<Duration> {
        let due = self.moves.values().map(Move::due).min();
        due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Goes on with those whose time has come.
    pub(super) fn moves_due(&mut self) {
        let now = Instant::now();
        let due: Vec<u64> =
            self.moves.iter().filter(|(_, found)| found.due() <= now).map(|(number, _)| *number).collect();
        for number in due {
            self.go_on(number);
        }
    }

    /// Goes on with one of them, each in its turn; whether there is one. The pauses that they begin with have times of their own.
    pub(super) fn next_move(&mut self) -> bool {
        let goes = |(number, found): (&u64, &Move)| found.goes().then_some(*number);
        let after = (Bound::Excluded(self.went_on), Bound::Unbounded);
        let next = self.moves.range(after).find_map(goes);
        let Some(number) = next.or_else(|| self.moves.iter().find_map(goes)) else { return false };
        self.went_on = number;
        self.go_on(number);
        true
    }

    /// Goes on with one, and tells the broker when it is over.
    pub(super) fn go_on(&mut self, number: u64) {
        let Some(mut found) = self.moves.remove(&number) else { return };
        self.steps.step_for(number);
        let outcome = self.advance(number, &mut found);
        if let (Ok(()), false) = (&outcome, matches!(found.stage, Stage::Over)) {
            self.moves.insert(number, found);
            return;
        }
        // The broker has it too, so closing it here would not take it out.
        let _ = epoll::delete(&self.epoll, &found.other);
        let report = match outcome {
            Ok(()) => Report::Moved { grant: number },
            Err(refused) => Report::NotMoved { grant: number, why: refused.to_string() },
        };
        // A broker that is gone is seen with the next order.
        let _ = self.report(&report);
    }

    fn advance(&mut self, number: u64, of: &mut Move) -> Result<(), Refused> {
        let now = Instant::now();
        let late = now >= of.due();
        match &mut of.stage {
            Stage::Pausing(held) => {
                let (id, until) = (held.id, of.began + PAUSE);
                of.heard = now;
                let left = self.ask(move |serving| serving.accelerator.pause(id));
                if left.ok_or(Refused::Ended)? > 0 && now < until {
                    return Ok(());
                }
                let Stage::Pausing(held) = std::mem::replace(&mut of.stage, Stage::Over) else {
                    return Ok(());
                };
                let leaving = self.let_go(number, *held)?;
                // Nothing comes from there; it is told when there is room.
                self.wait_for(&of.other, number, epoll::EventFlags::OUT)?;
                of.stage = Stage::Sending(leaving);
                Ok(())
            }
            Stage::Sending(leaving) => {
                for _ in 0..AT_ONCE {
                    match leaving.send(&of.other)? {
                        Step::Went => of.heard = now,
                        Step::Waits if late => return Err(Refused::Peer(io::ErrorKind::TimedOut.into())),
                        Step::Waits => return Ok(()),
                        Step::Over => {
                            of.stage = Stage::Over;
                            return Ok(());
                        }
                    }
                }
                Ok(())
            }
            Stage::Receiving(arrives) => {
                for _ in 0..AT_ONCE {
                    match arrives.2.receive(&of.other)? {
                        Step::Went => {
                            of.heard = Instant::now();
                            // A key on hashes is expanded here. Others are answered before the next one.
                            if of.heard - now >= SHORT {
                                return Ok(());
                            }
                        }
                        Step::Waits if late => return Err(Refused::Peer(io::ErrorKind::TimedOut.into())),
                        Step::Waits => return Ok(()),
                        Step::Over => {
                            let stage = std::mem::replace(&mut of.stage, Stage::Over);
                            let Stage::Receiving(arrives) = stage else { return Ok(()) };
                            let (parts, memory, arriving) = *arrives;
                            let moved = arriving.into_moved(parts.grant.weight);
                            return self.begin(
                                parts,
                                moved.queues,
                                (moved.slots, memory),
                                moved.wake_counts,
                                moved.keys,
                            );
                        }
                    }
                }
                Ok(())
            }
            Stage::Over => Ok(()),
        }
    }

    /// Takes a grant from the accelerator.
    fn let_go(&mut self, number: u64, held: Held) -> Result<Leaving, Refused> {
        let id = held.id;
        let released = self.ask(move |serving| {
            let released = serving.accelerator.release_grant(id)?;
            Some((released, serving.leave(number)))
        });
        let (released, wake_counts) = released.flatten().ok_or(Refused::Ended)?;
        let queues = released.queues.into_iter().map(|(_, queue)| queue).collect();
        let keys = held.keys.map(KeySocket::into_socket);
        Ok(Leaving::new(queues, released.keys.into_moved(), wake_counts, keys))
    }
}

//! Waiting for many things at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::event::{Timespec, epoll};

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The listener: a connection is there.
    Listener,
    /// The directory of the socket, which has changed.
    Directory,
    /// The request to stop, or to read the policy.
    Stop,
    /// The thread of the metrics, which asks for them.
    Metrics,
    /// The errands: something was done for a grant.
    Done,
    /// The keeper of tokens, who has answers.
    Kept,
    /// A worker's socket.
    Worker(usize),
    /// A worker's process, which has ended.
    Ended(usize),
    /// A worker's standard error.
    Said(usize),
    /// A client's socket.
    Client(u64),
    /// A client's process, which has ended.
    Left(u64),
}

/// The first number of a worker.
const WORKERS: u64 = 6;
/// The first number of a client.
const CLIENTS: u64 = 1 << 32;

impl Token {
    fn to_number(self) -> u64 {
        match self {
            Token::Listener => 0,
            Token::Directory => 1,
            Token::Stop => 2,
            Token::Metrics => 3,
            Token::Done => 4,
            Token::Kept => 5,
            Token::Worker(index) => WORKERS + 3 * index as u64,
            Token::Ended(index) => WORKERS + 3 * index as u64 + 1,
            Token::Said(index) => WORKERS + 3 * index as u64 + 2,
            Token::Client(id) => CLIENTS + 2 * id,
            Token::Left(id) => CLIENTS + 2 * id + 1,
        }
    }

    fn from_number(number: u64) -> Self {
        match number {
            0 => Token::Listener,
            1 => Token::Directory,
            2 => Token::Stop,
            3 => Token::Metrics,
            4 => Token::Done,
            5 => Token::Kept,
            CLIENTS.. if number.is_multiple_of(2) => Token::Client((number - CLIENTS) / 2),
            CLIENTS.. => Token::Left((number - CLIENTS) / 2),
            _ => {
                let (worker, what) = ((number - WORKERS) as usize / 3, (number - WORKERS) % 3);
                [Token::Worker(worker), Token::Ended(worker), Token::Said(worker)][what as usize]
            }
        }
    }
}

/// The events to wait for at a descriptor. A peer's going away is always among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

impl Interest {
    pub(crate) const READ: Interest = Interest { read: true, write: false };
    pub(crate) const NOTHING: Interest = Interest { read: false, write: false };

    fn flags(self) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::RDHUP;
        flags.set(epoll::EventFlags::IN, self.read);
        flags.set(epoll::EventFlags::OUT, self.write);
        flags
    }
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) token: Token,
    /// True when the descriptor can be written to.
    pub(crate) write: bool,
    /// True when the other end is gone, though there may be messages left.
    pub(crate) gone: bool,
}

/// The set of descriptors to wait for.
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// The most events that are taken at once.
const EVENTS: usize = 64;

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Poll { epoll, events: Vec::with_capacity(EVENTS) })
    }

    pub(crate) fn add(&self, what: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.to_number());
        Ok(epoll::add(&self.epoll, what, data, interest.flags())?)
    }

    pub(crate) fn change(&self, what: impl AsFd, token: Token, interest: Interest) {
        let data = epoll::EventData::new_u64(token.to_number());
        // The descriptor was added before, so this needs no memory and can't fail.
        let _ = epoll::modify(&self.epoll, what, data, interest.flags());
    }

    /// Removes a descriptor before it is closed. Closing alone is not enough, because a child that was just
    /// forked may still hold it.
    pub(crate) fn remove(&self, what: impl AsFd) {
        let _ = epoll::delete(&self.epoll, what);
    }

    /// Waits until something happens, or the time has come.
    pub(crate) fn wait(&mut self, until: Option<Instant>) -> io::Result<Vec<Event>> {
        let limit = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) }
        });
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let gone = epoll::EventFlags::HUP | epoll::EventFlags::ERR | epoll::EventFlags::RDHUP;
        let happened = self.events.iter().map(|event| {
            // The structure is packed, so its fields are copied.
            let (flags, data) = (event.flags, event.data);
            Event {
                token: Token::from_number(data.u64()),
                write: flags.contains(epoll::EventFlags::OUT),
                gone: flags.intersects(gone),
            }
        });
        Ok(happened.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_went() {
        for token in [
            Token::Listener,
            Token::Directory,
            Token::Stop,
            Token::Metrics,
            Token::Done,
            Token::Kept,
            Token::Worker(0),
            Token::Ended(0),
            Token::Said(0),
            Token::Worker(99),
            Token::Ended(99),
            Token::Said(99),
            Token::Client(0),
            Token::Left(0),
            Token::Client(u64::MAX >> 2),
            Token::Left(u64::MAX >> 2),
        ] {
            assert_eq!(Token::from_number(token.to_number()), token);
        }
    }
}

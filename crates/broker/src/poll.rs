//! Waiting for many things at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::event::{Timespec, epoll};

/// What something waited for is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A connection is there.
    Listener,
    /// The directory of the socket has changed.
    Directory,
    /// To stop, or to read the policy.
    Stop,
    /// Somebody wants metrics.
    Metrics,
    /// Something was done for grants that have ended.
    Done,
    /// A worker says something, or takes something.
    Worker(usize),
    /// A worker has ended.
    Ended(usize),
    /// A worker writes to its standard error.
    Said(usize),
    /// A client says something, or takes something.
    Client(u64),
    /// The process of a client has ended.
    Left(u64),
}

/// Numbers of workers begin here.
const WORKERS: u64 = 5;
/// Numbers of clients begin here.
const CLIENTS: u64 = 1 << 32;

impl Token {
    fn to_number(self) -> u64 {
        match self {
            Token::Listener => 0,
            Token::Directory => 1,
            Token::Stop => 2,
            Token::Metrics => 3,
            Token::Done => 4,
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
            CLIENTS.. if number.is_multiple_of(2) => Token::Client((number - CLIENTS) / 2),
            CLIENTS.. => Token::Left((number - CLIENTS) / 2),
            _ => {
                let (worker, what) = ((number - WORKERS) as usize / 3, (number - WORKERS) % 3);
                [Token::Worker(worker), Token::Ended(worker), Token::Said(worker)][what as usize]
            }
        }
    }
}

/// What is waited for at a descriptor, beside that its other end goes away.
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

/// What has happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) token: Token,
    /// It can be written to.
    pub(crate) write: bool,
    /// Its other end is gone, though there may be messages left.
    pub(crate) gone: bool,
}

/// What is waited for.
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// How many events are taken at once.
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
        // It was added, so this needs no memory.
        let _ = epoll::modify(&self.epoll, what, data, interest.flags());
    }

    /// Before a descriptor is closed: a child that was just forked may still hold it.
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
            // A copy: the structure is packed.
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

//! Closes connections that have no grant and ask for nothing in time.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use millstream_protocol::Refusal;

use crate::broker::Broker;

/// The times at which to check connections, one for each.
#[derive(Default)]
pub(crate) struct Idle {
    times: BTreeSet<(Instant, u64)>,
    of: HashMap<u64, Instant>,
}

impl Idle {
    /// Checks a connection at that time, and at no other.
    fn look_at(&mut self, id: u64, time: Instant) {
        self.forget(id);
        self.times.insert((time, id));
        self.of.insert(id, time);
    }

    /// Cancels the check of a connection.
    pub(crate) fn forget(&mut self, id: u64) {
        if let Some(time) = self.of.remove(&id) {
            self.times.remove(&(time, id));
        }
    }

    /// Returns the time of the first check.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.times.first().map(|(time, _)| *time)
    }

    /// Takes the first connection whose time has come.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let (_, id) = *self.times.first().filter(|(time, _)| *time <= now)?;
        self.forget(id);
        Some(id)
    }
}

impl Broker {
    /// Expects a client without a grant to say something in time. Operators may watch for as long as they
    /// like.
    pub(crate) fn expect(&mut self, id: u64) {
        let Some(client) = self.clients.get(&id) else { return };
        if !self.policy.is_operator(&client.peer) {
            self.idle.look_at(id, client.heard + self.policy.service().idle());
        }
    }

    /// Closes connections that have no grant and say nothing.
    pub(crate) fn close_idle(&mut self, now: Instant) {
        let limit = self.policy.service().idle();
        while let Some(id) = self.idle.take(now) {
            let Some(client) = self.clients.get_mut(&id).filter(|client| client.grant.is_none()) else {
                continue;
            };
            // A client may be looking at the memory of a grant that has ended, and would lose it. One that
            // does not even take what it was told does not look.
            if client.waits || !client.looks_at.is_empty() && client.link.is_taken() {
                client.heard = now;
            }
            if client.heard + limit > now {
                self.idle.look_at(id, client.heard + limit);
                continue;
            }
            let detail =
                format!("no request came for {} s ([limits] idle_s): connect again", limit.as_secs());
            self.refuse(id, Refusal::Exhausted, detail);
            self.leave(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_is_looked_at_once() {
        let mut idle = Idle::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        for second in 0..1000 {
            idle.look_at(1, at(second));
            idle.look_at(2, at(2000 - second));
        }
        assert_eq!((idle.times.len(), idle.of.len()), (2, 2));
        assert_eq!((idle.next_at(), idle.take(at(998))), (Some(at(999)), None));
        assert_eq!((idle.take(at(999)), idle.take(at(1000))), (Some(1), None));
        idle.forget(2);
        idle.forget(3);
        assert!(idle.times.is_empty() && idle.of.is_empty() && idle.next_at().is_none());
    }
}

//! Duplicates of socket ends that the broker holds, so that no worker is the last to close a queue that a
//! stranger or another worker has filled.
//!
//! One kind is the connection over which a grant moves from worker to worker: the broker holds both ends
//! until both are done with it. The other is the worker's end of a key socket, held where the kernel can't
//! refuse descriptors that clients send there (Linux before 6.16).
//!
//! A worker closes its descriptor of such an end between answers to other clients, so it must not be the last
//! one. The broker's is, and the broker closes it as it closes every connection that may hold strangers'
//! descriptors.

use std::collections::HashMap;
use std::io;

use millstream_shm::{Socket, pair};

use crate::broker::Broker;
use crate::crew::Purpose;
use crate::disposal::Disposal;
use crate::link::Link;

/// Both ends of a new key socket.
pub(crate) struct KeySockets {
    pub(crate) client: Socket,
    pub(crate) worker: Socket,
    /// A duplicate of the worker's end, where the kernel lets descriptors through to it.
    pub(crate) kept: Option<Link>,
}

impl KeySockets {
    /// Makes a key socket for a user. Where `refuse` is false, the kernel is not asked to refuse descriptors.
    ///
    /// # Errors
    /// Too many descriptors.
    pub(crate) fn new(refuse: bool, disposal: &Disposal, uid: u32) -> io::Result<Self> {
        let (client, worker) = pair()?;
        if refuse && worker.refuse_descriptors().is_ok() {
            // A worker does not send descriptors either, unless somebody has taken it over.
            client.refuse_descriptors()?;
        }
        let kept = (!worker.refuses_descriptors())
            .then(|| worker.duplicate().map(|again| Link::new(Socket::received(again), disposal, Some(uid))))
            .transpose()?;
        Ok(KeySockets { client, worker, kept })
    }
}

/// A duplicate that is held for a grant.
struct KeyEnd {
    /// Held for its drop, which closes it.
    _link: Link,
    /// The number of unanswered orders about the grant. Until it is zero a worker may have the end.
    orders: u32,
}

/// Both ends of the connection over which a grant moves, so that neither worker closes what the other has
/// sent.
struct Passage {
    ends: [Link; 2],
    /// The number of the two workers that are not done with it.
    users: u32,
}

/// All ends that are held, by the grant's number.
#[derive(Default)]
pub(crate) struct KeyEnds {
    sockets: HashMap<u64, KeyEnd>,
    passages: HashMap<u64, Passage>,
}

impl KeyEnds {
    /// Holds an end until [`KeyEnds::let_go`].
    pub(crate) fn hold(&mut self, grant: u64, link: Option<Link>) {
        if let Some(link) = link {
            self.sockets.insert(grant, KeyEnd { _link: link, orders: 0 });
        }
    }

    /// Holds the ends of a connection between two workers until both have answered.
    pub(crate) fn hold_for_move(&mut self, grant: u64, ends: [Link; 2]) {
        self.passages.insert(grant, Passage { ends, users: 2 });
    }

    /// Records that a worker is done with a move, or never will be asked. The other one reads what is there,
    /// and then sees the end.
    pub(crate) fn moved(&mut self, purpose: Purpose) {
        let (Purpose::Release(grant) | Purpose::Adopt(grant)) = purpose else { return };
        let Some(passage) = self.passages.get_mut(&grant) else { return };
        passage.ends.iter().for_each(|end| end.socket().hang_up());
        passage.users -= 1;
        if passage.users == 0 {
            self.passages.remove(&grant);
        }
    }

    /// Returns true when an end is held for a grant.
    pub(crate) fn holds(&self, grant: u64) -> bool {
        self.sockets.contains_key(&grant)
    }

    /// Counts an order that may have a worker hold the end or close it.
    pub(crate) fn ordered(&mut self, purpose: Purpose) {
        if let Some(end) = purpose.grant().and_then(|grant| self.sockets.get_mut(&grant)) {
            end.orders += 1;
        }
    }

    /// Counts an answer to it, or the death of its worker.
    pub(crate) fn answered(&mut self, purpose: Purpose) {
        self.moved(purpose);
        if let Some(end) = purpose.grant().and_then(|grant| self.sockets.get_mut(&grant)) {
            end.orders = end.orders.saturating_sub(1);
        }
    }

    /// Closes the end of a grant that is no more, if no worker has it any more.
    fn let_go(&mut self, grant: u64) {
        if self.sockets.get(&grant).is_some_and(|end| end.orders == 0) {
            self.sockets.remove(&grant);
        }
    }
}

impl Broker {
    /// Closes the held end of a grant's key socket, if nobody will want it any more.
    pub(crate) fn let_go_of_key_end(&mut self, grant: u64) {
        if !self.grants.contains_key(&grant) {
            self.key_ends.let_go(grant);
        }
    }
}

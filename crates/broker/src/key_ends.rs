//! Ends of connections, held once more by the broker so that no worker closes what a stranger, or another worker, has sent.
//!
//! Over a connection from worker to worker a grant moves: the broker holds both ends until both are done with it. And there are
//! the workers' ends of key sockets, held by the broker where the kernel can't refuse descriptors that clients
//! send there (Linux before 6.16).
//!
//! A worker closes its descriptor of such an end between answers to other clients, so it must not be the last one: the
//! broker's is, and the broker closes it as it closes every connection that may hold strangers' descriptors.

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
    /// The worker's once more, where the kernel passes descriptors on to it.
    pub(crate) kept: Option<Link>,
}

impl KeySockets {
    /// For a user; where `refuse` is false the kernel is not asked to refuse descriptors.
    ///
    /// # Errors
    /// Too many descriptors.
    pub(crate) fn new(refuse: bool, disposal: &Disposal, uid: u32) -> io::Result<Self> {
        let (client, worker) = pair()?;
        if refuse && worker.refuse_descriptors().is_ok() {
            // A worker sends none either, unless somebody has taken it over.
            client.refuse_descriptors()?;
        }
        let kept = (!worker.refuses_descriptors())
            .then(|| worker.duplicate().map(|again| Link::new(Socket::received(again), disposal, Some(uid))))
            .transpose()?;
        Ok(KeySockets { client, worker, kept })
    }
}

/// One that is held for a grant.
struct KeyEnd {
    /// Closed when this is dropped.
    _link: Link,
    /// How many orders about the grant were not answered: until then a worker may have it.
    orders: u32,
}

/// Both ends of the connection over which a grant moves, so that neither worker closes what the other one has sent.
struct Passage {
    ends: [Link; 2],
    /// How many of the two workers are not done with it.
    users: u32,
}

/// All that are held, by the grant's number.
#[derive(Default)]
pub(crate) struct KeyEnds {
    sockets: HashMap<u64, KeyEnd>,
    passages: HashMap<u64, Passage>,
}

impl KeyEnds {
    /// Holds one until [`KeyEnds::let_go`].
    pub(crate) fn hold(&mut self, grant: u64, link: Option<Link>) {
        if let Some(link) = link {
            self.sockets.insert(grant, KeyEnd { _link: link, orders: 0 });
        }
    }

    /// Holds the ends of a connection from one worker to another until both have answered.
    pub(crate) fn hold_for_move(&mut self, grant: u64, ends: [Link; 2]) {
        self.passages.insert(grant, Passage { ends, users: 2 });
    }

    /// A worker is done with a move, or never will be asked. The other one reads what is there, and then sees the end.
    pub(crate) fn moved(&mut self, purpose: Purpose) {
        let (Purpose::Release(grant) | Purpose::Adopt(grant)) = purpose else { return };
        let Some(passage) = self.passages.get_mut(&grant) else { return };
        passage.ends.iter().for_each(|end| end.socket().hang_up());
        passage.users -= 1;
        if passage.users == 0 {
            self.passages.remove(&grant);
        }
    }

    /// Whether one is held for a grant.
    pub(crate) fn holds(&self, grant: u64) -> bool {
        self.sockets.contains_key(&grant)
    }

    /// An order was given that may have a worker hold the end or close it.
    pub(crate) fn ordered(&mut self, purpose: Purpose) {
        if let Some(end) = purpose.grant().and_then(|grant| self.sockets.get_mut(&grant)) {
            end.orders += 1;
        }
    }

    /// It was answered, or its worker is dead.
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
    /// Closes the end of a grant's key socket, if it is held and nobody will want it any more.
    pub(crate) fn let_go_of_key_end(&mut self, grant: u64) {
        if !self.grants.contains_key(&grant) {
            self.key_ends.let_go(grant);
        }
    }
}

//! Clients: their connections, and their requests.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use millstream_protocol::{Error as Misunderstood, Message, Refusal, Reply, Request};
use millstream_shm::{Socket, plain};

use crate::broker::Broker;
use crate::chatter::{Kind, say};
use crate::identity::Peer;
use crate::ledger::{Account, Amounts, Resource};
use crate::link::{Link, Shared};
use crate::place::Visitor;
use crate::poll::{Event, Interest, Token};

/// The most connections of one user that may wait to be closed on the disposal's threads.
const MOST_DOOMED: usize = 64;
/// The number of newcomers that are let in before the others have their turn.
const NEWCOMERS: usize = 16;
/// The number of messages of one client that are read before the others have their turn.
const REQUESTS: usize = 4;

/// The charge for a connection.
pub(crate) const CONNECTION: Amounts =
    Amounts::new(&[(Resource::Connections, 1), (Resource::Descriptors, 1)]);
/// The part of the charge that ends when the connection has a grant.
const UNGRANTED: Amounts = Amounts::new(&[(Resource::Connections, 1)]);

/// A connection.
pub(crate) struct Client {
    pub(crate) link: Link,
    pub(crate) peer: Peer,
    /// The number of its grant.
    pub(crate) grant: Option<u64>,
    /// True while an answer is outstanding. Until then nothing more is read from it.
    pub(crate) waits: bool,
    interest: Interest,
    /// The account that is charged.
    pub(crate) account: Account,
    /// The grants it had that have ended, whose memory it may still look at.
    pub(crate) looks_at: Vec<u64>,
    /// The time of its last request.
    pub(crate) heard: Instant,
    /// True when it was sent a grant that it may not have received yet.
    pub(crate) was_handed: bool,
    /// A descriptor that tells when its process ends. There is one when the client has a grant, where the
    /// system can tell.
    pub(crate) process: Option<OwnedFd>,
}

impl Client {
    /// Returns what to wait for now: a client is read from only when it was answered and has taken the
    /// answer.
    fn interest(&self) -> Interest {
        let clear = self.link.is_clear();
        Interest { read: clear && !self.waits, write: !clear }
    }
}

impl Broker {
    /// Lets newcomers in.
    pub(crate) fn let_in(&mut self) {
        for _ in 0..NEWCOMERS {
            if self.disposal.is_full() {
                say!(
                    self.chatter,
                    None,
                    Kind::Unmet,
                    error,
                    "descriptors that strangers sent can't be closed: nobody is let in for a moment; Linux 6.16 can refuse them"
                );
                self.door.pause();
                self.listen(Interest::NOTHING);
                return;
            }
            match self.door.accept() {
                Ok(Visitor::Welcome(socket)) => {
                    if let Some((link, peer)) = self.meet(socket) {
                        self.welcome(link, peer);
                    }
                }
                Ok(Visitor::Refused(socket)) => {
                    if let Some((link, peer)) = self.meet(socket) {
                        self.turn_away(
                            &link,
                            &peer,
                            "descriptors have run out: raise LimitNOFILE of the service",
                        );
                    }
                    self.door.take_spare();
                }
                Ok(Visitor::Nobody) => return,
                Ok(Visitor::Closed) => {
                    let what = "descriptors have run out: nobody is let in for a moment";
                    say!(self.chatter, None, Kind::Unmet, error, "{what}");
                    self.listen(Interest::NOTHING);
                    return;
                }
                Err(error) => {
                    say!(self.chatter, None, Kind::Unmet, error, error = %plain(&error), "a client could not be let in");
                    return;
                }
            }
        }
    }

    /// Finds out who is at the other end of a new connection.
    fn meet(&mut self, socket: Socket) -> Option<(Link, Peer)> {
        let uid = socket.peer().ok().map(|peer| peer.uid);
        let link = Link::new(socket, &self.disposal, uid);
        // A client that connected before the listener refused descriptors may have sent some already. No more
        // come.
        if self.config.refuse_descriptors && link.is_guarded() {
            let _ = link.socket().refuse_descriptors();
        }
        match Peer::of(link.socket()) {
            Ok(peer) => Some((link, peer)),
            Err(error) => {
                say!(self.chatter, uid, Kind::Unmet, error, error = %plain(&error), "a client can't be identified");
                None
            }
        }
    }

    fn welcome(&mut self, link: Link, peer: Peer) {
        if self.disposal.held_of(peer.uid) >= MOST_DOOMED {
            self.turn_away(&link, &peer, "this user has sent descriptors that can't be closed");
            return;
        }
        let account = self.policy.account(peer.uid);
        if let Err(over) = self.ledger.take(account, &CONNECTION, &self.policy.totals(&peer)) {
            self.turn_away(&link, &peer, &over.to_string());
            return;
        }
        let id = self.clients_ever;
        self.clients_ever += 1;
        let interest = Interest::READ;
        let heard = Instant::now();
        let client = Client {
            link,
            peer,
            grant: None,
            waits: false,
            interest,
            account,
            looks_at: Vec::new(),
            heard,
            was_handed: false,
            process: None,
        };
        match self.poll.add(&client.link, Token::Client(id), interest) {
            Ok(()) => {
                self.clients.insert(id, client);
                self.expect(id);
            }
            Err(error) => {
                self.ledger.give_back(account, &CONNECTION);
                let uid = client.peer.uid;
                say!(self.chatter, Some(uid), Kind::Unmet, error, uid, error = %plain(&error), "a client can't be waited for");
            }
        }
    }

    /// Records that a connection now has a grant, or has none any more, and adjusts its charge.
    pub(crate) fn bind(&mut self, id: u64, grant: Option<u64>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (had, account) = (client.grant.is_some(), client.account);
        (client.grant, client.heard) = (grant, Instant::now());
        match (had, grant.is_some()) {
            (false, true) => {
                self.ledger.give_back(account, &UNGRANTED);
                self.idle.forget(id);
            }
            (true, false) => {
                self.ledger.add(account, &UNGRANTED);
                self.expect(id);
            }
            _ => {}
        }
    }

    /// Refuses a client that is not let in.
    fn turn_away(&mut self, link: &Link, peer: &Peer, detail: &str) {
        let why = Refusal::Exhausted;
        self.counters.refused(why);
        let (pid, uid) = (peer.pid, peer.uid);
        say!(self.chatter, Some(uid), Kind::TurnedAway, warn, pid, uid, detail, "turned away");
        // A client that does not take the refusal sees the end of the connection.
        let _ = link.socket().try_send(&Reply::Refused { why, detail: detail.to_owned() }.encode(), &[]);
    }

    /// Handles an event at a client: it says something, takes something, or is gone.
    pub(crate) fn hear_client(&mut self, id: u64, event: Event) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if event.write && client.link.flush().is_err() {
            self.leave(id);
            return;
        }
        if event.gone && (client.waits || !client.link.is_clear()) {
            self.leave(id);
            return;
        }
        for _ in 0..REQUESTS {
            let Some(client) = self.clients.get_mut(&id) else { return };
            if client.waits || !client.link.is_clear() {
                break;
            }
            match client.link.receive() {
                Ok(Some(bytes)) => {
                    client.heard = Instant::now();
                    self.take_request(id, &bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Unsupported) =>
                {
                    self.refuse(id, Refusal::Message, error.to_string());
                    self.leave(id);
                    return;
                }
                Ok(None) | Err(_) => {
                    self.leave(id);
                    return;
                }
            }
        }
        self.wait_for_client(id);
    }

    fn wait_for_client(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let interest = client.interest();
        if interest != client.interest {
            client.interest = interest;
            self.poll.change(&client.link, Token::Client(id), interest);
        }
    }

    /// Ends a connection, and its grant with it.
    pub(crate) fn leave(&mut self, id: u64) {
        let Some(mut client) = self.clients.remove(&id) else { return };
        self.idle.forget(id);
        self.poll.remove(&client.link);
        if let Some(process) = &client.process {
            self.poll.remove(process);
        }
        let untaken = client.leaves_untaken();
        self.look_away(client.looks_at);
        if let Some(grant) = client.grant {
            self.abandon(grant);
            self.ledger.add(client.account, &UNGRANTED);
        }
        if untaken {
            self.keep_untaken(client.link, client.account);
        } else {
            self.ledger.give_back(client.account, &CONNECTION);
        }
    }

    fn take_request(&mut self, id: u64, bytes: &[u8]) {
        let request = match Request::decode(bytes) {
            Ok(request) => request,
            Err(error) => {
                self.refuse(id, Refusal::Message, error.to_string());
                // A client of another version may still understand the answer. One that talks nonsense is not
                // listened to any longer.
                if !matches!(error, Misunderstood::Version(_)) {
                    self.leave(id);
                }
                return;
            }
        };
        match request {
            Request::Attach { wanted } => self.attach(id, wanted),
            Request::Status {} => self.status(id),
            Request::Revoke { grant } => self.revoke_for(id, grant),
            Request::Move { grant, worker } => self.move_for(id, grant, worker),
            Request::Reload {} => self.reload_for(id),
            Request::Tokens {} => self.list_tokens(id),
            Request::Objects { token, after } => self.list_objects(id, token, after),
            Request::Changes {} => self.show_changes(id),
            _ => self.refuse(id, Refusal::Message, "this broker does not know the request".to_owned()),
        }
    }

    /// Answers a client, and listens to it again.
    pub(crate) fn answer(&mut self, id: u64, reply: &Reply, with: Vec<Shared>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.waits = false;
        // This clears `was_handed` if it has received everything by now, before more is sent.
        client.leaves_untaken();
        match client.link.send(reply, with) {
            Ok(()) => self.wait_for_client(id),
            Err(error) => {
                let (pid, uid) = (client.peer.pid, client.peer.uid);
                let what = "a client could not be answered";
                say!(self.chatter, Some(uid), Kind::Unanswered, warn, pid, uid, error = %plain(&error), "{what}");
                self.leave(id);
            }
        }
    }

    pub(crate) fn answer_all(&mut self, ids: &[u64], reply: &Reply) {
        for id in ids {
            self.answer(*id, reply, Vec::new());
        }
    }

    /// Refuses a client's request.
    pub(crate) fn refuse(&mut self, id: u64, why: Refusal, detail: String) {
        let Some(client) = self.clients.get(&id) else { return };
        self.counters.refused(why);
        let (pid, uid) = (client.peer.pid, client.peer.uid);
        say!(self.chatter, Some(uid), Kind::Refused, info, pid, uid, %why, detail, "refused");
        self.answer(id, &Reply::Refused { why, detail }, Vec::new());
    }
}

//! The clients, and how they get their grants.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use millstream_protocol::{
    Error as Misunderstood, Grant as Terms, Message, Order, Refusal, Reply, Request, Wanted,
};
use millstream_shm::Socket;

use crate::broker::Broker;
use crate::chatter::{Kind, say};
use crate::crew::{Outcome, Purpose};
use crate::grant::{Grant, KEY_END, KEY_SOCKET, Phase, Shares, arena_bytes, charge};
use crate::identity::{self, Peer};
use crate::key_ends::KeySockets;
use crate::ledger::{Account, Amounts, Over, Resource};
use crate::link::{Link, Shared};
use crate::place::Visitor;
use crate::policy::Limits;
use crate::poll::{Event, Interest, Token};
use crate::probes;
use crate::shown::Shown;

/// Connections of one user with descriptors that wait to be closed.
const MOST_DOOMED: usize = 64;
/// Newcomers that are let in before the others' turn.
const NEWCOMERS: usize = 16;
/// Messages of one client that are read before the others' turn.
const REQUESTS: usize = 4;

/// What a connection is charged.
pub(crate) const CONNECTION: Amounts =
    Amounts::new(&[(Resource::Connections, 1), (Resource::Descriptors, 1)]);
/// What of it does not remain when it has a grant.
const UNGRANTED: Amounts = Amounts::new(&[(Resource::Connections, 1)]);
/// To ask for a grant costs one token, and one more for each so many bytes of arena.
const TOKEN_BYTES: u32 = 16 << 20;

/// A connection.
pub(crate) struct Client {
    pub(crate) link: Link,
    pub(crate) peer: Peer,
    /// Its grant.
    pub(crate) grant: Option<u64>,
    /// It asked for something and is answered later; until then nothing more is read from it.
    pub(crate) waits: bool,
    interest: Interest,
    /// Who is charged for it.
    pub(crate) account: Account,
    /// Its grants that have ended, whose memory it may still look at.
    pub(crate) looks_at: Vec<u64>,
    /// When it last asked for something.
    pub(crate) heard: Instant,
    /// Whether it was sent a grant that it may not have taken.
    pub(crate) was_handed: bool,
    /// Tells when its process ends: known when it has a grant, where the system can tell.
    pub(crate) process: Option<OwnedFd>,
}

impl Client {
    /// What is waited for now: a client is heard when it was answered and took the answer.
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
                    "strangers' descriptors can't be closed: nobody is let in for a moment; Linux 6.16 refuses them"
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
                    say!(self.chatter, None, Kind::Unmet, error, %error, "a client could not be let in");
                    return;
                }
            }
        }
    }

    /// Who is at the other end of a new connection.
    fn meet(&mut self, socket: Socket) -> Option<(Link, Peer)> {
        let uid = socket.peer().ok().map(|peer| peer.uid);
        let link = Link::new(socket, &self.disposal, uid);
        // One that connected before the listener refused descriptors may have sent some already. No more come.
        if self.config.refuse_descriptors && link.is_guarded() {
            let _ = link.socket().refuse_descriptors();
        }
        match Peer::of(link.socket()) {
            Ok(peer) => Some((link, peer)),
            Err(error) => {
                say!(self.chatter, uid, Kind::Unmet, error, %error, "it is not known who a client is");
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
                say!(self.chatter, Some(uid), Kind::Unmet, error, uid, %error, "a client can't be waited for");
            }
        }
    }

    /// A connection has a grant now, or has none any more.
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

    /// Refuses somebody who is not let in.
    fn turn_away(&mut self, link: &Link, peer: &Peer, detail: &str) {
        let why = Refusal::Exhausted;
        self.counters.refused(why);
        let (pid, uid) = (peer.pid, peer.uid);
        say!(self.chatter, Some(uid), Kind::TurnedAway, warn, pid, uid, detail, "turned away");
        // Who does not take it sees the end of the connection.
        let _ = link.socket().try_send(&Reply::Refused { why, detail: detail.to_owned() }.encode(), &[]);
    }

    /// A client says something, or takes something, or is gone.
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

    /// A connection ends, and its grant with it.
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
                // Another version may still understand the answer; who talks nonsense is not listened to any longer.
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
            _ => self.refuse(id, Refusal::Message, "this broker does not know the request".to_owned()),
        }
    }

    /// Answers a client, which is listened to again.
    pub(crate) fn answer(&mut self, id: u64, reply: &Reply, with: Vec<Shared>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.waits = false;
        // What it has taken by now it need not take later.
        client.leaves_untaken();
        match client.link.send(reply, with) {
            Ok(()) => self.wait_for_client(id),
            Err(error) => {
                let (pid, uid) = (client.peer.pid, client.peer.uid);
                let what = "a client could not be answered";
                say!(self.chatter, Some(uid), Kind::Unanswered, warn, pid, uid, %error, "{what}");
                self.leave(id);
            }
        }
    }

    pub(crate) fn answer_all(&mut self, ids: &[u64], reply: &Reply) {
        for id in ids {
            self.answer(*id, reply, Vec::new());
        }
    }

    /// Refuses what a client asked for.
    pub(crate) fn refuse(&mut self, id: u64, why: Refusal, detail: String) {
        let Some(client) = self.clients.get(&id) else { return };
        self.counters.refused(why);
        let (pid, uid) = (client.peer.pid, client.peer.uid);
        say!(self.chatter, Some(uid), Kind::Refused, info, pid, uid, %why, detail, "refused");
        self.answer(id, &Reply::Refused { why, detail }, Vec::new());
    }

    /// A client would like a grant. It gives up what it had of another one that has ended.
    fn attach(&mut self, id: u64, wanted: Wanted) {
        if let Some(client) = self.clients.get_mut(&id).filter(|client| client.grant.is_none()) {
            let looks_at = std::mem::take(&mut client.looks_at);
            self.look_away(looks_at);
        }
        match self.prepare(id, wanted) {
            Ok((grant, worker_end)) => {
                let (number, worker) = (grant.terms.id, grant.worker);
                let order = Order::Serve { grant: grant.terms.clone() };
                let descriptors = grant.shares.descriptors(worker_end);
                self.grants.insert(number, grant);
                self.bind(id, Some(number));
                if let Some(client) = self.clients.get_mut(&id) {
                    client.waits = true;
                }
                self.order(worker, &order, descriptors, Purpose::Serve(number));
            }
            Err((why, detail)) => self.refuse(id, why, detail),
        }
    }

    /// A new grant, and the worker's end of its key socket.
    fn prepare(&mut self, id: u64, wanted: Wanted) -> Result<(Grant, Socket), (Refusal, String)> {
        let client = self.clients.get_mut(&id).ok_or((Refusal::Message, String::new()))?;
        if client.grant.is_some() {
            return Err((Refusal::Message, "this connection has its grant: open another".to_owned()));
        }
        if client.leaves_untaken() {
            let detail = "the last grant was not taken yet: read its answer before another is asked for";
            return Err((Refusal::Message, detail.to_owned()));
        }
        let client = self.clients.get(&id).ok_or((Refusal::Message, String::new()))?;
        let limits = self.policy.limits(&client.peer);
        let limits = limits.ok_or_else(|| (Refusal::Denied, self.why_denied(client.peer.uid)))?;
        let size = limits.size(&wanted)?;
        let arena_bytes = arena_bytes(&size)
            .ok_or((Refusal::TooMuch, "the arena with the queues' own places exceeds 4 GiB".to_owned()))?;
        let terms = Terms {
            id: self.grants_ever + 1,
            queues: size.queues,
            depth: size.depth,
            arena_bytes,
            key_slots: size.key_slots,
            weight: limits.weight,
            algorithms: limits.algorithms.to_bits(),
            keys: limits.keys.clone(),
        };
        let too_deep = || (Refusal::Message, "queues of no such depth".to_owned());
        let amounts = charge(&terms).ok_or_else(too_deep)?;
        let (account, peer, number) = (client.account, client.peer.clone(), terms.id);
        let worker = self.worker_for(account, limits, &amounts)?;
        let (totals, rate) = (limits.totals(), limits.rate());
        let over = |over: Over| (over.refusal(), over.to_string());
        // To fill memory costs time, too.
        let tokens = 1 + terms.arena_bytes / TOKEN_BYTES;
        self.ledger.spend(account, tokens, rate, Instant::now()).map_err(over)?;
        self.ledger.charge(number, account, worker, amounts, &totals).map_err(over)?;
        let (refuse, uid) = (self.config.refuse_descriptors, peer.uid);
        let sockets = || KeySockets::new(refuse, &self.disposal, uid);
        let made = Shares::new(&terms).and_then(|shares| {
            let sockets = sockets()?;
            Ok((shares, sockets.worker.inode()?, sockets))
        });
        let (shares, key_inode, sockets) = made.map_err(|error| {
            self.ledger.leave(number, worker);
            (Refusal::Exhausted, error.to_string())
        })?;
        let KeySockets { client: client_end, worker: worker_end, kept } = sockets;
        let grant = Grant {
            terms,
            name: Shown::name(&wanted.name),
            peer,
            client: id,
            worker,
            since: Instant::now(),
            shares,
            phase: Phase::Serving,
            key_end: Some(client_end),
            key_inode,
            askers: Vec::new(),
        };
        self.grants_ever += 1;
        self.key_ends.hold(grant.terms.id, kept);
        Ok((grant, worker_end))
    }

    fn why_denied(&self, uid: u32) -> String {
        match &self.config.policy {
            Some(_) => format!("uid {uid}: the service's policy has no section that gives it grants"),
            None => format!("uid {uid}: the service has no policy, so it serves the user that runs it only"),
        }
    }

    /// The worker where the shares that were promised are the fewest, among those that have room: a user's grants stay on as few
    /// workers as its limits say, so that whatever becomes of these does not touch all other users.
    fn worker_for(
        &self,
        account: Account,
        limits: &Limits,
        amounts: &Amounts,
    ) -> Result<usize, (Refusal, String)> {
        let ready = self.crew.iter().filter(|worker| worker.is_ready()).map(|worker| worker.index);
        let ready: Vec<usize> = ready.collect();
        let home = self.ledger.workers_of(account);
        let is_home = |worker: &&usize| home.contains(worker);
        let has_room = |worker: &&usize| self.ledger.has_room(account, **worker, amounts);
        let least_loaded = |workers: &mut dyn Iterator<Item = &usize>| {
            workers.copied().min_by_key(|worker| self.load(*worker))
        };
        let stays = limits.workers > 0 && home.len() >= limits.workers as usize;
        let at_home =
            stays.then(|| least_loaded(&mut ready.iter().filter(is_home).filter(has_room))).flatten();
        // Where none has room, what the least loaded one lacks is what is told.
        at_home
            .or_else(|| least_loaded(&mut ready.iter().filter(has_room)))
            .or_else(|| least_loaded(&mut ready.iter()))
            .ok_or((Refusal::NoWorker, "none is ready".to_owned()))
    }

    /// The shares of a worker that were promised.
    fn load(&self, worker: usize) -> u64 {
        let its = self.grants.values().filter(|grant| match grant.phase {
            Phase::Moving { to, .. } => to == worker,
            _ => grant.worker == worker,
        });
        its.map(|grant| u64::from(grant.terms.weight)).sum()
    }

    /// A worker has answered whether it serves a grant.
    pub(crate) fn served(&mut self, index: usize, id: u64, outcome: Outcome) {
        if !self.grants.contains_key(&id) {
            // Its client has gone, or waits no longer.
            if outcome == Outcome::Done {
                self.order_drop(index, id, false);
            }
            return;
        }
        match outcome {
            Outcome::Done => self.hand_out(id),
            Outcome::Failed(why) => self.take_back(id, Refusal::Exhausted, &why),
            Outcome::Late if self.crew[index].is_busy() => {
                self.take_back(id, Refusal::NoWorker, "the worker is busy: try again")
            }
            Outcome::Late => self.take_back(id, Refusal::NoWorker, "the worker does not answer"),
            Outcome::Died => self.take_back(id, Refusal::NoWorker, "the worker died: try again"),
        }
    }

    fn hand_out(&mut self, id: u64) {
        let Some(grant) = self.grants.get_mut(&id) else { return };
        let Some(key_end) = grant.key_end.take() else { return };
        grant.phase = Phase::Live;
        let closed = if self.key_ends.holds(id) { &KEY_END } else { &KEY_SOCKET };
        self.ledger.reduce(id, closed);
        let (client, peer) = (grant.client, &grant.peer);
        probes::grant(id, peer.pid, peer.uid);
        let took_us = grant.since.elapsed().as_micros() as u64;
        self.counters.granted(grant.since.elapsed());
        say!(
            self.chatter,
            Some(peer.uid),
            Kind::Granted,
            info,
            grant = id,
            pid = peer.pid,
            uid = peer.uid,
            worker = grant.worker,
            name = &*grant.name,
            took_us,
            "grant"
        );
        let reply = Reply::Granted { grant: grant.terms.clone() };
        let descriptors = grant.shares.descriptors(key_end);
        self.watch_process(client);
        self.answer(client, &reply, descriptors);
        if let Some(client) = self.clients.get_mut(&client) {
            client.was_handed = true;
        }
    }

    /// A grant ends with the process that asked for it, even where its children hold the connection.
    fn watch_process(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.process.is_none()) else {
            return;
        };
        let Some(process) = identity::process(&client.link) else { return };
        if self.poll.add(&process, Token::Left(id), Interest::READ).is_ok() {
            client.process = Some(process);
        }
    }
}

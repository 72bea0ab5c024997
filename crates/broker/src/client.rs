//! The clients, and how they get their grants.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use millstream_protocol::{
    Error as Misunderstood, Grant as Terms, Message, Order, Refusal, Reply, Request, Wanted,
};
use millstream_shm::{Socket, pair};

use crate::broker::Broker;
use crate::crew::{Outcome, Purpose};
use crate::grant::{Grant, Phase, Shares, arena_bytes, shown};
use crate::identity::{self, Peer};
use crate::link::{Link, Shared, drain};
use crate::place::Visitor;
use crate::poll::{Event, Interest, Token};
use crate::probes;

/// Connections of one user that have no grant.
const UNGRANTED: usize = 64;
/// Newcomers that are let in before the others' turn.
const NEWCOMERS: usize = 16;
/// Messages of one client that are read before the others' turn.
const REQUESTS: usize = 4;

/// What anybody can have the broker write is written so often in a second.
const MOST_LINES: u32 = 20;

/// Keeps strangers from filling the log.
#[derive(Default)]
pub(crate) struct Chatter {
    since: Option<Instant>,
    lines: u32,
}

impl Chatter {
    /// Whether one more line may be written.
    fn may_speak(&mut self) -> bool {
        if self.since.is_none_or(|since| since.elapsed() >= Duration::from_secs(1)) {
            if self.lines > MOST_LINES {
                tracing::warn!(times = self.lines - MOST_LINES, "refused, and not written down");
            }
            (self.since, self.lines) = (Some(Instant::now()), 0);
        }
        self.lines = self.lines.saturating_add(1);
        self.lines <= MOST_LINES
    }
}

/// A connection.
pub(crate) struct Client {
    pub(crate) link: Link,
    pub(crate) peer: Peer,
    /// Its grant.
    pub(crate) grant: Option<u64>,
    /// It asked for something and is answered later; until then nothing more is read from it.
    pub(crate) waits: bool,
    interest: Interest,
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
            match self.door.accept() {
                Ok(Visitor::Welcome(socket)) => self.welcome(socket),
                Ok(Visitor::Refused(socket)) => {
                    self.turn_away(&socket, "descriptors have run out: raise LimitNOFILE of the service");
                    drop(socket);
                    self.door.take_spare();
                }
                Ok(Visitor::Nobody) => return,
                Ok(Visitor::Closed) => {
                    tracing::error!("descriptors have run out: nobody is let in for a moment");
                    self.listen(Interest::NOTHING);
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, "a client could not be let in");
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, socket: Socket) {
        let peer = match Peer::of(&socket) {
            Ok(peer) => peer,
            Err(error) => {
                tracing::error!(%error, "it is not known who a client is");
                return;
            }
        };
        let ungranted = |client: &&Client| client.peer.uid == peer.uid && client.grant.is_none();
        if self.clients.values().filter(ungranted).count() >= UNGRANTED {
            self.turn_away(&socket, "this user has too many connections that ask for nothing: close some");
            return;
        }
        let id = self.clients_ever;
        self.clients_ever += 1;
        let interest = Interest::READ;
        let client =
            Client { link: Link::new(socket), peer, grant: None, waits: false, interest, process: None };
        match self.poll.add(&client.link, Token::Client(id), interest) {
            Ok(()) => drop(self.clients.insert(id, client)),
            Err(error) => tracing::error!(%error, "a client can't be waited for"),
        }
    }

    /// Refuses somebody who is not let in.
    fn turn_away(&mut self, socket: &Socket, detail: &str) {
        let why = Refusal::Exhausted;
        self.counters.refused(why);
        if self.chatter.may_speak() {
            tracing::warn!(detail, "turned away");
        }
        // Who does not take it sees the end of the connection.
        let _ = socket.try_send(&Reply::Refused { why, detail: detail.to_owned() }.encode(), &[]);
        drain(socket);
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
                Ok(Some(bytes)) => self.take_request(id, &bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.refuse(id, Refusal::Message, "a message that is too long".to_owned());
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
        let Some(client) = self.clients.remove(&id) else { return };
        self.poll.remove(&client.link);
        if let Some(process) = &client.process {
            self.poll.remove(process);
        }
        if let Some(grant) = client.grant {
            self.abandon(grant);
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
        match client.link.send(reply, with) {
            Ok(()) => self.wait_for_client(id),
            Err(error) => {
                tracing::warn!(%error, "a client could not be answered");
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
        if self.chatter.may_speak() {
            tracing::info!(pid = client.peer.pid, uid = client.peer.uid, %why, detail, "refused");
        }
        self.answer(id, &Reply::Refused { why, detail }, Vec::new());
    }

    /// A client would like a grant.
    fn attach(&mut self, id: u64, wanted: Wanted) {
        match self.prepare(id, wanted) {
            Ok((grant, worker_end)) => {
                let (number, worker) = (grant.terms.id, grant.worker);
                let order = Order::Serve { grant: grant.terms.clone() };
                let descriptors = grant.shares.descriptors(worker_end);
                self.grants.insert(number, grant);
                if let Some(client) = self.clients.get_mut(&id) {
                    (client.grant, client.waits) = (Some(number), true);
                }
                self.order(worker, &order, descriptors, Purpose::Serve(number));
            }
            Err((why, detail)) => self.refuse(id, why, detail),
        }
    }

    /// A new grant, and the worker's end of its key socket.
    fn prepare(&mut self, id: u64, wanted: Wanted) -> Result<(Grant, Socket), (Refusal, String)> {
        let client = self.clients.get(&id).ok_or((Refusal::Message, String::new()))?;
        if client.grant.is_some() {
            return Err((Refusal::Message, "this connection has its grant: open another".to_owned()));
        }
        let limits = self.policy.limits(&client.peer);
        let limits = limits.ok_or_else(|| (Refusal::Denied, self.why_denied(client.peer.uid)))?;
        let has = self.grants.values().filter(|grant| grant.peer.uid == client.peer.uid).count();
        if has >= limits.max_grants as usize {
            return Err((Refusal::TooManyGrants, format!("allowed are {}", limits.max_grants)));
        }
        let size = limits.size(&wanted)?;
        let worker = self.least_loaded().ok_or((Refusal::NoWorker, "none is ready".to_owned()))?;
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
        };
        let exhausted = |error: io::Error| (Refusal::Exhausted, error.to_string());
        let shares = Shares::new(&terms).map_err(exhausted)?;
        let (client_end, worker_end) = pair().map_err(exhausted)?;
        let grant = Grant {
            terms,
            name: shown(&wanted.name),
            peer: client.peer.clone(),
            client: id,
            worker,
            since: Instant::now(),
            shares,
            phase: Phase::Serving,
            key_end: Some(client_end),
            askers: Vec::new(),
        };
        self.grants_ever += 1;
        Ok((grant, worker_end))
    }

    fn why_denied(&self, uid: u32) -> String {
        match &self.config.policy {
            Some(_) => format!("uid {uid}: the service's policy has no section that gives it grants"),
            None => format!("uid {uid}: the service has no policy, so it serves the user that runs it only"),
        }
    }

    /// The worker where the shares that were promised are the fewest.
    fn least_loaded(&self) -> Option<usize> {
        let load = |index: usize| {
            let its = self.grants.values().filter(|grant| match grant.phase {
                Phase::Moving { to, .. } => to == index,
                _ => grant.worker == index,
            });
            its.map(|grant| u64::from(grant.terms.weight)).sum::<u64>()
        };
        let ready = self.crew.iter().filter(|worker| worker.is_ready());
        ready.map(|worker| worker.index).min_by_key(|index| load(*index))
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
            Outcome::Late => self.take_back(id, Refusal::NoWorker, "the worker does not answer"),
            Outcome::Died => self.take_back(id, Refusal::NoWorker, "the worker died: try again"),
        }
    }

    fn hand_out(&mut self, id: u64) {
        let Some(grant) = self.grants.get_mut(&id) else { return };
        let Some(key_end) = grant.key_end.take() else { return };
        grant.phase = Phase::Live;
        let (client, peer) = (grant.client, &grant.peer);
        probes::grant(id, peer.pid, peer.uid);
        let took_us = grant.since.elapsed().as_micros() as u64;
        self.counters.granted(grant.since.elapsed());
        tracing::info!(
            grant = id,
            pid = peer.pid,
            uid = peer.uid,
            worker = grant.worker,
            name = grant.name,
            took_us,
            "grant"
        );
        let reply = Reply::Granted { grant: grant.terms.clone() };
        let descriptors = grant.shares.descriptors(key_end);
        self.watch_process(client);
        self.answer(client, &reply, descriptors);
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

    /// Refuses a grant that was about to be made. Its worker is told when it has answered.
    pub(crate) fn take_back(&mut self, id: u64, why: Refusal, detail: &str) {
        let Some(grant) = self.grants.remove(&id) else { return };
        if let Some(client) = self.clients.get_mut(&grant.client) {
            client.grant = None;
        }
        self.refuse(grant.client, why, detail.to_owned());
        self.answer_all(&grant.askers, &Reply::End {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_do_not_fill_the_log() {
        let mut chatter = Chatter::default();
        let written = (0..10_000).filter(|_| chatter.may_speak()).count();
        // It may have taken more than a second.
        assert!((MOST_LINES as usize..20 * MOST_LINES as usize).contains(&written), "{written}");
        chatter.since = Instant::now().checked_sub(Duration::from_secs(2));
        assert!(chatter.may_speak(), "the next second");
    }
}

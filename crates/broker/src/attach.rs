//! Attaching: a client's memory is taken from the system, its worker is told, and the grant is handed out.

use std::io;
use std::time::Instant;

use millstream_protocol::{Grant as Terms, Order, Refusal, Reply, Wanted};

use crate::broker::Broker;
use crate::chatter::{Kind, say};
use crate::crew::{Outcome, Purpose, Worker};
use crate::errands::{Errand, What};
use crate::grant::{Grant, KEY_END, KEY_SOCKET, Phase, Shares, arena_bytes, charge};
use crate::identity;
use crate::key_ends::KeySockets;
use crate::ledger::{Account, Amounts, Over};
use crate::policy::Limits;
use crate::poll::{Interest, Token};
use crate::probes;
use crate::shown::Shown;
use crate::totals::Work;

/// A request for a grant costs one token, and one more for each so many bytes of arena.
const TOKEN_BYTES: u32 = 16 << 20;

/// The reason for refusing a grant whose worker died while it was being made.
pub(crate) const DIED: &str = "the worker died: try again";

impl Broker {
    /// Handles a client's request for a grant. The client gives up the memory of an earlier grant that has
    /// ended.
    pub(crate) fn attach(&mut self, id: u64, wanted: Wanted) {
        if let Some(client) = self.clients.get_mut(&id).filter(|client| client.grant.is_none()) {
            let looks_at = std::mem::take(&mut client.looks_at);
            self.look_away(looks_at);
        }
        match self.prepare(id, wanted) {
            Ok(grant) => {
                let (number, uid) = (grant.terms.id, grant.peer.uid);
                let what = What::Take(grant.shares.memory());
                self.grants.insert(number, grant);
                self.bind(id, Some(number));
                if let Some(client) = self.clients.get_mut(&id) {
                    client.waits = true;
                }
                self.preparing.send(self.policy.account(uid), Errand { grant: number, uid, what });
            }
            Err((why, detail)) => self.refuse(id, why, detail),
        }
    }

    /// Continues when the memory of a grant has been taken from the system, or can't be. The worker is told
    /// next, if the grant is still wanted.
    pub(crate) fn prepared(&mut self, id: u64, result: io::Result<()>) {
        let prepared = self.grants.get_mut(&id).and_then(|grant| Some((grant.worker_end.take()?, grant)));
        let Some((worker_end, grant)) = prepared else {
            self.was_prepared_for_nobody(id);
            return;
        };
        let worker = grant.worker;
        match result {
            Ok(()) if self.crew[worker].is_ready() => {
                grant.phase = Phase::Serving;
                let order = Order::Serve { grant: grant.terms.clone() };
                let descriptors = grant.shares.descriptors(worker_end);
                self.order(worker, &order, descriptors, Purpose::Serve(id));
                return;
            }
            Ok(()) => self.take_back(id, Refusal::NoWorker, DIED),
            Err(error) => self.take_back(id, Refusal::Exhausted, &error.to_string()),
        }
        self.was_prepared_for_nobody(id);
    }

    /// Makes a new grant. The system has yet to give its memory.
    fn prepare(&mut self, id: u64, wanted: Wanted) -> Result<Grant, (Refusal, String)> {
        let client = self.clients.get_mut(&id).ok_or((Refusal::Message, String::new()))?;
        if client.grant.is_some() {
            return Err((Refusal::Message, "this connection has its grant: open another".to_owned()));
        }
        if client.leaves_untaken() {
            let detail = "the last grant was not read yet: read its answer before asking again";
            return Err((Refusal::Message, detail.to_owned()));
        }
        let client = self.clients.get(&id).ok_or((Refusal::Message, String::new()))?;
        let limits = self.policy.limits(&client.peer);
        let limits = limits.ok_or_else(|| (Refusal::Denied, self.why_denied(client.peer.uid)))?;
        if let Some(left) = self.ledger.barred(client.account, Instant::now()) {
            let left = left.as_secs() + 1;
            let what = format!("a grant of this user has held up its worker: ask again in {left} s");
            return Err((Refusal::NotNow, what));
        }
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
            algorithms: limits.algorithms.intersection(Worker::serves(wanted.private_keys)).to_bits(),
            keys: limits.keys.clone(),
        };
        let too_deep = || (Refusal::Message, "queues can't have this depth".to_owned());
        let amounts = charge(&terms).ok_or_else(too_deep)?;
        let (account, peer, number) = (client.account, client.peer.clone(), terms.id);
        let worker = self.worker_for(account, limits, &amounts, wanted.private_keys)?;
        let (totals, rate) = (limits.totals(), limits.rate());
        let over = |over: Over| (over.refusal(), over.to_string());
        // Filling memory costs time, too.
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
            phase: Phase::Preparing,
            worker_end: Some(worker_end),
            key_end: Some(client_end),
            key_inode,
            askers: Vec::new(),
            counted: Work::default(),
        };
        self.grants_ever += 1;
        self.key_ends.hold(grant.terms.id, kept);
        Ok(grant)
    }

    fn why_denied(&self, uid: u32) -> String {
        match &self.config.policy {
            Some(_) => format!("uid {uid}: the service's policy has no section that gives it grants"),
            None => format!("uid {uid}: the service has no policy, so it serves only the user that runs it"),
        }
    }

    /// Chooses the least loaded worker among those that have room. A user's grants stay on as few workers as
    /// the user's limits say, so that trouble on those workers does not reach all other users.
    fn worker_for(
        &self,
        account: Account,
        limits: &Limits,
        amounts: &Amounts,
        is_private: bool,
    ) -> Result<usize, (Refusal, String)> {
        let fitting = || self.crew.iter().filter(|worker| worker.is_private == is_private);
        if is_private && fitting().next().is_none() {
            let detail = "this service has no worker for private keys: start it with --private-accelerators";
            return Err((Refusal::NoWorker, detail.to_owned()));
        }
        let ready: Vec<usize> =
            fitting().filter(|worker| worker.is_ready()).map(|worker| worker.index).collect();
        let mut home = self.ledger.workers_of(account);
        home.retain(|worker| self.crew.get(*worker).is_some_and(|worker| worker.is_private == is_private));
        let is_home = |worker: &&usize| home.contains(worker);
        let has_room = |worker: &&usize| self.ledger.has_room(account, **worker, amounts);
        let least_loaded = |workers: &mut dyn Iterator<Item = &usize>| {
            workers.copied().min_by_key(|worker| self.load(*worker))
        };
        let stays = limits.workers > 0 && home.len() >= limits.workers as usize;
        let at_home =
            stays.then(|| least_loaded(&mut ready.iter().filter(is_home).filter(has_room))).flatten();
        // When no worker has room, the refusal names what the least loaded one lacks.
        at_home
            .or_else(|| least_loaded(&mut ready.iter().filter(has_room)))
            .or_else(|| least_loaded(&mut ready.iter()))
            .ok_or((Refusal::NoWorker, "none is ready".to_owned()))
    }

    /// Returns the sum of the weights that a worker's grants were promised.
    fn load(&self, worker: usize) -> u64 {
        let its = self.grants.values().filter(|grant| match grant.phase {
            Phase::Moving { to, .. } => to == worker,
            _ => grant.worker == worker,
        });
        its.map(|grant| u64::from(grant.terms.weight)).sum()
    }

    /// Handles a worker's answer to the order to serve a grant.
    pub(crate) fn served(&mut self, index: usize, id: u64, outcome: Outcome) {
        if !self.grants.contains_key(&id) {
            // The client has gone, or waits no longer.
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
            Outcome::Died => self.take_back(id, Refusal::NoWorker, DIED),
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

    /// Watches the process that asked for a grant, so that the grant ends with it even when its children hold
    /// the connection open.
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

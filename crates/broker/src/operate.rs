//! Requests of operators: status, the end of a grant, another worker for it, and the policy again.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use millstream_protocol::{GrantStatus, Order, QueueCounts, Refusal, Reply, Use, UseStatus, WorkerStatus};
use millstream_shm::{Socket, pair};

use crate::broker::Broker;
use crate::crew::{Purpose, Worker};
use crate::grant::{Grant, Phase};
use crate::identity::Peer;
use crate::ledger::{Amounts, Resource};
use crate::link::Link;
use crate::metrics::{Asker as MetricsAsker, Snapshot};

/// The pause after a survey. Counting takes the accelerators' time, so clients that ask during the pause wait
/// for the next survey.
const BETWEEN_SURVEYS: Duration = Duration::from_millis(20);

/// The number of kinds of failure that fit a message.
const MOST_FAILURES: usize = 128;

/// A party that waits for a survey.
pub(crate) enum Asker {
    Client(u64),
    Metrics(MetricsAsker),
}

/// The counts of the survey under way.
#[derive(Default)]
pub(crate) struct Survey {
    /// The workers that have not answered.
    awaited: BTreeSet<usize>,
    /// The counts of each grant's queues.
    pub(crate) counts: HashMap<u64, QueueCounts>,
    askers: Vec<Asker>,
}

/// The survey under way, and those to come.
#[derive(Default)]
pub(crate) struct Surveys {
    pub(crate) current: Option<Survey>,
    /// The parties that wait for the next one.
    waiting: Vec<Asker>,
    /// The earliest time at which it begins.
    next_at: Option<Instant>,
}

impl Surveys {
    /// Returns when the next one begins, if somebody waits for it and none is under way.
    pub(crate) fn begins_at(&self) -> Option<Instant> {
        self.next_at.filter(|_| self.current.is_none() && !self.waiting.is_empty())
    }
}

impl Broker {
    /// Handles a client's request for the status.
    pub(crate) fn status(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let sees = |grant: &Grant| grant.peer.uid == client.peer.uid;
        if self.policy.is_operator(&client.peer) || self.grants.values().any(sees) {
            client.waits = true;
            self.count_for(Asker::Client(id));
        } else {
            // A client who may see no grant gets an empty answer without polling the workers.
            self.answer(id, &Reply::End {}, Vec::new());
        }
    }

    /// Handles requests for metrics.
    pub(crate) fn hear_metrics(&mut self) {
        let Some(metrics) = &self.metrics else { return };
        for asker in metrics.asked() {
            self.count_for(Asker::Metrics(asker));
        }
    }

    /// Has all workers count, unless they are counting or have just done so.
    fn count_for(&mut self, asker: Asker) {
        if let Some(survey) = &mut self.surveys.current {
            survey.askers.push(asker);
            return;
        }
        self.surveys.waiting.push(asker);
        self.begin_survey(Instant::now());
    }

    /// Begins a survey for those who wait for it, if it is time.
    pub(crate) fn begin_survey(&mut self, now: Instant) {
        let Surveys { current, waiting, next_at } = &mut self.surveys;
        if current.is_some() || waiting.is_empty() || next_at.is_some_and(|at| now < at) {
            return;
        }
        let awaited: BTreeSet<usize> =
            self.crew.iter().filter(|worker| worker.is_ready()).map(|worker| worker.index).collect();
        let askers = std::mem::take(waiting);
        *current = Some(Survey { awaited: awaited.clone(), askers, ..Survey::default() });
        for index in &awaited {
            self.order(*index, &Order::Count {}, Vec::new(), Purpose::Count);
        }
        self.finish_survey();
    }

    /// Records that a worker has counted, or will not.
    pub(crate) fn counted(&mut self, index: usize) {
        if let Some(survey) = &mut self.surveys.current {
            survey.awaited.remove(&index);
        }
        self.finish_survey();
    }

    fn finish_survey(&mut self) {
        let Some(survey) = self.surveys.current.take_if(|survey| survey.awaited.is_empty()) else { return };
        self.surveys.next_at = Some(Instant::now() + BETWEEN_SURVEYS);
        for asker in survey.askers {
            match asker {
                Asker::Client(id) => self.tell_status(id, &survey.counts),
                Asker::Metrics(asker) => asker.answer(Snapshot {
                    workers: self.crew.iter().map(|worker| self.worker_status(worker)).collect(),
                    grants: self.grants.values().map(|grant| grant_status(grant, &survey.counts)).collect(),
                    counters: self.counters.clone(),
                    totals: self.totals.clone(),
                    uses: self.uses(None),
                    open: self.open_tokens(),
                }),
            }
        }
    }

    /// Tells a client what it may see: everything to an operator, to others their own grants and the workers
    /// that serve them.
    fn tell_status(&mut self, id: u64, counts: &HashMap<u64, QueueCounts>) {
        let Some(client) = self.clients.get(&id) else { return };
        let (all, uid) = (self.policy.is_operator(&client.peer), client.peer.uid);
        let seen: Vec<&Grant> = self.grants.values().filter(|grant| all || grant.peer.uid == uid).collect();
        let serves = |worker: &&Worker| all || seen.iter().any(|grant| grant.worker == worker.index);
        let workers = self.crew.iter().filter(serves);
        let mut replies: Vec<Reply> =
            workers.map(|worker| Reply::Worker { status: self.worker_status(worker) }).collect();
        replies.extend(seen.iter().map(|grant| Reply::Grant { status: grant_status(grant, counts) }));
        replies.extend(self.uses((!all).then_some(uid)).into_iter().map(|status| Reply::Use { status }));
        replies.push(Reply::End {});
        for reply in &replies {
            self.answer(id, reply, Vec::new());
        }
    }

    /// Returns the use of resources: of everything and everybody, or of one user.
    fn uses(&self, of: Option<u32>) -> Vec<UseStatus> {
        let mut statuses = Vec::new();
        if of.is_none() {
            statuses.push(use_status((false, false), 0, self.ledger.of_service()));
            let workers = self.crew.iter().map(|worker| worker.index);
            statuses.extend(
                workers.map(|index| use_status((false, true), index as u32, self.ledger.of_worker(index))),
            );
        }
        let mine = of.map(|uid| self.policy.account(uid));
        let accounts = self.ledger.accounts().filter(|(account, _)| mine.is_none_or(|mine| mine == *account));
        statuses.extend(accounts.map(|(account, held)| {
            let peer =
                self.clients.values().find(|client| client.account == account).map(|client| &client.peer);
            let alone = Peer { pid: 0, uid: account.0, gids: Vec::new() };
            use_status((true, false), account.0, (*held, self.policy.totals(peer.unwrap_or(&alone))))
        }));
        statuses
    }

    fn worker_status(&self, worker: &Worker) -> WorkerStatus {
        let process = worker.process.as_ref();
        let traits = process.and_then(|process| process.traits.clone()).unwrap_or_default();
        WorkerStatus {
            worker: worker.index as u32,
            pid: worker.pid(),
            cpu: (worker.cpu.is_some(), worker.cpu.unwrap_or_default() as u32),
            grants: self.grants.values().filter(|grant| grant.worker == worker.index).count() as u32,
            sleeps: worker.sleeps,
            restarts: worker.restarts,
            sandbox: traits.sandbox.to_string(),
            key_memory: traits.key_memory.to_string(),
            private_keys: worker.is_private,
            presigned: worker.presigned.clone(),
        }
    }

    /// Ends a grant that a client asks to end.
    pub(crate) fn revoke_for(&mut self, id: u64, grant: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let all = self.policy.is_operator(&client.peer);
        match self.grants.get_mut(&grant).filter(|found| all || found.peer.uid == client.peer.uid) {
            Some(found) => {
                client.waits = true;
                found.askers.push(id);
                self.revoke(grant);
            }
            None => self.refuse(id, Refusal::NoSuchGrant, format!("grant {grant}")),
        }
    }

    /// Moves a grant to the worker that an operator names.
    pub(crate) fn move_for(&mut self, id: u64, grant: u64, worker: u32) {
        if let Err((why, detail)) = self.begin_move(id, grant, worker as usize) {
            self.refuse(id, why, detail);
        }
    }

    fn begin_move(&mut self, id: u64, number: u64, to: usize) -> Result<(), (Refusal, String)> {
        let no_grant = || (Refusal::NoSuchGrant, format!("grant {number}"));
        let client = self.clients.get_mut(&id).ok_or_else(no_grant)?;
        if !self.policy.is_operator(&client.peer) {
            return Err((Refusal::NotOperator, "only operators move grants".to_owned()));
        }
        let live = |grant: &&mut Grant| grant.phase == Phase::Live;
        let grant = self.grants.get_mut(&number).filter(live).ok_or_else(no_grant)?;
        if !self.crew.get(to).is_some_and(Worker::is_ready) {
            return Err((Refusal::NoSuchWorker, format!("worker {to}")));
        }
        let from = grant.worker;
        let is_private = |worker: usize| self.crew.get(worker).is_some_and(|worker| worker.is_private);
        if is_private(from) != is_private(to) {
            let detail = format!("worker {to} is of the other kind: private keys have workers of their own");
            return Err((Refusal::NoSuchWorker, detail));
        }
        if from == to {
            self.answer(id, &Reply::End {}, Vec::new());
            return Ok(());
        }
        self.ledger.join(number, to).map_err(|over| (over.refusal(), over.to_string()))?;
        let disposal = &self.disposal;
        let connected = pair().and_then(|(here, there)| {
            let again =
                |end: &Socket| end.duplicate().map(|end| Link::new(Socket::received(end), disposal, None));
            let held = [again(&here)?, again(&there)?];
            Ok((here, there, held))
        });
        let (here, there, held) = connected.map_err(|error| {
            self.ledger.leave(number, to);
            (Refusal::Exhausted, error.to_string())
        })?;
        client.waits = true;
        grant.askers.push(id);
        grant.phase = Phase::Moving { to, released: false, adopted: false };
        let adopt = Order::Adopt { grant: grant.terms.clone(), keys: grant.key_inode };
        let descriptors = grant.shares.descriptors(there);
        let release = Order::Release { grant: number };
        self.key_ends.hold_for_move(number, held);
        self.order(from, &release, vec![std::sync::Arc::new(here)], Purpose::Release(number));
        self.order(to, &adopt, descriptors, Purpose::Adopt(number));
        Ok(())
    }

    /// Reads the policy again for an operator. The answer says that it is in force and that all workers that
    /// have time serve by it.
    pub(crate) fn reload_for(&mut self, id: u64) {
        let Some(client) = self.clients.get(&id) else { return };
        if !self.policy.is_operator(&client.peer) {
            self.refuse(id, Refusal::NotOperator, "only operators reload the policy".to_owned());
            return;
        }
        let by = client.peer.uid;
        match self.reload(Some(by)) {
            Ok(()) if self.limits_out == 0 => self.answer(id, &Reply::End {}, Vec::new()),
            Ok(()) => {
                self.reloaders.push(id);
                if let Some(client) = self.clients.get_mut(&id) {
                    client.waits = true;
                }
            }
            Err(error) => self.refuse(id, Refusal::Policy, error.to_string()),
        }
    }
}

/// Reports the use of resources within their limits.
fn use_status((user, worker): (bool, bool), number: u32, (held, limits): (Amounts, Amounts)) -> UseStatus {
    let counted = |resource: &Resource| {
        let (used, limit) = (held.get(*resource), limits.get(*resource));
        (used > 0 || limit < u64::MAX).then(|| Use { what: resource.label().to_owned(), used, limit })
    };
    UseStatus { user, worker, number, uses: Resource::ALL.iter().filter_map(counted).collect() }
}

fn grant_status(grant: &Grant, counts: &HashMap<u64, QueueCounts>) -> GrantStatus {
    let mut counts = counts.get(&grant.terms.id).cloned().unwrap_or_default();
    counts.failures.truncate(MOST_FAILURES);
    GrantStatus {
        grant: grant.terms.clone(),
        name: grant.name.to_string(),
        pid: grant.peer.pid,
        uid: grant.peer.uid,
        worker: grant.worker as u32,
        age_s: grant.since.elapsed().as_secs(),
        counts,
    }
}

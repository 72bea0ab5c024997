//! What operators ask: who has what, the end of a grant, another worker for it, the policy again.

use std::collections::{BTreeSet, HashMap};

use millstream_protocol::{GrantStatus, Order, QueueCounts, Refusal, Reply, WorkerStatus};
use millstream_shm::pair;

use crate::broker::Broker;
use crate::crew::{Purpose, Worker};
use crate::grant::{Grant, Phase};
use crate::metrics::{Asker as MetricsAsker, Snapshot};

/// So many kinds of failure fit a message.
const MOST_FAILURES: usize = 128;

/// Who waits for a survey.
pub(crate) enum Asker {
    Client(u64),
    Metrics(MetricsAsker),
}

/// What the workers are counting.
#[derive(Default)]
pub(crate) struct Survey {
    /// Those that have not answered.
    awaited: BTreeSet<usize>,
    /// What each grant's queues did.
    pub(crate) counts: HashMap<u64, QueueCounts>,
    askers: Vec<Asker>,
}

impl Broker {
    /// A client asks what there is.
    pub(crate) fn status(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let sees = |grant: &Grant| grant.peer.uid == client.peer.uid;
        if self.policy.is_operator(&client.peer) || self.grants.values().any(sees) {
            client.waits = true;
            self.count_for(Asker::Client(id));
        } else {
            // Whom there is nothing to tell has nobody count.
            self.answer(id, &Reply::End {}, Vec::new());
        }
    }

    /// Somebody wants metrics.
    pub(crate) fn hear_metrics(&mut self) {
        let Some(metrics) = &self.metrics else { return };
        for asker in metrics.asked() {
            self.count_for(Asker::Metrics(asker));
        }
    }

    /// Has all workers count, unless they are already at it.
    fn count_for(&mut self, asker: Asker) {
        if let Some(survey) = &mut self.survey {
            survey.askers.push(asker);
            return;
        }
        let awaited: BTreeSet<usize> =
            self.crew.iter().filter(|worker| worker.is_ready()).map(|worker| worker.index).collect();
        let survey = Survey { awaited: awaited.clone(), askers: vec![asker], ..Survey::default() };
        self.survey = Some(survey);
        for index in &awaited {
            self.order(*index, &Order::Count {}, Vec::new(), Purpose::Count);
        }
        self.finish_survey();
    }

    /// A worker has counted, or will not.
    pub(crate) fn counted(&mut self, index: usize) {
        if let Some(survey) = &mut self.survey {
            survey.awaited.remove(&index);
        }
        self.finish_survey();
    }

    fn finish_survey(&mut self) {
        let Some(survey) = self.survey.take_if(|survey| survey.awaited.is_empty()) else { return };
        for asker in survey.askers {
            match asker {
                Asker::Client(id) => self.tell_status(id, &survey.counts),
                Asker::Metrics(asker) => asker.answer(Snapshot {
                    workers: self.crew.iter().map(|worker| self.worker_status(worker)).collect(),
                    grants: self.grants.values().map(|grant| grant_status(grant, &survey.counts)).collect(),
                    counters: self.counters.clone(),
                }),
            }
        }
    }

    /// Tells a client what it may see: an operator everything, others their own grants and who serves them.
    fn tell_status(&mut self, id: u64, counts: &HashMap<u64, QueueCounts>) {
        let Some(client) = self.clients.get(&id) else { return };
        let (all, uid) = (self.policy.is_operator(&client.peer), client.peer.uid);
        let seen: Vec<&Grant> = self.grants.values().filter(|grant| all || grant.peer.uid == uid).collect();
        let serves = |worker: &&Worker| all || seen.iter().any(|grant| grant.worker == worker.index);
        let workers = self.crew.iter().filter(serves);
        let mut replies: Vec<Reply> =
            workers.map(|worker| Reply::Worker { status: self.worker_status(worker) }).collect();
        replies.extend(seen.iter().map(|grant| Reply::Grant { status: grant_status(grant, counts) }));
        replies.push(Reply::End {});
        for reply in &replies {
            self.answer(id, reply, Vec::new());
        }
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
            sandbox: traits.sandbox,
            key_memory: traits.key_memory,
        }
    }

    /// A client wants the end of a grant.
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

    /// An operator wants another worker for a grant.
    pub(crate) fn move_for(&mut self, id: u64, grant: u64, worker: u32) {
        if let Err((why, detail)) = self.begin_move(id, grant, worker as usize) {
            self.refuse(id, why, detail);
        }
    }

    fn begin_move(&mut self, id: u64, number: u64, to: usize) -> Result<(), (Refusal, String)> {
        let no_grant = || (Refusal::NoSuchGrant, format!("grant {number}"));
        let client = self.clients.get_mut(&id).ok_or_else(no_grant)?;
        if !self.policy.is_operator(&client.peer) {
            return Err((Refusal::Denied, "only operators move grants".to_owned()));
        }
        let live = |grant: &&mut Grant| grant.phase == Phase::Live;
        let grant = self.grants.get_mut(&number).filter(live).ok_or_else(no_grant)?;
        if !self.crew.get(to).is_some_and(Worker::is_ready) {
            return Err((Refusal::NoSuchWorker, format!("worker {to}")));
        }
        let from = grant.worker;
        if from == to {
            self.answer(id, &Reply::End {}, Vec::new());
            return Ok(());
        }
        let (here, there) = pair().map_err(|error| (Refusal::Exhausted, error.to_string()))?;
        client.waits = true;
        grant.askers.push(id);
        grant.phase = Phase::Moving { to, released: false, adopted: false };
        let adopt = Order::Adopt { grant: grant.terms.clone() };
        let descriptors = grant.shares.descriptors(there);
        let release = Order::Release { grant: number };
        self.order(from, &release, vec![std::sync::Arc::new(here)], Purpose::Release(number));
        self.order(to, &adopt, descriptors, Purpose::Adopt(number));
        Ok(())
    }

    /// An operator wants the policy to be read again.
    pub(crate) fn reload_for(&mut self, id: u64) {
        let Some(client) = self.clients.get(&id) else { return };
        if !self.policy.is_operator(&client.peer) {
            self.refuse(id, Refusal::Denied, "only operators reload the policy".to_owned());
            return;
        }
        match self.reload() {
            Ok(()) => self.answer(id, &Reply::End {}, Vec::new()),
            Err(error) => self.refuse(id, Refusal::Policy, error.to_string()),
        }
    }
}

fn grant_status(grant: &Grant, counts: &HashMap<u64, QueueCounts>) -> GrantStatus {
    let mut counts = counts.get(&grant.terms.id).cloned().unwrap_or_default();
    counts.failures.truncate(MOST_FAILURES);
    GrantStatus {
        grant: grant.terms.clone(),
        name: grant.name.clone(),
        pid: grant.peer.pid,
        uid: grant.peer.uid,
        worker: grant.worker as u32,
        age_s: grant.since.elapsed().as_secs(),
        counts,
    }
}

//! The end of grants. A grant's memory and charges are freed only after its worker has let go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_protocol::{QueueCounts, Refusal, Reply, STATE_GONE, STATE_REVOKED};
use millstream_shm::{Memory, plain};

use crate::broker::Broker;
use crate::chatter::{Kind, say};
use crate::crew::{Outcome, Purpose};
use crate::errands::{self, Done, Errand, What};
use crate::grant::{Grant, Phase};
use crate::ledger::Account;
use crate::probes;
use crate::totals::Work;

/// The remains of a grant that no client has any more, while workers may still have it.
pub(crate) struct Remains {
    memory: [Arc<Memory>; 2],
    /// The user it belonged to.
    uid: u32,
    /// The worker that it was made for.
    worker: usize,
    /// The worker that drops it and reports its last work, and the work in the report before.
    drops: usize,
    counted: Work,
}

/// Grants that have ended for their clients, and not yet for their workers.
pub(crate) type Ending = BTreeMap<u64, Remains>;

/// The time for which the users of an account are granted nothing after one of their grants has held up its
/// worker. If another one does so meanwhile, all of them end.
const BARRED: Duration = Duration::from_secs(60);

impl Broker {
    /// Ends a grant as far as its client is concerned, and answers the clients who wait for that.
    pub(crate) fn finish(&mut self, id: u64, state: u64, answer: &Reply) {
        let Some(grant) = self.retire(id, state) else { return };
        let (pid, uid) = (grant.peer.pid, grant.peer.uid);
        if state == STATE_REVOKED {
            self.counters.revoked += 1;
            say!(self.chatter, Some(uid), Kind::Revoked, info, grant = id, pid, uid, "revoke");
        } else {
            self.counters.gone += 1;
            let what = "a grant has ended with its worker";
            say!(self.chatter, Some(uid), Kind::Gone, warn, grant = id, pid, uid, "{what}");
        }
        self.answer_all(&grant.askers, answer);
        self.let_go_of_key_end(id);
    }

    /// Ends one grant on which a worker has worked for so long that orders about others wait. No other grant
    /// ends.
    pub(crate) fn end_singly(&mut self, worker: usize, id: u64) {
        let Some(grant) = self.grants.get(&id) else { return };
        let serves = match grant.phase {
            Phase::Moving { to, .. } => [grant.worker, to].contains(&worker),
            _ => grant.worker == worker,
        };
        // A worker has no say about grants that it does not serve.
        if !serves {
            return;
        }
        let (phase, uid) = (grant.phase, grant.peer.uid);
        let (account, now) = (self.policy.account(uid), Instant::now());
        let again = self.ledger.barred(account, now).is_some();
        if self.policy.lets_others_in() {
            // The same client could otherwise hold up others with its next grant.
            self.ledger.bar(account, BARRED, now);
        }
        say!(
            self.chatter,
            Some(uid),
            Kind::HoldsUp,
            error,
            grant = id,
            worker,
            "a grant holds up its worker: it is revoked"
        );
        match phase {
            Phase::Live => {
                self.finish(id, STATE_REVOKED, &Reply::End {});
                self.order_drop(worker, id, false);
            }
            // The order that is outstanding is answered, or concluded as late.
            Phase::Preparing | Phase::Serving | Phase::Ending => {}
            Phase::Moving { to, adopted, .. } => {
                let detail = "the grant held up its worker while it moved, which ended it".to_owned();
                self.finish(id, STATE_REVOKED, &Reply::Refused { why: Refusal::NoWorker, detail });
                if adopted {
                    self.order_drop(to, id, false);
                }
            }
        }
        if again {
            self.revoke_all(account);
        }
    }

    /// Revokes all grants of an account.
    fn revoke_all(&mut self, account: Account) {
        let its = |(_, grant): &(&u64, &Grant)| self.policy.account(grant.peer.uid) == account;
        for id in self.grants.iter().filter(its).map(|(id, _)| *id).collect::<Vec<_>>() {
            self.revoke(id);
        }
    }

    /// Ends the grant of a client that has gone, so that nobody will use it any more.
    pub(crate) fn abandon(&mut self, id: u64) {
        // A forked child may still look at the state page.
        let Some(grant) = self.retire(id, STATE_GONE) else { return };
        let (pid, uid) = (grant.peer.pid, grant.peer.uid);
        say!(self.chatter, Some(uid), Kind::Ended, info, grant = id, pid, uid, "ended");
        self.answer_all(&grant.askers, &Reply::End {});
        match grant.phase {
            Phase::Live => self.order_drop(grant.worker, id, false),
            Phase::Serving => self.withdraw(grant.worker, id),
            // A worker that has not answered yet is told to drop it when it does.
            Phase::Moving { to, adopted: true, .. } => self.order_drop(to, id, false),
            Phase::Moving { .. } | Phase::Ending => {}
            // The grant is cleaned up when its memory is there.
            Phase::Preparing => {}
        }
        self.let_go_of_key_end(id);
    }

    /// Refuses a grant that was about to be made. Its worker is told when it has answered.
    pub(crate) fn take_back(&mut self, id: u64, why: Refusal, detail: &str) {
        let Some(grant) = self.retire(id, STATE_GONE) else { return };
        self.refuse(grant.client, why, detail.to_owned());
        self.answer_all(&grant.askers, &Reply::End {});
        self.withdraw(grant.worker, id);
        self.let_go_of_key_end(id);
    }

    /// Takes a grant away from its client. It stays charged until no worker has it.
    fn retire(&mut self, id: u64, state: u64) -> Option<Grant> {
        let grant = self.grants.remove(&id)?;
        self.holders.forget(id);
        self.end_shares(id, &grant, state);
        self.ledger.keep_until_freed(id);
        let drops = match grant.phase {
            Phase::Moving { to, adopted: true, .. } => to,
            _ => grant.worker,
        };
        let remains = Remains {
            memory: grant.shares.memory(),
            uid: grant.peer.uid,
            worker: grant.worker,
            drops,
            counted: grant.counted,
        };
        self.ending.insert(id, remains);
        // The client may still read its inputs, and completions that it has not looked at.
        if grant.key_end.is_none()
            && let Some(client) = self.clients.get_mut(&grant.client)
        {
            client.looks_at.push(id);
            self.ledger.keep_for_client(id);
        }
        self.bind(grant.client, None);
        Some(grant)
    }

    /// Takes back an order to serve a grant if the worker was not even sent it.
    fn withdraw(&mut self, worker: usize, id: u64) {
        if self.crew[worker].withdraw(Purpose::Serve(id)) {
            self.key_ends.answered(Purpose::Serve(id));
            self.ledger.answered(id);
            self.free(worker, id);
        }
    }

    /// Adds a worker's report about a grant that it serves, or has just dropped, to the totals. Returns true
    /// when it serves the grant.
    pub(crate) fn count_work(&mut self, worker: usize, id: u64, report: &QueueCounts) -> bool {
        let number = worker as u32;
        if let Some(grant) = self.grants.get_mut(&id).filter(|grant| grant.worker == worker) {
            self.totals.count(grant.peer.uid, number, report, &mut grant.counted);
            return true;
        }
        if let Some(remains) = self.ending.get_mut(&id).filter(|remains| remains.drops == worker) {
            self.totals.count(remains.uid, number, report, &mut remains.counted);
        }
        false
    }

    /// Cleans up after a grant that ended while its memory was being taken. No worker was told of it.
    pub(crate) fn was_prepared_for_nobody(&mut self, id: u64) {
        self.ledger.answered(id);
        if let Some(worker) = self.ending.get(&id).map(|remains| remains.worker) {
            self.free(worker, id);
        }
        self.let_go_of_key_end(id);
    }

    /// Accounts for an order about a grant that was answered, or never will be.
    pub(crate) fn account_for(&mut self, worker: usize, purpose: Purpose, outcome: &Outcome) {
        let Some(id) = purpose.grant().filter(|_| *outcome != Outcome::Late) else { return };
        self.ledger.answered(id);
        let has_let_go = match (purpose, outcome) {
            (_, Outcome::Died) | (Purpose::Drop { .. }, _) | (Purpose::Release(_), Outcome::Done) => true,
            (Purpose::Serve(_), outcome) => matches!(outcome, Outcome::Failed(_)),
            _ => false,
        };
        if has_let_go {
            self.free(worker, id);
        }
    }

    /// Records that a worker has nothing of a grant any more.
    fn free(&mut self, worker: usize, id: u64) {
        if self.ledger.leave(id, worker) {
            self.give_back(id);
        }
    }

    /// Records that a client has left or asks for another grant, and so no longer looks at its old ones.
    pub(crate) fn look_away(&mut self, grants: Vec<u64>) {
        for id in grants {
            if self.ledger.leave_to_look(id) {
                self.give_back(id);
            }
        }
    }

    /// Frees all that a dead worker had. Its grants have been ended.
    pub(crate) fn free_all(&mut self, worker: usize) {
        for id in self.ledger.lose(worker) {
            self.give_back(id);
        }
    }

    /// Has the memory of a grant given back to the system, even where the client keeps a descriptor or a
    /// mapping. It stays charged until that is done.
    pub(crate) fn give_back(&mut self, id: u64) {
        let Some(Remains { memory, uid, .. }) = self.ending.remove(&id) else { return };
        let errand = Errand { grant: id, uid, what: What::Free(memory) };
        self.errands.send(self.policy.account(uid), errand);
    }

    /// Handles finished errands, for new grants and for those that have ended.
    pub(crate) fn hear_done(&mut self) {
        for Done { grant, result, .. } in self.preparing.done() {
            self.prepared(grant, result);
        }
        for Done { grant, uid, kind, result } in self.errands.done() {
            let frees = kind == errands::Kind::Free;
            if frees {
                self.ledger.freed(grant);
            }
            let Err(error) = result else { continue };
            let (kind, what) = if frees {
                (Kind::Unfreed, "the memory of a grant can't be given back while its client keeps it")
            } else {
                // The client sees the state anyway when its wait times out.
                (Kind::Unwoken, "a client could not be woken")
            };
            say!(self.chatter, Some(uid), kind, warn, grant, uid, error = %plain(&error), "{what}");
        }
    }

    /// Tells a client that its grant is over.
    pub(crate) fn end_shares(&mut self, id: u64, grant: &Grant, state: u64) {
        probes::revoke(id, state);
        let uid = grant.peer.uid;
        let errand = Errand { grant: id, uid, what: What::Wake(grant.shares.end(state)) };
        self.errands.send(self.policy.account(uid), errand);
    }

    /// Returns the user whose grant an order is about, as long as that is known.
    pub(crate) fn whose(&self, purpose: Purpose) -> Option<u32> {
        let id = purpose.grant()?;
        let granted = self.grants.get(&id).map(|grant| grant.peer.uid);
        granted.or_else(|| self.ending.get(&id).map(|remains| remains.uid))
    }
}

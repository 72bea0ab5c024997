//! Orders to workers, and the handling of their answers.

use std::io;

use millstream_protocol::{Message, Order, Refusal, Reply, Report, STATE_GONE, STATE_REVOKED, Secret};

use crate::broker::{Broker, TURN};
use crate::chatter::{Kind, say};
use crate::crew::{Outcome, Purpose, Traits};
use crate::grant::Phase;
use crate::ledger::Resource;
use crate::link::Shared;
use crate::shown::Shown;
use crate::tokens::keeper::Keeper;

impl Broker {
    /// Gives a worker an order.
    pub(crate) fn order(&mut self, index: usize, order: &Order, with: Vec<Shared>, purpose: Purpose) {
        // The order to serve was charged with the grant itself.
        if let Some(grant) = purpose.grant().filter(|_| !matches!(purpose, Purpose::Serve(_))) {
            self.ledger.ordered(grant);
        }
        match self.crew[index].order(order, with, purpose, &self.poll) {
            Ok(()) => self.key_ends.ordered(purpose),
            Err(outcome) => {
                self.key_ends.moved(purpose);
                self.settle(index, purpose, outcome);
            }
        }
    }

    /// Tells a worker to drop a grant. If `tell`, its client hears of it when that is done.
    pub(crate) fn order_drop(&mut self, index: usize, grant: u64, tell: bool) {
        self.order(index, &Order::Drop { grant }, Vec::new(), Purpose::Drop { grant, tell });
    }

    /// Handles what a worker says, in turn with the others.
    pub(crate) fn hear_worker(&mut self, index: usize, takes_more: bool) {
        if takes_more {
            self.crew[index].flush(&self.poll);
        }
        for _ in 0..4 * TURN {
            let Some(process) = &mut self.crew[index].process else { return };
            let report = match process.link.receive() {
                Ok(Some(bytes)) => Report::decode(&bytes).ok(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(None) | Err(_) => None,
            };
            let Some(report) = report else {
                process.broken = true;
                return;
            };
            self.crew[index].was_heard();
            self.take_report(index, report);
        }
    }

    fn take_report(&mut self, index: usize, report: Report) {
        match report {
            Report::Ready { sandbox, key_memory, key_bytes } => {
                let Some(process) = &mut self.crew[index].process else { return };
                if process.traits.is_some() {
                    // A worker is ready only once.
                    process.broken = true;
                    return;
                }
                let (sandbox, key_memory) = (Shown::text(&sandbox), Shown::text(&key_memory));
                tracing::info!(
                    worker = index,
                    sandbox = &*sandbox,
                    key_memory = &*key_memory,
                    "worker ready"
                );
                process.traits = Some(Traits { sandbox, key_memory });
                self.ledger.set_worker(index, Resource::KeyMemory, key_bytes);
                // Other workers have no private keys.
                if self.crew[index].is_private {
                    let key = Secret::new(&self.wrapping);
                    self.order(index, &Order::Wrap { key }, Vec::new(), Purpose::Watch);
                }
                if let Some(device) = self.keeper.as_ref().map(Keeper::device) {
                    self.order(index, &Order::Vault { device }, Vec::new(), Purpose::Watch);
                }
                if let Some(page) = self.crew[index].page() {
                    self.order(index, &Order::Watch {}, vec![page], Purpose::Watch);
                }
            }
            Report::Worker { sleeps, presigned } => {
                (self.crew[index].sleeps, self.crew[index].presigned) = (sleeps, presigned);
            }
            Report::Counts { grant, counts } => {
                let serves = self.count_work(index, grant, &counts);
                if let Some(survey) = self.surveys.current.as_mut().filter(|_| serves) {
                    survey.counts.insert(grant, counts);
                }
            }
            Report::Done {} => self.take_answer(index, Outcome::Done),
            Report::Moved { grant } => self.take_move(index, grant, Outcome::Done),
            Report::NotMoved { grant, why } => {
                self.take_move(index, grant, Outcome::Failed(Shown::text(&why)));
            }
            Report::Failed { why } => {
                let why = Shown::text(&why);
                let uid = self.crew[index].first().and_then(|purpose| self.whose(purpose));
                let what = "a worker could not do what it was told";
                say!(self.chatter, uid, Kind::Failed, warn, worker = index, why = &*why, "{what}");
                self.take_answer(index, Outcome::Failed(why));
            }
            // The rest is questions, and messages of a later version, which no worker of this broker sends.
            question => self.take_question(index, question),
        }
    }

    fn take_answer(&mut self, index: usize, outcome: Outcome) {
        match self.crew[index].answered() {
            Some((Purpose::Count, true)) => {}
            // The outcome of the move is told later.
            Some((purpose @ (Purpose::Release(_) | Purpose::Adopt(_)), _)) if outcome == Outcome::Done => {
                self.crew[index].has_begun(purpose);
            }
            Some((purpose, _)) => self.conclude(index, purpose, outcome),
            // An answer without an order.
            None => {
                if let Some(process) = &mut self.crew[index].process {
                    process.broken = true;
                }
            }
        }
    }

    /// Records that a move has ended on one side.
    fn take_move(&mut self, index: usize, grant: u64, outcome: Outcome) {
        if let Some(purpose) = self.crew[index].has_moved(grant) {
            self.conclude(index, purpose, outcome);
        } else if let Some(process) = &mut self.crew[index].process {
            process.broken = true;
        }
    }

    /// Concludes an order that was answered for good.
    pub(crate) fn conclude(&mut self, index: usize, purpose: Purpose, outcome: Outcome) {
        self.key_ends.answered(purpose);
        self.settle(index, purpose, outcome);
        purpose.grant().into_iter().for_each(|grant| self.let_go_of_key_end(grant));
    }

    /// Applies the outcome of an order.
    pub(crate) fn settle(&mut self, index: usize, purpose: Purpose, outcome: Outcome) {
        let as_it_was = outcome.clone();
        match purpose {
            Purpose::Serve(id) => self.served(index, id, outcome),
            Purpose::Drop { grant, tell: true } => {
                self.finish(grant, STATE_REVOKED, &Reply::End {});
            }
            Purpose::Limit => self.limited(&outcome),
            Purpose::Drop { tell: false, .. } | Purpose::Watch => {}
            Purpose::Release(id) => self.moved(index, id, true, outcome),
            Purpose::Adopt(id) => self.moved(index, id, false, outcome),
            Purpose::Count => self.counted(index),
        }
        self.account_for(index, purpose, &as_it_was);
    }

    /// Records that a worker serves a grant by the new policy, or will when it has time.
    fn limited(&mut self, outcome: &Outcome) {
        if *outcome != Outcome::Late {
            self.limits_out = self.limits_out.saturating_sub(1);
            if self.limits_out > 0 {
                return;
            }
        }
        let reloaders = std::mem::take(&mut self.reloaders);
        self.answer_all(&reloaders, &Reply::End {});
    }

    /// Records the answer of one side of a grant's move.
    fn moved(&mut self, index: usize, id: u64, is_release: bool, outcome: Outcome) {
        let Some(grant) = self.grants.get_mut(&id) else {
            // The grant has ended meanwhile. The worker that has it now is to drop it.
            if matches!(outcome, Outcome::Done | Outcome::Failed(_)) {
                self.order_drop(index, id, false);
            }
            return;
        };
        let Phase::Moving { to, released, adopted } = &mut grant.phase else { return };
        match outcome {
            Outcome::Late => {}
            Outcome::Done => {
                *released |= is_release;
                *adopted |= !is_release;
                if *released && *adopted {
                    grant.worker = *to;
                    grant.phase = Phase::Live;
                    let uid = Some(grant.peer.uid);
                    say!(self.chatter, uid, Kind::Moved, info, grant = id, worker = index, "moved");
                    let askers = std::mem::take(&mut grant.askers);
                    self.answer_all(&askers, &Reply::End {});
                }
            }
            Outcome::Failed(_) | Outcome::Died => {
                let (other, other_has_answered) =
                    if is_release { (*to, *adopted) } else { (grant.worker, *released) };
                let why = Refusal::NoWorker;
                let detail = "a worker failed while the grant moved, which ended it".to_owned();
                self.finish(id, STATE_GONE, &Reply::Refused { why, detail });
                if outcome != Outcome::Died {
                    self.order_drop(index, id, false);
                }
                if other_has_answered {
                    self.order_drop(other, id, false);
                }
            }
        }
    }
}

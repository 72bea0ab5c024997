//! The view of `millstream status`: counts, and rates from two looks at them.

pub mod json;
pub mod live;
pub mod table;

use std::time::Instant;

use millstream::isolated::token::TokenStatus;
use millstream::isolated::{
    GrantStatus, Service, ServiceError, ServiceRefusal, Status, UseStatus, WorkerStatus,
};

use nix::unistd::{Uid, User};

use crate::error::Error;
use crate::shown;

/// One look at the service.
pub struct Look {
    at: Instant,
    there: Status,
    tokens: Vec<TokenStatus>,
}

impl Look {
    /// Takes a look.
    ///
    /// # Errors
    /// Fails when the service refuses or ends.
    pub fn take(service: &mut Service) -> Result<Look, Error> {
        let mut there = service.status()?;
        there.workers.sort_by_key(|worker| worker.worker);
        there.grants.sort_by_key(|grant| grant.grant.id);
        let at = Instant::now();
        let mut tokens = match service.tokens() {
            // A service may keep no tokens, and others may keep theirs for other users.
            Err(ServiceError::Refused { why: ServiceRefusal::NoTokens | ServiceRefusal::Denied, .. }) => {
                Vec::new()
            }
            tokens => tokens?,
        };
        tokens.sort_by(|a, b| a.label.cmp(&b.label));
        Ok(Look { at, there, tokens })
    }

    /// Returns the view of what was done since an earlier look.
    pub fn since(&self, before: &Look) -> View {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let grant = |now: &GrantStatus| {
            let was = before.there.grants.iter().find(|was| was.grant.id == now.grant.id);
            Grant::new(now, was, seconds)
        };
        let grants: Vec<Grant> = self.there.grants.iter().map(grant).collect();
        let worker = |now: &WorkerStatus| {
            let was = before.there.workers.iter().find(|was| (was.worker, was.pid) == (now.worker, now.pid));
            let sleeps_per_s = was.map(|was| rate(now.sleeps, was.sleeps, seconds));
            let served = grants.iter().filter(|grant| grant.now.worker == now.worker);
            let lanes = served.filter_map(|grant| grant.rates?.lanes).next();
            Worker { now: now.clone(), sleeps_per_s, lanes }
        };
        let workers = self.there.workers.iter().map(worker).collect();
        View { seconds, workers, grants, uses: self.there.uses.clone(), tokens: self.tokens.clone() }
    }
}

/// Computes a rate. Counts never go back, except when the service was started again between two looks.
fn rate(now: u64, was: u64, seconds: f64) -> f64 {
    now.saturating_sub(was) as f64 / seconds
}

/// All counts, with rates.
pub struct View {
    /// The time over which rates were taken.
    pub seconds: f64,
    /// The workers.
    pub workers: Vec<Worker>,
    /// The grants.
    pub grants: Vec<Grant>,
    /// The use of resources, and their limits.
    pub uses: Vec<UseStatus>,
    /// The tokens that this user may use.
    pub tokens: Vec<TokenStatus>,
}

impl View {
    /// Returns true when the service shows this user everything, and not only what is its own.
    pub fn is_whole(&self) -> bool {
        self.uses.iter().any(|of| !of.user && !of.worker)
    }
}

/// A worker.
pub struct Worker {
    /// The counts.
    pub now: WorkerStatus,
    /// The number of times per second that it went to sleep, if it was there before.
    pub sleeps_per_s: Option<f64>,
    /// The mean number of operations that it executed together, for all of its grants, where there were any.
    pub lanes: Option<f64>,
}

/// A grant.
pub struct Grant {
    /// The counts.
    pub now: GrantStatus,
    /// The user's name, or number.
    pub user: String,
    /// The program in the client's process, if that exists and may be seen.
    pub program: Option<String>,
    /// The recent rates, if it was there before.
    pub rates: Option<Rates>,
}

/// The recent rates of a grant, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Operations.
    pub operations: f64,
    /// Bytes of their sources.
    pub bytes: f64,
    /// Rings of the doorbell.
    pub doorbells: f64,
    /// Wakes of the client.
    pub wakes: f64,
    /// The mean number of operations that its worker executed together, for all of its grants, where there
    /// were any.
    pub lanes: Option<f64>,
}

impl Grant {
    fn new(now: &GrantStatus, was: Option<&GrantStatus>, seconds: f64) -> Grant {
        let rates = was.map(|was| {
            // Another worker counts from its own beginning.
            let same_worker = now.worker == was.worker;
            let (now, was) = (&now.counts, &was.counts);
            let batches = now.batches.saturating_sub(was.batches);
            let batched = now.batched.saturating_sub(was.batched);
            Rates {
                operations: rate(now.operations, was.operations, seconds),
                bytes: rate(now.bytes, was.bytes, seconds),
                doorbells: rate(now.doorbells, was.doorbells, seconds),
                wakes: rate(now.client_wakes, was.client_wakes, seconds),
                lanes: (same_worker && batches > 0).then(|| batched as f64 / batches as f64),
            }
        });
        Grant { now: now.clone(), user: user(now.uid), program: program(now.pid), rates }
    }

    /// Returns the number of operations that failed.
    pub fn failures(&self) -> u64 {
        self.now.counts.failures.iter().map(|(_, times)| times).sum()
    }
}

fn user(uid: u32) -> String {
    let found = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    found.map_or_else(|| uid.to_string(), |user| user.name)
}

/// Returns the first 15 bytes of a program's name, as `ps` shows them.
fn program(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(shown::text(name.trim_end()))
}

/// Formats the status of that number like `source-range`.
pub fn rule(code: u16) -> String {
    millstream_cwq::Status::from_code(code)
        .map_or_else(|| code.to_string(), |status| kebab(&format!("{status:?}")))
}

/// Formats `AesCbc` as `aes-cbc`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use millstream::isolated::Use;
    use millstream::isolated::token::TokenHolder;

    use super::*;

    pub(super) fn grant(id: u64, operations: u64) -> GrantStatus {
        let mut status = GrantStatus { uid: 0, pid: std::process::id(), age_s: 61, ..Default::default() };
        status.grant.id = id;
        (status.grant.queues, status.grant.depth, status.grant.key_slots) = (2, 64, 256);
        status.counts.operations = operations;
        status.counts.bytes = operations * 64;
        (status.counts.batches, status.counts.batched) = (operations / 16, operations);
        status.counts.failures = vec![(32, 3)];
        status
    }

    pub(super) fn view(grants: Vec<(GrantStatus, Option<GrantStatus>)>) -> View {
        let begin = Instant::now();
        let worker = WorkerStatus { pid: 42, cpu: (true, 1), grants: 1, ..Default::default() };
        let queues = Use { what: "queues".to_owned(), used: 3, limit: 4096 };
        let uses = vec![UseStatus { worker: true, number: 2, uses: vec![queues], ..UseStatus::default() }];
        let there = |grants| Status { workers: vec![worker.clone()], grants, uses: uses.clone() };
        let token = TokenStatus {
            label: "web".to_owned(),
            has_user_pin: true,
            user_tries_left: 0,
            officer_tries_left: 10,
            objects: 3,
            changes: 9,
            sessions: 5,
            holders: vec![TokenHolder { grant: 4, pid: 77, uid: 1000, sessions: 2 }],
            ..TokenStatus::default()
        };
        let look = |at, grants| Look { at, there: there(grants), tokens: vec![token.clone()] };
        let before = look(begin, grants.iter().filter_map(|(_, was)| was.clone()).collect());
        let now = look(begin + Duration::from_secs(2), grants.into_iter().map(|(now, _)| now).collect());
        now.since(&before)
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let view = view(vec![(grant(7, 3200), Some(grant(7, 1600))), (grant(8, 5), None)]);
        let rates = view.grants[0].rates.unwrap();
        assert_eq!((rates.operations, rates.bytes, rates.lanes), (800.0, 51200.0, Some(16.0)));
        assert_eq!(view.grants[1].rates, None);
        assert_eq!(view.grants[0].user, "root");
        assert!(view.grants[0].program.is_some());
        assert_eq!((view.workers[0].sleeps_per_s, view.workers[0].lanes), (Some(0.0), Some(16.0)));
    }

    #[test]
    fn names_are_those_of_the_rules() {
        assert_eq!((rule(32).as_str(), rule(999).as_str()), ("source-range", "999"));
    }
}

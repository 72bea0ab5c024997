//! A snapshot in the text format of Prometheus, version 0.0.4.
//!
//! Ref. Prometheus, "Exposition formats", text-based format.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use millstream_protocol::{GrantStatus, UseStatus, WorkerStatus};
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};
use prometheus_client::registry::{Registry, Unit};

use super::{Counters, OpenTokens, Snapshot};
use crate::totals::{Totals, Work};

/// The format's content type.
pub(super) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfWorker {
    worker: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfGrant {
    grant: u64,
    uid: u32,
    pid: u32,
    name: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfResource {
    whose: String,
    resource: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfReason {
    reason: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfUser {
    uid: String,
}

/// Encodes a snapshot as text. The registry lives only as long as the answer, so that ended grants leave
/// nothing behind. With `names` each grant is listed too.
pub(super) fn text(snapshot: &Snapshot, names: bool) -> String {
    let mut registry = Registry::with_prefix("millstream");
    of_broker(&mut registry, &snapshot.counters);
    of_tokens(&mut registry, snapshot.open);
    of_workers(&mut registry, &snapshot.workers, &snapshot.totals);
    of_users(&mut registry, snapshot);
    if names {
        of_grants(&mut registry, &snapshot.grants);
    }
    of_limits(&mut registry, &snapshot.uses);
    let mut out = String::new();
    match encode(&mut out, &registry) {
        Ok(()) => plain(&out),
        // Writing to a string does not fail.
        Err(fmt) => format!("# {fmt}\n"),
    }
}

/// Converts OpenMetrics into the older text format, version 0.0.4, which everybody reads. There, help and
/// type of a counter go by its whole name, and there are no units and no end mark.
fn plain(open: &str) -> String {
    let mut out = String::with_capacity(open.len());
    let mut help: Option<(&str, &str)> = None;
    for line in open.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), Some(text)) => help = Some((name, text)),
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let end = if kind == "counter" { "_total" } else { "" };
                if let Some((_, text)) = help.take().filter(|(of, _)| *of == name) {
                    out += &format!("# HELP {name}{end} {text}\n");
                }
                out += &format!("# TYPE {name}{end} {kind}\n");
            }
            (Some("#"), ..) => {}
            _ => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
}

fn of_broker(registry: &mut Registry, counters: &Counters) {
    let mut count = |name: &str, help: &str, value: u64| {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    };
    count("grants_made", "Grants that were made", counters.granted);
    count("grants_revoked", "Grants that were taken back", counters.revoked);
    count("grants_lost", "Grants that ended with their worker", counters.gone);
    count("worker_restarts", "Workers that died and were started again", counters.restarts);
    count("tokens_opened", "Tokens that were opened with a PIN", counters.tokens_opened);
    count("wrong_pins", "Wrong PINs of tokens that were tried", counters.wrong_pins);
    count(
        "failed_tries",
        "Tries of PINs that ended otherwise: the token or the vault failed",
        counters.failed_tries,
    );
    let spent = Counter::<f64, std::sync::atomic::AtomicU64>::default();
    spent.inc_by(counters.granting.as_secs_f64());
    registry.register_with_unit("granting", "Time spent on making grants", Unit::Seconds, spent);
    let refused = Family::<OfReason, Counter>::default();
    for (reason, count) in &counters.refused {
        refused.get_or_create(&OfReason { reason: reason.clone() }).inc_by(*count);
    }
    registry.register("requests_refused", "Requests that were refused", refused);
}

/// Adds the tokens that are open now.
fn of_tokens(registry: &mut Registry, open: OpenTokens) {
    let mut gauge = |name: &str, help: &str, value: u64| {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    };
    gauge("tokens_open", "Tokens that are open now", open.tokens);
    gauge("token_sessions", "Times that tokens are open now, all grants together", open.sessions);
}

fn of_workers(registry: &mut Registry, workers: &[WorkerStatus], totals: &Totals) {
    let registry = registry.sub_registry_with_prefix("worker");
    let counter = Family::<OfWorker, Counter>::default;
    let (sleeps, batches, batched) = (counter(), counter(), counter());
    let grants = Family::<OfWorker, Gauge>::default();
    let (ready, taken, dropped) = (Family::<OfWorker, Gauge>::default(), counter(), counter());
    for worker in workers {
        let (of, total) = (OfWorker { worker: worker.worker }, totals.of_worker(worker.worker));
        sleeps.get_or_create(&of).inc_by(worker.sleeps);
        grants.get_or_create(&of).set(i64::from(worker.grants));
        batches.get_or_create(&of).inc_by(total.batches);
        batched.get_or_create(&of).inc_by(total.batched);
        if worker.private_keys {
            ready.get_or_create(&of).set(i64::try_from(worker.presigned.ready).unwrap_or(i64::MAX));
            taken.get_or_create(&of).inc_by(worker.presigned.taken);
            dropped.get_or_create(&of).inc_by(worker.presigned.dropped);
        }
    }
    registry.register("sleeps", "Times a worker's accelerator went to sleep", sleeps);
    registry.register("grants", "Grants that a worker serves", grants);
    registry.register(
        "presignatures_ready",
        "Nonces of P-256 that were computed before they are needed",
        ready,
    );
    registry.register("presignatures_taken", "Nonces of P-256 that signatures took from those", taken);
    registry.register("presignatures_dropped", "Nonces of P-256 that were wiped unused", dropped);
    registry.register("batches", "Goes in which a worker executed operations together", batches);
    registry.register("batched", "Operations that were executed in these goes", batched);
    let works = workers
        .iter()
        .map(|worker| (OfWorker { worker: worker.worker }, totals.of_worker(worker.worker).work));
    of_work(registry, works);
}

/// Adds what the service and its workers have given out, and their limits. Users are left out, because there
/// may be too many of them.
fn of_limits(registry: &mut Registry, uses: &[UseStatus]) {
    let used = Family::<OfResource, Gauge>::default();
    let most = Family::<OfResource, Gauge>::default();
    for status in uses.iter().filter(|status| !status.user) {
        let whose = if status.worker { format!("worker {}", status.number) } else { "service".to_owned() };
        for each in &status.uses {
            let of = OfResource { whose: whose.clone(), resource: each.what.clone() };
            used.get_or_create(&of).set(i64::try_from(each.used).unwrap_or(i64::MAX));
            if each.limit < u64::MAX {
                most.get_or_create(&of).set(i64::try_from(each.limit).unwrap_or(i64::MAX));
            }
        }
    }
    registry.register("resource_used", "Amounts charged to grants and connections", used);
    registry.register("resource_limit", "The most that may be charged", most);
}

/// Adds each user's work, of grants that have ended too, and what the present grants hold.
fn of_users(registry: &mut Registry, snapshot: &Snapshot) {
    let label =
        |uid: Option<u32>| OfUser { uid: uid.map_or_else(|| "others".to_owned(), |uid| uid.to_string()) };
    of_work(registry, snapshot.totals.users().map(|(uid, work)| (label(uid), work)));
    let mut held: BTreeMap<Option<u32>, [i64; 2]> =
        snapshot.totals.users().map(|(uid, _)| (uid, [0, 0])).collect();
    for status in &snapshot.grants {
        let uid = Some(status.uid).filter(|uid| held.contains_key(&Some(*uid)));
        let sums = held.entry(uid).or_default();
        let now = of_grant(status);
        *sums = [sums[0] + now[0], sums[1] + now[1]];
    }
    of_holdings(registry, held.into_iter().map(|(uid, held)| (label(uid), held)));
}

fn of_grants(registry: &mut Registry, grants: &[GrantStatus]) {
    let registry = registry.sub_registry_with_prefix("grant");
    let label = |status: &GrantStatus| {
        let GrantStatus { pid, uid, name, .. } = status;
        OfGrant { grant: status.grant.id, pid: *pid, uid: *uid, name: name.clone() }
    };
    of_work(registry, grants.iter().map(|status| (label(status), Work::of(&status.counts))));
    of_holdings(registry, grants.iter().map(|status| (label(status), of_grant(status))));
}

/// Returns the operations in flight and the keys of a grant.
fn of_grant(status: &GrantStatus) -> [i64; 2] {
    [i64::from(status.counts.in_flight), i64::from(status.counts.keys)]
}

/// Adds counts of work, under labels that all differ.
fn of_work<Label: Labels>(registry: &mut Registry, each: impl Iterator<Item = (Label, Work)>) {
    let counter = Family::<Label, Counter>::default;
    let [operations, bytes, failures, refused, doorbells] = std::array::from_fn(|_| counter());
    for (of, work) in each {
        operations.get_or_create(&of).inc_by(work.operations);
        bytes.get_or_create(&of).inc_by(work.bytes);
        failures.get_or_create(&of).inc_by(work.failures);
        refused.get_or_create(&of).inc_by(work.uses_refused);
        doorbells.get_or_create(&of).inc_by(work.doorbells);
    }
    registry.register("operations", "Operations that ended", operations);
    registry.register_with_unit("source", "Bytes of the operations' sources", Unit::Bytes, bytes);
    registry.register("operations_failed", "Operations that failed", failures);
    registry.register("uses_refused", "Operations refused by limits on the use of keys", refused);
    registry.register("doorbells", "Times a worker was woken", doorbells);
}

/// Adds operations in flight and keys, under labels that all differ.
fn of_holdings<Label: Labels>(registry: &mut Registry, each: impl Iterator<Item = (Label, [i64; 2])>) {
    let (in_flight, keys) = (Family::<Label, Gauge>::default(), Family::<Label, Gauge>::default());
    for (of, [flying, held]) in each {
        in_flight.get_or_create(&of).set(flying);
        keys.get_or_create(&of).set(held);
    }
    registry.register("operations_in_flight", "Operations in flight", in_flight);
    registry.register("keys", "Keys that are held", keys);
}

/// The traits that the labels of a family need.
trait Labels: EncodeLabelSet + Clone + Hash + Eq + Debug + Send + Sync + 'static {}

impl<T: EncodeLabelSet + Clone + Hash + Eq + Debug + Send + Sync + 'static> Labels for T {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use millstream_protocol::{QueueCounts, Refusal, Use};

    use super::*;

    fn snapshot() -> Snapshot {
        let mut counters = Counters::default();
        counters.granted(Duration::from_millis(1500));
        counters.refused(Refusal::Denied);
        let grants = vec![GrantStatus { uid: 5, name: "a\"b".to_owned(), ..GrantStatus::default() }];
        let uses = vec![UseStatus {
            worker: true,
            uses: vec![Use { what: "queues".to_owned(), used: 3, limit: 9 }],
            ..UseStatus::default()
        }];
        let mut totals = Totals::default();
        let report = QueueCounts { operations: 7, batches: 2, batched: 6, ..QueueCounts::default() };
        totals.count(5, 0, &report, &mut Work::default());
        // The second user has no grant any more.
        totals.count(6, 0, &report, &mut Work::default());
        Snapshot {
            workers: vec![WorkerStatus::default()],
            grants,
            counters,
            totals,
            uses,
            open: OpenTokens { tokens: 2, sessions: 5 },
        }
    }

    fn assert_lines(found: &str, lines: &[&str]) {
        for line in lines {
            assert!(found.lines().any(|each| each == *line), "{line} in {found}");
        }
    }

    #[test]
    fn everything_is_told_once_and_by_the_names_that_the_format_wants() {
        let found = text(&snapshot(), true);
        assert_lines(
            &found,
            &[
                "# HELP millstream_grants_made_total Grants that were made.",
                "# TYPE millstream_grants_made_total counter",
                "millstream_grants_made_total 1",
                "# TYPE millstream_granting_seconds_total counter",
                "millstream_granting_seconds_total 1.5",
                "millstream_requests_refused_total{reason=\"Denied\"} 1",
                "# TYPE millstream_worker_grants gauge",
                "# TYPE millstream_tokens_open gauge",
                "millstream_tokens_open 2",
                "millstream_token_sessions 5",
                "millstream_worker_sleeps_total{worker=\"0\"} 0",
                "millstream_grant_operations_total{grant=\"0\",uid=\"5\",pid=\"0\",name=\"a\\\"b\"} 0",
                "millstream_resource_used{whose=\"worker 0\",resource=\"queues\"} 3",
                "millstream_resource_limit{whose=\"worker 0\",resource=\"queues\"} 9",
            ],
        );
        assert!(!found.contains("# EOF") && !found.contains("# UNIT"), "{found}");
    }

    #[test]
    fn without_names_there_are_users_and_workers_only() {
        let found = text(&snapshot(), false);
        assert_lines(
            &found,
            &[
                "millstream_operations_total{uid=\"5\"} 7",
                "millstream_operations_total{uid=\"6\"} 7",
                "millstream_operations_in_flight{uid=\"6\"} 0",
                "millstream_worker_operations_total{worker=\"0\"} 14",
                "millstream_worker_batches_total{worker=\"0\"} 2",
                "millstream_worker_batched_total{worker=\"0\"} 6",
            ],
        );
        for label in ["grant=", "pid=", "name="] {
            assert!(!found.contains(label), "{label} in {found}");
        }
    }
}

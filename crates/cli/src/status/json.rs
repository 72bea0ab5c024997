//! The counts as JSON, for other programs.

use std::path::Path;

use millstream::isolated::UseStatus;
use millstream::isolated::token::TokenStatus;
use millstream_cwq::{Algorithm, AlgorithmSet};
use millstream_measure::figures::rounded;
use serde_json::{Map, Value, json};

use super::{Grant, View, Worker, rule};
use crate::exact;

/// Returns one object. Its version changes only when a field goes or changes its meaning.
pub fn json(view: &View, socket: &Path) -> Value {
    let mut value = json!({
        "version": 1,
        "whole": view.is_whole(),
        "interval_s": rounded(view.seconds),
        "workers": view.workers.iter().map(worker).collect::<Vec<_>>(),
        "grants": view.grants.iter().map(grant).collect::<Vec<_>>(),
        "limits": view.uses.iter().map(limits).collect::<Vec<_>>(),
        "tokens": view.tokens.iter().map(token).collect::<Vec<_>>(),
    });
    exact::put(&mut value, "socket", socket.as_os_str());
    value
}

fn token(token: &TokenStatus) -> Value {
    json!({
        "token": format!("{:032x}", token.token),
        "label": token.label,
        "objects": token.objects,
        "changes": token.changes,
        "has_user_pin": token.has_user_pin,
        "user_tries_left": token.user_tries_left,
        "officer_tries_left": token.officer_tries_left,
        "manages": token.manages,
        "sessions": token.sessions,
        "held_by": token.holders.iter().map(|holder| {
            json!({ "grant": holder.grant, "pid": holder.pid, "uid": holder.uid, "sessions": holder.sessions })
        }).collect::<Vec<_>>(),
    })
}

/// Returns the use of each resource of the service, a worker or an account, with the limit if there is one.
fn limits(status: &UseStatus) -> Value {
    let uses: Map<String, Value> = status
        .uses
        .iter()
        .map(|each| {
            let limit = (each.limit < u64::MAX).then_some(each.limit);
            (each.what.clone(), json!({ "used": each.used, "limit": limit }))
        })
        .collect();
    json!({
        "of": if status.user { "user" } else if status.worker { "worker" } else { "service" },
        "uid": status.user.then_some(status.number),
        "worker": status.worker.then_some(status.number),
        "uses": uses,
    })
}

fn worker(worker: &Worker) -> Value {
    let now = &worker.now;
    json!({
        "worker": now.worker,
        "pid": now.pid,
        "cpu": now.cpu.0.then_some(now.cpu.1),
        "grants": now.grants,
        "lanes_filled": worker.lanes.map(rounded),
        "sleeps": now.sleeps,
        "sleeps_per_s": worker.sleeps_per_s.map(rounded),
        "restarts": now.restarts,
        "sandbox": now.sandbox,
        "key_memory": now.key_memory,
        "private_keys": now.private_keys,
        "presignatures": now.private_keys.then(|| json!({
            "on": now.presigned.grants > 0,
            "ready": now.presigned.ready,
            "taken": now.presigned.taken,
            "dropped": now.presigned.dropped,
        })),
    })
}

fn grant(grant: &Grant) -> Value {
    let (now, counts) = (&grant.now, &grant.now.counts);
    let rates = grant.rates;
    let algorithms = AlgorithmSet::from_bits(now.grant.algorithms);
    let algorithms: Vec<&str> = algorithms.iter().map(Algorithm::name).collect();
    let failures: Map<String, Value> =
        counts.failures.iter().map(|&(code, times)| (rule(code), json!(times))).collect();
    json!({
        "grant": now.grant.id,
        "name": now.name,
        "uid": now.uid,
        "user": grant.user,
        "pid": now.pid,
        "program": grant.program,
        "worker": now.worker,
        "age_s": now.age_s,
        "queues": now.grant.queues,
        "depth": now.grant.depth,
        "in_flight": counts.in_flight,
        "arena_bytes": now.grant.arena_bytes,
        "keys": counts.keys,
        "key_slots": now.grant.key_slots,
        "weight": now.grant.weight,
        "algorithms": algorithms,
        "operations": counts.operations,
        "bytes": counts.bytes,
        "batches": counts.batches,
        "batched": counts.batched,
        "doorbells": counts.doorbells,
        "client_wakes": counts.client_wakes,
        "failures": failures,
        "operations_per_s": rates.map(|rates| rounded(rates.operations)),
        "bytes_per_s": rates.map(|rates| rounded(rates.bytes)),
        "doorbells_per_s": rates.map(|rates| rounded(rates.doorbells)),
        "client_wakes_per_s": rates.map(|rates| rounded(rates.wakes)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grant, view};
    use super::*;

    #[test]
    fn every_count_is_there() {
        let view = view(vec![(grant(7, 3200), Some(grant(7, 1600))), (grant(8, 5), None)]);
        let value = json(&view, Path::new("/run/x"));
        assert_eq!((&value["version"], &value["socket"]), (&json!(1), &json!("/run/x")));
        assert_eq!((&value["workers"][0]["cpu"], &value["whole"]), (&json!(1), &json!(false)));
        let first = &value["grants"][0];
        assert_eq!(first["operations_per_s"], 800.0);
        assert_eq!(value["workers"][0]["lanes_filled"], 16.0);
        assert_eq!(first["failures"], json!({ "source-range": 3 }));
        let limits = &value["limits"][0];
        assert_eq!(
            (&limits["of"], &limits["worker"], &limits["uid"]),
            (&json!("worker"), &json!(2), &Value::Null)
        );
        assert_eq!(limits["uses"]["queues"], json!({ "used": 3, "limit": 4096 }));
        assert!(value["grants"][1]["operations_per_s"].is_null());
        let token = &value["tokens"][0];
        assert_eq!(
            (&token["label"], &token["objects"], &token["user_tries_left"]),
            (&json!("web"), &json!(3), &json!(0))
        );
        let holder = json!({ "grant": 4, "pid": 77, "uid": 1000, "sessions": 2 });
        assert_eq!((&token["sessions"], &token["held_by"]), (&json!(5), &json!([holder])));
    }
}

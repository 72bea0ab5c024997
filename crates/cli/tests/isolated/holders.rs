//! Who has a token open, as `millstream status` shows it.

use serde_json::{Value, json};

use super::service::{Service, eventually, signal};
use super::tokens::{Kept, as_nobody, make, open};

/// Returns how often the token is open, and by which grants how often, as this output of `status --json` has it.
fn held(status: &Value) -> (u64, Vec<(u64, u64)>) {
    let token = &status["tokens"][0];
    let holders = token["held_by"].as_array().unwrap_or_else(|| panic!("{status}"));
    let mut holders: Vec<_> = holders
        .iter()
        .map(|holder| (holder["grant"].as_u64().unwrap(), holder["sessions"].as_u64().unwrap()))
        .collect();
    holders.sort_unstable();
    (token["sessions"].as_u64().unwrap(), holders)
}

/// Waits until the grants have the token open so often. Reports of workers take a moment.
#[track_caller]
fn shows(service: &Service, expected: &[(u64, u64)]) {
    let all = expected.iter().map(|(_, sessions)| sessions).sum();
    let expected = (all, expected.to_vec());
    eventually(&format!("{expected:?}"), || held(&service.status()) == expected);
}

/// A token that is opened, closed, moved, revoked or lost with its worker is shown as it is.
#[test]
fn status_shows_who_has_a_token_open() {
    let kept = Kept::new();
    let service = kept.serve_with("2", "users = [\"65534\"]\n");
    let web = make(&service);
    let [one, other] = [(); 2].map(|()| service.attach().unwrap());
    let [first, second] = [&one, &other].map(|accelerator| accelerator.grant().id);
    shows(&service, &[]);
    let (a, b, c) = (open(&one, web), open(&one, web), open(&other, web));
    shows(&service, &[(first, 2), (second, 1)]);
    let gauges = || (kept.metric("millstream_tokens_open"), kept.metric("millstream_token_sessions"));
    eventually("the metrics show it", || gauges() == (1, 3));
    let holders = service.status()["tokens"][0]["held_by"].clone();
    let own = json!({ "grant": first, "pid": std::process::id(), "uid": rustix::process::geteuid().as_raw(), "sessions": 2 });
    assert!(holders.as_array().unwrap().contains(&own), "{holders}");
    if rustix::process::geteuid().is_root() {
        let seen = as_nobody(&service, &["status", "--json"]);
        let seen: Value = serde_json::from_slice(&seen.stdout).unwrap();
        assert_eq!(held(&seen), (3, vec![]), "another user sees how often, and not by whom");
        let table = as_nobody(&service, &["status"]);
        let table = String::from_utf8(table.stdout).unwrap();
        assert!(table.lines().any(|line| line.starts_with("web") && line.ends_with("others")), "{table}");
    } else {
        println!("SKIPPED status_shows_who_has_a_token_open, as another user: this needs root");
    }
    drop(b);
    shows(&service, &[(first, 1), (second, 1)]);

    // A grant that moves loses its open tokens, and may open them again where it is now.
    let worker_of = |grant: u64| {
        let status = service.status();
        let grants = status["grants"].as_array().unwrap();
        grants.iter().find(|of| of["grant"] == grant).unwrap()["worker"].as_u64().unwrap()
    };
    let there = 1 - worker_of(first);
    for to in [there, 1 - there] {
        service.operator(&["move", &first.to_string(), &to.to_string()]);
        shows(&service, &[(second, 1)]);
    }
    let again = open(&one, web);
    shows(&service, &[(first, 1), (second, 1)]);

    // A worker that dies has nothing open.
    let status = service.status();
    let worker = worker_of(second);
    let workers = status["workers"].as_array().unwrap();
    let pid = workers.iter().find(|of| of["worker"] == worker).unwrap()["pid"].as_u64().unwrap();
    let same = worker_of(first) == worker;
    signal(pid as u32, "KILL");
    let left = if same { vec![] } else { vec![(first, 1)] };
    shows(&service, &left);
    drop((a, again, c, one, other));
    shows(&service, &[]);
    assert_eq!(gauges(), (0, 0));
}

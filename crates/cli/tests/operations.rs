//! The service's metrics, and the dashboard and the alerts that are made of them.

mod common;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use common::{Place, bytes};
use millstream::cwq::{Algorithm, Status};
use millstream::isolated::{Attach, Exportable};
use millstream::queue::Request;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// A service that serves metrics at a socket beside its own.
struct Service(common::Service);

impl Service {
    fn start() -> Service {
        Service(common::Service::start("--metrics unix:m"))
    }

    fn scrape(&self) -> String {
        let mut stream = UnixStream::connect(self.0.place.path("m")).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// Has codes of files computed by a client that attaches, works and is gone.
    fn work(&self, files: usize, len: usize) {
        self.0.place.key("key", bytes(32));
        let names: Vec<String> = (0..files).map(|n| format!("file{n}")).collect();
        for name in &names {
            self.0.place.write(name, bytes(len));
        }
        self.0.place.words(&format!("mac -I --socket s -a sha256_hmac -k key {}", names.join(" "))).good();
    }
}

fn value(metrics: &str, series: &str) -> u64 {
    let found = metrics.lines().find_map(|line| line.strip_prefix(series));
    found.map_or(0, |value| value.trim().parse().unwrap())
}

/// Nobody asks while the client is there: what it did is known from the end of its grant alone.
#[test]
fn the_work_of_a_client_that_has_left_stays_counted() {
    let service = Service::start();
    let uid = rustix::process::getuid().as_raw();
    for round in 1..=2 {
        service.work(30, 1000);
        let expected = [30 * round, 30_000 * round];
        let until = Instant::now() + PATIENCE;
        loop {
            let metrics = service.scrape();
            let of = |label: &str, prefix: &str| {
                ["operations_total", "source_bytes_total"]
                    .map(|name| value(&metrics, &format!("millstream_{prefix}{name}{{{label}}}")))
            };
            let found = [of(&format!("uid=\"{uid}\""), ""), of("worker=\"0\"", "worker_")];
            if found == [expected; 2] {
                assert_eq!(value(&metrics, &format!("millstream_keys{{uid=\"{uid}\"}}")), 0, "{metrics}");
                assert!(value(&metrics, "millstream_worker_batched_total{worker=\"0\"}") > 0, "{metrics}");
                break;
            }
            // The worker reports when it has dropped the grant, which nobody waits for.
            assert!(Instant::now() < until, "{found:?} in {metrics}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Operations above the limits on the use of a key show in the grant's status by their reason, and in the metrics of user and worker.
#[test]
fn uses_that_a_limit_refuses_are_counted() {
    let policies = Place::new();
    let policy = policies.write("policy.toml", "[default]\nkey_uses = 3\n");
    let service = Service(common::Service::start(&format!("--metrics unix:m --policy {}", policy.display())));
    let socket = Some(service.0.place.path("s"));
    let accelerator = Attach { socket, limit: PATIENCE, ..Attach::default() }.attach().unwrap();
    let key = accelerator.import_key(Algorithm::Sha256, &[7; 32], Exportable::No).unwrap();
    let mut queue = accelerator.queue().unwrap();
    let results = [(); 5].map(|()| {
        let mut source = queue.buffer(7).unwrap();
        source.copy_from_slice(b"a value");
        queue.submit(Request::mac(key, source)).unwrap();
        queue.wait().unwrap().result
    });
    let spent = Err(Status::UsesSpent);
    assert_eq!(results, [Ok(()), Ok(()), Ok(()), spent, spent]);

    let uid = rustix::process::getuid().as_raw();
    let until = Instant::now() + PATIENCE;
    let counted = loop {
        let status: Value =
            serde_json::from_str(&service.0.place.words("status --json --socket s").text()).unwrap();
        let shown = status["grants"][0]["failures"]["uses-spent"].as_u64().unwrap_or(0);
        let metrics = service.scrape();
        let of = |series: &str| value(&metrics, &format!("millstream_{series}"));
        let counted = [
            shown,
            of(&format!("uses_refused_total{{uid=\"{uid}\"}}")),
            of("worker_uses_refused_total{worker=\"0\"}"),
        ];
        if counted == [2; 3] || Instant::now() > until {
            break counted;
        }
    };
    assert_eq!(counted, [2; 3]);
}

/// Returns the names of metrics in an expression.
fn names(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("millstream_"))
}

fn shipped(name: &str) -> String {
    let path = format!("{}/../../dist/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns all expressions in a dashboard, wherever they stand.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        Value::Object(values) => {
            for (key, value) in values {
                match value {
                    Value::String(text) if ["expr", "definition"].contains(&key.as_str()) => {
                        found.push(text.clone());
                    }
                    value => expressions(value, found),
                }
            }
        }
        _ => {}
    }
}

/// A rule of the alerts: its lines, without their indentation.
fn rules(alerts: &str) -> Vec<Vec<&str>> {
    let mut rules: Vec<Vec<&str>> = Vec::new();
    let lines = alerts.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        match line.strip_prefix("- alert: ") {
            Some(name) => rules.push(vec![name]),
            None => rules.last_mut().into_iter().for_each(|rule| rule.push(line)),
        }
    }
    rules
}

/// Returns the expression of a rule in one line.
fn expression(rule: &[&str]) -> String {
    let words = ["for:", "labels:", "severity:", "annotations:", "summary:", "description:"];
    let lines = rule[1..].iter().filter(|line| !words.iter().any(|word| line.starts_with(word)));
    let text = lines.copied().collect::<Vec<_>>().join(" ");
    text.strip_prefix("expr: ").unwrap().trim_start_matches(">- ").to_owned()
}

/// A library for YAML reads the rules as the other test does, which takes them line by line.
#[test]
fn alerts_are_yaml() {
    let program = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)";
    let alerts = shipped("prometheus-alerts.yml");
    let place = Place::new();
    if place.run("python3", ["-c", "import yaml"], b"").code != Some(0) {
        println!("SKIPPED alerts read by a library for YAML: Debian has it in python3-yaml");
        return;
    }
    let parsed = place.run("python3", ["-c", program], alerts.as_bytes()).text();
    let parsed: Value = serde_json::from_str(&parsed).unwrap();
    let found = parsed["groups"][0]["rules"].as_array().unwrap().iter();
    let found =
        found.map(|rule| [&rule["alert"], &rule["expr"]].map(|text| text.as_str().unwrap().to_owned()));
    let lines = rules(&alerts);
    let expected = lines.iter().map(|rule| [rule[0].to_owned(), expression(rule)]);
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn dashboard_and_alerts_ask_for_metrics_that_there_are() {
    let service = Service::start();
    service.work(1, 1);
    // A family without a member is not told.
    service.0.place.words("revoke 999 --socket s").bad(1, &["999"]);
    let until = Instant::now() + PATIENCE;
    let metrics = loop {
        let metrics = service.scrape();
        if metrics.contains("millstream_operations_total{") {
            break metrics;
        }
        assert!(Instant::now() < until, "{metrics}");
    };
    let there: BTreeSet<&str> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();

    let dashboard: Value = serde_json::from_str(&shipped("grafana-dashboard.json")).unwrap();
    let mut asked = Vec::new();
    expressions(&dashboard, &mut asked);
    assert!(asked.len() > 20, "{asked:?}");
    let alerts = shipped("prometheus-alerts.yml");
    let rules = rules(&alerts);
    assert!(rules.len() > 5 && alerts.contains("\ngroups:\n  - name: millstream\n    rules:\n"), "{alerts}");
    for rule in &rules {
        for part in ["expr: ", "for: ", "severity: ", "summary: \"", "description: \""] {
            assert_eq!(rule.iter().filter(|line| line.starts_with(part)).count(), 1, "{part}in {rule:?}");
        }
        asked.push(expression(rule));
    }
    for expression in &asked {
        let opened = expression.matches(['(', '{', '[']).count();
        assert_eq!(opened, expression.matches([')', '}', ']']).count(), "{expression}");
        assert!(names(expression).count() > 0 || expression.contains("up{"), "{expression}");
        for name in names(expression) {
            assert!(there.contains(name), "{name} is no metric of the service: {there:?}");
        }
    }
    // Each metric has its place in the dashboard or in an alert.
    let looked_at: BTreeSet<&str> = asked.iter().flat_map(|expression| names(expression)).collect();
    let unseen: Vec<_> = there.difference(&looked_at).copied().collect();
    let by_worker_or_user = [
        "millstream_doorbells_total",
        "millstream_worker_operations_failed_total",
        "millstream_worker_uses_refused_total",
    ];
    assert_eq!(unseen, by_worker_or_user, "in neither the dashboard nor an alert");
}

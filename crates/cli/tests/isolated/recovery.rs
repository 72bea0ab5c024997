//! The fate of operations in flight when a process is killed, stopped, revoked, moved, or forks.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use millstream::cwq::Algorithm;
use millstream::isolated::{Attach, Fallback, GrantState, fallbacks};
use millstream::queue::Refusal;
use millstream_testkit::Random;

use super::operations::{Client, Ends};
use super::service::{Service, eventually, millstream, runs, signal};

/// Checks that every operation ended in one of the possible ways.
#[track_caller]
fn all_ended(ends: &Ends) {
    assert!(ends.other.is_empty(), "{ends:?}");
}

#[test]
fn revoked_with_operations_in_flight() {
    let service = Service::start();
    let mut good = 0;
    for delay_us in [0, 50, 500, 5000] {
        let mut client = Client::new(service.attach().unwrap());
        let id = client.accelerator.grant().id;
        let socket = service.socket().to_owned();
        let operator = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(delay_us));
            millstream::isolated::Service::connect(Some(&socket)).unwrap().revoke(id).unwrap();
        });
        let (why, mut ends) = client.stream(usize::MAX, |_| {}).unwrap_err();
        assert_eq!(why, Refusal::Revoked);
        operator.join().unwrap();
        let rest = client.finish();
        assert_eq!(rest.gone + ends.gone, 0, "the status says revoked");
        ends.other.extend(rest.other);
        all_ended(&ends);
        good += ends.good;
        assert_eq!(client.accelerator.state(), GrantState::Revoked);
        let refused = client.send(64).unwrap_err();
        assert!(refused.to_string().contains("attach again"), "{refused}");
    }
    assert!(good > 0, "some were done before");
    let again = Client::new(service.attach().unwrap()).stream(500, |_| {}).unwrap();
    assert_eq!(again.good, 500);
}

#[test]
fn a_worker_is_killed_at_any_moment() {
    let service = Service::start();
    let mut random = Random::new(4);
    let mut seen = Ends::default();
    for _ in 0..6 {
        let mut client = Client::new(service.attach().unwrap());
        let at = random.below(3000);
        let worker = service.workers()[0];
        let ended = client.stream(usize::MAX, |i| {
            if i == at {
                signal(worker, "KILL");
            }
        });
        let (why, ends) = ended.unwrap_err();
        assert_eq!(why, Refusal::Gone);
        let rest = client.finish();
        all_ended(&ends);
        all_ended(&rest);
        seen.good += ends.good + rest.good;
        seen.gone += ends.gone + rest.gone;
        assert_eq!(rest.revoked + ends.revoked, 0);
        assert_eq!(client.accelerator.state(), GrantState::Gone);
        eventually("another worker serves", || service.attach().is_ok());
    }
    assert!(seen.good > 0 && seen.gone > 0, "both kinds of end were seen: {seen:?}");
}

#[test]
fn a_sleeping_client_is_woken_when_its_worker_dies() {
    let service = Service::start();
    let mut client = Client::new(service.attach().unwrap());
    let worker = service.workers()[0];
    signal(worker, "STOP");
    // One of the worker's threads sees the signal first, and stops the other.
    std::thread::sleep(Duration::from_millis(20));
    client.send(64).unwrap();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        signal(worker, "KILL");
    });
    let begin = Instant::now();
    let ends = client.finish();
    assert_eq!((ends.gone, ends.good), (1, 0));
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    killer.join().unwrap();
}

#[test]
fn the_broker_is_killed_with_operations_in_flight() {
    for at in [0, 1, 300, 2000] {
        let mut service = Service::start();
        let workers = service.workers();
        let mut client = Client::new(service.attach().unwrap());
        let ended = client.stream(usize::MAX, |i| {
            if i == at {
                service.signal("KILL");
            }
        });
        let (why, ends) = ended.unwrap_err();
        assert_eq!(why, Refusal::Gone);
        all_ended(&ends);
        all_ended(&client.finish());
        service.wait();
        for worker in workers {
            eventually("its workers end too", || !runs(worker));
        }
        assert!(service.attach().is_err());
    }
}

#[test]
fn clients_are_killed_at_any_moment_and_nobody_else_notices() {
    let service = Service::start();
    let mut random = Random::new(6);
    let mut bystander = Client::new(service.attach().unwrap());
    for _ in 0..8 {
        let mut speed = millstream();
        speed.args(["speed", "--isolated", "--ways", "isolated", "--seconds", "30", "--quiet", "--socket"]);
        speed.arg(service.socket()).args(["--bytes", "1024", "aes-128-cbc"]).stdout(Stdio::null());
        let mut victim = speed.spawn().unwrap();
        let grants = || service.status()["grants"].as_array().map_or(0, Vec::len);
        eventually("it has its grant", || grants() > 1);
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        victim.kill().unwrap();
        victim.wait().unwrap();
        eventually("its grant is gone", || grants() == 1);
        assert_eq!(bystander.stream(2000, |_| {}).unwrap().good, 2000);
    }
}

#[test]
fn a_worker_that_is_stopped_goes_on_where_it_was() {
    let service = Service::start();
    let mut client = Client::new(service.attach().unwrap());
    for _ in 0..5 {
        let worker = service.workers()[0];
        let toggler = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            signal(worker, "STOP");
            std::thread::sleep(Duration::from_millis(150));
            signal(worker, "CONT");
        });
        let ends = client.stream(20_000, |_| {}).unwrap();
        assert_eq!(ends.good, 20_000);
        toggler.join().unwrap();
    }
}

#[test]
fn a_grant_of_a_stopped_worker_can_be_revoked() {
    let service = Service::with(&["--accelerators", "1"]);
    let mut client = Client::new(service.attach().unwrap());
    let worker = service.workers()[0];
    signal(worker, "STOP");
    // One of the worker's threads sees the signal first, and stops the other.
    std::thread::sleep(Duration::from_millis(20));
    client.send(64).unwrap();
    let (begin, id) = (Instant::now(), client.accelerator.grant().id.to_string());
    service.operator(&["revoke", &id]);
    let ends = client.finish();
    assert_eq!((ends.revoked, ends.good), (1, 0));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    signal(worker, "CONT");
    eventually("the service goes on", || service.attach().is_ok());
}

#[test]
fn a_client_that_is_stopped_holds_nobody_up() {
    let service = Service::start();
    let mut speed = millstream();
    speed.args(["speed", "--isolated", "--ways", "isolated", "--seconds", "30", "--quiet", "--socket"]);
    speed.arg(service.socket()).args(["--bytes", "64", "aes-128-cbc"]).stdout(Stdio::null());
    let mut stopped = speed.spawn().unwrap();
    eventually("it has its grant", || {
        service.status()["grants"].as_array().is_some_and(|all| !all.is_empty())
    });
    std::thread::sleep(Duration::from_millis(50));
    signal(stopped.id(), "STOP");
    let mut client = Client::new(service.attach().unwrap());
    assert_eq!(client.stream(20_000, |_| {}).unwrap().good, 20_000);
    signal(stopped.id(), "CONT");
    stopped.kill().unwrap();
    stopped.wait().unwrap();
}

#[test]
fn a_grant_moves_while_operations_are_in_flight() {
    let service = Service::with(&["--accelerators", "2"]);
    let mut client = Client::new(service.attach().unwrap());
    let id = client.accelerator.grant().id;
    let worker_of = |id: u64| {
        let status = service.status();
        let grants = status["grants"].as_array().unwrap().clone();
        grants.iter().find(|grant| grant["grant"] == id).map(|grant| grant["worker"].clone())
    };
    let workers: Vec<u64> = service.status()["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["worker"].as_u64().unwrap())
        .collect();
    let socket = service.socket().to_owned();
    let mover = std::thread::spawn(move || {
        let mut operator = millstream::isolated::Service::connect(Some(&socket)).unwrap();
        for i in 0..40 {
            operator.move_grant(id, workers[(i + 1) % 2] as u32).unwrap();
            std::thread::sleep(Duration::from_millis(3));
        }
    });
    let mut total = 0;
    while !mover.is_finished() {
        total += client.stream(1000, |_| {}).unwrap().good;
    }
    mover.join().unwrap();
    assert!(total >= 1000);
    assert!(worker_of(id).is_some());
    assert_eq!(client.stream(100, |_| {}).unwrap().good, 100, "keys moved too");
}

#[test]
fn a_policy_that_is_reloaded_limits_and_ends_grants() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "[default]\nalgorithms = [\"*\"]\n").unwrap();
    let service = Service::with(&["--policy", policy.to_str().unwrap()]);
    let mut client = Client::new(service.attach().unwrap());
    assert_eq!(client.stream(100, |_| {}).unwrap().good, 100);

    std::fs::write(&policy, "[default]\nalgorithms = [\"sha256\"]\n").unwrap();
    service.operator(&["reload"]);
    client.send(64).unwrap();
    let ends = client.finish();
    assert_eq!(ends.other, [millstream::cwq::Status::Policy]);

    std::fs::write(&policy, "[default\n").unwrap();
    let output = millstream().args(["reload", "--socket"]).arg(service.socket()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("policy.toml"), "{text}");
    client.send(64).unwrap();
    assert_eq!(client.finish().other.len(), 1, "the old policy stays");

    std::fs::write(&policy, "[[user]]\nname = \"nobody\"\n").unwrap();
    service.signal("HUP");
    eventually("who is not allowed any more is revoked", || {
        client.accelerator.state() == GrantState::Revoked
    });
    assert_eq!(client.send(64).unwrap_err(), Refusal::Revoked);
    assert!(service.attach().unwrap_err().to_string().contains("policy"));
}

#[test]
fn the_socket_s_directory_is_removed() {
    let service = Service::start();
    let mut client = Client::new(service.attach().unwrap());
    let place = service.socket().parent().unwrap().to_owned();
    std::fs::remove_dir_all(&place).unwrap();
    assert_eq!(client.stream(1000, |_| {}).unwrap().good, 1000, "grants go on");
    eventually("it listens again", || service.attach().is_ok());
    assert_eq!(Client::new(service.attach().unwrap()).stream(100, |_| {}).unwrap().good, 100);
}

/// Wraps the command in a shell that sets a limit first.
fn limited(serve: &mut Command, limit: &str) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{limit}; exec \"$@\""), "sh"])
        .arg(serve.get_program())
        .args(serve.get_args());
    shell.env_remove("MILLSTREAM_SOCKET").env_remove("MILLSTREAM_HWCAP");
    shell.stdin(Stdio::null()).stdout(Stdio::null());
    *serve = shell;
}

#[test]
fn descriptors_run_out_in_the_service() {
    let service = Service::as_command(|serve| limited(serve, "ulimit -n 64"));
    let mut held = Vec::new();
    let refused = loop {
        match service.attach() {
            Ok(accelerator) => held.push(accelerator),
            Err(error) => break error.to_string(),
        }
        assert!(held.len() < 64, "the limit has an effect");
    };
    assert!(!held.is_empty());
    assert!(refused.contains("run out") || refused.contains("service"), "{refused}");
    let mut client = Client::new(held.pop().unwrap());
    assert_eq!(client.stream(1000, |_| {}).unwrap().good, 1000, "grants go on");
    held.clear();
    eventually("there is room again", || service.attach().is_ok());
}

#[test]
fn memory_runs_out_in_the_service() {
    let service = Service::as_command(|serve| limited(serve, "ulimit -v 2000000"));
    let mut bystander = Client::new(service.attach().unwrap());
    let big = Attach { arena_bytes: 200 << 20, ..service.wanted() };
    let mut held = Vec::new();
    let refused = loop {
        match big.attach() {
            Ok(accelerator) => held.push(accelerator),
            Err(error) => break error.to_string(),
        }
        assert!(held.len() < 32, "the limit has an effect");
    };
    assert!(!held.is_empty());
    assert!(refused.contains("run out") || refused.contains("no worker"), "{refused}");
    assert_eq!(bystander.stream(1000, |_| {}).unwrap().good, 1000, "grants go on");
    held.clear();
    eventually("there is room again", || big.attach().is_ok());
}

#[test]
fn memory_for_keys_runs_out_in_a_worker() {
    let service = Service::with(&["--accelerators", "1"]);
    let mut bystander = Client::new(service.attach().unwrap());
    let many = Attach { key_slots: 4096, ..service.wanted() }.attach().unwrap();
    let mut queue = many.queue().unwrap();
    let mut keys = Vec::new();
    let refused = loop {
        match queue.import_key(Algorithm::AesGcm, &[7; 32]) {
            Ok(key) => keys.push(key),
            Err(error) => break error.to_string(),
        }
    };
    assert!(keys.len() > 100, "{}", keys.len());
    assert!(refused.contains("memory for keys") || refused.contains("slot"), "{refused}");
    assert_eq!(bystander.stream(1000, |_| {}).unwrap().good, 1000, "grants go on");
    assert!(queue.remove_key(keys[0]));
    queue.import_key(Algorithm::AesGcm, &[8; 32]).unwrap();
}

#[test]
fn nothing_falls_back_but_where_that_is_allowed_and_it_is_counted() {
    let service = Service::start();
    let nowhere = service.folder().join("nowhere");
    let mut wanted = service.wanted();
    wanted.socket = Some(nowhere.clone());
    let error = wanted.attach().unwrap_err().to_string();
    assert!(error.contains(nowhere.to_str().unwrap()) && error.contains("millstream serve"), "{error}");
    let before = fallbacks();
    wanted.fallback = Fallback::InProcess;
    let accelerator = wanted.attach().unwrap();
    assert!(!accelerator.is_isolated());
    assert_eq!(fallbacks(), before + 1);
    assert_eq!(Client::new(accelerator).stream(100, |_| {}).unwrap().good, 100);

    // A grant that has ended is not continued in this process.
    let mut isolated = service.wanted();
    isolated.fallback = Fallback::InProcess;
    let mut client = Client::new(isolated.attach().unwrap());
    assert!(client.accelerator.is_isolated());
    signal(service.workers()[0], "KILL");
    eventually("it has ended", || client.accelerator.state() == GrantState::Gone);
    assert_eq!(client.send(64).unwrap_err(), Refusal::Gone);
    assert_eq!(fallbacks(), before + 1);
}

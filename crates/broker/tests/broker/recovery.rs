//! The fate of grants when processes die or stop, or when things are taken away.

use std::time::{Duration, Instant};

use millstream_protocol::{Refusal, Reply, Request, STATE_GONE, STATE_REVOKED, Wanted};
use rustix::process::Signal;

use crate::stub;
use crate::system::{Service, Setting, eventually, send, ticks};

pub const TRIALS: &[(&str, fn())] = &[
    ("a worker that is killed is replaced, and its grants are gone", worker_killed),
    ("a worker that dies again and again is started less often", worker_dies_often),
    ("a stopped worker holds up nobody", worker_stopped),
    ("a worker that does not answer is replaced", worker_silent),
    ("a socket whose directory was removed comes back", directory_removed),
    ("no more descriptors is a clear refusal", no_descriptors),
];

fn worker_killed() {
    let service = Service::with(Setting { workers: 2, ..Setting::default() });
    let (first, second, watcher) = (service.client(), service.client(), service.client());
    let grants = [first.attach(), second.attach()];
    let (workers, _) = watcher.status();
    assert_eq!(workers.iter().map(|worker| worker.grants).collect::<Vec<_>>(), [1, 1], "evenly");
    send(workers[0].pid, Signal::KILL);
    grants[0].ends_as(STATE_GONE);
    assert_eq!(grants[1].state(), 0, "the other worker's grants go on");
    let workers = eventually("a new worker", || {
        let (workers, _) = watcher.status();
        (workers[0].restarts == 1 && workers[0].sandbox.starts_with("a stub")).then_some(workers)
    });
    assert_eq!((workers[0].grants, workers[1].grants, workers[1].restarts), (0, 1, 0));
    let again = first.attach();
    assert_eq!(watcher.status().0[0].grants, 1);
    assert_eq!(again.state(), 0);
}

fn worker_dies_often() {
    let service = Service::new();
    let watcher = service.client();
    let mut killed = 0;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        let (workers, _) = watcher.status();
        if workers[0].sandbox.is_empty() {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        send(workers[0].pid, Signal::KILL);
        killed += 1;
        eventually("it is seen", || (watcher.status().0[0].restarts == killed).then_some(()));
    }
    assert!((2..12).contains(&killed), "{killed} in 3 s");
}

fn worker_stopped() {
    let service = Service::with(Setting { workers: 2, ..Setting::default() });
    let (client, other, watcher) = (service.client(), service.client(), service.client());
    let (granted, other_granted) = (client.attach(), other.attach());
    let stopped = watcher.status().0[0].pid;
    send(stopped, Signal::STOP);
    let begin = Instant::now();
    assert_eq!(watcher.ask(&Request::Revoke { grant: granted.grant.id }), Reply::End {});
    assert_eq!(granted.state(), STATE_REVOKED);
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    let begin = Instant::now();
    let (workers, grants) = watcher.status();
    assert_eq!((workers.len(), grants.len()), (2, 1), "those who answer are counted");
    assert!(begin.elapsed() < Duration::from_secs(4));
    let begin = Instant::now();
    let (why, _) = client.try_attach(Wanted::default()).err().expect("the least loaded is the stopped one");
    assert_eq!(why, Refusal::NoWorker);
    assert!(begin.elapsed() < Duration::from_secs(4));
    send(stopped, Signal::CONT);
    eventually("it goes on", || (watcher.status().0[0].sleeps == 0).then_some(()));
    assert_eq!(watcher.status().0[0].restarts, 0);
    assert_eq!(other_granted.state(), 0);
    client.attach();
}

fn worker_silent() {
    let service = Service::new();
    let (client, watcher) = (service.client(), service.client());
    let granted = client.attach();
    let begin = Instant::now();
    let wanted = Wanted { key_slots: stub::WONT_ANSWER, ..Wanted::default() };
    let (why, _) = service.client().try_attach(wanted).err().unwrap();
    assert_eq!(why, Refusal::NoWorker);
    granted.ends_as(STATE_GONE);
    assert!(begin.elapsed() > Duration::from_secs(8), "{:?}", begin.elapsed());
    eventually("a new worker", || (watcher.status().0[0].restarts == 1).then_some(()));
    eventually("it is ready", || client.try_attach(Wanted::default()).ok());
}

fn directory_removed() {
    let service = Service::new();
    let client = service.client();
    let granted = client.attach();
    for _ in 0..3 {
        std::fs::remove_dir_all(service.socket().parent().unwrap()).unwrap();
        eventually("the socket is there again", || service.socket().exists().then_some(()));
        let late = eventually("it is served", || millstream_shm::Socket::connect(&service.socket()).ok());
        crate::client::Client(late).attach();
    }
    assert_eq!(granted.state(), 0, "who is served does not notice");
    assert_eq!(client.ask(&Request::Revoke { grant: granted.grant.id }), Reply::End {});
    std::fs::remove_file(service.socket()).unwrap();
    eventually("the socket alone, too", || millstream_shm::Socket::connect(&service.socket()).ok());
}

fn no_descriptors() {
    let service = Service::with(Setting { files: Some(64), ..Setting::default() });
    let mut clients = Vec::new();
    let (why, detail) = loop {
        let client = service.client();
        match client.try_attach(Wanted::default()) {
            Ok(granted) => clients.push((client, granted)),
            Err(refused) => break refused,
        }
        assert!(clients.len() < 64);
    };
    assert!(clients.len() > 4, "{}", clients.len());
    assert_eq!(why, Refusal::Exhausted, "{detail}");
    let mut waiting = Vec::new();
    let told = loop {
        let client = service.client();
        // The broker may refuse the client before it has asked.
        let _ = client.0.send(&millstream_protocol::Message::encode(&Request::Status {}), &[]);
        match client.next() {
            Some((Reply::Refused { why, detail }, _)) => break (why, detail),
            _ => waiting.push(client),
        }
        assert!(waiting.len() < 64);
    };
    assert_eq!(told.0, Refusal::Exhausted);
    assert!(told.1.contains("LimitNOFILE"), "{}", told.1);
    let before = ticks(service.child.id());
    std::thread::sleep(Duration::from_millis(500));
    assert!(ticks(service.child.id()) - before < 10, "it spins");
    drop(waiting);
    clients.truncate(2);
    let client = service.client();
    eventually("there is room again", || client.try_attach(Wanted::default()).ok());
}

//! Grants are made and end as they should.

use std::time::{Duration, Instant};

use millstream_protocol::{Refusal, Reply, Request, STATE_BYTES, STATE_GONE, STATE_REVOKED, Wanted};
use millstream_shm::{Mapping, Rings, sleep};
use rustix::fs::{SealFlags, fcntl_get_seals, ftruncate};
use rustix::process::Signal;

use crate::client::{Client, Other};
use crate::stub;
use crate::system::{Service, Setting, eventually, grants_are_quick, status_line};

pub const TRIALS: &[(&str, fn())] = &[
    ("a grant is five descriptors that can't be misused", descriptors),
    ("a grant takes less than a millisecond beside its memory", quick),
    ("one gets what one asks for within the limits", sizes),
    ("a revoked grant wakes its client", revoked),
    ("the end of a connection is the end of its grant", connection_ends),
    ("a client that is killed leaves nothing behind", client_killed),
    ("a grant ends with its process, whoever holds the connection", forked),
    ("a broker that stops ends its grants and takes its socket away", stops),
    ("a broker is hardened and maps no arena", hardened),
    ("an idle broker does not run", idle),
    ("a socket that systemd listens at is served", inherited),
    ("one broker at a socket", one_broker),
];

fn descriptors() {
    let service = Service::new();
    let client = service.client();
    let wanted = Wanted { queues: 2, depth: 64, arena_bytes: 100_000, key_slots: 5, ..Wanted::default() };
    let granted = client.try_attach(wanted).unwrap();
    let grant = &granted.grant;
    assert_eq!((grant.queues, grant.depth, grant.key_slots), (2, 64, 5));
    assert!(grant.arena_bytes >= 100_000 + 2 * 64 * (256 + 512));
    assert_eq!(granted.arena.len(), grant.arena_bytes as usize);
    assert_eq!(granted.rings.len(), Rings::new(2, 64).unwrap().bytes());
    assert_eq!((granted.page.len(), granted.state()), (STATE_BYTES, 0));
    let size = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    for memory in [&granted.arena, &granted.rings] {
        assert!(fcntl_get_seals(memory).unwrap().contains(size));
        assert!(ftruncate(memory, 1).is_err() && ftruncate(memory, 1 << 30).is_err());
        assert!(Mapping::shared(memory).is_ok());
    }
    assert!(fcntl_get_seals(&granted.page).unwrap().contains(size | SealFlags::FUTURE_WRITE));
    assert!(Mapping::shared(&granted.page).is_err(), "the state page can't be mapped for writing");
    assert!(rustix::io::pwrite(&granted.page, &[1], 0).is_err(), "nor written to");
    rustix::io::write(&granted.doorbell, &1_u64.to_ne_bytes()).unwrap();
    assert!(!granted.keys.is_closed());
    let (why, _) = client.refusal(&Request::Attach { wanted: Wanted::default() });
    assert_eq!(why, Refusal::Message, "a second grant on one connection");
}

fn quick() {
    grants_are_quick(&Service::new(), "grants");
}

fn sizes() {
    let service = Service::with(Setting {
        policy: Some(
            "[default]\nmax_grants = 2\nqueues = 3\nkey_slots = 1000\nweight = 7\nalgorithms = [\"md5\"]\n",
        ),
        ..Setting::default()
    });
    let client = service.client();
    let (why, detail) = client.try_attach(Wanted { queues: 4, ..Wanted::default() }).err().unwrap();
    assert_eq!(why, Refusal::TooMuch);
    assert!(detail.contains('4') && detail.contains('3'), "{detail}");
    let (why, _) = client.try_attach(Wanted { depth: 65, ..Wanted::default() }).err().unwrap();
    assert_eq!(why, Refusal::Message);
    let (why, detail) =
        client.try_attach(Wanted { key_slots: stub::CANT_SERVE, ..Wanted::default() }).err().unwrap();
    assert_eq!((why, detail.as_str()), (Refusal::Exhausted, "as it was asked to"));
    let granted = client.attach();
    assert_eq!((granted.grant.weight, granted.grant.algorithms), (7, 1 << 0x50));
    let second = service.client();
    let second_grant = second.attach();
    assert!(second_grant.grant.id > granted.grant.id);
    let third = service.client();
    assert_eq!(third.try_attach(Wanted::default()).err().unwrap().0, Refusal::TooManyGrants);
    drop(second);
    eventually("room for another", || third.try_attach(Wanted::default()).ok());
}

fn revoked() {
    let service = Service::new();
    let (client, operator) = (service.client(), service.client());
    let granted = client.attach();
    let (rings, at) = granted.sleeping_place();
    let word = rings.words(at, 1).unwrap();
    word[0].store(1, std::sync::atomic::Ordering::SeqCst);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while granted.state() == 0 {
                sleep::wait(&word[0], 1, Duration::from_secs(30));
            }
        });
        std::thread::sleep(Duration::from_millis(20));
        let end = operator.ask(&Request::Revoke { grant: granted.grant.id });
        assert_eq!(end, Reply::End {});
        assert_eq!(granted.state(), STATE_REVOKED, "before it is said that it has ended");
        sleeper.join().unwrap();
    });
    assert!(begin.elapsed() < Duration::from_secs(10));
    let (why, _) = operator.refusal(&Request::Revoke { grant: granted.grant.id });
    assert_eq!(why, Refusal::NoSuchGrant);
    eventually("the worker lets go of the key socket", || granted.keys.is_closed().then_some(()));
    assert_ne!(client.attach().grant.id, granted.grant.id, "the connection may have another grant");
}

fn connection_ends() {
    let service = Service::new();
    let watcher = service.client();
    let client = service.client();
    let wanted = Wanted { name: "a \u{1b}[31mclient".to_owned(), ..Wanted::default() };
    let granted = client.try_attach(wanted).unwrap();
    let (workers, grants) = watcher.status();
    assert_eq!((workers.len(), workers[0].grants), (1, 1));
    assert!(workers[0].sandbox.starts_with("a stub"));
    assert_eq!(grants.len(), 1);
    let found = &grants[0];
    assert_eq!((found.pid, found.name.as_str()), (std::process::id(), r"a \u{1b}[31mclient"));
    assert_eq!(found.counts.operations, 100 + granted.grant.id, "what the worker counted");
    drop(client);
    granted.ends_as(STATE_GONE);
    gone_everywhere(&watcher);
}

/// Waits until the stub has no grant any more, whose number it reports as its sleeps.
fn gone_everywhere(watcher: &Client) {
    eventually("the worker drops the grant", || {
        let (workers, grants) = watcher.status();
        (grants.is_empty() && workers[0].grants == 0 && workers[0].sleeps == 0).then_some(())
    });
}

fn client_killed() {
    let service = Service::new();
    let watcher = service.client();
    let mut other = Other::ask(&service.socket(), 0, &["attach"]);
    assert_eq!(other.line(), "granted 1");
    assert_eq!(watcher.status().1.len(), 1);
    other.0.kill().unwrap();
    gone_everywhere(&watcher);
}

fn forked() {
    let service = Service::new();
    let watcher = service.client();
    let mut other = Other::ask(&service.socket(), 0, &["attach-and-fork"]);
    let child: u32 = other.line().strip_prefix("granted 1 ").unwrap().parse().unwrap();
    assert_eq!(watcher.status().1.len(), 1);
    other.0.kill().unwrap();
    other.0.wait().unwrap();
    if tells_of_processes() {
        gone_everywhere(&watcher);
    } else {
        println!("SKIPPED a grant ends with its process: the system does not tell (Linux 6.5 and later do)");
    }
    crate::system::send(child, Signal::KILL);
    gone_everywhere(&watcher);
}

/// Returns true when the system tells that the process at the other end of a connection has ended.
fn tells_of_processes() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(5))
}

fn stops() {
    let mut service = Service::new();
    let client = service.client();
    let granted = client.attach();
    service.signal(Signal::TERM);
    assert!(service.wait().success());
    assert_eq!(granted.state(), STATE_GONE);
    assert!(client.next().is_none(), "the connection has ended");
    assert!(!service.socket().exists());
}

fn hardened() {
    let service = Service::new();
    let _granted = service.client().attach();
    let pid = service.child.id();
    assert_eq!(status_line(pid, "NoNewPrivs"), "1");
    if !crate::system::is_root() {
        let error = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "not even for the same user");
        println!("SKIPPED limits and mappings of the broker: only root can look at them");
        return;
    }
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(cores.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let files: Vec<&str> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(files[0], files[1], "as many as may be");
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("millstream arena") && !maps.contains("millstream rings"), "{maps}");
}

fn idle() {
    let service = Service::new();
    let client = service.client();
    let _granted = client.attach();
    std::thread::sleep(Duration::from_millis(300));
    let pid = service.child.id();
    let switches = || status_line(pid, "voluntary_ctxt_switches");
    let before = switches();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(before, switches(), "it woke up");
}

fn inherited() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("elsewhere.sock");
    let listener = millstream_shm::Listener::bind(&path).unwrap();
    let descriptor = std::os::fd::AsFd::as_fd(&listener).try_clone_to_owned().unwrap();
    let mut service = Service::with(Setting { listener: Some(descriptor), ..Setting::default() });
    let client = Client::connect(&path);
    client.attach();
    service.signal(Signal::TERM);
    assert!(service.wait().success());
    assert!(path.exists(), "who bound it takes it away");
}

fn one_broker() {
    let service = Service::new();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.arg("as-broker").arg(service.socket()).args(["1", "", "", "", "", "as-stub"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("another broker listens there"), "{said}");
    service.client().attach();
}

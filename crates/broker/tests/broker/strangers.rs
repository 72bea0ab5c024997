//! Descriptors that strangers send: nobody waits until they are closed, on new kernels and on old ones.

use std::ffi::OsString;
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use millstream_cwq::Status;
use millstream_protocol::{KeyRequest, Message, Refusal, Reply, Request, Wanted};
use rustix::process::Signal;

use crate::client::{Client, Other};
use crate::lingering::{self, PROMPT};
use crate::real::{Queue, attach};
use crate::system::{LIMIT, Service, Setting, eventually, is_root, send};

pub const TRIALS: &[(&str, fn())] = &[
    ("descriptors to the broker: the kernel refuses them", || to_the_broker(false)),
    ("descriptors to the broker hold up nobody on an old kernel", || to_the_broker(true)),
    ("descriptors to a worker: the kernel refuses them", || to_a_worker(false)),
    ("descriptors to a worker hold up nobody on an old kernel", || to_a_worker(true)),
    ("descriptors that were sent before the broker began hold up nobody", || early(false)),
    ("descriptors that were sent before an old kernel's broker began hold up nobody", || early(true)),
    ("who sends descriptors on an old kernel is told so", told),
];

/// More connections than the broker has threads to close them, and more than it lets a user have.
const MANY: usize = 80;

fn service(workers: usize, old_kernel: bool) -> Service {
    // Only the service's own user may have anything.
    let policy = Some("[default]\nmax_grants = 0\n[[user]]\nuid = 0\nmax_grants = 64\n");
    let policy = policy.filter(|_| is_root());
    Service::with(Setting { workers, policy, real: true, old_kernel, ..Setting::default() })
}

/// Skips a test of a new kernel's behaviour on an old kernel, which can't be tested there.
fn skips(old_kernel: bool) -> bool {
    let skips = !old_kernel && !lingering::kernel_can_refuse();
    if skips {
        println!("SKIPPED descriptors are refused by the kernel: it is older than 6.16");
    }
    skips
}

/// Checks that a bystander's requests take no longer than usual.
fn is_served(service: &Service, queue: &mut Queue) {
    let begin = Instant::now();
    let client = service.client();
    client.status();
    let mut another = attach(&client);
    for queue in [queue, &mut another] {
        assert_eq!(queue.null(), Some(Status::Ok));
        let key = queue.import();
        assert_eq!(queue.mac(key), Some(Status::Ok));
        queue.key(&KeyRequest::Destroy { handle: key });
    }
    let took = begin.elapsed();
    println!("a bystander's status, grant and keys took {took:?}");
    assert!(took < PROMPT, "{took:?}");
}

/// Runs the side of a user without rights: many connections, each with a request and a descriptor.
pub fn attack(arguments: &[OsString]) {
    let path = Path::new(&arguments[0]);
    let mut held: Vec<(Client, Option<TcpStream>)> = Vec::new();
    let mut refused = 0;
    for _ in 0..MANY {
        let client = Client::connect(path);
        let deaf = lingering::send(&client.0, &Request::Status {}.encode());
        refused += usize::from(deaf.is_err());
        // Every other client leaves, so that its message stays unread.
        if held.len().is_multiple_of(2) {
            held.push((client, deaf.ok()));
        } else {
            held.push((Client::connect(path), deaf.ok()));
        }
    }
    println!("refused {refused}");
    // The parent kills this process.
    std::thread::sleep(LIMIT);
}

fn to_the_broker(old_kernel: bool) {
    if skips(old_kernel) {
        return;
    }
    let service = service(1, old_kernel);
    let client = service.client();
    let mut queue = attach(&client);
    // The broker finds everything that is sent now at once, when nobody else has it any more.
    service.signal(Signal::STOP);
    let user = if is_root() { 65534 } else { 0 };
    let mut attack = Other::ask_as(&service.socket(), user, "as-attacker", &[]);
    let refused = if old_kernel { 0 } else { MANY };
    assert_eq!(attack.line(), format!("refused {refused}"));
    service.signal(Signal::CONT);
    for _ in 0..3 {
        is_served(&service, &mut queue);
    }
    // Closing the connections must not hold up anybody either.
    drop(attack);
    is_served(&service, &mut queue);
    eventually("all of it is closed", || (threads(&service) == 1).then_some(()));
}

fn threads(service: &Service) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", service.child.id())).unwrap().count()
}

fn to_a_worker(old_kernel: bool) {
    if skips(old_kernel) {
        return;
    }
    let service = service(2, old_kernel);
    let (client, watcher) = (service.client(), service.client());
    let mut queue = attach(&client);
    let workers = || watcher.status().0.iter().map(|worker| worker.pid).collect::<Vec<_>>();
    let pids = workers();
    let mut deaf = Vec::new();
    for round in 0..6 {
        let attacker = service.client();
        let attacks = attach(&attacker);
        let request = KeyRequest::Export { handle: 0 }.encode();
        pids.iter().for_each(|pid| send(*pid, Signal::STOP));
        for _ in 0..8 {
            attacks.granted.keys.send(&request, &[]).unwrap();
        }
        let sent = lingering::send(&attacks.granted.keys, &request);
        assert_eq!(sent.is_ok(), old_kernel, "{sent:?}");
        deaf.extend(sent);
        match round {
            // Before the worker looks, the attacker stays, leaves, or has its grant revoked or moved.
            1 => drop(attacker),
            2 => watcher.send(&Request::Revoke { grant: attacks.granted.grant.id }),
            3 | 4 => watcher.send(&Request::Move { grant: attacks.granted.grant.id, worker: round % 2 }),
            _ => {}
        }
        if round == 5 {
            // The worker dies with the descriptor in its queue, and another takes its place.
            drop(queue);
            pids.iter().for_each(|pid| send(*pid, Signal::KILL));
            queue =
                eventually("another worker", || Some(Queue::of(client.try_attach(Wanted::default()).ok()?)));
        }
        pids.iter().filter(|_| round < 5).for_each(|pid| send(*pid, Signal::CONT));
        if (2..5).contains(&round) {
            watcher.next().unwrap();
        }
        is_served(&service, &mut queue);
        if old_kernel {
            eventually("the key socket ends", || attacks.granted.keys.is_closed().then_some(()));
        }
        assert!(round == 5 || workers() == pids, "a worker was replaced");
    }
    eventually("all of it is closed", || (threads(&service) == 1).then_some(()));
}

/// A listener that somebody else has bound, as systemd does, and a client that does not wait for the broker.
fn early(old_kernel: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("elsewhere.sock");
    let listener = millstream_shm::Listener::bind(&path).unwrap();
    let descriptor = std::os::fd::AsFd::as_fd(&listener).try_clone_to_owned().unwrap();
    let early: Vec<_> = (0..4).map(|_| Client::connect(&path)).collect();
    let request = Request::Status {}.encode();
    let mut deaf: Vec<_> = early.iter().map(|early| lingering::send(&early.0, &request).unwrap()).collect();
    let service =
        Service::with(Setting { listener: Some(descriptor), old_kernel, real: true, ..Setting::default() });
    let begin = Instant::now();
    let client = Client::connect(&path);
    assert_eq!(attach(&client).null(), Some(Status::Ok));
    assert!(begin.elapsed() < PROMPT);
    for early in &early {
        match early.next() {
            Some((Reply::Refused { why: Refusal::Message, .. }, _)) | None => {}
            other => panic!("{other:?}"),
        }
    }
    // The kernel refuses from now on, where it can.
    let late = Client::connect(&path);
    let sent = lingering::send(&late.0, &request);
    assert_eq!(sent.is_ok(), old_kernel || !lingering::kernel_can_refuse());
    deaf.extend(sent);
    client.status();
    drop(service);
}

fn told() {
    let service = service(1, true);
    let client = service.client();
    // The first of two requests, one behind the other, is answered.
    client.status();
    let _deaf = lingering::send(&client.0, &Request::Status {}.encode()).unwrap();
    assert!(client.0.wait(Some(LIMIT)).unwrap());
    // The second request is left unreceived, and the kernel may report that first.
    let answer = client.0.receive().or_else(|_| client.0.receive()).unwrap().unwrap();
    match Reply::decode(&answer.bytes).unwrap() {
        Reply::Refused { why: Refusal::Message, detail } => {
            assert!(detail.contains("descriptors"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
    assert!(client.0.is_closed() || client.next().is_none());
    service.client().attach();
}

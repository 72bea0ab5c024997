//! Clients that end badly: with memory that is hard to give back, and with answers that they do not take.

use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream_protocol::{Refusal, Reply, Request, STATE_REVOKED, Wanted};
use millstream_shm::{Mapping, Memory};
use rustix::net::{Shutdown, shutdown};

use crate::accounting::{ATTACKER, may_be_others};
use crate::client::{Client, Granted, Other};
use crate::system::{LIMIT, Service, Setting, eventually};

pub const TRIALS: &[(&str, fn())] = &[
    ("who leaves memory that takes long to give back holds up nobody", hard_memory),
    ("who has rings that take long to write to holds up nobody when its grant is revoked", hard_rings),
    ("who does not take a grant gets no other on that connection", not_taken),
    ("who leaves without having taken its grant is charged until it has", left_untaken),
    ("who does not take its answers is idle", idle),
];

/// The number of processes that map a grant's memory, and the number of times that each does.
const MAPPERS: usize = 4;
const MAPPINGS: usize = 30_000;
/// The number of processes that punch holes into it.
const PUNCHERS: usize = 12;
/// The most that a status or a grant may take meanwhile: much longer than usual, and much shorter than
/// waiting in line with those processes.
const SOON: Duration = Duration::from_secs(1);

/// Mistreats the memory that it gets as its standard input, until it is killed.
pub fn mistreat(what: &str) {
    let begin = Instant::now();
    let memory = Memory::received(std::io::stdin().as_fd().try_clone_to_owned().unwrap()).unwrap();
    if what == "punch" {
        println!("begins");
        while begin.elapsed() < 3 * LIMIT {
            memory.discard().unwrap();
        }
        return;
    }
    // Others must wait for the kernel's locks here, and not for a processor.
    rustix::process::nice(19).unwrap();
    let mappings: Vec<_> = (0..MAPPINGS).map(|_| Mapping::shared(&memory).unwrap()).collect();
    let touch = || mappings.iter().for_each(|mapping| mapping.read(0, &mut [0; 1]));
    touch();
    println!("mapped");
    // This brings back the memory in the holes, which makes more work for the next hole.
    while begin.elapsed() < 3 * LIMIT {
        touch();
    }
}

/// Hostile processes, which are killed when this is dropped.
struct Hostile(Vec<Child>);

impl Hostile {
    fn start(memory: &Memory, what: &str, count: usize) -> Self {
        let begin = |_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg("as-mistreater").arg(what);
            command.stdin(memory.duplicate().unwrap()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let mut all = Hostile((0..count).map(begin).collect());
        for child in &mut all.0 {
            let mut line = String::new();
            let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
            std::io::BufRead::read_line(&mut out, &mut line).unwrap();
            assert!(!line.is_empty(), "it has ended");
        }
        all
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// Ends a grant while its memory is mistreated. Others are served meanwhile, and in the end everything has
/// come back.
fn ends_hard(memory: impl Fn(&Granted) -> &Memory, end: impl Fn(&Service, Client, &Granted)) {
    let service = Service::new();
    let watcher = service.client();
    let client = service.client();
    let wanted = Wanted { queues: 1, depth: 16, arena_bytes: 4096, ..Wanted::default() };
    let granted = client.try_attach(wanted).unwrap();
    let memory = memory(&granted);
    let mappers = Hostile::start(memory, "map", MAPPERS);
    let punchers = Hostile::start(memory, "punch", PUNCHERS);
    std::thread::sleep(Duration::from_millis(100));
    let (begin, mut worst, mut made) = (Instant::now(), Duration::ZERO, 0);
    end(&service, client, &granted);
    worst = worst.max(begin.elapsed());
    while begin.elapsed() < Duration::from_secs(2) {
        let one = Instant::now();
        watcher.status();
        let two = Instant::now();
        service.client().attach();
        worst = worst.max(two - one).max(two.elapsed());
        made += 1;
    }
    println!("{made} times a status and a grant meanwhile, the slowest in {worst:?}");
    assert!(worst < SOON, "{worst:?}");
    drop((punchers, mappers));
    eventually("all memory has come back", || {
        let (used, _) = watcher.used(false, false, 0, "memory_bytes")?;
        (used == 0).then_some(())
    });
    // The page that was touched again is left, but it is not the service's.
    for memory in [&granted.arena, &granted.rings] {
        assert!(memory.committed().unwrap() <= 4096);
    }
}

fn hard_memory() {
    ends_hard(|granted| &granted.arena, |_, client, _| drop(client));
}

fn hard_rings() {
    // The connection ends, too: until then the client may look at its memory.
    let end = |service: &Service, client: Client, granted: &Granted| {
        let revoke = Request::Revoke { grant: granted.grant.id };
        assert_eq!(service.client().ask(&revoke), Reply::End {});
        assert_eq!(granted.state(), STATE_REVOKED);
        drop(client);
    };
    ends_hard(|granted| &granted.rings, end);
}

/// Asks for a grant and does not read the answer. The grant's number is found out from the status.
fn attach_unread(client: &Client, watcher: &Client) -> u64 {
    client.send(&Request::Attach { wanted: Wanted::default() });
    eventually("it is granted", || {
        let (_, grants) = watcher.status();
        // The answer is sent when the worker serves the grant.
        grants.first().filter(|_| client.0.wait(Some(Duration::ZERO)).unwrap()).map(|found| found.grant.id)
    })
}

fn not_taken() {
    let service = Service::new();
    let (client, watcher) = (service.client(), service.client());
    let id = attach_unread(&client, &watcher);
    assert_eq!(watcher.ask(&Request::Revoke { grant: id }), Reply::End {});
    client.send(&Request::Attach { wanted: Wanted::default() });
    eventually("it is refused", || service.log().contains("read its answer").then_some(()));
    let (reply, descriptors) = client.next().unwrap();
    assert!(matches!(reply, Reply::Granted { .. }) && descriptors.len() == 5, "{reply:?}");
    match client.next().unwrap() {
        (Reply::Refused { why: Refusal::Message, detail }, _) => assert!(detail.contains("read"), "{detail}"),
        other => panic!("{other:?}"),
    }
    // A client that has read everything may attach again.
    client.attach();
}

fn left_untaken() {
    let service = Service::new();
    let watcher = service.client();
    let connections = || watcher.used(false, false, 0, "connections").unwrap().0;
    assert_eq!(connections(), 1);
    let clients = [service.client(), service.client()];
    for client in &clients {
        attach_unread(client, &watcher);
        shutdown(&client.0, Shutdown::Write).unwrap();
        eventually("its grant has ended", || watcher.status().1.is_empty().then_some(()));
    }
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(connections(), 3, "what they were sent is still under way");
    let [reads, leaves] = clients;
    // The client still reads what it was sent, and then the end.
    assert!(matches!(reads.next(), Some((Reply::Granted { .. }, _))));
    assert!(reads.next().is_none());
    eventually("one was taken", || (connections() == 2).then_some(()));
    drop(leaves);
    eventually("the other is gone", || (connections() == 1).then_some(()));
}

fn idle() {
    if !may_be_others("who does not take its answers") {
        return;
    }
    let policy = Some("[default]\n[limits]\nidle_s = 1\n");
    let service = Service::with(Setting { policy, ..Setting::default() });
    let operator = service.client();
    let mut client = Other::ask(&service.socket(), ATTACKER, &["attach-unread"]);
    assert_eq!(client.line(), "sent");
    let id = eventually("it is granted", || operator.status().1.first().map(|found| found.grant.id));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(operator.ask(&Request::Revoke { grant: id }), Reply::End {});
    eventually("it is told so", || service.log().contains("idle_s").then_some(()));
    let said = client.says("read\n");
    assert!(said.contains("Granted") && said.contains("idle_s") && said.ends_with("end"), "{said}");
}

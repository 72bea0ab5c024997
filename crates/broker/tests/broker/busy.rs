//! A worker is replaced when it is dead, and kept when it is busy.

use std::time::{Duration, Instant};

use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_protocol::{
    KeyPurpose, KeyReply, KeyRequest, Refusal, Reply, Request, STATE_GONE, STATE_REVOKED, Secret, Wanted,
};
use rustix::process::Signal;

use crate::accounting::{ATTACKER, may_be_others};
use crate::client::{Client, Granted, Other};
use crate::real::{Queue, attach};
use crate::stub;
use crate::system::{Service, Setting, eventually, send};

pub const TRIALS: &[(&str, fn())] = &[
    ("a busy worker is waited for, and who can't wait is told", busy),
    ("a worker that only says that it is busy is replaced in the end", says_it_is_busy),
    ("a grant that holds up its worker is ended, and no other", holds_up),
    ("who has held up a worker is granted nothing for a while, and others are", barred),
    ("who holds up a worker again loses all its grants, and others none", again),
    ("real workers: 3DES over huge objects costs no other grant its worker", huge_objects),
    ("real workers: one that stands still is replaced", stands_still),
];

/// A worker without progress for this long is dead.
const STUCK: Duration = Duration::from_secs(2);

fn service(real: bool) -> Service {
    Service::with(Setting { real, stuck: Some(STUCK), ..Setting::default() })
}

fn pid(watcher: &Client) -> u32 {
    watcher.status().0[0].pid
}

/// Attaches with so many key slots, which tell a stub how to behave.
fn attach_to_stub(service: &Service, key_slots: u32) -> (Client, Granted) {
    let client = service.client();
    let granted = client.try_attach(Wanted { key_slots, ..Wanted::default() }).unwrap();
    (client, granted)
}

fn busy() {
    let service = service(false);
    let (watcher, bystander) = (service.client(), attach_to_stub(&service, 0));
    let before = pid(&watcher);
    let begin = Instant::now();
    let _busy = attach_to_stub(&service, stub::MAKES_BUSY);
    let (why, detail) = service.client().try_attach(Wanted::default()).err().expect("it has no time");
    assert_eq!(why, Refusal::NoWorker);
    assert!(detail.contains("busy"), "{detail}");
    let (workers, grants) = watcher.status();
    assert_eq!((workers.len(), grants.len()), (1, 2), "what is known without the worker");
    assert!(begin.elapsed() < stub::BUSY, "answers come while it is busy: {:?}", begin.elapsed());
    // The worker has orders all the time, and answers none of them.
    eventually("it has time again", || service.client().try_attach(Wanted::default()).ok());
    assert!(begin.elapsed() > 2 * STUCK, "{:?}", begin.elapsed());
    assert_eq!((bystander.1.state(), pid(&watcher)), (0, before));
    assert_eq!(watcher.status().0[0].restarts, 0);
}

fn says_it_is_busy() {
    let service = service(false);
    let (watcher, bystander) = (service.client(), attach_to_stub(&service, 0));
    let begin = Instant::now();
    let liar = attach_to_stub(&service, stub::MAKES_BUSY_FOR_EVER);
    let revoked = Request::Revoke { grant: liar.1.grant.id };
    assert_eq!(watcher.ask(&revoked), Reply::End {}, "operators need not wait for it");
    liar.1.ends_as(STATE_REVOKED);
    assert!(begin.elapsed() < 3 * STUCK, "{:?}", begin.elapsed());
    eventually("another worker", || (watcher.status().0[0].restarts == 1).then_some(()));
    bystander.1.ends_as(STATE_GONE);
    assert!(begin.elapsed() > 2 * STUCK, "{:?}", begin.elapsed());
    eventually("it serves", || service.client().try_attach(Wanted::default()).ok());
}

fn holds_up() {
    let service = service(false);
    let (watcher, bystander) = (service.client(), attach_to_stub(&service, 0));
    let before = pid(&watcher);
    let held = attach_to_stub(&service, stub::HOLDS_UP);
    // This order waits.
    watcher.status();
    held.1.ends_as(STATE_REVOKED);
    let (workers, grants) = eventually("it answers again", || {
        let (workers, grants) = watcher.status();
        (workers[0].sleeps == 1).then_some((workers, grants))
    });
    assert_eq!((workers[0].pid, workers[0].restarts, grants.len()), (before, 0, 1));
    assert_eq!(bystander.1.state(), 0);
}

fn barred() {
    if !may_be_others("who has held up a worker") {
        return;
    }
    let policy = Some("[default]\n");
    let service = Service::with(Setting { policy, stuck: Some(STUCK), ..Setting::default() });
    let held = attach_to_stub(&service, stub::HOLDS_UP);
    service.client().status();
    held.1.ends_as(STATE_REVOKED);
    let (why, detail) = service.client().try_attach(Wanted::default()).err().expect("it is refused");
    assert_eq!(why, Refusal::NotNow);
    assert!(detail.contains("held up its worker: ask again in "), "{detail}");
    eventually("the worker has time, and others are served", || {
        let said = Other::ask(&service.socket(), ATTACKER, &["attach"]).line();
        said.starts_with("granted").then_some(())
    });
}

fn again() {
    if !may_be_others("who holds up a worker again") {
        return;
    }
    let policy = Some("[default]\n");
    let service = Service::with(Setting { policy, stuck: Some(STUCK), ..Setting::default() });
    let mut other = Other::ask(&service.socket(), ATTACKER, &["attach"]);
    assert!(other.line().starts_with("granted"));
    let held = [stub::HOLDS_UP_LATER, stub::HOLDS_UP_LATER, 0].map(|slots| attach_to_stub(&service, slots));
    let states = || held.each_ref().map(|(_, granted)| granted.state());
    let watcher = service.client();
    eventually("the first is ended", || {
        watcher.status();
        (states()[0] != 0).then_some(())
    });
    assert_eq!(states(), [STATE_REVOKED, 0, 0]);
    eventually("the others are ended", || {
        watcher.status();
        (!states().contains(&0)).then_some(())
    });
    assert_eq!(states(), [STATE_REVOKED; 3]);
    let (workers, grants) = watcher.status();
    assert_eq!((workers[0].restarts, grants.len(), grants[0].uid), (0, 1, ATTACKER));
}

/// The bytes of each object. Three of them take longer than a worker may stand still.
const HUGE: u32 = if cfg!(debug_assertions) { 64 << 20 } else { 250 << 20 };

fn huge_objects() {
    let service = service(true);
    let watcher = service.client();
    let (bystander_client, attacker) = (service.client(), service.client());
    let mut bystander = attach(&bystander_client);
    let before = pid(&watcher);
    let wanted = Wanted { queues: 3, depth: 64, arena_bytes: HUGE, ..Wanted::default() };
    let attacker = Queue::of(attacker.try_attach(wanted).unwrap());
    let key = KeyRequest::Import {
        algorithm: Algorithm::DesMac as u8,
        exportable: false,
        purpose: KeyPurpose::default(),
        bytes: Secret::new(b"12345678abcdefghABCDEFGH"),
    };
    let KeyReply::Key { handle: key } = attacker.key(&key) else { panic!("no key") };
    let word = ControlWord {
        opcode: Opcode::Mac as u8,
        algorithm: Algorithm::DesMac as u8,
        key,
        source: 4096,
        source_len: HUGE - 8192,
        mac_len: 8,
        ..ControlWord::default()
    };
    let mut attackers: Vec<Queue> = (0..3).map(|queue| attacker.another(queue)).collect();
    attackers.iter_mut().for_each(|queue| queue.submit(word));
    let small = ControlWord {
        opcode: Opcode::Copy as u8,
        source: 0,
        source_len: 64,
        destination: 4096,
        ..ControlWord::default()
    };
    let begin = Instant::now();
    let (mut rounds, mut worst) = (0, Duration::ZERO);
    while begin.elapsed() < 2 * STUCK {
        for _ in 0..20 {
            bystander.submit(small);
            assert_eq!(bystander.next(), Some(Status::Ok));
        }
        let asked = Instant::now();
        assert_eq!(pid(&watcher), before);
        let newcomer = service.client();
        // A grant that can't be had in time would be refused.
        assert_eq!(attach(&newcomer).null(), Some(Status::Ok));
        worst = worst.max(asked.elapsed());
        rounds += 1;
    }
    println!("{rounds} rounds beside huge objects; status and a new grant took {worst:?} at most");
    assert_eq!(bystander.granted.state(), 0);
    assert_eq!(watcher.status().0[0].restarts, 0);
    // If the worker had finished them all, the test would have shown nothing.
    assert!(attackers.iter_mut().any(|queue| !queue.has_ended()), "the objects are too small");
}

fn stands_still() {
    let service = service(true);
    let (client, watcher) = (service.client(), service.client());
    let queue = attach(&client);
    let before = pid(&watcher);
    let begin = Instant::now();
    send(before, Signal::STOP);
    eventually("another worker", || (watcher.status().0[0].restarts == 1).then_some(()));
    assert!(begin.elapsed() >= STUCK, "{:?}", begin.elapsed());
    queue.granted.ends_as(STATE_GONE);
    let after = eventually("it is ready", || Some(pid(&watcher)).filter(|pid| *pid != 0));
    assert_ne!(after, before);
    eventually("it serves", || client.try_attach(Wanted { depth: 64, ..Wanted::default() }).ok());
}

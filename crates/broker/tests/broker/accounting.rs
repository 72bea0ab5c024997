//! Everything that is granted is charged, and comes back, while clients try to use up what the service has.

use std::time::{Duration, Instant};

use millstream_cwq::Algorithm;
use millstream_protocol::{Refusal, Reply, Request, Wanted};

use crate::client::{Client, Other};
use crate::real::Queue;
use crate::stub;
use crate::system::{Service, Setting, eventually, is_root};

pub const TRIALS: &[(&str, fn())] = &[
    ("real workers: a storm of grants that are left at once harms nobody else", storm),
    ("users with all the connections they can have leave room for another", crowds),
    ("a connection that asks for nothing is closed", nothing_asked),
    ("memory of a grant is taken when it is made and comes back though the client keeps it", memory_returns),
    ("real workers: twenty thousand keys live on one worker", many_keys),
    ("real workers: who takes all the key memory that it may leaves others theirs", key_memory),
    ("who has much memory taken from the system again and again holds up nobody", much_memory),
    ("a grant counts until its worker has let go", counts_until_free),
    ("a user's grants stay on one worker", one_worker),
    ("totals of a user are held", totals),
];

/// The user that attacks.
pub const ATTACKER: u32 = 4100;

/// Returns whether there can be other users; if not, prints what was not tried.
pub fn may_be_others(what: &str) -> bool {
    if !is_root() {
        println!("SKIPPED {what}: only root can be other users");
    }
    is_root()
}

fn descriptors(service: &Service) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", service.child.id())).unwrap().count()
}

fn storm() {
    if !may_be_others("a storm of grants") {
        return;
    }
    let service = Service::with(Setting {
        policy: Some("[default]\n"),
        files: Some(4096),
        real: true,
        ..Setting::default()
    });
    let watcher = service.client();
    watcher.status();
    let before = descriptors(&service);
    let mut attacker = Other::ask(&service.socket(), ATTACKER, &["storm", "3000"]);
    assert_eq!(attacker.line(), "begins");
    let (begin, mut made, mut worst) = (Instant::now(), 0, Duration::ZERO);
    let mut attach = || {
        let one = Instant::now();
        let client = service.client();
        let granted = client.try_attach(Wanted::default());
        granted.unwrap_or_else(|refused| panic!("a bystander is refused: {refused:?}"));
        worst = worst.max(one.elapsed());
        // This is slower than the user's rate.
        std::thread::sleep(Duration::from_millis(25));
        made += 1;
    };
    while begin.elapsed() < Duration::from_millis(3200) {
        attach();
    }
    let attempts: u32 = attacker.line().strip_prefix("attempts ").unwrap().parse().unwrap();
    attach();
    let most = descriptors(&service);
    println!("{attempts} grants asked for and left; a bystander had {made}, the slowest in {worst:?}");
    assert!(attempts > 300 && made > 5, "{attempts} attempts, {made} grants meanwhile");
    assert!(most < before + 600, "{before} descriptors before, {most} directly after");
    let end = Instant::now();
    drop(attacker);
    eventually("descriptors are as before", || (descriptors(&service) <= before).then_some(()));
    println!("as before {:?} after the attack", end.elapsed());
    let (_, grants) = watcher.status();
    assert!(grants.is_empty());
}

fn much_memory() {
    if !may_be_others("much memory again and again") {
        return;
    }
    let policy = Some("[default]\nattaches_per_s = 0\n");
    let service = Service::with(Setting { policy, ..Setting::default() });
    let mut attacker = Other::ask(&service.socket(), ATTACKER, &["much", "2500"]);
    assert_eq!(attacker.line(), "begins");
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < Duration::from_secs(2) {
        let one = Instant::now();
        service.client().try_attach(Wanted { arena_bytes: 4096, ..Wanted::default() }).unwrap();
        times.push(one.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    let made = attacker.line();
    times.sort_unstable();
    let (middle, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{made}; a grant beside it took {middle:?}, {worst:?} at most");
    assert_ne!(made, "made 0");
    // With the memory of one of those, the system alone takes many times as long.
    assert!(middle < Duration::from_millis(10), "{middle:?}");
}

fn crowds() {
    if !may_be_others("crowds of connections") {
        return;
    }
    let service =
        Service::with(Setting { policy: Some("[default]\n"), files: Some(1024), ..Setting::default() });
    let mut crowds: Vec<Other> =
        (0..18).map(|i| Other::ask(&service.socket(), ATTACKER + i, &["crowd", "80"])).collect();
    for crowd in &mut crowds {
        assert!(crowd.line().starts_with("connected"));
    }
    let mut newcomer = Other::ask(&service.socket(), ATTACKER + 100, &["attach"]);
    assert_eq!(newcomer.line(), "granted 1");
    assert!(descriptors(&service) < 950, "{}", descriptors(&service));
}

fn nothing_asked() {
    if !may_be_others("a connection that asks for nothing") {
        return;
    }
    let policy = Some("[default]\n[limits]\nidle_s = 1\n");
    let service = Service::with(Setting { policy, ..Setting::default() });
    let operator = service.client();
    let mut granted = Other::ask(&service.socket(), ATTACKER, &["attach"]);
    assert_eq!(granted.line(), "granted 1");
    let mut idle = Other::ask(&service.socket(), ATTACKER, &["wait"]);
    assert_eq!(idle.line(), "connected");
    let said = idle.line();
    assert!(said.contains("Refused") && said.contains("idle_s"), "{said}");
    // A client with a grant need not say anything, and neither need operators.
    assert_eq!(operator.status().1.len(), 1);
}

fn memory_returns() {
    let service = Service::with(Setting { real: true, ..Setting::default() });
    let client = service.client();
    let mut kept = Vec::new();
    for _ in 0..4 {
        let wanted = Wanted { arena_bytes: 32 << 20, ..Wanted::default() };
        let other = service.client();
        let granted = other.try_attach(wanted).unwrap();
        let all = u64::from(granted.grant.arena_bytes);
        assert_eq!(granted.arena.committed().unwrap(), all, "it is there before anybody writes");
        let mut queue = Queue::of(granted);
        queue.fill_arena();
        drop(other);
        let Queue { granted, .. } = queue;
        for memory in [&granted.arena, &granted.rings] {
            eventually("it has come back", || (memory.committed().unwrap() == 0).then_some(()));
        }
        // The client keeps the descriptors, and a mapping of one.
        kept.push(granted);
    }
    client.attach();
}

fn many_keys() {
    const KEYS: usize = 20_000;
    let policy = Some("[default]\nkey_slots = 20000\ntotal_key_slots = 20000\n");
    let service = Service::with(Setting { real: true, policy, ..Setting::default() });
    let client = service.client();
    let begin = Instant::now();
    let wanted = Wanted { key_slots: KEYS as u32, ..Wanted::default() };
    let granted = match client.try_attach(wanted) {
        Ok(granted) => granted,
        // Users other than root may lock only so much.
        Err((Refusal::Exhausted, why)) if !is_root() => {
            println!("SKIPPED twenty thousand keys: {why}");
            return;
        }
        Err(refused) => panic!("{refused:?}"),
    };
    let queue = Queue::of(granted);
    let handles = queue.import_many(Algorithm::AesGcm, KEYS);
    println!("{} keys in {:?}", handles.len(), begin.elapsed());
    assert_eq!(handles.len(), KEYS);
    for at in [0, 1, 777, KEYS / 2, KEYS - 1] {
        assert_eq!(queue.exported(handles[at]), at as u64);
    }
    assert!(queue.import_many(Algorithm::AesGcm, 1).is_empty(), "all slots are taken");
}

fn key_memory() {
    if !may_be_others("who takes all the key memory") {
        return;
    }
    let policy = Some(
        "[default]\n[[user]]\nuid = 0\ntotal_key_slots = 1000000\nattaches_per_s = 0\n[limits]\nkey_memory_mib = 8\n",
    );
    let service = Service::with(Setting { policy, real: true, ..Setting::default() });
    let mut before = Other::ask(&service.socket(), ATTACKER, &["keys", "100"]);
    assert_eq!(before.line(), "attached");
    // These grants take every key that can be had, of every size.
    let (mut clients, mut queues, mut slots) = (Vec::new(), Vec::new(), 1024);
    while slots > 0 {
        let client = service.client();
        match client.try_attach(Wanted { key_slots: slots, ..Wanted::default() }) {
            Ok(granted) => {
                let queue = Queue::of(granted);
                let algorithms = [Algorithm::AesGcm, Algorithm::Sha256, Algorithm::AesXts];
                let taken = queue.import_many(algorithms[queues.len() % 3], slots as usize);
                assert_eq!(taken.len(), slots as usize, "what was granted can be used");
                queues.push(queue);
                clients.push(client);
            }
            Err((why, detail)) => {
                assert_eq!(why, Refusal::Exhausted);
                assert!(detail.contains("key_memory"), "{detail}");
                slots /= 2;
            }
        }
    }
    assert!(queues.len() > 2);
    let mut after = Other::ask(&service.socket(), ATTACKER + 1, &["keys", "100"]);
    assert_eq!(after.line(), "attached");
    for other in [&mut before, &mut after] {
        assert_eq!(other.says("go\n"), "imported 100");
    }
}

fn counts_until_free() {
    // On a busy machine the worker may be taken for dead before another client has asked. That shows nothing.
    let judged = (0..10).any(|_| is_refused_until_free());
    assert!(judged, "the grant of a worker that may have it is not counted");
}

/// Returns false if the next client got a grant at once.
fn is_refused_until_free() -> bool {
    let policy = Some("[default]\nmax_grants = 1\n");
    let service = Service::with(Setting { policy, ..Setting::default() });
    let (client, watcher) = (service.client(), service.client());
    // The worker never answers the order to serve the grant, so it may or may not have it.
    let wanted = Wanted { key_slots: stub::WONT_ANSWER, ..Wanted::default() };
    client.send(&Request::Attach { wanted });
    eventually("the grant is asked for", || (watcher.status().1.len() == 1).then_some(()));
    drop(client);
    let Err((why, detail)) = service.client().try_attach(Wanted::default()) else { return false };
    assert_eq!(why, Refusal::TooManyGrants);
    assert!(detail.contains("max_grants"), "{detail}");
    // The worker is taken for dead, and its charges are freed.
    eventually("it is free", || service.client().try_attach(Wanted::default()).ok());
    true
}

fn one_worker() {
    let policy = Some("[default]\n[[user]]\nuid = 0\nworkers = 2\n");
    let service = Service::with(Setting { workers: 3, policy, ..Setting::default() });
    let watcher = service.client();
    let grants_by = |uid: u32| {
        let (_, grants) = watcher.status();
        let mut workers: Vec<u32> =
            grants.iter().filter(|grant| grant.uid == uid).map(|grant| grant.worker).collect();
        workers.sort_unstable();
        workers.dedup();
        workers
    };
    let clients: Vec<Client> = (0..6).map(|_| service.client()).collect();
    let _granted: Vec<_> = clients.iter().map(Client::attach).collect();
    assert_eq!(grants_by(0).len(), 2, "as many as its limit says");
    if !may_be_others("other users' workers") {
        return;
    }
    let mut others: Vec<Other> =
        (0..4).map(|_| Other::ask(&service.socket(), ATTACKER, &["attach"])).collect();
    others.iter_mut().for_each(|other| assert!(other.line().starts_with("granted")));
    let of_other = grants_by(ATTACKER);
    assert!(of_other.len() == 1 && !grants_by(0).contains(&of_other[0]), "the one that was empty");
}

fn totals() {
    let policy = Some(
        "[default]\ntotal_queues = 10\ntotal_key_slots = 100\ntotal_memory_mib = 20\nattaches_per_s = 1\nattach_burst = 8\n",
    );
    let service = Service::with(Setting { policy, ..Setting::default() });
    let clients: Vec<Client> = (0..5).map(|_| service.client()).collect();
    let small = || Wanted { queues: 1, depth: 16, arena_bytes: 1 << 20, key_slots: 10, ..Wanted::default() };
    let _granted = clients[0].try_attach(Wanted { queues: 6, ..small() }).unwrap();
    for (wanted, key) in [
        (Wanted { queues: 5, ..small() }, "total_queues"),
        (Wanted { key_slots: 91, ..small() }, "total_key_slots"),
        (Wanted { arena_bytes: 19 << 20, ..small() }, "total_memory_mib"),
    ] {
        let (why, detail) = clients[1].try_attach(wanted).err().unwrap();
        assert_eq!(why, Refusal::TooMuch);
        assert!(detail.contains(key), "{detail}");
    }
    let second = clients[1].try_attach(Wanted { queues: 4, ..small() }).unwrap();
    let own = rustix::process::geteuid().as_raw();
    let used = |what| clients[4].used(true, false, own, what).unwrap();
    assert_eq!((used("queues"), used("grants"), used("connections").0), ((10, 10), (2, 64), 3));
    assert_eq!(clients[4].used(false, true, 0, "queues"), Some((10, 4096)), "of the worker");
    let (memory, most) = clients[4].used(false, false, 0, "memory_bytes").unwrap();
    assert!((2 << 20..4 << 20).contains(&memory) && most > memory, "{memory} of {most}");
    assert_eq!(clients[2].ask(&Request::Revoke { grant: second.grant.id }), Reply::End {});
    let _again = clients[1].try_attach(Wanted { queues: 4, ..small() }).unwrap();
    let begin = Instant::now();
    let refused = loop {
        assert!(begin.elapsed() < Duration::from_secs(10), "as often as it likes");
        if let Err((_, detail)) = clients[3].try_attach(Wanted { queues: 10, ..small() })
            && detail.contains("attaches_per_s")
        {
            break detail;
        }
    };
    println!("{refused}");
}

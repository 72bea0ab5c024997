//! Random sequences of attaching, moving, revoking, reloading, leaving and dying. Bytes are read as actions
//! of several clients and operators, some of them at once, and after each burst everything must fit together:
//! no reply is lost, a grant is listed exactly as long as its state page says that it lives, limits hold, and
//! in the end everything that was granted has come back.
//!
//! `MILLSTREAM_TRIAL_SEEDS=1000..2000` tries others than the few seeds that are always tried.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use millstream_protocol::{Refusal, Reply, Request, STATE_GONE, STATE_REVOKED, Wanted};
use millstream_testkit::Random;
use rustix::process::Signal;

use crate::client::{Client, Granted};
use crate::stub;
use crate::system::{Service, Setting, eventually, is_root, send};

pub const TRIALS: &[(&str, fn())] = &[
    ("any order of attaching, moving, revoking, reloading, leaving and dying ends well", stubs),
    ("a grant that is revoked while it moves is in no worker's hands", revoked_while_it_moves),
    ("real workers: any order of attaching, moving, revoking, reloading and leaving ends well", real),
];

/// Grants that the policy allows, fewer than there are clients.
const MOST: usize = 5;
const CLIENTS: usize = 7;
const WORKERS: usize = 3;
/// The most deaths of a worker. Each further restart is delayed longer, which takes time and shows nothing
/// more.
const DEATHS: u32 = 2;

const ALLOWS: &str = "[default]\nmax_grants = 5\nattaches_per_s = 0\nworkers = 0\n";
const OTHER_WEIGHT: &str = "[default]\nmax_grants = 5\nattaches_per_s = 0\nworkers = 0\nweight = 3\n";
const DENIES: &str = "[default]\nmax_grants = 0\n";
const MISTAKE: &str = "[default]\nmax_grunts = 5\n";

fn stubs() {
    let mut happened = BTreeMap::new();
    for seed in seeds(1..7) {
        Trial::new(seed, false).run(60, &mut happened);
    }
    println!("{happened:?}");
    // An outcome that never happens has not been tested.
    let all = [
        "attach: granted",
        "attach: TooManyGrants",
        "attach: Exhausted",
        "attach: Denied",
        "attach: Message",
        "revoke: done",
        "revoke: NoSuchGrant",
        "move: done",
        "move: NoWorker",
        "move: NoSuchGrant",
        "reload: done",
        "reload: Policy",
        "leaves",
        "dies",
    ];
    for what in all {
        assert!(happened.contains_key(what), "never: {what}; but {happened:?}");
    }
}

fn real() {
    for seed in seeds(1..2) {
        Trial::new(seed, true).run(25, &mut BTreeMap::new());
    }
}

/// Revokes a grant when the new worker has taken it and the old one has not let go. Both must be told to drop
/// it.
fn revoked_while_it_moves() {
    let service = Service::with(Setting { workers: 2, ..Setting::default() });
    let (client, mover, operator) = (service.client(), service.client(), service.client());
    let wanted = Wanted { key_slots: stub::RELEASES_LATE, ..Wanted::default() };
    let granted = client.try_attach(wanted).unwrap();
    let grant = granted.grant.id;
    let to = 1 - operator.status().1[0].worker;
    mover.send(&Request::Move { grant, worker: to });
    // This gives the worker that is not late time to take the grant.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(operator.ask(&Request::Revoke { grant }), Reply::End {});
    assert!(matches!(mover.next(), Some((Reply::End {}, _))), "who asked for the move is answered");
    granted.ends_as(STATE_REVOKED);
    eventually("no worker has it", || {
        let (workers, grants) = operator.status();
        (grants.is_empty() && workers.iter().all(|worker| worker.sleeps == 0)).then_some(())
    });
}

/// Returns the seeds that are always tried, or those that the environment names.
fn seeds(always: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("MILLSTREAM_TRIAL_SEEDS") else { return always };
    let range = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or_else(|| panic!("MILLSTREAM_TRIAL_SEEDS={text}: a range is needed, as 1000..2000"))
}

/// An action, which is answered.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A client asks for a grant, or for a second one, which it does not get.
    Attach { client: usize, key_slots: u32 },
    /// An operator ends whatever grant a client has or had.
    Revoke { client: usize },
    /// An operator moves that grant.
    Move { client: usize, worker: u32 },
    /// An operator has the policy read again.
    Reload { policy: &'static str },
    /// An operator asks for a grant that does not exist.
    Nonsense,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Act::Attach { .. } => "attach",
            Act::Revoke { .. } => "revoke",
            Act::Move { .. } => "move",
            Act::Reload { .. } => "reload",
            Act::Nonsense => "nonsense",
        }
    }
}

struct Session {
    client: Client,
    /// The last grant that it got, which may have ended.
    granted: Option<Granted>,
}

struct Trial {
    service: Service,
    real: bool,
    random: Random,
    watcher: Client,
    sessions: Vec<Session>,
    /// Grants whose clients have left, until their state is final.
    left: Vec<Granted>,
    deaths: u32,
    /// Descriptors of the broker before any client came.
    descriptors: Option<usize>,
    log: Log,
}

/// Everything that was done, which is shown when something does not fit: the seed, each action, and each kind
/// of outcome.
struct Log(u64, RefCell<Vec<String>>, RefCell<Vec<String>>);

impl Log {
    fn say(&self, what: String) {
        self.1.borrow_mut().push(what);
    }

    fn happened(&self, what: impl Into<String>) {
        self.2.borrow_mut().push(what.into());
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}:\n  {}", self.0, self.1.borrow().join("\n  "));
        }
    }
}

impl Trial {
    fn new(seed: u64, real: bool) -> Self {
        let service =
            Service::with(Setting { workers: WORKERS, policy: Some(ALLOWS), real, ..Setting::default() });
        let watcher = service.client();
        eventually("all workers are ready", || {
            watcher.status().0.iter().all(|worker| !worker.sandbox.is_empty()).then_some(())
        });
        let descriptors = is_root().then(|| descriptors(&service));
        let session = |_| Session { client: service.client(), granted: None };
        let sessions = (0..CLIENTS).map(session).collect();
        let log = Log(seed, RefCell::default(), RefCell::default());
        let random = Random::new(seed);
        Trial { service, real, random, watcher, sessions, left: Vec::new(), deaths: 0, descriptors, log }
    }

    fn run(mut self, bursts: u32, happened: &mut BTreeMap<String, u32>) {
        for _ in 0..bursts {
            self.burst();
            self.everything_fits();
        }
        for what in self.log.2.take() {
            *happened.entry(what).or_default() += 1;
        }
        self.ends();
    }

    /// Performs one to four actions at once, perhaps while a client leaves or a worker dies, and then reads
    /// all answers.
    fn burst(&mut self) {
        let mut asked = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let act = self.act();
            // A client waits for its answer before it asks again.
            let busy = |other: &(Act, Option<Client>)| matches!((other.0, act), (Act::Attach { client, .. }, Act::Attach { client: again, .. }) if client == again);
            if asked.iter().any(busy) {
                continue;
            }
            self.log.say(format!("{act:?}"));
            asked.push((act, self.ask(act)));
        }
        let gone = self.disturb(&asked);
        for (act, operator) in asked {
            if matches!(act, Act::Attach { client, .. } if Some(client) == gone) {
                continue;
            }
            self.answered(act, operator);
        }
    }

    fn act(&mut self) -> Act {
        let random = &mut self.random;
        let client = random.below(CLIENTS);
        match random.below(16) {
            0..=6 => {
                let key_slots = [0, 0, 0, stub::CANT_SERVE, stub::CANT_ADOPT][random.below(5)];
                Act::Attach { client, key_slots }
            }
            7..=8 => Act::Revoke { client },
            9..=12 => Act::Move { client, worker: random.below(WORKERS + 1) as u32 },
            13..=14 => {
                let policy = [ALLOWS, ALLOWS, OTHER_WEIGHT, OTHER_WEIGHT, MISTAKE, DENIES][random.below(6)];
                Act::Reload { policy }
            }
            _ => Act::Nonsense,
        }
    }

    /// Sends the request, from the client or from an operator that connects for it.
    fn ask(&mut self, act: Act) -> Option<Client> {
        let id = |client: usize| {
            self.sessions[client].granted.as_ref().map_or(999_999, |granted| granted.grant.id)
        };
        let request = match act {
            Act::Attach { client, key_slots } => {
                let wanted = Wanted { key_slots, ..Wanted::default() };
                self.sessions[client].client.send(&Request::Attach { wanted });
                return None;
            }
            Act::Revoke { client } => Request::Revoke { grant: id(client) },
            Act::Move { client, worker } => Request::Move { grant: id(client), worker },
            Act::Reload { policy } => {
                std::fs::write(self.service.directory.path().join("policy.toml"), policy).unwrap();
                Request::Reload {}
            }
            Act::Nonsense => Request::Revoke { grant: u64::MAX },
        };
        let operator = self.service.client();
        operator.send(&request);
        Some(operator)
    }

    /// Now and then makes a client leave, even in the middle of its own request, or a worker die. Returns the
    /// client that has left.
    fn disturb(&mut self, asked: &[(Act, Option<Client>)]) -> Option<usize> {
        match self.random.below(10) {
            0..=1 => {
                // A client that has just asked is the more interesting one.
                let mut client = self.random.below(CLIENTS);
                if let Some((Act::Attach { client: asks, .. }, _)) = asked.first() {
                    client = *asks;
                }
                self.log.say(format!("client {client} leaves"));
                self.log.happened("leaves");
                let new = Session { client: self.service.client(), granted: None };
                self.left.extend(std::mem::replace(&mut self.sessions[client], new).granted);
                Some(client)
            }
            2 if self.deaths < DEATHS && !self.real => {
                self.deaths += 1;
                let (workers, _) = self.watcher.status();
                let worker = &workers[self.random.below(WORKERS)];
                if !worker.sandbox.is_empty() {
                    self.log.say(format!("worker {} dies", worker.worker));
                    self.log.happened("dies");
                    send(worker.pid, Signal::KILL);
                }
                None
            }
            _ => None,
        }
    }

    /// Reads the answer, which must be a possible one.
    fn answered(&mut self, act: Act, operator: Option<Client>) {
        let from = match act {
            Act::Attach { client, .. } => &self.sessions[client].client,
            _ => operator.as_ref().expect("an operator asked"),
        };
        let (reply, descriptors) = from.next().unwrap_or_else(|| panic!("{act:?}: no answer"));
        self.log.say(format!("{act:?}: {}", said(&reply)));
        let why = match &reply {
            Reply::Refused { why, .. } => Some(*why),
            _ => None,
        };
        let outcome = match &reply {
            Reply::Granted { .. } => "granted".to_owned(),
            Reply::Refused { why, .. } => format!("{why:?}"),
            _ => "done".to_owned(),
        };
        self.log.happened(format!("{}: {outcome}", act.name()));
        use Refusal::{
            Denied, Exhausted, Message, NoSuchGrant, NoSuchWorker, NoWorker, Policy, TooManyGrants,
        };
        let can_be: &[Refusal] = match act {
            Act::Attach { .. } => &[Denied, Exhausted, Message, NoWorker, TooManyGrants],
            Act::Revoke { .. } => &[NoSuchGrant],
            Act::Move { worker, .. } if worker as usize >= WORKERS => &[NoSuchGrant, NoSuchWorker],
            Act::Move { .. } => &[NoSuchGrant, NoWorker],
            // An action before this one may have written a faulty policy.
            Act::Reload { .. } => &[Policy],
            Act::Nonsense => &[NoSuchGrant],
        };
        match (act, reply) {
            (Act::Attach { client, .. }, Reply::Granted { grant }) => {
                let session = &mut self.sessions[client];
                let had = session.granted.replace(Granted::new(grant, descriptors));
                assert!(had.as_ref().is_none_or(|had| had.state() != 0), "two grants on one connection");
                self.left.extend(had);
            }
            (_, Reply::Refused { detail, .. }) => {
                assert!(why.is_some_and(|why| can_be.contains(&why)), "{act:?}: {why:?} {detail}");
            }
            (Act::Revoke { .. } | Act::Move { .. } | Act::Reload { .. }, Reply::End {}) => {}
            (_, reply) => panic!("{act:?}: {}", said(&reply)),
        }
    }

    /// Waits until a grant is listed as long as it lives, no more are listed than may be, and workers have
    /// what is listed.
    fn everything_fits(&self) {
        let begin = std::time::Instant::now();
        while let Some(fault) = self.fault() {
            assert!(begin.elapsed() < crate::system::LIMIT, "{fault}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns what does not fit at the moment.
    fn fault(&self) -> Option<String> {
        let (workers, grants) = self.watcher.status();
        let listed: BTreeSet<u64> = grants.iter().map(|status| status.grant.id).collect();
        let known = self.sessions.iter().filter_map(|session| session.granted.as_ref());
        let live: BTreeSet<u64> =
            known.filter(|granted| granted.state() == 0).map(|granted| granted.grant.id).collect();
        // This must hold at every moment, not only when everything has settled.
        assert!(listed.len() <= MOST, "{} grants where {MOST} may be", listed.len());
        if listed != live {
            return Some(format!("listed are {listed:?}, and alive {live:?}"));
        }
        let served: u32 = workers.iter().map(|worker| worker.grants).sum();
        if served as usize != listed.len() {
            return Some(format!("workers are said to serve {served} of {}", listed.len()));
        }
        let ready = workers.len() == WORKERS && workers.iter().all(|worker| !worker.sandbox.is_empty());
        // A stub reports the number of its grants in this field.
        let held: u64 = workers.iter().map(|worker| worker.sleeps).sum();
        if !ready || (!self.real && held as usize != listed.len()) {
            return Some(format!("workers hold {held} grants of {}; all are there: {ready}", listed.len()));
        }
        let undecided = self.left.iter().find(|granted| granted.state() == 0);
        undecided.map(|granted| format!("grant {} has no end, and no client", granted.grant.id))
    }

    /// Makes all clients leave. Every grant must have ended in one of the possible ways, and the broker must
    /// hold what it held before.
    fn ends(mut self) {
        let sessions = std::mem::take(&mut self.sessions);
        self.left.extend(sessions.into_iter().filter_map(|session| session.granted));
        self.everything_fits();
        for granted in &self.left {
            assert!(matches!(granted.state(), STATE_GONE | STATE_REVOKED), "{}", granted.state());
        }
        if let Some(before) = self.descriptors {
            eventually("the broker has as many descriptors as before", || {
                (descriptors(&self.service) <= before).then_some(())
            });
        }
    }
}

fn said(reply: &Reply) -> String {
    match reply {
        Reply::Granted { grant } => format!("granted {}", grant.id),
        Reply::Refused { why, detail } => format!("{why:?}, {detail}"),
        Reply::End {} => "done".to_owned(),
        other => format!("{other:?}"),
    }
}

fn descriptors(service: &Service) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", service.child.id())).unwrap().count()
}

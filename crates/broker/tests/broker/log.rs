//! Lines that strangers cause in the broker's log.

use crate::accounting::{ATTACKER, may_be_others};
use millstream_protocol::{Refusal, Wanted};

use crate::client::Other;
use crate::stub;
use crate::system::{Service, Setting, eventually};

pub const TRIALS: &[(&str, fn())] = &[
    ("a flood by one user fills no log and hides nobody else's lines", flood),
    ("what clients and workers say commands no terminal", texts),
    ("a worker that says again that it is ready is replaced", ready_again),
];

fn flood() {
    if !may_be_others("a flood of log lines") {
        return;
    }
    const DENIED: u32 = ATTACKER + 1;
    let policy = Some("[default]\n[[user]]\nuid = 4101\nmax_grants = 0\n");
    let service = Service::with(Setting { policy, files: Some(4096), ..Setting::default() });
    let lines_of = |uid: u32| {
        let its = format!(" uid={uid} ");
        service.log().lines().filter(|line| line.contains(&its)).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut attacker = Other::ask(&service.socket(), ATTACKER, &["storm", "3000"]);
    assert_eq!(attacker.line(), "begins");
    eventually("the attacker's lines are left out", || (lines_of(ATTACKER).len() > 20).then_some(()));
    // The attack is still going on here.
    let mut denied = Other::ask(&service.socket(), DENIED, &["attach"]);
    assert!(denied.line().starts_with("Denied"));
    let attempts: usize = attacker.line().strip_prefix("attempts ").unwrap().parse().unwrap();
    let refusals = lines_of(DENIED);
    assert!(refusals.len() == 1 && refusals[0].contains("refused"), "{refusals:?}");
    assert!(!refusals[0].contains("left_out"), "{refusals:?}");
    let written = lines_of(ATTACKER);
    println!("{attempts} grants asked for and left, {} lines", written.len());
    assert!(attempts > 500 && written.len() < 150, "{attempts} attempts, {} lines", written.len());
    assert!(written.iter().any(|line| line.contains("left_out=")), "nothing says that lines were left out");
}

fn texts() {
    let service = Service::new();
    let harmless = |what: &str, text: &str| {
        assert!(!text.chars().any(|letter| letter.is_control()), "{what}: {text:?}");
        assert!(text.contains("u{1b}"), "{what} shows nothing of it: {text:?}");
        assert!(text.len() < 600, "{what} is long: {text:?}");
    };
    let (client, watcher) = (service.client(), service.client());
    let named = |key_slots| Wanted { name: format!("me{}", stub::COMMANDS), key_slots, ..Wanted::default() };
    let (why, detail) = client.try_attach(named(stub::SHOUTS)).err().unwrap();
    assert_eq!(why, Refusal::Exhausted);
    harmless("a refusal", &detail);
    let _granted = client.try_attach(named(1)).unwrap();
    let (workers, grants) = watcher.status();
    harmless("a client's name", &grants[0].name);
    harmless("a worker's sandbox", &workers[0].sandbox);
    harmless("a worker's memory", &workers[0].key_memory);
    eventually("the worker's own lines", || service.log().contains("a worker says").then_some(()));
    let log = service.log();
    for word in ["could not do what it was told", "refused", "worker ready", " grant", "a worker says"] {
        let line = log.lines().find(|line| line.contains(word) && line.contains("u{1b}"));
        assert!(line.is_some(), "{word}: {log}");
    }
    log.lines().for_each(|line| assert!(!line.chars().any(char::is_control), "{line:?}"));
    assert!(log.lines().count() < 50, "what it writes fills the log: {log}");
}

fn ready_again() {
    let service = Service::new();
    let wanted = Wanted { key_slots: stub::READY_AGAIN, ..Wanted::default() };
    let (why, _) = service.client().try_attach(wanted).err().unwrap();
    assert_eq!(why, Refusal::NoWorker);
    eventually("another worker", || service.client().try_attach(Wanted::default()).ok());
    assert_eq!(service.client().status().0[0].restarts, 1);
}

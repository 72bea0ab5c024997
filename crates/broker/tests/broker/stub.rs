//! A worker that computes nothing: it obeys, and says so.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use millstream_protocol::{
    Message, Order, PROGRESS_GRANT, PROGRESS_STEPS, PROGRESS_TURNS, PROGRESS_WORDS, QueueCounts, Report,
};
use millstream_shm::{Mapping, Memory, Socket, Words};

/// A grant with so many key slots can't be served.
pub const CANT_SERVE: u32 = 601;
/// To serve one with so many is never answered.
pub const WONT_ANSWER: u32 = 602;
/// One with so many can't be adopted.
pub const CANT_ADOPT: u32 = 603;

/// One with so many is released late.
pub const RELEASES_LATE: u32 = 604;

/// When one with so many is served the worker is busy for [`BUSY`], and says so.
pub const MAKES_BUSY: u32 = 605;
/// It is busy for good.
pub const MAKES_BUSY_FOR_EVER: u32 = 606;
/// The grant is in its hand for [`BUSY`].
pub const HOLDS_UP: u32 = 607;
/// Several times as long as the trials say that a worker may not get on.
pub const BUSY: Duration = Duration::from_secs(6);

/// Does nothing but to show in its page that it gets on, and with what in its hand.
fn busy(page: &Words, limit: Duration, grant: u64) {
    let begin = Instant::now();
    page[PROGRESS_GRANT].store(grant, Relaxed);
    page[PROGRESS_STEPS].fetch_add(1, Relaxed);
    while begin.elapsed() < limit {
        page[PROGRESS_TURNS].fetch_add(1, Relaxed);
        std::thread::sleep(Duration::from_millis(5));
    }
    page[PROGRESS_GRANT].store(0, Relaxed);
}

/// Why one with so many can't be served is told at length, and to the terminal.
pub const SHOUTS: u32 = 608;

/// Like [`HOLDS_UP`], when it has counted. Of several one after the other, each time.
pub const HOLDS_UP_LATER: u32 = 610;

/// To serve one with so many makes it say again that it is ready.
pub const READY_AGAIN: u32 = 609;

/// Clears the terminal, and changes its title.
pub const COMMANDS: &str = "\u{1b}[2J\u{9b}2J\u{1b}]0;mine\u{7}\r\n";

pub fn run() {
    let control = Socket::received(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let report = |report: Report| drop(control.send(&report.encode(), &[]));
    let ready = || {
        let (sandbox, key_memory) = (format!("a stub{COMMANDS}"), format!("none{COMMANDS}"));
        report(Report::Ready { sandbox, key_memory, key_bytes: u64::MAX });
    };
    ready();
    let mut grants: HashMap<u64, Vec<OwnedFd>> = HashMap::new();
    let mut late = HashSet::new();
    let mut later = VecDeque::new();
    let mut page = None;
    while let Ok(Some(received)) = control.receive() {
        let order = Order::decode(&received.bytes).unwrap();
        let makes_busy = match &order {
            Order::Serve { grant } if grant.key_slots == HOLDS_UP_LATER => {
                later.push_back(grant.id);
                (0, 0)
            }
            Order::Serve { grant } => (grant.key_slots, grant.id),
            Order::Count {} => later.pop_front().map_or((0, 0), |grant| (HOLDS_UP, grant)),
            _ => (0, 0),
        };
        let moved = match &order {
            Order::Release { grant } => Some(*grant),
            Order::Adopt { grant, .. } => Some(grant.id),
            _ => None,
        };
        match order {
            Order::Watch {} => {
                let memory = Memory::received(received.descriptors.into_iter().next().unwrap()).unwrap();
                page = Mapping::shared(&memory).unwrap().words(0, PROGRESS_WORDS);
            }
            Order::Serve { grant } if grant.key_slots == WONT_ANSWER => continue,
            Order::Serve { grant } if grant.key_slots == CANT_SERVE => {
                report(Report::Failed { why: "as it was asked to".to_owned() });
                continue;
            }
            Order::Serve { grant } if grant.key_slots == SHOUTS => {
                report(Report::Failed { why: COMMANDS.repeat(100) });
                // More than anybody hears; it is not made to wait.
                for line in 0..100_000 {
                    let _ = writeln!(std::io::stderr(), "line {line}{COMMANDS}");
                }
                continue;
            }
            Order::Serve { grant } if grant.key_slots == READY_AGAIN => {
                ready();
                continue;
            }
            Order::Adopt { grant, .. } if grant.key_slots == CANT_ADOPT => {
                report(Report::Failed { why: "as it was asked to".to_owned() });
                continue;
            }
            Order::Serve { grant } | Order::Adopt { grant, .. } => {
                assert_eq!(received.descriptors.len(), 5);
                if grant.key_slots == RELEASES_LATE {
                    late.insert(grant.id);
                }
                grants.insert(grant.id, received.descriptors);
            }
            Order::Drop { grant } | Order::Release { grant } => {
                if late.remove(&grant) {
                    std::thread::sleep(std::time::Duration::from_millis(700));
                }
                drop(grants.remove(&grant));
            }
            Order::Limit { .. } => {}
            Order::Count {} => {
                report(Report::Worker { sleeps: grants.len() as u64 });
                for id in grants.keys() {
                    let counts = QueueCounts { operations: 100 + id, ..QueueCounts::default() };
                    report(Report::Counts { grant: *id, counts });
                }
            }
            Order::Stop {} => return,
            order => panic!("{order:?}"),
        }
        report(Report::Done {});
        moved.into_iter().for_each(|grant| report(Report::Moved { grant }));
        let Some(page) = &page else { continue };
        match makes_busy {
            (MAKES_BUSY, _) => busy(page, BUSY, 0),
            (MAKES_BUSY_FOR_EVER, _) => busy(page, Duration::MAX, 0),
            (HOLDS_UP, grant) => busy(page, BUSY, grant),
            _ => {}
        }
    }
}

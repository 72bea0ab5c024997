//! A worker that computes nothing. It obeys orders and reports so.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use millstream_protocol::{
    Message, Order, PROGRESS_GRANT, PROGRESS_STEPS, PROGRESS_TURNS, PROGRESS_WORDS, Presigned, QueueCounts,
    Report,
};
use millstream_shm::{Mapping, Memory, Socket, Words};

/// The stub can't serve a grant with so many key slots.
pub const CANT_SERVE: u32 = 601;
/// The stub never answers the order to serve one with so many.
pub const WONT_ANSWER: u32 = 602;
/// The stub can't adopt one with so many.
pub const CANT_ADOPT: u32 = 603;

/// The stub releases one with so many late.
pub const RELEASES_LATE: u32 = 604;

/// The stub is busy for [`BUSY`] when it serves one with so many, and shows progress.
pub const MAKES_BUSY: u32 = 605;
/// The stub is busy for good.
pub const MAKES_BUSY_FOR_EVER: u32 = 606;
/// The stub shows for [`BUSY`] that it works on this grant.
pub const HOLDS_UP: u32 = 607;
/// The duration of being busy: several times as long as the tests let a worker be without progress.
pub const BUSY: Duration = Duration::from_secs(6);

/// Does nothing but show progress in its page, for the grant it claims to work on.
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

/// The stub can't serve one with so many, and gives a long reason full of terminal controls.
pub const SHOUTS: u32 = 608;

/// The stub behaves as for [`HOLDS_UP`], but when it counts. With several grants, it does so for each in
/// turn.
pub const HOLDS_UP_LATER: u32 = 610;

/// The stub reports again that it is ready when it serves one with so many.
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
                // This is more than the broker reads, and must not block the stub.
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
            Order::Limit { .. } | Order::Wrap { .. } => {}
            Order::Count {} => {
                report(Report::Worker { sleeps: grants.len() as u64, presigned: Presigned::default() });
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

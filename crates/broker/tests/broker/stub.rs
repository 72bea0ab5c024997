//! A worker that computes nothing: it obeys, and says so.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use millstream_protocol::{Message, Order, QueueCounts, Report};
use millstream_shm::Socket;

/// A grant with so many key slots can't be served.
pub const CANT_SERVE: u32 = 601;
/// To serve one with so many is never answered.
pub const WONT_ANSWER: u32 = 602;
/// One with so many can't be adopted.
pub const CANT_ADOPT: u32 = 603;

pub fn run() {
    let control = Socket::received(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let report = |report: Report| drop(control.send(&report.encode(), &[]));
    report(Report::Ready { sandbox: "a stub".to_owned(), key_memory: "none".to_owned() });
    let mut grants: HashMap<u64, Vec<OwnedFd>> = HashMap::new();
    while let Ok(Some(received)) = control.receive() {
        match Order::decode(&received.bytes).unwrap() {
            Order::Serve { grant } if grant.key_slots == WONT_ANSWER => continue,
            Order::Serve { grant } if grant.key_slots == CANT_SERVE => {
                report(Report::Failed { why: "as it was asked to".to_owned() });
                continue;
            }
            Order::Adopt { grant } if grant.key_slots == CANT_ADOPT => {
                report(Report::Failed { why: "as it was asked to".to_owned() });
                continue;
            }
            Order::Serve { grant } | Order::Adopt { grant } => {
                assert_eq!(received.descriptors.len(), 5);
                grants.insert(grant.id, received.descriptors);
            }
            Order::Drop { grant } | Order::Release { grant } => drop(grants.remove(&grant)),
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
    }
}

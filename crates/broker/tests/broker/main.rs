//! The broker with real processes: this binary is also the broker, its workers, and clients of other users.

mod accounting;
mod busy;
mod client;
mod holes;
mod hostile;
mod leaving;
#[path = "../common/lingering.rs"]
mod lingering;
mod log;
mod metrics;
mod operators;
mod orders;
mod packaging;
mod real;
mod recovery;
mod serving;
mod signatures;
mod strangers;
mod stub;
mod system;

use std::ffi::OsString;

use libtest_mimic::{Arguments, Trial};

/// The same as in the command: a worker's heap is secret.
#[global_allocator]
static HEAP: millstream_shm::SecretHeap = millstream_shm::SecretHeap;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let rest = |arguments: std::iter::Skip<std::env::ArgsOs>| arguments.collect::<Vec<OsString>>();
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some("as-broker") => return system::serve(&rest(arguments)),
        Some("as-stub") => return stub::run(),
        Some("as-worker") => return real::run(&rest(arguments)),
        Some("as-attacker") => return strangers::attack(&rest(arguments)),
        Some("as-mistreater") => return leaving::mistreat(rest(arguments)[0].to_str().unwrap()),
        Some("as-mapper") => return holes::map(&rest(arguments)),
        Some("as-client") => return client::other(&rest(arguments)),
        _ => {}
    }
    let trials = [
        serving::TRIALS,
        recovery::TRIALS,
        operators::TRIALS,
        hostile::TRIALS,
        strangers::TRIALS,
        real::TRIALS,
        orders::TRIALS,
        packaging::TRIALS,
        accounting::TRIALS,
        leaving::TRIALS,
        log::TRIALS,
        metrics::TRIALS,
        busy::TRIALS,
        holes::TRIALS,
        signatures::TRIALS,
    ]
    .concat();
    let trials = trials.into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

//! The broker with real processes: this binary is also the broker, its workers, and clients of other users.

mod client;
mod hostile;
mod operators;
mod packaging;
mod real;
mod recovery;
mod serving;
mod stub;
mod system;

use std::ffi::OsString;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let rest = |arguments: std::iter::Skip<std::env::ArgsOs>| arguments.collect::<Vec<OsString>>();
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some("as-broker") => return system::serve(&rest(arguments)),
        Some("as-stub") => return stub::run(),
        Some("as-worker") => return real::run(&rest(arguments)),
        Some("as-client") => return client::other(&rest(arguments)),
        _ => {}
    }
    let trials = [
        serving::TRIALS,
        recovery::TRIALS,
        operators::TRIALS,
        hostile::TRIALS,
        real::TRIALS,
        packaging::TRIALS,
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

//! Workers as processes of their own, with clients and brokers made of the test's own code. This program starts
//! itself again as a worker.

mod client;
mod ending;
mod hidden;
mod hostile;
mod measure;
mod moving;
mod process;
mod sandbox;
mod serve;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(process::WORKER) => return process::worker(),
        Some(process::ECHO) => {
            measure::echo();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let arguments = Arguments::from_args();
    let tests = [
        serve::tests(),
        moving::tests(),
        ending::tests(),
        hostile::tests(),
        hidden::tests(),
        sandbox::tests(),
        measure::tests(),
    ];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit_code()
}

/// A test that fails by panicking.
fn test(name: &str, body: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Failed::from(text.unwrap_or_else(|| "a panic".to_owned()))
        })
    })
}

//! Workers as processes of their own, with clients and brokers made of the test's own code. This program starts
//! itself again as a worker.

mod client;
mod ending;
mod hidden;
mod hostile;
#[path = "../common/lingering.rs"]
mod lingering;
mod measure;
mod moving;
#[path = "../../../accelerator/tests/accelerator/needles.rs"]
mod needles;
mod openings;
mod process;
mod purpose;
mod random;
mod requests;
mod sandbox;
mod secrets;
mod serve;
mod shares;
mod turns;

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// The same as in the command: a worker's heap is secret.
#[global_allocator]
static HEAP: millstream_shm::SecretHeap = millstream_shm::SecretHeap;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(process::WORKER) => return process::worker(),
        Some(process::ECHO) => {
            measure::echo();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !QUIET.get() {
            usual(panic);
        }
    }));
    let arguments = Arguments::from_args();
    let tests = [
        serve::tests(),
        moving::tests(),
        purpose::tests(),
        random::tests(),
        ending::tests(),
        hostile::tests(),
        shares::tests(),
        turns::tests(),
        requests::tests(),
        openings::tests(),
        hidden::tests(),
        sandbox::tests(),
        secrets::tests(),
        measure::tests(),
    ];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit_code()
}

thread_local! {
    /// True while this thread's panics are caught and not printed. Most tests of rules must fail, and a
    /// backtrace of each would hide that of a real failure.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Returns the message of a panic in `body`, if it panics.
fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    QUIET.set(false);
    result.map_err(said)
}

/// Makes a test that fails by panicking.
fn test(name: &str, body: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        panic::catch_unwind(AssertUnwindSafe(body)).map_err(|panic| Failed::from(said(panic)))
    })
}

/// Returns the message of a panic.
fn said(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic".to_owned())
}

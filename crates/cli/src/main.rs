//! The command `millstream`, and `digest`, `mac`, `encrypt` and `decrypt` when called by those names.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The system's allocator, except for workers, whose heap lies in memory for keys.
#[global_allocator]
static HEAP: millstream_shm::SecretHeap = millstream_shm::SecretHeap;

fn main() -> ExitCode {
    millstream_cli::run(std::env::args_os().collect())
}

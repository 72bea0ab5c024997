//! The command `millstream`, and `digest`, `mac`, `encrypt` and `decrypt` when called by those names.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    millstream_cli::run(std::env::args_os().collect())
}

//! `millstream worker`: a worker process, which only the service starts.

use std::time::Duration;

use millstream_broker::worker::{self, Config};

use crate::error::Error;

/// Hold keys and compute for the service, which starts this
#[derive(clap::Args)]
pub(super) struct Worker {
    /// Nanoseconds to poll empty rings before sleeping
    #[arg(long, value_name = "N")]
    spin_ns: Option<u64>,
    /// Nanoseconds that operations may wait for others
    #[arg(long, value_name = "N")]
    flush_ns: Option<u64>,
    /// The processor to be pinned to
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// The most bytes of memory for keys
    #[arg(long, value_name = "N")]
    key_memory: Option<usize>,
    /// Serve private keys only
    #[arg(long)]
    private_keys: bool,
    /// Open tokens
    #[arg(long)]
    tokens: bool,
    /// Keep warnings back
    #[arg(long)]
    quiet: bool,
}

impl Worker {
    /// Runs the worker, whose control socket is standard input.
    pub(super) fn run(self) -> Result<(), Error> {
        let usual = Config::new(0);
        let config = Config {
            cpu: self.cpu,
            spin: self.spin_ns.map_or(usual.spin, Duration::from_nanos),
            flush: self.flush_ns.map_or(usual.flush, Duration::from_nanos),
            key_memory: self.key_memory.unwrap_or(usual.key_memory),
            private_keys: self.private_keys,
            tokens: self.tokens,
            ..usual
        };
        worker::run(config).map_err(|error| Error::Serve(error.to_string()))
    }
}

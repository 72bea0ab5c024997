//! `millstream move`: moves a grant to another worker.

use millstream::isolated::Service;

use crate::commands::{At, pages};
use crate::error::Error;

/// Move a grant to another worker
///
/// The worker that has it finishes the operations in flight and hands over its keys and its place in the
/// queues. The client notices nothing. Only root, the service's user and the policy's operators may do this.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::MOVE))]
pub(super) struct Move {
    /// The number of the grant, as `millstream status` shows it
    grant: u64,
    /// The number of the worker
    worker: u32,
    #[command(flatten)]
    at: At,
}

impl Move {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut service = Service::connect(self.at.socket.as_deref())?;
        Ok(service.move_grant(self.grant, self.worker)?)
    }
}

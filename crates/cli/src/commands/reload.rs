//! `millstream reload`: reads the policy file again.

use millstream::isolated::Service;

use crate::commands::{At, pages};
use crate::error::Error;

/// Have the running service read its policy file again
///
/// This does what SIGHUP does, but with an answer: a file that can't be used is an error that names the line,
/// and the old policy stays. Only root, the service's user and the policy's operators may do this.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::RELOAD))]
pub(super) struct Reload {
    #[command(flatten)]
    at: At,
}

impl Reload {
    pub(super) fn run(self) -> Result<(), Error> {
        Ok(Service::connect(self.at.socket.as_deref())?.reload()?)
    }
}

//! `millstream reload`: the policy file once more.

use millstream::isolated::Service;

use crate::commands::{At, man};
use crate::error::Error;

/// Have the running service read its policy file again
///
/// As SIGHUP, but with an answer: a file that can't be used is an error that names the line, and the old policy stays.
/// Only root, the service's user and the policy's operators may.
#[derive(clap::Args)]
#[command(after_long_help = man::help(man::RELOAD))]
pub(super) struct Reload {
    #[command(flatten)]
    at: At,
}

impl Reload {
    pub(super) fn run(self) -> Result<(), Error> {
        Ok(Service::connect(self.at.socket.as_deref())?.reload()?)
    }
}

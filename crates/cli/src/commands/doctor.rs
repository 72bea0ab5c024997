//! `millstream doctor`: says what this machine has, what it lacks, and what to do about it.

use std::path::PathBuf;

use crate::commands::{pages, print};
use crate::doctor::{self, Part, Places, State};
use crate::error::{Error, exit};

/// Examine this machine, and say what to do about what it lacks
///
/// A line for each check says ok, warn or fail, and a second one has the remedy. Parts that are named have to work:
/// a missing service or provider is a fault then, and a warning else.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::DOCTOR))]
pub(super) struct Doctor {
    /// The parts to examine [default: all]
    #[arg(value_name = "PART", value_enum)]
    parts: Vec<Part>,
    /// The service's socket [default: what MILLSTREAM_SOCKET names, else this user's or the machine's]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The policy file to read [default: /etc/millstream/policy.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The provider's module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) fn run(self) -> Result<(), Error> {
        let places = Places { socket: self.socket, policy: self.policy, module: self.module };
        let findings = doctor::examine(&self.parts, &places);
        print(if self.json { format!("{:#}\n", doctor::json(&findings)) } else { doctor::text(&findings) })?;
        let has_fault = findings.iter().any(|(_, finding)| finding.state == State::Fail);
        if has_fault { Err(Error::Reported(exit::FAILURE)) } else { Ok(()) }
    }
}

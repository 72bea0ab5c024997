//! `millstream revoke`: ends grants.

use millstream::isolated::{Service, ServiceError};
use millstream_protocol::Refusal;

use crate::commands::{At, Context, pages};
use crate::error::{Error, exit};

/// Take grants away from their owners
///
/// Operations that have begun are finished, all others end as revoked with their input intact, and the
/// grant's keys are zeroised. Users may revoke their own grants; root, the service's user and the policy's
/// operators may revoke any.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::REVOKE))]
pub(super) struct Revoke {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    at: At,
}

/// The grants to revoke.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Numbers of grants, as `millstream status` shows them
    #[arg(value_name = "GRANT")]
    grants: Vec<u64>,
    /// Every grant that you may revoke
    #[arg(short = 'a', long)]
    all: bool,
}

impl Revoke {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let mut service = Service::connect(self.at.socket.as_deref())?;
        let grants = match self.which.all {
            true => service.status()?.grants.iter().map(|grant| grant.grant.id).collect(),
            false => self.which.grants,
        };
        let mut failed = false;
        for grant in grants {
            match service.revoke(grant) {
                Ok(()) => {}
                // The remaining grants are revoked anyway.
                Err(ServiceError::Refused { why: why @ Refusal::NoSuchGrant, .. }) => {
                    context.fail(format_args!(
                        "grant {grant}: {why}; 'millstream status' lists those you may revoke"
                    ));
                    failed = true;
                }
                Err(error @ ServiceError::Refused { .. }) => {
                    context.fail(format_args!("grant {grant}: {error}"));
                    failed = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if failed { Err(Error::Reported(exit::FAILURE)) } else { Ok(()) }
    }
}

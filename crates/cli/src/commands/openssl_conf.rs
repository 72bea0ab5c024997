//! `millstream openssl-conf`: prints the configuration that makes programs use Millstream permanently.

use std::path::PathBuf;

use crate::commands::{Context, pages, print};
use crate::error::{Error, plain};
use crate::programs::base::{self, Base};
use crate::programs::configuration::{Configuration, Isolated};
use crate::programs::module;

/// Print an OpenSSL configuration that makes programs use Millstream
///
/// The output includes and extends the existing configuration: other providers and settings stay as they are. A
/// program uses it when OPENSSL_CONF names the file that it was written to.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::OPENSSL_CONF))]
pub(super) struct OpensslConf {
    /// Keep keys in the service, out of the programs' reach: all, or with --isolated=private the private keys that
    /// they load
    #[arg(short = 'I', long, value_name = "KEYS", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    isolated: Option<Isolated>,
    /// The service's socket; implies --isolated [default: what MILLSTREAM_SOCKET names when a program runs, else its
    /// user's or the machine's]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// A file of counters that programs add to; it must exist when they run
    #[arg(long, value_name = "PATH")]
    tally: Option<PathBuf>,
    #[command(flatten)]
    from: From,
    /// Leave out the inclusion, to append the output to the existing file instead
    #[arg(long)]
    append: bool,
}

/// The inputs of a configuration.
#[derive(clap::Args)]
pub(super) struct From {
    /// The provider's module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]
    #[arg(long, value_name = "PATH")]
    pub(super) module: Option<PathBuf>,
    /// The configuration to extend [default: what OPENSSL_CONF names, else the system's]
    #[arg(long, value_name = "FILE")]
    pub(super) base: Option<PathBuf>,
}

impl From {
    /// Returns the configuration to extend and its path, if there is one.
    pub(super) fn base(&self) -> Result<(Base, Option<PathBuf>), Error> {
        let Some(path) = self.base.clone().or_else(base::usual) else { return Ok((Base::default(), None)) };
        let open = |source| Error::Open { path: path.clone(), source };
        // The programs will run in other directories.
        let path = std::path::absolute(&path).map_err(open)?;
        module::writable(&path)?;
        let base = Base::read(&path).map_err(open)?;
        Ok((base, Some(path)))
    }
}

impl OpensslConf {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let (base, path) = self.from.base()?;
        let absolute = |path: &PathBuf| {
            let failed = |source| Error::Usage(format!("{}: {}", path.display(), plain(&source)));
            let path = std::path::absolute(path).map_err(failed)?;
            module::writable(&path).map(|()| path)
        };
        let configuration = Configuration {
            module: module::find(self.from.module.as_deref())?,
            isolated: self.isolated.or(self.socket.is_some().then_some(Isolated::All)),
            socket: self.socket.as_ref().map(absolute).transpose()?,
            tally: self.tally.as_ref().map(absolute).transpose()?,
        };
        if module::is_of_a_build(&configuration.module) {
            let module = configuration.module.display();
            context.say(format_args!(
                "warning: {module} goes with its build, and every program that reads this fails then; install it with \
                 'cargo xtask install', or name another with --module"
            ));
        }
        let include = path.as_deref().filter(|_| !self.append);
        print(format!(
            "# OpenSSL with Millstream, by millstream openssl-conf.\n\n{}",
            configuration.text(&base, include)
        ))
    }
}

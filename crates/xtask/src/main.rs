//! Millstream's development tasks. `cargo xtask ci` is the whole pipeline.

mod ci;
mod crates;
mod demo;
mod deps;
mod dpdk;
mod generate;
mod install;
mod links;
mod openssl;
mod python;
mod release;
mod run;
mod setup;
mod twice;
mod upstream;
mod vectors;
mod voice;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Millstream's development tasks.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Start the service on its own, run real work through it, watch it, compare it, and stop it.
    Demo,
    /// Run the whole pipeline: what a change must pass.
    Ci {
        /// Install what the pipeline needs first (apt, rustup, cargo).
        #[arg(long)]
        install: bool,
        /// Run only the steps whose name contains this.
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Also what takes too long for each change: all of Miri's tests, OpenSSL 4 for SPARC, five minutes for each
        /// fuzz target, and other projects' own tests.
        #[arg(long)]
        deep: bool,
    },
    /// Run what a change must pass before the pipeline: format, imports, voice, links, clippy, and the tests but for those that run
    /// other programs.
    Test {
        /// Only the tests of these packages.
        packages: Vec<String>,
    },
    /// Install what the pipeline needs (apt, rustup, cargo).
    Setup,
    /// Bring the published test vectors to target/vectors.
    Vectors,
    /// Build the newest OpenSSL of each series under target/openssl (shared by MILLSTREAM_OPENSSL_CACHE).
    Openssl,
    /// Build the Python package's wheel and run its tests, in an environment under target/python.
    Python {
        /// Build it as it is released, for measurements.
        #[arg(long)]
        release: bool,
    },
    /// Build the driver for DPDK, libmillstream-dpdk.so, where libdpdk-dev is installed.
    Dpdk,
    /// Check that each crate depends only on those that ARCHITECTURE.md allows it, and that files import each other in no new circle.
    Deps,
    /// Lower the limits of comments that open with a fragment, or list those below a folder.
    Voice {
        /// The folder.
        folder: Option<std::path::PathBuf>,
    },
    /// Write the files that are generated: the table of kernels in docs/kernels.md, the C header, man pages, completions.
    Generate {
        /// Change nothing; fail if a file is not up to date.
        #[arg(long)]
        check: bool,
    },
    /// Run another project's own tests without and with Millstream, and compare.
    Upstream(upstream::Upstream),
    /// Build and install the command, the C library, the provider, and what belongs to them.
    Install(install::Install),
    /// Remove what `install` has put below a prefix, and nothing else.
    Uninstall(install::Uninstall),
    /// Make Debian packages, archives, an image for containers, and the lists that go with them.
    Release(release::Release),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Demo => demo::demo(),
        Task::Ci { install, only, deep } => ci::ci(install, only.as_deref(), deep),
        Task::Test { packages } => ci::test(&packages),
        Task::Setup => setup::setup(),
        Task::Vectors => vectors::install(),
        Task::Openssl => openssl::openssl(true),
        Task::Python { release } => python::python(release),
        Task::Dpdk => dpdk::dpdk(),
        Task::Deps => deps::check(),
        Task::Voice { folder } => voice::lower(folder.as_deref()),
        Task::Generate { check } => generate::generate(check, true),
        Task::Upstream(upstream) => upstream.run(),
        Task::Install(install) => install.run(),
        Task::Uninstall(uninstall) => uninstall.run(),
        Task::Release(release) => release.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

//! The data plane of ESP: a TUN device on one side, sockets on the other, and threads between them.
//!
//! `plane` has what all threads share. `leaving` reads inner packets from the device, and `arriving` reads packets from a socket;
//! both hand them to the workers of the crate `millstream-esp`, which give them back in order. `upkeep` does what time asks for, and `control` answers
//! other processes of the user. `kernel` follows the associations of a daemon.

mod add;
mod arriving;
mod changes;
mod control;
mod kernel;
mod leaving;
mod options;
mod outer;
mod path_mtu;
mod paths;
mod plane;
mod rebind;
mod records;
mod report;
mod sockets;
mod tun;
mod upkeep;

use std::io;
use std::sync::Arc;

use millstream_esp::{Place, Service, Workers};
use nix::sys::signal::{SigSet, Signal};

pub(crate) use control::{MOST_BYTES, ask, socket_path};
pub(crate) use kernel::Say;
pub(crate) use options::Options;
pub(crate) use report::text;

use crate::error::Error;
use kernel::Kernel;
use plane::Plane;
use records::Records;
use tun::Tun;

/// Carries packets until SIGINT or SIGTERM comes. `say` gets what the user should hear.
///
/// # Errors
/// [`Error`], when it can't begin.
pub(crate) fn run(options: &Options, say: &Say) -> Result<(), Error> {
    // Threads inherit the mask, so that the signals come to this thread alone.
    let mut ends = SigSet::empty();
    ends.extend([Signal::SIGINT, Signal::SIGTERM]);
    ends.thread_block().map_err(|error| failed("the signal mask", error.into()))?;

    // Before anything is made that would have to go again.
    let kernel = options.from_kernel.then(Kernel::open).transpose()?;
    let text = options.file.as_deref().map(add::read).transpose()?;
    let records = Records::open(&options.state).map_err(|error| failed_at(&options.state, error))?;
    if records.is_volatile() {
        say(&format!(
            "{} is in memory, and is lost with it: only use keys that are lost with it, too",
            options.state.display()
        ));
    }
    let place = match &options.service {
        Some(attach) => Place::Worker(Arc::new(Service::connect(attach.clone())?)),
        None => Place::Here,
    };
    let tun = Tun::create(&options.tun).map_err(|error| failed(&format!("device {}", options.tun), error))?;
    let workers = Workers::start(place.clone(), options.workers);
    let workers = workers.map_err(|error| failed("threads", error))?;
    let plane = Arc::new(Plane::new(tun, place, records, workers, options));
    if let (Some(path), Some(text)) = (&options.file, text) {
        add::from_file(&plane, path, &text)?;
    }
    if let Some(kernel) = kernel {
        kernel.follow(&plane, say)?;
    }
    plane.tun.bring_up(plane.inner_mtu()).map_err(|error| failed(plane.tun.name(), error))?;
    let _server = control::Server::start(&options.control, &plane)?;
    leaving::start(&plane).map_err(|error| failed("threads", error))?;
    upkeep::start(&plane).map_err(|error| failed("threads", error))?;
    let (name, mtu) = (plane.tun.name(), plane.inner_mtu());
    say(&format!("device {name} is up, with packets of {mtu} bytes; millstream esp show tells how it goes"));
    ends.wait().map_err(|error| failed("signals", error.into()))?;
    plane.settle().map_err(|error| failed_at(&options.state, error))
}

fn failed(name: &str, source: io::Error) -> Error {
    Error::Write { name: name.to_owned(), source }
}

fn failed_at(path: &std::path::Path, source: io::Error) -> Error {
    failed(&path.display().to_string(), source)
}

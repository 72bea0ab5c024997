//! The connection to a running service, and what is asked of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use millstream_protocol::{GrantStatus, Message, Reply, Request, WorkerStatus};
use millstream_shm::Socket;

use crate::error::{Error, plain};

/// A service that has not answered by then does not work.
const PATIENCE: Duration = Duration::from_secs(10);

/// A service, connected.
pub struct Service {
    path: PathBuf,
    socket: Socket,
}

/// What there is at one moment.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// The workers.
    pub workers: Vec<WorkerStatus>,
    /// The grants that the caller may see.
    pub grants: Vec<GrantStatus>,
}

impl Service {
    /// Connects at `path`, or where this user's service or the machine's is.
    ///
    /// # Errors
    /// [`Error::NoService`] when nobody listens there.
    pub fn connect(path: Option<&Path>) -> Result<Service, Error> {
        let places = path.map_or_else(millstream_protocol::sockets, |path| vec![path.to_owned()]);
        let mut first = None;
        for path in places {
            match Socket::connect(&path) {
                Ok(socket) => return Ok(Service { path, socket }),
                Err(source) => {
                    // A socket that refuses says more than one that is not there.
                    let says_more = source.kind() != io::ErrorKind::NotFound;
                    if first.is_none() || says_more {
                        first = Some((path, source));
                    }
                }
            }
        }
        let (path, source) = first.unwrap_or_else(|| (PathBuf::new(), io::ErrorKind::NotFound.into()));
        Err(Error::NoService { path, source })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything there is.
    ///
    /// # Errors
    /// When the service refuses or ends.
    pub fn census(&self) -> Result<Census, Error> {
        let mut census = Census::default();
        self.ask(&Request::Status {}, |reply| match reply {
            Reply::Worker { status } => census.workers.push(status),
            Reply::Grant { status } => census.grants.push(status),
            _ => {}
        })?;
        census.workers.sort_by_key(|worker| worker.worker);
        census.grants.sort_by_key(|grant| grant.grant.id);
        Ok(census)
    }

    /// Asks for something that is done or refused.
    ///
    /// # Errors
    /// When the service refuses or ends.
    pub fn order(&self, request: &Request) -> Result<(), Error> {
        self.ask(request, |_| {})
    }

    /// Sends a request and takes all answers up to the last.
    fn ask(&self, request: &Request, mut answer: impl FnMut(Reply)) -> Result<(), Error> {
        self.socket.send(&request.encode(), &[]).map_err(|source| self.failed(plain(&source)))?;
        loop {
            match self.reply()? {
                Reply::End {} => return Ok(()),
                Reply::Refused { why, detail } => return Err(Error::Refused { why, detail }),
                reply => answer(reply),
            }
        }
    }

    fn reply(&self) -> Result<Reply, Error> {
        let failed = |source: io::Error| self.failed(plain(&source));
        if !self.socket.wait(Some(PATIENCE)).map_err(failed)? {
            return Err(self.failed(format!("it has not answered for {} s", PATIENCE.as_secs())));
        }
        let message = self.socket.receive().map_err(failed)?;
        let message = message.ok_or_else(|| self.failed("it has ended".to_owned()))?;
        Reply::decode(&message.bytes).map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, why: String) -> Error {
        Error::Service { path: self.path.clone(), why }
    }
}

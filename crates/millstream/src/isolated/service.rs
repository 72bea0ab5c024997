//! The operator's side of the service's socket: what there is, and orders.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use millstream_protocol::{self as protocol, GrantStatus, Message, Reply, Request, UseStatus, WorkerStatus};
use millstream_shm::Socket;

use super::attach::{receive, unreached};
use super::{Attach, AttachError};

/// Why an operator got no answer: the same as for a client.
pub type ServiceError = AttachError;

/// The state of a service. A caller who is neither root nor the service's user sees its own grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The service's workers.
    pub workers: Vec<WorkerStatus>,
    /// The service's grants.
    pub grants: Vec<GrantStatus>,
    /// The use of each resource: of the service, its workers and its users. A caller who is no operator sees its own
    /// use alone.
    pub uses: Vec<UseStatus>,
}

/// A connection to a service, to ask and order.
///
/// ```no_run
/// use millstream::isolated::Service;
///
/// let mut service = Service::connect(None)?;
/// for grant in service.status()?.grants {
///     println!("{} of {} (process {})", grant.grant.id, grant.name, grant.pid);
/// }
/// # Ok::<(), millstream::isolated::ServiceError>(())
/// ```
#[derive(Debug)]
pub struct Service {
    socket: Socket,
    path: PathBuf,
    limit: Duration,
}

impl Service {
    /// Connects to the service at a socket, or where one usually is.
    ///
    /// # Errors
    /// [`AttachError::NoService`] and others.
    pub fn connect(path: Option<&Path>) -> Result<Self, ServiceError> {
        let attach = Attach { socket: path.map(Path::to_owned), ..Attach::default() };
        // An operator sends no secret, and root may look at the service of any user.
        let (socket, path) = attach.reach(|_, _| Ok(()))?;
        Ok(Service { socket, path, limit: attach.limit })
    }

    /// Returns the service's socket.
    pub fn socket(&self) -> &Path {
        &self.path
    }

    /// Asks for the service's state.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub fn status(&mut self) -> Result<Status, ServiceError> {
        let mut status = Status::default();
        let until = self.send(&Request::Status {})?;
        loop {
            match self.answer(until)? {
                Reply::Worker { status: worker } => status.workers.push(worker),
                Reply::Grant { status: grant } => status.grants.push(grant),
                Reply::Use { status: used } => status.uses.push(used),
                Reply::End {} => return Ok(status),
                other => return Err(self.unexpected(other)),
            }
        }
    }

    /// Ends a grant.
    ///
    /// # Errors
    /// [`ServiceError`]; [`AttachError::Refused`] when there is no such grant, or it is another user's.
    pub fn revoke(&mut self, grant: u64) -> Result<(), ServiceError> {
        self.order(&Request::Revoke { grant })
    }

    /// Moves a grant to another worker; its client notices nothing.
    ///
    /// # Errors
    /// As [`Service::revoke`]; also when there is no such worker.
    pub fn move_grant(&mut self, grant: u64, worker: u32) -> Result<(), ServiceError> {
        self.order(&Request::Move { grant, worker })
    }

    /// Has the policy file read again.
    ///
    /// # Errors
    /// [`ServiceError`]; [`AttachError::Refused`] when it can't be used: the old policy stays.
    pub fn reload(&mut self) -> Result<(), ServiceError> {
        self.order(&Request::Reload {})
    }

    fn order(&mut self, request: &Request) -> Result<(), ServiceError> {
        let until = self.send(request)?;
        match self.answer(until)? {
            Reply::End {} => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// Sends a request; until when all of its answer must have come.
    fn send(&self, request: &Request) -> Result<Instant, ServiceError> {
        let sent = self.socket.send(&request.encode(), &[]);
        sent.map_err(|error| unreached(error, self.path.clone(), self.limit))?;
        Ok(Instant::now() + self.limit)
    }

    fn answer(&self, until: Instant) -> Result<Reply, ServiceError> {
        Ok(receive(&self.socket, &self.path, until, self.limit)?.0)
    }

    fn unexpected(&self, reply: Reply) -> ServiceError {
        match reply {
            protocol::Reply::Refused { why, detail } => AttachError::Refused { why, detail },
            _ => AttachError::Answer { path: self.path.clone(), what: "something else than was asked" },
        }
    }
}

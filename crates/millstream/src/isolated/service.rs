//! The operator's side of the service's socket: what there is, and orders.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millstream_protocol::{
    self as protocol, Attributes, GrantStatus, Message, Reply, Request, TokenStatus, UseStatus, WorkerStatus,
};
use millstream_shm::{Mapping, Memory, Socket, Words};

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

/// The count of the changes of all tokens of a service, as long as the [`Service`] that it came from is not closed.
///
/// A list of tokens or objects that was asked for after a look is good until another look has another result.
#[derive(Clone, Debug)]
pub struct TokenChanges(Words);

impl TokenChanges {
    /// Returns the count. It steps when a change is on the disk, before the one who made it is answered, and also where a change was tried and failed.
    pub fn count(&self) -> u64 {
        self.0[0].load(Ordering::Acquire)
    }
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

    /// Lists the tokens that this user may use. That takes no PIN.
    ///
    /// # Errors
    /// [`ServiceError`]; [`AttachError::Refused`] with [`Refusal::NoTokens`](super::ServiceRefusal::NoTokens) when the service keeps none.
    pub fn tokens(&mut self) -> Result<Vec<TokenStatus>, ServiceError> {
        let until = self.send(&Request::Tokens {})?;
        let mut tokens = Vec::new();
        loop {
            match self.answer(until)? {
                Reply::Token { status } => tokens.push(status),
                Reply::End {} => return Ok(tokens),
                other => return Err(self.unexpected(other)),
            }
        }
    }

    /// Lists the keys of a token, in ascending order of their identifiers. That takes no PIN, and says what the service's file says; an open token
    /// [shows](super::token::OpenToken::show) what is authentic.
    ///
    /// # Errors
    /// As [`Service::tokens`]; [`AttachError::Refused`] when there is no such token, or this user may not use it.
    pub fn objects(&mut self, token: u128) -> Result<Vec<(u128, Attributes)>, ServiceError> {
        let (mut objects, mut after) = (Vec::new(), 0);
        loop {
            let until = self.send(&Request::Objects { token, after })?;
            let (some, more) = match self.answer(until)? {
                Reply::Objects { objects, more } => (objects, more),
                other => return Err(self.unexpected(other)),
            };
            let Some((last, _)) = some.last() else { return Ok(objects) };
            after = *last;
            for (object, attributes) in some {
                // Objects that a newer release wrote are left out.
                objects.extend(Attributes::decode(&attributes).ok().map(|attributes| (object, attributes)));
            }
            if !more {
                return Ok(objects);
            }
        }
    }

    /// Returns the count of the changes of all tokens, which takes no request to look at.
    ///
    /// # Errors
    /// As [`Service::tokens`].
    pub fn changes(&mut self) -> Result<TokenChanges, ServiceError> {
        let until = self.send(&Request::Changes {})?;
        let (reply, mut descriptors) = receive(&self.socket, &self.path, until, self.limit)?;
        let (Reply::Changes {}, Some(page)) = (&reply, descriptors.pop()) else {
            return Err(self.unexpected(reply));
        };
        let page = Memory::received(page).and_then(|page| Mapping::read_only(&page));
        let words = page.ok().and_then(|page| page.words(0, 1));
        let what = "a page of another size";
        words.map(TokenChanges).ok_or_else(|| AttachError::Answer { path: self.path.clone(), what })
    }

    /// Returns true when the service has closed the connection.
    pub fn is_closed(&self) -> bool {
        self.socket.is_closed()
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

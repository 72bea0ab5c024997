//! The keeper: the thread that has the store's file. A commit waits for the disk, so the broker's own thread leaves it to this one, and hears by a bell.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use millstream_cpu::Features;
use millstream_protocol::{KeyRefusal, MOST_OBJECT_BYTES, Refusal, STATE_BYTES, Secret, TokenStatus};
use millstream_shm::{Mapping, Memory, Words};
use millstream_store::vault::{Change, Header, LocalVault, Records, Vault};
use millstream_store::{DeviceSecret, Error, File, ObjectId, Origin, Role, TokenId, folder};
use rustix::event::{EventfdFlags, eventfd};

use super::records::pack;
use super::refusal::refusal;
use crate::identity::Peer;
use crate::ledger::Account;
use crate::policy::{Right, Tokens};

/// The stack of the thread: the database's own depth, with room.
const STACK: usize = 1 << 20;

/// The party that asks, and is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A worker, by its number and how often it was started again, with its ticket.
    Worker { index: usize, life: u64, ticket: u64 },
    /// A client, by its connection.
    Client(u64),
}

/// A question.
pub(crate) enum Ask {
    CountTry { token: TokenId, role: Role },
    EndTry { token: TokenId, role: Role, right: bool },
    LookUp { token: TokenId, object: Option<ObjectId>, known: Vec<u8>, needs: Right },
    Change { token: TokenId, object: ObjectId, before: Vec<u8>, attributes: Vec<u8>, change: Change },
    ReplaceHeader { token: TokenId, role: Role, before: Vec<u8>, records: Records },
    AddToken { old: Option<TokenId>, records: Records },
    RemoveToken { token: TokenId },
    Tokens,
    Objects { token: TokenId, after: ObjectId },
}

/// A question, and whose it is.
pub(crate) struct Job {
    pub(crate) asker: Asker,
    /// The account that has one question less when this is answered.
    pub(crate) account: Account,
    pub(crate) peer: Peer,
    /// The rights as they are now.
    pub(crate) tokens: Tokens,
    pub(crate) ask: Ask,
}

/// An answer.
pub(crate) enum Answer {
    /// An answer to a worker. Memory comes along where the worker has to know the token as it is.
    Found {
        taken: bool,
        left: u8,
        attributes: Vec<u8>,
        sealed: Vec<u8>,
        memory: Option<Memory>,
    },
    /// A refusal for a worker, with the text for the log if the store itself failed.
    NotFound(KeyRefusal, Option<String>),
    Tokens(Vec<TokenStatus>),
    Objects(Vec<(u128, Vec<u8>)>, bool),
    Refused(Refusal),
}

/// An answered question.
pub(crate) struct Answered {
    pub(crate) asker: Asker,
    pub(crate) account: Account,
    pub(crate) answer: Answer,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    answered: Vec<Answered>,
    ends: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    bell: OwnedFd,
}

/// The thread with the store, and the device secret.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    device: DeviceSecret,
    page: Arc<Memory>,
    changes: Words,
}

impl Keeper {
    /// Opens the store in a folder, and makes it if it is not there.
    ///
    /// # Errors
    /// [`Error`], as of [`folder::open_or_make`]; [`Error::Io`] where there can be no more threads or descriptors.
    pub(crate) fn open(place: &Path) -> Result<(Self, Origin), Error> {
        let (file, device, origin) = folder::open_or_make(place, File::open)?;
        for damage in file.damage() {
            tracing::error!(token = %damage.token, why = %damage.why, "a record of the store is left alone");
        }
        let system = |source: io::Error| Error::Io { path: place.to_owned(), source };
        let bell =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|why| system(why.into()))?;
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), bell });
        let vault = LocalVault::new(Features::hardware(), device.clone());
        let (page, changes) = changes_page().map_err(system)?;
        let (body, mut store) = (shared.clone(), Store { file, vault, changes: changes.clone() });
        let thread = thread::Builder::new().name("store".to_owned()).stack_size(STACK);
        let thread = thread.spawn(move || body.run(&mut store)).map_err(system)?;
        Ok((Keeper { shared, thread: Some(thread), device, page, changes }, origin))
    }

    /// Returns the device secret, for a worker.
    pub(crate) fn device(&self) -> Secret {
        Secret::new(self.device.bytes())
    }

    /// Returns the page that counts changes, for clients to map.
    pub(crate) fn page(&self) -> Arc<Memory> {
        self.page.clone()
    }

    /// Has clients ask again what they may use, after the policy was changed.
    pub(crate) fn note_policy(&self) {
        self.changes[0].fetch_add(1, Ordering::Release);
    }

    /// Passes a question on.
    pub(crate) fn ask(&self, job: Job) {
        self.shared.lock().jobs.push_back(job);
        self.shared.changed.notify_all();
    }

    /// Returns the answers since the last call.
    pub(crate) fn answered(&self) -> Vec<Answered> {
        // The value only tells how often the bell rang.
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8]);
        std::mem::take(&mut self.shared.lock().answered)
    }
}

impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

impl Drop for Keeper {
    /// Closes the store, after the change that is under way.
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, store: &mut Store) {
        let mut state = self.lock();
        while !state.ends {
            let Some(Job { asker, account, peer, tokens, ask }) = state.jobs.pop_front() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let answer = store.answer(&peer, &tokens, ask);
            state = self.lock();
            state.answered.push(Answered { asker, account, answer });
            // A full bell has been rung already.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }
}

/// Makes the page that counts the changes of all tokens, and maps its word for writing. Nobody else can do so.
fn changes_page() -> io::Result<(Arc<Memory>, Words)> {
    let page = Memory::new("millstream tokens", STATE_BYTES)?;
    page.commit()?;
    let words = Mapping::shared(&page)?.words(0, 1).ok_or(io::ErrorKind::InvalidInput)?;
    page.seal_writing()?;
    Ok((Arc::new(page), words))
}

/// The store, on its thread.
struct Store {
    file: File,
    /// The count of changes that clients see, of all tokens. It steps when a change is on the disk, before anybody is answered.
    changes: Words,
    /// Checks what can be checked of a token before a PIN is tried.
    vault: LocalVault,
}

/// A PIN of a length that PINs have, for checks that look at nothing else of it.
const ANY_PIN: &[u8] = b"0000";

impl Store {
    fn answer(&mut self, peer: &Peer, tokens: &Tokens, ask: Ask) -> Answer {
        let lists = matches!(ask, Ask::Tokens | Ask::Objects { .. });
        let reads = lists || matches!(ask, Ask::LookUp { .. });
        let answered = self.answered(peer, tokens, ask);
        // A change that failed may have reached the disk all the same.
        if !reads {
            self.changes[0].fetch_add(1, Ordering::Release);
        }
        match answered {
            Ok(answer) => answer,
            Err(Error::NoToken(_)) if lists => Answer::Refused(Refusal::NoSuchToken),
            Err(_) if lists => Answer::Refused(Refusal::Exhausted),
            Err(error) => {
                let why = refusal(&error);
                let logged = matches!(why, KeyRefusal::Store | KeyRefusal::StoreFull | KeyRefusal::Forged);
                Answer::NotFound(why, logged.then(|| error.to_string()))
            }
        }
    }

    fn answered(&mut self, peer: &Peer, tokens: &Tokens, ask: Ask) -> Result<Answer, Error> {
        let manages = || Ok(Answer::NotFound(KeyRefusal::NotManager, None));
        match ask {
            Ask::CountTry { token, role } => {
                let needs = if role == Role::Officer { Right::Manage } else { Right::Use };
                let right = self.right(token, peer, tokens)?;
                if right < needs {
                    return manages();
                }
                let records = self.file.records(token)?;
                self.vault.check(&records.header, role, ANY_PIN)?;
                // The try counts as a wrong one until it was right, whatever becomes of who tries.
                let left = match right {
                    Right::Manage => self.file.count_try(token, role)?,
                    _ => self.file.count_try_of(token, role, peer.uid)?,
                };
                Ok(found(true, left, Some(self.packed(token)?)))
            }
            Ask::EndTry { token, role, right } => {
                if right {
                    self.file.clear_tries_of(token, role, peer.uid)?;
                }
                Ok(found(true, 0, None))
            }
            Ask::LookUp { token, object, known, needs } => {
                if self.right(token, peer, tokens)? < needs {
                    return manages();
                }
                let stored = object.map(|object| self.file.get(token, object)).transpose()?;
                let is_known = self.file.records(token)?.index == known;
                let memory = if is_known { None } else { Some(self.packed(token)?) };
                let (attributes, sealed) =
                    stored.map(|stored| (stored.attributes, stored.sealed)).unwrap_or_default();
                if attributes.len() + sealed.len() > MOST_OBJECT_BYTES {
                    return Ok(Answer::NotFound(KeyRefusal::TooLong, None));
                }
                Ok(Answer::Found { taken: true, left: 0, attributes, sealed, memory })
            }
            Ask::Change { token, object, before, attributes, change } => {
                if self.right(token, peer, tokens)? < Right::Manage {
                    return manages();
                }
                let changed = self.file.change(token, object, &before, &attributes, &change);
                self.taken(token, changed)
            }
            Ask::ReplaceHeader { token, role, before, records } => {
                if self.right(token, peer, tokens)? < Right::Manage {
                    return manages();
                }
                let changed = self.file.replace_header(token, &before, &records, role);
                self.taken(token, changed)
            }
            Ask::AddToken { old, records } => {
                let header = Header::decode(&records.header)?;
                let of_old = old.map_or(Ok(Right::Manage), |old| self.right(old, peer, tokens))?;
                if of_old.min(tokens.right(&header.label, peer)) < Right::Manage {
                    return manages();
                }
                match old {
                    Some(old) => self.file.replace_token(old, &records)?,
                    None => self.file.add_token(&records)?,
                };
                Ok(found(true, 0, None))
            }
            Ask::RemoveToken { token } => {
                if self.right(token, peer, tokens)? < Right::Manage {
                    return manages();
                }
                self.file.remove_token(token)?;
                Ok(found(true, 0, None))
            }
            Ask::Tokens if !tokens.know(peer) => Ok(Answer::Refused(Refusal::Denied)),
            Ask::Tokens => {
                let status = |token: millstream_store::file::TokenInfo| {
                    let right = tokens.right(&token.label, peer);
                    (right > Right::Nothing).then(|| TokenStatus {
                        token: u128::from_be_bytes(token.token.0),
                        label: token.label,
                        has_user_pin: token.has_user_pin,
                        user_tries_left: token.user_tries_left,
                        officer_tries_left: token.officer_tries_left,
                        objects: u32::try_from(token.objects).unwrap_or(u32::MAX),
                        changes: token.changes,
                        manages: right == Right::Manage,
                        // The broker adds what it knows of grants.
                        ..TokenStatus::default()
                    })
                };
                Ok(Answer::Tokens(self.file.tokens().filter_map(status).collect()))
            }
            Ask::Objects { token, after } => {
                self.right(token, peer, tokens)?;
                self.objects(token, after)
            }
        }
    }

    /// Returns what a peer may do with a token. One with which it may do nothing is not there for it.
    fn right(&self, token: TokenId, peer: &Peer, tokens: &Tokens) -> Result<Right, Error> {
        let label = Header::decode(&self.file.records(token)?.header)?.label;
        match tokens.right(&label, peer) {
            Right::Nothing => Err(Error::NoToken(label)),
            right => Ok(right),
        }
    }

    fn packed(&self, token: TokenId) -> Result<Memory, Error> {
        let packed = pack(&self.file.records(token)?, self.file.objects(token)?);
        packed.map_err(|source| Error::Io { path: "memory for a worker".into(), source })
    }

    /// Returns the answer to a change. One that was based on an earlier state is to be made again.
    fn taken(&self, token: TokenId, changed: Result<(), Error>) -> Result<Answer, Error> {
        match changed {
            Ok(()) => Ok(found(true, 0, None)),
            Err(Error::Stale) => Ok(found(false, 0, Some(self.packed(token)?))),
            Err(error) => Err(error),
        }
    }

    fn objects(&mut self, token: TokenId, after: ObjectId) -> Result<Answer, Error> {
        let (mut listed, mut bytes, mut after) = (Vec::new(), 0, after);
        loop {
            let next = self.file.objects_after(token, after)?;
            let Some(last) = next.last() else { return Ok(Answer::Objects(listed, false)) };
            after = *last;
            for object in next {
                let attributes = self.file.get(token, object)?.attributes;
                // An object that fits no message can't be used here either.
                if attributes.len() > MOST_OBJECT_BYTES - 18 {
                    continue;
                }
                bytes += 18 + attributes.len();
                if bytes > MOST_OBJECT_BYTES {
                    return Ok(Answer::Objects(listed, true));
                }
                listed.push((u128::from_be_bytes(object.0), attributes));
            }
        }
    }
}

fn found(taken: bool, left: u8, memory: Option<Memory>) -> Answer {
    Answer::Found { taken, left, attributes: Vec::new(), sealed: Vec::new(), memory }
}

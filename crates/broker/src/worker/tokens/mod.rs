//! The worker as the vault of tokens: it opens them with PINs, loads their keys into slots, and seals what is new in them.
//!
//! The head of the broker's `tokens/mod.rs` says who has what, and how a request goes. Here each request is a [`Job`] that goes on when the broker
//! or the vault's thread has answered. This type makes no system call but to ring that thread's bell: what is to be sent comes back as an [`Effect`].
//!
//! All grants of this worker that have opened a token in one role share one session of it. Changes are made one at a time, so what the session holds to
//! be true when the file has it belongs to one of them.

mod job;
mod keys;
mod opening;
mod request;
mod thread;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::OwnedFd;

use millstream_cpu::Features;
use millstream_protocol::{KeyPurpose, KeyRefusal, KeyReply, KeyRequest, Report, Secret as Message};
use millstream_shm::Doorbell;
use millstream_store::vault::{Entry, LocalSession, LocalVault, Session, Vault};
use millstream_store::{Attributes, DeviceSecret, ObjectId, Role, TokenId};

use self::job::{Changing, Job, Name, Stage, What, Wrong};
use self::keys::{Secret, altered, fit, slot_usages};
use self::thread::{Outcome, Thread, Work};
use crate::tokens::records::unpack;
use crate::tokens::refusal::refusal;

pub(super) use self::thread::Body;

/// The most requests that wait for the vault's thread.
const MOST_QUEUED: usize = 16;
/// The most tokens that one grant has open.
const MOST_HELD: usize = 16;
/// The most tokens that are open in this worker.
const MOST_OPEN: usize = 64;
/// The times that a change is sealed anew because others came first.
const ATTEMPTS: u32 = 16;

/// A thing to be done after a step.
pub(super) enum Effect {
    /// The broker is to be asked.
    Tell(Report),
    /// A client is to be answered.
    Reply(u64, KeyReply),
    /// A key of a token is to be made a key of a grant, and its client answered.
    Load { grant: u64, algorithm: u8, purpose: KeyPurpose, key: Secret },
}

/// The fate of a request.
pub(super) enum Taken {
    /// The request is none about tokens.
    NotMine(KeyRequest),
    /// The request is answered now, if it has an answer.
    Now(Option<KeyReply>),
    /// The request is answered later; until then nothing more is read from that client.
    Later(Vec<Effect>),
}

struct Open {
    session: LocalSession,
    holders: usize,
}

/// The tokens that are open here, and the requests about them.
pub(super) struct Tokens {
    features: Features,
    /// None until the broker has told the device secret.
    vault: Option<LocalVault>,
    thread: Thread,
    open: HashMap<Name, Open>,
    /// The open tokens of each grant, by the numbers that its client has for them.
    held: BTreeMap<(u64, u32), Name>,
    /// Tokens that clients have closed, and the broker does not know of yet.
    closed: Vec<(u64, TokenId)>,
    numbers: u32,
    jobs: BTreeMap<u64, Job>,
    tickets: u64,
    /// The requests that wait for the vault's thread, and the one whose turn it is.
    queued: VecDeque<u64>,
    working: Option<u64>,
    /// The requests that wait to change something, and the one whose turn it is.
    waiting: VecDeque<u64>,
    changing: Option<u64>,
}

impl Tokens {
    /// Makes a vault without a device secret, and the body of its thread.
    pub(super) fn new(features: Features, bell: Doorbell, wipes: bool) -> (Self, Body) {
        let (thread, body) = thread::sides(bell, wipes);
        let tokens = Tokens {
            features,
            vault: None,
            thread,
            open: HashMap::new(),
            held: BTreeMap::new(),
            closed: Vec::new(),
            numbers: 0,
            jobs: BTreeMap::new(),
            tickets: 0,
            queued: VecDeque::new(),
            working: None,
            waiting: VecDeque::new(),
            changing: None,
        };
        (tokens, body)
    }

    /// Returns the bell that rings when the vault's thread has done something.
    pub(super) fn bell(&self) -> &Doorbell {
        self.thread.bell()
    }

    /// Takes the device secret; false if it can be none.
    pub(super) fn set_device(&mut self, secret: &[u8]) -> bool {
        let device = DeviceSecret::new(secret);
        self.vault = device.map(|device| LocalVault::new(self.features, device));
        self.vault.is_some()
    }

    /// Takes a client's request.
    pub(super) fn take(&mut self, grant: u64, request: KeyRequest) -> Taken {
        let what = match self.understood(grant, request) {
            Ok(Some(what)) => what,
            Ok(None) => return Taken::Now(None),
            Err(Wrong::NotMine(request)) => return Taken::NotMine(*request),
            Err(Wrong::Refused(why)) => return Taken::Now(Some(KeyReply::Refused { why })),
        };
        self.tickets += 1;
        let ticket = self.tickets;
        self.jobs.insert(ticket, Job { grant: Some(grant), what, stage: Stage::Queued });
        let mut effects = Vec::new();
        self.begin(ticket, &mut effects);
        Taken::Later(effects)
    }

    /// Returns what the broker is to be told of tokens that clients have closed.
    pub(super) fn tell_closed(&mut self) -> Vec<Effect> {
        let closed = std::mem::take(&mut self.closed);
        closed.into_iter().map(|(grant, token)| self.tell_held(grant, token)).collect()
    }

    /// Tells the broker how often a grant has a token open.
    fn tell_held(&self, grant: u64, token: TokenId) -> Effect {
        let held = self.held.range((grant, 0)..=(grant, u32::MAX));
        let sessions = held.filter(|(_, name)| name.0 == token).count() as u32;
        Effect::Tell(Report::HoldToken { grant, token: u128::from_be_bytes(token.0), sessions })
    }

    fn close(&mut self, grant: u64, session: u32) {
        let Some(name) = self.held.remove(&(grant, session)) else { return };
        if let Some(open) = self.open.get_mut(&name) {
            open.holders -= 1;
            if open.holders == 0 {
                self.open.remove(&name);
            }
        }
    }

    /// Forgets a grant: its open tokens are closed. What it has asked for and the broker knows of goes on without it. Returns its answer, if it waits for one: nothing
    /// is known then of a change that was under way.
    pub(super) fn forget(&mut self, grant: u64) -> Option<KeyReply> {
        let held: Vec<(u32, TokenId)> = self
            .held
            .range((grant, 0)..=(grant, u32::MAX))
            .map(|((_, number), name)| (*number, name.0))
            .collect();
        for (number, token) in held {
            self.close(grant, number);
            self.closed.push((grant, token));
        }
        let (ticket, job) = self.jobs.iter_mut().find(|(_, job)| job.grant == Some(grant))?;
        let (ticket, changes) = (*ticket, matches!(job.stage, Stage::Changing(_) | Stage::Writing(_)));
        job.grant = None;
        if let Some(at) = self.queued.iter().position(|queued| *queued == ticket) {
            self.queued.remove(at);
            self.jobs.remove(&ticket);
        } else if let Some(at) = self.waiting.iter().position(|waiting| *waiting == ticket) {
            self.waiting.remove(at);
            self.jobs.remove(&ticket);
        }
        let why = if changes { KeyRefusal::TokenClosed } else { KeyRefusal::TokensBusy };
        Some(KeyReply::Refused { why })
    }

    /// Begins a request: with a question to the broker, or with the vault's thread.
    fn begin(&mut self, ticket: u64, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&ticket) else { return };
        let grant = job.grant.unwrap_or(0);
        if let Some((name, object)) = job.what.reads() {
            let Some(open) = self.open.get(&name) else {
                return self.end(ticket, Err(KeyRefusal::TokenClosed), effects);
            };
            job.stage = Stage::Asking;
            effects.push(Effect::Tell(Report::LookUp {
                ticket,
                grant,
                token: u128::from_be_bytes(name.0.0),
                object: object.map_or(0, |object| u128::from_be_bytes(object.0)),
                known: open.session.index().to_vec(),
                manages: job.what.manages(),
            }));
        } else if let What::RemoveToken { name } = job.what {
            job.stage = Stage::Writing(KeyReply::Changed { changes: 0 });
            let token = u128::from_be_bytes(name.0.0);
            effects.push(Effect::Tell(Report::RemoveToken { ticket, grant, token }));
        } else {
            self.queue(ticket, effects);
        }
    }

    /// Has a request wait for the vault's thread.
    fn queue(&mut self, ticket: u64, effects: &mut Vec<Effect>) {
        let is_for_nobody = self.jobs.get(&ticket).is_none_or(|job| job.grant.is_none());
        if is_for_nobody || self.queued.len() >= MOST_QUEUED {
            return self.end(ticket, Err(KeyRefusal::TokensBusy), effects);
        }
        if let Some(job) = self.jobs.get_mut(&ticket) {
            job.stage = Stage::Queued;
            self.queued.push_back(ticket);
        }
        self.next_work(effects);
    }

    /// Gives the vault's thread its next work. A try is counted first.
    fn next_work(&mut self, effects: &mut Vec<Effect>) {
        while self.working.is_none() {
            let Some(ticket) = self.queued.pop_front() else { return };
            let Some(job) = self.jobs.get_mut(&ticket) else { continue };
            self.working = Some(ticket);
            if let What::Open { name, .. } = &job.what {
                job.stage = Stage::Asking;
                let (token, officer) = (u128::from_be_bytes(name.0.0), name.1 == Role::Officer);
                let grant = job.grant.unwrap_or(0);
                effects.push(Effect::Tell(Report::CountTry { ticket, grant, token, officer }));
                continue;
            }
            match self.work(ticket) {
                Ok(work) => self.thread.begin(ticket, work),
                Err(why) => self.end(ticket, Err(why), effects),
            }
        }
    }

    /// Returns the work of a request that is no try.
    fn work(&mut self, ticket: u64) -> Result<Work, KeyRefusal> {
        let job = self.jobs.get_mut(&ticket).ok_or(KeyRefusal::TokenClosed)?;
        job.stage = Stage::Working;
        let features = self.features;
        Ok(match &mut job.what {
            What::Generate { asked, bits, .. } => {
                let (asked, bits) = (asked.clone(), *bits);
                Box::new(move || Outcome::Key(keys::generate(features, &asked, bits).map(Box::new)))
            }
            What::Import { asked, secret, .. } => {
                let (asked, secret) = (asked.clone(), std::mem::take(secret));
                Box::new(move || Outcome::Key(keys::import(features, &asked, &secret).map(Box::new)))
            }
            What::SetPin { name, role, pin } => {
                let mut session = self.open.get(name).ok_or(KeyRefusal::TokenClosed)?.session.clone();
                let (role, pin) = (*role, pin.clone());
                Box::new(move || Outcome::Records(session.set_pin(role, &pin)))
            }
            What::Make { label, officer, user, .. } => {
                let vault = self.vault.clone().ok_or(KeyRefusal::NoTokens)?;
                let (label, officer, user) = (label.clone(), officer.clone(), user.clone());
                Box::new(move || {
                    let made = TokenId::random().map_err(Into::into);
                    let user = user.as_ref().map(|pin| &pin[..]);
                    Outcome::Records(made.and_then(|token| vault.make(token, &label, &officer, user)))
                })
            }
            _ => return Err(KeyRefusal::Message),
        })
    }

    /// Goes on with what the vault's thread has done.
    pub(super) fn hear_thread(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (ticket, outcome) in self.thread.done() {
            match outcome {
                Outcome::Tried(tried) => self.tried(ticket, tried, &mut effects),
                Outcome::Records(Ok(records)) => self.write(ticket, records, &mut effects),
                Outcome::Records(Err(error)) => self.end(ticket, Err(refusal(&error)), &mut effects),
                Outcome::Key(made) => self.made(ticket, made, &mut effects),
            }
            if self.working == Some(ticket) {
                self.working = None;
            }
            self.next_work(&mut effects);
        }
        effects
    }

    /// Has the broker write a header.
    fn write(&mut self, ticket: u64, records: millstream_store::vault::Records, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&ticket) else { return };
        let grant = job.grant.unwrap_or(0);
        let millstream_store::vault::Records { header, index } = records;
        let report = match &job.what {
            What::SetPin { name, role, .. } => {
                let Some(open) = self.open.get(name) else {
                    return self.end(ticket, Err(KeyRefusal::TokenClosed), effects);
                };
                let changes = Entry::of(&index).map_or(0, |entry| entry.version);
                job.stage = Stage::Writing(KeyReply::Changed { changes });
                let (token, before) = (u128::from_be_bytes(name.0.0), open.session.index().to_vec());
                let officer = *role == Role::Officer;
                Report::ReplaceHeader { ticket, grant, token, officer, before, header, index }
            }
            _ => {
                let token = millstream_store::vault::Header::decode(&header).map(|header| header.token.0);
                let token = token.map_or(0, u128::from_be_bytes);
                let old = if let What::Make { old: Some(old), .. } = job.what { old.0 } else { [0; 16] };
                job.stage = Stage::Writing(KeyReply::Made { token });
                Report::AddToken { ticket, grant, old: u128::from_be_bytes(old), header, index }
            }
        };
        effects.push(Effect::Tell(report));
    }

    /// Goes on with a key that is to be sealed as a new object.
    fn made(
        &mut self,
        ticket: u64,
        made: Result<Box<(Attributes, Secret)>, KeyRefusal>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get(&ticket) else { return };
        let (What::Generate { name, .. } | What::Import { name, .. }) = job.what else { return };
        let change = made.and_then(|made| {
            let (attributes, secret) = *made;
            new_object(name, &attributes, secret)
        });
        match change {
            Ok(change) => self.change(ticket, change, effects),
            Err(why) => self.end(ticket, Err(why), effects),
        }
    }

    /// Has a request wait for its turn to change a token.
    fn change(&mut self, ticket: u64, change: Changing, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&ticket) else { return };
        if job.grant.is_none() {
            self.end(ticket, Err(KeyRefusal::TokenClosed), effects);
        } else {
            job.stage = Stage::Changing(change);
            self.waiting.push_back(ticket);
        }
        self.next_change(effects);
    }

    /// Seals the next change, and has the broker write it.
    fn next_change(&mut self, effects: &mut Vec<Effect>) {
        while self.changing.is_none() {
            let Some(ticket) = self.waiting.pop_front() else { return };
            self.changing = Some(ticket);
            if let Err(why) = self.seal(ticket, effects) {
                self.end(ticket, Err(why), effects);
            }
        }
    }

    fn seal(&mut self, ticket: u64, effects: &mut Vec<Effect>) -> Result<(), KeyRefusal> {
        let job = self.jobs.get_mut(&ticket).ok_or(KeyRefusal::TokenClosed)?;
        let Stage::Changing(change) = &mut job.stage else { return Err(KeyRefusal::Message) };
        change.attempts += 1;
        if change.attempts > ATTEMPTS {
            return Err(KeyRefusal::TokensBusy);
        }
        let open = self.open.get_mut(&change.name).ok_or(KeyRefusal::TokenClosed)?;
        let before = open.session.index().to_vec();
        let sealed = match &change.contents {
            Some((attributes, secret)) => open.session.seal(change.object, attributes, secret),
            None => open.session.forget(change.object),
        };
        let sealed = sealed.map_err(|error| refusal(&error))?;
        effects.push(Effect::Tell(Report::Change {
            ticket,
            grant: job.grant.unwrap_or(0),
            token: u128::from_be_bytes(change.name.0.0),
            object: u128::from_be_bytes(change.object.0),
            before,
            attributes: change.contents.as_ref().map_or_else(Vec::new, |(attributes, _)| attributes.clone()),
            sealed: sealed.sealed.unwrap_or_default(),
            index: sealed.index,
        }));
        Ok(())
    }

    /// Goes on when the broker refuses.
    pub(super) fn not_found(&mut self, ticket: u64, why: KeyRefusal) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.end(ticket, Err(why), &mut effects);
        effects
    }

    /// Goes on when the broker has answered.
    pub(super) fn found(&mut self, found: Found) -> Vec<Effect> {
        let (ticket, mut effects) = (found.ticket, Vec::new());
        if let Err(why) = self.go_on(found, &mut effects) {
            self.end(ticket, Err(why), &mut effects);
        }
        effects
    }

    fn go_on(&mut self, found: Found, effects: &mut Vec<Effect>) -> Result<(), KeyRefusal> {
        let ticket = found.ticket;
        // A request of a grant that has ended may have been forgotten.
        let Some(job) = self.jobs.get_mut(&ticket) else { return Ok(()) };
        match &mut job.stage {
            Stage::Asking if matches!(job.what, What::Open { .. }) => self.try_pin(found),
            Stage::Asking => {
                let reads = job.what.reads();
                if let (Some((name, _)), Some(memory)) = (reads, found.memory) {
                    self.refresh(name, memory)?;
                }
                self.read(ticket, &found.attributes, &found.sealed, effects)
            }
            Stage::Ending(..) => self.opened(ticket, effects),
            Stage::Changing(change) => {
                let name = change.name;
                if found.taken {
                    let mut reply = std::mem::replace(&mut change.reply, KeyReply::Changed { changes: 0 });
                    if let Some(open) = self.open.get_mut(&name) {
                        open.session.applied();
                        if let KeyReply::Object { changes, .. } | KeyReply::Changed { changes } = &mut reply {
                            *changes = open.session.changes();
                        }
                    }
                    self.end(ticket, Ok(reply), effects);
                    return Ok(());
                }
                self.refresh(name, found.memory.ok_or(KeyRefusal::Store)?)?;
                self.seal(ticket, effects)
            }
            Stage::Writing(reply) => {
                if found.taken {
                    let reply = std::mem::replace(reply, KeyReply::Changed { changes: 0 });
                    self.end(ticket, Ok(reply), effects);
                    return Ok(());
                }
                // Another change came first, so the PIN is wrapped again.
                let What::SetPin { name, .. } = job.what else { return Err(KeyRefusal::Store) };
                self.refresh(name, found.memory.ok_or(KeyRefusal::Store)?)?;
                self.queue(ticket, effects);
                Ok(())
            }
            Stage::Queued | Stage::Working => Err(KeyRefusal::Message),
        }
    }

    /// Takes a token as it is now.
    fn refresh(&mut self, name: Name, memory: OwnedFd) -> Result<(), KeyRefusal> {
        let open = self.open.get_mut(&name).ok_or(KeyRefusal::TokenClosed)?;
        let (records, entries) = unpack(memory).map_err(|_| KeyRefusal::Store)?;
        open.session.refresh(&records, &mut entries.into_iter()).map_err(|error| refusal(&error))
    }

    /// Goes on with what was looked up.
    fn read(
        &mut self,
        ticket: u64,
        attributes: &[u8],
        sealed: &[u8],
        effects: &mut Vec<Effect>,
    ) -> Result<(), KeyRefusal> {
        let job = self.jobs.get_mut(&ticket).ok_or(KeyRefusal::TokenClosed)?;
        let Some((name, object)) = job.what.reads() else { return Err(KeyRefusal::Message) };
        let open = self.open.get(&name).ok_or(KeyRefusal::TokenClosed)?;
        let opened = object.map(|object| {
            let key = open.session.open(object, attributes, sealed)?;
            Ok((object, Attributes::decode(attributes)?, key))
        });
        let opened = opened.transpose().map_err(|error: millstream_store::Error| refusal(&error))?;
        let shown = |object: ObjectId| KeyReply::Object {
            object: u128::from_be_bytes(object.0),
            attributes: attributes.to_vec(),
            changes: open.session.changes(),
        };
        let change = match (&job.what, opened) {
            (What::Load { algorithm, purpose, .. }, Some((_, is, key))) => {
                let usages = slot_usages(&is, *algorithm, purpose.usages)?;
                let purpose = KeyPurpose { usages, ..purpose.clone() };
                if let Some(grant) = job.grant {
                    effects.push(Effect::Load { grant, algorithm: *algorithm, purpose, key });
                }
                self.jobs.remove(&ticket);
                return Ok(());
            }
            (What::Show { .. }, Some((object, ..))) => {
                self.end(ticket, Ok(shown(object)), effects);
                return Ok(());
            }
            (What::Export { .. }, Some((object, is, key))) => {
                if !is.exportable {
                    return Err(KeyRefusal::NotExportable);
                }
                let reply = KeyReply::Exported { bytes: Message::new(&key) };
                if !is.never_outside {
                    self.end(ticket, Ok(reply), effects);
                    return Ok(());
                }
                // The key will have been outside, which is on the disk before it is.
                let is = Attributes { never_outside: false, ..is };
                Changing { name, object, contents: Some((fit(&is, &key)?, key)), reply, attempts: 0 }
            }
            (What::Copy { to, asked, .. }, Some((_, is, key))) => {
                let (to, attributes) = (*to, altered(&is, asked)?);
                new_object(to, &attributes, key)?
            }
            (What::Alter { asked, .. }, Some((object, is, key))) => {
                let bytes = fit(&altered(&is, asked)?, &key)?;
                let object_number = u128::from_be_bytes(object.0);
                let reply = KeyReply::Object { object: object_number, attributes: bytes.clone(), changes: 0 };
                Changing { name, object, contents: Some((bytes, key)), reply, attempts: 0 }
            }
            (What::Remove { object, .. }, None) => {
                let reply = KeyReply::Changed { changes: 0 };
                Changing { name, object: *object, contents: None, reply, attempts: 0 }
            }
            (What::Generate { .. } | What::Import { .. } | What::SetPin { .. }, None) => {
                self.queue(ticket, effects);
                return Ok(());
            }
            _ => return Err(KeyRefusal::Message),
        };
        self.change(ticket, change, effects);
        Ok(())
    }

    /// Ends a request with its answer, and lets the next ones have their turns.
    fn end(&mut self, ticket: u64, answer: Result<KeyReply, KeyRefusal>, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.remove(&ticket) else { return };
        if let Some(grant) = job.grant {
            effects.push(Effect::Reply(grant, answer.unwrap_or_else(|why| KeyReply::Refused { why })));
        }
        self.queued.retain(|queued| *queued != ticket);
        self.waiting.retain(|waiting| *waiting != ticket);
        if self.working == Some(ticket) {
            self.working = None;
            self.next_work(effects);
        }
        if self.changing == Some(ticket) {
            self.changing = None;
            self.next_change(effects);
        }
    }
}

/// An answer of the broker.
pub(super) struct Found {
    pub(super) ticket: u64,
    pub(super) taken: bool,
    pub(super) left: u8,
    pub(super) attributes: Vec<u8>,
    pub(super) sealed: Vec<u8>,
    pub(super) memory: Option<OwnedFd>,
}

/// Returns the change that adds an object.
fn new_object(name: Name, attributes: &Attributes, key: Secret) -> Result<Changing, KeyRefusal> {
    let object = ObjectId::random().map_err(|_| KeyRefusal::Exhausted)?;
    let bytes = fit(attributes, &key)?;
    let (number, attributes) = (u128::from_be_bytes(object.0), bytes.clone());
    let reply = KeyReply::Object { object: number, attributes, changes: 0 };
    Ok(Changing { name, object, contents: Some((bytes, key)), reply, attempts: 0 })
}

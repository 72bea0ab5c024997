//! The vault within this process.

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::header::{Cost, Header, Master};
use super::sealed::{Entries, Entry, Sealer};
use super::{Change, Records, Secret, Session, Vault};
use crate::Error;
use crate::names::{ObjectId, Role, TokenId};
use crate::secret::DeviceSecret;

/// Makes and opens tokens in this process.
#[derive(Clone, Debug)]
pub struct LocalVault {
    features: Features,
    device: DeviceSecret,
    cost: Cost,
}

impl LocalVault {
    /// Makes a vault with the machine's secret.
    pub fn new(features: Features, device: DeviceSecret) -> Self {
        LocalVault::with_cost(features, device, Cost::USUAL)
    }

    /// Makes a vault whose new tokens have another cost than the usual one.
    pub fn with_cost(features: Features, device: DeviceSecret, cost: Cost) -> Self {
        LocalVault { features, device, cost }
    }
}

impl Vault for LocalVault {
    type Session = LocalSession;

    fn make(
        &self,
        token: TokenId,
        label: &str,
        officer_pin: &[u8],
        user_pin: Option<&[u8]>,
    ) -> Result<Records, Error> {
        let mut master: Master = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *master)?;
        let token_facts = (token, label, self.cost);
        let mut header = Header::new(self.features, &self.device, token_facts, (officer_pin, &master))?;
        if let Some(pin) = user_pin {
            header.wrap(self.features, &self.device, Role::User, pin, &master)?;
        }
        let header = header.encode();
        let index = Sealer::new(self.features, token, &master).seal_index(1, &header, &Entries::new())?;
        Ok(Records { header, index })
    }

    fn check(&self, header: &[u8], role: Role, pin: &[u8]) -> Result<(), Error> {
        Header::decode(header)?.check(self.features, &self.device, role, pin)
    }

    fn unlock(
        &self,
        records: &Records,
        objects: &mut dyn Iterator<Item = (ObjectId, Entry)>,
        role: Role,
        pin: &[u8],
    ) -> Result<Option<LocalSession>, Error> {
        let header = Header::decode(&records.header)?;
        header.check(self.features, &self.device, role, pin)?;
        let Some(master) = header.unwrap(self.features, &self.device, role, pin)? else { return Ok(None) };
        let sealer = Sealer::new(self.features, header.token, &master);
        let entries: Entries = objects.collect();
        let epoch = sealer.check_index(&records.index, &records.header, &entries)?;
        let state = State { epoch, index: records.index.clone(), header, entries };
        Ok(Some(LocalSession { vault: self.clone(), role, master, sealer, state, next: None }))
    }
}

/// A token that this process has opened. Its keys are zeroised on drop.
#[derive(Clone)]
pub struct LocalSession {
    vault: LocalVault,
    role: Role,
    master: Master,
    sealer: Sealer,
    state: State,
    /// The change that the file has not taken yet, and the index after it.
    next: Option<(Next, Vec<u8>)>,
}

/// The contents of a token as they are sealed in its index.
#[derive(Clone)]
struct State {
    epoch: u64,
    index: Vec<u8>,
    header: Header,
    entries: Entries,
}

/// A difference to a [`State`].
#[derive(Clone)]
enum Next {
    Object(ObjectId, Option<Entry>),
    Header(Box<Header>),
}

impl Session for LocalSession {
    fn role(&self) -> Role {
        self.role
    }

    fn index(&self) -> &[u8] {
        &self.state.index
    }

    fn changes(&self) -> u64 {
        self.state.epoch
    }

    fn refresh(
        &mut self,
        records: &Records,
        objects: &mut dyn Iterator<Item = (ObjectId, Entry)>,
    ) -> Result<(), Error> {
        let header = Header::decode(&records.header)?;
        if header.token != self.state.header.token {
            return Err(Error::Forged("the header of the token"));
        }
        let entries: Entries = objects.collect();
        let epoch = self.sealer.check_index(&records.index, &records.header, &entries)?;
        if epoch < self.state.epoch {
            return Err(Error::RolledBack);
        }
        self.state = State { epoch, index: records.index.clone(), header, entries };
        self.next = None;
        Ok(())
    }

    fn seal(&mut self, object: ObjectId, attributes: &[u8], secret: &[u8]) -> Result<Change, Error> {
        self.user()?;
        let version = self.state.entries.get(&object).map_or(1, |entry| entry.version + 1);
        let sealed = self.sealer.seal_object(object, version, attributes, secret)?;
        let entry = Entry::of(&sealed).expect("it was sealed just now");
        let index = self.index_with(object, Some(entry))?;
        Ok(Change { sealed: Some(sealed), index })
    }

    fn forget(&mut self, object: ObjectId) -> Result<Change, Error> {
        self.user()?;
        if !self.state.entries.contains_key(&object) {
            return Err(Error::NoObject(object.to_string()));
        }
        let index = self.index_with(object, None)?;
        Ok(Change { sealed: None, index })
    }

    fn open(&self, object: ObjectId, attributes: &[u8], sealed: &[u8]) -> Result<Secret, Error> {
        self.user()?;
        if self.state.entries.get(&object) != Some(&Entry::of(sealed)?) {
            return Err(Error::Forged("a key"));
        }
        self.sealer.open_object(object, attributes, sealed)
    }

    fn set_pin(&mut self, role: Role, pin: &[u8]) -> Result<Records, Error> {
        if (self.role, role) == (Role::User, Role::Officer) {
            return Err(Error::Role(self.role));
        }
        let mut header = self.state.header.clone();
        header.wrap(self.vault.features, &self.vault.device, role, pin, &self.master)?;
        let bytes = header.encode();
        let index = self.sealer.seal_index(self.state.epoch + 1, &bytes, &self.state.entries)?;
        self.next = Some((Next::Header(Box::new(header)), index.clone()));
        Ok(Records { header: bytes, index })
    }

    fn applied(&mut self) {
        let Some((next, index)) = self.next.take() else { return };
        match next {
            Next::Object(object, Some(entry)) => {
                self.state.entries.insert(object, entry);
            }
            Next::Object(object, None) => {
                self.state.entries.remove(&object);
            }
            Next::Header(header) => self.state.header = *header,
        }
        self.state.index = index;
        self.state.epoch += 1;
    }
}

impl LocalSession {
    fn user(&self) -> Result<(), Error> {
        if self.role == Role::User { Ok(()) } else { Err(Error::Role(self.role)) }
    }

    /// Returns the index of the token in which an object has that entry, or is not there.
    fn index_with(&mut self, object: ObjectId, entry: Option<Entry>) -> Result<Vec<u8>, Error> {
        let set = |entries: &mut Entries, entry: Option<Entry>| match entry {
            Some(entry) => entries.insert(object, entry),
            None => entries.remove(&object),
        };
        let before = set(&mut self.state.entries, entry);
        let header = self.state.header.encode();
        let index = self.sealer.seal_index(self.state.epoch + 1, &header, &self.state.entries);
        set(&mut self.state.entries, before);
        let index = index?;
        self.next = Some((Next::Object(object, entry), index.clone()));
        Ok(index)
    }
}

impl fmt::Debug for LocalSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalSession of {} as {:?}", self.state.header.token, self.role)
    }
}

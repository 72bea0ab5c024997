//! The side of a token that keeps its records: a database in which secrets are sealed and attributes are in the clear.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `meta` | `format` | version of the format, u32 big-endian: 1 |
//! | `headers` | serial number of a token | its header |
//! | `indices` | serial number | its sealed index |
//! | `tries` | serial number, role | tries of that PIN since the last right one, 1 byte |
//! | | serial number, role, user's number (u32, big-endian) | those of one user since that user's last right one, 1 byte |
//! | `objects` | serial number, object's identifier | length of the attributes (u32, big-endian), attributes, sealed object |
//!
//! Each change is one transaction, which is on the disk when its function returns. Commits have two phases: a page that was half
//! written is never taken for a whole one, whoever chose its contents.

mod contents;
mod copied;
pub(crate) mod create;
mod database;
mod tries;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use millstream_protocol::TokenStatus;
use redb::backends::FileBackend;
use redb::{Database, ReadableDatabase, StorageBackend, WriteTransaction};

use contents::{Contents, Token};
pub use contents::{Damage, MOST_TRIES, MOST_TRIES_OF_USER, MOST_USERS};
pub use database::FORMAT;
use database::{
    HEADERS, INDICES, OBJECTS, TRIES, checked, database, failure, format, joined, key, open_backend, place,
    read, remove, split, system, tries_key,
};

use crate::Error;
use crate::names::{ObjectId, Role, TokenId};
use crate::vault::{Change, Entry, Header, Records};

/// The most objects that are listed at once.
const MOST_AT_ONCE: usize = 256;

/// The time between two looks at a store that another process has open, or is writing to.
const AGAIN: Duration = Duration::from_millis(2);

/// A store of tokens in a file, which this process alone has open.
pub struct File {
    path: PathBuf,
    open: Box<dyn Fn() -> Result<Database, Error> + Send>,
    /// The database; none after a failure, until the next operation.
    database: Option<Database>,
    contents: Contents,
    /// True for a copy in memory, in which nothing is changed.
    is_copy: bool,
}

/// A token as everybody may see it, without its PIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// The serial number.
    pub token: TokenId,
    /// The label.
    pub label: String,
    /// True when there is a user PIN.
    pub has_user_pin: bool,
    /// The tries of the user PIN that are left.
    pub user_tries_left: u8,
    /// The tries of the security officer's PIN that are left.
    pub officer_tries_left: u8,
    /// The number of objects.
    pub objects: usize,
    /// The number of changes so far, of objects and PINs.
    pub changes: u64,
}

impl From<TokenStatus> for TokenInfo {
    /// Returns a token as a service told it.
    fn from(status: TokenStatus) -> Self {
        TokenInfo {
            token: TokenId(status.token.to_be_bytes()),
            label: status.label,
            has_user_pin: status.has_user_pin,
            user_tries_left: status.user_tries_left,
            officer_tries_left: status.officer_tries_left,
            objects: status.objects as usize,
            changes: status.changes,
        }
    }
}

/// An object as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The attributes, encoded. They are authentic only when the sealed object opens with them.
    pub attributes: Vec<u8>,
    /// The sealed secret.
    pub sealed: Vec<u8>,
}

impl File {
    /// Opens the store of that name.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::InUse`], [`Error::NotAStore`], [`Error::Newer`], [`Error::Damaged`], [`Error::Full`] and
    /// [`Error::Io`]. The file stays as it is.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.to_owned();
        File::with_backends(path, move || {
            let file = std::fs::OpenOptions::new().read(true).write(true).open(&name);
            // An empty file is what is left of a store, and not a new one.
            if file.as_ref().is_ok_and(|file| file.metadata().is_ok_and(|found| found.len() == 0)) {
                return Err(Error::NotAStore(name.clone()));
            }
            let backend = file.and_then(|file| FileBackend::new(file).map_err(io::Error::other));
            backend.map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => Error::Missing(name.clone()),
                _ => Error::Io { path: name.clone(), source },
            })
        })
    }

    /// Opens the store of that name, and waits at most that long for another process that has it open.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_within(path: &Path, limit: Duration) -> Result<Self, Error> {
        let end = Instant::now() + limit;
        loop {
            match File::open(path) {
                Err(Error::InUse(_)) if Instant::now() < end => thread::sleep(AGAIN),
                opened => return opened,
            }
        }
    }

    /// Makes an empty store, whose file only its owner can read, and opens it.
    ///
    /// # Errors
    /// [`Error::Exists`]; else as [`File::open`]. After a failure or a power cut there is no file of that name.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let mut failed = None;
        let made = create::make_whole(path, |file| {
            let backend = FileBackend::new(file.try_clone()?).map_err(io::Error::other)?;
            format(backend, path).map_err(|error| {
                failed = Some(error);
                io::Error::other("the database was not made")
            })
        });
        match (made, failed) {
            (Ok(true), _) => File::open(path),
            (Ok(false), _) => Err(Error::Exists(path.to_owned())),
            (Err(_), Some(error)) => Err(error),
            (Err(source), None) => Err(system(path, source)),
        }
    }

    /// Opens a store on storage of the caller's, which `open` opens first and again after each failure. An empty one becomes a store.
    /// Messages call it `path`.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn with_backends<B: StorageBackend>(
        path: &Path,
        open: impl Fn() -> Result<B, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let name = path.to_owned();
        let open = move || {
            let backend = open()?;
            if backend.len().map_err(|source| system(&name, source))? == 0 {
                format(backend, &name)?;
                return checked(open_backend(&name, &open)?, &name);
            }
            checked(database(backend, &name)?, &name)
        };
        let mut file = File {
            path: path.to_owned(),
            open: Box::new(open),
            database: None,
            contents: Contents::default(),
            is_copy: false,
        };
        file.ready()?;
        Ok(file)
    }

    /// Returns the tokens.
    pub fn tokens(&self) -> impl Iterator<Item = TokenInfo> + '_ {
        self.contents.tokens.values().map(|token| TokenInfo {
            token: token.header.token,
            label: token.header.label.clone(),
            has_user_pin: token.header.has_user_pin(),
            user_tries_left: MOST_TRIES.saturating_sub(token.tries[0]),
            officer_tries_left: MOST_TRIES.saturating_sub(token.tries[1]),
            objects: token.len(),
            changes: token.changes(),
        })
    }

    /// Returns the serial number of the token with that label.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn find(&self, label: &str) -> Result<TokenId, Error> {
        let mut tokens = self.contents.tokens.iter();
        let found = tokens.find(|(_, token)| token.header.label == label);
        found.map(|(id, _)| *id).ok_or_else(|| Error::NoToken(label.to_owned()))
    }

    /// Returns the records that can't be understood. They stay as they are.
    pub fn damage(&self) -> &[Damage] {
        &self.contents.damage
    }

    /// Returns the sealed records of a token.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn records(&self, token: TokenId) -> Result<Records, Error> {
        let token = self.token(token)?;
        Ok(Records { header: token.header.encode(), index: token.index.clone() })
    }

    /// Returns the objects of a token in ascending order, with their versions.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn objects(&self, token: TokenId) -> Result<impl Iterator<Item = (ObjectId, Entry)> + '_, Error> {
        Ok(self.token(token)?.entries())
    }

    /// Returns the identifiers of the next 256 objects, or of as many as there are, after that one in ascending order.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn objects_after(&self, token: TokenId, after: ObjectId) -> Result<Vec<ObjectId>, Error> {
        Ok(self.token(token)?.after(after).take(MOST_AT_ONCE).collect())
    }

    /// Returns the objects that have a label.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn labelled(&self, token: TokenId, label: &str) -> Result<&[ObjectId], Error> {
        Ok(self.token(token)?.labelled(label))
    }

    /// Returns the objects that have an application's identifier.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn identified(&self, token: TokenId, id: &[u8]) -> Result<&[ObjectId], Error> {
        Ok(self.token(token)?.identified(id))
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`Error::NoObject`], and those of [`File::open`].
    pub fn get(&mut self, token: TokenId, object: ObjectId) -> Result<Stored, Error> {
        self.ready()?;
        let read = |database: &Database| -> Result<Option<Stored>, redb::Error> {
            let table = database.begin_read()?.open_table(OBJECTS)?;
            Ok(table.get(&key(token, object)[..])?.and_then(|value| {
                let (attributes, sealed) = split(value.value())?;
                Some(Stored { attributes: attributes.to_vec(), sealed: sealed.to_vec() })
            }))
        };
        let database = self.database.as_ref().expect("it is ready");
        match read(database) {
            Ok(found) => found.ok_or_else(|| Error::NoObject(object.to_string())),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Adds a token.
    ///
    /// # Errors
    /// [`Error::TokenExists`] when its label is taken; those of [`File::open`].
    pub fn add_token(&mut self, records: &Records) -> Result<TokenId, Error> {
        self.put_token(None, records)
    }

    /// Puts a new token in the place of another one, which goes with all of its objects. After a failure or a power cut one of the two is there.
    ///
    /// # Errors
    /// As [`File::add_token`], where the old token's label is free; [`Error::NoToken`].
    pub fn replace_token(&mut self, old: TokenId, records: &Records) -> Result<TokenId, Error> {
        self.ready()?;
        self.token(old)?;
        self.put_token(Some(old), records)
    }

    fn put_token(&mut self, old: Option<TokenId>, records: &Records) -> Result<TokenId, Error> {
        let header = Header::decode(&records.header)?;
        let token = header.token;
        let is_taken = self.find(&header.label).is_ok_and(|other| Some(other) != old);
        if is_taken || self.contents.tokens.contains_key(&token) {
            return Err(Error::TokenExists(header.label));
        }
        self.write(|transaction| {
            old.map_or(Ok(()), |old| remove(transaction, old))?;
            transaction.open_table(HEADERS)?.insert(&token.0[..], &records.header[..])?;
            transaction.open_table(INDICES)?.insert(&token.0[..], &records.index[..])?;
            Ok(())
        })?;
        old.into_iter().for_each(|old| self.forget(old));
        self.contents.tokens.insert(token, Token::new(header, records.index.clone(), [0, 0]));
        Ok(token)
    }

    /// Replaces the header of a token after a PIN was set, and forgets the tries of that PIN.
    ///
    /// # Errors
    /// [`Error::Stale`] when `before` is not the token's index any more; [`Error::NoToken`]; those of [`File::open`].
    pub fn replace_header(
        &mut self,
        token: TokenId,
        before: &[u8],
        records: &Records,
        role: Role,
    ) -> Result<(), Error> {
        let header = Header::decode(&records.header)?;
        if header.token != token {
            return Err(Error::Malformed("the header of a token"));
        }
        self.is_current(token, before)?;
        self.write(|transaction| {
            transaction.open_table(HEADERS)?.insert(&token.0[..], &records.header[..])?;
            transaction.open_table(INDICES)?.insert(&token.0[..], &records.index[..])?;
            // The key is also the beginning of those of users.
            let tries = tries_key(token, role);
            transaction.open_table(TRIES)?.retain(|key, _| !key.starts_with(&tries))?;
            Ok(())
        })?;
        let known = self.known(token);
        known.forget_users(role);
        known.header = header;
        known.index.clone_from(&records.index);
        known.tries[place(role)] = 0;
        Ok(())
    }

    /// Removes a token with all of its objects.
    ///
    /// # Errors
    /// [`Error::NoToken`]; those of [`File::open`].
    pub fn remove_token(&mut self, token: TokenId) -> Result<(), Error> {
        self.token(token)?;
        self.write(|transaction| remove(transaction, token))?;
        self.forget(token);
        Ok(())
    }

    fn forget(&mut self, token: TokenId) {
        self.contents.tokens.remove(&token);
        self.contents.damage.retain(|damage| damage.token != token);
    }

    /// Writes or removes an object together with the index that belongs to the change.
    ///
    /// # Errors
    /// [`Error::Stale`] when `before` is not the token's index any more: another session has changed it.
    /// [`Error::Malformed`] when the object is none; [`Error::NoToken`]; those of [`File::open`]. Nothing was changed then.
    pub fn change(
        &mut self,
        token: TokenId,
        object: ObjectId,
        before: &[u8],
        attributes: &[u8],
        change: &Change,
    ) -> Result<(), Error> {
        self.is_current(token, before)?;
        if let Some(sealed) = &change.sealed {
            Entry::of(sealed)?;
            crate::Attributes::decode(attributes)?;
        }
        self.write(|transaction| {
            let mut objects = transaction.open_table(OBJECTS)?;
            let key = key(token, object);
            match &change.sealed {
                Some(sealed) => objects.insert(&key[..], &joined(attributes, sealed)[..])?,
                None => objects.remove(&key[..])?,
            };
            transaction.open_table(INDICES)?.insert(&token.0[..], &change.index[..])?;
            Ok(())
        })?;
        let known = self.known(token);
        known.index.clone_from(&change.index);
        match &change.sealed {
            Some(sealed) => known.list(object, attributes, sealed),
            None => {
                known.unlist(object);
                Ok(())
            }
        }
    }

    /// Makes one durable transaction. After a failure the database is opened again before the next operation.
    fn write(
        &mut self,
        change: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Error> {
        if self.is_copy {
            return Err(Error::ReadOnly(self.path.clone()));
        }
        self.ready()?;
        let database = self.database.as_ref().expect("it is ready");
        let commit = || -> Result<(), redb::Error> {
            let mut transaction = database.begin_write()?;
            transaction.set_two_phase_commit(true);
            change(&transaction)?;
            Ok(transaction.commit()?)
        };
        commit().map_err(|error| self.failed(error))
    }

    /// Opens the database if it is not open, and reads its public contents.
    fn ready(&mut self) -> Result<(), Error> {
        if self.database.is_none() {
            let database = (self.open)()?;
            self.contents = read(&database).map_err(|error| failure(&self.path, error))?;
            self.database = Some(database);
        }
        Ok(())
    }

    fn failed(&mut self, error: redb::Error) -> Error {
        self.database = None;
        failure(&self.path, error)
    }

    fn token(&self, token: TokenId) -> Result<&Token, Error> {
        self.contents.tokens.get(&token).ok_or_else(|| Error::NoToken(token.to_string()))
    }

    fn known(&mut self, token: TokenId) -> &mut Token {
        self.contents.tokens.get_mut(&token).expect("it was there before the transaction")
    }

    fn is_current(&mut self, token: TokenId, before: &[u8]) -> Result<(), Error> {
        self.ready()?;
        if self.token(token)?.index == before { Ok(()) } else { Err(Error::Stale) }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).field("contents", &self.contents).finish()
    }
}

//! The database: its tables, how it is opened and checked, and how its public contents are read.

use std::io;
use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction};

use super::contents::{Contents, Damage, Token};
use crate::Error;
use crate::names::{ObjectId, Role, TokenId};
use crate::vault::Header;

/// The version of the format that this crate writes.
pub const FORMAT: u32 = 1;

/// The memory that keeps pages of the database.
const CACHE_BYTES: usize = 16 << 20;

type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;

const META: Table = TableDefinition::new("meta");
pub(super) const HEADERS: Table = TableDefinition::new("headers");
pub(super) const INDICES: Table = TableDefinition::new("indices");
pub(super) const TRIES: Table = TableDefinition::new("tries");
pub(super) const OBJECTS: Table = TableDefinition::new("objects");

pub(super) fn open_backend<B: StorageBackend>(
    path: &Path,
    open: &impl Fn() -> Result<B, Error>,
) -> Result<Database, Error> {
    database(open()?, path)
}

/// Opens a database and checks every page of it, since one that was changed by others could make the database panic.
pub(super) fn database(backend: impl StorageBackend, path: &Path) -> Result<Database, Error> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    builder.create_with_backend(backend).map_err(|error| failure(path, error))
}

/// Makes the tables in an empty file.
pub(super) fn format(backend: impl StorageBackend, path: &Path) -> Result<(), Error> {
    let make = || -> Result<(), redb::Error> {
        let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend)?;
        let mut transaction = database.begin_write()?;
        transaction.set_two_phase_commit(true);
        transaction.open_table(META)?.insert(&b"format"[..], &FORMAT.to_be_bytes()[..])?;
        for table in [HEADERS, INDICES, TRIES, OBJECTS] {
            transaction.open_table(table)?;
        }
        transaction.commit()?;
        Ok(database.close()?)
    };
    make().map_err(|error| failure(path, error))
}

/// Refuses a database of another format.
pub(super) fn checked(database: Database, path: &Path) -> Result<Database, Error> {
    let version = || -> Result<Option<u32>, redb::Error> {
        let table = database.begin_read()?.open_table(META)?;
        let value = table.get(&b"format"[..])?;
        Ok(value.and_then(|value| value.value().try_into().ok().map(u32::from_be_bytes)))
    };
    match version() {
        Ok(Some(FORMAT)) => Ok(database),
        Ok(Some(version)) if version > FORMAT => Err(Error::Newer { path: path.to_owned(), version }),
        Ok(_) | Err(redb::Error::TableDoesNotExist(_) | redb::Error::TableTypeMismatch { .. }) => {
            Err(Error::NotAStore(path.to_owned()))
        }
        Err(error) => Err(failure(path, error)),
    }
}

/// Removes a token with all of its objects.
pub(super) fn remove(transaction: &WriteTransaction, token: TokenId) -> Result<(), redb::Error> {
    transaction.open_table(HEADERS)?.remove(&token.0[..])?;
    transaction.open_table(INDICES)?.remove(&token.0[..])?;
    transaction.open_table(TRIES)?.retain(|key, _| !key.starts_with(&token.0))?;
    transaction.open_table(OBJECTS)?.retain(|key, _| !key.starts_with(&token.0))?;
    Ok(())
}

/// Reads the public contents.
pub(super) fn read(database: &Database) -> Result<Contents, redb::Error> {
    let transaction = database.begin_read()?;
    let mut contents = Contents::default();
    let (indices, tries) = (transaction.open_table(INDICES)?, transaction.open_table(TRIES)?);
    for row in transaction.open_table(HEADERS)?.iter()? {
        let (key, header) = row?;
        let Ok(token) = key.value().try_into().map(TokenId) else { continue };
        let index = indices.get(key.value())?.map(|index| index.value().to_vec()).unwrap_or_default();
        let count = |role| -> Result<u8, redb::Error> {
            let tries = tries.get(&tries_key(token, role)[..])?;
            Ok(tries.and_then(|tries| tries.value().first().copied()).unwrap_or(0))
        };
        let counts = [count(Role::User)?, count(Role::Officer)?];
        match Header::decode(header.value()) {
            Ok(header) if header.token == token => {
                contents.tokens.insert(token, Token::new(header, index, counts));
            }
            Ok(_) => contents.damage.push(Damage {
                token,
                object: None,
                why: Error::Malformed("the header of a token"),
            }),
            Err(why) => contents.damage.push(Damage { token, object: None, why }),
        }
    }
    for row in tries.iter()? {
        let (key, tries) = row?;
        let Some((token, role, user)) = parsed_tries(key.value()) else { continue };
        if let (Some(known), [tries]) = (contents.tokens.get_mut(&token), tries.value()) {
            known.set_tries_of(role, user, *tries);
        }
    }
    for row in transaction.open_table(OBJECTS)?.iter()? {
        let (key, value) = row?;
        let Some((token, object)) = parsed(key.value()) else { continue };
        let Some(known) = contents.tokens.get_mut(&token) else { continue };
        let listed = split(value.value()).ok_or(Error::Malformed("an object"));
        let listed = listed.and_then(|(attributes, sealed)| known.list(object, attributes, sealed));
        if let Err(why) = listed {
            contents.damage.push(Damage { token, object: Some(object), why });
        }
    }
    Ok(contents)
}

pub(super) fn key(token: TokenId, object: ObjectId) -> [u8; 32] {
    let mut key = [0; 32];
    key[..16].copy_from_slice(&token.0);
    key[16..].copy_from_slice(&object.0);
    key
}

fn parsed(key: &[u8]) -> Option<(TokenId, ObjectId)> {
    let (token, object) = key.split_first_chunk()?;
    Some((TokenId(*token), ObjectId(object.try_into().ok()?)))
}

pub(super) fn tries_key(token: TokenId, role: Role) -> [u8; 17] {
    let mut key = [role.code(); 17];
    key[..16].copy_from_slice(&token.0);
    key
}

pub(super) fn user_tries_key(token: TokenId, role: Role, user: u32) -> [u8; 21] {
    let mut key = [0; 21];
    key[..17].copy_from_slice(&tries_key(token, role));
    key[17..].copy_from_slice(&user.to_be_bytes());
    key
}

/// Takes the key of a user's tries apart.
fn parsed_tries(key: &[u8]) -> Option<(TokenId, Role, u32)> {
    let (token, rest) = key.split_first_chunk()?;
    let (&[code], user) = rest.split_first_chunk()?;
    let role = [Role::User, Role::Officer].into_iter().find(|role| role.code() == code)?;
    Some((TokenId(*token), role, u32::from_be_bytes(user.try_into().ok()?)))
}

pub(super) fn place(role: Role) -> usize {
    match role {
        Role::User => 0,
        Role::Officer => 1,
    }
}

pub(super) fn joined(attributes: &[u8], sealed: &[u8]) -> Vec<u8> {
    [&(attributes.len() as u32).to_be_bytes(), attributes, sealed].concat()
}

pub(super) fn split(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = value.split_first_chunk()?;
    rest.split_at_checked(u32::from_be_bytes(*len) as usize)
}

/// Returns the error of the store for one of the database.
pub(super) fn failure(path: &Path, error: impl Into<redb::Error>) -> Error {
    let path = path.to_owned();
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => Error::InUse(path),
        redb::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => Error::NotAStore(path),
        redb::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
            Error::Damaged { path, why: "the file ends too early".into() }
        }
        redb::Error::Io(source) => system(&path, source),
        redb::Error::Corrupted(why) => Error::Damaged { path, why },
        error => Error::Damaged { path, why: error.to_string() },
    }
}

pub(super) fn system(path: &Path, source: io::Error) -> Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let path = path.to_owned();
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => Error::Full(path),
        _ => Error::Io { path, source },
    }
}

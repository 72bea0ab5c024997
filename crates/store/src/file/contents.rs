//! The public contents of a store in memory, for looking objects up.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use millstream_protocol::Attributes;

use crate::Error;
use crate::names::{ObjectId, Role, TokenId};
use crate::vault::{Entry, Header};

/// The tries of a PIN before it is locked.
pub const MOST_TRIES: u8 = 10;

/// The tries of a PIN that one user may make where users are counted: others still have as many until the PIN is locked for all.
pub const MOST_TRIES_OF_USER: u8 = MOST_TRIES / 2;

/// The most users of a token whose wrong tries are kept. Of more, one with the fewest tries is forgotten.
pub const MOST_USERS: usize = 1024;

/// A record that can't be understood, and stays as it is.
#[derive(Debug)]
pub struct Damage {
    /// The token that the record belongs to.
    pub token: TokenId,
    /// The object; none for the token's own records.
    pub object: Option<ObjectId>,
    /// The fault.
    pub why: Error,
}

/// The tokens of a store.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) tokens: BTreeMap<TokenId, Token>,
    pub(super) damage: Vec<Damage>,
}

/// The public contents of a token.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) header: Header,
    pub(super) index: Vec<u8>,
    /// The tries of PINs since the last right one: the user's and the officer's.
    pub(super) tries: [u8; 2],
    /// The tries of users who are counted, since their own last right one.
    tries_of: HashMap<(Role, u32), u8>,
    objects: BTreeMap<ObjectId, Listed>,
    by_label: HashMap<String, Vec<ObjectId>>,
    by_id: HashMap<Vec<u8>, Vec<ObjectId>>,
}

#[derive(Debug)]
struct Listed {
    entry: Entry,
    label: String,
    id: Vec<u8>,
}

impl Token {
    pub(super) fn new(header: Header, index: Vec<u8>, tries: [u8; 2]) -> Self {
        let (tries_of, objects, by_label, by_id) = Default::default();
        Token { header, index, tries, tries_of, objects, by_label, by_id }
    }

    pub(super) fn tries_of(&self, role: Role, user: u32) -> u8 {
        self.tries_of.get(&(role, user)).copied().unwrap_or(0)
    }

    pub(super) fn set_tries_of(&mut self, role: Role, user: u32, tries: u8) {
        match tries {
            0 => self.tries_of.remove(&(role, user)),
            tries => self.tries_of.insert((role, user), tries),
        };
    }

    /// Returns the user whose tries are forgotten, if those of one more are to be kept: one who has the fewest.
    pub(super) fn forgotten_for(&self, role: Role, user: u32) -> Option<(Role, u32)> {
        if self.tries_of.len() < MOST_USERS || self.tries_of.contains_key(&(role, user)) {
            return None;
        }
        self.tries_of.iter().min_by_key(|(_, tries)| **tries).map(|(whose, _)| *whose)
    }

    /// Forgets the tries of all users of a PIN.
    pub(super) fn forget_users(&mut self, role: Role) {
        self.tries_of.retain(|(of, _), _| *of != role);
    }

    /// Returns the number of changes so far, which the index has where an object has its version.
    pub(super) fn changes(&self) -> u64 {
        Entry::of(&self.index).map_or(0, |entry| entry.version)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (ObjectId, Entry)> + '_ {
        self.objects.iter().map(|(object, listed)| (*object, listed.entry))
    }

    pub(super) fn after(&self, object: ObjectId) -> impl Iterator<Item = ObjectId> + '_ {
        self.objects.range((Bound::Excluded(object), Bound::Unbounded)).map(|(object, _)| *object)
    }

    pub(super) fn labelled(&self, label: &str) -> &[ObjectId] {
        self.by_label.get(label).map_or(&[], Vec::as_slice)
    }

    pub(super) fn identified(&self, id: &[u8]) -> &[ObjectId] {
        self.by_id.get(id).map_or(&[], Vec::as_slice)
    }

    /// Lists an object, or another version of it.
    pub(super) fn list(&mut self, object: ObjectId, attributes: &[u8], sealed: &[u8]) -> Result<(), Error> {
        let entry = Entry::of(sealed)?;
        let Attributes { label, id, .. } = Attributes::decode(attributes)?;
        self.unlist(object);
        self.by_label.entry(label.clone()).or_default().push(object);
        self.by_id.entry(id.clone()).or_default().push(object);
        self.objects.insert(object, Listed { entry, label, id });
        Ok(())
    }

    pub(super) fn unlist(&mut self, object: ObjectId) {
        let Some(listed) = self.objects.remove(&object) else { return };
        drop_from(&mut self.by_label, &listed.label, object);
        drop_from(&mut self.by_id, &listed.id, object);
    }
}

fn drop_from<K: std::hash::Hash + Eq>(map: &mut HashMap<K, Vec<ObjectId>>, key: &K, object: ObjectId) {
    let Some(objects) = map.get_mut(key) else { return };
    objects.retain(|other| *other != object);
    if objects.is_empty() {
        map.remove(key);
    }
}

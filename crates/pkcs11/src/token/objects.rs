//! The objects that this process sees of a token, by handle and in an index by label and identifier.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cryptoki_sys::*;
use millstream_store::ObjectId;
use millstream_store::file::Stored;

use crate::object::{Home, Object};

/// The attributes by which objects are looked up. The last one tells which keys are a pair.
const INDEXED: [CK_ATTRIBUTE_TYPE; 3] = [CKA_ID, CKA_LABEL, CKA_PUBLIC_KEY_INFO];

/// The objects of a slot.
#[derive(Default)]
pub struct Objects {
    by_handle: BTreeMap<CK_OBJECT_HANDLE, Arc<Object>>,
    /// The objects of the token.
    pub kept: HashMap<ObjectId, Kept>,
    /// The handles of the public halves that stand in for missing objects, by their private keys.
    pub halves: HashMap<ObjectId, CK_OBJECT_HANDLE>,
    /// The handles of the objects that sessions have.
    by_session: HashMap<CK_SESSION_HANDLE, HashSet<CK_OBJECT_HANDLE>>,
    /// The handles of objects that have or had a value. Whoever looks a handle up here compares the object itself.
    index: HashMap<(CK_ATTRIBUTE_TYPE, Vec<u8>), BTreeSet<CK_OBJECT_HANDLE>>,
}

/// An object of the token.
pub struct Kept {
    /// The object as the file has it.
    pub stored: Arc<Stored>,
    /// The object's handle.
    pub handle: CK_OBJECT_HANDLE,
    /// True once the vault has opened the object with those attributes.
    pub is_authentic: AtomicBool,
    /// The number of the token's changes when it was so, or later.
    pub since: u64,
}

impl Objects {
    /// Returns an object.
    pub fn get(&self, handle: CK_OBJECT_HANDLE) -> Option<&Arc<Object>> {
        self.by_handle.get(&handle)
    }

    /// Returns all objects in the order of their handles.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.by_handle.values()
    }

    /// Adds an object.
    pub fn add(&mut self, object: Arc<Object>) {
        self.note(&object);
        match object.home {
            Home::Session(session) => {
                self.by_session.entry(session).or_default().insert(object.handle);
            }
            Home::Half(name) => {
                self.halves.insert(name, object.handle);
            }
            Home::Token(_) | Home::Module => {}
        }
        self.by_handle.insert(object.handle, object);
    }

    /// Notes an object in the index, new or with new attributes.
    pub fn note(&mut self, object: &Object) {
        let attributes = object.attributes();
        for kind in INDEXED {
            if let Some(value) = attributes.get(kind) {
                self.index.entry((kind, value.to_vec())).or_default().insert(object.handle);
            }
        }
    }

    /// Returns the objects of the token that have a public key, as `CKA_PUBLIC_KEY_INFO` tells it.
    pub fn with_public_key(&self, info: &[u8]) -> Vec<Arc<Object>> {
        let handles = self.index.get(&(CKA_PUBLIC_KEY_INFO, info.to_vec())).into_iter().flatten();
        let objects = handles.filter_map(|handle| self.by_handle.get(handle));
        let has = |object: &&Arc<Object>| object.attributes().get(CKA_PUBLIC_KEY_INFO) == Some(info);
        objects.filter(|object| object.home.is_token()).filter(has).cloned().collect()
    }

    /// Removes an object and what was made of it.
    pub fn remove(&mut self, handle: CK_OBJECT_HANDLE) {
        let Some(object) = self.by_handle.remove(&handle) else { return };
        object.forget_secret();
        match object.home {
            Home::Session(session) => {
                let handles = self.by_session.get_mut(&session);
                handles.map(|handles| handles.remove(&handle));
            }
            Home::Half(name) => {
                self.halves.remove(&name);
            }
            Home::Token(_) | Home::Module => {}
        }
        let attributes = object.attributes();
        for kind in INDEXED {
            let key = (kind, attributes.get(kind).unwrap_or_default().to_vec());
            if let Some(handles) = self.index.get_mut(&key) {
                handles.remove(&handle);
                if handles.is_empty() {
                    self.index.remove(&key);
                }
            }
        }
    }

    /// Removes the objects of a session.
    pub fn end_session(&mut self, session: CK_SESSION_HANDLE) {
        for handle in self.by_session.remove(&session).unwrap_or_default() {
            self.remove(handle);
        }
    }

    /// Removes all objects for which `goes` is true.
    pub fn remove_all(&mut self, goes: impl Fn(&Object) -> bool) {
        let gone: Vec<_> = self.iter().filter(|object| goes(object)).map(|object| object.handle).collect();
        let gone: HashSet<_> = gone.into_iter().inspect(|handle| self.remove(*handle)).collect();
        self.kept.retain(|_, kept| !gone.contains(&kept.handle));
    }

    /// Returns the handles of the objects that have every value of a template, in order. `sees` tells which the caller sees.
    pub fn find(
        &self,
        template: &[(CK_ATTRIBUTE_TYPE, Vec<u8>)],
        sees: impl Fn(&Object) -> bool,
    ) -> Vec<CK_OBJECT_HANDLE> {
        let fits = |object: &Object| object.attributes().match_all(template) && sees(object);
        // The rarest value that is asked for: many objects may have the same label.
        let indexed = template.iter().filter(|(kind, _)| INDEXED.contains(kind));
        let nothing = BTreeSet::new();
        let handles = indexed.map(|value| self.index.get(value).unwrap_or(&nothing));
        match handles.min_by_key(|handles| handles.len()) {
            Some(handles) => {
                let objects = handles.iter().filter_map(|handle| self.by_handle.get(handle));
                objects.filter(|object| fits(object)).map(|object| object.handle).collect()
            }
            None => self.iter().filter(|object| fits(object)).map(|object| object.handle).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::attributes::Attributes;
    use crate::object::{Draft, Home};

    fn object(handle: CK_OBJECT_HANDLE, id: &[u8]) -> Arc<Object> {
        let mut attributes = Attributes::default();
        attributes.set(CKA_ID, id);
        attributes.set(CKA_LABEL, b"same");
        Arc::new(Object::new(handle, Home::Session(1), Draft { attributes, secret: None }))
    }

    #[test]
    fn objects_are_found_by_what_they_have_now() {
        let mut objects = Objects::default();
        for handle in 1..=100 {
            objects.add(object(handle, &[handle as u8]));
        }
        let by_id = |objects: &Objects, id: u8| objects.find(&[(CKA_ID, vec![id])], |_| true);
        assert_eq!(by_id(&objects, 7), [7]);
        assert_eq!(objects.find(&[(CKA_LABEL, b"same".to_vec())], |_| true).len(), 100);
        assert_eq!(objects.find(&[], |object| object.handle > 98), [99, 100]);
        // A change is noted under the new value, and the old one finds nothing any more.
        let mut attributes = (*objects.get(7).unwrap().attributes()).clone();
        attributes.set(CKA_ID, &[200]);
        let changed = Arc::clone(objects.get(7).unwrap());
        changed.set_attributes(attributes);
        objects.note(&changed);
        assert_eq!((by_id(&objects, 7), by_id(&objects, 200)), (vec![], vec![7]));
        objects.remove(7);
        assert!(by_id(&objects, 200).is_empty());
        objects.remove_all(|object| object.handle.is_multiple_of(2));
        assert_eq!(objects.iter().count(), 49);
    }
}

//! The objects of a slot are made what the store has: handles stay, and private keys get public halves.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptoki_sys::*;
use millstream_store::file::Stored;
use millstream_store::{Attributes as Shared, ObjectId};

use super::objects::{Kept, Objects};
use super::state::{Done, Found, locked};
use super::{Slot, kept};
use crate::object::{Draft, Home, Object};
use crate::refusal::Outcome;

impl Slot {
    /// Makes the objects what the store has, after so many changes of the token.
    pub(super) fn show(&self, found: Found, changes: u64) {
        let mut objects = self.write_objects();
        let names: HashSet<_> = found.iter().map(|(name, _)| *name).collect();
        let goes = |object: &Object| match object.home {
            Home::Token(name) | Home::Half(name) => !names.contains(&name),
            Home::Session(_) | Home::Module => false,
        };
        let mut pairs: HashSet<_> = objects.iter().filter(|object| goes(object)).filter_map(info).collect();
        objects.remove_all(goes);
        for (name, stored) in found {
            pairs.extend(self.show_one(&mut objects, name, stored, changes));
        }
        pairs.iter().for_each(|info| self.complete_pair(&mut objects, info));
    }

    /// Makes the objects what they are after a change that this process has made. After changes of others the token is read again.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn took(&self, Done { name, stored, step }: Done) -> Outcome {
        let mut shown = locked(&self.shown);
        if !shown.takes(&step) {
            drop(shown);
            return self.refresh();
        }
        let mut objects = self.write_objects();
        let pairs = match stored {
            Some(stored) => {
                let pairs = self.show_one(&mut objects, name, stored, step.number());
                // The store made the object of what this process gave it.
                let kept = objects.kept.get(&name);
                kept.into_iter().for_each(|kept| kept.is_authentic.store(true, Ordering::Release));
                pairs
            }
            None => {
                let handle = objects.kept.remove(&name).map(|kept| kept.handle);
                let pair = handle.and_then(|handle| objects.get(handle)).and_then(info);
                let half = objects.halves.get(&name).copied();
                handle.into_iter().chain(half).for_each(|gone| objects.remove(gone));
                pair.into_iter().collect()
            }
        };
        pairs.iter().for_each(|info| self.complete_pair(&mut objects, info));
        Ok(())
    }

    /// Makes one object what the store has. Returns the public keys whose pairs may be other ones now.
    fn show_one(
        &self,
        objects: &mut Objects,
        name: ObjectId,
        stored: Arc<Stored>,
        changes: u64,
    ) -> Vec<Vec<u8>> {
        if let Some(kept) = objects.kept.get_mut(&name)
            && (kept.stored == stored || kept.since > changes)
        {
            kept.since = kept.since.max(changes);
            return Vec::new();
        }
        let shared = Shared::decode(&stored.attributes).ok();
        let Some(mut attributes) = shared.and_then(|shared| kept::from_store(self.features, &shared)) else {
            return Vec::new();
        };
        attributes.set(CKA_UNIQUE_ID, name.to_string().as_bytes());
        let known = objects.kept.get(&name).and_then(|kept| objects.get(kept.handle)).cloned();
        let before = known.as_ref().and_then(info);
        let object = match known {
            Some(object) => {
                object.forget_secret();
                object.set_attributes(attributes);
                objects.note(&object);
                object
            }
            None => {
                let draft = Draft { attributes, secret: None };
                let held = self.store.holds_keys().then_some(name);
                let object = Object::new(self.next(), Home::Token(name), draft).held_as(held);
                let object = Arc::new(object);
                objects.add(Arc::clone(&object));
                object
            }
        };
        let (handle, is_authentic) = (object.handle, AtomicBool::new(false));
        objects.kept.insert(name, Kept { stored, handle, is_authentic, since: changes });
        before.into_iter().chain(info(&object)).collect()
    }

    /// Gives the private keys of the token that have a public key a public object, if it has none of its own.
    fn complete_pair(&self, objects: &mut Objects, info: &[u8]) {
        let with = objects.with_public_key(info);
        let is = |object: &Arc<Object>, class| object.attributes().class() == class;
        let has_own = with.iter().any(|object| is(object, CKO_PUBLIC_KEY));
        for key in with.iter().filter(|object| is(object, CKO_PRIVATE_KEY)) {
            let Home::Token(name) = key.home else { continue };
            let half = objects.halves.get(&name).copied();
            if has_own {
                half.into_iter().for_each(|half| objects.remove(half));
                continue;
            }
            let Ok(mut attributes) = kept::half_of(self.features, &key.attributes()) else { continue };
            attributes.set(CKA_UNIQUE_ID, format!("{name}-public").as_bytes());
            match half.and_then(|half| objects.get(half)).cloned() {
                Some(half) => {
                    half.set_attributes(attributes);
                    objects.note(&half);
                }
                None => {
                    let draft = Draft { attributes, secret: None };
                    objects.add(Arc::new(Object::new(self.next(), Home::Half(name), draft)));
                }
            }
        }
    }
}

/// Returns the public key of an object of the token, by which it is one of a pair.
fn info(object: &Arc<Object>) -> Option<Vec<u8>> {
    let attributes = object.attributes();
    let is_of_pair = matches!(attributes.class(), CKO_PUBLIC_KEY | CKO_PRIVATE_KEY) && object.home.is_token();
    attributes.get(CKA_PUBLIC_KEY_INFO).filter(|_| is_of_pair).map(<[u8]>::to_vec)
}

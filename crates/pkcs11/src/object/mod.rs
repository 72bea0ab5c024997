//! Objects: their attributes, their secrets, and the engines that their keys are expanded for.

pub mod attributes;
mod der;
pub mod engine;
mod held;
pub mod kind;
pub mod make;
pub mod purpose;
pub mod rules;

use std::sync::{Arc, PoisonError, RwLock};

use cryptoki_sys::*;
use millstream::Features;
use millstream_store::ObjectId;

use self::attributes::Attributes;
use self::engine::Engine;
use self::kind::Kind;
use self::purpose::Purpose;
use crate::refusal::{Outcome, Refusal, demand, refuse};

pub use self::der::{point, trimmed};
pub use self::held::{Held, PIECE, Remote};
pub use self::purpose::Secret;

/// An object that is not anywhere yet.
pub struct Draft {
    /// The attributes, complete but for `CKA_UNIQUE_ID`.
    pub attributes: Attributes,
    /// The secret, if there is one.
    pub secret: Option<Secret>,
}

/// The source from which a key is expanded.
pub enum Material {
    /// The secret of the key.
    Secret(Arc<Secret>),
    /// A key that is used in the service.
    Held(Held),
}

/// The home of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In the token.
    Token(ObjectId),
    /// In this process, until the session ends that made it.
    Session(CK_SESSION_HANDLE),
    /// Nowhere: it is the public half of a private key in the token that has no public object of its own.
    Half(ObjectId),
    /// Nowhere: it tells something of the module.
    Module,
}

impl Home {
    /// Returns true for an object in the token.
    pub fn is_token(self) -> bool {
        matches!(self, Home::Token(_))
    }
}

/// An object.
pub struct Object {
    /// The number by which the program names it. No other object of this process ever has it.
    pub handle: CK_OBJECT_HANDLE,
    /// The object's home.
    pub home: Home,
    /// The object of the token in the service whose key this one is, if it is used there.
    pub held: Option<ObjectId>,
    attributes: RwLock<Arc<Attributes>>,
    /// The secret; none while it is sealed in the token, or if there is none.
    secret: RwLock<Option<Arc<Secret>>>,
    /// The engines that the key was expanded for.
    engines: RwLock<Vec<(Purpose, Arc<Engine>)>>,
}

impl Object {
    /// Makes an object of a draft.
    pub fn new(handle: CK_OBJECT_HANDLE, home: Home, draft: Draft) -> Self {
        Object {
            handle,
            home,
            held: None,
            attributes: RwLock::new(Arc::new(draft.attributes)),
            secret: RwLock::new(draft.secret.map(Arc::new)),
            engines: RwLock::default(),
        }
    }

    /// Returns the object with the one of the service whose key it is.
    pub fn held_as(mut self, held: Option<ObjectId>) -> Self {
        self.held = held;
        self
    }

    /// Returns its attributes.
    pub fn attributes(&self) -> Arc<Attributes> {
        self.attributes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces its attributes.
    pub fn set_attributes(&self, attributes: Attributes) {
        *self.attributes.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(attributes);
    }

    /// Returns true for an object that is seen only after a login.
    pub fn is_private(&self) -> bool {
        self.attributes().is(CKA_PRIVATE)
    }

    /// Returns the secret if it is open.
    pub fn open_secret(&self) -> Option<Arc<Secret>> {
        self.secret.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the secret, now that it is open.
    pub fn keep_secret(&self, secret: Arc<Secret>) {
        *self.secret.write().unwrap_or_else(PoisonError::into_inner) = Some(secret);
    }

    /// Forgets the secret and what was made of it. What is under way with it ends as it began.
    pub fn forget_secret(&self) {
        *self.secret.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.engines.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the engine for a purpose, which `material` keys if it is not there yet.
    ///
    /// # Errors
    /// Those of the key, and those of `material`.
    pub fn engine(
        &self,
        features: Features,
        purpose: Purpose,
        material: impl FnOnce() -> Outcome<Material>,
    ) -> Outcome<Arc<Engine>> {
        let find = |engines: &[(Purpose, Arc<Engine>)]| {
            engines.iter().find(|(found, _)| *found == purpose).map(|(_, engine)| Arc::clone(engine))
        };
        if let Some(found) = find(&self.engines.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        let attributes = self.attributes();
        let made = match attributes.class() {
            CKO_PUBLIC_KEY => Engine::public(features, purpose, &attributes)?,
            _ => {
                let kind = Kind::of(&attributes)?;
                match material()? {
                    Material::Secret(secret) => Engine::secret(features, purpose, kind, &secret)?,
                    Material::Held(held) => {
                        purpose.check_kind(kind)?;
                        Engine::Remote(held.load(features, purpose, kind, &attributes)?)
                    }
                }
            }
        };
        let mut engines = self.engines.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        Ok(find(&engines).unwrap_or_else(|| {
            let made = Arc::new(made);
            engines.push((purpose, Arc::clone(&made)));
            made
        }))
    }

    /// Returns the value of an attribute as a program sees it.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_ATTRIBUTE_SENSITIVE`; those of `secret`.
    pub fn value(
        &self,
        features: Features,
        wanted: CK_ATTRIBUTE_TYPE,
        secret: impl FnOnce() -> Outcome<Arc<Secret>>,
    ) -> Outcome<Vec<u8>> {
        let attributes = self.attributes();
        let class = attributes.class();
        if rules::is_secret(class, wanted) {
            let kind = Kind::of(&attributes)?;
            let is_part = match kind {
                Kind::Rsa => !matches!(wanted, CKA_VALUE | CKA_SEED),
                Kind::MlKem(_) | Kind::MlDsa(_) => matches!(wanted, CKA_VALUE | CKA_SEED),
                _ => wanted == CKA_VALUE,
            };
            demand(is_part, CKR_ATTRIBUTE_TYPE_INVALID)?;
            let stays = attributes.is(CKA_SENSITIVE) || !attributes.is(CKA_EXTRACTABLE);
            demand(!stays, CKR_ATTRIBUTE_SENSITIVE)?;
            return make::part(features, kind, &secret()?, wanted);
        }
        match (class, wanted) {
            (CKO_DATA, CKA_VALUE) => Ok(secret()?.to_vec()),
            _ => attributes.get(wanted).map(<[u8]>::to_vec).ok_or(Refusal(CKR_ATTRIBUTE_TYPE_INVALID)),
        }
    }

    /// Refuses an object that must not be destroyed.
    pub fn check_destroyable(&self) -> Outcome {
        let is_half = matches!(self.home, Home::Half(_));
        if is_half || !self.attributes().is(CKA_DESTROYABLE) { refuse(CKR_ACTION_PROHIBITED) } else { Ok(()) }
    }
}

//! Keys that another provider holds: EC and RSA.
//!
//! These keys come in more kinds, with more parameters, than any engine has. So the key itself is another provider's, the one that
//! OpenSSL would use if we were not there, and whatever is asked about it is asked there. Beside it stands what an engine makes of
//! the key, where it is one of an engine's.

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use crate::abi::OsslParam;
use crate::error::Result;
use crate::libcrypto::pkey::{Context, Held, Home, Numbers};
use crate::params::Params;
use crate::provider::Provider;

/// A type of key that another provider holds.
pub trait Family: 'static {
    /// OpenSSL's names of the type.
    const NAMES: &'static CStr;
    /// The first of them.
    const NAME: &'static CStr;
    /// The parameters that a key is imported from and exported to, for versions of OpenSSL that do not say whose keys they ask about.
    const PARTS: &'static [OsslParam];
    /// The key as an engine has it: both parts, one, or none.
    type Engine: Send + Sync;

    /// Makes the key of an engine; one without any part where the key is none of an engine's.
    fn engine(held: &Held) -> Self::Engine;
    /// Returns the name of the algorithm for an operation with the key; none where it is that of the key.
    fn operation(operation: i32) -> Option<&'static CStr>;
    /// Tells whether an engine has examined the selected parts, and found them right.
    fn is_valid(_engine: &Self::Engine, _selection: i32) -> bool {
        false
    }
}

/// A key: what stands behind an `EVP_PKEY`, and in each context that uses it.
pub struct Key<F: Family> {
    pub provider: Provider,
    held: Arc<Held>,
    engine: Arc<OnceLock<F::Engine>>,
}

impl<F: Family> Clone for Key<F> {
    fn clone(&self) -> Self {
        Key { held: self.held.clone(), engine: self.engine.clone(), ..*self }
    }
}

impl<F: Family> Key<F> {
    /// Makes a key without any part.
    pub fn new(provider: Provider) -> Result<Self> {
        Ok(Key::of(provider, Held::new(Home::find(provider, F::NAME)?)?))
    }

    /// Takes a key that another provider has made.
    pub fn of(provider: Provider, held: Held) -> Self {
        Key { provider, held: Arc::new(held), engine: Arc::default() }
    }

    /// Returns the key that the other provider holds.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// Returns the key of an engine, which is made when it is first needed: most keys in a store of certificates never are.
    pub fn engine(&self) -> &F::Engine {
        if let Some(engine) = self.engine.get() {
            return engine;
        }
        // A lock that is held all the while would be held for ever in a child that is forked meanwhile.
        let engine = F::engine(&self.held);
        self.engine.get_or_init(|| engine)
    }

    /// Forgets the key of an engine, because the key has changed.
    pub fn changed(&mut self) {
        self.engine = Arc::default();
    }
}

/// A context of an operation with such a key. Beside it stands a context of the provider that holds the key, which keeps all that was
/// set; it may be made when it is first needed.
pub trait Operation: Sized + 'static {
    /// The keys.
    type Family: Family;
    /// The first of OpenSSL's names of the algorithm.
    const ALGORITHM: &'static CStr;
    /// The numbers of the functions that all operations have.
    const NUMBERS: &'static Numbers;

    /// Returns the provider that the context belongs to.
    fn provider(&self) -> Provider;
    /// Makes another context in the same state.
    fn duplicate(&self) -> Result<Self>;
    /// Returns the context of the other provider.
    fn others(&mut self) -> Result<&mut Context>;
    /// Sets parameters.
    fn set(&mut self, params: Params<'_>) -> Result<()>;
}

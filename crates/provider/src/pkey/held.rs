//! Keys that another provider holds: EC and RSA.
//!
//! These keys come in more kinds, with more parameters, than any engine has. So the key itself is another provider's, the one that
//! OpenSSL would use if we were not there, and whatever is asked about it is asked there. Beside it stands what an engine makes of
//! the key, where it is one of an engine's.
//!
//! The private part of an isolated key is in the service. The other provider then holds the public part alone, so it is asked
//! about that, and never about the private part. A key of a kind that the service lacks stays in this process.

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use millstream::cwq::Algorithm;
use zeroize::Zeroizing;

use super::Selection;
use crate::abi::OsslParam;
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::{Context, Held, Home, Numbers};
use crate::params::Params;
use crate::provider::Provider;
use crate::remote::{self, PrivateKey};

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
    /// The parameters of a key that is to be made, as far as the service must know them.
    type Asked: Default;

    /// Makes the key of an engine; one without any part where the key is none of an engine's.
    fn engine(held: &Held) -> Self::Engine;
    /// Returns the name of the algorithm for an operation with the key; none where it is that of the key.
    fn operation(operation: i32) -> Option<&'static CStr>;
    /// Tells whether an engine has examined the selected parts, and found them right.
    fn is_valid(_engine: &Self::Engine, _selection: i32) -> bool {
        false
    }

    /// Reads the private part from the parameters of a key; none where the service has no such keys.
    fn secret(params: Params<'_>) -> Result<Option<Secret>>;
    /// Calls `taker` with the parameters of a public key that the service told.
    fn tell_public(
        algorithm: Algorithm,
        public: &[u8],
        taker: &mut dyn FnMut(Params<'_>) -> Result<()>,
    ) -> Result<()>;
    /// Notes parameters of a key that is to be made.
    fn ask(asked: &mut Self::Asked, params: Params<'_>);
    /// Returns the algorithm and the length for which the service makes such a key; none where another provider must make it.
    fn made_there(asked: &Self::Asked) -> Option<(Algorithm, usize)>;
}

/// A private key as the service takes it.
pub struct Secret {
    pub algorithm: Algorithm,
    /// The scalar of a curve, big-endian and as long as the curve's numbers; or the DER of an `RSAPrivateKey`. Of ML-DSA the DER of the
    /// whole `PrivateKeyInfo`, whose forms are told apart when the key is brought.
    pub bytes: Zeroizing<Vec<u8>>,
}

/// A private part in the service.
pub struct Isolated {
    pub key: PrivateKey,
    /// The bits of the key.
    pub bits: usize,
    /// The most bytes that an operation with it gives.
    pub size: usize,
}

/// A key: what stands behind an `EVP_PKEY`, and in each context that uses it.
pub struct Key<F: Family> {
    pub provider: Provider,
    /// True where a private part goes to the service.
    isolates: bool,
    held: Arc<Held>,
    engine: Arc<OnceLock<F::Engine>>,
    isolated: Option<Arc<Isolated>>,
}

impl<F: Family> Clone for Key<F> {
    fn clone(&self) -> Self {
        let (held, engine) = (self.held.clone(), self.engine.clone());
        Key { held, engine, isolated: self.isolated.clone(), ..*self }
    }
}

/// A private part was asked for that is in the service.
pub const OPAQUE: Reason = Reason::NOT_SUPPORTED
    .with("the private key is in the service, which does not give it out; ask for millstream.isolated=no");
/// An operation was asked for that the service lacks.
pub const LACKING: Reason = Reason::NOT_SUPPORTED.with(
    "the private key is in the service, which has no operation with these parameters; ask for millstream.isolated=no when the key is loaded",
);

impl<F: Family> Key<F> {
    /// Makes a key without any part. A private part that comes later goes to the service if the key `isolates`.
    pub fn new(provider: Provider, isolates: bool) -> Result<Self> {
        Ok(Key::of(provider, isolates, Held::new(Home::find(provider, F::NAME)?)?))
    }

    /// Takes a key that another provider has made.
    pub fn of(provider: Provider, isolates: bool, held: Held) -> Self {
        Key { provider, isolates, held: Arc::new(held), engine: Arc::default(), isolated: None }
    }

    /// Brings a private key to the service.
    pub fn bring(provider: Provider, secret: &Secret) -> Result<Self> {
        Key::there(provider, remote::private(provider, secret.algorithm, &secret.bytes)?)
    }

    /// Takes a private key that is in the service, and has another provider hold its public part.
    pub fn there(provider: Provider, key: PrivateKey) -> Result<Self> {
        let made = Key::<F>::new(provider, true)?;
        let import = &mut |params: Params<'_>| made.held.import(Selection::PUBLIC | Selection::GROUP, params);
        F::tell_public(key.algorithm(), &key.public_key()?, import)?;
        let number = |name| made.held.number(name).ok_or(Reason::INTERNAL);
        let (bits, size) = (number(c"bits")?, number(c"max-size")?);
        Ok(Key { isolated: Some(Arc::new(Isolated { key, bits, size })), ..made })
    }

    /// Takes a key that another provider has made, and brings its private part to the service where that has such keys.
    pub fn moved(provider: Provider, held: Held) -> Result<Self> {
        let mut secret = Ok(None);
        if held.has(Selection::PRIVATE) {
            held.with_parts(Selection::ALL, &mut |params| {
                secret = F::secret(params);
                Ok(())
            })?;
        }
        match secret? {
            Some(secret) => Key::bring(provider, &secret),
            None => Ok(Key::of(provider, true, held)),
        }
    }

    /// Returns the key that the other provider holds. It has no private part where that is in the service.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// Returns the private part that is in the service.
    pub fn isolated(&self) -> Option<&Isolated> {
        self.isolated.as_deref()
    }

    /// Tells whether all selected parts are there.
    pub fn has(&self, selection: i32) -> bool {
        self.held.has(self.selected(selection))
    }

    /// Tells whether the selected parts of both are the same. Equal public parts belong to equal private ones.
    pub fn matches(&self, other: &Self, selection: i32) -> bool {
        let is_private = selection & Selection::PRIVATE != 0;
        let selection = match self.isolated.is_some() || other.isolated.is_some() {
            true if is_private => selection & !Selection::PRIVATE | Selection::PUBLIC,
            _ => selection,
        };
        self.held.matches(&other.held, selection)
    }

    /// Fails where a selected part is missing, or parts do not belong together.
    pub fn validate(&self, selection: i32, thoroughness: i32) -> Result<()> {
        // The public part of an isolated key is what the service has computed of the private one.
        match self.selected(selection) {
            0 => Ok(()),
            selection if F::is_valid(self.engine(), selection) => Ok(()),
            selection => self.held.validate(selection, thoroughness),
        }
    }

    /// Fails where a private part is to leave that is in the service.
    pub fn may_leave(&self, selection: i32) -> Result<()> {
        let is_private = selection & Selection::PRIVATE != 0;
        if is_private && self.isolated.is_some() { Err(OPAQUE) } else { Ok(()) }
    }

    /// Takes the selected parts from parameters.
    pub fn import(&mut self, selection: i32, params: Params<'_>) -> Result<()> {
        self.changed();
        if self.isolates
            && selection & Selection::PRIVATE != 0
            && let Some(secret) = F::secret(params)?
        {
            *self = Key::bring(self.provider, &secret)?;
            return Ok(());
        }
        self.held.import(selection, params)
    }

    /// Changes the key. A key that gets another public part has no private one any more.
    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        self.held.set(params)?;
        self.changed();
        if params.find(c"encoded-pub-key").is_some() {
            self.isolated = None;
        }
        Ok(())
    }

    /// Returns a copy of the selected parts.
    pub fn copy(&self, selection: i32) -> Result<Self> {
        let mut copy = Key::of(self.provider, self.isolates, self.held.duplicate(self.selected(selection))?);
        if selection & Selection::PRIVATE != 0 {
            copy.isolated = self.isolated.clone();
        }
        Ok(copy)
    }

    /// Returns the parts of a selection that the other provider has.
    fn selected(&self, selection: i32) -> i32 {
        if self.isolated.is_some() { selection & !Selection::PRIVATE } else { selection }
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
    fn changed(&mut self) {
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

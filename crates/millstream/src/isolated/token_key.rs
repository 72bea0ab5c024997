//! One key of a token of the service, for programs that keep it for long: it outlives grants, services and forks.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::token::Login;
use super::{Attach, Grants, ServiceKey, ServiceKeyError, UsageRange};
use crate::Error;
use crate::cwq::Algorithm;

/// A key of a token, loaded into a grant of whatever process uses it, and loaded again when that grant has ended: after the service was
/// started again, after a worker's death, and in a forked child. Any number of threads may use it at once.
///
/// ```no_run
/// use std::sync::Arc;
/// use millstream::cwq::{Algorithm, Usages};
/// use millstream::isolated::token::Login;
/// use millstream::isolated::{Grants, TokenKey};
///
/// static GRANTS: Grants = Grants::new();
///
/// # let (token, object) = (0, 0);
/// let login = Arc::new(Login::new(token, b"314159"));
/// let key = TokenKey::load(&GRANTS, &Grants::options(None), login, object, Algorithm::P256, Usages::SIGN)?;
/// println!("signature {:02x?}", key.with(|key| key.sign(b"message"))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TokenKey {
    grants: &'static Grants,
    options: Attach,
    login: Arc<Login>,
    object: u128,
    algorithm: Algorithm,
    usages: UsageRange,
    loaded: Mutex<Arc<ServiceKey>>,
}

impl TokenKey {
    /// Loads a key, with its token's PIN.
    ///
    /// # Errors
    /// As [`ServiceKey::load`].
    pub fn load(
        grants: &'static Grants,
        options: &Attach,
        login: Arc<Login>,
        object: u128,
        algorithm: Algorithm,
        usages: impl Into<UsageRange>,
    ) -> Result<Self, Error> {
        let usages = usages.into();
        let key = ServiceKey::load(grants, options, &login, object, algorithm, usages)?;
        let loaded = Mutex::new(Arc::new(key));
        Ok(TokenKey { grants, options: options.clone(), login, object, algorithm, usages, loaded })
    }

    /// Does something with the key. If its grant has ended, the key is loaded again and `act` is called once more.
    ///
    /// # Errors
    /// Those of `act`, and those of [`ServiceKey::load`] as [`ServiceKeyError::Failed`].
    pub fn with<T>(
        &self,
        mut act: impl FnMut(&ServiceKey) -> Result<T, ServiceKeyError>,
    ) -> Result<T, ServiceKeyError> {
        let key = self.loaded();
        match act(&key) {
            Err(error) if error.has_ended() => act(&*self.again(&key)?),
            done => done,
        }
    }

    /// Returns the algorithm that the key is for.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    fn loaded(&self) -> Arc<ServiceKey> {
        Arc::clone(&self.loaded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Loads the key again, unless another thread has done so since `old` was taken.
    fn again(&self, old: &Arc<ServiceKey>) -> Result<Arc<ServiceKey>, Error> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&loaded, old) {
            *loaded = Arc::new(ServiceKey::load(
                self.grants,
                &self.options,
                &self.login,
                self.object,
                self.algorithm,
                self.usages,
            )?);
        }
        Ok(Arc::clone(&loaded))
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenKey({}, {:?})", self.algorithm.name(), self.login)
    }
}

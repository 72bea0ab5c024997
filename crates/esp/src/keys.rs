//! The keys of an association, in this process or in a worker of the service.

use millstream::Key;
use millstream::isolated::{Accelerator, Exportable};
use millstream::queue::KeyHandle;

use crate::description::KeyMaterial;
use crate::suite::Suite;

/// A key that is bound to whatever computes with it.
pub(crate) enum Bound {
    /// The key is in this process.
    Here(Box<Key>),
    /// A worker holds it.
    Worker(KeyHandle),
}

/// The keys of an association.
pub struct Keys {
    pub(crate) cipher: Bound,
    pub(crate) auth: Option<Bound>,
    pub(crate) salt: zeroize::Zeroizing<[u8; 4]>,
    /// The grant that has the keys, and its number among those that this process had.
    grant: Option<(u64, Accelerator)>,
}

impl Keys {
    /// Expands keys in this process.
    ///
    /// # Errors
    /// As the engines' own `new`.
    pub fn here(suite: Suite, material: &KeyMaterial) -> Result<Self, millstream::Error> {
        let features = millstream::features()?;
        let cipher = Key::new(features, suite.algorithm(), &material.cipher)?;
        let auth =
            suite.auth().map(|auth| Key::new(features, auth.algorithm(), &material.auth)).transpose()?;
        Ok(Keys {
            cipher: Bound::Here(Box::new(cipher)),
            auth: auth.map(|key| Bound::Here(Box::new(key))),
            salt: material.salt.clone(),
            grant: None,
        })
    }

    /// Brings keys to a worker, which never gives them back. `number` tells the grant from others.
    ///
    /// # Errors
    /// As [`Accelerator::import_key`]; the worker has none of the keys then.
    pub(crate) fn in_worker(
        suite: Suite,
        material: &KeyMaterial,
        (number, accelerator): (u64, &Accelerator),
    ) -> Result<Self, millstream::Error> {
        let import = |algorithm, key: &[u8]| accelerator.import_key(algorithm, key, Exportable::No);
        let cipher = import(suite.algorithm(), &material.cipher)?;
        let auth = match suite.auth().map(|auth| import(auth.algorithm(), &material.auth)).transpose() {
            Ok(auth) => auth,
            Err(error) => {
                accelerator.discard_key(cipher);
                return Err(error);
            }
        };
        Ok(Keys {
            cipher: Bound::Worker(cipher),
            auth: auth.map(Bound::Worker),
            salt: material.salt.clone(),
            grant: Some((number, accelerator.clone())),
        })
    }

    /// Returns the number of the grant that has the keys; none where they are in this process.
    pub(crate) fn grant(&self) -> Option<u64> {
        self.grant.as_ref().map(|(number, _)| *number)
    }
}

impl Drop for Keys {
    /// Has the worker zeroise its keys; those that are here do so themselves.
    fn drop(&mut self) {
        if let Some((_, accelerator)) = &self.grant {
            for key in [Some(&self.cipher), self.auth.as_ref()].into_iter().flatten() {
                if let Bound::Worker(key) = key {
                    accelerator.discard_key(*key);
                }
            }
        }
    }
}

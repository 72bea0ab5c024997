//! The context of encapsulations and decapsulations with one key.
//!
//! Ref. provider-kem(7), EVP_KEM-ML-KEM(7).

use millstream::publickey::mlkem::MESSAGE;
use millstream::tally::Place;
use zeroize::Zeroizing;

use super::Kem;
use super::key::Key;
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::pkey::{KeyType, Selection};
use crate::provider::Provider;

/// The direction of a context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Encapsulate,
    Decapsulate,
}

/// A context.
pub struct Encapsulation<K: Kem> {
    pub provider: Provider,
    key: Option<(Key<K>, Direction)>,
    /// The random bytes of the next encapsulation where a caller has given them, which only tests do.
    message: Option<Zeroizing<[u8; MESSAGE]>>,
    count: Count,
}

impl<K: Kem> Clone for Encapsulation<K> {
    fn clone(&self) -> Self {
        Encapsulation {
            provider: self.provider,
            key: self.key.clone(),
            message: self.message.clone(),
            count: self.count.clone(),
        }
    }
}

impl<K: Kem> Encapsulation<K> {
    pub fn new(provider: Provider) -> Self {
        Encapsulation { provider, key: None, message: None, count: Count::default() }
    }

    /// Begins with a key that has the part which the direction needs.
    pub fn begin(&mut self, key: &Key<K>, direction: Direction, params: Params<'_>) -> Result<()> {
        let needed = match direction {
            Direction::Encapsulate => Selection::PUBLIC,
            Direction::Decapsulate => Selection::PRIVATE,
        };
        let kernel = key.kernel().filter(|_| key.has(Selection(needed))).ok_or(Reason::MISSING_KEY)?;
        self.count.bind(K::rows().row(self.provider, Place::InProcess, K::COUNTED, kernel));
        (self.key, self.message) = (Some((key.clone(), direction)), None);
        self.set(params)
    }

    /// Takes the random bytes of the next encapsulation. A hybrid has no such parameter.
    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        let encapsulates = matches!(self.key, Some((_, Direction::Encapsulate)));
        if let Some(message) = params.find(c"ikme").filter(|_| K::ALONE && encapsulates) {
            self.message = None;
            let message = message.octets()?.try_into().map_err(|_| Reason::INVALID_SEED_LENGTH)?;
            self.message = Some(Zeroizing::new(message));
        }
        Ok(())
    }

    fn key(&self, direction: Direction) -> Result<&Key<K>> {
        let key = self.key.as_ref().filter(|(_, of)| *of == direction);
        key.map(|(key, _)| key).ok_or(Reason::MISSING_KEY)
    }

    /// Encapsulates into places of [`Kem::CIPHERTEXT`] and [`Kem::SECRET`] bytes. Given random bytes serve once.
    pub fn encapsulate(&mut self, ciphertext: &mut [u8], secret: &mut [u8]) -> Result<()> {
        let message = self.message.take();
        self.key(Direction::Encapsulate)?.encapsulate(message.as_deref(), (ciphertext, secret))?;
        self.count.add(K::SECRET);
        Ok(())
    }

    /// Decapsulates into a place of [`Kem::SECRET`] bytes.
    pub fn decapsulate(&mut self, ciphertext: &[u8], secret: &mut [u8]) -> Result<()> {
        self.key(Direction::Decapsulate)?.decapsulate(ciphertext, secret)?;
        self.count.add(K::SECRET);
        Ok(())
    }
}

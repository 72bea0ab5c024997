//! AES-XTS: every update is a data unit of its own, all under the same tweak until another vector is set.

use std::sync::Arc;

use millstream::InOut;
use millstream::aes::{MAX_DATA_UNIT, Xts, XtsDecryption};
use millstream::compare::begins;
use millstream::isolated::ServiceKey;
use millstream::modes::Direction;
use millstream::tally::Place;

use super::common::Common;
use super::remote::RemoteXts;
use super::{Context, LAST, Registration};
use crate::abi::{OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::error::{Reason, Result};
use crate::exchange::Exchange;
use crate::params::Params;

/// A pair of keys, wherever it is.
enum Key {
    Local(Box<Xts>),
    /// The two keys are equal, which is only for old data.
    Equal(Box<XtsDecryption>),
    Remote(RemoteXts),
}

impl Key {
    fn data_unit(&self, direction: Direction, tweak: &[u8; 16], data: InOut<'_>) -> Result<()> {
        match (self, direction) {
            (Key::Local(key), Direction::Encrypt) => Ok(key.encrypt(tweak, data)?),
            (Key::Local(key), Direction::Decrypt) => Ok(key.decrypt(tweak, data)?),
            (Key::Equal(key), Direction::Decrypt) => Ok(key.decrypt(tweak, data)?),
            (Key::Equal(_), Direction::Encrypt) => Err(Reason::XTS_DUPLICATED_KEYS),
            (Key::Remote(key), _) => key.data_unit(direction, tweak, data),
        }
    }
}

/// The parameters of one such cipher.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct XtsContext {
    common: Common,
    spec: &'static Spec,
    key: Option<Arc<Key>>,
}

impl XtsContext {
    /// Encrypts or decrypts a data unit.
    #[inline(always)]
    fn data_unit(&mut self, data: InOut<'_>) -> Result<()> {
        let Some(key) = self.key.as_deref().filter(|_| self.common.iv_set()) else {
            return Err(Reason::CIPHER_OPERATION_FAILED);
        };
        let len = data.len();
        match len {
            0..16 => return Err(Reason::CIPHER_OPERATION_FAILED),
            16..=MAX_DATA_UNIT => {}
            _ => return Err(Reason::XTS_DATA_UNIT_IS_TOO_LARGE),
        }
        let Common { direction, chain, .. } = &self.common;
        key.data_unit(*direction, chain, data)?;
        self.common.count.add(len);
        Ok(())
    }
}

impl Context for XtsContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"padding", UNSIGNED_INTEGER),
        OsslParam::described(c"num", UNSIGNED_INTEGER),
        OsslParam::described(c"iv", OCTET_STRING),
        OsslParam::described(c"updated-iv", OCTET_STRING),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] =
        &[OsslParam::described(c"keylen", UNSIGNED_INTEGER), OsslParam::END];

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        XtsContext { common: Common::new(registration), spec, key: None }
    }

    fn take(&mut self, _direction: Direction, key: &Arc<ServiceKey>) -> Result<()> {
        let key = RemoteXts::with(key, self.common.registration.info.key)?;
        self.common.bind(Place::Isolated, self.spec.name, "worker");
        self.key = Some(Arc::new(Key::Remote(key)));
        Ok(())
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.common.begin(direction, iv, false)
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        self.common.check_key(key)?;
        let (one, other) = key.split_at(key.len() / 2);
        let equal = begins(one, other).into();
        if equal && self.common.direction == Direction::Encrypt {
            return Err(Reason::XTS_DUPLICATED_KEYS);
        }
        let Registration { provider, isolated, .. } = self.common.registration;
        let key = if equal && isolated {
            return Err(Reason::XTS_DUPLICATED_KEYS.with(
                "the service takes no such keys, not even to decrypt: read old data with millstream.isolated=no",
            ));
        } else if equal {
            // Data that was written under such keys stays readable, as with the default provider.
            let local = XtsDecryption::new(millstream::features()?, key)?;
            self.common.bind(Place::InProcess, self.spec.name, local.kernel().name);
            Key::Equal(Box::new(local))
        } else if isolated {
            self.common.bind(Place::Isolated, self.spec.name, "worker");
            Key::Remote(RemoteXts::import(provider, key, self.common.direction)?)
        } else {
            let local = Xts::new(millstream::features()?, key)?;
            self.common.bind(Place::InProcess, self.spec.name, local.kernel().name);
            Key::Local(Box::new(local))
        };
        self.key = Some(Arc::new(key));
        Ok(())
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        Ok(input)
    }

    #[inline(always)]
    fn quick(&mut self, data: InOut<'_>) -> Option<Result<()>> {
        Some(self.data_unit(data))
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let data = data.in_out()?;
        let len = data.len();
        self.data_unit(data).map(|()| len)
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        Ok(0)
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        self.update(data)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        params.into_iter().try_for_each(|param| self.common.get(&param))
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        // Padding has no meaning here and is ignored.
        params.find(c"keylen").map_or(Ok(()), |param| self.common.set(&param))
    }
}

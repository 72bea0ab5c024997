//! The common part of contexts of ciphers without authentication: the vector, parameters, and counters.

use std::sync::Arc;

use millstream::modes::{Direction, MAX_BLOCK};
use millstream::tally::Place;
use zeroize::Zeroize;

use super::{Make, Registration};
use crate::abi::{OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::libcrypto::Job;
use crate::params::{Param, Params};
use crate::provider::Provider;

/// The parameters that contexts of block and stream ciphers tell.
pub const GETTABLE: &[OsslParam] = &[
    OsslParam::described(c"keylen", UNSIGNED_INTEGER),
    OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
    OsslParam::described(c"padding", UNSIGNED_INTEGER),
    OsslParam::described(c"num", UNSIGNED_INTEGER),
    OsslParam::described(c"iv", OCTET_STRING),
    OsslParam::described(c"updated-iv", OCTET_STRING),
    OsslParam::described(c"tls-mac", OCTET_PTR),
    OsslParam::described(c"randkey", OCTET_STRING),
    OsslParam::END,
];

/// The parameters that contexts of block and stream ciphers take.
pub const SETTABLE: &[OsslParam] = &[
    OsslParam::described(c"padding", UNSIGNED_INTEGER),
    OsslParam::described(c"num", UNSIGNED_INTEGER),
    OsslParam::described(c"use-bits", UNSIGNED_INTEGER),
    OsslParam::described(c"tls-version", UNSIGNED_INTEGER),
    OsslParam::described(c"tls-mac-size", UNSIGNED_INTEGER),
    OsslParam::END,
];

/// The part with which every such context begins.
#[derive(Clone)]
pub struct Common {
    pub registration: Registration,
    pub direction: Direction,
    pub padding: bool,
    /// The vector as it was given, for callers who ask for it and for the next message.
    pub iv: [u8; MAX_BLOCK],
    iv_set: bool,
    /// The state that the next block needs of those before it.
    pub chain: [u8; MAX_BLOCK],
    pub count: Count,
}

impl Common {
    pub fn new(registration: Registration) -> Self {
        Common {
            registration,
            direction: Direction::Encrypt,
            padding: true,
            iv: [0; MAX_BLOCK],
            iv_set: false,
            chain: [0; MAX_BLOCK],
            count: Count::default(),
        }
    }

    /// Begins a message. If `again` is set, a message without a vector begins with the last one.
    #[inline]
    pub fn begin(&mut self, direction: Direction, iv: Option<&[u8]>, again: bool) -> Result<()> {
        self.direction = direction;
        let len = self.registration.info.iv;
        match iv {
            Some(iv) if len > 0 => {
                if iv.len() != len {
                    return Err(Reason::INVALID_IV_LENGTH);
                }
                self.iv[..len].copy_from_slice(iv);
                self.iv_set = true;
                self.chain = self.iv;
            }
            None if self.iv_set && again => self.chain = self.iv,
            _ => {}
        }
        Ok(())
    }

    /// Tells whether a vector was given.
    pub fn iv_set(&self) -> bool {
        self.iv_set
    }

    /// Fails unless a key has the right length.
    pub fn check_key(&self, key: &[u8]) -> Result<()> {
        if key.len() == self.registration.info.key { Ok(()) } else { Err(Reason::INVALID_KEY_LENGTH) }
    }

    /// Finds the row in which the key that was set is counted.
    pub fn bind(&mut self, place: Place, name: &str, kernel: &str) {
        let Registration { provider, rows, .. } = self.registration;
        self.count.bind(rows.row(provider, place, name, kernel));
    }

    /// Answers parameters that all contexts have.
    pub fn get(&self, param: &Param<'_>) -> Result<()> {
        let info = self.registration.info;
        match param.key().to_bytes() {
            b"keylen" => param.set_size(info.key),
            b"ivlen" => param.set_size(info.iv),
            b"padding" => param.set_bool(self.padding),
            b"num" => param.set_size(0),
            b"iv" => param.set_octets(&self.iv[..info.iv]),
            b"updated-iv" => param.set_octets(&self.chain[..info.iv]),
            _ => Ok(()),
        }
    }

    /// Sets parameters that all contexts have.
    pub fn set(&mut self, param: &Param<'_>) -> Result<()> {
        match param.key().to_bytes() {
            b"padding" => self.padding = param.uint()? != 0,
            b"keylen" if param.size()? != self.registration.info.key => {
                return Err(Reason::INVALID_KEY_LENGTH);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Drop for Common {
    fn drop(&mut self) {
        self.chain.zeroize();
    }
}

/// Sets every parameter.
pub fn set_all(params: Params<'_>, mut set: impl FnMut(&Param<'_>) -> Result<()>) -> Result<()> {
    params.into_iter().try_for_each(|param| set(&param))
}

/// Fills the place with a random key for DES: up to three parts, each byte with an odd number of ones.
pub fn random_des_key(param: &Param<'_>, len: usize) -> Result<()> {
    let mut key = zeroize::Zeroizing::new([0; 24]);
    let key = &mut key[..len];
    random(key)?;
    for byte in key.iter_mut() {
        *byte ^= u8::from(byte.count_ones() % 2 == 0);
    }
    param.fill(key)
}

/// Fills the buffer with random bytes of the kernel's.
pub fn random(bytes: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            .map_err(|error| Reason::FAILED_TO_GENERATE_KEY.because(error.to_string()))?;
    }
    Ok(())
}

/// Makes a key in this process. A schedule of DES (`is_des`) has 10 KB and is moved a few times until it is where it
/// stays; a job has no stack for that.
pub fn made<K: ?Sized + Send + Sync>(
    provider: Provider,
    make: Make<K>,
    is_des: bool,
    key: &[u8],
) -> Result<Arc<K>> {
    let features = millstream::features()?;
    let make = || Ok(make(features, key)?);
    if is_des { Job::with_stack(provider, make) } else { make() }
}

//! AES key wrap, without padding and with it: which calls its contexts accept.
//!
//! A key to wrap comes whole, in one update; the next update takes another. An update without output tells the room that one with it
//! needs. As with OpenSSL a vector replaces the standard's check value, and stays for the messages that follow.
//!
//! Ref. RFC 3394; RFC 5649; SP 800-38F; EVP_EncryptInit(3), "Wrap Mode".

use std::sync::Arc;

use millstream::keywrap::{Form, KeyWrap};
use millstream::modes::Direction;
use millstream::tally::Place;
use zeroize::Zeroizing;

use super::{Context, LAST, Registration};
use crate::abi::{OsslParam, UNSIGNED_INTEGER};
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::exchange::Exchange;
use crate::params::Params;

/// The bytes of a check value, of which KWP has the first four.
const CHECK_VALUE: usize = 8;

/// The parameters of one such cipher.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
    pub form: Form,
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct WrapContext {
    registration: Registration,
    spec: &'static Spec,
    direction: Direction,
    /// The bytes of the key, from which it is made anew with another check value.
    bytes: Zeroizing<Vec<u8>>,
    check_value: Option<[u8; CHECK_VALUE]>,
    key: Option<Arc<KeyWrap>>,
    count: Count,
}

impl WrapContext {
    /// Makes the key of its bytes and the check value.
    fn bind(&mut self) -> Result<()> {
        let Registration { provider, rows, .. } = self.registration;
        let mut key = KeyWrap::new(millstream::features()?, self.spec.form, &self.bytes)?;
        if let Some(check_value) = self.check_value {
            key = key.with_check_value(check_value);
        }
        self.count.bind(rows.row(provider, Place::InProcess, self.spec.name, key.kernel().name));
        self.key = Some(Arc::new(key));
        Ok(())
    }
}

impl Context for WrapContext {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] =
        &[OsslParam::described(c"keylen", UNSIGNED_INTEGER), OsslParam::END];

    // libcrypto counts one block of 8 bytes more than the input, and padding may take almost another.
    const BEYOND: usize = 8;

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        WrapContext {
            registration,
            spec,
            direction: Direction::Encrypt,
            bytes: Zeroizing::default(),
            check_value: None,
            key: None,
            count: Count::default(),
        }
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.direction = direction;
        let Some(iv) = iv else { return Ok(()) };
        if iv.len() != self.registration.info.iv {
            return Err(Reason::INVALID_IV_LENGTH);
        }
        self.check_value.insert([0; CHECK_VALUE])[..iv.len()].copy_from_slice(iv);
        if self.key.is_some() { self.bind() } else { Ok(()) }
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        if key.len() != self.registration.info.key {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        self.bytes = Zeroizing::new(key.to_vec());
        self.bind()
    }

    fn update_len(&self, input: usize) -> Result<usize> {
        Ok(match self.direction {
            _ if input == 0 => 0,
            Direction::Encrypt => self.spec.form.wrapped_len(input)?,
            Direction::Decrypt => self.spec.form.unwrapped_len(input)?,
        })
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let key = self.key.as_ref().ok_or(Reason::NO_KEY_SET)?;
        let len = data.input_len();
        if len == 0 {
            return Ok(0);
        }
        let (input, output) = data.apart();
        let written = match self.direction {
            Direction::Encrypt => key.wrap(input, output)?,
            Direction::Decrypt => key.unwrap(input, output)?,
        };
        self.count.add(len);
        Ok(written)
    }

    fn associate(&mut self, data: &[u8]) -> Result<usize> {
        self.update_len(data.len())
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        Ok(0)
    }

    fn cipher_len(&self, input: usize) -> Result<usize> {
        self.update_len(input)
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        self.update(data)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"keylen" => param.set_size(self.registration.info.key)?,
                b"ivlen" => param.set_size(self.registration.info.iv)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            if param.key().to_bytes() == b"keylen" && param.size()? != self.registration.info.key {
                return Err(Reason::INVALID_KEY_LENGTH);
            }
        }
        Ok(())
    }
}

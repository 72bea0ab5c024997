//! RC4: keys have any length, and the keystream goes on from call to call.

use millstream::InOut;
use millstream::modes::Direction;
use millstream::rc4::Rc4;
use millstream::tally::Place;

use super::common::{Common, set_all};
use super::records::Records;
use super::{Context, LAST, Registration};
use crate::abi::{OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::error::{Reason, Result};
use crate::exchange::{Exchange, Parts};
use crate::params::Params;

/// The parameters of one such cipher.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
}

/// The context behind an `EVP_CIPHER_CTX`.
#[derive(Clone)]
pub struct Rc4Context {
    common: Common,
    spec: &'static Spec,
    key_len: usize,
    keystream: Option<Rc4>,
    /// The state of TLS, where updates are records.
    records: Option<Box<Records>>,
}

impl Rc4Context {
    fn crypt(&mut self, data: InOut<'_>) -> Result<()> {
        let keystream = self.keystream.as_mut().ok_or(Reason::NO_KEY_SET)?;
        self.common.count.add(data.len());
        keystream.apply(data);
        Ok(())
    }
}

impl Context for Rc4Context {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"padding", UNSIGNED_INTEGER),
        OsslParam::described(c"num", UNSIGNED_INTEGER),
        OsslParam::described(c"iv", OCTET_STRING),
        OsslParam::described(c"updated-iv", OCTET_STRING),
        OsslParam::described(c"tls-mac", OCTET_PTR),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"padding", UNSIGNED_INTEGER),
        OsslParam::described(c"num", UNSIGNED_INTEGER),
        OsslParam::described(c"use-bits", UNSIGNED_INTEGER),
        OsslParam::described(c"tls-version", UNSIGNED_INTEGER),
        OsslParam::described(c"tls-mac-size", UNSIGNED_INTEGER),
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::END,
    ];

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        Rc4Context {
            common: Common::new(registration),
            spec,
            key_len: registration.info.key,
            keystream: None,
            records: None,
        }
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.common.begin(direction, iv, false)
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        let keystream = Rc4::new(millstream::features()?, key)?;
        self.common.bind(Place::InProcess, self.spec.name, keystream.kernel().name);
        self.key_len = key.len();
        self.keystream = Some(keystream);
        Ok(())
    }

    #[inline]
    fn update_len(&self, input: usize) -> Result<usize> {
        if self.keystream.is_none() {
            return Err(Reason::NO_KEY_SET);
        }
        Ok(input)
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let len = data.input_len();
        self.crypt(data.in_out()?)?;
        match &mut self.records {
            Some(records) if records.on() && self.common.direction == Direction::Decrypt => {
                let (Parts::InPlace(plain, _) | Parts::Apart(_, plain)) = data.parts();
                records.open_stream(&plain[..len])
            }
            _ => Ok(len),
        }
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        self.update_len(0)
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        self.update(data)
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        params.into_iter().try_for_each(|param| match param.key().to_bytes() {
            b"keylen" => param.set_size(self.key_len),
            b"tls-mac" => param.set_octets(self.records.as_ref().map_or(&[], |records| records.mac())),
            _ => self.common.get(&param),
        })
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        set_all(params, |param| match param.key().to_bytes() {
            b"keylen" => {
                let len = param.size()?;
                if len != self.key_len {
                    // A key of the new length has to come first.
                    self.key_len = len;
                    self.keystream = None;
                }
                Ok(())
            }
            _ if Records::set(&mut self.records, param)? => Ok(()),
            _ => self.common.set(param),
        })
    }
}

//! The context in which keys are written to files.
//!
//! Ref. provider-encoder(7), OSSL_ENCODER_CTX_set_cipher(3).

use std::ffi::CString;

use zeroize::Zeroizing;

use super::asn1::{self, Form};
use super::key::Key;
use super::{Encoded, text};
use crate::abi::{OsslParam, UTF8_STRING};
use crate::error::{Reason, Result};
use crate::libcrypto::pkcs8::{self, Cipher};
use crate::params::Params;
use crate::pkey::Selection;
use crate::provider::Provider;

/// The parameters of a context that can be set.
pub const SETTABLE: &[OsslParam] = &[
    OsslParam::described(c"cipher", UTF8_STRING),
    OsslParam::described(c"properties", UTF8_STRING),
    OsslParam::END,
];

/// The most bytes of a passphrase, as OpenSSL's own encoders have it.
const PASSPHRASE: usize = 1024;

/// Asks the program for a passphrase: writes it to a place, and returns its bytes.
pub type Ask<'a> = &'a mut dyn FnMut(&mut [u8]) -> Option<usize>;

/// A context.
pub struct Encoding {
    pub provider: Provider,
    /// The cipher that private keys are encrypted with.
    cipher: Option<Cipher>,
}

impl Encoding {
    pub fn new(provider: Provider) -> Self {
        Encoding { provider, cipher: None }
    }

    /// Takes the cipher for private keys. An empty name stands for none.
    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        let Some(name) = params.find(c"cipher") else { return Ok(()) };
        let string = |text: &str| CString::new(text).map_err(|_| Reason::FAILED_TO_GET_PARAMETER);
        self.cipher = match name.text()? {
            "" => None,
            name => {
                let properties = params.find(c"properties").map(|param| param.text()).transpose()?;
                Some(Cipher {
                    name: string(name)?,
                    properties: properties.filter(|text| !text.is_empty()).map(string).transpose()?,
                })
            }
        };
        Ok(())
    }

    /// Writes a private key, encrypted where a cipher was set. A key that is to be encrypted needs one.
    pub fn private<E: Encoded>(
        &self,
        key: &Key<E>,
        (encrypted, as_pem): (bool, bool),
        ask: Ask<'_>,
    ) -> Result<Zeroizing<Vec<u8>>> {
        let list = E::OUTPUT_FORMATS.and_then(|formats| self.provider.line(formats));
        let private = key.leaving(Reason::NOT_A_PRIVATE_KEY)?;
        let form = Form::choose(list.as_deref(), E::seed(private).is_some())?;
        let der = asn1::write_private::<E>(private, form)?;
        let (der, label) = match &self.cipher {
            None if encrypted => return Err(Reason::MISSING_CIPHER),
            None => (der, "PRIVATE KEY"),
            Some(cipher) => {
                let mut place = Zeroizing::new([0; PASSPHRASE]);
                let len = ask(&mut *place).ok_or(Reason::UNABLE_TO_GET_PASSPHRASE)?;
                let passphrase = place.get(..len).ok_or(Reason::UNABLE_TO_GET_PASSPHRASE)?;
                let encrypted = pkcs8::encrypt(self.provider, cipher, passphrase, &der)?;
                (Zeroizing::new(encrypted), "ENCRYPTED PRIVATE KEY")
            }
        };
        if as_pem { text::pem(label, &der) } else { Ok(der) }
    }

    /// Writes a public key.
    pub fn public<E: Encoded>(&self, key: &Key<E>, as_pem: bool) -> Result<Zeroizing<Vec<u8>>> {
        let der = asn1::write_public(key)?;
        if as_pem { text::pem("PUBLIC KEY", &der) } else { Ok(der) }
    }

    /// Writes the selected parts for people to read.
    pub fn readable<E: Encoded>(&self, key: &Key<E>, selection: Selection) -> Result<Zeroizing<Vec<u8>>> {
        text::readable(key, selection.has_private())
    }
}

//! The context of signatures with SLH-DSA.
//!
//! Ref. FIPS 205 §10.2 and §10.3; EVP_SIGNATURE-SLH-DSA(7).

use millstream::publickey::slhdsa::{PublicKey, Scheme, Set};
use millstream::publickey::{Error, slhdsa};
use millstream::tally::Place;
use zeroize::Zeroizing;

use super::{SlhDsa, public_of};
use crate::abi::{OCTET_STRING, OsslParam};
use crate::append::append;
use crate::cipher::random;
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::pkey::choices::{CONTEXT, Choices, DETERMINISTIC, ENCODING, ENTROPY, SIGNATURE};
use crate::pkey::message::{MessageSignature, Purpose};
use crate::pkey::raw::key::Key;
use crate::provider::Provider;

/// The context of a signature.
#[derive(Clone)]
pub struct Signature<const N: usize> {
    provider: Provider,
    key: Option<Key<SlhDsa<N>>>,
    purpose: Purpose,
    choices: Choices,
    /// The random bytes of signatures where a caller has given them, which only tests do.
    randomness: Option<Zeroizing<Vec<u8>>>,
    /// The pieces that came. The standard hashes the whole message twice, so they are kept until the last has come.
    pieces: Zeroizing<Vec<u8>>,
    count: Count,
}

impl<const N: usize> MessageSignature for Signature<N> {
    type Key = Key<SlhDsa<N>>;
    const SETTABLE: &'static [OsslParam] = &[CONTEXT, ENTROPY, DETERMINISTIC, ENCODING, OsslParam::END];
    const SETTABLE_TO_VERIFY: &'static [OsslParam] =
        &[CONTEXT, ENTROPY, DETERMINISTIC, ENCODING, SIGNATURE, OsslParam::END];
    const GETTABLE: &'static [OsslParam] =
        &[OsslParam::described(c"algorithm-id", OCTET_STRING), OsslParam::END];

    fn new(provider: Provider) -> Self {
        Signature {
            provider,
            key: None,
            purpose: Purpose::SignOrDigestVerify,
            choices: Choices::new(),
            randomness: None,
            pieces: Zeroizing::default(),
            count: Count::default(),
        }
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn purpose(&self) -> Purpose {
        self.purpose
    }

    fn begin(&mut self, purpose: Purpose, key: Option<&Self::Key>, params: Params<'_>) -> Result<()> {
        static ROWS: [Rows; Set::ALL.len()] = [const { Rows::new() }; _];
        if let Some(key) = key {
            let public = public_of(key).ok_or(Reason::MISSING_KEY)?;
            let (set, kernel) = (SlhDsa::<N>::NAMED.set, public.kernel().name);
            self.count.bind(ROWS[set as usize].row(self.provider, Place::InProcess, set.name(), kernel));
            self.key = Some(key.clone());
        }
        self.public()?;
        (self.purpose, self.pieces) = (purpose, Zeroizing::default());
        self.set(params)
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"test-entropy" => {
                    self.randomness = None;
                    let bytes = param.octets()?;
                    if bytes.len() != SlhDsa::<N>::NAMED.set.node_len() {
                        return Err(Reason::INVALID_SEED_LENGTH);
                    }
                    self.randomness = Some(Zeroizing::new(bytes.to_vec()));
                }
                _ => self.choices.set(&param, self.purpose)?,
            }
        }
        Ok(())
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        let identifier = params.find(c"algorithm-id").filter(|_| self.key.is_some());
        identifier.map_or(Ok(()), |param| param.set_octets(&identifier_of(N as u8)))
    }

    fn len(&self) -> usize {
        SlhDsa::<N>::NAMED.set.signature_len()
    }

    fn sign(&mut self, message: &[u8]) -> Result<Vec<u8>> {
        let signature = self.signature(message)?;
        self.count.add(message.len());
        Ok(signature)
    }

    fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<()> {
        let verdict = self.public()?.verify_by(self.scheme(), message, signature);
        self.count.add(message.len());
        verdict.map_err(refused)
    }

    fn update(&mut self, piece: &[u8]) -> Result<()> {
        append(&mut self.pieces, piece);
        Ok(())
    }

    fn sign_pieces(&mut self) -> Result<Vec<u8>> {
        let message = std::mem::take(&mut self.pieces);
        self.sign(&message)
    }

    fn verify_pieces(&mut self, signature: Option<&[u8]>) -> Result<()> {
        let (message, expected) = (std::mem::take(&mut self.pieces), self.choices.expected.clone());
        self.verify(&message, signature.unwrap_or(&expected))
    }
}

impl<const N: usize> Signature<N> {
    fn public(&self) -> Result<&PublicKey> {
        self.key.as_ref().and_then(public_of).ok_or(Reason::NO_KEY_SET)
    }

    fn scheme(&self) -> Scheme<'_> {
        if self.choices.encodes { Scheme::Pure(&self.choices.context) } else { Scheme::Internal }
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>> {
        let key = self.key.as_ref().ok_or(Reason::NO_KEY_SET)?.private().ok_or(Reason::NOT_A_PRIVATE_KEY)?;
        let signature = match &self.randomness {
            Some(randomness) => key.sign_with(self.scheme(), message, randomness),
            None if self.choices.deterministic => key.sign_deterministic(self.scheme(), message),
            None => {
                let mut randomness = Zeroizing::new([0; slhdsa::MAX_PUBLIC_KEY / 2]);
                let randomness = &mut randomness[..key.set().node_len()];
                random(randomness)?;
                key.sign_with(self.scheme(), message, randomness)
            }
        };
        signature.map_err(refused)
    }
}

/// Returns the AlgorithmIdentifier of signatures in DER: the object identifier, without parameters. Ref. RFC 9909 §3.
const fn identifier_of(last: u8) -> [u8; 13] {
    [0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, last]
}

/// Returns the reason for an error. A signature that does not verify has none, as the default provider's.
fn refused(error: Error) -> Reason {
    match error {
        Error::Signature => Reason::SILENT,
        Error::Length { .. } => Reason::BAD_LENGTH.because(error.to_string()),
        error => Reason::FAILED_TO_SIGN.because(error.to_string()),
    }
}

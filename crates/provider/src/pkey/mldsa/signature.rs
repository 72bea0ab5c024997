//! The context of signatures with ML-DSA.
//!
//! Ref. FIPS 204 §5.2, §5.3 and §6; EVP_SIGNATURE-ML-DSA(7).

use millstream::publickey::mldsa::{MU, RANDOMNESS, Scheme, Set};
use millstream::publickey::{Error, mldsa::PublicKey};
use millstream::sha3::{Shake, Xof};
use millstream::tally::Place;
use millstream::{MlDsaInput, SignatureScheme};
use zeroize::Zeroizing;

use super::{MlDsa, public_of};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam};
use crate::cipher::random;
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::pkey::choices::{CONTEXT, Choices, DETERMINISTIC, ENCODING, ENTROPY, SIGNATURE};
use crate::pkey::features;
use crate::pkey::message::{MessageSignature, Purpose};
use crate::pkey::raw::key::Key;
use crate::provider::Provider;
use crate::remote::PrivateKey;

const REPRESENTATIVE: OsslParam = OsslParam::described(c"mu", INTEGER);

const SPLIT: Reason = Reason::NOT_SUPPORTED.with("a message's representative mu comes whole, not in pieces");
const OTHER_ENTROPY: Reason = Reason::NOT_SUPPORTED.with(
    "the private key is in the service, which draws the random bytes itself: set no test-entropy, or ask for millstream.isolated=no",
);
const NO_MU: Reason = Reason::BAD_LENGTH.with("a message's representative mu has 64 bytes");

/// The context of a signature.
#[derive(Clone)]
pub struct Signature<const N: usize> {
    provider: Provider,
    key: Option<Key<MlDsa<N>>>,
    purpose: Purpose,
    choices: Choices,
    /// True if what comes is the message's representative.
    is_mu: bool,
    /// The random bytes of signatures where a caller has given them, which only tests do.
    randomness: Option<Zeroizing<[u8; RANDOMNESS]>>,
    /// The hash of the pieces that came.
    pieces: Option<Shake>,
    count: Count,
}

impl<const N: usize> MessageSignature for Signature<N> {
    type Key = Key<MlDsa<N>>;
    const SETTABLE: &'static [OsslParam] =
        &[CONTEXT, ENTROPY, DETERMINISTIC, ENCODING, REPRESENTATIVE, OsslParam::END];
    const SETTABLE_TO_VERIFY: &'static [OsslParam] =
        &[CONTEXT, ENTROPY, DETERMINISTIC, ENCODING, REPRESENTATIVE, SIGNATURE, OsslParam::END];
    const GETTABLE: &'static [OsslParam] =
        &[OsslParam::described(c"algorithm-id", OCTET_STRING), OsslParam::END];

    fn new(provider: Provider) -> Self {
        Signature {
            provider,
            key: None,
            purpose: Purpose::SignOrDigestVerify,
            choices: Choices::new(),
            is_mu: false,
            randomness: None,
            pieces: None,
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
            let set = MlDsa::<N>::NAMED.set;
            let (place, kernel) = match key.there() {
                Some(_) => (Place::Isolated, ""),
                None => (Place::InProcess, public.kernel().name),
            };
            self.count.bind(ROWS[set as usize].row(self.provider, place, set.name(), kernel));
            self.key = Some(key.clone());
        }
        self.public()?;
        (self.purpose, self.is_mu, self.pieces) = (purpose, false, None);
        self.set(params)
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"test-entropy" => {
                    self.randomness = None;
                    let bytes = param.octets()?.try_into().map_err(|_| Reason::INVALID_SEED_LENGTH)?;
                    self.randomness = Some(Zeroizing::new(bytes));
                }
                b"mu" => self.is_mu = param.size()? != 0,
                _ => self.choices.set(&param, self.purpose)?,
            }
        }
        Ok(())
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        let identifier = params.find(c"algorithm-id").filter(|_| self.key.is_some());
        identifier.map_or(Ok(()), |param| param.set_octets(MlDsa::<N>::NAMED.identifier))
    }

    fn len(&self) -> usize {
        MlDsa::<N>::NAMED.set.signature_len()
    }

    fn sign(&mut self, message: &[u8]) -> Result<Vec<u8>> {
        let signature = match self.representative(message)? {
            Some(mu) => self.sign_by(Scheme::Representative, &mu),
            None => self.sign_by(self.scheme(), message),
        }?;
        self.count.add(message.len());
        Ok(signature)
    }

    fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<()> {
        let verdict = match self.representative(message)? {
            Some(mu) => self.public()?.verify_by(Scheme::Representative, &mu, signature),
            None => self.public()?.verify_by(self.scheme(), message, signature),
        };
        self.count.add(message.len());
        verdict.map_err(refused)
    }

    fn update(&mut self, piece: &[u8]) -> Result<()> {
        if self.is_mu {
            return Err(SPLIT);
        }
        let mut pieces = match self.pieces.take() {
            Some(pieces) => pieces,
            None => self.begin_message()?,
        };
        pieces.update(piece);
        self.pieces = Some(pieces);
        self.count.add_bytes(piece.len());
        Ok(())
    }

    fn sign_pieces(&mut self) -> Result<Vec<u8>> {
        let mu = self.finish_message()?;
        let signature = self.sign_by(Scheme::Representative, &mu)?;
        self.count.add(0);
        Ok(signature)
    }

    fn verify_pieces(&mut self, signature: Option<&[u8]>) -> Result<()> {
        let mu = self.finish_message()?;
        let signature = signature.unwrap_or(&self.choices.expected);
        let verdict = self.public()?.verify_by(Scheme::Representative, &mu, signature);
        self.count.add(0);
        verdict.map_err(refused)
    }
}

impl<const N: usize> Signature<N> {
    fn public(&self) -> Result<&PublicKey> {
        self.key.as_ref().and_then(public_of).ok_or(Reason::NO_KEY_SET)
    }

    /// Returns the scheme for what is not hashed here.
    fn scheme(&self) -> Scheme<'_> {
        if self.is_mu { Scheme::Representative } else { Scheme::Pure(&self.choices.context) }
    }

    /// Returns the private part that is in the service.
    fn there(&self) -> Option<&PrivateKey> {
        self.key.as_ref().and_then(Key::there)
    }

    /// Returns the representative of a message that was encoded already, and of every one for a key in the service; none for others.
    fn representative(&self, message: &[u8]) -> Result<Option<[u8; MU]>> {
        if self.is_mu || self.choices.encodes && self.there().is_none() {
            return Ok(None);
        }
        let mut whole = self.begin_message()?;
        whole.update(message);
        Ok(Some(squeezed(whole)))
    }

    /// Begins to hash a message: FIPS 204 §6.2, algorithm 7, line 6, with what §5.2, algorithm 2, line 10 puts before the message.
    fn begin_message(&self) -> Result<Shake> {
        let mut message = Shake::new(features()?, Xof::Shake256);
        message.update(self.public()?.hash());
        if self.choices.encodes {
            // `set` takes no context that is longer.
            message.update(&[0, self.choices.context.len() as u8]);
            message.update(&self.choices.context);
        }
        Ok(message)
    }

    /// Returns the representative of the pieces that came. Without any the message is empty.
    fn finish_message(&mut self) -> Result<[u8; MU]> {
        if self.is_mu {
            return Err(SPLIT);
        }
        match self.pieces.take() {
            Some(pieces) => Ok(squeezed(pieces)),
            None => Ok(squeezed(self.begin_message()?)),
        }
    }

    fn sign_by(&self, scheme: Scheme<'_>, message: &[u8]) -> Result<Vec<u8>> {
        if let Some(there) = self.there() {
            return self.sign_there(there, message);
        }
        let key = self.key.as_ref().ok_or(Reason::NO_KEY_SET)?.private().ok_or(Reason::NOT_A_PRIVATE_KEY)?;
        let signature = match &self.randomness {
            Some(randomness) => key.sign_with(scheme, message, randomness),
            None if self.choices.deterministic => key.sign_deterministic(scheme, message),
            None => {
                let mut randomness = Zeroizing::new([0; RANDOMNESS]);
                random(&mut *randomness)?;
                key.sign_with(scheme, message, &randomness)
            }
        };
        signature.map_err(refused)
    }

    /// Has the service sign a representative. It is as good as the message, has neither the message's length nor its context, and is made with the
    /// public key alone.
    fn sign_there(&self, key: &PrivateKey, mu: &[u8]) -> Result<Vec<u8>> {
        if self.randomness.is_some() {
            return Err(OTHER_ENTROPY);
        }
        if mu.len() != MU {
            return Err(NO_MU);
        }
        let deterministic = self.choices.deterministic;
        key.sign(SignatureScheme::MlDsa { input: MlDsaInput::Representative, deterministic }, mu)
    }
}

fn squeezed(message: Shake) -> [u8; MU] {
    let mut mu = [0; MU];
    message.finish().squeeze(&mut mu);
    mu
}

/// Returns the reason for an error. A signature that does not verify has none, as the default provider's.
fn refused(error: Error) -> Reason {
    match error {
        Error::Signature => Reason::SILENT,
        Error::Length { .. } => Reason::BAD_LENGTH.because(error.to_string()),
        error => Reason::FAILED_TO_SIGN.because(error.to_string()),
    }
}

//! Signatures and MACs that only have to be computed: here, with a key in the process, or in the service.
//!
//! Ref. PKCS #11 v3.2 §5.13.

use std::borrow::Cow;
use std::sync::Arc;

use cryptoki_sys::*;
use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream::publickey::ecdsa::Message;
use millstream::publickey::ed25519::Scheme;
use millstream::publickey::rsa;
use millstream::{MlDsaInput, SignatureScheme, SystemRandom};

use super::cipher::padded;
use super::tls;
use crate::mechanism::contexts::InContext;
use crate::mechanism::parameters::Eddsa;
use crate::mechanism::tls::Mac;
use crate::object::engine::Engine;
use crate::object::purpose::hash_for;
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// A signature that only has to be computed.
pub struct Prepared {
    /// The key.
    pub engine: Arc<Engine>,
    /// The last step.
    pub signer: Signer,
    /// The tag of a MAC, the digest, or the message.
    pub input: Vec<u8>,
    /// The bytes of the signature.
    pub len: usize,
}

impl Prepared {
    /// Returns the hash of ECDSA.
    pub fn ecdsa_hash(&self) -> Hash {
        match self.signer {
            Signer::Ecdsa(Some(hash)) => hash,
            _ => hash_for(self.input.len()),
        }
    }

    /// Returns the scheme by which an accelerator signs; none for what it does not sign.
    pub fn scheme(&self) -> Option<SignatureScheme> {
        Some(match &self.signer {
            Signer::MlDsa(form) => SignatureScheme::MlDsa {
                input: match (&*self.engine, form.function) {
                    (Engine::Remote(_), _) => MlDsaInput::Representative,
                    (_, None) => MlDsaInput::Message,
                    (_, Some(function)) => MlDsaInput::Digest(function),
                },
                deterministic: form.deterministic,
            },
            Signer::SlhDsa(form) => {
                SignatureScheme::SlhDsa { digest: form.function, deterministic: form.deterministic }
            }
            Signer::RsaPkcs => SignatureScheme::RsaPkcs1 { hash: None },
            Signer::RsaRaw => SignatureScheme::RsaRaw,
            Signer::RsaHashed(hash) => SignatureScheme::RsaPkcs1 { hash: Some(*hash) },
            Signer::RsaPss(pss) => SignatureScheme::RsaPss {
                hash: pss.hash,
                mgf_hash: pss.mgf,
                salt_len: u16::try_from(pss.salt).ok()?,
            },
            Signer::Ecdsa(_) if self.input.is_empty() => return None,
            Signer::Ecdsa(_) => SignatureScheme::Ecdsa { hash: self.ecdsa_hash(), deterministic: false },
            Signer::Eddsa(Eddsa::Pure) => SignatureScheme::Ed25519,
            Signer::Mac(_) | Signer::Finished(_) | Signer::Eddsa(_) => return None,
        })
    }

    /// Returns the context of the signature, and what is signed within it by that scheme in the service.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`.
    pub fn to_send(&self) -> Outcome<(&[u8], Cow<'_, [u8]>)> {
        Ok(match (&self.signer, &*self.engine) {
            (Signer::RsaRaw, _) => (&[], Cow::Owned(padded(&self.input, self.len)?.to_vec())),
            // The message's representative: messages may be longer than what travels, and the context is in it.
            (Signer::MlDsa(form), Engine::Remote(key)) => {
                form.check(&self.input)?;
                (&[], Cow::Owned(key.representative(form.ml_dsa(), &self.input)?.to_vec()))
            }
            // SLH-DSA hashes the message together with bytes of the private key, so the message itself travels.
            (Signer::SlhDsa(form), Engine::Remote(_)) => {
                form.check(&self.input)?;
                (&form.context, Cow::Borrowed(&self.input))
            }
            _ => (&[], Cow::Borrowed(&self.input)),
        })
    }

    /// Returns the signature.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`, `CKR_RANDOM_NO_RNG`, `CKR_FUNCTION_FAILED`.
    pub fn sign(&self) -> Outcome<Vec<u8>> {
        let input = &self.input[..];
        let mut out = vec![0; self.len];
        match (&self.signer, &*self.engine) {
            (Signer::Mac(len), _) => return Ok(input[..*len].to_vec()),
            (Signer::Finished(mac), Engine::Hmac(key)) => return Ok(mac.tag(key, input)),
            (Signer::Ecdsa(_), Engine::Remote(_)) if input.is_empty() => return refuse(CKR_DATA_LEN_RANGE),
            (_, Engine::Remote(key)) => {
                let scheme = self.scheme().ok_or(Refusal(CKR_MECHANISM_PARAM_INVALID))?;
                let (context, input) = self.to_send()?;
                return key.sign(scheme, context, &input);
            }
            (Signer::RsaPkcs, Engine::Rsa(key)) => {
                key.sign_pkcs1_encoded(input, &mut out)?;
            }
            (Signer::RsaRaw, Engine::Rsa(key)) => key.raw(&padded(input, self.len)?, &mut out)?,
            (Signer::RsaHashed(hash), Engine::Rsa(key)) => {
                key.sign_pkcs1_digest(*hash, input, &mut out)?;
            }
            (Signer::RsaPss(pss), Engine::Rsa(key)) => {
                key.sign_pss_digest(pss, &mut SystemRandom, input, &mut out)?;
            }
            (Signer::Ecdsa(_), Engine::Curve(key)) => {
                demand(!input.is_empty(), CKR_DATA_LEN_RANGE)?;
                let message = Message::digest(self.ecdsa_hash(), input);
                return Ok(key.sign(&message, &mut SystemRandom)?.to_vec());
            }
            (Signer::Eddsa(form), Engine::Ed25519(key)) => {
                return Ok(key.sign_by(scheme(form), input)?.to_vec());
            }
            (Signer::MlDsa(form), Engine::MlDsa(key)) => {
                form.check(input)?;
                return Ok(if form.deterministic {
                    key.sign_deterministic(form.ml_dsa(), input)?
                } else {
                    key.sign_by(form.ml_dsa(), input, &mut SystemRandom)?
                });
            }
            (Signer::SlhDsa(form), Engine::SlhDsa(key)) => {
                form.check(input)?;
                return Ok(if form.deterministic {
                    key.sign_deterministic(form.slh_dsa(), input)?
                } else {
                    key.sign_by(form.slh_dsa(), input, &mut SystemRandom)?
                });
            }
            _ => return refuse(CKR_KEY_TYPE_INCONSISTENT),
        }
        Ok(out)
    }
}

/// The last step, which makes a signature of the input.
#[derive(Clone)]
pub enum Signer {
    /// A tag of so many bytes.
    Mac(usize),
    /// The tag of a `Finished` message of TLS over the hash of the handshake.
    Finished(Mac),
    RsaPkcs,
    RsaRaw,
    RsaHashed(Hash),
    RsaPss(rsa::Pss),
    Ecdsa(Option<Hash>),
    Eddsa(Eddsa),
    MlDsa(InContext),
    SlhDsa(InContext),
}

impl Mac {
    /// Returns the tag over the hash of a handshake (RFC 5246 §7.4.9).
    pub fn tag(&self, secret: &HmacKey, handshake: &[u8]) -> Vec<u8> {
        let mut tag = vec![0; self.len];
        tls::prf(secret, self.label(), handshake, &mut tag);
        tag
    }
}

/// Returns the scheme of an engine.
pub fn scheme(form: &Eddsa) -> Scheme<'_> {
    match form {
        Eddsa::Pure => Scheme::Pure,
        Eddsa::Context(context) => Scheme::Context(context),
        Eddsa::Prehash(context) => Scheme::Prehash(context),
    }
}

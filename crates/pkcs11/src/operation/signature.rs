//! Signatures and MACs in a session: made and verified, of one part or several.
//!
//! Ref. PKCS #11 v3.2 §5.13, §5.15.

use std::sync::Arc;

use cryptoki_sys::*;
use millstream::Features;
use millstream::aes::CmacState;
use millstream::compare::begins;
use millstream::hash::Hasher;
use millstream::hmac::Hmac;
use millstream::isolated::ServiceKey;
use millstream::publickey::ecdsa::Message;
use millstream::publickey::ed25519::{self, Rules};
use millstream::publickey::rsa;
use millstream::sha3::Shake;

use super::cipher::padded;
use super::prepared::{Prepared, Signer, scheme};
use crate::abi::Mechanism;
use crate::mechanism::contexts::InContext;
use crate::mechanism::parameters;
use crate::mechanism::tls::Mac;
use crate::mechanism::{Row, Way};
use crate::object::Remote;
use crate::object::engine::Engine;
use crate::object::purpose::{Purpose, hash_for};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// The most bytes of a message that is signed whole.
const MOST_KEPT: usize = 64 << 20;

/// A signature or a MAC under way.
#[derive(Clone)]
pub struct Signing {
    engine: Arc<Engine>,
    signer: Signer,
    input: Input,
    /// True once a part was added.
    pub in_parts: bool,
}

/// The input so far.
#[derive(Clone)]
enum Input {
    Hmac(Box<Hmac>),
    Cmac(Box<CmacState>),
    Hash(Box<Hasher>),
    /// A message of which a digest of so many bytes is made.
    Shake(Box<Shake>, usize),
    Whole(Vec<u8>),
    /// A message whose MAC the service computes.
    Remote(RemoteMac),
}

/// A message whose MAC the service computes, in pieces of one operation each.
#[derive(Clone)]
struct RemoteMac {
    /// True for a MAC that is made, false for one that is compared.
    signs: bool,
    /// The bytes of a whole MAC.
    len: usize,
    /// The mid-state after the pieces that were sent.
    state: Option<Vec<u8>>,
    /// The bytes after them.
    rest: Vec<u8>,
}

impl RemoteMac {
    fn update(&mut self, key: &Remote, mut part: &[u8]) -> Outcome {
        // The last piece is kept, because it ends the message.
        while self.rest.len() + part.len() > ServiceKey::PIECE {
            let (now, later) = part.split_at(ServiceKey::PIECE - self.rest.len());
            self.rest.extend_from_slice(now);
            self.state = Some(key.add_to_mac(self.signs, self.state.as_deref(), &self.rest)?);
            self.rest.clear();
            part = later;
        }
        self.rest.extend_from_slice(part);
        Ok(())
    }
}

/// Returns what the key of a mechanism is expanded for.
///
/// # Errors
/// `CKR_MECHANISM_INVALID` for one that signs nothing.
pub fn purpose(way: Way, mechanism: &Mechanism<'_>) -> Outcome<Purpose> {
    Ok(match way {
        Way::TlsMac => Purpose::Hmac(Mac::read(mechanism)?.hash),
        Way::Hmac(hash, _) => Purpose::Hmac(hash),
        Way::Cmac(_) => Purpose::Cmac,
        Way::RsaPkcs | Way::RsaRaw | Way::RsaHashed(_) | Way::RsaPss(_) => Purpose::Pair,
        Way::Ecdsa(_) | Way::Eddsa => Purpose::Pair,
        Way::MlDsa | Way::HashMlDsa(_) | Way::SlhDsa | Way::HashSlhDsa(_) => Purpose::Pair,
        _ => return refuse(CKR_MECHANISM_INVALID),
    })
}

impl Signing {
    /// Begins with a key that was expanded for the mechanism's [`purpose`].
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn begin(
        features: Features,
        row: &Row,
        mechanism: &Mechanism<'_>,
        engine: Arc<Engine>,
        signs: bool,
    ) -> Outcome<Self> {
        let hashed = |hash| Input::Hash(Box::new(Hasher::new(features, hash)));
        let tag = |general: bool, most: usize| match general {
            true => parameters::tag_len(mechanism, most),
            false => mechanism.bare().map(|()| most),
        };
        let whole = || Input::Whole(Vec::new());
        let remote = |len| Input::Remote(RemoteMac { signs, len, state: None, rest: Vec::new() });
        let (signer, input) = match (row.way, &*engine) {
            (Way::Hmac(hash, general), Engine::Hmac(key)) => {
                (Signer::Mac(tag(general, hash.output_len())?), Input::Hmac(Box::new(key.start())))
            }
            (Way::Cmac(general), Engine::Cmac(key)) => {
                (Signer::Mac(tag(general, 16)?), Input::Cmac(Box::new(key.begin())))
            }
            (Way::Hmac(hash, general), Engine::Remote(_)) => {
                (Signer::Mac(tag(general, hash.output_len())?), remote(hash.output_len()))
            }
            (Way::Cmac(general), Engine::Remote(_)) => (Signer::Mac(tag(general, 16)?), remote(16)),
            (Way::TlsMac, Engine::Hmac(_)) => (Signer::Finished(Mac::read(mechanism)?), whole()),
            // The bytes of a key that is used in the service are not for derivations in this process.
            (Way::TlsMac, _) => return refuse(CKR_KEY_FUNCTION_NOT_PERMITTED),
            (Way::RsaPss(hash), _) => {
                let pss = parameters::pss(mechanism, hash)?;
                (Signer::RsaPss(pss), hash.map_or_else(whole, hashed))
            }
            (Way::Eddsa, _) => (Signer::Eddsa(parameters::eddsa(mechanism)?), whole()),
            (Way::MlDsa, _) => (Signer::MlDsa(InContext::read(mechanism, None, signs)?), whole()),
            (Way::HashMlDsa(None), _) => (Signer::MlDsa(InContext::of_digest(mechanism, signs)?), whole()),
            (Way::SlhDsa, _) => (Signer::SlhDsa(InContext::read(mechanism, None, signs)?), whole()),
            (Way::HashSlhDsa(None), _) => (Signer::SlhDsa(InContext::of_digest(mechanism, signs)?), whole()),
            (way @ (Way::HashMlDsa(Some(function)) | Way::HashSlhDsa(Some(function))), _) => {
                let form = InContext::read(mechanism, Some(function), signs)?;
                let is_of_lattices = matches!(way, Way::HashMlDsa(_));
                let signer = if is_of_lattices { Signer::MlDsa(form) } else { Signer::SlhDsa(form) };
                let shaken = |xof| Input::Shake(Box::new(Shake::new(features, xof)), function.digest_len());
                let input = function.hash().map(hashed).or_else(|| function.xof().map(shaken));
                (signer, input.ok_or(Refusal(CKR_MECHANISM_INVALID))?)
            }
            (way, _) => {
                mechanism.bare()?;
                match way {
                    Way::RsaPkcs => (Signer::RsaPkcs, whole()),
                    Way::RsaRaw => (Signer::RsaRaw, whole()),
                    Way::RsaHashed(hash) => (Signer::RsaHashed(hash), hashed(hash)),
                    Way::Ecdsa(hash) => (Signer::Ecdsa(hash), hash.map_or_else(whole, hashed)),
                    _ => return refuse(CKR_MECHANISM_INVALID),
                }
            }
        };
        Ok(Signing { engine, signer, input, in_parts: false })
    }

    /// Returns the length of the signature.
    pub fn len(&self) -> usize {
        match (&self.signer, &*self.engine) {
            (Signer::Mac(len), _) => *len,
            (Signer::Finished(mac), _) => mac.len,
            (_, Engine::Rsa(key)) => key.size(),
            (_, Engine::RsaPublic(key)) => key.size(),
            (_, Engine::Curve(key)) => 2 * key.curve().bytes(),
            (_, Engine::CurvePublic(key)) => 2 * key.curve().bytes(),
            (_, Engine::MlDsa(key)) => key.set().signature_len(),
            (_, Engine::MlDsaPublic(key)) => key.set().signature_len(),
            (_, Engine::SlhDsa(key)) => key.set().signature_len(),
            (_, Engine::SlhDsaPublic(key)) => key.set().signature_len(),
            (Signer::MlDsa(_) | Signer::SlhDsa(_), Engine::Remote(key)) => key.size(),
            (Signer::Ecdsa(_), Engine::Remote(key)) => 2 * key.size(),
            (_, Engine::Remote(key)) if key.is_rsa() => key.size(),
            _ => ed25519::SIGNATURE,
        }
    }

    /// Adds a part.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`.
    pub fn update(&mut self, part: &[u8]) -> Outcome {
        self.in_parts = true;
        match (&mut self.input, &*self.engine) {
            (Input::Hmac(hmac), _) => hmac.update(part),
            (Input::Cmac(cmac), Engine::Cmac(key)) => cmac.update(key, part),
            (Input::Cmac(_), _) => return refuse(CKR_FUNCTION_FAILED),
            (Input::Hash(hasher), _) => hasher.update(part),
            (Input::Shake(shake, _), _) => shake.update(part),
            (Input::Remote(mac), Engine::Remote(key)) => mac.update(key, part)?,
            (Input::Remote(_), _) => return refuse(CKR_FUNCTION_FAILED),
            (Input::Whole(message), _) => {
                demand(message.len().saturating_add(part.len()) <= MOST_KEPT, CKR_DATA_LEN_RANGE)?;
                message.extend_from_slice(part);
            }
        }
        Ok(())
    }

    /// Returns the tag of a MAC, the digest, or the message.
    fn ended(input: Input, engine: &Engine) -> Outcome<Vec<u8>> {
        Ok(match (input, engine) {
            (Input::Hmac(hmac), _) => hmac.finish().to_vec(),
            (Input::Cmac(cmac), Engine::Cmac(key)) => cmac.tag(key).to_vec(),
            (Input::Cmac(_), _) => return refuse(CKR_FUNCTION_FAILED),
            (Input::Hash(hasher), _) => hasher.finish().to_vec(),
            (Input::Shake(shake, len), _) => {
                let mut digest = vec![0; len];
                shake.finish().squeeze(&mut digest);
                digest
            }
            (Input::Remote(mac), Engine::Remote(key)) => key.mac(mac.state.as_deref(), &mac.rest, mac.len)?,
            (Input::Remote(_), _) => return refuse(CKR_FUNCTION_FAILED),
            (Input::Whole(message), _) => message,
        })
    }

    /// Returns what is to be signed, and with what.
    ///
    /// # Errors
    /// Those of the service, which computes MACs with its keys now.
    pub fn prepared(self) -> Outcome<Prepared> {
        let len = self.len();
        let input = Signing::ended(self.input, &self.engine)?;
        Ok(Prepared { engine: self.engine, signer: self.signer, input, len })
    }

    /// Verifies a signature or a tag.
    ///
    /// # Errors
    /// `CKR_SIGNATURE_LEN_RANGE`, `CKR_SIGNATURE_INVALID`.
    pub fn verify(self, signature: &[u8]) -> Outcome {
        let len = self.len();
        let whole = match self.signer {
            Signer::Ecdsa(_) => Some(halves(signature, len)?),
            _ => None,
        };
        let signature = whole.as_deref().unwrap_or(signature);
        demand(signature.len() == len, CKR_SIGNATURE_LEN_RANGE)?;
        if let (Input::Remote(mac), Engine::Remote(key)) = (&self.input, &*self.engine) {
            return key.verify(mac.state.as_deref(), &mac.rest, signature);
        }
        let input = Signing::ended(self.input, &self.engine)?;
        let invalid = |_| Refusal(CKR_SIGNATURE_INVALID);
        match (&self.signer, &*self.engine) {
            (Signer::Mac(len), _) => demand(begins(&input[..*len], signature).into(), CKR_SIGNATURE_INVALID),
            (Signer::Finished(mac), Engine::Hmac(key)) => {
                demand(begins(&mac.tag(key, &input), signature).into(), CKR_SIGNATURE_INVALID)
            }
            (Signer::RsaPkcs, Engine::RsaPublic(key)) => {
                let expected = type_1(&input, key.size())?;
                is_recovered(key, signature, &expected)
            }
            (Signer::RsaRaw, Engine::RsaPublic(key)) => {
                is_recovered(key, signature, &padded(&input, key.size())?)
            }
            (Signer::RsaHashed(hash), Engine::RsaPublic(key)) => {
                key.verify_pkcs1_digest_vartime(*hash, &input, signature).map_err(invalid)
            }
            (Signer::RsaPss(pss), Engine::RsaPublic(key)) => {
                demand(input.len() == pss.hash.output_len(), CKR_DATA_LEN_RANGE)?;
                key.verify_pss_digest_vartime(pss, &input, signature).map_err(invalid)
            }
            (Signer::Ecdsa(hash), Engine::CurvePublic(key)) => {
                let hash = hash.unwrap_or(hash_for(input.len()));
                key.verify(&Message::digest(hash, &input), signature).map_err(invalid)
            }
            (Signer::Eddsa(form), Engine::Ed25519Public(key)) => {
                key.verify_by(Rules::Strict, scheme(form), &input, signature).map_err(invalid)
            }
            (Signer::MlDsa(form), Engine::MlDsaPublic(key)) => {
                form.check(&input)?;
                key.verify_by(form.ml_dsa(), &input, signature).map_err(invalid)
            }
            (Signer::SlhDsa(form), Engine::SlhDsaPublic(key)) => {
                form.check(&input)?;
                key.verify_by(form.slh_dsa(), &input, signature).map_err(invalid)
            }
            _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
        }
    }
}

impl Signing {
    /// Recovers the message from a signature.
    ///
    /// # Errors
    /// `CKR_SIGNATURE_LEN_RANGE`, `CKR_SIGNATURE_INVALID`.
    pub fn recover(&self, signature: &[u8]) -> Outcome<Vec<u8>> {
        demand(signature.len() == self.len(), CKR_SIGNATURE_LEN_RANGE)?;
        let invalid = Refusal(CKR_SIGNATURE_INVALID);
        let Engine::RsaPublic(key) = &*self.engine else { return refuse(CKR_KEY_TYPE_INCONSISTENT) };
        let mut block = vec![0; key.size()];
        key.raw(signature, &mut block).map_err(|_| invalid)?;
        match self.signer {
            Signer::RsaPkcs => of_type_1(&block).map(<[u8]>::to_vec).ok_or(invalid),
            Signer::RsaRaw => Ok(block),
            _ => refuse(CKR_MECHANISM_INVALID),
        }
    }
}

/// Returns a signature of ECDSA in its whole length. One to be verified may be shorter: its halves, equally long, are numbers without
/// leading zeros, as Java sends them (PKCS #11 v3.2 §6.3.1).
fn halves(signature: &[u8], len: usize) -> Outcome<Vec<u8>> {
    let fits = !signature.is_empty() && signature.len().is_multiple_of(2) && signature.len() <= len;
    demand(fits, CKR_SIGNATURE_LEN_RANGE)?;
    let (r, s) = signature.split_at(signature.len() / 2);
    let zeros = vec![0; len / 2 - r.len()];
    Ok([&zeros, r, &zeros, s].concat())
}

/// Returns the block of type 1 around bytes (RFC 8017 §9.2, steps 3 to 5).
fn type_1(bytes: &[u8], len: usize) -> Outcome<Vec<u8>> {
    let ones =
        len.checked_sub(bytes.len() + 3).filter(|ones| *ones >= 8).ok_or(Refusal(CKR_DATA_LEN_RANGE))?;
    let mut block = vec![0xff; len];
    block[..2].copy_from_slice(&[0, 1]);
    block[2 + ones] = 0;
    block[len - bytes.len()..].copy_from_slice(bytes);
    Ok(block)
}

/// Returns the bytes in a block of type 1 (RFC 2313 §8.1); none if it is no such block. All of it is public.
fn of_type_1(block: &[u8]) -> Option<&[u8]> {
    let padded = block.strip_prefix(&[0, 1])?;
    let ones = padded.iter().take_while(|byte| **byte == 0xff).count();
    padded[ones..].strip_prefix(&[0]).filter(|_| ones >= 8)
}

/// Compares what a signature recovers with what was expected. All of it is public.
fn is_recovered(key: &rsa::PublicKey, signature: &[u8], expected: &[u8]) -> Outcome {
    let mut found = vec![0; key.size()];
    key.raw(signature, &mut found).map_err(|_| Refusal(CKR_SIGNATURE_INVALID))?;
    demand(found == expected, CKR_SIGNATURE_INVALID)
}

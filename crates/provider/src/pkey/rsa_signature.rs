//! Signatures with RSA: PKCS#1 v1.5, PSS, and the bare power.
//!
//! OpenSSL's forms with a digest in their names (`RSA-SHA256`) are not offered: the default provider has them, and OpenSSL brings keys to it
//! by export and import.
//!
//! Ref. EVP_SIGNATURE-RSA(7); RFC 8017 §8.

use std::ffi::CStr;

use millstream::hash::Hash;
use millstream::publickey::rsa::Pss;
use millstream::tally::Row;

use super::System;
use super::held::{Family, Isolated};
use super::rsa::{Engine, Rsa, isolated_row};
use super::signature::{Asked, Named, Scheme};
use crate::provider::Provider;
use millstream::{Operation, SignatureScheme};

/// OpenSSL's numbers of the paddings.
pub const PKCS1: i32 = 1;
pub const BARE: i32 = 3;
pub const OAEP: i32 = 4;
const PSS: i32 = 6;

/// RSA.
pub struct RsaSignature;

/// The steps of the engine.
#[derive(Clone, Copy)]
pub enum Plan {
    /// PKCS#1 v1.5.
    Pkcs1(Hash),
    /// PKCS#1 v1.5 of what the caller has encoded.
    Encoded,
    Bare,
    Pss {
        hash: Hash,
        mgf: Hash,
        salt: Salt,
    },
}

/// The length of a salt, by OpenSSL's numbers below zero.
#[derive(Clone, Copy)]
pub enum Salt {
    /// The salt is as long as the digest.
    Digest,
    /// The longest one; when it verifies, any.
    Any,
    /// The longest one.
    Longest,
    /// The longest one up to the length of the digest; when it verifies, any.
    UpToDigest,
    Bytes(usize),
}

impl Salt {
    fn of(number: i32) -> Option<Self> {
        Some(match number {
            -1 => Salt::Digest,
            -2 => Salt::Any,
            -3 => Salt::Longest,
            -4 => Salt::UpToDigest,
            number => Salt::Bytes(usize::try_from(number).ok()?),
        })
    }

    /// Returns the bytes of the salt that is made.
    fn made(self, hash: Hash, longest: usize) -> usize {
        match self {
            Salt::Digest => hash.output_len(),
            Salt::Any | Salt::Longest => longest,
            Salt::UpToDigest => longest.min(hash.output_len()),
            Salt::Bytes(len) => len,
        }
    }

    /// Returns the lengths with which a signature is compared. A salt of any length has nearly always one of these; the rest is left to
    /// the other provider.
    fn compared(self, hash: Hash, longest: usize) -> [usize; 2] {
        match self {
            Salt::Any | Salt::UpToDigest => [hash.output_len(), longest],
            salt => [salt.made(hash, longest); 2],
        }
    }
}

/// Returns the bytes of the longest salt (RFC 8017 §9.1.1 step 3).
fn longest(bits: usize, hash: Hash) -> Option<usize> {
    (bits - 1).div_ceil(8).checked_sub(hash.output_len() + 2)
}

/// Returns the scheme of the same steps under a modulus of so many bits.
fn scheme(plan: &Plan, bits: usize) -> Option<SignatureScheme> {
    Some(match *plan {
        Plan::Pkcs1(hash) => SignatureScheme::RsaPkcs1 { hash: Some(hash) },
        Plan::Encoded => SignatureScheme::RsaPkcs1 { hash: None },
        Plan::Bare => SignatureScheme::RsaRaw,
        Plan::Pss { hash, mgf, salt } => {
            let salt_len = salt.made(hash, longest(bits, hash)?);
            SignatureScheme::RsaPss { hash, mgf_hash: mgf, salt_len: u16::try_from(salt_len).ok()? }
        }
    })
}

impl Scheme for RsaSignature {
    type Family = Rsa;
    const NAMES: &'static CStr = Rsa::NAMES;
    const NAME: &'static CStr = c"RSA";
    const KNOWN: &'static [&'static CStr] = &[
        c"digest",
        c"properties",
        c"pad-mode",
        c"mgf1-digest",
        c"mgf1-properties",
        c"saltlen",
        c"tls-version",
    ];
    const RECOVERS: bool = true;
    const DEEP: bool = true;
    type Plan = Plan;

    fn has(engine: &Engine, signs: bool) -> bool {
        if signs { engine.private().is_some() } else { engine.public().is_some() }
    }

    fn size(engine: &Engine) -> usize {
        engine.public().map_or(0, |key| key.size())
    }

    fn row(engine: &Engine, provider: Provider) -> Option<Row> {
        engine.row(provider)
    }

    fn isolated_row(isolated: &Isolated, provider: Provider) -> Row {
        isolated_row(isolated, provider)
    }

    fn there(isolated: &Isolated, plan: &Plan, _: &[u8]) -> Option<SignatureScheme> {
        scheme(plan, isolated.bits)
    }

    fn in_lanes(engine: &Engine, plan: &Plan, _: &[u8]) -> Option<SignatureScheme> {
        scheme(plan, engine.private()?.public_key().bits())
    }

    fn operation<'a>(
        engine: &'a Engine,
        scheme: SignatureScheme,
        digest: &'a [u8],
        place: &'a mut [u8],
    ) -> Option<Operation<'a>> {
        Some(Operation::sign_rsa(engine.private()?, scheme, digest, place))
    }

    fn plan(_: &Engine, asked: &Asked<'_>) -> Option<Plan> {
        let numbers = asked.others.map(|others| others.numbers([c"pad-mode", c"saltlen"]));
        let [padding, salt] = numbers.unwrap_or([Some(PKCS1), None]);
        match (padding?, asked.digest) {
            (PKCS1, Named::Ours(hash)) => Some(Plan::Pkcs1(hash)),
            (PKCS1, Named::Nothing) => Some(Plan::Encoded),
            (BARE, Named::Nothing) => Some(Plan::Bare),
            (PSS, Named::Ours(hash)) => {
                let mgf = match Named::of(&asked.others?.text(c"mgf1-digest")?) {
                    Named::Nothing => hash,
                    named => named.ours()?,
                };
                Some(Plan::Pss { hash, mgf, salt: Salt::of(salt?)? })
            }
            _ => None,
        }
    }

    fn sign(engine: &Engine, plan: &Plan, digest: &[u8], out: &mut [u8]) -> Option<usize> {
        let key = engine.private()?;
        let signed = match *plan {
            Plan::Pkcs1(hash) => key.sign_pkcs1_digest(hash, digest, out),
            Plan::Encoded => key.sign_pkcs1_encoded(digest, out),
            Plan::Bare => {
                let out = out.get_mut(..key.size())?;
                key.raw(digest, out).map(|()| out.len())
            }
            Plan::Pss { hash, mgf, salt } => {
                let salt = salt.made(hash, longest(key.public_key().bits(), hash)?);
                key.sign_pss_digest(&Pss { hash, mgf, salt }, &mut System, digest, out)
            }
        };
        signed.ok()
    }

    fn verify(engine: &Engine, plan: &Plan, digest: &[u8], signature: &[u8]) -> bool {
        let Some(key) = engine.public() else { return false };
        match *plan {
            Plan::Pkcs1(hash) => key.verify_pkcs1_digest_vartime(hash, digest, signature).is_ok(),
            Plan::Pss { hash, mgf, salt } => longest(key.bits(), hash).is_some_and(|longest| {
                let [one, other] = salt.compared(hash, longest);
                let verifies =
                    |salt| key.verify_pss_digest_vartime(&Pss { hash, mgf, salt }, digest, signature).is_ok();
                verifies(one) || (other != one && verifies(other))
            }),
            Plan::Encoded | Plan::Bare => false,
        }
    }
}

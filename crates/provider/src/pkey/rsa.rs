//! Keys of RSA: those of two primes with 1024 to 4096 bits have an engine.
//!
//! Ref. EVP_PKEY-RSA(7).

use std::ffi::CStr;

use der::asn1::UintRef;
use millstream::FeatureSet;
use millstream::cwq::Algorithm;
use millstream::publickey::rsa::{Components, MAX_BITS, MAX_BYTES, MIN_BITS, PrivateKey, PublicKey, RSA};
use millstream::tally::{Place, Row};
use zeroize::Zeroizing;

use super::Selection;
use super::held::{Family, Isolated, Secret};
use crate::abi::{OsslParam, UNSIGNED_INTEGER};
use crate::count::Rows;
use crate::error::{Reason, Result};
use crate::libcrypto::Job;
use crate::libcrypto::pkey::Held;
use crate::params::Params;
use crate::provider::Provider;

/// The family of these keys.
pub struct Rsa;

/// A key as the engine has it.
#[derive(Default)]
pub enum Engine {
    #[default]
    None,
    Public(Box<PublicKey>),
    Private(Box<PrivateKey>),
}

impl Engine {
    /// Returns the private key, which has the public one in it.
    pub fn private(&self) -> Option<&PrivateKey> {
        match self {
            Engine::Private(key) => Some(key),
            _ => None,
        }
    }

    /// Returns the public key.
    pub fn public(&self) -> Option<&PublicKey> {
        match self {
            Engine::None => None,
            Engine::Public(key) => Some(key),
            Engine::Private(key) => Some(key.public_key()),
        }
    }

    /// Returns the row in which operations with the key are counted.
    pub fn row(&self, provider: Provider) -> Option<Row> {
        let key = self.public()?;
        Some(row(provider, Place::InProcess, key.bits(), key.kernel().name))
    }
}

/// Returns the row in which operations in the service are counted.
pub fn isolated_row(isolated: &Isolated, provider: Provider) -> Row {
    row(provider, Place::Isolated, isolated.bits, "")
}

fn row(provider: Provider, place: Place, bits: usize, kernel: &str) -> Row {
    static ROWS: [Rows; 5] = [const { Rows::new() }; 5];
    let (rows, name) = match bits {
        1024 => (&ROWS[0], "rsa-1024"),
        2048 => (&ROWS[1], "rsa-2048"),
        3072 => (&ROWS[2], "rsa-3072"),
        4096 => (&ROWS[3], "rsa-4096"),
        _ => (&ROWS[4], "rsa"),
    };
    rows.row(provider, place, name, kernel)
}

/// A key that is to be made.
#[derive(Default)]
pub struct Asked {
    bits: Option<usize>,
    /// True where something was asked for that the service does not do.
    other: bool,
}

/// The bits of a key for which no number was asked.
const USUAL_BITS: usize = 2048;
/// The public exponent of the keys that the service makes.
const EXPONENT: usize = 65537;

/// The names of a key's numbers, in the order of an `RSAPrivateKey` (RFC 8017 §A.1.2).
const NUMBERS: [&CStr; 8] = [
    c"n",
    c"e",
    c"d",
    c"rsa-factor1",
    c"rsa-factor2",
    c"rsa-exponent1",
    c"rsa-exponent2",
    c"rsa-coefficient1",
];

impl Family for Rsa {
    const NAMES: &'static CStr = c"RSA:rsaEncryption:1.2.840.113549.1.1.1";
    const NAME: &'static CStr = c"RSA";
    const PARTS: &'static [OsslParam] = &[
        OsslParam::described(c"n", UNSIGNED_INTEGER),
        OsslParam::described(c"e", UNSIGNED_INTEGER),
        OsslParam::described(c"d", UNSIGNED_INTEGER),
        OsslParam::described(c"rsa-factor1", UNSIGNED_INTEGER),
        OsslParam::described(c"rsa-factor2", UNSIGNED_INTEGER),
        OsslParam::described(c"rsa-exponent1", UNSIGNED_INTEGER),
        OsslParam::described(c"rsa-exponent2", UNSIGNED_INTEGER),
        OsslParam::described(c"rsa-coefficient1", UNSIGNED_INTEGER),
        OsslParam::END,
    ];
    type Engine = Engine;
    type Asked = Asked;

    fn engine(held: &Held) -> Engine {
        // The numbers fill the stack of a job.
        let read = Job::with_stack(held.provider(), || Ok(read(held)));
        read.ok().flatten().unwrap_or_default()
    }

    fn operation(_: i32) -> Option<&'static CStr> {
        Some(c"RSA")
    }

    fn secret(params: Params<'_>) -> Result<Option<Secret>> {
        let mut numbers: [Zeroizing<Vec<u8>>; 8] = Default::default();
        for (number, name) in numbers.iter_mut().zip(NUMBERS) {
            // A key without primes is none of the service's.
            let Some(param) = params.find(name) else { return Ok(None) };
            *number = Zeroizing::new(vec![0; param.number_len()?]);
            param.copy_big_endian(number)?;
        }
        let bits = numbers[0]
            .iter()
            .position(|byte| *byte != 0)
            .map_or(0, |first| (numbers[0].len() - first) * 8 - numbers[0][first].leading_zeros() as usize);
        if params.find(c"rsa-factor3").is_some() || !(MIN_BITS..=MAX_BITS).contains(&bits) {
            return Ok(None);
        }
        let secret = encoded(&numbers).ok_or(Reason::INVALID_KEY)?;
        Ok(Some(secret).filter(|secret| has_engine(&secret.bytes)))
    }

    fn tell_public(
        _: Algorithm,
        public: &[u8],
        taker: &mut dyn FnMut(Params<'_>) -> Result<()>,
    ) -> Result<()> {
        let key: pkcs1::RsaPublicKey<UintRef<'_>> =
            der::Decode::from_der(public).map_err(|_| Reason::INTERNAL)?;
        let [n, e] = [key.modulus, key.public_exponent].map(|number| {
            let mut native = number.as_bytes().to_vec();
            super::big_endian(&mut native);
            native
        });
        OsslParam::tell(&[(c"n", UNSIGNED_INTEGER, &n), (c"e", UNSIGNED_INTEGER, &e)], taker)
    }

    fn ask(asked: &mut Asked, params: Params<'_>) {
        for param in params {
            match param.key().to_bytes() {
                b"bits" => asked.bits = param.size().ok(),
                b"e" if param.size() == Ok(EXPONENT) => {}
                b"primes" if param.size() == Ok(2) => {}
                b"properties" => {}
                _ => asked.other = true,
            }
        }
    }

    fn made_there(asked: &Asked) -> Option<(Algorithm, usize)> {
        let bits = asked.bits.unwrap_or(USUAL_BITS);
        // A worker makes keys of these sizes (FIPS 186-5 §5.1); another one is made here and brought there.
        let fits = !asked.other && (2048..=MAX_BITS).contains(&bits) && bits.is_multiple_of(128);
        fits.then_some((Algorithm::Rsa, bits / 8))
    }
}

/// Tells whether a private key is one of the service's: its exponent and primes may be too long, or of lengths too different.
pub fn has_engine(pkcs1: &[u8]) -> bool {
    super::features().is_ok_and(|features| PrivateKey::from_pkcs1(features, pkcs1).is_ok())
}

/// Encodes a private key from its numbers.
fn encoded(numbers: &[Zeroizing<Vec<u8>>; 8]) -> Option<Secret> {
    let mut bytes = Zeroizing::new(vec![0; numbers.iter().map(|number| number.len() + 8).sum::<usize>() + 8]);
    let len = Components::in_order(numbers).to_pkcs1(&mut bytes).ok()?;
    bytes.truncate(len);
    Some(Secret { algorithm: Algorithm::Rsa, bytes })
}

/// Reads the numbers of a key; none if the engine has no keys of this size, or would be slower than the default provider.
fn read(held: &Held) -> Option<Engine> {
    if !held.has(Selection::PUBLIC) {
        return None;
    }
    let bits = held.number(c"bits").filter(|bits| (MIN_BITS..=MAX_BITS).contains(bits))?;
    let features = super::features().ok()?;
    // OpenSSL's assembly needs a third of the time of the portable kernel, which all processors have.
    if RSA.best(features).kernel().requires == FeatureSet::EMPTY {
        return None;
    }
    let len = bits.div_ceil(8);
    let mut numbers = Zeroizing::new([[0u8; MAX_BYTES]; 8]);
    let [n, e, d, p, q, dp, dq, inverse] = &mut *numbers;
    let found =
        held.octets([(c"n", UNSIGNED_INTEGER, &mut n[..len]), (c"e", UNSIGNED_INTEGER, &mut e[..len])])?;
    if found.contains(&None) {
        return None;
    }
    [&mut *n, &mut *e].into_iter().for_each(|number| super::big_endian(&mut number[..len]));
    if held.has(Selection::PRIVATE) {
        let mut third = Zeroizing::new([0u8; MAX_BYTES]);
        let found = held.octets([
            (c"d", UNSIGNED_INTEGER, &mut d[..len]),
            (c"rsa-factor1", UNSIGNED_INTEGER, &mut p[..len]),
            (c"rsa-factor2", UNSIGNED_INTEGER, &mut q[..len]),
            (c"rsa-exponent1", UNSIGNED_INTEGER, &mut dp[..len]),
            (c"rsa-exponent2", UNSIGNED_INTEGER, &mut dq[..len]),
            (c"rsa-coefficient1", UNSIGNED_INTEGER, &mut inverse[..len]),
            (c"rsa-factor3", UNSIGNED_INTEGER, &mut third[..len]),
        ])?;
        // A key of more primes, or without any, is none of the engine's.
        let two_primes = found[..6].iter().all(Option::is_some) && found[6].is_none();
        if two_primes {
            let all = [&mut *d, &mut *p, &mut *q, &mut *dp, &mut *dq, &mut *inverse];
            all.into_iter().for_each(|number| super::big_endian(&mut number[..len]));
            let components = Components {
                modulus: &n[..len],
                public_exponent: &e[..len],
                private_exponent: &d[..len],
                p: &p[..len],
                q: &q[..len],
                dp: &dp[..len],
                dq: &dq[..len],
                inverse: &inverse[..len],
            };
            if let Ok(key) = PrivateKey::new(features, &components) {
                return Some(Engine::Private(Box::new(key)));
            }
        }
    }
    PublicKey::new(features, &n[..len], &e[..len]).ok().map(|key| Engine::Public(Box::new(key)))
}

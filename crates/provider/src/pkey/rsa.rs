//! Keys of RSA: those of two primes with 1024 to 4096 bits have an engine.
//!
//! Ref. EVP_PKEY-RSA(7).

use std::ffi::CStr;

use millstream::FeatureSet;
use millstream::publickey::rsa::{Components, MAX_BITS, MAX_BYTES, MIN_BITS, PrivateKey, PublicKey, RSA};
use millstream::tally::{Place, Row};
use zeroize::Zeroizing;

use super::Selection;
use super::held::Family;
use crate::abi::{OsslParam, UNSIGNED_INTEGER};
use crate::count::Rows;
use crate::libcrypto::Job;
use crate::libcrypto::pkey::Held;
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
        static ROWS: [Rows; 5] = [const { Rows::new() }; 5];
        let key = self.public()?;
        let (rows, name) = match key.bits() {
            1024 => (&ROWS[0], "rsa-1024"),
            2048 => (&ROWS[1], "rsa-2048"),
            3072 => (&ROWS[2], "rsa-3072"),
            4096 => (&ROWS[3], "rsa-4096"),
            _ => (&ROWS[4], "rsa"),
        };
        Some(rows.row(provider, Place::InProcess, name, key.kernel().name))
    }
}

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

    fn engine(held: &Held) -> Engine {
        // The numbers fill the stack of a job.
        let read = Job::with_stack(held.provider(), || Ok(read(held)));
        read.ok().flatten().unwrap_or_default()
    }

    fn operation(_: i32) -> Option<&'static CStr> {
        Some(c"RSA")
    }
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

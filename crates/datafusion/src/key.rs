//! The functions that each class of keys has.

use std::sync::Arc;

use datafusion_expr::ScalarUDF;
use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream_columns::{
    Aead, ArrayData, Encoding, Error, Fernet, Hmac, Isolated, Keyset, OnError, Open, Parameter, Seal, Siv,
    Token, digest,
};

use crate::function::{Facts, Function};

/// The facts about digests and MACs.
const DIGEST: Facts = Facts { text: true, second: false, repeatable: true };

/// A key for functions.
#[non_exhaustive]
pub enum Key {
    /// A key for HMACs.
    Hmac(Hmac),
    /// A key of an AEAD: a nonce for each value.
    Aead(Aead),
    /// A key of AES-SIV: equal values become equal results.
    Siv(Siv),
    /// A key of FF1: results have the alphabet and the length of the values.
    #[cfg(feature = "ff1")]
    Fpe(millstream_columns::Fpe),
    /// A key of Fernet.
    Fernet(Fernet),
    /// A keyset of Tink's form, with rotation. With [`Keyset::is_deterministic`] it is one of AES-SIV.
    Keyset(Keyset),
    /// A key of the service, which has the functions of its algorithm.
    Isolated(Isolated),
}

macro_rules! from {
    ($($(#[$feature:meta])? $name:ident: $key:ty,)+) => {
        $($(#[$feature])? impl From<$key> for Key {
            fn from(key: $key) -> Self {
                Key::$name(key)
            }
        })+
    };
}
from! {
    Hmac: Hmac,
    Aead: Aead,
    Siv: Siv,
    #[cfg(feature = "ff1")] Fpe: millstream_columns::Fpe,
    Fernet: Fernet,
    Keyset: Keyset,
    Isolated: Isolated,
}

/// Returns a function for each hash, which gives hexadecimal digits: `sha256`, `sha3_512` and so on behind a prefix.
pub fn hashes(prefix: &str) -> Vec<ScalarUDF> {
    let named = |hash: Hash| format!("{prefix}{}", hash.name().replace('-', "_"));
    let each = Hash::ALL.into_iter();
    each.map(|hash| Function::new(named(hash), DIGEST, move |column, _| digest(hash, column, Encoding::Hex)))
        .collect()
}

/// Returns the functions of a key: see the [table](crate). For two keys of one class, take two prefixes.
pub fn functions(prefix: &str, key: impl Into<Key>) -> Vec<ScalarUDF> {
    let (one, siv) =
        (Class { prefix, name: "", repeatable: false }, Class { prefix, name: "siv_", repeatable: true });
    match key.into() {
        Key::Hmac(key) => vec![signing(prefix, key, Hmac::sign)],
        Key::Isolated(key) if key.is_of_hmac() => vec![signing(prefix, key, Isolated::sign)],
        Key::Isolated(key) if key.algorithm() == Algorithm::AesSiv => sealing(
            siv,
            key,
            |key, column, aad| key.seal(column, &Seal { aad: component(aad), ..Seal::default() }),
            |key, column, how| key.open(column, &Open { aad: component(how.aad), ..*how }),
        ),
        Key::Isolated(key) => sealing(
            one,
            key,
            |key, column, aad| key.seal(column, &Seal { aad, ..Seal::default() }),
            Isolated::open,
        ),
        Key::Aead(key) => sealing(
            one,
            key,
            |key, column, aad| key.seal(column, &Seal { aad, ..Seal::default() }),
            Aead::open,
        ),
        Key::Siv(key) => {
            sealing(siv, key, |key, column, aad| key.seal(column, aad, Encoding::Binary), Siv::open)
        }
        Key::Keyset(keys) => {
            let class = if keys.is_deterministic() { siv } else { one };
            sealing(class, keys, |keys, column, aad| keys.seal(column, aad, Encoding::Binary), Keyset::open)
        }
        #[cfg(feature = "ff1")]
        Key::Fpe(key) => {
            let key = Arc::new(key);
            let (encrypts, decrypts) = (Arc::clone(&key), key);
            let facts = Facts { text: true, second: true, repeatable: true };
            vec![
                Function::new(format!("{prefix}fpe_encrypt"), facts, move |column, tweak| {
                    encrypts.encrypt(column, tweak, OnError::Fail)
                }),
                Function::new(format!("{prefix}fpe_decrypt"), facts, move |column, tweak| {
                    decrypts.decrypt(column, tweak, OnError::Fail)
                }),
            ]
        }
        Key::Fernet(key) => fernet(prefix, key),
    }
}

/// A result of the functions of columns.
type Results = Result<ArrayData, Error>;

/// A class of keys that seal and open.
#[derive(Clone, Copy)]
struct Class<'a> {
    prefix: &'a str,
    /// The text before `seal` and `open`.
    name: &'a str,
    /// True if equal values become equal results.
    repeatable: bool,
}

/// A word of a queue has one component of associated data always.
fn component(aad: Parameter<'_>) -> Parameter<'_> {
    if matches!(aad, Parameter::None) { Parameter::Constant(b"") } else { aad }
}

fn signing<K: Send + Sync + 'static>(
    prefix: &str,
    key: K,
    sign: fn(&K, &ArrayData, Encoding) -> Results,
) -> ScalarUDF {
    Function::new(format!("{prefix}hmac"), DIGEST, move |column, _| sign(&key, column, Encoding::Hex))
}

/// Returns the functions of a key that seals and opens.
fn sealing<K: Send + Sync + 'static>(
    Class { prefix, name, repeatable }: Class<'_>,
    key: K,
    seal: fn(&K, &ArrayData, Parameter<'_>) -> Results,
    open: fn(&K, &ArrayData, &Open<'_>) -> Results,
) -> Vec<ScalarUDF> {
    let key = Arc::new(key);
    let opens = |name: &str, on_error| {
        let key = Arc::clone(&key);
        let facts = Facts { text: true, second: true, repeatable: true };
        Function::new(format!("{prefix}{name}"), facts, move |column, aad| {
            open(&key, column, &Open { aad, on_error, text: true })
        })
    };
    let sealing = Arc::clone(&key);
    let facts = Facts { text: false, second: true, repeatable };
    vec![
        Function::new(format!("{prefix}{name}seal"), facts, move |column, aad| seal(&sealing, column, aad)),
        opens(&format!("{name}open"), OnError::Fail),
        opens(&format!("try_{name}open"), OnError::Null),
    ]
}

fn fernet(prefix: &str, key: Fernet) -> Vec<ScalarUDF> {
    let key = Arc::new(key);
    let decrypts = |name: &str, on_error| {
        let key = Arc::clone(&key);
        // No limit is set here, so the age of a token makes no difference.
        let facts = Facts { text: true, second: false, repeatable: true };
        Function::new(format!("{prefix}{name}"), facts, move |column, _| {
            key.decrypt(column, &Token { on_error, text: true, ..Token::default() })
        })
    };
    let encrypts = Arc::clone(&key);
    let facts = Facts { text: true, second: false, repeatable: false };
    vec![
        Function::new(format!("{prefix}fernet_encrypt"), facts, move |column, _| {
            encrypts.encrypt(column, None)
        }),
        decrypts("fernet_decrypt", OnError::Fail),
        decrypts("try_fernet_decrypt", OnError::Null),
    ]
}

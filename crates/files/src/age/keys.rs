//! Keys of age: identities, which are private, and recipients, which are public.
//!
//! Ref. c2sp.org/age.

use millstream_cpu::Features;
use millstream_publickey::hybrid::{self, Hybrid};
use millstream_publickey::x25519;
use zeroize::Zeroizing;

use super::bech32::{self, Why};
use crate::error::Error;

const X25519: &str = "AGE-SECRET-KEY-";
const HYBRID: &str = "AGE-SECRET-KEY-PQ-";
const TO_X25519: &str = "age";
const TO_HYBRID: &str = "age1pq";

/// Bytes of a hybrid's public key.
const HYBRID_PUBLIC: usize = Hybrid::MlKem768X25519.public_key_len();

/// A private key for files of age, and for envelopes.
#[derive(Clone, PartialEq, Eq)]
pub enum Identity {
    /// A key of X25519.
    X25519(Zeroizing<[u8; 32]>),
    /// A seed of MLKEM768-X25519 (X-Wing).
    Hybrid(Zeroizing<[u8; 32]>),
}

impl Identity {
    /// Reads a line `AGE-SECRET-KEY-1...` or `AGE-SECRET-KEY-PQ-1...`.
    pub(super) fn from_line(line: &str) -> Result<Self, Error> {
        let hybrid = bech32::decode(HYBRID, line).map(|key| key.map(Identity::Hybrid));
        let found = hybrid.or_else(|| bech32::decode(X25519, line).map(|key| key.map(Identity::X25519)));
        let unknown =
            "does not begin with AGE-SECRET-KEY-1 or AGE-SECRET-KEY-PQ-1: identities of plugins are not read";
        found.unwrap_or(Err(unknown)).map_err(|why| bad("an identity", why))
    }

    /// Returns the line of an identity file.
    pub fn to_line(&self) -> Zeroizing<String> {
        let mut line = match self {
            Identity::X25519(key) => bech32::encode(X25519, &**key),
            Identity::Hybrid(seed) => bech32::encode(HYBRID, &**seed),
        };
        line.make_ascii_uppercase();
        line
    }

    /// Returns the recipient to which the identity belongs.
    ///
    /// # Errors
    /// [`Error::Key`] for a seed that gives no key, of which no example is known.
    pub fn recipient(&self, features: Features) -> Result<Recipient, Error> {
        let failed = |error: millstream_publickey::Error| Error::Key(error.to_string());
        Ok(match self {
            Identity::X25519(key) => {
                let key = x25519::PrivateKey::new(features, &**key).map_err(failed)?;
                Recipient::X25519(*key.public_key().as_bytes())
            }
            Identity::Hybrid(seed) => {
                let key = hybrid::PrivateKey::from_seed(features, Hybrid::MlKem768X25519, seed);
                Recipient::Hybrid(Box::new(key.map_err(failed)?.public_key().clone()))
            }
        })
    }
}

/// A public key for files of age, and for envelopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// A key of X25519.
    X25519([u8; 32]),
    /// A key of MLKEM768-X25519 (X-Wing).
    Hybrid(Box<hybrid::PublicKey>),
}

impl Recipient {
    /// Reads a line `age1...` or `age1pq1...`.
    fn from_line(features: Features, line: &str) -> Result<Self, Error> {
        if let Some(bytes) = bech32::decode::<HYBRID_PUBLIC>(TO_HYBRID, line) {
            let bytes = bytes.map_err(|why| bad("a recipient", why))?;
            let key = hybrid::PublicKey::new(features, Hybrid::MlKem768X25519, &*bytes);
            return Ok(Recipient::Hybrid(Box::new(key.map_err(|error| Error::Key(error.to_string()))?)));
        }
        let unknown = "does not begin with age1 or age1pq1";
        let bytes = bech32::decode(TO_X25519, line).unwrap_or(Err(unknown));
        bytes.map(|bytes| Recipient::X25519(*bytes)).map_err(|why| bad("a recipient", why))
    }

    /// Returns the text form.
    pub fn to_line(&self) -> String {
        let line = match self {
            Recipient::X25519(key) => bech32::encode(TO_X25519, key),
            Recipient::Hybrid(key) => bech32::encode(TO_HYBRID, key.as_bytes()),
        };
        line.to_string()
    }
}

/// Reads an identity file: a line for each private key, empty lines, and comments that begin with `#`.
///
/// # Errors
/// [`Error::Key`] for any other line, and when there is no key.
pub fn identities(text: &[u8]) -> Result<Vec<Identity>, Error> {
    let keys: Vec<Identity> =
        lines(text, "an identity file")?.map(Identity::from_line).collect::<Result<_, _>>()?;
    if keys.is_empty() { Err(Error::Key("an identity file of age without a key".into())) } else { Ok(keys) }
}

/// Reads a file of recipients: a line for each public key, empty lines, and comments that begin with `#`.
///
/// # Errors
/// [`Error::Key`] for any other line, and when there is no key.
pub fn recipients(features: Features, text: &[u8]) -> Result<Vec<Recipient>, Error> {
    let lines = lines(text, "a file of recipients")?;
    let keys: Vec<Recipient> =
        lines.map(|line| Recipient::from_line(features, line)).collect::<Result<_, _>>()?;
    if keys.is_empty() {
        Err(Error::Key("a file of recipients of age without a key".into()))
    } else {
        Ok(keys)
    }
}

/// Returns true for the contents of an identity file of age.
pub fn is_identity_file(text: &[u8]) -> bool {
    begins(text, b"AGE-SECRET-KEY-")
}

/// Returns true for the contents of a file of recipients of age.
pub fn is_recipients_file(text: &[u8]) -> bool {
    !is_identity_file(text) && begins(text, b"age1")
}

fn begins(text: &[u8], front: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_start().starts_with(front))
}

fn lines<'a>(text: &'a [u8], what: &str) -> Result<impl Iterator<Item = &'a str> + use<'a>, Error> {
    let text = str::from_utf8(text).map_err(|_| Error::Key(format!("not {what} of age: not text")))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')))
}

fn bad(what: &str, why: Why) -> Error {
    Error::Key(format!("{what} of age that {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
    const TO_EXAMPLE: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

    #[test]
    fn the_example_of_the_specification() {
        let key = Identity::from_line(EXAMPLE).unwrap();
        assert!(key == Identity::X25519(Zeroizing::new([0x42; 32])));
        assert!(key == Identity::from_line(&EXAMPLE.to_ascii_lowercase()).unwrap());
        assert_eq!(*key.to_line(), EXAMPLE);
        let features = Features::hardware();
        let to = key.recipient(features).unwrap();
        assert_eq!(to.to_line(), TO_EXAMPLE);
        assert_eq!(recipients(features, format!("# to\n\n {TO_EXAMPLE} \n").as_bytes()).unwrap(), [to]);
        for at in 0..EXAMPLE.len() {
            let mut changed = EXAMPLE.as_bytes().to_vec();
            changed[at] = if changed[at] == b'Q' { b'P' } else { b'Q' };
            assert!(Identity::from_line(str::from_utf8(&changed).unwrap()).is_err(), "digit {at}");
        }
        assert!(Identity::from_line(&EXAMPLE[..EXAMPLE.len() - 1]).is_err());
        assert!(Identity::from_line(&EXAMPLE.replacen("1G", "1g", 1)).is_err());
    }

    #[test]
    fn the_hybrid_example_of_the_specification() {
        const LINE: &str = "AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR";
        let key = Identity::from_line(LINE).unwrap();
        assert!(matches!(key, Identity::Hybrid(_)));
        assert_eq!(*key.to_line(), LINE);
        let features = Features::hardware();
        let to = key.recipient(features).unwrap().to_line();
        let (begin, end) =
            ("age1pq1x34nzsvr0rxjsgdn8zgyhfe8j7ceq5r9rdelkjuh3y235jzxshfg87pz", "aeq0d3fzv49zc0k");
        assert!(to.starts_with(begin) && to.ends_with(end), "{to}");
        assert_eq!(recipients(features, to.as_bytes()).unwrap(), [key.recipient(features).unwrap()]);
        assert!(recipients(features, &to.as_bytes()[..to.len() - 1]).is_err());
        assert!(is_recipients_file(to.as_bytes()) && !is_recipients_file(LINE.as_bytes()));
    }
}

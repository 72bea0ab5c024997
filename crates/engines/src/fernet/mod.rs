//! Fernet tokens: AES-128-CBC, then HMAC-SHA256 over all of it, in base64.
//!
//! Many tokens under one key go side by side: their texts on the lanes of CBC, their tags on those of HMAC. (Opened texts go
//! one by one: CBC decrypts the blocks of one text side by side.)
//!
//! Ref. the Fernet specification (github.com/fernet/spec), version 0x80; RFC 4648 §5.

mod base64;
mod lanes;
mod parts;

use std::fmt;

use millstream_cpu::Features;
use zeroize::{Zeroize, Zeroizing};

pub use lanes::{FernetKey, FernetLanes, KeyedFernetJob, NONCE, TAG};
pub use parts::{Parts, pad, unpadded};

use crate::Error;
use crate::InOut;
use crate::aes::{Block, CbcJob};
use crate::compare::begins;
use crate::hmac::HmacJob;
use crate::modes::BlockMode;

const NAME: &str = "fernet";

/// The first byte of a token.
const VERSION: u8 = 0x80;

/// The version, the time and the initialisation vector.
const HEAD: usize = 1 + 8 + 16;

/// Seconds by which a token's time may be ahead of the reader's clock.
pub const MAX_SKEW: u64 = 60;

/// The tokens that are under way side by side.
const LANES: usize = 16;

/// The limits of a token's age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// The reader's time, in seconds since 1970.
    pub now: u64,
    /// The most seconds that a token lives.
    pub ttl: u64,
}

/// A Fernet key. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::Error;
/// use millstream_engines::fernet::{Age, Fernet};
///
/// let key = Fernet::new(Features::hardware(), "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=")?;
/// let token = key.seal(1_000_000, &[9; 16], b"a value");
/// assert_eq!(&key.open(&token, None)?[..], b"a value");
/// assert!(key.open(&token, Some(Age { now: 1_000_061, ttl: 60 })).is_err());
/// # Ok::<(), Error>(())
/// ```
pub struct Fernet {
    key: FernetKey,
    lanes: FernetLanes,
}

/// One value for [`Fernet::seal_many`].
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// The time that the token tells, in seconds since 1970.
    pub time: u64,
    /// The initialisation vector: random, and another one for each value.
    pub iv: Block,
    /// The value.
    pub plain: &'a [u8],
}

impl Fernet {
    /// A key as its holders keep it: 32 bytes in base64.
    ///
    /// # Errors
    /// [`Error::KeyLength`] when it is not that.
    pub fn new(features: Features, key: &str) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(64));
        let well_formed = key.len() <= 64 && base64::decode(key.as_bytes(), &mut bytes).is_some();
        match <&[u8; 32]>::try_from(&bytes[..]) {
            Ok(bytes) if well_formed => Ok(Fernet::from_bytes(features, bytes)),
            _ => Err(Error::KeyLength {
                algorithm: NAME,
                given: bytes.len(),
                takes: "32 bytes, as 44 characters of base64 for addresses",
            }),
        }
    }

    /// A key as bytes: 16 for signing and 16 for encryption.
    pub fn from_bytes(features: Features, key: &[u8; 32]) -> Self {
        // The lanes come first: then nothing of the key is on the stack yet.
        let lanes = FernetLanes::new(features);
        Fernet { key: FernetKey::from_bytes(features, key), lanes }
    }

    /// Returns the token of a value at a time in seconds since 1970. `iv` is random.
    pub fn seal(&self, time: u64, iv: &Block, plain: &[u8]) -> String {
        self.seal_many(&[Value { time, iv: *iv, plain }]).pop().expect("a token for the value")
    }

    /// Returns the tokens of many values, in their order.
    pub fn seal_many(&self, values: &[Value<'_>]) -> Vec<String> {
        let mut tokens = Vec::with_capacity(values.len());
        for window in values.chunks(LANES) {
            let mut raw: [Vec<u8>; LANES] = [const { Vec::new() }; LANES];
            for (raw, value) in raw.iter_mut().zip(window) {
                lay_out(value, raw);
            }
            if window.len() == LANES {
                let mut values = window.iter();
                let mut jobs = raw.each_mut().map(|raw| {
                    let iv = values.next().expect("a value for each token").iv;
                    CbcJob { key: &self.key.cbc, iv, data: InOut::in_place(&mut raw[HEAD..]) }
                });
                self.lanes.cbc.encrypt(&mut jobs.each_mut());
            } else {
                for (raw, value) in raw.iter_mut().zip(window) {
                    self.key.cbc.encrypt(&mut value.iv.clone(), InOut::in_place(&mut raw[HEAD..]));
                }
            }
            let tags = self.tags(raw.each_ref().map(|raw| &raw[..]), window.len());
            for (raw, tag) in raw[..window.len()].iter_mut().zip(&tags) {
                raw.extend_from_slice(tag);
                let mut text = Vec::new();
                base64::encode(raw, &mut text);
                tokens.push(String::from_utf8(text).expect("base64 is text"));
            }
        }
        tokens
    }

    /// Returns the value in a token, if it is one under this key. `age` limits the token's time; without it any time is right.
    ///
    /// # Errors
    /// [`Error::Authentication`] when the token is none, or none under this key; [`Error::Parameter`] when it is one and its
    /// time is outside of the limits; [`Error::Padding`] when who has the key made it wrong.
    pub fn open(&self, token: &str, age: Option<Age>) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.open_many(&[token], age).pop().expect("a result for the token")
    }

    /// Returns the values in many tokens, in their order, each as [`Fernet::open`] does.
    pub fn open_many(&self, tokens: &[&str], age: Option<Age>) -> Vec<Result<Zeroizing<Vec<u8>>, Error>> {
        let mut values = Vec::with_capacity(tokens.len());
        for window in tokens.chunks(LANES) {
            let mut raw: [Vec<u8>; LANES] = [const { Vec::new() }; LANES];
            let mut formed = [false; LANES];
            for ((raw, formed), token) in raw.iter_mut().zip(&mut formed).zip(window) {
                *formed = base64::decode(token.as_bytes(), raw).is_some() && is_formed(raw);
                if !*formed {
                    raw.clear();
                }
            }
            let signed = raw.each_ref().map(|raw| &raw[..raw.len().saturating_sub(TAG)]);
            let tags = self.tags(signed, window.len());
            for ((raw, formed), tag) in raw.iter().zip(formed).zip(&tags).take(window.len()) {
                let right = formed && begins(tag, &raw[raw.len() - TAG..]).into();
                values.push(if right { self.decrypt(raw, age) } else { Err(Error::Authentication) });
            }
        }
        values
    }

    /// The HMACs of the first `count` messages.
    fn tags(&self, messages: [&[u8]; LANES], count: usize) -> [[u8; TAG]; LANES] {
        let mut tags = [[0; TAG]; LANES];
        if count == LANES {
            let mut jobs = messages.map(|message| HmacJob::new(&self.key.signing, message));
            self.lanes.hmac.sign(&mut jobs.each_mut());
            for (tag, job) in tags.iter_mut().zip(&jobs) {
                tag.copy_from_slice(&job.tag);
            }
        } else {
            for (tag, message) in tags[..count].iter_mut().zip(messages) {
                tag.copy_from_slice(&self.key.signing.sign(message));
            }
        }
        tags
    }

    /// Decrypts a token whose tag is right.
    fn decrypt(&self, raw: &[u8], age: Option<Age>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (head, rest) = raw.split_first_chunk::<HEAD>().expect("a token's length");
        let (time, iv) = head[1..].split_first_chunk().expect("a token's head");
        check_age(u64::from_be_bytes(*time), age)?;
        let mut plain = Zeroizing::new(rest[..rest.len() - TAG].to_vec());
        let mut iv: Block = iv.try_into().expect("a block");
        self.key.cbc.decrypt(&mut iv, InOut::in_place(&mut plain));
        // The tag was made with the key, so the padding tells nothing to those who lack it.
        let padding = usize::from(*plain.last().expect("a block at least"));
        let whole = plain.len();
        let right = (1..=16).contains(&padding)
            && plain[whole - padding..].iter().all(|byte| usize::from(*byte) == padding);
        if !right {
            return Err(Error::Padding);
        }
        plain[whole - padding..].zeroize();
        plain.truncate(whole - padding);
        Ok(plain)
    }
}

impl fmt::Debug for Fernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fernet").finish_non_exhaustive()
    }
}

/// Keys in their order: the first one seals, and each opens.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::Error;
/// use millstream_engines::fernet::{Fernet, FernetKeys};
///
/// let old = Fernet::from_bytes(Features::hardware(), &[1; 32]);
/// let token = old.seal(1_000_000, &[9; 16], b"a value");
/// let keys = FernetKeys::new(Fernet::from_bytes(Features::hardware(), &[2; 32]), [old]);
/// let token = keys.rotate(&token, &[8; 16])?;
/// assert_eq!(&keys.first().open(&token, None)?[..], b"a value");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct FernetKeys {
    first: Fernet,
    others: Vec<Fernet>,
}

impl FernetKeys {
    /// Keys, the newest first.
    pub fn new(first: Fernet, others: impl IntoIterator<Item = Fernet>) -> Self {
        FernetKeys { first, others: others.into_iter().collect() }
    }

    /// The key that seals.
    pub fn first(&self) -> &Fernet {
        &self.first
    }

    /// Returns the value in a token under any of the keys.
    ///
    /// # Errors
    /// The errors of [`Fernet::open`].
    pub fn open(&self, token: &str, age: Option<Age>) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.open_many(&[token], age).pop().expect("a result for the token")
    }

    /// Returns the values in many tokens, in their order. What the first key does not open is tried with the next.
    pub fn open_many(&self, tokens: &[&str], age: Option<Age>) -> Vec<Result<Zeroizing<Vec<u8>>, Error>> {
        let mut values = self.first.open_many(tokens, age);
        for key in &self.others {
            let left: Vec<usize> =
                (0..tokens.len()).filter(|i| matches!(values[*i], Err(Error::Authentication))).collect();
            let tokens: Vec<&str> = left.iter().map(|i| tokens[*i]).collect();
            for (i, value) in left.into_iter().zip(key.open_many(&tokens, age)) {
                values[i] = value;
            }
        }
        values
    }

    /// Returns the same value under the first key, with the time that the token has.
    ///
    /// # Errors
    /// The errors of [`Fernet::open`].
    pub fn rotate(&self, token: &str, iv: &Block) -> Result<String, Error> {
        let plain = self.open(token, None)?;
        let mut raw = Vec::new();
        let time = base64::decode(token.as_bytes(), &mut raw)
            .and_then(|()| raw[1..].first_chunk().copied())
            .expect("a token that was opened");
        Ok(self.first.seal(u64::from_be_bytes(time), iv, &plain))
    }
}

/// Lays out a token's head and the padded value.
fn lay_out(value: &Value<'_>, raw: &mut Vec<u8>) {
    let padding = 16 - value.plain.len() % 16;
    raw.reserve_exact(HEAD + value.plain.len() + padding + TAG);
    raw.push(VERSION);
    raw.extend_from_slice(&value.time.to_be_bytes());
    raw.extend_from_slice(&value.iv);
    raw.extend_from_slice(value.plain);
    raw.resize(raw.len() + padding, padding as u8);
}

/// Returns true if these bytes have a token's version and length.
fn is_formed(raw: &[u8]) -> bool {
    raw.len() >= HEAD + 16 + TAG && (raw.len() - HEAD - TAG).is_multiple_of(16) && raw[0] == VERSION
}

fn check_age(time: u64, age: Option<Age>) -> Result<(), Error> {
    let Some(Age { now, ttl }) = age else { return Ok(()) };
    if time.saturating_add(ttl) < now || now.saturating_add(MAX_SKEW) < time {
        return Err(Error::Parameter {
            algorithm: NAME,
            name: "the token's time",
            given: time,
            takes: "a time that is no longer ago than the limit, and not in the future",
        });
    }
    Ok(())
}

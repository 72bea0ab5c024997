//! Sessions: a chain of transforms, whose keys are bound once.

use millstream::Key;
use millstream::cwq::Algorithm;
use millstream::isolated::Accelerator;
use millstream::queue::{Exportable, KeyHandle};

use crate::algorithms::{Class, Engine, find};
use crate::refusal::Refusal;

/// The longest initialisation vector, in bytes.
pub const LONGEST_IV: usize = 16;

/// A transform as the C side describes it.
pub struct Transform<'a> {
    /// The class.
    pub class: Class,
    /// The number of the algorithm in DPDK's enumeration of this class.
    pub number: u32,
    /// False where it decrypts, opens or verifies.
    pub forward: bool,
    /// The key.
    pub key: &'a [u8],
    /// Bytes of an initialisation vector.
    pub iv_len: u16,
    /// Bytes of a tag or digest.
    pub tag_len: u16,
    /// Bytes of associated data.
    pub aad_len: u16,
}

/// A step of a session: a transform whose key is bound.
pub struct Step<K> {
    /// The engine.
    pub engine: Engine,
    /// The key, where the engine takes one.
    pub key: Option<K>,
    /// False where it decrypts, opens or verifies.
    pub forward: bool,
    /// Bytes of an initialisation vector.
    pub iv_len: usize,
    /// Bytes of a tag or digest.
    pub tag_len: usize,
    /// Bytes of associated data.
    pub aad_len: usize,
}

impl<K> Step<K> {
    /// Returns true for a cipher that has no authentication of its own.
    pub fn is_cipher(&self) -> bool {
        matches!(self.engine, Engine::Cipher(_) | Engine::KasumiF8 | Engine::NullCipher)
    }

    /// Puts into `block` what the algorithm begins with, and returns its length: the initialisation vector as it was given, and behind one of 12 bytes for
    /// AES-CTR a counter that begins with 1, as in ESP (RFC 3686 §4).
    ///
    /// # Panics
    /// With another length than the step's.
    #[inline]
    pub fn begin_with(&self, iv: &[u8], block: &mut [u8; LONGEST_IV]) -> usize {
        block[..self.iv_len].copy_from_slice(iv);
        if (self.engine, self.iv_len) != (Engine::Cipher(Algorithm::AesCtr), 12) {
            return self.iv_len;
        }
        block[12..].copy_from_slice(&[0, 0, 0, 1]);
        LONGEST_IV
    }

    /// Returns what the algorithm begins with, as [`Step::begin_with`] has it: the initialisation vector itself where that is all. Bytes that were
    /// just written can only be read once all writes before them are done, and some of these wait for a line from another core.
    #[inline]
    pub fn start<'a>(&self, iv: &'a [u8], block: &'a mut [u8; LONGEST_IV]) -> &'a [u8] {
        if self.engine != Engine::Cipher(Algorithm::AesCtr) {
            return iv;
        }
        let len = self.begin_with(iv, block);
        &block[..len]
    }

    /// Returns true if the step computes or compares a tag.
    pub fn has_tag(&self) -> bool {
        !self.is_cipher() && self.engine != Engine::NullAuth && self.tag_len > 0
    }

    /// Returns true if this step and the one after it are an encryption and the HMAC of what it makes, or the way back.
    fn combines(&self, next: &Self) -> bool {
        let (cipher, auth) = if self.is_cipher() { (self, next) } else { (next, self) };
        let is_hmac = matches!(auth.engine, Engine::Mac(algorithm) if algorithm != Algorithm::AesCmac);
        let in_order = cipher.forward == auth.forward && cipher.forward == self.is_cipher();
        is_hmac && in_order && matches!(cipher.engine, Engine::Cipher(_)) && auth.has_tag()
    }

    /// Returns true for a hash or a MAC.
    pub fn is_auth(&self) -> bool {
        !self.is_cipher() && !matches!(self.engine, Engine::Aead(_))
    }
}

/// The steps of a session, in the order in which they are done: the order of DPDK's chain.
pub struct Plan<K> {
    /// The first step.
    pub first: Step<K>,
    /// The second step, where a cipher and an authentication are chained.
    pub second: Option<Step<K>>,
    /// True where one operation can do both steps, if they cover the right bytes: see [`combined`](crate::geometry::combined).
    pub may_combine: bool,
}

impl<K> Plan<K> {
    fn new(
        transforms: &[Transform<'_>],
        mut bind: impl FnMut(Algorithm, &[u8]) -> Result<K, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut step = |transform: &Transform<'_>| -> Result<Step<K>, Refusal> {
            let (engine, has_iv) = checked(transform)?;
            let key = engine.keyed().map(|algorithm| bind(algorithm, transform.key)).transpose()?;
            Ok(Step {
                engine,
                key,
                forward: transform.forward,
                // Some applications say a length also where there is no initialisation vector.
                iv_len: if has_iv { transform.iv_len.into() } else { 0 },
                tag_len: transform.tag_len.into(),
                aad_len: transform.aad_len.into(),
            })
        };
        match transforms {
            [one] => Ok(Plan { first: step(one)?, second: None, may_combine: false }),
            [one, other]
                if matches!(
                    (one.class, other.class),
                    (Class::Cipher, Class::Auth) | (Class::Auth, Class::Cipher)
                ) =>
            {
                let (first, second) = (step(one)?, step(other)?);
                let may_combine = first.combines(&second);
                Ok(Plan { first, second: Some(second), may_combine })
            }
            _ => Err(Refusal::Chain),
        }
    }

    /// Returns the steps in their order.
    pub fn steps(&self) -> impl Iterator<Item = &Step<K>> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Returns the step of this number, from 0.
    pub fn step(&self, number: usize) -> Option<&Step<K>> {
        match number {
            0 => Some(&self.first),
            1 => self.second.as_ref(),
            _ => None,
        }
    }
}

/// Compares the lengths of a transform with the table. Returns the engine, and true if it takes an initialisation vector.
fn checked(transform: &Transform<'_>) -> Result<(Engine, bool), Refusal> {
    let entry = find(transform.class, transform.number)
        .ok_or(Refusal::Algorithm(transform.class, transform.number))?;
    let key_len = u16::try_from(transform.key.len()).unwrap_or(u16::MAX);
    let row = &entry.row;
    let null = matches!(entry.engine, Engine::NullCipher | Engine::NullAuth);
    let has_iv = row.iv.max > 0;
    for (of, given, takes) in [
        ("key", key_len, row.key),
        ("initialisation vector", transform.iv_len, row.iv),
        ("tag", transform.tag_len, row.digest),
        ("associated data", transform.aad_len, row.aad),
    ] {
        let unused = match of {
            "key" => entry.engine.keyed().is_none(),
            "initialisation vector" => !has_iv,
            _ => null,
        };
        if !unused && !takes.contains(given) {
            return Err(Refusal::Length { of, given, takes });
        }
    }
    Ok((entry.engine, has_iv))
}

/// A session.
pub enum Session {
    /// The keys are in this process.
    Here(Box<Plan<Key>>),
    /// A worker holds the keys.
    Worker(Plan<KeyHandle>, Accelerator),
}

impl Session {
    /// Binds the keys of a chain of transforms in this process.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn here(transforms: &[Transform<'_>]) -> Result<Self, Refusal> {
        let features = millstream::features()?;
        let plan = Plan::new(transforms, |algorithm, key| Ok(Key::new(features, algorithm, key)?))?;
        Ok(Session::Here(Box::new(plan)))
    }

    /// Brings the keys of a chain of transforms to a worker.
    ///
    /// # Errors
    /// [`Refusal`]; no key is left with the worker then.
    pub fn in_worker(accelerator: &Accelerator, transforms: &[Transform<'_>]) -> Result<Self, Refusal> {
        let mut brought = Vec::new();
        let plan = Plan::new(transforms, |algorithm, key| {
            let handle = accelerator.import_key(algorithm, key, Exportable::No)?;
            brought.push(handle);
            Ok(handle)
        });
        match plan {
            Ok(plan) => Ok(Session::Worker(plan, accelerator.clone())),
            Err(refusal) => {
                brought.into_iter().for_each(|key| accelerator.discard_key(key));
                Err(refusal)
            }
        }
    }
}

impl Drop for Session {
    /// Has the worker zeroise its keys; those that are here do so themselves.
    fn drop(&mut self) {
        if let Session::Worker(plan, accelerator) = self {
            plan.steps().filter_map(|step| step.key).for_each(|key| accelerator.discard_key(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(class: Class, number: u32, key: &[u8], iv_len: u16, tag_len: u16) -> Transform<'_> {
        Transform { class, number, forward: true, key, iv_len, tag_len, aad_len: 0 }
    }

    #[track_caller]
    fn refused(transforms: &[Transform<'_>]) -> (i32, String) {
        let refusal = Session::here(transforms).err().expect("it is refused");
        (refusal.number(), refusal.to_string())
    }

    #[test]
    fn lengths_and_chains_are_checked() {
        let cbc = || transform(Class::Cipher, 5, &[7; 16], 16, 0);
        let sha1 = || transform(Class::Auth, 10, &[8; 20], 0, 12);
        assert!(Session::here(&[cbc()]).is_ok());
        assert!(Session::here(&[cbc(), sha1()]).is_ok());
        assert!(Session::here(&[sha1(), cbc()]).is_ok());
        assert_eq!(refused(&[cbc(), cbc()]).0, -libc::ENOTSUP);
        assert_eq!(refused(&[cbc(), sha1(), cbc()]).0, -libc::ENOTSUP);
        assert_eq!(refused(&[]).0, -libc::ENOTSUP);
        assert_eq!(refused(&[transform(Class::Cipher, 3, &[7; 24], 8, 0)]).0, -libc::ENOTSUP);
        let (number, text) = refused(&[transform(Class::Cipher, 5, &[7; 15], 16, 0)]);
        assert_eq!((number, &text[..15]), (-libc::EINVAL, "15 bytes of key"));
        assert_eq!(refused(&[transform(Class::Cipher, 5, &[7; 16], 12, 0)]).0, -libc::EINVAL);
        assert_eq!(refused(&[transform(Class::Auth, 10, &[7; 16], 0, 21)]).0, -libc::EINVAL);
        // An XTS key of two equal halves is none.
        assert_eq!(refused(&[transform(Class::Cipher, 9, &[7; 32], 16, 0)]).0, -libc::EINVAL);
    }
}

//! Keys in the service: what isolated contexts hold in place of a key.
//!
//! A process attaches when the first key is set, and again when its grant has no room for a key. The bytes of a key go to a worker and
//! are not kept here. After a fork the grant is the parent's: the child attaches for keys that it sets itself, and the
//! parent's are refused with a reason that says so. The same holds after the service was restarted: no key is ever
//! computed with in this process instead.

mod service;

use std::sync::Arc;

use millstream::cwq::{Algorithm, Status, Usages};
use millstream::isolated::KeyRefusal;
use millstream::modes::Direction;
use millstream::queue::{Buffer, Done, KeyHandle, KeyOptions, Piece, Request};
use millstream::{Error, InOut};
use zeroize::Zeroizing;

use self::service::{Refused, Service};
use crate::error::{Reason, Result};
use crate::mac::Tag;
use crate::provider::Provider;

/// The longest message that is opened as a whole, and the longest data unit, in bytes.
pub const LONGEST: usize = 4 << 20;

/// How much goes in one operation else, in bytes: what the arena has room for many of.
pub const PIECE: usize = 64 << 10;

const NOT_THERE: Reason = Reason::NOT_SUPPORTED
    .with("the key is in the service, which does not have this algorithm: give it a key that is bytes");
const ONLY_ENCRYPTS: Reason = Reason::CIPHER_OPERATION_FAILED.with(
    "the isolated key was set to encrypt, and so can't decrypt: set it again for a context that decrypts",
);
const ONLY_DECRYPTS: Reason = Reason::CIPHER_OPERATION_FAILED.with(
    "the isolated key was set to decrypt, and so can't encrypt: set it again for a context that encrypts",
);
const ONLY_OPENS: Reason = Reason::CIPHER_OPERATION_FAILED.with(
    "the service's policy (`usages` or `nonces`) lets this key only open whole messages: set the tag, of 16 bytes, before the data, \
     pass the data in one piece, and see that the tag is right; or have the policy allow `encrypt`, with nonces of \"any\" origin",
);

/// How an operation's vector follows from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaining {
    /// There is none.
    None,
    /// The last block of ciphertext: CBC and CFB.
    Ciphertext,
    /// A counter, big-endian.
    Counter,
}

impl Chaining {
    /// Moves a counter on for so many bytes.
    pub fn count(self, counter: &mut [u8], bytes: usize) {
        if self == Chaining::Counter && !counter.is_empty() {
            add(counter, bytes.div_ceil(counter.len()));
        }
    }
}

/// A key in the service. Dropping it destroys it there.
pub struct RemoteKey {
    service: Arc<Service>,
    handle: KeyHandle,
    usages: Usages,
    /// Bytes of it.
    len: usize,
}

/// Where a key comes from.
#[derive(Clone, Copy)]
enum From<'a> {
    /// These are its bytes.
    Bytes(&'a [u8]),
    /// It is made there, with so many bytes, and nobody else sees it.
    Generated(usize),
}

impl RemoteKey {
    /// Brings a key there that passes data one way: it is for what that takes, and no more.
    pub fn one_way(
        provider: Provider,
        algorithm: Algorithm,
        key: &[u8],
        direction: Direction,
    ) -> Result<Self> {
        let usages = match direction {
            // The modes that do the same in both directions have no keys for one.
            _ if Usages::is_two_way(algorithm) => Usages::of(algorithm),
            Direction::Encrypt => Usages::ENCRYPT,
            Direction::Decrypt => Usages::DECRYPT,
        };
        RemoteKey::bring(provider, algorithm, From::Bytes(key), usages, usages)
    }

    /// Brings a key of an AEAD there.
    ///
    /// Programs that use OpenSSL give nonces themselves, and who may seal under any nonce can decrypt; and what is decrypted in pieces, before
    /// its tag is known, takes keystream, which is had by sealing. So a key is for both. Where a policy forbids that, one that is to
    /// decrypt is for that alone, and opens whole messages only.
    pub fn aead(provider: Provider, algorithm: Algorithm, key: &[u8], direction: Direction) -> Result<Self> {
        let both = Usages::of(algorithm);
        let least = if direction == Direction::Decrypt { Usages::DECRYPT } else { both };
        RemoteKey::bring(provider, algorithm, From::Bytes(key), both, least)
    }

    /// Brings a key there that computes MACs.
    pub fn signing(provider: Provider, algorithm: Algorithm, key: &[u8]) -> Result<Self> {
        RemoteKey::bring(provider, algorithm, From::Bytes(key), Usages::SIGN, Usages::SIGN)
    }

    /// Brings a key there that is to be an object, for any context of the algorithm.
    pub fn import(provider: Provider, algorithm: Algorithm, key: &[u8]) -> Result<Self> {
        let (wanted, least) = usages_of_object(algorithm);
        RemoteKey::bring(provider, algorithm, From::Bytes(key), wanted, least)
    }

    /// Has such a key made there.
    pub fn generate(provider: Provider, algorithm: Algorithm, len: usize) -> Result<Self> {
        let (wanted, least) = usages_of_object(algorithm);
        RemoteKey::bring(provider, algorithm, From::Generated(len), wanted, least)
    }

    /// Brings a key there for what it should be for, or for the least that will do if the policy allows no more.
    fn bring(
        provider: Provider,
        algorithm: Algorithm,
        from: From<'_>,
        wanted: Usages,
        least: Usages,
    ) -> Result<Self> {
        let bring = |usages| {
            let options = KeyOptions { usages: Some(usages), ..KeyOptions::default() };
            let (service, handle) = Service::with_key(provider, |accelerator| match from {
                From::Bytes(key) => accelerator.import_key_with(algorithm, key, options),
                From::Generated(len) => accelerator.generate_key_with(algorithm, len, options),
            })?;
            let len = match from {
                From::Bytes(key) => key.len(),
                From::Generated(len) => len,
            };
            Ok(RemoteKey { handle, service, usages, len })
        };
        match bring(wanted) {
            Err(Refused::There(KeyRefusal::PolicyUsages | KeyRefusal::PolicyNonces)) if least != wanted => {
                bring(least)
            }
            brought => brought,
        }
        .map_err(|refused| match refused {
            Refused::Reason(reason) => reason,
            Refused::There(why) => refusal(why, algorithm, least),
        })
    }

    /// What it is a key for.
    pub fn algorithm(&self) -> Algorithm {
        self.handle.algorithm()
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// That it is one for what it was given to: for that algorithm, if the service has it, and of so many bytes where that is said.
    pub fn fits(&self, algorithm: Option<Algorithm>, len: Option<usize>) -> Result<()> {
        let wanted = algorithm.ok_or(NOT_THERE)?;
        if wanted != self.algorithm() {
            return Err(Reason::NOT_SUPPORTED.because(format!(
                "the key is in the service and for {}: make or import another with millstream.algorithm={}",
                self.algorithm().name(),
                wanted.name()
            )));
        }
        if len.is_some_and(|len| len != self.len) {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        Ok(())
    }

    /// That it is ours, and that it is for that.
    fn is_for(&self, usage: Usages) -> Result<()> {
        self.service.is_ours()?;
        match self.usages.contains(usage) {
            true => Ok(()),
            false if is_aead(self.handle.algorithm()) => Err(ONLY_OPENS),
            false if usage == Usages::DECRYPT => Err(ONLY_ENCRYPTS),
            false => Err(ONLY_DECRYPTS),
        }
    }

    /// Passes `data`, whole blocks of as many bytes as `chain` has; `chain` is the vector before and what the next pass needs
    /// after. For modes without one it is empty.
    pub fn cipher(
        &self,
        direction: Direction,
        chaining: Chaining,
        chain: &mut [u8],
        mut data: InOut<'_>,
    ) -> Result<()> {
        self.is_for(usage(direction))?;
        while !data.is_empty() {
            let n = data.len().min(PIECE);
            let mut piece = data.take(n);
            let (mut source, destination) = (self.service.buffer(n)?, self.service.buffer(n)?);
            source.copy_from_slice(piece.input());
            let request = match direction {
                Direction::Encrypt => Request::encrypt(self.handle, chain, source, destination),
                Direction::Decrypt => Request::decrypt(self.handle, chain, source, destination),
            };
            let done = self.service.run(request)?;
            let (source, destination) = both(&done)?;
            let ciphertext = if direction == Direction::Encrypt { destination } else { source };
            match chaining {
                Chaining::None => {}
                Chaining::Ciphertext => chain.copy_from_slice(&ciphertext[n - chain.len()..]),
                Chaining::Counter => chaining.count(chain, n),
            }
            piece.output().copy_from_slice(destination);
        }
        Ok(())
    }

    /// Passes a whole data unit under a tweak.
    pub fn data_unit(&self, direction: Direction, tweak: &[u8], mut data: InOut<'_>) -> Result<()> {
        self.is_for(usage(direction))?;
        let (source, destination) = self.message(&data)?;
        let request = match direction {
            Direction::Encrypt => Request::encrypt(self.handle, tweak, source, destination),
            Direction::Decrypt => Request::decrypt(self.handle, tweak, source, destination),
        };
        data.output().copy_from_slice(both(&self.service.run(request)?)?.1);
        Ok(())
    }

    /// Encrypts a whole message; returns the tag over it and `aad`.
    pub fn seal(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>) -> Result<[u8; 16]> {
        self.is_for(Usages::ENCRYPT)?;
        let (source, destination) = self.message(&data)?;
        let done = self.service.run(Request::seal(self.handle, nonce, aad, source, destination))?;
        data.output().copy_from_slice(both(&done)?.1);
        done.tag().try_into().map_err(|_| Reason::INTERNAL)
    }

    /// Decrypts a whole message if `tag` is right, and tells whether it is; else the output is zero.
    pub fn open(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8; 16]) -> Result<bool> {
        self.is_for(Usages::DECRYPT)?;
        let (source, destination) = self.message(&data)?;
        let request = Request::open(self.handle, nonce, aad, source, destination, tag);
        let done = self.service.try_run(request)?;
        match done.result {
            Ok(()) => {
                data.output().copy_from_slice(both(&done)?.1);
                Ok(true)
            }
            Err(Status::Authentication) => {
                data.output().fill(0);
                Ok(false)
            }
            Err(status) => Err(Error::from(status).into()),
        }
    }

    /// Passes a piece of a message; returns the mid-state after it.
    pub fn pass(
        &self,
        direction: Direction,
        piece: Piece<'_>,
        aad: &[u8],
        mut data: InOut<'_>,
    ) -> Result<Vec<u8>> {
        self.is_for(usage(direction))?;
        // What is decrypted before its tag is known takes keystream.
        self.is_for(Usages::ENCRYPT)?;
        let (source, destination) = self.message(&data)?;
        let request = match direction {
            Direction::Encrypt => Request::partial_seal(self.handle, piece, aad, source, destination),
            Direction::Decrypt => Request::partial_open(self.handle, piece, aad, source, destination),
        };
        let done = self.service.run(request)?;
        data.output().copy_from_slice(both(&done)?.1);
        Ok(done.state().to_vec())
    }

    /// The tag of a message that ends with that mid-state.
    pub fn tag(&self, state: &[u8]) -> Result<[u8; 16]> {
        self.is_for(Usages::ENCRYPT)?;
        let (source, destination) = (self.service.buffer(0)?, self.service.buffer(0)?);
        let request = Request::last_seal(self.handle, Piece::Next(state), &[], source, destination);
        self.service.run(request)?.tag().try_into().map_err(|_| Reason::INTERNAL)
    }

    /// Adds a piece to a message whose MAC is computed; returns the mid-state after it.
    pub fn partial_mac(&self, before: Option<&[u8]>, piece: &[u8]) -> Result<Vec<u8>> {
        let source = self.piece_to_sign(piece)?;
        Ok(self.service.run(Request::partial_mac(self.handle, before, source))?.state().to_vec())
    }

    /// The MAC of a message that goes on from a mid-state, or of a whole one.
    pub fn mac(&self, before: Option<&[u8]>, piece: &[u8]) -> Result<Tag> {
        let source = self.piece_to_sign(piece)?;
        let request = match before {
            None => Request::mac(self.handle, source),
            before => Request::last_mac(self.handle, before, source),
        };
        Ok(Tag::new(self.service.run(request)?.tag()))
    }

    fn piece_to_sign(&self, piece: &[u8]) -> Result<Buffer> {
        self.is_for(Usages::SIGN)?;
        let mut source = self.service.buffer(piece.len())?;
        source.copy_from_slice(piece);
        Ok(source)
    }

    /// Buffers for a whole message, with its input in the first.
    fn message(&self, data: &InOut<'_>) -> Result<(Buffer, Buffer)> {
        fits(data.len())?;
        let (mut source, destination) = (self.service.buffer(data.len())?, self.service.buffer(data.len())?);
        source.copy_from_slice(data.input());
        Ok((source, destination))
    }
}

impl Drop for RemoteKey {
    fn drop(&mut self) {
        self.service.discard(self.handle);
    }
}

/// What a key is for that is an object, and the least that a policy may leave of that.
fn usages_of_object(algorithm: Algorithm) -> (Usages, Usages) {
    let all = Usages::of(algorithm);
    let least = match algorithm {
        _ if is_aead(algorithm) => Usages::DECRYPT,
        _ if all.contains(Usages::SIGN) => Usages::SIGN,
        _ => all,
    };
    (all, least)
}

/// What passing data that way takes.
fn usage(direction: Direction) -> Usages {
    match direction {
        Direction::Encrypt => Usages::ENCRYPT,
        Direction::Decrypt => Usages::DECRYPT,
    }
}

fn is_aead(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::AesGcm | Algorithm::ChaCha20Poly1305)
}

/// Why the service took no key, with the policy's rule where it is one.
fn refusal(why: KeyRefusal, algorithm: Algorithm, usages: Usages) -> Reason {
    let name = algorithm.name();
    let (rule, why) = match why {
        KeyRefusal::Policy => ("algorithms", format!("it does not allow {name}: add it")),
        KeyRefusal::PolicyUsages => {
            let both = if usages == Usages::ENCRYPT | Usages::DECRYPT {
                " (with this algorithm who can do the one can do the other)"
            } else {
                ""
            };
            ("usages", format!("it allows no key of {name} to {usages}{both}: add what is missing"))
        }
        KeyRefusal::PolicyNonces => (
            "nonces",
            format!(
                "it is \"worker\", and programs that use OpenSSL give the nonces of {name} themselves: make it \"any\" for them"
            ),
        ),
        why => return Error::Key(why).into(),
    };
    Reason::KEY_SETUP_FAILED.because(format!(
        "the key was refused by the rule `{rule}` of the service's policy: {why}, or ask for millstream.isolated=no"
    ))
}

/// Source and destination, as they came back.
fn both(done: &Done) -> Result<(&[u8], &[u8])> {
    match (&done.buffers.source, &done.buffers.destination) {
        (Some(source), Some(destination)) => Ok((source, destination)),
        _ => Err(Reason::INTERNAL),
    }
}

/// That so much goes there at once.
fn fits(len: usize) -> Result<()> {
    if len <= LONGEST {
        return Ok(());
    }
    Err(Reason::LENGTH_TOO_LARGE.with(
        "an isolated key takes at most 4 MiB at once: make data units shorter, or ask for millstream.isolated=no",
    ))
}

/// Appends to what is held of a message. A vector that grows by itself leaves its bytes behind where they were: here
/// they move to a larger one, and the old one is zeroised.
pub fn append(held: &mut Zeroizing<Vec<u8>>, more: &[u8]) {
    let needed = held.len() + more.len();
    if needed > held.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(2 * held.capacity())));
        larger.extend_from_slice(held);
        *held = larger;
    }
    held.extend_from_slice(more);
}

/// Adds to a big-endian counter.
fn add(counter: &mut [u8], blocks: usize) {
    let mut carry = blocks as u64;
    for byte in counter.iter_mut().rev() {
        carry += u64::from(*byte);
        *byte = carry as u8;
        carry >>= 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_carries_and_wraps() {
        let mut counter = [0xff; 16];
        add(&mut counter, 1);
        assert_eq!(counter, [0; 16]);
        add(&mut counter, 0x1_0000);
        assert_eq!(counter[12..], [0, 1, 0, 0]);
        let mut short = [0, 0, 0, 0, 0, 0, 0xff, 0xff];
        add(&mut short, 4096);
        assert_eq!(short, [0, 0, 0, 0, 0, 1, 0x0f, 0xff]);
    }
}

//! The handles of keys, and the purposes of keys in slots.

use millstream_accelerator::{Handle, InsertError, NonceCounter, Nonces as Made, PreparedKey, Purpose};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, UsageError, Usages};
use millstream_protocol::{KeyPurpose, KeyRefusal};

use crate::Error;

/// A key in a slot of a queue's accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHandle {
    pub(crate) handle: Handle,
    pub(crate) algorithm: Algorithm,
}

impl KeyHandle {
    /// Returns the algorithm that the key is for.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the handle as a number, for faces in other languages; never 0.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        u64::from(self.handle.to_bits()) << 32 | self.algorithm as u64
    }

    /// Rebuilds a handle from [`KeyHandle::to_bits`]; none when the number is of no handle. An accelerator refuses
    /// handles of keys that it does not have.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Option<Self> {
        let algorithm = Algorithm::from_code(u8::try_from(bits as u32).ok()?)?;
        if algorithm == Algorithm::None {
            return None;
        }
        Some(KeyHandle { handle: Handle::from_bits((bits >> 32) as u32), algorithm })
    }
}

/// Says whether the bytes of a key can be had back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exportable {
    /// Never.
    #[default]
    No,
    /// Yes, by [`Accelerator::export_key`](crate::isolated::Accelerator::export_key).
    Yes,
}

/// The source of the nonces under which a key of an AEAD seals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nonces {
    /// Each request brings its own: [`Request::seal`](crate::queue::Request::seal).
    #[default]
    Given,
    /// The accelerator makes them: [`Request::seal_with_made_nonce`](crate::queue::Request::seal_with_made_nonce). It
    /// refuses given ones, so that no mistake and nobody who took over this process can use one nonce twice. Opening
    /// takes a nonce as ever.
    ///
    /// A generated key that is not exportable gets 32 random bits and a counter of 64 bits (SP 800-38D §8.2.1). Any
    /// other key may exist elsewhere too, so its nonces begin at 96 random bits (§8.2.2) and it seals 2^32 times at
    /// most. A queue with such a key refuses in a forked child. Nothing protects a virtual machine that is resumed
    /// twice from one snapshot: generate new keys there. When a key's nonces are used up, requests end with
    /// [`Status::NoncesSpent`](crate::cwq::Status::NoncesSpent).
    Made,
}

/// The purpose of a key. The default is all that its algorithm can, under given nonces, and not exportable.
///
/// ```
/// use millstream::cwq::{Algorithm, Status, Usages};
/// use millstream::queue::{Config, KeyOptions, Nonces, Queue, Request};
///
/// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
/// // A key that compares MACs and can't make any.
/// let verify = KeyOptions { usages: Some(Usages::VERIFY), ..KeyOptions::default() };
/// let key = queue.import_key_with(Algorithm::Sha256, b"Jefe", verify)?;
/// queue.submit(Request::mac(key, queue.buffer(8)?))?;
/// assert_eq!(queue.wait().unwrap().result, Err(Status::UsageSign));
///
/// // A key whose nonces the accelerator makes.
/// let made = KeyOptions { nonces: Nonces::Made, ..KeyOptions::default() };
/// let key = queue.import_key_with(Algorithm::AesGcm, &[7; 16], made)?;
/// let (source, destination) = (queue.buffer(8)?, queue.buffer(8)?);
/// queue.submit(Request::seal_with_made_nonce(key, b"header", source, destination))?;
/// let sealed = queue.wait().unwrap();
/// println!("nonce {:02x?}, tag {:02x?}", sealed.nonce(), sealed.tag());
/// # sealed.result?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A request that carries its key has none in a slot, and so no purpose: whoever has the bytes of a key can use it as he likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyOptions {
    /// The allowed uses; by default all that the algorithm has operations for.
    ///
    /// Some sets are refused because they would not hold. Under CTR, CFB, RC4 and KASUMI F8 who may encrypt can decrypt, and the
    /// other way round. Under an AEAD who may seal with any nonce can decrypt, so a key that only seals needs
    /// [`Nonces::Made`]. A key that only verifies compares tags of 12 bytes at least, or whole ones.
    pub usages: Option<Usages>,
    /// Says whether the key's bytes can be had back, if the accelerator is [`isolated`](crate::isolated).
    pub exportable: Exportable,
    /// The source of the key's nonces.
    pub nonces: Nonces,
}

impl From<Exportable> for KeyOptions {
    fn from(exportable: Exportable) -> Self {
        KeyOptions { exportable, ..KeyOptions::default() }
    }
}

impl KeyOptions {
    /// Returns the purpose as a worker is told of it.
    pub(crate) fn message(&self) -> KeyPurpose {
        let usages = self.usages.map_or(0, Usages::to_bits);
        KeyPurpose { usages, makes_nonces: self.nonces == Nonces::Made }
    }

    /// A key for a slot of an accelerator of this process, which keeps its bytes with it: under them the mid-states of messages in
    /// pieces are sealed. `generated` says that the key exists nowhere else.
    pub(crate) fn prepared(
        &self,
        features: Features,
        algorithm: Algorithm,
        key: &[u8],
        generated: bool,
    ) -> Result<PreparedKey, Error> {
        let prepared = PreparedKey::new(features, algorithm, key, false, None);
        let refusal = |error| match error {
            InsertError::Engine(error) => error.into(),
            _ => Error::KeySlots,
        };
        let prepared = prepared.map_err(refusal)?;
        prepared.with_purpose(self.purpose(algorithm, generated)?).map_err(refusal)
    }

    /// `generated` says that the key exists nowhere else.
    fn purpose(&self, algorithm: Algorithm, generated: bool) -> Result<Purpose, Error> {
        let usages = self.usages.unwrap_or(Usages::of(algorithm));
        if !Usages::of(algorithm).is_empty() {
            usages.check(algorithm, self.nonces == Nonces::Made).map_err(refusal)?;
        }
        let nonces = match self.nonces {
            Nonces::Given => Made::Given,
            Nonces::Made if generated && self.exportable == Exportable::No => {
                Made::Made(NonceCounter::counting(random()?))
            }
            Nonces::Made => Made::Made(NonceCounter::random(random()?)),
        };
        Ok(Purpose { usages, nonces })
    }
}

fn refusal(error: UsageError) -> Error {
    Error::Key(match error {
        UsageError::TwoWay(_) | UsageError::ChosenNonces => KeyRefusal::TwoWay,
        UsageError::Nonces => KeyRefusal::Nonces,
        _ => KeyRefusal::Usage,
    })
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    fill_with_random(&mut bytes)?;
    Ok(bytes)
}

/// Fills all of it with random bytes of the kernel.
pub(crate) fn fill_with_random(mut bytes: &mut [u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let flags = rustix::rand::GetRandomFlags::empty();
        let got = rustix::rand::getrandom(&mut *bytes, flags).map_err(|_| Error::Key(KeyRefusal::Exhausted));
        bytes = &mut std::mem::take(&mut bytes)[got?..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_come_back_from_their_numbers() {
        let handle = KeyHandle { handle: Handle::from_bits(0xffff_0003), algorithm: Algorithm::AesGcm };
        assert_eq!(KeyHandle::from_bits(handle.to_bits()), Some(handle));
        for bits in [0, 3 << 32, 0x3_0000_001f, 0x3_0000_0115] {
            assert_eq!(KeyHandle::from_bits(bits), None, "{bits:x}");
        }
    }
}

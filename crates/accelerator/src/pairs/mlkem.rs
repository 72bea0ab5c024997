//! Shared secrets of ML-KEM: encapsulated for a public key, and decapsulated with a private one.
//!
//! Ref. FIPS 203 §7.2 and §7.3.

use arrayvec::ArrayVec;
use millstream_cwq::Algorithm;
use millstream_engines::Error;
use millstream_publickey::mlkem::{self, Set};
use millstream_publickey::{Error as PairError, Random};
use zeroize::Zeroizing;

use super::random::Draw;
use super::{BATCH, Pairs, refusal};
use crate::source::UnitRandom;

/// Bytes of a shared secret.
pub(crate) const SECRET_BYTES: u32 = mlkem::SECRET as u32;

/// The public key for which a secret is encapsulated.
#[derive(Clone, Copy)]
pub(crate) enum Recipient<'a> {
    Key(&'a mlkem::PublicKey),
    /// The key's encoding, of a length that fits the set. It is expanded beside those of other works.
    Bytes(Set, &'a [u8]),
}

impl<'a> Recipient<'a> {
    /// Takes the encoding of a public key.
    ///
    /// # Errors
    /// When it has another length than the parameter set says, or the algorithm is not ML-KEM.
    pub(crate) fn of(algorithm: Algorithm, bytes: &'a [u8]) -> Result<Self, Error> {
        let (set, takes) = match algorithm {
            Algorithm::MlKem512 => (Set::MlKem512, "800 bytes of a public key"),
            Algorithm::MlKem768 => (Set::MlKem768, "1184 bytes of a public key"),
            Algorithm::MlKem1024 => (Set::MlKem1024, "1568 bytes of a public key"),
            _ => {
                let (algorithm, given) = (algorithm.name(), bytes.len());
                return Err(Error::KeyLength { algorithm, given, takes: "no public key to encapsulate for" });
            }
        };
        match bytes.len() {
            given if given == set.public_key_len() => Ok(Recipient::Bytes(set, bytes)),
            given => Err(Error::DataLength { algorithm: set.name(), given: given as u64, takes }),
        }
    }

    fn set(self) -> Set {
        match self {
            Recipient::Key(key) => key.set(),
            Recipient::Bytes(set, _) => set,
        }
    }
}

/// A secret to encapsulate.
pub(crate) struct Encapsulate<'a> {
    recipient: Recipient<'a>,
    /// The place of the ciphertext, whose first bytes it takes.
    ciphertext: &'a mut [u8],
    secret: Option<Result<mlkem::SharedSecret, Error>>,
}

impl<'a> Encapsulate<'a> {
    /// Makes the work of an encapsulation.
    ///
    /// # Errors
    /// When there is no room for the ciphertext.
    pub(crate) fn new(recipient: Recipient<'a>, ciphertext: &'a mut [u8]) -> Result<Self, Error> {
        let (set, given) = (recipient.set(), ciphertext.len());
        if given < set.ciphertext_len() {
            let takes = "a place for the ciphertext, at least as long as the parameter set says";
            return Err(Error::DataLength { algorithm: set.name(), given: given as u64, takes });
        }
        Ok(Encapsulate { recipient, ciphertext, secret: None })
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match &self.secret {
            Some(Err(error)) => Err(*error),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    pub(crate) fn secret(&self) -> &[u8] {
        match &self.secret {
            Some(Ok(secret)) => secret.as_bytes(),
            Some(Err(_)) | None => &[],
        }
    }

    /// Returns the bytes of ciphertext that were written.
    pub(crate) fn written(&self) -> u32 {
        match &self.secret {
            Some(Ok(_)) => self.recipient.set().ciphertext_len() as u32,
            Some(Err(_)) | None => 0,
        }
    }
}

/// A ciphertext to decapsulate.
pub(crate) struct Decapsulate<'a> {
    key: &'a mlkem::PrivateKey,
    ciphertext: &'a [u8],
    secret: Option<Result<mlkem::SharedSecret, PairError>>,
}

impl<'a> Decapsulate<'a> {
    /// Makes the work of a decapsulation.
    pub(crate) fn new(key: &'a mlkem::PrivateKey, ciphertext: &'a [u8]) -> Self {
        Decapsulate { key, ciphertext, secret: None }
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match &self.secret {
            Some(Err(error)) => Err(refusal(*error)),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    pub(crate) fn secret(&self) -> &[u8] {
        match &self.secret {
            Some(Ok(secret)) => secret.as_bytes(),
            Some(Err(_)) | None => &[],
        }
    }
}

impl Pairs {
    /// Encapsulates a secret for each recipient. Without random bytes there is none.
    pub(crate) fn encapsulate(&self, works: &mut [&mut Encapsulate<'_>], random: Option<UnitRandom<'_>>) {
        let random = &mut Draw(random);
        for works in works.chunks_mut(BATCH) {
            let keys = self.recipients(works);
            let mut messages = ArrayVec::<_, BATCH>::new();
            for key in &keys {
                let mut message = Zeroizing::new([0; mlkem::MESSAGE]);
                let drawn = key.as_ref().map_err(|error| *error);
                messages.push(drawn.and_then(|key| match random.fill(&mut *message) {
                    Ok(()) => Ok((key.get(), message)),
                    Err(_) => Err(Error::Random),
                }));
            }
            let jobs =
                messages.iter().flatten().map(|(key, message)| mlkem::EncapsulateJob::new(key, message));
            let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
            self.kems.encapsulate(&mut jobs);
            let results: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.result).collect();
            let mut results = results.into_iter();
            for (work, message) in works.iter_mut().zip(&messages) {
                work.secret = Some(match message {
                    Err(error) => Err(*error),
                    Ok(_) => match results.next().flatten() {
                        Some((ciphertext, secret)) => {
                            work.ciphertext[..ciphertext.len()].copy_from_slice(&ciphertext);
                            Ok(secret)
                        }
                        None => Err(refusal(PairError::Fault)),
                    },
                });
            }
        }
    }

    /// Returns the keys of all recipients, expanded side by side where they came as bytes.
    fn recipients<'w>(&self, works: &[&mut Encapsulate<'w>]) -> ArrayVec<Result<Expanded<'w>, Error>, BATCH> {
        let encoded = works.iter().filter_map(|work| match work.recipient {
            Recipient::Bytes(set, bytes) => Some(mlkem::PublicKeyJob::new(set, bytes)),
            Recipient::Key(_) => None,
        });
        let mut jobs = encoded.collect::<ArrayVec<_, BATCH>>();
        if !jobs.is_empty() {
            self.kems.public_keys(&mut jobs);
        }
        let mut expanded = jobs.into_iter();
        let key = |work: &&mut Encapsulate<'w>| match work.recipient {
            Recipient::Key(key) => Ok(Expanded::Given(key)),
            Recipient::Bytes(..) => match expanded.next().and_then(|job| job.key) {
                Some(Ok(key)) => Ok(Expanded::Made(key)),
                Some(Err(error)) => Err(refusal(error)),
                None => Err(refusal(PairError::Fault)),
            },
        };
        works.iter().map(key).collect()
    }

    /// Decapsulates each ciphertext. One that was not made for the key gives a secret too: FIPS 203 §6.3, algorithm 18.
    pub(crate) fn decapsulate(&self, works: &mut [&mut Decapsulate<'_>]) {
        for works in works.chunks_mut(BATCH) {
            let jobs = works.iter().map(|work| mlkem::DecapsulateJob::new(work.key, work.ciphertext));
            let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
            self.kems.decapsulate(&mut jobs);
            let secrets: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.secret).collect();
            works.iter_mut().zip(secrets).for_each(|(work, secret)| work.secret = secret);
        }
    }
}

/// An expanded public key.
enum Expanded<'a> {
    Given(&'a mlkem::PublicKey),
    Made(mlkem::PublicKey),
}

impl Expanded<'_> {
    fn get(&self) -> &mlkem::PublicKey {
        match self {
            Expanded::Given(key) => key,
            Expanded::Made(key) => key,
        }
    }
}

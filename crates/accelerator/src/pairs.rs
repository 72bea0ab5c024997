//! The public-key sub-unit: signatures, agreements and public keys, with private keys of any algorithm.
//!
//! Works of one kind go side by side in the engines' lanes, whoever they are from and whatever their keys.

use arrayvec::ArrayVec;
use millstream_cpu::Features;
use millstream_engines::Error;
use millstream_publickey::{Error as PairError, ed25519, x25519};

use crate::key::PrivateKey;

/// The works that are handed to lanes at a time, a multiple of what lanes hold.
const BATCH: usize = 32;

/// A message to sign.
pub(crate) struct Sign<'a> {
    key: &'a ed25519::PrivateKey,
    message: &'a [u8],
    signature: Option<Result<[u8; ed25519::SIGNATURE], PairError>>,
}

impl<'a> Sign<'a> {
    /// Makes the work of a signature by Ed25519 (RFC 8032 §5.1.6).
    pub(crate) fn ed25519(key: &'a ed25519::PrivateKey, message: &'a [u8]) -> Self {
        Sign { key, message, signature: None }
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match self.signature {
            Some(Err(error)) => Err(refusal(error)),
            _ => Ok(()),
        }
    }

    pub(crate) fn signature(&self) -> &[u8] {
        match &self.signature {
            Some(Ok(signature)) => signature,
            _ => &[],
        }
    }
}

/// A secret to agree on.
pub(crate) struct Agree<'a> {
    key: &'a x25519::PrivateKey,
    peer: x25519::PublicKey,
    secret: Option<Result<x25519::SharedSecret, PairError>>,
}

impl<'a> Agree<'a> {
    /// Makes the work of an agreement by X25519 (RFC 7748 §6.1).
    ///
    /// # Errors
    /// When the peer's key has not 32 bytes.
    pub(crate) fn x25519(key: &'a x25519::PrivateKey, peer: &[u8]) -> Result<Self, Error> {
        Ok(Agree { key, peer: x25519::PublicKey::new(peer).map_err(refusal)?, secret: None })
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match &self.secret {
            Some(Err(error)) => Err(refusal(*error)),
            _ => Ok(()),
        }
    }

    pub(crate) fn secret(&self) -> &[u8] {
        match &self.secret {
            Some(Ok(secret)) => secret.as_bytes(),
            _ => &[],
        }
    }
}

/// A public key to compute.
pub(crate) struct PublicKey<'a> {
    key: PrivateKey<'a>,
    public: Option<[u8; 32]>,
}

impl<'a> PublicKey<'a> {
    pub(crate) fn of(key: PrivateKey<'a>) -> Self {
        PublicKey { key, public: None }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.public.as_ref().map_or(&[], |public| public)
    }
}

/// The lanes for private keys.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    ed25519: ed25519::Lanes,
    x25519: x25519::Lanes,
}

impl Pairs {
    /// Chooses the best kernels that `features` allow.
    pub(crate) fn new(features: Features) -> Self {
        Pairs { ed25519: ed25519::Lanes::new(features), x25519: x25519::Lanes::new(features) }
    }

    pub(crate) fn sign(&self, works: &mut [&mut Sign<'_>]) {
        for works in works.chunks_mut(BATCH) {
            let jobs = works.iter().map(|work| ed25519::SignJob::new(work.key, work.message));
            let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
            self.ed25519.sign(&mut jobs);
            works.iter_mut().zip(jobs).for_each(|(work, job)| work.signature = job.signature);
        }
    }

    pub(crate) fn agree(&self, works: &mut [&mut Agree<'_>]) {
        for works in works.chunks_mut(BATCH) {
            let jobs = works.iter().map(|work| x25519::Job::new(work.key, &work.peer));
            let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
            self.x25519.run(&mut jobs);
            let secrets: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.secret).collect();
            works.iter_mut().zip(secrets).for_each(|(work, secret)| work.secret = secret);
        }
    }

    pub(crate) fn public_keys(&self, works: &mut [&mut PublicKey<'_>]) {
        for works in works.chunks_mut(BATCH) {
            let agreeing = works.iter().filter_map(|work| match work.key {
                PrivateKey::X25519(key) => Some(x25519::KeyJob::new(key)),
                PrivateKey::Ed25519(_) => None,
            });
            let mut jobs = agreeing.collect::<ArrayVec<_, BATCH>>();
            self.x25519.public_keys(&mut jobs);
            let mut computed = jobs.into_iter().filter_map(|job| job.public);
            for work in works {
                work.public = match work.key {
                    PrivateKey::X25519(_) => computed.next().map(|public| *public.as_bytes()),
                    // The public key was computed with the private one, because every signature contains it.
                    PrivateKey::Ed25519(key) => Some(*key.public_bytes()),
                };
            }
        }
    }
}

/// Returns an error of a public-key engine as one of the engines'.
#[cold]
fn refusal(error: PairError) -> Error {
    match error {
        PairError::Length { algorithm, given, takes, .. } => {
            Error::DataLength { algorithm, given: given as u64, takes }
        }
        PairError::Point { algorithm } => Error::Peer { algorithm },
        _ => Error::Authentication,
    }
}

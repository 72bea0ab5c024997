//! Agreements on a secret with a peer.

use arrayvec::ArrayVec;
use millstream_engines::Error;
use millstream_publickey::{Error as PairError, ecdh, x25519};

use super::{BATCH, Pairs, refusal};

/// A secret to agree on.
pub(crate) enum Agree<'a> {
    X25519 {
        key: &'a x25519::PrivateKey,
        peer: x25519::PublicKey,
        secret: Option<Result<x25519::SharedSecret, PairError>>,
    },
    Curve {
        key: &'a ecdh::PrivateKey,
        peer: &'a [u8],
        secret: Option<Result<ecdh::SharedSecret, PairError>>,
    },
}

impl<'a> Agree<'a> {
    /// Makes the work of an agreement by X25519 (RFC 7748 §6.1).
    ///
    /// # Errors
    /// When the peer's key has not 32 bytes.
    pub(crate) fn x25519(key: &'a x25519::PrivateKey, peer: &[u8]) -> Result<Self, Error> {
        Ok(Agree::X25519 { key, peer: x25519::PublicKey::new(peer).map_err(refusal)?, secret: None })
    }

    /// Makes the work of an agreement by ECDH (SP 800-56A §5.7.1.2).
    pub(crate) fn curve(key: &'a ecdh::PrivateKey, peer: &'a [u8]) -> Self {
        Agree::Curve { key, peer, secret: None }
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match self {
            Agree::X25519 { secret: Some(Err(error)), .. }
            | Agree::Curve { secret: Some(Err(error)), .. } => Err(refusal(*error)),
            _ => Ok(()),
        }
    }

    pub(crate) fn secret(&self) -> &[u8] {
        match self {
            Agree::X25519 { secret: Some(Ok(secret)), .. } => secret.as_bytes(),
            Agree::Curve { secret: Some(Ok(secret)), .. } => secret,
            _ => &[],
        }
    }
}

impl Pairs {
    pub(crate) fn agree(&self, works: &mut [&mut Agree<'_>]) {
        for works in works.chunks_mut(BATCH) {
            self.agree_x25519(works);
            self.agree_on_curves(works);
        }
    }

    fn agree_x25519(&self, works: &mut [&mut Agree<'_>]) {
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut places = ArrayVec::<_, BATCH>::new();
        for work in works {
            if let Agree::X25519 { key, peer, secret } = &mut **work {
                jobs.push(x25519::Job::new(key, peer));
                places.push(secret);
            }
        }
        if !jobs.is_empty() {
            self.x25519.run(&mut jobs);
            places.into_iter().zip(jobs).for_each(|(place, job)| *place = job.secret);
        }
    }

    fn agree_on_curves(&self, works: &mut [&mut Agree<'_>]) {
        let mut peers = ArrayVec::<_, BATCH>::new();
        for work in works.iter_mut() {
            let Agree::Curve { key, peer, secret } = &mut **work else { continue };
            match key.peer(peer) {
                Ok(peer) => peers.push((*key, peer, secret)),
                Err(error) => *secret = Some(Err(error)),
            }
        }
        if peers.is_empty() {
            return;
        }
        let jobs = peers.iter().map(|(key, peer, _)| ecdh::AgreeJob::new(key, peer));
        let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
        self.curves.agree(&mut jobs);
        let secrets: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.result).collect();
        peers.into_iter().zip(secrets).for_each(|((.., place), secret)| *place = Some(secret));
    }
}

//! Signatures that are as long as a tag: those of Ed25519 and ECDSA.

use arrayvec::ArrayVec;
use millstream_engines::Error;
use millstream_engines::hash::Hash;
use millstream_publickey::ecdsa::Curve;
use millstream_publickey::{Error as PairError, ecdsa, ed25519};

use super::random::Draw;
use super::{BATCH, Pairs, refusal};
use crate::source::UnitRandom;

/// A message to sign, or its digest.
pub(crate) enum Sign<'a> {
    Ed25519 {
        key: &'a ed25519::PrivateKey,
        message: &'a [u8],
        signature: Option<Result<[u8; ed25519::SIGNATURE], PairError>>,
    },
    Ecdsa {
        key: &'a ecdsa::PrivateKey,
        hash: Hash,
        digest: &'a [u8],
        deterministic: bool,
        /// True when a presignature may be used.
        presigned: bool,
        signature: Option<Result<ecdsa::Signature, PairError>>,
    },
}

impl<'a> Sign<'a> {
    /// Makes the work of a signature by Ed25519 (RFC 8032 §5.1.6).
    pub(crate) fn ed25519(key: &'a ed25519::PrivateKey, message: &'a [u8]) -> Self {
        Sign::Ed25519 { key, message, signature: None }
    }

    /// Makes the work of a signature by ECDSA (FIPS 186-5 §6.4.1) over a digest.
    pub(crate) fn ecdsa(
        key: &'a ecdsa::PrivateKey,
        hash: Hash,
        deterministic: bool,
        digest: &'a [u8],
    ) -> Self {
        Sign::Ecdsa { key, hash, digest, deterministic, presigned: false, signature: None }
    }

    /// Permits that a presignature is used, where there is one for it.
    pub(crate) fn permit_presignature(&mut self) {
        if let Sign::Ecdsa { key, deterministic: false, presigned, .. } = self {
            *presigned = key.curve() == Curve::P256;
        }
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match self {
            Sign::Ed25519 { signature: Some(Err(error)), .. }
            | Sign::Ecdsa { signature: Some(Err(error)), .. } => Err(refusal(*error)),
            _ => Ok(()),
        }
    }

    pub(crate) fn signature(&self) -> &[u8] {
        match self {
            Sign::Ed25519 { signature: Some(Ok(signature)), .. } => signature,
            Sign::Ecdsa { signature: Some(Ok(signature)), .. } => signature,
            _ => &[],
        }
    }
}

impl Pairs {
    pub(crate) fn sign(&self, works: &mut [&mut Sign<'_>], random: Option<UnitRandom<'_>>) {
        if self.sign_presigned(works, random.is_some()) {
            return;
        }
        let random = &mut Draw(random);
        for works in works.chunks_mut(BATCH) {
            self.sign_ed25519(works);
            self.sign_ecdsa(works, random);
        }
    }

    /// Makes the signatures for which there are presignatures, and returns true if those were all. Without random bytes signatures are
    /// deterministic.
    fn sign_presigned(&self, works: &mut [&mut Sign<'_>], hedged: bool) -> bool {
        let may = |work: &&mut Sign<'_>| matches!(work, Sign::Ecdsa { presigned: true, .. });
        if !hedged || !works.iter().any(may) {
            return false;
        }
        let Some(mut pool) = self.presigned.asked() else { return false };
        let mut left = works.len();
        for work in works {
            if let Sign::Ecdsa { key, hash, digest, presigned: true, signature, .. } = &mut **work
                && let Some(presignature) = pool.take()
            {
                let message = ecdsa::Message::digest(*hash, digest);
                *signature = key.sign_presigned(&message, presignature).map(Ok);
                left -= usize::from(signature.is_some());
            }
        }
        left == 0
    }

    fn sign_ed25519(&self, works: &mut [&mut Sign<'_>]) {
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut places = ArrayVec::<_, BATCH>::new();
        for work in works {
            if let Sign::Ed25519 { key, message, signature } = &mut **work {
                jobs.push(ed25519::SignJob::new(key, message));
                places.push(signature);
            }
        }
        if !jobs.is_empty() {
            self.ed25519.sign(&mut jobs);
            places.into_iter().zip(jobs).for_each(|(place, job)| *place = job.signature);
        }
    }

    fn sign_ecdsa(&self, works: &mut [&mut Sign<'_>], random: &mut Draw<'_>) {
        let hedged = random.0.is_some();
        let mut messages = ArrayVec::<_, BATCH>::new();
        for work in works {
            if let Sign::Ecdsa { key, hash, digest, deterministic, signature: signature @ None, .. } =
                &mut **work
            {
                let message = ecdsa::Message::digest(*hash, digest);
                // A nonce that nothing hedges is that of RFC 6979: as good, but for faults that someone provokes.
                messages.push((*key, message, *deterministic || !hedged, signature));
            }
        }
        if messages.is_empty() {
            return;
        }
        let jobs = messages.iter().map(|(key, message, deterministic, _)| match deterministic {
            true => ecdsa::SignJob::deterministic(key, message),
            false => ecdsa::SignJob::new(key, message),
        });
        let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
        self.curves.sign(&mut jobs, random);
        let signatures: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.result).collect();
        messages.into_iter().zip(signatures).for_each(|((.., place), signature)| *place = Some(signature));
    }
}

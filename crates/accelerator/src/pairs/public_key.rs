//! Public keys that belong to private ones.

use arrayvec::ArrayVec;
use millstream_publickey::{ecdsa, ed25519, x25519};

use super::{BATCH, Pairs};

/// A public key to compute.
pub(crate) enum PublicKey<'a> {
    Ed25519(&'a ed25519::PrivateKey),
    X25519(&'a x25519::PrivateKey, Option<x25519::PublicKey>),
    Curve(&'a ecdsa::PrivateKey, Option<ecdsa::EncodedPoint>),
}

impl PublicKey<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            // The public key was computed with the private one, because every signature contains it.
            PublicKey::Ed25519(key) => key.public_bytes(),
            PublicKey::X25519(_, Some(key)) => key.as_bytes(),
            PublicKey::Curve(_, Some(point)) => point,
            PublicKey::X25519(_, None) | PublicKey::Curve(_, None) => &[],
        }
    }
}

impl Pairs {
    pub(crate) fn public_keys(&self, works: &mut [&mut PublicKey<'_>]) {
        for works in works.chunks_mut(BATCH) {
            let mut agreeing = ArrayVec::<_, BATCH>::new();
            let mut curves = ArrayVec::<_, BATCH>::new();
            for work in works {
                match &mut **work {
                    PublicKey::Ed25519(_) => {}
                    PublicKey::X25519(key, place) => agreeing.push((x25519::KeyJob::new(key), place)),
                    PublicKey::Curve(key, place) => curves.push((ecdsa::PublicJob::new(key), place)),
                }
            }
            let (mut jobs, places): (ArrayVec<_, BATCH>, ArrayVec<_, BATCH>) = agreeing.into_iter().unzip();
            self.x25519.public_keys(&mut jobs);
            places.into_iter().zip(jobs).for_each(|(place, job)| *place = job.public);
            let (mut jobs, places): (ArrayVec<_, BATCH>, ArrayVec<_, BATCH>) = curves.into_iter().unzip();
            self.curves.public(&mut jobs);
            places
                .into_iter()
                .zip(jobs)
                .for_each(|(place, job)| *place = job.result.map(|public| public.to_bytes()));
        }
    }
}

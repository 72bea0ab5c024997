//! Public keys that belong to private ones.

use arrayvec::ArrayVec;
use millstream_engines::Error;
use millstream_publickey::{ecdsa, ed25519, x25519};

use super::{BATCH, Pairs};

/// A public key to compute.
pub(crate) enum PublicKey<'a> {
    Ed25519(&'a ed25519::PrivateKey),
    X25519(&'a x25519::PrivateKey, Option<x25519::PublicKey>),
    Curve(&'a ecdsa::PrivateKey, Option<ecdsa::EncodedPoint>),
    /// One that the private key has in its encoding, and the place that it is copied to. A place without bytes is none.
    Kept {
        bytes: &'a [u8],
        out: &'a mut [u8],
        written: bool,
    },
}

impl<'a> PublicKey<'a> {
    /// Makes the work of copying a public key that is there.
    ///
    /// # Errors
    /// When there is a place, but no room in it.
    pub(crate) fn kept(bytes: &'a [u8], out: &'a mut [u8]) -> Result<Self, Error> {
        let (given, needed) = (out.len(), bytes.len());
        if (1..needed).contains(&given) {
            return Err(Error::OutputLength { given, needed });
        }
        Ok(PublicKey::Kept { bytes, out, written: false })
    }
}

impl PublicKey<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            // The public key was computed with the private one, because every signature contains it.
            PublicKey::Ed25519(key) => key.public_bytes(),
            PublicKey::X25519(_, Some(key)) => key.as_bytes(),
            PublicKey::Curve(_, Some(point)) => point,
            PublicKey::Kept { bytes, .. } => bytes,
            PublicKey::X25519(_, None) | PublicKey::Curve(_, None) => &[],
        }
    }

    /// Returns the bytes that were written to a place.
    pub(crate) fn written(&self) -> u32 {
        match self {
            PublicKey::Kept { bytes, written: true, .. } => bytes.len() as u32,
            PublicKey::Kept { .. } | PublicKey::Ed25519(_) | PublicKey::X25519(..) | PublicKey::Curve(..) => {
                0
            }
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
                    PublicKey::Kept { bytes, out, written } => {
                        if let Some(front) = out.get_mut(..bytes.len()) {
                            front.copy_from_slice(bytes);
                            *written = true;
                        }
                    }
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

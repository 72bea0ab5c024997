//! HKDF: keys from keying material, in two steps.
//!
//! Ref. RFC 5869 §2.2 (extract) and §2.3 (expand).

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

use crate::hash::{Digest, Hash, HashKernel};
use crate::hmac::HmacKey;
use crate::{Error, Kernel};

/// A pseudorandom key, ready to be expanded for any number of purposes. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::hash::Hash;
/// use millstream_engines::hkdf::Hkdf;
///
/// let hkdf = Hkdf::extract(Features::hardware(), Hash::Sha256, b"salt", b"shared secret");
/// let (mut ours, mut theirs) = ([0; 16], [0; 16]);
/// hkdf.expand(b"client", &mut ours)?;
/// hkdf.expand(b"server", &mut theirs)?;
/// assert_ne!(ours, theirs);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct Hkdf {
    prk: HmacKey,
}

impl Hkdf {
    /// Extracts from input keying material. No salt is the empty salt.
    pub fn extract(features: Features, hash: Hash, salt: &[u8], ikm: &[u8]) -> Self {
        Hkdf::extract_with_kernel(HashKernel::best(features, hash), salt, ikm)
    }

    /// As [`Hkdf::extract`], with a given kernel.
    pub fn extract_with_kernel(kernel: HashKernel, salt: &[u8], ikm: &[u8]) -> Self {
        let mut prk = HmacKey::with_kernel(kernel, salt).sign(ikm);
        let hkdf = Hkdf { prk: HmacKey::with_kernel(kernel, &prk) };
        prk.zeroize();
        hkdf
    }

    /// Takes a pseudorandom key that was extracted elsewhere.
    ///
    /// # Errors
    /// [`Error::KeyLength`] when it is shorter than a digest (RFC 5869 §2.3).
    pub fn from_prk(features: Features, hash: Hash, prk: &[u8]) -> Result<Self, Error> {
        if prk.len() < hash.output_len() {
            let takes = "the length of the digest at least";
            return Err(Error::KeyLength { algorithm: "hkdf", given: prk.len(), takes });
        }
        Ok(Hkdf { prk: HmacKey::new(features, hash, prk) })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.prk.kernel()
    }

    /// Fills `okm` with output keying material for the purpose that `info` names.
    ///
    /// # Errors
    /// [`Error::DataLength`] when more than 255 digests are asked for.
    pub fn expand(&self, info: &[u8], okm: &mut [u8]) -> Result<(), Error> {
        let len = self.prk.hash().output_len();
        if okm.len() > 255 * len {
            let takes = "255 digests at most";
            return Err(Error::DataLength { algorithm: "hkdf", given: okm.len() as u64, takes });
        }
        // RFC 5869 §2.3: T(i) = HMAC(PRK, T(i - 1) | info | i).
        let mut previous: Option<Digest> = None;
        for (i, out) in okm.chunks_mut(len).enumerate() {
            let mut hmac = self.prk.start();
            if let Some(previous) = &previous {
                hmac.update(previous);
            }
            hmac.update(info);
            hmac.update(&[i as u8 + 1]);
            let digest = hmac.finish();
            out.copy_from_slice(&digest[..out.len()]);
            previous = Some(digest);
        }
        previous.zeroize();
        Ok(())
    }
}

impl fmt::Debug for Hkdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HKDF key of {:?}", self.prk)
    }
}

/// The pseudorandom key itself, for a protocol that keeps it. No salt is the empty salt.
pub fn extract(features: Features, hash: Hash, salt: &[u8], ikm: &[u8]) -> Digest {
    HmacKey::new(features, hash, salt).sign(ikm)
}

/// Extracts and expands.
///
/// # Errors
/// [`Error::DataLength`] when more than 255 digests are asked for.
pub fn derive(
    features: Features,
    hash: Hash,
    salt: &[u8],
    ikm: &[u8],
    info: &[u8],
    okm: &mut [u8],
) -> Result<(), Error> {
    Hkdf::extract(features, hash, salt, ikm).expand(info, okm)
}

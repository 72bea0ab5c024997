//! HKDF: keys from keying material, in two steps.
//!
//! Ref. RFC 5869 §2.2 (extract) and §2.3 (expand).

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

use crate::hash::{Chaining, Digest, Hash, HashKernel, each, map};
use crate::hmac::{HmacKey, Pair};
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
    /// Extracts from input keying material. An empty salt stands for none.
    pub fn extract(features: Features, hash: Hash, salt: &[u8], ikm: &[u8]) -> Self {
        Hkdf::extract_with_kernel(HashKernel::best(features, hash), salt, ikm)
    }

    /// Does the same as [`Hkdf::extract`], with a given kernel.
    pub fn extract_with_kernel(kernel: HashKernel, salt: &[u8], ikm: &[u8]) -> Self {
        let hash = kernel.hash();
        let pair = map!(kernel.start(), start => {
            let start = start.chain();
            // The pseudorandom key is PRK = HMAC(salt, IKM), and keys the expansion: RFC 5869
            // §2.2.
            let mut prk = Digest::new(hash, &Pair::new(hash, start, salt).sign(hash, ikm));
            let pair = Pair::new(hash, start, &prk);
            prk.zeroize();
            pair
        }, std::convert::identity);
        Hkdf { prk: HmacKey { hash, pair } }
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

    /// Takes a pseudorandom key of any length, for a protocol that says so.
    pub fn with_key(prk: HmacKey) -> Self {
        Hkdf { prk }
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
        each!(&self.prk.pair, pair => expand(pair, self.prk.hash, info, okm));
        Ok(())
    }
}

/// RFC 5869 §2.3: T(i) = HMAC(PRK, T(i - 1) | info | i).
#[inline(always)]
fn expand<S: Chaining, const BLOCK: usize>(prk: &Pair<S, BLOCK>, hash: Hash, info: &[u8], okm: &mut [u8]) {
    let len = hash.output_len();
    let mut digest: Option<Digest> = None;
    for (i, out) in okm.chunks_mut(len).enumerate() {
        let mut hmac = prk.start();
        if let Some(previous) = &digest {
            hmac.update(previous);
        }
        hmac.update(info);
        hmac.update(&[i as u8 + 1]);
        let digest = digest.insert(Digest::new(hash, &hmac.finish(hash)));
        out.copy_from_slice(&digest[..out.len()]);
    }
    digest.zeroize();
}

impl fmt::Debug for Hkdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HKDF key of {:?}", self.prk)
    }
}

/// Returns the pseudorandom key itself, for a protocol that keeps it. An empty salt stands for
/// none.
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

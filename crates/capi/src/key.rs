//! A key of any algorithm, as C holds it.

use millstream::{
    AeadKey, CipherKey, DecryptionScheme, Kernel, MacKey, Operation, PrivateKey, SignatureScheme, cwq, kasumi,
};

use crate::algorithm::AlgorithmCode;
use crate::failure::Failure;

/// An expanded key. It never changes, so any number of threads may use one at once.
pub struct Key(millstream::Key);

/// Both traits are what lets C use one from many threads.
const _: () = {
    const fn both<T: Send + Sync>() {}
    both::<Key>();
};

impl Key {
    /// Expands a key; the key of a hash is an HMAC's.
    pub fn new(algorithm: AlgorithmCode, key: &[u8]) -> Result<Self, Failure> {
        let algorithm = algorithm.keyed()?;
        Ok(Key(millstream::Key::new(millstream::features()?, algorithm, key)?))
    }

    /// Returns the key itself.
    #[inline(always)]
    pub fn inner(&self) -> &millstream::Key {
        &self.0
    }

    /// Returns the algorithm that the key is for.
    pub fn algorithm(&self) -> cwq::Algorithm {
        self.0.algorithm()
    }

    #[cold]
    fn wrong(&self, takes: &'static str) -> Failure {
        Failure::Algorithm { given: self.algorithm().name(), takes }
    }

    /// Returns the key as a cipher's.
    #[inline(always)]
    pub fn cipher(&self) -> Result<CipherKey<'_>, Failure> {
        self.0.as_cipher().ok_or_else(|| self.wrong("the key of a cipher without authentication"))
    }

    /// Returns the key as an AEAD's.
    #[inline(always)]
    pub fn aead(&self) -> Result<AeadKey<'_>, Failure> {
        self.0.as_aead().ok_or_else(|| self.wrong("the key of an AEAD"))
    }

    /// Returns the key as a MAC's.
    #[inline(always)]
    pub fn mac(&self) -> Result<MacKey<'_>, Failure> {
        self.0.as_mac().ok_or_else(|| self.wrong("the key of an HMAC, CMAC or DES MAC"))
    }

    /// Returns the key as a private one of any algorithm.
    pub fn private(&self) -> Result<PrivateKey<'_>, Failure> {
        self.0.by_ref().as_private().ok_or_else(|| self.wrong("a private key"))
    }

    /// Makes the operation of a signature by Ed25519, or by a curve over the digest that `hash` made.
    pub fn sign<'a>(
        &'a self,
        hash: AlgorithmCode,
        scheme: u32,
        input: &'a [u8],
    ) -> Result<Operation<'a>, Failure> {
        match (self.private()?, of_pair(self.algorithm(), hash, scheme)?) {
            (PrivateKey::Ed25519(key), SignatureScheme::Ed25519) => Ok(Operation::sign(key, input)),
            (PrivateKey::Curve(key), SignatureScheme::Ecdsa { hash, deterministic }) => {
                Ok(Operation::sign_ecdsa(key, hash, deterministic, input))
            }
            _ => Err(self.wrong("a private key of Ed25519, P-256, P-384 or P-521")),
        }
    }

    /// Makes the operation of an agreement.
    pub fn agree<'a>(&'a self, peer: &'a [u8]) -> Result<Operation<'a>, Failure> {
        match self.private()? {
            PrivateKey::X25519(key) => Ok(Operation::agree(key, peer)),
            PrivateKey::Curve(key) => Ok(Operation::agree_ecdh(key, peer)),
            _ => Err(self.wrong("a private key to agree with")),
        }
    }

    /// Returns the key as a private one of RSA.
    pub fn rsa(&self) -> Result<&millstream::publickey::rsa::PrivateKey, Failure> {
        match self.private()? {
            PrivateKey::Rsa(key) => Ok(key),
            _ => Err(self.wrong("a private key of RSA")),
        }
    }

    /// Returns the key as a private one of ML-DSA.
    pub fn ml_dsa(&self) -> Result<&millstream::publickey::mldsa::PrivateKey, Failure> {
        match self.private()? {
            PrivateKey::MlDsa(key) => Ok(key),
            _ => Err(self.wrong("a private key of ML-DSA")),
        }
    }

    /// Returns the key as a private one of SLH-DSA.
    pub fn slh_dsa(&self) -> Result<&millstream::publickey::slhdsa::PrivateKey, Failure> {
        match self.private()? {
            PrivateKey::SlhDsa(key) => Ok(key),
            _ => Err(self.wrong("a private key of SLH-DSA")),
        }
    }

    /// Returns the key as a private one of ML-KEM.
    pub fn ml_kem(&self) -> Result<&millstream::publickey::mlkem::PrivateKey, Failure> {
        match self.private()? {
            PrivateKey::MlKem(key) => Ok(key),
            _ => Err(self.wrong("a private key of ML-KEM")),
        }
    }

    /// Returns the key as an HMAC's.
    #[inline(always)]
    pub fn hmac(&self) -> Result<&millstream::hmac::HmacKey, Failure> {
        match &self.0 {
            millstream::Key::Hmac(key) => Ok(key),
            _ => Err(self.wrong("the key of an HMAC")),
        }
    }

    /// Returns the key as one of KASUMI F8.
    pub fn kasumi_f8(&self) -> Result<&kasumi::F8, Failure> {
        match &self.0 {
            millstream::Key::KasumiF8(key) => Ok(key),
            _ => Err(self.wrong("the key of kasumi-f8")),
        }
    }

    /// Returns the key as one of KASUMI F9.
    pub fn kasumi_f9(&self) -> Result<&kasumi::F9, Failure> {
        match &self.0 {
            millstream::Key::KasumiF9(key) => Ok(key),
            _ => Err(self.wrong("the key of kasumi-f9")),
        }
    }

    /// Returns the kernel that the key is bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.0.kernel()
    }
}

/// Reads a scheme of a key pair from its hash, which may be none, and its number.
pub fn of_pair(
    algorithm: cwq::Algorithm,
    hash: AlgorithmCode,
    scheme: u32,
) -> Result<SignatureScheme, Failure> {
    SignatureScheme::of_word(algorithm, hash.get()?, scheme)
        .ok_or(Failure::Argument("scheme", u64::from(scheme)))
}

/// Reads a scheme of signatures with RSA.
pub fn rsa_scheme(hash: AlgorithmCode, scheme: u32) -> Result<SignatureScheme, Failure> {
    of_pair(cwq::Algorithm::Rsa, hash, scheme)
}

/// Reads a scheme of decryptions with RSA.
pub fn rsa_decryption(
    hash: AlgorithmCode,
    scheme: u32,
    label: &[u8],
) -> Result<DecryptionScheme<'_>, Failure> {
    DecryptionScheme::of_word(hash.get()?, scheme, label)
        .ok_or(Failure::Argument("scheme", u64::from(scheme)))
}

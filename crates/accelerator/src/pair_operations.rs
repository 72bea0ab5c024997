//! Operations with key pairs.

use millstream_cwq::Algorithm;
use millstream_engines::hash::Hash;
use millstream_publickey::{ecdh, ecdsa, ed25519, mldsa, mlkem, rsa, slhdsa, x25519};

use crate::key::PrivateKey;
use crate::operation::Operation;
use crate::pairs::{
    Agree, Decapsulate, DecryptionScheme, Encapsulate, LongSign, Recipient, Rsa, Sign, SignatureScheme,
    Verify, VerifyWith, VerifyingKeyRef,
};
use crate::sink::public_key;
use crate::work::Work;

impl<'a> Operation<'a> {
    /// Signs `message` with a private key: see [`Operation::tag`]. The signature has 64 bytes (RFC 8032 §5.1.6).
    ///
    /// ```
    /// use millstream_accelerator::{Operation, Unit};
    /// use millstream_cpu::Features;
    /// use millstream_publickey::ed25519::PrivateKey;
    ///
    /// let key = PrivateKey::new(Features::hardware(), &[7; 32])?;
    /// let mut operations = [Operation::sign(&key, b"one"), Operation::sign(&key, b"two")];
    /// Unit::new(Features::hardware()).run(&mut operations);
    /// key.public_key().verify(b"two", operations[1].tag())?;
    /// # Ok::<(), millstream_publickey::Error>(())
    /// ```
    pub fn sign(key: &'a ed25519::PrivateKey, message: &'a [u8]) -> Self {
        Operation::new(Work::Sign(Sign::ed25519(key, message)))
    }

    /// Agrees with the peer whose public key is `peer` on a secret of 32 bytes (RFC 7748 §6.1): see [`Operation::tag`]. Its
    /// result may be [`Error::DataLength`](millstream_engines::Error::DataLength), or [`Error::Peer`](millstream_engines::Error::Peer) where the peer's point has a small order.
    pub fn agree(key: &'a x25519::PrivateKey, peer: &[u8]) -> Self {
        Operation::of(Agree::x25519(key, peer).map(Work::Agree))
    }

    /// Signs a digest, of any length, with a private key of P-256, P-384 or P-521 (FIPS 186-5 §6.4.1): see [`Operation::tag`]. The signature is r and s,
    /// each as long as a scalar of the curve. `hash` made the digest; with `deterministic` the nonce is that of RFC 6979.
    pub fn sign_ecdsa(key: &'a ecdsa::PrivateKey, hash: Hash, deterministic: bool, digest: &'a [u8]) -> Self {
        Operation::new(Work::Sign(Sign::ecdsa(key, hash, deterministic, digest)))
    }

    /// Agrees with the peer whose public key is the point `peer` (SEC 1 §2.3.3, compressed or not) on a secret as long as a coordinate: see
    /// [`Operation::tag`]. Its result may be [`Error::DataLength`](millstream_engines::Error::DataLength), or [`Error::Peer`](millstream_engines::Error::Peer) for what is no point of the curve.
    pub fn agree_ecdh(key: &'a ecdh::PrivateKey, peer: &'a [u8]) -> Self {
        Operation::new(Work::Agree(Agree::curve(key, peer)))
    }

    /// Signs a digest with RSA, to the front of `signature`, which has at least as many bytes as the modulus: see [`Operation::value`].
    ///
    /// The result may be [`Error::DataLength`](millstream_engines::Error::DataLength) where the digest or the place has another length than the scheme takes, or
    /// [`Error::Parameter`](millstream_engines::Error::Parameter) for a scheme of other keys.
    pub fn sign_rsa(
        key: &'a rsa::PrivateKey,
        scheme: SignatureScheme,
        digest: &'a [u8],
        signature: &'a mut [u8],
    ) -> Self {
        match scheme {
            SignatureScheme::Ed25519
            | SignatureScheme::Ecdsa { .. }
            | SignatureScheme::MlDsa { .. }
            | SignatureScheme::SlhDsa { .. } => Operation::refused(scheme.other_key()),
            SignatureScheme::RsaPkcs1 { .. } | SignatureScheme::RsaPss { .. } | SignatureScheme::RsaRaw => {
                Operation::new(Work::Rsa(Rsa::sign(key, scheme, digest, signature)))
            }
        }
    }

    /// Decrypts with RSA, to the front of `message`, which has at least as many bytes as the modulus: see [`Operation::value`].
    ///
    /// The result may be [`Error::DataLength`](millstream_engines::Error::DataLength), or [`Error::Authentication`](millstream_engines::Error::Authentication) for OAEP that is wrong in whatever way.
    pub fn decrypt_rsa(
        key: &'a rsa::PrivateKey,
        scheme: DecryptionScheme<'a>,
        ciphertext: &'a [u8],
        message: &'a mut [u8],
    ) -> Self {
        Operation::new(Work::Rsa(Rsa::decrypt(key, scheme, ciphertext, message)))
    }

    /// Writes the public key that belongs to a private one of RSA, as DER of an `RSAPublicKey` (RFC 8017 appendix A.1.1), to the front of `public`,
    /// which has at least [`MAX_PUBLIC_DER`](rsa::MAX_PUBLIC_DER) bytes: see [`Operation::value`].
    pub fn public_key_rsa(key: &'a rsa::PrivateKey, public: &'a mut [u8]) -> Self {
        Operation::new(Work::Rsa(Rsa::public_key(key, public)))
    }

    /// Verifies a signature of what was signed, a message or its digest, in variable time. That of ML-DSA or SLH-DSA was made without a context: see
    /// [`Operation::verify_in_context`].
    ///
    /// The result is [`Error::Authentication`](millstream_engines::Error::Authentication) where it does not verify, or [`Error::Parameter`](millstream_engines::Error::Parameter) for a scheme that is not of the key's kind.
    pub fn verify_signature(
        key: impl Into<VerifyingKeyRef<'a>>,
        scheme: SignatureScheme,
        message: &'a [u8],
        signature: &'a [u8],
    ) -> Self {
        Operation::verify_in_context(key, scheme, &[], message, signature)
    }

    /// Verifies a signature of ML-DSA or SLH-DSA that was made within a context (FIPS 204 §5.3 and §5.4, FIPS 205 §10.3), as [`Operation::verify_signature`].
    ///
    /// The result is [`Error::Parameter`](millstream_engines::Error::Parameter) for a context of more than 255 bytes, beside a representative, or of another algorithm.
    pub fn verify_in_context(
        key: impl Into<VerifyingKeyRef<'a>>,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        signature: &'a [u8],
    ) -> Self {
        Operation::of(
            Verify::new(VerifyWith::Key(key.into()), scheme, context, message, signature).map(Work::Verify),
        )
    }

    /// Signs with ML-DSA within a context of 0 to 255 bytes, to the front of `signature`, which has at least
    /// [`Set::signature_len`](millstream_publickey::mldsa::Set::signature_len) bytes: see [`Operation::value`]. Random bytes of the unit hedge a signature that is not
    /// to be deterministic (FIPS 204 §3.4).
    ///
    /// The result may be [`Error::DataLength`](millstream_engines::Error::DataLength) where the place is too short, or a digest or representative has another length than it
    /// should; [`Error::Parameter`](millstream_engines::Error::Parameter) for a scheme of other keys, or a context that does not fit.
    ///
    /// ```
    /// use millstream_accelerator::{MlDsaInput, Operation, SignatureScheme, Unit};
    /// use millstream_cpu::Features;
    /// use millstream_publickey::mldsa::{PrivateKey, Set};
    ///
    /// let features = Features::hardware();
    /// let key = PrivateKey::from_seed(features, Set::MlDsa65, &[7; 32]);
    /// let scheme = SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic: false };
    /// let mut signature = [0; 3309];
    /// let mut operations = [Operation::sign_ml_dsa(&key, scheme, b"a context", b"a message", &mut signature)];
    /// Unit::new(features).run(&mut operations);
    /// assert_eq!((operations[0].result(), operations[0].value()), (Ok(()), 3309));
    ///
    /// let public = key.public_key();
    /// let mut operations = [
    ///     Operation::verify_in_context(public, scheme, b"a context", b"a message", &signature),
    ///     Operation::verify_signature(public, scheme, b"a message", &signature),
    /// ];
    /// Unit::new(features).run(&mut operations);
    /// assert!(operations[0].result().is_ok() && operations[1].result().is_err());
    /// ```
    pub fn sign_ml_dsa(
        key: &'a mldsa::PrivateKey,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        signature: &'a mut [u8],
    ) -> Self {
        Operation::of(LongSign::ml_dsa(key, scheme, context, message, signature).map(Work::LongSign))
    }

    /// Signs with SLH-DSA within a context of 0 to 255 bytes, to the front of `signature`, which has at least
    /// [`Set::signature_len`](millstream_publickey::slhdsa::Set::signature_len) bytes, as [`Operation::sign_ml_dsa`] does. It takes milliseconds with the sets
    /// `f`, and some twenty times as long with the sets `s`, which verify faster.
    ///
    /// ```
    /// use millstream_accelerator::{Operation, SignatureScheme, Unit};
    /// use millstream_cpu::Features;
    /// use millstream_publickey::slhdsa::{PrivateKey, Set};
    ///
    /// let (features, set) = (Features::hardware(), Set::Sha2_128f);
    /// let key = PrivateKey::from_seeds(features, set, &[7; 48])?;
    /// let scheme = SignatureScheme::SlhDsa { digest: None, deterministic: false };
    /// let mut signature = vec![0; set.signature_len()];
    /// let mut operations = [Operation::sign_slh_dsa(&key, scheme, b"a context", b"a message", &mut signature)];
    /// Unit::new(features).run(&mut operations);
    /// assert_eq!((operations[0].result(), operations[0].value()), (Ok(()), 17_088));
    ///
    /// let verify = Operation::verify_in_context(key.public_key(), scheme, b"a context", b"a message", &signature);
    /// let mut operations = [verify];
    /// Unit::new(features).run(&mut operations);
    /// assert!(operations[0].result().is_ok());
    /// # Ok::<(), millstream_publickey::Error>(())
    /// ```
    pub fn sign_slh_dsa(
        key: &'a slhdsa::PrivateKey,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        signature: &'a mut [u8],
    ) -> Self {
        Operation::of(LongSign::slh_dsa(key, scheme, context, message, signature).map(Work::LongSign))
    }

    /// Makes a shared secret of 32 random bytes for the owner of a public key of ML-KEM (FIPS 203 §7.2): see [`Operation::tag`]. The ciphertext
    /// goes to the front of `ciphertext`, which has at least [`Set::ciphertext_len`](millstream_publickey::mlkem::Set::ciphertext_len) bytes: see
    /// [`Operation::value`].
    ///
    /// The result may be [`Error::DataLength`](millstream_engines::Error::DataLength), or [`Error::Random`](millstream_engines::Error::Random) where the unit has no random bytes: see [`Unit::seed`](crate::Unit::seed).
    ///
    /// ```
    /// use millstream_accelerator::{Operation, Unit};
    /// use millstream_cpu::Features;
    /// use millstream_publickey::mlkem::{PrivateKey, Set};
    ///
    /// let features = Features::hardware();
    /// let mut unit = Unit::new(features);
    /// # let from_the_kernel = [7; 32];
    /// unit.seed(&from_the_kernel);
    /// let key = PrivateKey::from_seed(features, Set::MlKem768, &[7; 64]);
    /// let mut ciphertext = [0; 1088];
    /// let mut sent = [Operation::encapsulate(key.public_key(), &mut ciphertext)];
    /// unit.run(&mut sent);
    /// let secret = sent[0].tag().to_vec();
    /// let mut received = [Operation::decapsulate(&key, &ciphertext)];
    /// unit.run(&mut received);
    /// assert_eq!((received[0].tag(), secret.len()), (&secret[..], 32));
    /// ```
    pub fn encapsulate(key: &'a mlkem::PublicKey, ciphertext: &'a mut [u8]) -> Self {
        Operation::of(Encapsulate::new(Recipient::Key(key), ciphertext).map(Work::Encapsulate))
    }

    /// Does the same for a public key that is not expanded yet: those of many operations are expanded side by side.
    ///
    /// The result may be [`Error::DataLength`](millstream_engines::Error::DataLength) for a key or a place of another length than it should have, [`Error::Peer`](millstream_engines::Error::Peer) for a key in which
    /// a number is not below q, and [`Error::KeyLength`](millstream_engines::Error::KeyLength) for another algorithm than ML-KEM.
    pub fn encapsulate_for(algorithm: Algorithm, public: &'a [u8], ciphertext: &'a mut [u8]) -> Self {
        Operation::of(
            Recipient::of(algorithm, public)
                .and_then(|key| Encapsulate::new(key, ciphertext))
                .map(Work::Encapsulate),
        )
    }

    /// Gets the shared secret of 32 bytes from a ciphertext with a private key of ML-KEM (FIPS 203 §7.3): see [`Operation::tag`]. A ciphertext
    /// that was not made for the key gives a secret that nobody else knows, in the same time. The result may be [`Error::DataLength`](millstream_engines::Error::DataLength).
    pub fn decapsulate(key: &'a mlkem::PrivateKey, ciphertext: &'a [u8]) -> Self {
        Operation::new(Work::Decapsulate(Decapsulate::new(key, ciphertext)))
    }

    /// Computes the public key that belongs to a private one: see [`Operation::tag`]. That of RSA is longer than a tag, and
    /// here [`Error::OutputLength`](millstream_engines::Error::OutputLength): see [`Operation::public_key_rsa`].
    pub fn public_key(key: impl Into<PrivateKey<'a>>) -> Self {
        Operation::of(public_key(key.into(), &mut []))
    }
}

//! Signatures that are verified, with public keys of any algorithm.

use arrayvec::ArrayVec;
use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_engines::Error;
use millstream_publickey::{Error as PairError, ecdsa, ed25519, mldsa, rsa, slhdsa};

use super::scheme::slh_dsa_within;
use super::{BATCH, Pairs, SignatureScheme, refusal};
use crate::sets::slh_dsa_set;

/// A public key to verify with.
///
/// ```
/// use millstream_accelerator::{Operation, SignatureScheme, Unit, VerifyingKey};
/// use millstream_cpu::Features;
/// use millstream_cwq::Algorithm;
/// use millstream_publickey::ed25519::PrivateKey;
///
/// let features = Features::hardware();
/// let private = PrivateKey::new(features, &[7; 32])?;
/// let signature = private.sign(b"a message");
/// let key = VerifyingKey::new(features, Algorithm::Ed25519, private.public_bytes())?;
/// let mut operations = [
///     Operation::verify_signature(&key, SignatureScheme::Ed25519, b"a message", &signature),
///     Operation::verify_signature(&key, SignatureScheme::Ed25519, b"another", &signature),
/// ];
/// Unit::new(features).run(&mut operations);
/// assert!(operations[0].result().is_ok() && operations[1].result().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VerifyingKey {
    /// Ed25519, by the rules of RFC 8032.
    Ed25519(ed25519::PublicKey),
    /// ECDSA on P-256, P-384 or P-521.
    Curve(ecdsa::PublicKey),
    /// RSA.
    Rsa(rsa::PublicKey),
    /// ML-DSA.
    MlDsa(mldsa::PublicKey),
    /// SLH-DSA.
    SlhDsa(slhdsa::PublicKey),
}

impl VerifyingKey {
    /// Takes a public key: 32 bytes of Ed25519 (RFC 8032 §5.1.2), a point of a curve (SEC 1 §2.3.3, compressed or not), the DER of an
    /// `RSAPublicKey` (RFC 8017 appendix A.1.1), 1312, 1952 or 2592 bytes of ML-DSA (FIPS 204 §7.2), which are expanded, or 32, 48 or 64
    /// bytes of SLH-DSA (FIPS 205 §9.1).
    ///
    /// # Errors
    /// [`Error::DataLength`] and [`Error::Peer`] where it is none, [`Error::Parameter`] for a modulus of another size;
    /// [`Error::KeyLength`] for an algorithm that has no signatures.
    pub fn new(features: Features, algorithm: Algorithm, bytes: &[u8]) -> Result<Self, Error> {
        let lattice = |set| mldsa::PublicKey::new(features, set, bytes).map(VerifyingKey::MlDsa);
        let curve = |curve| ecdsa::PublicKey::new(features, curve, bytes).map(VerifyingKey::Curve);
        let key = match algorithm {
            Algorithm::Ed25519 => ed25519::PublicKey::new(features, bytes).map(VerifyingKey::Ed25519),
            Algorithm::P256 => curve(ecdsa::Curve::P256),
            Algorithm::P384 => curve(ecdsa::Curve::P384),
            Algorithm::P521 => curve(ecdsa::Curve::P521),
            Algorithm::Rsa => rsa::PublicKey::from_pkcs1(features, bytes).map(VerifyingKey::Rsa),
            Algorithm::MlDsa44 => lattice(mldsa::Set::MlDsa44),
            Algorithm::MlDsa65 => lattice(mldsa::Set::MlDsa65),
            Algorithm::MlDsa87 => lattice(mldsa::Set::MlDsa87),
            _ => {
                let Some(set) = slh_dsa_set(algorithm) else {
                    let (algorithm, given) = (algorithm.name(), bytes.len());
                    return Err(Error::KeyLength { algorithm, given, takes: "no public key to verify with" });
                };
                slhdsa::PublicKey::new(features, set, bytes).map(VerifyingKey::SlhDsa)
            }
        };
        key.map_err(refusal)
    }

    /// Returns the key by reference.
    pub fn by_ref(&self) -> VerifyingKeyRef<'_> {
        match self {
            VerifyingKey::Ed25519(key) => VerifyingKeyRef::Ed25519(key),
            VerifyingKey::Curve(key) => VerifyingKeyRef::Curve(key),
            VerifyingKey::Rsa(key) => VerifyingKeyRef::Rsa(key),
            VerifyingKey::MlDsa(key) => VerifyingKeyRef::MlDsa(key),
            VerifyingKey::SlhDsa(key) => VerifyingKeyRef::SlhDsa(key),
        }
    }
}

/// A public key to verify with, by reference.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum VerifyingKeyRef<'k> {
    /// Ed25519, by the rules of RFC 8032.
    Ed25519(&'k ed25519::PublicKey),
    /// ECDSA on P-256, P-384 or P-521.
    Curve(&'k ecdsa::PublicKey),
    /// RSA.
    Rsa(&'k rsa::PublicKey),
    /// ML-DSA.
    MlDsa(&'k mldsa::PublicKey),
    /// SLH-DSA.
    SlhDsa(&'k slhdsa::PublicKey),
}

impl<'k> From<&'k VerifyingKey> for VerifyingKeyRef<'k> {
    fn from(key: &'k VerifyingKey) -> Self {
        key.by_ref()
    }
}

macro_rules! by_reference {
    ($($name:ident: $key:ty;)+) => {
        $(impl<'k> From<&'k $key> for VerifyingKeyRef<'k> {
            fn from(key: &'k $key) -> Self {
                VerifyingKeyRef::$name(key)
            }
        })+
    };
}
by_reference! {
    Ed25519: ed25519::PublicKey;
    Curve: ecdsa::PublicKey;
    Rsa: rsa::PublicKey;
    MlDsa: mldsa::PublicKey;
    SlhDsa: slhdsa::PublicKey;
}

/// A public key to verify with, expanded or not.
#[derive(Clone, Copy)]
pub(crate) enum VerifyWith<'a> {
    Key(VerifyingKeyRef<'a>),
    /// The encoding of a key of ML-DSA, of a length that fits the set. It is expanded beside those of other works.
    MlDsa(mldsa::Set, &'a [u8]),
}

/// A signature to verify.
pub(crate) struct Verify<'a> {
    key: VerifyWith<'a>,
    scheme: SignatureScheme,
    /// The context of ML-DSA or SLH-DSA.
    context: &'a [u8],
    /// The message, or its digest.
    message: &'a [u8],
    signature: &'a [u8],
    result: Result<(), PairError>,
}

impl<'a> Verify<'a> {
    /// Makes the work of a verification.
    ///
    /// # Errors
    /// When the scheme is not one of the key's kind, or nothing can be verified by it.
    pub(crate) fn new(
        key: VerifyWith<'a>,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        signature: &'a [u8],
    ) -> Result<Self, Error> {
        let fits = match key {
            VerifyWith::Key(VerifyingKeyRef::Ed25519(_)) => scheme == SignatureScheme::Ed25519,
            VerifyWith::Key(VerifyingKeyRef::Curve(_)) => matches!(scheme, SignatureScheme::Ecdsa { .. }),
            VerifyWith::Key(VerifyingKeyRef::Rsa(_)) => {
                matches!(scheme, SignatureScheme::RsaPkcs1 { hash: Some(_) } | SignatureScheme::RsaPss { .. })
            }
            VerifyWith::Key(VerifyingKeyRef::MlDsa(_)) | VerifyWith::MlDsa(..) => {
                matches!(scheme, SignatureScheme::MlDsa { .. })
            }
            VerifyWith::Key(VerifyingKeyRef::SlhDsa(_)) => matches!(scheme, SignatureScheme::SlhDsa { .. }),
        };
        if !fits {
            return Err(scheme.other_key());
        }
        match scheme {
            SignatureScheme::MlDsa { input, .. } => {
                input.within(context)?;
            }
            SignatureScheme::SlhDsa { digest, .. } => {
                slh_dsa_within(digest, context)?;
            }
            _ if !context.is_empty() => return Err(no_context(context.len())),
            _ => {}
        }
        Ok(Verify { key, scheme, context, message, signature, result: Err(PairError::Fault) })
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        match self.result {
            // A signature of another length is none.
            Err(PairError::Length { what: "signature" | "input", .. }) => Err(Error::Authentication),
            result => result.map_err(refusal),
        }
    }
}

/// Returns the refusal of a context for an algorithm that has none.
#[cold]
pub(crate) fn no_context(given: usize) -> Error {
    let takes = "no bytes: of the algorithms here only ML-DSA and SLH-DSA sign within a context";
    Error::Parameter { algorithm: "this signature", name: "context", given: given as u64, takes }
}

impl Pairs {
    pub(crate) fn verify(&self, works: &mut [&mut Verify<'_>]) {
        for works in works.chunks_mut(BATCH) {
            self.verify_ed25519(works);
            self.verify_ecdsa(works);
            self.verify_rsa(works);
            self.verify_ml_dsa(works);
            self.verify_slh_dsa(works);
        }
    }

    fn verify_ed25519(&self, works: &mut [&mut Verify<'_>]) {
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut places = ArrayVec::<_, BATCH>::new();
        for work in works {
            if let VerifyWith::Key(VerifyingKeyRef::Ed25519(key)) = work.key {
                jobs.push(ed25519::VerifyJob::new(key, work.message, work.signature));
                places.push(&mut work.result);
            }
        }
        if !jobs.is_empty() {
            self.ed25519.verify(&mut jobs);
            places
                .into_iter()
                .zip(jobs)
                .for_each(|(place, job)| *place = job.verdict.unwrap_or(Err(PairError::Fault)));
        }
    }

    fn verify_ecdsa(&self, works: &mut [&mut Verify<'_>]) {
        let mut messages = ArrayVec::<_, BATCH>::new();
        for work in works {
            if let (VerifyWith::Key(VerifyingKeyRef::Curve(key)), SignatureScheme::Ecdsa { hash, .. }) =
                (work.key, work.scheme)
            {
                let message = ecdsa::Message::digest(hash, work.message);
                messages.push((key, message, work.signature, &mut work.result));
            }
        }
        if messages.is_empty() {
            return;
        }
        let jobs = messages
            .iter()
            .map(|(key, message, signature, _)| ecdsa::VerifyJob::new(key, message, signature));
        let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
        self.curves.verify(&mut jobs);
        let results: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.result).collect();
        messages.into_iter().zip(results).for_each(|((.., place), result)| *place = result);
    }

    fn verify_rsa(&self, works: &mut [&mut Verify<'_>]) {
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut places = ArrayVec::<_, BATCH>::new();
        for work in works {
            let VerifyWith::Key(VerifyingKeyRef::Rsa(key)) = work.key else { continue };
            jobs.push(match work.scheme {
                SignatureScheme::RsaPkcs1 { hash: Some(hash) } => {
                    rsa::PublicJob::verify_pkcs1_digest(key, hash, work.message, work.signature)
                }
                SignatureScheme::RsaPss { hash, mgf_hash, salt_len } => {
                    let pss = rsa::Pss { hash, mgf: mgf_hash, salt: salt_len.into() };
                    rsa::PublicJob::verify_pss_digest(key, &pss, work.message, work.signature)
                }
                // `Verify::new` refuses all others.
                _ => continue,
            });
            places.push(&mut work.result);
        }
        if !jobs.is_empty() {
            self.rsa.run_public(&mut jobs);
            places.into_iter().zip(jobs).for_each(|(place, job)| *place = job.result);
        }
    }

    fn verify_ml_dsa(&self, works: &mut [&mut Verify<'_>]) {
        // Keys that came as bytes are expanded side by side, then all signatures are verified.
        let encoded = works.iter().filter_map(|work| match work.key {
            VerifyWith::MlDsa(set, bytes) => Some(mldsa::PublicKeyJob::new(set, bytes)),
            VerifyWith::Key(_) => None,
        });
        let mut expanded = encoded.collect::<ArrayVec<_, BATCH>>();
        if !expanded.is_empty() {
            self.signers.public_keys(&mut expanded);
        }
        let mut expanded = expanded.iter();
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut places = ArrayVec::<_, BATCH>::new();
        for work in works {
            let key = match work.key {
                VerifyWith::Key(VerifyingKeyRef::MlDsa(key)) => key,
                VerifyWith::MlDsa(..) => match expanded.next().and_then(|job| job.key.as_ref()) {
                    Some(Ok(key)) => key,
                    Some(Err(error)) => {
                        work.result = Err(*error);
                        continue;
                    }
                    None => continue,
                },
                VerifyWith::Key(_) => continue,
            };
            // `Verify::new` has seen that the scheme is one, and that the context fits it.
            let SignatureScheme::MlDsa { input, .. } = work.scheme else { continue };
            let Ok(scheme) = input.within(work.context) else { continue };
            jobs.push(mldsa::VerifyJob::new(key, scheme, work.message, work.signature));
            places.push(&mut work.result);
        }
        if !jobs.is_empty() {
            self.signers.verify(&mut jobs);
            places
                .into_iter()
                .zip(jobs)
                .for_each(|(place, job)| *place = job.verdict.unwrap_or(Err(PairError::Fault)));
        }
    }

    fn verify_slh_dsa(&self, works: &mut [&mut Verify<'_>]) {
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut places = ArrayVec::<_, BATCH>::new();
        for work in works {
            let (VerifyWith::Key(VerifyingKeyRef::SlhDsa(key)), SignatureScheme::SlhDsa { digest, .. }) =
                (work.key, work.scheme)
            else {
                continue;
            };
            // `Verify::new` has seen that the context fits.
            let Ok(scheme) = slh_dsa_within(digest, work.context) else { continue };
            jobs.push(slhdsa::VerifyJob::new(key, scheme, work.message, work.signature));
            places.push(&mut work.result);
        }
        if !jobs.is_empty() {
            self.hash_signers.verify(&mut jobs);
            places
                .into_iter()
                .zip(jobs)
                .for_each(|(place, job)| *place = job.verdict.unwrap_or(Err(PairError::Fault)));
        }
    }
}

//! Private operations of RSA, whose results are as long as the modulus.

use arrayvec::ArrayVec;
use millstream_engines::Error;
use millstream_publickey::Error as PairError;
use millstream_publickey::rsa::{self, MAX_BYTES};
use zeroize::Zeroizing;

use super::random::Draw;
use super::{BATCH, DecryptionScheme, Pairs, SignatureScheme, refusal};
use crate::source::UnitRandom;

/// An operation with a private key of RSA.
pub(crate) struct Rsa<'a> {
    key: &'a rsa::PrivateKey,
    what: What<'a>,
    /// The place of the result, whose first bytes it takes.
    out: &'a mut [u8],
    result: Result<usize, PairError>,
}

enum What<'a> {
    Sign(SignatureScheme, &'a [u8]),
    Decrypt(DecryptionScheme<'a>, &'a [u8]),
    PublicKey,
}

impl<'a> Rsa<'a> {
    /// Makes the work of a signature over a digest (RFC 8017 §8), or of the bare power.
    pub(crate) fn sign(
        key: &'a rsa::PrivateKey,
        scheme: SignatureScheme,
        digest: &'a [u8],
        out: &'a mut [u8],
    ) -> Self {
        Rsa { key, what: What::Sign(scheme, digest), out, result: Ok(0) }
    }

    /// Makes the work of a decryption (RFC 8017 §7).
    pub(crate) fn decrypt(
        key: &'a rsa::PrivateKey,
        scheme: DecryptionScheme<'a>,
        ciphertext: &'a [u8],
        out: &'a mut [u8],
    ) -> Self {
        Rsa { key, what: What::Decrypt(scheme, ciphertext), out, result: Ok(0) }
    }

    /// Makes the work of writing the public key (RFC 8017 appendix A.1.1).
    pub(crate) fn public_key(key: &'a rsa::PrivateKey, out: &'a mut [u8]) -> Self {
        Rsa { key, what: What::PublicKey, out, result: Ok(0) }
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        self.result.map(|_| ()).map_err(refusal)
    }

    /// Returns the bytes that were written.
    pub(crate) fn written(&self) -> u32 {
        self.result.unwrap_or_default() as u32
    }

    /// Takes the result of the job, and a message from its place.
    fn end(&mut self, result: Result<usize, PairError>, place: &[u8]) {
        self.result = result;
        if let (Ok(len), What::Decrypt(..)) = (result, &self.what) {
            self.out[..len].copy_from_slice(&place[..len]);
        }
    }

    /// Returns the job of the power; none where there is none, or it can't be made. A message that is decrypted comes to `place` first.
    fn job<'w>(&'w mut self, place: &'w mut [u8], random: &mut Draw<'_>) -> Option<rsa::Job<'w>> {
        let Rsa { key, what, out, result } = self;
        let size = key.size();
        if out.len() < size {
            let (what, given, takes) = ("output", out.len(), "at least as many bytes as the modulus has");
            *result = Err(PairError::Length { algorithm: "rsa", what, given, takes });
            return None;
        }
        let job = match *what {
            What::PublicKey => {
                *result = key.public_key().to_pkcs1(out);
                return None;
            }
            What::Sign(SignatureScheme::RsaPkcs1 { hash: Some(hash) }, digest) => {
                rsa::Job::sign_pkcs1_digest(key, hash, digest, out)
            }
            What::Sign(SignatureScheme::RsaPkcs1 { hash: None }, encoded) => {
                rsa::Job::sign_pkcs1_encoded(key, encoded, out)
            }
            What::Sign(SignatureScheme::RsaPss { hash, mgf_hash, salt_len }, digest) => {
                let pss = rsa::Pss { hash, mgf: mgf_hash, salt: salt_len.into() };
                rsa::Job::sign_pss_digest(key, &pss, random, digest, out)
            }
            What::Sign(SignatureScheme::RsaRaw, number) => rsa::Job::raw(key, number, &mut out[..size]),
            What::Decrypt(DecryptionScheme::RsaRaw, number) => rsa::Job::raw(key, number, &mut place[..size]),
            What::Decrypt(DecryptionScheme::RsaPkcs1, ciphertext) => {
                rsa::Job::decrypt_pkcs1(key, ciphertext, place)
            }
            What::Decrypt(DecryptionScheme::RsaOaep { hash, mgf_hash, label }, ciphertext) => {
                rsa::Job::decrypt_oaep(key, rsa::Oaep { hash, mgf: mgf_hash, label }, ciphertext, place)
            }
            // The schemes of other keys are refused when the work is made.
            What::Sign(
                SignatureScheme::Ed25519
                | SignatureScheme::Ecdsa { .. }
                | SignatureScheme::MlDsa { .. }
                | SignatureScheme::SlhDsa { .. },
                _,
            ) => {
                *result = Err(PairError::Signature);
                return None;
            }
        };
        Some(job)
    }
}

impl Pairs {
    pub(crate) fn rsa(&self, works: &mut [&mut Rsa<'_>], random: Option<UnitRandom<'_>>) {
        let random = &mut Draw(random);
        for works in works.chunks_mut(BATCH) {
            // Wiping takes a nanosecond for a few bytes, so there are no more places than works.
            let place = |_: &&mut Rsa<'_>| Zeroizing::new([0; MAX_BYTES]);
            let mut places: ArrayVec<_, BATCH> = works.iter().map(place).collect();
            let mut jobs = ArrayVec::<_, BATCH>::new();
            let mut owners = ArrayVec::<_, BATCH>::new();
            for (owner, (work, place)) in works.iter_mut().zip(places.iter_mut()).enumerate() {
                if let Some(job) = work.job(&mut place[..], random) {
                    jobs.push(job);
                    owners.push(owner);
                }
            }
            if jobs.is_empty() {
                continue;
            }
            self.rsa.run(&mut jobs);
            let results: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.result).collect();
            for (owner, result) in owners.into_iter().zip(results) {
                works[owner].end(result, &places[owner][..]);
            }
        }
    }
}

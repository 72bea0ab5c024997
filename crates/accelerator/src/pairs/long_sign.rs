//! Signatures of ML-DSA and SLH-DSA, which are made within a context, and are longer than a tag.
//!
//! Ref. FIPS 204 §5.2 and §5.4, FIPS 205 §10.2.

use arrayvec::ArrayVec;
use millstream_engines::Error;
use millstream_publickey::{Error as PairError, Random, mldsa, slhdsa};
use zeroize::Zeroizing;

use super::random::Draw;
use super::scheme::slh_dsa_within;
use super::{BATCH, Pairs, SignatureScheme, refusal};
use crate::source::UnitRandom;

/// A message to sign.
pub(crate) struct LongSign<'a> {
    signer: Signer<'a>,
    deterministic: bool,
    message: &'a [u8],
    /// The place of the signature, whose first bytes it takes.
    out: &'a mut [u8],
    /// The bytes that were written.
    result: Result<usize, PairError>,
}

/// The key of a signature and the engine's scheme.
#[derive(Clone, Copy)]
enum Signer<'a> {
    MlDsa(&'a mldsa::PrivateKey, mldsa::Scheme<'a>),
    SlhDsa(&'a slhdsa::PrivateKey, slhdsa::Scheme<'a>),
}

/// The random bytes that hedge a signature: as many of them as its parameter set takes. Nothing where it is deterministic.
type Hedge = Option<Zeroizing<[u8; mldsa::RANDOMNESS]>>;

impl<'a> LongSign<'a> {
    /// Makes the work of a signature of ML-DSA within a context.
    ///
    /// # Errors
    /// When the scheme is not one of ML-DSA, a context comes with a representative, or there is no room for the signature.
    pub(crate) fn ml_dsa(
        key: &'a mldsa::PrivateKey,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        out: &'a mut [u8],
    ) -> Result<Self, Error> {
        let SignatureScheme::MlDsa { input, deterministic } = scheme else { return Err(scheme.other_key()) };
        has_room(key.set().name(), key.set().signature_len(), out)?;
        let signer = Signer::MlDsa(key, input.within(context)?);
        Ok(LongSign { signer, deterministic, message, out, result: Ok(0) })
    }

    /// Makes the work of a signature of SLH-DSA within a context.
    ///
    /// # Errors
    /// When the scheme is not one of SLH-DSA, the context is too long, or there is no room for the signature.
    pub(crate) fn slh_dsa(
        key: &'a slhdsa::PrivateKey,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        out: &'a mut [u8],
    ) -> Result<Self, Error> {
        let SignatureScheme::SlhDsa { digest, deterministic } = scheme else {
            return Err(scheme.other_key());
        };
        has_room(key.set().name(), key.set().signature_len(), out)?;
        let signer = Signer::SlhDsa(key, slh_dsa_within(digest, context)?);
        Ok(LongSign { signer, deterministic, message, out, result: Ok(0) })
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        self.result.map(|_| ()).map_err(refusal)
    }

    /// Returns the bytes that were written.
    pub(crate) fn written(&self) -> u32 {
        self.result.unwrap_or_default() as u32
    }

    /// Draws the random bytes, unless the signature is deterministic.
    fn hedge(&self, random: &mut Draw<'_>) -> Result<Hedge, PairError> {
        if self.deterministic {
            return Ok(None);
        }
        let mut bytes = Zeroizing::new([0; mldsa::RANDOMNESS]);
        random.fill(&mut *bytes)?;
        Ok(Some(bytes))
    }

    /// Writes the signature that a job has made.
    fn end(&mut self, signature: Option<Result<Vec<u8>, PairError>>) {
        self.result = signature.unwrap_or(Err(PairError::Fault)).map(|signature| {
            self.out[..signature.len()].copy_from_slice(&signature);
            signature.len()
        });
    }
}

/// Checks that a place is as long as a signature.
fn has_room(algorithm: &'static str, needed: usize, out: &[u8]) -> Result<(), Error> {
    if out.len() >= needed {
        return Ok(());
    }
    let (given, takes) =
        (out.len() as u64, "a place for the signature, at least as long as the parameter set says");
    Err(Error::DataLength { algorithm, given, takes })
}

impl Pairs {
    /// Signs each message. Random bytes hedge signatures that are not to be deterministic, where there are any (FIPS 204 §3.4, FIPS 205
    /// §9.2).
    pub(crate) fn sign_long(&self, works: &mut [&mut LongSign<'_>], random: Option<UnitRandom<'_>>) {
        let hedged = random.is_some();
        let random = &mut Draw(random);
        for works in works.chunks_mut(BATCH) {
            let mut hedges = ArrayVec::<Hedge, BATCH>::new();
            let mut drawn = ArrayVec::<&mut LongSign<'_>, BATCH>::new();
            for work in works {
                match if hedged { work.hedge(random) } else { Ok(None) } {
                    Ok(hedge) => {
                        hedges.push(hedge);
                        drawn.push(work);
                    }
                    Err(error) => work.result = Err(error),
                }
            }
            self.sign_ml_dsa(&mut drawn, &hedges);
            self.sign_slh_dsa(&mut drawn, &hedges);
        }
    }

    fn sign_ml_dsa(&self, works: &mut [&mut LongSign<'_>], hedges: &[Hedge]) {
        let mut jobs = ArrayVec::<_, BATCH>::new();
        let mut signed = ArrayVec::<_, BATCH>::new();
        for (work, hedge) in works.iter_mut().zip(hedges) {
            if let Signer::MlDsa(key, scheme) = work.signer {
                let hedge = hedge.as_deref().unwrap_or(&[0; mldsa::RANDOMNESS]);
                jobs.push(mldsa::SignJob::new(key, scheme, work.message, hedge));
                signed.push(work);
            }
        }
        if !jobs.is_empty() {
            self.signers.sign(&mut jobs);
            signed.into_iter().zip(jobs).for_each(|(work, job)| work.end(job.signature));
        }
    }

    /// Signs one message after another: the hashes of one signature fill the lanes, and more at a time would only take memory.
    fn sign_slh_dsa(&self, works: &mut [&mut LongSign<'_>], hedges: &[Hedge]) {
        for (work, hedge) in works.iter_mut().zip(hedges) {
            if let Signer::SlhDsa(key, scheme) = work.signer {
                let hedge = hedge.as_deref().map(|bytes| &bytes[..key.set().node_len()]);
                let mut jobs = [slhdsa::SignJob::new(key, scheme, work.message, hedge)];
                self.hash_signers.sign(&mut jobs);
                let [job] = jobs;
                work.end(job.signature);
            }
        }
    }
}

//! Signatures of ML-DSA, which are longer than a tag.
//!
//! Ref. FIPS 204 §5.2 and §5.4.

use arrayvec::ArrayVec;
use millstream_engines::Error;
use millstream_publickey::mldsa;
use millstream_publickey::{Error as PairError, Random};
use zeroize::Zeroizing;

use super::random::Draw;
use super::{BATCH, Pairs, SignatureScheme, refusal};
use crate::source::UnitRandom;

/// A message to sign.
pub(crate) struct MlDsaSign<'a> {
    key: &'a mldsa::PrivateKey,
    scheme: mldsa::Scheme<'a>,
    deterministic: bool,
    message: &'a [u8],
    /// The place of the signature, whose first bytes it takes.
    out: &'a mut [u8],
    /// The bytes that were written.
    result: Result<usize, PairError>,
}

impl<'a> MlDsaSign<'a> {
    /// Makes the work of a signature within a context.
    ///
    /// # Errors
    /// When the scheme is not one of ML-DSA, a context comes with a representative, or there is no room for the signature.
    pub(crate) fn new(
        key: &'a mldsa::PrivateKey,
        scheme: SignatureScheme,
        context: &'a [u8],
        message: &'a [u8],
        out: &'a mut [u8],
    ) -> Result<Self, Error> {
        let SignatureScheme::MlDsa { input, deterministic } = scheme else { return Err(scheme.other_key()) };
        let (set, given) = (key.set(), out.len());
        if given < set.signature_len() {
            let takes = "a place for the signature, at least as long as the parameter set says";
            return Err(Error::DataLength { algorithm: set.name(), given: given as u64, takes });
        }
        Ok(MlDsaSign { key, scheme: input.within(context)?, deterministic, message, out, result: Ok(0) })
    }

    pub(crate) fn result(&self) -> Result<(), Error> {
        self.result.map(|_| ()).map_err(refusal)
    }

    /// Returns the bytes that were written.
    pub(crate) fn written(&self) -> u32 {
        self.result.unwrap_or_default() as u32
    }
}

impl Pairs {
    /// Signs each message. Random bytes hedge signatures that are not to be deterministic, where there are any (FIPS 204 §3.4).
    pub(crate) fn sign_ml_dsa(&self, works: &mut [&mut MlDsaSign<'_>], random: Option<UnitRandom<'_>>) {
        let hedged = random.is_some();
        let random = &mut Draw(random);
        for works in works.chunks_mut(BATCH) {
            let drawn = works.iter().map(|work| {
                let mut bytes = Zeroizing::new([0; mldsa::RANDOMNESS]);
                if hedged && !work.deterministic {
                    random.fill(&mut *bytes)?;
                }
                Ok(bytes)
            });
            let drawn = drawn.collect::<ArrayVec<Result<_, PairError>, BATCH>>();
            let jobs = works.iter().zip(&drawn).filter_map(|(work, drawn)| {
                Some(mldsa::SignJob::new(work.key, work.scheme, work.message, drawn.as_ref().ok()?))
            });
            let mut jobs = jobs.collect::<ArrayVec<_, BATCH>>();
            self.signers.sign(&mut jobs);
            let signatures: ArrayVec<_, BATCH> = jobs.into_iter().map(|job| job.signature).collect();
            let mut signatures = signatures.into_iter();
            for (work, drawn) in works.iter_mut().zip(&drawn) {
                work.result = match drawn {
                    Err(error) => Err(*error),
                    Ok(_) => match signatures.next().flatten() {
                        Some(Ok(signature)) => {
                            work.out[..signature.len()].copy_from_slice(&signature);
                            Ok(signature.len())
                        }
                        Some(Err(error)) => Err(error),
                        None => Err(PairError::Fault),
                    },
                };
            }
        }
    }
}

//! Derivations bound to a label and a suite.
//!
//! Ref. RFC 9180 §4 (in two stages); draft-ietf-hpke-hpke-02 (in one).

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash};
use millstream_engines::hkdf::{self, Hkdf};
use millstream_engines::hmac::HmacKey;
use millstream_engines::sha3::{Shake, Xof};
use zeroize::Zeroizing;

use super::NAME;
use crate::Error;

const VERSION: &[u8] = b"HPKE-v1";

/// HKDF under labels, bound to a suite.
pub(super) struct Labelled<'a> {
    pub(super) features: Features,
    pub(super) hash: Hash,
    pub(super) suite_id: &'a [u8],
}

impl Labelled<'_> {
    /// LabeledExtract.
    pub(super) fn extract(&self, salt: &[u8], label: &[u8], ikm: &[u8]) -> Zeroizing<Digest> {
        let labelled = Zeroizing::new([VERSION, self.suite_id, label, ikm].concat());
        Zeroizing::new(hkdf::extract(self.features, self.hash, salt, &labelled))
    }

    /// LabeledExpand: fills `out`.
    ///
    /// # Errors
    /// [`Error::Length`] for more than 255 digests.
    pub(super) fn expand(&self, prk: &[u8], label: &[u8], info: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let given = out.len();
        let too_long =
            |_| Error::Length { algorithm: NAME, what: "output", given, takes: "255 digests at most" };
        let len = u16::try_from(given).map_err(|_| too_long(()))?;
        let labelled = [&len.to_be_bytes(), VERSION, self.suite_id, label, info].concat();
        let key = Hkdf::with_key(HmacKey::new(self.features, self.hash, prk));
        key.expand(&labelled, out).map_err(|_| too_long(()))
    }
}

/// LabeledDerive: fills `out` from `ikm` by one call of a function with an output of any length.
///
/// # Errors
/// [`Error::Length`] for 65,536 bytes and more.
pub(super) fn derive(
    (features, xof): (Features, Xof),
    suite_id: &[u8],
    ikm: &[u8],
    label: &[u8],
    context: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    let len = prefix(out, "output")?;
    let mut shake = Shake::new(features, xof);
    for part in [ikm, VERSION, suite_id, &prefix(label, "label")?, label, &len, context] {
        shake.update(part);
    }
    shake.finish().squeeze(out);
    Ok(())
}

/// Returns the length of a text in two bytes.
pub(super) fn prefix(text: &[u8], what: &'static str) -> Result<[u8; 2], Error> {
    let len = u16::try_from(text.len());
    let takes = "65,535 bytes at most";
    len.map(u16::to_be_bytes).map_err(|_| Error::Length { algorithm: NAME, what, given: text.len(), takes })
}

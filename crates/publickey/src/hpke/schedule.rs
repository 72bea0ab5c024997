//! The key schedule: from a shared secret to the key, the nonces and the exporter's secret of a context.
//!
//! Ref. RFC 9180 §5.1; draft-ietf-hpke-hpke-02 (in one stage).

use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::derive::{Labelled, derive, prefix};
use super::suite::{Aead, Stages, Suite};
use super::{NAME, Psk, Setup};
use crate::Error;

/// Bytes of a nonce: the standard's Nn.
pub(super) const NONCE: usize = 12;

/// The secrets of a context.
pub(super) struct Secrets {
    pub(super) key: Zeroizing<Vec<u8>>,
    pub(super) base_nonce: [u8; NONCE],
    pub(super) exporter: Zeroizing<Vec<u8>>,
}

/// Derives the secrets of a context.
pub(super) fn derive_secrets<K>(
    features: Features,
    suite: Suite,
    shared: &[u8],
    setup: &Setup<'_, K>,
) -> Result<Secrets, Error> {
    let psk = checked(setup.psk)?;
    let nonce_len = if suite.aead == Aead::ExportOnly { 0 } else { NONCE };
    let mut secrets = Secrets {
        key: Zeroizing::new(vec![0; suite.aead.key_len()]),
        base_nonce: [0; NONCE],
        exporter: Zeroizing::new(vec![0; suite.kdf.secret_len()]),
    };
    let (id, mode) = (suite.id(), setup.mode());
    match suite.kdf.stages() {
        Stages::Two(hash) => {
            let labelled = Labelled { features, hash, suite_id: &id };
            let of_psk = labelled.extract(b"", b"psk_id_hash", psk.id);
            let of_info = labelled.extract(b"", b"info_hash", setup.info);
            let context = [&[mode], &of_psk[..], &of_info[..]].concat();
            let secret = labelled.extract(shared, b"secret", psk.key);
            labelled.expand(&secret, b"key", &context, &mut secrets.key)?;
            labelled.expand(&secret, b"base_nonce", &context, &mut secrets.base_nonce[..nonce_len])?;
            labelled.expand(&secret, b"exp", &context, &mut secrets.exporter)?;
        }
        Stages::One(xof) => {
            let (of_psk, of_shared) = (prefix(psk.key, "pre-shared key")?, prefix(shared, "secret")?);
            let ikm = Zeroizing::new([&of_psk, psk.key, &of_shared, shared].concat());
            let (of_id, of_info) = (prefix(psk.id, "name of a pre-shared key")?, prefix(setup.info, "info")?);
            let context = [&[mode], &of_id[..], psk.id, &of_info, setup.info].concat();
            let (key_len, exporter_len) = (secrets.key.len(), secrets.exporter.len());
            let mut all = Zeroizing::new(vec![0; key_len + nonce_len + exporter_len]);
            derive((features, xof), &id, &ikm, b"secret", &context, &mut all)?;
            secrets.key.copy_from_slice(&all[..key_len]);
            secrets.base_nonce[..nonce_len].copy_from_slice(&all[key_len..][..nonce_len]);
            secrets.exporter.copy_from_slice(&all[key_len + nonce_len..]);
        }
    }
    Ok(secrets)
}

/// Fills `out` with a secret for other purposes: RFC 9180 §5.3.
pub(super) fn export(
    features: Features,
    suite: Suite,
    exporter: &[u8],
    context: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    let id = suite.id();
    match suite.kdf.stages() {
        Stages::Two(hash) => {
            Labelled { features, hash, suite_id: &id }.expand(exporter, b"sec", context, out)
        }
        Stages::One(xof) => derive((features, xof), &id, exporter, b"sec", context, out),
    }
}

/// Checks a pre-shared key; none is an empty one.
fn checked(psk: Option<Psk<'_>>) -> Result<Psk<'_>, Error> {
    let Some(psk) = psk else { return Ok(Psk { key: &[], id: &[] }) };
    let wrong = |what, given, takes| Err(Error::Length { algorithm: NAME, what, given, takes });
    if psk.key.len() < 32 {
        return wrong("pre-shared key", psk.key.len(), "32 bytes at least");
    }
    if psk.id.is_empty() {
        return wrong("name of a pre-shared key", 0, "1 byte at least");
    }
    Ok(psk)
}

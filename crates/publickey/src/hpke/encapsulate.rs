//! The encapsulations: a shared secret, and the bytes from which the receiver gets it.
//!
//! Ref. RFC 9180 §4.1 (by Diffie-Hellman); draft-ietf-hpke-pq-03 §3 and §4 (ML-KEM and its hybrids).

use std::ops::Deref;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::NAME;
use super::derive::Labelled;
use super::keys::{Private, PrivateKey, Public, PublicKey};
use super::suite::Kem;
use crate::mlkem::MESSAGE;
use crate::{Error, Random};

/// A shared secret.
pub(super) type Secret = Zeroizing<Vec<u8>>;

/// Makes a secret for the owner of `peer`, and with a sender's key one that proves who he is. Returns the encapsulated key first.
pub(super) fn encapsulate(
    peer: &PublicKey,
    sender: Option<&PrivateKey>,
    random: &mut dyn Random,
) -> Result<(Vec<u8>, Secret), Error> {
    let (kem, features) = (peer.kem(), peer.features);
    match &peer.element {
        Public::MlKem(key) => {
            none_sends(sender)?;
            let mut message = Zeroizing::new([0; MESSAGE]);
            random.fill(&mut *message)?;
            let (ciphertext, secret) = key.encapsulate_message(&message);
            Ok((ciphertext, Zeroizing::new(secret.as_bytes().to_vec())))
        }
        Public::Hybrid(key) => {
            none_sends(sender)?;
            let (ciphertext, secret) = key.encapsulate(random)?;
            Ok((ciphertext, Zeroizing::new(secret.as_bytes().to_vec())))
        }
        Public::X25519(_) | Public::X448(_) | Public::Curve(_) => {
            let own = PrivateKey::generate(features, kem, random)?;
            let mut agreed = agree(&own, peer)?;
            let mut context = [own.public_key().as_bytes(), peer.as_bytes()].concat();
            if let Some(sender) = sender {
                agreed.extend_from_slice(&agree(sender, peer)?);
                context.extend(sender.public_key().as_bytes());
            }
            let secret = extract_and_expand(features, kem, &agreed, &context)?;
            Ok((own.public_key().as_bytes().to_vec(), secret))
        }
    }
}

/// Returns the secret in an encapsulated key.
pub(super) fn decapsulate(
    encapsulated: &[u8],
    key: &PrivateKey,
    sender: Option<&PublicKey>,
) -> Result<Secret, Error> {
    let (kem, features) = (key.kem(), key.features);
    match &key.scalar {
        Private::MlKem(key) => {
            none_sends(sender)?;
            Ok(Zeroizing::new(key.decapsulate(encapsulated)?.as_bytes().to_vec()))
        }
        Private::Hybrid(key) => {
            none_sends(sender)?;
            Ok(Zeroizing::new(key.decapsulate(encapsulated)?.as_bytes().to_vec()))
        }
        Private::X25519(_) | Private::X448(_) | Private::Curve(_) => {
            let share = PublicKey::new(features, kem, encapsulated)?;
            let mut agreed = agree(key, &share)?;
            let mut context = [encapsulated, key.public_key().as_bytes()].concat();
            if let Some(sender) = sender {
                agreed.extend_from_slice(&agree(key, sender)?);
                context.extend(sender.as_bytes());
            }
            extract_and_expand(features, kem, &agreed, &context)
        }
    }
}

/// Refuses a sender's key where nothing can be proved with it.
fn none_sends<K>(sender: Option<&K>) -> Result<(), Error> {
    match sender {
        None => Ok(()),
        Some(_) => Err(other_key()),
    }
}

/// Returns the error of a key that the suite does not take.
pub(super) fn other_key() -> Error {
    Error::Encoding {
        algorithm: NAME,
        what: "a key of another encapsulation, or of one without senders' keys,",
    }
}

/// Diffie-Hellman. Room is kept for a second result behind the first, so that the first is not left behind elsewhere.
fn agree(key: &PrivateKey, peer: &PublicKey) -> Result<Secret, Error> {
    let mut agreed = Zeroizing::new(Vec::with_capacity(2 * crate::ecdh::MAX_BYTES));
    match (&key.scalar, &peer.element) {
        (Private::X25519(key), Public::X25519(peer)) => agreed.extend(key.agree(peer)?.as_bytes()),
        (Private::X448(key), Public::X448(peer)) => agreed.extend(key.agree(peer)?.as_bytes()),
        (Private::Curve(key), Public::Curve(peer)) => agreed.extend(key.agree(peer)?.deref()),
        (
            Private::X25519(_)
            | Private::X448(_)
            | Private::Curve(_)
            | Private::MlKem(_)
            | Private::Hybrid(_),
            _,
        ) => return Err(other_key()),
    }
    Ok(agreed)
}

/// ExtractAndExpand: RFC 9180 §4.1.
fn extract_and_expand(features: Features, kem: Kem, agreed: &[u8], context: &[u8]) -> Result<Secret, Error> {
    let (suite_id, hash) = (kem.suite_id(), kem.hash());
    let labelled = Labelled { features, hash, suite_id: &suite_id };
    let prk = labelled.extract(b"", b"eae_prk", agreed);
    let mut secret = Zeroizing::new(vec![0; hash.output_len()]);
    labelled.expand(&prk, b"shared_secret", context, &mut secret)?;
    Ok(secret)
}

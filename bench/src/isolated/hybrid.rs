//! X25519MLKEM768 for the clients, on our own functions.
//!
//! Ref. draft-ietf-tls-ecdhe-mlkem §4.

use millstream::publickey::{Error, mlkem, x25519};
use millstream_cpu::Features;
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{NamedGroup, PeerMisbehaved};

const SET: mlkem::Set = mlkem::Set::MlKem768;

/// The group.
#[derive(Debug)]
pub struct X25519MlKem768;

impl SupportedKxGroup for X25519MlKem768 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, rustls::Error> {
        let mut bytes = [0; mlkem::SEED + 32];
        rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes)?;
        let (seed, scalar) = bytes.split_at(mlkem::SEED);
        let pair = |features| {
            Ok::<_, Error>((
                mlkem::PrivateKey::new(features, SET, seed)?,
                x25519::PrivateKey::new(features, scalar)?,
            ))
        };
        let (kem, curve) = pair(Features::hardware()).map_err(|e| rustls::Error::General(e.to_string()))?;
        let share = [kem.public_key().as_bytes(), curve.public_key().as_bytes()].concat();
        Ok(Box::new(Keys { kem, curve, share }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// The keys of a handshake.
struct Keys {
    kem: mlkem::PrivateKey,
    curve: x25519::PrivateKey,
    share: Vec<u8>,
}

impl ActiveKeyExchange for Keys {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, rustls::Error> {
        let secret = || {
            let (sent, point) = peer.split_at_checked(SET.ciphertext_len())?;
            let point = x25519::PublicKey::new(point).ok()?;
            let secrets = (self.kem.decapsulate(sent).ok()?, self.curve.agree(&point).ok()?);
            Some([&secrets.0.as_bytes()[..], secrets.1.as_bytes()].concat())
        };
        let secret = secret().ok_or(PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(&secret[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

//! The digests of fingerprints, and the HMAC of STUN and of packets in counter mode.
//!
//! Ref. RFC 3711 §4.2.1, RFC 8489 §14.5, RFC 8122 §5.

use millstream::hash::{self, Hash};
use millstream::hmac::HmacKey;
use str0m::crypto::{Sha1HmacProvider, Sha1Provider, Sha256Provider};

use crate::Engines;

impl Sha1HmacProvider for Engines {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        let mut hmac = HmacKey::new(self.features(), Hash::Sha1, key).start();
        payloads.iter().for_each(|payload| hmac.update(payload));
        let mut tag = [0; 20];
        tag.copy_from_slice(&hmac.finish());
        tag
    }
}

impl Sha1Provider for Engines {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        self.digest(Hash::Sha1, data)
    }
}

impl Sha256Provider for Engines {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        self.digest(Hash::Sha256, data)
    }
}

impl Engines {
    fn digest<const N: usize>(&self, hash: Hash, data: &[u8]) -> [u8; N] {
        let mut out = [0; N];
        hash::digest(self.features(), hash, data, &mut out).expect("the output is as long as the digest");
        out
    }
}

//! Hybrids of ML-KEM and a curve, which stay secret as long as either of the two does: X-Wing, and its kin on P-256 and P-384.
//!
//! A private key is a seed of 32 bytes. SHA3-256 over both secrets, the curve's share, the peer's point and a label gives the shared secret.
//!
//! Ref. draft-connolly-cfrg-xwing-kem-10 (X-Wing); draft-irtf-cfrg-concrete-hybrid-kems-02, as c2sp.org/hpke-hybrids has them together.

mod curve;
mod private;
mod public;

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, digest};
use millstream_engines::sha3::{Shake, Xof};
use zeroize::Zeroizing;

pub use self::private::PrivateKey;
pub use self::public::PublicKey;
use crate::ecdh::Curve;
use crate::mlkem::Set;
pub use crate::mlkem::SharedSecret;

/// Bytes of a private key, which is a seed.
pub const SEED: usize = 32;

/// The most random bytes that an encapsulation takes.
pub const MAX_RANDOMNESS: usize = 160;

/// A pair of ML-KEM and a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hybrid {
    /// X-Wing: ML-KEM-768 and X25519.
    MlKem768X25519,
    /// ML-KEM-768 and P-256.
    MlKem768P256,
    /// ML-KEM-1024 and P-384.
    MlKem1024P384,
}

impl Hybrid {
    /// All hybrids.
    pub const ALL: [Hybrid; 3] = [Hybrid::MlKem768X25519, Hybrid::MlKem768P256, Hybrid::MlKem1024P384];

    /// Returns the name, as in `mlkem768-x25519`.
    pub const fn name(self) -> &'static str {
        match self {
            Hybrid::MlKem768X25519 => "mlkem768-x25519",
            Hybrid::MlKem768P256 => "mlkem768-p256",
            Hybrid::MlKem1024P384 => "mlkem1024-p384",
        }
    }

    /// Returns the parameter set of ML-KEM.
    pub const fn set(self) -> Set {
        match self {
            Hybrid::MlKem768X25519 | Hybrid::MlKem768P256 => Set::MlKem768,
            Hybrid::MlKem1024P384 => Set::MlKem1024,
        }
    }

    /// Returns the bytes of a public key: 1216, 1249 or 1665.
    pub const fn public_key_len(self) -> usize {
        self.set().public_key_len() + self.element_len()
    }

    /// Returns the bytes of a ciphertext: 1120, 1153 or 1665.
    pub const fn ciphertext_len(self) -> usize {
        self.set().ciphertext_len() + self.element_len()
    }

    /// Returns the random bytes that an encapsulation takes: ML-KEM's 32, then those of the curve.
    pub const fn randomness(self) -> usize {
        crate::mlkem::MESSAGE + self.group_seed()
    }

    /// The curve; none stands for X25519.
    const fn curve(self) -> Option<Curve> {
        match self {
            Hybrid::MlKem768X25519 => None,
            Hybrid::MlKem768P256 => Some(Curve::P256),
            Hybrid::MlKem1024P384 => Some(Curve::P384),
        }
    }

    /// Bytes of a point.
    const fn element_len(self) -> usize {
        match self.curve() {
            None => crate::x25519::KEY,
            Some(curve) => 1 + 2 * curve.bytes(),
        }
    }

    /// Bytes of which a scalar is made: for P-256 four attempts, each of which fails once in 2^32.
    const fn group_seed(self) -> usize {
        match self {
            Hybrid::MlKem768X25519 => 32,
            Hybrid::MlKem768P256 => 128,
            Hybrid::MlKem1024P384 => 48,
        }
    }

    const fn label(self) -> &'static [u8] {
        match self {
            Hybrid::MlKem768X25519 => b"\\.//^\\",
            Hybrid::MlKem768P256 => b"MLKEM768-P256",
            Hybrid::MlKem1024P384 => b"MLKEM1024-P384",
        }
    }

    const fn takes_public_key(self) -> &'static str {
        match self {
            Hybrid::MlKem768X25519 => "1216 bytes",
            Hybrid::MlKem768P256 => "1249 bytes",
            Hybrid::MlKem1024P384 => "1665 bytes",
        }
    }

    const fn takes_ciphertext(self) -> &'static str {
        match self {
            Hybrid::MlKem768X25519 => "1120 bytes",
            Hybrid::MlKem768P256 => "1153 bytes",
            Hybrid::MlKem1024P384 => "1665 bytes",
        }
    }

    /// Combines the secrets of both parts.
    fn combine(
        self,
        features: Features,
        lattice: &SharedSecret,
        curve: &[u8],
        share: &[u8],
        peer: &[u8],
    ) -> SharedSecret {
        let parts = Zeroizing::new([lattice.as_bytes(), curve, share, peer, self.label()].concat());
        let mut secret = Zeroizing::new([0; 32]);
        digest(features, Hash::Sha3_256, &parts, &mut *secret).expect("SHA3-256 has 32 bytes");
        SharedSecret::from_bytes(*secret)
    }
}

impl fmt::Display for Hybrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Fills `out` with SHAKE256 of a text.
pub(crate) fn shake256(features: Features, text: &[u8], out: &mut [u8]) {
    let mut shake = Shake::new(features, Xof::Shake256);
    shake.update(text);
    shake.finish().squeeze(out);
}

//! Key encapsulation: ML-KEM alone, and ML-KEM together with a key agreement on an elliptic curve.
//!
//! A hybrid is the concatenation of both: of the public keys, of the ciphertexts (the ephemeral public key stands for the
//! agreement's) and of the secrets, in the same order everywhere. X25519MLKEM768 has ML-KEM first, and the hybrids with NIST's curves
//! have the curve first. ML-KEM alone is the hybrid with a partner that has no bytes.
//!
//! Ref. FIPS 203; draft-ietf-tls-ecdhe-mlkem §4; EVP_KEM-ML-KEM(7), EVP_PKEY-ML-KEM(7).

pub mod encapsulation;
pub mod key;
mod partner;

use std::ffi::CStr;

use der::asn1::ObjectIdentifier;
use millstream::publickey::mlkem::{MESSAGE, PrivateKey, PublicKey, SECRET, Set};
use zeroize::Zeroizing;

use self::partner::{Alone, P256, P384, Partner, X25519};
use super::raw::Encoded;
use super::{System, features};
use crate::count::Rows;
use crate::error::{Reason, Result};

/// A mechanism of key encapsulation.
pub trait Kem: 'static {
    /// OpenSSL's names of the type of key and of the mechanism.
    const NAMES: &'static CStr;
    /// The name of the type of key among them by which TLS knows it.
    const NAME: &'static CStr;
    /// The name in counters.
    const COUNTED: &'static str;
    /// The group in TLS 1.3: its name and its number.
    const GROUP: (&'static CStr, u16);
    /// The parameter set of ML-KEM.
    const SET: Set;
    /// The key agreement beside it.
    type Partner: Partner;

    /// Returns the rows of its counters.
    fn rows() -> &'static Rows;

    /// The bytes of a public key.
    const PUBLIC: usize = Self::SET.public_key_len() + Self::Partner::PUBLIC;
    /// The bytes of a private key.
    const PRIVATE: usize = Self::SET.expanded_key_len() + Self::Partner::PRIVATE;
    /// The bytes of a ciphertext.
    const CIPHERTEXT: usize = Self::SET.ciphertext_len() + Self::Partner::PUBLIC;
    /// The bytes of a shared secret.
    const SECRET: usize = SECRET + Self::Partner::SECRET;
    /// True for ML-KEM alone, whose keys have a seed.
    const ALONE: bool = Self::Partner::PUBLIC == 0;
}

/// Defines the mechanisms: `name = names, name in TLS, name in counters, group, set, partner;`.
macro_rules! kems {
    ($($(#[$doc:meta])* $kem:ident = $names:literal, $name:literal, $counted:literal, $group:literal, $id:literal,
       $set:ident, $partner:ty;)*) => {
        $(
            $(#[$doc])*
            pub struct $kem;

            impl Kem for $kem {
                const NAMES: &'static CStr = $names;
                const NAME: &'static CStr = $name;
                const COUNTED: &'static str = $counted;
                const GROUP: (&'static CStr, u16) = ($group, $id);
                const SET: Set = Set::$set;
                type Partner = $partner;

                fn rows() -> &'static Rows {
                    static ROWS: Rows = Rows::new();
                    &ROWS
                }
            }
        )*
    };
}

kems! {
    /// ML-KEM-512.
    MlKem512 = c"ML-KEM-512:MLKEM512:id-alg-ml-kem-512:2.16.840.1.101.3.4.4.1", c"ML-KEM-512", "ml-kem-512",
        c"MLKEM512", 0x0200, MlKem512, Alone;
    /// ML-KEM-768.
    MlKem768 = c"ML-KEM-768:MLKEM768:id-alg-ml-kem-768:2.16.840.1.101.3.4.4.2", c"ML-KEM-768", "ml-kem-768",
        c"MLKEM768", 0x0201, MlKem768, Alone;
    /// ML-KEM-1024.
    MlKem1024 = c"ML-KEM-1024:MLKEM1024:id-alg-ml-kem-1024:2.16.840.1.101.3.4.4.3", c"ML-KEM-1024", "ml-kem-1024",
        c"MLKEM1024", 0x0202, MlKem1024, Alone;
    /// ML-KEM-768 and X25519.
    X25519MlKem768 = c"X25519MLKEM768", c"X25519MLKEM768", "x25519-ml-kem-768",
        c"X25519MLKEM768", 0x11ec, MlKem768, X25519;
    /// P-256 and ML-KEM-768.
    P256MlKem768 = c"SecP256r1MLKEM768", c"SecP256r1MLKEM768", "p256-ml-kem-768",
        c"SecP256r1MLKEM768", 0x11eb, MlKem768, P256;
    /// P-384 and ML-KEM-1024.
    P384MlKem1024 = c"SecP384r1MLKEM1024", c"SecP384r1MLKEM1024", "p384-ml-kem-1024",
        c"SecP384r1MLKEM1024", 0x11ed, MlKem1024, P384;
}

/// Says how keys of ML-KEM are called in files. Those of hybrids are in none.
macro_rules! encoded {
    ($($kem:ident = $oid:literal;)*) => {
        $(impl Encoded for $kem {
            const OID: ObjectIdentifier = ObjectIdentifier::new_unwrap($oid);
            const NAME: &'static CStr = <$kem as Kem>::NAME;
            const LABELS: [&'static str; 2] = ["dk", "ek"];
            const OUTPUT_FORMATS: Option<&'static CStr> = Some(c"ml-kem.output_formats");
        })*
    };
}

encoded! {
    MlKem512 = "2.16.840.1.101.3.4.4.1";
    MlKem768 = "2.16.840.1.101.3.4.4.2";
    MlKem1024 = "2.16.840.1.101.3.4.4.3";
}

/// Returns the bits of security of a parameter set, and NIST's category of it. Ref. FIPS 203 §8, table 2; SP 800-57 Part 1.
pub const fn strength(set: Set) -> (usize, usize) {
    match set {
        Set::MlKem512 => (128, 1),
        Set::MlKem768 => (192, 3),
        Set::MlKem1024 => (256, 5),
    }
}

/// The public parts of a key.
pub struct Public<K: Kem> {
    lattice: PublicKey,
    partner: <K::Partner as Partner>::Public,
    /// Both, encoded.
    bytes: Box<[u8]>,
}

impl<K: Kem> Public<K> {
    /// Takes an encoded key, whose parts are checked.
    fn new(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != K::PUBLIC {
            return Err(Reason::INVALID_KEY_LENGTH.because(wrong("public key", bytes.len(), K::PUBLIC)));
        }
        let (lattice, partner) = split::<K>(bytes, K::SET.public_key_len());
        Ok(Public {
            lattice: PublicKey::new(features()?, K::SET, lattice)?,
            partner: K::Partner::public(partner)?,
            bytes: bytes.into(),
        })
    }
}

/// The private parts of a key, and its public ones.
pub struct Private<K: Kem> {
    lattice: PrivateKey,
    partner: <K::Partner as Partner>::Private,
    /// The partner's public part.
    partner_public: <K::Partner as Partner>::Public,
    /// Both public parts, encoded.
    bytes: Box<[u8]>,
}

impl<K: Kem> Private<K> {
    /// Makes a key of a seed, or of random bytes.
    fn generate(seed: Option<&[u8]>) -> Result<Self> {
        let lattice = match seed {
            Some(seed) => PrivateKey::new(features()?, K::SET, seed)?,
            None => PrivateKey::generate(features()?, K::SET, &mut System)?,
        };
        Self::of(lattice, K::Partner::generate()?)
    }

    /// Takes a private key: ML-KEM's in its expanded form, and the partner's. Both halves of ML-KEM's are tried on each other, because an
    /// expanded key may have those of two keys.
    fn new(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != K::PRIVATE {
            return Err(Reason::INVALID_KEY_LENGTH.because(wrong("private key", bytes.len(), K::PRIVATE)));
        }
        let (lattice, partner) = split::<K>(bytes, K::SET.expanded_key_len());
        let lattice = PrivateKey::new(features()?, K::SET, lattice)?;
        let key = Self::of(lattice, K::Partner::private(partner)?)?;
        key.try_halves()?;
        Ok(key)
    }

    fn of(lattice: PrivateKey, partner: <K::Partner as Partner>::Private) -> Result<Self> {
        let partner_public = K::Partner::public_of(&partner);
        let mut bytes = vec![0; K::PUBLIC];
        let (at, partner_at) = split_mut::<K>(&mut bytes, K::SET.public_key_len());
        at.copy_from_slice(lattice.public_key().as_bytes());
        K::Partner::encode(&partner_public, partner_at);
        Ok(Private { lattice, partner, partner_public, bytes: bytes.into() })
    }

    /// Fails unless the private half of ML-KEM's key opens what its public half has sealed.
    fn try_halves(&self) -> Result<()> {
        let (ciphertext, secret) = self.lattice.public_key().encapsulate(&mut System)?;
        if self.lattice.decapsulate(&ciphertext)? == secret {
            Ok(())
        } else {
            Err(Reason::INVALID_KEY.with("the halves of the private key do not belong together"))
        }
    }

    /// Returns the key's encoding.
    fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(vec![0; K::PRIVATE]);
        let (at, partner_at) = split_mut::<K>(&mut bytes, K::SET.expanded_key_len());
        at.copy_from_slice(&self.lattice.to_expanded());
        K::Partner::write(&self.partner, partner_at)?;
        Ok(bytes)
    }

    /// Returns the public parts as a key of their own.
    fn to_public(&self) -> Public<K> {
        Public {
            lattice: self.lattice.public_key().clone(),
            partner: self.partner_public.clone(),
            bytes: self.bytes.clone(),
        }
    }

    /// Writes the shared secret in a ciphertext.
    fn decapsulate(&self, ciphertext: &[u8], out: &mut [u8]) -> Result<()> {
        if ciphertext.len() != K::CIPHERTEXT {
            return Err(Reason::WRONG_CIPHERTEXT_SIZE.because(wrong(
                "ciphertext",
                ciphertext.len(),
                K::CIPHERTEXT,
            )));
        }
        let (lattice, partner) = split::<K>(ciphertext, K::SET.ciphertext_len());
        let mut secret = Zeroizing::new(vec![0; K::SECRET]);
        let (at, partner_at) = split_mut::<K>(&mut secret, SECRET);
        K::Partner::agree(&self.partner, &K::Partner::public(partner)?, partner_at)?;
        at.copy_from_slice(self.lattice.decapsulate(lattice)?.as_bytes());
        out.copy_from_slice(&secret);
        Ok(())
    }
}

/// Makes a shared secret for the owner of a public key, and its ciphertext. ML-KEM's part is of `message`. Nothing is written on failure.
fn encapsulate<K: Kem>(
    (lattice, partner): (&PublicKey, &<K::Partner as Partner>::Public),
    message: &[u8; MESSAGE],
    (ciphertext, out): (&mut [u8], &mut [u8]),
) -> Result<()> {
    let mut secret = Zeroizing::new(vec![0; K::SECRET]);
    let (at, partner_at) = split_mut::<K>(&mut secret, SECRET);
    let ephemeral = K::Partner::generate()?;
    K::Partner::agree(&ephemeral, partner, partner_at)?;
    let (sealed, shared) = lattice.encapsulate_message(message);
    at.copy_from_slice(shared.as_bytes());
    let (sealed_at, share_at) = split_mut::<K>(ciphertext, K::SET.ciphertext_len());
    sealed_at.copy_from_slice(&sealed);
    K::Partner::encode(&K::Partner::public_of(&ephemeral), share_at);
    out.copy_from_slice(&secret);
    Ok(())
}

/// Splits bytes into ML-KEM's, which are so many, and the partner's.
fn split<K: Kem>(bytes: &[u8], lattice: usize) -> (&[u8], &[u8]) {
    if K::Partner::FIRST {
        let (partner, lattice) = bytes.split_at(bytes.len() - lattice);
        (lattice, partner)
    } else {
        bytes.split_at(lattice)
    }
}

/// Does the same with bytes that are to be written.
fn split_mut<K: Kem>(bytes: &mut [u8], lattice: usize) -> (&mut [u8], &mut [u8]) {
    if K::Partner::FIRST {
        let (partner, lattice) = bytes.split_at_mut(bytes.len() - lattice);
        (lattice, partner)
    } else {
        bytes.split_at_mut(lattice)
    }
}

fn wrong(what: &str, given: usize, takes: usize) -> String {
    format!("the {what} has {given} bytes; it has to have {takes}")
}

//! Keys of ML-KEM, ML-DSA and SLH-DSA: their names in ASN.1, and the forms of a private key in PKCS#8.
//!
//! Ref. RFC 9935 §4 to §6 (ML-KEM), RFC 9881 §4 to §6 (ML-DSA), RFC 9909 §3 to §6 (SLH-DSA).

use der::asn1::{AnyRef, ObjectIdentifier, OctetStringRef};
use der::{Decode, Encode, SliceReader, Tag, Tagged};
use millstream_cpu::Features;
use millstream_engines::compare::begins;
use millstream_publickey::{mldsa, mlkem, slhdsa};
use zeroize::Zeroizing;

use super::{Key, Kind, Secret, bad, publickey_error};
use crate::error::Error;

/// The parameter set of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    Kem(mlkem::Set),
    Signer(mldsa::Set),
    Hashes(slhdsa::Set),
}

/// The kinds on lattices, with their sets and object identifiers.
const LATTICES: [(Kind, Set, ObjectIdentifier); 6] = [
    (Kind::MlKem512, Set::Kem(mlkem::Set::MlKem512), oid("2.16.840.1.101.3.4.4.1")),
    (Kind::MlKem768, Set::Kem(mlkem::Set::MlKem768), oid("2.16.840.1.101.3.4.4.2")),
    (Kind::MlKem1024, Set::Kem(mlkem::Set::MlKem1024), oid("2.16.840.1.101.3.4.4.3")),
    (Kind::MlDsa44, Set::Signer(mldsa::Set::MlDsa44), oid("2.16.840.1.101.3.4.3.17")),
    (Kind::MlDsa65, Set::Signer(mldsa::Set::MlDsa65), oid("2.16.840.1.101.3.4.3.18")),
    (Kind::MlDsa87, Set::Signer(mldsa::Set::MlDsa87), oid("2.16.840.1.101.3.4.3.19")),
];

/// The sets of SLH-DSA, with their object identifiers.
const HASHES: [(slhdsa::Set, ObjectIdentifier); 12] = [
    (slhdsa::Set::Sha2_128s, oid("2.16.840.1.101.3.4.3.20")),
    (slhdsa::Set::Sha2_128f, oid("2.16.840.1.101.3.4.3.21")),
    (slhdsa::Set::Sha2_192s, oid("2.16.840.1.101.3.4.3.22")),
    (slhdsa::Set::Sha2_192f, oid("2.16.840.1.101.3.4.3.23")),
    (slhdsa::Set::Sha2_256s, oid("2.16.840.1.101.3.4.3.24")),
    (slhdsa::Set::Sha2_256f, oid("2.16.840.1.101.3.4.3.25")),
    (slhdsa::Set::Shake128s, oid("2.16.840.1.101.3.4.3.26")),
    (slhdsa::Set::Shake128f, oid("2.16.840.1.101.3.4.3.27")),
    (slhdsa::Set::Shake192s, oid("2.16.840.1.101.3.4.3.28")),
    (slhdsa::Set::Shake192f, oid("2.16.840.1.101.3.4.3.29")),
    (slhdsa::Set::Shake256s, oid("2.16.840.1.101.3.4.3.30")),
    (slhdsa::Set::Shake256f, oid("2.16.840.1.101.3.4.3.31")),
];

const fn oid(name: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(name)
}

/// The tag of a seed, which is 0, context-specific and implicit.
const SEED: u8 = 0x80;

/// Returns the set of a kind, if it is one that has sets.
pub(super) fn set_of(kind: Kind) -> Option<Set> {
    if let Kind::SlhDsa(set) = kind {
        return Some(Set::Hashes(set));
    }
    LATTICES.iter().find(|(known, ..)| *known == kind).map(|(_, set, _)| *set)
}

/// Returns the name of a kind in ASN.1.
pub(super) fn oid_of(kind: Kind) -> Option<ObjectIdentifier> {
    if let Kind::SlhDsa(set) = kind {
        return HASHES.iter().find(|(known, _)| *known == set).map(|(_, oid)| *oid);
    }
    LATTICES.iter().find(|(known, ..)| *known == kind).map(|(.., oid)| *oid)
}

/// Returns the kind of that name in ASN.1.
pub(super) fn kind_of(name: ObjectIdentifier) -> Option<Kind> {
    let of_hashes = HASHES.iter().find(|(_, oid)| *oid == name).map(|(set, _)| Kind::SlhDsa(*set));
    of_hashes.or_else(|| LATTICES.iter().find(|(.., oid)| *oid == name).map(|(kind, ..)| *kind))
}

impl Set {
    /// Returns the bytes that a key is made from: a seed, or the three seeds of SLH-DSA.
    pub(super) const fn seed_len(self) -> usize {
        match self {
            Set::Kem(_) => mlkem::SEED,
            Set::Signer(_) => mldsa::SEED,
            Set::Hashes(set) => set.seeds_len(),
        }
    }

    /// Returns the length of a key in bits, as people are told it: that of the seed, and of SLH-DSA that of the private key.
    pub(super) const fn bits(self) -> usize {
        match self {
            Set::Kem(_) | Set::Signer(_) => 8 * self.seed_len(),
            Set::Hashes(set) => 8 * set.private_key_len(),
        }
    }

    /// Checks a private key, and returns it in the form that is kept: as it is given, and of SLH-DSA always the whole key.
    ///
    /// # Errors
    /// [`Error::Key`] for another number of bytes, and for an expanded or a whole key that does not fit its public part.
    pub(super) fn kept(self, features: Features, secret: &[u8]) -> Result<Secret, Error> {
        match self {
            Set::Kem(_) | Set::Signer(_) => {
                self.public(features, secret)?;
                Ok(Zeroizing::new(secret.to_vec()))
            }
            Set::Hashes(set) => Ok(of_hashes(features, set, secret)?.to_bytes()),
        }
    }

    /// Returns the public key of a private key in any of its forms.
    ///
    /// # Errors
    /// [`Error::Key`] where it is none.
    pub(super) fn public(self, features: Features, secret: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Set::Kem(set) => {
                let key = mlkem::PrivateKey::new(features, set, secret).map_err(publickey_error)?;
                Ok(key.public_key().as_bytes().to_vec())
            }
            Set::Signer(set) => {
                let key = mldsa::PrivateKey::new(features, set, secret).map_err(publickey_error)?;
                Ok(key.public_key().as_bytes().to_vec())
            }
            // The whole key ends with its public key: FIPS 205 §9.1. That was checked when the key was taken.
            Set::Hashes(set) if secret.len() == set.private_key_len() => {
                Ok(secret[secret.len() - set.public_key_len()..].to_vec())
            }
            Set::Hashes(set) => Ok(of_hashes(features, set, secret)?.public_key().as_bytes().to_vec()),
        }
    }

    /// Checks the encoding of a public key.
    ///
    /// # Errors
    /// [`Error::Key`] where it is none.
    pub(super) fn check_public(self, features: Features, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Set::Kem(set) => mlkem::PublicKey::new(features, set, bytes).map(|_| ()),
            Set::Signer(set) => mldsa::PublicKey::new(features, set, bytes).map(|_| ()),
            Set::Hashes(set) => slhdsa::PublicKey::new(features, set, bytes).map(|_| ()),
        }
        .map_err(publickey_error)
    }

    /// Returns the long form of a seed.
    fn expanded(self, features: Features, seed: &[u8]) -> Result<Secret, Error> {
        match self {
            Set::Kem(set) => mlkem::PrivateKey::new(features, set, seed).map(|key| key.to_expanded()),
            Set::Signer(set) => mldsa::PrivateKey::new(features, set, seed).map(|key| key.to_expanded()),
            Set::Hashes(set) => slhdsa::PrivateKey::from_seeds(features, set, seed).map(|key| key.to_bytes()),
        }
        .map_err(publickey_error)
    }
}

/// Returns a key of SLH-DSA, of its three seeds or whole.
fn of_hashes(features: Features, set: slhdsa::Set, secret: &[u8]) -> Result<slhdsa::PrivateKey, Error> {
    let key = if secret.len() == set.seeds_len() {
        slhdsa::PrivateKey::from_seeds(features, set, secret)
    } else {
        slhdsa::PrivateKey::new(features, set, secret)
    };
    key.map_err(publickey_error)
}

/// Reads the private key inside PKCS#8: a seed, an expanded key, or both, which must be the same key. A key of SLH-DSA is there as it is.
pub(super) fn read(features: Features, kind: Kind, set: Set, der: &[u8]) -> Result<Key, Error> {
    if let Set::Hashes(set) = set {
        // Seeds have no place in a file: RFC 9909 §6.
        return if der.len() == set.private_key_len() {
            Key::new(features, kind, der)
        } else {
            Err(bad(format!("a key of {kind} of {} bytes; it takes {}", der.len(), set.private_key_len())))
        };
    }
    let wrong = |_: der::Error| bad(format!("a key of {kind} that is neither a seed nor an expanded key"));
    if let [SEED, len, seed @ ..] = der
        && usize::from(*len) == set.seed_len()
        && seed.len() == set.seed_len()
    {
        return Key::new(features, kind, seed);
    }
    let any = AnyRef::from_der(der).map_err(wrong)?;
    match any.tag() {
        // A seed has a tag of its own, so a string of bytes is an expanded key, as long as that.
        Tag::OctetString if any.value().len() != set.seed_len() => Key::new(features, kind, any.value()),
        Tag::Sequence => {
            let mut reader = SliceReader::new(any.value()).map_err(wrong)?;
            let seed = <&OctetStringRef>::decode(&mut reader).map_err(wrong)?.as_bytes();
            let given = <&OctetStringRef>::decode(&mut reader).map_err(wrong)?.as_bytes();
            if !der::Reader::is_finished(&reader) || seed.len() != set.seed_len() {
                return Err(bad(format!("a key of {kind} with a seed of another length")));
            }
            let expanded = set.expanded(features, seed)?;
            // The verdict is public: RFC 9935 §8, RFC 9881 §8.
            let same = expanded.len() == given.len() && bool::from(begins(&expanded, given));
            if same {
                Key::new(features, kind, seed)
            } else {
                Err(bad(format!("a key of {kind} whose seed and expanded key are of two keys")))
            }
        }
        _ => Err(bad(format!("a key of {kind} that is neither a seed nor an expanded key"))),
    }
}

/// Writes what is inside PKCS#8: the seed, or the expanded key where no seed is known. A key of SLH-DSA is there as it is.
pub(super) fn write(set: Set, secret: &[u8]) -> Result<Secret, Error> {
    if matches!(set, Set::Hashes(_)) {
        return Ok(Zeroizing::new(secret.to_vec()));
    }
    if secret.len() == set.seed_len() {
        return Ok(Zeroizing::new([&[SEED, secret.len() as u8], secret].concat()));
    }
    let expanded = OctetStringRef::new(secret).map_err(|error| bad(error.to_string()))?;
    let mut room = Zeroizing::new(vec![0; secret.len() + 8]);
    let len = expanded.encode_to_slice(&mut room).map_err(|error| bad(error.to_string()))?.len();
    room.truncate(len);
    Ok(room)
}

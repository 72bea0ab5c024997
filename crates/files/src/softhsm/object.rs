//! Objects of SoftHSM2, and the keys in them.
//!
//! Ref. PKCS #11 3.1 §4 (attributes), §6.1 (RSA), §6.3 (elliptic curves), §6.8 (generic secrets), §6.10 (AES).

use std::path::PathBuf;

use der::Decode;
use der::asn1::OctetStringRef;
use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aes::Ecb;
use millstream_engines::hash::{Hash, digest};
use millstream_engines::modes::BlockMode;
use millstream_publickey::rsa::Components;

use super::Error;
use super::attributes::{Attributes, cka};
use super::pin::Master;
use crate::key::asn1::curve_in;
use crate::key::{Key, Kind, PublicKey, Secret};

/// The types of keys (PKCS #11 3.1 appendix B).
mod ckk {
    pub const RSA: u64 = 0;
    pub const EC: u64 = 3;
    pub const GENERIC_SECRET: u64 = 0x10;
    pub const AES: u64 = 0x1f;
    pub const SHA_1_HMAC: u64 = 0x28;
    pub const SHA256_HMAC: u64 = 0x2b;
    pub const SHA224_HMAC: u64 = 0x2e;
    pub const EC_EDWARDS: u64 = 0x40;
    pub const EC_MONTGOMERY: u64 = 0x41;
}

/// The names of other types, for messages.
const OTHER_TYPES: [(u64, &str); 9] = [
    (1, "DSA"),
    (2, "Diffie-Hellman"),
    (0x13, "DES"),
    (0x14, "double-length DES"),
    (0x15, "triple DES"),
    (0x27, "HMAC-MD5"),
    (0x30, "GOST R 34.10"),
    (0x31, "HMAC of GOST R 34.11"),
    (0x32, "GOST 28147"),
];

/// The attributes that restrict a key, and the restriction.
const RESTRICTIONS: [(u64, &str); 7] = [
    (cka::ALWAYS_AUTHENTICATE, "a PIN before each use"),
    (cka::WRAP_WITH_TRUSTED, "wrapping by trusted keys alone"),
    (cka::START_DATE, "a first day"),
    (cka::END_DATE, "a last day"),
    (cka::WRAP_TEMPLATE, "a template for keys that it wraps"),
    (cka::UNWRAP_TEMPLATE, "a template for keys that it unwraps"),
    (cka::ALLOWED_MECHANISMS, "a list of mechanisms"),
];

/// The class of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Data of an application.
    Data,
    /// A certificate.
    Certificate,
    /// A public key.
    PublicKey,
    /// A private key.
    PrivateKey,
    /// A secret key.
    SecretKey,
    /// Another class, by its number: domain parameters, or a newer one.
    Other(u64),
}

impl Class {
    /// Returns the name, as in `private key`.
    pub fn name(self) -> &'static str {
        match self {
            Class::Data => "data",
            Class::Certificate => "certificate",
            Class::PublicKey => "public key",
            Class::PrivateKey => "private key",
            Class::SecretKey => "secret key",
            Class::Other(_) => "other object",
        }
    }
}

/// A use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Encrypting.
    Encrypt,
    /// Decrypting.
    Decrypt,
    /// Signing, or computing a MAC.
    Sign,
    /// Verifying.
    Verify,
    /// Deriving other keys.
    Derive,
    /// Wrapping other keys.
    Wrap,
    /// Unwrapping other keys.
    Unwrap,
}

impl Use {
    /// Every use.
    pub const ALL: [Use; 7] =
        [Use::Encrypt, Use::Decrypt, Use::Sign, Use::Verify, Use::Derive, Use::Wrap, Use::Unwrap];

    /// Returns the name, as in `encrypt`.
    pub fn name(self) -> &'static str {
        match self {
            Use::Encrypt => "encrypt",
            Use::Decrypt => "decrypt",
            Use::Sign => "sign",
            Use::Verify => "verify",
            Use::Derive => "derive",
            Use::Wrap => "wrap",
            Use::Unwrap => "unwrap",
        }
    }

    fn attribute(self) -> u64 {
        match self {
            Use::Encrypt => cka::ENCRYPT,
            Use::Decrypt => cka::DECRYPT,
            Use::Sign => cka::SIGN,
            Use::Verify => cka::VERIFY,
            Use::Derive => cka::DERIVE,
            Use::Wrap => cka::WRAP,
            Use::Unwrap => cka::UNWRAP,
        }
    }

    /// Returns true if objects of a class have a flag for this use.
    fn is_of(self, class: Class) -> bool {
        match class {
            Class::SecretKey => true,
            Class::PublicKey => matches!(self, Use::Encrypt | Use::Verify | Use::Wrap | Use::Derive),
            Class::PrivateKey => matches!(self, Use::Decrypt | Use::Sign | Use::Unwrap | Use::Derive),
            _ => false,
        }
    }
}

/// The contents of an object.
#[derive(Clone, Debug)]
pub enum Contents {
    /// A private or secret key.
    Key(Key),
    /// A public key.
    Public(PublicKey),
    /// Something that is no key here, for this reason.
    Other(String),
}

/// An object of a token.
#[derive(Clone, Debug)]
pub struct Object {
    /// The file.
    pub path: PathBuf,
    /// The class.
    pub class: Class,
    /// The label (`CKA_LABEL`), which may be empty, and need not be UTF-8.
    pub label: Vec<u8>,
    /// The application's identifier (`CKA_ID`), which may be empty.
    pub id: Vec<u8>,
    /// The uses of a key.
    pub uses: Vec<Use>,
    /// True for a key whose bytes may leave the token: it is extractable and not sensitive.
    pub exportable: bool,
    /// The restrictions of the key beside its uses, in words.
    pub restrictions: Vec<&'static str>,
    /// The key, or the reason why there is none.
    pub contents: Contents,
}

impl Object {
    /// Reads an object.
    pub(super) fn read(
        features: Features,
        master: &Master,
        attributes: &Attributes<'_>,
    ) -> Result<Object, Error> {
        let reader = Reader { features, master, attributes, is_sealed: attributes.flag(cka::PRIVATE)? };
        let class = match attributes.number(cka::CLASS)? {
            0 => Class::Data,
            1 => Class::Certificate,
            2 => Class::PublicKey,
            3 => Class::PrivateKey,
            4 => Class::SecretKey,
            other => Class::Other(other),
        };
        let is_secret = matches!(class, Class::PrivateKey | Class::SecretKey);
        let mut uses = Vec::new();
        for each in Use::ALL {
            if each.is_of(class) && attributes.flag(each.attribute())? {
                uses.push(each);
            }
        }
        let exportable =
            is_secret && attributes.flag(cka::EXTRACTABLE)? && !attributes.flag(cka::SENSITIVE)?;
        if is_secret {
            // A file that was cut off before this attribute would have lost restrictions, too.
            attributes.flag(cka::WRAP_WITH_TRUSTED)?;
        }
        let restricting = RESTRICTIONS.iter().filter(|(kind, _)| is_secret && attributes.says(*kind));
        let contents = match class {
            Class::PrivateKey => reader.private_key()?,
            Class::SecretKey => reader.secret_key()?,
            Class::PublicKey => reader.public_key()?,
            Class::Certificate | Class::Data => Contents::Other(
                "no key; pkcs11-tool and libmillstream-pkcs11.so bring such objects".to_owned(),
            ),
            Class::Other(number) => Contents::Other(format!("no key, but an object of the class {number}")),
        };
        Ok(Object {
            path: attributes.path().to_owned(),
            class,
            label: reader.optional(cka::LABEL)?.to_vec(),
            id: reader.optional(cka::ID)?.to_vec(),
            uses,
            exportable,
            restrictions: restricting.map(|(_, what)| *what).collect(),
            contents,
        })
    }
}

/// The attributes of an object, whose bytes may be sealed.
struct Reader<'a> {
    features: Features,
    master: &'a Master,
    attributes: &'a Attributes<'a>,
    is_sealed: bool,
}

impl Reader<'_> {
    /// Returns the bytes of an attribute; none where it is missing or empty.
    fn optional(&self, kind: u64) -> Result<Secret, Error> {
        let stored = self.attributes.stored(kind)?.unwrap_or_default();
        if !self.is_sealed {
            return Ok(Secret::new(stored.to_vec()));
        }
        let unsealed = self.master.unseal(stored);
        unsealed.ok_or_else(|| {
            self.attributes.damaged(format!("the attribute {kind:#x} is not sealed by this token"))
        })
    }

    /// Returns the bytes of an attribute that has to be there.
    fn bytes(&self, kind: u64) -> Result<Secret, Error> {
        let bytes = self.optional(kind)?;
        if bytes.is_empty() {
            return Err(self.attributes.lacks(&format!("attribute {kind:#x}")));
        }
        Ok(bytes)
    }

    fn key_type(&self) -> Result<u64, Error> {
        self.attributes.number(cka::KEY_TYPE)
    }

    fn private_key(&self) -> Result<Contents, Error> {
        let key = match self.key_type()? {
            ckk::RSA => return self.rsa_key(),
            ckk::EC | ckk::EC_EDWARDS | ckk::EC_MONTGOMERY => {
                let (parameters, value) = (self.bytes(cka::EC_PARAMS)?, self.bytes(cka::VALUE)?);
                match curve_in(&parameters) {
                    Ok(kind @ (Kind::Ed25519 | Kind::X25519)) => Key::new(self.features, kind, &value),
                    Ok(kind) => Key::from_scalar(self.features, kind, &value),
                    Err(error) => return Ok(Contents::Other(error.to_string())),
                }
            }
            other => return Ok(unknown(other)),
        };
        key.map(Contents::Key).map_err(|error| self.attributes.damaged(error.to_string()))
    }

    fn rsa_key(&self) -> Result<Contents, Error> {
        let (modulus, public_exponent) = (self.bytes(cka::MODULUS)?, self.bytes(cka::PUBLIC_EXPONENT)?);
        if let Err(error) = PublicKey::from_rsa(self.features, &modulus, &public_exponent) {
            return Ok(Contents::Other(error.to_string()));
        }
        let [p, q] = [self.optional(cka::PRIME_1)?, self.optional(cka::PRIME_2)?];
        if p.is_empty() || q.is_empty() {
            return Ok(Contents::Other("an RSA key without its two primes".to_owned()));
        }
        let key = Key::from_rsa(
            self.features,
            &Components {
                modulus: &modulus,
                public_exponent: &public_exponent,
                private_exponent: &self.bytes(cka::PRIVATE_EXPONENT)?,
                p: &p,
                q: &q,
                dp: &self.bytes(cka::EXPONENT_1)?,
                dq: &self.bytes(cka::EXPONENT_2)?,
                inverse: &self.bytes(cka::COEFFICIENT)?,
            },
        );
        key.map(Contents::Key).map_err(|error| self.attributes.damaged(error.to_string()))
    }

    fn secret_key(&self) -> Result<Contents, Error> {
        let kind = match self.key_type()? {
            ckk::AES => Kind::Aes,
            ckk::GENERIC_SECRET | ckk::SHA_1_HMAC | ckk::SHA256_HMAC..=ckk::SHA224_HMAC => Kind::Hmac,
            other => return Ok(unknown(other)),
        };
        let value = self.bytes(cka::VALUE)?;
        let key = match Key::new(self.features, kind, &value) {
            Ok(key) => key,
            Err(error) => return Ok(Contents::Other(error.to_string())),
        };
        // Nothing else authenticates the bytes of a secret key.
        let told = self.optional(cka::CHECK_VALUE)?;
        if !told.is_empty() && told[..] != check_value(self.features, &key) {
            return Err(self.attributes.damaged("the key's bytes do not fit its check value"));
        }
        Ok(Contents::Key(key))
    }

    fn public_key(&self) -> Result<Contents, Error> {
        let key = match self.key_type()? {
            ckk::RSA => PublicKey::from_rsa(
                self.features,
                &self.bytes(cka::MODULUS)?,
                &self.bytes(cka::PUBLIC_EXPONENT)?,
            ),
            ckk::EC | ckk::EC_EDWARDS | ckk::EC_MONTGOMERY => {
                let (parameters, point) = (self.bytes(cka::EC_PARAMS)?, self.bytes(cka::EC_POINT)?);
                // PKCS #11 3.1 §6.3.3: the point is an OCTET STRING, which older versions of programs leave out.
                let inner =
                    <&OctetStringRef>::from_der(&point).map_or(&point[..], |string| string.as_bytes());
                curve_in(&parameters).and_then(|kind| PublicKey::new(self.features, kind, inner))
            }
            other => return Ok(unknown(other)),
        };
        Ok(key.map_or_else(|error| Contents::Other(error.to_string()), Contents::Public))
    }
}

/// Returns the contents of an object with a key of a type that tokens don't have.
fn unknown(key_type: u64) -> Contents {
    let name = OTHER_TYPES.iter().find(|(number, _)| *number == key_type);
    let name = name.map_or_else(|| format!("type {key_type:#x}"), |(_, name)| (*name).to_owned());
    Contents::Other(format!("tokens have no keys of {name}"))
}

/// Returns the check value of a secret key (PKCS #11 3.1 §4.10.2): three bytes of a block of zeros under a key of a cipher, or of the SHA-1 of another one.
fn check_value(features: Features, key: &Key) -> [u8; 3] {
    let mut bytes = [0; 20];
    if key.kind() == Kind::Aes {
        let cipher = Ecb::new(features, key.secret()).expect("the key was found valid");
        cipher.encrypt(&mut [], InOut::in_place(&mut bytes[..16]));
    } else {
        digest(features, Hash::Sha1, key.secret(), &mut bytes).expect("20 bytes are a digest");
    }
    [bytes[0], bytes[1], bytes[2]]
}

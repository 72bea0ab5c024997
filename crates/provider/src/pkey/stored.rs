//! Private keys as files have them, read for the service: PKCS#8, SEC 1 and PKCS#1 in DER, and their PEM.
//!
//! A key of a kind that the service lacks is none of ours: another curve, explicit parameters, RSA of another size or with more than
//! two primes or with parameters. OpenSSL's own decoders take those.
//!
//! Ref. RFC 5958 §2 (PKCS#8), RFC 5915 §3 (SEC 1), RFC 8017 §A.1.2 (PKCS#1), RFC 8410 §7 (Curve25519), RFC 9881 §6 (ML-DSA), RFC 7468 (PEM).

use base64ct::{Base64, Encoding};
use der::asn1::{ObjectIdentifier, OctetStringRef, UintRef};
use der::{Decode, Tagged};
use millstream::cwq::Algorithm;
use millstream::publickey::ecdsa::Curve;
use millstream::publickey::rsa::{MAX_BITS, MIN_BITS};
use pkcs8::PrivateKeyInfoRef;
use sec1::{EcParameters, EcPrivateKey};
use zeroize::Zeroizing;

use super::held::Secret;
use super::mldsa::MlDsa;
use super::raw::Encoded;
use super::raw::asn1::read_private;
use super::{ec, rsa};

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");

/// The most bytes of a file that is looked at.
pub const LONGEST: usize = 16 << 10;

/// Reads a private key from DER, whichever of the forms it has; none where the service has no such keys.
pub fn read(der: &[u8]) -> Option<Secret> {
    match PrivateKeyInfoRef::try_from(der) {
        Ok(key) => read_pkcs8(&key).or_else(|| read_ml_dsa(key.algorithm.oid, der)),
        Err(_) => read_sec1(der, None).or_else(|| read_pkcs1(der)),
    }
}

fn read_pkcs8(key: &PrivateKeyInfoRef<'_>) -> Option<Secret> {
    let bytes = key.private_key.as_bytes();
    let parameters = key.algorithm.parameters;
    match key.algorithm.oid {
        EC => read_sec1(bytes, Some(parameters?.decode_as().ok()?)),
        RSA if parameters.is_none_or(|it| it.tag() == der::Tag::Null) => read_pkcs1(bytes),
        X25519 if parameters.is_none() => read_curve25519(Algorithm::X25519, bytes),
        ED25519 if parameters.is_none() => read_curve25519(Algorithm::Ed25519, bytes),
        _ => None,
    }
}

fn curve(named: ObjectIdentifier) -> Option<Curve> {
    match named {
        P256 => Some(Curve::P256),
        P384 => Some(Curve::P384),
        P521 => Some(Curve::P521),
        _ => None,
    }
}

/// Reads a key of a curve, whose name may be around it.
fn read_sec1(der: &[u8], around: Option<ObjectIdentifier>) -> Option<Secret> {
    let key = EcPrivateKey::from_der(der).ok()?;
    let inside = key.parameters.map(|EcParameters::NamedCurve(name)| name);
    if inside.is_some() && around.is_some() && inside != around {
        return None;
    }
    let curve = curve(inside.or(around)?)?;
    let mut bytes = Zeroizing::new(vec![0; curve.bytes()]);
    let mut scalar = key.private_key;
    while let [0, rest @ ..] = scalar
        && scalar.len() > bytes.len()
    {
        scalar = rest;
    }
    let before = bytes.len().checked_sub(scalar.len())?;
    bytes[before..].copy_from_slice(scalar);
    Some(Secret { algorithm: ec::algorithm(curve), bytes })
}

/// Looks at a key of RSA, which the service takes in this very form.
fn read_pkcs1(der: &[u8]) -> Option<Secret> {
    let key = pkcs1::RsaPrivateKey::<UintRef<'_>>::from_der(der).ok()?;
    let modulus = key.modulus.as_bytes();
    let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
    let fits = (MIN_BITS..=MAX_BITS).contains(&bits) && rsa::has_engine(der);
    fits.then(|| Secret { algorithm: Algorithm::Rsa, bytes: Zeroizing::new(der.to_vec()) })
}

fn read_curve25519(algorithm: Algorithm, der: &[u8]) -> Option<Secret> {
    let bytes = <&OctetStringRef>::from_der(der).ok()?.as_bytes();
    (bytes.len() == 32).then(|| Secret { algorithm, bytes: Zeroizing::new(bytes.to_vec()) })
}

/// Looks at a key of ML-DSA, in whichever of its three forms.
fn read_ml_dsa(oid: ObjectIdentifier, der: &[u8]) -> Option<Secret> {
    fn read<const N: usize>(der: &[u8]) -> Option<Secret> {
        // The decoder for this process says what is wrong with a key that is not taken here.
        read_private::<MlDsa<N>>(der).ok()??;
        Some(Secret { algorithm: MlDsa::<N>::ALGORITHM, bytes: Zeroizing::new(der.to_vec()) })
    }
    match oid {
        MlDsa::<44>::OID => read::<44>(der),
        MlDsa::<65>::OID => read::<65>(der),
        MlDsa::<87>::OID => read::<87>(der),
        _ => None,
    }
}

/// The kinds of PEM that are read.
const KINDS: [&[u8]; 3] = [b"PRIVATE KEY", b"EC PRIVATE KEY", b"RSA PRIVATE KEY"];

/// Reads the DER of a private key from the lines of a PEM file; none where what comes first in it is something else, or is encrypted.
///
/// `line` writes the next line to a place, and returns its bytes; none at the end.
pub fn read_pem(mut line: impl FnMut(&mut [u8]) -> Option<usize>) -> Option<Zeroizing<Vec<u8>>> {
    // A line longer than this one comes in pieces, as OpenSSL reads it.
    let mut place = Zeroizing::new([0; 255]);
    loop {
        let len = line(&mut *place)?;
        let label = trimmed(&place[..len]).strip_prefix(b"-----BEGIN ");
        if let Some(label) = label.and_then(|label| label.strip_suffix(b"-----")) {
            KINDS.iter().find(|kind| **kind == label)?;
            break;
        }
    }
    let mut text = Zeroizing::new(Vec::with_capacity(LONGEST));
    loop {
        let len = line(&mut *place)?;
        let part = trimmed(&place[..len]);
        if part.starts_with(b"-----END ") {
            break;
        }
        // A header says that the key is encrypted, or what else OpenSSL knows.
        if part.contains(&b':') || text.len() + part.len() > LONGEST {
            return None;
        }
        text.extend_from_slice(part);
    }
    let mut der = Zeroizing::new(vec![0; text.len() / 4 * 3]);
    let len = Base64::decode(str::from_utf8(&text).ok()?, &mut der).ok()?.len();
    der.truncate(len);
    Some(der)
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with OpenSSL for this test: the same key of P-256 as SEC 1 and as PKCS#8.
    const SEC1: &str = "-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIImlHTi3ZWM1OtMkhrnAhl6yFhKa1F6xK8y3l5Tdk/01oAoGCCqGSM49
AwEHoUQDQgAEaFexC4AB1XyzHR0b/fjMhEDet3d+HFTfgC+FTCBEPux9VGmK5pxJ
0XDMnszhS5Egpq/jrObSzPWFLoJt72ThZA==
-----END EC PRIVATE KEY-----
";
    const PKCS8: &str = "some text
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiaUdOLdlYzU60ySG
ucCGXrIWEprUXrErzLeXlN2T/TWhRANCAARoV7ELgAHVfLMdHRv9+MyEQN63d34c
VN+AL4VMIEQ+7H1UaYrmnEnRcMyezOFLkSCmr+Os5tLM9YUugm3vZOFk
-----END PRIVATE KEY-----
";
    const ED25519_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJUCtGfoXq1yINoISZCj1qWA3bX0rLS9neCpxboZwqpX
-----END PRIVATE KEY-----
";
    /// A key of secp256k1, which the service lacks.
    const OTHER_CURVE: &str = "-----BEGIN PRIVATE KEY-----
MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg4gtiaYuOm52N78FwepaU
H3GT9u9dX1cVPQCLTFerHMyhRANCAARxQnza3hMkCj4RXGasrK33QwvlYm3kHrl9
l/1L1IBZmqufeluMCxoiwuOCz5FgVF1qEEK5PTyxGNxzIPlIuRTp
-----END PRIVATE KEY-----
";

    /// Reads a text as OpenSSL gives it, line by line.
    fn pem(text: &str) -> Option<Zeroizing<Vec<u8>>> {
        let mut rest = text.as_bytes();
        read_pem(|place| {
            let line = rest.split_inclusive(|byte| *byte == b'\n').next()?;
            let len = line.len().min(place.len() - 1);
            place[..len].copy_from_slice(&rest[..len]);
            rest = &rest[len..];
            Some(len)
        })
    }

    #[test]
    fn forms_of_one_key_are_the_same_key() {
        let keys = [SEC1, PKCS8].map(|text| read(&pem(text).unwrap()).unwrap());
        for key in &keys {
            assert_eq!((key.algorithm, key.bytes[0], key.bytes.len()), (Algorithm::P256, 0x89, 32));
        }
        assert_eq!(keys[0].bytes, keys[1].bytes);
        let key = read(&pem(ED25519_KEY).unwrap()).unwrap();
        assert_eq!((key.algorithm, key.bytes[0], key.bytes.len()), (Algorithm::Ed25519, 0x95, 32));
    }

    #[test]
    fn other_things_are_left_alone() {
        assert!(read(&pem(OTHER_CURVE).unwrap()).is_none());
        assert!(pem(&SEC1.replace("EC PRIVATE KEY", "CERTIFICATE")).is_none());
        assert!(pem(&SEC1.replace("MHcC", "Proc-Type: 4,ENCRYPTED\nMHcC")).is_none());
        assert!(pem(&SEC1.replace("MHcC", "MH!C")).is_none());
        assert!(pem(&SEC1[..SEC1.len() - 40]).is_none());
        assert!(pem("").is_none());
    }

    /// Whatever is changed or cut off: a key of a length that fits, or none.
    #[test]
    fn broken_keys_are_keys_or_none() {
        for text in [SEC1, PKCS8, ED25519_KEY] {
            let der = pem(text).unwrap();
            for at in 0..der.len() {
                assert!(read(&der[..at]).is_none(), "{at} bytes");
                for bit in 0..8 {
                    let mut changed = der.clone();
                    changed[at] ^= 1 << bit;
                    let key = read(&changed);
                    assert!(key.is_none_or(|key| [32, 48, 66].contains(&key.bytes.len())), "byte {at}");
                }
            }
        }
    }
}

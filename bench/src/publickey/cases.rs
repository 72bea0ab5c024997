//! The cases, and the keys that all sides have in common.
//!
//! # Safety
//! The key of RSA is made by AWS-LC: objects are made and freed by the library, and its types are those of the crate `aws-lc-sys`.
#![allow(unsafe_code)]

use std::ptr::null_mut;

use aws_lc_sys as lc;
use der::Reader;
use der::asn1::UintRef;
use millstream::Features;
use millstream::publickey::ecdsa::Curve;
use millstream::publickey::{mldsa, mlkem, slhdsa};

use super::slhdsa as hashes;

/// The message of a signature: as long as a TLS transcript's digest with its context.
pub const MESSAGE: &[u8] = &[0x4d; 32];

/// An algorithm with its parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    X25519,
    Ed25519,
    Ec(Curve),
    /// With the bits of the modulus. Signatures are those of PKCS#1 v1.5 with SHA-256.
    Rsa(usize),
    MlKem(mlkem::Set),
    /// Signatures are pure, without a context, and hedged.
    MlDsa(mldsa::Set),
    /// Signatures are pure, without a context, and hedged.
    SlhDsa(slhdsa::Set),
}

/// An operation that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Making a key pair.
    Generate,
    Encapsulate,
    Decapsulate,
    Agree,
    Sign,
    /// Verification, of a right signature or of a damaged one.
    Verify,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub algorithm: Algorithm,
    pub operation: Operation,
}

impl Case {
    pub fn all() -> Vec<Case> {
        use Operation::{Agree, Decapsulate, Encapsulate, Generate, Sign, Verify};
        let mut all = Vec::new();
        let mut add = |algorithm, operations: &[Operation]| {
            all.extend(operations.iter().map(|&operation| Case { algorithm, operation }));
        };
        add(Algorithm::X25519, &[Agree]);
        add(Algorithm::Ed25519, &[Sign, Verify]);
        Curve::ALL.into_iter().for_each(|curve| add(Algorithm::Ec(curve), &[Sign, Verify, Agree]));
        [2048, 3072, 4096].into_iter().for_each(|bits| add(Algorithm::Rsa(bits), &[Sign, Verify]));
        let kem = [Generate, Encapsulate, Decapsulate];
        mlkem::Set::ALL.into_iter().for_each(|set| add(Algorithm::MlKem(set), &kem));
        mldsa::Set::ALL.into_iter().for_each(|set| add(Algorithm::MlDsa(set), &[Generate, Sign, Verify]));
        hashes::SETS.into_iter().for_each(|set| add(Algorithm::SlhDsa(set), &[Sign, Verify]));
        all
    }

    /// Returns a name like `p256-sign`.
    pub fn name(&self) -> String {
        let algorithm = match self.algorithm {
            Algorithm::X25519 => "x25519".to_owned(),
            Algorithm::Ed25519 => "ed25519".to_owned(),
            Algorithm::Ec(curve) => format!("p{}", curve.bits()),
            Algorithm::Rsa(bits) => format!("rsa-{bits}"),
            Algorithm::MlKem(set) => set.name().to_owned(),
            Algorithm::MlDsa(set) => set.name().to_owned(),
            Algorithm::SlhDsa(set) => set.name().to_owned(),
        };
        let operation = match self.operation {
            Operation::Generate => "generate",
            Operation::Encapsulate => "encapsulate",
            Operation::Decapsulate => "decapsulate",
            Operation::Agree => "agree",
            Operation::Sign => "sign",
            Operation::Verify => "verify",
        };
        format!("{algorithm}-{operation}")
    }
}

/// The key of a case, and what is done with it.
pub struct Material {
    /// The private key: a scalar or a seed, an RSA key as RFC 8017 appendix A.1.2 encodes it, or all four parts of one of SLH-DSA.
    pub private: Vec<u8>,
    /// The private key of the peer in an agreement.
    pub peer: Vec<u8>,
    /// The signature that is verified, with both numbers of ECDSA at full length; of ML-KEM the ciphertext that is decapsulated.
    pub signature: Vec<u8>,
}

impl Material {
    /// Makes the key of an algorithm.
    ///
    /// # Errors
    /// Fails when AWS-LC makes no key.
    pub fn new(features: Features, algorithm: Algorithm) -> Result<Material, String> {
        let scalar = |len: usize, first: u8| {
            let mut bytes: Vec<u8> = (0..len).map(|i| first.wrapping_add(i as u8)).collect();
            // The scalar is below the order of every curve.
            bytes[0] = 0;
            bytes
        };
        let len = match algorithm {
            Algorithm::X25519 | Algorithm::Ed25519 => 32,
            Algorithm::Ec(curve) => curve.bytes(),
            Algorithm::MlKem(_) => mlkem::SEED,
            Algorithm::MlDsa(_) => mldsa::SEED,
            Algorithm::Rsa(bits) => {
                return Ok(Material { private: rsa_key(bits)?, peer: Vec::new(), signature: Vec::new() });
            }
            Algorithm::SlhDsa(set) => {
                let private = hashes::private_key(features, set).map_err(|e| e.to_string())?;
                return Ok(Material { private, peer: Vec::new(), signature: Vec::new() });
            }
        };
        Ok(Material { private: scalar(len, 0x11), peer: scalar(len, 0x83), signature: Vec::new() })
    }

    /// Returns the private key in an encoding that OpenSSL reads: PKCS#8, or that of RSA.
    pub fn encoded(&self, algorithm: Algorithm, private: &[u8]) -> Vec<u8> {
        // RFC 5208 §5 around RFC 8410 §7, or around RFC 5915 §3 without the public key.
        let before: &[u8] = match algorithm {
            Algorithm::X25519 => b"\x30\x2e\x02\x01\0\x30\x05\x06\x03\x2b\x65\x6e\x04\x22\x04\x20",
            Algorithm::Ed25519 => b"\x30\x2e\x02\x01\0\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
            Algorithm::Ec(Curve::P256) => {
                b"\x30\x41\x02\x01\0\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\
                  \x04\x27\x30\x25\x02\x01\x01\x04\x20"
            }
            Algorithm::Ec(Curve::P384) => {
                b"\x30\x4e\x02\x01\0\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\0\x22\
                  \x04\x37\x30\x35\x02\x01\x01\x04\x30"
            }
            Algorithm::Ec(Curve::P521) => {
                b"\x30\x60\x02\x01\0\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\0\x23\
                  \x04\x49\x30\x47\x02\x01\x01\x04\x42"
            }
            Algorithm::Rsa(_) => b"",
            Algorithm::MlKem(set) => return of_seed(&[4, 4, 1 + set as u8], private),
            Algorithm::MlDsa(set) => return of_seed(&[4, 3, 17 + set as u8], private),
            // RFC 9909 §6 has the bytes themselves.
            Algorithm::SlhDsa(set) => return of_nist(&[4, 3, 20 + set as u8], private),
        };
        [before, private].concat()
    }
}

/// Encodes the seed of a key of NIST's, whose object identifier ends so: RFC 9881 §6, RFC 9935 §6.
fn of_seed(end: &[u8], seed: &[u8]) -> Vec<u8> {
    of_nist(end, &[&[0x80, seed.len() as u8], seed].concat())
}

/// Encodes a key of NIST's, whose object identifier ends so.
fn of_nist(end: &[u8], private: &[u8]) -> Vec<u8> {
    let identifier = [b"\x60\x86\x48\x01\x65\x03", end].concat();
    let wrap = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8], bytes].concat();
    let algorithm = wrap(0x30, &wrap(6, &identifier));
    wrap(0x30, &[&[2, 1, 0], &algorithm[..], &wrap(4, private)].concat())
}

/// Makes an RSA key.
fn rsa_key(bits: usize) -> Result<Vec<u8>, String> {
    // SAFETY: see the top; null is no callback.
    unsafe {
        let (rsa, exponent) = (lc::RSA_new(), lc::BN_new());
        let (mut bytes, mut len) = (null_mut(), 0);
        let made = lc::BN_set_word(exponent, 65537) == 1
            && lc::RSA_generate_key_ex(rsa, bits as i32, exponent, null_mut()) == 1
            && lc::RSA_private_key_to_bytes(&mut bytes, &mut len, rsa) == 1;
        let key = made.then(|| std::slice::from_raw_parts(bytes, len).to_vec());
        lc::OPENSSL_free(bytes.cast());
        lc::RSA_free(rsa);
        lc::BN_free(exponent);
        key.ok_or(format!("aws-lc made no RSA key of {bits} bits"))
    }
}

/// Returns the numbers of an encoded sequence.
pub fn numbers(encoded: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut reader = der::SliceReader::new(encoded).ok()?;
    reader
        .sequence(|inner| {
            let mut numbers = Vec::new();
            while !inner.is_finished() {
                numbers.push(inner.decode::<UintRef<'_>>()?.as_bytes().to_vec());
            }
            Ok::<_, der::Error>(numbers)
        })
        .ok()
}

/// Encodes a signature of ECDSA as RFC 3279 §2.2.3 does.
pub fn encoded_signature(signature: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for number in signature.chunks(signature.len() / 2) {
        let number = &number[number.iter().take_while(|&&byte| byte == 0).count()..];
        let sign = number.first().is_some_and(|&byte| byte >= 0x80);
        body.extend([2, (number.len() + usize::from(sign)) as u8]);
        body.extend(sign.then_some(0));
        body.extend(number);
    }
    let long = (body.len() >= 0x80).then_some(0x81);
    [0x30].into_iter().chain(long).chain([body.len() as u8]).chain(body).collect()
}

/// Returns both numbers of an encoded signature at full length.
pub fn decoded_signature(curve: Curve, encoded: &[u8]) -> Option<Vec<u8>> {
    let mut signature = Vec::new();
    for number in numbers(encoded)? {
        signature.extend(std::iter::repeat_n(0, curve.bytes().checked_sub(number.len())?));
        signature.extend(number);
    }
    Some(signature)
}

//! The algorithms, by number and by name.

use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use millstream::crc::{Crc32, Crc32c};
use millstream::cwq;
use millstream::hash::{Hash, HashKernel};
use millstream::ipsum::IpChecksum;
use millstream::{Checksum, Kernel};

use crate::failure::{Failure, not_a_hash, unknown};

/// An algorithm: a cipher with its mode, a hash, a MAC or a checksum. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Algorithm {
    /// None.
    None = 0,
    /// AES in ECB mode. Key: 16, 24 or 32 bytes. No initialisation vector. Whole blocks of 16 bytes.
    AesEcb = 0x10,
    /// AES in CBC mode. Key: 16, 24 or 32 bytes. Initialisation vector: 16. Whole blocks of 16.
    AesCbc = 0x11,
    /// AES in counter mode. Key: 16, 24 or 32 bytes. First counter block: 16. Any length.
    AesCtr = 0x12,
    /// AES in 128-bit CFB mode. Key: 16, 24 or 32 bytes. Initialisation vector: 16. Any length.
    AesCfb = 0x13,
    /// AES in XTS mode. Key: 32 or 64 bytes, two different halves. Tweak of the data unit: 16. 16 bytes to 16 MiB.
    AesXts = 0x14,
    /// AES-GCM. Key: 16, 24 or 32 bytes. Nonce: 1 byte or more, best 12. Tag: 16; millstream_open_cut() takes
    /// shorter ones.
    AesGcm = 0x15,
    /// AES-CMAC. Key: 16, 24 or 32 bytes. Tag: 16, or cut to 4 or more.
    AesCmac = 0x16,
    /// AES-SIV (RFC 5297). Key: 32, 48 or 64 bytes. Nonce: any length, also none: equal messages then become equal ciphertexts. The
    /// associated data is one component, also where it has no bytes. Tag: 16. Objects are whole, in a queue at most 64 KiB. No streams.
    AesSiv = 0x17,
    /// AES-GCM-SIV (RFC 8452). Key: 16 or 32 bytes. Nonce: 12. Tag: 16. Objects are whole, in a queue at most 64 KiB. No streams.
    AesGcmSiv = 0x18,
    /// XAES-256-GCM (C2SP). Key: 32 bytes. Nonce: 24. Tag: 16. Objects are whole, in a queue at most 64 KiB. No streams.
    Xaes256Gcm = 0x19,
    /// Fernet. Key: 32 bytes. Nonce: 24, the time in seconds since 1970, big-endian (8), and a random initialisation vector (16). Data: the value with
    /// its padding (PKCS #7), whole blocks of 16. Tag: 32. No associated data. A token is the byte 0x80, nonce, data and tag, in base64. For queues.
    Fernet = 0x1a,
    /// AES-KW (SP 800-38F). Key: 16, 24 or 32 bytes. No nonce, no associated data. Data: the key to wrap, in whole halves of 8 bytes, 16 to
    /// 8192. Tag: 8, with which the wrapped key begins. For queues.
    AesKw = 0x1b,
    /// AES-KWP (SP 800-38F). As AES-KW, with 8 bytes of data at least. Nonce: where it wraps, the key's length in 4 bytes, big-endian; where it unwraps,
    /// none, and the length is the completion's value. For queues.
    AesKwp = 0x1c,
    /// FF1 (SP 800-38G). Key: 16, 24 or 32 bytes. Tweak: 0 to 255 bytes, as the initialisation vector. Data: digits of two bytes each, the low one first, at most
    /// 512 bytes. For queues, where `scheme` of the request is the radix, 2 to 65536.
    AesFf1 = 0x1d,
    /// ChaCha20-Poly1305. Key: 32 bytes. Nonce: 12. Tag: 16.
    Chacha20Poly1305 = 0x20,
    /// Camellia in ECB mode. Key: 16, 24 or 32 bytes. No initialisation vector. Whole blocks of 16.
    CamelliaEcb = 0x28,
    /// Camellia in CBC mode. Key: 16, 24 or 32 bytes. Initialisation vector: 16. Whole blocks of 16.
    CamelliaCbc = 0x29,
    /// Camellia in counter mode. Key: 16, 24 or 32 bytes. First counter block: 16. Any length.
    CamelliaCtr = 0x2a,
    /// SM4 in ECB mode. Key: 16 bytes. No initialisation vector. Whole blocks of 16.
    Sm4Ecb = 0x2c,
    /// SM4 in CBC mode. Key: 16 bytes. Initialisation vector: 16. Whole blocks of 16.
    Sm4Cbc = 0x2d,
    /// SM4 in counter mode. Key: 16 bytes. First counter block: 16. Any length.
    Sm4Ctr = 0x2e,
    /// Legacy: DES (key of 8 bytes) or 3DES (16 or 24) in ECB mode. No initialisation vector. Whole blocks of 8.
    DesEcb = 0x30,
    /// Legacy: DES or 3DES in CBC mode. Initialisation vector: 8. Whole blocks of 8.
    DesCbc = 0x31,
    /// Legacy: DES or 3DES in 64-bit CFB mode. Initialisation vector: 8. Any length.
    DesCfb = 0x32,
    /// Legacy: the MAC of DES or 3DES (FIPS 113). Tag: 8, or cut to 4 or more. No streams.
    DesMac = 0x33,
    /// Legacy: RC4. Key: 1 to 256 bytes, for one message only. No initialisation vector. Any length.
    Rc4 = 0x38,
    /// KASUMI F8. Key: 16 bytes. Initialisation vector: 8, COUNT (32 bits), BEARER (5), DIRECTION (1) and zeros (26),
    /// the most significant bit first. Any number of bits. No streams.
    KasumiF8 = 0x40,
    /// KASUMI F9. Key: 16 bytes. Initialisation vector: 8, COUNT and FRESH (32 bits each, the most significant byte
    /// first). Tag: 4. Any number of bits. No streams.
    KasumiF9 = 0x41,
    /// Legacy: MD5, digest of 16 bytes. A key of it is one for HMAC, of any length; so are those of the hashes below.
    Md5 = 0x50,
    /// Legacy: SHA-1, digest of 20 bytes.
    Sha1 = 0x51,
    /// SHA-224, digest of 28 bytes.
    Sha224 = 0x52,
    /// SHA-256, digest of 32 bytes.
    Sha256 = 0x53,
    /// SHA-384, digest of 48 bytes.
    Sha384 = 0x54,
    /// SHA-512, digest of 64 bytes.
    Sha512 = 0x55,
    /// SHA-512/256, digest of 32 bytes.
    Sha512_256 = 0x56,
    /// SHA3-224, digest of 28 bytes.
    Sha3_224 = 0x57,
    /// SHA3-256, digest of 32 bytes.
    Sha3_256 = 0x58,
    /// SHA3-384, digest of 48 bytes.
    Sha3_384 = 0x59,
    /// SHA3-512, digest of 64 bytes.
    Sha3_512 = 0x5a,
    /// The checksum CRC-32 as in Ethernet and gzip.
    Crc32 = 0x60,
    /// The checksum CRC-32C as in iSCSI and SCTP.
    Crc32c = 0x61,
    /// The checksum of IP, UDP and TCP: a number below 2^16, whose more significant byte goes first into a header.
    IpChecksum = 0x62,
    /// SLH-DSA-SHA2-128s (FIPS 205). Key: the private one, 64 bytes. Public key: 32. Signature: 7856.
    SlhDsaSha2_128s = 0x64,
    /// SLH-DSA-SHA2-128f. Key: 64 bytes. Public key: 32. Signature: 17088.
    SlhDsaSha2_128f = 0x65,
    /// SLH-DSA-SHA2-192s. Key: 96 bytes. Public key: 48. Signature: 16224.
    SlhDsaSha2_192s = 0x66,
    /// SLH-DSA-SHA2-192f. Key: 96 bytes. Public key: 48. Signature: 35664.
    SlhDsaSha2_192f = 0x67,
    /// SLH-DSA-SHA2-256s. Key: 128 bytes. Public key: 64. Signature: 29792.
    SlhDsaSha2_256s = 0x68,
    /// SLH-DSA-SHA2-256f. Key: 128 bytes. Public key: 64. Signature: 49856.
    SlhDsaSha2_256f = 0x69,
    /// SLH-DSA-SHAKE-128s. Key: 64 bytes. Public key: 32. Signature: 7856.
    SlhDsaShake128s = 0x6a,
    /// SLH-DSA-SHAKE-128f. Key: 64 bytes. Public key: 32. Signature: 17088.
    SlhDsaShake128f = 0x6b,
    /// SLH-DSA-SHAKE-192s. Key: 96 bytes. Public key: 48. Signature: 16224.
    SlhDsaShake192s = 0x6c,
    /// SLH-DSA-SHAKE-192f. Key: 96 bytes. Public key: 48. Signature: 35664.
    SlhDsaShake192f = 0x6d,
    /// SLH-DSA-SHAKE-256s. Key: 128 bytes. Public key: 64. Signature: 29792.
    SlhDsaShake256s = 0x6e,
    /// SLH-DSA-SHAKE-256f. Key: 128 bytes. Public key: 64. Signature: 49856.
    SlhDsaShake256f = 0x6f,
    /// Ed25519 (RFC 8032). Key: the private one, 32 bytes. Signature: 64 bytes. For queues.
    Ed25519 = 0x70,
    /// X25519 (RFC 7748). Key: the private one, 32 bytes. Peer's public key, and secret: 32 bytes. For queues.
    X25519 = 0x71,
    /// ECDSA (FIPS 186-5) and ECDH on P-256. Key: the private one, 32 bytes. Public key: a point of 65 bytes. Signature: 64 bytes.
    P256 = 0x72,
    /// The same on P-384. Key: 48 bytes. Public key: 97. Signature: 96.
    P384 = 0x73,
    /// The same on P-521. Key: 66 bytes. Public key: 133. Signature: 132.
    P521 = 0x74,
    /// RSA with 1024 to 4096 bits (RFC 8017). Key: the private one, DER of an RSAPrivateKey. Signature: as long as the modulus.
    Rsa = 0x75,
    /// Random bytes: MILLSTREAM_KIND_RANDOM. It takes no key.
    Random = 0x78,
    /// ML-KEM-512 (FIPS 203). Key: the private one, a seed of 64 bytes or 1632 bytes. Public key: 800. Ciphertext: 768. Secret: 32.
    MlKem512 = 0x79,
    /// ML-KEM-768. Key: a seed of 64 bytes or 2400 bytes. Public key: 1184. Ciphertext: 1088. Secret: 32.
    MlKem768 = 0x7a,
    /// ML-KEM-1024. Key: a seed of 64 bytes or 3168 bytes. Public key: 1568. Ciphertext: 1568. Secret: 32.
    MlKem1024 = 0x7b,
    /// ML-DSA-44 (FIPS 204). Key: the private one, a seed of 32 bytes or 2560 bytes. Public key: 1312. Signature: 2420.
    MlDsa44 = 0x7c,
    /// ML-DSA-65. Key: a seed of 32 bytes or 4032 bytes. Public key: 1952. Signature: 3309.
    MlDsa65 = 0x7d,
    /// ML-DSA-87. Key: a seed of 32 bytes or 4896 bytes. Public key: 2592. Signature: 4627.
    MlDsa87 = 0x7e,
}

/// A number that is to be one of [`Algorithm`]: C may pass any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct AlgorithmCode(pub u32);

impl From<cwq::Algorithm> for AlgorithmCode {
    fn from(algorithm: cwq::Algorithm) -> Self {
        AlgorithmCode(algorithm as u32)
    }
}

impl AlgorithmCode {
    /// Returns the algorithm that the number stands for.
    #[inline]
    pub fn get(self) -> Result<cwq::Algorithm, Failure> {
        let code = u8::try_from(self.0).ok().and_then(cwq::Algorithm::from_code);
        code.ok_or_else(|| unknown("algorithm", self.0.into()))
    }

    /// Returns the algorithm that the number stands for, if it takes a key.
    pub fn keyed(self) -> Result<cwq::Algorithm, Failure> {
        use cwq::Algorithm::{Crc32, Crc32c, IpChecksum, None, Random};
        match self.get()? {
            none @ (None | Crc32 | Crc32c | IpChecksum | Random) => {
                Err(Failure::Algorithm { given: none.name(), takes: "an algorithm with a key" })
            }
            keyed => Ok(keyed),
        }
    }

    /// Returns the hash that the number stands for.
    #[inline]
    pub fn hash(self) -> Result<Hash, Failure> {
        let algorithm = self.get()?;
        hash_of(algorithm).ok_or_else(|| not_a_hash(algorithm))
    }

    /// Returns the checksum that the number stands for.
    #[inline]
    pub fn checksum(self) -> Result<Checksum, Failure> {
        match self.get()? {
            cwq::Algorithm::Crc32 => Ok(Checksum::Crc32),
            cwq::Algorithm::Crc32c => Ok(Checksum::Crc32c),
            cwq::Algorithm::IpChecksum => Ok(Checksum::Ip),
            other => Err(Failure::Algorithm { given: other.name(), takes: "a checksum" }),
        }
    }

    /// Returns the kernel that computes the algorithm, if it takes no key.
    pub fn kernel(self) -> Result<&'static Kernel, Failure> {
        let features = millstream::features()?;
        Ok(match self.get()? {
            cwq::Algorithm::Crc32 => Crc32::new(features).kernel(),
            cwq::Algorithm::Crc32c => Crc32c::new(features).kernel(),
            cwq::Algorithm::IpChecksum => IpChecksum::new(features).kernel(),
            other => match hash_of(other) {
                Some(hash) => HashKernel::best(features, hash).kernel(),
                None => return Err(Failure::Algorithm { given: other.name(), takes: "a hash or checksum" }),
            },
        })
    }
}

/// Returns the hash that an algorithm is.
fn hash_of(algorithm: cwq::Algorithm) -> Option<Hash> {
    Hash::ALL.into_iter().find(|hash| millstream::algorithm_of(*hash) == algorithm)
}

/// Returns a name that the library knows, as C reads it. Each name is kept for ever: there are few.
pub fn c_name(name: &'static str) -> &'static CStr {
    static NAMES: Mutex<Vec<(&'static str, &'static CStr)>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, text)) = names.iter().find(|(known, _)| *known == name) {
        return text;
    }
    let text: &'static CStr = Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str());
    names.push((name, text));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers in the header must be those in control words.
    #[test]
    fn numbers_are_those_of_control_words() {
        use Algorithm as Ours;
        use cwq::Algorithm as Theirs;
        let pairs = [
            (Ours::None, Theirs::None),
            (Ours::AesEcb, Theirs::AesEcb),
            (Ours::AesCbc, Theirs::AesCbc),
            (Ours::AesCtr, Theirs::AesCtr),
            (Ours::AesCfb, Theirs::AesCfb),
            (Ours::AesXts, Theirs::AesXts),
            (Ours::AesGcm, Theirs::AesGcm),
            (Ours::AesCmac, Theirs::AesCmac),
            (Ours::AesSiv, Theirs::AesSiv),
            (Ours::AesGcmSiv, Theirs::AesGcmSiv),
            (Ours::Xaes256Gcm, Theirs::Xaes256Gcm),
            (Ours::Fernet, Theirs::Fernet),
            (Ours::AesKw, Theirs::AesKw),
            (Ours::AesKwp, Theirs::AesKwp),
            (Ours::AesFf1, Theirs::AesFf1),
            (Ours::Chacha20Poly1305, Theirs::ChaCha20Poly1305),
            (Ours::CamelliaEcb, Theirs::CamelliaEcb),
            (Ours::CamelliaCbc, Theirs::CamelliaCbc),
            (Ours::CamelliaCtr, Theirs::CamelliaCtr),
            (Ours::Sm4Ecb, Theirs::Sm4Ecb),
            (Ours::Sm4Cbc, Theirs::Sm4Cbc),
            (Ours::Sm4Ctr, Theirs::Sm4Ctr),
            (Ours::DesEcb, Theirs::DesEcb),
            (Ours::DesCbc, Theirs::DesCbc),
            (Ours::DesCfb, Theirs::DesCfb),
            (Ours::DesMac, Theirs::DesMac),
            (Ours::Rc4, Theirs::Rc4),
            (Ours::KasumiF8, Theirs::KasumiF8),
            (Ours::KasumiF9, Theirs::KasumiF9),
            (Ours::Md5, Theirs::Md5),
            (Ours::Sha1, Theirs::Sha1),
            (Ours::Sha224, Theirs::Sha224),
            (Ours::Sha256, Theirs::Sha256),
            (Ours::Sha384, Theirs::Sha384),
            (Ours::Sha512, Theirs::Sha512),
            (Ours::Sha512_256, Theirs::Sha512_256),
            (Ours::Sha3_224, Theirs::Sha3_224),
            (Ours::Sha3_256, Theirs::Sha3_256),
            (Ours::Sha3_384, Theirs::Sha3_384),
            (Ours::Sha3_512, Theirs::Sha3_512),
            (Ours::Crc32, Theirs::Crc32),
            (Ours::Crc32c, Theirs::Crc32c),
            (Ours::IpChecksum, Theirs::IpChecksum),
            (Ours::SlhDsaSha2_128s, Theirs::SlhDsaSha2_128s),
            (Ours::SlhDsaSha2_128f, Theirs::SlhDsaSha2_128f),
            (Ours::SlhDsaSha2_192s, Theirs::SlhDsaSha2_192s),
            (Ours::SlhDsaSha2_192f, Theirs::SlhDsaSha2_192f),
            (Ours::SlhDsaSha2_256s, Theirs::SlhDsaSha2_256s),
            (Ours::SlhDsaSha2_256f, Theirs::SlhDsaSha2_256f),
            (Ours::SlhDsaShake128s, Theirs::SlhDsaShake128s),
            (Ours::SlhDsaShake128f, Theirs::SlhDsaShake128f),
            (Ours::SlhDsaShake192s, Theirs::SlhDsaShake192s),
            (Ours::SlhDsaShake192f, Theirs::SlhDsaShake192f),
            (Ours::SlhDsaShake256s, Theirs::SlhDsaShake256s),
            (Ours::SlhDsaShake256f, Theirs::SlhDsaShake256f),
            (Ours::Ed25519, Theirs::Ed25519),
            (Ours::X25519, Theirs::X25519),
            (Ours::P256, Theirs::P256),
            (Ours::P384, Theirs::P384),
            (Ours::P521, Theirs::P521),
            (Ours::Rsa, Theirs::Rsa),
            (Ours::Random, Theirs::Random),
            (Ours::MlKem512, Theirs::MlKem512),
            (Ours::MlKem768, Theirs::MlKem768),
            (Ours::MlKem1024, Theirs::MlKem1024),
            (Ours::MlDsa44, Theirs::MlDsa44),
            (Ours::MlDsa65, Theirs::MlDsa65),
            (Ours::MlDsa87, Theirs::MlDsa87),
        ];
        assert_eq!(pairs.len(), Theirs::ALL.len());
        for (ours, theirs) in pairs {
            assert_eq!(ours as u32, theirs as u32, "{ours:?}");
            assert_eq!(AlgorithmCode(ours as u32).get().unwrap(), theirs);
        }
        assert!(AlgorithmCode(0x1_0010).get().is_err());
    }

    #[test]
    fn names_are_kept_once() {
        assert_eq!(c_name("aes-gcm").to_str(), Ok("aes-gcm"));
        assert!(std::ptr::eq(c_name("aes-gcm"), c_name("aes-gcm")));
    }
}

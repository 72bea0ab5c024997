//! The parameter of an operation with a key pair.

use crate::Algorithm;

/// The way in which RSA pads a message before the power, or takes the padding off after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Padding {
    /// Nothing: the number is the caller's.
    None = 0,
    /// PKCS#1 v1.5 (RFC 8017 §7.2, §8.2). A decryption rejects implicitly.
    Pkcs1 = 1,
    /// PSS for a signature (RFC 8017 §8.1), OAEP for a decryption (§7.1).
    Pss = 2,
}

/// The parameter of an operation with a key pair: how a signature is made or a ciphertext was.
///
/// | bits | of ECDSA | of ML-DSA and SLH-DSA | of RSA |
/// | --- | --- | --- | --- |
/// | 0 to 7 | 1 where the nonce is that of RFC 6979, else 0 | 1 where no random bytes are used, else 0 | the [`Padding`] |
/// | 8 to 15 | 0 | 0 where the message is signed itself, [`Scheme::REPRESENTATIVE`] where its mu is, which only ML-DSA has, else the number of the function that made its digest | the hash of MGF1, an [`Algorithm`]; 0 without PSS and OAEP |
/// | 16 to 31 | 0 | 0 | bytes of salt of PSS, else 0 |
///
/// The number of a function for digests under HashML-DSA (FIPS 204 §5.4) and HashSLH-DSA (FIPS 205 §10.2.2) is the last one of its object identifier, below
/// 2.16.840.1.101.3.4.2: 1 is SHA-256, and 12 SHAKE256.
///
/// ```
/// use millstream_cwq::{Algorithm, Padding, Scheme};
///
/// let pss = Scheme { padding: Padding::Pss, mask: Algorithm::Sha256, salt: 32 };
/// assert_eq!(pss.to_bits(), 0x0020_5302);
/// assert_eq!(Scheme::from_bits(0x0020_5302), Some(pss));
/// assert_eq!(Scheme::from_bits(3), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The padding of RSA.
    pub padding: Padding,
    /// The hash of MGF1.
    pub mask: Algorithm,
    /// Bytes of salt.
    pub salt: u16,
}

impl Scheme {
    /// The bit of ECDSA that asks for the nonce of RFC 6979, and of ML-DSA and SLH-DSA for a signature without random bytes
    /// (FIPS 204 §3.4, FIPS 205 §9.2).
    pub const DETERMINISTIC: u32 = 1;

    /// The number, in bits 8 to 15, that says of ML-DSA that the source is a message's representative mu (FIPS 204 §6.2): 64 bytes.
    pub const REPRESENTATIVE: u8 = 0xff;

    /// Makes the scheme of RSA without a mask.
    pub const fn of(padding: Padding) -> Self {
        Scheme { padding, mask: Algorithm::None, salt: 0 }
    }

    /// Returns the scheme as a word has it.
    pub const fn to_bits(self) -> u32 {
        self.padding as u32 | (self.mask as u32) << 8 | (self.salt as u32) << 16
    }

    /// Returns the scheme that the bits stand for, if they do for one: only PSS and OAEP have a mask.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        let [padding, mask, low, high] = bits.to_le_bytes();
        let Some(mask) = Algorithm::from_code(mask) else { return None };
        let padding = match padding {
            0 => Padding::None,
            1 => Padding::Pkcs1,
            2 => Padding::Pss,
            _ => return None,
        };
        let masked = mask as u8 != Algorithm::None as u8;
        if masked != matches!(padding, Padding::Pss) {
            return None;
        }
        let salt = u16::from_le_bytes([low, high]);
        if salt > 0 && !masked { None } else { Some(Scheme { padding, mask, salt }) }
    }
}

//! The encodings of PKCS#1 v1.5.
//!
//! Ref. RFC 8017 §7.2.1, §9.2 and its note 1.

use millstream_engines::hash::Hash;

use super::lengths::{AS_DIGEST, length};
use crate::{Error, Random};

/// Bytes around the message: two that mark the block, at least eight of padding, and a zero.
pub(super) const OVERHEAD: usize = 11;

/// Refuses a buffer that is too short for the longest message of a modulus of `size` bytes.
pub(super) fn room_for_message(size: usize, given: usize) -> Result<(), Error> {
    if given < size - OVERHEAD {
        return Err(length("output", given, "at least the modulus's bytes less 11"));
    }
    Ok(())
}

/// Encodes a digest for a signature.
pub(super) fn encode(hash: Hash, digest: &[u8], block: &mut [u8]) -> Result<(), Error> {
    if digest.len() != hash.output_len() {
        return Err(length("digest", digest.len(), AS_DIGEST));
    }
    let oid = object_identifier(hash);
    let total = 10 + oid.len() + digest.len();
    // DigestInfo: a sequence of the algorithm, a sequence itself with absent parameters as a null, and the digest.
    let mut info = [0; 10 + 9 + 64];
    info[..6].copy_from_slice(&[0x30, total as u8 - 2, 0x30, oid.len() as u8 + 4, 0x06, oid.len() as u8]);
    info[6..6 + oid.len()].copy_from_slice(oid);
    info[6 + oid.len()..10 + oid.len()].copy_from_slice(&[0x05, 0x00, 0x04, digest.len() as u8]);
    info[10 + oid.len()..total].copy_from_slice(digest);
    pad(&info[..total], block)
}

/// Pads bytes that a caller has encoded, for a signature.
pub(super) fn pad(info: &[u8], block: &mut [u8]) -> Result<(), Error> {
    let padding = block.len().checked_sub(info.len() + 3).filter(|&len| len >= 8).ok_or(Error::Message)?;
    block[..2].copy_from_slice(&[0x00, 0x01]);
    block[2..2 + padding].fill(0xff);
    block[2 + padding] = 0;
    block[3 + padding..].copy_from_slice(info);
    Ok(())
}

/// Pads a message for encryption with random bytes that are not zero.
pub(super) fn pad_for_encryption(
    random: &mut dyn Random,
    message: &[u8],
    block: &mut [u8],
) -> Result<(), Error> {
    let padding = block.len().checked_sub(message.len() + 3).filter(|&len| len >= 8).ok_or(Error::Message)?;
    block[..2].copy_from_slice(&[0x00, 0x02]);
    random.fill(&mut block[2..2 + padding])?;
    for i in 2..2 + padding {
        // A source that gives a zero this often is broken.
        let mut draws = 0;
        while block[i] == 0 {
            draws += 1;
            if draws == 64 {
                return Err(Error::Random);
            }
            random.fill(&mut block[i..=i])?;
        }
    }
    block[2 + padding] = 0;
    block[3 + padding..].copy_from_slice(message);
    Ok(())
}

/// The body of the hash's object identifier.
fn object_identifier(hash: Hash) -> &'static [u8] {
    /// An identifier of NIST's, 2.16.840.1.101.3.4.2.
    macro_rules! nist {
        ($last:literal) => {
            &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, $last]
        };
    }
    match hash {
        Hash::Md5 => &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05],
        Hash::Sha1 => &[0x2b, 0x0e, 0x03, 0x02, 0x1a],
        Hash::Sha256 => nist!(1),
        Hash::Sha384 => nist!(2),
        Hash::Sha512 => nist!(3),
        Hash::Sha224 => nist!(4),
        Hash::Sha512_256 => nist!(6),
        Hash::Sha3_224 => nist!(7),
        Hash::Sha3_256 => nist!(8),
        Hash::Sha3_384 => nist!(9),
        Hash::Sha3_512 => nist!(10),
    }
}

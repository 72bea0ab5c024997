//! The encoding PSS.
//!
//! Ref. RFC 8017 §9.1.

use millstream_cpu::Features;
use millstream_engines::hash::{Digest, Hash, Hasher};
use zeroize::Zeroizing;

use super::encoding::{MAX_BYTES, Pss, mask};
use super::lengths::{AS_DIGEST, length};
use crate::{Error, Random};

/// Encodes a digest in a block, of which the last `bits` bits are used.
pub(super) fn encode(
    features: Features,
    pss: &Pss,
    random: &mut dyn Random,
    digest: &[u8],
    bits: usize,
    block: &mut [u8],
) -> Result<(), Error> {
    if digest.len() != pss.hash.output_len() {
        return Err(length("digest", digest.len(), AS_DIGEST));
    }
    let (unused, block) = block.split_at_mut(block.len() - bits.div_ceil(8));
    unused.fill(0);
    let hash_len = digest.len();
    let data_len = block.len().checked_sub(hash_len + 1).ok_or(Error::Message)?;
    let salt_at = data_len.checked_sub(pss.salt).filter(|&at| at >= 1).ok_or(Error::Message)?;
    let (data, rest) = block.split_at_mut(data_len);
    data[..salt_at - 1].fill(0);
    data[salt_at - 1] = 1;
    random.fill(&mut data[salt_at..])?;
    let salted = salted(features, pss.hash, digest, &data[salt_at..]);
    mask(features, pss.mgf, &salted, data);
    data[0] &= 0xff >> (8 * (data_len + hash_len + 1) - bits);
    rest[..hash_len].copy_from_slice(&salted);
    rest[hash_len] = 0xbc;
    Ok(())
}

/// Compares a block, of which the last `bits` bits are used, with a digest.
pub(super) fn verify_vartime(
    features: Features,
    pss: &Pss,
    digest: &[u8],
    bits: usize,
    block: &mut [u8],
) -> Result<(), Error> {
    let (unused, block) = block.split_at_mut(block.len() - bits.div_ceil(8));
    let hash_len = digest.len();
    let data_len = block.len().checked_sub(hash_len + 1).ok_or(Error::Signature)?;
    let salt_at = data_len.checked_sub(pss.salt).filter(|&at| at >= 1).ok_or(Error::Signature)?;
    let used = 0xff >> (8 * block.len() - bits);
    let (data, rest) = block.split_at_mut(data_len);
    let fits = unused.iter().all(|&byte| byte == 0) && data[0] & !used == 0 && rest[hash_len] == 0xbc;
    let mut unmasked = Zeroizing::new([0; MAX_BYTES]);
    let unmasked = &mut unmasked[..data_len];
    unmasked.copy_from_slice(data);
    mask(features, pss.mgf, &rest[..hash_len], unmasked);
    unmasked[0] &= used;
    let (padding, salt) = unmasked.split_at(salt_at);
    let padded = padding[..salt_at - 1].iter().all(|&byte| byte == 0) && padding[salt_at - 1] == 1;
    let same = salted(features, pss.hash, digest, salt)[..] == rest[..hash_len];
    if fits && padded && same { Ok(()) } else { Err(Error::Signature) }
}

/// The hash of eight zeros, the digest and the salt.
fn salted(features: Features, hash: Hash, digest: &[u8], salt: &[u8]) -> Digest {
    let mut hasher = Hasher::new(features, hash);
    hasher.update(&[0; 8]);
    hasher.update(digest);
    hasher.update(salt);
    hasher.finish()
}

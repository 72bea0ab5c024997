//! The encoding OAEP.
//!
//! Decoding examines the whole block whatever it finds, and only then says that something is wrong: one bit, without what it is or
//! where. Else the first byte alone would decrypt everything (Manger, 2001).
//!
//! Ref. RFC 8017 §7.1.

use millstream_cpu::Features;
use millstream_engines::hash::{HashKernel, MAX_DIGEST};
use zeroize::Zeroizing;

use super::encoding::{Oaep, last_to_front, mask};
use super::lengths::room;
use crate::montgomery::words;
use crate::{Error, Random};

/// Encodes a message.
pub(super) fn encode(
    features: Features,
    oaep: &Oaep<'_>,
    random: &mut dyn Random,
    message: &[u8],
    block: &mut [u8],
) -> Result<(), Error> {
    let hash_len = oaep.hash.output_len();
    let padding = block.len().checked_sub(2 * hash_len + 2 + message.len()).ok_or(Error::Message)?;
    block[0] = 0;
    let (seed, data) = block[1..].split_at_mut(hash_len);
    random.fill(seed)?;
    data[..hash_len].copy_from_slice(&HashKernel::best(features, oaep.hash).digest(oaep.label));
    data[hash_len..hash_len + padding].fill(0);
    data[hash_len + padding] = 1;
    data[hash_len + padding + 1..].copy_from_slice(message);
    mask(features, oaep.mgf, seed, data);
    mask(features, oaep.mgf, data, seed);
    Ok(())
}

/// Decodes a block to the front of `out`; returns the message's length. The block is used up.
pub(super) fn decode(
    features: Features,
    oaep: &Oaep<'_>,
    block: &mut [u8],
    out: &mut [u8],
) -> Result<usize, Error> {
    let hash_len = oaep.hash.output_len();
    if block.len() < 2 * hash_len + 2 {
        return Err(Error::Message);
    }
    let (first, rest) = block.split_at_mut(1);
    let (seed, data) = rest.split_at_mut(hash_len);
    mask(features, oaep.mgf, data, seed);
    let mut unmasking = Zeroizing::new([0; MAX_DIGEST]);
    unmasking[..hash_len].copy_from_slice(seed);
    mask(features, oaep.mgf, &unmasking[..hash_len], data);
    let label = HashKernel::best(features, oaep.hash).digest(oaep.label);
    let (found, padded) = data.split_at_mut(hash_len);
    let mut wrong = u64::from(first[0]);
    for (found, right) in found.iter().zip(label.iter()) {
        wrong |= u64::from(found ^ right);
    }
    // Zeros, a one, and the message.
    let (mut before, mut message_len) = (u64::MAX, 0);
    for (i, &byte) in padded.iter().enumerate() {
        let zero = words::equal_word(u64::from(byte), 0);
        let one = words::equal_word(u64::from(byte), 1);
        wrong |= before & !(zero | one) & 1;
        message_len = words::pick(before & one, (padded.len() - 1 - i) as u64, message_len);
        before &= zero;
    }
    wrong |= before & 1;
    last_to_front(padded, message_len);
    // The caller is told whether the padding is right, and how long the message is.
    if words::equal_word(wrong, 0) == 0 {
        return Err(Error::Padding);
    }
    let len = message_len as usize;
    room(out, len)?.copy_from_slice(&padded[..len]);
    Ok(len)
}

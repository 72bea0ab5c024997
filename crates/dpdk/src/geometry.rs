//! The parts of a packet's span that a step covers.

use crate::algorithms::Engine;
use crate::packet::Packet;
use crate::session::{Plan, Step};

/// The bytes that a step covers, counted from the span's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first byte.
    pub at: usize,
    /// The number of bytes.
    pub len: usize,
    /// The number of bits, where that is not eight times as many.
    pub bits: usize,
}

impl Region {
    /// Returns the region of a step. There is none where it is not in the span, or does not begin with a whole byte.
    pub fn of<K>(step: &Step<K>, packet: &Packet) -> Option<Self> {
        let (at, length) = if step.is_auth() {
            (packet.auth_at, packet.auth_length)
        } else {
            (packet.cipher_at, packet.cipher_length)
        };
        let (at, length) = (at as usize, length as usize);
        let region = match step.engine {
            Engine::KasumiF8 | Engine::KasumiF9 if at.is_multiple_of(8) => {
                Region { at: at / 8, len: length.div_ceil(8), bits: length }
            }
            Engine::KasumiF8 | Engine::KasumiF9 => return None,
            _ => Region { at, len: length, bits: 8 * length },
        };
        let end = region.at.checked_add(region.len)?;
        (end <= packet.length as usize).then_some(region)
    }

    /// Returns the byte behind the last.
    pub fn end(&self) -> usize {
        self.at + self.len
    }
}

/// Returns the place of the tag in the span where the cipher covers it: a tag that is encrypted with the plaintext of which it is.
pub fn encrypted_tag<K>(plan: &Plan<K>, packet: &Packet) -> Option<usize> {
    let second = plan.second.as_ref()?;
    let (cipher, auth) = if second.is_cipher() { (second, &plan.first) } else { (&plan.first, second) };
    let authenticates_plaintext = second.is_cipher() == cipher.forward;
    let (region, at) = (Region::of(cipher, packet)?, packet.tag_at as usize);
    let is_covered = auth.has_tag() && region.at <= at && at.checked_add(auth.tag_len)? <= region.end();
    (authenticates_plaintext && is_covered).then_some(at)
}

/// Returns how many bytes come in clear before what is encrypted, where a chain is one that an accelerator does as one operation: what is
/// authenticated is all of the span, and ends with what is encrypted; an HMAC of the ciphertext.
pub fn combined<K>(plan: &Plan<K>, packet: &Packet) -> Option<usize> {
    let second = plan.second.as_ref().filter(|_| plan.may_combine)?;
    let (cipher, auth) = if second.is_cipher() { (second, &plan.first) } else { (&plan.first, second) };
    let (encrypted, authenticated) = (Region::of(cipher, packet)?, Region::of(auth, packet)?);
    let whole = authenticated.at == 0 && authenticated.len == packet.length as usize;
    (whole && encrypted.end() == authenticated.end()).then_some(encrypted.at)
}

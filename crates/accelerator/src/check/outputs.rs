//! The outputs of a word, and what depends on them: lengths of tags, parameters.

use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Status};

use super::{CheckedWord, span};
use crate::algorithms::{
    given_by, hash_of, is_aead_tag, is_long_result, is_mac, is_mac_tag, most_whole, takes_no_aad,
};
use crate::arena::Span;
use crate::pairs::{DecryptionScheme, SECRET_BYTES, SignatureScheme, has_context};
use crate::shape::ANY;
use crate::uses::{is_of_pair, is_piece};

/// Checks the spans that the word writes, and what depends on them.
#[inline(always)]
pub(super) fn outputs<const SHAPE: u64>(
    checked: &mut CheckedWord,
    word: &ControlWord,
    arena: u32,
) -> Result<(), Status> {
    match checked.opcode {
        // The word is executed at once, however short turns are.
        Opcode::Aead | Opcode::Cipher
            if most_whole(checked.algorithm)
                .is_some_and(|most| checked.source.len().max(word.aad_len) > most) =>
        {
            return Err(Status::DataLength);
        }
        Opcode::Aead if takes_no_aad(checked.algorithm) && word.aad_len > 0 => {
            return Err(Status::Reserved);
        }
        Opcode::Copy | Opcode::CopyChecksum | Opcode::Cipher | Opcode::Aead | Opcode::PartialAead => {
            checked.destination =
                span(word.destination, checked.source.len(), arena, Status::DestinationRange)?;
        }
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            checked.destination =
                span(word.destination, checked.source.len(), arena, Status::DestinationRange)?;
            if word.aad_len > checked.source.len() {
                return Err(Status::DataLength);
            }
            checked.clear = word.aad_len;
        }
        Opcode::Random => {
            if word.source_len > ControlWord::MOST_RANDOM_BYTES {
                return Err(Status::DataLength);
            }
            checked.destination = span(word.destination, word.source_len, arena, Status::DestinationRange)?;
        }
        // The word is executed at once, however short turns are.
        Opcode::Sign | Opcode::Verify | Opcode::Decrypt
            if checked.source.len().max(word.aad_len) > ControlWord::MOST_SIGNED_BYTES =>
        {
            return Err(Status::DataLength);
        }
        // A peer's public key is as long as one's own, or compressed.
        Opcode::Agree if checked.source.len() > given_by(checked.algorithm, Opcode::PublicKey) => {
            return Err(Status::DataLength);
        }
        Opcode::Decapsulate if checked.source.len() != given_by(checked.algorithm, Opcode::Encapsulate) => {
            return Err(Status::DataLength);
        }
        _ => {}
    }
    if SHAPE == ANY && is_of_pair(checked.opcode) {
        (checked.aad, checked.state) = pair_outputs(checked.opcode, checked.algorithm, *word, arena)?;
    }
    if matches!(checked.opcode, Opcode::Aead | Opcode::PartialHash | Opcode::PartialMac | Opcode::PartialAead)
    {
        checked.aad = span(word.aad, word.aad_len, arena, Status::AadRange)?;
    }
    if SHAPE == ANY && is_piece(checked.opcode) {
        checked.state = state(checked.opcode, checked.first, *word, arena)?;
    }
    if !mac_fits(checked, u32::from(word.mac_len), word.has(Flags::LAST)) {
        return Err(Status::MacLength);
    }
    if !parameter_fits(checked) {
        return Err(Status::Parameter);
    }
    Ok(())
}

/// Returns what words about key pairs have beside others: the signature or label, and the place of a long result.
#[cold]
#[inline(never)]
fn pair_outputs(
    opcode: Opcode,
    algorithm: Algorithm,
    word: ControlWord,
    arena: u32,
) -> Result<(Span, Span), Status> {
    let aad = match opcode {
        Opcode::Verify | Opcode::Decrypt => span(word.aad, word.aad_len, arena, Status::AadRange)?,
        _ => Span::default(),
    };
    if !has_context(algorithm) && (word.iv != 0 || word.iv_len != 0) {
        return Err(Status::Reserved);
    }
    if !is_long_result(algorithm, opcode) {
        let unused = word.destination == 0 && word.mac_key_len == 0;
        return if unused { Ok((aad, Span::default())) } else { Err(Status::Reserved) };
    }
    if !(1..=ControlWord::MOST_RESULT_BYTES).contains(&word.mac_key_len) {
        return Err(Status::DestinationRange);
    }
    let result = span(word.destination, u32::from(word.mac_key_len), arena, Status::DestinationRange)?;
    Ok((aad, result))
}

/// Checks the mid-states of a piece: the one before is there unless the message begins, the one after unless it ends. Returns the
/// place of the one after.
#[cold]
#[inline(never)]
fn state(opcode: Opcode, first: bool, word: ControlWord, arena: u32) -> Result<Span, Status> {
    let fits = match opcode {
        // A nonce or a state lies there, and is checked as such when it is read.
        Opcode::PartialAead => word.iv_len > 0,
        _ => first == (word.aad_len == 0) && word.aad_len <= ControlWord::STATE_BYTES,
    };
    if !fits {
        return Err(Status::MidState);
    }
    if !word.has(Flags::LAST) {
        return span(word.state, ControlWord::STATE_BYTES, arena, Status::StateRange);
    }
    if word.state == 0 { Ok(Span::default()) } else { Err(Status::Reserved) }
}

/// Returns true when the algorithm has digests or tags of that length.
#[inline(always)]
fn mac_fits(checked: &CheckedWord, len: u32, last: bool) -> bool {
    let digest = |algorithm| hash_of(algorithm).map_or(0, |hash| hash.output_len() as u32);
    match checked.opcode {
        Opcode::Hash => len == digest(checked.algorithm),
        Opcode::PartialMac | Opcode::PartialAead if !last => len == 0,
        Opcode::PartialHash => len == if last { digest(checked.algorithm) } else { 0 },
        Opcode::PartialMac if is_mac(checked.algorithm) => is_mac_tag(checked.algorithm, len),
        Opcode::Hmac | Opcode::PartialMac => (4..=digest(checked.algorithm)).contains(&len),
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => (4..=digest(checked.hash)).contains(&len),
        Opcode::Mac => is_mac_tag(checked.algorithm, len),
        Opcode::Encapsulate => len == SECRET_BYTES,
        Opcode::Sign | Opcode::Agree | Opcode::PublicKey | Opcode::Decapsulate => {
            let given = given_by(checked.algorithm, checked.opcode);
            len == if is_long_result(checked.algorithm, checked.opcode) { 0 } else { given }
        }
        Opcode::Aead | Opcode::PartialAead => is_aead_tag(checked.algorithm, len),
        _ => len == 0,
    }
}

/// Returns true when the parameter is zero, a radix, or one of KASUMI's.
#[inline(always)]
fn parameter_fits(checked: &CheckedWord) -> bool {
    let unused_bits = checked.parameter & 7;
    match checked.algorithm {
        Algorithm::AesFf1 => (2..=1 << 16).contains(&checked.parameter),
        Algorithm::KasumiF8 => {
            checked.parameter & !(ControlWord::ANY_START | 7) == 0
                && (unused_bits == 0 || checked.source.len() > 0)
        }
        Algorithm::KasumiF9 => {
            checked.parameter & !0x107 == 0 && (unused_bits == 0 || checked.source.len() > 0)
        }
        _ if matches!(checked.opcode, Opcode::Sign | Opcode::Verify) => {
            SignatureScheme::of_word(checked.algorithm, checked.hash, checked.parameter).is_some()
        }
        _ if checked.opcode == Opcode::Decrypt => {
            let label: &[u8] = if checked.aad.len == 0 { &[] } else { &[0] };
            DecryptionScheme::of_word(checked.hash, checked.parameter, label).is_some()
        }
        _ => checked.parameter == 0,
    }
}

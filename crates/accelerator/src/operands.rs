//! The bytes that a checked word reads and writes, and the operation that it describes over them.
//!
//! # Safety
//! Slices of an arena are lent to operations only where the arena is exclusive: its promise, and the
//! overlap rule that [`check`](crate::check::check) enforced, are the witness. A list of operations is as long as the operations
//! that were written to it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use millstream_cwq::{Completion, Opcode, Status};
use millstream_engines::hash::{Hash, HashJob};
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut};

use crate::algorithms::hash_of;
use crate::arena::{Arena, Span, slice, slice_mut};
use crate::check::CheckedWord;
use crate::grant::Grant;
use crate::key::KeyRef;
use crate::operation::Operation;
use crate::pairs::{
    CarriedPublic, DecryptionScheme, Encapsulate, Recipient, SignatureScheme, Verify, VerifyWith,
};
use crate::shape::ANY;
use crate::sink::{
    Sink, aead, agree, chained, cipher, decapsulate, decrypt, f9_start, format, kasumi_f8, kasumi_f9, keyed,
    public_key, sign,
};
use crate::source::Fill;
use crate::status::{failed, status_of};
use crate::uses::is_of_pair;
use crate::word_keys::{WordKeys, make_nonce};
use crate::work::{Chained, Checksum, Expected, Partial, Work};

/// The bytes that a word is about.
pub(crate) enum Data<'a> {
    /// Read in one place, and written in another.
    Separate(&'a [u8], &'a mut [u8]),
    /// Read and written in one place.
    InPlace(&'a mut [u8]),
}

impl<'a> Data<'a> {
    #[inline(always)]
    pub(crate) fn input(self) -> &'a [u8] {
        match self {
            Data::Separate(source, _) => source,
            Data::InPlace(bytes) => bytes,
        }
    }

    #[inline(always)]
    fn output(self) -> &'a mut [u8] {
        match self {
            Data::Separate(_, destination) => destination,
            Data::InPlace(bytes) => bytes,
        }
    }

    #[inline(always)]
    pub(crate) fn in_out(self) -> Result<InOut<'a>, Status> {
        match self {
            Data::Separate(source, destination) => {
                InOut::separate(source, destination).map_err(|_| Status::DestinationRange)
            }
            Data::InPlace(bytes) => Ok(InOut::in_place(bytes)),
        }
    }
}

/// The bytes that a word reads and writes while it is executed; a digest or tag is written after.
pub(crate) struct Operands<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) aad: &'a [u8],
    pub(crate) iv: &'a [u8],
    /// The tag to compare with; empty where none is.
    pub(crate) mac: &'a [u8],
    /// The place for a mid-state.
    state: &'a mut [u8],
}

impl<'a> Operands<'a> {
    /// Borrows an exclusive arena's own bytes.
    #[inline(always)]
    pub(crate) fn in_arena<A: Arena>(arena: &'a A, checked: &CheckedWord) -> Self {
        let source = checked.source.span().unwrap_or_default();
        // SAFETY: only words of an exclusive arena come here, whose spans were checked: what it writes overlaps nothing
        // else that it names.
        unsafe {
            Operands {
                data: if checked.is_in_place() {
                    Data::InPlace(slice_mut(arena, checked.destination))
                } else {
                    Data::Separate(slice(arena, source), slice_mut(arena, checked.destination))
                },
                aad: slice(arena, checked.aad),
                iv: slice(arena, checked.iv),
                mac: slice(arena, read_mac(checked)),
                state: slice_mut(arena, checked.state),
            }
        }
    }

    /// Takes the source from staging memory, and the rest from an exclusive arena.
    #[inline(always)]
    pub(crate) fn gathered<A: Arena>(arena: &'a A, checked: &CheckedWord, source: &'a [u8]) -> Self {
        let direct = Operands::in_arena(arena, checked);
        let data = match direct.data {
            Data::Separate(_, destination) => Data::Separate(source, destination),
            data => data,
        };
        Operands { data, ..direct }
    }

    /// Takes everything from a word's place in staging memory. The engine works in place: the copied source becomes the
    /// output.
    #[inline(always)]
    pub(crate) fn staged(checked: &CheckedWord, place: &'a mut [u8]) -> Self {
        let (data, rest) = place.split_at_mut(checked.object_len() as usize);
        let (aad, rest) = rest.split_at_mut(checked.aad.len as usize);
        let (iv, rest) = rest.split_at_mut(checked.iv.len as usize);
        let (mac, state) = rest.split_at_mut(read_mac(checked).len as usize);
        Operands { data: Data::InPlace(data), aad, iv, mac, state }
    }
}

/// Returns how many bytes a word's object and its other inputs take in staging memory.
#[inline(always)]
pub(crate) fn staged_len(checked: &CheckedWord) -> usize {
    let spans = [checked.aad, checked.iv, read_mac(checked), checked.state];
    let small = spans.iter().map(|span| span.len as usize).sum::<usize>();
    checked.object_len() as usize + small
}

/// Returns where in a word's place in staging memory its initialisation vector lies.
#[inline(always)]
pub(crate) fn iv_place(checked: &CheckedWord) -> std::ops::Range<usize> {
    let begin = checked.object_len() as usize + checked.aad.len as usize;
    begin..begin + checked.iv.len as usize
}

/// Returns the span of a tag to compare with, which is empty where a tag is written.
#[inline(always)]
pub(crate) fn read_mac(checked: &CheckedWord) -> Span {
    if checked.reverse { checked.mac } else { Span::default() }
}

/// Returns the span that a digest or tag is written to, which is empty where one is read.
#[inline(always)]
pub(crate) fn written_mac(checked: &CheckedWord) -> Span {
    if checked.reverse { Span::default() } else { checked.mac }
}

/// Makes a nonce and puts it where the engine reads it: in an arena that nobody else touches, or else in the word's own place.
#[inline(always)]
pub(crate) fn put_nonce<A: Arena>(
    checked: &CheckedWord,
    grant: &Grant<A>,
    own: &mut [u8],
) -> Result<(), Status> {
    let nonce = make_nonce(checked.key, grant)?;
    if grant.arena.exclusive() {
        grant.arena.write(checked.iv.at, &nonce);
    } else {
        own[iv_place(checked)].copy_from_slice(&nonce);
    }
    Ok(())
}

/// Writes the digest or tag of an operation, and says what came of it.
#[inline(always)]
pub(crate) fn complete_operation<A: Arena>(
    tag: u64,
    mac: Span,
    operation: &Operation<'_>,
    arena: &A,
) -> Completion {
    complete(tag, mac, operation.result(), operation.tag(), operation.value(), arena)
}

/// Writes the digest or tag `code` to `mac`, and says what came of a word with that `tag`: a result, or a value.
#[inline(always)]
pub(crate) fn complete<A: Arena>(
    tag: u64,
    mac: Span,
    result: Result<(), Error>,
    code: &[u8],
    mut value: u32,
    arena: &A,
) -> Completion {
    if let Err(error) = result {
        return failed(tag, status_of(error));
    }
    if mac.len > 0 {
        arena.write(mac.at, &code[..mac.len as usize]);
        // An encapsulation has a ciphertext beside its secret, whose length is told.
        if value == 0 {
            value = mac.len;
        }
    }
    Completion { tag, status: Status::Ok as u16, value, ..Completion::default() }
}

/// Makes an operation in its place. An operation is some 200 bytes, which would cost more to move than to make, so nothing may
/// happen between the two that could give it up: a place is found first.
struct Added<'v, 'a>(&'v mut MaybeUninit<Operation<'a>>);

impl<'a> Sink<'a> for Added<'_, 'a> {
    type Output = Result<(), Status>;

    #[inline(always)]
    fn accept(self, work: Work<'a>) -> Result<(), Status> {
        self.0.write(Operation::new(work));
        Ok(())
    }

    #[inline(always)]
    fn refuse(self, error: Error) -> Result<(), Status> {
        Err(status_of(error))
    }
}

/// Adds the operation that a word describes.
#[inline(always)]
pub(crate) fn add_operation<'a, const SHAPE: u64>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let used = operations.len();
    // The list was made for as many operations as words are held.
    let place = operations.spare_capacity_mut().first_mut().ok_or(Status::TooLong)?;
    make_operation::<SHAPE>(checked, keys, operands, Added(place))?;
    // SAFETY: that place is the next, and `make_operation` has written to it, as it does unless it fails.
    unsafe { operations.set_len(used + 1) };
    Ok(())
}

/// Makes the operation that a word describes.
#[inline(always)]
fn make_operation<'a, const SHAPE: u64>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    operands: Operands<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    let Operands { data, aad, iv, mac, state } = operands;
    let expected = checked.reverse.then_some(mac);
    match checked.opcode {
        Opcode::Copy => sink.accept(copy(data)),
        Opcode::CopyChecksum => sink.accept(copy_checksum(checksum(checked)?, data)),
        Opcode::Checksum => sink.accept(Work::Checksum { checksum: checksum(checked)?, data: data.input() }),
        Opcode::Cipher => add_cipher(checked, keys, iv, data.in_out()?, sink),
        Opcode::Aead => {
            let key = keys.key.and_then(KeyRef::as_aead).ok_or(Status::Key)?;
            aead(key, iv, aad, data.in_out()?, expected, sink)
        }
        Opcode::Hash => sink.accept(Work::Hash(hash(checked)?, HashJob::new(data.input()))),
        Opcode::PartialHash => {
            sink.accept(Work::Partial(partial_hash(checked, hash(checked)?, aad, data.input(), state)))
        }
        Opcode::Hmac => {
            let key = keys.key.and_then(KeyRef::as_mac).ok_or(Status::Key)?;
            keyed(key, data.input(), expected, sink)
        }
        Opcode::Mac => add_mac(checked, keys, iv, data.input(), expected, sink),
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            sink.accept(Work::Chained(combine(checked, keys, iv, data, expected)?))
        }
        opcode if SHAPE == ANY && is_of_pair(opcode) => sink.accept(with_pair(
            *checked,
            keys,
            data.input(),
            PairOperands { context: iv, aad, out: state },
        )?),
        Opcode::Random => sink.accept(Work::Random(Fill::new(data.output()))),
        // Pieces under a key are executed in slices.
        Opcode::PartialMac | Opcode::PartialAead => Err(Status::Opcode),
        _ => sink.accept(Work::Null),
    }
}

/// Returns the work of a cipher and an HMAC over the same bytes.
#[inline(always)]
pub(crate) fn combine<'a>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    iv: &[u8],
    data: Data<'a>,
    expected: Expected<'a>,
) -> Result<Chained<'a>, Status> {
    let cipher = keys.key.and_then(KeyRef::as_cipher).ok_or(Status::Key)?;
    let Some(KeyRef::Hmac(hmac)) = keys.mac_key else { return Err(Status::Key) };
    chained(cipher, iv, hmac, checked.clear as usize, data.in_out()?, expected).map_err(status_of)
}

/// The bytes that words about key pairs have beside their source.
struct PairOperands<'a> {
    context: &'a [u8],
    /// A signature or a label.
    aad: &'a [u8],
    /// The place of a long result.
    out: &'a mut [u8],
}

/// Returns the work of a word about a key pair.
#[cold]
#[inline(never)]
fn with_pair<'a>(
    checked: CheckedWord,
    keys: WordKeys<'a>,
    source: &'a [u8],
    operands: PairOperands<'a>,
) -> Result<Work<'a>, Status> {
    let PairOperands { context, aad, out } = operands;
    let scheme = || {
        SignatureScheme::of_word(checked.algorithm, checked.hash, checked.parameter).ok_or(Status::Parameter)
    };
    let work = match checked.opcode {
        Opcode::Sign => {
            let mut work = sign(keys.private()?, scheme()?, context, source, out);
            if keys.presigns
                && let Ok(Work::Sign(sign)) = &mut work
            {
                sign.permit_presignature();
            }
            work
        }
        Opcode::Agree => agree(keys.private()?, source),
        Opcode::Verify => {
            let key = match keys.public.ok_or(Status::Key)? {
                CarriedPublic::Expanded(key) => VerifyWith::Key(key.by_ref()),
                CarriedPublic::MlDsa(set, bytes) => VerifyWith::MlDsa(*set, bytes),
                CarriedPublic::MlKem(..) => return Err(Status::Key),
            };
            Verify::new(key, scheme()?, context, source, aad).map(Work::Verify)
        }
        Opcode::Encapsulate => {
            let CarriedPublic::MlKem(algorithm, key) = keys.public.ok_or(Status::Key)? else {
                return Err(Status::Key);
            };
            let recipient = Recipient::of(*algorithm, key);
            recipient.and_then(|key| Encapsulate::new(key, out)).map(Work::Encapsulate)
        }
        Opcode::Decapsulate => decapsulate(keys.private()?, source),
        Opcode::Decrypt => {
            let scheme = DecryptionScheme::of_word(checked.hash, checked.parameter, aad);
            decrypt(keys.private()?, scheme.ok_or(Status::Parameter)?, source, out)
        }
        _ => public_key(keys.private()?, out),
    };
    work.map_err(status_of)
}

/// Returns the work of a copy. Where the object was staged the copy is done already.
#[inline(always)]
fn copy(data: Data<'_>) -> Work<'_> {
    match data {
        Data::Separate(source, destination) => Work::Copy { source, destination },
        Data::InPlace(_) => Work::Null,
    }
}

#[inline(always)]
fn copy_checksum(checksum: Checksum, data: Data<'_>) -> Work<'_> {
    match data {
        Data::Separate(source, destination) => Work::CopyChecksum { checksum, source, destination },
        Data::InPlace(data) => Work::Checksum { checksum, data },
    }
}

#[inline(always)]
fn add_cipher<'a>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    iv: &'a [u8],
    data: InOut<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    if let Some(KeyRef::AesFf1(key)) = keys.key {
        let direction = if checked.reverse { Direction::Decrypt } else { Direction::Encrypt };
        return sink.accept(format(key, direction, checked.parameter, iv, data));
    }
    if let Some(KeyRef::KasumiF8(key)) = keys.key {
        return kasumi_f8(key, iv, data, checked.parameter, sink);
    }
    let key = keys.key.and_then(KeyRef::as_cipher).ok_or(Status::Key)?;
    let direction = if checked.reverse { Direction::Decrypt } else { Direction::Encrypt };
    cipher(key, direction, iv, data, sink)
}

#[inline(always)]
fn add_mac<'a>(
    checked: &CheckedWord,
    keys: WordKeys<'a>,
    iv: &[u8],
    message: &'a [u8],
    expected: Expected<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    if let Some(KeyRef::KasumiF9(key)) = keys.key {
        let (start, direction) = (f9_start(iv).map_err(status_of)?, (checked.parameter >> 8) as u8);
        let bits = 8 * message.len() - (checked.parameter & 7) as usize;
        return sink.accept(kasumi_f9(key, start, direction, message, bits, expected));
    }
    if !iv.is_empty() {
        return Err(Status::IvLength);
    }
    let key = keys.key.and_then(KeyRef::as_mac).ok_or(Status::Key)?;
    keyed(key, message, expected, sink)
}

#[inline(always)]
fn partial_hash<'a>(
    checked: &CheckedWord,
    hash: Hash,
    before: &'a [u8],
    data: &'a [u8],
    after: &'a mut [u8],
) -> Partial<'a> {
    let before = (!checked.first).then_some(before);
    let after = (checked.state.len > 0).then_some(after);
    Partial { hash, before, data, after, digest: None }
}

#[inline(always)]
fn checksum(checked: &CheckedWord) -> Result<Checksum, Status> {
    Checksum::of(checked.algorithm).ok_or(Status::Algorithm)
}

#[inline(always)]
fn hash(checked: &CheckedWord) -> Result<Hash, Status> {
    hash_of(checked.algorithm).ok_or(Status::Algorithm)
}

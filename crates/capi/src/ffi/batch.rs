//! Many objects in one call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::Operation as Inner;

use super::{In, Out, guard, object, pass};
use crate::algorithm::AlgorithmCode;
use crate::direct::whole_tag;
use crate::key::Key;
use crate::status::{Failure, Status, StatusCode};

/// What an operation of a batch or of a queue does. `input` and `output` are a queue's source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Nothing.
    Null = 0,
    /// Copies the input to the output.
    Copy = 1,
    /// The same, and takes the checksum `algorithm`: `value`.
    CopyChecksum = 2,
    /// The checksum `algorithm` of the input: `value`.
    Checksum = 3,
    /// Encrypts the input to the output: `key`, `iv`, and `unused_bits` for KASUMI F8.
    Encrypt = 4,
    /// Decrypts the input to the output.
    Decrypt = 5,
    /// Encrypts and authenticates: `key`, `iv` (the nonce), `aad`; the tag is 16 bytes.
    Seal = 6,
    /// Decrypts if the tag is right: `key`, `iv`, `aad`, `tag`. Else the output is all zero.
    Open = 7,
    /// The digest `algorithm` of the input.
    Digest = 8,
    /// The MAC of the input: `key`; for KASUMI F9 `iv`, `direction` and `unused_bits` besides.
    Mac = 9,
    /// Compares the MAC of the input with the tag, or as much of it as is given, 4 bytes at least.
    Verify = 10,
    /// Copies the first `clear_length` bytes of the input and encrypts the rest (`key`, `iv`); then the HMAC of all of the output
    /// (`mac_key`).
    EncryptThenMac = 11,
    /// Compares the HMAC of all of the input (`mac_key`) with the tag; if it is right, copies the first `clear_length`
    /// bytes and decrypts the rest. Else the output is all zero.
    MacThenDecrypt = 12,
    /// Takes up the digest `algorithm` at the mid-state `aad`, or begins it where that has 0 bytes, and adds the input. In a batch the
    /// mid-state after it goes to `tag` (MILLSTREAM_MID_STATE_ROOM bytes of room) and its length to `tag_length`; a
    /// queue gives it as `state`.
    PartialDigest = 13,
    /// The same, and ends the message: the tag is its digest.
    LastDigest = 14,
    /// As MILLSTREAM_KIND_SEAL, in a queue, under a nonce that the accelerator makes: `key`, which was made so
    /// (millstream_key_options), and `aad`. The nonce comes back after the tag.
    SealWithMadeNonce = 15,
}

/// A number that is to be one of [`Kind`]: C may pass any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct KindCode(pub u32);

/// The kinds, by their numbers.
const KINDS: [Kind; 16] = [
    Kind::Null,
    Kind::Copy,
    Kind::CopyChecksum,
    Kind::Checksum,
    Kind::Encrypt,
    Kind::Decrypt,
    Kind::Seal,
    Kind::Open,
    Kind::Digest,
    Kind::Mac,
    Kind::Verify,
    Kind::EncryptThenMac,
    Kind::MacThenDecrypt,
    Kind::PartialDigest,
    Kind::LastDigest,
    Kind::SealWithMadeNonce,
];

impl KindCode {
    #[inline(always)]
    pub(crate) fn get(self) -> Result<Kind, Failure> {
        KINDS.get(self.0 as usize).copied().ok_or(Failure::Argument("kind", self.0.into()))
    }
}

/// One operation of a batch, 128 bytes. Set all of it to 0, then the fields that its kind uses.
#[derive(Debug)]
#[repr(C)]
pub struct Operation {
    /// What to do.
    pub kind: KindCode,
    /// The hash or checksum, where there is no key.
    pub algorithm: AlgorithmCode,
    /// What came of it: written by millstream_batch().
    pub status: StatusCode,
    /// The checksum that was taken: written by millstream_batch().
    pub value: u32,
    /// The key.
    pub key: *const Key,
    /// The key of the HMAC, where a cipher and an HMAC are combined.
    pub mac_key: *const Key,
    /// The input.
    pub input: *const u8,
    /// The output, as long as the input; it may be the input.
    pub output: *mut u8,
    /// Bytes of input, and of output.
    pub length: usize,
    /// Initialisation vector, first counter block, tweak, or nonce.
    pub iv: *const u8,
    /// Bytes of it.
    pub iv_length: usize,
    /// Associated data, or the mid-state before.
    pub aad: *const u8,
    /// Bytes of it.
    pub aad_length: usize,
    /// Room for the tag, MAC, digest or mid-state; or the tag to compare with.
    pub tag: *mut u8,
    /// Bytes of room there, of which millstream_batch() makes the bytes written; or bytes of the tag to compare with.
    pub tag_length: usize,
    /// Bytes in front that are authenticated and not encrypted, where a cipher and an HMAC are combined.
    pub clear_length: usize,
    /// Of KASUMI: how many bits of the last byte are no part of the message, 0 to 7.
    pub unused_bits: u8,
    /// Of KASUMI F9: DIRECTION, 0 or 1.
    pub direction: u8,
    /// 0.
    pub reserved: [u8; 6],
    /// The caller's own: the library leaves it alone.
    pub user: u64,
}

/// So many are executed at a time: what the widest lanes take.
const MANY: usize = 512;

/// Executes `count` operations; those of one kind go side by side wherever that pays. All are done on return, with
/// their `status`, and where there are `value` and `tag`, in place. Outputs and tags of an operation must not overlap
/// anything that another operation of the batch names: that is not checked. One list is allocated for
/// the call, and nothing for an operation unless it combines a cipher and an HMAC.
///
/// Returns MILLSTREAM_STATUS_OK when all succeeded, else the status of the first that did not; the others are executed all the
/// same. Fails with nothing executed with MILLSTREAM_STATUS_NULL (`operations`), MILLSTREAM_STATUS_SIZE,
/// MILLSTREAM_STATUS_FEATURES. An operation's `status` is what the function of its name fails with
/// (millstream_encrypt(), millstream_seal() ...), MILLSTREAM_STATUS_ARGUMENT (no such kind), or MILLSTREAM_STATUS_RESERVED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_batch(operations: *mut Operation, count: usize) -> Status {
    guard(|| {
        if operations.is_null() && count > 0 {
            return Err(Failure::Null("operations"));
        }
        if count > isize::MAX as usize / size_of::<Operation>() {
            return Err(Failure::Size("operations", count));
        }
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise; not NULL, and no longer than an object can be.
        let operations = unsafe { std::slice::from_raw_parts_mut(operations, count) };
        let (mut first, mut list) = (None, Vec::with_capacity(MANY.min(count)));
        for (i, chunk) in operations.chunks_mut(MANY).enumerate() {
            // SAFETY: the caller's promise for each operation.
            unsafe { run(chunk, i * MANY, &mut first, &mut list)? };
            list.clear();
        }
        first.map_or(Ok(()), |(place, failure)| Err(Failure::Operation(place, Box::new(failure))))
    })
}

/// Makes a list of operations from those of C, executes it, and takes the results over. `first` is the first failure and its
/// place.
///
/// # Safety
/// What the operations name is valid for `'a`, as the caller promised, and the list is gone after it.
#[inline(always)]
unsafe fn run<'a>(
    operations: &mut [Operation],
    begin: usize,
    first: &mut Option<(usize, Failure)>,
    list: &mut Vec<Inner<'a>>,
) -> Result<(), Failure> {
    for (i, operation) in operations.iter_mut().enumerate() {
        operation.status = Status::Ok.into();
        // SAFETY: as the caller says.
        if let Err(failure) = unsafe { inner(operation, list) } {
            operation.status = failure.status().into();
            first.get_or_insert((begin + i, failure));
            list.push(Inner::null());
        }
    }
    millstream::batch(list)?;
    for (i, (operation, done)) in operations.iter_mut().zip(list.iter()).enumerate() {
        if operation.status != Status::Ok.into() {
            continue;
        }
        let result = match done.result() {
            // SAFETY: the tag's room is the caller's promise, and nothing reads it any more.
            Ok(()) => unsafe { take_over(operation, done) },
            Err(error) => Err(error.into()),
        };
        if let Err(failure) = result {
            operation.status = failure.status().into();
            if first.as_ref().is_none_or(|(place, _)| *place > begin + i) {
                *first = Some((begin + i, failure));
            }
        }
    }
    Ok(())
}

/// Copies what was computed to where C wants it.
///
/// # Safety
/// The operation's tag has as much room as it says.
#[inline(always)]
unsafe fn take_over(operation: &mut Operation, done: &Inner<'_>) -> Result<(), Failure> {
    operation.value = done.value();
    if operation.kind.0 == Kind::PartialDigest as u32 {
        operation.tag_length = done.value() as usize;
        return Ok(());
    }
    let tag = done.tag();
    if tag.is_empty() {
        return Ok(());
    }
    // SAFETY: as the caller says. The room was found to lie apart from what the operation names.
    let room = unsafe { Out::new("tag", operation.tag, operation.tag_length)?.get() };
    crate::direct::room(room, tag.len())?.copy_from_slice(tag);
    operation.tag_length = tag.len();
    Ok(())
}

/// Adds an operation to the list as the library takes it; where it fails nothing is added.
///
/// # Safety
/// What it names is valid for `'a`, as the caller promised.
#[inline(always)]
unsafe fn inner<'a>(of: &Operation, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    let kind = of.kind.get()?;
    if of.reserved != [0; 6] {
        return Err(Failure::Reserved("reserved"));
    }
    // SAFETY: as the caller says; every output is found to lie apart below, before any reference is made of it.
    unsafe {
        match kind {
            Kind::Encrypt | Kind::Decrypt => cipher(of, kind, list),
            Kind::Seal | Kind::Open => aead(of, kind, list),
            Kind::Digest => digest(of, list),
            Kind::Mac | Kind::Verify => mac(of, kind, list),
            Kind::EncryptThenMac | Kind::MacThenDecrypt => combined(of, kind, list),
            Kind::PartialDigest | Kind::LastDigest => partial(of, kind, list),
            // Keys of a batch have no slot in which nonces could be counted.
            Kind::SealWithMadeNonce => Err(Failure::Argument("kind of a batch", kind as u64)),
            Kind::Null | Kind::Copy | Kind::CopyChecksum | Kind::Checksum => plain(of, kind, list),
        }
    }
}

/// What is read: input, initialisation vector, associated data, and a tag that is compared.
struct Read {
    input: In,
    iv: In,
    aad: In,
}

impl Read {
    #[inline(always)]
    fn of(of: &Operation) -> Result<Self, Failure> {
        Ok(Read {
            input: In::new("input", of.input, of.length)?,
            iv: In::new("iv", of.iv, of.iv_length)?,
            aad: In::new("aad", of.aad, of.aad_length)?,
        })
    }
}

/// Where a tag of `needed` bytes goes: checked now, so that nothing is computed in vain, and written in the end.
#[inline(always)]
fn tag_room(of: &Operation, needed: usize, read: &Read, output: Option<&Out>) -> Result<Out, Failure> {
    let tag = Out::new("tag", of.tag, of.tag_length)?;
    if of.tag_length < needed {
        let given = of.tag_length;
        return Err(millstream::EngineError::OutputLength { given, needed }.into());
    }
    tag.apart(&[read.input, read.iv, read.aad])?;
    if let Some(output) = output {
        tag.apart_from(output)?;
    }
    Ok(tag)
}

/// The output, apart from all that is read but the input.
#[inline(always)]
fn output(of: &Operation, read: &Read) -> Result<Out, Failure> {
    let output = Out::new("output", of.output, of.length)?;
    output.apart(&[read.iv, read.aad])?;
    Ok(output)
}

/// A tag that is compared.
#[inline(always)]
fn given_tag(of: &Operation) -> Result<In, Failure> {
    In::new("tag", of.tag.cast_const(), of.tag_length)
}

/// What only KASUMI uses is 0 with others.
#[inline(always)]
fn no_bits(of: &Operation) -> Result<(), Failure> {
    if of.unused_bits | of.direction != 0 {
        return Err(Failure::Reserved("unused_bits or direction"));
    }
    Ok(())
}

/// How many bits a message of KASUMI has.
fn bits(of: &Operation) -> Result<usize, Failure> {
    let unused = usize::from(of.unused_bits);
    if unused > 7 || unused > 8 * of.length {
        return Err(Failure::Argument("number of unused bits", of.unused_bits.into()));
    }
    Ok(8 * of.length - unused)
}

/// # Safety
/// As for [`inner`]; so for all that follow.
#[inline(never)]
unsafe fn cipher<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    let read = Read::of(of)?;
    let output = output(of, &read)?;
    // SAFETY: as the caller says, and the output lies apart from what is read.
    let (key, data, iv) = unsafe { (object("key", of.key)?, pass(read.input, output)?, read.iv.get()) };
    if of.unused_bits != 0 {
        return kasumi_f8(of, key, iv, data, list);
    }
    no_bits(of)?;
    let key = key.cipher()?;
    match kind {
        Kind::Encrypt => list.push(Inner::encrypt(key, iv, data)),
        _ => list.push(Inner::decrypt(key, iv, data)),
    }
    Ok(())
}

/// KASUMI F8 of a message that is not whole bytes.
fn kasumi_f8<'a>(
    of: &Operation,
    key: &'a Key,
    iv: &[u8],
    data: millstream::InOut<'a>,
    list: &mut Vec<Inner<'a>>,
) -> Result<(), Failure> {
    let key = key.kasumi_f8()?;
    let (count, rest) = two_words("kasumi-f8", iv)?;
    if rest & ((1 << 26) - 1) != 0 || of.direction != 0 {
        let (algorithm, name, takes) = ("kasumi-f8", "IV", "COUNT, BEARER, DIRECTION and 26 bits of zeros");
        return Err(millstream::EngineError::Parameter { algorithm, name, given: rest.into(), takes }.into());
    }
    let (bearer, direction) = ((rest >> 27) as u8, (rest >> 26) as u8 & 1);
    list.push(Inner::kasumi_f8(key, count, bearer, direction, data, bits(of)?));
    Ok(())
}

/// Eight bytes as two numbers, the most significant byte first.
fn two_words(algorithm: &'static str, iv: &[u8]) -> Result<(u32, u32), Failure> {
    let (words, []) = iv.as_chunks::<4>() else { return Err(wrong_iv(algorithm, iv)) };
    match words {
        [a, b] => Ok((u32::from_be_bytes(*a), u32::from_be_bytes(*b))),
        _ => Err(wrong_iv(algorithm, iv)),
    }
}

fn wrong_iv(algorithm: &'static str, iv: &[u8]) -> Failure {
    millstream::EngineError::NonceLength { algorithm, given: iv.len(), takes: "8 bytes" }.into()
}

#[inline(never)]
unsafe fn aead<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let read = Read::of(of)?;
    let output = output(of, &read)?;
    let tag = match kind {
        Kind::Seal => {
            tag_room(of, 16, &read, Some(&output))?;
            None
        }
        _ => {
            let tag = given_tag(of)?;
            output.apart(&[tag])?;
            Some(tag)
        }
    };
    // SAFETY: as the caller says, and what is written lies apart from what is read.
    unsafe {
        let (key, data) = (object("key", of.key)?.aead()?, pass(read.input, output)?);
        let (nonce, aad) = (read.iv.get(), read.aad.get());
        match tag {
            None => list.push(Inner::seal(key, nonce, aad, data)),
            Some(tag) => list.push(Inner::open(key, nonce, aad, data, whole_tag(tag.get())?)),
        }
    }
    Ok(())
}

#[inline(never)]
unsafe fn digest<'a>(of: &Operation, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let (hash, read) = (of.algorithm.hash()?, Read::of(of)?);
    tag_room(of, hash.output_len(), &read, None)?;
    // SAFETY: as the caller says, and what is written lies apart from what is read.
    list.push(Inner::digest(hash, unsafe { read.input.get() }));
    Ok(())
}

#[inline(never)]
unsafe fn mac<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    let read = Read::of(of)?;
    // SAFETY: as the caller says.
    let key = unsafe { object("key", of.key)? };
    if let millstream::Key::KasumiF9(_) = key.inner() {
        // SAFETY: as the caller says.
        return unsafe { kasumi_f9(of, kind, key, &read, list) };
    }
    no_bits(of)?;
    let key = key.mac()?;
    if kind == Kind::Mac {
        let needed = match key {
            millstream::MacKey::Hmac(key) => key.hash().output_len(),
            millstream::MacKey::AesCmac(_) => 16,
            _ => 8,
        };
        tag_room(of, needed, &read, None)?;
        // SAFETY: as the caller says, and what is written lies apart from what is read.
        list.push(Inner::mac(key, unsafe { read.input.get() }));
        return Ok(());
    }
    // SAFETY: as the caller says; nothing is written.
    unsafe { list.push(Inner::verify(key, read.input.get(), given_tag(of)?.get())) };
    Ok(())
}

unsafe fn kasumi_f9<'a>(
    of: &Operation,
    kind: Kind,
    key: &'a Key,
    read: &Read,
    list: &mut Vec<Inner<'a>>,
) -> Result<(), Failure> {
    let key = key.kasumi_f9()?;
    // SAFETY: as the caller says; a tag's room is found to lie apart before it is written.
    let (message, iv) = unsafe { (read.input.get(), read.iv.get()) };
    let ((count, fresh), bits) = (two_words("kasumi-f9", iv)?, bits(of)?);
    if kind == Kind::Mac {
        tag_room(of, 4, read, None)?;
        list.push(Inner::kasumi_f9(key, count, fresh, of.direction, message, bits));
        return Ok(());
    }
    // SAFETY: as the caller says; nothing is written.
    let code = unsafe { given_tag(of)?.get() };
    let Ok(code) = code.try_into() else {
        let (algorithm, given) = ("kasumi-f9", code.len());
        return Err(millstream::EngineError::TagLength { algorithm, given, takes: "4 bytes" }.into());
    };
    list.push(Inner::verify_kasumi_f9(key, count, fresh, of.direction, message, bits, code));
    Ok(())
}

#[inline(never)]
unsafe fn combined<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let read = Read::of(of)?;
    let output = output(of, &read)?;
    // SAFETY: as the caller says, and what is written is found to lie apart from what is read.
    unsafe {
        let (cipher, mac) = (object("key", of.key)?.cipher()?, object("mac_key", of.mac_key)?.hmac()?);
        let clear = of.clear_length;
        if kind == Kind::EncryptThenMac {
            tag_room(of, mac.hash().output_len(), &read, Some(&output))?;
            let data = pass(read.input, output)?;
            list.push(Inner::encrypt_then_mac(cipher, read.iv.get(), mac, clear, data));
            return Ok(());
        }
        let tag = given_tag(of)?;
        output.apart(&[tag])?;
        let data = pass(read.input, output)?;
        list.push(Inner::mac_then_decrypt(cipher, read.iv.get(), mac, clear, data, tag.get()));
    }
    Ok(())
}

#[inline(never)]
unsafe fn partial<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let (hash, read) = (of.algorithm.hash()?, Read::of(of)?);
    let needed = if kind == Kind::LastDigest { hash.output_len() } else { 0 };
    let after = tag_room(of, needed, &read, None)?;
    // SAFETY: as the caller says, and what is written lies apart from what is read.
    unsafe {
        let (before, data) = ((of.aad_length > 0).then(|| read.aad.get()), read.input.get());
        match kind {
            Kind::LastDigest => list.push(Inner::last_hash(hash, before, data)),
            _ => list.push(Inner::partial_hash(hash, before, data, after.get())),
        }
    }
    Ok(())
}

#[inline(never)]
unsafe fn plain<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    if kind == Kind::Null {
        list.push(Inner::null());
        return Ok(());
    }
    let read = Read::of(of)?;
    // SAFETY: as the caller says, and the output lies apart from the input.
    unsafe {
        if kind == Kind::Checksum {
            list.push(Inner::checksum(of.algorithm.checksum()?, read.input.get()));
            return Ok(());
        }
        let output = Out::new("output", of.output, of.length)?;
        output.apart(&[read.input])?;
        let (source, destination) = (read.input.get(), output.get());
        match kind {
            Kind::Copy => list.push(Inner::copy(source, destination)),
            _ => list.push(Inner::copy_checksum(of.algorithm.checksum()?, source, destination)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of};

    use super::*;

    /// C programs are compiled against these.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<Operation>(), align_of::<Operation>()), (128, 8));
        let places = [
            (offset_of!(Operation, kind), 0),
            (offset_of!(Operation, algorithm), 4),
            (offset_of!(Operation, status), 8),
            (offset_of!(Operation, value), 12),
            (offset_of!(Operation, key), 16),
            (offset_of!(Operation, mac_key), 24),
            (offset_of!(Operation, input), 32),
            (offset_of!(Operation, output), 40),
            (offset_of!(Operation, length), 48),
            (offset_of!(Operation, iv), 56),
            (offset_of!(Operation, iv_length), 64),
            (offset_of!(Operation, aad), 72),
            (offset_of!(Operation, aad_length), 80),
            (offset_of!(Operation, tag), 88),
            (offset_of!(Operation, tag_length), 96),
            (offset_of!(Operation, clear_length), 104),
            (offset_of!(Operation, unused_bits), 112),
            (offset_of!(Operation, direction), 113),
            (offset_of!(Operation, reserved), 114),
            (offset_of!(Operation, user), 120),
        ];
        for (i, (is, should)) in places.into_iter().enumerate() {
            assert_eq!(is, should, "field {i}");
        }
    }

    #[test]
    fn kinds_stand_at_their_numbers() {
        for (i, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
        }
        assert!(KindCode(16).get().is_err());
    }
}

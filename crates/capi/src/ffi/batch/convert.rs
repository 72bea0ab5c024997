//! Operations in the library's form, from those of C.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::{Operation as Inner, cwq, given_by};

use super::operation::{Kind, Operation};
use crate::direct::whole_tag;
use crate::failure::Failure;
use crate::ffi::{In, Out, object, pass};
use crate::key::{Key, of_pair, rsa_decryption, rsa_scheme};

/// Adds an operation to the list in the library's form. A failure adds nothing.
///
/// # Safety
/// What it names is valid for `'a`, as the caller promised.
#[inline(always)]
pub(super) unsafe fn inner<'a>(of: &Operation, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    let kind = of.kind.get()?;
    if of.reserved != [0; 2] {
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
            Kind::Sign | Kind::Agree | Kind::PublicKey | Kind::Decapsulate => private(of, kind, list),
            Kind::SignMlDsa | Kind::SignSlhDsa => sign_long(of, kind, list),
            Kind::Encapsulate => encapsulate(of, list),
            Kind::SignRsa | Kind::DecryptRsa | Kind::PublicKeyRsa => rsa(of, kind, list),
            Kind::Random => random(of, list),
            // Keys of a batch have no slot in which nonces could be counted.
            Kind::SealWithMadeNonce => Err(Failure::Argument("kind of a batch", kind as u64)),
            Kind::Null | Kind::Copy | Kind::CopyChecksum | Kind::Checksum => plain(of, kind, list),
        }
    }
}

/// The parts that are read: input, initialisation vector and associated data.
struct Read {
    input: In,
    iv: In,
    aad: In,
}

impl Read {
    #[inline(always)]
    fn of(of: &Operation) -> Result<Self, Failure> {
        Read::with_input(of, of.length)
    }

    /// Takes `length` bytes of input, which has fewer than the output where the operation reads none.
    #[inline(always)]
    fn with_input(of: &Operation, length: usize) -> Result<Self, Failure> {
        Ok(Read {
            input: In::new("input", of.input, length)?,
            iv: In::new("iv", of.iv, of.iv_length)?,
            aad: In::new("aad", of.aad, of.aad_length)?,
        })
    }
}

/// Returns the room for a tag of `needed` bytes. It is checked now, so that nothing is computed in vain, and written in
/// the end.
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

/// Returns the output, which is apart from all that is read but the input.
#[inline(always)]
fn output(of: &Operation, read: &Read) -> Result<Out, Failure> {
    let output = Out::new("output", of.output, of.length)?;
    output.apart(&[read.iv, read.aad])?;
    Ok(output)
}

/// Returns the tag to compare with.
#[inline(always)]
fn given_tag(of: &Operation) -> Result<In, Failure> {
    In::new("tag", of.tag.cast_const(), of.tag_length)
}

/// Fails unless the fields that only KASUMI uses are 0.
#[inline(always)]
fn no_bits(of: &Operation) -> Result<(), Failure> {
    if of.unused_bits | of.direction != 0 {
        return Err(Failure::Reserved("unused_bits or direction"));
    }
    Ok(())
}

/// Returns the bits of a message of KASUMI.
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

/// Adds KASUMI F8 of a message that is not whole bytes.
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

/// Splits eight bytes into two numbers, the most significant byte first.
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
unsafe fn private<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let read = Read::of(of)?;
    // SAFETY: as the caller says; a tag's room is found to lie apart before it is written.
    let (key, input): (&Key, _) = unsafe { (object("key", of.key)?, read.input.get()) };
    let (operation, needed) = match kind {
        Kind::Sign => (key.sign(of.algorithm, of.scheme, input)?, cwq::Opcode::Sign),
        Kind::Agree => (key.agree(input)?, cwq::Opcode::Agree),
        Kind::Decapsulate => (Inner::decapsulate(key.ml_kem()?, input), cwq::Opcode::Decapsulate),
        _ if !input.is_empty() => return Err(Failure::Reserved("input")),
        _ => (Inner::public_key(key.private()?), cwq::Opcode::PublicKey),
    };
    // The result of RSA is none, and refused as an operation.
    let needed = if key.algorithm() == cwq::Algorithm::Rsa { 0 } else { given_by(key.algorithm(), needed) };
    tag_room(of, needed as usize, &read, None)?;
    list.push(operation);
    Ok(())
}

#[inline(never)]
unsafe fn sign_long<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let read = Read::of(of)?;
    // SAFETY: as the caller says; a tag's room is found to lie apart before it is written.
    let key: &Key = unsafe { object("key", of.key)? };
    let needed = given_by(key.algorithm(), cwq::Opcode::Sign) as usize;
    let rest = || {
        let scheme = of_pair(key.algorithm(), of.algorithm, of.scheme)?;
        let place = tag_room(of, needed, &read, None)?;
        // SAFETY: as the caller says, and what is written lies apart from what is read.
        let (context, input, place) = unsafe { (read.iv.get(), read.input.get(), place.get()) };
        Ok::<_, Failure>((scheme, context, input, place))
    };
    // A key of another kind is refused before its scheme.
    list.push(match kind {
        Kind::SignMlDsa => {
            let (pair, (scheme, context, input, place)) = (key.ml_dsa()?, rest()?);
            Inner::sign_ml_dsa(pair, scheme, context, input, place)
        }
        _ => {
            let (pair, (scheme, context, input, place)) = (key.slh_dsa()?, rest()?);
            Inner::sign_slh_dsa(pair, scheme, context, input, place)
        }
    });
    Ok(())
}

#[inline(never)]
unsafe fn encapsulate<'a>(of: &Operation, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    if !of.input.is_null() {
        return Err(Failure::Reserved("input"));
    }
    let algorithm = of.algorithm.get()?;
    let read = Read::with_input(of, 0)?;
    let output = output(of, &read)?;
    tag_room(of, given_by(algorithm, cwq::Opcode::Decapsulate) as usize, &read, Some(&output))?;
    // SAFETY: as the caller says, and what is written lies apart from what is read.
    list.push(unsafe { Inner::encapsulate_for(algorithm, read.aad.get(), output.get()) });
    Ok(())
}

#[inline(never)]
unsafe fn rsa<'a>(of: &Operation, kind: Kind, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    let read = Read::of(of)?;
    let place = tag_room(of, 0, &read, None)?;
    // SAFETY: as the caller says, and what is written lies apart from what is read.
    unsafe {
        let key = object("key", of.key)?.rsa()?;
        let (input, place) = (read.input.get(), place.get());
        list.push(match kind {
            Kind::SignRsa => Inner::sign_rsa(key, rsa_scheme(of.algorithm, of.scheme)?, input, place),
            Kind::DecryptRsa => Inner::decrypt_rsa(
                key,
                rsa_decryption(of.algorithm, of.scheme, read.aad.get())?,
                input,
                place,
            ),
            _ if !input.is_empty() => return Err(Failure::Reserved("input")),
            _ => Inner::public_key_rsa(key, place),
        });
    }
    Ok(())
}

#[inline(never)]
unsafe fn random<'a>(of: &Operation, list: &mut Vec<Inner<'a>>) -> Result<(), Failure> {
    no_bits(of)?;
    if !of.input.is_null() {
        return Err(Failure::Reserved("input"));
    }
    let output = Out::new("output", of.output, of.length)?;
    // SAFETY: as the caller says; nothing is read.
    list.push(Inner::random(unsafe { output.get() }));
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

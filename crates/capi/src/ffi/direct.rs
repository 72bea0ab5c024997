//! Keys, and one object in one call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use std::ffi::c_char;
use std::sync::Arc;

use millstream::cwq::{self, Padding, Scheme};
use millstream::modes::Direction;
use millstream::{Operation, SignatureScheme, VerifyingKey};

use super::{In, Out, guard, guard_value, object, pass, put, uneven_pass};
use crate::algorithm::{AlgorithmCode, c_name};
use crate::direct;
use crate::failure::Failure;
use crate::key::{Key, of_pair};
use crate::status::Status;

/// Expands a key of `key_length` bytes and writes its handle to *made, to be freed with millstream_key_free(). The bytes
/// are not needed any more after. A key of a hash is one for HMAC. A key never changes: any number of threads may
/// use one at once.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_KEY_LENGTH, MILLSTREAM_STATUS_WEAK_KEY (XTS),
/// MILLSTREAM_STATUS_ALGORITHM (it takes no key), MILLSTREAM_STATUS_ARGUMENT (no such algorithm),
/// MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_key_new(
    algorithm: AlgorithmCode,
    key: *const u8,
    key_length: usize,
    made: *mut *mut Key,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, std::ptr::null_mut())?;
            let key = Key::new(algorithm, In::new("key", key, key_length)?.get())?;
            put("made", made, Arc::into_raw(Arc::new(key)).cast_mut())
        }
    })
}

/// Zeroises and frees a key. Streams that use it keep it until they are freed. NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_key_free(key: *mut Key) {
    guard(|| {
        if !key.is_null() {
            // SAFETY: the caller's promise; see the module. It came out of an `Arc`.
            drop(unsafe { Arc::from_raw(key) });
        }
        Ok(())
    });
}

/// The nonce of RFC 6979 for ECDSA: a scheme.
pub const MILLSTREAM_SCHEME_ECDSA_DETERMINISTIC: u32 = 1;
/// The padding of PKCS#1 v1.5 for RSA: a scheme.
pub const MILLSTREAM_SCHEME_RSA_PKCS1: u32 = 1;

/// Returns the scheme of PSS with `mask_hash` in MGF1 and a salt of `salt_length` bytes; 0 where it is no hash.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_scheme_pss(mask_hash: AlgorithmCode, salt_length: u16) -> u32 {
    guard_value(0, || pss(mask_hash, salt_length))
}

fn pss(mask_hash: AlgorithmCode, salt: u16) -> Result<u32, Failure> {
    let mask = millstream::algorithm_of(mask_hash.hash()?);
    Ok(Scheme { padding: Padding::Pss, mask, salt }.to_bits())
}

/// Returns the scheme of OAEP with `mask_hash` in MGF1; 0 where it is no hash. The hash of the label is the operation's `algorithm`.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_scheme_oaep(mask_hash: AlgorithmCode) -> u32 {
    guard_value(0, || pss(mask_hash, 0))
}

/// The input of ML-DSA is the message itself: for millstream_scheme_ml_dsa().
pub const MILLSTREAM_ML_DSA_MESSAGE: u32 = 0;
/// The input of ML-DSA is a message's representative mu of 64 bytes, which has the context in it: for millstream_scheme_ml_dsa().
pub const MILLSTREAM_ML_DSA_REPRESENTATIVE: u32 = 255;

/// Returns the scheme of ML-DSA or SLH-DSA for an input: MILLSTREAM_ML_DSA_MESSAGE, MILLSTREAM_ML_DSA_REPRESENTATIVE, which SLH-DSA does not take, or
/// the number of the function that made the digest of HashML-DSA or HashSLH-DSA, which is the last one of its object identifier below 2.16.840.1.101.3.4.2: 1 for SHA-256, 2 for
/// SHA-384, 3 for SHA-512, 12 for SHAKE256. If `deterministic` is not 0, the signature depends on no random bytes. Returns UINT32_MAX for
/// another number, which no operation takes.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_scheme_ml_dsa(input: u32, deterministic: u32) -> u32 {
    guard_value(u32::MAX, || {
        let scheme = input << 8 | u32::from(deterministic != 0);
        let known = input <= u8::MAX.into()
            && SignatureScheme::of_word(cwq::Algorithm::MlDsa44, cwq::Algorithm::None, scheme).is_some();
        if known { Ok(scheme) } else { Err(Failure::Argument("input", input.into())) }
    })
}

/// Verifies a signature over a message, under MILLSTREAM_ALGORITHM_ED25519 with `hash` and `scheme` 0, or over the digest that `hash` made. `algorithm` is that
/// of the public key: 32 bytes of Ed25519, a point of a curve, DER of an RSAPublicKey, 1312, 1952 or 2592 bytes of ML-DSA, or 32, 48 or 64 bytes of
/// SLH-DSA. Both have a scheme of millstream_scheme_ml_dsa() and no hash. It takes a time that depends on what it is given.
///
/// Fails with MILLSTREAM_STATUS_AUTHENTICATION where the signature does not verify, MILLSTREAM_STATUS_DATA_LENGTH or
/// MILLSTREAM_STATUS_PARAMETER (the public key is none, or not one that verifies so), MILLSTREAM_STATUS_KEY_LENGTH (the algorithm has no signatures),
/// MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_verify_signature(
    algorithm: AlgorithmCode,
    public_key: *const u8,
    public_key_length: usize,
    hash: AlgorithmCode,
    scheme: u32,
    message: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
) -> Status {
    guard(|| {
        let context = In::new("context", std::ptr::null(), 0)?;
        let public = In::new("public_key", public_key, public_key_length)?;
        let (message, signature) =
            (In::new("message", message, length)?, In::new("signature", signature, signature_length)?);
        // SAFETY: the caller's promise; nothing is written.
        unsafe { verify(algorithm, public, (hash, scheme), context, message, signature) }
    })
}

/// Verifies a signature of ML-DSA or SLH-DSA within a context of at most 255 bytes, as millstream_verify_signature(). `scheme` is one of
/// millstream_scheme_ml_dsa().
///
/// Fails as millstream_verify_signature(), and with MILLSTREAM_STATUS_PARAMETER for a longer context, or one beside a representative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_verify_in_context(
    algorithm: AlgorithmCode,
    public_key: *const u8,
    public_key_length: usize,
    scheme: u32,
    context: *const u8,
    context_length: usize,
    message: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
) -> Status {
    guard(|| {
        let public = In::new("public_key", public_key, public_key_length)?;
        let context = In::new("context", context, context_length)?;
        let (message, signature) =
            (In::new("message", message, length)?, In::new("signature", signature, signature_length)?);
        // SAFETY: the caller's promise; nothing is written.
        unsafe { verify(algorithm, public, (AlgorithmCode(0), scheme), context, message, signature) }
    })
}

/// # Safety
/// What is read is valid.
unsafe fn verify(
    algorithm: AlgorithmCode,
    public: In,
    (hash, scheme): (AlgorithmCode, u32),
    context: In,
    message: In,
    signature: In,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    let (public, context, message, signature) =
        unsafe { (public.get(), context.get(), message.get(), signature.get()) };
    // The key comes first, because an algorithm without signatures has no schemes either.
    let key = VerifyingKey::new(millstream::features()?, algorithm.get()?, public)?;
    let scheme = of_pair(algorithm.get()?, hash, scheme)?;
    let mut operation = [Operation::verify_in_context(&key, scheme, context, message, signature)];
    millstream::batch(&mut operation)?;
    Ok(operation[0].result()?)
}

/// Returns another owner of a key, for objects that outlive the call.
///
/// # Safety
/// It is NULL or a key's handle.
pub(super) unsafe fn share(key: *const Key) -> Result<Arc<Key>, Failure> {
    if key.is_null() {
        return Err(Failure::Null("key"));
    }
    // SAFETY: a handle is a pointer that came out of an `Arc` and was not given back.
    unsafe {
        Arc::increment_strong_count(key);
        Ok(Arc::from_raw(key))
    }
}

/// The algorithm of a key; MILLSTREAM_ALGORITHM_NONE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_key_algorithm(key: *const Key) -> AlgorithmCode {
    // SAFETY: the caller's promise; see the module.
    guard_value(AlgorithmCode(0), || Ok(unsafe { object("key", key) }?.algorithm().into()))
}

/// The name of the kernel that a key is bound to, as "x86_64-vaes512-by32"; NULL for NULL. The text lives as long as the
/// library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_key_kernel(key: *const Key) -> *const c_char {
    guard_value(std::ptr::null(), || {
        // SAFETY: the caller's promise; see the module.
        Ok(c_name(unsafe { object("key", key) }?.kernel().name).as_ptr())
    })
}

/// Encrypts a whole message of `length` bytes to as many bytes of output, with a key of AES-ECB, -CBC, -CTR, -CFB or
/// -XTS, Camellia, SM4, DES, RC4 or KASUMI F8. `iv` is the initialisation vector, the first counter block, or the tweak: as
/// many bytes as the algorithm takes. CBC and ECB take whole blocks: for padding use a stream. `output` may be `input`.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_NONCE_LENGTH, MILLSTREAM_STATUS_DATA_LENGTH,
/// MILLSTREAM_STATUS_PARAMETER (KASUMI), MILLSTREAM_STATUS_ALGORITHM (not a key of these),
/// MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_encrypt(
    key: *const Key,
    iv: *const u8,
    iv_length: usize,
    input: *const u8,
    output: *mut u8,
    length: usize,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { cipher(Direction::Encrypt, key, iv, iv_length, input, output, length) })
}

/// Decrypts a whole message, as millstream_encrypt() encrypts one; fails as that does. Nothing tells whether the message
/// was changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_decrypt(
    key: *const Key,
    iv: *const u8,
    iv_length: usize,
    input: *const u8,
    output: *mut u8,
    length: usize,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { cipher(Direction::Decrypt, key, iv, iv_length, input, output, length) })
}

/// # Safety
/// As for the two functions before.
unsafe fn cipher(
    direction: Direction,
    key: *const Key,
    iv: *const u8,
    iv_length: usize,
    input: *const u8,
    output: *mut u8,
    length: usize,
) -> Result<(), Failure> {
    let (iv, input) = (In::new("iv", iv, iv_length)?, In::new("input", input, length)?);
    let output = Out::new("output", output, length)?;
    output.apart(&[iv])?;
    // SAFETY: the caller's promise; the output lies apart from what is read.
    unsafe { direct::cipher(object("key", key)?, direction, iv.get(), pass(input, output)?) }
}

/// Encrypts `length` bytes with a key of AES-GCM or ChaCha20-Poly1305, and writes the tag over them and the associated
/// data, 16 bytes, to `tag`. The output has as many bytes as the input, and may be it. A nonce must never be used
/// twice under one key.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_NONCE_LENGTH, MILLSTREAM_STATUS_DATA_LENGTH (too long),
/// MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_seal(
    key: *const Key,
    nonce: *const u8,
    nonce_length: usize,
    aad: *const u8,
    aad_length: usize,
    input: *const u8,
    output: *mut u8,
    length: usize,
    tag: *mut u8,
) -> Status {
    guard(|| {
        let nonce = In::new("nonce", nonce, nonce_length)?;
        let (aad, input) = (In::new("aad", aad, aad_length)?, In::new("input", input, length)?);
        let (output, place) = (Out::new("output", output, length)?, Out::new("tag", tag, 16)?);
        output.apart(&[nonce, aad])?;
        place.apart(&[nonce, aad, input])?;
        place.apart_from(&output)?;
        // SAFETY: the caller's promise; outputs lie apart from each other and from what is read.
        unsafe {
            let (key, data) = (object("key", key)?, pass(input, output)?);
            let Some(tag) = place.get().first_chunk_mut() else { return Err(Failure::Null("tag")) };
            direct::seal(key, nonce.get(), aad.get(), data, tag)
        }
    })
}

/// Decrypts `length` bytes with a key of AES-GCM or ChaCha20-Poly1305 if the tag of `tag_length` bytes, which must be 16, is
/// right; the comparison takes the same time wherever tags differ. The output has as many bytes as the input, and may be it.
///
/// Fails with MILLSTREAM_STATUS_AUTHENTICATION: the output is all zero then, and if it is the input it holds the
/// ciphertext again; no plaintext is left. With nothing written it fails with MILLSTREAM_STATUS_TAG_LENGTH,
/// MILLSTREAM_STATUS_NONCE_LENGTH, MILLSTREAM_STATUS_DATA_LENGTH, MILLSTREAM_STATUS_ALGORITHM,
/// MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_open(
    key: *const Key,
    nonce: *const u8,
    nonce_length: usize,
    aad: *const u8,
    aad_length: usize,
    input: *const u8,
    output: *mut u8,
    length: usize,
    tag: *const u8,
    tag_length: usize,
) -> Status {
    guard(|| {
        let (nonce, tag) = (In::new("nonce", nonce, nonce_length)?, In::new("tag", tag, tag_length)?);
        let (aad, input) = (In::new("aad", aad, aad_length)?, In::new("input", input, length)?);
        let output = Out::new("output", output, length)?;
        output.apart(&[nonce, aad, tag])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe { direct::open(object("key", key)?, nonce.get(), aad.get(), pass(input, output)?, tag.get()) }
    })
}

/// Decrypts as millstream_open(), where a protocol cuts tags of AES-GCM to `expected_length` bytes: 15, 14, 13, 12, 8
/// or 4. The protocol decides that length, not the message: a tag of another length is refused.
///
/// Fails as millstream_open(), and with MILLSTREAM_STATUS_TAG_LENGTH where `tag_length` is not `expected_length`, or that is
/// no length of a tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_open_cut(
    key: *const Key,
    nonce: *const u8,
    nonce_length: usize,
    aad: *const u8,
    aad_length: usize,
    input: *const u8,
    output: *mut u8,
    length: usize,
    tag: *const u8,
    tag_length: usize,
    expected_length: usize,
) -> Status {
    guard(|| {
        let (nonce, tag) = (In::new("nonce", nonce, nonce_length)?, In::new("tag", tag, tag_length)?);
        let (aad, input) = (In::new("aad", aad, aad_length)?, In::new("input", input, length)?);
        let output = Out::new("output", output, length)?;
        output.apart(&[nonce, aad, tag])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe {
            let (key, data) = (object("key", key)?, pass(input, output)?);
            direct::open_cut(key, nonce.get(), aad.get(), data, tag.get(), expected_length)
        }
    })
}

/// Writes the digest of `length` bytes to `digest`, which has room for `room` bytes: millstream_digest_length() are
/// written, and `room` may be more.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_OUTPUT_LENGTH (too little room), MILLSTREAM_STATUS_ALGORITHM
/// (no hash), MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL,
/// MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_digest(
    hash: AlgorithmCode,
    data: *const u8,
    length: usize,
    digest: *mut u8,
    room: usize,
) -> Status {
    guard(|| {
        let (data, out) = (In::new("data", data, length)?, Out::new("digest", digest, room)?);
        out.apart(&[data])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe { direct::digest(hash, data.get(), out.get())? };
        Ok(())
    })
}

/// Writes the MAC of a whole message to `mac`, which has room for `room` bytes, and how many bytes it has to *written
/// if that is not NULL: the digest's length for HMAC, 16 for AES-CMAC, 8 for the MAC of DES. A protocol that truncates takes
/// the first bytes. For KASUMI see millstream_kasumi_f9().
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_OUTPUT_LENGTH (too little room), MILLSTREAM_STATUS_ALGORITHM,
/// MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_mac(
    key: *const Key,
    data: *const u8,
    length: usize,
    mac: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    guard(|| {
        let (data, out) = (In::new("data", data, length)?, Out::new("mac", mac, room)?);
        out.apart(&[data])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe { report(written, direct::mac(object("key", key)?, data.get(), out.get())?) }
        Ok(())
    })
}

/// Writes a length to a caller who wants to know it.
///
/// # Safety
/// `written` is NULL or room for one.
pub(super) unsafe fn report(written: *mut usize, len: usize) {
    if !written.is_null() {
        // SAFETY: as the caller says.
        unsafe { written.write(len) };
    }
}

/// Compares the MAC of a whole message with the `mac_length` bytes at `mac`, which may be only the first of it but 4 at
/// least, in a time that does not depend on where they differ.
///
/// Fails with MILLSTREAM_STATUS_AUTHENTICATION when it differs, MILLSTREAM_STATUS_TAG_LENGTH,
/// MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_mac_verify(
    key: *const Key,
    data: *const u8,
    length: usize,
    mac: *const u8,
    mac_length: usize,
) -> Status {
    guard(|| {
        let (data, mac) = (In::new("data", data, length)?, In::new("mac", mac, mac_length)?);
        // SAFETY: the caller's promise; nothing is written.
        unsafe { direct::verify(object("key", key)?, data.get(), mac.get()) }
    })
}

/// Encrypts or decrypts the first `bits` bits of a message with a key of KASUMI F8 (3GPP TS 35.201 section 3), the most
/// significant bit of each byte first. Input and output have the bytes that hold `bits` bits, bits / 8 rounded up; the
/// bits after them leave as they came. `output` may be `input`.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_PARAMETER when `bearer` is more than 31 or `direction` more than
/// 1, MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_kasumi_f8(
    key: *const Key,
    count: u32,
    bearer: u8,
    direction: u8,
    input: *const u8,
    output: *mut u8,
    bits: usize,
) -> Status {
    guard(|| {
        let len = bits.div_ceil(8);
        let (input, output) = (In::new("input", input, len)?, Out::new("output", output, len)?);
        // SAFETY: the caller's promise; the output is the input or lies apart.
        unsafe {
            let data = pass(input, output)?;
            Ok(object("key", key)?.kasumi_f8()?.apply(count, bearer, direction, data, bits)?)
        }
    })
}

/// Writes the authentication code, 4 bytes, of the first `bits` bits of a message with a key of KASUMI F9 (3GPP TS 35.201
/// section 4) to `mac`. The message has the bytes that hold `bits` bits, bits / 8 rounded up.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_PARAMETER when `direction` is more than 1,
/// MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_kasumi_f9(
    key: *const Key,
    count: u32,
    fresh: u32,
    direction: u8,
    message: *const u8,
    bits: usize,
    mac: *mut u8,
) -> Status {
    guard(|| {
        let (message, out) = (In::new("message", message, bits.div_ceil(8))?, Out::new("mac", mac, 4)?);
        out.apart(&[message])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe {
            let code = object("key", key)?.kasumi_f9()?.mac(count, fresh, direction, message.get(), bits)?;
            out.get().copy_from_slice(&code);
        }
        Ok(())
    })
}

/// Compares the authentication code that millstream_kasumi_f9() computes with the 4 bytes at `mac`, in a time that does
/// not depend on where they differ.
///
/// Fails with MILLSTREAM_STATUS_AUTHENTICATION when it differs, else as that function does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_kasumi_f9_verify(
    key: *const Key,
    count: u32,
    fresh: u32,
    direction: u8,
    message: *const u8,
    bits: usize,
    mac: *const u8,
) -> Status {
    guard(|| {
        let (message, given) = (In::new("message", message, bits.div_ceil(8))?, In::new("mac", mac, 4)?);
        // SAFETY: the caller's promise; nothing is written.
        unsafe {
            let key = object("key", key)?.kasumi_f9()?;
            let Some(code) = given.get().first_chunk() else { return Err(Failure::Null("mac")) };
            Ok(key.verify(count, fresh, direction, message.get(), bits, code)?)
        }
    })
}

/// HKDF (RFC 5869) in one call: fills `output` with `length` bytes of key, from keying material, for the purpose that
/// `info` names. `hash` is the hash to do it with. No salt (0 bytes) is the empty salt.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_DATA_LENGTH when more than 255 digests are asked for,
/// MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_OVERLAP,
/// MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_hkdf(
    hash: AlgorithmCode,
    salt: *const u8,
    salt_length: usize,
    material: *const u8,
    material_length: usize,
    info: *const u8,
    info_length: usize,
    output: *mut u8,
    length: usize,
) -> Status {
    guard(|| {
        let (salt, info) = (In::new("salt", salt, salt_length)?, In::new("info", info, info_length)?);
        let material = In::new("material", material, material_length)?;
        let out = Out::new("output", output, length)?;
        out.apart(&[salt, info, material])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe { direct::hkdf(hash, salt.get(), material.get(), info.get(), out.get()) }
    })
}

/// The first half of HKDF: writes the pseudorandom key, as long as a digest, to `output`, which has room for `room` bytes.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_OUTPUT_LENGTH (too little room), else as millstream_hkdf().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_hkdf_extract(
    hash: AlgorithmCode,
    salt: *const u8,
    salt_length: usize,
    material: *const u8,
    material_length: usize,
    output: *mut u8,
    room: usize,
) -> Status {
    guard(|| {
        let salt = In::new("salt", salt, salt_length)?;
        let (material, out) =
            (In::new("material", material, material_length)?, Out::new("output", output, room)?);
        out.apart(&[salt, material])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe { direct::hkdf_extract(hash, salt.get(), material.get(), out.get())? };
        Ok(())
    })
}

/// The second half of HKDF: fills `output` with `length` bytes of key, from a pseudorandom key that is as long as a digest at
/// least.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_KEY_LENGTH when that is shorter, else as millstream_hkdf().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_hkdf_expand(
    hash: AlgorithmCode,
    key: *const u8,
    key_length: usize,
    info: *const u8,
    info_length: usize,
    output: *mut u8,
    length: usize,
) -> Status {
    guard(|| {
        let (key, info) = (In::new("key", key, key_length)?, In::new("info", info, info_length)?);
        let out = Out::new("output", output, length)?;
        out.apart(&[key, info])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        unsafe { direct::hkdf_expand(hash, key.get(), info.get(), out.get()) }
    })
}

/// Writes the checksum of `length` bytes to *value. To take one of data in pieces use a stream, or
/// millstream_crc_combine().
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_ALGORITHM (no checksum), MILLSTREAM_STATUS_ARGUMENT,
/// MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_checksum(
    algorithm: AlgorithmCode,
    data: *const u8,
    length: usize,
    value: *mut u32,
) -> Status {
    guard(|| {
        let data = In::new("data", data, length)?;
        // SAFETY: the caller's promise; the value is written when nothing is read any more.
        unsafe { put("value", value, direct::checksum(algorithm, data.get())?) }
    })
}

/// Copies `length` bytes from `input` to `output` and writes their checksum to *value, in one pass over them. `output`
/// may be `input`: then it only takes the checksum.
///
/// Fails, with nothing written, as millstream_checksum() does, and with MILLSTREAM_STATUS_OVERLAP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_copy_checksum(
    algorithm: AlgorithmCode,
    input: *const u8,
    output: *mut u8,
    length: usize,
    value: *mut u32,
) -> Status {
    guard(|| {
        let (input, output) = (In::new("input", input, length)?, Out::new("output", output, length)?);
        if value.is_null() {
            return Err(Failure::Null("value"));
        }
        // SAFETY: the caller's promise; the value is written when nothing is read any more.
        unsafe { put("value", value, direct::copy_checksum(algorithm, uneven_pass(input, output)?)?) }
    })
}

/// Writes the CRC of A followed by B to *value, from the CRC of A, the CRC of B and the length of B in bytes.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_ALGORITHM (no CRC), MILLSTREAM_STATUS_ARGUMENT,
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_crc_combine(
    algorithm: AlgorithmCode,
    crc_a: u32,
    crc_b: u32,
    length_b: u64,
    value: *mut u32,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { put("value", value, direct::crc_combine(algorithm, crc_a, crc_b, length_b)?) })
}

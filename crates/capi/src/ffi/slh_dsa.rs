//! Signatures of SLH-DSA, one in one call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::publickey::slhdsa::{Prehash, PrivateKey, PublicKey, Scheme, Set};
use millstream::publickey::{Error as PairError, slhdsa};
use millstream::{EngineError, SystemRandom};

use super::{In, Out, guard, put};
use crate::failure::Failure;
use crate::status::Status;

/// The parameter sets of SLH-DSA (FIPS 205): the last numbers of their object identifiers. The sets `s` have short signatures, and the sets `f`
/// sign fast. This is SLH-DSA-SHA2-128s.
pub const MILLSTREAM_SLH_DSA_SHA2_128S: u32 = 20;
/// SLH-DSA-SHA2-128f.
pub const MILLSTREAM_SLH_DSA_SHA2_128F: u32 = 21;
/// SLH-DSA-SHA2-192s.
pub const MILLSTREAM_SLH_DSA_SHA2_192S: u32 = 22;
/// SLH-DSA-SHA2-192f.
pub const MILLSTREAM_SLH_DSA_SHA2_192F: u32 = 23;
/// SLH-DSA-SHA2-256s.
pub const MILLSTREAM_SLH_DSA_SHA2_256S: u32 = 24;
/// SLH-DSA-SHA2-256f.
pub const MILLSTREAM_SLH_DSA_SHA2_256F: u32 = 25;
/// SLH-DSA-SHAKE-128s.
pub const MILLSTREAM_SLH_DSA_SHAKE_128S: u32 = 26;
/// SLH-DSA-SHAKE-128f.
pub const MILLSTREAM_SLH_DSA_SHAKE_128F: u32 = 27;
/// SLH-DSA-SHAKE-192s.
pub const MILLSTREAM_SLH_DSA_SHAKE_192S: u32 = 28;
/// SLH-DSA-SHAKE-192f.
pub const MILLSTREAM_SLH_DSA_SHAKE_192F: u32 = 29;
/// SLH-DSA-SHAKE-256s.
pub const MILLSTREAM_SLH_DSA_SHAKE_256S: u32 = 30;
/// SLH-DSA-SHAKE-256f.
pub const MILLSTREAM_SLH_DSA_SHAKE_256F: u32 = 31;

/// The longest signature of SLH-DSA, in bytes: that of the sets 256f.
pub const MILLSTREAM_SLH_DSA_SIGNATURE: usize = 49_856;

/// The input of SLH-DSA is the message itself.
pub const MILLSTREAM_SLH_DSA_MESSAGE: u32 = 0;

fn set_of(number: u32) -> Result<Set, Failure> {
    const SETS: [Set; 12] = [
        Set::Sha2_128s,
        Set::Sha2_128f,
        Set::Sha2_192s,
        Set::Sha2_192f,
        Set::Sha2_256s,
        Set::Sha2_256f,
        Set::Shake128s,
        Set::Shake128f,
        Set::Shake192s,
        Set::Shake192f,
        Set::Shake256s,
        Set::Shake256f,
    ];
    let index = number.checked_sub(MILLSTREAM_SLH_DSA_SHA2_128S);
    let set = index.and_then(|index| SETS.get(index as usize));
    set.copied().ok_or(Failure::Argument("parameter set of SLH-DSA", number.into()))
}

/// Writes the bytes of a public key, of a private key and of a signature of a parameter set, MILLSTREAM_SLH_DSA_..., to the three places. A place that is
/// NULL is left out.
///
/// Fails with MILLSTREAM_STATUS_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_slh_dsa_lengths(
    set: u32,
    public_key: *mut usize,
    private_key: *mut usize,
    signature: *mut usize,
) -> Status {
    guard(|| {
        let set = set_of(set)?;
        for (at, len) in [
            (public_key, set.public_key_len()),
            (private_key, set.private_key_len()),
            (signature, set.signature_len()),
        ] {
            if !at.is_null() {
                // SAFETY: the caller's promise; see the module.
                unsafe { put("length", at, len)? };
            }
        }
        Ok(())
    })
}

/// Makes a key pair of SLH-DSA from random bytes of the kernel (FIPS 205 section 10.1), and writes the private key to the front of `private_key`, which
/// has `room` bytes: 64, 96 or 128 of them. The second half of a private key is the public key. To make a key of a set `s` takes tens of milliseconds.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_OUTPUT_LENGTH, MILLSTREAM_STATUS_RANDOM, MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES,
/// MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_slh_dsa_make_key(set: u32, private_key: *mut u8, room: usize) -> Status {
    guard(|| {
        let (set, out) = (set_of(set)?, Out::new("private_key", private_key, room)?);
        // SAFETY: the caller's promise; see the module.
        let out = front(unsafe { out.get() }, set.private_key_len())?;
        let key = PrivateKey::generate(millstream::features()?, set, &mut SystemRandom).map_err(failed)?;
        out.copy_from_slice(&key.to_bytes());
        Ok(())
    })
}

/// Signs by SLH-DSA with a whole private key of a parameter set, within a context of at most 255 bytes, and writes the signature to the front of
/// `signature`, which has `room` bytes. `input` is MILLSTREAM_SLH_DSA_MESSAGE, or the number of the function that made the digest in `message`, as in
/// millstream_scheme_ml_dsa(): HashSLH-DSA. If `deterministic` is not 0, the signature depends on no random bytes. A signature takes milliseconds with
/// the sets `f`, and ten to twenty times as long with the sets `s`; up to a seventh of that is the key's uppermost tree, with which the key is checked first.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_KEY_LENGTH, MILLSTREAM_STATUS_PARAMETER (the two halves of the key do not belong together, or the
/// context is too long), MILLSTREAM_STATUS_DATA_LENGTH (the digest has another length), MILLSTREAM_STATUS_OUTPUT_LENGTH, MILLSTREAM_STATUS_OVERLAP,
/// MILLSTREAM_STATUS_RANDOM, MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_slh_dsa_sign(
    set: u32,
    private_key: *const u8,
    private_key_length: usize,
    input: u32,
    deterministic: u32,
    context: *const u8,
    context_length: usize,
    message: *const u8,
    length: usize,
    signature: *mut u8,
    room: usize,
) -> Status {
    guard(|| {
        let (set, key) = (set_of(set)?, In::new("private_key", private_key, private_key_length)?);
        let (context, message) =
            (In::new("context", context, context_length)?, In::new("message", message, length)?);
        let out = Out::new("signature", signature, room)?;
        out.apart(&[key, context, message])?;
        // SAFETY: the caller's promise; the output lies apart from what is read.
        let (key, context, message, out) =
            unsafe { (key.get(), context.get(), message.get(), front(out.get(), set.signature_len())?) };
        let key = PrivateKey::new(millstream::features()?, set, key).map_err(failed)?;
        let scheme = scheme_of(input, context)?;
        let signed = if deterministic != 0 {
            key.sign_deterministic(scheme, message)
        } else {
            key.sign_by(scheme, message, &mut SystemRandom)
        };
        out.copy_from_slice(&signed.map_err(failed)?);
        Ok(())
    })
}

/// Verifies a signature of SLH-DSA with a public key of a parameter set: 32, 48 or 64 bytes. `input` and the context are those of
/// millstream_slh_dsa_sign(). It takes a time that depends on what it is given.
///
/// Fails with MILLSTREAM_STATUS_AUTHENTICATION where the signature does not verify or has another length, MILLSTREAM_STATUS_KEY_LENGTH,
/// MILLSTREAM_STATUS_PARAMETER (the context is too long), MILLSTREAM_STATUS_DATA_LENGTH (the digest has another length), MILLSTREAM_STATUS_ARGUMENT,
/// MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_slh_dsa_verify(
    set: u32,
    public_key: *const u8,
    public_key_length: usize,
    input: u32,
    context: *const u8,
    context_length: usize,
    message: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
) -> Status {
    guard(|| {
        let (set, key) = (set_of(set)?, In::new("public_key", public_key, public_key_length)?);
        let (context, message) =
            (In::new("context", context, context_length)?, In::new("message", message, length)?);
        let signature = In::new("signature", signature, signature_length)?;
        // SAFETY: the caller's promise; nothing is written.
        let (key, context, message, signature) =
            unsafe { (key.get(), context.get(), message.get(), signature.get()) };
        let key = PublicKey::new(millstream::features()?, set, key).map_err(failed)?;
        key.verify_by(scheme_of(input, context)?, message, signature).map_err(failed)
    })
}

/// Returns the front of a place.
fn front(place: &mut [u8], needed: usize) -> Result<&mut [u8], Failure> {
    let given = place.len();
    place.get_mut(..needed).ok_or_else(|| EngineError::OutputLength { given, needed }.into())
}

fn scheme_of(input: u32, context: &[u8]) -> Result<Scheme<'_>, Failure> {
    if context.len() > slhdsa::CONTEXT_MAX {
        let (algorithm, name, given) = ("slh-dsa", "context", context.len() as u64);
        return Err(EngineError::Parameter { algorithm, name, given, takes: "at most 255 bytes" }.into());
    }
    if input == MILLSTREAM_SLH_DSA_MESSAGE {
        return Ok(Scheme::Pure(context));
    }
    let function = u8::try_from(input).ok().and_then(Prehash::from_number);
    let function = function.ok_or(Failure::Argument("input", input.into()))?;
    Ok(Scheme::Digest(function, context))
}

/// Returns a failure of the engine.
#[cold]
fn failed(error: PairError) -> Failure {
    match error {
        PairError::Length { algorithm, what: "private key" | "public key", given, takes } => {
            EngineError::KeyLength { algorithm, given, takes }
        }
        // A signature of another length is none.
        PairError::Signature | PairError::Length { what: "signature", .. } => EngineError::Authentication,
        PairError::Length { algorithm, given, takes, .. } => {
            EngineError::DataLength { algorithm, given: given as u64, takes }
        }
        PairError::Random => EngineError::Random,
        _ => {
            let takes = "two halves that belong together";
            EngineError::Parameter { algorithm: "slh-dsa", name: "private key", given: 0, takes }
        }
    }
    .into()
}

//! Messages in pieces.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::modes::{Direction, Padding};

use super::direct::{report, share};
use super::{In, Out, free, guard, guard_value, make, object, object_mut, uneven_pass};
use crate::algorithm::AlgorithmCode;
use crate::failure::Failure;
use crate::key::Key;
use crate::status::Status;
use crate::stream::{Stream, Task};

/// Room for any mid-state, in bytes: see millstream_stream_export().
pub const MILLSTREAM_MID_STATE_ROOM: usize = 416;

/// The padding of the last block of a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PaddingKind {
    /// No padding: a message of CBC or ECB must be whole blocks.
    None = 0,
    /// PKCS #7, for CBC and ECB: from one byte to a whole block, each the number of them.
    Pkcs7 = 1,
}

/// A number that is to be one of [`PaddingKind`]: C may pass any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct PaddingCode(pub u32);

impl PaddingCode {
    fn get(self) -> Result<Padding, Failure> {
        match self.0 {
            code if code == PaddingKind::None as u32 => Ok(Padding::None),
            code if code == PaddingKind::Pkcs7 as u32 => Ok(Padding::Pkcs7),
            other => Err(Failure::Argument("padding", other.into())),
        }
    }
}

/// Begins a digest, to be fed by millstream_stream_update() and ended by millstream_stream_finish(). The handle of the
/// stream goes to *made, to be freed with millstream_stream_free().
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ALGORITHM (no hash), MILLSTREAM_STATUS_ARGUMENT,
/// MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_digest(hash: AlgorithmCode, made: *mut *mut Stream) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { make("made", made, || Stream::new(None, Task::Digest(hash.hash()?), &[])) })
}

/// Resumes a digest that was left off with millstream_stream_export(), in this process or another, on this machine or
/// another.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_MID_STATE (not a mid-state of this hash), MILLSTREAM_STATUS_ALGORITHM,
/// MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_import_digest(
    hash: AlgorithmCode,
    state: *const u8,
    state_length: usize,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || Stream::import_digest(hash, In::new("state", state, state_length)?.get()))
    })
}

/// Begins a MAC with a key of HMAC or AES-CMAC, to be fed by millstream_stream_update() and ended by
/// millstream_stream_finish() or millstream_stream_verify(). The stream keeps the key: it may be freed.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ONE_SHOT (the MAC of DES), MILLSTREAM_STATUS_ALGORITHM,
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_mac(key: *const Key, made: *mut *mut Stream) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { make("made", made, || Stream::new(Some(share(key)?), Task::Mac, &[])) })
}

/// Resumes an HMAC with this hash that was left off with millstream_stream_export(); the state replaces the key. Fails
/// as millstream_stream_import_digest() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_import_mac(
    hash: AlgorithmCode,
    state: *const u8,
    state_length: usize,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || Stream::import_mac(hash, In::new("state", state, state_length)?.get()))
    })
}

/// Begins a checksum, to be fed by millstream_stream_update(). millstream_stream_finish() writes it with the most
/// significant byte first: 4 bytes of a CRC, 2 of the checksum of IP.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ALGORITHM (no checksum), MILLSTREAM_STATUS_ARGUMENT,
/// MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_checksum(
    algorithm: AlgorithmCode,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { make("made", made, || Stream::new(None, Task::Checksum(algorithm.checksum()?), &[])) })
}

/// Begins to encrypt with a key of AES-ECB, -CBC, -CTR or -CFB, Camellia, SM4, DES or RC4, by millstream_stream_pass() and at the end
/// millstream_stream_finish(). `iv` is the initialisation vector or first counter block. The stream keeps the key: it may be
/// freed.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_NONCE_LENGTH, MILLSTREAM_STATUS_ONE_SHOT (XTS and KASUMI take whole
/// messages), MILLSTREAM_STATUS_ORDER (padding where the algorithm takes any length), MILLSTREAM_STATUS_ARGUMENT
/// (no such padding), MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_encrypt(
    key: *const Key,
    padding: PaddingCode,
    iv: *const u8,
    iv_length: usize,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { cipher(Direction::Encrypt, key, padding, iv, iv_length, made) })
}

/// Begins to decrypt, as millstream_stream_encrypt() begins to encrypt; fails as that does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_decrypt(
    key: *const Key,
    padding: PaddingCode,
    iv: *const u8,
    iv_length: usize,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { cipher(Direction::Decrypt, key, padding, iv, iv_length, made) })
}

/// # Safety
/// As for the two functions before.
unsafe fn cipher(
    direction: Direction,
    key: *const Key,
    padding: PaddingCode,
    iv: *const u8,
    iv_length: usize,
    made: *mut *mut Stream,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise; nothing but the handle is written.
    unsafe {
        make("made", made, || {
            let (iv, task) = (In::new("iv", iv, iv_length)?, Task::Cipher(direction, padding.get()?));
            Stream::new(Some(share(key)?), task, iv.get())
        })
    }
}

/// Begins to encrypt and authenticate with a key of AES-GCM or ChaCha20-Poly1305: first all associated data by
/// millstream_stream_aad(), then data by millstream_stream_pass(), then the tag, 16 bytes, by millstream_stream_finish().
/// The stream keeps the key: it may be freed. A nonce must never be used twice under one key.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_NONCE_LENGTH, MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_NULL,
/// MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_seal(
    key: *const Key,
    nonce: *const u8,
    nonce_length: usize,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { aead(Direction::Encrypt, key, nonce, nonce_length, made) })
}

/// Begins to decrypt the output of millstream_stream_seal() or millstream_seal(): associated data, data, then
/// millstream_stream_verify(). The output of millstream_stream_pass() is unverified: nothing may act on it before that
/// function has returned MILLSTREAM_STATUS_OK, and otherwise it must be thrown away. Prefer millstream_open() where the
/// message is there as a whole. Fails as millstream_stream_seal() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_open(
    key: *const Key,
    nonce: *const u8,
    nonce_length: usize,
    made: *mut *mut Stream,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { aead(Direction::Decrypt, key, nonce, nonce_length, made) })
}

/// # Safety
/// As for the two functions before.
unsafe fn aead(
    direction: Direction,
    key: *const Key,
    nonce: *const u8,
    nonce_length: usize,
    made: *mut *mut Stream,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise; nothing but the handle is written.
    unsafe {
        make("made", made, || {
            let nonce = In::new("nonce", nonce, nonce_length)?;
            Stream::new(Some(share(key)?), Task::Aead(direction), nonce.get())
        })
    }
}

/// Begins the next message with the same key, padding and direction: cheaper than a new stream. `iv` is its initialisation
/// vector or nonce, of 0 bytes where there is none. A message that has not ended is dropped.
///
/// Fails with MILLSTREAM_STATUS_NONCE_LENGTH, MILLSTREAM_STATUS_ORDER (the stream was made by millstream_stream_import_mac()),
/// MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE; the message under way then remains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_restart(
    stream: *mut Stream,
    iv: *const u8,
    iv_length: usize,
) -> Status {
    // SAFETY: the caller's promise; nothing of the caller's is written.
    guard(|| unsafe { object_mut("stream", stream)?.restart(In::new("iv", iv, iv_length)?.get()) })
}

/// Takes in the next `length` bytes of a digest, MAC or checksum.
///
/// Fails with MILLSTREAM_STATUS_ORDER (the stream is a cipher's), MILLSTREAM_STATUS_ENDED, MILLSTREAM_STATUS_NULL,
/// MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_update(
    stream: *mut Stream,
    data: *const u8,
    length: usize,
) -> Status {
    // SAFETY: the caller's promise; nothing of the caller's is written.
    guard(|| unsafe { object_mut("stream", stream)?.update(In::new("data", data, length)?.get()) })
}

/// Takes in the next `length` bytes of associated data, all of which come before the first data.
///
/// Fails with MILLSTREAM_STATUS_ORDER (after data, or the stream is no AEAD's), MILLSTREAM_STATUS_DATA_LENGTH (too much),
/// MILLSTREAM_STATUS_ENDED, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_aad(stream: *mut Stream, aad: *const u8, length: usize) -> Status {
    // SAFETY: the caller's promise; nothing of the caller's is written.
    guard(|| unsafe { object_mut("stream", stream)?.aad(In::new("aad", aad, length)?.get()) })
}

/// The bytes that millstream_stream_pass() will write for `length` more bytes of input: as many where the algorithm
/// takes any length; for CBC and ECB the whole blocks that are then complete, except one that may hold padding to be
/// removed. 0 for NULL and for a stream that is no cipher's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_pass_length(stream: *const Stream, length: usize) -> usize {
    guard_value(0, || {
        let len = length.min(isize::MAX as usize);
        // SAFETY: the caller's promise; see the module.
        Ok(unsafe { object("stream", stream) }?.pass_len(len))
    })
}

/// Encrypts or decrypts the next `length` bytes. `output` has room for `room` bytes, of which millstream_stream_pass_length() are
/// written, and *written becomes that number if it is not NULL. `output` may begin where `input` does.
///
/// Fails, with nothing taken in and nothing written, with MILLSTREAM_STATUS_OUTPUT_LENGTH (too little room),
/// MILLSTREAM_STATUS_DATA_LENGTH (the message becomes too long), MILLSTREAM_STATUS_ORDER (the stream is no cipher's),
/// MILLSTREAM_STATUS_ENDED, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_pass(
    stream: *mut Stream,
    input: *const u8,
    length: usize,
    output: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    guard(|| {
        let (input, output) = (In::new("input", input, length)?, Out::new("output", output, room)?);
        // SAFETY: the caller's promise; the output lies apart from the input or begins where it does.
        unsafe { report(written, object_mut("stream", stream)?.pass(uneven_pass(input, output)?)?) };
        Ok(())
    })
}

/// Ends the message. `output` has room for `room` bytes, and *written becomes the number that was written if it is not
/// NULL: a digest, a MAC, a tag of 16 bytes, a checksum, what is left of a cipher's message with padding (a block
/// at most: have room for one), or nothing. The stream can then be restarted or freed.
///
/// Fails with MILLSTREAM_STATUS_OUTPUT_LENGTH, with the message not ended where it is a digest, MAC, tag or checksum;
/// MILLSTREAM_STATUS_DATA_LENGTH (the message is not whole blocks and must be); MILLSTREAM_STATUS_PADDING (the last
/// block's padding is not valid: to tell that to whoever sent the message can give it away); MILLSTREAM_STATUS_ORDER
/// (what an AEAD decrypts is verified, not finished); MILLSTREAM_STATUS_ENDED, MILLSTREAM_STATUS_NULL,
/// MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_finish(
    stream: *mut Stream,
    output: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    guard(|| {
        let output = Out::new("output", output, room)?;
        // SAFETY: the caller's promise; nothing of the caller's is read.
        unsafe { report(written, object_mut("stream", stream)?.finish(output.get())?) };
        Ok(())
    })
}

/// Ends the message, whatever comes of it, and compares its MAC, or the tag of what an AEAD decrypted, with the `tag_length`
/// bytes at `tag`, in a time that does not depend on where they differ.
///
/// Fails with MILLSTREAM_STATUS_AUTHENTICATION when it differs: what was decrypted must then be thrown away.
/// MILLSTREAM_STATUS_TAG_LENGTH; MILLSTREAM_STATUS_ORDER (nothing is verified of other streams, and they go on);
/// MILLSTREAM_STATUS_ENDED, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_verify(
    stream: *mut Stream,
    tag: *const u8,
    tag_length: usize,
) -> Status {
    // SAFETY: the caller's promise; nothing of the caller's is written.
    guard(|| unsafe { object_mut("stream", stream)?.verify(In::new("tag", tag, tag_length)?.get()) })
}

/// Writes the mid-state of a digest or HMAC, from which the message can go on elsewhere, to `state`, which has room for
/// `room` bytes (MILLSTREAM_MID_STATE_ROOM is always enough), and its length to *written if that is not NULL. It is as
/// secret as the data so far; that of an HMAC is as good as the key. The stream goes on.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_OUTPUT_LENGTH (too little room), MILLSTREAM_STATUS_ORDER (the stream
/// is another's), MILLSTREAM_STATUS_ENDED, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_export(
    stream: *const Stream,
    state: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    guard(|| {
        let state = Out::new("state", state, room)?;
        // SAFETY: the caller's promise; nothing of the caller's is read.
        unsafe { report(written, object("stream", stream)?.export(state.get())?) };
        Ok(())
    })
}

/// Makes another stream that goes on from where a digest or HMAC is now, by itself: for the digest of all so far, while more is
/// to come.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ORDER (the stream is another's), MILLSTREAM_STATUS_ENDED,
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_copy(stream: *const Stream, made: *mut *mut Stream) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { make("made", made, || object("stream", stream)?.copy()) })
}

/// Zeroises and frees a stream. NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_stream_free(stream: *mut Stream) {
    // SAFETY: the caller's promise; see the module. It came from `make`.
    unsafe { free(stream) }
}

//! Every function refuses a C program's mistakes with the status that says so.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod support;

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use millstream_c::algorithm::{Algorithm, AlgorithmCode};
use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::direct::*;
use millstream_c::ffi::isolated::*;
use millstream_c::ffi::library::*;
use millstream_c::ffi::queue::*;
use millstream_c::ffi::srtp::*;
use millstream_c::ffi::stream::*;
use millstream_c::ffi::usage::*;
use millstream_c::status::{Status, StatusCode};

const fn code(algorithm: Algorithm) -> AlgorithmCode {
    AlgorithmCode(algorithm as u32)
}

const NONE: PaddingCode = PaddingCode(PaddingKind::None as u32);
const PKCS7: PaddingCode = PaddingCode(PaddingKind::Pkcs7 as u32);
const GCM: AlgorithmCode = code(Algorithm::AesGcm);
const CBC: AlgorithmCode = code(Algorithm::AesCbc);
const SHA256: AlgorithmCode = code(Algorithm::Sha256);
const CRC: AlgorithmCode = code(Algorithm::Crc32);
const BAD: AlgorithmCode = AlgorithmCode(0x7777);

/// The call ends with a status, and the last error says something of the name given.
macro_rules! refused {
    ($status:ident, $name:literal, $call:expr) => {{
        assert_eq!(unsafe { $call }, Status::$status, "{}", stringify!($call));
        let text = unsafe { CStr::from_ptr(millstream_last_error()) }.to_str().unwrap();
        assert!(text.contains($name), "{text:?} does not say {:?}: {}", $name, stringify!($call));
    }};
}

/// A key's handle.
macro_rules! key {
    ($algorithm:expr, $bytes:expr) => {{
        let mut key = null_mut();
        ok!(millstream_key_new($algorithm, $bytes.as_ptr(), $bytes.len(), &mut key));
        key
    }};
}

fn operation(kind: Kind) -> Operation {
    // All zero, as a C program makes it.
    let mut operation: Operation = unsafe { std::mem::zeroed() };
    operation.kind = KindCode(kind as u32);
    operation
}

fn request(kind: Kind) -> Request {
    let mut request: Request = unsafe { std::mem::zeroed() };
    request.kind = KindCode(kind as u32);
    request
}

#[test]
fn the_library_itself() {
    let mut text = null();
    refused!(Null, "features", millstream_features(null_mut()));
    ok!(millstream_features(&mut text));
    assert!(!text.is_null());
    refused!(Null, "kernel", millstream_algorithm_kernel(SHA256, null_mut()));
    refused!(Algorithm, "aes-gcm", millstream_algorithm_kernel(GCM, &mut text));
    refused!(Argument, "algorithm", millstream_algorithm_kernel(BAD, &mut text));
    ok!(millstream_algorithm_kernel(CRC, &mut text));
    assert!(millstream_algorithm_name(BAD).is_null());
    assert_eq!(unsafe { CStr::from_ptr(millstream_algorithm_name(GCM)) }, c"aes-gcm");
    assert_eq!(unsafe { millstream_algorithm_named(null()) }, code(Algorithm::None));
    assert_eq!(unsafe { millstream_algorithm_named(c"no such".as_ptr()) }, code(Algorithm::None));
    assert_eq!(unsafe { millstream_algorithm_named(c"sha256".as_ptr()) }, SHA256);
    assert_eq!((millstream_digest_length(SHA256), millstream_digest_length(GCM)), (32, 0));
    refused!(Null, "output", millstream_random(null_mut(), 1));
    refused!(Size, "output", millstream_random(text.cast_mut().cast(), usize::MAX));
    ok!(millstream_random(null_mut(), 0));
    refused!(Null, "data", millstream_wipe(null_mut(), 1));
    ok!(millstream_wipe(null_mut(), 0));
    let text = unsafe { CStr::from_ptr(millstream_status_text(StatusCode(9999))) };
    assert!(text.to_str().unwrap().contains("no status"));
    assert_eq!(millstream_version_number(), 0x100);
    assert!(!millstream_version().is_null());
    assert_eq!(millstream_fallbacks(), 0);
}

#[test]
fn keys() {
    let mut key = null_mut();
    let bytes = [7; 32];
    refused!(Null, "made", millstream_key_new(GCM, bytes.as_ptr(), 32, null_mut()));
    refused!(Null, "key", millstream_key_new(GCM, null(), 32, &mut key));
    refused!(Size, "key", millstream_key_new(GCM, bytes.as_ptr(), usize::MAX, &mut key));
    refused!(KeyLength, "31 bytes", millstream_key_new(GCM, bytes.as_ptr(), 31, &mut key));
    refused!(KeyLength, "0 bytes", millstream_key_new(GCM, null(), 0, &mut key));
    refused!(Argument, "algorithm", millstream_key_new(BAD, bytes.as_ptr(), 32, &mut key));
    refused!(Algorithm, "crc32", millstream_key_new(CRC, bytes.as_ptr(), 32, &mut key));
    refused!(WeakKey, "aes-xts", millstream_key_new(code(Algorithm::AesXts), bytes.as_ptr(), 32, &mut key));
    assert!(key.is_null());
    // The empty key is one for HMAC.
    ok!(millstream_key_new(SHA256, null(), 0, &mut key));
    unsafe { millstream_key_free(key) };
    unsafe { millstream_key_free(null_mut()) };
    assert_eq!(unsafe { millstream_key_algorithm(null()) }, code(Algorithm::None));
    assert!(unsafe { millstream_key_kernel(null()) }.is_null());
}

#[test]
fn ciphers() {
    let (cbc, gcm) = (key!(CBC, [7; 16]), key!(GCM, [7; 16]));
    let (iv, mut data) = ([1; 16], [0; 64]);
    let at = data.as_mut_ptr();
    for call in [millstream_encrypt, millstream_decrypt] {
        let iv = iv.as_ptr();
        refused!(Null, "key", call(null(), iv, 16, at, at, 64));
        refused!(Null, "iv", call(cbc, null(), 16, at, at, 64));
        refused!(Null, "input", call(cbc, iv, 16, null(), at, 64));
        refused!(Null, "output", call(cbc, iv, 16, at, null_mut(), 64));
        refused!(Size, "input", call(cbc, iv, 16, at, at, usize::MAX));
        refused!(NonceLength, "15 bytes", call(cbc, iv, 15, at, at, 64));
        refused!(DataLength, "whole blocks", call(cbc, iv, 16, at, at, 63));
        refused!(Overlap, "output and input", call(cbc, iv, 16, at, at.add(16), 32));
        refused!(Overlap, "output and input", call(cbc, iv, 16, at.add(16), at, 32));
        refused!(Overlap, "output and iv", call(cbc, at, 16, at.add(16), at, 32));
        refused!(Algorithm, "aes-gcm", call(gcm, iv, 16, at, at, 64));
        ok!(call(cbc, iv, 16, null(), null_mut(), 0));
        ok!(call(cbc, iv, 16, at, at.add(32), 32));
    }
    assert_eq!(data[..16], [0; 16], "what was refused wrote nothing");
    unsafe { (millstream_key_free(cbc), millstream_key_free(gcm)) };
}

#[test]
fn aeads() {
    let (key, cbc) = (key!(GCM, [7; 16]), key!(CBC, [7; 16]));
    let (nonce, mut data, mut tag) = ([1; 12], [0; 64], [0; 16]);
    let (n, at, t) = (nonce.as_ptr(), data.as_mut_ptr(), tag.as_mut_ptr());
    refused!(Null, "key", millstream_seal(null(), n, 12, null(), 0, at, at, 64, t));
    refused!(Null, "nonce", millstream_seal(key, null(), 12, null(), 0, at, at, 64, t));
    refused!(Null, "aad", millstream_seal(key, n, 12, null(), 1, at, at, 64, t));
    refused!(Null, "input", millstream_seal(key, n, 12, null(), 0, null(), at, 64, t));
    refused!(Null, "output", millstream_seal(key, n, 12, null(), 0, at, null_mut(), 64, t));
    refused!(Null, "tag", millstream_seal(key, n, 12, null(), 0, at, at, 64, null_mut()));
    refused!(NonceLength, "0 bytes", millstream_seal(key, null(), 0, null(), 0, at, at, 64, t));
    refused!(Algorithm, "aes-cbc", millstream_seal(cbc, n, 12, null(), 0, at, at, 64, t));
    refused!(Overlap, "output and aad", millstream_seal(key, n, 12, at, 5, at, at, 64, t));
    refused!(Overlap, "tag and input", millstream_seal(key, n, 12, null(), 0, at, at, 64, at.add(60)));
    refused!(Overlap, "tag and input", millstream_seal(key, n, 12, null(), 0, at, at.add(32), 32, at));
    refused!(Overlap, "output and input", millstream_seal(key, n, 12, null(), 0, at, at.add(1), 32, t));
    ok!(millstream_seal(key, n, 12, null(), 0, at, at, 48, at.add(48)));
    let (sealed, beside) = (data, unsafe { at.add(48) });
    // A tag that was cut is one only where the caller expects it.
    refused!(TagLength, "16 bytes", millstream_open(key, n, 12, null(), 0, at, at, 48, t, 12));
    refused!(TagLength, "expects", millstream_open_cut(key, n, 12, null(), 0, at, at, 48, t, 4, 12));
    refused!(TagLength, "5", millstream_open_cut(key, n, 12, null(), 0, at, at, 48, t, 5, 5));
    refused!(Authentication, "", millstream_open_cut(key, n, 12, null(), 0, at, at, 48, t, 12, 12));
    refused!(Null, "tag", millstream_open(key, n, 12, null(), 0, at, at, 48, null(), 16));
    refused!(TagLength, "0 bytes", millstream_open(key, n, 12, null(), 0, at, at, 48, null(), 0));
    refused!(Overlap, "output and tag", millstream_open(key, n, 12, null(), 0, at, at, 64, beside, 16));
    refused!(Algorithm, "aes-cbc", millstream_open(cbc, n, 12, null(), 0, at, at, 48, beside, 16));
    refused!(
        Authentication,
        "authentication",
        millstream_open(key, n, 11, null(), 0, at, at, 48, beside, 16)
    );
    assert_eq!(data, sealed, "in place the ciphertext is there again");
    let mut out = [9; 48];
    let o = out.as_mut_ptr();
    refused!(Authentication, "authentication", millstream_open(key, n, 11, null(), 0, at, o, 48, beside, 16));
    assert_eq!(out, [0; 48], "apart there is nothing");
    ok!(millstream_open(key, n, 12, null(), 0, at, at, 48, beside, 16));
    assert_eq!(data[..48], [0; 48]);
    unsafe { (millstream_key_free(key), millstream_key_free(cbc)) };
}

#[test]
fn digests_and_macs() {
    let mut out = [0; 80];
    let at = out.as_mut_ptr();
    refused!(Null, "data", millstream_digest(SHA256, null(), 1, at, 32));
    refused!(Null, "digest", millstream_digest(SHA256, null(), 0, null_mut(), 32));
    refused!(OutputLength, "32", millstream_digest(SHA256, null(), 0, at, 31));
    refused!(Algorithm, "aes-gcm", millstream_digest(GCM, null(), 0, at, 32));
    refused!(Argument, "algorithm", millstream_digest(BAD, null(), 0, at, 32));
    refused!(Overlap, "digest and data", millstream_digest(SHA256, at, 1, at, 32));
    ok!(millstream_digest(SHA256, null(), 0, at, 80));

    let (hmac, gcm) = (key!(SHA256, b"Jefe"), key!(GCM, [7; 16]));
    let mut len = 99;
    refused!(Null, "key", millstream_mac(null(), null(), 0, at, 32, &mut len));
    refused!(Null, "data", millstream_mac(hmac, null(), 1, at, 32, &mut len));
    refused!(OutputLength, "32", millstream_mac(hmac, null(), 0, at, 31, &mut len));
    refused!(Overlap, "mac and data", millstream_mac(hmac, at, 40, at, 32, &mut len));
    refused!(Algorithm, "aes-gcm", millstream_mac(gcm, null(), 0, at, 32, &mut len));
    assert_eq!(len, 99);
    ok!(millstream_mac(hmac, null(), 0, at, 32, null_mut()));
    ok!(millstream_mac(hmac, null(), 0, at, 80, &mut len));
    assert_eq!(len, 32);
    refused!(Null, "mac", millstream_mac_verify(hmac, null(), 0, null(), 16));
    refused!(TagLength, "3 bytes", millstream_mac_verify(hmac, null(), 0, at, 3));
    refused!(TagLength, "33 bytes", millstream_mac_verify(hmac, null(), 0, at, 33));
    refused!(Authentication, "authentication", millstream_mac_verify(hmac, at, 1, at, 32));
    refused!(Algorithm, "aes-gcm", millstream_mac_verify(gcm, at, 1, at, 32));
    ok!(millstream_mac_verify(hmac, null(), 0, at, 32));
    unsafe { (millstream_key_free(hmac), millstream_key_free(gcm)) };
}

#[test]
fn kasumi() {
    let (f8, f9) = (key!(code(Algorithm::KasumiF8), [7; 16]), key!(code(Algorithm::KasumiF9), [7; 16]));
    let (mut data, mut mac) = ([0; 16], [0; 4]);
    let (at, m) = (data.as_mut_ptr(), mac.as_mut_ptr());
    // The engine answers this with a panic elsewhere; here it must be a status.
    refused!(Parameter, "BEARER", millstream_kasumi_f8(f8, 1, 32, 0, at, at, 128));
    refused!(Parameter, "DIRECTION", millstream_kasumi_f8(f8, 1, 31, 2, at, at, 128));
    refused!(Algorithm, "kasumi-f9", millstream_kasumi_f8(f9, 1, 31, 1, at, at, 128));
    refused!(Null, "input", millstream_kasumi_f8(f8, 1, 31, 1, null(), at, 1));
    refused!(Overlap, "output and input", millstream_kasumi_f8(f8, 1, 31, 1, at, at.add(1), 64));
    ok!(millstream_kasumi_f8(f8, 1, 31, 1, null(), null_mut(), 0));
    ok!(millstream_kasumi_f8(f8, 1, 31, 1, at, at, 125));
    refused!(Parameter, "DIRECTION", millstream_kasumi_f9(f9, 1, 2, 2, at, 128, m));
    refused!(Algorithm, "kasumi-f8", millstream_kasumi_f9(f8, 1, 2, 1, at, 128, m));
    refused!(Null, "mac", millstream_kasumi_f9(f9, 1, 2, 1, at, 128, null_mut()));
    refused!(Overlap, "mac and message", millstream_kasumi_f9(f9, 1, 2, 1, at, 128, at.add(12)));
    ok!(millstream_kasumi_f9(f9, 1, 2, 1, at, 125, m));
    ok!(millstream_kasumi_f9_verify(f9, 1, 2, 1, at, 125, m));
    refused!(Authentication, "authentication", millstream_kasumi_f9_verify(f9, 1, 2, 0, at, 125, m));
    refused!(Null, "mac", millstream_kasumi_f9_verify(f9, 1, 2, 1, at, 125, null()));
    // The same in a batch.
    let mut one = operation(Kind::Mac);
    (one.key, one.iv, one.iv_length, one.input, one.length) = (f9, [0; 8].as_ptr(), 8, at, 16);
    (one.tag, one.tag_length, one.direction) = (m, 4, 2);
    refused!(Parameter, "DIRECTION", millstream_batch(&mut one, 1));
    (one.direction, one.unused_bits) = (0, 8);
    refused!(Argument, "unused bits", millstream_batch(&mut one, 1));
    (one.unused_bits, one.iv_length) = (0, 7);
    refused!(NonceLength, "7 bytes", millstream_batch(&mut one, 1));
    one = operation(Kind::Encrypt);
    (one.key, one.iv, one.iv_length, one.input, one.output) = (f8, [0xff; 8].as_ptr(), 8, at, at);
    one.length = 16;
    refused!(Parameter, "IV", millstream_batch(&mut one, 1));
    one.unused_bits = 3;
    refused!(Parameter, "IV", millstream_batch(&mut one, 1));
    unsafe { (millstream_key_free(f8), millstream_key_free(f9)) };
}

#[test]
fn key_pairs() {
    let (sha256, none, rsa) = (AlgorithmCode(0x53), AlgorithmCode(0), AlgorithmCode(0x75));
    let (ed25519, x25519, p256) = (AlgorithmCode(0x70), AlgorithmCode(0x71), AlgorithmCode(0x72));
    let bytes = [1; 64];
    let at = bytes.as_ptr();
    refused!(Null, "public_key", millstream_verify_signature(p256, null(), 65, sha256, 0, at, 32, at, 64));
    refused!(Null, "message", millstream_verify_signature(ed25519, at, 32, none, 0, null(), 1, at, 64));
    refused!(Null, "signature", millstream_verify_signature(ed25519, at, 32, none, 0, at, 1, null(), 64));
    refused!(KeyLength, "x25519", millstream_verify_signature(x25519, at, 32, none, 0, at, 1, at, 64));
    refused!(Parameter, "p256", millstream_verify_signature(p256, at, 64, sha256, 0, at, 32, at, 64));
    refused!(Parameter, "rsa", millstream_verify_signature(rsa, at, 64, sha256, 1, at, 32, at, 64));
    refused!(
        Argument,
        "algorithm",
        millstream_verify_signature(AlgorithmCode(0xfe), at, 32, none, 0, at, 1, at, 64)
    );
    let (public, context) = ([1; 1312], [0; 256]);
    let (ml_dsa, key, c) = (code(Algorithm::MlDsa44), public.as_ptr(), context.as_ptr());
    let scheme = millstream_scheme_ml_dsa(0, 0);
    let verify = millstream_verify_in_context;
    refused!(Null, "public_key", verify(ml_dsa, null(), 1312, scheme, null(), 0, at, 1, at, 64));
    refused!(Null, "context", verify(ml_dsa, key, 1312, scheme, null(), 1, at, 1, at, 64));
    refused!(DataLength, "ml-dsa-44", verify(ml_dsa, key, 1311, scheme, c, 3, at, 1, at, 64));
    refused!(Parameter, "context", verify(ml_dsa, key, 1312, scheme, c, 256, at, 1, at, 64));
    refused!(Argument, "scheme", verify(ml_dsa, key, 1312, u32::MAX, c, 3, at, 1, at, 64));
    assert_eq!((millstream_scheme_ml_dsa(13, 0), millstream_scheme_ml_dsa(256, 0)), (u32::MAX, u32::MAX));
    assert_ne!(millstream_scheme_ml_dsa(0, 0), millstream_scheme_ml_dsa(0, 1));
    assert_eq!((millstream_scheme_pss(none, 20), millstream_scheme_oaep(none)), (0, 0));
    assert_eq!(millstream_scheme_pss(sha256, 32), 0x20_5302);
}

#[test]
fn derivation_and_checksums() {
    let mut out = [0; 64];
    let at = out.as_mut_ptr();
    refused!(Null, "material", millstream_hkdf(SHA256, null(), 0, null(), 1, null(), 0, at, 32));
    refused!(Null, "output", millstream_hkdf(SHA256, null(), 0, null(), 0, null(), 0, null_mut(), 32));
    refused!(Algorithm, "crc32", millstream_hkdf(CRC, null(), 0, null(), 0, null(), 0, at, 32));
    refused!(Overlap, "output and info", millstream_hkdf(SHA256, null(), 0, null(), 0, at, 4, at, 32));
    let mut long = vec![0; 255 * 32 + 1];
    let l = long.as_mut_ptr();
    refused!(DataLength, "255", millstream_hkdf(SHA256, null(), 0, null(), 0, null(), 0, l, 255 * 32 + 1));
    refused!(OutputLength, "32", millstream_hkdf_extract(SHA256, null(), 0, null(), 0, at, 31));
    refused!(Overlap, "output and salt", millstream_hkdf_extract(SHA256, at, 4, null(), 0, at, 32));
    refused!(KeyLength, "31 bytes", millstream_hkdf_expand(SHA256, at, 31, null(), 0, at.add(32), 8));
    refused!(Overlap, "output and key", millstream_hkdf_expand(SHA256, at, 32, null(), 0, at, 8));
    let mut value = 0;
    refused!(Null, "data", millstream_checksum(CRC, null(), 1, &mut value));
    refused!(Null, "value", millstream_checksum(CRC, null(), 0, null_mut()));
    refused!(Algorithm, "sha256", millstream_checksum(SHA256, null(), 0, &mut value));
    refused!(Null, "value", millstream_copy_checksum(CRC, at, at.add(32), 32, null_mut()));
    refused!(Overlap, "output and input", millstream_copy_checksum(CRC, at, at.add(1), 32, &mut value));
    refused!(Algorithm, "sha256", millstream_copy_checksum(SHA256, at, at.add(32), 32, &mut value));
    refused!(
        Algorithm,
        "ip-checksum",
        millstream_crc_combine(code(Algorithm::IpChecksum), 1, 2, 3, &mut value)
    );
    refused!(Null, "value", millstream_crc_combine(CRC, 1, 2, 3, null_mut()));
}

#[test]
fn streams() {
    let (cbc, gcm, hmac) = (key!(CBC, [7; 16]), key!(GCM, [7; 16]), key!(SHA256, b"key"));
    let xts = key!(code(Algorithm::AesXts), std::array::from_fn::<u8, 32, _>(|i| i as u8));
    let (ctr, des) = (key!(code(Algorithm::AesCtr), [7; 16]), key!(code(Algorithm::DesMac), [7; 8]));
    let (iv, mut out, mut len) = ([1; 16], [0; 64], 0);
    let (iv, at) = (iv.as_ptr(), out.as_mut_ptr());
    let mut stream = null_mut();
    refused!(Null, "made", millstream_stream_digest(SHA256, null_mut()));
    refused!(Algorithm, "aes-gcm", millstream_stream_digest(GCM, &mut stream));
    refused!(MidState, "mid-state", millstream_stream_import_digest(SHA256, iv, 16, &mut stream));
    refused!(Null, "state", millstream_stream_import_digest(SHA256, null(), 16, &mut stream));
    refused!(MidState, "mid-state", millstream_stream_import_mac(SHA256, iv, 16, &mut stream));
    refused!(Null, "key", millstream_stream_mac(null(), &mut stream));
    refused!(Algorithm, "aes-cbc", millstream_stream_mac(cbc, &mut stream));
    refused!(OneShot, "des-mac", millstream_stream_mac(des, &mut stream));
    refused!(Algorithm, "sha256", millstream_stream_checksum(SHA256, &mut stream));
    for call in [millstream_stream_encrypt, millstream_stream_decrypt] {
        refused!(Null, "key", call(null(), NONE, iv, 16, &mut stream));
        refused!(NonceLength, "15 bytes", call(cbc, NONE, iv, 15, &mut stream));
        refused!(Argument, "padding", call(cbc, PaddingCode(2), iv, 16, &mut stream));
        refused!(OneShot, "aes-xts", call(xts, NONE, iv, 16, &mut stream));
        refused!(Order, "padding", call(ctr, PKCS7, iv, 16, &mut stream));
        refused!(Algorithm, "aes-gcm", call(gcm, NONE, iv, 16, &mut stream));
    }
    for call in [millstream_stream_seal, millstream_stream_open] {
        refused!(Null, "nonce", call(gcm, null(), 12, &mut stream));
        refused!(NonceLength, "0 bytes", call(gcm, iv, 0, &mut stream));
        refused!(Algorithm, "aes-cbc", call(cbc, iv, 12, &mut stream));
    }
    assert!(stream.is_null());
    refused!(Null, "stream", millstream_stream_restart(stream, null(), 0));
    refused!(Null, "stream", millstream_stream_update(stream, null(), 0));
    refused!(Null, "stream", millstream_stream_aad(stream, null(), 0));
    refused!(Null, "stream", millstream_stream_pass(stream, null(), 0, null_mut(), 0, &mut len));
    refused!(Null, "stream", millstream_stream_finish(stream, at, 64, &mut len));
    refused!(Null, "stream", millstream_stream_verify(stream, at, 16));
    refused!(Null, "stream", millstream_stream_export(stream, at, 64, &mut len));
    refused!(Null, "stream", millstream_stream_copy(stream, &mut stream));
    assert_eq!(unsafe { millstream_stream_pass_length(stream, 5) }, 0);

    // A digest.
    ok!(millstream_stream_digest(SHA256, &mut stream));
    refused!(Null, "data", millstream_stream_update(stream, null(), 1));
    refused!(Order, "update", millstream_stream_pass(stream, iv, 16, at, 64, &mut len));
    refused!(Order, "AEAD", millstream_stream_aad(stream, iv, 16));
    refused!(Order, "verified", millstream_stream_verify(stream, at, 32));
    refused!(OutputLength, "31", millstream_stream_finish(stream, at, 31, &mut len));
    refused!(OutputLength, "8", millstream_stream_export(stream, at, 8, &mut len));
    refused!(NonceLength, "none", millstream_stream_restart(stream, iv, 16));
    ok!(millstream_stream_finish(stream, at, 64, &mut len));
    refused!(Ended, "ended", millstream_stream_finish(stream, at, 64, &mut len));
    refused!(Ended, "ended", millstream_stream_update(stream, iv, 16));
    ok!(millstream_stream_restart(stream, null(), 0));
    unsafe { millstream_stream_free(stream) };

    // A cipher.
    ok!(millstream_stream_encrypt(cbc, NONE, iv, 16, &mut stream));
    refused!(Order, "millstream_stream_pass", millstream_stream_update(stream, iv, 16));
    refused!(OutputLength, "15", millstream_stream_pass(stream, iv, 16, at, 15, &mut len));
    refused!(Overlap, "output and input", millstream_stream_pass(stream, at, 16, at.add(1), 32, &mut len));
    ok!(millstream_stream_pass(stream, iv, 15, at, 64, &mut len));
    refused!(DataLength, "whole blocks", millstream_stream_finish(stream, at, 64, &mut len));
    let mut copy = null_mut();
    refused!(Ended, "ended", millstream_stream_copy(stream, &mut copy));
    unsafe { millstream_stream_free(stream) };

    // An AEAD that decrypts.
    ok!(millstream_stream_open(gcm, iv, 12, &mut stream));
    ok!(millstream_stream_pass(stream, iv, 16, at, 64, &mut len));
    refused!(Order, "before data", millstream_stream_aad(stream, iv, 16));
    refused!(Order, "millstream_stream_verify", millstream_stream_finish(stream, at, 64, &mut len));
    refused!(Order, "mid-state", millstream_stream_export(stream, at, 64, &mut len));
    refused!(Authentication, "authentication", millstream_stream_verify(stream, iv, 16));
    refused!(Ended, "ended", millstream_stream_verify(stream, iv, 16));
    unsafe { millstream_stream_free(stream) };
    unsafe { millstream_stream_free(null_mut()) };
    for key in [cbc, gcm, hmac, xts, ctr, des] {
        unsafe { millstream_key_free(key) };
    }
}

#[test]
fn batches() {
    refused!(Null, "operations", millstream_batch(null_mut(), 1));
    ok!(millstream_batch(null_mut(), 0));
    let mut one = operation(Kind::Null);
    refused!(Size, "operations", millstream_batch(&mut one, usize::MAX));
    ok!(millstream_batch(&mut one, 1));
    one.kind = KindCode(15);
    refused!(Argument, "operation 0: 15 is no kind", millstream_batch(&mut one, 1));
    one = operation(Kind::Null);
    one.reserved[1] = 1;
    refused!(Reserved, "reserved", millstream_batch(&mut one, 1));

    let (gcm, hmac) = (key!(GCM, [7; 16]), key!(SHA256, b"key"));
    let (mut data, mut tag) = ([0; 64], [0; 64]);
    let (at, tag_at) = (data.as_mut_ptr(), tag.as_mut_ptr());
    let whole = |kind| {
        let mut op = operation(kind);
        op.key = gcm;
        (op.iv, op.iv_length) = (b"twelve bytes".as_ptr(), 12);
        op.input = at;
        (op.output, op.length) = (at, 48);
        (op.tag, op.tag_length) = (tag_at, 16);
        op
    };
    type Change = fn(&mut Operation, *mut u8);
    let seals: &[(Status, &str, Change)] = &[
        (Status::Null, "key is NULL", |op, _| op.key = null()),
        (Status::Null, "iv", |op, _| op.iv = null()),
        (Status::Null, "input", |op, _| op.input = null()),
        (Status::Null, "output", |op, _| op.output = null_mut()),
        (Status::Null, "tag", |op, _| op.tag = null_mut()),
        (Status::OutputLength, "16", |op, _| op.tag_length = 15),
        (Status::Overlap, "tag and input", |op, at| op.tag = unsafe { at.add(47) }),
        (Status::Overlap, "output and input", |op, at| op.output = unsafe { at.add(1) }),
        (Status::Overlap, "output and iv", |op, at| op.iv = at),
        (Status::Size, "input", |op, _| op.length = usize::MAX),
        (Status::NonceLength, "0 bytes", |op, _| op.iv_length = 0),
        (Status::Reserved, "unused_bits", |op, _| op.unused_bits = 1),
    ];
    for (status, says, change) in seals {
        let (mut operations, mut other) = ([whole(Kind::Seal), operation(Kind::Digest)], [0; 32]);
        change(&mut operations[0], at);
        operations[1].algorithm = SHA256;
        (operations[1].tag, operations[1].tag_length) = (other.as_mut_ptr(), 32);
        assert_eq!(unsafe { millstream_batch(operations.as_mut_ptr(), 2) }, *status, "{says}");
        let text = unsafe { CStr::from_ptr(millstream_last_error()) }.to_str().unwrap();
        assert!(text.starts_with("operation 0: ") && text.contains(says), "{text}");
        assert_eq!(operations[0].status, StatusCode::from(*status));
        assert_eq!(operations[1].status, Status::Ok.into(), "the other one is executed all the same");
        assert_eq!(other[..2], [0xe3, 0xb0]);
    }
    assert_eq!((data, tag), ([0; 64], [0; 64]), "what was refused wrote nothing");
    let mut mac = whole(Kind::Mac);
    refused!(Algorithm, "aes-gcm", millstream_batch(&mut mac, 1));
    (mac.key, mac.tag_length) = (hmac, 31);
    refused!(OutputLength, "32", millstream_batch(&mut mac, 1));
    (mac.kind, mac.tag_length) = (KindCode(Kind::Verify as u32), 32);
    refused!(Authentication, "authentication", millstream_batch(&mut mac, 1));
    let mut both = whole(Kind::EncryptThenMac);
    refused!(Algorithm, "aes-gcm", millstream_batch(&mut both, 1));
    let cbc = key!(CBC, [7; 16]);
    both.key = cbc;
    refused!(Null, "mac_key", millstream_batch(&mut both, 1));
    both.mac_key = gcm;
    refused!(Algorithm, "HMAC", millstream_batch(&mut both, 1));
    both.mac_key = hmac;
    refused!(OutputLength, "32", millstream_batch(&mut both, 1));
    let mut copy = whole(Kind::Copy);
    refused!(Overlap, "output and input", millstream_batch(&mut copy, 1));
    // The first of the failures counts, wherever it is found.
    let mut several = [whole(Kind::Open), operation(Kind::Digest)];
    refused!(Authentication, "operation 0", millstream_batch(several.as_mut_ptr(), 2));
    assert_eq!(several[1].status, Status::Algorithm.into());
    for key in [gcm, hmac, cbc] {
        unsafe { millstream_key_free(key) };
    }
}

#[test]
fn queues() {
    let (mut queue, mut thread) = (null_mut(), null_mut());
    refused!(Null, "made", millstream_queue_inline(null(), null_mut()));
    let mut options: QueueOptions = unsafe { std::mem::zeroed() };
    options.reserved[3] = 1;
    refused!(Reserved, "reserved", millstream_queue_inline(&options, &mut queue));
    options.reserved[3] = 0;
    options.arena_bytes = u32::MAX;
    refused!(ArenaFull, "arena", millstream_queue_inline(&options, &mut queue));
    options = QueueOptions { depth: 2, arena_bytes: 1 << 16, key_slots: 1, weight: 1, reserved: [0; 4] };
    ok!(millstream_queue_inline(&options, &mut queue));
    assert_eq!(unsafe { (millstream_queue_depth(queue), millstream_queue_depth(null())) }, (2, 0));
    refused!(Null, "made", millstream_thread_start(null(), null_mut()));
    let mut how: ThreadOptions = unsafe { std::mem::zeroed() };
    (how.pin, how.cpu) = (1, 100_000);
    refused!(Thread, "cpu", millstream_thread_start(&how, &mut thread));
    let mut other = null_mut();
    refused!(Null, "thread", millstream_thread_queue(null(), null(), &mut other));

    let mut handle = 9;
    refused!(KeyLength, "15", millstream_queue_import_key(queue, CBC, [0; 15].as_ptr(), 15, &mut handle));
    assert_eq!(handle, 0);
    refused!(Algorithm, "crc32", millstream_queue_import_key(queue, CRC, [0; 16].as_ptr(), 16, &mut handle));
    refused!(Null, "key", millstream_queue_import_key(queue, CBC, null(), 16, &mut handle));
    refused!(Null, "queue", millstream_queue_import_key(null_mut(), CBC, [0; 16].as_ptr(), 16, &mut handle));
    ok!(millstream_queue_import_key(queue, CBC, [0; 16].as_ptr(), 16, &mut handle));
    let mut more = 0;
    refused!(KeySlots, "key slot", millstream_queue_import_key(queue, CBC, [0; 16].as_ptr(), 16, &mut more));
    refused!(NoSuchKey, "no such key", millstream_queue_remove_key(queue, 0));
    refused!(NoSuchKey, "no such key", millstream_queue_remove_key(queue, handle + (1 << 48)));

    let mut buffers = [null_mut(); 3];
    refused!(Null, "queue", millstream_buffer_new(null_mut(), 16, &mut buffers[0]));
    refused!(ArenaFull, "arena", millstream_buffer_new(queue, 1 << 17, &mut buffers[0]));
    refused!(Size, "buffer", millstream_buffer_new(queue, usize::MAX, &mut buffers[0]));
    for buffer in &mut buffers {
        ok!(millstream_buffer_new(queue, 16, buffer));
    }
    let [a, b, c] = buffers;
    refused!(OutputLength, "bytes", millstream_buffer_set_length(a, 1 << 20));
    refused!(Null, "buffer", millstream_buffer_set_length(null_mut(), 0));
    ok!(millstream_buffer_free(null_mut()));
    assert!(unsafe { millstream_buffer_data(null_mut()) }.is_null());
    assert_eq!(unsafe { (millstream_buffer_length(null()), millstream_buffer_capacity(null())) }, (0, 0));

    let mut ticket = 0;
    let mut ask = request(Kind::Encrypt);
    refused!(Null, "queue", millstream_queue_submit(null_mut(), &ask, &mut ticket));
    refused!(Null, "request", millstream_queue_submit(queue, null(), &mut ticket));
    refused!(NoSuchKey, "no such key", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.key = handle;
    refused!(Null, "source", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.source = a;
    refused!(Null, "destination", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.destination = a;
    refused!(Overlap, "source and destination", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.destination = b;
    ask.iv_length = 16;
    refused!(Null, "iv", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.iv = [0; 256].as_ptr();
    ask.iv_length = 256;
    refused!(TooLong, "255 bytes", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.iv_length = 16;
    ask.reserved_too = 1;
    refused!(Reserved, "reserved", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.reserved_too = 0;
    ask.direction = 2;
    refused!(Argument, "direction", millstream_queue_submit(queue, &ask, &mut ticket));
    ask.direction = 0;
    ok!(millstream_buffer_set_length(b, 15));
    refused!(DestinationLength, "long", millstream_queue_submit(queue, &ask, &mut ticket));
    ok!(millstream_buffer_set_length(b, 16));
    (ask.more, ask.more_count) = (null(), 1);
    refused!(Null, "more", millstream_queue_submit(queue, &ask, &mut ticket));
    let list = [c, a];
    (ask.more, ask.more_count) = (list.as_ptr(), 2);
    refused!(InFlight, "more", millstream_queue_submit(queue, &ask, &mut ticket));
    (ask.more, ask.more_count) = (null(), 0);
    // Everything that was refused left the buffers where they were.
    for buffer in buffers {
        assert_eq!(unsafe { millstream_buffer_length(buffer) }, 16);
    }
    let mut digest = request(Kind::Digest);
    digest.algorithm = SHA256;
    (digest.source, digest.destination) = (c, b);
    refused!(Reserved, "destination", millstream_queue_submit(queue, &digest, &mut ticket));
    ok!(millstream_queue_submit(queue, &ask, &mut ticket));
    assert_eq!(unsafe { millstream_queue_in_flight(queue) }, 1);
    refused!(InFlight, "source", millstream_queue_submit(queue, &ask, null_mut()));
    refused!(InFlight, "buffer", millstream_buffer_free(a));
    refused!(InFlight, "buffer", millstream_buffer_set_length(a, 1));
    assert!(unsafe { millstream_buffer_data(a) }.is_null());

    // A buffer of another queue; and one more than it is deep.
    ok!(millstream_queue_inline(&options, &mut other));
    let mut foreign = null_mut();
    ok!(millstream_buffer_new(other, 16, &mut foreign));
    digest.destination = null_mut();
    digest.source = foreign;
    refused!(ForeignBuffer, "another queue", millstream_queue_submit(queue, &digest, &mut ticket));
    assert_eq!(unsafe { millstream_buffer_length(foreign) }, 16, "it was given back");
    digest.source = c;
    ok!(millstream_queue_submit(queue, &digest, &mut ticket));
    refused!(Full, "full", millstream_queue_submit(queue, &request(Kind::Null), null_mut()));
    refused!(Null, "queue", millstream_queue_submit_wait(null_mut(), &digest, 0, null_mut()));
    refused!(Null, "request", millstream_queue_submit_wait(queue, null(), 0, null_mut()));
    refused!(Null, "queue", millstream_queue_submit_many(null_mut(), &digest, 1, null_mut(), null_mut()));
    refused!(Null, "request", millstream_queue_submit_many(queue, null(), 1, null_mut(), null_mut()));
    let (mut done, mut count): (Done, usize) = (unsafe { std::mem::zeroed() }, 0);
    refused!(Null, "queue", millstream_queue_drain(null_mut(), &mut done, 1, &mut count));
    refused!(Null, "count", millstream_queue_drain(queue, &mut done, 1, null_mut()));
    refused!(Null, "done", millstream_queue_poll(queue, null_mut()));
    refused!(Null, "queue", millstream_queue_wait(null_mut(), &mut done));
    refused!(Null, "queue", millstream_queue_flush(null_mut()));
    refused!(Null, "queue", millstream_queue_cancel(null_mut(), 1));
    ok!(millstream_queue_cancel(queue, u64::MAX));

    // The queue goes with operations in flight: their buffers are lost, and freed.
    unsafe { millstream_queue_free(queue) };
    assert!(unsafe { millstream_buffer_data(a) }.is_null());
    refused!(Lost, "buffer", millstream_buffer_set_length(a, 1));
    digest.source = c;
    refused!(Lost, "source", millstream_queue_submit(other, &digest, null_mut()));
    refused!(Nothing, "nothing", millstream_queue_poll(other, &mut done));
    refused!(Nothing, "nothing", millstream_queue_wait(other, &mut done));
    for buffer in [a, b, c, foreign] {
        ok!(millstream_buffer_free(buffer));
    }
    unsafe { (millstream_queue_free(other), millstream_queue_free(null_mut())) };
    unsafe { millstream_thread_free(null_mut()) };
}

/// An operation that fails says on the thread that takes its end what was given and what the algorithm takes.
#[test]
fn ends_of_failed_operations() {
    let (mut queue, mut handle) = (null_mut(), 0);
    ok!(millstream_queue_inline(null(), &mut queue));
    ok!(millstream_queue_import_key(queue, CBC, [7; 16].as_ptr(), 16, &mut handle));
    let iv = [9; 16];
    for (length, iv_length, status, says) in [
        (30, 16, Status::DataLength, c"aes-cbc: data of length 30; it takes whole blocks"),
        (32, 12, Status::NonceLength, c"aes-cbc: a nonce of 12 bytes; it takes 16 bytes"),
    ] {
        let mut buffers = [null_mut(); 2];
        for buffer in &mut buffers {
            ok!(millstream_buffer_new(queue, length, buffer));
        }
        let mut ask = request(Kind::Encrypt);
        (ask.key, ask.source, ask.destination) = (handle, buffers[0], buffers[1]);
        (ask.iv, ask.iv_length) = (iv.as_ptr(), iv_length);
        ok!(millstream_queue_submit(queue, &ask, null_mut()));
        let mut done: Done = unsafe { std::mem::zeroed() };
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!(done.status, StatusCode::from(status));
        assert_eq!(unsafe { CStr::from_ptr(millstream_last_error()) }, says);
        assert_eq!((done.source, done.destination), (buffers[0], buffers[1]));
        for buffer in buffers {
            ok!(millstream_buffer_free(buffer));
        }
    }
    unsafe { millstream_queue_free(queue) };
}

#[test]
fn accelerators() {
    let (mut accelerator, mut handle, mut len) = (null_mut(), 0, 0);
    refused!(Null, "made", millstream_attach(null(), null_mut()));
    let mut options: AttachOptions = unsafe { std::mem::zeroed() };
    options.socket = c"/no/such/socket".as_ptr();
    refused!(NoService, "/no/such/socket", millstream_attach(&options, &mut accelerator));
    options.fallback = FallbackCode(2);
    refused!(Argument, "fallback", millstream_attach(&options, &mut accelerator));
    options.fallback = FallbackCode(0);
    options.reserved[0] = 1;
    refused!(Reserved, "reserved", millstream_attach(&options, &mut accelerator));
    assert!(accelerator.is_null());

    let (mut queue, mut info) = (null_mut(), unsafe { std::mem::zeroed() });
    refused!(Null, "accelerator", millstream_accelerator_queue(accelerator, &mut queue));
    refused!(Null, "accelerator", millstream_accelerator_info(accelerator, &mut info));
    refused!(Null, "accelerator", millstream_accelerator_destroy_key(accelerator, 1));
    refused!(Null, "accelerator", millstream_accelerator_export_key(accelerator, 1, null_mut(), 0, &mut len));
    let generate = millstream_accelerator_generate_key;
    refused!(Null, "accelerator", generate(accelerator, GCM, 32, 0, &mut handle));
    let import = millstream_accelerator_import_key;
    refused!(Null, "accelerator", import(accelerator, GCM, null(), 0, 0, &mut handle));
    let generate = millstream_accelerator_generate_key_with;
    refused!(Null, "accelerator", generate(accelerator, GCM, 32, null(), &mut handle));
    let import = millstream_accelerator_import_key_with;
    refused!(Null, "accelerator", import(accelerator, GCM, null(), 0, null(), &mut handle));
    assert_eq!(unsafe { millstream_accelerator_state(accelerator) }, GrantState::Gone);
    assert!(unsafe { millstream_accelerator_socket(accelerator) }.is_null());
    unsafe { millstream_accelerator_free(accelerator) };
}

#[test]
fn keys_for_less() {
    let (mut queue, mut handle) = (null_mut(), 0);
    ok!(millstream_queue_inline(null(), &mut queue));
    let import = millstream_queue_import_key_with;
    let key = [7_u8; 16].as_ptr();
    let mut options: KeyOptions = unsafe { std::mem::zeroed() };
    options.usages = MILLSTREAM_USAGE_SIGN;
    refused!(KeyUsage, "usages", import(queue, GCM, key, 16, &options, &mut handle));
    options.usages = MILLSTREAM_USAGE_ENCRYPT;
    refused!(KeyUsage, "worker make the nonces", import(queue, GCM, key, 16, &options, &mut handle));
    options.usages = 1 << 6;
    refused!(Argument, "usages", import(queue, GCM, key, 16, &options, &mut handle));
    (options.usages, options.makes_nonces) = (0, 2);
    refused!(Argument, "nonces", import(queue, GCM, key, 16, &options, &mut handle));
    (options.makes_nonces, options.reserved[4]) = (1, 1);
    refused!(Reserved, "reserved", import(queue, GCM, key, 16, &options, &mut handle));
    assert_eq!(handle, 0);
    options.reserved[4] = 0;
    ok!(import(queue, GCM, key, 16, &options, &mut handle));

    // A batch makes no nonces, and a nonce that is given for one that is made is refused before anything else.
    let mut operation: Operation = unsafe { std::mem::zeroed() };
    operation.kind = KindCode(Kind::SealWithMadeNonce as u32);
    refused!(Argument, "batch", millstream_batch(&mut operation, 1));
    let mut request: Request = unsafe { std::mem::zeroed() };
    (request.kind, request.key) = (KindCode(Kind::SealWithMadeNonce as u32), handle);
    (request.iv, request.iv_length) = ([0; 12].as_ptr(), 12);
    refused!(Reserved, "iv", millstream_queue_submit(queue, &request, null_mut()));
    unsafe { millstream_queue_free(queue) };
}

/// Every function of the header is called in this file, or in that of SLH-DSA.
#[test]
fn no_function_is_left_out() {
    let header = include_str!("../include/millstream.h");
    let here = concat!(include_str!("refusals.rs"), include_str!("slh_dsa.rs"));
    let mut functions: Vec<&str> = header
        .split("millstream_")
        .skip(1)
        .filter_map(|text| text.split_once('('))
        .filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .map(|(name, _)| name)
        .collect();
    functions.sort_unstable();
    functions.dedup();
    assert!(functions.len() > 70, "{}", functions.len());
    for name in functions {
        assert!(here.contains(&format!("millstream_{name}")), "millstream_{name} is not called");
    }
}

#[test]
fn sessions_of_srtp() {
    let (mut sender, mut receiver) = (null_mut(), null_mut());
    let (key, at) = ([7; 30], MILLSTREAM_SRTP_AES128_CM_SHA1_80);
    refused!(Argument, "profile", millstream_srtp_sender_new(9, key.as_ptr(), 30, &mut sender));
    refused!(KeyLength, "takes 30", millstream_srtp_sender_new(at, key.as_ptr(), 29, &mut sender));
    refused!(Null, "key_and_salt", millstream_srtp_sender_new(at, null(), 30, &mut sender));
    refused!(Null, "made", millstream_srtp_sender_new(at, key.as_ptr(), 30, null_mut()));
    refused!(Argument, "profile", millstream_srtp_receiver_new(0, key.as_ptr(), 30, &mut receiver));
    refused!(Null, "made", millstream_srtp_receiver_new(at, key.as_ptr(), 30, null_mut()));
    assert!(sender.is_null() && receiver.is_null());
    ok!(millstream_srtp_sender_new(at, key.as_ptr(), 30, &mut sender));
    ok!(millstream_srtp_receiver_new(at, key.as_ptr(), 30, &mut receiver));

    ok!(millstream_srtp_protect_many(null_mut(), 0));
    refused!(Null, "packets", millstream_srtp_protect_many(null_mut(), 1));
    let packet = [&[0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7][..], &[5; 20]].concat();
    let mut place = [0; 52];
    let mut one: SrtpPacket = unsafe { std::mem::zeroed() };
    (one.packet, one.packet_length) = (packet.as_ptr(), packet.len());
    (one.output, one.output_length) = (place.as_mut_ptr(), place.len());
    refused!(Null, "sender", millstream_srtp_protect_many(&mut one, 1));
    assert_eq!((one.status, one.output_length), (StatusCode(Status::Null as u32), 0));
    (one.sender, one.output_length) = (sender, 51);
    refused!(OutputLength, "52", millstream_srtp_protect_many(&mut one, 1));
    (one.output_length, one.reserved[4]) = (52, 1);
    refused!(Reserved, "reserved", millstream_srtp_protect_many(&mut one, 1));
    (one.output_length, one.reserved[4], one.packet_length) = (52, 0, 11);
    refused!(DataLength, "no packet", millstream_srtp_protect_many(&mut one, 1));
    (one.output_length, one.packet_length) = (52, packet.len());
    one.packet = place.as_ptr();
    refused!(Overlap, "output", millstream_srtp_protect_many(&mut one, 1));
    (one.packet, one.output_length) = (packet.as_ptr(), 52);
    ok!(millstream_srtp_protect_many(&mut one, 1));
    assert_eq!((one.status, one.output_length), (StatusCode(Status::Ok as u32), 42));
    one.output_length = 52;
    refused!(Replayed, "before", millstream_srtp_protect_many(&mut one, 1));

    let mut length = 42;
    refused!(Null, "receiver", millstream_srtp_unprotect(null_mut(), place.as_mut_ptr(), &mut length));
    refused!(Null, "length", millstream_srtp_unprotect(receiver, place.as_mut_ptr(), null_mut()));
    refused!(Null, "packet", millstream_srtp_unprotect(receiver, null_mut(), &mut length));
    place[30] ^= 1;
    refused!(
        Authentication,
        "authentication",
        millstream_srtp_unprotect(receiver, place.as_mut_ptr(), &mut length)
    );
    place[30] ^= 1;
    ok!(millstream_srtp_unprotect(receiver, place.as_mut_ptr(), &mut length));
    assert!(length == packet.len() && place[..length] == packet);
    refused!(DataLength, "no packet", millstream_srtp_unprotect(receiver, place.as_mut_ptr(), &mut 3));

    // Three of one sender, of which the second has the number of the first, in one call each way.
    let packets = [2, 2, 3].map(|sequence| [&[0x80, 8, 0, sequence][..], &packet[4..]].concat());
    let mut places = [[0; 52]; 3];
    let mut three: [SrtpPacket; 3] = unsafe { std::mem::zeroed() };
    for ((one, packet), place) in three.iter_mut().zip(&packets).zip(&mut places) {
        (one.sender, one.packet, one.packet_length) = (sender, packet.as_ptr(), packet.len());
        (one.output, one.output_length) = (place.as_mut_ptr(), place.len());
    }
    refused!(Replayed, "before", millstream_srtp_protect_many(three.as_mut_ptr(), 3));
    assert_eq!(three.each_ref().map(|one| one.output_length), [42, 0, 42]);
    assert_eq!(places[1], [0; 52]);
    let mut arrived: [SrtpArrived; 4] = unsafe { std::mem::zeroed() };
    let mut again = places[0];
    for (one, place) in arrived.iter_mut().zip(places.iter_mut().chain([&mut again])) {
        (one.packet, one.length) = (place.as_mut_ptr(), 42);
    }
    let many = arrived.as_mut_ptr();
    ok!(millstream_srtp_unprotect_many(receiver, null_mut(), 0));
    refused!(Null, "receiver", millstream_srtp_unprotect_many(null_mut(), many, 4));
    refused!(Null, "packets", millstream_srtp_unprotect_many(receiver, null_mut(), 4));
    refused!(DataLength, "no packet", millstream_srtp_unprotect_many(receiver, many, 4));
    let status = |status: Status| StatusCode(status as u32);
    let (malformed, replayed) = (status(Status::DataLength), status(Status::Replayed));
    assert_eq!(
        arrived.each_ref().map(|one| (one.status, one.length)),
        [(status(Status::Ok), 32), (malformed, 0), (status(Status::Ok), 32), (replayed, 0)]
    );
    assert!(places[0][..32] == packets[0] && places[2][..32] == packets[2]);
    (arrived[1].reserved[2], arrived[0].packet) = (1, null_mut());
    arrived[0].length = 42;
    refused!(Null, "packet", millstream_srtp_unprotect_many(receiver, many, 1));
    refused!(Reserved, "reserved", millstream_srtp_unprotect_many(receiver, &mut arrived[1], 1));

    let mut report = [0; 48];
    report[0] = 0x80;
    let mut length = 28;
    refused!(Null, "sender", millstream_srtp_protect_rtcp(null_mut(), report.as_mut_ptr(), 48, &mut length));
    refused!(OutputLength, "48", millstream_srtp_protect_rtcp(sender, report.as_mut_ptr(), 47, &mut length));
    ok!(millstream_srtp_protect_rtcp(sender, report.as_mut_ptr(), 48, &mut length));
    assert_eq!(length, 42);
    ok!(millstream_srtp_unprotect_rtcp(receiver, report.as_mut_ptr(), &mut length));
    assert_eq!(length, 28);
    refused!(Null, "receiver", millstream_srtp_unprotect_rtcp(null_mut(), report.as_mut_ptr(), &mut length));
    unsafe {
        millstream_srtp_sender_free(sender);
        millstream_srtp_sender_free(null_mut());
        millstream_srtp_receiver_free(receiver);
        millstream_srtp_receiver_free(null_mut());
    }
}

/// Packets of the same sender in one call are protected one after another, as are those of different ones at once.
#[test]
fn many_packets_of_srtp_of_few_senders() {
    let at = MILLSTREAM_SRTP_AEAD_AES_128_GCM;
    let keys: Vec<[u8; 28]> = (0..3).map(|i| [i; 28]).collect();
    let make = |new: unsafe extern "C" fn(u32, *const u8, usize, *mut *mut SrtpSender) -> Status| {
        let mut senders = [null_mut(); 3];
        for (key, sender) in keys.iter().zip(&mut senders) {
            ok!(new(at, key.as_ptr(), 28, sender));
        }
        senders
    };
    let (together, alone) = (make(millstream_srtp_sender_new), make(millstream_srtp_sender_new));
    let packets: Vec<Vec<u8>> =
        (0..40).map(|i| [&[0x80, 8, 0, i, 0, 0, 0, 0, 0, 0, 0, 7][..], &[i; 160]].concat()).collect();
    let mut places = vec![[0; 200]; packets.len()];
    let mut list: Vec<SrtpPacket> = packets
        .iter()
        .zip(&mut places)
        .enumerate()
        .map(|(i, (packet, place))| SrtpPacket {
            sender: together[i % 3],
            packet: packet.as_ptr(),
            packet_length: packet.len(),
            output: place.as_mut_ptr(),
            output_length: place.len(),
            status: StatusCode(99),
            reserved: [0; 5],
        })
        .collect();
    // One of them comes twice.
    (list[39].packet, list[39].packet_length) = (packets[36].as_ptr(), packets[36].len());
    refused!(Replayed, "operation 39", millstream_srtp_protect_many(list.as_mut_ptr(), list.len()));
    for (i, done) in list.iter().enumerate().take(39) {
        let mut place = [0; 200];
        let mut one =
            SrtpPacket { sender: alone[i % 3], output: place.as_mut_ptr(), output_length: 200, ..*done };
        ok!(millstream_srtp_protect_many(&mut one, 1));
        assert_eq!((one.status, one.output_length), (done.status, done.output_length), "packet {i}");
        assert!(place == places[i], "packet {i}");
    }
    together.into_iter().chain(alone).for_each(|sender| unsafe { millstream_srtp_sender_free(sender) });
}

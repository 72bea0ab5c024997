//! SLH-DSA in C: signatures are those of Rust, and what is wrong is refused by a status that says so.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use std::ptr::{null, null_mut};

use millstream::hash::{Hash, digest};
use millstream::publickey::slhdsa::{Prehash, PrivateKey, Scheme, Set};
use millstream_c::ffi::slh_dsa::*;
use millstream_c::status::Status;

const MESSAGE: &[u8] = b"a message";
const CONTEXT: &[u8] = b"a context";

fn sign(
    set: u32,
    key: &[u8],
    (input, deterministic): (u32, u32),
    context: &[u8],
    message: &[u8],
) -> (Status, Vec<u8>) {
    let mut signature = vec![0; MILLSTREAM_SLH_DSA_SIGNATURE];
    let (at, room) = (signature.as_mut_ptr(), signature.len());
    let (context_at, message_at) = (context.as_ptr(), message.as_ptr());
    let status = unsafe {
        millstream_slh_dsa_sign(
            set,
            key.as_ptr(),
            key.len(),
            input,
            deterministic,
            context_at,
            context.len(),
            message_at,
            message.len(),
            at,
            room,
        )
    };
    let mut len = 0;
    unsafe { millstream_slh_dsa_lengths(set, null_mut(), null_mut(), &mut len) };
    signature.truncate(len);
    (status, signature)
}

fn verify(set: u32, key: &[u8], input: u32, context: &[u8], message: &[u8], signature: &[u8]) -> Status {
    unsafe {
        millstream_slh_dsa_verify(
            set,
            key.as_ptr(),
            key.len(),
            input,
            context.as_ptr(),
            context.len(),
            message.as_ptr(),
            message.len(),
            signature.as_ptr(),
            signature.len(),
        )
    }
}

#[test]
fn lengths_are_those_of_the_standard() {
    let of = |set| {
        let mut lens = [0; 3];
        let [public, private, signature] = &mut lens;
        assert_eq!(unsafe { millstream_slh_dsa_lengths(set, public, private, signature) }, Status::Ok);
        lens
    };
    for hash in [MILLSTREAM_SLH_DSA_SHA2_128S, MILLSTREAM_SLH_DSA_SHAKE_128S] {
        let all: Vec<_> = (hash..hash + 6).map(of).collect();
        let signatures = [7856, 17_088, 16_224, 35_664, 29_792, 49_856];
        let keys = [[32, 64], [32, 64], [48, 96], [48, 96], [64, 128], [64, 128]];
        let expected: Vec<_> = keys.into_iter().zip(signatures).map(|([a, b], c)| [a, b, c]).collect();
        assert_eq!(all, expected);
    }
    for wrong in [0, 19, 32, u32::MAX] {
        let status = unsafe { millstream_slh_dsa_lengths(wrong, null_mut(), null_mut(), null_mut()) };
        assert_eq!(status, Status::Argument, "{wrong}");
    }
}

#[test]
fn signatures_are_those_of_rust() {
    let features = millstream::features().unwrap();
    for (number, set) in [
        (MILLSTREAM_SLH_DSA_SHA2_128F, Set::Sha2_128f),
        (MILLSTREAM_SLH_DSA_SHAKE_192F, Set::Shake192f),
        (MILLSTREAM_SLH_DSA_SHA2_256F, Set::Sha2_256f),
    ] {
        let mut key = vec![0; set.private_key_len()];
        let made = unsafe { millstream_slh_dsa_make_key(number, key.as_mut_ptr(), key.len()) };
        assert_eq!(made, Status::Ok);
        let (public, here) = (&key[key.len() / 2..], PrivateKey::new(features, set, &key).unwrap());
        let (status, signature) = sign(number, &key, (MILLSTREAM_SLH_DSA_MESSAGE, 1), CONTEXT, MESSAGE);
        assert_eq!(status, Status::Ok);
        assert!(signature == here.sign_deterministic(Scheme::Pure(CONTEXT), MESSAGE).unwrap(), "{set}");
        assert_eq!(verify(number, public, 0, CONTEXT, MESSAGE, &signature), Status::Ok);
        for (context, message) in [(&b"another"[..], MESSAGE), (CONTEXT, &b"another"[..])] {
            assert_eq!(verify(number, public, 0, context, message, &signature), Status::Authentication);
        }
        let mut hashed = [0; 32];
        digest(features, Hash::Sha256, MESSAGE, &mut hashed).unwrap();
        let (status, signature) = sign(number, &key, (1, 1), &[], &hashed);
        assert_eq!(status, Status::Ok);
        assert!(
            signature == here.sign_deterministic(Scheme::Prehash(Prehash::Sha256, &[]), MESSAGE).unwrap()
        );
        assert_eq!(verify(number, public, 1, &[], &hashed, &signature), Status::Ok);
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let set = MILLSTREAM_SLH_DSA_SHAKE_128F;
    let mut key = vec![0; 64];
    assert_eq!(unsafe { millstream_slh_dsa_make_key(set, key.as_mut_ptr(), 63) }, Status::OutputLength);
    assert_eq!(unsafe { millstream_slh_dsa_make_key(set, null_mut(), 64) }, Status::Null);
    assert_eq!(unsafe { millstream_slh_dsa_make_key(2, key.as_mut_ptr(), 64) }, Status::Argument);
    assert_eq!(unsafe { millstream_slh_dsa_make_key(set, key.as_mut_ptr(), 64) }, Status::Ok);
    let status = |key: &[u8], how, context: &[u8], message: &[u8]| sign(set, key, how, context, message).0;
    assert_eq!(status(&key, (0, 0), &[], MESSAGE), Status::Ok);
    assert_eq!(status(&key[1..], (0, 0), &[], MESSAGE), Status::KeyLength);
    let mut wrong = key.clone();
    wrong[63] ^= 1;
    assert_eq!(status(&wrong, (0, 0), &[], MESSAGE), Status::Parameter);
    assert_eq!(status(&key, (0, 0), &[7; 256], MESSAGE), Status::Parameter);
    assert_eq!(status(&key, (13, 0), &[], MESSAGE), Status::Argument);
    assert_eq!(status(&key, (1, 0), &[], MESSAGE), Status::DataLength);
    let (_, signature) = sign(set, &key, (0, 0), &[], MESSAGE);
    assert_eq!(verify(set, &key[32..], 0, &[], MESSAGE, &signature), Status::Ok);
    assert_eq!(verify(set, &key, 0, &[], MESSAGE, &signature), Status::KeyLength);
    assert_eq!(verify(set, &key[32..], 0, &[], MESSAGE, &signature[1..]), Status::Authentication);
    assert_eq!(verify(set - 1, &key[32..], 0, &[], MESSAGE, &signature), Status::Authentication);
    // No room, and room that is the message's.
    let short = |at: *mut u8, room, message: *const u8| unsafe {
        millstream_slh_dsa_sign(set, key.as_ptr(), 64, 0, 1, null(), 0, message, 9, at, room)
    };
    let mut place = vec![0; 17_088];
    let at = place.as_mut_ptr();
    assert_eq!(short(at, 17_087, MESSAGE.as_ptr()), Status::OutputLength);
    assert_eq!(short(at, 17_088, at), Status::Overlap);
    assert_eq!(short(null_mut(), 17_088, MESSAGE.as_ptr()), Status::Null);
    assert_eq!(short(at, 17_088, null()), Status::Null);
    assert_eq!(short(at, 17_088, MESSAGE.as_ptr()), Status::Ok);
}

//! Private keys in C, in batches and in queues: the signatures, secrets and public keys are those of Rust.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use millstream::cwq;
use millstream::publickey::{ed25519, x25519};
use millstream_c::algorithm::AlgorithmCode;
use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::direct::*;
use millstream_c::ffi::library::*;
use millstream_c::ffi::queue::*;
use millstream_c::status::Status;

macro_rules! ok {
    ($call:expr) => {{
        let status = unsafe { $call };
        let text = unsafe { CStr::from_ptr(millstream_last_error()) };
        assert_eq!(status, Status::Ok, "{}: {text:?}", stringify!($call));
    }};
}

const MESSAGE: &[u8] = b"a message";
const PEER: [u8; 32] = [9; 32];

/// What is asked for: the kind, the algorithm, the input, and the answer of Rust's own keys.
fn cases() -> Vec<(Kind, cwq::Algorithm, &'static [u8], Vec<u8>)> {
    let features = millstream::features().unwrap();
    let signer = ed25519::PrivateKey::new(features, &[7; 32]).unwrap();
    let agreer = x25519::PrivateKey::new(features, &[7; 32]).unwrap();
    let secret = agreer.agree(&x25519::PublicKey::new(&PEER).unwrap()).unwrap();
    vec![
        (Kind::Sign, cwq::Algorithm::Ed25519, MESSAGE, signer.sign(MESSAGE).to_vec()),
        (Kind::PublicKey, cwq::Algorithm::Ed25519, &[], signer.public_bytes().to_vec()),
        (Kind::Agree, cwq::Algorithm::X25519, &PEER, secret.as_bytes().to_vec()),
        (Kind::PublicKey, cwq::Algorithm::X25519, &[], agreer.public_key().as_bytes().to_vec()),
    ]
}

#[test]
fn in_a_batch() {
    for (kind, algorithm, input, expected) in cases() {
        let (mut key, mut tag) = (null_mut(), [0; 64]);
        ok!(millstream_key_new(AlgorithmCode(algorithm as u32), [7; 32].as_ptr(), 32, &mut key));
        let mut operation: Operation = unsafe { std::mem::zeroed() };
        operation.kind = KindCode(kind as u32);
        operation.key = key;
        (operation.input, operation.length) = (input.as_ptr(), input.len());
        (operation.tag, operation.tag_length) = (tag.as_mut_ptr(), tag.len());
        ok!(millstream_batch(&mut operation, 1));
        assert_eq!((operation.status, operation.tag_length), (Status::Ok.into(), expected.len()));
        assert_eq!(tag[..expected.len()], expected, "{kind:?} {algorithm:?}");

        // Too little room, and a key of the other kind.
        operation.tag_length = expected.len() - 1;
        assert_ne!(unsafe { millstream_batch(&mut operation, 1) }, Status::Ok);
        let other = if kind == Kind::Sign { Kind::Agree } else { Kind::Sign };
        let fits = kind == Kind::PublicKey && algorithm == cwq::Algorithm::Ed25519;
        (operation.kind, operation.tag_length) = (KindCode(other as u32), tag.len());
        assert_eq!(unsafe { millstream_batch(&mut operation, 1) } == Status::Ok, fits, "{kind:?}");
        unsafe { millstream_key_free(key) };
    }
}

#[test]
fn in_a_queue() {
    let mut queue = null_mut();
    ok!(millstream_queue_inline(null(), &mut queue));
    for (kind, algorithm, input, expected) in cases() {
        let (mut key, mut buffer) = (0, null_mut());
        let code = AlgorithmCode(algorithm as u32);
        ok!(millstream_queue_import_key(queue, code, [7; 32].as_ptr(), 32, &mut key));
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.kind, request.key) = (KindCode(kind as u32), key);
        if !input.is_empty() {
            ok!(millstream_buffer_new(queue, input.len(), &mut buffer));
            unsafe { millstream_buffer_data(buffer).copy_from_nonoverlapping(input.as_ptr(), input.len()) };
            request.source = buffer;
        }
        let mut done: Done = unsafe { std::mem::zeroed() };
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!((done.status, done.source), (Status::Ok.into(), buffer), "{kind:?}");
        assert_eq!(done.tag[..done.tag_length as usize], expected, "{kind:?} {algorithm:?}");
        if !buffer.is_null() {
            unsafe { millstream_buffer_free(buffer) };
        }
    }
    unsafe { millstream_queue_free(queue) };
}

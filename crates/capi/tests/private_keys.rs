//! Private keys in C, in batches and in queues: the signatures, secrets and public keys are those of Rust.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod support;

use std::ptr::{null, null_mut};
use std::sync::LazyLock;

use millstream::cwq;
use millstream::hash::Hash;
use millstream::publickey::ecdsa::{self, Curve};
use millstream::publickey::{ed25519, mldsa, mlkem, rsa, slhdsa, x25519};
use millstream_c::algorithm::AlgorithmCode;
use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::direct::*;
use millstream_c::ffi::queue::*;
use millstream_c::status::Status;
use millstream_testkit::keys::RSA_1024;

const MESSAGE: &[u8] = b"a message";
const PEER: [u8; 32] = [9; 32];
const DIGEST: [u8; 32] = [3; 32];
/// The base point, compressed (SP 800-186 §3.2.1.3).
const P256_BASE: &[u8] = b"\x03\x6b\x17\xd1\xf2\xe1\x2c\x42\x47\xf8\xbc\xe6\xe5\x63\xa4\x40\xf2\x77\x03\x7d\x81\x2d\xeb\x33\xa0\xf4\xa1\x39\x45\xd8\x98\xc2\x96";
const SHA256: AlgorithmCode = AlgorithmCode(cwq::Algorithm::Sha256 as u32);

/// The hash and the scheme of a case.
fn scheme(kind: Kind, algorithm: cwq::Algorithm) -> (AlgorithmCode, u32) {
    match (kind, algorithm) {
        (Kind::Sign, cwq::Algorithm::P384) => (SHA256, MILLSTREAM_SCHEME_ECDSA_DETERMINISTIC),
        _ => (AlgorithmCode(0), 0),
    }
}

/// A request: the kind, the algorithm, the input, and the answer of Rust's own keys.
fn cases() -> Vec<(Kind, cwq::Algorithm, &'static [u8], Vec<u8>)> {
    let features = millstream::features().unwrap();
    let signer = ed25519::PrivateKey::new(features, &[7; 32]).unwrap();
    let agreer = x25519::PrivateKey::new(features, &[7; 32]).unwrap();
    let (p256, p384) = (
        ecdsa::PrivateKey::new(features, Curve::P256, &[7; 32]),
        ecdsa::PrivateKey::new(features, Curve::P384, &[7; 48]),
    );
    let (p256, p384) = (p256.unwrap(), p384.unwrap());
    let base = ecdsa::PublicKey::new(features, Curve::P256, P256_BASE).unwrap();
    let digest = ecdsa::Message::digest(Hash::Sha256, &DIGEST);
    let secret = agreer.agree(&x25519::PublicKey::new(&PEER).unwrap()).unwrap();
    vec![
        (Kind::Sign, cwq::Algorithm::Ed25519, MESSAGE, signer.sign(MESSAGE).to_vec()),
        (Kind::PublicKey, cwq::Algorithm::Ed25519, &[], signer.public_bytes().to_vec()),
        (Kind::Agree, cwq::Algorithm::X25519, &PEER, secret.as_bytes().to_vec()),
        (Kind::PublicKey, cwq::Algorithm::X25519, &[], agreer.public_key().as_bytes().to_vec()),
        (Kind::Sign, cwq::Algorithm::P384, &DIGEST, p384.sign_deterministic(&digest).to_vec()),
        (Kind::PublicKey, cwq::Algorithm::P384, &[], p384.public().to_bytes().to_vec()),
        (Kind::Agree, cwq::Algorithm::P256, P256_BASE, p256.agree(&base).unwrap().to_vec()),
    ]
}

/// The bytes of a key, which are those of Rust's own keys above.
fn key_bytes(algorithm: cwq::Algorithm) -> Vec<u8> {
    match algorithm {
        cwq::Algorithm::P384 => vec![7; 48],
        cwq::Algorithm::Rsa => RSA_1024.to_vec(),
        _ => vec![7; 32],
    }
}

#[test]
fn in_a_batch() {
    for (kind, algorithm, input, expected) in cases() {
        let (mut key, mut tag, bytes) = (null_mut(), [0; 160], key_bytes(algorithm));
        ok!(millstream_key_new(AlgorithmCode(algorithm as u32), bytes.as_ptr(), bytes.len(), &mut key));
        let mut operation: Operation = unsafe { std::mem::zeroed() };
        operation.kind = KindCode(kind as u32);
        operation.key = key;
        (operation.algorithm, operation.scheme) = scheme(kind, algorithm);
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
        let bytes = key_bytes(algorithm);
        ok!(millstream_queue_import_key(queue, code, bytes.as_ptr(), bytes.len(), &mut key));
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.kind, request.key) = (KindCode(kind as u32), key);
        (request.algorithm, request.scheme) = scheme(kind, algorithm);
        if !input.is_empty() {
            ok!(millstream_buffer_new(queue, input.len(), &mut buffer));
            unsafe { millstream_buffer_data(buffer).copy_from_nonoverlapping(input.as_ptr(), input.len()) };
            request.source = buffer;
        }
        let mut done: Done = unsafe { std::mem::zeroed() };
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!((done.status, done.source), (Status::Ok.into(), buffer), "{kind:?}");
        // A result that is too long for the tag comes where mid-states do.
        let found = match done.state_length {
            0 => &done.tag[..done.tag_length as usize],
            len => unsafe { std::slice::from_raw_parts(done.state, len) },
        };
        assert_eq!(
            (found, expected.len() > 64),
            (&expected[..], done.state_length > 0),
            "{kind:?} {algorithm:?}"
        );
        if !buffer.is_null() {
            unsafe { millstream_buffer_free(buffer) };
        }
    }
    unsafe { millstream_queue_free(queue) };
}

/// Signs, decrypts and writes the public key in a batch and in a queue: `run` does one of them.
fn rsa(mut run: impl FnMut(Kind, AlgorithmCode, u32, &[u8], &[u8]) -> Result<Vec<u8>, Status>) {
    let features = millstream::features().unwrap();
    let key = rsa::PrivateKey::from_pkcs1(features, RSA_1024).unwrap();
    let mut public = [0; rsa::MAX_PUBLIC_DER];
    let len = key.public_key().to_pkcs1(&mut public).unwrap();
    let found = run(Kind::PublicKeyRsa, AlgorithmCode(0), 0, &[], &[]);
    assert_eq!(found.as_deref(), Ok(&public[..len]));

    let mut expected = [0; 128];
    key.sign_pkcs1_digest(Hash::Sha256, &DIGEST, &mut expected).unwrap();
    let signature = run(Kind::SignRsa, SHA256, MILLSTREAM_SCHEME_RSA_PKCS1, &DIGEST, &[]).unwrap();
    assert_eq!(signature, expected);
    let verify = |scheme, signature: &[u8]| unsafe {
        millstream_verify_signature(
            AlgorithmCode(cwq::Algorithm::Rsa as u32),
            public.as_ptr(),
            len,
            SHA256,
            scheme,
            DIGEST.as_ptr(),
            DIGEST.len(),
            signature.as_ptr(),
            signature.len(),
        )
    };
    assert_eq!(verify(MILLSTREAM_SCHEME_RSA_PKCS1, &signature), Status::Ok);
    let pss = millstream_scheme_pss(SHA256, 20);
    let signature = run(Kind::SignRsa, SHA256, pss, &DIGEST, &[]).unwrap();
    assert_eq!(verify(pss, &signature), Status::Ok);
    assert_eq!(verify(millstream_scheme_pss(SHA256, 21), &signature), Status::Authentication);

    let mut ciphertext = [0; 128];
    let oaep = rsa::Oaep { hash: Hash::Sha256, mgf: Hash::Sha256, label: b"label" };
    key.public_key().encrypt_oaep(&oaep, &mut Fixed, b"secret", &mut ciphertext).unwrap();
    let scheme = millstream_scheme_oaep(SHA256);
    assert_eq!(run(Kind::DecryptRsa, SHA256, scheme, &ciphertext, b"label").as_deref(), Ok(&b"secret"[..]));
    assert_eq!(run(Kind::DecryptRsa, SHA256, scheme, &ciphertext, b"another"), Err(Status::Authentication));
    assert_eq!(millstream_scheme_oaep(AlgorithmCode(cwq::Algorithm::AesGcm as u32)), 0);
}

/// Bytes for a padding that nobody relies on.
struct Fixed;

impl millstream::publickey::Random for Fixed {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream::publickey::Error> {
        bytes.fill(0x2d);
        Ok(())
    }
}

#[test]
fn rsa_in_a_batch() {
    let mut key = null_mut();
    let code = AlgorithmCode(cwq::Algorithm::Rsa as u32);
    ok!(millstream_key_new(code, RSA_1024.as_ptr(), RSA_1024.len(), &mut key));
    rsa(|kind, hash, scheme, input, label| {
        let mut place = [0; 600];
        let mut operation: Operation = unsafe { std::mem::zeroed() };
        (operation.kind, operation.key) = (KindCode(kind as u32), key);
        (operation.algorithm, operation.scheme) = (hash, scheme);
        (operation.input, operation.length) = (input.as_ptr(), input.len());
        (operation.aad, operation.aad_length) = (label.as_ptr(), label.len());
        (operation.tag, operation.tag_length) = (place.as_mut_ptr(), place.len());
        match unsafe { millstream_batch(&mut operation, 1) } {
            Status::Ok => Ok(place[..operation.tag_length].to_vec()),
            status => Err(status),
        }
    });
    unsafe { millstream_key_free(key) };
}

#[test]
fn rsa_in_a_queue() {
    let (mut queue, mut key) = (null_mut(), 0);
    ok!(millstream_queue_inline(null(), &mut queue));
    let code = AlgorithmCode(cwq::Algorithm::Rsa as u32);
    ok!(millstream_queue_import_key(queue, code, RSA_1024.as_ptr(), RSA_1024.len(), &mut key));
    rsa(|kind, hash, scheme, input, label| {
        let (mut source, mut place) = (null_mut(), null_mut());
        if kind != Kind::PublicKeyRsa {
            ok!(millstream_buffer_new(queue, input.len(), &mut source));
            unsafe { millstream_buffer_data(source).copy_from_nonoverlapping(input.as_ptr(), input.len()) };
        }
        ok!(millstream_buffer_new(queue, 600, &mut place));
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.kind, request.key) = (KindCode(kind as u32), key);
        (request.algorithm, request.scheme) = (hash, scheme);
        (request.source, request.destination) = (source, place);
        (request.aad, request.aad_length) = (label.as_ptr(), label.len());
        let mut done: Done = unsafe { std::mem::zeroed() };
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        let waited = unsafe { millstream_queue_wait(queue, &mut done) };
        assert_eq!(waited, Status::Ok, "an operation has ended, however it did");
        let bytes = unsafe { std::slice::from_raw_parts(millstream_buffer_data(place), done.value as usize) };
        let result =
            if done.status == Status::Ok.into() { Ok(bytes.to_vec()) } else { Err(Status::Authentication) };
        unsafe {
            millstream_buffer_free(place);
            if !source.is_null() {
                millstream_buffer_free(source);
            }
        }
        result
    });
    unsafe { millstream_queue_free(queue) };
}

/// A request on lattices: kind, algorithm, input, context or public key. `run` returns what was written, and the tag.
type Run<'r> = dyn FnMut(Kind, cwq::Algorithm, u32, &[u8], &[u8]) -> Result<(Vec<u8>, Vec<u8>), Status> + 'r;

/// Signs, encapsulates, decapsulates and writes public keys in a batch and in a queue: `run` does one of them.
fn lattices(run: &mut Run<'_>) {
    let features = millstream::features().unwrap();
    let signer = mldsa::PrivateKey::from_seed(features, mldsa::Set::MlDsa65, &[7; 32]);
    let owner = mlkem::PrivateKey::from_seed(features, mlkem::Set::MlKem768, &[7; 64]);
    let (ml_dsa, ml_kem) = (cwq::Algorithm::MlDsa65, cwq::Algorithm::MlKem768);
    let public = run(Kind::PublicKey, ml_dsa, 0, &[], &[]).unwrap();
    assert_eq!(public.0, signer.public_key().as_bytes());
    let public = run(Kind::PublicKey, ml_kem, 0, &[], &[]).unwrap().0;
    assert_eq!(public, owner.public_key().as_bytes());

    let scheme = millstream_scheme_ml_dsa(MILLSTREAM_ML_DSA_MESSAGE, 1);
    let expected = signer.sign_deterministic(mldsa::Scheme::Pure(b"context"), MESSAGE).unwrap();
    assert_eq!(run(Kind::SignMlDsa, ml_dsa, scheme, MESSAGE, b"context").unwrap().0, expected);
    // SHA-256 made the digest.
    let (hashed, hedged) = (millstream_scheme_ml_dsa(1, 0), millstream_scheme_ml_dsa(0, 0));
    let digest = run(Kind::SignMlDsa, ml_dsa, hashed, &DIGEST, b"context").unwrap().0;
    let once = run(Kind::SignMlDsa, ml_dsa, hedged, MESSAGE, b"").unwrap().0;
    assert_ne!(once, run(Kind::SignMlDsa, ml_dsa, hedged, MESSAGE, b"").unwrap().0);
    let public_key = signer.public_key().as_bytes();
    let verify = |scheme, context: &[u8], message: &[u8], signature: &[u8]| unsafe {
        millstream_verify_in_context(
            AlgorithmCode(ml_dsa as u32),
            public_key.as_ptr(),
            public_key.len(),
            scheme,
            context.as_ptr(),
            context.len(),
            message.as_ptr(),
            message.len(),
            signature.as_ptr(),
            signature.len(),
        )
    };
    assert_eq!(verify(scheme, b"context", MESSAGE, &expected), Status::Ok);
    assert_eq!(verify(hashed, b"context", &DIGEST, &digest), Status::Ok);
    assert_eq!(verify(scheme, b"another", MESSAGE, &expected), Status::Authentication);
    assert_eq!(verify(scheme, &[0; 256], MESSAGE, &expected), Status::Parameter);
    let plain = unsafe {
        millstream_verify_signature(
            AlgorithmCode(ml_dsa as u32),
            public_key.as_ptr(),
            public_key.len(),
            AlgorithmCode(0),
            hedged,
            MESSAGE.as_ptr(),
            MESSAGE.len(),
            once.as_ptr(),
            once.len(),
        )
    };
    assert_eq!(plain, Status::Ok);
    assert_eq!(millstream_scheme_ml_dsa(13, 0), u32::MAX);

    let signer = slhdsa::PrivateKey::new(features, slhdsa::Set::Sha2_128f, whole_key()).unwrap();
    let slh_dsa = cwq::Algorithm::SlhDsaSha2_128f;
    let signature = run(Kind::SignSlhDsa, slh_dsa, scheme, MESSAGE, b"context").unwrap().0;
    let pure = slhdsa::Scheme::Pure(b"context");
    assert_eq!(signature, signer.sign_deterministic(pure, MESSAGE).unwrap());

    let (ciphertext, secret) = run(Kind::Encapsulate, ml_kem, 0, &[], &public).unwrap();
    assert_eq!(owner.decapsulate(&ciphertext).unwrap().as_bytes()[..], secret);
    assert_eq!(run(Kind::Decapsulate, ml_kem, 0, &ciphertext, &[]).unwrap().1, secret);
    assert_eq!(run(Kind::Decapsulate, ml_kem, 0, &ciphertext[1..], &[]), Err(Status::DataLength));
    assert!(run(Kind::Encapsulate, ml_kem, 0, &[], &public[1..]).is_err());
    let mut bad = public.clone();
    bad[..2].fill(0xff);
    assert_eq!(run(Kind::Encapsulate, ml_kem, 0, &[], &bad), Err(Status::Parameter));
}

/// Returns the seed of a key on lattices, or a whole key of SLH-DSA.
fn seed(algorithm: cwq::Algorithm) -> &'static [u8] {
    match algorithm {
        cwq::Algorithm::MlDsa65 => &[7; 32],
        cwq::Algorithm::SlhDsaSha2_128f => whole_key(),
        _ => &[7; 64],
    }
}

/// Returns a key of SLH-DSA, whose root is that of its seeds.
fn whole_key() -> &'static [u8] {
    static KEY: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let (features, set) = (millstream::features().unwrap(), slhdsa::Set::Sha2_128f);
        slhdsa::PrivateKey::from_seeds(features, set, &[7; 48]).unwrap().to_bytes().to_vec()
    });
    &KEY
}

#[test]
fn lattices_in_a_batch() {
    lattices(&mut |kind, algorithm, scheme, input, beside| {
        let (mut key, mut place, mut tag) = (null_mut(), [0; 1088], [0; 18_000]);
        let code = AlgorithmCode(algorithm as u32);
        ok!(millstream_key_new(code, seed(algorithm).as_ptr(), seed(algorithm).len(), &mut key));
        let mut operation: Operation = unsafe { std::mem::zeroed() };
        operation.kind = KindCode(kind as u32);
        (operation.scheme, operation.tag, operation.tag_length) = (scheme, tag.as_mut_ptr(), tag.len());
        if kind == Kind::Encapsulate {
            operation.algorithm = code;
            (operation.aad, operation.aad_length) = (beside.as_ptr(), beside.len());
            (operation.output, operation.length) = (place.as_mut_ptr(), place.len());
        } else {
            operation.key = key;
            (operation.input, operation.length) = (input.as_ptr(), input.len());
            (operation.iv, operation.iv_length) = (beside.as_ptr(), beside.len());
        }
        let status = unsafe { millstream_batch(&mut operation, 1) };
        unsafe { millstream_key_free(key) };
        if status != Status::Ok {
            return Err(status);
        }
        let tag = tag[..operation.tag_length].to_vec();
        let written =
            if kind == Kind::Encapsulate { place[..operation.value as usize].to_vec() } else { tag.clone() };
        Ok((written, tag))
    });
}

#[test]
fn lattices_in_a_queue() {
    let mut queue = null_mut();
    ok!(millstream_queue_inline(null(), &mut queue));
    lattices(&mut |kind, algorithm, scheme, input, beside| {
        let (mut key, mut source, mut place) = (0, null_mut(), null_mut());
        let code = AlgorithmCode(algorithm as u32);
        ok!(millstream_queue_import_key(
            queue,
            code,
            seed(algorithm).as_ptr(),
            seed(algorithm).len(),
            &mut key
        ));
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.kind, request.scheme) = (KindCode(kind as u32), scheme);
        if !input.is_empty() {
            ok!(millstream_buffer_new(queue, input.len(), &mut source));
            unsafe { millstream_buffer_data(source).copy_from_nonoverlapping(input.as_ptr(), input.len()) };
        }
        if kind != Kind::Decapsulate {
            ok!(millstream_buffer_new(queue, 18_000, &mut place));
        }
        (request.source, request.destination) = (source, place);
        if kind == Kind::Encapsulate {
            request.algorithm = code;
            (request.aad, request.aad_length) = (beside.as_ptr(), beside.len());
        } else {
            request.key = key;
            (request.iv, request.iv_length) = (beside.as_ptr(), beside.len());
        }
        let mut done: Done = unsafe { std::mem::zeroed() };
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        let written = match place.is_null() {
            true => vec![],
            false => unsafe {
                std::slice::from_raw_parts(millstream_buffer_data(place), done.value as usize).to_vec()
            },
        };
        for buffer in [place, source].into_iter().filter(|buffer| !buffer.is_null()) {
            unsafe { millstream_buffer_free(buffer) };
        }
        let status = [Status::Ok, Status::DataLength, Status::Parameter, Status::KeyLength]
            .into_iter()
            .find(|status| done.status == (*status).into());
        match status.expect("one of these") {
            Status::Ok => Ok((written, done.tag[..done.tag_length as usize].to_vec())),
            status => Err(status),
        }
    });
    unsafe { millstream_queue_free(queue) };
}

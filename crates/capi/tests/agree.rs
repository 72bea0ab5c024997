//! C gets what the Rust API computes, for every algorithm, in every way: in one call, in pieces, in a batch, in a
//! queue.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod support;

use std::ptr::{null, null_mut};

use millstream::cwq;
use millstream::{Key, Operation as Rust};
use millstream_c::algorithm::AlgorithmCode;
use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::direct::*;
use millstream_c::ffi::queue::*;
use millstream_c::ffi::stream::*;
use millstream_c::ffi::usage::*;
use millstream_c::status::Status;
use millstream_c::stream::Stream;
use millstream_testkit::Random;

/// An algorithm under a key: the same for both sides.
struct Case {
    algorithm: cwq::Algorithm,
    bytes: Vec<u8>,
    iv: Vec<u8>,
    block: usize,
}

const fn case_of(algorithm: cwq::Algorithm) -> (usize, usize, usize) {
    use cwq::Algorithm as A;
    // Bytes of key, initialisation vector or nonce, and block.
    match algorithm {
        A::AesEcb | A::CamelliaEcb | A::Sm4Ecb => (16, 0, 16),
        A::AesCbc | A::CamelliaCbc => (24, 16, 16),
        A::Sm4Cbc => (16, 16, 16),
        A::AesXts => (64, 16, 1),
        A::AesGcm | A::AesGcmSiv | A::ChaCha20Poly1305 => (32, 12, 1),
        A::AesSiv => (64, 0, 1),
        A::Xaes256Gcm => (32, 24, 1),
        A::DesEcb => (24, 0, 8),
        A::DesCbc => (8, 8, 8),
        A::DesCfb => (16, 8, 1),
        A::Rc4 => (16, 0, 1),
        A::KasumiF8 => (16, 8, 1),
        A::KasumiF9 => (16, 8, 1),
        A::DesMac => (8, 0, 1),
        A::AesCmac => (16, 0, 1),
        _ => (16, 16, 1),
    }
}

fn case(algorithm: cwq::Algorithm, random: &mut Random) -> Case {
    let (key, iv, block) = case_of(algorithm);
    let mut case = Case { algorithm, bytes: random.bytes(key), iv: random.bytes(iv), block };
    if algorithm == cwq::Algorithm::KasumiF8 {
        // 26 bits of zeros.
        case.iv[4] &= 0xfc;
        case.iv[5..].fill(0);
    }
    case
}

impl Case {
    fn rust(&self) -> Key {
        Key::new(millstream::features().unwrap(), self.algorithm, &self.bytes).unwrap()
    }

    fn c(&self) -> AlgorithmCode {
        AlgorithmCode(self.algorithm as u32)
    }

    fn lengths(&self) -> Vec<usize> {
        let lengths = [0, 1, 15, 16, 17, 64, 100, 1000, 5000];
        let shortest = if self.algorithm == cwq::Algorithm::AesXts { 16 } else { 0 };
        let mut fit: Vec<usize> = lengths
            .into_iter()
            .map(|len| len / self.block * self.block)
            .filter(|len| *len >= shortest)
            .collect();
        fit.dedup();
        fit
    }
}

macro_rules! with_key {
    ($case:expr, |$key:ident| $body:block) => {{
        let mut $key = null_mut();
        ok!(millstream_key_new($case.c(), $case.bytes.as_ptr(), $case.bytes.len(), &mut $key));
        let result = $body;
        unsafe { millstream_key_free($key) };
        result
    }};
}

fn aeads() -> impl Iterator<Item = cwq::Algorithm> {
    use cwq::Algorithm::{AesGcm, AesGcmSiv, AesSiv, ChaCha20Poly1305, Xaes256Gcm};
    [AesGcm, ChaCha20Poly1305, AesSiv, AesGcmSiv, Xaes256Gcm].into_iter()
}

fn ciphers() -> impl Iterator<Item = cwq::Algorithm> {
    use cwq::Algorithm::{AesCmac, AesFf1, AesKw, AesKwp, DesMac, Fernet, KasumiF9};
    cwq::Algorithm::ALL.iter().copied().filter(|algorithm| {
        let code = *algorithm as u8;
        (0x10..0x50).contains(&code)
            && !aeads().any(|aead| aead == *algorithm)
            && !matches!(algorithm, AesCmac | DesMac | KasumiF9)
            && !matches!(algorithm, Fernet | AesKw | AesKwp | AesFf1)
    })
}

/// The ciphertext as Rust computes it.
fn encrypted(case: &Case, plain: &[u8]) -> Vec<u8> {
    let key = case.rust();
    let mut output = vec![0; plain.len()];
    let data = millstream::InOut::separate(plain, &mut output).unwrap();
    let mut operation = [Rust::encrypt(key.as_cipher().unwrap(), &case.iv, data)];
    millstream::batch(&mut operation).unwrap();
    operation[0].result().unwrap();
    output
}

#[test]
fn every_cipher_in_one_call() {
    let mut random = Random::new(1);
    let mut count = 0;
    for algorithm in ciphers() {
        let case = case(algorithm, &mut random);
        with_key!(case, |key| {
            assert_eq!(unsafe { millstream_key_algorithm(key) }, case.c());
            assert!(!unsafe { millstream_key_kernel(key) }.is_null());
            for len in case.lengths() {
                let plain = random.bytes(len);
                let right = encrypted(&case, &plain);
                let mut output = vec![0; len];
                let (iv, at) = (case.iv.as_ptr(), output.as_mut_ptr());
                ok!(millstream_encrypt(key, iv, case.iv.len(), plain.as_ptr(), at, len));
                assert_eq!(output, right, "{algorithm:?} {len}");
                ok!(millstream_decrypt(key, iv, case.iv.len(), at, at, len));
                assert_eq!(output, plain, "{algorithm:?} {len} in place");
            }
        });
        count += 1;
    }
    assert_eq!(count, 16);
}

/// A message through a stream in pieces, in place or apart.
fn in_pieces(stream: *mut Stream, input: &[u8], random: &mut Random, place: bool) -> Vec<u8> {
    let mut output = Vec::new();
    let (mut at, mut written) = (0, 0);
    while at < input.len() {
        let len = random.below(200).min(input.len() - at);
        let piece = &input[at..at + len];
        let expected = unsafe { millstream_stream_pass_length(stream, len) };
        let mut buffer = vec![0; len + 32];
        let from = if place {
            buffer[..len].copy_from_slice(piece);
            buffer.as_ptr()
        } else {
            piece.as_ptr()
        };
        ok!(millstream_stream_pass(stream, from, len, buffer.as_mut_ptr(), expected, &mut written));
        assert_eq!(written, expected);
        output.extend(&buffer[..written]);
        at += len;
    }
    let mut last = [0; 32];
    ok!(millstream_stream_finish(stream, last.as_mut_ptr(), 32, &mut written));
    output.extend(&last[..written]);
    output
}

#[test]
fn every_cipher_in_pieces() {
    let mut random = Random::new(2);
    for algorithm in ciphers() {
        if matches!(algorithm, cwq::Algorithm::AesXts | cwq::Algorithm::KasumiF8) {
            continue;
        }
        let case = case(algorithm, &mut random);
        for (len, place) in case.lengths().into_iter().flat_map(|len| [(len, false), (len, true)]) {
            let plain = random.bytes(len);
            let right = encrypted(&case, &plain);
            let (mut there, mut back) = (null_mut(), null_mut());
            with_key!(case, |key| {
                let (iv, none) = (case.iv.as_ptr(), PaddingCode(0));
                ok!(millstream_stream_encrypt(key, none, iv, case.iv.len(), &mut there));
                ok!(millstream_stream_decrypt(key, none, iv, case.iv.len(), &mut back));
            });
            // The key was freed: the streams keep it.
            let sealed = in_pieces(there, &plain, &mut random, place);
            assert_eq!(sealed, right, "{algorithm:?} {len} {place}");
            assert_eq!(in_pieces(back, &sealed, &mut random, place), plain);
            // And again, for the same message is the same again.
            ok!(millstream_stream_restart(there, case.iv.as_ptr(), case.iv.len()));
            assert_eq!(in_pieces(there, &plain, &mut random, place), right);
            unsafe { (millstream_stream_free(there), millstream_stream_free(back)) };
        }
    }
}

#[test]
fn padding_comes_and_goes() {
    let mut random = Random::new(3);
    for algorithm in [cwq::Algorithm::AesCbc, cwq::Algorithm::DesEcb, cwq::Algorithm::CamelliaCbc] {
        let case = case(algorithm, &mut random);
        for len in (0..40).chain([4095, 4096, 4097, 9000]) {
            let plain = random.bytes(len);
            let (mut there, mut back) = (null_mut(), null_mut());
            with_key!(case, |key| {
                let (iv, pkcs7) = (case.iv.as_ptr(), PaddingCode(1));
                ok!(millstream_stream_encrypt(key, pkcs7, iv, case.iv.len(), &mut there));
                ok!(millstream_stream_decrypt(key, pkcs7, iv, case.iv.len(), &mut back));
            });
            let sealed = in_pieces(there, &plain, &mut random, true);
            assert_eq!(sealed.len(), (len / case.block + 1) * case.block);
            assert_eq!(in_pieces(back, &sealed, &mut random, true), plain, "{algorithm:?} {len}");
            // In one piece, in place: more than one of the copies that it goes through.
            ok!(millstream_stream_restart(back, case.iv.as_ptr(), case.iv.len()));
            let (mut whole, mut written, mut rest) = (sealed.clone(), 0, 0);
            let at = whole.as_mut_ptr();
            ok!(millstream_stream_pass(back, at, sealed.len(), at, sealed.len(), &mut written));
            let end = unsafe { at.add(written) };
            ok!(millstream_stream_finish(back, end, sealed.len() - written, &mut rest));
            assert_eq!(whole[..written + rest], plain);
            unsafe { (millstream_stream_free(there), millstream_stream_free(back)) };
        }
    }
}

#[test]
fn aeads_in_one_call_and_in_pieces() {
    let mut random = Random::new(4);
    for algorithm in aeads() {
        let case = case(algorithm, &mut random);
        for len in case.lengths() {
            let (plain, aad) = (random.bytes(len), random.bytes(len % 37));
            let key = case.rust();
            let mut right = plain.clone();
            let data = millstream::InOut::in_place(&mut right);
            let mut operation = [Rust::seal(key.as_aead().unwrap(), &case.iv, &aad, data)];
            millstream::batch(&mut operation).unwrap();
            let tag = operation[0].tag().to_vec();

            let (mut out, mut mine, n) = (vec![0; len], [0; 16], case.iv.as_ptr());
            let of_nonce = case.iv.len();
            let (at, t) = (out.as_mut_ptr(), mine.as_mut_ptr());
            with_key!(case, |key| {
                ok!(millstream_seal(key, n, of_nonce, aad.as_ptr(), aad.len(), plain.as_ptr(), at, len, t));
                assert_eq!((&out, &mine[..]), (&right, &tag[..]), "{algorithm:?} {len}");
                let at = out.as_mut_ptr();
                ok!(millstream_open(key, n, of_nonce, aad.as_ptr(), aad.len(), at, at, len, t, 16));
                assert_eq!(out, plain);

                let (mut there, mut back) = (null_mut(), null_mut());
                if !matches!(algorithm, cwq::Algorithm::AesGcm | cwq::Algorithm::ChaCha20Poly1305) {
                    let refused = unsafe { millstream_stream_seal(key, n, of_nonce, &mut there) };
                    assert_eq!(refused, Status::OneShot, "{algorithm:?}");
                } else {
                    ok!(millstream_stream_seal(key, n, of_nonce, &mut there));
                    ok!(millstream_stream_open(key, n, of_nonce, &mut back));
                    ok!(millstream_stream_aad(there, aad.as_ptr(), aad.len()));
                    let sealed = in_pieces(there, &plain, &mut random, len % 2 == 0);
                    assert_eq!((&sealed[..len], &sealed[len..]), (&right[..], &tag[..]));
                    ok!(millstream_stream_aad(back, aad.as_ptr(), aad.len()));
                    let mut written = 0;
                    let at = out.as_mut_ptr();
                    ok!(millstream_stream_pass(back, right.as_ptr(), len, at, len, &mut written));
                    ok!(millstream_stream_verify(back, t, 16));
                    assert_eq!(out, plain);
                    unsafe { (millstream_stream_free(there), millstream_stream_free(back)) };
                }
            });
        }
    }
}

#[test]
fn digests_macs_and_checksums_in_one_call_and_in_pieces() {
    use cwq::Algorithm::{AesCmac, Crc32, Crc32c, DesMac, IpChecksum};
    let mut random = Random::new(5);
    let features = millstream::features().unwrap();
    let message = random.bytes(1000);
    let (m, len) = (message.as_ptr(), message.len());
    let mut out = [0; 64];
    let at = out.as_mut_ptr();
    let mut written = 0;
    for hash in millstream::hash::Hash::ALL {
        let code = AlgorithmCode(millstream::algorithm_of(hash) as u32);
        let right = millstream::hash::HashKernel::best(features, hash).digest(&message);
        ok!(millstream_digest(code, m, len, at, 64));
        assert_eq!(out[..right.len()], right[..]);
        let (mut stream, mut copy) = (null_mut(), null_mut());
        ok!(millstream_stream_digest(code, &mut stream));
        ok!(millstream_stream_update(stream, m, 77));
        ok!(millstream_stream_copy(stream, &mut copy));
        // Left off and taken up.
        let mut state = [0; MILLSTREAM_MID_STATE_ROOM];
        ok!(millstream_stream_export(stream, state.as_mut_ptr(), state.len(), &mut written));
        unsafe { millstream_stream_free(stream) };
        ok!(millstream_stream_import_digest(code, state.as_ptr(), written, &mut stream));
        for stream in [stream, copy] {
            ok!(millstream_stream_update(stream, m.wrapping_add(77), len - 77));
            let at = out.as_mut_ptr();
            unsafe { at.write_bytes(0, 64) };
            ok!(millstream_stream_finish(stream, at, 64, &mut written));
            assert_eq!(out[..written], right[..]);
            unsafe { millstream_stream_free(stream) };
        }
    }
    let hashes = millstream::hash::Hash::ALL.map(millstream::algorithm_of);
    for algorithm in hashes.into_iter().chain([AesCmac, DesMac]) {
        let case = case(algorithm, &mut random);
        let key = case.rust();
        let mut operation = [Rust::mac(key.as_mac().unwrap(), &message)];
        millstream::batch(&mut operation).unwrap();
        let right = operation[0].tag().to_vec();
        let at = out.as_mut_ptr();
        with_key!(case, |key| {
            ok!(millstream_mac(key, m, len, at, 64, &mut written));
            assert_eq!(out[..written], right, "{algorithm:?}");
            ok!(millstream_mac_verify(key, m, len, right.as_ptr(), right.len()));
            if algorithm != DesMac {
                let mut stream = null_mut();
                ok!(millstream_stream_mac(key, &mut stream));
                ok!(millstream_stream_update(stream, m, 500));
                if algorithm != AesCmac {
                    let mut state = [0; MILLSTREAM_MID_STATE_ROOM];
                    ok!(millstream_stream_export(stream, state.as_mut_ptr(), state.len(), &mut written));
                    unsafe { millstream_stream_free(stream) };
                    ok!(millstream_stream_import_mac(case.c(), state.as_ptr(), written, &mut stream));
                }
                ok!(millstream_stream_update(stream, m.wrapping_add(500), len - 500));
                ok!(millstream_stream_verify(stream, right.as_ptr(), right.len()));
                unsafe { millstream_stream_free(stream) };
            }
        });
    }
    for (algorithm, bytes) in [(Crc32, 4), (Crc32c, 4), (IpChecksum, 2)] {
        let code = AlgorithmCode(algorithm as u32);
        let (mut value, mut copied, mut copy, mut stream) = (0, 0, vec![0; len], null_mut());
        ok!(millstream_checksum(code, m, len, &mut value));
        ok!(millstream_copy_checksum(code, m, copy.as_mut_ptr(), len, &mut copied));
        assert_eq!((copied, &copy), (value, &message));
        let at = copy.as_mut_ptr();
        ok!(millstream_copy_checksum(code, at, at, len, &mut copied));
        assert_eq!(copied, value);
        ok!(millstream_stream_checksum(code, &mut stream));
        ok!(millstream_stream_update(stream, m, 333));
        ok!(millstream_stream_update(stream, m.wrapping_add(333), len - 333));
        let at = out.as_mut_ptr();
        ok!(millstream_stream_finish(stream, at, 64, &mut written));
        assert_eq!((written, &out[..bytes]), (bytes, &value.to_be_bytes()[4 - bytes..]));
        unsafe { millstream_stream_free(stream) };
        if bytes == 4 {
            let (mut a, mut b) = (0, 0);
            ok!(millstream_checksum(code, m, 333, &mut a));
            ok!(millstream_checksum(code, m.wrapping_add(333), len - 333, &mut b));
            ok!(millstream_crc_combine(code, a, b, len as u64 - 333, &mut copied));
            assert_eq!(copied, value);
        }
    }
}

/// RFC 5869, test case 1.
#[test]
fn hkdf_is_that_of_the_rfc() {
    let sha256 = AlgorithmCode(cwq::Algorithm::Sha256 as u32);
    let (ikm, salt) = ([0x0b; 22], std::array::from_fn::<u8, 13, _>(|i| i as u8));
    let info: [u8; 10] = std::array::from_fn(|i| 0xf0 + i as u8);
    let (mut okm, mut prk, mut again) = ([0; 42], [0; 32], [0; 42]);
    let (s, i, k) = (salt.as_ptr(), info.as_ptr(), ikm.as_ptr());
    ok!(millstream_hkdf(sha256, s, 13, k, 22, i, 10, okm.as_mut_ptr(), 42));
    assert_eq!(okm[..4], [0x3c, 0xb2, 0x5f, 0x25]);
    assert_eq!(okm[38..], [0x87, 0x18, 0x58, 0x65]);
    ok!(millstream_hkdf_extract(sha256, s, 13, k, 22, prk.as_mut_ptr(), 32));
    assert_eq!(prk[..4], [0x07, 0x77, 0x09, 0x36]);
    ok!(millstream_hkdf_expand(sha256, prk.as_ptr(), 32, i, 10, again.as_mut_ptr(), 42));
    assert_eq!(again, okm);
}

/// TS 35.203, the first test sets.
#[test]
fn kasumi_is_that_of_3gpp() {
    let key =
        [0x2b, 0xd6, 0x45, 0x9f, 0x82, 0xc5, 0xb3, 0x00, 0x95, 0x2c, 0x49, 0x10, 0x48, 0x81, 0xff, 0x48];
    let message = [
        0x6b, 0x22, 0x77, 0x37, 0x29, 0x6f, 0x39, 0x3c, 0x80, 0x79, 0x35, 0x3e, 0xdc, 0x87, 0xe2, 0xe8, 0x05,
        0xd2, 0xec, 0x49, 0xa4, 0xf2, 0xd8, 0xe0,
    ];
    let (mut f8, mut f9, mut code) = (null_mut(), null_mut(), [0; 4]);
    ok!(millstream_key_new(AlgorithmCode(0x40), key.as_ptr(), 16, &mut f8));
    ok!(millstream_key_new(AlgorithmCode(0x41), key.as_ptr(), 16, &mut f9));
    let mut data = [0x7e, 0xc6, 0x12, 0x72];
    let at = data.as_mut_ptr();
    ok!(millstream_kasumi_f8(f8, 0x72a4_f20f, 0x0c, 1, at, at, 32));
    assert_eq!(data, [0xd1, 0xe2, 0xde, 0x70]);
    ok!(millstream_kasumi_f9(f9, 0x38a6_f056, 0x05d2_ec49, 0, message.as_ptr(), 189, code.as_mut_ptr()));
    assert_eq!(code, [0xf6, 0x3b, 0xd7, 0x2c]);

    // The same in a batch, where COUNT and FRESH, or COUNT, BEARER and DIRECTION, are the initialisation vector.
    let mut operation = zeroed(Kind::Mac);
    let iv = [0x38, 0xa6, 0xf0, 0x56, 0x05, 0xd2, 0xec, 0x49];
    (operation.key, operation.iv, operation.iv_length) = (f9, iv.as_ptr(), 8);
    (operation.input, operation.length, operation.unused_bits) = (message.as_ptr(), 24, 3);
    let mut mac = [0; 4];
    (operation.tag, operation.tag_length) = (mac.as_mut_ptr(), 4);
    ok!(millstream_batch(&mut operation, 1));
    assert_eq!(mac, code);
    operation.kind = KindCode(Kind::Verify as u32);
    ok!(millstream_batch(&mut operation, 1));

    let mut whole = [0x7e, 0xc6, 0x12, 0x72];
    let mut bits = whole;
    let at = bits.as_mut_ptr();
    ok!(millstream_kasumi_f8(f8, 0x72a4_f20f, 0x0c, 1, at, at, 29));
    let mut operation = zeroed(Kind::Encrypt);
    let iv = [0x72, 0xa4, 0xf2, 0x0f, 0x0c << 3 | 1 << 2, 0, 0, 0];
    (operation.key, operation.iv, operation.iv_length, operation.unused_bits) = (f8, iv.as_ptr(), 8, 3);
    (operation.input, operation.output, operation.length) = (whole.as_ptr(), whole.as_mut_ptr(), 4);
    ok!(millstream_batch(&mut operation, 1));
    assert_eq!(whole, bits);
    unsafe { (millstream_key_free(f8), millstream_key_free(f9)) };
}

fn zeroed(kind: Kind) -> Operation {
    let mut operation: Operation = unsafe { std::mem::zeroed() };
    operation.kind = KindCode(kind as u32);
    operation
}

/// Every kind, of several sizes, in one batch; the number of operations goes through both forms of the list.
#[test]
fn batches_agree_with_single_calls() {
    let mut random = Random::new(6);
    let cases = ciphers().map(|algorithm| case(algorithm, &mut random)).collect::<Vec<_>>();
    let gcm = case(cwq::Algorithm::AesGcm, &mut random);
    let hmac = case(cwq::Algorithm::Sha1, &mut random);
    for count in [1, 2, 63, 64, 65, 600] {
        let mut keys = Vec::new();
        let (mut inputs, mut outputs, mut tags) = (Vec::new(), Vec::new(), vec![[0u8; 64]; count]);
        for i in 0..count {
            let case = if i % 3 == 2 { &gcm } else { &cases[i % cases.len()] };
            let lengths = case.lengths();
            inputs.push(random.bytes(lengths[i % lengths.len()]));
            outputs.push(vec![0; inputs[i].len()]);
            let mut key = null_mut();
            ok!(millstream_key_new(case.c(), case.bytes.as_ptr(), case.bytes.len(), &mut key));
            keys.push((key, case));
        }
        let mut mac_key = null_mut();
        ok!(millstream_key_new(hmac.c(), hmac.bytes.as_ptr(), hmac.bytes.len(), &mut mac_key));
        let mut operations: Vec<Operation> = Vec::new();
        for i in 0..count {
            let (key, case) = keys[i];
            let kind = match i % 3 {
                2 => Kind::Seal,
                1 if case.block == 1 && case.algorithm != cwq::Algorithm::AesXts => Kind::EncryptThenMac,
                _ => Kind::Encrypt,
            };
            let mut operation = zeroed(kind);
            (operation.key, operation.mac_key) = (key, mac_key);
            (operation.iv, operation.iv_length) = (case.iv.as_ptr(), case.iv.len());
            (operation.input, operation.output) = (inputs[i].as_ptr(), outputs[i].as_mut_ptr());
            operation.length = inputs[i].len();
            (operation.tag, operation.tag_length) = (tags[i].as_mut_ptr(), 64);
            operation.user = i as u64;
            operations.push(operation);
        }
        ok!(millstream_batch(operations.as_mut_ptr(), count));
        for (i, operation) in operations.iter().enumerate() {
            assert_eq!((operation.status, operation.user), (Status::Ok.into(), i as u64));
            let (key, case) = keys[i];
            let len = inputs[i].len();
            let (mut right, mut tag) = (vec![0; len], [0; 64]);
            let (iv, at) = (case.iv.as_ptr(), right.as_mut_ptr());
            if case.algorithm == cwq::Algorithm::AesGcm {
                let t = tag.as_mut_ptr();
                ok!(millstream_seal(key, iv, 12, null(), 0, inputs[i].as_ptr(), at, len, t));
                assert_eq!(operation.tag_length, 16);
            } else {
                ok!(millstream_encrypt(key, iv, case.iv.len(), inputs[i].as_ptr(), at, len));
            }
            assert_eq!(outputs[i], right, "{:?} {len}", case.algorithm);
            if operation.kind.0 == Kind::EncryptThenMac as u32 {
                let mut written = 0;
                ok!(millstream_mac(mac_key, right.as_ptr(), len, tag.as_mut_ptr(), 64, &mut written));
                assert_eq!((operation.tag_length, written), (20, 20));
            }
            assert_eq!(tags[i], tag);
        }
        // And back.
        for operation in &mut operations {
            operation.kind = KindCode(match operation.kind.0 {
                6 => Kind::Open,
                11 => Kind::MacThenDecrypt,
                _ => Kind::Decrypt,
            } as u32);
            operation.input = operation.output;
        }
        ok!(millstream_batch(operations.as_mut_ptr(), count));
        assert_eq!(outputs, inputs);
        for (key, _) in keys {
            unsafe { millstream_key_free(key) };
        }
        unsafe { millstream_key_free(mac_key) };
    }
}

#[test]
fn a_digest_in_pieces_of_a_batch() {
    let message = Random::new(7).bytes(300);
    let sha512 = AlgorithmCode(cwq::Algorithm::Sha512 as u32);
    let (mut state, mut digest, mut right) = ([0; MILLSTREAM_MID_STATE_ROOM], [0; 64], [0; 64]);
    let mut operation = zeroed(Kind::PartialDigest);
    operation.algorithm = sha512;
    (operation.input, operation.length) = (message.as_ptr(), 130);
    (operation.tag, operation.tag_length) = (state.as_mut_ptr(), state.len());
    ok!(millstream_batch(&mut operation, 1));
    let before = operation.tag_length;
    assert_eq!(before, 16 + 64 + 2);
    let mut operation = zeroed(Kind::LastDigest);
    operation.algorithm = sha512;
    (operation.aad, operation.aad_length) = (state.as_ptr(), before);
    (operation.input, operation.length) = (message.as_ptr().wrapping_add(130), 170);
    (operation.tag, operation.tag_length) = (digest.as_mut_ptr(), 64);
    ok!(millstream_batch(&mut operation, 1));
    ok!(millstream_digest(sha512, message.as_ptr(), 300, right.as_mut_ptr(), 64));
    assert_eq!(digest, right);
}

/// The end of a queue's operations, with several buffers of input and pieces of a digest.
#[test]
fn queues_give_everything_back() {
    let mut random = Random::new(8);
    let sha256 = AlgorithmCode(cwq::Algorithm::Sha256 as u32);
    let (mut thread, mut queues) = (null_mut(), [null_mut(); 2]);
    ok!(millstream_thread_start(null(), &mut thread));
    ok!(millstream_queue_inline(null(), &mut queues[0]));
    ok!(millstream_thread_queue(thread, null(), &mut queues[1]));
    for queue in queues {
        let mut buffers = [null_mut(); 4];
        let mut message = Vec::new();
        for buffer in &mut buffers {
            ok!(millstream_buffer_new(queue, 100, buffer));
            let bytes = random.bytes(100);
            unsafe { millstream_buffer_data(*buffer).copy_from_nonoverlapping(bytes.as_ptr(), 100) };
            message.extend(bytes);
        }
        let mut request: Request = unsafe { std::mem::zeroed() };
        request.kind = KindCode(Kind::Digest as u32);
        request.algorithm = sha256;
        request.source = buffers[0];
        (request.more, request.more_count, request.user) = (&raw const buffers[1], 3, 77);
        let (mut ticket, mut done): (u64, Done) = (0, unsafe { std::mem::zeroed() });
        ok!(millstream_queue_submit(queue, &request, &mut ticket));
        ok!(millstream_queue_flush(queue));
        ok!(millstream_queue_wait(queue, &mut done));
        let mut right = [0; 32];
        ok!(millstream_digest(sha256, message.as_ptr(), 400, right.as_mut_ptr(), 32));
        assert_eq!((done.status, done.user, done.ticket), (Status::Ok.into(), 77, ticket));
        assert_eq!((&done.tag[..32], done.tag_length), (&right[..], 32));
        assert_eq!((done.source, done.destination), (buffers[0], null_mut()));
        assert!(done.state.is_null());
        for buffer in buffers {
            assert_eq!(unsafe { millstream_buffer_length(buffer) }, 100, "it is back");
        }

        // The same in two pieces: the mid-state comes out, and goes in as what stands for associated data.
        request = unsafe { std::mem::zeroed() };
        (request.kind, request.algorithm) = (KindCode(Kind::PartialDigest as u32), sha256);
        (request.source, request.more, request.more_count) = (buffers[0], &raw const buffers[1], 1);
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        let state = unsafe { std::slice::from_raw_parts(done.state, done.state_length) }.to_vec();
        request.kind = KindCode(Kind::LastDigest as u32);
        (request.aad, request.aad_length) = (state.as_ptr(), state.len());
        (request.source, request.more) = (buffers[2], &raw const buffers[3]);
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!(done.tag[..32], right);

        // A checksum's value; and what was cancelled ends all the same.
        request = unsafe { std::mem::zeroed() };
        (request.kind, request.source) = (KindCode(Kind::Checksum as u32), buffers[0]);
        request.algorithm = AlgorithmCode(cwq::Algorithm::Crc32 as u32);
        ok!(millstream_queue_submit(queue, &request, &mut ticket));
        ok!(millstream_queue_wait(queue, &mut done));
        let mut value = 0;
        ok!(millstream_checksum(request.algorithm, message.as_ptr(), 100, &mut value));
        assert_eq!(done.value, value);
        ok!(millstream_queue_submit(queue, &request, &mut ticket));
        ok!(millstream_queue_cancel(queue, ticket));
        ok!(millstream_queue_wait(queue, &mut done));
        let ends = [Status::Ok, Status::Cancelled].map(Into::into);
        assert!(ends.contains(&done.status) && done.source == buffers[0]);

        // A failure inside is the operation's, and the queue goes on.
        let mut key = 0;
        ok!(millstream_queue_import_key(queue, AlgorithmCode(0x15), [7; 16].as_ptr(), 16, &mut key));
        request = unsafe { std::mem::zeroed() };
        (request.kind, request.key) = (KindCode(Kind::Open as u32), key);
        (request.source, request.destination) = (buffers[0], buffers[1]);
        (request.iv, request.iv_length) = (state.as_ptr(), 12);
        (request.tag, request.tag_length) = (state.as_ptr(), 16);
        ok!(millstream_queue_submit(queue, &request, &mut ticket));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!(done.status, Status::Authentication.into());
        let opened = unsafe { std::slice::from_raw_parts(millstream_buffer_data(done.destination), 100) };
        assert_eq!(opened, [0; 100]);
        ok!(millstream_queue_remove_key(queue, key));

        // A nonce that the accelerator makes comes back after the tag; a given one is refused.
        let mut options: KeyOptions = unsafe { std::mem::zeroed() };
        options.makes_nonces = 1;
        let gcm = AlgorithmCode(0x15);
        ok!(millstream_queue_import_key_with(queue, gcm, [7; 16].as_ptr(), 16, &options, &mut key));
        request = unsafe { std::mem::zeroed() };
        (request.kind, request.key) = (KindCode(Kind::SealWithMadeNonce as u32), key);
        (request.source, request.destination) = (buffers[0], buffers[1]);
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!((done.status, done.tag_length, done.nonce_length), (Status::Ok.into(), 16, 12));
        let (sealed, tag, nonce) = (done.destination, done.tag, done.tag[16..28].to_vec());
        request.kind = KindCode(Kind::Open as u32);
        (request.source, request.destination) = (sealed, buffers[2]);
        (request.iv, request.iv_length) = (nonce.as_ptr(), 12);
        (request.tag, request.tag_length) = (tag.as_ptr(), 16);
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!((done.status, done.nonce_length), (Status::Ok.into(), 0));
        request.kind = KindCode(Kind::Seal as u32);
        (request.tag, request.tag_length) = (null(), 0);
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!(done.status, Status::NonceGiven.into());
        ok!(millstream_queue_remove_key(queue, key));
        // Freed while it is in flight it would be nobody's: it is refused, and goes later.
        for buffer in buffers {
            ok!(millstream_buffer_free(buffer));
        }
        unsafe { millstream_queue_free(queue) };
    }
    unsafe { millstream_thread_free(thread) };
}

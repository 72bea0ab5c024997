//! Digits, tokens and wrapped keys in C, whose objects come whole through a queue: the published samples, there and back.
//!
//! Ref. SP 800-38G (NIST's samples of FF1, 1, 3 and 9); the Fernet specification (`generate.json`); RFC 3394 §4.1 and §4.6; RFC 5649 §6.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod support;

use std::ptr::null_mut;

use millstream_c::algorithm::{Algorithm, AlgorithmCode};
use millstream_c::ffi::batch::{Kind, KindCode};
use millstream_c::ffi::direct::{millstream_key_free, millstream_key_new, millstream_open, millstream_seal};
use millstream_c::ffi::queue::*;
use millstream_c::status::{Status, StatusCode};
use millstream_testkit::hex;

/// An operation as a standard prints it, in the direction that encrypts, seals or wraps.
struct Sample {
    algorithm: Algorithm,
    key: Vec<u8>,
    /// The tweak or the nonce; that of AES-KWP is for wrapping alone.
    iv: Vec<u8>,
    radix: u32,
    plain: Vec<u8>,
    secret: Vec<u8>,
    /// Empty where nothing is authenticated.
    tag: Vec<u8>,
    /// The completion's value of the way back.
    length: u32,
}

/// What became of a request.
struct Ended {
    status: StatusCode,
    output: Vec<u8>,
    tag: Vec<u8>,
    value: u32,
}

fn digits(key_bytes: usize, tweak: &str, radix: u32, plain: &str, secret: &str) -> Sample {
    let pairs = |text: &str| -> Vec<u8> {
        text.chars().flat_map(|digit| (digit.to_digit(36).unwrap() as u16).to_le_bytes()).collect()
    };
    let key = hex("2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94");
    Sample {
        algorithm: Algorithm::AesFf1,
        key: key[..key_bytes].to_vec(),
        iv: hex(tweak),
        radix,
        plain: pairs(plain),
        secret: pairs(secret),
        tag: vec![],
        length: 0,
    }
}

fn wrapped(algorithm: Algorithm, key: &str, plain: &str, wrapped: &str) -> Sample {
    let (mut plain, wrapped) = (hex(plain), hex(wrapped));
    let padded = algorithm == Algorithm::AesKwp;
    let length = if padded { plain.len() as u32 } else { 0 };
    let iv = if padded { length.to_be_bytes().to_vec() } else { vec![] };
    plain.resize(plain.len().next_multiple_of(8), 0);
    let (tag, secret) = (wrapped[..8].to_vec(), wrapped[8..].to_vec());
    Sample { algorithm, key: hex(key), iv, radix: 0, plain, secret, tag, length }
}

fn token() -> Sample {
    let token = hex(concat!(
        "80000000001dc09eb0000102030405060708090a0b0c0d0e0f2d36d5ca46556299",
        "fde13008633804b2c5ff9095f5d38f9ab86e5543e02686f03b3ec971b9ab47ae23566a54e08c2a0c"
    ));
    Sample {
        algorithm: Algorithm::Fernet,
        key: hex("730ff4c7af3d46923e8ed451ee813c87f790b0a226bc96a92de49b5e9c05e1ee"),
        iv: token[1..25].to_vec(),
        radix: 0,
        plain: b"hello\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b".to_vec(),
        secret: token[25..41].to_vec(),
        tag: token[41..].to_vec(),
        length: 0,
    }
}

fn samples() -> Vec<Sample> {
    vec![
        digits(16, "", 10, "0123456789", "2433477484"),
        digits(16, "3737373770717273373737", 36, "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
        digits(32, "3737373770717273373737", 36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
        token(),
        wrapped(
            Algorithm::AesKw,
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5",
        ),
        wrapped(
            Algorithm::AesKw,
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f",
            "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
        ),
        wrapped(
            Algorithm::AesKwp,
            "5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8",
            "c37b7e6492584340bed12207808941155068f738",
            "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a",
        ),
    ]
}

impl Sample {
    fn code(&self) -> AlgorithmCode {
        AlgorithmCode(self.algorithm as u32)
    }

    /// Executes one request on a queue of its own.
    fn run(&self, kind: Kind, iv: &[u8], input: &[u8], tag: &[u8]) -> Ended {
        let (mut queue, mut key, mut buffers) = (null_mut(), 0, [null_mut(); 2]);
        ok!(millstream_queue_inline(std::ptr::null(), &mut queue));
        ok!(millstream_queue_import_key(queue, self.code(), self.key.as_ptr(), self.key.len(), &mut key));
        for buffer in &mut buffers {
            ok!(millstream_buffer_new(queue, input.len(), buffer));
        }
        let [source, destination] = buffers;
        let data = |buffer| unsafe {
            std::slice::from_raw_parts_mut(millstream_buffer_data(buffer), millstream_buffer_length(buffer))
        };
        data(source).copy_from_slice(input);
        let (mut request, mut done): (Request, Done) = unsafe { std::mem::zeroed() };
        (request.kind, request.key, request.scheme) = (KindCode(kind as u32), key, self.radix);
        (request.source, request.destination) = (source, destination);
        (request.iv, request.iv_length) = (iv.as_ptr(), iv.len());
        (request.tag, request.tag_length) = (tag.as_ptr(), tag.len());
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        ok!(millstream_queue_wait(queue, &mut done));
        let ended = Ended {
            status: done.status,
            output: data(destination).to_vec(),
            tag: done.tag[..done.tag_length as usize].to_vec(),
            value: done.value,
        };
        unsafe {
            buffers.iter().for_each(|buffer| assert_eq!(millstream_buffer_free(*buffer), Status::Ok));
            millstream_queue_free(queue);
        }
        ended
    }
}

#[test]
fn samples_there_and_back() {
    let samples = samples();
    assert_eq!(samples.len(), 7);
    for sample in samples {
        let authenticated = !sample.tag.is_empty();
        let (there, back) =
            if authenticated { (Kind::Seal, Kind::Open) } else { (Kind::Encrypt, Kind::Decrypt) };
        let ended = sample.run(there, &sample.iv, &sample.plain, &[]);
        assert_eq!(ended.status, Status::Ok.into(), "{:?}", sample.algorithm);
        assert_eq!((&ended.output, &ended.tag), (&sample.secret, &sample.tag), "{:?}", sample.algorithm);

        let iv = if sample.algorithm == Algorithm::AesKwp { &[] } else { &sample.iv[..] };
        let ended = sample.run(back, iv, &sample.secret, &sample.tag);
        assert_eq!(ended.status, Status::Ok.into(), "{:?}", sample.algorithm);
        assert_eq!(ended.output, sample.plain, "{:?}", sample.algorithm);
        if sample.algorithm == Algorithm::AesKwp {
            assert_eq!(ended.value, sample.length);
        }

        if authenticated {
            let mut forged = sample.tag.clone();
            forged[3] ^= 1;
            let ended = sample.run(back, iv, &sample.secret, &forged);
            assert_eq!(ended.status, Status::Authentication.into(), "{:?}", sample.algorithm);
            assert!(ended.output.iter().all(|byte| *byte == 0), "{:?}", sample.algorithm);
        }
    }
}

/// The functions for one object have a place of 16 bytes for a tag.
#[test]
fn tags_of_other_lengths_are_refused_in_one_call() {
    for sample in samples().iter().filter(|sample| !sample.tag.is_empty()) {
        let (mut key, mut tag, mut out) = (null_mut(), [0xee; 16], vec![0xee; sample.plain.len()]);
        ok!(millstream_key_new(sample.code(), sample.key.as_ptr(), sample.key.len(), &mut key));
        let (iv, n) = (sample.iv.as_ptr(), sample.iv.len());
        let (plain, len, at) = (sample.plain.as_ptr(), out.len(), out.as_mut_ptr());
        let aad = std::ptr::null();
        let sealed = unsafe { millstream_seal(key, iv, n, aad, 0, plain, at, len, tag.as_mut_ptr()) };
        assert_eq!(sealed, Status::Algorithm, "{:?}", sample.algorithm);
        let opened = unsafe { millstream_open(key, iv, n, aad, 0, plain, at, len, tag.as_ptr(), 16) };
        assert_eq!(opened, Status::Algorithm, "{:?}", sample.algorithm);
        assert_eq!((tag, out), ([0xee; 16], vec![0xee; len]), "{:?}", sample.algorithm);
        unsafe { millstream_key_free(key) };
    }
}

//! Every cipher and MAC of the service, with the real openssl and keys out of its reach.

use millstream_tests::{OpenSsl, Place, Provider, Service, Side, run};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const IV: &str = "a0a1a2a3a4a5a6a7a8a9aaabacadaeff";

/// Names for `openssl enc` and in the counters, and hexadecimal digits of key and vector.
const CIPHERS: &[(&str, &str, usize, usize)] = &[
    ("aes-128-ecb", "aes-128-ecb", 32, 0),
    ("aes-192-cbc", "aes-192-cbc", 48, 32),
    ("aes-256-cbc", "aes-256-cbc", 64, 32),
    ("aes-128-ctr", "aes-128-ctr", 32, 32),
    ("aes-256-ctr", "aes-256-ctr", 64, 32),
    ("aes-128-cfb", "aes-128-cfb", 32, 32),
    ("camellia-192-ecb", "camellia-192-ecb", 48, 0),
    ("camellia-128-cbc", "camellia-128-cbc", 32, 32),
    ("camellia-256-ctr", "camellia-256-ctr", 64, 32),
    ("sm4-ecb", "sm4-ecb", 32, 0),
    ("sm4-cbc", "sm4-cbc", 32, 32),
    ("sm4-ctr", "sm4-ctr", 32, 32),
    ("des-ede3", "3des-ecb", 48, 0),
    ("des-ede3-cbc", "3des-cbc", 48, 16),
    ("des-ede3-cfb", "3des-cfb", 48, 16),
    ("des-ede-cbc", "3des-2key-cbc", 32, 16),
    ("des-cbc", "des-cbc", 16, 16),
];

const MACS: &[(&str, &str)] = &[
    ("hmac-md5", "-digest MD5 -macopt hexkey:00 HMAC"),
    ("hmac-sha1", "-digest SHA1 -macopt hexkey:0102 HMAC"),
    ("hmac-sha256", "-digest SHA256 -macopt hexkey:0102 HMAC"),
    ("hmac-sha512", "-digest SHA512 -macopt hexkey:0102 HMAC"),
    ("aes-cmac", "-cipher AES-128-CBC -macopt hexkey:000102030405060708090a0b0c0d0e0f CMAC"),
];

#[test]
fn outputs_are_the_default_providers() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
    let default = Side::new(&place, "default", Provider::Default);
    let openssl = OpenSsl::system();
    // The length is not whole blocks, and more than one piece.
    let data: Vec<u8> = (0..70_001_u32).map(|i| ((i * 31) >> 3) as u8).collect();
    for (name, counted, key, iv) in CIPHERS {
        let vector = if *iv > 0 { format!("-iv {}", &IV[..*iv]) } else { String::new() };
        let compute = |side: &Side, direction: &str, input: &[u8]| {
            openssl.good(side, &format!("enc {direction} -{name} -K {} {vector}", &KEY[..*key]), input)
        };
        let sealed = compute(&isolated, "-e", &data);
        assert!(sealed == compute(&default, "-e", &data), "{name}");
        assert!(compute(&isolated, "-d", &sealed) == data, "{name} backwards");
        isolated.take().require_isolated(counted, 2, 140_000);
    }
    for (counted, words) in MACS {
        let compute = |side: &Side| openssl.good(side, &format!("mac -in - {words}"), &data);
        assert_eq!(compute(&isolated), compute(&default), "{counted}");
        isolated.take().require_isolated(counted, 1, 70_001);
    }
}

/// A file of any length has a MAC, by every command of openssl that computes one.
#[test]
fn files_of_any_length_have_macs() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
    let default = Side::new(&place, "default", Provider::Default);
    let openssl = OpenSsl::system();
    let data: Vec<u8> = (0..13_000_001_u32).map(|i| ((i * 31) >> 3) as u8).collect();
    let file = place.write("file", &data);
    let all = MACS.iter().map(|(counted, words)| (*counted, format!("mac -in {} {words}", file.display())));
    let digest = format!("dgst -sha256 -mac HMAC -macopt hexkey:0102 {}", file.display());
    for (counted, words) in all.chain([("hmac-sha256", digest)]) {
        assert_eq!(openssl.good(&isolated, &words, b""), openssl.good(&default, &words, b""), "{words}");
        isolated.take().require_isolated(counted, 1, 13_000_001);
    }
}

/// Nothing is computed in the process instead.
#[test]
fn without_its_service_a_key_is_refused() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
    drop(service);
    let words = format!("enc -e -aes-128-cbc -K {} -iv {IV}", &KEY[..32]);
    let ended = run(&mut OpenSsl::system().command(&isolated, &words), b"");
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains("millstream serve"), "the remedy is named: {}", ended.err);
    isolated.take().require_none();
}

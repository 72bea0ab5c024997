//! The formats openssl and raw, both ways against the real `openssl enc`.

mod common;

use common::{Place, bytes, hex};

const CIPHERS: [&str; 19] = [
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-ctr",
    "aes-192-ctr",
    "aes-256-ctr",
    "aes-128-cfb",
    "aes-192-cfb",
    "aes-256-cfb",
    "des-ede3-cbc",
    "des-ede3-cfb",
    "camellia-128-cbc",
    "camellia-192-cbc",
    "camellia-256-cbc",
    "camellia-128-ctr",
    "camellia-192-ctr",
    "camellia-256-ctr",
    "sm4-cbc",
    "sm4-ctr",
];
/// Ciphers of OpenSSL's legacy provider.
const LEGACY: [&str; 3] = ["des-cbc", "des-cfb", "rc4"];
const ECB: [&str; 5] = ["aes-128-ecb", "aes-256-ecb", "camellia-256-ecb", "sm4-ecb", "des-ede3-ecb"];

/// Lengths around a block, and around the pieces in which the pipeline cuts a stream.
const LENGTHS: [usize; 5] = [0, 15, 16, 256 << 10, (512 << 10) + 5];

fn openssl(place: &Place, line: &str, input: &[u8]) -> Vec<u8> {
    let line = format!("enc -provider default -provider legacy {line}");
    place.run("openssl", line.split_whitespace(), input).good()
}

#[test]
fn passphrase_files_both_ways() {
    let place = Place::new();
    place.key("pass", "correct horse battery staple\n");
    let mut cases = 0;
    for cipher in CIPHERS.iter().chain(&LEGACY).chain(&ECB[..1]) {
        for len in LENGTHS {
            cases += 1;
            let data = bytes(len);
            let ours = place.words_with(
                &format!("encrypt -q --format openssl -a {cipher} --passphrase-file pass"),
                &data,
            );
            let ours = ours.good();
            let opened = openssl(&place, &format!("-d -{cipher} -pbkdf2 -pass file:pass"), &ours);
            assert!(opened == data, "{cipher}, {len} bytes: openssl does not read ours");
            let theirs = openssl(&place, &format!("-{cipher} -pbkdf2 -pass file:pass"), &data);
            place.write("theirs", &theirs);
            let opened = place
                .words(&format!("decrypt --format openssl -a {cipher} --passphrase-file pass -i theirs"));
            assert!(opened.good() == data, "{cipher}, {len} bytes: we do not read openssl's");
        }
    }
    assert_eq!(cases, 23 * LENGTHS.len());
}

#[test]
fn iterations_and_the_default_cipher() {
    let place = Place::new();
    place.key("pass", "pass\n");
    let theirs = openssl(&place, "-aes-256-cbc -pbkdf2 -iter 77 -pass file:pass", b"data");
    let with = |rest: &str| place.words_with(&format!("decrypt --passphrase-file pass {rest}"), &theirs);
    assert_eq!(with("--format openssl --iter 77").good(), b"data");
    with("--iter 77").bad(2, &["--format openssl"]);
    // One wrong key in 256 leaves what looks like padding. The salt differs each time, so another file is
    // tried then.
    let refused = (0..4).map(|_| {
        let theirs = openssl(&place, "-aes-256-cbc -pbkdf2 -iter 77 -pass file:pass", b"data");
        place.words_with("decrypt --format openssl --passphrase-file pass", &theirs)
    });
    let refused = refused.into_iter().find(|ended| ended.out.is_empty()).expect("four wrong keys");
    refused.bad(1, &["bad padding", "standard input"]);
    let ours =
        place.words_with("encrypt -q --format openssl --iter 78 --passphrase-file pass", b"data").good();
    assert_eq!(openssl(&place, "-d -aes-256-cbc -pbkdf2 -iter 78 -pass file:pass", &ours), b"data");
    for len in [0, 7, 8, 15] {
        let cut = place.words_with("decrypt --format openssl --passphrase-file pass", &ours[..len]);
        cut.bad(1, &["standard input: ends inside its header"]);
    }
    place
        .words_with("decrypt --format openssl --passphrase-file pass", &ours[..16])
        .bad(1, &["at least one block"]);
    place
        .words_with("decrypt --format openssl --passphrase-file pass", &ours[..31])
        .bad(1, &["whole blocks"]);
    place
        .words_with("decrypt --format openssl --passphrase-file pass", b"not salted at all")
        .bad(1, &["Salted__"]);
}

#[test]
fn raw_both_ways() {
    let place = Place::new();
    for cipher in CIPHERS.iter().chain(&LEGACY).chain(&ECB) {
        let key_bytes = match *cipher {
            name if name.contains("des-ede3") => 24,
            name if name.contains("des") => 8,
            name if name.contains("192") => 24,
            name if name.contains("256") => 32,
            _ => 16,
        };
        let key = bytes(key_bytes);
        place.key("key", &key);
        let iv = match *cipher {
            name if name.contains("ecb") || name == "rc4" => String::new(),
            name if name.contains("des") => hex(&bytes(8)),
            _ => hex(&bytes(16)),
        };
        let (ours_iv, theirs_iv) = if iv.is_empty() {
            (String::new(), String::new())
        } else {
            (format!("--iv {iv}"), format!("-iv {iv}"))
        };
        for len in [1, 48, (256 << 10) + 16] {
            let data = bytes(len);
            let theirs = openssl(&place, &format!("-{cipher} -K {} {theirs_iv}", hex(&key)), &data);
            let ours = place
                .words_with(&format!("encrypt -q --format raw -a {cipher} -k key {ours_iv}"), &data)
                .good();
            assert!(ours == theirs, "{cipher}, {len} bytes");
            let opened =
                place.words_with(&format!("decrypt --format raw -a {cipher} -k key {ours_iv}"), &theirs);
            assert!(opened.good() == data, "{cipher}, {len} bytes");
        }
        if cipher.ends_with("cbc") || cipher.ends_with("ecb") {
            let data = bytes(64);
            let theirs = openssl(&place, &format!("-{cipher} -nopad -K {} {theirs_iv}", hex(&key)), &data);
            let line = format!("--no-pad --format raw -a {cipher} -k key {ours_iv}");
            assert_eq!(place.words_with(&format!("encrypt -q {line}"), &data).good(), theirs);
            assert_eq!(place.words_with(&format!("decrypt {line}"), &theirs).good(), data);
            place.words_with(&format!("encrypt -q {line}"), &data[..63]).bad(1, &["whole blocks"]);
        }
    }
}

#[test]
fn aeads_and_xts_raw() {
    let place = Place::new();
    // McGrew and Viega's test case 4, which SP 800-38D points to.
    place.key("key", millstream_testkit::hex("feffe9928665731c6d6a8f9467308308"));
    place.write("iv", millstream_testkit::hex("cafebabefacedbaddecaf888"));
    let plain = millstream_testkit::hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    );
    let sealed =
        place.words_with("encrypt -q --format raw -a aes-128-gcm -k key --iv-file iv", &plain).good();
    let expected = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
    assert_eq!(hex(&sealed[..plain.len()]), expected);
    assert_eq!(sealed.len(), plain.len() + 16);
    for (name, key_bytes) in [("aes-gcm", 32), ("aes-192-gcm", 24), ("chacha20-poly1305", 32)] {
        place.key("key", bytes(key_bytes));
        let line = format!("--format raw -a {name} -k key --iv 000102030405060708090a0b --aad=context");
        for len in [0, 1, 100_000] {
            let data = bytes(len);
            let sealed = place.words_with(&format!("encrypt -q {line}"), &data).good();
            assert_eq!(place.words_with(&format!("decrypt {line}"), &sealed).good(), data);
            let mut changed = sealed.clone();
            changed[len / 2] ^= 1;
            place.words_with(&format!("decrypt {line}"), &changed).bad(1, &["authentication failed"]);
            place
                .words_with(&format!("decrypt {line}"), &sealed[..15])
                .bad(1, &["15", "16 bytes of the tag"]);
        }
    }
    // IEEE 1619 vector 2: data unit 0x3333333333.
    let (a, b) = ("1".repeat(32), "2".repeat(32));
    place.key("key", millstream_testkit::hex(&format!("{a}{b}")));
    let line = "--format raw -a aes-128-xts -k key --iv 33333333330000000000000000000000";
    let sealed = place.words_with(&format!("encrypt -q {line}"), &[0x44; 32]).good();
    assert_eq!(hex(&sealed), "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0");
    assert_eq!(place.words_with(&format!("decrypt {line}"), &sealed).good(), [0x44; 32]);
    place.words_with(&format!("encrypt -q {line}"), &[0; 15]).bad(1, &["aes-xts"]);
    place.words_with(&format!("encrypt -q {line}"), &vec![0; (16 << 20) + 1]).bad(1, &["16777216"]);
}

#[test]
fn keys_and_vectors_of_the_wrong_length() {
    let place = Place::new();
    place.key("key", bytes(24));
    place.key("key8", bytes(8));
    let zeros = "0".repeat(32);
    for (line, words) in [
        (format!("-a aes-256-cbc -k key --iv {zeros}"), ["key: ", "24 bytes", "32 bytes"]),
        (format!("-a aes-cbc -k key8 --iv {zeros}"), ["key8: ", "8 bytes", "16, 24 or 32 bytes"]),
        ("-a des-cbc -k key --iv 0000000000000000".into(), ["key: ", "24 bytes", "8 bytes"]),
        ("-a 3des-cbc -k key8 --iv 0000000000000000".into(), ["key8: ", "8 bytes", "16 or 24 bytes"]),
        ("-a aes-192-cbc -k key --iv 00".into(), ["aes-cbc", "1 bytes", "16 bytes"]),
        ("-a rc4 -k key --iv 00".into(), ["rc4", "1 bytes", "none"]),
    ] {
        place.words(&format!("encrypt -q --format raw {line}")).bad(1, &words);
    }
}

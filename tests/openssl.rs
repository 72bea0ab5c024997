//! `openssl enc`, `dgst`, `mac` and `kdf` on the provider. Every byte and every error must be as with the
//! default one.

use std::collections::BTreeSet;

use millstream_testkit::Random;
use millstream_tests::{Ended, OpenSsl, Place, Provider, Side, bytes, run, with_each_openssl};

/// Both sides of a comparison, which run the same commands.
struct Both<'a> {
    openssl: &'a OpenSsl,
    place: Place,
    default: Side,
    millstream: Side,
}

impl<'a> Both<'a> {
    fn new(openssl: &'a OpenSsl) -> Both<'a> {
        let place = Place::new();
        let default = Side::new(&place, "default", Provider::Default);
        let millstream = Side::new(&place, "millstream", Provider::Millstream);
        Both { openssl, place, default, millstream }
    }

    fn run(&self, side: &Side, words: &str, input: &[u8]) -> Ended {
        run(self.openssl.command(side, words).current_dir(self.place.folder()), input)
    }

    /// Requires success on both sides, and the same output, which is returned.
    #[track_caller]
    fn same(&self, words: &str, input: &[u8]) -> Vec<u8> {
        let expected = self.run(&self.default, words, input).good();
        let got = self.run(&self.millstream, words, input).good();
        assert!(got == expected, "{words}, {} bytes: not what the default provider gives", input.len());
        got
    }

    /// Requires the same failure on both sides: the exit code, the command's own words, and each reason that
    /// the default provider gives. Millstream may give a reason where the default provider gives none.
    #[track_caller]
    fn same_failure(&self, words: &str, input: &[u8], reason: &str) {
        let expected = self.run(&self.default, words, input);
        let got = self.run(&self.millstream, words, input);
        assert_ne!(expected.code, Some(0), "{words}: {}", expected.err);
        let (expected_code, got_code) = (expected.code, got.code);
        let (expected, got) = (Complaints::of(&expected.err), Complaints::of(&got.err));
        assert_eq!((got_code, &got.words), (expected_code, &expected.words), "{words}");
        assert!(got.reasons.is_superset(&expected.reasons), "{words}: {got:?} where {expected:?} is due");
        let said = got.words.iter().chain(&got.reasons).any(|line| line.contains(reason));
        assert!(said, "{words}: no '{reason}' in {got:?}");
    }

    /// Returns the names that Millstream offers, as `openssl list` shows them, with a group for each
    /// algorithm.
    #[track_caller]
    fn offered(&self, kind: &str) -> Vec<Vec<String>> {
        let list = self.openssl.text(&self.millstream, &format!("list -{kind}"));
        let ours = list.lines().filter_map(|line| line.trim().strip_suffix("@ millstream"));
        ours.map(|names| {
            let names = names.trim().trim_start_matches('{').trim_end_matches('}');
            names.split(',').map(|name| name.trim().to_owned()).collect()
        })
        .collect()
    }
}

/// The complaints of a command.
#[derive(Debug, PartialEq)]
struct Complaints {
    /// The command's own words.
    words: Vec<String>,
    /// The reasons in the error queue, without the parts that differ between providers: function, file, line
    /// and thread.
    reasons: BTreeSet<String>,
}

impl Complaints {
    fn of(err: &str) -> Complaints {
        let mut complaints = Complaints { words: Vec::new(), reasons: BTreeSet::new() };
        for line in err.lines() {
            match line.split(':').collect::<Vec<_>>()[..] {
                [_, "error", _, _, _, reason, ..] => drop(complaints.reasons.insert(reason.to_owned())),
                _ => complaints.words.push(line.to_owned()),
            }
        }
        complaints
    }
}

/// Returns lengths at which something begins or ends, and some at random.
fn lengths(seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut lengths = vec![0, 1, 15, 16, 17, 64, 8191, 8192];
    lengths.extend((0..2).map(|_| random.below(300)));
    lengths.extend((0..2).map(|_| random.below(100_000)));
    lengths
}

/// Returns a name without the marks in which its spellings differ.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '/', '_'], "")
}

/// Requires that all of these are among the offered.
#[track_caller]
fn require_offered(offered: &[Vec<String>], names: &[&str]) {
    let all: BTreeSet<String> = offered.iter().flatten().map(|name| plain(name)).collect();
    let missing: Vec<_> = names.iter().filter(|name| !all.contains(&plain(name))).collect();
    assert!(missing.is_empty(), "{missing:?} are not offered, only {offered:?}");
}

/// Ciphers that `openssl enc` can use and that must be Millstream's.
const CIPHERS: &[&str] = &[
    "AES-128-ECB",
    "AES-192-ECB",
    "AES-256-ECB",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-256-CBC",
    "AES-128-CTR",
    "AES-192-CTR",
    "AES-256-CTR",
    "AES-128-CFB",
    "AES-192-CFB",
    "AES-256-CFB",
    "CAMELLIA-128-ECB",
    "CAMELLIA-192-ECB",
    "CAMELLIA-256-ECB",
    "CAMELLIA-128-CBC",
    "CAMELLIA-192-CBC",
    "CAMELLIA-256-CBC",
    "CAMELLIA-128-CTR",
    "CAMELLIA-192-CTR",
    "CAMELLIA-256-CTR",
    "SM4-ECB",
    "SM4-CBC",
    "SM4-CTR",
    "DES-EDE3-ECB",
    "DES-EDE3-CBC",
    "DES-EDE3-CFB",
    "DES-ECB",
    "DES-CBC",
    "DES-CFB",
    "RC4",
];

/// Ciphers that `openssl enc` refuses or does not know, or of which it takes a text in one piece, and that must be Millstream's, too.
const NOT_FOR_STREAMS: &[&str] = &[
    "AES-128-GCM",
    "AES-192-GCM",
    "AES-256-GCM",
    "AES-128-GCM-SIV",
    "AES-256-GCM-SIV",
    "AES-128-SIV",
    "AES-192-SIV",
    "AES-256-SIV",
    "AES-128-WRAP",
    "AES-192-WRAP",
    "AES-256-WRAP",
    "AES-128-WRAP-PAD",
    "AES-192-WRAP-PAD",
    "AES-256-WRAP-PAD",
    "AES-128-XTS",
    "AES-256-XTS",
];

/// Every cipher: both directions, with pieces of several lengths.
fn enc(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    let offered = both.offered("cipher-algorithms");
    require_offered(&offered, CIPHERS);
    require_offered(&offered, NOT_FOR_STREAMS);
    let mut used = 0;
    for (index, names) in offered.iter().enumerate() {
        let name = names.iter().find(|name| !name.starts_with(|c: char| c.is_ascii_digit())).expect("a name");
        let words = format!("enc -{name} -pbkdf2 -iter 1 -k pass -S 0102030405060708");
        // `enc` refuses some ciphers (AEADs, XTS, key wrapping), and must do so on both sides.
        let probe = both.run(&both.default, &words, b"");
        // OpenSSL has AES-GCM-SIV from 3.2 on, and until then complains of a name that it does not know.
        if name.ends_with("-GCM-SIV") && probe.err.contains("Unknown") {
            continue;
        }
        // OpenSSL 3.0 wraps keys here, and takes each in one piece.
        if name.contains("-WRAP") {
            for length in [24, 25] {
                let [ours, theirs] =
                    [&both.millstream, &both.default].map(|side| both.run(side, &words, &bytes(length)));
                assert_eq!((ours.code, ours.out), (theirs.code, theirs.out), "{name}, {length} bytes");
            }
            continue;
        }
        if probe.code != Some(0) {
            let got = both.run(&both.millstream, &words, b"");
            assert_eq!(Complaints::of(&got.err), Complaints::of(&probe.err), "{name}");
            continue;
        }
        used += 1;
        both.millstream.take();
        let mut total = 0;
        for (turn, length) in lengths(index as u64).into_iter().enumerate() {
            let data = bytes(length);
            let pieces = [8192, 1000, 333][turn % 3];
            let sealed = both.same(&format!("{words} -bufsize {pieces}"), &data);
            let opened = both.run(&both.millstream, &format!("{words} -d -bufsize {pieces}"), &sealed).good();
            assert!(opened == data, "{name}, {length} bytes: not what was encrypted");
            total += 2 * length as u64;
        }
        let counted = both.millstream.take();
        // The empty message of a stream is no operation.
        //
        // Millstream calls triple DES by a shorter name.
        let rows = names
            .iter()
            .map(|name| counted.of(&name.replace("DES-EDE3", "3des").replace("DES-EDE", "3des-2key")));
        let row = rows.max().expect("it has names");
        assert!(row.0 >= 20 && row.1 >= total, "{names:?}: {row:?}, {total} bytes\n{counted}");
    }
    assert!(used >= CIPHERS.len(), "{used}");
    both.default.counted().require_none();
}

/// All names of a cipher are the same cipher.
fn enc_aliases(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    let data = bytes(100);
    let mut names = 0;
    for group in both.offered("cipher-algorithms") {
        for name in group {
            let words = format!("enc -{name} -pbkdf2 -iter 1 -k pass -S 0102030405060708");
            let expected = both.run(&both.default, &words, &data);
            let got = both.run(&both.millstream, &words, &data);
            assert_eq!((got.code, &got.out), (expected.code, &expected.out), "{name}: {}", got.err);
            names += 1;
        }
    }
    assert!(names > CIPHERS.len(), "{names}");
}

/// Errors are reported as the default provider reports them.
fn enc_failures(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    for (cipher, block) in
        [("aes-128-cbc", 16), ("aes-256-ecb", 16), ("camellia-192-cbc", 16), ("des-ede3-cbc", 8)]
    {
        let words = format!("enc -{cipher} -pbkdf2 -iter 1 -S 0102030405060708");
        let sealed = both.same(&format!("{words} -k pass"), &bytes(1000));
        // A wrong key gives invalid padding. This pass phrase was tried for all four.
        both.same_failure(&format!("{words} -d -k wrong"), &sealed, "bad decrypt");
        both.same_failure(
            &format!("{words} -d -k pass"),
            &sealed[..sealed.len() - 1],
            "wrong final block length",
        );
        both.same_failure(&format!("{words} -d -k pass"), &[], "wrong final block length");
        both.same_failure(&format!("{words} -nopad -k pass"), &bytes(block + 1), "wrong final block length");
        both.same(&format!("{words} -nopad -k pass"), &bytes(4 * block));
        both.same_failure(
            &format!("{words} -d -nopad -k pass"),
            &sealed[..block + 3],
            "wrong final block length",
        );
    }
    // A key that is too long is cut with a warning, one that is too short is filled.
    for hex in [2, 32, 64] {
        let words = format!("enc -aes-192-ctr -K {} -iv {}", "5a".repeat(hex), "01".repeat(16));
        both.same(&words, &bytes(99));
    }
    both.same_failure("enc -aes-128-gcm -k pass -pbkdf2", b"data", "AEAD ciphers not supported");
    both.same_failure("enc -aes-128-cbc -K 00", b"data", "iv undefined");
}

const DIGESTS: &[&str] = &[
    "MD5",
    "SHA1",
    "SHA224",
    "SHA256",
    "SHA384",
    "SHA512",
    "SHA512-256",
    "SHA3-224",
    "SHA3-256",
    "SHA3-384",
    "SHA3-512",
];

/// Every digest, by every name.
fn dgst(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    let offered = both.offered("digest-algorithms");
    require_offered(&offered, DIGESTS);
    for (index, names) in offered.iter().enumerate() {
        // From version 3.4 on SHAKE has no length of its own.
        let len = if names.iter().any(|name| name.contains("SHAKE")) { " -xoflen 40" } else { "" };
        both.millstream.take();
        let mut total = 0;
        for length in lengths(100 + index as u64).into_iter().chain([55, 56, 111, 112, 127, 128, 1 << 20]) {
            both.same(&format!("dgst -{}{len} -r", names[0]), &bytes(length));
            total += length as u64;
        }
        let counted = both.millstream.take();
        let row = names.iter().map(|name| counted.of(name)).max().expect("it has names");
        assert!(row.0 >= 19 && row.1 >= total, "{names:?}: {row:?}, {total} bytes\n{counted}");
        for name in names {
            both.same(&format!("dgst -{name}{len} -r"), b"abc");
        }
    }
    both.default.counted().require_none();
}

/// HMAC with every digest, CMAC with every cipher, keys and data of many lengths.
fn mac(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    require_offered(&both.offered("mac-algorithms"), &["HMAC", "CMAC"]);
    let mut random = Random::new(7);
    let mut total = 0;
    both.millstream.take();
    for digest in DIGESTS {
        for key in [1, 20, 63, 64, 65, 127, 128, 129, 200] {
            let length = [0, 1, 64, 129, 5000, 20_000][random.below(6)];
            let key = "a7".repeat(key);
            both.same(&format!("mac -digest {digest} -macopt hexkey:{key} -in - HMAC"), &bytes(length));
            total += length as u64;
        }
    }
    // HMAC also works over a digest of the default provider.
    both.same("mac -digest BLAKE2B-512 -macopt hexkey:0102 -in - HMAC", &bytes(300));
    both.millstream.take().require("hmac*", 9 * 11, total);
    total = 0;
    let ciphers = [("AES-128-CBC", 16), ("AES-192-CBC", 24), ("AES-256-CBC", 32)];
    for (cipher, key) in ciphers {
        for length in [0, 1, 15, 16, 17, 32, 33, 1000, 8192, 100_000] {
            let words = format!("mac -cipher {cipher} -macopt hexkey:{} -in - CMAC", "3c".repeat(key));
            both.same(&words, &bytes(length));
            total += length as u64;
        }
    }
    both.millstream.take().require("*cmac*", 30, total);
    both.same(&format!("mac -cipher CAMELLIA-128-CBC -macopt hexkey:{} -in - CMAC", "3c".repeat(16)), b"abc");
    both.same(&format!("mac -cipher DES-EDE3-CBC -macopt hexkey:{} -in - CMAC", "3c1d".repeat(12)), b"abc");
    both.default.counted().require_none();
}

fn mac_failures(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    both.same_failure("mac -cipher AES-128-CBC -macopt hexkey:0011 -in - CMAC", b"", "invalid key length");
    both.same_failure("mac -cipher AES-128-GCM -macopt hexkey:0011 -in - CMAC", b"", "");
    both.same_failure("mac -cipher NONE-128-CBC -macopt hexkey:0011 -in - CMAC", b"", "");
    both.same_failure("mac -digest NONESUCH -macopt hexkey:0011 -in - HMAC", b"", "");
    both.same_failure("mac -digest SHA256 -in - HMAC", b"data", "");
    both.same_failure("mac -macopt hexkey:0011 -in - HMAC", b"data", "");
    both.same_failure("mac -macopt hexkey:0011 -in - CMAC", b"data", "");
}

/// Computes HKDF, both steps together and each alone, and TLS 1.3's.
fn kdf(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    require_offered(&both.offered("kdf-algorithms"), &["HKDF"]);
    both.millstream.take();
    let mut derived = 0;
    for digest in DIGESTS {
        for length in [1, 32, 42, 65, 255] {
            let info = "ab".repeat(length % 7);
            let options = format!(
                "-kdfopt digest:{digest} -kdfopt hexkey:{} -kdfopt hexsalt:{} -kdfopt hexinfo:{info}00",
                "0b".repeat(length),
                "0c".repeat(length % 30 + 1)
            );
            both.same(&format!("kdf -keylen {length} {options} HKDF"), b"");
            both.same(&format!("kdf -keylen {length} {options} -kdfopt mode:EXPAND_ONLY HKDF"), b"");
            derived += 2;
        }
    }
    both.same("kdf -keylen 32 -kdfopt mode:EXTRACT_ONLY -kdfopt digest:SHA256 -kdfopt hexkey:0b0b -kdfopt salt:x HKDF", b"");
    both.same("kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt key:secret HKDF", b"");
    both.same(
        "kdf -keylen 16 -kdfopt mode:EXPAND_ONLY -kdfopt digest:SHA256 -kdfopt hexkey:3b3b \
         -kdfopt prefix:tls13\u{20} -kdfopt label:key TLS13-KDF",
        b"",
    );
    both.millstream.take().require("hkdf*", derived + 2, 1);
    both.default.counted().require_none();
}

fn kdf_failures(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    both.same_failure("kdf -keylen 32 -kdfopt digest:SHA256 HKDF", b"", "");
    both.same_failure("kdf -keylen 32 -kdfopt hexkey:0b HKDF", b"", "");
    both.same_failure("kdf -keylen 32 -kdfopt digest:NONESUCH -kdfopt hexkey:0b HKDF", b"", "");
    both.same_failure(
        "kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt mode:NONE -kdfopt hexkey:0b HKDF",
        b"",
        "",
    );
    both.same_failure("kdf -keylen 9000 -kdfopt digest:SHA256 -kdfopt hexkey:0b HKDF", b"", "");
    both.same_failure(
        "kdf -keylen 31 -kdfopt digest:SHA256 -kdfopt mode:EXTRACT_ONLY -kdfopt hexkey:0b HKDF",
        b"",
        "",
    );
}

/// Keys as objects, which the command has from 3.5 on.
fn enc_with_secret_keys(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    let key = "hexraw-bytes:000102030405060708090a0b0c0d0e0f";
    for (cipher, kind) in
        [("aes-128-cbc", "AES"), ("aes-128-ctr", "AES"), ("camellia-128-cbc", "GENERIC-SECRET")]
    {
        let words =
            format!("enc -{cipher} -skeymgmt {kind} -skeyopt {key} -iv 000102030405060708090a0b0c0d0e0f");
        both.same(&words, &bytes(100_000));
        both.same_failure(&words.replace("0e0f -iv", "0e -iv"), b"data", "");
    }
    both.millstream.take().require("aes-128-cbc", 1, 100_000).require("aes-128-ctr", 1, 100_000);
}

#[test]
fn long_newest_3_enc_with_secret_keys() {
    enc_with_secret_keys(&OpenSsl::newest(3));
}

#[test]
fn newest_4_enc_with_secret_keys() {
    enc_with_secret_keys(&OpenSsl::newest(4));
}

/// `openssl speed` completes everything that it measures.
fn speed(openssl: &OpenSsl) {
    let both = Both::new(openssl);
    for evp in [
        "-evp aes-128-cbc",
        "-evp aes-256-gcm -aead",
        "-evp sha256",
        "-evp chacha20-poly1305",
        "-hmac sha256",
    ] {
        let words = format!("speed -mr -elapsed -seconds 1 -bytes 1024 {evp}");
        let out = both.run(&both.millstream, &words, b"").text();
        assert!(out.lines().any(|line| line.starts_with("+F")), "{evp}: {out}");
    }
    both.millstream.take().require("aes-128-cbc", 1, 1 << 20).require("sha256", 1000, 1 << 20);
}

with_each_openssl!(enc, enc_aliases, enc_failures, dgst, mac, mac_failures, kdf, kdf_failures);

/// Once is enough, because this takes long.
#[test]
fn speed_with_the_systems() {
    speed(&OpenSsl::system());
}

//! `digest` and `mac`: the output forms, exit codes and answers of the Solaris commands.
//!
//! Ref. digest(1), mac(1); FIPS 180-4 examples; RFC 2202, RFC 4231; RFC 4493.

mod common;

use common::{MILLSTREAM, Place, bytes, hex};

const ABC: [(&str, &str); 13] = [
    ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("md5", "900150983cd24fb0d6963f7d28e17f72"),
    ("sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "sha384",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    (
        "sha512",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    ("sha512_256", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ("sha3_224", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
    ("sha3_256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
    (
        "sha3_384",
        "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
    ),
    (
        "sha3_512",
        "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
    ),
    ("crc32", "352441c2"),
    ("crc32c", "364b3fb7"),
];

#[test]
fn digests_of_a_file_of_standard_input_and_of_several() {
    let place = Place::new();
    place.write("a", "abc");
    place.write("b c", "");
    for (name, digest) in ABC {
        assert_eq!(place.words(&format!("digest -a {name} a")).text(), format!("{digest}\n"));
        assert_eq!(place.words_with(&format!("digest -a {name}"), b"abc").text(), format!("{digest}\n"));
        assert_eq!(place.words(&format!("digest -v -a {name} a")).text(), format!("{name} (a) = {digest}\n"));
        assert_eq!(
            place.words_with(&format!("digest -va{name}"), b"abc").text(),
            format!("{name} {digest}\n")
        );
    }
    let two = place.millstream(["digest", "-a", "md5", "a", "b c"]).text();
    assert_eq!(two, "(a) = 900150983cd24fb0d6963f7d28e17f72\n(b c) = d41d8cd98f00b204e9800998ecf8427e\n");
    let two = place.millstream(["digest", "-va", "md5", "a", "b c"]).text();
    assert_eq!(
        two,
        "md5 (a) = 900150983cd24fb0d6963f7d28e17f72\nmd5 (b c) = d41d8cd98f00b204e9800998ecf8427e\n"
    );
}

#[test]
fn other_spellings_and_getopt_rules() {
    let place = Place::new();
    place.write("a", "abc");
    place.write("-v", "abc");
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
    for line in [
        "digest -a sha-256 a",
        "digest --algorithm sha256 a",
        "digest --algorithm=sha256 a",
        "digest -asha256 -- a",
        "digest -qq -a sha256 a",
        "digest -a sha256 -- -v",
    ] {
        assert_eq!(place.words(line).text(), expected, "{line}");
    }
    place
        .words("digest -a md5 -a sha256 a")
        .bad(2, &["'--algorithm <ALGORITHM>' cannot be used multiple times"]);
    // An option may follow an operand, and after two hyphens all are operands.
    assert!(place.words("digest -a sha256 a -v").text().starts_with("sha256 (a) = "));
    let after = place.words("digest -a sha256 -- a -v").text();
    assert_eq!(after, format!("(a) = {expected}(-v) = {expected}"));
    // The next word is the argument, whatever it looks like.
    place.words("digest -a -v").bad(1, &["unknown algorithm -- -v"]);
}

#[test]
fn called_by_their_own_names() {
    let place = Place::new();
    place.write("a", "abc");
    for name in ["digest", "mac", "millstream-digest"] {
        std::os::unix::fs::symlink(MILLSTREAM, place.path(name)).unwrap();
    }
    assert_eq!(place.run(place.path("digest"), ["-a", "crc32", "a"], b"").text(), "352441c2\n");
    assert_eq!(place.run(place.path("millstream-digest"), ["-a", "crc32", "a"], b"").text(), "352441c2\n");
    let error = place.run(place.path("digest"), ["-a", "sha9", "a"], b"").bad(1, &[]);
    assert!(error.starts_with("digest: unknown algorithm -- sha9"), "{error}");
    let error = place.run(place.path("mac"), ["-a", "sha1"], b"").bad(1, &[]);
    assert!(error.starts_with("mac: unknown algorithm -- sha1; did you mean sha1_hmac?"), "{error}");
    if std::fs::hard_link(MILLSTREAM, place.path("hard")).is_ok() {
        std::fs::rename(place.path("hard"), place.path("digest")).unwrap();
        assert_eq!(place.run(place.path("digest"), ["-a", "crc32", "a"], b"").text(), "352441c2\n");
    }
}

#[test]
fn lists() {
    let place = Place::new();
    let list = place.words("digest -l").text();
    let names: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ABC.map(|(name, _)| name));
    assert!(list.contains("\nmd5             legacy\n") && list.contains("\nsha256\n"), "{list}");
    assert!(list.contains("crc32c          not cryptographic\n"), "{list}");
    let list = place.words("mac -l").text();
    let head = "Algorithm       Keysize:  Min   Max (bits)\n------------------------------------------\n";
    assert!(list.starts_with(head), "{list}");
    for line in [
        "des_mac                    64    64  legacy",
        "sha1_hmac                   8   512  legacy",
        "sha384_hmac                 8  1024",
        "aes_cmac                  128   256",
    ] {
        assert!(list.lines().any(|l| l == line), "no '{line}' in\n{list}");
    }
}

#[test]
fn macs_of_published_vectors() {
    let place = Place::new();
    place.key("jefe", "Jefe");
    place.key("cmac", millstream_testkit::hex("2b7e151628aed2a6abf7158809cf4f3c"));
    place.write("what", "what do ya want for nothing?");
    // RFC 2202 and RFC 4231, test case 2.
    for (name, mac) in [
        ("md5_hmac", "750c783e6ab0b503eaa86e310a5db738"),
        ("sha1_hmac", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ("sha224_hmac", "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"),
        ("hmac-sha256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    ] {
        assert_eq!(place.words(&format!("mac -q -a {name} -k jefe what")).text(), format!("{mac}\n"));
        let verbose = place.words(&format!("mac -qv -a {name} -k jefe what what")).text();
        assert_eq!(verbose, format!("{name} (what) = {mac}\n").repeat(2));
    }
    // RFC 4493, examples 1 and 2.
    assert_eq!(place.words("mac -a aes_cmac -k cmac").text(), "bb1d6929e95937287fa37d129b756746\n");
    let block = millstream_testkit::hex("6bc1bee22e409f96e93d7e117393172a");
    assert_eq!(
        place.words_with("mac -aaes_cmac -kcmac", &block).text(),
        "070a16b46b4d4144f79bdd9dd04a287c\n"
    );
}

/// FIPS 113 defines the MAC as half of the last block of CBC, of the data padded with zeros.
#[test]
fn the_des_mac_is_half_a_block_of_cbc() {
    let place = Place::new();
    let key = bytes(8);
    place.key("key", &key);
    for len in [1, 7, 8, 9, 100_000] {
        let data = bytes(len);
        let mut padded = data.clone();
        padded.resize(len.next_multiple_of(8), 0);
        let line = format!(
            "enc -provider default -provider legacy -des-cbc -nopad -K {} -iv {}",
            hex(&key),
            "0".repeat(16)
        );
        let theirs = place.run("openssl", line.split(' '), &padded).good();
        let expected = hex(&theirs[theirs.len() - 8..][..4]);
        assert_eq!(
            place.words_with("mac -q -a des_mac -k key", &data).text(),
            format!("{expected}\n"),
            "{len} bytes"
        );
    }
    assert_eq!(place.words_with("mac -q -a des-mac -k key", b"").text(), "00000000\n");
}

#[test]
fn a_passphrase_gives_the_key_that_it_gives_on_solaris() {
    let place = Place::new();
    place.key("pass", "open sesame\nsecond line\n");
    let kdf = "kdf -keylen 16 -kdfopt digest:SHA1 -kdfopt pass:opensesame -kdfopt iter:1000 -binary";
    let mut args: Vec<String> = kdf.split(' ').map(str::to_owned).collect();
    args[6] = "pass:open sesame".into();
    args.extend(["-kdfopt".into(), format!("hexsalt:{}", "0a".repeat(16)), "PBKDF2".into()]);
    let key = place.run("openssl", &args, b"").good();
    assert_eq!(key.len(), 16);
    place.key("key", &key);
    for name in ["sha256_hmac", "aes_cmac"] {
        let with_key = place.words_with(&format!("mac -a {name} -k key"), b"data").text();
        let with_pass = place.words_with(&format!("mac -a {name} --passphrase-file pass"), b"data").text();
        assert_eq!(with_key, with_pass);
    }
}

#[test]
fn large_inputs_agree_with_openssl() {
    let place = Place::new();
    place.key("key", bytes(100));
    for len in [0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 3_000_000] {
        place.write("data", bytes(len));
        for (ours, theirs) in
            [("sha256", "-sha256"), ("sha512", "-sha512"), ("md5", "-md5"), ("sha3_384", "-sha3-384")]
        {
            let expected = place.run("openssl", ["dgst", "-r", theirs, "data"], b"").text();
            let expected = expected.split(' ').next().unwrap();
            assert_eq!(place.words(&format!("digest -a {ours} data")).text().trim(), expected);
            assert_eq!(place.words_with(&format!("digest -a {ours}"), &bytes(len)).text().trim(), expected);
        }
        let hexkey = format!("hexkey:{}", hex(&bytes(100)));
        let args = ["mac", "-digest", "SHA384", "-macopt", &hexkey, "-in", "data", "HMAC"];
        let expected = place.run("openssl", args, b"").text().to_lowercase();
        assert_eq!(place.words("mac -a sha384_hmac -k key data").text().trim(), expected.trim());
    }
}

#[test]
fn json_has_a_line_for_each_file() {
    let place = Place::new();
    place.write("a", "abc");
    let lines = place.words("digest --json -a crc32 a a").text();
    assert_eq!(lines, "{\"algorithm\":\"crc32\",\"digest\":\"352441c2\",\"file\":\"a\"}\n".repeat(2));
    let line = place.words_with("digest --json -a crc32", b"abc").text();
    assert_eq!(line, "{\"algorithm\":\"crc32\",\"digest\":\"352441c2\",\"file\":null}\n");
}

#[test]
fn a_file_that_fails_does_not_stop_the_others() {
    let place = Place::new();
    place.write("a", "abc");
    std::fs::create_dir(place.path("folder")).unwrap();
    let ended = place.words("digest -a crc32 a missing a");
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.out, b"(a) = 352441c2\n(a) = 352441c2\n");
    assert!(ended.err.contains("error: can not open input file missing: No such file"), "{}", ended.err);
    let ended = place.words("digest -a crc32 folder a");
    assert_eq!((ended.code, ended.out.as_slice()), (Some(1), &b"(a) = 352441c2\n"[..]));
    assert!(ended.err.contains("folder: is a directory"), "{}", ended.err);
}

#[test]
fn wrong_calls() {
    let place = Place::new();
    place.write("a", "abc");
    place.key("key", "key");
    place.key("empty", "");
    for (line, words) in [
        ("digest", &["-a"][..]),
        ("digest a", &["-a"]),
        ("digest -l -v", &["-l allows no other option or file"]),
        ("digest -l a", &["-l allows no other option or file"]),
        ("digest -la sha1", &["-l allows no other option or file"]),
        ("digest -x", &["-x"]),
        ("digest -a", &["-a"]),
        ("digest -a sha1 -k key a", &["-k"]),
        ("mac -l -k key", &["-l allows no other option or file"]),
        ("mac -a sha1_hmac -k key -K label a", &["-k and -K"]),
        ("mac -a sha1_hmac -T token a", &["-T needs -K"]),
        ("mac -a sha1_hmac -K label --passphrase-file key a", &["-K and --passphrase-file"]),
        ("mac -a sha1_hmac -k key --passphrase-file key a", &["--passphrase-file"]),
        ("frobnicate", &["frobnicate"]),
        ("", &["Usage"]),
    ] {
        place.words(line).bad(2, words);
    }
    place.words("digest -a sha9 a").bad(1, &["unknown algorithm -- sha9", "digest -l"]);
    place.words("mac -a sha1_hmac -k empty a").bad(1, &["empty", "invalid key"]);
    place.words("mac -a sha1_hmac -k missing a").bad(1, &["missing", "No such file"]);
    place.words("mac -a aes_cmac -k key a").bad(1, &["key", "invalid key", "3 bytes", "16, 24 or 32"]);
}

#[test]
fn a_full_standard_output_is_an_error() {
    let place = Place::new();
    let run = |line: &str| {
        let shell = format!("exec {MILLSTREAM} {line}");
        place.run("sh", ["-c", &shell], b"abc")
    };
    run("digest -a sha1 >/dev/full").bad(1, &["standard output", "No space left on device"]);
    run("digest -l >/dev/full").bad(1, &["standard output", "No space left on device"]);
    run("digest -a sha1 < /").bad(1, &["standard input", "directory"]);
}

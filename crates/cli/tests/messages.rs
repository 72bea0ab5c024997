//! Messages: what a wrong name was meant to be, colours, and nothing that commands a terminal.

mod common;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use common::{MILLSTREAM, Place, Terminal, bytes, ended};

#[test]
fn a_wrong_name_gets_the_right_one_as_an_answer() {
    let place = Place::new();
    place.key("key", bytes(32));
    for (line, code, words) in [
        ("digest -a sha265", 1, &["unknown algorithm -- sha265; did you mean sha256?", "'digest -l'"][..]),
        ("mac -a sha256 -k key", 1, &["unknown algorithm -- sha256; did you mean sha256_hmac?"]),
        ("mac -a SHA-512 -k key", 1, &["did you mean sha512_hmac?"]),
        ("encrypt -a AES-256-CBC -k key", 1, &["did you mean aes-256-cbc?"]),
        ("encrypt -a camelia-cbc -k key", 1, &["did you mean camellia-cbc?"]),
        ("encrypt -a aes-gcm -k key", 2, &["-a aes-gcm needs --format raw\n"]),
        ("encrypt -a aes-cbc -k key", 2, &["-a aes-cbc needs --format openssl or --format raw"]),
        ("encrypt --format openssl -a aes-gcm", 2, &["the format openssl has no aes-gcm; use --format raw"]),
        ("run --without aesni -- true", 2, &["there is no feature \"aesni\"", "did you mean aes?"]),
        ("compare --with-only pclmulqdq -- true", 2, &["did you mean pclmul?"]),
        ("speed aes-128-gmc", 1, &["did you mean aes-128-gcm?"]),
        ("encrpyt", 2, &["encrypt"]),
        #[cfg(not(feature = "tables"))]
        ("columns hash --column a in.csv out.csv", 2, &["built without tables", "with the feature tables"]),
        ("keygen --output", 2, &["--output"]),
        ("trace", 2, &["--pid", "CMD"]),
        ("revoke", 2, &["--all", "GRANT"]),
        ("status --socket nowhere", 1, &["no service at nowhere (nothing of that name is there)"]),
    ] {
        let error = place.words(line).bad(code, words);
        assert!(!error.contains("entity"), "{error}");
    }
    // No absent algorithm is taken for a slip of the hand.
    for name in ["shake256", "blake2b", "b3"] {
        let error = place.words(&format!("digest -a {name}")).bad(1, &["unknown algorithm"]);
        assert!(!error.contains("did you mean"), "{error}");
    }
}

#[test]
fn other_spellings_are_the_same_name() {
    let place = Place::new();
    place.key("key", bytes(32));
    let digest = place.words_with("digest -a sha512_256", b"abc").good();
    for name in ["SHA512/256", "sha-512-256", "SHA512-256", "sha512_t256"] {
        assert_eq!(place.words_with(&format!("digest -a {name}"), b"abc").good(), digest, "{name}");
    }
    assert_eq!(place.words_with("digest -v -a SHA256", b"").text()[..7], *"SHA256 ");
    let code = place.words_with("mac -a sha256_hmac -k key", b"abc").good();
    for name in ["HMAC-SHA256", "hmac-sha-256", "SHA256-HMAC"] {
        assert_eq!(place.words_with(&format!("mac -a {name} -k key"), b"abc").good(), code, "{name}");
    }
}

#[test]
fn a_minus_is_standard_input() {
    let place = Place::new();
    place.key("key", bytes(32));
    place.write("a", "abc");
    let digest = place.words("digest -a sha256 a").text();
    assert_eq!(place.words_with("digest -a sha256 -", b"abc").text(), digest);
    let two = place.words_with("digest -a sha256 a -", b"abc").text();
    assert_eq!(two, format!("(a) = {digest}(-) = {digest}"));
    let code = place.words("mac -a sha256_hmac -k key a").text();
    assert_eq!(place.words_with("mac -a sha256_hmac -k key -", b"abc").text(), code);
    // A file of that name has another one, too.
    place.write("-", "other");
    assert_ne!(place.words_with("digest -a sha256 ./-", b"abc").text(), digest);
}

#[test]
fn a_key_that_is_none_is_doubted_by_mac_as_well() {
    let place = Place::new();
    place.key("zero", [0; 32]);
    place.key("hex", common::hex(&bytes(32)));
    place.key("text", "correct horse battery staple 123");
    for (key, word) in [("zero", "every byte is zero"), ("hex", "hexadecimal"), ("text", "--passphrase-file")]
    {
        let ended = place.words(&format!("mac -a sha256_hmac -k {key}"));
        assert_eq!((ended.code, ended.err.lines().count()), (Some(0), 1), "{}", ended.err);
        assert!(
            ended.err.starts_with("millstream mac: warning: ") && ended.err.contains(word),
            "{}",
            ended.err
        );
        place.words(&format!("mac -q -a sha256_hmac -k {key}")).good();
    }
}

#[test]
fn a_pin_is_called_one() {
    let place = Place::new();
    place.write("pin", "1234\n");
    place.key("empty", "\n");
    let speed = |file: &str| place.words(&format!("speed --pkcs11 missing.so --pin-file {file} sha256"));
    speed("empty").bad(1, &["empty: invalid PIN. The first line is empty"]);
    let told = speed("pin").bad(1, &["missing.so"]);
    assert!(
        told.starts_with("millstream speed: warning: pin: everyone may read this PIN; chmod 600 pin\n"),
        "{told}"
    );
}

#[test]
fn names_command_no_terminal() {
    let place = Place::new();
    let name = OsStr::from_bytes(b"red\x1b[31m\nforged: line\r\xff");
    let shown = "red\\x1b[31m\\nforged: line\\r";
    place.key("key", bytes(32));
    for line in ["digest -a sha256", "digest -c", "mac -a sha256_hmac -k", "encrypt -k key -i", "encrypt -k"]
    {
        let mut words: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
        words.push(name);
        let ended = place.millstream(words);
        assert!(ended.code != Some(0) && ended.err.contains(shown), "{line}: {:?}", ended.err);
        assert!(!ended.err.contains('\x1b') && !ended.err.contains('\r'), "{line}: {:?}", ended.err);
    }
    for line in [
        "encrypt -k key \x1b[2J",
        "speed \x1b[2J",
        "run --without \x1b[2J -- true",
        "digest -a \x1b[2J",
        "\x1b[2J",
    ] {
        let ended = place.words(line);
        assert!(ended.code != Some(0) && ended.err.contains("[2J"), "{line:?}: {:?}", ended.err);
        assert!(!ended.err.contains('\x1b'), "{line:?}: {:?}", ended.err);
    }
    // At a terminal, results are as harmless. Elsewhere they are the bytes that other programs need.
    std::fs::write(place.path("").join(OsStr::from_bytes(b"a\x1b[31mb")), "abc").unwrap();
    for form in ["-v", "--sum", "--tag"] {
        let shell = format!("exec {MILLSTREAM} digest {form} -a sha256 a*b");
        let (code, screen) = Terminal::new(&place, &shell).end();
        assert!(code == Some(0) && screen.contains("a\\x1b[31mb") && !screen.contains('\x1b'), "{screen:?}");
        let piped = place.run("sh", ["-c", &shell], b"").text();
        assert!(piped.contains("a\x1b[31mb"), "{piped:?}");
    }
}

#[test]
fn json_keeps_every_byte_of_a_name() {
    let place = Place::new();
    let name = OsStr::from_bytes(b"caf\xe9 \x1b");
    std::fs::write(place.path("").join(name), "abc").unwrap();
    let words = ["digest", "--json", "-a", "sha256"].map(OsStr::new);
    let out = place.millstream(words.into_iter().chain([name])).text();
    assert!(!out.contains('\x1b'), "{out}");
    let line: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(line["file"], "caf\u{fffd} \u{1b}");
    let encoded = line["file_base64"].as_str().unwrap();
    assert_eq!(place.run("base64", ["-d"], encoded.as_bytes()).good(), name.as_bytes());
    place.write("plain", "abc");
    let line: serde_json::Value =
        serde_json::from_str(&place.words("digest --json -a sha256 plain").text()).unwrap();
    assert!(line.get("file_base64").is_none(), "{line}");
}

#[test]
fn errors_are_red_on_a_terminal_that_wants_colours() {
    let place = Place::new();
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    for line in ["digest -a sha9", "digest --nonsense", "encrypt -k missing"] {
        let plain = place.words(line);
        let start = format!("millstream {}: error: ", name(line));
        assert!(plain.err.starts_with(&start) && !plain.err.contains('\x1b'), "{}", plain.err);
        let at_terminal = |variables: &str| {
            let shell = format!("env {variables} TERM=xterm {MILLSTREAM} {line} </dev/null");
            Terminal::new(&place, &shell).end().1
        };
        let coloured = at_terminal("-u NO_COLOR");
        assert!(coloured.contains("\x1b[1m\x1b[31merror:\x1b[0m "), "{coloured:?}");
        let colourless = at_terminal("NO_COLOR=1");
        assert!(colourless.contains(&start) && !colourless.contains('\x1b'), "{colourless:?}");
    }
    // Under the names of Solaris, messages are as there.
    symlink(MILLSTREAM, place.path("digest")).unwrap();
    let mut command = Command::new(place.path("digest"));
    let told = ended(command.args(["-a", "sha9"]).env("CLICOLOR_FORCE", "1"), b"").err;
    assert!(told.starts_with("digest: unknown algorithm -- sha9"), "{told:?}");
}

//! `keygen` makes keys that the other commands take, and shows or overwrites none.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use common::{MILLSTREAM, Place, Terminal, exists};

fn mode(place: &Place, name: &str) -> u32 {
    place.path(name).metadata().unwrap().mode() & 0o7777
}

#[test]
fn each_kind_makes_a_file_that_its_commands_take() {
    let place = Place::new();
    place.write("data", "data");
    for (line, len) in [
        ("keygen -o key", 32),
        ("keygen aes -b 128 -o aes128", 16),
        ("keygen aes --bits 192 -o aes192", 24),
        ("keygen aes-xts -o xts", 64),
        ("keygen camellia -o camellia", 32),
        ("keygen chacha20-poly1305 -o chacha", 32),
        ("keygen hmac -o hmac", 32),
        ("keygen hmac -b 512 -o hmac512", 64),
    ] {
        assert_eq!(place.words(line).good(), b"", "{line}");
        let name = line.rsplit(' ').next().unwrap();
        assert_eq!((place.read(name).len(), mode(&place, name)), (len, 0o600), "{line}");
    }
    place.words("encrypt -k key -i data -o sealed").good();
    assert_eq!(place.words("decrypt -k key -i sealed").good(), b"data");
    let xts = "--format raw -a aes-xts -k xts --iv 00112233445566778899aabbccddeeff -i key";
    place.words(&format!("encrypt -q {xts} -o sealed")).good();
    let aead = "--format raw -k chacha -a chacha20-poly1305 --iv 00112233445566778899aabb -i data";
    place.words(&format!("encrypt {aead} -o sealed")).good();
    place.words("encrypt -q -a aes -k aes192 -i data -o sealed").good();
    place.words("mac -a aes_cmac -k aes128 data").good();
    place.words("mac -a sha512_hmac -k hmac512 data").good();
}

#[test]
fn a_keyset_is_one_that_encrypt_takes() {
    let place = Place::new();
    for line in ["keygen tink -o keyset", "keygen tink -b 128 -o keyset128"] {
        assert_eq!(place.words(line).good(), b"", "{line}");
        let name = line.rsplit(' ').next().unwrap();
        assert_eq!(mode(&place, name), 0o600);
        let keyset: serde_json::Value = serde_json::from_slice(&place.read(name)).unwrap();
        assert_eq!((&keyset["key"][0]["keyId"], &keyset["key"][1]), (&keyset["primaryKeyId"], &().into()));
        let sealed = place.words_with(&format!("encrypt -k {name}"), b"data").good();
        assert_eq!(place.words_with(&format!("decrypt -k {name}"), &sealed).good(), b"data");
    }
}

#[test]
fn no_two_keys_are_the_same() {
    let place = Place::new();
    for kind in ["aes", "hmac", "tink"] {
        let make = || place.words(&format!("keygen {kind}")).good();
        assert_ne!(make(), make(), "{kind}");
    }
}

#[test]
fn a_key_replaces_nothing() {
    let place = Place::new();
    place.key("key", "old");
    symlink("nowhere", place.path("dangling")).unwrap();
    std::fs::create_dir(place.path("folder")).unwrap();
    let names = place.names();
    for name in ["key", "./key", "dangling", "folder", "/dev/null"] {
        let error = place.words(&format!("keygen -o {name}")).bad(1, &[name, "is there already"]);
        assert!(error.starts_with("millstream keygen: error: "), "{error}");
    }
    place.words("keygen -o missing/key").bad(1, &["missing/key", "No such file or directory"]);
    assert_eq!((place.read("key"), place.names()), (b"old".to_vec(), names));
    assert!(!exists(&place.path("nowhere")));
}

#[test]
fn wrong_lengths_name_the_right_ones() {
    let place = Place::new();
    for (line, words) in [
        ("keygen aes -b 512", &["512", "128 or 192 or 256 bits"][..]),
        ("keygen hmac -b 100", &["128 to 8192 bits"]),
        ("keygen tink -b 192", &["128 or 256 bits"]),
        ("keygen chacha20 -b 128", &["256 bits"]),
        ("keygen -b many", &["many"]),
        ("keygen ase", &["ase", "aes"]),
        ("keygen -o a -o b", &["multiple times"]),
    ] {
        place.words(line).bad(2, words);
    }
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn no_terminal_shows_a_key() {
    let place = Place::new();
    let at_terminal = |line: &str| Terminal::new(&place, &format!("{MILLSTREAM} {line}")).end();
    for line in ["keygen", "keygen -o -", "keygen hmac", "keygen tink"] {
        let (code, shown) = at_terminal(line);
        assert!(
            code == Some(2) && shown.contains("is a terminal") && shown.contains("-o"),
            "{line}: {shown}"
        );
    }
    // A keyset is text, and its owner may insist.
    let (code, shown) = at_terminal("keygen tink -o -");
    assert!(code == Some(0) && shown.contains("primaryKeyId"), "{shown}");
    let (code, shown) = at_terminal("keygen -o key");
    assert_eq!((code, shown.as_str(), place.read("key").len()), (Some(0), "", 32));
}

#[test]
fn a_redirection_that_everyone_may_read_is_told() {
    let place = Place::new();
    for (umask, is_told) in [("022", true), ("077", false)] {
        let shell = format!("umask {umask}; exec {MILLSTREAM} keygen > key{umask}");
        let ended = place.run("sh", ["-c", &shell], b"");
        assert_eq!(
            (ended.code, ended.err.contains("everyone may read")),
            (Some(0), is_told),
            "{}",
            ended.err
        );
        assert_eq!(place.read(&format!("key{umask}")).len(), 32);
    }
}

#[test]
fn a_umask_takes_nothing_from_the_owner() {
    let place = Place::new();
    let shell = format!("umask 000; exec {MILLSTREAM} keygen -o key");
    place.run("sh", ["-c", &shell], b"").good();
    assert_eq!(mode(&place, "key"), 0o600);
    std::fs::set_permissions(place.path("key"), std::fs::Permissions::from_mode(0o400)).unwrap();
    place.words("encrypt -k key -o sealed").good();
}

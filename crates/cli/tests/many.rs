//! `encrypt` and `decrypt` of several files: each has an output of its own, and fails alone.

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{MILLSTREAM, Place, bytes, exists};

/// The lengths of a tree's files: empty, small, at the bounds of batches and segments, and large among small ones.
fn lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..300).map(|n| n * 13 % 4099).collect();
    let bounds = [64 << 10, (1 << 20) - 56, 512 << 10];
    lengths.extend(bounds.iter().flat_map(|bound| [bound - 1, *bound, bound + 1]));
    lengths.extend([0, 3_000_000, 1, 5_000_000]);
    lengths.rotate_left(150);
    lengths
}

/// Makes the tree and a key, and returns the names of the files.
fn tree(place: &Place) -> Vec<String> {
    place.key("key", bytes(32));
    let mut names = Vec::new();
    for (n, len) in lengths().into_iter().enumerate() {
        let name = format!("f{n}");
        place.write(&name, bytes(len));
        names.push(name);
    }
    names
}

/// A place with a key, a passphrase and a few files.
fn few() -> Place {
    let place = Place::new();
    place.key("key", bytes(32));
    place.key("pass", "correct horse\n");
    fs::create_dir(place.path("out")).unwrap();
    for (name, len) in [("a", 10), ("b", 5000), ("c", 100_000)] {
        place.write(name, bytes(len));
    }
    place
}

fn same(place: &Place, folder: &str) {
    for name in ["a", "b", "c"] {
        assert!(place.read(&format!("{folder}/{name}")) == place.read(name), "{folder}/{name}");
    }
}

#[test]
fn a_tree_is_encrypted_beside_itself_and_decrypted_into_a_folder() {
    let place = Place::new();
    let files = tree(&place);
    fs::set_permissions(place.path("f7"), Permissions::from_mode(0o640)).unwrap();
    let before = place.names();
    place.words(&format!("encrypt -k key {}", files.join(" "))).good();
    let sealed: Vec<String> = files.iter().map(|file| format!("{file}.enc")).collect();
    let mut expected: Vec<String> = before.into_iter().chain(sealed.iter().cloned()).collect();
    expected.sort();
    assert_eq!(place.names(), expected);
    assert_eq!(place.path("f7.enc").metadata().unwrap().mode() & 0o777, 0o640);

    fs::create_dir(place.path("out")).unwrap();
    place.words(&format!("decrypt -k key --output-dir out {}", sealed.join(" "))).good();
    for (file, len) in files.iter().zip(lengths()) {
        assert!(place.read(file) == bytes(len), "{file} is as it was");
        assert!(place.read(&format!("out/{file}")) == bytes(len), "{file}");
    }
    // One of them alone: the file is no other than that of a run of its own.
    assert_eq!(place.words("decrypt -k key -i f7.enc").good(), bytes(lengths()[7]));
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), files.len());
}

#[test]
fn inputs_are_named_in_every_way() {
    for line in ["-i a -i b -i c", "a b c", "-i a b c", "a b -i c", "--output-dir . a b c"] {
        let place = few();
        place.words(&format!("encrypt -k key {line}")).good();
        place.words("decrypt -k key --output-dir out a.enc b.enc c.enc").good();
        same(&place, "out");
    }
    let place = few();
    place.words("encrypt -k key a").good();
    assert_eq!(place.words("decrypt -k key -i a.enc").good(), place.read("a"));
    // An output that is named is another matter.
    place.words("encrypt -k key b -o named").good();
    assert_eq!(place.words("decrypt -k key -i named").good(), place.read("b"));
    place.words("encrypt -k key --suffix .sealed c").good();
    place.words("decrypt -k key --suffix .sealed --output-dir out c.sealed").good();
    assert!(place.read("out/c") == place.read("c"));
    // The names of Solaris have repeated options, and not several inputs.
    symlink(MILLSTREAM, place.path("encrypt")).unwrap();
    place.run(place.path("encrypt"), ["-k", "key", "-i", "a", "-i", "b", "-o", "last"], b"").good();
    assert_eq!(place.words("decrypt -k key -i last").good(), place.read("b"));
}

#[test]
fn every_format_goes_there_and_back() {
    for (format, secret) in [
        ("", "--passphrase-file pass"),
        ("--aad=context", "-k key"),
        ("-q --format openssl -a aes-256-ctr --iter 10", "--passphrase-file pass"),
        ("-q -a aes", "-k key"),
        ("-q -a arcfour", "--passphrase-file pass"),
        ("-q --format raw -a aes-ecb", "-k key"),
    ] {
        let place = few();
        place.words(&format!("encrypt {format} {secret} a b c")).good();
        place.words(&format!("decrypt {format} {secret} --output-dir out a.enc b.enc c.enc")).good();
        same(&place, "out");
        if format.contains("openssl") {
            let options = ["enc", "-d", "-aes-256-ctr", "-pbkdf2", "-iter", "10", "-pass", "file:pass"];
            let theirs = place.run("openssl", options.into_iter().chain(["-in", "b.enc"]), b"");
            assert!(theirs.good() == place.read("b"));
        }
    }
}

#[test]
fn a_passphrase_becomes_a_key_once_for_all_files_of_a_run() {
    let place = few();
    place.words("encrypt --passphrase-file pass a b c").good();
    let sealed = ["a.enc", "b.enc", "c.enc"].map(|name| place.read(name));
    assert_eq!((&sealed[0][..8], &sealed[0][..40]), (&b"Millstrm"[..], &sealed[1][..40]));
    assert_eq!(sealed[0][..40], sealed[2][..40]);
    assert_ne!(sealed[0][41..73], sealed[1][41..73], "each stream has a salt of its own");
    // Files of several runs are decrypted together.
    place.words("encrypt --passphrase-file pass --suffix .x -f a").good();
    fs::rename(place.path("a.x"), place.path("d.enc")).unwrap();
    place.words("decrypt --passphrase-file pass --output-dir out a.enc b.enc c.enc d.enc").good();
    same(&place, "out");
    assert_eq!(place.read("out/d"), place.read("a"));
}

#[test]
fn a_file_that_fails_is_named_and_the_others_are_done() {
    let place = few();
    fs::create_dir(place.path("folder")).unwrap();
    place.write("b.enc", "old");
    let ended = place.words("encrypt -k key missing a folder b - c a");
    let said: Vec<&str> = ended.err.lines().collect();
    let expected = [
        "can not open input file missing: No such file or directory",
        "folder: is a directory; name a file",
        "b.enc: is there already; replace it with --force, or choose another folder with --output-dir",
        "standard input has no name to name its output after; leave - out, or name the file",
        "a: its output would be that of a; choose another folder with --output-dir",
        "5 of 7 files failed; the others are done",
    ];
    assert_eq!(said.len(), expected.len(), "{}", ended.err);
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.ends_with(expected), "{said}");
    }
    assert_eq!((ended.code, place.read("b.enc")), (Some(1), b"old".to_vec()));
    place.words("encrypt -k key --force b").good();

    // One changed file among good ones, and one that is no encrypted file by its name.
    let mut changed = place.read("b.enc");
    changed[100] ^= 1;
    place.write("b.enc", changed);
    place.write("short.enc", [40; 39]);
    place.write("other.enc", "plain text");
    let ended = place.words("decrypt -k key --output-dir out a.enc b.enc short.enc other.enc c.enc a");
    for words in [
        "b.enc: segment 0 does not authenticate",
        "short.enc: ends inside its header",
        "other.enc: it looks like no known format",
        "a: its name does not end in .enc; name its end with --suffix, or its output with -o",
        "4 of 6 files failed",
    ] {
        assert!(ended.err.contains(words), "no '{words}' in {}", ended.err);
    }
    assert_eq!(ended.code, Some(1));
    let mut left: Vec<_> =
        fs::read_dir(place.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a", "c"]);
}

#[test]
fn force_replaces_outputs_and_spares_secrets_and_inputs() {
    let place = few();
    place.write("a.enc", "old");
    fs::set_permissions(place.path("a.enc"), Permissions::from_mode(0o604)).unwrap();
    // The key has the name of an output, and another input, too.
    place.key("c.enc", bytes(32));
    place.write("b.enc", "other input");
    let ended = place.words("encrypt -q -k c.enc --force a b c b.enc");
    assert!(ended.err.contains("c.enc: is the key file c.enc"), "{}", ended.err);
    assert!(ended.err.contains("b: its output b.enc is another input"), "{}", ended.err);
    assert_eq!((ended.code, ended.err.lines().count()), (Some(1), 3), "{}", ended.err);
    assert_eq!((place.read("b.enc"), place.read("c.enc")), (b"other input".to_vec(), bytes(32)));
    assert_eq!(place.words("decrypt -k c.enc -i a.enc").good(), place.read("a"));
    assert_eq!(place.path("a.enc").metadata().unwrap().mode() & 0o777, 0o604);
    assert_eq!(place.words("decrypt -k c.enc -i b.enc.enc").good(), b"other input");
    // In place, for those who say so twice.
    place.words("encrypt -k key --suffix= --force a b").good();
    place.words("decrypt -k key --suffix= --force a b").good();
    assert!(place.read("a") == bytes(10) && place.read("b") == bytes(5000));
}

#[test]
fn what_can_not_be_meant_is_refused_before_any_file_is_read() {
    let place = few();
    let before = place.names();
    for (line, words) in [
        ("encrypt -k key -o x a b", "-o names one output for several inputs"),
        ("encrypt -k key -o x --output-dir out a", "leave out --output-dir"),
        ("encrypt -k key --output-dir out", "need files to name outputs after"),
        ("encrypt -k key --output-dir gone a", "there is no such folder; make it first"),
        ("encrypt -k key --suffix x/y a", "it has no /"),
        ("encrypt --format raw -a aes-ctr -k key --iv 00112233445566778899aabbccddeeff a b", "one file"),
        ("decrypt --format solaris -k key a.enc b.enc", "name it with -a"),
        ("encrypt -l a", "-l allows no other option"),
    ] {
        place.words(line).bad(2, &[words]);
    }
    place.words("encrypt -k gone a b").bad(1, &["gone: can not read it"]);
    assert_eq!(place.names(), before);
}

#[test]
fn an_interrupt_leaves_whole_outputs_only() {
    let place = few();
    place.run("mkfifo", ["pipe"], b"").good();
    let mut child = Command::new("env")
        .args(["--default-signal", MILLSTREAM, "encrypt", "-k", "key", "a", "b", "pipe", "c"])
        .current_dir(place.path(""))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Nobody writes to the pipe, so the run does not end.
    let until = Instant::now() + Duration::from_secs(60);
    while !["a.enc", "b.enc", "c.enc"].iter().all(|name| exists(&place.path(name))) {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let names = ["a", "a.enc", "b", "b.enc", "c", "c.enc", "key", "out", "pass", "pipe"];
    assert_eq!(place.names(), names);
    place.words("decrypt -k key --output-dir out a.enc b.enc c.enc").good();
    same(&place, "out");
}

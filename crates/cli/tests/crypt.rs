//! `encrypt` and `decrypt`: the default format, files and streams, and every way to go wrong.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use common::{MILLSTREAM, Place, bytes, exists};

const SEGMENT: usize = 1 << 20;
const HEADER: usize = 40;
const TAG: usize = 16;

/// Lengths of plaintext around the segment boundaries.
const LENGTHS: [usize; 8] = [
    0,
    1,
    SEGMENT - HEADER - TAG - 1,
    SEGMENT - HEADER - TAG,
    SEGMENT - HEADER - TAG + 1,
    2 * (SEGMENT - TAG) - HEADER,
    2 * (SEGMENT - TAG) - HEADER + 1,
    3 * SEGMENT,
];

fn place_with_key() -> Place {
    let place = Place::new();
    place.key("key", bytes(32));
    place
}

#[test]
fn files_and_streams_give_the_same_in_every_combination() {
    let place = place_with_key();
    for len in LENGTHS {
        let data = bytes(len);
        place.write("plain", &data);
        place.words("encrypt -k key -i plain -o sealed").good();
        let sealed = place.read("sealed");
        let segments = (len + HEADER).div_ceil(SEGMENT - TAG).max(1);
        assert_eq!(sealed.len(), HEADER + len + segments * TAG, "{len} bytes");
        let piped = place.words_with("encrypt -k key", &data).good();
        assert_eq!(piped.len(), sealed.len());
        assert_ne!(piped[1..40], sealed[1..40], "a salt and a nonce prefix of their own");

        assert_eq!(place.words_with("decrypt -k key", &sealed).good(), data);
        assert_eq!(place.words("decrypt -k key -i sealed").good(), data);
        place.words_with("decrypt -k key -o opened", &piped).good();
        assert_eq!(place.read("opened"), data);
        place.words("decrypt -k key -i sealed -o opened").good();
        assert_eq!(place.read("opened"), data);
    }
    assert_eq!(place.names(), ["key", "opened", "plain", "sealed"]);
}

#[test]
fn what_cat_has_read_of_standard_input_stays_read() {
    let place = place_with_key();
    place.write("data", b"HEADtail");
    let shell =
        format!("{{ dd bs=4 count=1 status=none >/dev/null; exec {MILLSTREAM} encrypt -k key; }} < data");
    let sealed = place.run("sh", ["-c", &shell], b"").good();
    assert_eq!(place.words_with("decrypt -k key", &sealed).good(), b"tail");
}

#[test]
fn associated_data_must_be_the_same() {
    let place = place_with_key();
    let sealed = place.words_with("encrypt -k key --aad=context", b"data").good();
    assert_eq!(place.words_with("decrypt -k key --aad=context", &sealed).good(), b"data");
    for line in ["decrypt -k key", "decrypt -k key --aad=contexT"] {
        place.words_with(line, &sealed).bad(1, &["standard input", "segment 0 does not authenticate"]);
    }
}

#[test]
fn input_and_output_may_be_the_same_file_by_any_name() {
    let place = place_with_key();
    let data = bytes(3 * SEGMENT);
    for output in ["data", "./data", "soft", "hard"] {
        let path = place.write("data", &data);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let _ = symlink("data", place.path("soft"));
        let _ = std::fs::remove_file(place.path("hard"));
        std::fs::hard_link(&path, place.path("hard")).unwrap();
        place.words(&format!("encrypt -k key -i data -o {output}")).good();
        assert_ne!(place.read(output), data);
        assert!(place.path("soft").symlink_metadata().unwrap().is_symlink());
        assert_eq!(place.path(output).metadata().unwrap().mode() & 0o777, 0o640);
        if output == "hard" {
            assert_eq!(place.read("data"), data, "the other name keeps the old contents");
        }
        place.words(&format!("decrypt -k key -i {output} -o data")).good();
        assert_eq!(place.read("data"), data);
    }
    assert_eq!(place.names(), ["data", "hard", "key", "soft"]);
}

#[test]
fn a_new_file_has_the_permissions_of_any_new_file() {
    let place = place_with_key();
    let shell = format!("umask 027; echo data | {MILLSTREAM} encrypt -k key -o new; echo x > other");
    place.run("sh", ["-c", &shell], b"").good();
    assert_eq!(place.path("new").metadata().unwrap().mode(), place.path("other").metadata().unwrap().mode());
}

#[test]
fn every_change_is_noticed_and_leaves_nothing() {
    let place = place_with_key();
    let data = bytes(2 * SEGMENT);
    let sealed = place.words_with("encrypt -k key", &data).good();
    place.write("opened", "what was there before");
    let check = |what: &str, changed: &[u8], segment: usize| {
        place.write("changed", changed);
        let words = ["changed: ", &format!("segment {segment} does not authenticate")];
        place.words("decrypt -k key -i changed -o opened").bad(1, &words);
        assert_eq!(place.read("opened"), b"what was there before", "{what}");
        place.words("decrypt -k key -i changed -o new").bad(1, &words);
        assert_eq!(place.names(), ["changed", "key", "opened"], "{what}");
        assert_eq!(place.read("changed"), changed);
        // In place, the input is the output.
        place.words("decrypt -k key -i changed -o changed").bad(1, &words);
        assert_eq!(place.read("changed"), changed, "{what}");
        // On a stream, only whole segments that verified are written.
        let ended = place.words_with("decrypt -k key", changed);
        assert_eq!(ended.code, Some(1), "{what}");
        let written = (segment * (SEGMENT - TAG)).saturating_sub(HEADER);
        assert!(
            ended.out == data[..written],
            "{what}: {} bytes where {written} are verified",
            ended.out.len()
        );
    };
    for (at, segment) in [
        (1, 0),
        (33, 0),
        (39, 0),
        (40, 0),
        (SEGMENT - 1, 0),
        (SEGMENT, 1),
        (2 * SEGMENT - 1, 1),
        (2 * SEGMENT, 2),
        (sealed.len() - 1, 2),
    ] {
        let mut changed = sealed.clone();
        changed[at] ^= 0x80;
        check(&format!("byte {at}"), &changed, segment);
    }
    for (len, segment) in [
        (sealed.len() - 1, 2),
        (2 * SEGMENT + TAG, 2),
        (2 * SEGMENT + 1, 2),
        (2 * SEGMENT, 1),
        (2 * SEGMENT - 1, 1),
        (SEGMENT, 0),
        (HEADER + TAG, 0),
        (HEADER, 0),
    ] {
        check(&format!("cut to {len}"), &sealed[..len], segment);
    }
    let mut longer = sealed.clone();
    longer.push(0);
    check("one byte more", &longer, 2);
    let mut swapped = sealed.clone();
    swapped[SEGMENT..2 * SEGMENT].copy_from_slice(&sealed[HEADER..HEADER + SEGMENT]);
    check("segment moved", &swapped, 1);
    for len in [0, 1, 20, HEADER - 1] {
        place.write("changed", &sealed[..len]);
        place.words("decrypt --format tink -k key -i changed -o new").bad(1, &["changed", "cut off"]);
        assert!(!exists(&place.path("new")));
    }
}

#[test]
fn the_wrong_key_is_an_error_that_says_so() {
    let place = place_with_key();
    let sealed = place.words_with("encrypt -k key", b"data").good();
    place.key("other", bytes(33).split_off(1));
    place.key("short", bytes(31));
    place.key("empty", "");
    place.words_with("decrypt -k other", &sealed).bad(1, &["standard input", "the key"]);
    place.words_with("decrypt", &sealed).bad(2, &["-k"]);
    for command in ["encrypt", "decrypt"] {
        let run = |key: &str| place.words_with(&format!("{command} -k {key}"), &sealed);
        run("short").bad(1, &["short", "31 bytes", "32 bytes"]);
        run("empty").bad(1, &["empty", "invalid key"]);
        run("missing").bad(1, &["missing", "No such file"]);
        run(".").bad(1, &[".: ", "directory"]);
    }
}

#[test]
fn a_key_that_everyone_may_read_is_warned_of() {
    let place = place_with_key();
    std::fs::set_permissions(place.path("key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let ended = place.words_with("encrypt -k key", b"data");
    assert_eq!(ended.code, Some(0));
    assert!(ended.err.contains("warning: key: everyone may read"), "{}", ended.err);
    place.words_with("encrypt -q -k key", b"data").good();
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let place = place_with_key();
    place.write("data", "data");
    std::fs::create_dir(place.path("folder")).unwrap();
    for command in ["encrypt", "decrypt"] {
        let run = |rest: &str| place.words(&format!("{command} -k key {rest}"));
        run("-i missing -o new").bad(1, &["can not open input file missing: No such file"]);
        run("-i folder -o new").bad(1, &["folder: is a directory"]);
    }
    place.words("encrypt -k key -i data -o folder").bad(1, &["folder: is a directory"]);
    place.words("encrypt -k key -i data -o missing/new").bad(1, &["missing/new", "No such file"]);
    symlink("loop", place.path("loop")).unwrap();
    place.words("encrypt -k key -i data -o loop").bad(1, &["loop", "symbolic links"]);
    assert_eq!(place.names(), ["data", "folder", "key", "loop"]);
    place.words("decrypt -i data").bad(2, &["data", "--format"]);
}

#[test]
fn a_link_to_nothing_is_filled() {
    let place = place_with_key();
    symlink("target", place.path("link")).unwrap();
    place.words_with("encrypt -k key -o link", b"data").good();
    assert!(place.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(place.words("decrypt -k key -i target").good(), b"data");
}

#[test]
fn devices_and_pipes_are_written_directly() {
    let place = place_with_key();
    place.write("data", bytes(100_000));
    place.words("encrypt -k key -i data -o /dev/null").good();
    place.words("encrypt -k key -i data -o /dev/full").bad(1, &["/dev/full", "No space left"]);
    let piped = place.words("encrypt -k key -i data -o /dev/stdout").good();
    assert_eq!(
        place.words_with("decrypt -k key -i /dev/stdin -o /dev/stdout", &piped).good(),
        bytes(100_000)
    );
    let shell = format!("exec {MILLSTREAM} encrypt -k key -i data >/dev/full");
    place.run("sh", ["-c", &shell], b"").bad(1, &["standard output", "No space left"]);
    // The kernel's own files have no length.
    let version = std::fs::read("/proc/version").unwrap();
    place.words("encrypt -k key -i /proc/version -o sealed").good();
    assert_eq!(place.words("decrypt -k key -i sealed").good(), version);
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let place = place_with_key();
    std::fs::create_dir(place.path("small")).unwrap();
    place.write("data", bytes(3 * SEGMENT));
    // A limit on the file's length acts like a full disk, and needs no privilege.
    let limited = |line: &str| {
        let shell = format!("trap '' XFSZ; ulimit -f 1024; exec {MILLSTREAM} {line}");
        place.run("sh", ["-c", &shell], b"")
    };
    place.write("small/old", "old");
    limited("encrypt -k key -i data -o small/old").bad(1, &["error writing small/old: File too large"]);
    assert_eq!(place.read("small/old"), b"old");
    limited("encrypt -k key -i data -o data").bad(1, &["data", "File too large"]);
    assert_eq!(place.read("data"), bytes(3 * SEGMENT));
    limited("encrypt -k key -i data -o small/new").bad(1, &["small/new", "File too large"]);
    assert_eq!(std::fs::read_dir(place.path("small")).unwrap().count(), 1);
    // A disk that is really full, where this user may mount one.
    let shell = format!(
        "mount -t tmpfs -o size=1m none small && {{ {MILLSTREAM} encrypt -k key -i data -o small/new; echo $? $(ls -A small); umount small; }}"
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", &shell]).current_dir(place.path(""));
    let ended = common::ended(&mut command, b"");
    if ended.code == Some(0) {
        assert_eq!(ended.out, b"1\n", "{}", ended.err);
        assert!(ended.err.contains("small/new: No space left on device"), "{}", ended.err);
    } else {
        millstream_testkit::skip(&format!("a full tmpfs: this user may not mount: {}", ended.err.trim()));
    }
}

#[test]
fn a_file_is_not_read_and_written_through_standard_output() {
    let place = place_with_key();
    place.write("data", "data");
    let shell = format!("exec {MILLSTREAM} encrypt -k key -i data >> data");
    place.run("sh", ["-c", &shell], b"").bad(2, &["data: is also the output"]);
    assert_eq!(place.read("data"), b"data");
}

#[test]
fn a_file_that_changes_meanwhile_is_an_error() {
    let place = place_with_key();
    // The file is cut off between opening and reading, while the passphrase is read from a pipe.
    place.write("data", bytes(4 * SEGMENT));
    let shell = format!(
        "mkfifo pass; {MILLSTREAM} encrypt --passphrase-file pass -i data -o new & sleep 0.3; truncate -s 100000 data; \
         echo secret > pass; wait $!"
    );
    place.run("sh", ["-c", &shell], b"").bad(1, &["data: changed while it was read"]);
    assert_eq!(place.names(), ["data", "key", "pass"]);
}

#[test]
fn a_passphrase_from_a_file() {
    let place = Place::new();
    place.key("pass", "correct horse\n");
    place.key("same", "correct horse");
    place.key("other", "correct house\n");
    place.key("empty", "\nx\n");
    let data = bytes(2 * SEGMENT);
    place.write("data", &data);
    for line in [
        "encrypt --passphrase-file pass -i data -o sealed",
        "encrypt --passphrase-file pass --aad=a -i data -o bound",
    ] {
        place.words(line).good();
    }
    let sealed = place.read("sealed");
    assert_eq!(&sealed[..8], b"Millstrm");
    assert_eq!(place.words("decrypt --passphrase-file same -i sealed").good(), data);
    assert_eq!(place.words_with("decrypt --passphrase-file same", &sealed).good(), data);
    assert_eq!(place.words("decrypt --passphrase-file pass --aad=a -i bound").good(), data);
    place.words("decrypt --passphrase-file other -i sealed").bad(1, &["segment 0", "the passphrase"]);
    place.words("decrypt --passphrase-file pass -i bound").bad(1, &["associated data"]);
    place.words("decrypt --passphrase-file empty -i sealed").bad(1, &["empty", "first line is empty"]);
    place.words("decrypt -k pass -i sealed").bad(1, &[]);
    place.key("key", bytes(32));
    place.words("decrypt -k key -i sealed").bad(2, &["sealed: was encrypted with a passphrase"]);
    // Every byte of the preamble is authenticated, and none can make the key cost more than is allowed.
    for at in (12..40).step_by(5) {
        let mut changed = sealed.clone();
        changed[at] ^= 0x40;
        place.write("changed", &changed);
        place.words("decrypt --passphrase-file pass -i changed -o new").bad(1, &["changed: "]);
    }
    for len in [8, 39, 40, 79] {
        place.write("changed", &sealed[..len]);
        place
            .words("decrypt --passphrase-file pass -i changed -o new")
            .bad(1, &["changed: ends inside its header"]);
    }
    assert!(!exists(&place.path("new")));
}

/// Runs a command at a terminal of its own, by script(1).
fn at_terminal(place: &Place, line: &str, typed: &str) -> common::Ended {
    let shell = format!("{MILLSTREAM} {line}");
    place.run("script", ["-qec", &shell, "/dev/null"], typed.as_bytes())
}

#[test]
fn a_passphrase_from_the_terminal_is_not_shown() {
    let place = Place::new();
    place.write("data", "data");
    let ended = at_terminal(&place, "encrypt -i data -o sealed", "tell nobody\ntell nobody\n");
    let shown = String::from_utf8_lossy(&ended.out).into_owned();
    assert_eq!(ended.code, Some(0), "{shown}");
    assert!(shown.contains("Enter passphrase:") && shown.contains("Re-enter passphrase:"), "{shown}");
    let ended = at_terminal(&place, "decrypt -i sealed -o opened", "tell nobody\n");
    let shown = String::from_utf8_lossy(&ended.out).into_owned();
    assert_eq!(ended.code, Some(0), "{shown}");
    assert!(!shown.contains("Re-enter"), "{shown}");
    assert_eq!(place.read("opened"), b"data");
    place.key("pass", "tell nobody\n");
    assert_eq!(place.words("decrypt --passphrase-file pass -i sealed").good(), b"data");

    let ended = at_terminal(&place, "encrypt -i data -o new", "one\nother\n");
    assert_eq!(ended.code, Some(1));
    assert!(String::from_utf8_lossy(&ended.out).contains("The two are not the same"));
    assert!(!exists(&place.path("new")));
}

#[test]
fn without_a_terminal_the_remedy_is_named() {
    let place = Place::new();
    let ended = place.run("setsid", [MILLSTREAM, "encrypt"], b"data");
    ended.bad(1, &["there is no terminal", "-k", "--passphrase-file"]);
}

#[test]
fn options_that_a_format_has_no_use_for_are_refused() {
    let place = place_with_key();
    for (line, words) in [
        ("encrypt -l -v", &["-l allows no other option or file"][..]),
        ("decrypt -k key -l", &["-l allows no other option or file"]),
        ("encrypt -k key -K label", &["-k and -K"]),
        ("encrypt -T token -a aes", &["-T needs -K"]),
        ("encrypt -K label --passphrase-file key", &["-K and --passphrase-file"]),
        ("encrypt -k key --passphrase-file key", &["together"]),
        ("encrypt -k key --iv 00", &["--format raw"]),
        ("encrypt -k key --no-pad", &["--format raw"]),
        ("encrypt -k key --iter 5", &["--iter"]),
        ("encrypt -k key -a aes --aad=x", &["--aad"]),
        ("encrypt -k key -a aes-256-cbc", &["--format openssl or --format raw"]),
        ("encrypt -k key --format tink -a aes", &["aes-gcm-hkdf"]),
        ("encrypt -k key --format openssl", &["passphrase", "--format raw"]),
        ("encrypt -k key --format raw", &["-a"]),
        ("encrypt --format raw -a aes-cbc", &["-k"]),
        ("encrypt -k key --format raw -a aes-cbc", &["--iv", "32 hexadecimal digits"]),
        ("encrypt -k key --format raw -a aes-cbc --iv xyz", &["not hexadecimal"]),
        ("encrypt -k key --format raw -a aes-ctr --iv 00 --no-pad", &["padding"]),
        ("encrypt -k key --format raw -a aes-ctr --iv 00 --aad=x", &["authenticate"]),
        ("encrypt --format solaris -k key", &["-a"]),
        ("encrypt --format openssl -a aes-256-gcm", &["no aes-256-gcm", "--format raw"]),
        ("encrypt --format zip -k key", &["zip"]),
        ("encrypt --iter 0 --format openssl", &["0"]),
    ] {
        place.words(line).bad(2, words);
    }
    for line in ["encrypt -k key -a idea", "decrypt --format raw -k key -a idea"] {
        place.words(line).bad(1, &["unknown algorithm -- ", "crypt -l"]);
    }
}

#[test]
fn the_list_marks_the_legacy_ones() {
    let place = Place::new();
    for command in ["encrypt", "decrypt"] {
        let list = place.words(&format!("{command} -l")).text();
        for line in [
            "aes                       128   256  solaris",
            "arcfour                     8  2048  solaris; legacy",
            "3des                      192   192  solaris; legacy",
            "aes-gcm-hkdf              256   256  tink (the default)",
            "camellia-ctr              128   256  openssl, raw",
            "rc4                         8  2048  openssl, raw; legacy",
        ] {
            assert!(list.lines().any(|l| l == line), "no '{line}' in\n{list}");
        }
    }
}

#[test]
fn verbose_draws_the_bar_of_the_solaris_commands() {
    let place = place_with_key();
    let place_data = |len| place.write("data", bytes(len));
    for (len, command) in [(1, "-a aes"), (5_000_000, "-a aes"), (5_000_000, "")] {
        place_data(len);
        let ended = place.words(&format!("encrypt -q -v {command} -k key -i data -o sealed"));
        assert_eq!(ended.code, Some(0));
        let bar = ended.err.strip_suffix("\nDone.\n").unwrap_or_else(|| panic!("{}", ended.err));
        assert_eq!((bar.len(), &bar[..1], &bar[78..], bar.matches('|').count()), (79, "[", "]", 3), "{bar}");
    }
    let ended = place.words_with("encrypt -q -v -a aes -k key", &bytes(100_000));
    assert_eq!(ended.err, "...\nDone.\n");
}

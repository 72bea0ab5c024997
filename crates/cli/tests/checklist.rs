//! Lists of digests: what `digest` writes is checked by the real `sha256sum` and its kin, and the other way round.

mod common;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use common::{Ended, Place, bytes};

/// Names that are hard to write into a line.
const NAMES: &[&[u8]] = &[
    b"plain",
    b" two  blanks ",
    b"*star",
    b"back\\slash",
    b"new\nline",
    b"return\rhere",
    b"(b) = 00",
    b"\xff",
    b"\\n",
];

const ALGORITHMS: [(&str, &str); 6] = [
    ("md5", "md5sum"),
    ("sha1", "sha1sum"),
    ("sha224", "sha224sum"),
    ("sha256", "sha256sum"),
    ("sha384", "sha384sum"),
    ("sha512", "sha512sum"),
];

fn place_with_files() -> (Place, Vec<OsString>) {
    let place = Place::new();
    let names: Vec<OsString> = NAMES.iter().map(|name| OsStr::from_bytes(name).to_owned()).collect();
    for (i, name) in names.iter().enumerate() {
        std::fs::write(place.path("").join(name), bytes(1000 * i)).unwrap();
    }
    (place, names)
}

fn with<'a>(words: &'a [&'a str], names: &'a [OsString]) -> Vec<&'a OsStr> {
    words.iter().map(OsStr::new).chain(names.iter().map(OsString::as_os_str)).collect()
}

#[test]
fn lines_are_those_of_coreutils_byte_for_byte() {
    let (place, names) = place_with_files();
    for (algorithm, program) in ALGORITHMS {
        for (ours, theirs) in [("--sum", &[][..]), ("--tag", &["--tag"][..])] {
            let expected = place.run(program, with(theirs, &names), b"").good();
            let lines = place.millstream(with(&["digest", ours, "-a", algorithm, "--"], &names)).good();
            assert!(lines == expected, "{program} {ours}: {}", String::from_utf8_lossy(&lines));
            let own = place.run(program, theirs, b"abc").good();
            assert_eq!(place.words_with(&format!("digest {ours} -a {algorithm}"), b"abc").good(), own);
            assert_eq!(place.words_with(&format!("digest {ours} -a {algorithm} -"), b"abc").good(), own);
        }
    }
}

#[test]
fn each_checks_what_the_other_wrote() {
    let (place, names) = place_with_files();
    for (algorithm, program) in ALGORITHMS {
        for (ours, theirs) in [("--sum", &["-b"][..]), ("--tag", &["--tag"][..])] {
            place.write("ours", place.millstream(with(&["digest", ours, "-a", algorithm], &names)).good());
            place.write("theirs", place.run(program, with(theirs, &names), b"").good());
            for options in [&["-c"][..], &["-c", "--strict", "--quiet"]] {
                place.run(program, with(options, &["ours".into()]), b"").good();
                let options = [&["digest", "-a", algorithm][..], options, &["theirs"]].concat();
                place.millstream(&options).good();
            }
            if ours == "--tag" {
                place.words("digest --check theirs").good();
            }
        }
    }
}

#[test]
fn other_programs_and_solaris_lines_are_checked_too() {
    let (place, names) = place_with_files();
    let names = &names[..3];
    for (program, options) in [
        ("openssl", &["dgst", "-sha256"][..]),
        ("openssl", &["dgst", "-sha512-256"]),
        ("shasum", &["-a", "512256", "--tag"]),
        ("cksum", &["-a", "sha384"]),
    ] {
        place.write("list", place.run(program, with(options, names), b"").good());
        let out = place.words("digest --check list").text();
        assert_eq!(out, "plain: OK\n two  blanks : OK\n*star: OK\n", "{program} {options:?}");
    }
    place.write("list", place.millstream(with(&["digest", "-v", "-a", "crc32c"], names)).good());
    place.words("digest -c list").good();
    place.write("list", place.millstream(with(&["digest", "-a", "sha512_256"], names)).good());
    place.words("digest -c -a SHA512/256 list").good();
    place.write("list", place.millstream(with(&["digest", "--tag", "-a", "sha512_256"], names)).good());
    place.run("shasum", ["-a", "512256", "-c", "list"], b"").good();
}

/// Returns standard output, and the messages without the program's name.
fn told(ended: Ended) -> (Option<i32>, String, Vec<String>) {
    let word = |line: &str| {
        let line = line.split_once(": ").unwrap().1;
        let line = ["warning: ", "error: ", "WARNING: "]
            .iter()
            .fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
        line.replace("can not open input file ", "").replace(" SHA256 ", " ")
    };
    (ended.code, String::from_utf8(ended.out).unwrap(), ended.err.lines().map(word).collect())
}

#[test]
fn verdicts_and_exit_codes_are_those_of_sha256sum() {
    let place = Place::new();
    place.write("a", "abc");
    place.write("b", "abc");
    std::fs::create_dir(place.path("folder")).unwrap();
    let good = place.run("sha256sum", ["a"], b"").text();
    let digest = &good[..64];
    let zero = "0".repeat(64);
    place.write("good", &good);
    place.write("crlf", good.replace('\n', "\r\n"));
    place.write("comment", format!("# comment\n\n{good}"));
    place.write("capitals", good.replace(digest, &digest.to_uppercase()));
    place.write("wrong", format!("{zero}  a\n{digest}  b\n{zero} *b\n"));
    place.write("missing", format!("{digest}  missing\n{digest}  b\n"));
    place.write("only-missing", format!("{digest}  missing\n"));
    place.write("improper", format!("{good}junk\n{digest}\n{digest}00  a\nMD5 (a) = 00\n\\{digest}  a\\q\n"));
    place.write("one-improper", format!("{good}junk\n"));
    place.write("junk", "junk\n");
    place.write("empty", "");
    for list in [
        "good",
        "crlf",
        "comment",
        "capitals",
        "wrong",
        "missing",
        "only-missing",
        "improper",
        "one-improper",
        "junk",
        "empty",
        "good wrong",
        "absent good",
    ] {
        for options in
            ["", "--quiet", "--status", "--ignore-missing", "--strict", "--warn", "--ignore-missing --status"]
        {
            let theirs = place.run("sha256sum", format!("-c {options} {list}").split_whitespace(), b"");
            let ours = place.words(&format!("digest -a sha256 -c {options} {list}"));
            assert_eq!(told(ours), told(theirs), "{options} {list}");
        }
    }
    let theirs = place.run("sha256sum", ["-c"], good.as_bytes());
    assert_eq!(told(place.words_with("digest -c -a sha256", good.as_bytes())), told(theirs));
    assert_eq!(place.words_with("digest -c -a sha256 -", good.as_bytes()).good(), b"a: OK\n");
    // This program says what is wrong with a directory, and sha256sum that it is one.
    place.write("directory", format!("{digest}  folder\n"));
    let ended = place.words("digest -c -a sha256 directory");
    assert_eq!((ended.code, ended.out.as_slice()), (Some(1), &b"folder: FAILED open or read\n"[..]));
    assert!(ended.err.contains("folder: is a directory"), "{}", ended.err);
}

#[test]
fn an_algorithm_that_no_line_names_is_asked_for() {
    let place = Place::new();
    place.write("a", "abc");
    place.write("list", place.words("digest --sum -a sha256 a").good());
    place.words("digest -c list").bad(1, &["no properly formatted checksum lines found", "name it with -a"]);
    place.words("digest -c -a md5 list").bad(1, &["no properly formatted checksum lines found"]);
    place.words("digest -c -a shake256 list").bad(1, &["unknown algorithm -- shake256"]);
    place.write("list", place.words("digest --tag -a sha512_256 a").good());
    // Digests of the same length are not those of the same algorithm.
    place.words("digest -c -a sha256 list").bad(1, &["no properly formatted checksum lines found"]);
}

#[test]
fn options_that_do_not_go_together() {
    let place = Place::new();
    for (line, words) in [
        ("digest --status -a sha256 a", &["--check"][..]),
        ("digest --strict -a sha256 a", &["--check"]),
        ("digest --ignore-missing -a sha256 a", &["--check"]),
        ("digest -w -a sha256 a", &["--check"]),
        ("digest -c --json a", &["--json"]),
        ("digest -c -v a", &["--verbose"]),
        ("digest --sum --tag -a sha256 a", &["--sum"]),
        ("digest --tag --json -a sha256 a", &["--json"]),
        ("digest -l --sum", &["-l allows no other option or file"]),
    ] {
        place.words(line).bad(2, words);
    }
}

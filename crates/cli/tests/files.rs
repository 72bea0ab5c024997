//! Digests and codes of many files at once: the output is that of one file after another.

mod common;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use common::{Ended, MILLSTREAM, Place, bytes, ended, hex};
use millstream_cpu::Features;
use millstream_engines::hash::{Hash, Hasher};

/// The lengths of a tree's files: empty, small, at the bounds of batches and pieces, and large.
fn lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..600).map(|n| n * 7 % 4099).collect();
    let bounds = [64 << 10, 256 << 10, 512 << 10];
    lengths.extend(bounds.iter().flat_map(|bound| [bound - 1, *bound, bound + 1]));
    lengths.extend([0, 0, 3_000_000, 1, 5_000_000, 0]);
    // Large ones among small ones, so that threads end in another order than they begin.
    lengths.rotate_left(300);
    lengths
}

/// Makes the tree, and returns the names of its files.
fn tree(place: &Place) -> Vec<String> {
    let lengths = lengths();
    for (n, len) in lengths.iter().enumerate() {
        place.write(&format!("f{n}"), bytes(*len));
    }
    (0..lengths.len()).map(|n| format!("f{n}")).collect()
}

/// Runs a command that lists a digest for each file, and returns the digests and names of its lines.
fn listed(ended: &Ended) -> Vec<(String, String)> {
    let text = String::from_utf8(ended.out.clone()).unwrap();
    let line = |line: &str| match line.strip_prefix('(') {
        Some(ours) => {
            let (name, digest) = ours.split_once(") = ").unwrap();
            (digest.to_owned(), name.to_owned())
        }
        None => {
            let (digest, name) = line.split_once("  ").unwrap();
            (digest.to_owned(), name.to_owned())
        }
    };
    text.lines().map(line).collect()
}

fn digests(place: &Place, algorithm: &str, files: &[String]) -> Ended {
    let fixed = ["digest", "-a", algorithm].map(str::to_owned);
    place.millstream(fixed.iter().chain(files))
}

#[test]
fn a_tree_has_the_digests_of_coreutils_in_its_order() {
    let place = Place::new();
    let mut files = tree(&place);
    for algorithm in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] {
        let theirs = place.run(format!("{algorithm}sum"), &files, b"");
        let ours = digests(&place, algorithm, &files);
        assert_eq!((ours.code, ours.err.as_str()), (Some(0), ""));
        assert_eq!(listed(&ours), listed(&theirs), "{algorithm}");
    }
    // Files that aren't there, that are folders, and that are there twice.
    std::fs::create_dir(place.path("folder")).unwrap();
    for (at, name) in
        [(0, "gone0"), (1, "folder"), (200, "gone1"), (450, "f3"), (451, "gone2"), (452, "folder")]
    {
        files.insert(at, name.to_owned());
    }
    let theirs = place.run("sha256sum", &files, b"");
    let ours = digests(&place, "sha256", &files);
    assert_eq!(listed(&ours), listed(&theirs));
    let named =
        |line: &str| ["gone0", "folder", "gone1", "gone2"].into_iter().find(|name| line.contains(name));
    let told: Vec<_> = ours.err.lines().map(named).collect();
    assert_eq!(told, theirs.err.lines().map(named).collect::<Vec<_>>(), "{}", ours.err);
    // The exit code is that of the last failure, as on Solaris.
    assert_eq!(ours.code, Some(1));
}

#[test]
fn standard_input_has_its_place_among_files() {
    let place = Place::new();
    let mut files: Vec<String> = tree(&place).into_iter().take(500).collect();
    files.insert(123, "-".to_owned());
    let theirs = place.run("sha256sum", &files, b"standard input").good();
    let ours = place.words_with(&format!("digest --sum -a sha256 {}", files.join(" ")), b"standard input");
    assert!(ours.good() == theirs);
}

#[test]
fn lists_of_a_tree_are_checked_as_coreutils_check_them() {
    let place = Place::new();
    let files = tree(&place);
    let list = place.run("sha256sum", &files, b"").text();
    // The algorithm changes every two lines.
    let tagged = |program: &str| {
        place.run(program, std::iter::once("--tag").chain(files.iter().map(String::as_str)), b"")
    };
    let (md5, sha512) = (tagged("md5sum").text(), tagged("sha512sum").text());
    let mixed = md5.lines().zip(sha512.lines()).enumerate().map(|(n, pair)| match n % 4 {
        0 | 1 => format!("{}\n", pair.0),
        _ => format!("{}\n", pair.1),
    });
    place.write("mixed", mixed.collect::<String>());
    let all_good: String = files.iter().map(|file| format!("{file}: OK\n")).collect();
    assert_eq!(place.words("digest --check mixed").text(), all_good);

    place.write("list", list.replace("  f200\n", " f200\n"));
    place.write("f100", "other bytes");
    std::fs::remove_file(place.path("f300")).unwrap();
    let large = lengths().iter().position(|len| *len == 5_000_000).unwrap();
    place.write(&format!("f{large}"), bytes(5_000_001));
    for options in ["", "--quiet", "--ignore-missing", "--warn", "--strict"] {
        let theirs = place.run("sha256sum", format!("--check {options} list").split_whitespace(), b"");
        let ours = place.words(&format!("digest --check -a sha256 {options} list"));
        assert!(ours.out == theirs.out, "{options}: {}", String::from_utf8_lossy(&ours.out));
        assert_eq!((ours.code, theirs.code), (Some(1), Some(1)));
        let told = |ended: &Ended| ended.err.contains("list: 201: improperly formatted");
        assert_eq!(told(&ours), options == "--warn", "{}", ours.err);
    }
}

#[test]
fn messages_stand_where_the_file_stands() {
    let place = Place::new();
    let files: Vec<String> = tree(&place).into_iter().take(40).collect();
    let words: Vec<String> = files.iter().flat_map(|file| [file.clone(), format!("no-{file}")]).collect();
    let line = format!("exec {MILLSTREAM} digest -a sha256 {} 2>&1", words.join(" "));
    let both = place.run("sh", ["-c", &line], b"");
    let text = String::from_utf8(both.out).unwrap();
    assert_eq!(text.lines().count(), words.len());
    for (word, line) in words.iter().zip(text.lines()) {
        assert!(
            line.contains(&format!("({word})")) || line.contains(&format!(" {word}: No such")),
            "{word}: {line}"
        );
    }
}

#[test]
fn codes_in_lanes_are_those_of_one_file_at_a_time() {
    let place = Place::new();
    let files: Vec<String> = tree(&place).into_iter().skip(250).take(80).collect();
    place.key("key", bytes(32));
    place.key("des", bytes(8));
    for (algorithm, key) in [
        ("md5_hmac", "key"),
        ("sha1_hmac", "key"),
        ("sha256_hmac", "key"),
        ("sha512_256_hmac", "key"),
        ("sha3_256_hmac", "key"),
        ("aes_cmac", "key"),
        ("des_mac", "des"),
    ] {
        let line = |files: &[String]| format!("mac -q -a {algorithm} -k {key} {}", files.join(" "));
        let all = place.words(&line(&files)).text();
        let single = |file: &String| {
            let code = place.words(&line(std::slice::from_ref(file))).text();
            format!("({file}) = {code}")
        };
        // A few suffice: each is a process.
        let sample = files.iter().step_by(9).map(single);
        for expected in sample {
            assert!(all.contains(&expected), "{algorithm}: {expected}");
        }
        assert_eq!(all.lines().count(), files.len());
    }
}

/// More files than threads may be ahead of the output, which waits for the first one.
#[test]
fn threads_wait_for_the_output_and_go_on() {
    let place = Place::new();
    place.run("mkfifo", ["fifo"], b"").good();
    place.write("a", "abc");
    let files: Vec<&str> = std::iter::once("fifo").chain(std::iter::repeat_n("a", 10_000)).collect();
    let (mut child, lines) = start(&place, &files);
    // Whatever the threads have done by now, they have not done all of it.
    std::fs::write(place.path("fifo"), "abc").unwrap();
    assert_eq!(lines.map(Result::unwrap).count(), files.len());
    assert!(child.wait().unwrap().success());
}

/// Starts `digest` of these files, with its standard output in a pipe.
fn start(place: &Place, files: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    // A shell's background jobs ignore interrupts, and so would what they start.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=INT", MILLSTREAM, "digest", "-a", "sha256"])
        .args(files)
        .current_dir(place.path(""));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// A pipe is read in its turn, and by one reader, however often it is named. What is known by then was printed.
#[test]
fn pipes_and_the_kernels_files_are_read_in_their_turn() {
    let place = Place::new();
    place.write("a", "abc");
    place.run("mkfifo", ["fifo"], b"").good();
    let (stdin, version) = (bytes(300_000), std::fs::read("/proc/version").unwrap());
    let files = ["a", "/dev/stdin", "fifo", "/proc/version", "fifo", "/dev/stdin", "/dev/null"];
    let contents: [&[u8]; 7] = [b"abc", &stdin, b"first", &version, b"second", b"", b""];
    let (mut child, mut lines) = start(&place, &files);
    child.stdin.take().unwrap().write_all(&stdin).unwrap();
    for (n, (file, content)) in files.iter().zip(contents).enumerate() {
        // The second writer comes when the first one's line is there: its reader has closed the pipe by then.
        if *file == "fifo" {
            std::fs::write(place.path("fifo"), content).unwrap();
        }
        let line = lines.next().unwrap().unwrap();
        assert_eq!(line, format!("({file}) = {}", sha256(content)), "line {n}");
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_signal_ends_it_while_it_waits_for_a_pipe() {
    let place = Place::new();
    place.run("mkfifo", ["fifo"], b"").good();
    let names = tree(&place);
    let files: Vec<&str> = ["f1", "fifo"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let (mut child, mut lines) = start(&place, &files);
    assert!(lines.next().unwrap().unwrap().starts_with("(f1)"));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_full_output_ends_it() {
    let place = Place::new();
    let files = tree(&place).join(" ");
    let line = format!("exec {MILLSTREAM} digest -a sha256 {files} >/dev/full");
    place.run("sh", ["-c", &line], b"").bad(1, &["standard output", "No space left on device"]);
}

#[test]
fn files_that_may_not_be_read_are_told_and_passed_over() {
    let place = Place::new();
    let files: Vec<String> = (0..50).map(|n| format!("f{n}")).collect();
    for file in &files {
        place.write(file, file);
    }
    let allow =
        |name: &str, mode| std::fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
    allow("f20", 0o000);
    allow("", 0o755);
    // The program may lie where nobody else comes to.
    let program = place.path("millstream");
    millstream_testkit::copy_program(MILLSTREAM.as_ref(), &program);
    let mut command = Command::new(&program);
    command.args(["digest", "-a", "sha256"]).args(&files).current_dir(place.path(""));
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ended = ended(&mut command, b"");
    assert_eq!((ended.code, ended.err.lines().count()), (Some(2), 1), "{}", ended.err);
    assert!(ended.err.contains("f20: Permission denied"), "{}", ended.err);
    let readable = files.iter().filter(|file| *file != "f20");
    let expected: String = readable.map(|file| format!("({file}) = {}\n", sha256(file.as_bytes()))).collect();
    assert_eq!(String::from_utf8(ended.out).unwrap(), expected);
}

/// A user who may read nothing that its mode does not allow.
const NOBODY: u32 = 65534;

fn sha256(data: &[u8]) -> String {
    let mut hasher = Hasher::new(Features::hardware(), Hash::Sha256);
    hasher.update(data);
    hex(&hasher.finish())
}

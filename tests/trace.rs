//! Tests `millstream trace`: it sees what other people's cryptography runs, sees nothing that was withheld,
//! and changes no result.

use std::process::{Command, Stdio};
use std::time::Duration;

use millstream_tests::observe::{Findings, here, in_turns, speed, trace, tracer_of, under};
use millstream_tests::{Place, Running, eventually, hard, program, run, signal, subject};
use rustix::process::Signal;

/// The classes that are cryptographic for certain.
const CRYPTO: &[&str] = &["aes", "vaes", "pclmul", "vpclmul", "sha", "sha512"];

const AES: &[&str] = &["aes", "vaes"];

/// Traces a subject in both of its modes, with all features and without some.
#[track_caller]
fn check(name: &str, seconds: &str, by: &str) {
    for (mode, classes, class) in [("aes-gcm", AES, "aes"), ("sha256", &["sha"][..], "sha")] {
        if !here(&format!("{name} {mode}, traced"), &[class]) {
            continue;
        }
        let mut command = subject(name);
        command.args([mode, seconds]);
        let plain = run(&mut command, b"").good();
        for how in ["--once", "--rate"] {
            let (ended, found) = trace(&[how], &command, b"");
            assert!(ended.good() == plain, "{name} {mode} {how}: another result");
            let ran = found.ran(classes);
            assert!(
                ran.iter().any(|place| place.contains(by)),
                "{name} {mode} {how}: {ran:?} in {}",
                found.0
            );
            assert_eq!(found.answer(class), "yes", "{name} {mode} {how}: {}", found.0);
        }
        if !here(&format!("{name} {mode}, traced without"), &["cpuid"]) {
            continue;
        }
        let (ended, found) = trace(&["--without", "crypto"], &command, b"");
        assert!(ended.good() == plain, "{name} {mode} without: another result");
        assert_eq!(found.ran(CRYPTO), [""; 0], "{name} {mode} without");
        // The search did find the code, except in Java, which makes it only when it is used.
        assert!(name == "java" || !found.present(classes).is_empty(), "{name} {mode} without: {}", found.0);
    }
}

macro_rules! subjects {
    ($($test:ident: $name:literal, $seconds:literal, $by:literal;)*) => {
        $(
            #[test]
            fn $test() {
                check($name, $seconds, $by);
            }
        )*
    };
}

subjects! {
    ring: "ring", "0.1", "subject-ring";
    ring_stripped: "ring-stripped", "0.1", "ring-stripped";
    aws_lc: "aws-lc", "0.1", "subject-aws-lc";
    aws_lc_stripped: "aws-lc-stripped", "0.1", "aws-lc-stripped";
    rustcrypto: "rustcrypto", "0.1", "subject-rustcrypto";
    rustcrypto_stripped: "rustcrypto-stripped", "0.1", "rustcrypto-stripped";
    go: "go", "0.1", "crypto/internal";
    go_stripped: "go-stripped", "0.1", "crypto/internal";
    java: "java", "2.5", "StubRoutines::";
    node: "node", "0.1", "node";
    python: "python", "0.1", "libcrypto";
    python_with_a_wheel: "python-wheel", "0.1", "_rust.abi3.so";
    nss: "nss", "0.1", "libfreebl";
    gnutls: "gnutls", "0.1", "libgnutls";
    libgcrypt: "gcrypt", "0.1", "libgcrypt";
}

#[test]
fn libsodium() {
    if !here("libsodium", &["cpuid", "aes", "pclmul"]) {
        return;
    }
    let mut command = subject("sodium");
    command.args(["aes-gcm", "0.1"]);
    let (ended, found) = trace(&[], &command, b"");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!found.ran(AES).is_empty(), "{}", found.0);
    let (ended, found) = trace(&["--without", "aes"], &command, b"");
    assert_eq!(ended.code, Some(3), "it can't do without: {}", ended.err);
    assert_eq!(found.ran(CRYPTO), [""; 0]);
    // libsodium has no code for the processor's SHA at all.
    let mut command = subject("sodium");
    command.args(["sha256", "0.1"]);
    let (_, found) = trace(&[], &command, b"");
    assert_eq!(found.answer("sha"), "absent", "{}", found.0);
}

/// Encryption is work. AES in hash maps and random generators is not.
#[test]
fn noise_is_none_of_the_answer() {
    if !here("noise_is_none_of_the_answer", &["sha"]) {
        return;
    }
    for (name, seconds) in
        [("go", "0.1"), ("go-stripped", "0.1"), ("node", "0.1"), ("python", "0.1"), ("nss", "0.1")]
    {
        let mut command = subject(name);
        command.args(["sha256", seconds]);
        let (_, found) = trace(&[], &command, b"");
        assert_ne!(found.answer("aes"), "yes", "{name}: {}", found.0);
        assert_eq!(found.answer("sha"), "yes", "{name}: {}", found.0);
    }
}

/// Sun's operators used DTrace to see functions and how often they were called.
#[test]
fn openssl_speed_tells_what_dtrace_told() {
    if !here("openssl_speed_tells_what_dtrace_told", &["aes"]) {
        return;
    }
    let mut openssl = Command::new(program("openssl"));
    openssl.args(["speed", "-seconds", "1", "-bytes", "16384", "-evp", "aes-128-cbc"]);
    let (ended, found) = trace(&["--count"], &openssl, b"");
    ended.good();
    assert!(found.ran(AES).iter().any(|by| by.contains("libcrypto")), "{}", found.0);
    assert!(found.entries(AES) > 100, "{}", found.0);
    if !here("openssl_speed_tells_what_dtrace_told, without", &["cpuid"]) {
        return;
    }
    let (ended, found) = trace(&["--without", "aes", "--count"], &openssl, b"");
    ended.good();
    assert_eq!(found.ran(AES), [""; 0]);
}

/// If each site is hit only once, a program is as fast as without a trace.
#[test]
fn presence_costs_nothing() {
    if !here("presence_costs_nothing", &["aes"]) {
        return;
    }
    for (name, how) in [("ring", "--once"), ("go", "--once"), ("gcrypt", "--once"), ("nss", "--once")] {
        let mut plain = subject(name);
        plain.args(["aes-gcm", "0.2"]);
        let ((without, with), met) = in_turns(
            12,
            f64::max,
            |(without, with)| with / without > 0.95,
            || (speed(&run(&mut plain, b"")), speed(&trace(&[how], &plain, b"").0)),
        );
        assert!(met, "{name} {how}: {without} MB/s alone, {with} MB/s traced");
    }
}

/// A program that checks itself is attached to and let go, again and again and in all ways, and once by a
/// tracer that is killed.
#[test]
fn a_program_that_checks_itself_is_attached_to() {
    if !here("a_program_that_checks_itself_is_attached_to", &["aes", "sha"]) {
        return;
    }
    let place = Place::new();
    let out = place.path("out");
    let mut command = hard("selfcheck");
    // The program runs until it is asked to end.
    command.arg("-1").stdin(Stdio::null()).stdout(std::fs::File::create(&out).unwrap());
    let mut running = Running::start(&mut command);
    let pid = running.child.id();
    for turn in 0..9 {
        let mode = ["--once", "--rate", "--count"][turn % 3];
        let report = place.path("report");
        let target = pid.to_string();
        let mut attach = millstream();
        attach.args(["trace", "--quiet", "--json", mode, "--report"]).arg(&report);
        attach.args(["--seconds", "0.3", "--pid", &target]);
        let ended = run(&mut attach, b"");
        assert_eq!(ended.code, Some(0), "turn {turn}: {}", ended.err);
        let found = Findings::read(&report);
        assert!(!found.ran(&["aes"]).is_empty() && !found.ran(&["sha"]).is_empty(), "{mode}: {}", found.0);
        assert!(running.child.try_wait().unwrap().is_none(), "it ended after {mode}");
    }
    for how in [Signal::INT, Signal::TERM, Signal::KILL] {
        // That a program outlives a tracer which is killed can be promised only with breakpoints that are gone once they have fired.
        let (mode, wait) = if how == Signal::KILL { ("--once", 4000) } else { ("--rate", 250) };
        let mut attach = millstream();
        attach.args(["trace", "--quiet", mode, "--pid", &pid.to_string()]);
        let mut tracer = Running::start(attach.stdin(Stdio::null()).stderr(Stdio::null()));
        eventually("it is traced", || tracer_of(pid) != 0);
        std::thread::sleep(Duration::from_millis(wait));
        let to = if how == Signal::KILL { tracer_of(pid) } else { tracer.child.id() };
        signal(to, how);
        eventually("the tracer ends", || tracer.child.try_wait().unwrap().is_some());
        eventually("it is let go", || tracer_of(pid) == 0);
        assert!(running.child.try_wait().unwrap().is_none(), "it ended after {how:?}");
    }
    signal(pid, Signal::TERM);
    running.finish();
    let said = String::from_utf8(place.read("out")).unwrap();
    assert!(said.ends_with(", 0 wrong\n"), "{said}");
}

fn millstream() -> Command {
    Command::new(&millstream_tests::built().millstream)
}

/// Signals to the command reach the program, and the program's end becomes the command's.
#[test]
fn signals_are_passed_on() {
    let script = "trap 'echo got it; exit 9' USR1; echo ready; while :; do sleep 0.01; done";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]);
    for words in [&["run", "--quiet", "--without", "aes"][..], &["trace", "--quiet"]] {
        let mut command = under(words, &shell);
        let place = Place::new();
        let out = place.path("out");
        command.stdin(Stdio::null()).stdout(std::fs::File::create(&out).unwrap()).stderr(Stdio::null());
        let mut running = Running::start(&mut command);
        eventually("it is ready", || place.read("out") == b"ready\n");
        signal(running.child.id(), Signal::USR1);
        eventually("it ends", || running.child.try_wait().unwrap().is_some());
        assert_eq!(running.child.wait().unwrap().code(), Some(9), "{words:?}");
        assert_eq!(place.read("out"), b"ready\ngot it\n", "{words:?}");
    }
}

/// A debugger in a traced program reports that it may not trace, and the rest goes on.
#[test]
fn a_tracer_inside_is_refused() {
    let mut shell = Command::new("/bin/sh");
    let strace = program("strace");
    shell.args(["-c", &format!("{} -o /dev/null true; echo $? after", strace.display())]);
    for words in [&["run", "--quiet", "--without", "aes"][..], &["trace", "--quiet"]] {
        // Without CPUID faulting, only variables act, and nobody traces.
        if words[0] == "run" && !here("a_tracer_inside_is_refused, run", &["cpuid"]) {
            continue;
        }
        let ended = run(&mut under(words, &shell), b"");
        assert!(ended.err.contains("Operation not permitted"), "{words:?}: {}", ended.err);
        assert_eq!(ended.text(), "1 after\n", "{words:?}");
    }
}

/// The report names what a program leaves running, whether it is traced to its end or let go.
#[test]
fn what_is_left_running_is_told() {
    let mut shell = Command::new("/bin/sh");
    // The sleep has no pipe of ours, because we would wait for its end.
    shell.args(["-c", "sleep 3 >/dev/null 2>&1 & sleep 0.3; exit 4"]);
    for (words, says) in [
        (
            &["trace"][..],
            "/bin/sh has ended; processes that it left running are still traced, and killed if this trace is: sleep (",
        ),
        (&["run", "--without", "aes"], "left running: sleep ("),
    ] {
        if words[0] == "run" && !here("what_is_left_running_is_told, run", &["cpuid"]) {
            continue;
        }
        let ended = run(&mut under(words, &shell), b"");
        assert_eq!(ended.code, Some(4));
        assert!(ended.err.contains(says), "{words:?}: {}", ended.err);
    }
}

/// A comparison shows what the processor's AES is worth to a program that does the same work each time.
#[test]
fn a_comparison() {
    if !here("a_comparison", &["sha", "vaes"]) {
        return;
    }
    let place = Place::new();
    let file = place.write("file", millstream_tests::bytes(60_000_000));
    let mut digest = Command::new(program("openssl"));
    digest.args(["dgst", "-sha256"]).arg(file);
    let compare = |features: &str, command: &Command| {
        let text =
            run(&mut under(&["compare", "--quiet", "--json", "--without", features], command), b"").text();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(value["output"], "same", "{value}");
        let ratio = &value["cpu_ratio"];
        (ratio["median"].as_f64().expect("a number"), ratio["differs"].as_bool().expect("yes or no"))
    };
    let (ratio, differs) = compare("sha", &digest);
    assert!(ratio > 2.0 && differs, "{ratio}");
    let (ratio, _) = compare("vaes", &digest);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

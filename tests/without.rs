//! Tests `millstream run --without`: other people's cryptography loses its speed, keeps its results, and
//! nothing else changes.

use std::process::Command;

use millstream_tests::observe::{here, in_turns, speed, under, without};
use millstream_tests::{run, subject};

/// The expected effect of withholding features from a subject.
#[derive(Clone, Copy, Debug)]
enum Expect {
    /// The speed falls to a third or less.
    Falls,
    /// The speed changes by less than a tenth. Withholding a feature that matters costs much more; the clock
    /// of a virtual machine varies by less.
    Stays,
    /// The subject reports that it can't work, and ends with this code.
    Refuses(i32),
}

use Expect::{Falls, Refuses, Stays};

/// A subject's work, the features withheld, and the expected effect.
type Row = (&'static str, &'static str, Expect);

/// The effects on libraries that choose hardware where they can.
const USUAL: &[Row] = &[
    ("aes-gcm", "aes", Falls),
    ("aes-gcm", "crypto", Falls),
    ("sha256", "sha", Falls),
    ("aes-gcm", "sha", Stays),
    ("sha256", "aes,pclmul", Stays),
];

/// The effects on Java, whose AES also depends on how soon its compiler acts.
const JAVA: &[Row] = &[
    ("aes-gcm", "aes", Falls),
    ("aes-gcm", "crypto", Falls),
    ("sha256", "sha", Falls),
    ("sha256", "aes,pclmul", Stays),
];

/// The effects on libsodium, which has AES in hardware only, and SHA-256 in software only.
const SODIUM: &[Row] = &[
    ("aes-gcm", "aes", Refuses(3)),
    ("aes-gcm", "pclmul", Refuses(3)),
    ("aes-gcm", "sha", Stays),
    ("sha256", "crypto", Stays),
];

/// The results of all subjects, which do the same work.
const RESULTS: &[(&str, &str)] = &[
    (
        "aes-gcm",
        "8b64950f3497a6291a26dfab916e13d0\nb23e0a5f6b6f623338c69bc8f84c767a684c22ba8c6e835ffdbbf38ae9c4fd58\n",
    ),
    ("sha256", "63f2b519d34af59c7d76f7be9b75687a415316f787f5930286084e2a35e9b164\n"),
];

/// The largest number of pairs of runs until one is as expected.
const TURNS: u32 = 12;

/// Runs a subject with and without features in turns.
#[track_caller]
fn check(name: &str, seconds: &str, rows: &[Row], result: impl Fn(&str) -> &'static str) {
    for row in rows {
        let (mode, features, expect) = *row;
        let mut needs: Vec<&str> =
            features.split(',').map(|f| if f == "crypto" { "aes" } else { f }).collect();
        needs.push("cpuid");
        if !here(&format!("{name} {mode} without {features}"), &needs) {
            continue;
        }
        let command = |words: &[&str]| {
            let mut command = subject(name);
            command.args([mode, seconds]);
            if words.is_empty() { command } else { under(words, &command) }
        };
        let masked = without(features, &command(&[]));
        if let Refuses(code) = expect {
            let ended = run(&mut { masked }, b"");
            assert_eq!(ended.code, Some(code), "{name} {row:?}: {}", ended.err);
            continue;
        }
        let (mut plain, mut masked) = (command(&[]), masked);
        let speed_of = |command: &mut Command| {
            let ended = run(command, b"");
            let speed = speed(&ended);
            assert_eq!(ended.text(), result(mode), "{name} {row:?}");
            speed
        };
        let ((with, least), met) = in_turns(
            TURNS,
            f64::max,
            |(with, without)| expect.is_met(with / without),
            || (speed_of(&mut plain), speed_of(&mut masked)),
        );
        println!(
            "{name:20} {mode:8} without {features:10} {with:9.1} MB/s to {least:9.1}: {:.2}",
            with / least
        );
        assert!(met, "{name} {row:?}: {with} MB/s with, {least} MB/s without");
    }
}

impl Expect {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Falls => ratio >= 3.0,
            Stays => (0.9..1.1).contains(&ratio),
            Refuses(_) => false,
        }
    }
}

fn usual(mode: &str) -> &'static str {
    RESULTS.iter().find(|(known, _)| *known == mode).map_or("", |(_, result)| result)
}

macro_rules! subjects {
    ($($test:ident: $name:literal, $seconds:literal, $rows:expr;)*) => {
        $(
            #[test]
            fn $test() {
                check($name, $seconds, $rows, usual);
            }
        )*
    };
}

subjects! {
    ring: "ring", "0.1", USUAL;
    ring_stripped: "ring-stripped", "0.1", USUAL;
    aws_lc: "aws-lc", "0.1", USUAL;
    rustcrypto: "rustcrypto", "0.1", USUAL;
    go: "go", "0.1", USUAL;
    go_stripped: "go-stripped", "0.1", USUAL;
    java: "java", "2.5", JAVA;
    node: "node", "0.2", USUAL;
    python: "python", "0.2", USUAL;
    python_with_a_wheel: "python-wheel", "0.2", USUAL;
    nss: "nss", "0.1", USUAL;
    gnutls: "gnutls", "0.1", USUAL;
    libgcrypt: "gcrypt", "0.1", USUAL;
}

#[test]
fn libsodium() {
    check("sodium", "0.1", SODIUM, |mode| match mode {
        // This subject has no AES but AES-256.
        "aes-gcm" => {
            "1973ca39ec6d184c752b321789c78344\n0c8e3df84a6545a9fba348442727cc488adbf05a096506a86346051c11a19151\n"
        }
        other => usual(other),
    });
}

/// With variables alone, libraries that read one slow down, and others stay.
#[test]
fn knobs_alone() {
    if !here("knobs_alone", &["aes"]) {
        return;
    }
    let rows = [
        ("aws-lc", "0.1", true),
        ("go", "0.1", true),
        ("node", "0.2", true),
        ("python", "0.2", true),
        ("nss", "0.1", true),
        ("gnutls", "0.1", true),
        ("java", "2.5", true),
        ("ring", "0.1", false),
        ("rustcrypto", "0.1", false),
        ("gcrypt", "0.1", false),
    ];
    for (name, seconds, falls) in rows {
        let mut plain = subject(name);
        plain.args(["aes-gcm", seconds]);
        let mut knobs = under(&["run", "--quiet", "--without", "aes", "--knobs-only"], &plain);
        let speed_of = |command: &mut Command| {
            let ended = run(command, b"");
            let speed = speed(&ended);
            assert_eq!(ended.text(), usual("aes-gcm"), "{name}");
            speed
        };
        let expect = if falls { Falls } else { Stays };
        let ((with, least), met) = in_turns(
            TURNS,
            f64::max,
            |(with, without)| expect.is_met(with / without),
            || (speed_of(&mut plain), speed_of(&mut knobs)),
        );
        assert!(met, "{name}: {with} MB/s with, {least} MB/s without");
    }
}

/// OpenSSL's own command measures the same effect.
#[test]
fn openssl_speed() {
    if !here("openssl_speed", &["aes", "pclmul", "sha"]) {
        return;
    }
    let speed = |features: Option<&str>, words: &str| {
        let mut openssl = Command::new(millstream_tests::program("openssl"));
        openssl.args(["speed", "-mr", "-seconds", "1", "-bytes", "16384", "-evp", words]);
        let text = match features {
            None => run(&mut openssl, b"").text(),
            Some(features) => run(&mut without(features, &openssl), b"").text(),
        };
        let line = text.lines().find_map(|line| line.strip_prefix("+F:")).expect("it says a speed");
        line.rsplit(':').next().and_then(|number| number.parse::<f64>().ok()).expect("it is a number")
    };
    // Without the instructions, SHA-256 is vector code, which processors of 2024 run at more than a third of
    // their speed.
    for (algorithm, features, times) in
        [("aes-128-gcm", "aes", 3.0), ("aes-128-cbc", "aes", 3.0), ("sha256", "sha", 2.0)]
    {
        let (with, least) = (speed(None, algorithm), speed(Some(features), algorithm));
        assert!(with / least > times, "{algorithm}: {with} with, {least} without {features}");
    }
    let chacha = "chacha20-poly1305";
    let ((with, least), met) = in_turns(
        TURNS,
        f64::max,
        |(with, without)| Stays.is_met(with / without),
        || (speed(None, chacha), speed(Some("aes,sha"), chacha)),
    );
    assert!(met, "{chacha} changes its speed without AES and SHA: {with} to {least}");
}

/// Features that have nothing to do with cryptography are withheld too, as OpenSSL's own account of the
/// processor shows.
#[test]
fn avx512_is_not_found() {
    if !here("avx512_is_not_found", &["cpuid", "avx512f"]) {
        return;
    }
    let mut info = Command::new(millstream_tests::program("openssl"));
    info.args(["info", "-cpusettings"]);
    let with = run(&mut info, b"").text();
    // Only the answers to CPUID act, as a variable would be printed as it is.
    for name in ["OPENSSL_ia32cap", "GLIBC_TUNABLES"] {
        info.env_remove(name);
    }
    let without = run(&mut without("avx512", &info), b"").text();
    assert_ne!(with, without);
}

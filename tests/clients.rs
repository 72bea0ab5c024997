//! gpg, curl, ssh and nginx with and without AES and SHA, and traced, compared by the processor time for the
//! same work.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use millstream_tests::observe::{Findings, here, in_turns, trace, tracer_of, without};
use millstream_tests::{
    Nginx, OpenSsl, Place, Provider, Running, Side, Sshd, bytes, eventually, program, run, ticks,
};

/// The length of the data that is sent, encrypted and hashed.
const LEN: usize = 100_000_000;

/// The most pairs of runs until one meets the expectation.
const TURNS: u32 = 8;

/// The expected time of a program without some feature.
#[derive(Clone, Copy, Debug)]
enum Expect {
    /// At least so many times as long.
    Longer(f64),
    /// The same within a tenth, and the start-up of a traced program.
    Same,
}

use Expect::{Longer, Same};

impl Expect {
    fn is_met(self, with: f64, without: f64) -> bool {
        match self {
            Longer(times) => without >= times * with,
            Same => (without - with).abs() <= 0.1 * with + 0.04,
        }
    }
}

/// Runs a program both ways in turns until its times are as expected. It has to write the same both ways.
#[track_caller]
fn compare(name: &str, features: &str, expect: Expect, command: impl Fn() -> Command) {
    let pair = || {
        let plain = run(&mut command(), b"");
        let masked = run(&mut without(features, &command()), b"");
        let (with, least) = (plain.user.as_secs_f64(), masked.user.as_secs_f64());
        let (err, other) = (masked.err.clone(), masked.good());
        assert!(plain.good() == other, "{name} without {features}: another output\n{err}");
        (with, least)
    };
    let ((with, least), met) = in_turns(TURNS, f64::min, |(with, least)| expect.is_met(with, least), pair);
    println!("{name} without {features}: {with:.2} s to {least:.2} s of computing");
    assert!(met, "{name} without {features}: {with} s to {least} s is not {expect:?}");
}

/// A home for gpg, whose agent ends when this is dropped.
struct Gpg(Place);

impl Gpg {
    fn command(&self, words: &str) -> Command {
        let mut gpg = Command::new(program("gpg"));
        gpg.env("GNUPGHOME", self.0.path("home")).current_dir(self.0.folder());
        gpg.args("--batch --quiet --passphrase x --pinentry-mode loopback --s2k-count 1024".split(' '));
        gpg.args(words.split(' '));
        gpg
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        let mut gpgconf = Command::new(program("gpgconf"));
        let _ = gpgconf.env("GNUPGHOME", self.0.path("home")).args(["--kill", "all"]).status();
    }
}

/// gpg uses libgcrypt. It copies and hashes between files and AES, so AES alone is not three quarters of its
/// time.
#[test]
fn gpg() {
    if !here("gpg", &["cpuid", "aes", "pclmul", "sha"]) {
        return;
    }
    let gpg = Gpg(Place::new());
    let home = gpg.0.make("home");
    std::fs::set_permissions(home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    gpg.0.write("file", bytes(LEN));
    run(&mut gpg.command("-z 0 --cipher-algo AES256 -o file.gpg --symmetric file"), b"").good();
    let decrypts = || gpg.command("--decrypt file.gpg");
    let digests = || gpg.command("--print-md sha256 file");
    compare("gpg --decrypt", "aes", Longer(1.5), decrypts);
    compare("gpg --print-md sha256", "sha", Longer(3.0), digests);
    compare("gpg --print-md sha256", "aes,pclmul", Same, digests);

    let (ended, found) = trace(&[], &decrypts(), b"");
    assert!(ended.good() == bytes(LEN), "another plaintext");
    assert!(found.ran(&["aes", "vaes"]).iter().any(|by| by.contains("libgcrypt")), "{}", found.0);
    let (ended, found) = trace(&["--without", "crypto"], &decrypts(), b"");
    assert!(ended.good() == bytes(LEN), "another plaintext");
    assert_eq!(found.ran(&["aes", "vaes", "pclmul", "sha"]), [""; 0]);
}

/// Starts nginx with a file, for curl as its client.
fn served() -> (Place, Side, String) {
    let place = Place::new();
    let side = Side::new(&place, "default", Provider::Default);
    let www = place.make("www");
    place.write("www/file", bytes(LEN));
    let root = format!("root {};", www.display());
    (place, side, root)
}

fn curl(nginx: &Nginx, side: &Side, suite: &str) -> Command {
    let mut curl = side.command(program("curl"));
    curl.args(["--silent", "--show-error", "--fail", "--tls13-ciphers", suite, "--cacert"]);
    curl.arg(&nginx.certificate.certificate).arg(nginx.url("file"));
    curl
}

const AES: &str = "TLS_AES_128_GCM_SHA256";
const CHACHA: &str = "TLS_CHACHA20_POLY1305_SHA256";

#[test]
fn curl_is_a_client() {
    if !here("curl_is_a_client", &["cpuid", "aes", "pclmul", "sha"]) {
        return;
    }
    let (place, side, root) = served();
    let nginx = Nginx::start(&place, &side, &OpenSsl::system(), 1, &root);
    compare("curl", "aes,pclmul", Longer(3.0), || curl(&nginx, &side, AES));
    compare("curl with ChaCha20", "aes,pclmul,sha", Same, || {
        let mut curl = curl(&nginx, &side, CHACHA);
        // ChaCha20 is fast without AES, too.
        curl.args([nginx.url("file"), nginx.url("file"), nginx.url("file")]);
        curl
    });
    let (ended, found) = trace(&[], &curl(&nginx, &side, AES), b"");
    assert!(ended.good() == bytes(LEN), "another file");
    assert_eq!(found.answer("aes"), "yes", "{}", found.0);
    let (ended, found) = trace(&["--without", "crypto"], &curl(&nginx, &side, AES), b"");
    assert!(ended.good() == bytes(LEN), "another file");
    assert_eq!(found.ran(&["aes", "vaes", "pclmul", "vpclmul", "sha"]), [""; 0]);
    nginx.finish();
}

#[test]
fn ssh_is_a_client() {
    if !here("ssh_is_a_client", &["cpuid", "aes", "pclmul", "sha"]) {
        return;
    }
    let place = Place::new();
    let side = Side::new(&place, "default", Provider::Default);
    let file = place.write("data", bytes(LEN));
    let sshd = Sshd::start(place, &side);
    let cat = format!("cat {}", file.display());
    let ssh = |cipher| sshd.client(&side, "ssh", &["-c", cipher, "127.0.0.1", &cat]);
    compare("ssh", "aes,pclmul", Longer(3.0), || ssh("aes128-gcm@openssh.com"));
    compare("ssh with ChaCha20", "aes,pclmul,sha", Same, || ssh("chacha20-poly1305@openssh.com"));
    let (ended, found) = trace(&[], &ssh("aes128-gcm@openssh.com"), b"");
    assert!(ended.good() == bytes(LEN), "another file");
    assert_eq!(found.answer("aes"), "yes", "{}", found.0);
    let (ended, found) = trace(&["--without", "crypto"], &ssh("aes128-gcm@openssh.com"), b"");
    assert!(ended.good() == bytes(LEN), "another file");
    assert_eq!(found.ran(&["aes", "vaes", "pclmul", "vpclmul", "sha"]), [""; 0]);
}

/// Returns the hundredths of a second that a server's workers compute while a client fetches.
#[track_caller]
fn serving(nginx: &Nginx, side: &Side, times: usize) -> u64 {
    let sum = || nginx.workers().into_iter().map(ticks).sum::<u64>();
    let before = sum();
    for _ in 0..times {
        assert!(run(&mut curl(nginx, side, AES), b"").good() == bytes(LEN), "another file");
    }
    sum() - before
}

/// A server that is launched without AES has workers without AES, too.
#[test]
fn nginx_without() {
    if !here("nginx_without", &["cpuid", "aes", "pclmul"]) {
        return;
    }
    let (place, side, root) = served();
    let plain = Nginx::start(&place, &side, &OpenSsl::system(), 2, &root);
    let (other, masked_side, root) = served();
    let words = ["run", "--quiet", "--without", "aes,pclmul"];
    let masked = Nginx::start_under(&words, &other, &masked_side, &OpenSsl::system(), 2, &root);
    let (with, least) = (serving(&plain, &side, 5), serving(&masked, &masked_side, 5));
    println!("nginx without aes,pclmul: {with} to {least} hundredths of a second");
    assert!(with > 2, "too short a time to be measured: {with}");
    assert!(least as f64 / with as f64 >= 3.0, "{with} to {least}");
    plain.finish();
    masked.finish();
}

/// A busy worker is attached to, watched in each mode, and released. One is left by a tracer that is killed.
#[test]
fn nginx_is_traced_under_load() {
    if !here("nginx_is_traced_under_load", &["aes"]) {
        return;
    }
    let (place, side, root) = served();
    place.write("www/small", bytes(20_000));
    let nginx = Nginx::start(&place, &side, &OpenSsl::system(), 1, &root);
    let worker = nginx.workers()[0];
    let (stop, served_to) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (nginx, side) = (&nginx, &side);
        for _ in 0..3 {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let mut curl = side.command(program("curl"));
                    curl.args(["--silent", "--show-error", "--fail", "--tls13-ciphers", AES, "--cacert"]);
                    curl.arg(&nginx.certificate.certificate).args([nginx.url("small"), nginx.url("small")]);
                    assert!(run(&mut curl, b"").good() == bytes(20_000).repeat(2), "another file");
                    served_to.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for mode in ["--once", "--rate", "--count"] {
                // On a busy machine a look may see handshakes only, which use AES for random numbers.
                let looks = || look(&place, worker, mode);
                let mut found = looks();
                for _ in 0..4 {
                    if found.answer("aes") != "yes" {
                        found = looks();
                    }
                }
                assert_eq!(found.answer("aes"), "yes", "{mode}: {}", found.0);
                assert!(found.ran(&["aes"]).iter().any(|by| by.contains("libcrypto")), "{}", found.0);
            }
            kill_tracer(worker, served_to);
        }));
        stop.store(true, Ordering::Relaxed);
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert_eq!(nginx.workers(), [worker], "the worker did not live on");
    assert!(serving(&nginx, &side, 1) < 1000);
    nginx.finish();
}

#[track_caller]
fn look(place: &Place, pid: u32, mode: &str) -> Findings {
    let report = place.path("found");
    let mut trace = Command::new(&millstream_tests::built().millstream);
    trace.args(["trace", "--quiet", "--json", "--seconds", "1", mode, "--report"]).arg(&report);
    run(trace.args(["--pid", &pid.to_string()]), b"").good();
    assert_eq!(tracer_of(pid), 0);
    Findings::read(&report)
}

/// Kills the tracing process. The traced process must live on without breakpoints. The trace uses breakpoints
/// that are removed when they fire, because only with those can this be promised for a busy program.
#[track_caller]
fn kill_tracer(pid: u32, served_to: &AtomicUsize) {
    let mut trace = Command::new(&millstream_tests::built().millstream);
    trace.args(["trace", "--quiet", "--once", "--pid", &pid.to_string()]).stdin(Stdio::null());
    let mut trace = Running::start(trace.stderr(Stdio::null()));
    eventually("it is traced", || tracer_of(pid) != 0);
    // The breakpoints on its way have fired by then, however busy the machine is.
    let before = served_to.load(Ordering::Relaxed);
    eventually("clients are served", || served_to.load(Ordering::Relaxed) >= before + 30);
    let tracer = i32::try_from(tracer_of(pid)).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(tracer.expect("it is traced"), rustix::process::Signal::KILL).unwrap();
    eventually("the trace ends", || trace.child.try_wait().expect("it is our child").is_some());
    eventually("it is let go", || tracer_of(pid) == 0);
}

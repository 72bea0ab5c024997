//! Python's `hashlib`, `hmac` and `ssl`: in pieces, in copies, in threads and after `fork`.

use millstream_tests::certificate::Certificate;
use millstream_tests::{OpenSsl, Place, Provider, Service, Side, program, run};

/// Scripts, by name.
const HASHES: (&str, &str) = ("hashes.py", include_str!("python/hashes.py"));
const TLS: (&str, &str) = ("tls.py", include_str!("python/tls.py"));
const CHROOT: (&str, &str) = ("chroot.py", include_str!("python/chroot.py"));
const FORK: (&str, &str) = ("fork.py", include_str!("python/fork.py"));

/// Runs a script with Debian's Python; with another version of OpenSSL than the system's on the libraries of
/// that version.
#[track_caller]
fn python(
    place: &Place,
    side: &Side,
    openssl: &OpenSsl,
    (name, text): (&str, &str),
    words: &[&str],
) -> String {
    let mut python = side.command(program("python3"));
    if let Some(libraries) = openssl.libraries() {
        python.env("LD_LIBRARY_PATH", libraries);
    }
    // Nothing of another environment or of the user may have an effect.
    python.args(["-I", "-B"]).arg(place.write(name, text)).args(words);
    run(&mut python, b"").text()
}

fn hashes(openssl: &OpenSsl) {
    let place = Place::new();
    let default = Side::new(&place, "default", Provider::Default);
    let millstream = Side::new(&place, "millstream", Provider::Millstream);
    let expected = python(&place, &default, openssl, HASHES, &[]);
    let got = python(&place, &millstream, openssl, HASHES, &[]);
    for (got, expected) in got.lines().zip(expected.lines()) {
        assert_eq!(got, expected);
    }
    assert_eq!(got.lines().count(), expected.lines().count());
    assert!(expected.lines().count() > 300, "{expected}");
    default.counted().require_none();
    let counted = millstream.counted();
    for digest in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "sha3-256"] {
        counted.require(digest, 14, 200_000);
    }
    counted.require("shake128", 1, 100_000);
    // `hmac.new` builds on digests; only `hmac.digest` asks OpenSSL for an HMAC.
    counted.require("hmac*", 30, 30 * 99);
}

fn tls(openssl: &OpenSsl) {
    let place = Place::new();
    let certificate = Certificate::ecdsa(&place);
    let files = [&certificate.certificate, &certificate.key].map(|path| path.to_str().expect("it is UTF-8"));
    let default = Side::new(&place, "default", Provider::Default);
    let millstream = Side::new(&place, "millstream", Provider::Millstream);
    let expected = python(&place, &default, openssl, TLS, &files);
    assert_eq!(python(&place, &millstream, openssl, TLS, &files), expected);
    assert_eq!(expected.lines().count(), 4, "{expected}");
    default.counted().require_none();
    let counted = millstream.counted();
    // Eight connections: each both ways, and each side both encrypts and decrypts.
    let due = 8 * 4 * 1_000_003;
    for cipher in ["aes-256-gcm", "aes-128-gcm", "chacha20-poly1305", "aes-256-cbc*"] {
        counted.require(cipher, due / 16_384, due);
    }
}

fn fork(openssl: &OpenSsl) {
    let place = Place::new();
    let default = Side::new(&place, "default", Provider::Default);
    let millstream = Side::new(&place, "millstream", Provider::Millstream);
    let expected = python(&place, &default, openssl, FORK, &[]);
    assert_eq!(python(&place, &millstream, openssl, FORK, &[]), expected);
    millstream.counted().require("sha256", 1000, 1_000_000).require("hmac*", 1000, 1_000_000);
}

/// Keys in the service: a child of `fork` has a grant of its own.
#[test]
fn fork_and_tls_isolated() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let certificate = Certificate::ecdsa(&place);
    let files = [&certificate.certificate, &certificate.key].map(|path| path.to_str().expect("it is UTF-8"));
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
    let system = OpenSsl::system();
    let out = python(&place, &isolated, &system, TLS, &files);
    assert_eq!(out.lines().count(), 4, "{out}");
    isolated.take().require_isolated("aes-256-gcm", 2000, 30_000_000);
    let default = Side::new(&place, "default", Provider::Default);
    let expected = python(&place, &default, &system, FORK, &[]);
    assert_eq!(python(&place, &isolated, &system, FORK, &[]), expected);
    isolated.take().require_isolated("hmac*", 1000, 1_000_000);
}

/// A program that shuts itself in before its first key, as Dovecot's login processes do, reaches the service
/// over a connection that it made before.
#[test]
fn a_program_that_has_called_chroot_is_served() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED a_program_that_has_called_chroot_is_served: only root can call chroot");
        return;
    }
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let certificate = Certificate::ecdsa(&place);
    let files = [&certificate.certificate, &certificate.key].map(|path| path.to_str().expect("it is UTF-8"));
    let sides = [
        ("default", Provider::Default),
        ("millstream", Provider::Millstream),
        ("isolated", Provider::Isolated(&service)),
    ];
    for (name, provider) in sides {
        let side = Side::new(&place, name, provider);
        let out = python(&place, &side, &OpenSsl::system(), CHROOT, &files);
        assert_eq!(out, "TLS_AES_256_GCM_SHA384\n");
        let counted = side.counted();
        match provider {
            Provider::Default => counted.require_none(),
            Provider::Millstream => drop(counted.require("aes-256-gcm", 2, 20_000)),
            Provider::Isolated(_) | Provider::IsolatedPrivate(_) => {
                let _ = counted.require_isolated("aes-256-gcm", 2, 20_000);
            }
        }
    }
}

#[test]
fn hashes_with_the_systems() {
    hashes(&OpenSsl::system());
}

#[test]
fn long_newest_3_hashes() {
    hashes(&OpenSsl::newest(3));
}

#[test]
fn tls_with_the_systems() {
    tls(&OpenSsl::system());
}

#[test]
fn long_newest_3_tls() {
    tls(&OpenSsl::newest(3));
}

#[test]
fn fork_with_the_systems() {
    fork(&OpenSsl::system());
}

#[test]
fn long_newest_3_fork() {
    fork(&OpenSsl::newest(3));
}

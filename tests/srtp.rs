//! libsrtp's own test programs on the provider.
//!
//! Debian's package of the library uses another cryptographic library, and no package has the test programs.
//! So Debian's source is built once, with OpenSSL, into `target/srtp`. The programs are unchanged.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use millstream_tests::{OpenSsl, Place, Provider, Side, debian_source, program, run, target};

/// Returns the folder of libsrtp with its test programs. The first caller builds it.
#[track_caller]
fn libsrtp() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = target().join("srtp");
        std::fs::create_dir_all(&folder).expect("the target folder can be written to");
        let lock = File::create(folder.join("lock")).expect("the target folder can be written to");
        lock.lock().expect("locks work");
        let built = folder.join("libsrtp2");
        if !built.exists() {
            let work = folder.join("building");
            let _ = std::fs::remove_dir_all(&work);
            std::fs::create_dir_all(&work).expect("the target folder can be written to");
            let source = debian_source(&work, "libsrtp2");
            good(Command::new("./configure").arg("--enable-openssl").current_dir(&source));
            good(Command::new(program("make")).args(["-j2", "test"]).current_dir(&source));
            std::fs::rename(source, &built).expect("it is in the same folder");
            std::fs::remove_dir_all(work).expect("it is ours");
        }
        built
    })
}

#[track_caller]
fn good(command: &mut Command) {
    run(command, b"").good();
}

/// Runs a test program, on one side.
#[track_caller]
fn driver(side: &Side, openssl: &OpenSsl, words: &str) -> String {
    let mut words = words.split_whitespace();
    let mut command = side.command(libsrtp().join(words.next().expect("a program")));
    if let Some(libraries) = openssl.libraries() {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    // The scripts look for the programs and their words in their own folder.
    run(command.args(words).current_dir(libsrtp().join("test")), b"").text()
}

fn drivers(openssl: &OpenSsl) {
    let place = Place::new();
    let side = Side::new(&place, "millstream", Provider::Millstream);
    driver(&side, openssl, "crypto/test/cipher_driver -v");
    let counted = side.take();
    for cipher in ["aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "aes-128-gcm", "aes-256-gcm"] {
        counted.require(cipher, 100, 5000);
    }
    driver(&side, openssl, "crypto/test/kernel_driver -v");
    side.take().require("aes-128-ctr", 2, 32).require("hmac*", 1, 4);
    let out = driver(&side, openssl, "test/srtp_driver -v");
    assert!(out.contains("passed"), "{out}");
    let counted = side.take();
    counted.require("aes-128-ctr", 1000, 10_000).require("aes-256-ctr", 100, 1000);
    counted.require("aes-128-gcm", 100, 1000).require("hmac*", 100, 4000);
    driver(&side, openssl, "test/test_srtp");
}

/// A sender and a receiver, with counter mode and HMAC, then with GCM.
fn two_programs(openssl: &OpenSsl) {
    let place = Place::new();
    let side = Side::new(&place, "millstream", Provider::Millstream);
    let out = driver(&side, openssl, "test/rtpw_test.sh -w words.txt");
    assert!(out.contains("test passed"), "{out}");
    side.take().require("aes-128-ctr", 20, 200).require("hmac*", 20, 200);
    let out = driver(&side, openssl, "test/rtpw_test_gcm.sh -w words.txt");
    assert!(out.contains("test passed"), "{out}");
    side.take().require("aes-128-gcm", 10, 100).require("aes-256-gcm", 10, 100);
}

#[test]
fn drivers_with_the_systems() {
    drivers(&OpenSsl::system());
}

#[test]
fn drivers_with_the_newest_3() {
    drivers(&OpenSsl::newest(3));
}

#[test]
fn two_programs_with_the_systems() {
    two_programs(&OpenSsl::system());
}

#[test]
fn counts_nothing_without_the_provider() {
    let place = Place::new();
    let side = Side::new(&place, "default", Provider::Default);
    driver(&side, &OpenSsl::system(), "test/srtp_driver -v");
    side.counted().require_none();
}

//! libsrtp's own test programs on the provider, and on the library that puts Millstream behind libsrtp2.
//!
//! Debian's package of the library uses another cryptographic library, and no package has the test programs.
//! So Debian's source is built once, with OpenSSL, into `target/srtp`. The programs are unchanged. For Debian's own library they are
//! linked with that.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use millstream_tests::{
    OpenSsl, Place, Provider, Side, built, debian_source, program, run, srtp_library, target,
};

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

/// The ports of a sender and a receiver, which are always the same.
static PORTS: Mutex<()> = Mutex::new(());

/// A sender and a receiver, with counter mode and HMAC, then with GCM.
fn two_programs(openssl: &OpenSsl) {
    let _alone = PORTS.lock();
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
fn long_newest_3_drivers() {
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

/// The folder with those of libsrtp's programs that are linked with Debian's own library. The first caller links them.
#[track_caller]
fn on_debians_library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let (source, folder) = (libsrtp(), target().join("srtp/on-debians-library"));
        std::fs::create_dir_all(&folder).expect("the target folder can be written to");
        for (name, sources) in [
            ("srtp_driver", &["srtp_driver", "util", "getopt_s"][..]),
            ("test_srtp", &["test_srtp", "util", "getopt_s"]),
            ("rtpw", &["rtpw", "rtp", "util", "getopt_s"]),
        ] {
            let mut cc = Command::new(program("cc"));
            cc.args(["-O2", "-DHAVE_CONFIG_H", "-w", "-I"]).arg(source);
            for include in ["include", "crypto/include", "test"] {
                cc.arg("-I").arg(source.join(include));
            }
            cc.args(sources.iter().map(|name| source.join(format!("test/{name}.c"))));
            good(cc.arg("-lsrtp2").arg("-o").arg(folder.join(name)));
        }
        for name in ["rtpw_test.sh", "rtpw_test_gcm.sh", "words.txt"] {
            std::fs::copy(source.join("test").join(name), folder.join(name)).expect("it is there");
        }
        folder
    })
}

/// Runs a program on Debian's library, with Millstream's in front of it or not.
#[track_caller]
fn behind(side: &Side, preload: Option<&Path>, words: &str) -> String {
    let mut words = words.split_whitespace();
    let mut command = side.command(on_debians_library().join(words.next().expect("a program")));
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    run(command.args(words).current_dir(on_debians_library()), b"").text()
}

/// The numbers of the types that Millstream takes over, as libsrtp's driver names them.
const TYPES: &[&str] = &[
    "Millstream AES-128 counter mode",
    "Millstream AES-256 counter mode",
    "Millstream AES-128 GCM",
    "Millstream AES-256 GCM",
    "Millstream HMAC-SHA1",
];

#[test]
fn debians_library_has_millstreams_types() {
    let place = Place::new();
    // The provider is not there, so that what is counted is counted by the library in front.
    let side = Side::new(&place, "default", Provider::Default);
    let out = behind(&side, Some(srtp_library()), "srtp_driver -v");
    assert!(!out.contains("failed"), "{out}");
    for name in TYPES {
        assert!(out.contains(name), "no {name}: {out}");
    }
    let counted = side.take();
    counted.require("aes-128-ctr", 1000, 10_000).require("aes-256-ctr", 100, 1000);
    counted.require("aes-128-gcm", 100, 1000).require("aes-256-gcm", 100, 1000);
    counted.require("hmac-sha1", 100, 4000);
    let out = behind(&side, Some(srtp_library()), "test_srtp");
    assert!(out.contains("All unit tests have passed"), "{out}");
}

#[test]
fn debians_library_is_its_own_without() {
    let place = Place::new();
    let side = Side::new(&place, "default", Provider::Default);
    let out = behind(&side, None, "srtp_driver -v");
    assert!(!out.contains("Millstream"), "{out}");
    side.counted().require_none();
}

/// A sender and a receiver, with counter mode and HMAC, then with GCM.
#[test]
fn two_programs_with_the_library_in_front() {
    let _alone = PORTS.lock();
    let place = Place::new();
    let side = Side::new(&place, "default", Provider::Default);
    let out = behind(&side, Some(srtp_library()), "rtpw_test.sh -w words.txt");
    assert!(out.contains("test passed"), "{out}");
    side.take().require("aes-128-ctr", 20, 200).require("hmac-sha1", 20, 200);
    let out = behind(&side, Some(srtp_library()), "rtpw_test_gcm.sh -w words.txt");
    assert!(out.contains("test passed"), "{out}");
    side.take().require("aes-128-gcm", 10, 100).require("aes-256-gcm", 10, 100);
}

/// `millstream run` puts the library in front, and every packet is as without it.
#[test]
fn an_unmodified_program_sends_the_same_packets() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/srtp.py");
    let place = Place::new();
    let plain = run(Command::new("/usr/bin/python3").arg(&script), b"").text();
    assert_eq!(plain.lines().count(), 4 * (588 + 20));
    srtp_library();
    let report = place.folder().join("report");
    let mut command = Command::new(&built().millstream);
    command.args(["run", "--json", "--module"]).arg(&built().provider).arg("--report").arg(&report);
    command.arg("--").arg("/usr/bin/python3").arg(&script).env_remove("MILLSTREAM_SOCKET");
    let ran = run(&mut command, b"").text();
    assert!(ran == plain, "other packets");
    let report = std::fs::read_to_string(report).expect("it was written");
    for algorithm in ["aes-128-ctr", "aes-128-gcm", "aes-256-gcm", "hmac-sha1"] {
        assert!(report.contains(&format!("\"algorithm\": \"{algorithm}\"")), "no {algorithm}: {report}");
    }
}

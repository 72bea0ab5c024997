//! libsrtp's own test programs on the provider, and on the library that puts Millstream behind libsrtp2.
//!
//! Debian's package of the library uses another cryptographic library, and no package has the test programs.
//! So Debian's source is built once, with OpenSSL, into `target/srtp`. The programs are unchanged. For Debian's own library they are
//! linked with that.

use std::fs::File;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use millstream_tests::{
    Counters, OpenSsl, Place, Provider, Running, Side, built, debian_source, eventually, program, run,
    srtp_library, target,
};
use rustix::process::Signal;

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

/// The words that a sender sends, one in a packet, each half a second.
const WORDS: &str = "audits\nof\nwhole\npackets\nonly\n";

/// The options of pairs of `rtpw`, as libsrtp's own scripts for it have them: counter mode with HMAC, and GCM with both tags.
const PAIRS: [&str; 6] = [
    "-b Ky7cUDT2GnI0XKWYbXv9AYmqbcLsqzL9mvdN9t/G -a -e 128",
    "-k 033490ba9e82994fc21013395739038992b2edc5034f61a72345ca598d7bfd0189aa6dc2ecab32fd9af74df6dfc6 -a -e 256",
    "-k 01234567890123456789012345678901234567890123456789012345 -g -e 128",
    "-k 01234567890123456789012345678901234567890123456789012345 -g -t 16 -e 128",
    "-k 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567 -g -e 256",
    "-k a123456789012345678901234567890123456789012345678901234567890123456789012345678901234567 -g -t 16 -e 256",
];

/// Runs a sender and a receiver of each pair, all at once, since senders mostly wait. The scripts run them one after another and wait for fixed times.
/// `rtpw` makes the command. Every word must arrive.
#[track_caller]
fn pairs(place: &Place, rtpw: impl Fn() -> Command) {
    let words = place.write("words", WORDS);
    let mut all: Vec<(u16, Running, Running)> = Vec::new();
    for (i, options) in PAIRS.iter().enumerate() {
        // The system's choice, which is free a moment later.
        let free = UdpSocket::bind(("127.0.0.1", 0)).expect("there is a free port");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let start = |which: &str| {
            let said = File::create(place.path(&format!("{which}{i}"))).expect("the place can be written to");
            let mut command = rtpw();
            command.args(options.split(' ')).arg("-w").arg(&words);
            command.args([which, "127.0.0.1", &port.to_string()]).stdin(Stdio::null()).stdout(said);
            Running::start(&mut command)
        };
        let mut receiver = start("-r");
        eventually("a receiver is there", || {
            assert!(receiver.child.try_wait().expect("it is our child").is_none(), "{options}");
            waiting(port).is_some()
        });
        all.push((port, receiver, start("-s")));
    }
    for (i, (port, receiver, sender)) in all.iter_mut().enumerate() {
        assert!(sender.child.wait().expect("it is our child").success(), "{}", PAIRS[i]);
        eventually("the receiver has taken all", || waiting(*port) == Some(0));
        receiver.stop(Signal::TERM);
        let said = String::from_utf8_lossy(&place.read(&format!("-r{i}"))).into_owned();
        let heard: Vec<&str> = said.lines().filter_map(|line| line.trim().strip_prefix("word: ")).collect();
        assert_eq!(heard, WORDS.lines().collect::<Vec<_>>(), "{}: {said}", PAIRS[i]);
    }
}

/// Returns the bytes that wait at a port of UDP; none if nobody has it.
fn waiting(port: u16) -> Option<usize> {
    let table = std::fs::read_to_string("/proc/net/udp").expect("proc is there");
    let of_port = format!(":{port:04X} ");
    let line = table.lines().find(|line| line.contains(&of_port))?;
    let queues = line.split_whitespace().find(|word| word.len() == 17 && word.as_bytes()[8] == b':')?;
    usize::from_str_radix(&queues[9..], 16).ok()
}

/// The packets of one algorithm that all pairs send and receive: each sort of key has two pairs of GCM and one of counter mode.
fn require_pairs(counted: &Counters, hmac: &str) {
    let words = WORDS.lines().count() as u64;
    counted.require("aes-128-ctr", 2 * words, WORDS.len() as u64);
    counted.require("aes-256-ctr", 2 * words, WORDS.len() as u64);
    counted.require(hmac, 4 * words, WORDS.len() as u64);
    counted.require("aes-128-gcm", 4 * words, WORDS.len() as u64);
    counted.require("aes-256-gcm", 4 * words, WORDS.len() as u64);
}

/// Senders and receivers, with counter mode and HMAC, and with GCM.
fn two_programs(openssl: &OpenSsl) {
    let place = Place::new();
    let side = Side::new(&place, "millstream", Provider::Millstream);
    pairs(&place, || {
        let mut command = side.command(libsrtp().join("test/rtpw"));
        if let Some(libraries) = openssl.libraries() {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    });
    require_pairs(&side.take(), "hmac*");
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

/// Senders and receivers, with counter mode and HMAC, and with GCM.
#[test]
fn two_programs_with_the_library_in_front() {
    let place = Place::new();
    let side = Side::new(&place, "default", Provider::Default);
    pairs(&place, || {
        let mut command = side.command(on_debians_library().join("rtpw"));
        command.env("LD_PRELOAD", srtp_library());
        command
    });
    require_pairs(&side.take(), "hmac-sha1");
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

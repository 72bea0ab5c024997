//! DPDK's own unmodified programs on the driver `crypto_millstream`: Debian's `dpdk-test` and `dpdk-test-crypto-perf`.
//!
//! The suites of `dpdk-test` ask for a driver by its name, and none of the names is ours. So the driver is also linked under the name of a
//! driver that Debian doesn't have on this processor, and under that of one that computes synchronously, whose own library then stays behind
//! it. Nothing needs huge pages, devices or privileges.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use millstream_tests::{Ended, Place, Service, dpdk_archive, program, run, target};

/// The name of a driver for another processor.
const FOREIGN: &str = "crypto_mvsam";

/// The name of the driver whose suite calls `sym_cpu_process`.
const SYNCHRONOUS: &str = "crypto_aesni_mb";

/// Each program has some hundred MiB of memory, and a processor is busy polling.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Returns the driver, linked under a name.
#[track_caller]
fn driver(name: &str) -> PathBuf {
    // DPDK loads nothing from below a folder that others may write to, as /tmp.
    let library = target().join("dpdk").join(format!("lib{name}.so"));
    static LINKED: OnceLock<Mutex<Vec<PathBuf>>> = OnceLock::new();
    let mut linked = LINKED.get_or_init(Mutex::default).lock().expect("no test has panicked here");
    if !linked.contains(&library) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dpdk/driver/link.sh");
        run(Command::new("sh").arg(script).arg(dpdk_archive()).args([&library]).arg(name), b"").good();
        linked.push(library.clone());
    }
    library
}

/// Makes the command of a DPDK program with one device. Options of the program come behind `--`.
fn dpdk(name: &str, driver: &Path, device: &str, processors: &str) -> Command {
    let mut command = Command::new(program(name));
    command.args(["--no-huge", "-m", "768", "--no-pci", "--no-telemetry", "--no-shconf", "-l", processors]);
    command.arg("-d").arg(driver).args(["--vdev", device]).stdin(Stdio::null());
    command.env_remove("MILLSTREAM_HWCAP");
    command
}

/// Returns all that a program has said. Some of these programs end well whatever has failed.
fn said(ended: Ended) -> String {
    format!("{}{}", String::from_utf8_lossy(&ended.out), ended.err)
}

/// The counts of a run of suites.
struct Counts {
    passed: u32,
    failed: u32,
    output: String,
}

/// Runs a suite of `dpdk-test`.
#[track_caller]
fn suite(suite: &str, driver: &Path, device: &str) -> Counts {
    let _alone = ONE_AT_A_TIME.lock();
    let output = said(run(dpdk("dpdk-test", driver, device, "0").env("DPDK_TEST", suite), b""));
    let count = |what: &str| {
        let line = output.lines().rev().find(|line| line.contains(what));
        let number = line.and_then(|line| line.split(':').nth(1)?.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no {what} in what {suite} says: {output}"))
    };
    Counts { passed: count("Tests Passed"), failed: count("Tests Failed"), output }
}

/// The suites all of whose cases the driver has to pass, with the least number of cases.
const WHOLE: &[(&str, u32)] = &[
    ("Chacha20-Poly1305 Test Suite", 1),
    ("HMAC_MD5 Authentication Test Suite", 4),
    ("ESN Test Suite", 2),
    ("Negative AES GCM Test Suite", 12),
    ("Negative AES GMAC Test Suite", 2),
    ("Negative HMAC SHA1 Unit Test Suite", 4),
];

/// Returns the cases that failed.
fn failures(output: &str) -> Vec<&str> {
    output.lines().filter(|line| line.contains("TestCase [") && line.ends_with(" failed")).collect()
}

#[test]
fn cryptodev_suites() {
    let counts = suite("cryptodev_sw_mvsam_autotest", &driver(FOREIGN), FOREIGN);
    assert_eq!(failures(&counts.output), [""; 0]);
    assert!(counts.failed == 0 && counts.passed >= 329, "{} passed, {} failed", counts.passed, counts.failed);
    for (name, least) in WHOLE {
        let line = counts.output.lines().find(|line| line.contains(&format!("+ {name} :")));
        let line = line.unwrap_or_else(|| panic!("no {name}: {}", counts.output));
        let passed = line.split(" : ").nth(1).and_then(|rest| rest.split('/').next()?.parse::<u32>().ok());
        assert!(passed.is_some_and(|passed| passed >= *least), "{line}");
    }
}

#[test]
fn synchronous_suite() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut command = dpdk("dpdk-test", &driver(SYNCHRONOUS), SYNCHRONOUS, "0");
    let output = said(run(command.env("DPDK_TEST", "cryptodev_cpu_aesni_mb_autotest"), b""));
    // The program ends itself in its last suite but a few, where a case forgets that calls are synchronous. Drivers that have no encrypted
    // tags, as the one whose name this is, don't get there.
    let passed = output.lines().filter(|line| line.contains("TestCase [") && line.ends_with(" succeeded"));
    assert_eq!(failures(&output), [""; 0]);
    assert!(passed.count() >= 250, "{output}");
}

/// The same suites with keys in a worker.
#[test]
fn cryptodev_suites_isolated() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let device = format!("{FOREIGN},isolated={},max_nb_queue_pairs=2", service.socket().display());
    let counts = suite("cryptodev_sw_mvsam_autotest", &driver(FOREIGN), &device);
    assert_eq!(failures(&counts.output), [""; 0]);
    // Cases without a session are skipped.
    assert!(counts.failed == 0 && counts.passed >= 308, "{} passed, {} failed", counts.passed, counts.failed);
}

/// Options of `dpdk-test-crypto-perf`, one kind of operation each.
const KINDS: &[&str] = &[
    "--optype cipher-only --cipher-algo aes-ctr --cipher-op encrypt --cipher-key-sz 16 --cipher-iv-sz 16",
    "--optype auth-only --auth-algo sha2-256-hmac --auth-op generate --auth-key-sz 32 --digest-sz 32",
    "--optype cipher-then-auth --cipher-algo aes-cbc --cipher-op encrypt --cipher-key-sz 16 --cipher-iv-sz 16 \
     --auth-algo sha1-hmac --auth-op generate --auth-key-sz 20 --digest-sz 20",
    "--optype auth-then-cipher --cipher-algo aes-cbc --cipher-op encrypt --cipher-key-sz 16 --cipher-iv-sz 16 \
     --auth-algo sha1-hmac --auth-op generate --auth-key-sz 20 --digest-sz 20",
    "--optype aead --aead-algo aes-gcm --aead-op encrypt --aead-key-sz 16 --aead-iv-sz 12 --aead-aad-sz 16 \
     --digest-sz 16",
];

/// Runs `dpdk-test-crypto-perf` on the driver, with one kind of operation.
#[track_caller]
fn perf(device: &str, options: &str) -> String {
    let _alone = ONE_AT_A_TIME.lock();
    let mut command = dpdk("dpdk-test-crypto-perf", &driver("crypto_millstream"), device, "0-1");
    command.args(["--", "--devtype", "crypto_millstream", "--silent", "--csv-friendly"]);
    command.args(["--total-ops", "4096", "--burst-sz", "32", "--desc-nb", "512"]);
    run(command.args(options.split_whitespace()), b"").text()
}

#[test]
fn every_kind_of_operation_at_speed() {
    for kind in KINDS {
        for more in ["--buffer-sz 64", "--buffer-sz 1408", "--buffer-sz 1408 --segment-sz 256"] {
            let output = perf("crypto_millstream", &format!("{kind} {more} --ptest throughput"));
            // The fields are the processor, bytes, the burst, and operations enqueued, dequeued, and those that failed.
            let line = output.lines().find(|line| line.starts_with("1,")).expect(&output);
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            assert_eq!(fields[3..7], ["4096", "4096", "0", "0"], "{kind}: {output}");
        }
    }
}

/// Writes a file of one vector, which Python's cryptography has computed, as the program reads it.
const VECTOR: &str = r#"
import hmac, sys
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

kind, length = sys.argv[1], int(sys.argv[2])
text = bytes(i * 7 % 251 for i in range(length))
key, other, iv, aad = bytes(range(16)), bytes(range(64, 96)), bytes(range(32, 48)), bytes(range(16))

def encrypted(mode):
    return Cipher(algorithms.AES(key), mode).encryptor().update(text)

fields = {"plaintext": text, "cipher_key": key, "cipher_iv": iv}
if kind == "gcm":
    sealed = AESGCM(key).encrypt(iv[:12], text, aad)
    fields = {"plaintext": text, "ciphertext": sealed[:-16], "aead_key": key, "aead_iv": iv[:12], "aad": aad, "digest": sealed[-16:]}
elif kind == "ctr":
    fields["ciphertext"] = encrypted(modes.CTR(iv))
elif kind == "hmac":
    fields = {"plaintext": text, "auth_key": other, "digest": hmac.digest(other, text, "sha256")}
else:
    made = encrypted(modes.CBC(iv))
    fields |= {"ciphertext": made, "auth_key": other[:20], "digest": hmac.digest(other[:20], made, "sha1")}
for name, value in fields.items():
    rows = [", ".join(f"0x{byte:02x}" for byte in value[at:at + 16]) for at in range(0, len(value), 16)]
    print("[test]\n" if name == "digest" else "", f"{name} =\n", ",\n".join(rows), sep="")
"#;

/// What the driver computes is compared with vectors, in both directions.
#[test]
fn results_are_those_of_vectors() {
    let place = Place::new();
    for (vector, there, back) in [
        ("ctr", "--cipher-op encrypt", "--cipher-op decrypt"),
        ("hmac", "--auth-op generate", "--auth-op verify"),
        ("cbc", "--cipher-op encrypt --auth-op generate", "--cipher-op decrypt --auth-op verify"),
        ("gcm", "--aead-op encrypt", "--aead-op decrypt"),
    ] {
        for bytes in ["64", "1408"] {
            // Debian's Python has Debian's cryptography.
            let text = run(Command::new("/usr/bin/python3").args(["-c", VECTOR, vector, bytes]), b"").text();
            let file = place.write(vector, text);
            let name = if vector == "ctr" { "" } else { "--test-name test" };
            for way in [there, back] {
                let kind = match (vector, way == there) {
                    ("ctr", _) => KINDS[0],
                    ("hmac", _) => KINDS[1],
                    ("cbc", true) => KINDS[2],
                    ("cbc", false) => KINDS[3],
                    _ => KINDS[4],
                };
                // The last of several options counts.
                let options = format!(
                    "{kind} {way} --buffer-sz {bytes} --ptest verify --test-file {} {name}",
                    file.display()
                );
                let output = perf("crypto_millstream", &options);
                let line = output.lines().find(|line| line.trim_start().starts_with("1,")).expect(&output);
                let fields: Vec<&str> = line.split(',').map(str::trim).collect();
                assert_eq!(fields[3..], ["4096", "4096", "0", "0", "0"], "{options}: {output}");
            }
        }
    }
}

/// Tells the driver alone that its process is a secondary one. A real one maps the huge pages of its primary, which nothing here needs otherwise.
const SECONDARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
int rte_eal_process_type(void)
{
    int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "rte_eal_process_type");
    Dl_info caller;
    int is_driver = dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "libcrypto_millstream") != NULL;
    return is_driver ? 1 : real();
}
"#;

#[test]
fn a_secondary_process_is_refused() {
    let _alone = ONE_AT_A_TIME.lock();
    let place = Place::new();
    let (source, library) = (place.write("secondary.c", SECONDARY), place.path("secondary.so"));
    run(
        Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl"),
        b"",
    )
    .good();
    let device = "crypto_millstream";
    let mut command = dpdk("dpdk-test", &driver(device), device, "0");
    command.env("DPDK_TEST", "cryptodev_null_autotest");
    let primary = said(run(&mut command, b""));
    assert!(primary.contains("Creating cryptodev crypto_millstream"), "{primary}");
    let secondary = said(run(command.env("LD_PRELOAD", &library), b""));
    assert!(secondary.contains("and a secondary one has no part in them"), "{secondary}");
    assert!(!secondary.contains("Creating cryptodev crypto_millstream"), "{secondary}");
}

/// A device that the driver can't serve is refused, with the reason.
#[test]
fn refusals_have_reasons() {
    let _alone = ONE_AT_A_TIME.lock();
    for (device, reason) in [
        ("crypto_millstream,isolated=/nonexistent", "isolated=/nonexistent: no service"),
        ("crypto_millstream,max_nb_queue_pairs=0", "a number from 1 to 64 is needed"),
        ("crypto_millstream,colour=blue", "takes max_nb_queue_pairs=NUMBER"),
    ] {
        let mut command = dpdk("dpdk-test", &driver("crypto_millstream"), device, "0");
        let output = said(run(command.env("DPDK_TEST", "cryptodev_null_autotest"), b""));
        assert!(output.contains(reason), "{device}: {output}");
    }
}

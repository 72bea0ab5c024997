//! nginx serves files to curl: many at once, from several workers, through a reload and the death of a worker.

use std::path::Path;
use std::process::Command;
use std::thread;

use millstream_tests::{
    Nginx, OpenSsl, Place, Provider, Service, Side, bytes, eventually, program, run, signal,
};
use rustix::process::Signal;

/// Sizes of the files that are served, around TLS records.
const SIZES: &[usize] = &[1, 1000, 16_383, 16_384, 16_385, 100_000, 1_000_003, 20 << 20];

/// Makes files in a folder `www`, and returns nginx's configuration for it.
fn files(place: &Place) -> String {
    let www = place.make("www");
    for size in SIZES {
        place.write(&format!("www/{size}"), bytes(*size));
    }
    format!("root {};", www.display())
}

/// Fetches a file with curl, and requires that it is right.
#[track_caller]
fn fetch(nginx: &Nginx, side: &Side, options: &[&str], size: usize) {
    let mut curl = side.command(program("curl"));
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "100", "--cacert"]);
    curl.arg(&nginx.certificate.certificate).args(options).arg(nginx.url(&size.to_string()));
    let got = run(&mut curl, b"").good();
    assert!(got == bytes(size), "{size} bytes, {options:?}: not the file");
}

/// Fetches from several threads at once.
fn many(nginx: &Nginx, side: &Side, clients: usize, requests: usize, sizes: &[usize]) {
    thread::scope(|scope| {
        for client in 0..clients {
            scope.spawn(move || {
                for request in 0..requests {
                    fetch(nginx, side, &[], sizes[(client + request) % sizes.len()]);
                }
            });
        }
    });
}

const SUITES: &[(&[&str], &str)] = &[
    (&["--tls13-ciphers", "TLS_AES_128_GCM_SHA256"], "aes-128-gcm"),
    (&["--tls13-ciphers", "TLS_AES_256_GCM_SHA384"], "aes-256-gcm"),
    (&["--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"], "chacha20-poly1305"),
    (&["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"], "aes-128-gcm"),
    (&["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES256-SHA384"], "aes-256-cbc*"),
    (&["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-CHACHA20-POLY1305"], "chacha20-poly1305"),
];

/// Every suite and size with Millstream on both sides, then many clients; the workers count.
fn serves(openssl: &OpenSsl) {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Millstream);
    let default = Side::new(&place, "default", Provider::Default);
    let nginx = Nginx::start(&place, &server, openssl, 2, &files(&place));
    let whole: usize = SIZES.iter().sum();
    for (options, algorithm) in SUITES {
        let before = server.counted().of(algorithm);
        for size in SIZES {
            fetch(&nginx, &client, options, *size);
        }
        let counted = server.counted();
        let after = counted.of(algorithm);
        assert!(after.1 - before.1 >= whole as u64, "{algorithm}: {before:?} before\n{counted}");
    }
    client.counted().require("aes-128-gcm", 2 * whole as u64 / 16_384, 2 * whole as u64);
    many(&nginx, &default, 8, 6, &SIZES[..7]);
    default.counted().require_none();
    nginx.finish();
    server.counted().require("sha256", 10, 1).require("hmac*", 10, 1);
}

/// nginx and curl on OpenSSL 3.0 agree on keys with ML-KEM, which both have from Millstream alone.
#[test]
fn ml_kem_with_the_systems() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Millstream);
    let lines = format!("{} ssl_ecdh_curve X25519MLKEM768:SecP384r1MLKEM1024:X25519;", files(&place));
    let nginx = Nginx::start(&place, &server, &OpenSsl::system(), 2, &lines);
    for (group, algorithm) in
        [("X25519MLKEM768", "x25519-ml-kem-768"), ("SecP384r1MLKEM1024", "p384-ml-kem-1024")]
    {
        fetch(&nginx, &client, &["--tlsv1.3", "--curves", group], 100_000);
        client.take().require(algorithm, 1, 64);
    }
    nginx.finish();
    server.counted().require("x25519-ml-kem-768", 1, 64).require("p384-ml-kem-1024", 1, 80);
}

/// Chromium offers X25519MLKEM768 by itself. nginx takes nothing else, and signs with a key in the service.
#[test]
fn long_chromium_and_ml_kem() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let server = Side::new(&place, "server", Provider::Isolated(&service));
    let www = place.make("www");
    // The page has an icon, so that Chromium asks for no file that is not there.
    place.write("www/page.html", "<link rel=icon href='data:,'><p>from the server</p>");
    let lines = format!("root {}; ssl_ecdh_curve X25519MLKEM768;", www.display());
    let nginx = Nginx::start(&place, &server, &OpenSsl::system(), 1, &lines);
    let before = server.counted();
    let mut chromium = Command::new(program("chromium"));
    // The certificate is self-signed, and root has no sandbox of Chromium's.
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    chromium.args(["--ignore-certificate-errors", "--dump-dom"]);
    chromium.arg(format!("--user-data-dir={}", place.path("profile").display())).arg(nginx.url("page.html"));
    let shown = run(chromium.env("HOME", place.folder()), b"").text();
    assert!(shown.contains("<p>from the server</p>"), "{shown}");
    nginx.finish();
    assert_eq!(before.of("x25519-ml-kem-768"), (0, 0));
    server.counted().require_local("x25519-ml-kem-768", 1, 64).require_isolated("ecdsa-p256", 1, 0);
}

/// The configuration is read again and again while files are served, and workers are killed.
fn reload_and_kill(openssl: &OpenSsl) {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Default);
    let nginx = Nginx::start(&place, &server, openssl, 3, &files(&place));
    thread::scope(|scope| {
        let serving = scope.spawn(|| many(&nginx, &client, 4, 8, SIZES));
        while !serving.is_finished() {
            let before = nginx.workers();
            signal(nginx.master(), Signal::HUP);
            eventually("there are new workers", || nginx.workers().iter().any(|pid| !before.contains(pid)));
            thread::sleep(std::time::Duration::from_millis(200));
        }
    });
    // Nobody is served now, so no connection ends with the worker.
    eventually("only new workers are left", || nginx.workers().len() == 3);
    let killed = nginx.workers()[0];
    signal(killed, Signal::KILL);
    eventually("another took its place", || {
        let workers = nginx.workers();
        workers.len() == 3 && !workers.contains(&killed)
    });
    many(&nginx, &client, 4, 4, &SIZES[..6]);
    let whole: usize = 4 * SIZES.iter().sum::<usize>();
    server.counted().require("aes-*-gcm", whole as u64 / 16_384, whole as u64);
    // nginx logs an `[alert]` about the worker that was killed. Nothing else may be wrong.
    let log = nginx.log();
    let alerts =
        log.lines().filter(|line| ["[alert]", "[crit]", "[error]"].iter().any(|bad| line.contains(bad)));
    let unexpected: Vec<_> = alerts.filter(|line| !line.contains("exited on signal 9")).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// The keys of nginx's connections are in a worker of the service.
#[test]
fn serves_isolated() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let server = Side::new(&place, "server", Provider::Isolated(&service));
    let client = Side::new(&place, "client", Provider::Default);
    let nginx = Nginx::start(&place, &server, &OpenSsl::system(), 2, &files(&place));
    for (options, algorithm) in SUITES {
        for size in &SIZES[..7] {
            fetch(&nginx, &client, options, *size);
        }
        server.counted().require_isolated(algorithm, 60, 1_000_000);
    }
    fetch(&nginx, &client, &[], 20 << 20);
    many(&nginx, &client, 6, 4, &SIZES[..7]);
    nginx.finish();
}

/// The counters of programs that don't have the provider stay at zero.
#[test]
fn counts_nothing_without_the_provider() {
    let place = Place::new();
    let default = Side::new(&place, "default", Provider::Default);
    let nginx = Nginx::start(&place, &default, &OpenSsl::system(), 1, &files(&place));
    fetch(&nginx, &default, &[], 100_000);
    nginx.finish();
    default.counted().require_none();
}

/// nginx must be linked with OpenSSL according to `ldd`.
#[test]
fn nginx_is_linked_with_openssl() {
    let out = run(Command::new(program("ldd")).arg(Path::new(&program("nginx"))), b"").text();
    assert!(out.contains("libssl.so.3"), "{out}");
}

#[test]
fn serves_with_the_systems() {
    serves(&OpenSsl::system());
}

/// Debian's nginx also runs on the libraries of the newest 3.x, which have the same ABI.
#[test]
fn long_newest_3_serves() {
    serves(&OpenSsl::newest(3));
}

#[test]
fn reload_and_kill_with_the_systems() {
    reload_and_kill(&OpenSsl::system());
}
